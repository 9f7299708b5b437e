//! No command: the chat.
use super::App;
use super::report::{Failure, Outcome};

pub fn run(_: &App) -> Outcome {
    Err(Failure::Usage {
        what: "the chat screen is not part of this build yet".into(),
        hint: "inglenook --help lists the commands".into(),
    })
}
