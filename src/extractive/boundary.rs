//! Where one episode ends and the next begins, from signals that need no model.

use super::{Utterance, lexicon};

/// A pause of more minutes is a boundary.
pub const GAP_MINUTES_MAX: i64 = 30;
/// An episode holds at most so many messages.
pub const MESSAGES_MAX: usize = 15;
/// Below this similarity to what came before, the topic has changed.
pub const SIMILARITY_MIN: f32 = 0.15;
/// An episode that is shorter is not cut for its topic alone.
const MESSAGES_MIN: usize = 4;

/// Why an episode ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoundaryReason {
    Gap,
    Length,
    /// "By the way", "on another note".
    Phrase,
    Similarity,
}

impl BoundaryReason {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Gap => "a pause of more than 30 minutes",
            Self::Length => "15 messages",
            Self::Phrase => "the speaker changes the subject",
            Self::Similarity => "the topic changes",
        }
    }
}

const SHIFTS: &[&str] = &[
    "by the way",
    "btw",
    "on another note",
    "on a different note",
    "changing the subject",
    "to change the subject",
    "speaking of something else",
    "anyway,",
    "anyways,",
    "different topic",
    "new topic",
    "another thing",
    "one more thing",
    "something else",
    "unrelated",
    "off topic",
    "off-topic",
    "switching gears",
    "moving on",
    "new question",
    "different question",
    "another question",
    "next question",
    "completely different",
    "let's talk about",
    "can we talk about",
];

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
        if SHIFTS.iter().any(|s| head.starts_with(s)) {
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
