//! What happens to a conversation: the person's commands and the answers to the machine's effects.

use std::sync::Arc;

use serde_json::Value;

use crate::chat::persona::Persona;
use crate::chat::policy::ModelProfile;
use crate::chat::quote::Quote;
use crate::chat::sampling::{Setting, SettingValue};
use crate::chat::tools::{Call, CallResult, Permission};
use crate::chat::window::Window;
use crate::memory::{Message, MessageId, Moment, SessionId};
use crate::store::Conversation;

/// Numbers the turns of one run of the program.
pub type TurnId = u64;

/// What a message is for: an answer, or (`/remember`) to be kept as a statement, whatever it looks
/// like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageKind {
    Chat,
    Remember,
}

/// What a chat that goes on from another begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Forked {
    Nothing,
    /// Another message in the place of the one before which it begins.
    Submit(String),
    /// Another answer to the last message.
    Answer,
}

/// What the person wants. `Reload` reads the open session again after something was forgotten or
/// edited; `Leave` closes it because the program ends.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    Submit {
        text: String,
        kind: MessageKind,
    },
    Stop,
    /// Another version of the last reply.
    Regenerate,
    /// Goes on with the last reply, where it was stopped or cut.
    Continue,
    /// Of several versions of a reply, the one that holds from now on.
    Choose {
        chosen: Message,
        others: Vec<MessageId>,
    },
    /// A chat of its own that goes on from the messages of `parent` before one of them.
    Fork {
        parent: SessionId,
        before: MessageId,
        then: Forked,
    },
    NewSession,
    OpenSession(SessionId),
    LoadModel(Option<String>),
    /// Downloads a model, and then loads it. One at a time.
    Pull(String),
    StopPull,
    /// What the model is told that it is; an assistant again, without one.
    Role(Option<Arc<Persona>>),
    /// How this chat's replies are drawn from now on; as without it, where there is no value.
    Set(Setting, Option<SettingValue>),
    Incognito(bool),
    /// What tools there are?
    ListTools,
    /// Offers them to the model in this chat, or no longer.
    Tools(bool),
    /// The call that was asked for may be made, or not.
    Permit(Permission),
    Reload,
    Leave,
}

/// What happens to a conversation.
#[derive(Debug, Clone)]
pub enum Event {
    Command {
        command: Command,
        at: Moment,
    },
    ModelReady(ModelProfile),
    ModelFailed {
        error: String,
    },
    /// A download has ended: with the model, without one because that was asked, or for this reason.
    Pulled {
        name: String,
        result: Result<bool, String>,
    },
    SessionLoaded {
        session: SessionId,
        conversation: Conversation,
    },
    /// It was just made of another.
    Forked {
        session: SessionId,
        conversation: Conversation,
        then: Forked,
        at: Moment,
    },
    NotForked {
        error: String,
        then: Forked,
    },
    SessionNotLoaded {
        session: SessionId,
        error: String,
    },
    IncognitoFailed {
        error: String,
    },
    /// The answer to an effect of this turn; ignored once the turn is over.
    Turn(TurnId, TurnEvent),
}

/// Answers to the effects of a turn.
#[derive(Debug, Clone)]
pub enum TurnEvent {
    UserSaved {
        title: String,
        message: Message,
        user_name: Option<String>,
    },
    Recalled {
        /// What the rules answer, if they do and the model does not read.
        quote: Option<Quote>,
        /// The model's prompt is ready: rules are not sure, and there is something to read.
        reads: bool,
        /// Only memory can answer, if anything does: a model would make something up.
        is_private: bool,
        /// What was told that comes nearest, where nothing answers.
        nearest: Option<Quote>,
    },
    Window(Window),
    /// The question alone is longer than the window.
    QuestionCut,
    /// Of its files the model is given parts.
    FilesInParts,
    Text(String),
    Generated(Outcome),
    /// The model asks for a call, after this text; or wrote one that can't be made, and why.
    Asked {
        said: String,
        written: String,
        call: Result<Call, String>,
    },
    /// What came of the call.
    Called(CallResult),
    /// The whole reply; what is saved on the way needs no answer.
    ReplySaved(SavedReply),
    /// The message, or the whole reply.
    NotSaved {
        error: String,
    },
    /// Recall, or generation.
    Failed {
        error: String,
    },
}

impl TurnEvent {
    /// Recall found nothing.
    pub fn nothing(is_private: bool) -> Self {
        Self::Recalled { quote: None, reads: false, is_private, nearest: None }
    }
}

/// A reply on disk, and its record in the form of `ask --json`.
#[derive(Debug, Clone, PartialEq)]
pub struct SavedReply {
    pub message: Message,
    pub record: Value,
    pub tokens_per_second: Option<f64>,
}

/// How a generation ended: by itself, at the token limit of one reply, or stopped by the person.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outcome {
    Ended,
    Cut,
    Stopped,
}
