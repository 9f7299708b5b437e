//! `completions` and `man`, made from the definition of the command line, and `keys`, made from the chat's table.

use std::path::Path;

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::args::Cli;
use super::output::Console;
use super::report::{Failure, Outcome, done};
use crate::tui::keys::Keymap;

pub fn completions(console: Console, shell: Shell) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "inglenook", &mut script);
    console.write_bytes(&script)?;
    done()
}

pub fn man(console: Console, output: Option<&Path>) -> Outcome {
    match output {
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Cli::command()).render(&mut page).map_err(Failure::Output)?;
            console.write_bytes(&page)?;
        }
        Some(dir) => {
            let failed = |source| Failure::File {
                action: "write the manual pages to",
                path: dir.display().to_string(),
                source,
            };
            std::fs::create_dir_all(dir).map_err(failed)?;
            clap_mangen::generate_to(Cli::command(), dir).map_err(failed)?;
            console.note(&format!("The manual pages are in {}.", dir.display()));
        }
    }
    done()
}

/// The keys of the chat, as a file that can be changed.
pub fn keys(console: Console) -> Outcome {
    console.line(Keymap::usual().trim_end())?;
    done()
}
