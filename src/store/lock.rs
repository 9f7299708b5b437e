//! Several processes share a memory: by advisory locks on four files beside it, which the kernel drops when their process
//! dies, however it dies.
//!
//! - `memory.lock` is held together by all that have the memory open for writing, and alone by whoever puts another file in
//!   its place. Its first line is the process that opened or wrote last, for messages where the system does not tell. A second
//!   line says that a memory was made here, a third how many messages it has been given: if the file is empty, gone or behind
//!   that later, it is a loss and not a beginning.
//! - `memory.turn` is held for as long as one transaction writes, and while the memory is opened or replaced. Nobody takes
//!   `memory.lock` without it, so that its kind can change without a gap in which another could come between.
//! - `memory.worker` is held by the process whose worker does the queued jobs.
//! - `memory.sync` is held by the process that exchanges with the person's other devices.
//!
//! docs/decisions/026-one-home-many-processes.md has the reasons.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::error::{Result, StoreError};

/// Beside the database; the first is the one that notes what was there.
pub const LOCK_FILES: [&str; 4] = [FILE_NAME, "memory.turn", WORKER, SYNC];

pub(super) const FILE_NAME: &str = "memory.lock";
const TURN: &str = LOCK_FILES[1];
const WORKER: &str = "memory.worker";
const SYNC: &str = "memory.sync";

/// How long a process waits for others before it gives up, if nothing else is said.
pub const WAIT: Duration = Duration::from_secs(10);

/// How long a transaction of a memory that is open waits for its turn: another process may import a large file.
pub(super) const TURN_WAIT: Duration = Duration::from_mins(2);

/// Pauses between two tries: the first and the longest, each twice the one before.
const PAUSES: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(16));

/// The second line, once there is a memory.
const MADE: &str = "a memory was made here";

/// What a process holds that has the memory open: it goes with the value.
pub(super) struct Lock {
    data_dir: PathBuf,
    file: File,
    turn: File,
    /// As noted in the file.
    last_message: AtomicI64,
    /// Whether nobody else had the memory open.
    is_first: bool,
}

/// The turn to write, until it is dropped.
pub(super) struct Turn<'a>(&'a File);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // Said, not left to closing: a child that another thread is just starting has the file for a moment, too.
        let _ = self.0.unlock();
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = self.turn.unlock();
        let _ = self.file.unlock();
    }
}

impl Lock {
    fn files(data_dir: &Path) -> Result<Self> {
        let (file, turn) = (open(data_dir, FILE_NAME)?, open(data_dir, TURN)?);
        let last_message = AtomicI64::new(-1);
        Ok(Self { data_dir: data_dir.to_owned(), file, turn, last_message, is_first: false })
    }

    fn wait_for_turn(&self, until: Until) -> Result<()> {
        let taken = until.repeat(|| is_taken(self.turn.try_lock()));
        match taken {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.locked()),
            Err(source) => Err(StoreError::unwritable(&self.data_dir, source)),
        }
    }

    /// To have the memory open beside others. Returns with the turn: [`Lock::end_turn`] gives it to others.
    pub(super) fn shared(data_dir: &Path, wait: Duration) -> Result<Self> {
        let mut lock = Self::files(data_dir)?;
        let mut is_first = false;
        let taken = Until::after(wait).repeat(|| {
            if !is_taken(lock.turn.try_lock())? {
                return Ok(false);
            }
            if let Some(is_alone) = lock.share()? {
                is_first = is_alone;
                return Ok(true);
            }
            lock.turn.unlock()?;
            Ok(false)
        });
        if !taken.map_err(|source| StoreError::unwritable(data_dir, source))? {
            return Err(lock.locked());
        }
        lock.is_first = is_first;
        lock.sign()?;
        Ok(lock)
    }

    /// To put another file in the memory's place, or to write it as nobody else may see it: waits until nobody has it open, and
    /// keeps the turn.
    pub(super) fn alone(data_dir: &Path, wait: Duration) -> Result<Self> {
        let mut lock = Self::files(data_dir)?;
        let taken = Until::after(wait).repeat(|| {
            if !is_taken(lock.turn.try_lock())? {
                return Ok(false);
            }
            let is_alone = is_taken(lock.file.try_lock())?;
            if !is_alone {
                // Whoever has it open may have to write before it can end.
                lock.turn.unlock()?;
            }
            Ok(is_alone)
        });
        if !taken.map_err(|source| StoreError::unwritable(data_dir, source))? {
            return Err(lock.locked());
        }
        lock.is_first = true;
        lock.sign()?;
        Ok(lock)
    }

    /// Notes this process, and what was noted before.
    fn sign(&self) -> Result<()> {
        let noted = noted(&self.file);
        self.last_message.store(noted.unwrap_or(-1), Ordering::Release);
        write(&self.file, noted).map_err(|source| StoreError::unwritable(&self.data_dir, source))
    }

    /// Whether nobody else had the memory open when it was locked.
    pub(super) fn is_first(&self) -> bool {
        self.is_first
    }

    pub(super) fn end_turn(&self) {
        let _ = self.turn.unlock();
    }

    /// Waits for the turn to write. For one thread at a time.
    pub(super) fn turn(&self) -> Result<Turn<'_>> {
        self.wait_for_turn(Until::after(TURN_WAIT))?;
        Ok(Turn(&self.turn))
    }

    /// Whether nobody else has the memory open. For the holder of the turn.
    pub(super) fn is_alone(&self) -> Result<bool> {
        let is_alone = self.share().map_err(|e| StoreError::unwritable(&self.data_dir, e))?;
        is_alone.ok_or_else(|| self.locked())
    }

    /// Holds `memory.lock` together with others; `None` if somebody holds it alone, otherwise whether nobody else holds it.
    fn share(&self) -> io::Result<Option<bool>> {
        // Changing the kind of a lock drops it first. With the turn, nobody comes between.
        self.file.unlock()?;
        let is_alone = is_taken(self.file.try_lock())?;
        if is_alone {
            self.file.unlock()?;
        }
        Ok(is_taken(self.file.try_lock_shared())?.then_some(is_alone))
    }

    pub(super) fn locked(&self) -> StoreError {
        let held = [&self.turn, &self.file].into_iter().find_map(holder);
        let pid = held.or_else(|| signed(&self.file));
        StoreError::Locked {
            path: self.data_dir.display().to_string(),
            pid: pid.map_or_else(|| "unknown".into(), |pid| pid.to_string()),
        }
    }

    /// The worker's lock, if no other process has it.
    pub(super) fn worker(&self) -> Result<Option<Work>> {
        self.work(WORKER, Duration::ZERO)
    }

    /// The lock of the exchange with other devices, if nobody has it or gives it up in time.
    pub(super) fn sync(&self, wait: Duration) -> Result<Option<Work>> {
        self.work(SYNC, wait)
    }

    fn work(&self, name: &str, wait: Duration) -> Result<Option<Work>> {
        let file = open(&self.data_dir, name)?;
        match Until::after(wait).repeat(|| is_taken(file.try_lock())) {
            Ok(taken) => Ok(taken.then_some(Work(Some(file)))),
            Err(source) => Err(StoreError::unwritable(&self.data_dir, source)),
        }
    }

    /// Notes that there is a memory, and the id of the last message that it was given, if that is beyond what is noted.
    /// To be called with the turn, after the message is on the disk.
    pub(super) fn note(&self, last: i64) -> io::Result<()> {
        let before = self.last_message.fetch_max(last, Ordering::AcqRel);
        if last > before { write(&self.file, Some(last)) } else { Ok(()) }
    }

    /// The id of the last message, as it was noted when this process opened the memory or since; -1 if there was none.
    pub(super) fn noted(&self) -> i64 {
        self.last_message.load(Ordering::Acquire)
    }

    /// Notes that another memory has taken the place of the one that was here.
    pub(super) fn begin(&self) -> io::Result<()> {
        self.last_message.store(0, Ordering::Release);
        write(&self.file, Some(0))
    }
}

/// The right to do the queued jobs, or to exchange: no other process does, until this is dropped.
pub struct Work(Option<File>);

impl Work {
    /// Of a memory that no other process can have.
    pub(super) fn of_own() -> Self {
        Self(None)
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let _ = self.0.as_ref().map(File::unlock);
    }
}

/// A point in time until which something is tried.
#[derive(Clone, Copy)]
struct Until(Option<Instant>);

impl Until {
    fn after(wait: Duration) -> Self {
        Self(Instant::now().checked_add(wait))
    }

    /// Whether `is_done` was true in time; it is asked at least once.
    fn repeat(self, mut is_done: impl FnMut() -> io::Result<bool>) -> io::Result<bool> {
        let mut pause = PAUSES.0;
        loop {
            if is_done()? {
                return Ok(true);
            }
            let left =
                self.0.map_or(pause, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Ok(false);
            }
            thread::sleep(pause.min(left));
            pause = (2 * pause).min(PAUSES.1);
        }
    }
}

fn is_taken(tried: std::result::Result<(), TryLockError>) -> io::Result<bool> {
    match tried {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(source)) => Err(source),
    }
}

fn open(data_dir: &Path, name: &str) -> Result<File> {
    let path = data_dir.join(name);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    super::open::private(&mut options);
    // What a link leads to is somebody else's: nothing is written there.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NOFOLLOW);
    options.open(&path).map_err(|source| StoreError::unwritable(&path, source))
}

/// The process that holds a lock on this file, where the system says so.
fn holder(file: &File) -> Option<u32> {
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::fs::MetadataExt as _;
        let inode = format!(":{}", file.metadata().ok()?.ino());
        // "1: FLOCK  ADVISORY  WRITE 1608 fe:00:5316619 0 EOF"; of one that waits, an arrow comes second.
        let locks = std::fs::read_to_string("/proc/locks").ok()?;
        locks.lines().find_map(|line| {
            let mut words = line.split_whitespace().skip(1);
            let is_held = words.next() == Some("FLOCK");
            let pid = words.nth(2)?;
            (is_held && words.next()?.ends_with(&inode)).then(|| pid.parse().ok()).flatten()
        })
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = file;
        None
    }
}

/// `last`: `None` before a memory was made.
fn write(mut file: &File, last: Option<i64>) -> io::Result<()> {
    let made = last.map_or_else(String::new, |last| format!("{MADE}\n{last}\n"));
    let text = format!("{}\n{made}", std::process::id());
    file.rewind()?;
    file.write_all(text.as_bytes())?;
    file.set_len(text.len() as u64)
}

fn text(mut file: &File) -> Option<String> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(100).read_to_string(&mut text).ok()?;
    Some(text)
}

/// The process that opened the memory or wrote to it last.
fn signed(file: &File) -> Option<u32> {
    text(file)?.lines().next()?.parse().ok()
}

/// `None` if no memory was made here; the last message's id, or 0 if that is not noted.
fn noted(file: &File) -> Option<i64> {
    let text = text(file)?;
    let mut lines = text.lines().skip(1);
    (lines.next() == Some(MADE)).then(|| lines.next().and_then(|n| n.parse().ok()).unwrap_or(0))
}

/// As noted in this directory: `None` if no memory was made there, otherwise the id of the last message that it was given, or 0.
pub(super) fn last_message(data_dir: &Path) -> Option<i64> {
    File::open(data_dir.join(FILE_NAME)).ok().and_then(|file| noted(&file))
}

/// Whether a memory was made in this directory.
pub(super) fn was_made(data_dir: &Path) -> bool {
    last_message(data_dir).is_some()
}
