//! What the driver needs of recall, of the memory worker and of the choice of a reader.
//!
//! Three small traits, so that the conversation runs in tests without a memory, and so that `chat`
//! does not know `worker`.

use serde_json::Value;

use crate::chat::machine::Line;
use crate::extractive::Candidate;
use crate::interfaces::{Cancel, Context, Models};
use crate::memory::{Moment, SessionId};
use crate::store::Store;

/// A question to memory.
pub struct Question<'a> {
    pub text: &'a str,
    pub at: Moment,
    /// The session so far, without the question.
    pub history: &'a [Line],
    /// The system turn of the chat.
    pub system: &'a str,
    /// Of prompt and reply together.
    pub window_tokens: usize,
    /// False for an extractive reader, which needs candidates only.
    pub for_model: bool,
    /// The context of the turn before: what it has in common with the new prompt is not read again.
    pub reuse: Option<Box<dyn Context>>,
    pub cancel: &'a Cancel,
}

/// What recall hands on.
#[derive(Default)]
pub struct Recollection {
    /// For the extractive reader.
    pub candidates: Vec<Candidate>,
    /// The evidence in the form of `ask --json`.
    pub record: Value,
    /// The whole prompt in the model's cache, the answer's turn opened.
    pub context: Option<Box<dyn Context>>,
    /// So many of the oldest messages of the history are not in the prompt.
    pub n_left_out: usize,
    /// The question alone was longer than the window.
    pub question_cut: bool,
}

/// Looks into memory.
pub trait Recaller: Send + Sync {
    /// # Errors
    /// What went wrong, for people; `None` if it was cancelled.
    fn recall(
        &self,
        store: &Store,
        models: &Models,
        question: Question<'_>,
        on_progress: &mut dyn FnMut(String),
    ) -> Result<Recollection, Option<String>>;
}

/// The memory worker, as the conversation sees it.
pub trait Background: Send {
    /// Yields to the person.
    fn pause(&self);
    fn resume(&self);
    /// Keeps a text now, as a message and as facts; durable when this returns.
    ///
    /// # Errors
    /// What went wrong, for people; then nothing is kept.
    fn remember(&self, session: SessionId, text: &str) -> Result<(), String>;
    /// For the status line: text, busy, failed.
    fn status(&self) -> (String, bool, bool);
    fn stop(self: Box<Self>);
}
