//! Private files and folders (0600, 0700), and copying with the hash taken on the way.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::{RegistryError, hash, io_error};

/// Makes the folder and those above it; the ones it makes are the person's alone.
pub fn create_private_dir(path: &Path) -> Result<(), RegistryError> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(|e| io_error("create", path, e))
}

/// A new file that only its owner reads.
pub fn create_private_file(path: &Path) -> Result<File, RegistryError> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|e| io_error("create", path, e))
}

/// Copies at most `bytes_max` bytes of `from` into the new file `to`; the SHA-256 and the length.
/// `on_bytes` gets the size of every block.
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
        on_bytes(n as u64);
    }
    file.sync_all().map_err(|e| io_error("write", to, e))?;
    Ok((hash::hex(&hasher.finalize()), bytes))
}
