//! Documents and chunks: runs of whole messages. Pure.

use std::ops::Range;

use crate::answering::data::Message;

/// Places of messages, cut at every session and wherever more than `tokens_max` tokens would come
/// together. A longer message is alone.
pub(super) fn runs(
    messages: &[Message],
    n_tokens: &[usize],
    tokens_max: usize,
) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    let mut used = 0;
    for (place, (said, n)) in messages.iter().zip(n_tokens).enumerate() {
        match runs.last_mut() {
            Some(run) if messages[run.start].session == said.session && used + n <= tokens_max => {
                run.end = place + 1;
                used += n;
            }
            _ => {
                runs.push(place..place + 1);
                used = *n;
            }
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_stay_whole_and_sessions_apart() {
        let said = |session: usize| Message {
            id: String::new(),
            speaker: None,
            by_second: false,
            text: String::new(),
            at: jiff::civil::DateTime::default(),
            session,
        };
        let messages = [0, 0, 0, 0, 1, 1].map(said);
        let runs = |n_tokens: [usize; 6]| runs(&messages, &n_tokens, 10);
        assert_eq!(runs([5, 5, 5, 5, 5, 5]), [0..2, 2..4, 4..6]);
        assert_eq!(runs([1, 1, 1, 1, 1, 1]), [0..4, 4..6]);
        assert_eq!(runs([4, 40, 4, 4, 40, 4]), [0..1, 1..2, 2..4, 4..5, 5..6]);
        assert!(super::runs(&[], &[], 10).is_empty());
    }
}
