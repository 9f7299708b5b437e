//! One writing process: an advisory lock on a file beside the memory, with the owner's pid in it.
//!
//! The kernel drops the lock when its process dies, however it dies; the pid is for the message.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;

use super::error::{Result, StoreError};

pub(super) const FILE_NAME: &str = "memory.lock";

/// Takes the lock, which is held as long as the file is open.
pub(super) fn lock(data_dir: &Path) -> Result<File> {
    let path = data_dir.join(FILE_NAME);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    super::open::private(&mut options);
    let mut file =
        options.open(&path).map_err(|source| StoreError::unwritable(data_dir, source))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut pid = String::new();
            // The owner may be between taking the lock and writing its pid.
            let _ = file.take(20).read_to_string(&mut pid);
            let pid = pid.trim();
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
    let write = |file: &mut File| {
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "{}", std::process::id())
    };
    write(&mut file).map_err(|source| StoreError::unwritable(data_dir, source))?;
    Ok(file)
}
