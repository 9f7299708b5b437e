//! Decides where an episode ends, by rules alone.

use super::lists::Lines;
use super::{Utterance, lexicon};

/// A pause of more minutes is a boundary.
const GAP_MINUTES_MAX: i64 = 30;
/// An episode holds at most so many messages.
const MESSAGES_MAX: usize = 15;
/// Below this similarity to what came before, the topic has changed.
const SIMILARITY_MIN: f32 = 0.15;
/// An episode that is shorter is not cut for its topic alone.
const MESSAGES_MIN: usize = 4;

/// Why an episode ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoundaryReason {
    /// A pause of more than 30 minutes.
    Gap,
    /// The episode is full.
    Length,
    /// The speaker changes the subject: "By the way", "on another note".
    Phrase,
    /// The topic changes.
    Similarity,
}

static CHANGES_OF_SUBJECT: Lines = Lines::new("changes of subject");

/// Whether `new` begins a new episode after `history` (the open episode, oldest first).
///
/// `similarity`: cosine of the new message and the open episode's latest turns; the caller passes
/// it only where it is a local minimum, or always, as it can.
pub fn boundary(
    history: &[Utterance],
    new: &Utterance,
    similarity: Option<f32>,
) -> Option<BoundaryReason> {
    let last = history.last()?;
    let minutes = new.at.duration_since(last.at).as_mins();
    if minutes > GAP_MINUTES_MAX {
        return Some(BoundaryReason::Gap);
    }
    if history.len() >= MESSAGES_MAX {
        return Some(BoundaryReason::Length);
    }
    // A reply belongs to what it answers, so that topics change with the person's messages only.
    let answers =
        last.role == crate::memory::Role::User && new.role == crate::memory::Role::Assistant;
    if answers {
        return None;
    }
    if history.len() >= 2 {
        let head = lexicon::clip(&new.text, 120).to_lowercase();
        let head = head.trim_start();
        if CHANGES_OF_SUBJECT.iter().any(|s| head.starts_with(s)) {
            return Some(BoundaryReason::Phrase);
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
    if history.len() >= MESSAGES_MIN
        && !short
        && similarity.is_some_and(|s| s < SIMILARITY_MIN)
        && !shares_words()
    {
        return Some(BoundaryReason::Similarity);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Role;

    fn said(role: Role, text: &str, minute: i64) -> Utterance {
        let utterance = super::super::tests::said("Ana", None, text);
        let at = utterance.at.saturating_add(jiff::Span::new().minutes(minute));
        Utterance { role, at, ..utterance }
    }

    #[track_caller]
    fn check(
        n_before: usize,
        minute: i64,
        text: &str,
        similarity: Option<f32>,
        expected: Option<BoundaryReason>,
    ) {
        let history: Vec<Utterance> = (0..n_before)
            .map(|n| {
                let role = if n % 2 == 0 { Role::User } else { Role::Assistant };
                said(role, "My dog loves long walks in the forest", 0)
            })
            .collect();
        assert_eq!(
            boundary(&history, &said(Role::User, text, minute), similarity),
            expected,
            "of {text:?}"
        );
    }

    #[test]
    fn episodes_end() {
        use BoundaryReason::{Gap, Length, Phrase, Similarity};
        check(0, 0, "hello", Some(-1.0), None);
        check(4, 30, "He is five years old", None, None);
        check(4, 31, "He is five years old", None, Some(Gap));
        check(15, 1, "He is five years old", None, Some(Length));
        check(14, 1, "He is five years old", None, None);
        check(4, 1, "By the way, I got a new job", None, Some(Phrase));
        check(4, 1, "On another note, I got a job", Some(0.9), Some(Phrase));
        check(4, 1, "I got a new job at the bank", Some(0.05), Some(Similarity));
        check(4, 1, "I got a new job at the bank", Some(0.5), None);
        check(4, 1, "I got a new job at the bank", None, None);
        check(2, 1, "I got a new job at the bank", Some(0.05), None);
        check(4, 1, "The forest is lovely in autumn", Some(0.05), None);
        check(4, 1, "ok thanks", Some(0.05), None);
    }

    #[test]
    fn a_reply_stays_with_its_question() {
        let question = [said(Role::User, "What is a good bakery?", 0)];
        assert_eq!(
            boundary(&question, &said(Role::Assistant, "By the way, no idea.", 1), Some(0.0)),
            None
        );
    }
}
