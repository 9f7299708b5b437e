//! Formats whose blocks are 32 columns with one f16 scale, which comes first.

use super::{Bits, BlockFormat, Scales};
use crate::matrix::ROWS;

pub(crate) struct Q4_0;
pub(crate) struct Q5_0;
pub(crate) struct Q8_0;

#[inline(always)]
fn put_scale(block: &[u8], scales: &mut [u8], place: usize, row: usize) {
    let at = 2 * (place * ROWS + row);
    scales[at..at + 2].copy_from_slice(&block[..2]);
}

/// 16 bytes: the first 16 columns in their low nibbles, the last 16 in the high ones.
impl BlockFormat for Q4_0 {
    const FILE_BLOCK_BYTES: usize = 18;
    const FILE_BLOCK_COLUMNS: usize = 32;
    const BITS: Bits = Bits::Four;
    const SCALES: Scales = Scales::Single;
    const OFFSET: i32 = 8;

    #[inline(always)]
    fn unpack(block: &[u8], values: &mut [u8; 256]) {
        for (j, &byte) in block[2..18].iter().enumerate() {
            values[j] = byte & 15;
            values[16 + j] = byte >> 4;
        }
    }

    #[inline(always)]
    fn put_scales(block: &[u8], scales: &mut [u8], place: usize, row: usize) {
        put_scale(block, scales, place, row);
    }
}

/// The fifth bits of all columns in a `u32`, then as Q4_0.
impl BlockFormat for Q5_0 {
    const FILE_BLOCK_BYTES: usize = 22;
    const FILE_BLOCK_COLUMNS: usize = 32;
    const BITS: Bits = Bits::Five;
    const SCALES: Scales = Scales::Single;
    const OFFSET: i32 = 16;

    #[inline(always)]
    fn unpack(block: &[u8], values: &mut [u8; 256]) {
        let upper = u32::from_le_bytes([block[2], block[3], block[4], block[5]]);
        for (j, &byte) in block[6..22].iter().enumerate() {
            values[j] = byte & 15 | ((upper >> j) as u8 & 1) << 4;
            values[16 + j] = byte >> 4 | ((upper >> (16 + j)) as u8 & 1) << 4;
        }
    }

    #[inline(always)]
    fn put_scales(block: &[u8], scales: &mut [u8], place: usize, row: usize) {
        put_scale(block, scales, place, row);
    }
}

/// 32 signed bytes.
impl BlockFormat for Q8_0 {
    const FILE_BLOCK_BYTES: usize = 34;
    const FILE_BLOCK_COLUMNS: usize = 32;
    const BITS: Bits = Bits::Eight;
    const SCALES: Scales = Scales::Single;
    const OFFSET: i32 = 128;

    #[inline(always)]
    fn unpack(block: &[u8], values: &mut [u8; 256]) {
        for (value, &byte) in values.iter_mut().zip(&block[2..34]) {
            *value = byte ^ 0x80;
        }
    }

    #[inline(always)]
    fn put_scales(block: &[u8], scales: &mut [u8], place: usize, row: usize) {
        put_scale(block, scales, place, row);
    }
}
