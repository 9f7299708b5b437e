//! Memory that packed matrices stand in, one behind the other: most of them are smaller than a large
//! page, and alone would get none.

use std::ops::{Deref, DerefMut, Range};
use std::sync::{Arc, Mutex, PoisonError};

use memmap2::{MmapMut, MmapRaw};

/// Bytes that are asked of the system at once. What is not used costs no memory.
const SEGMENT_BYTES: usize = 64 << 20;
const LINE_BYTES: usize = 64;

/// Gives out parts of large pieces of memory; never takes one back before all of a piece are gone.
#[derive(Debug, Default)]
pub struct Pages {
    /// The piece that is given out now, and how much of it is gone.
    last: Mutex<Option<(Arc<MmapRaw>, usize)>>,
}

impl Pages {
    /// `n_bytes` zeros that start on a cache line.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn take(&self, n_bytes: usize) -> std::io::Result<Part> {
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

/// A part that nobody else has.
#[derive(Debug)]
pub struct Part {
    segment: Arc<MmapRaw>,
    range: Range<usize>,
}

impl Part {
    /// It is filled, and will be read for every token: the system may make large pages of it, when it
    /// has time. Asked for before, it would clear them first, which a virtual machine whose host has
    /// to find the memory does at a third of the speed of the small pages it has just got back.
    pub fn is_filled(&self) {
        #[cfg(target_os = "linux")]
        let _ = self.segment.advise_range(
            memmap2::Advice::HugePage,
            self.range.start,
            self.range.len(),
        );
    }
}

#[expect(unsafe_code, reason = "parts of one piece of memory have several owners")]
impl Deref for Part {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: inside the segment, which lives as long as this; only this part has the range.
        unsafe {
            let start = self.segment.as_ptr().add(self.range.start);
            std::slice::from_raw_parts(start, self.range.len())
        }
    }
}

#[expect(unsafe_code, reason = "parts of one piece of memory have several owners")]
impl DerefMut for Part {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and this part is borrowed mutably.
        unsafe {
            let start = self.segment.as_mut_ptr().add(self.range.start);
            std::slice::from_raw_parts_mut(start, self.range.len())
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn parts_are_zeros_of_their_own() {
        let pages = Pages::default();
        let sizes = [1, 63, 64, 65, 1000, SEGMENT_BYTES - 100, 7, SEGMENT_BYTES + 1];
        let mut parts: Vec<Part> = sizes.iter().map(|&n| pages.take(n).unwrap()).collect();
        for (i, part) in parts.iter_mut().enumerate() {
            assert!(part.as_ptr().addr().is_multiple_of(LINE_BYTES), "part {i}");
            let n = part.len();
            assert!((part[0], part[n - 1]) == (0, 0), "part {i} begins or ends in another");
            (part[0], part[n - 1]) = (1, 1);
        }
        drop(pages);
        assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), sizes);
    }
}
