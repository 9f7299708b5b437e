//! One writing process: an advisory lock on a file beside the memory, with the owner's pid in it.
//!
//! The kernel drops the lock when its process dies, however it dies; the pid is for the message. A second line says that
//! a memory was made here: if its file is empty or gone later, that is a loss and not a beginning.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;

use super::error::{Result, StoreError};

/// Beside the database.
pub const FILE_NAME: &str = "memory.lock";

/// The second line, once there is a memory.
const MADE: &str = "a memory was made here";

/// Takes the lock, which is held as long as the file is open.
pub(super) fn lock(data_dir: &Path) -> Result<File> {
    let path = data_dir.join(FILE_NAME);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    super::open::private(&mut options);
    // What a link leads to is somebody else's: nothing is written there.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NOFOLLOW);
    let mut file = options.open(&path).map_err(|source| StoreError::unwritable(&path, source))?;
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
    let was_made = is_made(&file);
    write(&mut file, was_made).map_err(|source| StoreError::unwritable(data_dir, source))?;
    Ok(file)
}

fn write(file: &mut File, made: bool) -> std::io::Result<()> {
    let mark = if made { MADE } else { "" };
    let text = format!("{}\n{mark}", std::process::id());
    file.rewind()?;
    file.write_all(text.as_bytes())?;
    file.set_len(text.len() as u64)
}

fn is_made(file: &File) -> bool {
    let mut text = String::new();
    file.take(100).read_to_string(&mut text).is_ok_and(|_| text.lines().nth(1) == Some(MADE))
}

/// Notes in the lock that there is a memory now.
pub(super) fn note_made(file: &mut File, data_dir: &Path) -> Result<()> {
    write(file, true).map_err(|source| StoreError::unwritable(data_dir, source))
}

/// Whether a memory was made in this directory.
pub(super) fn was_made(data_dir: &Path) -> bool {
    File::open(data_dir.join(FILE_NAME)).is_ok_and(|file| is_made(&file))
}
