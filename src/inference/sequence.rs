//! Tokens with their keys and values, and what the decoder can be asked about them.
//!
//! Everything is computed in chunks ([`Decoder::tokens_at_once`]), and `pause` is called between chunks and between
//! layers: there the engine runs requests of higher priority. Knows neither the queue nor text.

use std::collections::BTreeMap;

use candle_core::Tensor;

use super::decoder::Decoder;
use super::kv_cache::KvCache;
use super::probability::{Distribution, argmax};
use super::weights::backend;
use crate::interfaces::{ModelError, Uncertainty};

/// Most tokens of a forward pass: few enough that rows of logits for all of them fit in memory (512 × 151,936 × 4 bytes =
/// 311 MB).
pub(crate) const CHUNK_TOKENS: usize = 512;

/// How many ends of extensions keep their hidden state, so that rolling back to one takes no forward pass.
const N_ENDS_MAX: usize = 64;

/// Tokens and their KV cache.
#[derive(Debug, Clone, Default)]
pub struct Sequence {
    tokens: Vec<u32>,
    cache: KvCache,
    n_processed: u64,
    /// Length → the hidden state of the last token at that length (`[1, hidden]`).
    ends: BTreeMap<usize, Tensor>,
}

impl Sequence {
    /// The tokens held.
    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// Tokens run through the model so far, rolled-back ones included.
    pub fn n_processed(&self) -> u64 {
        self.n_processed
    }

    /// A copy whose [`Self::n_processed`] starts at 0.
    #[must_use]
    pub fn fork(&self) -> Self {
        Self { n_processed: 0, ..self.clone() }
    }

    /// Rolls back to the first `len` tokens.
    pub fn truncate(&mut self, len: usize) {
        if len < self.tokens.len() {
            self.tokens.truncate(len);
            self.cache.truncate(len);
            self.ends.split_off(&(len + 1));
        }
    }

    /// Appends `tokens`. `on_row(i, logits)` gets the logits after `tokens[i]` for each i in `wanted`, in order. On
    /// an error nothing is appended.
    ///
    /// # Errors
    /// [`ModelError::ContextOverflow`], a token outside the vocabulary, values that are not finite, or a backend
    /// failure.
    pub fn extend(
        &mut self,
        decoder: &Decoder,
        tokens: &[u32],
        wanted: std::ops::Range<usize>,
        on_row: &mut dyn FnMut(usize, &[f32]),
        pause: &mut (dyn FnMut() + Send),
    ) -> Result<(), ModelError> {
        let before = self.tokens.len();
        let needed_tokens = before + tokens.len();
        let context_tokens = decoder.context_tokens();
        if needed_tokens > context_tokens {
            return Err(ModelError::ContextOverflow { needed_tokens, context_tokens });
        }
        self.ready(decoder, needed_tokens, pause)?;
        let mut in_chunks = || {
            let mut start = 0;
            for chunk in tokens.chunks(decoder.tokens_at_once()) {
                pause();
                let end = start + chunk.len();
                let (first, last) = (wanted.start.max(start), wanted.end.min(end));
                // Of which the first state is needed: a wanted one, the last of all, or none.
                let needed = if first < last { first } else { end };
                let needed = if end == tokens.len() { needed.min(end - 1) } else { needed };
                let hidden = decoder.forward(chunk, &[], &mut self.cache, end - needed, pause)?;
                self.tokens.extend_from_slice(chunk);
                self.n_processed += chunk.len() as u64;
                if first < last {
                    let rows = hidden.narrow(0, first - needed, last - first).map_err(backend)?;
                    for (i, row) in (first..last).zip(decoder.logits(&rows)?) {
                        on_row(i, &row);
                    }
                }
                if end == tokens.len() {
                    let last = hidden.narrow(0, end - 1 - needed, 1).and_then(|h| h.copy());
                    self.remember_end(last.map_err(backend)?);
                }
                start = end;
            }
            Ok(())
        };
        let outcome = in_chunks();
        if outcome.is_err() {
            self.truncate(before);
        }
        outcome
    }

    /// Runs tokens held again whose keys or states do not serve any more: all, where so many tokens are rotated in another
    /// way; after a rollback, those after the last state that is kept. On an error what was not run again is not held.
    fn ready(
        &mut self,
        decoder: &Decoder,
        n_tokens: usize,
        pause: &mut (dyn FnMut() + Send),
    ) -> Result<(), ModelError> {
        let is_long = decoder.is_long(n_tokens);
        if is_long != self.cache.is_long() {
            self.ends.clear();
            self.cache.restart(is_long);
        }
        let again = self.tokens.split_off(self.cache.resume().min(self.tokens.len()));
        for chunk in again.chunks(decoder.tokens_at_once()) {
            pause();
            if let Err(error) = decoder.forward(chunk, &[], &mut self.cache, 0, pause) {
                self.ends.split_off(&(self.tokens.len() + 1));
                return Err(error);
            }
            self.tokens.extend_from_slice(chunk);
            self.n_processed += chunk.len() as u64;
        }
        Ok(())
    }

    fn remember_end(&mut self, hidden: Tensor) {
        self.ends.insert(self.tokens.len(), hidden);
        if self.ends.len() > N_ENDS_MAX {
            self.ends.pop_first();
        }
    }

    /// Logits after the last token held. Where an extension ended, no forward pass is needed; elsewhere (after a
    /// rollback into the middle of one) the last token is run again.
    ///
    /// # Errors
    /// If no token is held, or as [`Self::extend`].
    pub fn last_logits(
        &mut self,
        decoder: &Decoder,
        pause: &mut (dyn FnMut() + Send),
    ) -> Result<Vec<f32>, ModelError> {
        let hidden = self.last_hidden(decoder, pause)?;
        Ok(decoder.logits(&hidden)?.pop().unwrap_or_default())
    }

    /// [`crate::interfaces::Context::extend_with_nlls`].
    ///
    /// # Errors
    /// As [`Self::extend`]; [`ModelError::NotANumber`] if a likelihood is NaN.
    pub fn extend_with_nlls(
        &mut self,
        decoder: &Decoder,
        tokens: &[u32],
        pause: &mut (dyn FnMut() + Send),
    ) -> Result<Vec<f64>, ModelError> {
        let before = self.tokens.len();
        let mut nlls = self.extend_predicted(decoder, tokens, &[], pause)?;
        if nlls.iter().any(|nll| nll.is_nan()) {
            self.truncate(before);
            return Err(ModelError::NotANumber);
        }
        if nlls.len() < tokens.len() {
            nlls.insert(0, f64::INFINITY);
        }
        Ok(nlls)
    }

    /// Appends `tokens` and a `tail`; returns the NLL of each of `tokens`. The first is predicted by what is held, the
    /// others by their predecessors; at the very start of a context nothing predicts the first, and it is left out.
    fn extend_predicted(
        &mut self,
        decoder: &Decoder,
        tokens: &[u32],
        tail: &[u32],
        pause: &mut (dyn FnMut() + Send),
    ) -> Result<Vec<f64>, ModelError> {
        let mut nlls = Vec::with_capacity(tokens.len());
        if let (Some(&first), false) = (tokens.first(), self.tokens.is_empty()) {
            let logits = self.last_logits(decoder, pause)?;
            nlls.push(-Distribution::new(&logits).log_probability(first));
        }
        let predicting = 0..tokens.len().saturating_sub(1);
        let mut add = |i: usize, row: &[f32]| {
            nlls.push(-Distribution::new(row).log_probability(tokens[i + 1]));
        };
        self.extend(decoder, &[tokens, tail].concat(), predicting, &mut add, pause)?;
        Ok(nlls)
    }

    /// [`crate::interfaces::Context::uncertainty`]; `stops` end a turn.
    ///
    /// # Errors
    /// As [`Self::extend`].
    pub fn uncertainty(
        &mut self,
        decoder: &Decoder,
        question: &[u32],
        tail: &[u32],
        n_positions: usize,
        stops: &[u32],
        pause: &mut (dyn FnMut() + Send),
    ) -> Result<Uncertainty, ModelError> {
        let before = self.tokens.len();
        let mut measure = || {
            let of_question = self.extend_predicted(decoder, question, tail, pause)?;
            let (mut entropy, mut nll) = (Vec::new(), Vec::new());
            for position in 0..n_positions {
                let logits = self.last_logits(decoder, pause)?;
                let distribution = Distribution::new(&logits);
                let token = argmax(&logits);
                entropy.push(distribution.entropy_nats());
                nll.push(-distribution.log_probability(token));
                let full = self.tokens.len() >= decoder.context_tokens();
                if stops.contains(&token) || position + 1 == n_positions || full {
                    break;
                }
                self.extend(decoder, &[token], 0..0, &mut |_, _| {}, pause)?;
            }
            Ok(Uncertainty {
                entropy_nats: mean(&entropy),
                first_entropy_nats: entropy.first().copied().unwrap_or(0.0),
                nll_nats: mean(&nll),
                question_nll_nats: mean(&of_question),
            })
        };
        let outcome = measure();
        self.truncate(before);
        outcome
    }

    /// [`crate::interfaces::Context::choose`].
    ///
    /// # Errors
    /// As [`Self::last_logits`].
    pub fn choose(
        &mut self,
        decoder: &Decoder,
        choices: &[Vec<u32>],
        pause: &mut (dyn FnMut() + Send),
    ) -> Result<Vec<f64>, ModelError> {
        let base = self.last_logits(decoder, pause)?;
        let first = Distribution::new(&base);
        let mut sums: Vec<f64> = choices
            .iter()
            .map(|choice| choice.first().map_or(0.0, |&token| first.log_probability(token)))
            .collect();
        // The tokens after the first: of all choices in one pass, as far as there is room.
        let room = CHUNK_TOKENS.min(decoder.context_tokens().saturating_sub(self.tokens.len()));
        let mut batch = Vec::new();
        let mut n_tokens = 0;
        for (index, choice) in choices.iter().enumerate().filter(|(_, c)| c.len() > 1) {
            let n = choice.len() - 1;
            if n_tokens + n > room {
                self.add_continuations(
                    decoder,
                    choices,
                    &std::mem::take(&mut batch),
                    &mut sums,
                    pause,
                )?;
                n_tokens = 0;
            }
            batch.push(index);
            n_tokens += n;
        }
        self.add_continuations(decoder, choices, &batch, &mut sums, pause)?;
        Ok(sums)
    }

    /// Adds to the sums of these choices the log-probabilities of their tokens after the first: one pass, in which
    /// each choice sees what is held and itself. The cache is rolled back.
    fn add_continuations(
        &mut self,
        decoder: &Decoder,
        choices: &[Vec<u32>],
        batch: &[usize],
        sums: &mut [f64],
        pause: &mut (dyn FnMut() + Send),
    ) -> Result<(), ModelError> {
        let (mut tokens, mut branches, mut predicted) = (Vec::new(), Vec::new(), Vec::new());
        for &index in batch {
            let begin = tokens.len();
            for pair in choices[index].windows(2) {
                tokens.push(pair[0]);
                branches.push(begin);
                predicted.push((index, pair[1]));
            }
        }
        if tokens.is_empty() {
            return Ok(());
        }
        let held = self.tokens.len();
        self.ready(decoder, held, pause)?;
        pause();
        let n = tokens.len();
        let outcome = decoder.forward(&tokens, &branches, &mut self.cache, n, pause);
        self.cache.truncate(held);
        self.n_processed += tokens.len() as u64;
        for ((index, token), row) in predicted.into_iter().zip(decoder.logits(&outcome?)?) {
            sums[index] += Distribution::new(&row).log_probability(token);
        }
        Ok(())
    }

    /// The hidden state after the last token held, `[1, hidden]`, from which its logits follow.
    ///
    /// # Errors
    /// As [`Self::last_logits`].
    pub(super) fn last_hidden(
        &mut self,
        decoder: &Decoder,
        pause: &mut (dyn FnMut() + Send),
    ) -> Result<Tensor, ModelError> {
        let Some(&last) = self.tokens.last() else {
            return Err(ModelError::Backend {
                what: "the context is empty: there is nothing to continue".into(),
                source: None,
            });
        };
        if let Some(hidden) = self.ends.get(&self.tokens.len()) {
            return Ok(hidden.clone());
        }
        self.truncate(self.tokens.len() - 1);
        self.extend(decoder, &[last], 0..0, &mut |_, _| {}, pause)?;
        self.ends.get(&self.tokens.len()).cloned().ok_or(ModelError::EngineStopped)
    }

    /// Appends a token to each of several sequences: one pass through the model. On an error nothing is appended.
    ///
    /// # Errors
    /// As [`Self::extend`].
    pub(super) fn extend_each(
        decoder: &Decoder,
        sequences: &mut [(&mut Self, u32)],
        pause: &mut (dyn FnMut() + Send),
    ) -> Result<(), ModelError> {
        if let [(sequence, token)] = sequences {
            return sequence.extend(decoder, &[*token], 0..0, &mut |_, _| {}, pause);
        }
        for (sequence, _) in sequences.iter_mut() {
            let (needed_tokens, context_tokens) =
                (sequence.tokens.len() + 1, decoder.context_tokens());
            if needed_tokens > context_tokens {
                return Err(ModelError::ContextOverflow { needed_tokens, context_tokens });
            }
            sequence.ready(decoder, needed_tokens, pause)?;
        }
        let tokens: Vec<u32> = sequences.iter().map(|(_, token)| *token).collect();
        let mut caches: Vec<&mut KvCache> =
            sequences.iter_mut().map(|(sequence, _)| &mut sequence.cache).collect();
        let hidden = decoder.forward_each(&tokens, &mut caches, pause)?;
        let rows = |row| hidden.narrow(0, row, 1).and_then(|h| h.copy()).map_err(backend);
        let rows: Vec<Tensor> = (0..tokens.len()).map(rows).collect::<Result<_, _>>()?;
        for ((sequence, token), end) in sequences.iter_mut().zip(rows) {
            sequence.tokens.push(*token);
            sequence.n_processed += 1;
            sequence.remember_end(end);
        }
        Ok(())
    }

    /// Whether its keys are rotated as in long contexts, once it holds one token more.
    pub(super) fn will_be_long(&self, decoder: &Decoder) -> bool {
        decoder.is_long(self.tokens.len() + 1)
    }

    /// Only the newest end of a generation is kept.
    pub(super) fn forget_end(&mut self, len: usize) {
        self.ends.remove(&len);
    }
}

/// 0 without values.
fn mean(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |sum, value| sum + value) / values.len().max(1) as f64
}
