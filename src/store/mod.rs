//! The memory on disk: SQLite with FTS5 and sqlite-vec.
//!
//! One file (`memory.db`), one writing process (a lock file beside it), every write a
//! `BEGIN IMMEDIATE` transaction. rusqlite types stop here; outward it speaks `memory` types.
//! It knows nothing of models: vectors and judgements are handed to it.

use std::path::Path;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::memory::{
    Embedding, Episode, EpisodeId, Message, MessageId, Moment, Role, Semantic, SemanticId,
    SessionId, Theme, ThemeId,
};

/// What can go wrong with the memory on disk.
#[derive(Debug, Error)]
pub enum StoreError {
    /// Exit code 11.
    #[error("another inglenook (process {pid}) is using the memory in {path}")]
    Locked { path: String, pid: String },
    #[error("cannot write to the data directory {path}")]
    Unwritable {
        path: String,
        #[source]
        source: std::io::Error,
    },
    #[error("the memory file {path} is damaged: {detail}")]
    Corrupt { path: String, detail: String },
    #[error(
        "the memory file {path} was written by a newer inglenook (schema {found}, this one knows {known})"
    )]
    Newer { path: String, found: usize, known: usize },
    #[error("there is no {what} with the id {id}")]
    NotFound { what: &'static str, id: String },
    #[error("{what}")]
    Invalid { what: String },
    #[error("the memory was built with the embedding model {found}; this one is {expected}")]
    EmbedderChanged { found: String, expected: String },
    #[error("cannot {action} the memory")]
    Sqlite {
        action: &'static str,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

type Result<T> = std::result::Result<T, StoreError>;

/// The open memory. Clones share it; safe from any thread.
#[derive(Clone)]
pub struct Store;

/// Reads, in one consistent snapshot.
pub struct Reader<'a>(std::marker::PhantomData<&'a ()>);

/// A write transaction: commits when the closure returns `Ok`, leaves no trace otherwise. Reads see
/// its own writes (it derefs to [`Reader`]).
pub struct WriteTx<'a>(Reader<'a>);

impl<'a> std::ops::Deref for WriteTx<'a> {
    type Target = Reader<'a>;
    fn deref(&self) -> &Reader<'a> {
        &self.0
    }
}

/// One sitting, for lists.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    pub id: SessionId,
    /// From its first user message, or the import.
    pub title: String,
    pub created_at: Moment,
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
    /// Close the session's open episode (chat left, import done).
    Close { session: SessionId },
    /// Write the semantics of an episode, attach them to themes.
    Semantics { episode: EpisodeId },
    /// Name a theme whose members changed.
    NameTheme { theme: ThemeId },
    /// Judge a semantic against its update queue.
    Consolidate { semantic: SemanticId },
    /// Embed again what has no vector of the present embedder.
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

/// `memory stats --json`: these names are a contract.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct MemoryStats {
    pub messages: usize,
    pub episodes: usize,
    pub semantics: usize,
    pub superseded: usize,
    pub themes: usize,
    pub largest_theme: usize,
    pub edges: usize,
    pub jobs_pending: usize,
    pub jobs_failed: usize,
    /// Share of semantics that were moved to another theme after they were first attached.
    pub reassignment_ratio: f64,
}

/// What `forget` would take.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ForgetPlan {
    /// These go, verbatim text and vectors.
    pub messages: Vec<MessageId>,
    /// Derived from them: these go too. (An episode that keeps other messages is rewritten: it
    /// comes back as a `Close`-like job over the messages that stay.)
    pub episodes: Vec<EpisodeId>,
    pub semantics: Vec<SemanticId>,
    /// Sessions left without messages.
    pub sessions: Vec<SessionId>,
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

impl Store {
    /// Opens (or creates, 0700/0600) the memory in `data_dir` for writing and takes the lock.
    /// Jobs that were running when the last process died are pending again.
    ///
    /// # Errors
    /// [`StoreError::Locked`] beside another writer, [`StoreError::Corrupt`], [`StoreError::Newer`],
    /// [`StoreError::Unwritable`].
    pub fn open(data_dir: &Path) -> Result<Self> {
        todo!("{data_dir:?}")
    }

    /// Opens for reading only, also beside a writer. A memory that does not exist yet reads as empty.
    pub fn open_read_only(data_dir: &Path) -> Result<Self> {
        todo!("{data_dir:?}")
    }

    /// A private memory that is gone with the value: tests and `/incognito`.
    pub fn in_memory() -> Result<Self> {
        todo!()
    }

    pub fn read<T>(&self, f: impl FnOnce(&Reader<'_>) -> Result<T>) -> Result<T> {
        let _ = f;
        todo!()
    }

    /// One `BEGIN IMMEDIATE` transaction, durable (`synchronous=FULL`) when this returns.
    pub fn write<T>(&self, f: impl FnOnce(&mut WriteTx<'_>) -> Result<T>) -> Result<T> {
        let _ = f;
        todo!()
    }

    /// Changes whenever anything was written by this process: caches compare it.
    #[must_use]
    pub fn generation(&self) -> u64 {
        todo!()
    }

    /// Truncates the WAL and vacuums what forgetting freed: afterwards no forgotten byte is in any
    /// file.
    pub fn scrub(&self) -> Result<()> {
        todo!()
    }
}

#[expect(unused_variables, clippy::todo, reason = "skeleton")]
impl Reader<'_> {
    // — sessions and messages —
    pub fn sessions(&self) -> Result<Vec<Session>> {
        todo!()
    }
    pub fn session(&self, id: SessionId) -> Result<Session> {
        todo!()
    }
    /// All messages of a session, oldest first.
    pub fn messages(&self, session: SessionId) -> Result<Vec<Message>> {
        todo!()
    }
    /// In the order asked for; unknown ids are an error.
    pub fn messages_by_id(&self, ids: &[MessageId]) -> Result<Vec<Message>> {
        todo!()
    }
    /// The session's messages that are in no episode yet, oldest first (complete ones and stopped ones).
    pub fn open_messages(&self, session: SessionId) -> Result<Vec<Message>> {
        todo!()
    }

    // — the hierarchy —
    pub fn episodes(&self) -> Result<Vec<Episode>> {
        todo!()
    }
    pub fn episodes_by_id(&self, ids: &[EpisodeId]) -> Result<Vec<Episode>> {
        todo!()
    }
    pub fn semantics(&self) -> Result<Vec<Semantic>> {
        todo!()
    }
    pub fn semantics_by_id(&self, ids: &[SemanticId]) -> Result<Vec<Semantic>> {
        todo!()
    }
    /// The semantics written from an episode.
    pub fn semantics_of_episode(&self, id: EpisodeId) -> Result<Vec<SemanticId>> {
        todo!()
    }
    pub fn themes(&self) -> Result<Vec<Theme>> {
        todo!()
    }
    pub fn themes_by_id(&self, ids: &[ThemeId]) -> Result<Vec<Theme>> {
        todo!()
    }
    /// The next id that `create_theme` would give: the pure core numbers new themes from here.
    pub fn next_theme_id(&self) -> Result<ThemeId> {
        todo!()
    }
    /// The id that the next `insert_semantic` will give.
    pub fn next_semantic_id(&self) -> Result<SemanticId> {
        todo!()
    }

    // — vectors —
    /// Identity of the embedder whose vectors are stored; `None` before the first.
    pub fn embedder_id(&self) -> Result<Option<String>> {
        todo!()
    }
    /// All vectors of a level (raw ids), for the worker's and recall's caches.
    pub fn embeddings(&self, level: Level) -> Result<Vec<(i64, Embedding)>> {
        todo!()
    }
    pub fn embedding(&self, level: Level, id: i64) -> Result<Option<Embedding>> {
        todo!()
    }
    /// Exact nearest by cosine, best first (sqlite-vec). `(raw id, cosine)`.
    pub fn nearest(&self, level: Level, query: &Embedding, k: usize) -> Result<Vec<(i64, f32)>> {
        todo!()
    }
    /// Units of a level without a vector, oldest first.
    pub fn without_embedding(&self, level: Level, limit: usize) -> Result<Vec<(i64, String)>> {
        todo!()
    }

    // — full text —
    /// FTS5 BM25, best first; score > 0, greater is better. `query` is any text: it is tokenised
    /// and quoted, never parsed as FTS5 syntax.
    pub fn full_text(&self, level: Level, query: &str, k: usize) -> Result<Vec<(i64, f32)>> {
        todo!()
    }

    // — the kNN graph (theme–theme and semantic–semantic edges, symmetric, weight = cosine) —
    pub fn edges(&self, level: Level) -> Result<Vec<(i64, i64, f32)>> {
        todo!()
    }

    // — jobs —
    /// The next pending job: oldest first, `Consolidate` and `NameTheme` after all others.
    pub fn next_job(&self) -> Result<Option<Job>> {
        todo!()
    }
    pub fn failed_jobs(&self) -> Result<Vec<(Job, String)>> {
        todo!()
    }

    // — answers —
    /// The evidence record (JSON) of an assistant message.
    pub fn answer_record(&self, reply: MessageId) -> Result<Option<serde_json::Value>> {
        todo!()
    }

    // — the rest —
    pub fn stats(&self) -> Result<MemoryStats> {
        todo!()
    }
    /// Every broken invariant; empty is good. Includes `PRAGMA integrity_check` and foreign keys.
    pub fn verify(&self) -> Result<Vec<Violation>> {
        todo!()
    }
    /// What forgetting these (or, with `matching`, every message and fact containing that text,
    /// ignoring case) would take: themes and semantics reach their messages, messages what was
    /// derived from them.
    pub fn plan_forget(&self, ids: &[AnyId], matching: Option<&str>) -> Result<ForgetPlan> {
        todo!()
    }
    pub fn setting(&self, key: &str) -> Result<Option<String>> {
        todo!()
    }
}

#[expect(unused_variables, clippy::todo, reason = "skeleton")]
impl WriteTx<'_> {
    // — sessions and messages —
    pub fn create_session(&mut self, title: &str, at: Moment, imported: bool) -> Result<SessionId> {
        todo!()
    }
    pub fn rename_session(&mut self, id: SessionId, title: &str) -> Result<()> {
        todo!()
    }
    pub fn append_message(&mut self, message: NewMessage) -> Result<MessageId> {
        todo!()
    }
    /// Sets the text of a reply that was begun with `complete: false`.
    pub fn finish_message(&mut self, id: MessageId, content: &str, complete: bool) -> Result<()> {
        todo!()
    }

    // — the hierarchy; a fact and its theme go in together, so that conservation always holds —
    pub fn insert_episode(&mut self, episode: NewEpisode) -> Result<EpisodeId> {
        todo!()
    }
    /// `theme` may be one that was made in this transaction.
    pub fn insert_semantic(
        &mut self,
        semantic: NewSemantic,
        theme: ThemeId,
        embedding: &Embedding,
    ) -> Result<SemanticId> {
        todo!()
    }
    pub fn create_theme(&mut self, name: &str) -> Result<ThemeId> {
        todo!()
    }
    pub fn rename_theme(&mut self, id: ThemeId, name: &str) -> Result<()> {
        todo!()
    }
    /// Moves a semantic (split, merge, reassign); themes left empty are removed at commit.
    pub fn move_semantic(&mut self, id: SemanticId, to: ThemeId) -> Result<()> {
        todo!()
    }
    /// Consolidation: `earlier` keeps its row. Recorded for undo.
    pub fn supersede(&mut self, earlier: SemanticId, later: SemanticId, at: Moment) -> Result<()> {
        todo!()
    }
    /// The person's correction. Recorded for undo.
    pub fn edit_semantic(
        &mut self,
        id: SemanticId,
        content: &str,
        embedding: &Embedding,
    ) -> Result<()> {
        todo!()
    }
    pub fn edit_episode(&mut self, id: EpisodeId, title: &str, content: &str) -> Result<()> {
        todo!()
    }
    /// Replaces all edges that touch `id` at this level by these (both directions are stored).
    pub fn replace_edges(
        &mut self,
        level: Level,
        id: i64,
        neighbours: &[(i64, f32)],
    ) -> Result<()> {
        todo!()
    }

    // — vectors —
    pub fn put_embedding(&mut self, level: Level, id: i64, embedding: &Embedding) -> Result<()> {
        todo!()
    }
    /// Sets the embedder; if it is another one, all vectors go and a `Reembed` job is queued.
    pub fn use_embedder(&mut self, id: &str, dimensions: usize) -> Result<()> {
        todo!()
    }

    // — jobs —
    /// Queues it unless an equal one is pending.
    pub fn enqueue(&mut self, kind: &JobKind) -> Result<()> {
        todo!()
    }
    /// Marks it begun (attempts + 1); stays in the table, pending again after a crash.
    pub fn begin_job(&mut self, id: i64) -> Result<()> {
        todo!()
    }
    /// In the step's own transaction.
    pub fn finish_job(&mut self, id: i64) -> Result<()> {
        todo!()
    }
    /// Pending again, or failed for good after `attempts_max`.
    pub fn fail_job(&mut self, id: i64, error: &str, attempts_max: u32) -> Result<()> {
        todo!()
    }
    /// All failed jobs are pending again.
    pub fn retry_failed(&mut self) -> Result<usize> {
        todo!()
    }

    // — answers, forgetting, undo —
    pub fn record_answer(&mut self, reply: MessageId, record: &serde_json::Value) -> Result<()> {
        todo!()
    }
    /// Removes everything in the plan from every table, index, vector, answer record, job and the
    /// undo log; queues the rewriting of what stays. Call [`Store::scrub`] after the commit.
    pub fn forget(&mut self, plan: &ForgetPlan) -> Result<()> {
        todo!()
    }
    /// Undoes the newest recorded operation (edit, supersede, rename, move by hand); at most the
    /// last 100 are kept. Forgetting can't be undone.
    pub fn undo(&mut self) -> Result<Option<Undone>> {
        todo!()
    }
    pub fn set_setting(&mut self, key: &str, value: &str) -> Result<()> {
        todo!()
    }
}
