//! Memory for packed matrices, one after the other: most of them are smaller than a huge page, and
//! alone would get none.

use std::ops::{Deref, DerefMut, Range};
use std::sync::{Arc, Mutex, PoisonError};

use memmap2::{MmapMut, MmapRaw};

/// Bytes of a segment. Pages that are not used take no memory.
const SEGMENT_BYTES: usize = 64 << 20;
const LINE_BYTES: usize = 64;

/// Memory for the packed matrices of a model ([`crate::PackedMatrix::new`]).
///
/// It is mapped in segments of 64 MB, on huge pages where the system has them (Linux), and matrices
/// share them; a segment is freed when the last of its matrices and the arena are gone. One arena per
/// model is a good choice. `Arena::default()` has no segment yet.
#[derive(Debug, Default)]
pub struct Arena {
    /// The segment in use, and how many of its bytes are taken.
    last: Mutex<Option<(Arc<MmapRaw>, usize)>>,
}

impl Arena {
    /// `n_bytes` zeros that start on a cache line.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub(crate) fn take(&self, n_bytes: usize) -> std::io::Result<Part> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let fitting = last.take().filter(|(segment, used)| segment.len() - used >= n_bytes);
        let (segment, used) = match fitting {
            Some(segment) => segment,
            None => (Arc::new(MmapRaw::from(new_segment(n_bytes)?)), 0),
        };
        let end = (used + n_bytes).next_multiple_of(LINE_BYTES).min(segment.len());
        *last = Some((Arc::clone(&segment), end));
        Ok(Part { segment, range: used..used + n_bytes })
    }
}

fn new_segment(n_bytes: usize) -> std::io::Result<MmapMut> {
    MmapMut::map_anon(n_bytes.max(SEGMENT_BYTES))
}

/// A range of a segment that no other part overlaps: [`Arena::take`], which alone makes them, gives each
/// range out once.
#[derive(Debug)]
pub(crate) struct Part {
    segment: Arc<MmapRaw>,
    range: Range<usize>,
}

impl Part {
    /// Allows the system to use huge pages for it, when it has time. To be called once it is filled:
    /// before that, the system would clear the huge pages first, which takes three times as long as
    /// small ones on a virtual machine whose host has to find the memory.
    pub fn advise_huge_pages(&self) {
        #[cfg(target_os = "linux")]
        let _ = self.segment.advise_range(
            memmap2::Advice::HugePage,
            self.range.start,
            self.range.len(),
        );
    }
}

impl Deref for Part {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the range lies in the segment, which this part keeps mapped and which was zeroed when
        // it was mapped. No other part has bytes of the range, and a `MmapRaw` makes no references,
        // so the bytes change only through `deref_mut`, which borrows this part exclusively.
        unsafe {
            let start = self.segment.as_ptr().add(self.range.start);
            std::slice::from_raw_parts(start, self.range.len())
        }
    }
}

impl DerefMut for Part {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `deref`; this part is borrowed exclusively, so no reference to the range is
        // alive.
        unsafe {
            let start = self.segment.as_mut_ptr().add(self.range.start);
            std::slice::from_raw_parts_mut(start, self.range.len())
        }
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn parts_are_zeros_of_their_own() {
        let arena = Arena::default();
        let sizes = [1, 63, 64, 65, 1000, SEGMENT_BYTES - 100, 7, SEGMENT_BYTES + 1];
        let mut parts: Vec<Part> = sizes.iter().map(|&n| arena.take(n).unwrap()).collect();
        for (i, part) in parts.iter_mut().enumerate() {
            assert!(part.as_ptr().addr().is_multiple_of(LINE_BYTES), "part {i}");
            let n = part.len();
            assert!((part[0], part[n - 1]) == (0, 0), "part {i} begins or ends in another");
            (part[0], part[n - 1]) = (1, 1);
        }
        drop(arena);
        assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), sizes);
    }
}
