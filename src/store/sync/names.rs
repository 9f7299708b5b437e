//! The names under which all devices know a unit, and the stamp of the state that is held.

use rusqlite::Row;

use crate::memory::{MessageId, Moment, SessionId};
use crate::store::error::{Result, StoreError};
use crate::store::transaction::{Reader, WriteTx};
use crate::sync::{DeviceId, Entry, Stamp, Uid};

const DEVICE: &str = "sync_device";
const CLOCK: &str = "sync_clock";
const PUBLISHED: &str = "sync_published";
const STATE: &str = "sync_state";

/// What a name stands for here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Session,
    Message,
    Refusal,
    Correction,
    Setting,
}

impl Kind {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Message => "message",
            Self::Refusal => "refusal",
            Self::Correction => "correction",
            Self::Setting => "setting",
        }
    }

    fn from_column(text: &str) -> Self {
        match text {
            "session" => Self::Session,
            "message" => Self::Message,
            "refusal" => Self::Refusal,
            "correction" => Self::Correction,
            // The column's CHECK allows nothing else.
            _ => Self::Setting,
        }
    }
}

/// The state of a unit that counts here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// When and by whom it was written.
    pub stamp: Stamp,
    /// Only the name is left.
    pub is_gone: bool,
}

/// A row here, and what it looked like when it was last compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Local {
    pub kind: Kind,
    pub id: i64,
    pub digest: String,
}

/// A row of the table.
#[derive(Debug, Clone)]
pub(super) struct Name {
    pub uid: Uid,
    pub stamp: Stamp,
    pub local: Option<Local>,
}

/// As `shared` is read.
const NAME: &str = "SELECT device, n, clock, author, kind, local, digest FROM shared";

fn name(row: &Row<'_>) -> rusqlite::Result<Name> {
    let number = |column| row.get::<_, i64>(column).map(i64::cast_unsigned);
    let kind: Option<String> = row.get(4)?;
    let local = kind.map(|kind| -> rusqlite::Result<Local> {
        Ok(Local { kind: Kind::from_column(&kind), id: row.get(5)?, digest: row.get(6)? })
    });
    Ok(Name {
        uid: Uid { device: DeviceId(row.get(0)?), n: number(1)? },
        stamp: Stamp { clock: number(2)?, device: DeviceId(row.get(3)?) },
        local: local.transpose()?,
    })
}

impl Reader<'_> {
    /// This device, if a sync was begun here.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn sync_device(&self) -> Result<Option<DeviceId>> {
        Ok(self.meta(DEVICE)?.and_then(|id| id.parse().ok()))
    }

    pub(super) fn this_device(&self) -> Result<DeviceId> {
        self.sync_device()?.ok_or_else(|| StoreError::invalid("no sync was begun on this device"))
    }

    /// How far the pieces of each device were read: a text of [`WriteTx::set_sync_state`].
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn sync_state(&self) -> Result<Option<String>> {
        self.meta(STATE)
    }

    /// Which state of a unit is held.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn held(&self, uid: Uid) -> Result<Option<Held>> {
        let held = |name: Name| Held { stamp: name.stamp, is_gone: name.local.is_none() };
        Ok(self.name(uid)?.map(held))
    }

    /// Whether a chat is another device's: who goes on with it does so in a fork.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn is_foreign(&self, session: SessionId) -> Result<bool> {
        let Some(uid) = self.uid_of(Kind::Session, session.0)? else { return Ok(false) };
        Ok(self.sync_device()? != Some(uid.device))
    }

    pub(in crate::store) fn foreign_sessions(&self) -> Result<Vec<SessionId>> {
        let Some(device) = self.sync_device()? else { return Ok(Vec::new()) };
        let sql = "SELECT local FROM shared WHERE kind = 'session' AND device <> ?1";
        self.all(sql, [device.0], |row| row.get(0).map(SessionId))
    }

    pub(super) fn name(&self, uid: Uid) -> Result<Option<Name>> {
        let sql = format!("{NAME} WHERE device = ?1 AND n = ?2");
        self.optional(&sql, rusqlite::params![uid.device.0, uid.n.cast_signed()], name)
    }

    pub(super) fn names(&self) -> Result<Vec<Name>> {
        self.all(&format!("{NAME} ORDER BY device, n"), [], name)
    }

    pub(super) fn names_of(&self, kind: Kind) -> Result<Vec<Name>> {
        let sql = format!("{NAME} WHERE kind = ?1 ORDER BY device, n");
        self.all(&sql, [kind.as_str()], name)
    }

    /// Stamped here and in no piece yet.
    pub(super) fn unpublished(&self) -> Result<Vec<Name>> {
        let sql = format!("{NAME} WHERE author = ?1 AND clock > ?2 ORDER BY device, n");
        let since = self.meta_number(PUBLISHED)?.cast_signed();
        self.all(&sql, rusqlite::params![self.this_device()?.0, since], name)
    }

    /// The name of a row. (Of a refusal or a correction there may be several.)
    pub(super) fn uid_of(&self, kind: Kind, id: i64) -> Result<Option<Uid>> {
        let sql = format!("{NAME} WHERE kind = ?1 AND local = ?2 ORDER BY device, n LIMIT 1");
        let found = self.optional(&sql, rusqlite::params![kind.as_str(), id], name)?;
        Ok(found.map(|name| name.uid))
    }

    /// The greatest number that a device has given, as far as it is known here.
    pub(super) fn last_n(&self, device: DeviceId) -> Result<u64> {
        let sql = "SELECT coalesce(max(n), 0) FROM shared WHERE device = ?1";
        let n = self.optional(sql, [device.0], |row| row.get::<_, i64>(0))?;
        Ok(n.map_or(0, i64::cast_unsigned))
    }

    pub(super) fn sync_clock(&self) -> Result<u64> {
        self.meta_number(CLOCK)
    }

    fn meta_number(&self, key: &str) -> Result<u64> {
        Ok(self.meta(key)?.and_then(|text| text.parse().ok()).unwrap_or(0))
    }
}

impl WriteTx<'_> {
    /// Begins a sync as this device, or joins one: names of an earlier sync go.
    ///
    /// # Errors
    /// If the memory cannot be written.
    pub fn begin_sync(&mut self, device: DeviceId) -> Result<()> {
        self.end_sync()?;
        self.set_meta(DEVICE, Some(&device.to_string()))
    }

    /// Ends sync on this device. The memory stays as it is.
    ///
    /// # Errors
    /// If the memory cannot be written.
    pub fn end_sync(&mut self) -> Result<()> {
        self.run("DELETE FROM shared", [])?;
        [DEVICE, CLOCK, PUBLISHED, STATE].iter().try_for_each(|key| self.set_meta(key, None))
    }

    /// Goes on as another device, after [`Applied::is_copy`](super::Applied): what was named so far stays the old one's.
    ///
    /// # Errors
    /// If no sync was begun, or the memory cannot be written.
    pub fn become_device(&mut self, device: DeviceId) -> Result<()> {
        // What nobody has read yet is told under the new id, and no wording has the stamp of another one.
        let (old, published) = (self.this_device()?, self.meta_number(PUBLISHED)?.cast_signed());
        let sql = "SELECT local FROM shared
                   WHERE kind = 'correction' AND author = ?1 AND clock > ?2";
        let unread = rusqlite::params![old.0, published];
        for correction in self.all(sql, unread, |row| row.get::<_, i64>(0))? {
            self.unword(correction)?;
        }
        self.run(
            "UPDATE shared SET author = ?1 WHERE author = ?2 AND clock > ?3",
            rusqlite::params![device.0, old.0, published],
        )?;
        self.set_meta(STATE, None)?;
        self.set_meta(DEVICE, Some(&device.to_string()))
    }

    /// Keeps how far the pieces were read.
    ///
    /// # Errors
    /// If the memory cannot be written.
    pub fn set_sync_state(&mut self, state: &str) -> Result<()> {
        self.set_meta(STATE, Some(state))
    }

    /// These are in a piece now: [`WriteTx::changes`] gives them no more.
    ///
    /// # Errors
    /// If no sync was begun, or the memory cannot be written.
    pub fn published(&mut self, entries: &[Entry]) -> Result<()> {
        let device = self.this_device()?;
        let own = entries.iter().map(|entry| entry.stamp).filter(|stamp| stamp.device == device);
        match own.map(|stamp| stamp.clock).max() {
            Some(clock) if clock > self.meta_number(PUBLISHED)? => {
                self.set_meta(PUBLISHED, Some(&clock.to_string()))
            }
            _ => Ok(()),
        }
    }

    /// The chat in which this device goes on: the chat itself or, if it is another device's, a fork at its end.
    ///
    /// # Errors
    /// If it does not exist, or the memory cannot be written.
    pub fn own_session(&mut self, session: SessionId, at: Moment) -> Result<SessionId> {
        if !self.is_foreign(session)? {
            return Ok(session);
        }
        let title = self.session(session)?.title;
        let end = MessageId(self.last_id("message")? + 1);
        self.fork_session(session, end, &title, at)
    }

    pub(super) fn set_sync_clock(&mut self, clock: u64) -> Result<()> {
        self.set_meta(CLOCK, Some(&clock.to_string()))
    }

    /// Records which state is held; `None`: it is gone.
    pub(super) fn put_name(&mut self, uid: Uid, stamp: Stamp, local: Option<&Local>) -> Result<()> {
        self.run(
            "INSERT OR REPLACE INTO shared (device, n, kind, local, digest, clock, author)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            rusqlite::params![
                uid.device.0,
                uid.n.cast_signed(),
                local.map(|local| local.kind.as_str()),
                local.map(|local| local.id),
                local.map(|local| &local.digest),
                stamp.clock.cast_signed(),
                stamp.device.0,
            ],
        )?;
        Ok(())
    }
}
