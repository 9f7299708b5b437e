//! Tables of what people type and what is made of it.

mod answers;
mod dates;
mod hostile;
mod intents;
mod locomo;
mod sessions;
mod statements;

use jiff::civil::{DateTime, date};

use super::*;

/// A Saturday.
const NOW: DateTime = date(2026, 11, 21).at(10, 0, 0, 0);

fn said(speaker: &str, addressee: Option<&str>, text: &str) -> Utterance {
    Utterance {
        message: MessageId(1),
        role: Role::User,
        speaker: speaker.into(),
        addressee: addressee.map(str::to_owned),
        text: text.into(),
        at: NOW,
    }
}

/// The statements' texts, of one message of Ana to her assistant.
fn of_ana(text: &str) -> Vec<String> {
    statements(&[said("Ana", None, text)]).into_iter().map(|s| s.text).collect()
}
