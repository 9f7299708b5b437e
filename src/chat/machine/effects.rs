//! What the machine asks for: work for the driver, updates for the screen.

use std::sync::Arc;

use crate::chat::machine::events::{Forked, MessageKind, SavedReply, TurnId};
use crate::chat::persona::Persona;
use crate::chat::policy::ModelProfile;
use crate::chat::quote::Cited;
use crate::chat::sampling::Settings;
use crate::chat::tools::{Call, CallResult, Exchange, ToolUse, ToolsStatus};
use crate::chat::window::Window;
use crate::interfaces::LoadProgress;
use crate::memory::{Message, MessageId, Moment, SessionId};
use crate::store::Conversation;
use crate::worker::WorkerStatus;

/// What the driver has to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    LoadModel(Option<String>),
    Pull(String),
    StopPull,
    UseRole(Option<Arc<Persona>>),
    /// What the open chat says of how replies are drawn.
    UseSampling(Settings),
    /// Durably: the session if it is new, the message, its memory job (`/remember`: its facts).
    SaveUser(UserMessage),
    /// On a thread of its own.
    Start(ReplyJob),
    SaveReply(Reply),
    /// Stop the running job.
    Cancel,
    LoadSession(SessionId),
    /// Makes a chat that goes on from the messages of `parent` before one of them, and loads it.
    Fork {
        parent: SessionId,
        before: MessageId,
        /// The parent's, where it is none.
        title: Option<String>,
        at: Moment,
        then: Forked,
    },
    /// Reports what tools there are; whether they are on is known here.
    ListTools {
        on: bool,
    },
    /// Ends their servers.
    StopTools,
    /// Of several versions of a reply, shows one.
    Choose {
        chosen: MessageId,
        others: Vec<MessageId>,
    },
    /// The person left this session: its last episode can be closed.
    CloseSession(SessionId),
    UseStore {
        incognito: bool,
    },
    PauseWorker,
    ResumeWorker,
    Tell(Update),
}

/// A message from the person, to be saved; `session` is `None` for the first of a new session.
#[derive(Debug, Clone, PartialEq)]
pub struct UserMessage {
    pub turn: TurnId,
    pub session: Option<SessionId>,
    pub title: String,
    pub text: String,
    pub at: Moment,
    pub kind: MessageKind,
}

/// A reply, or as much of it as there is, to be saved.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    pub turn: TurnId,
    pub session: SessionId,
    pub text: String,
    pub complete: bool,
    /// The final save of this reply: its evidence is recorded with it.
    pub last: bool,
    /// The evidence that it quotes.
    pub cited: Cited,
    /// The versions that it takes the place of.
    pub replaces: Vec<MessageId>,
}

/// A slow step of a reply, run on a thread.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplyJob {
    pub turn: TurnId,
    pub question: String,
    /// The session before the question.
    pub history: Vec<Message>,
    pub step: ReplyStep,
    /// The reply that it goes on with.
    pub begun: Option<Begun>,
    /// The calls of this turn that are over.
    pub exchanges: Vec<Exchange>,
}

/// A reply that was stopped or cut, and goes on.
#[derive(Debug, Clone, PartialEq)]
pub struct Begun {
    pub id: MessageId,
    pub text: String,
}

/// Which step.
#[derive(Debug, Clone, PartialEq)]
pub enum ReplyStep {
    Recall {
        /// Leaves a prompt in the model's context, not only candidates to quote.
        for_model: bool,
        /// Only if memory knows somebody who is mentioned and has something relevant to say.
        look: bool,
    },
    Generate {
        with_memories: bool,
        tools: ToolUse,
    },
    /// Runs a tool.
    Call(Call),
}

/// What the screen is told.
#[derive(Debug, Clone, PartialEq)]
pub enum Update {
    Loading {
        name: Option<String>,
    },
    LoadProgress(LoadProgress),
    /// A download: the bytes that are here, and those of the whole file (0 if that is not known).
    Pulling {
        name: String,
        bytes: u64,
        total_bytes: u64,
    },
    /// It has ended, as in [`super::events::Event::Pulled`].
    Pulled {
        name: String,
        result: Result<bool, String>,
    },
    Ready(ModelProfile),
    /// What the open chat says of how replies are drawn.
    Sampling(Settings),
    /// `still` is the model that stays in use.
    LoadFailed {
        error: String,
        still: Option<ModelProfile>,
    },
    Phase(PhaseName),
    /// How far recall has got.
    Progress(String),
    UserMessage {
        title: String,
        message: Message,
    },
    /// The message was not accepted and is handed back.
    Returned {
        text: String,
    },
    ReplyText(String),
    ReplyDone(SavedReply),
    /// A reply to a message that has some already: they give way while it is being written, which begins with this text.
    Again {
        replaces: Vec<MessageId>,
        begun: String,
    },
    /// The reply failed before its first word.
    ReplyDropped,
    /// May this call be made?
    Asks(Call),
    /// It was made, or not.
    Called {
        call: Call,
        result: CallResult,
    },
    /// Whether tools are on in this chat.
    ToolsOn(bool),
    /// What tools there are.
    Tools(ToolsStatus),
    Window(Window),
    Session {
        session: Option<SessionId>,
        conversation: Conversation,
        incognito: bool,
    },
    Worker(WorkerStatus),
    /// The store was written to: open panes read it again.
    MemoryChanged,
    /// Something was forgotten: whoever shows or keeps what was read before reads it again.
    Forgotten,
    Notice {
        level: Level,
        text: String,
    },
    /// Said for a moment; it is no part of the chat.
    Hint(String),
    /// What was asked for has to wait until the reply is written.
    Busy,
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
    /// The person is asked whether a tool may be called.
    Asking,
    Calling,
    Finishing,
}
