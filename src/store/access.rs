//! The open store: one writing connection behind a mutex, reading connections beside it, and the
//! transactions that everything else here runs in.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::thread::ThreadId;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::error::{Result, StoreError};
use super::lock::Lock;
use super::open::{self, ReadOnly};
use super::search_cache::{SearchCache, SearchChanges};

/// Idle reading connections that are kept; more are opened when more threads read at once.
const IDLE_READERS_MAX: usize = 4;

const HIERARCHY: &str = "hierarchy";

/// The ids of [`Reader::of_ids`], each once, in its parameter. Joined: for `IN (SELECT …)` SQLite makes a
/// table, with a page cache of its own.
pub(super) const WANTED: &str = "(SELECT value AS wanted FROM json_each(?1))";

/// The open memory. Clones share it; safe from any thread.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    connections: Connections,
    path: PathBuf,
    generation: AtomicU64,
    /// Last, so that it outlives the connections.
    _lock: Option<Lock>,
}

enum Connections {
    /// In memory: one connection for everything.
    One(Exclusive),
    /// The readers come first: the last connection to close folds the log into the file, and a
    /// reading one can't.
    File { readers: Readers, writer: Option<Exclusive> },
}

struct Readers {
    idle: Mutex<Vec<Connection>>,
    open: fn(&Path) -> Result<Connection>,
    /// Of one thread, for what is read beside another reading. It stays: memory that a thread took is
    /// given back by the same one, and no two wait for each other's.
    beside: OnceLock<rayon::ThreadPool>,
    /// Where nobody else can write: another process's commits would not be seen.
    cache: Option<SearchCache>,
}

/// A connection that one thread has at a time. A closure that panics rolls its transaction back
/// (`Transaction`'s drop) and leaves the connection usable, so poison is ignored.
struct Exclusive {
    conn: Mutex<Connection>,
    owner: Mutex<Option<ThreadId>>,
}

struct Held<'a> {
    conn: MutexGuard<'a, Connection>,
    owner: &'a Mutex<Option<ThreadId>>,
}

fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Exclusive {
    fn new(conn: Connection) -> Self {
        Self { conn: Mutex::new(conn), owner: Mutex::new(None) }
    }

    /// Waits for other threads; its own thread would wait for ever, and gets an error.
    fn hold(&self) -> Result<Held<'_>> {
        let me = std::thread::current().id();
        if *unpoisoned(&self.owner) == Some(me) {
            return Err(StoreError::invalid("the memory is in use by the same thread already"));
        }
        let conn = unpoisoned(&self.conn);
        *unpoisoned(&self.owner) = Some(me);
        Ok(Held { conn, owner: &self.owner })
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        *unpoisoned(self.owner) = None;
    }
}

impl Readers {
    fn beside_writer() -> Self {
        Self {
            idle: Mutex::default(),
            open: open::reader,
            beside: OnceLock::new(),
            cache: Some(SearchCache::default()),
        }
    }

    fn alone(first: Connection, open: fn(&Path) -> Result<Connection>) -> Self {
        Self { idle: Mutex::new(vec![first]), open, beside: OnceLock::new(), cache: None }
    }

    fn pool(&self) -> Result<&rayon::ThreadPool> {
        if let Some(pool) = self.beside.get() {
            return Ok(pool);
        }
        let one = rayon::ThreadPoolBuilder::new().num_threads(1);
        let pool = one.thread_name(|_| "search".into()).build().map_err(|e| {
            StoreError::Sqlite { action: "start a second search of", source: Box::new(e) }
        })?;
        Ok(self.beside.get_or_init(|| pool))
    }

    /// The one given back last, or a new one.
    fn borrow(&self, path: &Path) -> Result<Borrowed<'_>> {
        let idle = unpoisoned(&self.idle).pop();
        let conn = idle.map_or_else(|| (self.open)(path), Ok)?;
        Ok(Borrowed { conn: Some(conn), readers: self })
    }
}

fn within<T>(
    conn: &Connection,
    cache: Option<&SearchCache>,
    f: impl FnOnce(&Reader<'_>) -> Result<T>,
) -> Result<T> {
    let cache = cache.map(|cache| (cache, cache.generation()));
    let snapshot = Transaction::new_unchecked(conn, TransactionBehavior::Deferred)?;
    f(&Reader { conn: &snapshot, cache })
}

/// A reading connection, given back when dropped.
struct Borrowed<'a> {
    conn: Option<Connection>,
    readers: &'a Readers,
}

impl Borrowed<'_> {
    fn read<T>(&self, f: impl FnOnce(&Reader<'_>) -> Result<T>) -> Result<T> {
        let Some(conn) = &self.conn else { return Err(StoreError::invalid("no connection")) };
        within(conn, self.readers.cache.as_ref(), f)
    }
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        let mut idle = unpoisoned(&self.readers.idle);
        if idle.len() < IDLE_READERS_MAX {
            idle.extend(self.conn.take());
        }
    }
}

impl Store {
    /// Opens (or creates, 0700/0600) the memory in `data_dir` for writing and takes the lock.
    /// Jobs that were running when the last process died are pending again.
    ///
    /// # Errors
    /// [`StoreError::Locked`] beside another writer, [`StoreError::Corrupt`], [`StoreError::Newer`],
    /// [`StoreError::Unwritable`].
    pub fn open(data_dir: &Path) -> Result<Self> {
        open::make_dir(data_dir)?;
        let lock = Lock::take(data_dir)?;
        let path = open::make_file(data_dir)?;
        open::check_header(&path)?;
        let writer = open::writer(&path).map_err(|e| e.within("open", &path))?;
        let store = Self::new(
            Connections::File {
                readers: Readers::beside_writer(),
                writer: Some(Exclusive::new(writer)),
            },
            path,
            Some(lock),
        );
        store.write(|tx| {
            tx.recover_jobs()?;
            Ok(())
        })?;
        // The last process may have died between forgetting and scrubbing.
        if store.read(|r| r.scrub_is_due())?
            && let Err(error) = store.scrub()
        {
            tracing::warn!(%error, "the scrub that was due has to wait");
        }
        Ok(store)
    }

    /// Opens for reading only, also beside a writer. A memory that does not exist yet reads as empty.
    pub fn open_read_only(data_dir: &Path) -> Result<Self> {
        let path = data_dir.join(open::FILE_NAME);
        let found = open::read_only(&path).map_err(|e| e.within("read", &path))?;
        let single = |conn: Connection| -> Result<Connections> {
            conn.execute_batch("PRAGMA query_only = ON")?;
            Ok(Connections::One(Exclusive::new(conn)))
        };
        let connections = match found {
            ReadOnly::File(conn, again) => {
                Connections::File { readers: Readers::alone(conn, again), writer: None }
            }
            ReadOnly::Nothing => single(open::in_memory()?)?,
            ReadOnly::Copy(conn) => single(conn)?,
        };
        Ok(Self::new(connections, path, None))
    }

    /// A private memory that is gone with the value: tests and `/incognito`.
    ///
    /// It has one connection: a `read` inside a `write` is refused (use the transaction itself).
    pub fn in_memory() -> Result<Self> {
        let conn = open::in_memory().map_err(|e| e.within("open", Path::new(":memory:")))?;
        Ok(Self::new(Connections::One(Exclusive::new(conn)), PathBuf::from(":memory:"), None))
    }

    fn new(connections: Connections, path: PathBuf, lock: Option<Lock>) -> Self {
        Self(Arc::new(Inner { connections, path, generation: AtomicU64::new(0), _lock: lock }))
    }

    /// Reads, in one snapshot; never waits for a writer.
    pub fn read<T>(&self, f: impl FnOnce(&Reader<'_>) -> Result<T>) -> Result<T> {
        match &self.0.connections {
            Connections::One(exclusive) => {
                exclusive.hold().and_then(|held| within(&held.conn, None, f))
            }
            Connections::File { readers, .. } => {
                readers.borrow(&self.0.path).and_then(|borrowed| borrowed.read(f))
            }
        }
        .map_err(|e| e.within("read", &self.0.path))
    }

    /// Reads, while another reading goes on beside it where the memory is a file; `f` gets what waits
    /// for that. Each has a snapshot of its own: what one finds may have gone, or come, for the other.
    pub fn read_beside<T, U: Send>(
        &self,
        beside: impl FnOnce(&Reader<'_>) -> Result<U> + Send,
        f: impl FnOnce(&Reader<'_>, Wait<'_, U>) -> Result<T>,
    ) -> Result<T> {
        let Connections::File { readers, .. } = &self.0.connections else {
            return self.read(|reader| f(reader, Box::new(|| beside(reader))));
        };
        let both = || {
            // The other is given back first: the next time each gets the connection whose cache has
            // its pages.
            let (own, other) = (readers.borrow(&self.0.path)?, readers.borrow(&self.0.path)?);
            readers.pool()?.in_place_scope(|scope| {
                let (sender, receiver) = mpsc::sync_channel(1);
                scope.spawn(move |_| {
                    let found = other.read(beside);
                    drop(other);
                    // Nobody waits for it any more: `f` failed.
                    let _ = sender.send(found);
                });
                // If it panicked, so does the scope when it ends.
                let gone = |_| Err(StoreError::invalid("the other search did not end"));
                let wait = || receiver.recv().unwrap_or_else(gone);
                own.read(|reader| f(reader, Box::new(wait)))
            })
        };
        both().map_err(|e: StoreError| e.within("read", &self.0.path))
    }

    /// One `BEGIN IMMEDIATE` transaction, durable (`synchronous=FULL`) when this returns.
    pub fn write<T>(&self, f: impl FnOnce(&mut WriteTx<'_>) -> Result<T>) -> Result<T> {
        let mut held = self.writer()?.hold()?;
        let run = || {
            let transaction =
                held.conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let mut tx = WriteTx::new(&transaction)?;
            let value = f(&mut tx)?;
            tx.before_commit()?;
            let changes = tx.search_changes;
            transaction.commit()?;
            if let Connections::File { readers, .. } = &self.0.connections
                && let Some(cache) = &readers.cache
            {
                cache.apply(changes);
            }
            Ok(value)
        };
        let value = run().map_err(|e: StoreError| e.within("write", &self.0.path))?;
        self.0.generation.fetch_add(1, Ordering::AcqRel);
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

    /// Changes whenever anything was written by this process: caches compare it.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.0.generation.load(Ordering::Acquire)
    }

    /// Truncates the WAL and vacuums what forgetting freed: afterwards no forgotten byte is in any
    /// file. (What a file system or a disk keeps of overwritten blocks is beyond a program.)
    ///
    /// # Errors
    /// If another program goes on reading: the log can't be truncated below its snapshot. The scrub
    /// stays due and is done at the next opening.
    pub fn scrub(&self) -> Result<()> {
        let held = self.writer()?.hold()?;
        // An idle reader holds no snapshot, but its page cache has forgotten text in memory.
        if let Connections::File { readers, .. } = &self.0.connections {
            unpoisoned(&readers.idle).clear();
        }
        super::scrub::scrub(&held.conn).map_err(|e| e.within("clean", &self.0.path))
    }

    /// Where the memory is; `:memory:` for a private one.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0.path
    }
}

/// Waits for the reading beside, and gives what it found.
pub type Wait<'a, T> = Box<dyn FnOnce() -> Result<T> + 'a>;

/// Reads, in one consistent snapshot.
pub struct Reader<'a> {
    pub(super) conn: &'a Connection,
    /// With its generation from before the snapshot.
    pub(super) cache: Option<(&'a SearchCache, u64)>,
}

/// A write transaction: commits when the closure returns `Ok`, leaves no trace otherwise. Reads see
/// its own writes (it derefs to [`Reader`]).
pub struct WriteTx<'a> {
    reader: Reader<'a>,
    /// Members were moved or removed: empty themes have to be looked for.
    themes_touched: bool,
    hierarchy_touched: bool,
    pub(super) search_changes: SearchChanges,
    /// A job was finished: this is the worker's transaction, not the person's.
    pub(super) is_workers: bool,
    /// Operations with greater ids were recorded by this transaction.
    pub(super) operations_before: i64,
}

impl<'a> Deref for WriteTx<'a> {
    type Target = Reader<'a>;
    fn deref(&self) -> &Reader<'a> {
        &self.reader
    }
}

impl<'a> WriteTx<'a> {
    fn new(conn: &'a Connection) -> Result<Self> {
        let reader = Reader { conn, cache: None };
        let operations_before = reader.last_id("operation")?;
        Ok(Self {
            reader,
            themes_touched: false,
            hierarchy_touched: false,
            search_changes: SearchChanges::default(),
            is_workers: false,
            operations_before,
        })
    }

    /// Before the hierarchy's geometry is changed: [`Reader::hierarchy_version`] is another from here on.
    pub(super) fn touch_hierarchy(&mut self) -> Result<()> {
        if !self.hierarchy_touched {
            let version = self.hierarchy_version()?.wrapping_add(1);
            self.set_meta(HIERARCHY, Some(&version.to_string()))?;
            self.hierarchy_touched = true;
        }
        Ok(())
    }

    /// Before members come, go or move.
    pub(super) fn touch_themes(&mut self) -> Result<()> {
        self.themes_touched = true;
        self.touch_hierarchy()
    }

    fn before_commit(&mut self) -> Result<()> {
        if self.themes_touched {
            self.remove_empty_themes()?;
        }
        Ok(())
    }
}

/// The units of these ids, in the order asked for.
///
/// # Errors
/// If one of them was not found.
pub(super) fn in_order<Id: Ord + Display, T: Clone>(
    unit: &'static str,
    ids: &[Id],
    found: &BTreeMap<Id, T>,
) -> Result<Vec<T>> {
    let of = |id| found.get(id).cloned().ok_or_else(|| StoreError::not_found(unit, id));
    ids.iter().map(of).collect()
}

impl Reader<'_> {
    /// Another whenever facts or themes came, went, moved, or have other vectors or edges: whoever keeps
    /// a copy of them compares it.
    pub fn hierarchy_version(&self) -> Result<u64> {
        Ok(self.meta(HIERARCHY)?.and_then(|text| text.parse().ok()).unwrap_or(0))
    }

    /// The greatest id that a table ever gave.
    pub(super) fn last_id(&self, table: &str) -> Result<i64> {
        let found =
            self.optional("SELECT seq FROM sqlite_sequence WHERE name = ?1", [table], |row| {
                row.get(0)
            })?;
        Ok(found.unwrap_or(0))
    }

    /// All rows of a query, by a cached statement.
    pub(super) fn all<T>(
        &self,
        sql: &str,
        params: impl rusqlite::Params,
        row: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let mut statement = self.conn.prepare_cached(sql)?;
        let rows = statement.query_map(params, row)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// The first row, if there is one.
    pub(super) fn optional<T>(
        &self,
        sql: &str,
        params: impl rusqlite::Params,
        row: impl FnOnce(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>> {
        use rusqlite::OptionalExtension;
        let mut statement = self.conn.prepare_cached(sql)?;
        Ok(statement.query_row(params, row).optional()?)
    }

    /// The rows of many ids in one query, which joins them as [`WANTED`]. Rows of a smaller id come first.
    pub(super) fn of_ids<T>(
        &self,
        sql: &str,
        ids: impl IntoIterator<Item = i64>,
        row: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let ids: BTreeSet<i64> = ids.into_iter().collect();
        let ids: Vec<i64> = ids.into_iter().collect();
        self.all(sql, [serde_json::Value::from(ids).to_string()], row)
    }

    /// Those of these units that there are; `select` reads them, without a condition.
    pub(super) fn units<Id: Ord, T>(
        &self,
        select: &str,
        ids: impl IntoIterator<Item = i64>,
        unit: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
        id: impl Fn(&T) -> Id,
    ) -> Result<BTreeMap<Id, T>> {
        let rows = self.of_ids(&format!("{select} JOIN {WANTED} ON id = wanted"), ids, unit)?;
        Ok(rows.into_iter().map(|unit| (id(&unit), unit)).collect())
    }

    pub(super) fn count(&self, sql: &str) -> Result<usize> {
        let n = self.optional(sql, [], |row| row.get::<_, i64>(0))?.unwrap_or(0);
        Ok(usize::try_from(n).unwrap_or(0))
    }

    /// One value from `meta`.
    pub(super) fn meta(&self, key: &str) -> Result<Option<String>> {
        self.optional("SELECT value FROM meta WHERE key = ?1", [key], |row| row.get(0))
    }
}

impl WriteTx<'_> {
    pub(super) fn run(&self, sql: &str, params: impl rusqlite::Params) -> Result<usize> {
        Ok(self.conn.prepare_cached(sql)?.execute(params)?)
    }

    /// Inserts a row and says its id.
    pub(super) fn insert(&self, sql: &str, params: impl rusqlite::Params) -> Result<i64> {
        Ok(self.conn.prepare_cached(sql)?.insert(params)?)
    }

    pub(super) fn set_meta(&self, key: &str, value: Option<&str>) -> Result<()> {
        match value {
            Some(value) => self.run("INSERT OR REPLACE INTO meta VALUES (?1, ?2)", [key, value])?,
            None => self.run("DELETE FROM meta WHERE key = ?1", [key])?,
        };
        Ok(())
    }
}
