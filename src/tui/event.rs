//! Everything that can happen to the screen, in one closed enum, and everything it can ask for.

use std::path::PathBuf;

use crossterm::event::Event as TerminalEvent;

use crate::chat::{Command, Update};
use crate::interfaces::ModelSummary;
use crate::memory::{EpisodeId, MessageId, SemanticId, SessionId};
use crate::store::{AnyId, ForgetPlan, Session};

/// What the loop feeds to [`crate::tui::update()`].
#[derive(Debug, Clone)]
pub enum Event {
    Terminal(TerminalEvent),
    Chat(Update),
    Desk(Answer),
    /// Ten times a second while something moves.
    Tick,
    /// SIGTERM, SIGHUP or SIGINT: the exit code to leave with.
    Terminate(u8),
}

/// What the loop does for the screen.
#[derive(Debug, Clone, PartialEq)]
pub enum Do {
    Chat(Command),
    Desk(Request),
    /// To the clipboard (OSC 52).
    Copy(String),
    Suspend,
    Quit(u8),
}

/// Questions to the memory that are not part of a turn; answered on the desk's own thread.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    Tree,
    Messages(EpisodeId),
    Sessions,
    Models,
    /// The person's own messages, for Ctrl+R and the arrow keys.
    History,
    Why(MessageId),
    PlanForget {
        ids: Vec<AnyId>,
        matching: Option<String>,
    },
    Forget(ForgetPlan),
    Edit {
        semantic: SemanticId,
        text: String,
    },
    Undo,
    Export {
        session: SessionId,
        path: Option<PathBuf>,
    },
}

/// One fact of the tree.
#[derive(Debug, Clone, PartialEq)]
pub struct Fact {
    pub id: SemanticId,
    pub text: String,
    /// As shown: "16 Nov 2026".
    pub date: String,
    pub superseded_by: Option<SemanticId>,
    pub episodes: Vec<EpisodeId>,
}

/// The memory as the tree pane shows it. Messages are read when an episode is opened.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tree {
    pub themes: Vec<ThemeRow>,
    pub episodes: Vec<EpisodeRow>,
    pub n_messages: usize,
    /// Episodes that no fact names (nothing in them was worth keeping).
    pub loose: Vec<EpisodeId>,
}

/// One theme of the tree.
#[derive(Debug, Clone, PartialEq)]
pub struct ThemeRow {
    pub id: crate::memory::ThemeId,
    pub name: String,
    pub facts: Vec<Fact>,
}

/// One episode of the tree.
#[derive(Debug, Clone, PartialEq)]
pub struct EpisodeRow {
    pub id: EpisodeId,
    pub title: String,
    pub text: String,
    pub date: String,
    pub n_messages: usize,
}

/// One message of the tree.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageRow {
    pub id: MessageId,
    pub speaker: String,
    pub text: String,
    pub date: String,
}

/// What the desk says.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    Tree(Tree),
    Messages {
        episode: EpisodeId,
        messages: Vec<MessageRow>,
    },
    Sessions(Vec<Session>),
    Models(Vec<ModelSummary>),
    History(Vec<String>),
    Why {
        message: MessageId,
        record: Option<serde_json::Value>,
    },
    /// `lines` show what would go.
    ForgetPlan {
        plan: ForgetPlan,
        lines: Vec<String>,
    },
    /// What is gone; what else was touched is written again from what stays.
    Forgotten {
        n_messages: usize,
        n_facts: usize,
    },
    Edited,
    Undone(Option<String>),
    Exported(PathBuf),
    Failed {
        what: &'static str,
        error: String,
    },
}
