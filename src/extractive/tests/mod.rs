//! Tables of what people type and what is made of it.

mod answers;
mod dates;
mod hostile;
mod intents;
mod locomo;
mod origins;
mod sessions;
mod statements;

use jiff::civil::{DateTime, date};

use super::second_person::to_second_person;
use super::titles::keyphrases;
use super::*;

/// A Saturday.
const NOW: DateTime = date(2026, 11, 21).at(10, 0, 0, 0);

pub(super) fn said(speaker: &str, addressee: Option<&str>, text: &str) -> Utterance {
    Utterance {
        message: MessageId(1),
        role: Role::User,
        speaker: speaker.into(),
        addressee: addressee.map(str::to_owned),
        text: text.into(),
        at: NOW,
    }
}

/// Evidence in the third person.
pub(super) fn evidence(text: &str, at: DateTime) -> Candidate {
    Candidate {
        text: text.into(),
        relevance: 0.3,
        at,
        raw_speaker: None,
        superseded: false,
        origin: Origin::Person,
        answers: None,
    }
}

fn texts_of(utterances: &[Utterance]) -> Vec<String> {
    statements(utterances).into_iter().map(|s| s.text).collect()
}

/// Rows `said => expected | expected` of a section of a file in `cases/`.
pub(super) fn cases(file: &'static str, section: &str) -> Vec<(String, Vec<String>)> {
    let body = lists::sections(file).find(|(name, _)| *name == section).map(|(_, body)| body);
    let rows = lists::entries(body.unwrap_or_else(|| panic!("no section {section:?}")));
    rows.map(|row| {
        let (said, expected) = row.split_once(" => ").unwrap_or((row, ""));
        let expected = expected.split('|').map(|text| text.trim().to_owned());
        let none = !row.contains(" => ");
        (
            said.replace("\\r", "\r").replace("\\n", "\n"),
            if none { Vec::new() } else { expected.collect() },
        )
    })
    .collect()
}

/// The statements' texts of one message from Ana to her assistant.
fn of_ana(text: &str) -> Vec<String> {
    texts_of(&[said("Ana", None, text)])
}
