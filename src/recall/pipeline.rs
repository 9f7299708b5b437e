//! From candidates to evidence: coarse context, gate, prompt.

use super::candidates::Candidates;
use super::evidence::Evidence;
use super::lines;
use super::prompt::Frame;
use super::question::QuestionTraits;
use super::stage_one::Coarse;
use super::stage_two::Outcome;
use super::uncertainty_probe::{ModelProbe, OverlapProbe, UncertaintyProbe};
use super::{Progress, RecallConfig, RecallError, RecallRequest};
use crate::interfaces::{Cancel, LanguageModel, Priority, Reranker, Signal};
use crate::prompts::Answer;
use crate::store::Store;

pub(super) type OnProgress<'a> = dyn FnMut(Progress) + 'a;

/// What one recall works with, whatever it has found so far.
#[derive(Clone, Copy)]
pub(super) struct Setup<'a> {
    pub store: &'a Store,
    pub config: &'a RecallConfig,
    /// Reads what would be shown to a model.
    pub encoder: Option<&'a dyn Reranker>,
    /// What the person is called.
    pub user: &'a str,
    pub traits: &'a QuestionTraits,
    pub cancel: &'a Cancel,
}

impl<'a> Setup<'a> {
    pub(super) fn of<'b>(self, candidates: &'b Candidates) -> Pipeline<'b>
    where
        'a: 'b,
    {
        Pipeline { setup: self, candidates }
    }
}

/// What every stage of one recall needs.
pub(super) struct Pipeline<'a> {
    pub setup: Setup<'a>,
    pub candidates: &'a Candidates,
}

impl Pipeline<'_> {
    fn coarse(&self, characters: usize, for_model: bool) -> Result<Coarse, RecallError> {
        let Candidates { semantics, messages, .. } = self.candidates;
        let mut coarse = self
            .setup
            .store
            .read(|r| Coarse::select(r, semantics, messages, self.setup.config, characters))?;
        // Rules ask the encoder themselves, of what they would quote.
        let encoder = self.setup.encoder.filter(|_| for_model);
        // How things were, older words tell as well.
        if !self.setup.traits.past {
            coarse.note_outdated(semantics);
            coarse.drop_planted(self.setup.user, encoder);
        }
        Ok(coarse)
    }

    /// Evidence for an extractive reader: no model is asked.
    pub(super) fn for_rules(
        &self,
        on_progress: &mut OnProgress<'_>,
    ) -> Result<Evidence, RecallError> {
        /// Characters of an average token: rules get as much evidence as a model would.
        const CHARACTERS_PER_TOKEN: usize = 4;
        let config = self.setup.config;
        let coarse = self.coarse(config.coarse_characters, false)?;
        let block = lines::of_coarse(&coarse, self.setup.user);
        let mut outcome = Outcome::default();
        let mut text = String::new();
        if !coarse.is_empty() {
            let room = config.evidence_tokens_max * CHARACTERS_PER_TOKEN;
            let size_of = |text: &str| text.chars().count();
            outcome = self.gate_by_overlap(&coarse, &block, room, &size_of, on_progress)?;
            text = Answer.open() + &block + &outcome.admitted.concat();
        }
        let signal = (!coarse.is_empty()).then_some(Signal::Overlap);
        let evidence = self.collect(coarse, outcome)?;
        Ok(Evidence { signal, block: text, ..evidence })
    }

    /// Stage II by the words that question and evidence share; `room` is what evidence may take in
    /// all, as `size_of` counts.
    fn gate_by_overlap(
        &self,
        coarse: &Coarse,
        block: &str,
        room: usize,
        size_of: &dyn Fn(&str) -> usize,
        on_progress: &mut OnProgress<'_>,
    ) -> Result<Outcome, RecallError> {
        let Candidates { semantics, messages, episodes, .. } = self.candidates;
        let facts = semantics.iter().map(|s| s.unit.content.as_str());
        let messages = messages.iter().map(|m| m.unit.content.as_str());
        let episodes = episodes.values().map(|e| e.content.as_str());
        let texts = facts.chain(messages).chain(episodes);
        let mut probe = OverlapProbe::new(&self.setup.traits.terms, texts, room, size_of);
        probe.show(block)?;
        self.gate(&mut probe, coarse, on_progress)
    }

    /// Evidence for a model that reads: the prompt is built around the memories.
    pub(super) fn for_model(
        &self,
        model: &dyn LanguageModel,
        request: RecallRequest<'_>,
        on_progress: &mut OnProgress<'_>,
    ) -> Result<Evidence, RecallError> {
        /// The rest is for episodes, where they are probed.
        const SHARE: f64 = 0.6;
        let config = self.setup.config;
        let has_evidence = !self.candidates.is_empty();
        let frame = Frame::new(model, &request, has_evidence, config);
        let open = model.encode(&Answer.open());
        let share = if config.signal.is_some() { SHARE } else { 1.0 };
        let room = (frame.evidence_tokens as f64 * share) as usize;
        let size_of = |block: &str| open.len() + model.encode(block).len();
        let (coarse, mut block) = self.fitting(config.coarse_characters, room, &size_of)?;
        if !coarse.is_empty() {
            block += request.recent;
        }
        let signal = config.signal;
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
            n_processed = context.refill(&tokens)?;
        } else {
            tokens.extend(&open);
            tokens.extend(model.encode(&block));
            n_processed = context.refill(&tokens)?;
            let n_tokens_max = frame.head.len() + frame.evidence_tokens;
            if signal == Some(Signal::Overlap) {
                let size_of = |text: &str| model.encode(text).len();
                let n_block = context.len() - frame.head.len() - open.len();
                let room = n_tokens_max.saturating_sub(context.len()) + n_block;
                outcome = self.gate_by_overlap(&coarse, &block, room, &size_of, on_progress)?;
                for piece in &outcome.admitted {
                    let tokens = model.encode(piece);
                    context.extend(&tokens)?;
                    n_processed += tokens.len();
                }
            } else if let Some(signal) = signal {
                let mut probe = ModelProbe {
                    model,
                    context,
                    signal,
                    question: &frame.question,
                    tail: &frame.tail,
                    n_positions: config.n_positions,
                    n_tokens_max,
                    n_processed,
                };
                outcome = self.gate(&mut probe, &coarse, on_progress)?;
                n_processed = probe.n_processed;
                context = probe.context;
            }
            context.extend(&frame.question)?;
            context.extend(&frame.tail)?;
            n_processed += frame.question.len() + frame.tail.len();
            text = Answer.open() + &block + &outcome.admitted.concat();
        }
        let signal = signal.filter(|_| !coarse.is_empty());
        let evidence = self.collect(coarse, outcome)?;
        Ok(Evidence {
            signal,
            block: text,
            prompt_tokens: context.len() as u64,
            processed_tokens: n_processed as u64,
            decoded_tokens: (context.n_processed() - before).saturating_sub(n_processed as u64),
            context: Some(context),
            question_cut: frame.question_cut,
            ..evidence
        })
    }

    /// Evidence for a reader elsewhere, whose tokens nobody here can count: at most `tokens_max`, as English has them.
    pub(super) fn for_elsewhere(
        &self,
        characters: usize,
        tokens_max: usize,
    ) -> Result<Evidence, RecallError> {
        /// Bytes: other scripts have more of them for a character, and more tokens.
        const BYTES_PER_TOKEN: usize = 4;
        let open = Answer.open();
        let size_of = |block: &str| (open.len() + block.len()).div_ceil(BYTES_PER_TOKEN);
        let (coarse, block) = self.fitting(characters, tokens_max, &size_of)?;
        let text = if coarse.is_empty() { String::new() } else { open.clone() + &block };
        let evidence = self.collect(coarse, Outcome::default())?;
        Ok(Evidence { block: text, ..evidence })
    }

    /// The coarse context and its lines, within `room` as `size_of` counts; `characters` is where it begins to try.
    fn fitting(
        &self,
        mut characters: usize,
        room: usize,
        size_of: &dyn Fn(&str) -> usize,
    ) -> Result<(Coarse, String), RecallError> {
        const N_TRIES: usize = 8;
        for _ in 0..N_TRIES {
            let coarse = self.coarse(characters, true)?;
            let block = lines::of_coarse(&coarse, self.setup.user);
            let needed = size_of(&block);
            if needed <= room {
                return Ok((coarse, block));
            }
            // Scaled down in proportion and by another tenth, so that the next try is likely to fit.
            characters = (characters as f64 * 0.9 * room as f64 / needed as f64) as usize;
        }
        Ok((Coarse::default(), String::new()))
    }

    fn collect(&self, coarse: Coarse, outcome: Outcome) -> Result<Evidence, RecallError> {
        let relevance_min = self.setup.config.relevance_min;
        let mut coarse = coarse;
        if !outcome.messages.is_empty() {
            let ids = outcome.messages.iter().map(|m| m.id);
            coarse.message_origins.extend(self.setup.store.read(|r| r.message_origins(ids))?);
        }
        let mut evidence =
            Evidence::collect(self.candidates, coarse, outcome, self.setup.user, relevance_min);
        let sources = evidence.sources();
        let external_ids = self.setup.store.read(|r| r.message_external_ids(&sources))?;
        evidence.external_ids = external_ids.into_iter().collect();
        Ok(evidence)
    }
}
