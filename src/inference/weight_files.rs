//! The files that a model's weights came from, and how to tell them from others.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::weights::{Bytes, Weights};

/// The files of a model. They stay mapped, which takes no memory.
pub struct WeightFiles(Vec<Arc<Bytes>>);

impl WeightFiles {
    /// Those that `weights` were read from.
    pub fn of(weights: &Weights) -> Self {
        Self(weights.files().iter().map(|(_, bytes)| Arc::clone(bytes)).collect())
    }

    /// 64 hex digits that tell weights apart, made without reading all of them, so that a start need not wait.
    pub fn fingerprint(&self) -> String {
        let mut hasher = Sha256::new();
        for bytes in &self.0 {
            sample(bytes.as_slice(), &mut hasher);
            bytes.release(0..bytes.as_slice().len());
        }
        hex(&hasher.finalize())
    }

    /// SHA-256: the file's own, or that of the shards' hashes in order. Reads all of them.
    pub fn sha256(&self) -> String {
        let hashes: Vec<String> = self.0.iter().map(|bytes| hex(&digest(bytes))).collect();
        match hashes.as_slice() {
            [one] => one.clone(),
            several => hex(&Sha256::digest(several.concat())),
        }
    }
}

/// Hashes the length of a file, its first megabyte (names, shapes, a GGUF file's metadata) and the first page
/// of each further 256 KB.
fn sample(bytes: &[u8], hasher: &mut Sha256) {
    const HEAD: usize = 1 << 20;
    const PART: usize = 256 << 10;
    const PAGE: usize = 4 << 10;
    hasher.update((bytes.len() as u64).to_le_bytes());
    let (head, rest) = bytes.split_at(bytes.len().min(HEAD));
    hasher.update(head);
    for part in rest.chunks(PART) {
        hasher.update(&part[..part.len().min(PAGE)]);
    }
}

/// SHA-256 of a file, without keeping all of it in memory.
fn digest(bytes: &Bytes) -> [u8; 32] {
    const PART: usize = 4 << 20;
    let mut hasher = Sha256::new();
    for (index, part) in bytes.as_slice().chunks(PART).enumerate() {
        hasher.update(part);
        bytes.release(index * PART..index * PART + part.len());
    }
    hasher.finalize().into()
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut out, b| {
        let _ = write!(out, "{b:02x}");
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_tells_files_apart() {
        let of = |bytes: &[u8]| {
            let mut hasher = Sha256::new();
            sample(bytes, &mut hasher);
            hex(&hasher.finalize())
        };
        let file = vec![7u8; 3 << 20];
        assert_eq!(of(&file), of(&file.clone()));
        assert_ne!(of(&file), of(&file[1..]));
        for place in [0, (1 << 20) - 1, (1 << 20) + 5, (2 << 20) + 4095] {
            let mut other = file.clone();
            other[place] = 8;
            assert_ne!(of(&file), of(&other), "{place}");
        }
        assert_ne!(of(&[]), of(&[0]));
    }
}
