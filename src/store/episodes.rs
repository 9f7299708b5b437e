//! Episodes (level 2): contiguous runs of one session's messages.

use std::collections::BTreeMap;

use rusqlite::Row;

use super::error::{Result, StoreError};
use super::records::{JobKind, Level};
use super::sessions::moment;
use super::transaction::{Reader, WANTED, WriteTx, in_order, text};
use super::undo::Inverse;
use crate::memory::{Episode, EpisodeId, MessageId, Moment, SessionId};

const EPISODE: &str = "SELECT id, session, title, content FROM episode";

fn episode(row: &Row<'_>) -> rusqlite::Result<Episode> {
    let never = Moment::new(jiff::Timestamp::UNIX_EPOCH, jiff::tz::Offset::UTC);
    Ok(Episode {
        id: EpisodeId(row.get(0)?),
        session: SessionId(row.get(1)?),
        title: text(row, 2)?,
        content: text(row, 3)?,
        started_at: never,
        ended_at: never,
        messages: Vec::new(),
    })
}

impl Episode {
    /// Adds its next message: an episode's times are those of its messages.
    fn extend(&mut self, id: MessageId, at: Moment) {
        if self.messages.is_empty() {
            (self.started_at, self.ended_at) = (at, at);
        }
        self.started_at = self.started_at.min(at);
        self.ended_at = self.ended_at.max(at);
        self.messages.push(id);
    }
}

impl Reader<'_> {
    /// All episodes, by id.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn episodes(&self) -> Result<Vec<Episode>> {
        let ids = self.all("SELECT id FROM episode", [], |row| row.get(0).map(EpisodeId))?;
        Ok(self.find_episodes(ids)?.into_values().collect())
    }

    /// The newest episodes, newest first; those before `before`, if it is given.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn newest_episodes(&self, before: Option<EpisodeId>, n: usize) -> Result<Vec<EpisodeId>> {
        self.all(
            "SELECT id FROM episode WHERE id < ?1 ORDER BY id DESC LIMIT ?2",
            [before.map_or(i64::MAX, |id| id.0), i64::try_from(n).unwrap_or(i64::MAX)],
            |row| row.get(0).map(EpisodeId),
        )
    }

    /// The episodes with these ids, in the order asked for.
    ///
    /// # Errors
    /// If one of them does not exist, or the memory cannot be read.
    pub fn episodes_by_id(&self, ids: &[EpisodeId]) -> Result<Vec<Episode>> {
        in_order("episode", ids, &self.find_episodes(ids.iter().copied())?)
    }

    /// The episodes with these ids, as far as they exist.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn find_episodes(
        &self,
        ids: impl IntoIterator<Item = EpisodeId>,
    ) -> Result<BTreeMap<EpisodeId, Episode>> {
        let ids = ids.into_iter().map(|id| id.0);
        let mut found = self.units(EPISODE, ids, episode, |unit| unit.id)?;
        let members = format!(
            "SELECT episode, id, created_ms, created_offset FROM message \
             JOIN {WANTED} ON episode = wanted"
        );
        let member =
            |row: &Row<'_>| Ok((EpisodeId(row.get(0)?), MessageId(row.get(1)?), moment(row, 2)?));
        let mut members = self.of_ids(&members, found.keys().map(|id| id.0), member)?;
        members.sort_unstable_by_key(|&(_, message, _)| message);
        for (id, message, at) in members {
            found.entry(id).and_modify(|unit| unit.extend(message, at));
        }
        Ok(found)
    }
}

impl WriteTx<'_> {
    /// Closes a run of messages as an episode: `content` retells them, `title` says in one line what they are about.
    ///
    /// # Errors
    /// If the messages are not a contiguous run of the session's, outside any episode, or the memory cannot be written.
    pub fn insert_episode(
        &mut self,
        session: SessionId,
        title: &str,
        content: &str,
        messages: &[MessageId],
    ) -> Result<EpisodeId> {
        self.session_exists(session)?;
        let mut wanted = messages.to_vec();
        wanted.sort_unstable();
        wanted.dedup();
        let (Some(first), Some(last)) = (wanted.first(), wanted.last()) else {
            return Err(StoreError::invalid("an episode needs messages"));
        };
        let run = self.all(
            "SELECT id, episode FROM message WHERE session = ?1 AND id BETWEEN ?2 AND ?3
             ORDER BY id",
            [session.0, first.0, last.0],
            |row| Ok((MessageId(row.get(0)?), row.get::<_, Option<i64>>(1)?.map(EpisodeId))),
        )?;
        if let Some((id, Some(other))) = run.iter().find(|(_, e)| e.is_some()) {
            return Err(StoreError::invalid(format!("{id} is in {other} already")));
        }
        if !run.iter().map(|(id, _)| id).eq(&wanted) {
            return Err(StoreError::invalid(format!(
                "{first} to {last} is no contiguous run of {session}'s messages"
            )));
        }
        let id = self.insert(
            "INSERT INTO episode (session, title, content) VALUES (?1, ?2, ?3)",
            rusqlite::params![session.0, title, content],
        )?;
        for message in wanted {
            self.run("UPDATE message SET episode = ?2 WHERE id = ?1", [message.0, id])?;
        }
        self.adopt_corrected(EpisodeId(id))?;
        Ok(EpisodeId(id))
    }

    /// Replaces title and text: the person's correction, recorded for undo. A `Reembed` job makes the vector again.
    ///
    /// # Errors
    /// If it does not exist, or the memory cannot be written.
    pub fn edit_episode(&mut self, id: EpisodeId, title: &str, content: &str) -> Result<()> {
        let before = self
            .optional(&format!("{EPISODE} WHERE id = ?1"), [id.0], episode)?
            .ok_or_else(|| StoreError::not_found("episode", id))?;
        self.record(
            &format!("edit of {id}"),
            &Inverse::EditEpisode { episode: id, title: before.title, content: before.content },
        )?;
        self.set_episode(id, title, content)
    }

    pub(super) fn set_episode(&mut self, id: EpisodeId, title: &str, content: &str) -> Result<()> {
        self.run(
            "UPDATE episode SET title = ?2, content = ?3 WHERE id = ?1",
            rusqlite::params![id.0, title, content],
        )?;
        self.drop_embedding(Level::Episode, id.0)?;
        self.enqueue(&JobKind::Reembed)
    }
}
