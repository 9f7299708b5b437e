//! What a model writes, held against what it read.

use std::sync::Arc;

use super::{Generative, Writer};
use crate::extractive::Utterance;
use crate::interfaces::Cancel;
use crate::memory::{MessageId, Role};
use crate::testing::ScriptedModel;

#[test]
fn a_fact_that_is_likelier_without_its_message_is_refused() {
    let model = ScriptedModel::new(&[
        ("Date: ", "Ana loves Lund."), // whatever it reads
        ("I live in Lund", "Ana lives in Lund.\nAna loves Lund."),
    ]);
    let writer = Generative::new(Arc::new(model)).routing(false);
    let line = Utterance {
        message: MessageId(1),
        role: Role::User,
        speaker: "Ana".into(),
        addressee: None,
        text: "I live in Lund and everybody loves Lund.".into(),
        at: jiff::civil::date(2026, 11, 16).at(9, 0, 0, 0),
    };
    let facts = writer.statements(&[line], &Cancel::default()).unwrap();
    let texts: Vec<&str> = facts.iter().map(|fact| fact.text.as_str()).collect();
    assert_eq!(texts, ["Ana lives in Lund."]);
}
