//! What the conversation needs of recall and of the memory worker.
//!
//! Two small traits, so that the conversation runs in tests without a memory, and so that `chat`
//! does not know `worker`.

use crate::interfaces::Models;
use crate::memory::SessionId;
use crate::recall::{Evidence, Progress, Recall, RecallConfig, RecallError, RecallRequest};
use crate::store::Store;

/// Searches memory.
pub trait Recaller: Send + Sync {
    /// Searches memory for what answers a question; a prompt takes at most `window_tokens`.
    ///
    /// # Errors
    /// If the store or a model fails, or the request is cancelled.
    fn recall(
        &self,
        store: &Store,
        models: &Models,
        request: RecallRequest<'_>,
        window_tokens: usize,
        on_progress: &mut dyn FnMut(Progress),
    ) -> Result<Evidence, RecallError>;
}

impl Recaller for RecallConfig {
    fn recall(
        &self,
        store: &Store,
        models: &Models,
        request: RecallRequest<'_>,
        window_tokens: usize,
        on_progress: &mut dyn FnMut(Progress),
    ) -> Result<Evidence, RecallError> {
        let window_tokens = self.window_tokens.min(window_tokens);
        let config = Self { window_tokens, ..self.clone() };
        Recall { store, models, config }.run(request, on_progress)
    }
}

/// What the memory worker is doing, for the status line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorkerStatus {
    pub text: String,
    pub busy: bool,
    pub failed: bool,
}

/// The memory worker, as the conversation sees it.
pub trait Background: Send {
    /// Yields to the person.
    fn pause(&self);
    /// Ends the pause.
    fn resume(&self);
    /// Keeps a text now, as a message and as facts; durable when this returns.
    ///
    /// # Errors
    /// What went wrong, in words for the person; then nothing is kept.
    fn remember(&self, session: SessionId, text: &str) -> Result<(), String>;
    /// What it is doing.
    fn status(&self) -> WorkerStatus;
    /// Ends the worker; what is not done stays queued.
    fn stop(self: Box<Self>);
}
