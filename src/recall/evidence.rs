//! What was recalled for an answer, and how `ask --json` shows it.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde_json::{Value, json};

use super::Query;
use super::candidates::{Candidates, Scored};
use super::cues::is_evidence;
use super::lines;
use super::stage_one::{self, Coarse};
use super::stage_two::Outcome;
use crate::extractive::{Candidate, Words};
use crate::interfaces::{Context, Signal};
use crate::memory::{EpisodeId, MessageId, SemanticId, Theme};
use crate::store::{AnyId, Store, StoreError};

/// A chosen fact.
#[derive(Debug, Clone, PartialEq)]
pub struct SemanticEvidence {
    /// Its id.
    pub id: SemanticId,
    /// The fact in one sentence.
    pub text: String,
    /// The messages that it comes from.
    pub messages: Vec<MessageId>,
    /// The probability that it is evidence.
    pub relevance: f64,
    /// Whether a later fact took its place.
    pub superseded: bool,
}

/// A whole raw message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageEvidence {
    /// Its id.
    pub id: MessageId,
    /// "Melanie", "Ana", "The user".
    pub speaker: String,
    /// What was said.
    pub text: String,
}

/// A probed episode.
#[derive(Debug, Clone, PartialEq)]
pub struct EpisodeEvidence {
    /// Its id.
    pub id: EpisodeId,
    /// Its title.
    pub title: String,
    /// Whether the gate let it in.
    pub admitted: bool,
    /// Whether its raw messages were admitted too.
    pub expanded: bool,
    /// The reader's uncertainty without it.
    pub entropy_before_nats: f64,
    /// The reader's uncertainty with it, and with its messages if it was expanded.
    pub entropy_after_nats: f64,
}

/// The outcome of [`super::Recall::run`].
#[derive(Default)]
pub struct Evidence {
    /// By the relevance of their best fact.
    pub themes: Vec<Theme>,
    /// Best first.
    pub semantics: Vec<SemanticEvidence>,
    /// Whole messages of the coarse context, then those of expanded episodes.
    pub messages: Vec<MessageEvidence>,
    /// Admitted and refused, in the order of probing.
    pub episodes: Vec<EpisodeEvidence>,
    /// The reader's uncertainty with the coarse context; `None` if that is empty.
    pub entropy_coarse_nats: Option<f64>,
    /// The reader's uncertainty with everything admitted.
    pub entropy_final_nats: Option<f64>,
    /// How uncertainty was measured; [`Signal::Overlap`] has no unit and lies in [0, 1].
    pub signal: Option<Signal>,
    /// Tokens of the whole prompt; 0 if none was asked for.
    pub prompt_tokens: u64,
    /// Tokens that the model processed: the prompt, the refused units, and the question for each
    /// measurement; less what a reused context already held.
    pub processed_tokens: u64,
    /// Tokens of answers that measurements decoded and rolled back.
    pub decoded_tokens: u64,
    /// How long recall took.
    pub seconds: f64,
    /// Everything that an extractive reader may quote, best first.
    pub candidates: Vec<Candidate>,
    /// The words of a candidate that answer, if they were looked for.
    pub words: Words,
    /// Where nothing is relevant, the message that is most so.
    pub nearest: Option<(MessageId, Candidate)>,
    /// The block of memories up to its last line; empty if there are none.
    pub block: String,
    /// The whole prompt in the reader's KV cache, with the answer's turn open; `None` if no prompt
    /// was asked for.
    pub context: Option<Box<dyn Context>>,
    /// The question alone was longer than the window and was cut.
    pub question_cut: bool,
    /// The ids that imported messages had at their source.
    pub external_ids: BTreeMap<MessageId, String>,
}

impl Evidence {
    /// The evidence of both stages, without what only a prompt has.
    pub(super) fn collect(
        candidates: &Candidates,
        coarse: Coarse,
        outcome: Outcome,
        user: &str,
        relevance_min: f64,
    ) -> Self {
        let mut evidence = Self {
            entropy_coarse_nats: outcome.coarse,
            entropy_final_nats: outcome.last,
            themes: coarse.themes,
            episodes: outcome.probes,
            ..Self::default()
        };
        for fact in coarse.semantics {
            evidence.candidates.push(stage_one::of_fact(&fact, &coarse.fact_origins));
            let Scored { unit, relevance, .. } = fact;
            let superseded = unit.superseded_by.is_some();
            evidence.semantics.push(SemanticEvidence {
                id: unit.id,
                text: unit.content,
                messages: unit.messages,
                relevance,
                superseded,
            });
        }
        let judged: BTreeMap<MessageId, (f64, Option<f64>)> =
            candidates.messages.iter().map(|m| (m.unit.id, (m.relevance, m.answers))).collect();
        let whole = coarse.messages.into_iter().map(|m| m.unit);
        for message in whole.chain(outcome.messages) {
            let speaker = lines::speaker(&message, user).to_owned();
            let judged = judged.get(&message.id).copied().unwrap_or((relevance_min, None));
            let origins = &coarse.message_origins;
            evidence.candidates.push(stage_one::of_message(&message, user, judged, origins));
            let (id, text) = (message.id, message.content);
            evidence.messages.push(MessageEvidence { id, speaker, text });
        }
        evidence.candidates.sort_by(|a, b| b.relevance.total_cmp(&a.relevance));
        evidence
    }

    /// Adds the messages that the facts come from: words are looked for in what was said. They are as relevant as their facts,
    /// and, where no reranker read them, as likely to answer.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub(super) fn add_told(
        &mut self,
        store: &Store,
        candidates: &Candidates,
        query: &Query<'_>,
        user: &str,
    ) -> Result<(), StoreError> {
        let known: HashSet<MessageId> = self.messages.iter().map(|m| m.id).collect();
        let is_open = |id: &MessageId| !known.contains(id) && !candidates.refused.contains(id);
        let facts = self.semantics.iter().filter(|s| !s.superseded || query.traits.past);
        let ids: BTreeSet<MessageId> =
            facts.flat_map(|s| s.messages.iter().copied()).filter(is_open).collect();
        let (told, origins) = store.read(|r| {
            let told = r.find_messages(ids.iter().copied())?;
            Ok((told, r.message_origins(ids)?))
        })?;
        for (id, mut message) in told.into_iter().filter(|(_, m)| is_evidence(m, query)) {
            message.created_at = message.created_at.min(candidates.now);
            let of_it = candidates.semantics.iter().filter(|s| s.unit.messages.contains(&id));
            let of_facts = of_it.map(|s| (s.relevance, s.answers));
            let own = candidates.messages.iter().find(|m| m.unit.id == id);
            let own = own.map(|m| (m.relevance, m.answers));
            let relevance = of_facts.clone().chain(own).map(|(relevance, _)| relevance);
            let answers = of_facts.filter_map(|(_, answers)| answers).reduce(f64::max);
            let answers = own.and_then(|(_, answers)| answers).or(answers);
            let judged = (relevance.fold(0.0, f64::max), answers);
            self.candidates.push(stage_one::of_message(&message, user, judged, &origins));
            let speaker = lines::speaker(&message, user).to_owned();
            self.messages.push(MessageEvidence { id, speaker, text: message.content });
        }
        self.candidates.sort_by(|a, b| b.relevance.total_cmp(&a.relevance));
        Ok(())
    }

    /// The messages that the facts come from and those shown whole, by id.
    pub(super) fn sources(&self) -> Vec<MessageId> {
        let of_facts = self.semantics.iter().flat_map(|s| s.messages.iter().copied());
        let ids: BTreeSet<MessageId> = of_facts.chain(self.messages.iter().map(|m| m.id)).collect();
        ids.into_iter().collect()
    }

    /// Whether any of these was shown to a reader, or considered for it.
    pub fn mentions(&self, ids: &HashSet<AnyId>) -> bool {
        let themes = self.themes.iter().map(|t| AnyId::Theme(t.id));
        let facts = self.semantics.iter().map(|s| AnyId::Semantic(s.id));
        let messages = self.sources().into_iter().chain(self.nearest.iter().map(|(id, _)| *id));
        let messages = messages.map(AnyId::Message);
        let episodes = self.episodes.iter().map(|e| AnyId::Episode(e.id));
        themes.chain(facts).chain(messages).chain(episodes).any(|id| ids.contains(&id))
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.semantics.is_empty() && self.messages.is_empty()
    }

    /// `evidence`, `entropy_nats`, `tokens` and `seconds` of `ask --json`; the caller adds the
    /// answer, the model, the tokens generated and the other seconds. `external_ids` stand where a
    /// fact's messages have any.
    pub fn to_json(&self) -> Value {
        let semantic = |s: &SemanticEvidence| {
            let ids: Vec<String> = s.messages.iter().map(ToString::to_string).collect();
            let mut value = json!({"id": s.id.to_string(), "text": s.text, "messages": ids});
            let external = s.messages.iter().filter_map(|m| self.external_ids.get(m));
            let external: Vec<&String> = external.collect();
            if !external.is_empty() {
                value["external_ids"] = json!(external);
            }
            if s.superseded {
                value["superseded"] = json!(true);
            }
            value
        };
        let message = |m: &MessageEvidence| {
            let mut value = json!({"id": m.id.to_string(), "speaker": m.speaker, "text": m.text});
            if let Some(external) = self.external_ids.get(&m.id) {
                value["external_id"] = json!(external);
            }
            value
        };
        // JSON has no NaN: it becomes null.
        let episode = |e: &EpisodeEvidence| {
            json!({
                "id": e.id.to_string(),
                "title": e.title,
                "admitted": e.admitted,
                "expanded": e.expanded,
                "entropy_before_nats": e.entropy_before_nats,
                "entropy_after_nats": e.entropy_after_nats,
            })
        };
        let theme = |t: &Theme| json!({"id": t.id.to_string(), "name": t.name});
        json!({
            "evidence": {
                "themes": self.themes.iter().map(theme).collect::<Vec<_>>(),
                "semantics": self.semantics.iter().map(semantic).collect::<Vec<_>>(),
                "messages": self.messages.iter().map(message).collect::<Vec<_>>(),
                "episodes": self.episodes.iter().map(episode).collect::<Vec<_>>(),
                "signal": self.signal.map(Signal::as_str),
            },
            "entropy_nats": {
                "coarse": self.entropy_coarse_nats,
                "final": self.entropy_final_nats,
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
