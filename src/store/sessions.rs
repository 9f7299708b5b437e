//! Sessions and their messages (level 1).

use std::collections::{BTreeMap, BTreeSet};

use jiff::{Timestamp, tz::Offset};
use rusqlite::Row;

use super::error::{Result, StoreError};
use super::records::{Level, Session};
use super::transaction::{Reader, WANTED, WriteTx, in_order, optional_text, text};
use crate::memory::{EpisodeId, Message, MessageId, Moment, NewMessage, Role, SessionId};

const MESSAGE: &str = "SELECT id, session, role, speaker, content, created_ms, created_offset, \
                       external_id, episode, complete FROM message";

/// Reads a time from two columns. A hostile file's impossible time reads as the epoch.
pub(super) fn moment(row: &Row<'_>, ms: usize) -> rusqlite::Result<Moment> {
    Ok(moment_of(row.get(ms)?, row.get(ms + 1)?))
}

pub(super) fn moment_of(ms: i64, offset_seconds: i32) -> Moment {
    let timestamp = Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH);
    Moment::new(timestamp, Offset::from_seconds(offset_seconds).unwrap_or(Offset::UTC))
}

/// The two columns of a time.
pub(super) fn columns(at: &Moment) -> (i64, i64) {
    (at.as_millisecond(), i64::from(at.offset.seconds()))
}

fn message(row: &Row<'_>) -> rusqlite::Result<Message> {
    let role = text(row, 2)?;
    Ok(Message {
        id: MessageId(row.get(0)?),
        session: SessionId(row.get(1)?),
        role: if role == "user" { Role::User } else { Role::Assistant },
        speaker: optional_text(row, 3)?,
        content: text(row, 4)?,
        created_at: moment(row, 5)?,
        external_id: optional_text(row, 7)?,
        episode: row.get::<_, Option<i64>>(8)?.map(EpisodeId),
        complete: row.get(9)?,
    })
}

const SESSION: &str = "
    SELECT s.id, s.title, s.created_ms, s.created_offset,
        coalesce(last.created_ms, s.created_ms), coalesce(last.created_offset, s.created_offset),
        (SELECT count(*) FROM message WHERE session = s.id), s.imported, s.source, s.agent,
        s.pinned IS NOT NULL, s.parent
    FROM session s
    LEFT JOIN message last ON last.id = (SELECT max(id) FROM message WHERE session = s.id)";

fn session(row: &Row<'_>) -> rusqlite::Result<Session> {
    Ok(Session {
        id: SessionId(row.get(0)?),
        title: text(row, 1)?,
        created_at: moment(row, 2)?,
        updated_at: moment(row, 4)?,
        n_messages: usize::try_from(row.get::<_, i64>(6)?).unwrap_or(0),
        imported: row.get(7)?,
        source: optional_text(row, 8)?,
        agent: row.get::<_, Option<bool>>(9)?.unwrap_or(false),
        pinned: row.get(10)?,
        parent: row.get::<_, Option<i64>>(11)?.map(SessionId),
    })
}

impl Reader<'_> {
    /// All sessions, the most recently used first.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn sessions(&self) -> Result<Vec<Session>> {
        self.all(&format!("{SESSION} ORDER BY 5 DESC, s.id DESC"), [], session)
    }

    /// One session.
    ///
    /// # Errors
    /// If it does not exist, or the memory cannot be read.
    pub fn session(&self, id: SessionId) -> Result<Session> {
        self.optional(&format!("{SESSION} WHERE s.id = ?1"), [id.0], session)?
            .ok_or_else(|| StoreError::not_found("session", id))
    }

    /// All messages of a session, oldest first.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn messages(&self, session: SessionId) -> Result<Vec<Message>> {
        self.all(&format!("{MESSAGE} WHERE session = ?1 ORDER BY id"), [session.0], message)
    }

    /// The last `n` messages of a session before one of its messages, oldest first.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn messages_leading_to(&self, message: &Message, n: u32) -> Result<Vec<Message>> {
        let sql = format!("{MESSAGE} WHERE session = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3");
        let mut before = self.all(&sql, (message.session.0, message.id.0, n), self::message)?;
        before.reverse();
        Ok(before)
    }

    /// The messages from before a time (milliseconds since the Unix epoch), oldest first.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn messages_before(&self, ms: i64) -> Result<Vec<MessageId>> {
        let sql = "SELECT id FROM message WHERE created_ms < ?1 ORDER BY created_ms, id";
        self.all(sql, [ms], |row| row.get(0).map(MessageId))
    }

    /// The messages of every session, in the order they were appended.
    pub(super) fn all_messages(&self) -> Result<Vec<Message>> {
        self.all(&format!("{MESSAGE} ORDER BY id"), [], message)
    }

    /// The person's newest `n` messages that are in no episode yet, newest first: no fact is made from them yet.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn newest_open_messages(&self, n: u32) -> Result<Vec<Message>> {
        self.all(
            &format!("{MESSAGE} WHERE episode IS NULL AND role = 'user' ORDER BY id DESC LIMIT ?1"),
            [n],
            message,
        )
    }

    /// The same, and those of episodes whose facts are still to be written.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn newest_unnoted_messages(&self, n: u32) -> Result<Vec<Message>> {
        let sql = format!(
            "{MESSAGE} WHERE role = 'user' AND (episode IS NULL OR episode IN
                 (SELECT subject FROM job WHERE kind = 'semantics' AND state <> 'failed'))
             ORDER BY id DESC LIMIT ?1"
        );
        self.all(&sql, [n], message)
    }

    /// The messages with these ids, in the order asked for.
    ///
    /// # Errors
    /// If one of them does not exist, or the memory cannot be read.
    pub fn messages_by_id(&self, ids: &[MessageId]) -> Result<Vec<Message>> {
        in_order("message", ids, &self.find_messages(ids.iter().copied())?)
    }

    /// The messages with these ids, as far as they exist.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn find_messages(
        &self,
        ids: impl IntoIterator<Item = MessageId>,
    ) -> Result<BTreeMap<MessageId, Message>> {
        self.units(MESSAGE, ids.into_iter().map(|id| id.0), message, |unit| unit.id)
    }

    /// The messages right before and after each of these (by id) in the same episode, each once and in
    /// order; none beside a message without an episode.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn messages_beside(
        &self,
        ids: impl IntoIterator<Item = MessageId>,
    ) -> Result<Vec<MessageId>> {
        let ids: BTreeSet<i64> = ids.into_iter().map(|id| id.0).collect();
        let beside = |id: &i64| [id.saturating_sub(1), id.saturating_add(1)];
        let all = ids.iter().flat_map(|id| [*id].into_iter().chain(beside(id)));
        let sql = format!(
            "SELECT id, session, episode FROM message JOIN {WANTED} ON id = wanted
             WHERE episode IS NOT NULL"
        );
        let place = |row: &Row<'_>| Ok((row.get(0)?, (row.get(1)?, row.get(2)?)));
        let places: BTreeMap<i64, (i64, i64)> =
            self.of_ids(&sql, all, place)?.into_iter().collect();
        let is_beside = |&(id, place): &(&i64, &(i64, i64))| {
            beside(id).iter().any(|one| ids.contains(one) && places.get(one) == Some(place))
        };
        Ok(places.iter().filter(is_beside).map(|(&id, _)| MessageId(id)).collect())
    }

    /// The session's messages that are in no episode yet, oldest first, incomplete replies included.
    ///
    /// After forgetting they need not be contiguous: see [`Self::open_runs`].
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn open_messages(&self, session: SessionId) -> Result<Vec<Message>> {
        self.all(
            &format!("{MESSAGE} WHERE session = ?1 AND episode IS NULL ORDER BY id"),
            [session.0],
            message,
        )
    }

    /// The open messages in contiguous runs, oldest first: each run can be an episode, and no
    /// episode can span two of them. All but the last are left over from episodes that
    /// lost a forgotten message; the last is the open tail, if it is not closed yet.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn open_runs(&self, session: SessionId) -> Result<Vec<Vec<Message>>> {
        let all = self.messages(session)?;
        let runs = all.chunk_by(|a, b| a.episode.is_some() == b.episode.is_some());
        Ok(runs.filter(|run| run[0].episode.is_none()).map(<[Message]>::to_vec).collect())
    }

    /// The external ids of those of `ids` that have one.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn message_external_ids(&self, ids: &[MessageId]) -> Result<Vec<(MessageId, String)>> {
        let sql = format!(
            "SELECT id, external_id FROM message JOIN {WANTED} ON id = wanted
             WHERE external_id IS NOT NULL"
        );
        let pair = |row: &Row<'_>| Ok((MessageId(row.get(0)?), text(row, 1)?));
        self.of_ids(&sql, ids.iter().map(|id| id.0), pair)
    }
}

impl WriteTx<'_> {
    /// Creates a session, without messages.
    ///
    /// # Errors
    /// If the memory cannot be written.
    pub fn create_session(&mut self, title: &str, at: Moment, imported: bool) -> Result<SessionId> {
        let (ms, offset) = columns(&at);
        self.insert(
            "INSERT INTO session (title, created_ms, created_offset, imported)
             VALUES (?1, ?2, ?3, ?4)",
            rusqlite::params![title, ms, offset, imported],
        )
        .map(SessionId)
    }

    /// Creates a session for what a file holds, without messages. `source`: the file's name.
    ///
    /// # Errors
    /// If the memory cannot be written.
    pub fn import_session(&mut self, title: &str, at: Moment, source: &str) -> Result<SessionId> {
        let session = self.create_session(title, at, true)?;
        let named = rusqlite::params![session.0, source];
        self.run("UPDATE session SET source = ?2 WHERE id = ?1", named)?;
        Ok(session)
    }

    /// Creates a session for what another program notes, without messages. `name`: the program's.
    ///
    /// # Errors
    /// If the memory cannot be written.
    pub fn agent_session(&mut self, title: &str, at: Moment, name: &str) -> Result<SessionId> {
        let session = self.import_session(title, at, name)?;
        self.run("UPDATE session SET agent = 1 WHERE id = ?1", [session.0])?;
        Ok(session)
    }

    /// Adds a message at the end of its session.
    ///
    /// # Errors
    /// If the session does not exist or is another device's ([`WriteTx::own_session`]), or the memory cannot be written.
    pub fn append_message(
        &mut self,
        session: SessionId,
        message: &NewMessage,
    ) -> Result<MessageId> {
        if self.is_foreign(session)? {
            let what = format!("{session} is another device's chat: only that one adds to it");
            return Err(StoreError::invalid(what));
        }
        self.insert_message(session, message)
    }

    pub(super) fn insert_message(
        &mut self,
        session: SessionId,
        message: &NewMessage,
    ) -> Result<MessageId> {
        self.session_exists(session)?;
        let (ms, offset) = columns(&message.created_at);
        let id = self.insert(
            "INSERT INTO message (session, role, speaker, content, created_ms, created_offset,
                external_id, complete)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            rusqlite::params![
                session.0,
                message.role.as_str(),
                message.speaker,
                message.content,
                ms,
                offset,
                message.external_id,
                message.complete,
            ],
        )?;
        self.seal(MessageId(id))?;
        Ok(MessageId(id))
    }

    /// Sets the text of a reply that was begun with `complete: false`.
    ///
    /// # Errors
    /// If it does not exist, or the memory cannot be written.
    pub fn finish_message(&mut self, id: MessageId, content: &str, complete: bool) -> Result<()> {
        let n = self.run(
            "UPDATE message SET content = ?2, complete = ?3 WHERE id = ?1",
            rusqlite::params![id.0, content, complete],
        )?;
        if n == 0 {
            return Err(StoreError::not_found("message", id));
        }
        self.seal(id)?;
        // A vector of the text so far no longer fits.
        self.drop_embedding(Level::Message, id.0)
    }

    pub(super) fn session_exists(&self, id: SessionId) -> Result<()> {
        if self.exists("session", id.0)? {
            Ok(())
        } else {
            Err(StoreError::not_found("session", id))
        }
    }
}
