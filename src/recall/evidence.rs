//! What was recalled for an answer, and its form in `ask --json`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::extractive::Candidate;
use crate::interfaces::{Context, Signal};
use crate::memory::{EpisodeId, MessageId, SemanticId, ThemeId};

/// A chosen theme.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThemeEvidence {
    pub id: ThemeId,
    pub name: String,
}

/// A chosen fact.
#[derive(Debug, Clone, PartialEq)]
pub struct SemanticEvidence {
    pub id: SemanticId,
    pub text: String,
    /// Where it comes from.
    pub messages: Vec<MessageId>,
    pub relevance: f64,
    pub superseded: bool,
}

/// A whole raw message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageEvidence {
    pub id: MessageId,
    /// "Melanie", "Ana", "The user".
    pub speaker: String,
    pub text: String,
}

/// A probed episode.
#[derive(Debug, Clone, PartialEq)]
pub struct EpisodeEvidence {
    pub id: EpisodeId,
    pub title: String,
    pub admitted: bool,
    /// Its raw messages were admitted too.
    pub expanded: bool,
    pub entropy_before_nats: f64,
    pub entropy_after_nats: f64,
}

/// The outcome of [`super::Recall::run`].
#[derive(Default)]
pub struct Evidence {
    pub themes: Vec<ThemeEvidence>,
    /// Best first.
    pub semantics: Vec<SemanticEvidence>,
    /// Whole messages of the coarse context, then those of expanded episodes.
    pub messages: Vec<MessageEvidence>,
    /// Admitted and refused, in the order of probing.
    pub episodes: Vec<EpisodeEvidence>,
    /// The reader's uncertainty with the coarse context; `None` if nothing was found to measure.
    pub entropy_coarse_nats: Option<f64>,
    /// With everything admitted.
    pub entropy_final_nats: Option<f64>,
    /// What the uncertainties are; [`Signal::Overlap`] has no unit and lies in [0, 1].
    pub signal: Option<Signal>,
    /// Tokens of the whole prompt; 0 if none was asked for.
    pub prompt_tokens: u64,
    /// Tokens that the model read for it: the prompt, the refused units, and the question once a
    /// measurement; less what a reused context held already.
    pub processed_tokens: u64,
    /// Tokens of answers that measurements decoded and took back.
    pub decoded_tokens: u64,
    pub seconds: f64,
    /// Everything that an extractive reader may quote, best first.
    pub candidates: Vec<Candidate>,
    /// The block of memories, up to its last line; empty if there are none.
    pub block: String,
    /// The whole prompt in the reader's KV cache, the answer's turn opened. `None` if it was not
    /// asked for.
    pub context: Option<Box<dyn Context>>,
    /// So many of the oldest messages of the history did not fit in the prompt.
    pub n_history_left_out: usize,
    /// The question alone was longer than the window.
    pub question_cut: bool,
    /// The ids that messages had where they were imported from.
    pub external_ids: BTreeMap<MessageId, String>,
}

impl Evidence {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.semantics.is_empty() && self.messages.is_empty()
    }

    /// `evidence`, `entropy_nats`, `tokens` and `seconds` of `ask --json` (issue 2, point 9); who
    /// writes the answer adds `answer`, `model`, the tokens generated and the other seconds.
    /// Beyond the contract: each theme's name, the whole messages, the `signal` behind the
    /// uncertainties, the tokens `decoded`, and
    /// `external_ids` where a fact's messages have any.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let ids = |messages: &[MessageId]| -> Vec<String> {
            messages.iter().map(ToString::to_string).collect()
        };
        let external = |messages: &[MessageId]| -> Vec<&str> {
            messages.iter().filter_map(|m| self.external_ids.get(m).map(String::as_str)).collect()
        };
        let semantics: Vec<Value> = self
            .semantics
            .iter()
            .map(|s| {
                let mut value = json!({
                    "id": s.id.to_string(),
                    "text": s.text,
                    "messages": ids(&s.messages),
                });
                let external = external(&s.messages);
                if !external.is_empty() {
                    value["external_ids"] = json!(external);
                }
                if s.superseded {
                    value["superseded"] = json!(true);
                }
                value
            })
            .collect();
        let messages: Vec<Value> = self
            .messages
            .iter()
            .map(|m| {
                let mut value =
                    json!({"id": m.id.to_string(), "speaker": m.speaker, "text": m.text});
                if let Some(external) = self.external_ids.get(&m.id) {
                    value["external_id"] = json!(external);
                }
                value
            })
            .collect();
        let episodes: Vec<Value> = self
            .episodes
            .iter()
            .map(|e| {
                json!({
                    "id": e.id.to_string(),
                    "title": e.title,
                    "admitted": e.admitted,
                    "expanded": e.expanded,
                    "entropy_before_nats": finite(e.entropy_before_nats),
                    "entropy_after_nats": finite(e.entropy_after_nats),
                })
            })
            .collect();
        let themes: Vec<Value> =
            self.themes.iter().map(|t| json!({"id": t.id.to_string(), "name": t.name})).collect();
        json!({
            "evidence": {
                "themes": themes,
                "semantics": semantics,
                "messages": messages,
                "episodes": episodes,
                "signal": self.signal.map(Signal::as_str),
            },
            "entropy_nats": {
                "coarse": self.entropy_coarse_nats.and_then(finite),
                "final": self.entropy_final_nats.and_then(finite),
            },
            "tokens": {
                "prompt": self.prompt_tokens,
                "processed": self.processed_tokens,
                "decoded": self.decoded_tokens,
            },
            "seconds": {"recall": self.seconds},
        })
    }
}

/// JSON has no NaN.
fn finite(x: f64) -> Option<f64> {
    x.is_finite().then_some(x)
}
