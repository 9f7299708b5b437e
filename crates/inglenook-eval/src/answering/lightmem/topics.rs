//! Where topics end (§3.1), and which topics are noted together (§3.2). Pure.
//!
//! The paper cuts where the attention of a turn to the previous one peaks (B₁) and their similarity is below τ
//! (B₂). The engine exposes no attention weights, so a local minimum of the similarity stands for B₁, as in
//! [`inglenook::worker::segment`]; the paper does not print τ. Only people's turns count: an assistant's
//! belongs to the turn before it (Appendix C.1). The end of a session ends its topic.

use std::ops::Range;

use inglenook::memory::Embedding;

use crate::answering::data::Message;

/// τ, the similarity below which a topic may end.
const SIMILARITY_MAX: f32 = 0.2;

/// Cuts messages into topics whenever the buffer of `tokens_max` is full; what follows the last boundary is
/// carried over.
pub(super) fn topics(
    messages: &[Message],
    n_tokens: &[usize],
    vectors: &[Embedding],
    tokens_max: usize,
) -> Vec<Range<usize>> {
    let mut topics = Vec::new();
    let (mut start, mut used) = (0, 0);
    for place in 0..messages.len() {
        used += n_tokens[place];
        let next = place + 1;
        let session_ends =
            messages.get(next).is_none_or(|next| next.session != messages[place].session);
        if !session_ends && used < tokens_max {
            continue;
        }
        let mut from = start;
        for boundary in boundaries(start..next, messages, vectors) {
            topics.push(from..boundary);
            from = boundary;
        }
        // Without a boundary the whole buffer is one topic.
        if session_ends || from == start {
            topics.push(from..next);
            from = next;
        }
        start = from;
        used = n_tokens[start..next].iter().sum();
    }
    topics
}

/// B₁ ∩ B₂ within a buffer: messages that begin a topic.
fn boundaries(buffer: Range<usize>, messages: &[Message], vectors: &[Embedding]) -> Vec<usize> {
    let is_person =
        |place: &usize| messages[*place].speaker.is_some() || !messages[*place].by_second;
    let turns: Vec<usize> = buffer.filter(is_person).collect();
    let similarity: Vec<f32> =
        turns.windows(2).map(|pair| vectors[pair[0]].cosine(&vectors[pair[1]])).collect();
    similarity
        .windows(3)
        .zip(turns.iter().skip(2))
        .filter(|(near, _)| near[1] < near[0] && near[1] < near[2] && near[1] < SIMILARITY_MAX)
        .map(|(_, &turn)| turn)
        .collect()
}

/// Topics in runs, each ended by the topic that fills the short-term buffer.
pub(super) fn filled<'t>(
    topics: &'t [Range<usize>],
    n_tokens: &[usize],
    tokens_max: usize,
) -> Vec<&'t [Range<usize>]> {
    let (mut buffers, mut start, mut used) = (Vec::new(), 0, 0);
    for (i, topic) in topics.iter().enumerate() {
        used += n_tokens[topic.clone()].iter().sum::<usize>();
        if used >= tokens_max || i + 1 == topics.len() {
            buffers.push(&topics[start..=i]);
            (start, used) = (i + 1, 0);
        }
    }
    buffers
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Unit vectors of so many degrees; a message each, by a person unless it is negative.
    fn talk(spec: &[(usize, f32)]) -> (Vec<Message>, Vec<Embedding>) {
        let said = |&(session, degrees): &(usize, f32)| Message {
            id: String::new(),
            speaker: None,
            by_second: degrees < 0.0,
            text: String::new(),
            at: jiff::civil::DateTime::default(),
            session,
        };
        let vector = |&(_, degrees): &(usize, f32)| {
            let angle = degrees.abs().to_radians();
            Embedding::normalise(vec![angle.cos(), angle.sin()]).unwrap()
        };
        (spec.iter().map(said).collect(), spec.iter().map(vector).collect())
    }

    /// Where topics end.
    #[track_caller]
    fn check(spec: &[(usize, f32)], tokens_max: usize, expected: &[usize]) {
        let (messages, vectors) = talk(spec);
        let found = topics(&messages, &vec![1; spec.len()], &vectors, tokens_max);
        let ends: Vec<usize> = found.iter().map(|topic| topic.end).collect();
        assert_eq!(ends, expected, "{spec:?}");
        let all: Vec<usize> = found.into_iter().flatten().collect();
        assert_eq!(all, (0..spec.len()).collect::<Vec<_>>(), "every message is in one topic");
    }

    #[test]
    fn topics_end_where_the_talk_turns() {
        let turned = [(0, 0.0), (0, 5.0), (0, 95.0), (0, 90.0), (0, 92.0)];
        check(&turned, 100, &[2, 5]);
        // A turn, but no low one.
        check(&[(0, 0.0), (0, 5.0), (0, 45.0), (0, 50.0), (0, 55.0)], 100, &[5]);
        // What the assistant says belongs to what it answers.
        let answered = [(0, 0.1), (0, -170.0), (0, 5.0), (0, -1.0), (0, 95.0), (0, 90.0)];
        check(&answered, 100, &[4, 6]);
        check(&[(0, 0.0), (0, 5.0), (1, 5.0)], 100, &[2, 3]);
        check(&[], 100, &[]);
    }

    #[test]
    fn what_follows_the_last_boundary_waits_for_more() {
        // Full at the fourth and at the sixth message.
        let long = [(0, 0.0), (0, 5.0), (0, 95.0), (0, 90.0), (0, 92.0), (0, 91.0), (0, 90.0)];
        check(&long, 4, &[2, 6, 7]);
    }

    #[test]
    fn topics_are_noted_by_the_bufferful() {
        let topics = [0..2, 2..5, 5..6, 6..7];
        let buffers = |tokens_max| filled(&topics, &[1; 7], tokens_max);
        assert_eq!(buffers(4), [&topics[..2], &topics[2..]]);
        assert_eq!(buffers(100), [&topics[..]]);
        assert_eq!(buffers(1).len(), 4);
        assert!(filled(&[], &[], 1).is_empty());
    }
}
