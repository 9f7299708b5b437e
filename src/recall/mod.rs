//! A question → evidence: hybrid relevance, Stage I, Stage II (xMemory §3.3).
//!
//! It reads the store and asks the models. It does not know how an answer is shown, and the
//! algorithms themselves are pure, in [`crate::memory`].

mod candidates;
mod config;
mod cues;
mod evidence;
mod evidence_search;
mod lines;
mod lookup;
mod pipeline;
mod prompt;
mod question;
mod rerank;
mod stage_one;
mod stage_two;
#[cfg(test)]
mod tests;
mod uncertainty_probe;

use std::fmt;
use std::time::Instant;

use thiserror::Error;

use crate::extractive::{self, Words};
use crate::interfaces::{Cancel, Context, Embedder, ModelError, Models};
use crate::memory::Moment;
use crate::model_policy::{Reader, reading_model};
use crate::store::{Store, StoreError};
use crate::texts::text;

pub use config::{FactRule, FoundFact, Levels, RecallConfig};
pub use evidence::{EpisodeEvidence, Evidence, MessageEvidence, SemanticEvidence};
pub use evidence_search::{Block, EvidenceSearch, UnitCues};
pub use lookup::Lookup;
pub use question::is_of_assistant;
pub use rerank::read_cited;

use candidates::{Candidates, Search};
use pipeline::Setup;
use question::QuestionTraits;
use rerank::{find_words, rerank};

/// Why nothing could be recalled.
#[derive(Debug, Error)]
pub enum RecallError {
    /// The store cannot be read.
    #[error("cannot search the memory")]
    Store(#[from] StoreError),
    /// The language model, the embedder or the reranker failed.
    #[error("the model failed while searching the memory")]
    Model(#[source] ModelError),
    /// The request's `cancel` was set.
    #[error("cancelled")]
    Cancelled,
}

impl From<ModelError> for RecallError {
    fn from(error: ModelError) -> Self {
        match error {
            ModelError::Cancelled => Self::Cancelled,
            other => Self::Model(other),
        }
    }
}

/// How far recall has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The store is searched.
    Searching,
    /// An episode is shown to the reader.
    Probing {
        /// Its number, from 1.
        episode: usize,
        /// How many are probed at most.
        of: usize,
    },
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Searching => f.write_str(text!("searching memory")),
            Self::Probing { episode, of } => {
                f.write_str(&text!("episode {n} of {of}", n = episode, of))
            }
        }
    }
}

/// A question, and what else the prompt holds.
pub struct RecallRequest<'a> {
    /// The person's question, which memory is searched for.
    pub question: &'a str,
    /// The question as the reader gets it: in a chat, in the third person.
    pub asked: &'a str,
    /// Lines of the latest turns, placed after the memories; left out if there are no memories.
    pub recent: &'a str,
    /// Once a reranker has read: if nothing is at least this relevant, there is no evidence.
    pub best_min: f64,
    /// Where rules are sure of an answer, no prompt is built.
    pub rules_first: bool,
    /// Where rules are not sure, words that answer are looked for before a model reads.
    pub looks_for_words: bool,
    /// When it is asked.
    pub now: Moment,
    /// Text of the system turn; may be empty.
    pub system: &'a str,
    /// For [`Reader::Extractive`] no prompt is built, no language model is asked, and the gate goes by
    /// [`crate::interfaces::Signal::Overlap`].
    pub reader: Reader,
    /// An earlier context of this chat; the prefix that it shares with the new prompt is not
    /// processed again.
    pub reuse: Option<Box<dyn Context>>,
    /// Stops the recall.
    pub cancel: &'a Cancel,
}

/// Finds evidence for questions.
pub struct Recall<'a> {
    /// The memory.
    pub store: &'a Store,
    /// The reader, the embedder and the reranker.
    pub models: &'a Models,
    /// How evidence is selected.
    pub config: RecallConfig,
}

impl Recall<'_> {
    /// Gathers the evidence for a question. Where a prompt is wanted, it is left in the reader's KV
    /// cache, ready for the answer to be generated. Evidence that does not fit is left out.
    ///
    /// # Errors
    /// If the store cannot be read, a model fails, or the request is cancelled.
    pub fn run(
        &self,
        request: RecallRequest<'_>,
        on_progress: &mut dyn FnMut(Progress),
    ) -> Result<Evidence, RecallError> {
        let start = Instant::now();
        on_progress(Progress::Searching);
        let traits = QuestionTraits::of(request.question);
        let query = Query { question: request.question, traits: &traits, now: request.now };
        let embedder = self.models.embedder.as_ref();
        let reranker = self.models.reranker.as_deref();
        let (mut candidates, user) = gather(self.store, embedder, &self.config, &query)?;
        let is_prompt = request.reader != Reader::Extractive;
        if request.rules_first || !is_prompt {
            candidates.add_unread(self.store, &query)?;
        }
        candidates.load_episodes(self.store)?;
        if self.config.levels == Levels::Facts {
            candidates.messages.clear();
        }
        let cancel = request.cancel;
        let called = user.as_deref().unwrap_or(extractive::THE_USER);
        let setup = Setup {
            store: self.store,
            config: &self.config,
            encoder: reranker,
            user: called,
            traits: &traits,
            cancel,
        };
        let rules = |candidates: &Candidates, on_progress: &mut dyn FnMut(Progress)| {
            cancel.check()?;
            setup.of(candidates).for_rules(on_progress)
        };
        // Reranking takes longer than everything else; where the rules are sure, it is skipped.
        let (mut found, mut nearest) = (None, None);
        if request.rules_first || !is_prompt {
            found = Some(rules(&candidates, on_progress)?);
        }
        let is_sure = |e: &Evidence| is_answered(&query, e, user.as_deref());
        if !found.as_ref().is_some_and(is_sure) {
            let was_read = match reranker {
                Some(reranker) => {
                    rerank(&mut candidates, reranker, &self.config, &query, user.as_deref())?
                }
                None => false,
            };
            // Before what is least relevant goes: the reranker may be wrong.
            let mut read = None;
            if let Some(encoder) = reranker.filter(|_| was_read && request.looks_for_words) {
                let mut evidence = rules(&candidates, on_progress)?;
                evidence.add_told(self.store, &candidates, &query, called)?;
                let asked = (request.now.civil(), user.as_deref());
                evidence.words = find_words(query.question, &evidence.candidates, encoder, asked)?;
                read = (evidence.words != Words::Unread).then_some(evidence);
            }
            if was_read {
                nearest = candidates.drop_below(self.config.relevance_bar, request.best_min);
                if !is_prompt && !candidates.is_empty() {
                    candidates.add_unread(self.store, &query)?;
                    candidates.add_successors(self.store, &query)?;
                }
            }
            cancel.check()?;
            if read.is_some() {
                found = read;
            } else if is_prompt && !(request.rules_first && candidates.is_empty()) {
                let model = reading_model(request.reader, self.models)?;
                found = Some(setup.of(&candidates).for_model(&*model, request, on_progress)?);
            } else if was_read || is_prompt {
                found = Some(rules(&candidates, on_progress)?);
            }
        }
        let mut evidence = found.unwrap_or_default();
        if let Some(message) = nearest {
            let origins = self.store.read(|r| r.message_origins([message.unit.id]))?;
            let judged = (message.relevance, message.answers);
            let nearest = stage_one::of_message(&message.unit, called, judged, &origins);
            evidence.nearest = Some((message.unit.id, nearest));
        }
        evidence.seconds = start.elapsed().as_secs_f64();
        Ok(evidence)
    }
}

/// A question, as far as the search needs it.
struct Query<'a> {
    question: &'a str,
    traits: &'a QuestionTraits,
    now: Moment,
}

/// The candidates, and the person's name if it is known.
fn gather(
    store: &Store,
    embedder: &dyn Embedder,
    config: &RecallConfig,
    query: &Query<'_>,
) -> Result<(Candidates, Option<String>), RecallError> {
    let (known_embedder, is_empty, user) = store.read(|r| {
        // The question itself may be all there is.
        let is_empty = !r.has_more_than(1)?;
        Ok((r.embedder_id()?, is_empty, r.user_name()?))
    })?;
    if is_empty {
        return Ok((Candidates::none(query.now), user));
    }
    let vector = if known_embedder.as_deref() == Some(embedder.id()) {
        embedder.embed(&[query.question])?.into_iter().next()
    } else {
        None
    };
    let search = Search { query, vector: vector.as_ref(), config };
    Ok((Candidates::gather(store, &search)?, user))
}

/// Whether the rules are sure of an answer.
fn is_answered(query: &Query<'_>, evidence: &Evidence, user: Option<&str>) -> bool {
    extractive::answer(query.question, &evidence.candidates, query.now.civil(), user)
        .is_some_and(|answer| answer.sure)
}
