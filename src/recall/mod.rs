//! A question → evidence: hybrid relevance, Stage I, Stage II (xMemory §3.3, DESIGN §6).
//!
//! It reads the store and asks the models; what an answer looks like is not its business, and the
//! algorithms themselves are pure, in [`crate::memory`].

mod candidates;
mod config;
mod evidence;
mod evidence_search;
mod lines;
mod prompt;
mod question;
mod rerank;
mod stage_one;
mod stage_two;
#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests;
mod uncertainty_probe;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Instant;

use thiserror::Error;

use crate::extractive::{self, Candidate};
use crate::interfaces::{
    Cancel, Context, Embedder, ModelError, Models, Priority, Reranker, Signal, TurnRole,
};
use crate::memory::{Message, MessageId, Moment};
use crate::model_policy::{Grade, gate_signal};
use crate::prompts::Answer;
use crate::store::{Store, StoreError};

pub use config::{Levels, RecallConfig, StageOne};
pub use evidence::{EpisodeEvidence, Evidence, MessageEvidence, SemanticEvidence, ThemeEvidence};
pub use evidence_search::{Block, EvidenceSearch, UnitCues};

use candidates::{Candidates, Scored, Search};
use lines::Names;
use prompt::{Frame, Limits};
use question::Nature;
use rerank::Rerank;
use stage_one::Coarse;
use stage_two::{Gating, Outcome};
use uncertainty_probe::{ModelProbe, OverlapProbe, UncertaintyProbe};

/// Why nothing could be recalled.
#[derive(Debug, Error)]
pub enum RecallError {
    #[error("cannot search the memory")]
    Store(#[from] StoreError),
    #[error("the model failed while searching the memory")]
    Model(#[source] ModelError),
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

/// Where recall is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    Searching,
    /// The n-th of at most so many episodes.
    Probing {
        episode: usize,
        of: usize,
    },
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Searching => f.write_str("searching memory"),
            Self::Probing { episode, of } => write!(f, "episode {episode} of {of}"),
        }
    }
}

/// A question, and what the prompt around it holds.
pub struct RecallRequest<'a> {
    pub question: &'a str,
    pub now: Moment,
    /// Text of the system turn; empty for none.
    pub system: &'a str,
    /// The conversation so far, oldest first, without the question. The newest that fit are in the
    /// prompt.
    pub history: &'a [(TurnRole, String)],
    /// False for an extractive reader: no prompt is built, the model is never asked, and the gate
    /// goes by [`Signal::Overlap`].
    pub prompt: bool,
    /// An earlier context of this chat: what it has in common with the new prompt is not run again.
    pub reuse: Option<Box<dyn Context>>,
    pub cancel: &'a Cancel,
}

/// Looks into memory.
pub struct Recall<'a> {
    pub store: &'a Store,
    pub models: &'a Models,
    pub config: RecallConfig,
}

impl Recall<'_> {
    /// Gathers the evidence for a question; where a prompt is wanted, leaves it in the reader's
    /// KV cache, ready to answer.
    ///
    /// # Errors
    /// If the store can't be read, a model fails, or it was cancelled. A prompt that does not fit
    /// is no error: evidence and history shrink.
    pub fn run(
        &self,
        request: RecallRequest<'_>,
        on_progress: &mut dyn FnMut(Progress),
    ) -> Result<Evidence, RecallError> {
        let start = Instant::now();
        on_progress(Progress::Searching);
        let nature = Nature::of(request.question);
        let asked = Asked {
            question: request.question,
            nature: &nature,
            now: request.now,
            in_window: &request.history.iter().map(|(_, text)| text.trim()).collect(),
            n_in_window: request.history.len(),
        };
        let embedder = self.models.embedder.as_ref();
        let reranker = self.models.reranker.as_deref();
        let first = reranker.filter(|_| request.prompt);
        let (mut candidates, user_name) =
            gather(self.store, embedder, first, &self.config, &asked)?;
        candidates.load_episodes(self.store)?;
        if self.config.levels == Levels::Facts {
            candidates.messages.clear();
        }
        if request.cancel.is_cancelled() {
            return Err(RecallError::Cancelled);
        }
        let names = Names { user: user_name.as_deref().unwrap_or("The user") };
        let mut evidence = if request.prompt {
            self.for_model(request, &candidates, names, &nature, on_progress)?
        } else {
            let evidence = self.for_rules(&request, &candidates, names, &nature, on_progress)?;
            // It would take longer than all else; where the rules find the answer, it is not needed.
            let user = user_name.as_deref();
            let was_read = match reranker.filter(|_| !is_answered(&request, &evidence, user)) {
                Some(reranker) => rerank(&mut candidates, reranker, &self.config, &asked, user)?,
                None => false,
            };
            if request.cancel.is_cancelled() {
                return Err(RecallError::Cancelled);
            }
            if was_read {
                self.for_rules(&request, &candidates, names, &nature, on_progress)?
            } else {
                evidence
            }
        };
        evidence.seconds = start.elapsed().as_secs_f64();
        Ok(evidence)
    }

    fn coarse(&self, candidates: &Candidates, characters: usize) -> Result<Coarse, RecallError> {
        let Candidates { semantics, messages, .. } = candidates;
        Ok(self.store.read(|r| Coarse::select(r, semantics, messages, &self.config, characters))?)
    }

    /// Without those that were forgotten since.
    fn messages_of(&self, ids: &[MessageId]) -> Result<Vec<Message>, RecallError> {
        let found = self.store.read(|r| r.find_messages(ids.iter().copied()))?;
        Ok(found.into_values().collect())
    }

    /// For an extractive reader: no model is asked.
    fn for_rules(
        &self,
        request: &RecallRequest<'_>,
        candidates: &Candidates,
        names: Names<'_>,
        nature: &Nature,
        on_progress: &mut dyn FnMut(Progress),
    ) -> Result<Evidence, RecallError> {
        /// Characters of an average token, to hold episodes to the same limit.
        const CHARACTERS_PER_TOKEN: usize = 4;
        let coarse = self.coarse(candidates, self.config.coarse_characters)?;
        let block = lines::of_coarse(&coarse, &names);
        let mut outcome = Outcome::default();
        let mut text = String::new();
        if !coarse.is_empty() {
            let room = self.config.evidence_tokens_max * CHARACTERS_PER_TOKEN;
            let size_of = |text: &str| text.chars().count();
            let mut probe = overlap_probe(candidates, nature, room, &size_of);
            probe.show(&block)?;
            outcome =
                self.gate(&mut probe, &coarse, candidates, names, request.cancel, on_progress)?;
            text = Answer.open() + &block + &outcome.admitted.concat();
        }
        let signal = (!coarse.is_empty()).then_some(Signal::Overlap);
        let evidence = self.evidence(candidates, coarse, outcome, names)?;
        Ok(Evidence { signal, block: text, ..evidence })
    }

    fn gate(
        &self,
        probe: &mut dyn UncertaintyProbe,
        coarse: &Coarse,
        candidates: &Candidates,
        names: Names<'_>,
        cancel: &Cancel,
        on_progress: &mut dyn FnMut(Progress),
    ) -> Result<Outcome, RecallError> {
        let gating = Gating {
            policy: self.config.gate,
            names,
            cancel,
            overhead_share: self.config.overhead_share,
            overhead_tokens_min: self.config.overhead_tokens_min,
            seen: coarse.messages.iter().map(|m| m.unit.id).collect(),
        };
        stage_two::admit(
            probe,
            &stage_two::probe_order(candidates, coarse),
            gating,
            |episode| self.messages_of(&episode.messages),
            |episode, of| on_progress(Progress::Probing { episode, of }),
        )
    }

    /// For a model that reads: the prompt is built around the memories.
    fn for_model(
        &self,
        request: RecallRequest<'_>,
        candidates: &Candidates,
        names: Names<'_>,
        nature: &Nature,
        on_progress: &mut dyn FnMut(Progress),
    ) -> Result<Evidence, RecallError> {
        let model = self.models.language.as_ref();
        let limits = Limits {
            window_tokens: self.config.window_tokens,
            evidence_tokens_max: self.config.evidence_tokens_max,
        };
        let has_evidence = !candidates.semantics.is_empty() || !candidates.messages.is_empty();
        let frame = Frame::new(
            model,
            request.system,
            request.history,
            request.question,
            has_evidence,
            limits,
        );
        let open = model.encode(&Answer.open());
        let (coarse, block) = self.fitting(candidates, names, &frame, open.len())?;
        let signal = self.signal()?;
        let mut context = match request.reuse {
            Some(context) => context,
            None => model.context(Priority::Chat)?,
        };
        let before = context.n_processed();
        let mut n_processed;
        let mut tokens = frame.head.clone();
        let (mut outcome, mut text) = (Outcome::default(), String::new());
        if coarse.is_empty() {
            tokens.extend(&frame.bare_question);
            tokens.extend(&frame.tail);
            n_processed = prompt::refill(context.as_mut(), &tokens)?;
        } else {
            tokens.extend(&open);
            tokens.extend(model.encode(&block));
            n_processed = prompt::refill(context.as_mut(), &tokens)?;
            let n_tokens_max = frame.head.len() + frame.evidence_tokens;
            if signal == Signal::Overlap {
                let size_of = |text: &str| model.encode(text).len();
                let n_block = context.len() - frame.head.len() - open.len();
                let room = n_tokens_max.saturating_sub(context.len()) + n_block;
                let mut probe = overlap_probe(candidates, nature, room, &size_of);
                probe.show(&block)?;
                outcome =
                    self.gate(&mut probe, &coarse, candidates, names, request.cancel, on_progress)?;
                for piece in &outcome.admitted {
                    let tokens = model.encode(piece);
                    context.extend(&tokens)?;
                    n_processed += tokens.len();
                }
            } else {
                let mut probe = ModelProbe {
                    model,
                    context,
                    signal,
                    question: &frame.question,
                    tail: &frame.tail,
                    n_positions: self.config.n_positions,
                    n_tokens_max,
                    n_processed,
                };
                outcome =
                    self.gate(&mut probe, &coarse, candidates, names, request.cancel, on_progress)?;
                n_processed = probe.n_processed;
                context = probe.context;
            }
            context.extend(&frame.question)?;
            context.extend(&frame.tail)?;
            n_processed += frame.question.len() + frame.tail.len();
            text = Answer.open() + &block + &outcome.admitted.concat();
        }
        let signal = (!coarse.is_empty()).then_some(signal);
        let evidence = self.evidence(candidates, coarse, outcome, names)?;
        Ok(Evidence {
            signal,
            block: text,
            prompt_tokens: context.len() as u64,
            processed_tokens: n_processed as u64,
            decoded_tokens: (context.n_processed() - before).saturating_sub(n_processed as u64),
            context: Some(context),
            n_history_left_out: frame.n_left_out,
            question_cut: frame.question_cut,
            ..evidence
        })
    }

    /// The coarse context and its lines, within its share of the frame.
    fn fitting(
        &self,
        candidates: &Candidates,
        names: Names<'_>,
        frame: &Frame,
        n_open: usize,
    ) -> Result<(Coarse, String), RecallError> {
        /// The rest is for episodes.
        const SHARE: f64 = 0.6;
        const N_TRIES: usize = 8;
        let room = (frame.evidence_tokens as f64 * SHARE) as usize;
        let mut characters = self.config.coarse_characters;
        for _ in 0..N_TRIES {
            let coarse = self.coarse(candidates, characters)?;
            let block = lines::of_coarse(&coarse, &names);
            let needed = n_open + self.models.language.encode(&block).len();
            if needed <= room {
                return Ok((coarse, block));
            }
            // In proportion, and a little less: the next may be the one that fits.
            characters = (characters as f64 * 0.9 * room as f64 / needed as f64) as usize;
        }
        Ok((Coarse::default(), String::new()))
    }

    fn signal(&self) -> Result<Signal, RecallError> {
        if let Some(signal) = self.config.signal {
            return Ok(signal);
        }
        let info = self.models.language.info();
        let key = info.grade_key();
        let grade = self.store.read(|r| r.setting(&key))?;
        Ok(gate_signal(info, Grade::from_setting(grade.as_deref()).as_ref()))
    }

    fn evidence(
        &self,
        candidates: &Candidates,
        coarse: Coarse,
        outcome: Outcome,
        names: Names<'_>,
    ) -> Result<Evidence, RecallError> {
        let mut evidence = Evidence {
            entropy_coarse_nats: outcome.coarse,
            entropy_final_nats: outcome.last,
            ..Evidence::default()
        };
        for theme in coarse.themes {
            evidence.themes.push(ThemeEvidence { id: theme.id, name: theme.name });
        }
        for Scored { unit, relevance, answers, .. } in coarse.semantics {
            let superseded = unit.superseded_by.is_some();
            evidence.candidates.push(Candidate {
                text: unit.content.clone(),
                relevance,
                at: unit.created_at.civil(),
                raw_speaker: None,
                superseded,
                answers,
            });
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
        let expanded = outcome.probes.iter().flat_map(|probe| probe.messages.iter().cloned());
        for message in coarse.messages.into_iter().map(|m| m.unit).chain(expanded) {
            let speaker = names.of(&message).to_owned();
            let (relevance, answers) =
                judged.get(&message.id).copied().unwrap_or((self.config.relevance_min, None));
            evidence.candidates.push(Candidate {
                text: message.content.clone(),
                relevance,
                at: message.created_at.civil(),
                raw_speaker: Some(speaker.clone()),
                superseded: false,
                answers,
            });
            let (id, text) = (message.id, message.content);
            evidence.messages.push(MessageEvidence { id, speaker, text });
        }
        evidence.candidates.sort_by(|a, b| b.relevance.total_cmp(&a.relevance));
        for probe in outcome.probes {
            evidence.episodes.push(EpisodeEvidence {
                id: probe.episode.id,
                title: probe.episode.title,
                admitted: probe.admitted,
                expanded: !probe.messages.is_empty(),
                entropy_before_nats: probe.before,
                entropy_after_nats: probe.after,
            });
        }
        let sources: BTreeSet<MessageId> = evidence
            .semantics
            .iter()
            .flat_map(|s| s.messages.iter().copied())
            .chain(evidence.messages.iter().map(|m| m.id))
            .collect();
        let sources: Vec<MessageId> = sources.into_iter().collect();
        evidence.external_ids =
            self.store.read(|r| r.message_external_ids(&sources))?.into_iter().collect();
        Ok(evidence)
    }
}

/// A question, as far as the search is concerned.
struct Asked<'a> {
    question: &'a str,
    nature: &'a Nature,
    now: Moment,
    /// Texts that the reader sees anyway.
    in_window: &'a BTreeSet<&'a str>,
    n_in_window: usize,
}

/// The candidates, and the person's name if it is known.
fn gather(
    store: &Store,
    embedder: &dyn Embedder,
    reranker: Option<&dyn Reranker>,
    config: &RecallConfig,
    asked: &Asked<'_>,
) -> Result<(Candidates, Option<String>), RecallError> {
    let (known_embedder, nothing, user) = store.read(|r| {
        // What is in the window and the question itself may be all there is.
        let nothing = !r.has_more_than(asked.n_in_window + 1)?;
        Ok((r.embedder_id()?, nothing, r.setting("user_name")?))
    })?;
    let user = user.filter(|name| !name.trim().is_empty());
    if nothing {
        return Ok((Candidates::default(), user));
    }
    let vector = if known_embedder.as_deref() == Some(embedder.id()) {
        embedder.embed(&[asked.question])?.into_iter().next()
    } else {
        None
    };
    let search = Search {
        question: asked.question,
        nature: asked.nature,
        vector: vector.as_ref(),
        now: asked.now,
        in_window: asked.in_window,
        weights: &config.relevance,
        size: config.n_candidates,
        relevance_min: config.relevance_min,
    };
    let mut candidates = Candidates::gather(store, &search)?;
    if let Some(reranker) = reranker {
        rerank(&mut candidates, reranker, config, asked, user.as_deref())?;
    }
    Ok((candidates, user))
}

/// See [`Rerank::apply`].
fn rerank(
    candidates: &mut Candidates,
    reranker: &dyn Reranker,
    config: &RecallConfig,
    asked: &Asked<'_>,
    user: Option<&str>,
) -> Result<bool, ModelError> {
    let rerank = Rerank {
        reranker,
        question: asked.question,
        nature: asked.nature,
        user,
        weights: &config.relevance,
        n: config.n_reranked,
    };
    rerank.apply(candidates)
}

/// Whether the rules are sure of an answer.
fn is_answered(request: &RecallRequest<'_>, evidence: &Evidence, user: Option<&str>) -> bool {
    let now = request.now.civil();
    extractive::answer(request.question, &evidence.candidates, now, user)
        .is_some_and(|answer| answer.sure)
}

fn overlap_probe<'a>(
    candidates: &Candidates,
    nature: &Nature,
    room: usize,
    size_of: &'a dyn Fn(&str) -> usize,
) -> OverlapProbe<'a> {
    let texts = candidates
        .semantics
        .iter()
        .map(|s| s.unit.content.as_str())
        .chain(candidates.messages.iter().map(|m| m.unit.content.as_str()))
        .chain(candidates.episodes.values().map(|e| e.content.as_str()));
    OverlapProbe::new(&nature.terms, texts, room, size_of)
}
