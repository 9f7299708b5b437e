//! A language model that counts calls and processed tokens, and remembers what it measured.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use inglenook::interfaces::{
    Cancel, Context, Generated, LanguageModel, ModelError, ModelInfo, Priority, Sampling, TurnRole,
    Uncertainty,
};

/// Usage since the last [`Metered::take`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Used {
    /// Generations, measurements and choices; filling the KV cache does not count.
    pub calls: u64,
    /// Prompt and output tokens, including those rolled back.
    pub tokens: u64,
}

/// A measurement of the reader's uncertainty: what was asked, and what came of it.
#[derive(Debug, Clone)]
pub(super) struct Measurement {
    pub question: Vec<u32>,
    pub tail: Vec<u32>,
    pub n_positions: usize,
    pub uncertainty: Uncertainty,
}

#[derive(Default)]
struct Counts {
    calls: AtomicU64,
    tokens: AtomicU64,
    written: AtomicU64,
    measured: Mutex<Vec<Measurement>>,
}

impl Counts {
    fn measured(&self) -> MutexGuard<'_, Vec<Measurement>> {
        self.measured.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The counting model. Clones share their counters.
#[derive(Clone)]
pub(super) struct Metered {
    model: Arc<dyn LanguageModel>,
    counts: Arc<Counts>,
}

impl Metered {
    pub(super) fn new(model: Arc<dyn LanguageModel>) -> Self {
        Self { model, counts: Arc::default() }
    }

    pub(super) fn take(&self) -> Used {
        self.counts.measured().clear();
        Used {
            calls: self.counts.calls.swap(0, Ordering::Relaxed),
            tokens: self.counts.tokens.swap(0, Ordering::Relaxed),
        }
    }

    /// Tokens generated since the last call; [`Used::tokens`] includes them.
    pub(super) fn take_written(&self) -> u64 {
        self.counts.written.swap(0, Ordering::Relaxed)
    }

    /// What was measured since the last call, in order.
    pub(super) fn take_measured(&self) -> Vec<Measurement> {
        std::mem::take(&mut self.counts.measured())
    }
}

impl LanguageModel for Metered {
    fn info(&self) -> &ModelInfo {
        self.model.info()
    }

    fn weights_sha256(&self) -> String {
        self.model.weights_sha256()
    }

    fn encode(&self, text: &str) -> Vec<u32> {
        self.model.encode(text)
    }

    fn decode(&self, tokens: &[u32]) -> String {
        self.model.decode(tokens)
    }

    fn open_turn(&self, role: TurnRole) -> Vec<u32> {
        self.model.open_turn(role)
    }

    fn open_first_turn(&self) -> Vec<u32> {
        self.model.open_first_turn()
    }

    fn close_turn(&self, role: TurnRole) -> Vec<u32> {
        self.model.close_turn(role)
    }

    fn open_reply(&self) -> Vec<u32> {
        self.model.open_reply()
    }

    fn turn(&self, role: TurnRole, text: &str) -> Vec<u32> {
        self.model.turn(role, text)
    }

    fn begin(&self) -> Vec<u32> {
        self.model.begin()
    }

    fn context(&self, priority: Priority) -> Result<Box<dyn Context>, ModelError> {
        let context = self.model.context(priority)?;
        Ok(Box::new(Counted { context, counts: Arc::clone(&self.counts) }))
    }
}

struct Counted {
    context: Box<dyn Context>,
    counts: Arc<Counts>,
}

impl Counted {
    fn count<T>(&mut self, calls: u64, work: impl FnOnce(&mut dyn Context) -> T) -> T {
        let before = self.context.n_processed();
        let result = work(&mut *self.context);
        let tokens = self.context.n_processed() - before;
        self.counts.calls.fetch_add(calls, Ordering::Relaxed);
        self.counts.tokens.fetch_add(tokens, Ordering::Relaxed);
        result
    }
}

impl Context for Counted {
    fn len(&self) -> usize {
        self.context.len()
    }

    fn tokens(&self) -> &[u32] {
        self.context.tokens()
    }

    fn n_processed(&self) -> u64 {
        self.context.n_processed()
    }

    fn extend(&mut self, tokens: &[u32]) -> Result<(), ModelError> {
        self.count(0, |context| context.extend(tokens))
    }

    fn truncate(&mut self, len: usize) {
        self.context.truncate(len);
    }

    fn fork(&self) -> Result<Box<dyn Context>, ModelError> {
        let context = self.context.fork()?;
        Ok(Box::new(Self { context, counts: Arc::clone(&self.counts) }))
    }

    fn extend_with_logits(
        &mut self,
        tokens: &[u32],
        n_last: usize,
    ) -> Result<Vec<Vec<f32>>, ModelError> {
        self.count(1, |context| context.extend_with_logits(tokens, n_last))
    }

    fn extend_with_nlls(&mut self, tokens: &[u32]) -> Result<Vec<f64>, ModelError> {
        self.count(1, |context| context.extend_with_nlls(tokens))
    }

    fn uncertainty(
        &mut self,
        question: &[u32],
        tail: &[u32],
        n_positions: usize,
    ) -> Result<Uncertainty, ModelError> {
        let uncertainty =
            self.count(1, |context| context.uncertainty(question, tail, n_positions))?;
        let (question, tail) = (question.to_vec(), tail.to_vec());
        self.counts.measured().push(Measurement { question, tail, n_positions, uncertainty });
        Ok(uncertainty)
    }

    fn choose(&mut self, choices: &[Vec<u32>]) -> Result<Vec<f64>, ModelError> {
        self.count(1, |context| context.choose(choices))
    }

    fn generate(
        &mut self,
        sampling: &Sampling,
        cancel: &Cancel,
        on_text: &mut dyn FnMut(&str),
    ) -> Result<Generated, ModelError> {
        let generated = self.count(1, |context| context.generate(sampling, cancel, on_text))?;
        self.counts.written.fetch_add(generated.n_tokens as u64, Ordering::Relaxed);
        Ok(generated)
    }
}
