//! The connections behind a [`Store`](super::Store): one that writes, a few that read.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::thread::ThreadId;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::error::{Result, StoreError};
use super::open::Opener;
use super::transaction::Reader;

/// Idle reading connections that are kept; more are opened when more threads read at once.
const IDLE_READERS_MAX: usize = 4;

pub(super) enum Connections {
    /// In memory: one connection for everything.
    One(Exclusive),
    /// The readers come first: the last connection to close checkpoints the write-ahead log, and a
    /// read-only one cannot.
    File { readers: Readers, writer: Option<Exclusive> },
}

/// A connection that one thread holds at a time. A closure that panics rolls its transaction back
/// (`Transaction`'s drop) and leaves the connection usable, so poison is ignored.
pub(super) struct Exclusive {
    conn: Mutex<Connection>,
    owner: Mutex<Option<ThreadId>>,
}

pub(super) struct Held<'a> {
    pub(super) conn: MutexGuard<'a, Connection>,
    owner: &'a Mutex<Option<ThreadId>>,
}

fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Exclusive {
    pub(super) fn new(conn: Connection) -> Self {
        Self { conn: Mutex::new(conn), owner: Mutex::new(None) }
    }

    /// Waits for other threads. Waiting for the calling thread itself would deadlock: that is an error.
    pub(super) fn hold(&self) -> Result<Held<'_>> {
        let me = std::thread::current().id();
        if *unpoisoned(&self.owner) == Some(me) {
            return Err(StoreError::invalid("the memory is in use by the same thread already"));
        }
        let conn = unpoisoned(&self.conn);
        *unpoisoned(&self.owner) = Some(me);
        Ok(Held { conn, owner: &self.owner })
    }

    /// `None` while a thread holds it.
    pub(super) fn try_hold(&self) -> Option<Held<'_>> {
        let conn = match self.conn.try_lock() {
            Ok(conn) => conn,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        *unpoisoned(&self.owner) = Some(std::thread::current().id());
        Some(Held { conn, owner: &self.owner })
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        *unpoisoned(self.owner) = None;
    }
}

/// Reading connections, opened when they are needed.
pub(super) struct Readers {
    idle: Mutex<Vec<Connection>>,
    opener: Opener,
    /// One thread, for a read that runs beside another. It is kept: a thread spawned for each question
    /// would allocate from another arena each time, and contend for it.
    beside: OnceLock<rayon::ThreadPool>,
}

impl Readers {
    pub(super) fn new(first: Option<Connection>, opener: Opener) -> Self {
        Self { idle: Mutex::new(Vec::from_iter(first)), opener, beside: OnceLock::new() }
    }

    pub(super) fn pool(&self) -> Result<&rayon::ThreadPool> {
        if let Some(pool) = self.beside.get() {
            return Ok(pool);
        }
        let one = rayon::ThreadPoolBuilder::new().num_threads(1);
        let pool = one.thread_name(|_| "search".into()).build().map_err(|e| {
            StoreError::Sqlite { action: "start a second search of", source: Box::new(e) }
        })?;
        Ok(self.beside.get_or_init(|| pool))
    }

    /// The connection returned last, or a new one.
    pub(super) fn take(&self, path: &Path) -> Result<Connection> {
        let idle = unpoisoned(&self.idle).pop();
        idle.map_or_else(|| self.opener.open(path), Ok)
    }

    /// Reads in one snapshot, and returns the connection. (After a panic it is closed.)
    pub(super) fn read<T>(
        &self,
        conn: Connection,
        f: impl FnOnce(&Reader<'_>) -> Result<T>,
    ) -> Result<T> {
        let found = within(&conn, f);
        let mut idle = unpoisoned(&self.idle);
        if idle.len() < IDLE_READERS_MAX {
            idle.push(conn);
        }
        found
    }

    pub(super) fn close_idle(&self) {
        unpoisoned(&self.idle).clear();
    }
}

/// Runs `f` in one snapshot.
pub(super) fn within<T>(conn: &Connection, f: impl FnOnce(&Reader<'_>) -> Result<T>) -> Result<T> {
    let snapshot = Transaction::new_unchecked(conn, TransactionBehavior::Deferred)?;
    f(&Reader { conn: &snapshot })
}
