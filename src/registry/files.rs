//! Private files and folders (0600, 0700), copies that are hashed on the way, and removal.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::error::{RegistryError, io_error};
use super::hash;

/// Creates the folder and its parents; only their owner can read those that it creates.
pub fn create_private_dir(path: &Path) -> Result<(), RegistryError> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(|e| io_error("create", path, e))
}

/// Creates a file that only its owner can read.
fn create_private_file(path: &Path) -> Result<File, RegistryError> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|e| io_error("create", path, e))
}

/// Whether the file's first bytes are these. What is not a file, such as a pipe that nobody writes to, has none.
pub fn starts_with(path: &Path, magic: [u8; 4]) -> Result<bool, RegistryError> {
    if !path.metadata().is_ok_and(|m| m.is_file()) {
        return Ok(false);
    }
    let mut first = Vec::with_capacity(magic.len());
    File::open(path)
        .and_then(|file| file.take(magic.len() as u64).read_to_end(&mut first))
        .map_err(|e| io_error("read", path, e))?;
    Ok(first == magic)
}

/// Copies at most `bytes_max` bytes of `from` into the new file `to`, and returns their SHA-256 and
/// count. `on_bytes` gets the running count.
pub fn copy_hashed(
    from: &mut dyn Read,
    to: &Path,
    bytes_max: u64,
    on_bytes: &mut dyn FnMut(u64),
) -> Result<(String, u64), RegistryError> {
    let mut file = create_private_file(to)?;
    let mut hasher = Sha256::new();
    let mut block = vec![0; 1 << 20];
    let mut bytes = 0;
    loop {
        let n = from.read(&mut block).map_err(|e| io_error("read", to, e))?;
        if n == 0 {
            break;
        }
        bytes += n as u64;
        if bytes > bytes_max {
            return Err(RegistryError::Archive {
                path: to.display().to_string(),
                reason: format!("it unpacks to more than the {bytes_max} bytes it declares"),
            });
        }
        hasher.update(&block[..n]);
        file.write_all(&block[..n]).map_err(|e| io_error("write", to, e))?;
        on_bytes(bytes);
    }
    file.sync_all().map_err(|e| io_error("write", to, e))?;
    Ok((hash::hex(&hasher.finalize()), bytes))
}

/// Deletes the file, if there is one.
pub fn remove_file(path: &Path) -> Result<(), RegistryError> {
    unless_absent(std::fs::remove_file(path), path)
}

/// Deletes the folder and everything in it, if there is one.
pub fn remove_dir(path: &Path) -> Result<(), RegistryError> {
    unless_absent(std::fs::remove_dir_all(path), path)
}

fn unless_absent(removed: std::io::Result<()>, path: &Path) -> Result<(), RegistryError> {
    match removed {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(io_error("delete", path, e)),
        _ => Ok(()),
    }
}
