//! Constraints on the replies of the generative writer.
//!
//! A model that was trained to list writes plain lines. Any other begins each line with a mark, so that it
//! cannot begin with talk about the task, a code block or a thought.

use crate::grammar::{Constraint, Lines};
use crate::prompts::{Semantics, Style, ThemeName};

/// One constraint per prompt; `None` leaves the reply free.
pub(super) struct Forms {
    /// One fact per line. A line may be a little longer than a fact, so that one cut off there is
    /// recognised by its length and dropped.
    pub facts: Option<Constraint>,
    /// An episode's title, without its story.
    pub title: Option<Constraint>,
    pub theme: Option<Constraint>,
    pub merged: Option<Constraint>,
}

impl Forms {
    pub fn new(style: Style) -> Self {
        let form = |prefix: &str, max: usize, chars_max: usize| {
            let (max, chars_max) = (u16::try_from(max).ok()?, u16::try_from(chars_max).ok()?);
            Constraint::lines(Lines { prefix: prefix.into(), max, chars_max })
        };
        let lines = |mark: &str, max, chars_max| {
            form(if style == Style::Trained { "" } else { mark }, max, chars_max)
        };
        Self {
            facts: lines("- ", Semantics::FACTS_MAX, Semantics::FACT_CHARS_MAX + 8),
            title: form("Title: ", 1, 100),
            theme: lines("Name: ", 1, ThemeName::CHARS_MAX + 8),
            merged: lines("- ", 1, 2 * Semantics::FACT_CHARS_MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::civil::date;

    use super::*;
    use crate::interfaces::Cancel;
    use crate::testing::ScriptedModel;
    use crate::worker::writer::Generative;

    fn noted(reply: &str) -> Vec<String> {
        let model = Arc::new(ScriptedModel::new(&[]).with_default_reply(reply));
        let writer = Generative::with_style(model, Style::Instructed);
        let at = date(2026, 11, 22).at(9, 0, 0, 0);
        writer.draft_facts(&[], at, "Ana", &Cancel::default()).unwrap().unwrap().0
    }

    #[test]
    fn facts_are_a_list_and_whole() {
        let two = ["Ana lives in Lund.", "Ana has a dog."];
        assert_eq!(noted("- Ana lives in Lund.\n- Ana has a dog."), two);
        assert_eq!(noted("Ana lives in Lund.\n\n  Ana has a dog.\n"), two);
        assert_eq!(noted("NONE"), [""; 0]);
        // Too many: the line that the token budget cuts off is dropped.
        let many: Vec<String> = (100..140).map(|n| format!("Ana has seen film {n}.")).collect();
        let facts = noted(&many.join("\n"));
        assert!((10..30).contains(&facts.len()), "{}", facts.len());
        assert_eq!(facts, many[..facts.len()]);
        // A line that is too long is dropped, wherever it was cut.
        let long = format!("{}\nAna has a dog.", "Ana went on. ".repeat(40));
        assert_eq!(noted(&long), ["Ana has a dog."]);
    }

    #[test]
    fn every_step_has_its_form() {
        for style in [Style::Trained, Style::Instructed] {
            let forms = Forms::new(style);
            assert!(forms.facts.is_some() && forms.theme.is_some() && forms.merged.is_some());
        }
    }
}
