//! Opening the file: private permissions, the checks before SQLite may touch it, the pragmas.
//!
//! Whatever is wrong with a file is reported; nothing is ever deleted, renamed or overwritten.

use std::fmt::Write;
use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use encrypted_sqlite::{Secret, set_key};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::error::{Result, StoreError};
use super::extension;
use super::schema::{self, Age};

pub(super) const FILE_NAME: &str = "memory.db";

/// The database, and what SQLite keeps beside it while it is open.
pub const FILES: [&str; 3] = [FILE_NAME, "memory.db-wal", "memory.db-shm"];

/// How long a connection waits for another's lock. Writers never meet (one mutex in a process, one turn among processes);
/// this is for checkpoints beside readers, and for the last connection of another process, which removes the log.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// Files made with these options may be read and written by their owner only.
pub(super) fn private(options: &mut OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    #[cfg(not(unix))]
    let _ = options;
}

#[cfg(unix)]
fn restrict(path: &Path, mode: u32) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let metadata = fs::metadata(path)?;
    if metadata.permissions().mode() & 0o777 == mode {
        return Ok(());
    }
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn restrict(_: &Path, _: u32) -> std::io::Result<()> {
    Ok(())
}

/// Makes the data directory, 0700. One that is there already keeps its mode, unless it is empty:
/// somebody's `/tmp` is not ours to close.
pub(super) fn make_dir(data_dir: &Path) -> Result<()> {
    let unwritable = |source| StoreError::unwritable(data_dir, source);
    let is_new = match fs::read_dir(data_dir) {
        Ok(mut entries) => entries.next().is_none(),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            let mut builder = fs::DirBuilder::new();
            builder.recursive(true);
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.create(data_dir).map_err(unwritable)?;
            true
        }
        Err(e) => return Err(unwritable(e)),
    };
    if is_new {
        restrict(data_dir, 0o700).map_err(unwritable)?;
    }
    Ok(())
}

/// Makes the file, 0600, before SQLite sees it: `-wal` and `-shm` take their mode from it.
pub(super) fn make_file(data_dir: &Path) -> Result<PathBuf> {
    let path = data_dir.join(FILE_NAME);
    let unwritable = |source| StoreError::unwritable(data_dir, source);
    let existed = path.exists();
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    private(&mut options);
    options.open(&path).map_err(unwritable)?;
    for name in FILES {
        let file = data_dir.join(name);
        if file.exists() {
            restrict(&file, 0o600).map_err(unwritable)?;
        }
    }
    if !existed {
        // The directory entry has to outlive a power cut as well.
        File::open(data_dir).and_then(|dir| dir.sync_all()).map_err(unwritable)?;
    }
    Ok(path)
}

/// Bytes that may still be written in this folder; `None` if the system doesn't say.
pub fn space_left(folder: &Path) -> Option<u64> {
    #[cfg(unix)]
    return rustix::fs::statvfs(folder).ok().map(|of| of.f_bavail.saturating_mul(of.f_frsize));
    #[cfg(not(unix))]
    return None;
}

/// What SQLite calls a file that belongs to this one.
pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Makes a new private file, which nobody else has.
pub(super) fn make_new(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    private(&mut options);
    options.open(path)
}

fn wal_has_content(path: &Path) -> bool {
    fs::metadata(with_suffix(path, "-wal")).is_ok_and(|m| m.len() > 0)
}

/// Refuses a directory whose memory is empty or gone although there was one: SQLite would begin a new one, and throw away
/// a write-ahead log that has lost its file.
pub(super) fn check_presence(path: &Path) -> Result<()> {
    let is_there = match fs::metadata(path) {
        Ok(metadata) => metadata.len() > 0,
        Err(e) => e.kind() != std::io::ErrorKind::NotFound,
    };
    let was_made = || path.parent().is_some_and(super::lock::was_made);
    if is_there || !wal_has_content(path) && !was_made() {
        return Ok(());
    }
    if path.with_file_name(super::backup::BEFORE).exists() {
        return Err(StoreError::corrupt(
            path,
            "a restore was cut off: `inglenook` (or any command that writes) puts the old memory back",
        ));
    }
    if path.parent().is_some_and(super::repair::is_unplaced) {
        return Err(StoreError::corrupt(
            path,
            "a repair was cut off: `inglenook` (or any command that writes) puts the new memory in its place",
        ));
    }
    let what = if path.exists() { "empty" } else { "gone" };
    let lock = super::lock::FILE_NAME;
    Err(StoreError::corrupt(
        path,
        format!(
            "it is {what}, but there was a memory here. To begin a new one, delete {lock} too (and memory.db-wal, \
             which may hold the last messages)"
        ),
    ))
}

/// Refuses a file that is not an SQLite database, or is shorter than its header says. Returns the key if the file needs it.
///
/// With a write-ahead log beside it the length means nothing (a crash during a checkpoint), and
/// SQLite's own checks have to do.
pub(super) fn check_header<'a>(path: &Path, key: Option<&'a Secret>) -> Result<Option<&'a Secret>> {
    let unreadable = |source: std::io::Error| StoreError::Sqlite {
        action: "read",
        source: format!("{}: {source}", path.display()).into(),
    };
    let mut file = File::open(path).map_err(unreadable)?;
    let length = file.metadata().map_err(unreadable)?.len();
    if length == 0 {
        return Ok(None);
    }
    let mut header = [0_u8; 100];
    if length < 100 || file.read_exact(&mut header).is_err() {
        return Err(StoreError::corrupt(path, "it is not an SQLite database"));
    }
    let n_right = header.iter().zip(MAGIC).filter(|(a, b)| a == b).count();
    if (MAGIC.len() / 2..MAGIC.len()).contains(&n_right) {
        return Err(StoreError::corrupt(path, "its first bytes have changed"));
    }
    // Of an encrypted file the first 16 bytes are random, and these as in any other.
    if !header.starts_with(MAGIC) && matches!(header[16..24], [_, _, 1 | 2, 1 | 2, _, 64, 32, 32]) {
        let needed = || StoreError::NeedsPassphrase { path: path.display().to_string() };
        return key.ok_or_else(needed).map(Some);
    }
    if !header.starts_with(MAGIC) {
        return Err(StoreError::corrupt(path, "it is not an SQLite database"));
    }
    let page_size = match u16::from_be_bytes([header[16], header[17]]) {
        1 => 65_536,
        n => u64::from(n),
    };
    let pages = u32::from_be_bytes([header[28], header[29], header[30], header[31]]);
    let expected = page_size * u64::from(pages);
    // Once more: another process may have written meanwhile.
    let length = file.metadata().map_err(unreadable)?.len();
    if length < expected && !wal_has_content(path) {
        return Err(StoreError::corrupt(
            path,
            format!("it was cut off: {length} bytes are left of {expected}"),
        ));
    }
    Ok(None)
}

/// Refuses a file to which nothing was ever written, where messages were: its log has lost them.
fn check_age(age: Age, path: &Path) -> Result<()> {
    match path.parent().and_then(super::lock::last_message) {
        Some(noted @ 1..) if age == Age::Fresh => {
            Err(StoreError::corrupt(path, super::wal::cut_off(0, noted)))
        }
        _ => Ok(()),
    }
}

fn connection(
    path: impl AsRef<Path>,
    flags: OpenFlags,
    key: Option<&Secret>,
) -> Result<Connection> {
    connection_after(path, flags, key, "")
}

/// `first` is run before anything is read.
fn connection_after(
    path: impl AsRef<Path>,
    flags: OpenFlags,
    key: Option<&Secret>,
    first: &str,
) -> Result<Connection> {
    extension::load()?;
    let path = path.as_ref();
    let conn = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    conn.execute_batch(first)?;
    if let Some(key) = key {
        set_key(&conn, key)?;
        let read = conn.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()));
        read.map_err(|e| match e.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => {
                StoreError::WrongPassphrase { path: path.display().to_string() }
            }
            _ => e.into(),
        })?;
    }
    configure(&conn)?;
    Ok(conn)
}

/// The settings of every connection. `temp_store`: sorting and `VACUUM` must not leave text in `/tmp`.
fn configure(conn: &Connection) -> Result<()> {
    conn.busy_timeout(BUSY_TIMEOUT)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    conn.execute_batch(
        "PRAGMA trusted_schema = OFF;
         PRAGMA cell_size_check = ON;
         PRAGMA temp_store = MEMORY;
         PRAGMA foreign_keys = ON;
         PRAGMA cache_size = -16000;",
    )?;
    conn.set_prepared_statement_cache_capacity(128);
    Ok(())
}

/// A connection that takes no space but the file's own: what it changes is overwritten where it stands, with the old
/// pages in memory until the commit. A power cut during one damages the file.
pub(super) fn in_place(path: &Path, key: Option<&Secret>) -> Result<Connection> {
    // Alone, so that the log needs no file of shared memory.
    let alone = "PRAGMA locking_mode = EXCLUSIVE";
    let conn = connection_after(path, OpenFlags::SQLITE_OPEN_READ_WRITE, key, alone)?;
    if schema::age(&conn, path)? != Age::Current {
        let what = "it is of an older version, and without space on the disk it can't be brought up to date";
        return Err(StoreError::invalid(what));
    }
    conn.execute_batch(
        "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA secure_delete = ON;",
    )?;
    // Writes the log back and deletes it, which frees its space.
    let mode: String =
        conn.pragma_update_and_check(None, "journal_mode", "MEMORY", |row| row.get(0))?;
    if mode != "memory" {
        return Err(StoreError::invalid("another program is reading the memory"));
    }
    Ok(conn)
}

/// Whether opening it for writing would change its schema.
pub(super) fn is_older(path: &Path, key: Option<&Secret>) -> Result<bool> {
    let conn = connection(path, OpenFlags::SQLITE_OPEN_READ_WRITE, key)?;
    Ok(schema::age(&conn, path)? == Age::Older)
}

/// The writer's connection to an existing (perhaps empty) file.
pub(super) fn writer(path: &Path, key: Option<&Secret>) -> Result<Connection> {
    let mut conn = connection(path, OpenFlags::SQLITE_OPEN_READ_WRITE, key)?;
    // Looked at before anything is changed.
    let age = schema::age(&conn, path)?;
    check_age(age, path)?;
    let mode: String =
        conn.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    if mode != "wal" {
        return Err(StoreError::invalid(format!(
            "the file system of {} allows no write-ahead log",
            path.display()
        )));
    }
    // `fullfsync`: on macOS a plain fsync ends in the drive's own cache. Elsewhere it changes nothing.
    conn.execute_batch(
        "PRAGMA synchronous = FULL;
         PRAGMA fullfsync = ON;
         PRAGMA secure_delete = ON;
         PRAGMA journal_size_limit = 16777216;",
    )?;
    if age != Age::Current {
        schema::migrate(&mut conn)?;
    }
    Ok(conn)
}

/// 6,000 KiB of cache: a question hardly reads a page twice, and another connection's commit empties the cache page by
/// page, so that a larger one gains little. (The vector index is read past the cache.)
const READING: &str = "PRAGMA query_only = ON; PRAGMA cache_size = -6000;";

/// How reading connections are opened.
#[derive(Debug, Clone, Default)]
pub(super) struct Opener {
    key: Option<Secret>,
    is_immutable: bool,
}

impl Opener {
    /// Beside a writer.
    pub(super) fn new(key: Option<&Secret>) -> Self {
        Self { key: key.cloned(), is_immutable: false }
    }

    pub(super) fn open(&self, path: &Path) -> Result<Connection> {
        if self.is_immutable {
            immutable_reader(path, self.key.as_ref())
        } else {
            reader(path, self.key.as_ref())
        }
    }
}

fn reader(path: &Path, key: Option<&Secret>) -> Result<Connection> {
    let conn = connection(path, OpenFlags::SQLITE_OPEN_READ_ONLY, key)?;
    conn.execute_batch(READING)?;
    Ok(conn)
}

/// For a directory where SQLite can't make its `-shm`: only while no log waits to be read, because
/// an immutable file's log is ignored.
fn immutable_reader(path: &Path, key: Option<&Secret>) -> Result<Connection> {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let mut uri = String::from("file:");
    for byte in absolute.as_os_str().as_encoded_bytes() {
        let _ = write!(uri, "%{byte:02X}");
    }
    uri.push_str("?immutable=1");
    let conn = connection(uri, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI, key)?;
    conn.execute_batch(READING)?;
    Ok(conn)
}

/// What a read-only opening found.
pub(super) enum ReadOnly {
    /// A file of the current version, and what opens further connections to it.
    File(Connection, Opener),
    /// A copy of an older version, brought up to date.
    Own(Connection),
    /// Nothing, or a file to which nothing was ever written: an empty memory.
    Empty(Connection),
}

pub(super) fn read_only(path: &Path, key: Option<&Secret>) -> Result<ReadOnly> {
    check_presence(path)?;
    if !path.try_exists().unwrap_or(true) {
        return in_memory().map(ReadOnly::Empty);
    }
    let usual = Opener::new(check_header(path, key)?);
    let open = |again: Opener| {
        let conn = again.open(path)?;
        let age = schema::age(&conn, path)?;
        check_age(age, path)?;
        Ok((conn, age, again))
    };
    let (conn, age, again) = match open(usual.clone()) {
        // Not where somebody writes: what is immutable is read without a lock.
        Err(error @ StoreError::Sqlite { .. }) if !wal_has_content(path) && !error.is_busy() => {
            open(Opener { is_immutable: true, ..usual })?
        }
        other => other?,
    };
    match age {
        Age::Fresh => in_memory().map(ReadOnly::Empty),
        Age::Current => Ok(ReadOnly::File(conn, again)),
        Age::Older => {
            let mut copy = memory()?;
            rusqlite::backup::Backup::new(&conn, &mut copy)?.run_to_completion(
                1024,
                Duration::ZERO,
                None,
            )?;
            schema::migrate(&mut copy)?;
            Ok(ReadOnly::Own(copy))
        }
    }
}

fn memory() -> Result<Connection> {
    extension::load()?;
    let conn = Connection::open_in_memory()?;
    configure(&conn)?;
    Ok(conn)
}

/// An empty memory without a file.
pub(super) fn in_memory() -> Result<Connection> {
    let mut conn = memory()?;
    schema::migrate(&mut conn)?;
    Ok(conn)
}
