//! What the person does with their chats: rename, pin, go on from another place, choose between versions of a reply, search.

use std::collections::HashSet;

use rusqlite::Row;

use super::error::{Result, StoreError};
use super::full_text::quoted_words;
use super::sessions::{columns, moment};
use super::transaction::{Reader, WriteTx, text};
use crate::memory::{Message, MessageId, Moment, Role, SessionId};

/// How often a chat may go on from one that goes on from another, and so on.
const DEPTH_MAX: usize = 1_000;

/// Around what was found in [`Found::snippet`]; no other control characters are in it.
pub const FOUND: (char, char) = ('\u{1}', '\u{2}');

/// All that is said in a chat, with what was said before in the one that it goes on from.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Conversation {
    /// The chat's.
    pub title: String,
    /// Oldest first.
    pub messages: Vec<Message>,
    /// Replies in whose place another version is shown.
    pub aside: HashSet<MessageId>,
    /// How its replies are drawn, as [`WriteTx::keep_sampling`] was told.
    pub sampling: String,
}

/// The setting that keeps it.
fn sampling_key(session: SessionId) -> String {
    format!("sampling {}", session.0)
}

/// A message that holds what was searched for.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The chat.
    pub session: SessionId,
    /// The chat's.
    pub title: String,
    /// The message.
    pub message: MessageId,
    /// Who said it.
    pub role: Role,
    /// When.
    pub at: Moment,
    /// Some words of it, what was found between the two characters of [`FOUND`].
    pub snippet: String,
}

impl Reader<'_> {
    /// A chat, with what it goes on from.
    ///
    /// # Errors
    /// If it does not exist, or the memory cannot be read.
    pub fn conversation(&self, session: SessionId) -> Result<Conversation> {
        let title = self.session(session)?.title;
        let mut parts = Vec::new();
        let mut aside = HashSet::new();
        let mut next = Some((session.0, i64::MAX));
        while let Some((id, end)) = next.filter(|_| parts.len() < DEPTH_MAX) {
            let mut part = self.messages(SessionId(id))?;
            part.retain(|m| m.id.0 < end);
            parts.push(part);
            let sql = "SELECT id FROM message WHERE session = ?1 AND aside IS NOT NULL";
            aside.extend(self.all(sql, [id], |row| row.get(0).map(MessageId))?);
            let sql = "SELECT parent, parent_end FROM session WHERE id = ?1 AND parent < id";
            next = self.optional(sql, [id], |row| Ok((row.get(0)?, row.get(1)?)))?;
        }
        let messages: Vec<Message> = parts.into_iter().rev().flatten().collect();
        aside.retain(|id| messages.iter().any(|m| m.id == *id));
        let sampling = self.setting(&sampling_key(session))?.unwrap_or_default();
        Ok(Conversation { title, messages, aside, sampling })
    }

    /// The messages with all words of `query` (the last may be the beginning of one), best first, at most `k`.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn find_said(&self, query: &str, k: u32) -> Result<Vec<Found>> {
        let words = quoted_words(query);
        if words.is_empty() {
            return Ok(Vec::new());
        }
        let is_whole = query.ends_with(|c: char| !c.is_alphanumeric());
        let expression = words.join(" ") + if is_whole { "" } else { "*" };
        let sql = "SELECT session.id, session.title, message.id, message.role, message.created_ms,
                message.created_offset, snippet(message_text, 0, ?3, ?4, '…', 16)
             FROM message_text
             JOIN message ON message.id = message_text.rowid
             JOIN session ON session.id = message.session
             WHERE message_text MATCH ?1 ORDER BY bm25(message_text), message.id DESC LIMIT ?2";
        let (open, close) = (FOUND.0.to_string(), FOUND.1.to_string());
        let found = |row: &Row<'_>| {
            let is_user = row.get::<_, String>(3)? == Role::User.as_str();
            Ok(Found {
                session: SessionId(row.get(0)?),
                title: text(row, 1)?,
                message: MessageId(row.get(2)?),
                role: if is_user { Role::User } else { Role::Assistant },
                at: moment(row, 4)?,
                snippet: text(row, 6)?,
            })
        };
        self.all(sql, rusqlite::params![expression, k, open, close], found)
    }
}

impl WriteTx<'_> {
    /// Gives a chat another title.
    ///
    /// # Errors
    /// If it does not exist, the title is empty, or the memory cannot be written.
    pub fn rename_session(&mut self, id: SessionId, title: &str) -> Result<()> {
        let title = title.trim();
        if title.is_empty() {
            return Err(StoreError::invalid("a chat's title can't be empty"));
        }
        self.session_exists(id)?;
        self.run("UPDATE session SET title = ?2 WHERE id = ?1", rusqlite::params![id.0, title])?;
        Ok(())
    }

    /// Keeps how a chat's replies are drawn; nothing, where it is empty.
    ///
    /// # Errors
    /// If the memory cannot be written.
    pub fn keep_sampling(&mut self, session: SessionId, sampling: &str) -> Result<()> {
        let key = sampling_key(session);
        match sampling {
            same if self.setting(&key)?.unwrap_or_default() == same => Ok(()),
            "" => self.run("DELETE FROM setting WHERE key = ?1", [key]).map(|_| ()),
            _ => self.set_setting(&key, sampling),
        }
    }

    /// Pins a chat, or unpins it.
    ///
    /// # Errors
    /// If it does not exist, or the memory cannot be written.
    pub fn pin_session(&mut self, id: SessionId, pinned: bool) -> Result<()> {
        self.session_exists(id)?;
        let pinned = pinned.then_some(1);
        self.run("UPDATE session SET pinned = ?2 WHERE id = ?1", rusqlite::params![id.0, pinned])?;
        Ok(())
    }

    /// A chat that goes on from the messages of `parent` before `end`; they stay there and are in no memory twice.
    ///
    /// # Errors
    /// If `parent` does not exist, or the memory cannot be written.
    pub fn fork_session(
        &mut self,
        parent: SessionId,
        end: MessageId,
        title: &str,
        at: Moment,
    ) -> Result<SessionId> {
        self.session_exists(parent)?;
        let (ms, offset) = columns(&at);
        self.insert(
            "INSERT INTO session (title, created_ms, created_offset, imported, parent, parent_end)
             VALUES (?1, ?2, ?3, 0, ?4, ?5)",
            rusqlite::params![title, ms, offset, parent.0, end.0],
        )
        .map(SessionId)
    }

    /// Of several versions of a reply, shows one: the others are put aside.
    ///
    /// # Errors
    /// If the memory cannot be written.
    pub fn choose_reply(
        &mut self,
        chosen: MessageId,
        others: impl IntoIterator<Item = MessageId>,
    ) -> Result<()> {
        let others = others.into_iter().filter(|id| *id != chosen).map(|id| (id, Some(1)));
        for (id, aside) in others.chain([(chosen, None)]) {
            let sql = "UPDATE message SET aside = ?2 WHERE id = ?1 AND role = 'assistant'";
            self.run(sql, rusqlite::params![id.0, aside])?;
        }
        Ok(())
    }
}
