//! Everything that can happen to the screen, in one closed enum, and everything it can ask for.

use std::collections::HashMap;
use std::path::PathBuf;

use crossterm::event::Event as TerminalEvent;
use serde_json::Value;

use crate::chat::{Command, Persona, Template, Update};
use crate::interfaces::{ModelSummary, PullableModel};
use crate::memory::{
    Episode, EpisodeId, Message, MessageId, Moment, Semantic, SemanticId, SessionId, ThemeId,
};
use crate::store::{AnyId, ForgetPlan, Found, Learned, Session};
use crate::tui::page::known::Knowledge;
use crate::tui::why::Recorded;

/// What the loop feeds to [`crate::tui::update()`].
#[derive(Debug, Clone)]
pub enum Event {
    Terminal(TerminalEvent),
    Chat(Update),
    Store(StoreReply),
    /// What the person's own editor made of the input, or why it could not.
    Written(Result<String, String>),
    /// Ten times a second while something moves.
    Tick,
}

/// What the loop does for the screen.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    Chat(Command),
    Store(StoreRequest),
    /// To the clipboard (OSC 52).
    Copy(String),
    /// Says so to somebody who looks elsewhere.
    Notify(String),
    Suspend,
    /// Opens the person's own editor with this text.
    WriteOutside(String),
    Quit(u8),
}

/// What greets somebody who comes back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Greeting {
    /// The person's name, if it is known.
    pub name: Option<String>,
    /// The chats that were last gone on with, newest first: their titles, and when that was.
    pub chats: Vec<(SessionId, String, Moment)>,
    /// The newest facts, as they are said to the person.
    pub facts: Vec<String>,
    /// How much was learnt from the newest import, and its name, until the person has looked at it.
    pub learned: Option<(usize, String)>,
}

/// Work on the store that is not part of a turn; done on the store's own thread.
#[derive(Debug, Clone, PartialEq)]
pub enum StoreRequest {
    Greeting,
    /// For the memory's page, or with what was learnt from imports.
    Tree {
        learned: bool,
    },
    Messages(EpisodeId),
    Sessions,
    /// Messages in all chats that hold these words.
    Find(String),
    Rename {
        session: SessionId,
        title: String,
    },
    Pin {
        session: SessionId,
        pinned: bool,
    },
    /// With all that was learnt from them.
    DeleteChats(Vec<SessionId>),
    /// A message, before it is sent: with the text of the files that it names.
    Attach(String),
    /// A word of the input that names a file.
    CompletePath(String),
    /// The palette that was chosen, by its name.
    Look(String),
    Models,
    /// One, or all.
    Roles(Option<String>),
    /// The person's own.
    Prompts,
    /// The person's own messages, for Ctrl+R and the arrow keys.
    History,
    Why(MessageId),
    /// What was said, of which an answer's memories were made.
    Grounds {
        reply: MessageId,
        of: Vec<AnyId>,
    },
    /// What all answers of a chat rest on.
    Whys(SessionId),
    PlanForget {
        ids: Vec<AnyId>,
        matching: Option<String>,
    },
    /// What a sentence means; with the sentence.
    PlanForgetAbout {
        what: String,
        text: String,
    },
    /// Everything that came from the same file as this.
    PlanForgetFile(AnyId),
    Forget(Box<ForgetPlan>),
    /// The person has looked at the memory's page.
    VisitPage,
    PinFact {
        fact: SemanticId,
        pinned: bool,
    },
    /// What was learnt from imports is on the screen.
    SeeLearned,
    /// Facts that need not be looked at again.
    KeepLearned(Vec<SemanticId>),
    /// The facts alone go; what they come from stays.
    Strike(Vec<SemanticId>),
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

/// The memory as the screen shows it. Messages are read when an episode is opened.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tree {
    pub themes: Vec<ThemeRow>,
    pub episodes: Vec<Episode>,
    pub n_messages: usize,
    /// Episodes that no fact came from.
    pub without_facts: Vec<EpisodeId>,
    /// For the page.
    pub known: Knowledge,
    /// What was learnt from imports, where that is looked through.
    pub learned: Vec<Learned>,
}

/// One theme of the tree.
#[derive(Debug, Clone, PartialEq)]
pub struct ThemeRow {
    pub id: ThemeId,
    pub name: String,
    pub facts: Vec<Semantic>,
}

/// What may go instead: less.
#[derive(Debug, Clone, PartialEq)]
pub struct OtherPlan {
    /// "only the fact".
    pub what: &'static str,
    pub plan: ForgetPlan,
}

/// What the store's thread replies.
#[derive(Debug, Clone, PartialEq)]
pub enum StoreReply {
    Tree(Tree),
    Messages {
        episode: EpisodeId,
        messages: Vec<Message>,
    },
    Greeting(Greeting),
    Sessions(Vec<Session>),
    Found {
        query: String,
        found: Vec<Found>,
    },
    /// A message as it is to be sent; or why it can't be, and the message.
    Attached(Result<String, (String, String)>),
    CompletedPath {
        word: String,
        completed: String,
        names: Vec<String>,
    },
    /// Nothing to say about it.
    Done,
    Models {
        installed: Vec<ModelSummary>,
        pullable: Vec<PullableModel>,
    },
    Roles {
        roles: Vec<Persona>,
        /// Those that can't be used, and why.
        unusable: Vec<(String, String)>,
    },
    Prompts {
        prompts: Vec<Template>,
        /// Those that can't be used, and why.
        unusable: Vec<(String, String)>,
    },
    /// One role, or why it can't be had.
    Role(Result<Persona, String>),
    History(Vec<String>),
    Why {
        message: MessageId,
        record: Option<Value>,
    },
    Grounds {
        reply: MessageId,
        said: Vec<Message>,
    },
    Whys(HashMap<MessageId, Recorded>),
    /// `lines` say what would be deleted.
    ForgetPlan {
        plan: ForgetPlan,
        lines: Vec<String>,
        other: Option<Box<OtherPlan>>,
    },
    /// Nothing is known of what a sentence asks to forget.
    NothingAbout {
        what: String,
        text: String,
    },
    /// What is gone. Whatever else was affected is rewritten from what stays.
    Forgotten {
        n_messages: usize,
        n_facts: usize,
        /// Messages that stay without some words.
        n_blotted: usize,
    },
    Edited,
    /// What was undone; `None` if there was nothing.
    Undone(Option<String>),
    Exported(PathBuf),
    Failed {
        what: &'static str,
        error: String,
    },
}
