//! The store's own plain types; the units themselves are `memory`'s.

use std::collections::{BTreeSet, HashSet};

use serde::{Deserialize, Serialize};

use crate::memory::{EpisodeId, MessageId, Moment, SemanticId, SessionId, ThemeId};

/// A chat or an imported conversation, without its messages.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// Shown as `c3`.
    pub id: SessionId,
    /// From its first user message, or the import.
    pub title: String,
    /// When it was begun.
    pub created_at: Moment,
    /// When its newest message was written.
    pub updated_at: Moment,
    /// All of its messages.
    pub n_messages: usize,
    /// Imported, not chatted.
    pub imported: bool,
    /// The name of the file that it was imported from, where that is known, or of the program that wrote it.
    pub source: Option<String>,
    /// Another program wrote it: see `Origin::Agent`.
    pub agent: bool,
    /// Stands first in lists.
    pub pinned: bool,
    /// The chat that it goes on from.
    pub parent: Option<SessionId>,
}

/// A semantic to insert, together with the theme it goes to.
#[derive(Debug, Clone)]
pub struct NewSemantic {
    /// The fact, in one line.
    pub content: String,
    /// Whom or what it is about.
    pub subject: Option<String>,
    /// Which attribute of the subject it states.
    pub attribute: Option<String>,
    /// When it was stated.
    pub created_at: Moment,
    /// The messages it comes from, at least one, each in an episode: these are the fact's episodes.
    pub messages: Vec<MessageId>,
}

/// What a job does; the worker's steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobKind {
    /// Decide whether an episode of this session ends before its newest messages.
    Boundary(SessionId),
    /// Close the session's open episode (chat left, import done), or, after forgetting, its open
    /// runs: see [`Reader::open_runs`](super::Reader::open_runs).
    Close(SessionId),
    /// Write the semantics of an episode, attach them to themes. An episode may have semantics
    /// already (one of them was forgotten): only those that it lacks are to be added.
    Semantics(EpisodeId),
    /// Name a theme whose members changed.
    NameTheme(ThemeId),
    /// Judge a semantic against its update queue.
    Consolidate(SemanticId),
    /// Embed what has no vector of the present embedder, and bring edges and centroids in line.
    Reembed,
}

/// A queued step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The row's id.
    pub id: i64,
    /// What it does.
    pub kind: JobKind,
    /// How many times it was begun.
    pub attempts: u32,
}

/// The four kinds of units, each with vectors and a full-text index of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// Verbatim.
    Message,
    /// A run of messages, retold.
    Episode,
    /// A fact.
    Semantic,
    /// Related facts.
    Theme,
}

impl Level {
    /// From the bottom up.
    pub const ALL: [Self; 4] = [Self::Message, Self::Episode, Self::Semantic, Self::Theme];

    /// The id of a unit of this level.
    pub(super) fn id(self, id: i64) -> AnyId {
        match self {
            Self::Message => AnyId::Message(MessageId(id)),
            Self::Episode => AnyId::Episode(EpisodeId(id)),
            Self::Semantic => AnyId::Semantic(SemanticId(id)),
            Self::Theme => AnyId::Theme(ThemeId(id)),
        }
    }

    /// The unit's word, which is also its table's name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Episode => "episode",
            Self::Semantic => "semantic",
            Self::Theme => "theme",
        }
    }
}

/// `memory stats --json`: these names are a contract.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct MemoryStats {
    /// Level 1.
    pub messages: usize,
    /// Level 2.
    pub episodes: usize,
    /// Level 3, superseded ones too.
    pub semantics: usize,
    /// Facts that another has superseded.
    pub superseded: usize,
    /// Level 4.
    pub themes: usize,
    /// Members of the largest theme.
    pub largest_theme: usize,
    /// Undirected edges of both kNN graphs.
    pub edges: usize,
    /// Waiting or running.
    pub jobs_pending: usize,
    /// Given up after too many attempts.
    pub jobs_failed: usize,
    /// Share of semantics that were moved to another theme after they were first attached.
    pub reassignment_ratio: f64,
}

/// What `forget` would take.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ForgetPlan {
    /// The chats and messages that it starts from: what is said in them and replied to them until it is done goes too.
    pub seeds: Vec<AnyId>,
    /// These go, verbatim text and vectors: what was named, and the replies that quote it.
    pub messages: Vec<MessageId>,
    /// Derived from them: these go too. (An episode that keeps other messages is rewritten: it
    /// comes back as a `Close` job over the messages that stay.)
    pub episodes: Vec<EpisodeId>,
    /// Derived from them as well.
    pub semantics: Vec<SemanticId>,
    /// Sessions left without messages.
    pub sessions: Vec<SessionId>,
    /// Of `episodes`, those that keep other messages: written again without what goes, and their
    /// semantics with them.
    pub rewritten: Vec<EpisodeId>,
    /// Themes whose name may quote what goes: named again.
    pub themes: Vec<ThemeId>,
    /// Nothing that the person said or corrected goes but the text that was searched for.
    pub only_words: bool,
    /// These stay, without the text that was searched for.
    pub blotted: Vec<MessageId>,
    /// Of `semantics`, those that go alone: they are not made from their messages again.
    pub struck: Vec<SemanticId>,
    /// The text that was searched for, if it was a search.
    pub matching: Option<String>,
    /// Words that nobody says any more since another device took them out of a text: what else says one goes too.
    pub vanished: BTreeSet<String>,
    /// Titles of chats that hold that text, and are made anew; corrections, which lose it; entries of the undo log and what was
    /// struck out, which go.
    pub n_elsewhere: usize,
}

impl ForgetPlan {
    /// The units that go, and the themes to rename.
    pub(super) fn ids(&self) -> HashSet<AnyId> {
        let messages = self.messages.iter().copied().map(AnyId::Message);
        let episodes = self.episodes.iter().copied().map(AnyId::Episode);
        let semantics = self.semantics.iter().copied().map(AnyId::Semantic);
        let themes = self.themes.iter().copied().map(AnyId::Theme);
        messages.chain(episodes).chain(semantics).chain(themes).collect()
    }

    /// Whether there is nothing to forget.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
            && self.episodes.is_empty()
            && self.semantics.is_empty()
            && self.sessions.is_empty()
            && self.themes.is_empty()
            && self.blotted.is_empty()
            && self.vanished.is_empty()
            && self.n_elsewhere == 0
    }
}

/// An id that the person may name: `m12`, `e4`, `s31`, `t2`, `c3`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AnyId {
    /// `m12`.
    Message(MessageId),
    /// `e4`.
    Episode(EpisodeId),
    /// `s31`.
    Semantic(SemanticId),
    /// `t2`.
    Theme(ThemeId),
    /// `c3`.
    Session(SessionId),
}

impl std::str::FromStr for AnyId {
    type Err = super::StoreError;

    /// The displayed form only: a bare number would not say of what.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || {
            super::StoreError::invalid(format!("{text:?} is not an id (m12, e4, s31, t2 or c3)"))
        };
        let digits = text.get(1..).filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
        let id = digits.and_then(|digits| digits.parse().ok()).ok_or_else(unknown)?;
        match text.as_bytes()[0] {
            b'm' => Ok(Self::Message(MessageId(id))),
            b'e' => Ok(Self::Episode(EpisodeId(id))),
            b's' => Ok(Self::Semantic(SemanticId(id))),
            b't' => Ok(Self::Theme(ThemeId(id))),
            b'c' => Ok(Self::Session(SessionId(id))),
            _ => Err(unknown()),
        }
    }
}

impl std::fmt::Display for AnyId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Message(id) => id.fmt(f),
            Self::Episode(id) => id.fmt(f),
            Self::Semantic(id) => id.fmt(f),
            Self::Theme(id) => id.fmt(f),
            Self::Session(id) => id.fmt(f),
        }
    }
}
