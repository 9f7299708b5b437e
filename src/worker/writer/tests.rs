//! What a model writes, held against what it read.

use std::sync::Arc;

use super::{Extractive, Generative, Writer};
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
    let facts = writer.statements(&[], &[line], &Cancel::default()).unwrap();
    let texts: Vec<&str> = facts.iter().map(|fact| fact.text.as_str()).collect();
    assert_eq!(texts, ["Ana lives in Lund."]);
}

/// As the model in the box, which says this whatever it is asked.
fn starter(reply: &str) -> Generative {
    let model = ScriptedModel::new(&[]).with_default_reply(reply);
    Generative::new(Arc::new(model.with_info(|info| info.starter = true)))
}

#[test]
fn the_model_in_the_box_names_themes_after_what_is_in_them() {
    let facts = ["Samuel runs every morning.", "Samuel fishes at Lake Vättern."];
    let by_rules = Extractive.theme_name(&facts, &Cancel::default()).unwrap();
    for (name, is_kept) in [
        ("Outdoor sports", true),
        ("Outdoor Sports", true),
        ("Samuel's mornings", true),
        ("Mallory's home", false),
        ("Mornings with Mallory", false),
        ("12 mornings", false),
    ] {
        let said = starter(name).theme_name(&facts, &Cancel::default()).unwrap();
        assert_eq!(said, if is_kept { name } else { by_rules.as_str() });
    }
}

#[test]
fn the_model_in_the_box_gives_a_title_and_the_rules_tell_the_story() {
    let line = Utterance {
        message: MessageId(1),
        role: Role::User,
        speaker: "Ana".into(),
        addressee: None,
        text: "I moved to Lund and work at the hospital.".into(),
        at: jiff::civil::date(2026, 11, 16).at(9, 0, 0, 0),
    };
    let by_rules = Extractive.episode(std::slice::from_ref(&line), &Cancel::default()).unwrap();
    for (reply, title) in [
        ("Title: Moving to Lund\nAna left for Mars.", "Moving to Lund"),
        ("Title: Moving to Mars", by_rules.title.as_str()),
    ] {
        let draft =
            starter(reply).episode(std::slice::from_ref(&line), &Cancel::default()).unwrap();
        assert_eq!((draft.title.as_str(), &draft.content), (title, &by_rules.content));
    }
}
