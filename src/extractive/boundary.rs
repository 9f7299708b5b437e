//! Whether the topic changes, by rules alone.

use super::lists::Lines;
use super::{Utterance, lexicon};
use crate::memory::Role;

/// Below this similarity to what came before, the topic has changed.
const SIMILARITY_MIN: f32 = 0.15;
/// A shorter episode does not end on a change of words and meaning alone.
const MESSAGES_MIN: usize = 4;

static CHANGES_OF_SUBJECT: Lines = Lines::new("changes of subject");

/// Whether the topic changes with `new` after `history` (the open episode, oldest first): its speaker
/// says so ("By the way"), or it shares neither words nor meaning.
///
/// `similarity`: cosine of the new message and the open episode's latest turns; the caller passes it
/// only at a local minimum if it can tell, otherwise always.
pub fn changes_topic(history: &[Utterance], new: &Utterance, similarity: Option<f32>) -> bool {
    let Some(last) = history.last() else { return false };
    // A reply belongs to what it answers, so that topics change with the person's messages only.
    if last.role == Role::User && new.role == Role::Assistant {
        return false;
    }
    if history.len() >= 2 {
        let head = lexicon::clip(&new.text, 120).to_lowercase();
        let head = head.trim_start();
        if CHANGES_OF_SUBJECT.iter().any(|s| head.starts_with(s)) {
            return true;
        }
    }
    let shares_words = || {
        let before: std::collections::HashSet<String> = history
            .iter()
            .rev()
            .take(4)
            .flat_map(|u| lexicon::content_stems(lexicon::clip(&u.text, 2_000)))
            .collect();
        lexicon::content_stems(lexicon::clip(&new.text, 2_000)).iter().any(|s| before.contains(s))
    };
    let short = lexicon::words(lexicon::clip(&new.text, 400)).count() < 4;
    history.len() >= MESSAGES_MIN
        && !short
        && similarity.is_some_and(|s| s < SIMILARITY_MIN)
        && !shares_words()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(role: Role, text: &str, minute: i64) -> Utterance {
        let utterance = super::super::tests::said("Ana", None, text);
        let at = utterance.at.saturating_add(jiff::Span::new().minutes(minute));
        Utterance { role, at, ..utterance }
    }

    #[track_caller]
    fn check(n_before: usize, text: &str, similarity: Option<f32>, expected: bool) {
        let history: Vec<Utterance> = (0..n_before)
            .map(|n| {
                let role = if n % 2 == 0 { Role::User } else { Role::Assistant };
                said(role, "My dog loves long walks in the forest", 0)
            })
            .collect();
        let found = changes_topic(&history, &said(Role::User, text, 1), similarity);
        assert_eq!(found, expected, "of {text:?}");
    }

    #[test]
    fn topics_change() {
        check(0, "hello", Some(-1.0), false);
        check(4, "He is five years old", None, false);
        check(14, "He is five years old", None, false);
        check(4, "By the way, I got a new job", None, true);
        check(4, "On another note, I got a job", Some(0.9), true);
        check(4, "I got a new job at the bank", Some(0.05), true);
        check(4, "I got a new job at the bank", Some(0.5), false);
        check(4, "I got a new job at the bank", None, false);
        check(2, "I got a new job at the bank", Some(0.05), false);
        check(4, "The forest is lovely in autumn", Some(0.05), false);
        check(4, "ok thanks", Some(0.05), false);
    }

    #[test]
    fn a_reply_stays_with_its_question() {
        let question = [said(Role::User, "What is a good bakery?", 0)];
        let reply = said(Role::Assistant, "By the way, no idea.", 1);
        assert!(!changes_topic(&question, &reply, Some(0.0)));
    }
}
