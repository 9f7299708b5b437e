//! Where an episode ends: at a gap, a length, or a change of topic. Pure.
//!
//! LightMem (§3.1) cuts where the attention of turn k to k−1 peaks *and* their similarity is below τ.
//! The engine gives no attention matrix, so a local minimum of the similarity replaces the first
//! condition; the second is as in the paper.
//!
//! Segmentation is greedy from the left: an episode depends only on messages from its start on, so
//! after a crash the rest is cut as it would have been.

use jiff::SignedDuration;

use crate::memory::{Embedding, Moment};

/// What segmentation knows of one message.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Turn {
    /// When it was sent.
    pub at: Moment,
    /// Whether an episode may begin here: a person speaks, and the message before was not a question.
    pub may_start: bool,
    /// Mean cosine of this message and the ones just before it; `None` if unknown.
    pub similarity: Option<f32>,
}

/// A message is compared with this many before it.
pub(super) const LOOK_BACK: usize = 3;

/// [`Turn::similarity`] of a message, by the vectors of those before it.
pub(super) fn mean_similarity<'a>(
    vector: &Embedding,
    before: impl IntoIterator<Item = &'a Embedding>,
) -> Option<f32> {
    let similarities: Vec<f32> = before.into_iter().map(|other| vector.cosine(other)).collect();
    let n = similarities.len() as f32;
    (n > 0.0).then(|| similarities.iter().sum::<f32>() / n)
}

/// A pause this long ends an episode.
const GAP: SignedDuration = SignedDuration::from_mins(30);
/// Most messages of an episode.
pub const MESSAGES_MAX: usize = 15;
/// A change of topic ends no episode shorter than this.
const MESSAGES_MIN: usize = 4;
/// τ: a local minimum below this is a change of topic.
const SIMILARITY_MAX: f32 = 0.15;

/// Why an episode ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// Nobody spoke for a while.
    Gap,
    /// It reached its maximum length.
    Full,
    /// The topic changed.
    Topic,
}

/// The length of the first episode, if it ends before the last of `turns`, and why it ends.
/// `opinion(k, dip)` is a writer's decision whether a new topic begins at k, where `dip` is the
/// similarity at k if that is a local minimum; `None` leaves the decision to the similarity.
///
/// # Errors
/// If `opinion` fails.
pub fn first_boundary<E>(
    turns: &[Turn],
    mut opinion: impl FnMut(usize, Option<f32>) -> Result<Option<bool>, E>,
) -> Result<Option<(usize, Why)>, E> {
    for k in 1..turns.len() {
        let gap = turns[k].at.timestamp.duration_since(turns[k - 1].at.timestamp);
        if gap >= GAP {
            return Ok(Some((k, Why::Gap)));
        }
        if k >= MESSAGES_MAX {
            return Ok(Some((best_cut(turns), Why::Full)));
        }
        if k < MESSAGES_MIN || !turns[k].may_start {
            continue;
        }
        let dip = dip(turns, k);
        let topic = match opinion(k, dip)? {
            Some(verdict) => verdict,
            None => dip.is_some_and(|similarity| similarity < SIMILARITY_MAX),
        };
        if topic {
            return Ok(Some((k, Why::Topic)));
        }
    }
    Ok(None)
}

/// The similarity at k, if it is a local minimum.
fn dip(turns: &[Turn], k: usize) -> Option<f32> {
    let here = turns[k].similarity?;
    let next = turns.get(k + 1).and_then(|t| t.similarity);
    let previous = turns[k - 1].similarity;
    (previous.is_none_or(|s| here <= s) && next.is_none_or(|s| here <= s)).then_some(here)
}

/// A full episode is cut where its second half is least coherent, and so that the next one is not
/// too short.
fn best_cut(turns: &[Turn]) -> usize {
    let first = MESSAGES_MAX / 2 + 1;
    let leaves_enough = turns.len().saturating_sub(MESSAGES_MIN);
    let last = MESSAGES_MAX.min(leaves_enough).max(first);
    (first..=last)
        .rev() // of equal ones, the latest
        .filter(|&k| turns[k].may_start)
        .min_by(|&a, &b| {
            let similarity = |k: usize| turns[k].similarity.unwrap_or(1.0);
            similarity(a).total_cmp(&similarity(b))
        })
        .unwrap_or(last)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    /// `(minute, similarity in %)`; every turn may start an episode.
    fn turns(spec: &[(i64, i16)]) -> Vec<Turn> {
        spec.iter()
            .map(|&(minute, percent)| Turn {
                at: Moment::new(
                    jiff::Timestamp::UNIX_EPOCH + SignedDuration::from_mins(minute),
                    jiff::tz::Offset::UTC,
                ),
                may_start: true,
                similarity: Some(f32::from(percent) / 100.0),
            })
            .collect()
    }

    #[track_caller]
    fn check(turns: &[Turn], expected: Option<(usize, Why)>) {
        let found = first_boundary(turns, |_, _| Ok::<_, Infallible>(None));
        assert_eq!(found, Ok(expected));
    }

    #[test]
    fn gaps_length_and_topics() {
        check(&turns(&[]), None);
        check(&turns(&[(0, 0), (29, 50)]), None);
        check(&turns(&[(0, 0), (30, 50)]), Some((1, Why::Gap)));
        let chat: Vec<_> = (0..16).map(|m| (m, if m == 11 { 20 } else { 50 })).collect();
        check(&turns(&chat[..15]), None);
        check(&turns(&chat), Some((11, Why::Full)));
        let shift = [(0, 0), (1, 50), (2, 40), (3, 45), (4, 5), (5, 60)];
        check(&turns(&shift), Some((4, Why::Topic)));
        // Too early, and not the lowest point.
        check(&turns(&[(0, 0), (1, 5), (2, 40), (3, 45), (4, 14), (5, 10)]), Some((5, Why::Topic)));
    }

    #[test]
    fn an_answer_stays_with_its_question() {
        let mut shift = turns(&[(0, 0), (1, 50), (2, 40), (3, 45), (4, 5), (5, 60)]);
        shift[4].may_start = false;
        check(&shift, None);
    }

    #[test]
    fn a_model_may_decide() {
        let chat = turns(&[(0, 0), (1, 50), (2, 40), (3, 45), (4, 90), (5, 60)]);
        let mut asked = Vec::new();
        let found = first_boundary(&chat, |k, _| {
            asked.push(k);
            Ok::<_, Infallible>(Some(k == 5))
        });
        assert_eq!(found, Ok(Some((5, Why::Topic))));
        assert_eq!(asked, [4, 5]);
    }

    /// Cutting on after a crash gives the same episodes as cutting in one go.
    #[test]
    fn what_is_left_is_cut_the_same() {
        let spec: Vec<(i64, i16)> = (0..60)
            .map(|i| (i * 2 + if i > 30 { 40 } else { 0 }, ((i * 37) % 97) as i16))
            .collect();
        let all = turns(&spec);
        let cut_from = |start: usize| {
            let mut cuts = Vec::new();
            let mut at = start;
            while let Ok(Some((n, _))) =
                first_boundary(&all[at..], |_, _| Ok::<_, Infallible>(None))
            {
                at += n;
                cuts.push(at);
            }
            cuts
        };
        let whole = cut_from(0);
        assert!(whole.len() > 4, "{whole:?}");
        for (i, &at) in whole.iter().enumerate() {
            assert_eq!(cut_from(at), whole[i + 1..]);
        }
        let mut start = 0;
        for &at in &whole {
            assert!(at - start <= 15);
            start = at;
        }
    }
}
