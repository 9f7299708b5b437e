//! What the conversation needs of recall and of the memory worker.
//!
//! Two small traits, so that the conversation runs in tests without a memory, and so that `chat`
//! does not know `worker`.

use serde_json::Value;

use crate::chat::machine::PastMessage;
use crate::extractive::Candidate;
use crate::interfaces::{Cancel, Context, Models};
use crate::memory::{Moment, SessionId};
use crate::store::Store;

/// A question to memory.
pub struct Question<'a> {
    pub text: &'a str,
    pub at: Moment,
    /// The session so far, without the question.
    pub history: &'a [PastMessage],
    /// The system turn of the chat.
    pub system: &'a str,
    /// For prompt and reply together.
    pub window_tokens: usize,
    /// False for an extractive reader, which needs candidates only.
    pub for_model: bool,
    /// The context of the previous turn: the prefix that it shares with the new prompt is reused.
    pub reuse: Option<Box<dyn Context>>,
    pub cancel: &'a Cancel,
}

/// What recall found.
#[derive(Default)]
pub struct Recollection {
    /// For the extractive reader.
    pub candidates: Vec<Candidate>,
    /// The evidence in the form of `ask --json`.
    pub record: Value,
    /// The whole prompt in the model's KV cache, up to the beginning of the reply.
    pub context: Option<Box<dyn Context>>,
    /// The number of oldest messages of the history that are not in the prompt.
    pub n_left_out: usize,
    /// The question alone was longer than the window.
    pub question_cut: bool,
}

/// Searches memory.
pub trait Recaller: Send + Sync {
    /// Searches memory for what answers a question.
    ///
    /// # Errors
    /// What went wrong, in words for the person; `None` if it was cancelled.
    fn recall(
        &self,
        store: &Store,
        models: &Models,
        question: Question<'_>,
        on_progress: &mut dyn FnMut(String),
    ) -> Result<Recollection, Option<String>>;
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
