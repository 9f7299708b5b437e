//! Lines `2026-11-24<TAB>text` → the texts, with their relative dates resolved as the program does it before a
//! model reads them. For `models/starter/memory_tasks.py`.

use std::error::Error;
use std::io::{BufRead, Write, stdin, stdout};

fn main() -> Result<(), Box<dyn Error>> {
    let mut out = stdout().lock();
    for line in stdin().lock().lines() {
        let line = line?;
        let (day, text) = line.split_once('\t').ok_or("a line without a tab")?;
        let at = day.parse::<jiff::civil::Date>()?.at(10, 0, 0, 0);
        writeln!(out, "{}", inglenook::extractive::dated(text, at).replace('\n', " "))?;
    }
    Ok(())
}
