//! The open store: one writing connection behind a mutex, and reading connections beside it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use encrypted_sqlite::Secret;
use rusqlite::{Connection, TransactionBehavior};

use super::connections::{Connections, Exclusive, Readers, within};
use super::error::{Result, StoreError};
use super::lock::{self, Lock, Work};
use super::open::{self, ReadOnly};
use super::transaction::{Reader, WriteTx};

/// The open memory. Clones share it; safe from any thread.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    connections: Connections,
    path: PathBuf,
    /// Transactions of this process.
    n_written: AtomicU64,
    others: Others,
    /// Last, so that it outlives the connections.
    lock: Option<Lock>,
}

/// What other processes wrote.
#[derive(Default)]
struct Others {
    /// SQLite's, of the writing connection: it changes when another one has written.
    data_version: AtomicI64,
    /// How often it was seen to change.
    n_changes: AtomicU64,
}

impl Others {
    fn look(&self, conn: &Connection) -> Result<()> {
        let now = conn.query_row("PRAGMA data_version", [], |row| row.get(0))?;
        // 0: never looked at.
        if ![0, now].contains(&self.data_version.swap(now, Ordering::AcqRel)) {
            self.n_changes.fetch_add(1, Ordering::AcqRel);
        }
        Ok(())
    }
}

impl Store {
    /// As [`Store::open_with`], of a memory that is not encrypted, and waiting for [`WAIT`](super::WAIT).
    ///
    /// # Errors
    /// As [`Store::open_with`].
    pub fn open(data_dir: &Path) -> Result<Self> {
        Self::open_with(data_dir, None, lock::WAIT)
    }

    /// Opens (or creates, 0700/0600) the memory in `data_dir` for writing, beside others that have it open. `key` is used where
    /// the file is encrypted; `wait` is how long it may take until no other process is just writing.
    /// Jobs that were running when their process died are pending again.
    ///
    /// # Errors
    /// [`StoreError::Locked`] if that takes longer, [`StoreError::Corrupt`], [`StoreError::Newer`],
    /// [`StoreError::Unwritable`], [`StoreError::NeedsPassphrase`] and [`StoreError::WrongPassphrase`]: then nothing was changed.
    pub fn open_with(data_dir: &Path, key: Option<&Secret>, wait: Duration) -> Result<Self> {
        open::make_dir(data_dir)?;
        let lock = Lock::shared(data_dir, wait)?;
        if lock.is_first() {
            super::backup::finish(data_dir)?;
        }
        open::check_presence(&data_dir.join(open::FILE_NAME))?;
        let path = open::make_file(data_dir)?;
        let key = open::check_header(&path, key)?;
        // Another version of this program, that has it open, could not go on.
        if !lock.is_first() && open::is_older(&path, key).map_err(|e| e.within("open", &path))? {
            return Err(lock.locked());
        }
        let writer = open::writer(&path, key).map_err(|e| e.within("open", &path))?;
        let reader = Reader { conn: &writer };
        let last = reader.last_id("message").map_err(|e| e.within("read", &path))?;
        let noted = lock.noted();
        if last < noted {
            note_loss(&writer, last, noted).map_err(|e| e.within("write", &path))?;
        }
        lock.note(last).map_err(|source| StoreError::unwritable(data_dir, source))?;
        lock.end_turn();
        let store = Self::new(
            Connections::File {
                readers: Readers::new(None, open::Opener::new(key)),
                writer: Some(Exclusive::new(writer)),
            },
            path,
            Some(lock),
        );
        drop(store.work()?);
        // The last process may have died between forgetting and scrubbing.
        if store.read(|r| r.scrub_is_due())? {
            // If it can't be done now, it stays due.
            let _ = store.scrub();
        }
        Ok(store)
    }

    /// Opens the memory to forget in it where the disk is full: nothing is written but over the file itself. Meanwhile nobody
    /// else can read it, and a power cut damages it.
    ///
    /// # Errors
    /// As [`Store::open_with`], also if another process has it open; or if the last changes, still in the write-ahead log, have
    /// no place in the file.
    pub fn open_in_place(data_dir: &Path, key: Option<&Secret>, wait: Duration) -> Result<Self> {
        let lock = Lock::alone(data_dir, wait)?;
        let path = data_dir.join(open::FILE_NAME);
        let key = open::check_header(&path, key)?;
        let conn = open::in_place(&path, key).map_err(|e| e.within("open", &path))?;
        Ok(Self::new(Connections::One(Exclusive::new(conn)), path, Some(lock)))
    }

    /// The right to do the queued jobs; `None` if another process has it. Jobs that were running when their process died are
    /// pending again.
    ///
    /// # Errors
    /// If the memory cannot be written.
    pub fn work(&self) -> Result<Option<Work>> {
        let Some(lock) = &self.0.lock else { return Ok(Some(Work::of_own())) };
        let Some(work) = lock.worker()? else { return Ok(None) };
        if self.read(|r| r.has_running_jobs())? {
            self.write(|tx| tx.recover_jobs())?;
        }
        Ok(Some(work))
    }

    /// The right to exchange with the person's other devices; `None` if somebody is at it for longer than `wait`.
    ///
    /// # Errors
    /// If the memory was opened for reading only, or cannot be locked.
    pub fn exchange(&self, wait: Duration) -> Result<Option<Work>> {
        self.writer()?;
        let lock = self.0.lock.as_ref();
        lock.map_or_else(|| Ok(Some(Work::of_own())), |lock| lock.sync(wait))
    }

    /// Whether no other process has the memory open for writing.
    ///
    /// # Errors
    /// If the memory cannot be locked.
    pub fn is_alone(&self) -> Result<bool> {
        let Some(lock) = &self.0.lock else { return Ok(true) };
        let _held = self.writer()?.hold()?;
        let _turn = lock.turn()?;
        lock.is_alone()
    }

    /// Opens for reading only, also beside a writer. A memory that does not exist yet reads as empty.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`], [`StoreError::Newer`], or if the file cannot be read.
    pub fn open_read_only(data_dir: &Path) -> Result<Self> {
        Self::open_read_only_with(data_dir, None)
    }

    /// As [`Store::open_read_only`]; `key` is used where the file is encrypted.
    ///
    /// # Errors
    /// As [`Store::open_read_only`], [`StoreError::NeedsPassphrase`] and [`StoreError::WrongPassphrase`].
    pub fn open_read_only_with(data_dir: &Path, key: Option<&Secret>) -> Result<Self> {
        Self::read_only_at(&data_dir.join(open::FILE_NAME), key)
    }

    pub(super) fn read_only_at(path: &Path, key: Option<&Secret>) -> Result<Self> {
        open::read_only(path, key)
            .and_then(|opened| Self::read_only_of(opened, path))
            .map_err(|e| e.within("read", path))
    }

    pub(super) fn read_only_of(opened: ReadOnly, path: &Path) -> Result<Self> {
        let connections = match opened {
            ReadOnly::File(conn, again) => {
                Connections::File { readers: Readers::new(Some(conn), again), writer: None }
            }
            ReadOnly::Own(conn) | ReadOnly::Empty(conn) => {
                conn.execute_batch("PRAGMA query_only = ON")?;
                Connections::One(Exclusive::new(conn))
            }
        };
        Ok(Self::new(connections, path.to_owned(), None))
    }

    /// A private memory that is gone when the value is dropped: for tests and `/incognito`.
    ///
    /// It has one connection: a `read` inside a `write` is refused (use the transaction itself).
    ///
    /// # Errors
    /// If SQLite cannot make it.
    pub fn in_memory() -> Result<Self> {
        let conn = open::in_memory().map_err(|e| e.within("open", Path::new(":memory:")))?;
        Ok(Self::new(Connections::One(Exclusive::new(conn)), PathBuf::from(":memory:"), None))
    }

    fn new(connections: Connections, path: PathBuf, lock: Option<Lock>) -> Self {
        let (n_written, others) = (AtomicU64::new(0), Others::default());
        let store = Self(Arc::new(Inner { connections, path, n_written, others, lock }));
        // What was written before it was opened is no change.
        store.generation();
        store
    }

    /// Reads, in one snapshot; where the memory is a file, this never waits for a writer.
    ///
    /// # Errors
    /// What `f` returns, or if the memory cannot be read.
    pub fn read<T>(&self, f: impl FnOnce(&Reader<'_>) -> Result<T>) -> Result<T> {
        match &self.0.connections {
            Connections::One(exclusive) => exclusive.hold().and_then(|held| within(&held.conn, f)),
            Connections::File { readers, .. } => {
                readers.take(&self.0.path).and_then(|conn| readers.read(conn, f))
            }
        }
        .map_err(|e| e.within("read", &self.0.path))
    }

    /// What is wrong with the write-ahead log as SQLite has read it, as a sentence.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn log_damage(&self) -> Result<Option<String>> {
        let Connections::File { readers, .. } = &self.0.connections else { return Ok(None) };
        let noted = self.0.path.parent().and_then(super::lock::last_message).unwrap_or(0);
        let look = || {
            let conn = readers.take(&self.0.path)?;
            if let Some(damage) = super::wal::unread(&conn, &self.0.path)? {
                return Ok(Some(damage));
            }
            let (last, lost) =
                within(&conn, |reader| Ok((reader.last_id("message")?, reader.meta(LOST)?)))?;
            Ok((last < noted).then(|| super::wal::cut_off(last, noted)).or(lost))
        };
        look().map_err(|e: StoreError| e.within("read", &self.0.path))
    }

    /// Two reads at once where the memory is a file: `beside` runs on a second thread, and `f` gets a
    /// function that waits for its result. Each has a snapshot of its own: a unit that one of them sees
    /// may not exist for the other.
    ///
    /// # Errors
    /// What either closure returns, or if the memory cannot be read.
    pub fn read_beside<T, U: Send>(
        &self,
        beside: impl FnOnce(&Reader<'_>) -> Result<U> + Send,
        f: impl FnOnce(&Reader<'_>, Wait<'_, U>) -> Result<T>,
    ) -> Result<T> {
        let Connections::File { readers, .. } = &self.0.connections else {
            return self.read(|reader| f(reader, Box::new(|| beside(reader))));
        };
        let both = || {
            // The other is returned first, so that next time each read borrows the connection that has its
            // pages cached.
            let (own, other) = (readers.take(&self.0.path)?, readers.take(&self.0.path)?);
            readers.pool()?.in_place_scope(|scope| {
                let (sender, receiver) = mpsc::sync_channel(1);
                scope.spawn(move |_| {
                    // Without a receiver, `f` has failed.
                    let _ = sender.send(readers.read(other, beside));
                });
                // After a panic there, the scope panics here.
                let gone = |_| Err(StoreError::invalid("the other search did not end"));
                let wait = || receiver.recv().unwrap_or_else(gone);
                readers.read(own, |reader| f(reader, Box::new(wait)))
            })
        };
        both().map_err(|e: StoreError| e.within("read", &self.0.path))
    }

    /// One `BEGIN IMMEDIATE` transaction, durable (`synchronous=FULL`) when this returns. It waits until other processes have
    /// written.
    ///
    /// # Errors
    /// What `f` returns, or if the memory cannot be written, or was opened for reading only; [`StoreError::Locked`] if another
    /// process does not stop writing.
    pub fn write<T>(&self, f: impl FnOnce(&mut WriteTx<'_>) -> Result<T>) -> Result<T> {
        let mut held = self.writer()?.hold()?;
        let lock = self.0.lock.as_ref();
        let turn = lock.map(Lock::turn).transpose()?;
        let run = || {
            let transaction =
                held.conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let mut tx = WriteTx::new(&transaction)?;
            let value = f(&mut tx)?;
            tx.before_commit()?;
            let last = tx.last_id("message")?;
            transaction.commit()?;
            // That it could not be noted is no reason to say that it is not on the disk.
            let _ = lock.map_or(Ok(()), |lock| lock.note(last));
            Ok(value)
        };
        let value = run().map_err(|e: StoreError| e.within("write", &self.0.path))?;
        drop(turn);
        self.0.n_written.fetch_add(1, Ordering::AcqRel);
        Ok(value)
    }

    fn writer(&self) -> Result<&Exclusive> {
        match &self.0.connections {
            Connections::One(exclusive) | Connections::File { writer: Some(exclusive), .. } => {
                Ok(exclusive)
            }
            Connections::File { writer: None, .. } => {
                Err(StoreError::invalid("the memory was opened for reading only"))
            }
        }
    }

    /// Changes whenever anything was written, by this process or another: caches compare it.
    pub fn generation(&self) -> u64 {
        // While this process writes, or if it can't be read: what others wrote is seen the next time.
        if self.0.lock.is_some()
            && let Ok(writer) = self.writer()
            && let Some(held) = writer.try_hold()
        {
            let _ = self.0.others.look(&held.conn);
        }
        let n_changes = self.0.others.n_changes.load(Ordering::Acquire);
        self.0.n_written.load(Ordering::Acquire).wrapping_add(n_changes)
    }

    /// Gives back what SQLite keeps of pages in memory: after another process has forgotten, they may hold what it was.
    pub fn drop_caches(&self) {
        if let Connections::File { readers, .. } = &self.0.connections {
            readers.close_idle();
        }
        if let Ok(held) = self.writer().and_then(Exclusive::hold) {
            let _ = held.conn.release_memory();
        }
    }

    /// Truncates the WAL and vacuums what forgetting freed: afterwards no forgotten byte is in any
    /// file. (What a file system or a disk keeps of overwritten blocks is beyond a program.)
    ///
    /// # Errors
    /// If another program goes on reading: the log can't be truncated below its snapshot. The scrub
    /// stays due and is done at the next opening.
    pub fn scrub(&self) -> Result<()> {
        let held = self.writer()?.hold()?;
        let _turn = self.0.lock.as_ref().map(Lock::turn).transpose()?;
        // An idle reader holds no snapshot, but its page cache has forgotten text in memory.
        if let Connections::File { readers, .. } = &self.0.connections {
            readers.close_idle();
        }
        super::scrub::scrub(&held.conn).map_err(|e| e.within("clean", &self.0.path))
    }

    /// Where the memory is; `:memory:` for a private one.
    pub fn path(&self) -> &Path {
        &self.0.path
    }
}

/// What messages were gone when the memory was opened for writing: later ones must not take their ids, and the loss be
/// seen no more.
const LOST: &str = "lost";

fn note_loss(conn: &Connection, last: i64, noted: i64) -> Result<()> {
    let tx = conn.unchecked_transaction()?;
    tx.execute("DELETE FROM sqlite_sequence WHERE name = 'message'", [])?;
    tx.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('message', ?1)", [noted])?;
    tx.execute(
        "INSERT OR REPLACE INTO meta VALUES (?1, ?2)",
        (LOST, super::wal::cut_off(last, noted)),
    )?;
    Ok(tx.commit()?)
}

/// Waits for the other read, and returns its result.
pub type Wait<'a, T> = Box<dyn FnOnce() -> Result<T> + 'a>;
