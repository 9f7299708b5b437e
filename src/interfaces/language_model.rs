//! A causal language model, in tokens.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use thiserror::Error;

use super::Uncertainty;
use crate::grammar::Constraint;

/// Whose request goes first: chat > recall > memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Writing memory, in the background.
    Memory,
    /// Finding evidence for a question.
    Recall,
    /// The reply that the person waits for.
    Chat,
}

/// Who speaks in a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TurnRole {
    /// The instructions.
    System,
    /// The person.
    User,
    /// The model.
    Assistant,
}

/// What the rest of the program may know of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelInfo {
    /// Catalogue or file name, for people.
    pub name: String,
    /// Identifies the weights (64 hex digits, a hash of samples of the files): grades are keyed by it.
    pub fingerprint: String,
    /// Number of parameters.
    pub n_parameters: u64,
    /// Longest context in tokens.
    pub context_tokens: usize,
    /// Number of tokens in the vocabulary.
    pub vocabulary: usize,
    /// The built-in one.
    pub starter: bool,
}

impl ModelInfo {
    /// The setting that holds the model's grade.
    pub fn grade_key(&self) -> String {
        format!("grade:{}", self.fingerprint)
    }
}

/// How the next token is drawn. Seeded: the same request gives the same text.
#[derive(Debug, Clone, PartialEq)]
pub struct Sampling {
    /// 0 is greedy.
    pub temperature: f32,
    /// Nucleus; 1 keeps all.
    pub top_p: f32,
    /// Keeps tokens with p ≥ min_p · max p; 0 keeps all.
    pub min_p: f32,
    /// 1 is no penalty.
    pub repetition_penalty: f32,
    /// Seeds the random stream.
    pub seed: u64,
    /// At most this many tokens are generated.
    pub tokens_max: usize,
    /// The form that the reply must have; it is complete even when the token budget runs out.
    pub constraint: Option<Constraint>,
}

impl Sampling {
    /// Greedy, at most `tokens_max` tokens.
    pub fn greedy(tokens_max: usize) -> Self {
        Self {
            temperature: 0.0,
            top_p: 1.0,
            min_p: 0.0,
            repetition_penalty: 1.0,
            seed: 0,
            tokens_max,
            constraint: None,
        }
    }
}

/// A flag that stops a request at the next token. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Raises the flag.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was raised.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// An error if the flag was raised, so that `?` stops the work.
    ///
    /// # Errors
    /// [`ModelError::Cancelled`].
    pub fn check(&self) -> Result<(), ModelError> {
        if self.is_cancelled() { Err(ModelError::Cancelled) } else { Ok(()) }
    }
}

/// Why a generation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// The model ended its turn.
    EndOfTurn,
    /// The token budget was exhausted. A constrained reply is complete all the same, but the budget forbade some
    /// tokens in it.
    Length,
    /// The request's flag was raised.
    Cancelled,
}

/// The outcome of [`Context::generate`].
#[derive(Debug, Clone, PartialEq)]
pub struct Generated {
    /// The reply.
    pub text: String,
    /// Its length in tokens.
    pub n_tokens: usize,
    /// Why it ended.
    pub finish: Finish,
}

/// Why a model can't do what was asked.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum ModelError {
    #[error("no model named `{name}` is installed")]
    NotInstalled { name: String },
    /// A file is missing, damaged, hostile, or of a kind that this program does not run.
    #[error("cannot use the model file {path}: {reason}")]
    BadFile { path: String, reason: String },
    #[error("this machine's policy does not allow {path} (sha256 {hash})")]
    Forbidden { path: String, hash: String },
    /// The tokens held and those to be appended together exceed the context.
    #[error(
        "the prompt needs {needed_tokens} tokens but the model's context holds {context_tokens}"
    )]
    ContextOverflow { needed_tokens: usize, context_tokens: usize },
    /// A logit, a likelihood or a vector is NaN or infinite.
    #[error("the model computed a value that is not a number (damaged weights?)")]
    NotANumber,
    /// The token budget can't complete the constrained reply; `None`: this model's vocabulary can't spell one.
    #[error("a reply of the form asked for {}", too_long(*needed_tokens, *tokens_max))]
    ConstraintTooLong { needed_tokens: Option<usize>, tokens_max: usize },
    /// The request's flag was raised.
    #[error("cancelled")]
    Cancelled,
    /// The engine's thread is gone.
    #[error("the model engine has stopped")]
    EngineStopped,
    /// The computation itself failed: what could not be done, and why, if a library said so.
    #[error("{what}")]
    Backend {
        what: String,
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
}

fn too_long(needed_tokens: Option<usize>, tokens_max: usize) -> String {
    match needed_tokens {
        Some(needed) => format!("takes {needed} tokens, and only {tokens_max} are allowed"),
        None => "can't be spelled in this model's vocabulary".into(),
    }
}

/// A model with its tokenizer and chat format. Cheap to share; requests queue by priority.
pub trait LanguageModel: Send + Sync {
    /// Its name, fingerprint and sizes.
    fn info(&self) -> &ModelInfo;

    /// SHA-256 of the weights, 64 hex digits. Reads all of them, which takes seconds for a large model.
    fn weights_sha256(&self) -> String;

    /// Tokens of plain text. Never yields a special token, whatever the text says: data can't open
    /// a role (invariant 6).
    fn encode(&self, text: &str) -> Vec<u32>;

    /// Text of tokens; special tokens are left out; invalid UTF-8 becomes U+FFFD.
    fn decode(&self, tokens: &[u32]) -> String;

    /// The special tokens (and text) that open a turn.
    fn open_turn(&self, role: TurnRole) -> Vec<u32>;

    /// What opens the user's turn right after the system's: as [`Self::open_turn`], unless the system has no turn of its
    /// own and its text opens the user's (Gemma).
    fn open_first_turn(&self) -> Vec<u32> {
        self.open_turn(TurnRole::User)
    }

    /// The special tokens (and text) that close a turn.
    fn close_turn(&self, role: TurnRole) -> Vec<u32>;

    /// What a prompt ends with: opens the turn that is to be generated. (Qwen3 begins it with an empty `<think>`
    /// block, which earlier turns do not have.)
    fn open_reply(&self) -> Vec<u32>;

    /// A whole turn. The text loses what the model's own format takes off (Llama 3: surrounding whitespace).
    fn turn(&self, role: TurnRole, text: &str) -> Vec<u32>;

    /// A whole turn of the user, right after the system's.
    fn first_turn(&self, text: &str) -> Vec<u32> {
        let turn = self.turn(TurnRole::User, text);
        let opening = self.open_turn(TurnRole::User).len();
        [&self.open_first_turn(), turn.get(opening..).unwrap_or_default()].concat()
    }

    /// What a call of a tool stands between in this model's replies; `None` if its format knows no tools.
    fn call_marks(&self) -> Option<[&'static str; 2]> {
        None
    }

    /// The system's turn with these tools, each a line of JSON; nothing of them if its format knows none.
    fn system_with_tools(&self, text: &str, _tools: &[String]) -> Vec<u32> {
        self.turn(TurnRole::System, text)
    }

    /// The turns of a call: what was said before it, the call, and what came of it, which is data whatever it says.
    fn call_turns(&self, said: &str, _call: &str, result: &str) -> Vec<u32> {
        [self.turn(TurnRole::Assistant, said), self.turn(TurnRole::User, result)].concat()
    }

    /// Tokens at the very start of a prompt (Llama 3: `<|begin_of_text|>`), often none.
    fn begin(&self) -> Vec<u32>;

    /// An empty context with its own KV cache.
    ///
    /// # Errors
    /// If the engine has stopped.
    fn context(&self, priority: Priority) -> Result<Box<dyn Context>, ModelError>;
}

/// A sequence of tokens with its KV cache. A checkpoint is a length: [`Context::len`] before,
/// [`Context::truncate`] back.
pub trait Context: Send {
    /// Tokens held.
    fn len(&self) -> usize;

    /// Whether it holds no token.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The tokens held.
    fn tokens(&self) -> &[u32];

    /// Tokens run through the model by this context so far, rolled-back ones included.
    fn n_processed(&self) -> u64;

    /// Prefill: appends `tokens`.
    ///
    /// # Errors
    /// [`ModelError::ContextOverflow`] (nothing is appended then), or a backend failure.
    fn extend(&mut self, tokens: &[u32]) -> Result<(), ModelError>;

    /// Makes it hold exactly `tokens`, keeping the common beginning. Returns how many tokens were processed.
    ///
    /// # Errors
    /// As [`Context::extend`].
    fn refill(&mut self, tokens: &[u32]) -> Result<usize, ModelError> {
        let common = self.tokens().iter().zip(tokens).take_while(|(a, b)| a == b).count();
        self.truncate(common);
        if common < tokens.len() {
            self.extend(&tokens[common..])?;
        }
        Ok(tokens.len() - common)
    }

    /// Rolls back to the first `len` tokens. Does nothing if it holds fewer.
    fn truncate(&mut self, len: usize);

    /// An independent copy, KV cache included.
    ///
    /// # Errors
    /// If the engine has stopped.
    fn fork(&self) -> Result<Box<dyn Context>, ModelError>;

    /// Logits after each of the last `n_last` tokens of `tokens`, which are appended:
    /// `n_last` rows of `vocabulary` values.
    ///
    /// # Errors
    /// As [`Context::extend`].
    fn extend_with_logits(
        &mut self,
        tokens: &[u32],
        n_last: usize,
    ) -> Result<Vec<Vec<f32>>, ModelError>;

    /// Appends `tokens` and returns the negative log-likelihood of each, `−ln p(token | all before it)` in nats. +∞
    /// for the first token of an empty context, which nothing predicts.
    ///
    /// # Errors
    /// As [`Context::extend`]; [`ModelError::NotANumber`] if a likelihood is NaN (nothing is appended then).
    fn extend_with_nlls(&mut self, tokens: &[u32]) -> Result<Vec<f64>, ModelError>;

    /// How unsure the reader is once `question` follows: `tail` closes the question's turn and
    /// opens the answer's. Decodes at most `n_positions` greedy tokens (stops at end of turn), then
    /// rolls everything back.
    ///
    /// # Errors
    /// As [`Context::extend`].
    fn uncertainty(
        &mut self,
        question: &[u32],
        tail: &[u32],
        n_positions: usize,
    ) -> Result<Uncertainty, ModelError>;

    /// Log-probability of each choice as the continuation (sum over its tokens, in nats); the
    /// context is left as it was.
    ///
    /// # Errors
    /// As [`Context::extend`].
    fn choose(&mut self, choices: &[Vec<u32>]) -> Result<Vec<f64>, ModelError>;

    /// Decodes until end of turn, `tokens_max` or `cancel`; calls `on_text` with each new piece of
    /// valid UTF-8. The generated tokens stay in the context. A constrained reply is complete unless it was
    /// cancelled.
    ///
    /// # Errors
    /// As [`Context::extend`]; [`ModelError::NotANumber`] if no token can be drawn;
    /// [`ModelError::ConstraintTooLong`] if the tokens allowed, or those left in the context, can't complete what
    /// was asked for.
    fn generate(
        &mut self,
        sampling: &Sampling,
        cancel: &Cancel,
        on_text: &mut dyn FnMut(&str),
    ) -> Result<Generated, ModelError>;
}
