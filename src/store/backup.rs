//! Copies of the memory: made while a chat is open, checked after writing, and put back without a moment in which
//! neither the old file nor the new one is whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use encrypted_sqlite::{Secret, Target, copy_into};
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags, ffi};

use super::access::Store;
use super::error::{Result, StoreError};
use super::lock::Lock;
use super::open::{self, FILE_NAME, ReadOnly, with_suffix};
use super::records::MemoryStats;
use super::repair::{is_unplaced, place};

/// In the data directory: what `backup --auto` writes.
const FOLDER: &str = "backups";
/// How the name of a copy ends that is being written.
const PART: &str = ".part";
/// Before the process's number: a file in the data directory that names the copy it is writing.
const WRITING: &str = "memory.backing-up-";
/// A copy that is not checked yet.
pub(super) const RESTORING: &str = "memory.restoring.db";
/// The memory that a restored one takes the place of, until that is in place.
pub(super) const BEFORE: &str = "memory.before.db";

/// What a checked copy holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Copied {
    /// How much of each level.
    pub stats: MemoryStats,
    /// The file's size.
    pub bytes: u64,
    /// As of [`super::Reader::verify`]: damage that was in the original, too, or arose on the way.
    pub findings: Vec<String>,
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// Removes an unfinished copy, and what SQLite kept beside it.
pub(super) fn discard(path: &Path) -> io::Result<()> {
    remove(&with_suffix(path, "-journal"))?;
    remove(path)
}

/// Overwrites a file before it goes: it may hold what is encrypted now, or forgotten.
fn wipe(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        // What a link leads to is somebody else's.
        Ok(metadata) if !metadata.is_file() => return remove(path),
        other => other?,
    };
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NOFOLLOW);
    let mut file = options.open(path)?;
    let length = file.metadata()?.len();
    io::copy(&mut io::repeat(0).take(length), &mut file)?;
    file.sync_all()?;
    remove(path)
}

pub(super) fn sync_dir(path: &Path) -> io::Result<()> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
    File::open(dir.unwrap_or(Path::new("."))).and_then(|dir| dir.sync_all())
}

/// A passphrase opens what it is the passphrase of, and what it is not needed for.
type Key<'a> = Option<&'a Secret>;

/// Copies a snapshot of a memory into a new file (0600), one file without a log.
fn copy(from: &Path, key: Key<'_>, to: &Path, target: Target<'_>) -> Result<()> {
    let unwritable = |source: io::Error| StoreError::Sqlite {
        action: "write a copy of",
        source: format!("{}: {source}", to.display()).into(),
    };
    let own_key = open::check_header(from, key)?;
    let target = match (target, own_key) {
        // Named, because an older version's file is read from a copy in memory, which has no key.
        (Target::Same, Some(key)) => Target::Key(key),
        (target, _) => target,
    };
    let source = match open_memory(from, key)? {
        ReadOnly::File(conn, _) | ReadOnly::Own(conn) | ReadOnly::Empty(conn) => conn,
    };
    let file = open::make_new(to).map_err(unwritable)?;
    let write = || -> rusqlite::Result<()> {
        if own_key.is_some() || matches!(target, Target::Key(_)) {
            source.pragma_update(None, "query_only", false)?;
            return copy_into(&source, to, target);
        }
        // As it is, damage included.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut target = Connection::open_with_flags(to, flags)?;
        // All pages in one step: a chat may write meanwhile, and the copy is of one moment.
        if Backup::new(&source, &mut target)?.step(-1)? != StepResult::Done {
            return Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_BUSY), None));
        }
        target.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(()))?;
        target.close().map_err(|(_, error)| error)
    };
    write().map_err(|e| StoreError::Sqlite { action: "write a copy of", source: Box::new(e) })?;
    if is_encrypted_file(to)? != matches!(target, Target::Key(_)) {
        return Err(StoreError::invalid("the copy is not encrypted as it should be"));
    }
    file.sync_all().map_err(unwritable)
}

/// Opens a file for reading. One that holds no memory is refused: put in the place of one, it would be a loss.
fn open_memory(path: &Path, key: Key<'_>) -> Result<ReadOnly> {
    match open::read_only(path, key).map_err(|e| e.within("read", path))? {
        ReadOnly::Empty(_) => Err(StoreError::corrupt(path, "it holds no memory")),
        opened => Ok(opened),
    }
}

pub(super) fn check(path: &Path, key: Key<'_>) -> Result<Copied> {
    let bytes = fs::metadata(path).map_err(|e| StoreError::unwritable(path, e))?.len();
    let store = Store::read_only_of(open_memory(path, key)?, path)?;
    store.read(|r| Ok(Copied { stats: r.stats()?, bytes, findings: r.verify()? }))
}

fn original(data_dir: &Path) -> Result<Option<PathBuf>> {
    let path = data_dir.join(FILE_NAME);
    open::check_presence(&path)?;
    Ok(path.exists().then_some(path))
}

/// Copies the memory in `data_dir` to a new file, also while another process writes, and checks the copy. `None` if there
/// is no memory. An encrypted memory's copy has its passphrase, another's that of `encrypt`.
///
/// # Errors
/// If `to` exists ([`StoreError::Invalid`]), the memory cannot be read or the copy not be written.
pub fn backup(
    data_dir: &Path,
    key: Key<'_>,
    to: &Path,
    encrypt: Key<'_>,
) -> Result<Option<Copied>> {
    let Some(from) = original(data_dir)? else { return Ok(None) };
    let taken = || StoreError::invalid(format!("{} is there already", to.display()));
    if to.symlink_metadata().is_ok() {
        return Err(taken());
    }
    // Nobody else's: two may write at once.
    let pid = std::process::id();
    let part = with_suffix(to, &format!(".{pid}{PART}"));
    // Killed meanwhile, this leaves a whole copy somewhere: whoever opens the memory next finds by this that it is there.
    let note = data_dir.join(format!("{WRITING}{pid}"));
    let held = std::path::absolute(&part).and_then(|part| {
        let mut file = fs::File::create(&note)?;
        // As long as it is locked, somebody writes.
        let _ = file.try_lock();
        io::Write::write_all(&mut file, part.as_os_str().as_encoded_bytes())?;
        Ok(file)
    });
    let publish = || -> io::Result<()> {
        // A link overwrites nothing; file systems without links get the next best.
        match fs::hard_link(&part, to) {
            Ok(()) => fs::remove_file(&part)?,
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => return Err(e),
            Err(_) => fs::rename(&part, to)?,
        }
        sync_dir(to)
    };
    let is_plain = open::check_header(&from, key)?.is_none();
    let (target, key) = match encrypt {
        Some(new) if is_plain => (Target::Key(new), encrypt),
        _ => (Target::Same, key),
    };
    let written =
        copy(&from, key, &part, target).and_then(|()| check(&part, key)).and_then(|copied| {
            publish().map_err(|e| match e.kind() {
                io::ErrorKind::AlreadyExists => taken(),
                _ => StoreError::unwritable(to, e),
            })?;
            Ok(copied)
        });
    if written.is_err() {
        let _ = discard(&part);
    }
    let _ = remove(&note);
    drop(held);
    written.map(Some)
}

/// The unfinished copy that a note names, unless it is being written.
#[cfg(unix)]
fn discard_unfinished(note: &Path, pid: &str) -> io::Result<()> {
    use std::os::unix::{ffi::OsStringExt as _, fs::MetadataExt as _};
    if fs::File::open(note)?.try_lock().is_err() {
        return Ok(());
    }
    let part = PathBuf::from(std::ffi::OsString::from_vec(fs::read(note)?));
    // Nothing but what a backup makes, and not where it has its final name as well.
    if part.to_string_lossy().ends_with(&format!(".{pid}{PART}")) {
        let is_published = fs::symlink_metadata(&part).is_ok_and(|of| of.nlink() > 1);
        for path in
            [with_suffix(&part, "-journal"), with_suffix(&part, "-wal"), with_suffix(&part, "-shm")]
        {
            wipe(&path)?;
        }
        if is_published { remove(&part)? } else { wipe(&part)? }
    }
    remove(note)
}

/// Whether a name in the folder is that of a finished copy, rather than of one that was cut off.
fn is_backup(name: &str) -> Option<bool> {
    let (stamp, rest) = name.strip_prefix("memory-")?.split_at_checked("20260101T000000".len())?;
    let is_stamp = stamp.bytes().all(|b| b.is_ascii_digit() || b == b'T');
    match rest {
        ".db" if is_stamp => Some(true),
        _ if is_stamp && rest.starts_with(".db.") => Some(false),
        _ => None,
    }
}

/// The copies in `backups` in the data directory, oldest first, unfinished ones too.
///
/// # Errors
/// If the folder cannot be read.
pub fn backups(data_dir: &Path) -> Result<Vec<PathBuf>> {
    let folder = data_dir.join(FOLDER);
    let is_ours = |name: &str| is_backup(name).is_some();
    let mut found = Vec::new();
    match fs::read_dir(&folder) {
        Ok(entries) => {
            for entry in entries {
                let path = entry.map_err(|e| StoreError::unwritable(&folder, e))?.path();
                found.extend(
                    path.file_name().and_then(|n| n.to_str()).is_some_and(is_ours).then_some(path),
                );
            }
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => return Err(StoreError::unwritable(&folder, e)),
    }
    found.sort_unstable();
    Ok(found)
}

/// As [`backup`], into `backups` in the data directory under a name made of `stamp`, of which the newest `keep` stay.
///
/// # Errors
/// As [`backup`].
pub fn backup_to_folder(
    data_dir: &Path,
    key: Key<'_>,
    stamp: &str,
    keep: usize,
) -> Result<Option<(PathBuf, Copied)>> {
    if original(data_dir)?.is_none() {
        return Ok(None);
    }
    open::make_dir(&data_dir.join(FOLDER))?;
    let to = data_dir.join(FOLDER).join(format!("memory-{stamp}.db"));
    let Some(copied) = backup(data_dir, key, &to, None)? else { return Ok(None) };
    // A damaged copy pushes no sound one out.
    if copied.findings.is_empty() {
        let finished = |path: &PathBuf| {
            path.file_name().and_then(|name| is_backup(name.to_str()?)).unwrap_or_default()
        };
        let all: Vec<PathBuf> =
            backups(data_dir)?.into_iter().filter(finished).filter(|path| *path != to).collect();
        for old in &all[..all.len().saturating_sub(keep.saturating_sub(1))] {
            remove(old).map_err(|e| StoreError::unwritable(old, e))?;
        }
    }
    Ok(Some((to, copied)))
}

/// Puts a copy in the place of the memory in `data_dir`. The old memory stays until the new one is checked and in its place.
///
/// # Errors
/// [`StoreError::Invalid`] if there is a memory and not `replace`, or if the copy is damaged and would take the place of
/// one; [`StoreError::Locked`], [`StoreError::Newer`], or if a file cannot be read or written.
pub fn restore(
    from: &Path,
    key: Key<'_>,
    data_dir: &Path,
    replace: bool,
    wait: Duration,
) -> Result<Copied> {
    let is_there = fs::metadata(from)
        .and_then(|m| if m.len() == 0 { Err(io::ErrorKind::InvalidData.into()) } else { Ok(()) });
    is_there.map_err(|source| StoreError::Sqlite {
        action: "read the backup of",
        source: format!("{}: {source}", from.display()).into(),
    })?;
    open::make_dir(data_dir)?;
    let held = Lock::alone(data_dir, wait)?;
    finish(data_dir)?;
    let path = data_dir.join(FILE_NAME);
    let has_memory = has_memory(&path);
    if has_memory && !replace {
        return Err(StoreError::invalid(
            "there is a memory here already, and nothing is overwritten",
        ));
    }
    let new = data_dir.join(RESTORING);
    let checked =
        copy(from, key, &new, Target::Same).and_then(|()| check(&new, key)).and_then(|copied| {
            match copied.findings.first() {
                Some(first) if has_memory => Err(StoreError::invalid(format!(
                    "the backup is damaged ({}: {first}), so the memory stays as it is",
                    copied.findings.len()
                ))),
                _ => Ok(copied),
            }
        });
    if checked.is_err() {
        let _ = discard(&new);
    }
    let copied = checked?;
    settle(&path, key)?;
    held.begin()
        .and_then(|()| put_in_place(&new, data_dir))
        .map_err(|e| StoreError::unwritable(data_dir, e))?;
    drop(held);
    // Takes the old one away, and brings the new one up to date; a chat that was quicker does the same.
    match Store::open_with(data_dir, key, wait) {
        Err(StoreError::Locked { .. }) | Ok(_) => Ok(copied),
        Err(e) => Err(e),
    }
}

/// Whether replacing a memory's file is going on, or was cut off.
pub fn is_replacing(data_dir: &Path) -> bool {
    [BEFORE, RESTORING].iter().any(|name| data_dir.join(name).exists()) || is_unplaced(data_dir)
}

/// Ends what was cut off while a memory's file was replaced: nothing of the old one stays beside the new one.
///
/// # Errors
/// [`StoreError::Locked`], or if a file cannot be written.
pub fn end_replacing(data_dir: &Path, wait: Duration) -> Result<()> {
    if !is_replacing(data_dir) {
        return Ok(());
    }
    let _held = Lock::alone(data_dir, wait)?;
    finish(data_dir)
}

/// Whether the memory in `data_dir` is encrypted.
///
/// # Errors
/// If it is no memory, or cannot be read.
pub fn is_encrypted(data_dir: &Path) -> Result<bool> {
    let Some(path) = original(data_dir)? else { return Ok(false) };
    is_encrypted_file(&path)
}

/// Whether a memory's file is encrypted.
///
/// # Errors
/// If it is no memory, or cannot be read.
pub fn is_encrypted_file(path: &Path) -> Result<bool> {
    match open::check_header(path, None) {
        Err(StoreError::NeedsPassphrase { .. }) => Ok(true),
        other => other.map(|_| false),
    }
}

/// Writes the memory anew with another passphrase, or without one. The old file stays until the new one is checked and in
/// its place; then its bytes are overwritten. (What a disk keeps of overwritten blocks is beyond a program.)
///
/// # Errors
/// If there is no memory or it is damaged, [`StoreError::Locked`], [`StoreError::WrongPassphrase`], or if a file cannot
/// be written.
pub fn encrypt(data_dir: &Path, key: Key<'_>, new: Key<'_>, wait: Duration) -> Result<Copied> {
    // Forgotten text, an older schema: nothing is left to do later.
    let store = Store::open_with(data_dir, key, wait)?;
    store.scrub()?;
    drop(store);
    let held = Lock::alone(data_dir, wait)?;
    let to = data_dir.join(RESTORING);
    let target = new.map_or(Target::Plain, Target::Key);
    let checked = copy(&data_dir.join(FILE_NAME), key, &to, target).and_then(|()| check(&to, new));
    let checked = checked.and_then(|copied| match copied.findings.first() {
        Some(first) => Err(StoreError::invalid(format!(
            "the memory is damaged ({first}), so it stays as it is"
        ))),
        None => Ok(copied),
    });
    if checked.is_err() {
        let _ = discard(&to);
    }
    let copied = checked?;
    settle(&data_dir.join(FILE_NAME), key)?;
    put_in_place(&to, data_dir).map_err(|e| StoreError::unwritable(data_dir, e))?;
    finish(data_dir)?;
    drop(held);
    Ok(copied)
}

/// Before a memory's file goes: nobody reads it any more, and its log is in it. What cannot be opened is left as it is.
fn settle(path: &Path, key: Key<'_>) -> Result<()> {
    if fs::symlink_metadata(path).is_ok_and(|m| m.is_symlink()) {
        return Err(StoreError::invalid(format!(
            "{} is a link: put the file itself there first",
            path.display()
        )));
    }
    if !path.exists() {
        return Ok(());
    }
    let Ok(conn) = open::check_header(path, key).and_then(|key| open::writer(path, key)) else {
        return Ok(());
    };
    let settled: rusqlite::Result<String> =
        conn.pragma_update_and_check(None, "journal_mode", "DELETE", |row| row.get(0));
    match settled {
        Ok(mode) if mode == "delete" => Ok(()),
        Err(e) if e.sqlite_error_code() != Some(rusqlite::ErrorCode::DatabaseBusy) => Ok(()),
        _ => Err(StoreError::invalid(
            "another program is reading the memory: try again when it has ended",
        )),
    }
}

/// Whether anything would be lost; what cannot be read counts.
fn has_memory(path: &Path) -> bool {
    if !path.exists() && !with_suffix(path, "-wal").exists() {
        return false;
    }
    let messages =
        Store::read_only_at(path, None).and_then(|store| store.read(|r| Ok(r.stats()?.messages)));
    messages.map_or(true, |n| n > 0)
}

fn put_in_place(new: &Path, data_dir: &Path) -> io::Result<()> {
    let path = data_dir.join(FILE_NAME);
    rename_all(&path, &data_dir.join(BEFORE))?;
    fs::rename(new, &path)?;
    sync_dir(&path)
}

/// A database, and what SQLite keeps beside it.
const SUFFIXES: [&str; 3] = ["", "-wal", "-shm"];

/// Renames a database with what SQLite keeps beside it, as far as they are there.
pub(super) fn rename_all(from: &Path, to: &Path) -> io::Result<()> {
    let all = SUFFIXES.map(|suffix| (with_suffix(from, suffix), with_suffix(to, suffix)));
    all.iter().filter(|(from, _)| from.exists()).try_for_each(|(from, to)| fs::rename(from, to))
}

/// Ends a restoring that was cut off: the old memory is back, or the new one is alone; or a repair. For the holder of the
/// lock.
pub(super) fn finish(data_dir: &Path) -> Result<()> {
    let (path, before) = (data_dir.join(FILE_NAME), data_dir.join(BEFORE));
    let run = || -> io::Result<()> {
        place(data_dir)?;
        if path.exists() {
            if before.exists() {
                // The new name has to last before the old file goes.
                sync_dir(&path)?;
            }
            // Nothing of the old one's log may meet the new file.
            SUFFIXES.iter().try_for_each(|suffix| wipe(&with_suffix(&before, suffix)))?;
        } else if before.exists() {
            // The log before the file that it belongs to: cut off again, this is done again.
            for suffix in SUFFIXES.iter().rev() {
                let old = with_suffix(&before, suffix);
                if old.exists() {
                    fs::rename(&old, with_suffix(&path, suffix))?;
                }
            }
        }
        for entry in fs::read_dir(data_dir)?.filter_map(io::Result::ok) {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with(super::repair::ALONE) {
                for file in fs::read_dir(entry.path())?.filter_map(io::Result::ok) {
                    wipe(&file.path())?;
                }
                fs::remove_dir_all(entry.path())?;
            }
            #[cfg(unix)]
            if let Some(pid) = name.strip_prefix(WRITING) {
                // A place that is gone is no reason not to open the memory: tried again at the next start.
                let _ = discard_unfinished(&entry.path(), pid);
            }
        }
        remove(&data_dir.join(format!("{RESTORING}-journal")))?;
        wipe(&data_dir.join(RESTORING))
    };
    run().map_err(|e| StoreError::unwritable(data_dir, e))
}
