//! What a message wants: the built-in encoder is asked first, rules where it can't read or is not there.

use crate::chat::policy::{ModelProfile, head};
use crate::extractive::{self, Wants};
use crate::interfaces::Reranker;

/// The encoder's labels M, S, T and W.
const LABELS: [Wants; 4] = [Wants::Memory, Wants::SmallTalk, Wants::Statement, Wants::World];

/// What a message wants most probably.
pub fn wants(encoder: Option<&dyn Reranker>, text: &str) -> Wants {
    let text = head(text);
    // A failure is no reason not to answer.
    let said = encoder.and_then(|encoder| encoder.probabilities("wants", &[text]).ok().flatten());
    let likeliest = said.and_then(|probabilities| {
        LABELS.into_iter().zip(probabilities).max_by(|(_, a), (_, b)| a.total_cmp(b))
    });
    likeliest.map_or_else(|| extractive::wants(text), |(wants, _)| wants)
}

impl ModelProfile {
    /// As [`wants`].
    pub fn wants(&self, text: &str) -> Wants {
        wants(self.encoder.as_deref(), text)
    }
}
