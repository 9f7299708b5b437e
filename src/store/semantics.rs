//! Semantics (level 3) and their provenance.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Row;

use super::error::{Result, StoreError};
use super::records::{JobKind, Level, NewSemantic};
use super::sessions::{columns, moment};
use super::transaction::{Reader, WANTED, WriteTx, in_order, optional_text, text};
use super::undo::{Inverse, Superseded};
use crate::memory::{Embedding, EpisodeId, MessageId, Moment, Semantic, SemanticId, ThemeId};

const SEMANTIC: &str = "SELECT id, content, subject, attribute, theme, created_ms, created_offset, \
                        superseded_by, superseded_ms, superseded_offset FROM semantic";

fn semantic(row: &Row<'_>) -> rusqlite::Result<Semantic> {
    let superseded_by = row.get::<_, Option<i64>>(7)?.map(SemanticId);
    Ok(Semantic {
        id: SemanticId(row.get(0)?),
        content: text(row, 1)?,
        subject: optional_text(row, 2)?,
        attribute: optional_text(row, 3)?,
        theme: ThemeId(row.get(4)?),
        created_at: moment(row, 5)?,
        superseded_by,
        superseded_at: superseded_by.map(|_| moment(row, 8)).transpose()?,
        episodes: Vec::new(),
        messages: Vec::new(),
    })
}

impl Reader<'_> {
    /// All semantics, superseded ones too, by id.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn semantics(&self) -> Result<Vec<Semantic>> {
        let ids = self.all("SELECT id FROM semantic", [], |row| row.get(0).map(SemanticId))?;
        Ok(self.find_semantics(ids)?.into_values().collect())
    }

    /// The texts of the newest semantics that hold and were said here, newest first.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn newest_facts(&self, n: usize) -> Result<Vec<String>> {
        self.all(
            "SELECT content FROM semantic s WHERE superseded_by IS NULL AND EXISTS
                (SELECT 1 FROM semantic_message p JOIN message m ON m.id = p.message
                 JOIN session c ON c.id = m.session WHERE p.semantic = s.id AND NOT c.imported)
             ORDER BY id DESC LIMIT ?1",
            [i64::try_from(n).unwrap_or(i64::MAX)],
            |row| text(row, 0),
        )
    }

    /// The newest semantics that hold, by when they were stated, newest first.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn newest_semantics(&self, n: usize) -> Result<Vec<SemanticId>> {
        self.all(
            "SELECT id FROM semantic WHERE superseded_by IS NULL ORDER BY created_ms DESC, id DESC LIMIT ?1",
            [i64::try_from(n).unwrap_or(i64::MAX)],
            |row| row.get(0).map(SemanticId),
        )
    }

    /// The semantics whose place this one took.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn predecessors(&self, id: SemanticId) -> Result<Vec<SemanticId>> {
        let sql = "SELECT id FROM semantic WHERE superseded_by = ?1 ORDER BY id";
        self.all(sql, [id.0], |row| row.get(0).map(SemanticId))
    }

    /// The semantics with these ids, in the order asked for.
    ///
    /// # Errors
    /// If one of them does not exist, or the memory cannot be read.
    pub fn semantics_by_id(&self, ids: &[SemanticId]) -> Result<Vec<Semantic>> {
        in_order("fact", ids, &self.find_semantics(ids.iter().copied())?)
    }

    fn find_semantics(
        &self,
        ids: impl IntoIterator<Item = SemanticId>,
    ) -> Result<BTreeMap<SemanticId, Semantic>> {
        let mut found = self.find_semantics_and_messages(ids)?;
        for (id, episode) in self.sources("episode", &found)? {
            found.entry(id).and_modify(|unit| unit.episodes.push(EpisodeId(episode)));
        }
        Ok(found)
    }

    /// The semantics with these ids, as far as they exist, without their episodes: those of the
    /// messages, which would take as long again to find.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn find_semantics_and_messages(
        &self,
        ids: impl IntoIterator<Item = SemanticId>,
    ) -> Result<BTreeMap<SemanticId, Semantic>> {
        let ids = ids.into_iter().map(|id| id.0);
        let mut found = self.units(SEMANTIC, ids, semantic, |unit| unit.id)?;
        for (id, message) in self.sources("message", &found)? {
            found.entry(id).and_modify(|unit| unit.messages.push(MessageId(message)));
        }
        Ok(found)
    }

    /// The raw ids of the messages or the episodes that facts are from, in order.
    fn sources(
        &self,
        level: &str,
        of: &BTreeMap<SemanticId, Semantic>,
    ) -> Result<Vec<(SemanticId, i64)>> {
        let sql = format!(
            "SELECT semantic, {level} FROM semantic_{level} JOIN {WANTED} ON semantic = wanted"
        );
        let pair = |row: &Row<'_>| Ok((SemanticId(row.get(0)?), row.get(1)?));
        let mut pairs = self.of_ids(&sql, of.keys().map(|id| id.0), pair)?;
        pairs.sort_unstable();
        Ok(pairs)
    }

    /// The semantics written from an episode.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn semantics_of_episode(&self, id: EpisodeId) -> Result<Vec<SemanticId>> {
        self.all(
            "SELECT semantic FROM semantic_episode WHERE episode = ?1 ORDER BY semantic",
            [id.0],
            |row| row.get(0).map(SemanticId),
        )
    }

    /// The semantics that name one of these messages as a source.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn semantics_of_messages(
        &self,
        ids: impl IntoIterator<Item = MessageId>,
    ) -> Result<BTreeSet<SemanticId>> {
        let sql =
            format!("SELECT semantic FROM semantic_message JOIN {WANTED} ON message = wanted");
        let ids = ids.into_iter().map(|id| id.0);
        let found = self.of_ids(&sql, ids, |row| row.get(0).map(SemanticId))?;
        Ok(found.into_iter().collect())
    }

    /// The source messages of these semantics, each once, oldest first.
    pub(super) fn evidence_messages(
        &self,
        ids: impl IntoIterator<Item = SemanticId>,
    ) -> Result<Vec<MessageId>> {
        let sql = format!(
            "SELECT DISTINCT message FROM semantic_message JOIN {WANTED} ON semantic = wanted
             ORDER BY message"
        );
        self.of_ids(&sql, ids.into_iter().map(|id| id.0), |row| row.get(0).map(MessageId))
    }

    /// The id that the next `insert_semantic` will give.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn next_semantic_id(&self) -> Result<SemanticId> {
        Ok(SemanticId(self.last_id("semantic")? + 1))
    }

    pub(super) fn semantic(&self, id: SemanticId) -> Result<Semantic> {
        self.optional(&format!("{SEMANTIC} WHERE id = ?1"), [id.0], semantic)?
            .ok_or_else(|| StoreError::not_found("fact", id))
    }

    /// Whether following `superseded_by` from `from` arrives at `to`.
    pub(super) fn supersession_reaches(&self, from: SemanticId, to: SemanticId) -> Result<bool> {
        let found = self.optional(
            "WITH RECURSIVE chain (id) AS (
                SELECT ?1
                UNION
                SELECT superseded_by FROM semantic, chain
                WHERE semantic.id = chain.id AND superseded_by IS NOT NULL
             ) SELECT 1 FROM chain WHERE id = ?2",
            [from.0, to.0],
            |_| Ok(()),
        )?;
        Ok(found.is_some())
    }
}

impl WriteTx<'_> {
    /// Inserts a fact with its theme and its vector, so that conservation (invariant 2) always holds.
    /// `theme` may be one that was made in this transaction.
    ///
    /// # Errors
    /// If the theme or a message does not exist, there are no messages, one of them is in no episode, the
    /// vector is not of the embedder's length, or the memory cannot be written.
    pub fn insert_semantic(
        &mut self,
        semantic: NewSemantic,
        theme: ThemeId,
        embedding: &Embedding,
    ) -> Result<SemanticId> {
        self.theme_exists(theme)?;
        if semantic.messages.is_empty() {
            return Err(StoreError::invalid("a fact needs the messages it came from"));
        }
        let mut episodes = BTreeSet::new();
        for message in self.messages_by_id(&semantic.messages)? {
            let missing = || StoreError::not_found("episode of the message", message.id);
            episodes.insert(message.episode.ok_or_else(missing)?);
        }
        let (ms, offset) = columns(&semantic.created_at);
        let id = self.insert(
            "INSERT INTO semantic (content, subject, attribute, theme, created_ms, created_offset)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            rusqlite::params![
                semantic.content,
                semantic.subject,
                semantic.attribute,
                theme.0,
                ms,
                offset
            ],
        )?;
        for episode in episodes {
            self.run("INSERT INTO semantic_episode VALUES (?1, ?2)", [id, episode.0])?;
        }
        for message in BTreeSet::from_iter(semantic.messages) {
            self.run("INSERT INTO semantic_message VALUES (?1, ?2)", [id, message.0])?;
        }
        self.run("INSERT INTO theme_history VALUES (?1, ?2)", [id, theme.0])?;
        self.put_embedding(Level::Semantic, id, embedding)?;
        self.pin_again(SemanticId(id), &semantic.content)?;
        Ok(SemanticId(id))
    }

    /// Moves a semantic to another theme (split, merge, reassign); themes left empty are removed at commit.
    ///
    /// # Errors
    /// If there is no such semantic or theme, or the memory cannot be written.
    pub fn move_semantic(&mut self, id: SemanticId, to: ThemeId) -> Result<()> {
        self.theme_exists(to)?;
        if self.semantic(id)?.theme == to {
            return Ok(());
        }
        self.touch_themes()?;
        self.run("UPDATE semantic SET theme = ?2, moves = moves + 1 WHERE id = ?1", [id.0, to.0])?;
        self.run("INSERT OR IGNORE INTO theme_history VALUES (?1, ?2)", [id.0, to.0])?;
        Ok(())
    }

    /// Consolidation: `later` supersedes `earlier`, which keeps its row, at `at`; `rest` says what stays true
    /// of `earlier`. One operation for undo, which takes `rest` away again.
    ///
    /// # Errors
    /// If one does not exist, `later` is superseded, directly or not, by `earlier`, or the memory cannot be written.
    pub fn supersede(
        &mut self,
        earlier: SemanticId,
        later: SemanticId,
        rest: Option<SemanticId>,
        at: Moment,
    ) -> Result<()> {
        let before = self.semantic(earlier)?;
        self.semantic(later)?;
        if self.supersession_reaches(later, earlier)? {
            return Err(StoreError::invalid(format!(
                "{earlier} cannot be superseded by {later}, which it supersedes"
            )));
        }
        self.record(
            &format!("{earlier} superseded by {later}"),
            &Inverse::Supersede { earlier, later, before: Superseded::of(&before), rest },
        )?;
        self.hand_on_pin(earlier, later)?;
        self.set_superseded(earlier, Some((later, at)))
    }

    /// Consolidation: `joint` says what its parts say, and both give way to it at `at`. One operation for
    /// undo, which takes `joint` away again.
    ///
    /// # Errors
    /// If one does not exist, `joint` is superseded, directly or not, by a part, or the memory cannot be written.
    pub fn merge(&mut self, parts: [SemanticId; 2], joint: SemanticId, at: Moment) -> Result<()> {
        self.semantic(joint)?;
        let mut before = Vec::with_capacity(parts.len());
        for part in parts {
            before.push((part, Superseded::of(&self.semantic(part)?)));
            if self.supersession_reaches(joint, part)? {
                return Err(StoreError::invalid(format!(
                    "{part} cannot be merged into {joint}, which it supersedes"
                )));
            }
        }
        self.record(
            &format!("merge of {} and {} into {joint}", parts[0], parts[1]),
            &Inverse::Merge { joint, parts: before },
        )?;
        for part in parts {
            self.hand_on_pin(part, joint)?;
            self.set_superseded(part, Some((joint, at)))?;
        }
        Ok(())
    }

    pub(super) fn set_superseded(
        &mut self,
        id: SemanticId,
        by: Option<(SemanticId, Moment)>,
    ) -> Result<()> {
        let at = by.map(|(_, at)| columns(&at));
        self.run(
            "UPDATE semantic SET superseded_by = ?2, superseded_ms = ?3, superseded_offset = ?4
             WHERE id = ?1",
            rusqlite::params![id.0, by.map(|(later, _)| later.0), at.map(|a| a.0), at.map(|a| a.1)],
        )?;
        Ok(())
    }

    /// Replaces a fact's text and vector: the person's correction, recorded for undo.
    ///
    /// # Errors
    /// If it does not exist, the vector does not fit, or the memory cannot be written.
    pub fn edit_semantic(
        &mut self,
        id: SemanticId,
        content: &str,
        embedding: &Embedding,
    ) -> Result<()> {
        let before = self.semantic(id)?;
        let vector = self.embedding(Level::Semantic, id.0)?;
        let old = before.content.clone();
        let is_corrected = self.is_corrected(id)?;
        let mut behind = BTreeSet::new();
        for fact in self.find_semantics_and_messages([id])?.values() {
            behind = self.corrections_behind(fact)?;
        }
        self.record(
            &format!("edit of {id}"),
            &Inverse::EditSemantic {
                semantic: id,
                content: before.content,
                embedding: vector.map(Embedding::into_inner),
                embedder: self.embedder_id()?,
                // Of the person's own words, it is theirs.
                corrected: is_corrected || !behind.is_empty(),
                newest: Some(SemanticId(self.next_semantic_id()?.0 - 1)),
            },
        )?;
        self.refuse(id, &old)?;
        self.word_anew(id, None)?;
        self.take_place_of(&behind)?;
        self.set_corrected(id, true)?;
        self.set_semantic_content(id, content)?;
        // Whom it was about, it need not be about any more.
        self.run("UPDATE semantic SET subject = NULL, attribute = NULL WHERE id = ?1", [id.0])?;
        // A correction may have come from another device before anything was embedded here.
        if self.dimensions()?.is_some() {
            self.put_embedding(Level::Semantic, id.0, embedding)?;
        }
        self.relink()
    }

    /// Queues the job that brings edges and centroids up to date after facts changed or were removed.
    pub(super) fn relink(&mut self) -> Result<()> {
        match self.optional("SELECT 1 FROM semantic LIMIT 1", [], |_| Ok(()))? {
            Some(()) => self.enqueue(&JobKind::Reembed),
            None => Ok(()),
        }
    }

    pub(super) fn set_semantic_content(&mut self, id: SemanticId, content: &str) -> Result<()> {
        self.run(
            "UPDATE semantic SET content = ?2 WHERE id = ?1",
            rusqlite::params![id.0, content],
        )?;
        Ok(())
    }
}
