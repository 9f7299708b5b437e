//! Memory that is fetched before it is read.

use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};

/// Fetches the lines of `n_bytes` from `from` on: a hint, which never faults, wherever it points.
#[inline]
#[target_feature(enable = "sse")]
pub fn prefetch<const HINT: i32>(from: *const u8, n_bytes: usize) {
    for line in (0..n_bytes).step_by(64) {
        _mm_prefetch::<HINT>(from.wrapping_add(line).cast());
    }
}

/// Fetches a part of the rows after these, which are read next. Into L2: L1 has no room for both.
#[inline]
#[target_feature(enable = "sse")]
pub fn prefetch_next(rows: &[u8], at: usize, n_bytes: usize) {
    prefetch::<_MM_HINT_T1>(rows.as_ptr().wrapping_add(rows.len() + at), n_bytes);
}
