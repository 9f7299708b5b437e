//! SHA-256 of files.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Calls `each` with the file, block by block, and returns its length.
pub fn read_in_blocks(path: &Path, mut each: impl FnMut(&[u8])) -> io::Result<u64> {
    let mut file = File::open(path)?;
    let mut block = vec![0; 1 << 20];
    let mut bytes = 0;
    loop {
        let n = file.read(&mut block)?;
        if n == 0 {
            return Ok(bytes);
        }
        each(&block[..n]);
        bytes += n as u64;
    }
}

/// The file's SHA-256 and its length.
///
/// # Errors
/// If it cannot be read.
pub fn sha256_file(path: &Path) -> io::Result<(String, u64)> {
    let mut hasher = Sha256::new();
    let bytes = read_in_blocks(path, |block| hasher.update(block))?;
    Ok((hex(&hasher.finalize()), bytes))
}

/// As [`sha256_file`]; `on_bytes` gets the running count.
pub fn sha256_file_with(path: &Path, mut on_bytes: impl FnMut(u64)) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut bytes = 0;
    read_in_blocks(path, |block| {
        hasher.update(block);
        bytes += block.len() as u64;
        on_bytes(bytes);
    })?;
    Ok(hex(&hasher.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_hash_like_sha256sum() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        std::fs::write(&path, "hello\n").unwrap();
        let (sha256, bytes) = sha256_file(&path).unwrap();
        assert_eq!(sha256, "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03");
        assert_eq!(bytes, 6);
    }
}
