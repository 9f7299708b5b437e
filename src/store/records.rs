//! The store's own plain types; the units themselves are `memory`'s.

use serde::{Deserialize, Serialize};

use crate::memory::{EpisodeId, MessageId, Moment, Role, SemanticId, SessionId, ThemeId};

/// One sitting, for lists.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    pub id: SessionId,
    /// From its first user message, or the import.
    pub title: String,
    pub created_at: Moment,
    /// When its newest message was written.
    pub updated_at: Moment,
    pub n_messages: usize,
    /// Imported, not chatted.
    pub imported: bool,
}

/// A message to append.
#[derive(Debug, Clone)]
pub struct NewMessage {
    pub session: SessionId,
    pub role: Role,
    pub speaker: Option<String>,
    pub content: String,
    pub created_at: Moment,
    pub external_id: Option<String>,
    pub complete: bool,
}

/// An episode to insert. Its messages must be a contiguous run of one session's, in no episode yet.
#[derive(Debug, Clone)]
pub struct NewEpisode {
    pub session: SessionId,
    pub title: String,
    pub content: String,
    pub messages: Vec<MessageId>,
}

/// A semantic to insert, together with the theme it goes to.
#[derive(Debug, Clone)]
pub struct NewSemantic {
    pub content: String,
    pub subject: Option<String>,
    pub attribute: Option<String>,
    pub created_at: Moment,
    pub episodes: Vec<EpisodeId>,
    pub messages: Vec<MessageId>,
}

/// What a job does; the worker's steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum JobKind {
    /// Decide whether an episode of this session ends before its newest messages.
    Boundary { session: SessionId },
    /// Close the session's open episode (chat left, import done), or, after forgetting, its open
    /// runs: see [`Reader::open_runs`](super::Reader::open_runs).
    Close { session: SessionId },
    /// Write the semantics of an episode, attach them to themes. An episode may have semantics
    /// already (one of them was forgotten): only those that it lacks are to be added.
    Semantics { episode: EpisodeId },
    /// Name a theme whose members changed.
    NameTheme { theme: ThemeId },
    /// Judge a semantic against its update queue.
    Consolidate { semantic: SemanticId },
    /// Embed what has no vector of the present embedder, and bring edges and centroids in line.
    Reembed,
}

/// A queued step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    pub id: i64,
    pub kind: JobKind,
    /// Times it was begun before.
    pub attempts: u32,
}

/// Which unit a vector or a full-text row belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    Message,
    Episode,
    Semantic,
    Theme,
}

impl Level {
    pub const ALL: [Self; 4] = [Self::Message, Self::Episode, Self::Semantic, Self::Theme];

    /// `m12`, `e4`, `s31`, `t2`.
    #[must_use]
    pub fn display_id(self, id: i64) -> String {
        match self {
            Self::Message => MessageId(id).to_string(),
            Self::Episode => EpisodeId(id).to_string(),
            Self::Semantic => SemanticId(id).to_string(),
            Self::Theme => ThemeId(id).to_string(),
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
    pub messages: usize,
    pub episodes: usize,
    pub semantics: usize,
    pub superseded: usize,
    pub themes: usize,
    pub largest_theme: usize,
    /// Undirected edges of both kNN graphs.
    pub edges: usize,
    /// Waiting or running.
    pub jobs_pending: usize,
    pub jobs_failed: usize,
    /// Share of semantics that were moved to another theme after they were first attached.
    pub reassignment_ratio: f64,
}

/// How many units there are: cheaper than [`MemoryStats`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    pub sessions: usize,
    pub messages: usize,
    pub episodes: usize,
    pub semantics: usize,
    pub themes: usize,
}

/// What `forget` would take.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ForgetPlan {
    /// These go, verbatim text and vectors: what was named, and the replies that quote it.
    pub messages: Vec<MessageId>,
    /// Derived from them: these go too. (An episode that keeps other messages is rewritten: it
    /// comes back as a `Close` job over the messages that stay.)
    pub episodes: Vec<EpisodeId>,
    pub semantics: Vec<SemanticId>,
    /// Sessions left without messages.
    pub sessions: Vec<SessionId>,
    /// Of `episodes`, those that keep other messages: written again without what goes, and their
    /// semantics with them.
    pub rewritten: Vec<EpisodeId>,
    /// Themes whose name may quote what goes: named again.
    pub themes: Vec<ThemeId>,
    /// The text that was searched for, if it was a search.
    pub matching: Option<String>,
}

impl ForgetPlan {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
            && self.episodes.is_empty()
            && self.semantics.is_empty()
            && self.sessions.is_empty()
            && self.themes.is_empty()
    }
}

/// An id that the person may name: `m12`, `e4`, `s31`, `t2`, `c3`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnyId {
    Message(MessageId),
    Episode(EpisodeId),
    Semantic(SemanticId),
    Theme(ThemeId),
    Session(SessionId),
}

impl std::str::FromStr for AnyId {
    type Err = super::StoreError;

    /// The displayed form only: a bare number would not say of what.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || super::StoreError::Invalid {
            what: format!("{text:?} is not an id (m12, e4, s31, t2 or c3)"),
        };
        let mut chars = text.chars();
        let prefix = chars.next().ok_or_else(unknown)?;
        let digits = chars.as_str();
        if !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(unknown());
        }
        let id = digits.parse().map_err(|_| unknown())?;
        match prefix {
            'm' => Ok(Self::Message(MessageId(id))),
            'e' => Ok(Self::Episode(EpisodeId(id))),
            's' => Ok(Self::Semantic(SemanticId(id))),
            't' => Ok(Self::Theme(ThemeId(id))),
            'c' => Ok(Self::Session(SessionId(id))),
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

/// A broken invariant, as `memory verify` reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub what: String,
}

/// The newest memory operation, undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undone {
    /// "edit of s12", "s9 superseded by s31", …
    pub what: String,
}
