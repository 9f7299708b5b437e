//! The files that a model's weights came from, and hashes that identify them.

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
#[cfg(target_os = "linux")]
use std::sync::LazyLock;

use memmap2::Mmap;
use sha2::{Digest, Sha256};

use crate::interfaces::ModelError;

/// The bytes of one file.
#[derive(Debug)]
pub enum Bytes {
    /// A mapped file.
    Mapped(Mmap),
    /// Compiled into the program.
    Static(&'static [u8]),
    /// In memory.
    Owned(Vec<u8>),
}

impl Bytes {
    /// Maps a file.
    ///
    /// # Errors
    /// [`ModelError::BadFile`] if it is missing, unreadable or not a file.
    #[expect(
        unsafe_code,
        reason = "memory-mapped weights: copying gigabytes first would double them"
    )]
    pub fn map(path: &Path) -> Result<Self, ModelError> {
        let file = File::open(path).map_err(|e| bad_file(path, unreadable(&e)))?;
        if !file.metadata().is_ok_and(|m| m.is_file()) {
            return Err(bad_file(path, "it is not a file"));
        }
        // SAFETY: the map is read-only, and this program never writes to a file that it maps: the
        // registry puts models in place by a rename and removes them whole, which leaves the map
        // as it was. Another program that truncates the file ends this one (SIGBUS), and one that
        // writes into it changes the weights, which no product checks again or needs to: any bytes
        // are blocks. Every reader that maps files accepts that. The map lives as long as
        // something reads it, such as a matrix in place ([`packed_matmul::PackedMatrix::is_in_place`]).
        let map = unsafe { Mmap::map(&file) }.map_err(|e| bad_file(path, unreadable(&e)))?;
        Ok(Self::Mapped(map))
    }

    /// Lets the system take back the memory of a part that is no longer needed. Should it be needed
    /// after all, it is read from the file again.
    #[cfg_attr(
        unix,
        expect(unsafe_code, reason = "memmap2 and rustix leave this advice to the caller")
    )]
    pub(super) fn release(&self, range: Range<usize>) {
        #[cfg(unix)]
        if let Self::Mapped(map) = self {
            // SAFETY: the map is of a file and read-only, so dropped pages come back unchanged. It is
            // advice: if it fails, nothing is lost.
            let _ = unsafe {
                map.unchecked_advise_range(
                    memmap2::UncheckedAdvice::DontNeed,
                    range.start,
                    range.len(),
                )
            };
        }
        #[cfg(target_os = "linux")]
        if let Self::Static(bytes) = self {
            /// A multiple of every page's size.
            const PAGE: usize = 1 << 16;
            let part = &bytes[range.clone()];
            let before = part.as_ptr().align_offset(PAGE).min(part.len());
            let whole = &part[before..before + (part.len() - before) / PAGE * PAGE];
            if whole.is_empty() || !is_of_file(whole) {
                return;
            }
            // SAFETY: these are whole pages of the program's file, mapped read-only, which come back unchanged as above;
            // nothing in them is written when a program is loaded, since they are bytes of this array alone.
            let _ = unsafe {
                rustix::mm::madvise(
                    whole.as_ptr().cast_mut().cast(),
                    whole.len(),
                    rustix::mm::Advice::LinuxDontNeed,
                )
            };
        }
        #[cfg(not(unix))]
        let _ = range;
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Static(bytes) => bytes,
            Self::Owned(bytes) => bytes,
        }
    }
}

/// Whether these bytes are mapped from a file and read-only: what a packer or an emulator has put into memory would not come back.
#[cfg(target_os = "linux")]
fn is_of_file(bytes: &[u8]) -> bool {
    /// Where such mappings lie. The program's own stay where they are, and no tensor reads the list again.
    static MAPPED: LazyLock<Vec<Range<usize>>> = LazyLock::new(|| {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        maps.lines().filter_map(read_only_of_file).collect()
    });
    let (first, end) = (bytes.as_ptr() as usize, bytes.as_ptr() as usize + bytes.len());
    MAPPED.iter().any(|mapped| mapped.start <= first && end <= mapped.end)
}

/// Of `55d0c0000000-55d0c8000000 r--p 00000000 fe:00 1234 /usr/bin/inglenook`, the range.
#[cfg(target_os = "linux")]
fn read_only_of_file(line: &str) -> Option<Range<usize>> {
    let mut fields = line.split_whitespace();
    let (range, rights, inode) = (fields.next()?, fields.next()?, fields.nth(2)?);
    if inode == "0" || rights.contains('w') {
        return None;
    }
    let (from, to) = range.split_once('-')?;
    Some(usize::from_str_radix(from, 16).ok()?..usize::from_str_radix(to, 16).ok()?)
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        self.as_slice()
    }
}

fn unreadable(e: &std::io::Error) -> String {
    if e.kind() == std::io::ErrorKind::NotFound {
        "there is no such file".into()
    } else {
        format!("it can't be read ({e})")
    }
}

/// [`ModelError::BadFile`].
pub(super) fn bad_file(path: &Path, reason: impl Into<String>) -> ModelError {
    let path = path.to_string_lossy().chars().filter(|c| !c.is_control()).collect();
    ModelError::BadFile { path, reason: reason.into() }
}

/// The files of a model. They stay mapped, which takes no memory.
pub struct WeightFiles(Vec<Arc<Bytes>>);

impl WeightFiles {
    /// Those that weights were read from.
    pub fn of(files: &[(PathBuf, Arc<Bytes>)]) -> Self {
        Self(files.iter().map(|(_, bytes)| Arc::clone(bytes)).collect())
    }

    /// 64 hex digits that identify the weights, made without reading all of them, so that loading need not wait.
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
