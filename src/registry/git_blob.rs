//! Git's blob hash, which the hub states for small files instead of SHA-256.

use std::io;
use std::path::Path;

use super::hash::{hex, read_in_blocks};

/// `git hash-object`: SHA-1 over `blob <length>\0` and the content.
pub fn git_blob_file(path: &Path) -> io::Result<String> {
    let length = path.metadata()?.len();
    let mut sha1 = Sha1::new();
    sha1.update(format!("blob {length}\0").as_bytes());
    read_in_blocks(path, |block| sha1.update(block))?;
    Ok(hex(&sha1.finish()))
}

/// SHA-1 (FIPS 180-4), for git's object names only: it detects damage, not
/// forgery. Small enough not to need a dependency.
struct Sha1 {
    state: [u32; 5],
    pending: Vec<u8>,
    length: u64,
}

impl Sha1 {
    fn new() -> Self {
        let state = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
        Self { state, pending: Vec::with_capacity(64), length: 0 }
    }

    fn update(&mut self, mut data: &[u8]) {
        self.length += data.len() as u64;
        while !data.is_empty() {
            let take = data.len().min(64 - self.pending.len());
            self.pending.extend_from_slice(&data[..take]);
            data = &data[take..];
            if self.pending.len() == 64 {
                let block = std::mem::take(&mut self.pending);
                self.compress(&block);
                self.pending = block;
                self.pending.clear();
            }
        }
    }

    fn finish(mut self) -> [u8; 20] {
        let bits = self.length * 8;
        self.update(&[0x80]);
        while self.pending.len() != 56 {
            self.update(&[0]);
        }
        self.update(&bits.to_be_bytes());
        let mut out = [0; 20];
        for (bytes, word) in out.chunks_exact_mut(4).zip(self.state) {
            bytes.copy_from_slice(&word.to_be_bytes());
        }
        out
    }

    fn compress(&mut self, block: &[u8]) {
        let mut w = [0u32; 80];
        for (word, bytes) in w.iter_mut().zip(block.chunks_exact(4)) {
            *word = bytes.iter().fold(0, |word, &byte| (word << 8) | u32::from(byte));
        }
        for t in 16..80 {
            w[t] = (w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16]).rotate_left(1);
        }
        let [mut a, mut b, mut c, mut d, mut e] = self.state;
        for (t, &word) in w.iter().enumerate() {
            let (f, k) = match t {
                0..20 => ((b & c) | (!b & d), 0x5a82_7999),
                20..40 => (b ^ c ^ d, 0x6ed9_eba1),
                40..60 => ((b & c) | (b & d) | (c & d), 0x8f1b_bcdc),
                _ => (b ^ c ^ d, 0xca62_c1d6_u32),
            };
            let next =
                a.rotate_left(5).wrapping_add(f).wrapping_add(e).wrapping_add(k).wrapping_add(word);
            (e, d, c, b, a) = (d, c, b.rotate_left(30), a, next);
        }
        for (state, new) in self.state.iter_mut().zip([a, b, c, d, e]) {
            *state = state.wrapping_add(new);
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn sha1(text: &[u8]) -> String {
        let mut sha1 = Sha1::new();
        sha1.update(text);
        hex(&sha1.finish())
    }

    #[test]
    fn sha1_is_that_of_the_standard() {
        assert_eq!(sha1(b""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
        assert_eq!(sha1(b"abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
        assert_eq!(
            sha1(b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1"
        );
        assert_eq!(sha1(&vec![b'a'; 1_000_000]), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
    }

    #[test]
    fn files_hash_like_git() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        std::fs::write(&path, "hello\n").unwrap();
        assert_eq!(git_blob_file(&path).unwrap(), "ce013625030ba8dba906f756967f9e9ca394464a");
    }
}
