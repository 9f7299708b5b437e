//! One row of input times Q8_0 rows as they are in the file, by AVX-512: what [`crate::plain::rows`]
//! computes. Nothing is packed: a model is ready as soon as its file is mapped, and a product costs
//! what reading the file does. The narrower formats take as much unpacking for half the bytes, and are
//! slower this way than from tiles.

use std::arch::asm;
#[allow(clippy::wildcard_imports, reason = "the names of the instructions")]
use std::arch::x86_64::*;
use std::marker::PhantomData;

use crate::activations::Int8Rows;
use crate::avx512::to_array;
use crate::formats::{BlockFormat, Q8_0};
use crate::matrix::{BLOCK, ROWS};
use crate::prefetch::prefetch_next;

/// A scale in f16 and 32 signed bytes.
const BLOCK_BYTES: usize = Q8_0::FILE_BLOCK_BYTES;

/// Sixteen rows of Q8_0, from block `first_block` of `row_blocks` on, times row `index` of the input.
///
/// # Panics
/// If the rows are not sixteen, or have fewer blocks from there on than the input.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
pub fn row(
    rows: &[u8],
    row_blocks: usize,
    first_block: usize,
    inputs: &Int8Rows,
    index: usize,
) -> [f32; ROWS] {
    let row_bytes = row_blocks * BLOCK_BYTES;
    assert!(rows.len() == ROWS * row_bytes && first_block + inputs.n_blocks() <= row_blocks);
    let mut blocks = Blocks::from(rows, row_bytes, first_block);
    let mut sum = _mm512_setzero_ps();
    for b in 0..inputs.n_blocks() {
        prefetch_next(rows, b * ROWS * BLOCK_BYTES, ROWS * BLOCK_BYTES);
        let input = inputs.block(index, b);
        // The products take the weights as unsigned, larger than they are by the offset.
        let correction = Q8_0::OFFSET * input.sums().iter().sum::<i32>();
        // SAFETY: `blocks` has advanced `b` times from `first_block`, and the blocks from there on are as
        // many as the input's at least.
        let (dots, scales) = unsafe { (blocks.dots(input.values), blocks.scales()) };
        let part = _mm512_sub_epi32(dots, _mm512_set1_epi32(correction));
        let scale = _mm512_mul_ps(scales, _mm512_set1_ps(input.scale));
        sum = _mm512_fmadd_ps(_mm512_cvtepi32_ps(part), scale, sum);
        blocks.advance();
    }
    to_array(sum)
}

/// A block of each of sixteen rows; after the last one, their end.
struct Blocks<'a> {
    /// Of rows 0, 4, 8 and 12.
    starts: [*const u8; 4],
    row_bytes: usize,
    _rows: PhantomData<&'a [u8]>,
}

impl<'a> Blocks<'a> {
    /// Block `first` of each row.
    ///
    /// # Panics
    /// If there are fewer than sixteen rows, or they have no such block.
    #[inline(always)]
    fn from(rows: &'a [u8], row_bytes: usize, first: usize) -> Self {
        let at = first * BLOCK_BYTES;
        assert!(rows.len() >= ROWS * row_bytes && at + BLOCK_BYTES <= row_bytes);
        let starts = [0, 4, 8, 12].map(|r| rows[r * row_bytes + at..].as_ptr());
        Self { starts, row_bytes, _rows: PhantomData }
    }

    /// On to the next, or to the end of the rows.
    #[inline(always)]
    fn advance(&mut self) {
        for start in &mut self.starts {
            *start = start.wrapping_add(BLOCK_BYTES);
            // Hides the pointer's origin: the compiler would otherwise advance sixteen pointers side
            // by side, with registers for half of them.
            // SAFETY: no instruction at all; the pointer comes out as it went in.
            unsafe {
                asm!(
                    "/* {0} */",
                    inout(reg) * start,
                    options(pure, readonly, nostack, preserves_flags)
                );
            }
        }
    }

    /// Byte `byte` of row `r`'s block.
    #[inline(always)]
    fn pointer(&self, r: usize, byte: usize) -> *const u8 {
        self.starts[r / 4].wrapping_add(r % 4 * self.row_bytes + byte)
    }

    /// The products with the input, unsigned, summed for each row.
    ///
    /// # Safety
    /// It was advanced fewer times than a row has blocks from the first on.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
    unsafe fn dots(&self, input: &[i8; BLOCK]) -> __m512i {
        // SAFETY: the input is an array of 32 bytes.
        let input = _mm512_broadcast_i64x4(unsafe { _mm256_loadu_si256(input.as_ptr().cast()) });
        // SAFETY: by this function's contract a whole block is left in each of the sixteen rows; its
        // 32 values follow two bytes of scale.
        let load = |r: usize| unsafe { _mm256_loadu_si256(self.pointer(r, 2).cast()) };
        // Rows r and r + 4: the sums of four columns each, eight a row.
        let two_rows = |r: usize| {
            let signed = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(load(r)), load(r + 4));
            let unsigned = _mm512_xor_si512(signed, _mm512_set1_epi8(-128));
            _mm512_dpbusd_epi32(_mm512_setzero_si512(), unsigned, input)
        };
        let first = four_sums([two_rows(0), two_rows(1), two_rows(2), two_rows(3)]);
        let second = four_sums([two_rows(8), two_rows(9), two_rows(10), two_rows(11)]);
        _mm512_add_epi32(
            _mm512_shuffle_i64x2::<0b10_00_10_00>(first, second),
            _mm512_shuffle_i64x2::<0b11_01_11_01>(first, second),
        )
    }

    /// The scale of each row's block.
    ///
    /// # Safety
    /// As [`Self::dots`].
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn scales(&self) -> __m512 {
        // SAFETY: by the contract a whole block is left in each row; it begins with its scale.
        let at = |r: usize| unsafe { self.pointer(r, 0).cast::<i16>().read_unaligned() };
        let eight = |r: usize| {
            let (a, b, c, d) = (at(r), at(r + 1), at(r + 2), at(r + 3));
            _mm_setr_epi16(a, b, c, d, at(r + 4), at(r + 5), at(r + 6), at(r + 7))
        };
        _mm512_cvtph_ps(_mm256_set_m128i(eight(8), eight(0)))
    }
}

/// The sum of each 16 bytes' four numbers, those of the four vectors side by side.
#[inline]
#[target_feature(enable = "avx512f")]
fn four_sums([a, b, c, d]: [__m512i; 4]) -> __m512i {
    let two = |a, b| _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    let (first, second) = (two(a, b), two(c, d));
    _mm512_add_epi32(_mm512_unpacklo_epi64(first, second), _mm512_unpackhi_epi64(first, second))
}
