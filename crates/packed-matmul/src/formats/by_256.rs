//! Formats whose blocks are 256 columns with scales in two levels: llama.cpp's K-quants, and IQ4_XS.

use super::{Bits, BlockFormat, Scales};
use crate::matrix::ROWS;

pub(crate) struct Q2K;
pub(crate) struct Q3K;
pub(crate) struct Q4K;
pub(crate) struct Q5K;
pub(crate) struct Q6K;
pub(crate) struct IQ4XS;

/// Puts an f16 of row `row`: its scales' (`index` 0) or its minima's (1).
#[inline(always)]
fn put_f16(bytes: &[u8], scales: &mut [u8], index: usize, row: usize) {
    let at = 2 * (index * ROWS + row);
    scales[at..at + 2].copy_from_slice(bytes);
}

/// Puts two bytes per block, of the first and of the last 16 columns.
#[inline(always)]
fn put_small_by_16(small: [u8; 16], scales: &mut [u8], row: usize) {
    let blocks = scales[4 * ROWS..].chunks_exact_mut(2 * ROWS);
    for (out, &[first, second]) in blocks.zip(small.as_chunks().0) {
        (out[row], out[ROWS + row]) = (first, second);
    }
}

/// Two f16, and eight scales and minima of six bits in twelve bytes.
#[inline(always)]
fn put_scales_and_minima(block: &[u8], scales: &mut [u8], row: usize) {
    put_f16(&block[..2], scales, 0, row);
    put_f16(&block[2..4], scales, 1, row);
    let packed: [u8; 12] = std::array::from_fn(|i| block[4 + i]);
    for (i, small) in scales[4 * ROWS..].chunks_exact_mut(2 * ROWS).enumerate() {
        (small[row], small[ROWS + row]) = scale_and_minimum(&packed, i);
    }
}

/// The six-bit scale and minimum of columns `32 · i` to `32 · i + 31`.
fn scale_and_minimum(packed: &[u8; 12], i: usize) -> (u8, u8) {
    if i < 4 {
        (packed[i] & 63, packed[i + 4] & 63)
    } else {
        (packed[i + 4] & 15 | packed[i - 4] >> 6 << 4, packed[i + 4] >> 4 | packed[i] >> 6 << 4)
    }
}

/// For each 64 columns 32 bytes: the first 32 columns in their low nibbles, the others in the high.
#[inline(always)]
fn unpack_nibbles(bytes: &[u8], values: &mut [u8; 256]) {
    for (values, bytes) in values.chunks_exact_mut(64).zip(bytes.chunks_exact(32)) {
        let (first, second) = values.split_at_mut(32);
        for ((a, b), &byte) in first.iter_mut().zip(second).zip(bytes) {
            (*a, *b) = (byte & 15, byte >> 4);
        }
    }
}

/// For each 128 columns 32 bytes: the first 32 columns in their lowest two bits, and so on.
#[inline(always)]
fn unpack_two_bits(bytes: &[u8], values: &mut [u8; 256]) {
    for (i, values) in values.chunks_exact_mut(32).enumerate() {
        let bytes = &bytes[i / 4 * 32..i / 4 * 32 + 32];
        for (value, &byte) in values.iter_mut().zip(bytes) {
            *value = byte >> (i % 4 * 2) & 3;
        }
    }
}

/// Sixteen scales and minima in a nibble each, the values, and two f16.
impl BlockFormat for Q2K {
    const FILE_BLOCK_BYTES: usize = 84;
    const FILE_BLOCK_COLUMNS: usize = 256;
    const BITS: Bits = Bits::Two;
    const SCALES: Scales = Scales::TwoLevelsAndMinimaBy16;
    const OFFSET: i32 = 0;

    #[inline(always)]
    fn unpack(block: &[u8], values: &mut [u8; 256]) {
        unpack_two_bits(&block[16..80], values);
    }

    #[inline(always)]
    fn put_scales(block: &[u8], scales: &mut [u8], _place: usize, row: usize) {
        put_f16(&block[80..82], scales, 0, row);
        put_f16(&block[82..84], scales, 1, row);
        put_small_by_16(std::array::from_fn(|i| block[i]), scales, row);
    }
}

/// The third bits of all columns as Q5_K's fifth, the lower two, sixteen scales of six bits in twelve
/// bytes, and an f16.
impl BlockFormat for Q3K {
    const FILE_BLOCK_BYTES: usize = 110;
    const FILE_BLOCK_COLUMNS: usize = 256;
    const BITS: Bits = Bits::Three;
    const SCALES: Scales = Scales::TwoLevelsBy16;
    const OFFSET: i32 = 4;

    #[inline(always)]
    fn unpack(block: &[u8], values: &mut [u8; 256]) {
        unpack_two_bits(&block[32..96], values);
        for (i, values) in values.chunks_exact_mut(32).enumerate() {
            for (value, &bits) in values.iter_mut().zip(&block[..32]) {
                *value |= (bits >> i & 1) << 2;
            }
        }
    }

    #[inline(always)]
    fn put_scales(block: &[u8], scales: &mut [u8], _place: usize, row: usize) {
        put_f16(&block[108..110], scales, 0, row);
        let six_bits = |i: usize| {
            let low = block[96 + i % 8] >> (i / 8 * 4) & 15;
            low | (block[104 + i % 4] >> (i / 4 * 2) & 3) << 4
        };
        put_small_by_16(std::array::from_fn(|i| six_bits(i).wrapping_sub(32)), scales, row);
    }
}

/// Scales and minima in 16 bytes, then the nibbles.
impl BlockFormat for Q4K {
    const FILE_BLOCK_BYTES: usize = 144;
    const FILE_BLOCK_COLUMNS: usize = 256;
    const BITS: Bits = Bits::Four;
    const SCALES: Scales = Scales::TwoLevelsAndMinima;
    const OFFSET: i32 = 0;

    #[inline(always)]
    fn unpack(block: &[u8], values: &mut [u8; 256]) {
        unpack_nibbles(&block[16..144], values);
    }

    #[inline(always)]
    fn put_scales(block: &[u8], scales: &mut [u8], _place: usize, row: usize) {
        put_scales_and_minima(block, scales, row);
    }
}

/// As Q4_K, with the fifth bits of all columns before the nibbles: bit i of byte j is that of column
/// `32 · i + j`.
impl BlockFormat for Q5K {
    const FILE_BLOCK_BYTES: usize = 176;
    const FILE_BLOCK_COLUMNS: usize = 256;
    const BITS: Bits = Bits::Five;
    const SCALES: Scales = Scales::TwoLevelsAndMinima;
    const OFFSET: i32 = 0;

    #[inline(always)]
    fn unpack(block: &[u8], values: &mut [u8; 256]) {
        unpack_nibbles(&block[48..176], values);
        for (i, values) in values.chunks_exact_mut(32).enumerate() {
            for (value, &bits) in values.iter_mut().zip(&block[16..48]) {
                *value |= (bits >> i & 1) << 4;
            }
        }
    }

    #[inline(always)]
    fn put_scales(block: &[u8], scales: &mut [u8], _place: usize, row: usize) {
        put_scales_and_minima(block, scales, row);
    }
}

/// For each 128 columns 64 bytes of low nibbles; then for each 128 columns 32 bytes of upper two
/// bits; then sixteen signed scales, and an f16.
impl BlockFormat for Q6K {
    const FILE_BLOCK_BYTES: usize = 210;
    const FILE_BLOCK_COLUMNS: usize = 256;
    const BITS: Bits = Bits::Six;
    const SCALES: Scales = Scales::TwoLevelsBy16;
    const OFFSET: i32 = 32;

    #[inline(always)]
    fn unpack(block: &[u8], values: &mut [u8; 256]) {
        for (n, values) in values.chunks_exact_mut(128).enumerate() {
            let low = &block[n * 64..n * 64 + 64];
            let upper = &block[128 + n * 32..128 + n * 32 + 32];
            for l in 0..32 {
                values[l] = low[l] & 15 | (upper[l] & 3) << 4;
                values[32 + l] = low[32 + l] & 15 | (upper[l] >> 2 & 3) << 4;
                values[64 + l] = low[l] >> 4 | (upper[l] >> 4 & 3) << 4;
                values[96 + l] = low[32 + l] >> 4 | (upper[l] >> 6) << 4;
            }
        }
    }

    #[inline(always)]
    fn put_scales(block: &[u8], scales: &mut [u8], _place: usize, row: usize) {
        put_f16(&block[208..210], scales, 0, row);
        put_small_by_16(std::array::from_fn(|i| block[192 + i]), scales, row);
    }
}

/// An f16, the upper two bits of eight scales in a `u16`, their lower four in four bytes; then for each
/// 32 columns 16 bytes of nibbles, as in the formats of 32 columns.
impl BlockFormat for IQ4XS {
    const FILE_BLOCK_BYTES: usize = 136;
    const FILE_BLOCK_COLUMNS: usize = 256;
    const BITS: Bits = Bits::FourChoices;
    const SCALES: Scales = Scales::TwoLevels;
    const OFFSET: i32 = 128;

    #[inline(always)]
    fn unpack(block: &[u8], values: &mut [u8; 256]) {
        for (values, bytes) in values.chunks_exact_mut(32).zip(block[8..136].chunks_exact(16)) {
            let (first, last) = values.split_at_mut(16);
            for ((first, last), &byte) in first.iter_mut().zip(last).zip(bytes) {
                (*first, *last) = (byte & 15, byte >> 4);
            }
        }
    }

    #[inline(always)]
    fn put_scales(block: &[u8], scales: &mut [u8], _place: usize, row: usize) {
        put_f16(&block[..2], scales, 0, row);
        let upper = u16::from_le_bytes([block[2], block[3]]);
        for (i, small) in scales[4 * ROWS..].chunks_exact_mut(ROWS).enumerate() {
            let low = block[4 + i / 2] >> (i % 2 * 4) & 15;
            small[row] = (low | ((upper >> (2 * i)) as u8 & 3) << 4).wrapping_sub(32);
        }
    }
}
