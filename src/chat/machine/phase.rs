//! What a conversation is doing, and the turn that it is doing it for.

use crate::chat::machine::calling::Asked;
use crate::chat::machine::{Begun, Effect, MessageKind, PhaseName, Reply, TurnId, UserMessage};
use crate::chat::quote::{Cited, Quote};
use crate::chat::tools::{Exchange, ToolUse};
use crate::memory::{MessageId, Moment, SessionId};

/// A turn whose message is on disk.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    pub(super) id: TurnId,
    pub(super) session: SessionId,
    pub(super) question: String,
    pub(super) kind: MessageKind,
    pub(super) at: Moment,
    /// The replies that its own takes the place of.
    pub(super) replaces: Vec<MessageId>,
    /// The reply that it goes on with.
    pub(super) begun: Option<Begun>,
    pub(super) tools: ToolUse,
    /// Its calls of tools that are over.
    pub(super) exchanges: Vec<Exchange>,
    /// What will be remembered of the message, to be said below a reply that does not say it.
    pub(super) noted: Option<String>,
    /// What the reply ends with.
    pub(super) reminder: Option<Quote>,
}

/// The reply so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Draft {
    pub(super) text: String,
    /// Bytes of it that are on disk.
    pub(super) n_saved: usize,
}

/// What the conversation is doing. A turn's data lives only as long as its phases.
#[derive(Debug, Clone, Default)]
pub(super) enum Phase {
    #[default]
    Idle,
    /// `stopped`: save the message, but don't answer it.
    Saving {
        message: UserMessage,
        stopped: bool,
    },
    /// The message is on disk; the model is still being loaded.
    AwaitingModel(Turn),
    Recalling {
        turn: Turn,
        for_model: bool,
    },
    Replying {
        turn: Turn,
        draft: Draft,
    },
    /// The person is asked whether a call may be made.
    Asking {
        turn: Turn,
        draft: Draft,
        asked: Asked,
    },
    /// It is being made.
    Calling {
        turn: Turn,
        draft: Draft,
        asked: Asked,
    },
    /// The reply's text is complete and on its way to disk; `then` is said below it.
    Finishing {
        turn: TurnId,
        then: Option<String>,
    },
}

impl Phase {
    pub(super) fn name(&self) -> PhaseName {
        match self {
            Self::Idle => PhaseName::Idle,
            Self::Saving { .. } => PhaseName::Saving,
            Self::AwaitingModel(_) => PhaseName::AwaitingModel,
            Self::Recalling { .. } => PhaseName::Recalling,
            Self::Replying { .. } => PhaseName::Replying,
            Self::Asking { .. } => PhaseName::Asking,
            Self::Calling { .. } => PhaseName::Calling,
            Self::Finishing { .. } => PhaseName::Finishing,
        }
    }

    pub(super) fn turn(&self) -> Option<TurnId> {
        match self {
            Self::Idle => None,
            Self::Saving { message, .. } => Some(message.turn),
            Self::Finishing { turn, .. } => Some(*turn),
            Self::AwaitingModel(turn)
            | Self::Recalling { turn, .. }
            | Self::Replying { turn, .. }
            | Self::Asking { turn, .. }
            | Self::Calling { turn, .. } => Some(turn.id),
        }
    }
}

impl Turn {
    pub(super) fn new(
        id: TurnId,
        session: SessionId,
        question: String,
        kind: MessageKind,
        at: Moment,
    ) -> Self {
        let (replaces, begun, exchanges) = (Vec::new(), None, Vec::new());
        let (tools, noted, reminder) = (ToolUse::None, None, None);
        Self { id, session, question, kind, at, replaces, begun, tools, exchanges, noted, reminder }
    }

    pub(super) fn save(&self, text: String, complete: bool, last: bool, cited: Cited) -> Effect {
        let (turn, session, replaces) = (self.id, self.session, self.replaces.clone());
        Effect::SaveReply(Reply { turn, session, text, complete, last, cited, replaces })
    }
}
