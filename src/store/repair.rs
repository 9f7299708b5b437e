//! What can be read of a damaged memory, in a new file.
//!
//! Row by row, by id: a damaged page loses its own rows and no others. What was said is taken over, and what the person
//! did by hand; everything that is made from messages is made from them again.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use encrypted_sqlite::{Secret, set_key};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension as _, Row, params_from_iter};

use super::backup::{Copied, RESTORING, check, discard, finish, rename_all, sync_dir};
use super::checksums::seal_again;
use super::error::{Result, StoreError};
use super::lock::Lock;
use super::open::{self, FILE_NAME, with_suffix};
use super::schema;

/// What came of a repair.
#[derive(Debug, Clone, PartialEq)]
pub struct Repaired {
    /// The new memory.
    pub copied: Copied,
    /// Messages that could not be read.
    pub n_lost: usize,
    /// Messages that are not as they were written.
    pub n_changed: usize,
    /// Where the damaged file is now.
    pub kept_as: PathBuf,
}

/// A table whose rows are taken over as they are, found by an integer: its name, that column, all columns.
struct Table(&'static str, &'static str, &'static str);

const SESSIONS: Table = Table(
    "session",
    "id",
    "id, title, created_ms, created_offset, imported, source, agent, pinned, parent, parent_end",
);
const MESSAGES: Table = Table(
    "message",
    "id",
    "id, session, role, speaker, content, created_ms, created_offset, external_id, complete, checksum, aside",
);
/// Corrections by the person, with a theme of their own until facts are grouped again.
const CORRECTED: Table = Table(
    "semantic",
    "id",
    "id, content, subject, attribute, created_ms, created_offset, corrected",
);
const SOURCES: Table = Table("semantic_message", "semantic", "semantic, message");
const REFUSED: Table = Table("refused", "message", "message, content");

/// How the name of a damaged file that was repaired begins.
const DAMAGED: &str = "memory.damaged-";

/// How the name of a repaired memory begins that is complete, but not yet in the damaged one's place.
const REPAIRED: &str = "memory.repaired-";

/// How the folder of a log that is read alone begins.
pub(super) const ALONE: &str = "memory.log-alone-";

/// Columns of [`MESSAGES`].
const SESSION: usize = 1;
const CHECKSUM: usize = 9;

/// A row's values; bytes that are no text become U+FFFD.
fn values(row: &Row<'_>) -> rusqlite::Result<Vec<Value>> {
    (0..row.as_ref().column_count())
        .map(|column| {
            Ok(match row.get_ref(column)? {
                ValueRef::Text(bytes) => Value::Text(String::from_utf8_lossy(bytes).into_owned()),
                other => other.try_into().unwrap_or(Value::Null),
            })
        })
        .collect()
}

impl Table {
    /// The largest id that was ever given, as far as anything says it.
    fn last(&self, source: &Connection) -> i64 {
        let of = |sql: &str| {
            source.query_row(sql, [], |row| row.get::<_, Option<i64>>(0)).ok().flatten()
        };
        let sequence = of(&format!("SELECT seq FROM sqlite_sequence WHERE name = '{}'", self.0));
        sequence.max(of(&format!("SELECT max({}) FROM {}", self.1, self.0))).unwrap_or(0)
    }

    /// The rows with ids from 1 to `last`, and how many ids could not be read.
    fn rows(&self, source: &Connection, last: i64) -> (Vec<Vec<Value>>, usize) {
        let Self(name, id, columns) = self;
        // An older version's file lacks some.
        let known = source
            .prepare("SELECT name FROM pragma_table_info(?1)")
            .and_then(|mut s| {
                s.query_map([name], |row| row.get(0))?.collect::<rusqlite::Result<Vec<String>>>()
            })
            .unwrap_or_default();
        let wanted =
            columns.split(", ").map(|c| if known.iter().any(|k| k == c) { c } else { "NULL" });
        let wanted: Vec<&str> = wanted.collect();
        let sql = format!("SELECT {} FROM {name} WHERE {id} = ?1", wanted.join(", "));
        let (mut rows, mut n_lost) = (Vec::new(), 0);
        for id in 1..=last {
            let found = source.prepare_cached(&sql).and_then(|mut statement| {
                statement.query_map([id], values)?.collect::<rusqlite::Result<Vec<_>>>()
            });
            match found {
                Ok(found) => rows.extend(found),
                Err(_) => n_lost += 1,
            }
        }
        (rows, n_lost)
    }

    /// Returns whether the new memory takes the row.
    fn insert(&self, target: &Connection, row: &[Value]) -> Result<bool> {
        let Self(name, _, columns) = self;
        let places = vec!["?"; row.len()].join(", ");
        let sql = format!("INSERT OR IGNORE INTO {name} ({columns}) VALUES ({places})");
        match target.prepare_cached(&sql)?.execute(params_from_iter(row)) {
            Ok(n) => Ok(n > 0),
            Err(rusqlite::Error::SqliteFailure(e, _))
                if e.code == ErrorCode::ConstraintViolation =>
            {
                Ok(false)
            }
            Err(e) => Err(e.into()),
        }
    }
}

/// Makes a new memory of what can be read of the one in `data_dir`, and keeps the damaged file under a name with `stamp`.
///
/// # Errors
/// If there is no memory, [`StoreError::Locked`], a passphrase is missing or wrong, the file is no database at all, or the new one
/// cannot be written.
pub fn repair(
    data_dir: &Path,
    key: Option<&Secret>,
    stamp: &str,
    wait: Duration,
) -> Result<Repaired> {
    let path = data_dir.join(FILE_NAME);
    let held = Lock::alone(data_dir, wait)?;
    finish(data_dir)?;
    let alone = log_alone(&path).map_err(|e| StoreError::unwritable(data_dir, e))?;
    if alone.is_none() && !path.exists() {
        return Err(StoreError::invalid("there is no memory here"));
    }
    let source =
        alone.as_ref().map_or_else(|| path.clone(), |folder| folder.path().join(FILE_NAME));
    // Shorter than its header says: what is left can be read.
    let key = match open::check_header(&source, key) {
        Err(StoreError::Corrupt { .. }) => None,
        other => other?,
    };
    let new = data_dir.join(RESTORING);
    let made = open_damaged(&source, key).map_err(|e| e.within("read", &path)).and_then(|source| {
        discard(&new).map_err(|e| StoreError::unwritable(&new, e))?;
        let counts = make(&source, &new, key).map_err(|e| e.within("write", &new))?;
        Ok((counts, check(&new, key)?))
    });
    let ((n_lost, n_changed), copied) = match made {
        Ok(made) => made,
        Err(error) => {
            let _ = discard(&new);
            return Err(error);
        }
    };
    let repaired = data_dir.join(format!("{REPAIRED}{stamp}.db"));
    let put = || -> std::io::Result<PathBuf> {
        held.begin()?;
        fs::rename(&new, &repaired)?;
        put_in_place(&repaired, data_dir, stamp)
    };
    let kept_as = put().map_err(|e| StoreError::unwritable(data_dir, e))?;
    Ok(Repaired { copied, n_lost, n_changed, kept_as })
}

/// A repaired memory takes the damaged one's place, whose new name is returned. Cut off, it is done again.
fn put_in_place(repaired: &Path, data_dir: &Path, stamp: &str) -> std::io::Result<PathBuf> {
    let path = data_dir.join(FILE_NAME);
    let kept_as = data_dir.join(format!("{DAMAGED}{stamp}.db"));
    rename_all(&path, &kept_as)?;
    fs::rename(repaired, &path)?;
    sync_dir(&path)?;
    Ok(kept_as)
}

/// The repaired memory whose repair was cut off before it was in its place, with its stamp.
fn unplaced(data_dir: &Path) -> Option<(PathBuf, String)> {
    fs::read_dir(data_dir).ok()?.filter_map(std::io::Result::ok).find_map(|entry| {
        let name = entry.file_name();
        let stamp = name.to_str()?.strip_prefix(REPAIRED)?.strip_suffix(".db")?;
        Some((entry.path(), stamp.to_owned()))
    })
}

/// Whether a repair was cut off when the new memory was complete.
pub(super) fn is_unplaced(data_dir: &Path) -> bool {
    unplaced(data_dir).is_some()
}

/// Ends such a repair. For the holder of the lock.
pub(super) fn place(data_dir: &Path) -> std::io::Result<()> {
    match unplaced(data_dir) {
        Some((repaired, stamp)) => put_in_place(&repaired, data_dir, &stamp).map(drop),
        None => Ok(()),
    }
}

/// The damaged files that repairs have kept in the data directory.
///
/// # Errors
/// If the folder cannot be read.
pub fn damaged_copies(data_dir: &Path) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(data_dir) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|e| StoreError::unwritable(data_dir, e))?,
    };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(DAMAGED) && (name.ends_with(".db") || name.ends_with(".db-wal"))
    };
    Ok(paths.filter(is_ours).collect())
}

/// Where a log has lost its file, SQLite deletes it unread: a copy of it beside an empty page, for its own pages to take the
/// place of. The folder goes with the value.
fn log_alone(path: &Path) -> std::io::Result<Option<tempfile::TempDir>> {
    let is_empty = fs::metadata(path).map_or(true, |metadata| metadata.len() == 0);
    let log = with_suffix(path, "-wal");
    if !is_empty || !log.exists() {
        return Ok(None);
    }
    let folder =
        tempfile::Builder::new().prefix(ALONE).tempdir_in(path.parent().unwrap_or(path))?;
    let copy = folder.path().join(FILE_NAME);
    fs::copy(&log, with_suffix(&copy, "-wal"))?;
    let mut header = [0; 12];
    std::io::Read::read_exact(&mut fs::File::open(&log)?, &mut header)
        .or_else(|e| if e.kind() == std::io::ErrorKind::UnexpectedEof { Ok(()) } else { Err(e) })?;
    let page = u32::from_be_bytes([header[8], header[9], header[10], header[11]]);
    fs::write(&copy, vec![0; page.clamp(512, 65536) as usize])?;
    Ok(Some(folder))
}

/// With what can be read of the schema.
fn open_damaged(path: &Path, key: Option<&Secret>) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    if let Some(key) = key {
        set_key(&conn, key)?;
    }
    // SQLite then takes the schema for loaded, whatever is wrong with it.
    conn.execute_batch("PRAGMA writable_schema = ON; PRAGMA trusted_schema = OFF;")?;
    conn.query_row("SELECT count(*) FROM session WHERE id = 0", [], |_| Ok(())).map_err(
        |e| match e.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) if key.is_some() => {
                StoreError::WrongPassphrase { path: path.display().to_string() }
            }
            _ => e.into(),
        },
    )?;
    Ok(conn)
}

/// Returns how many messages were lost, and how many had changed.
fn make(source: &Connection, new: &Path, key: Option<&Secret>) -> Result<(usize, usize)> {
    open::make_new(new).map_err(|e| StoreError::unwritable(new, e))?;
    let mut target = Connection::open(new)?;
    if let Some(key) = key {
        set_key(&target, key)?;
    }
    schema::migrate(&mut target)?;
    let tx = target.transaction()?;
    for (table, sql) in [
        ("setting", "SELECT key, value FROM setting"),
        ("meta", "SELECT key, value FROM meta WHERE key IN ('embedder', 'dimensions')"),
    ] {
        let rows = source
            .prepare(sql)
            .and_then(|mut s| s.query_map([], values)?.collect::<rusqlite::Result<Vec<_>>>());
        for row in rows.unwrap_or_default() {
            Table(table, "key", "key, value").insert(&tx, &row)?;
        }
    }
    for row in SESSIONS.rows(source, SESSIONS.last(source)).0 {
        SESSIONS.insert(&tx, &row)?;
    }
    let (messages, mut n_lost) = MESSAGES.rows(source, MESSAGES.last(source));
    let (mut n_changed, mut sessions) = (0, BTreeSet::new());
    for row in messages {
        if let (Value::Integer(session), Value::Integer(at), Value::Integer(offset)) =
            (&row[SESSION], &row[5], &row[6])
        {
            // Of a chat whose own row is gone.
            tx.execute(
                "INSERT OR IGNORE INTO session (id, title, created_ms, created_offset, imported)
                 VALUES (?1, 'Recovered', ?2, ?3, 0)",
                [session, at, offset],
            )?;
            sessions.insert(*session);
        }
        let is_there = MESSAGES.insert(&tx, &row)?;
        n_lost += usize::from(!is_there);
        let before = match row[CHECKSUM] {
            Value::Integer(sum) => Some(sum),
            _ => None,
        };
        if let (true, Value::Integer(id)) = (is_there, &row[0]) {
            n_changed += usize::from(!seal_again(&tx, *id, before)?);
        }
    }
    by_hand(source, &tx)?;
    for session in sessions {
        tx.execute("INSERT INTO job (kind, subject) VALUES ('close', ?1)", [session])?;
    }
    tx.execute("INSERT INTO job (kind, subject) VALUES ('reembed', 0)", [])?;
    tx.commit()?;
    target.close().map_err(|(_, error)| error)?;
    fs::File::open(new)
        .and_then(|file| file.sync_all())
        .map_err(|e| StoreError::unwritable(new, e))?;
    Ok((n_lost, n_changed))
}

/// Corrected facts with the messages that they come from, and what the person struck out.
fn by_hand(source: &Connection, tx: &Connection) -> Result<()> {
    let is_known = "SELECT 1 FROM meta WHERE key = 'dimensions'";
    if tx.query_row(is_known, [], |_| Ok(())).optional()?.is_some() {
        let (sources, _) = SOURCES.rows(source, CORRECTED.last(source));
        for row in CORRECTED.rows(source, CORRECTED.last(source)).0 {
            let (Some(Value::Integer(id)), Some(Value::Integer(1))) = (row.first(), row.last())
            else {
                continue;
            };
            let from: Vec<_> =
                sources.iter().filter(|pair| pair[0] == Value::Integer(*id)).collect();
            let there = "SELECT count(*) FROM message WHERE id = ?1";
            let is_there = |pair: &&&Vec<Value>| {
                tx.query_row(there, [&pair[1]], |row| row.get::<_, i64>(0)).is_ok_and(|n| n > 0)
            };
            let from: Vec<_> = from.iter().filter(is_there).collect();
            if from.is_empty() {
                continue;
            }
            tx.execute("INSERT INTO theme (name) VALUES ('unnamed')", [])?;
            let theme = tx.last_insert_rowid();
            let mut row = row.clone();
            row.push(Value::Integer(theme));
            let columns =
                "id, content, subject, attribute, created_ms, created_offset, corrected, theme";
            if !Table("semantic", "id", columns).insert(tx, &row)? {
                tx.execute("DELETE FROM theme WHERE id = ?1", [theme])?;
                continue;
            }
            tx.execute("INSERT INTO theme_history VALUES (?1, ?2)", [*id, theme])?;
            tx.execute("INSERT INTO job (kind, subject) VALUES ('name_theme', ?1)", [theme])?;
            for pair in from {
                SOURCES.insert(tx, pair)?;
            }
        }
    }
    for row in REFUSED.rows(source, MESSAGES.last(source)).0 {
        REFUSED.insert(tx, &row)?;
    }
    Ok(())
}
