//! A file to import: any of the formats, one in a zip, or a whole memory.
#![no_main]

use std::io::Cursor;

use inglenook::cli::{conversations, is_zip};
use inglenook::imports::{self, Imported};
use inglenook::store::{Rows, Store};
use inglenook_fuzz as _;
use libfuzzer_sys::fuzz_target;
use serde::Deserialize;

fuzz_target!(|data: &[u8]| {
    if is_zip(data) {
        if let Ok(parts) = conversations(Cursor::new(data), "f.zip") {
            let n_bytes = parts.iter().map(|(name, text)| name.len() + text.len()).sum();
            for wanted in [None, Some("Peas")] {
                imports::parse_parts(&parts, wanted).iter().for_each(|read| check(read, n_bytes));
            }
        }
        return;
    }
    if data.starts_with(b"{\"inglenook\"") {
        whole_memory(data);
    }
    for wanted in [None, Some("Peas")] {
        match imports::parse(data, "f", wanted) {
            Ok(read) => check(&read, data.len()),
            Err(error) => drop((error.to_string(), error.hint())),
        }
    }
});

/// Nothing empty, nothing longer than it came.
fn check(read: &Imported, n_bytes: usize) {
    let mut n_text = 0;
    for session in &read.sessions {
        assert!(!session.messages.is_empty());
        n_text += session.title.len();
        for message in &session.messages {
            n_text += message.content.len();
            n_text += message.speaker.as_ref().map_or(0, String::len);
            n_text += message.external_id.as_ref().map_or(0, String::len);
            message.created_at.civil();
        }
    }
    // A few words of our own stand around what is attached, and in titles.
    let most = 3 * n_bytes + 200 * read.sessions.len();
    assert!(n_text <= most, "{n_text} bytes of text from {n_bytes}");
}

#[derive(Deserialize)]
struct Exported {
    memory: Option<Rows>,
}

/// It goes in whole, or is refused; what went in comes out again.
fn whole_memory(data: &[u8]) {
    let Ok(Exported { memory: Some(rows) }) = serde_json::from_slice(data) else { return };
    let fill = |rows: &Rows| -> Option<Rows> {
        let store = Store::in_memory().expect("an empty memory");
        store.write(|tx| tx.insert_rows(rows)).ok()?;
        assert_eq!(store.read(|r| r.verify()).expect("readable"), Vec::<String>::new());
        Some(store.read(|r| r.rows()).expect("readable"))
    };
    if let Some(rows) = fill(&rows) {
        let again = fill(&rows).expect("what was exported can be imported");
        for table in ["message", "episode", "semantic", "theme"] {
            assert_eq!(again.n(table), rows.n(table), "{table}");
        }
    }
}
