//! A context that remembers what it measured.

use std::sync::{Arc, Mutex, PoisonError};

use inglenook::interfaces::{Cancel, Context, Generated, ModelError, Sampling, Uncertainty};

/// What was measured, in order.
#[derive(Debug, Clone, Default)]
pub(super) struct Measured {
    /// With what the context held when it was made: no evidence.
    pub empty: Option<Uncertainty>,
    pub measured: Vec<Uncertainty>,
}

/// The record of a context and its forks.
#[derive(Debug, Clone, Default)]
pub(super) struct Log(Arc<Mutex<Measured>>);

impl Log {
    pub(super) fn take(&self) -> Measured {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The context. Before its first measurement it makes the same one without anything appended since it was made.
pub(super) struct Recording {
    context: Box<dyn Context>,
    n_empty: usize,
    log: Log,
}

impl Recording {
    pub(super) fn new(context: Box<dyn Context>) -> (Self, Log) {
        let (log, n_empty) = (Log::default(), context.len());
        (Self { context, n_empty, log: log.clone() }, log)
    }
}

impl Context for Recording {
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
        self.context.extend(tokens)
    }

    fn truncate(&mut self, len: usize) {
        self.context.truncate(len);
    }

    fn fork(&self) -> Result<Box<dyn Context>, ModelError> {
        let context = self.context.fork()?;
        Ok(Box::new(Self { context, n_empty: self.n_empty, log: self.log.clone() }))
    }

    fn extend_with_logits(
        &mut self,
        tokens: &[u32],
        n_last: usize,
    ) -> Result<Vec<Vec<f32>>, ModelError> {
        self.context.extend_with_logits(tokens, n_last)
    }

    fn extend_with_nlls(&mut self, tokens: &[u32]) -> Result<Vec<f64>, ModelError> {
        self.context.extend_with_nlls(tokens)
    }

    fn uncertainty(
        &mut self,
        question: &[u32],
        tail: &[u32],
        n_positions: usize,
    ) -> Result<Uncertainty, ModelError> {
        let measured = self.context.uncertainty(question, tail, n_positions)?;
        let mut bare = None;
        if self.log.0.lock().unwrap_or_else(PoisonError::into_inner).empty.is_none() {
            let mut context = self.context.fork()?;
            context.truncate(self.n_empty);
            bare = Some(context.uncertainty(question, tail, n_positions)?);
        }
        let mut log = self.log.0.lock().unwrap_or_else(PoisonError::into_inner);
        log.empty = log.empty.or(bare);
        log.measured.push(measured);
        Ok(measured)
    }

    fn choose(&mut self, choices: &[Vec<u32>]) -> Result<Vec<f64>, ModelError> {
        self.context.choose(choices)
    }

    fn generate(
        &mut self,
        sampling: &Sampling,
        cancel: &Cancel,
        on_text: &mut dyn FnMut(&str),
    ) -> Result<Generated, ModelError> {
        self.context.generate(sampling, cancel, on_text)
    }
}
