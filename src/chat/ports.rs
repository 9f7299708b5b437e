//! What the conversation needs of recall: a small trait, so that it runs in tests without a memory.

use crate::interfaces::Models;
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
