//! What the machine asks for: work for the driver, updates for the screen.

use crate::chat::machine::events::{MessageKind, SavedReply, TurnId};
use crate::chat::policy::{Cited, ModelProfile};
use crate::chat::window::Window;
use crate::interfaces::LoadProgress;
use crate::memory::{Message, Moment, SessionId};
use crate::worker::WorkerStatus;

/// What the driver has to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    LoadModel(Option<String>),
    /// In one durable transaction: the session if it is new, the message, its memory job.
    SaveUser(UserMessage),
    /// On a thread of its own.
    Start(ReplyJob),
    SaveReply(Reply),
    /// Stop the running job.
    Cancel,
    LoadSession(SessionId),
    /// The person left this session: its last episode can be closed.
    CloseSession(SessionId),
    UseStore {
        incognito: bool,
    },
    PauseWorker,
    ResumeWorker,
    Tell(Update),
}

/// A message of the person, to be saved; `session` is `None` for the first of a new session.
#[derive(Debug, Clone, PartialEq)]
pub struct UserMessage {
    pub turn: TurnId,
    pub session: Option<SessionId>,
    pub title: String,
    pub text: String,
    pub at: Moment,
    pub kind: MessageKind,
}

/// A reply, or what there is of it, to be saved.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    pub turn: TurnId,
    pub session: SessionId,
    pub text: String,
    pub complete: bool,
    /// Nothing follows: its evidence is recorded with it.
    pub last: bool,
    /// What of its evidence it quotes.
    pub cited: Cited,
}

/// A step of a reply that takes long.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplyJob {
    pub turn: TurnId,
    pub question: String,
    /// The session before the question.
    pub history: Vec<Message>,
    pub step: ReplyStep,
}

/// Which step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyStep {
    Recall {
        /// Leaves a prompt in the model's context, not only candidates to quote.
        for_model: bool,
        /// Only if memory knows somebody who is mentioned, and has much to say.
        look: bool,
    },
    Generate {
        with_memories: bool,
    },
}

/// What the screen is told.
#[derive(Debug, Clone, PartialEq)]
pub enum Update {
    Loading {
        name: Option<String>,
    },
    LoadProgress(LoadProgress),
    Ready(ModelProfile),
    /// `still` is the model that stays in use.
    LoadFailed {
        error: String,
        still: Option<ModelProfile>,
    },
    Phase(PhaseName),
    /// How far recall is.
    Progress(String),
    UserMessage {
        title: String,
        message: Message,
    },
    /// The message was not accepted: here it is again.
    Returned {
        text: String,
    },
    ReplyText(String),
    ReplyDone(SavedReply),
    /// The reply failed before its first word.
    ReplyDropped,
    Window(Window),
    Session {
        session: Option<SessionId>,
        title: String,
        messages: Vec<Message>,
        incognito: bool,
    },
    Worker(WorkerStatus),
    /// The worker wrote: open panes read again.
    MemoryChanged,
    Notice {
        level: Level,
        text: String,
    },
}

/// How urgent a notice is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Info,
    Warning,
    Error,
}

/// Where a turn is, for the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PhaseName {
    #[default]
    Idle,
    Saving,
    AwaitingModel,
    Recalling,
    Replying,
    Finishing,
}
