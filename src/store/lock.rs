//! One writing process: an advisory lock on a file beside the memory, with the owner's pid in it.
//!
//! The kernel drops the lock when its process dies, however it dies; the pid is for the message. A second line says that
//! a memory was made here, a third how many messages it has been given: if the file is empty, gone or behind that later,
//! it is a loss and not a beginning.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};

use super::error::{Result, StoreError};

/// Beside the database.
pub const FILE_NAME: &str = "memory.lock";

/// The second line, once there is a memory.
const MADE: &str = "a memory was made here";

/// The held lock: it goes with the value.
pub(super) struct Lock {
    file: File,
    /// As noted in the file.
    last_message: AtomicI64,
}

impl Lock {
    /// Notes that there is a memory, and the id of the last message that it was given, if that is beyond what is noted.
    /// To be called after the message is on the disk.
    pub(super) fn note(&self, last: i64) -> std::io::Result<()> {
        let before = self.last_message.fetch_max(last, Ordering::AcqRel);
        if last > before { write(&self.file, Some(last)) } else { Ok(()) }
    }

    /// Notes that another memory has taken the place of the one that was here.
    pub(super) fn begin(&self) -> std::io::Result<()> {
        self.last_message.store(0, Ordering::Release);
        write(&self.file, Some(0))
    }
}

/// Takes the lock, which is held as long as the file is open.
pub(super) fn lock(data_dir: &Path) -> Result<Lock> {
    let path = data_dir.join(FILE_NAME);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    super::open::private(&mut options);
    // What a link leads to is somebody else's: nothing is written there.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NOFOLLOW);
    let file = options.open(&path).map_err(|source| StoreError::unwritable(&path, source))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut pid = String::new();
            // The owner may be between taking the lock and writing its pid.
            let _ = file.take(20).read_to_string(&mut pid);
            let pid = pid.lines().next().unwrap_or_default();
            let known = !pid.is_empty() && pid.bytes().all(|b| b.is_ascii_digit());
            return Err(StoreError::Locked {
                path: data_dir.display().to_string(),
                pid: if known { pid } else { "unknown" }.to_owned(),
            });
        }
        Err(TryLockError::Error(source)) => {
            return Err(StoreError::unwritable(data_dir, source));
        }
    }
    let noted = noted(&file);
    write(&file, noted).map_err(|source| StoreError::unwritable(data_dir, source))?;
    Ok(Lock { file, last_message: AtomicI64::new(noted.unwrap_or(-1)) })
}

/// `last`: `None` before a memory was made.
fn write(mut file: &File, last: Option<i64>) -> std::io::Result<()> {
    let made = last.map_or_else(String::new, |last| format!("{MADE}\n{last}\n"));
    let text = format!("{}\n{made}", std::process::id());
    file.rewind()?;
    file.write_all(text.as_bytes())?;
    file.set_len(text.len() as u64)
}

/// `None` if no memory was made here; the last message's id, or 0 if that is not noted.
fn noted(mut file: &File) -> Option<i64> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(100).read_to_string(&mut text).ok()?;
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
