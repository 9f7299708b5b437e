//! Git's blob hash, which the hub states for small files instead of SHA-256.

use std::io;
use std::path::Path;

use sha1::{Digest, Sha1};

use super::hash::{hex, read_in_blocks};

/// `git hash-object`: SHA-1 over `blob <length>\0` and the content. It detects damage, not forgery.
pub fn git_blob_file(path: &Path) -> io::Result<String> {
    let length = path.metadata()?.len();
    let mut sha1 = Sha1::new_with_prefix(format!("blob {length}\0"));
    read_in_blocks(path, |block| sha1.update(block))?;
    Ok(hex(&sha1.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_hash_like_git() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        std::fs::write(&path, "hello\n").unwrap();
        assert_eq!(git_blob_file(&path).unwrap(), "ce013625030ba8dba906f756967f9e9ca394464a");
    }
}
