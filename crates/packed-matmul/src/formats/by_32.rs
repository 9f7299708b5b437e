//! Formats whose blocks are 32 columns with one scale, which comes first, an f16 but for MXFP4, and perhaps a
//! minimum, which comes next.

use super::{Bits, BlockFormat, Scales};
use crate::matrix::ROWS;

pub(crate) struct Q4_0;
pub(crate) struct Q4_1;
pub(crate) struct Q5_0;
pub(crate) struct Q5_1;
pub(crate) struct Q8_0;
pub(crate) struct IQ4NL;
pub(crate) struct MXFP4;

#[inline(always)]
fn put_scale(block: &[u8], scales: &mut [u8], place: usize, row: usize) {
    let at = 2 * (place * ROWS + row);
    scales[at..at + 2].copy_from_slice(&block[..2]);
}

/// The scale, and the file's minimum with its sign flipped: the file's is added, a tile's is subtracted.
#[inline(always)]
fn put_scale_and_minimum(block: &[u8], scales: &mut [u8], row: usize) {
    put_scale(block, scales, 0, row);
    let at = 2 * (ROWS + row);
    scales[at..at + 2].copy_from_slice(&[block[2], block[3] ^ 0x80]);
}

/// 16 bytes: the first 16 columns in their low nibbles, the last 16 in the high ones.
#[inline(always)]
fn unpack_nibbles(bytes: &[u8], values: &mut [u8; 256]) {
    for (j, &byte) in bytes.iter().enumerate() {
        values[j] = byte & 15;
        values[16 + j] = byte >> 4;
    }
}

/// The fifth bits of all columns in a `u32`, then nibbles.
#[inline(always)]
fn unpack_five_bits(bytes: &[u8], values: &mut [u8; 256]) {
    let upper = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    unpack_nibbles(&bytes[4..], values);
    for (j, value) in values[..32].iter_mut().enumerate() {
        *value |= ((upper >> j) as u8 & 1) << 4;
    }
}

/// Nibbles.
impl BlockFormat for Q4_0 {
    const FILE_BLOCK_BYTES: usize = 18;
    const FILE_BLOCK_COLUMNS: usize = 32;
    const BITS: Bits = Bits::Four;
    const SCALES: Scales = Scales::Single;
    const OFFSET: i32 = 8;

    #[inline(always)]
    fn unpack(block: &[u8], values: &mut [u8; 256]) {
        unpack_nibbles(&block[2..18], values);
    }

    #[inline(always)]
    fn put_scales(block: &[u8], scales: &mut [u8], place: usize, row: usize) {
        put_scale(block, scales, place, row);
    }
}

/// Five bits.
impl BlockFormat for Q5_0 {
    const FILE_BLOCK_BYTES: usize = 22;
    const FILE_BLOCK_COLUMNS: usize = 32;
    const BITS: Bits = Bits::Five;
    const SCALES: Scales = Scales::Single;
    const OFFSET: i32 = 16;

    #[inline(always)]
    fn unpack(block: &[u8], values: &mut [u8; 256]) {
        unpack_five_bits(&block[2..22], values);
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

/// Nibbles.
impl BlockFormat for Q4_1 {
    const FILE_BLOCK_BYTES: usize = 20;
    const FILE_BLOCK_COLUMNS: usize = 32;
    const BITS: Bits = Bits::Four;
    const SCALES: Scales = Scales::SingleAndMinimum;
    const OFFSET: i32 = 0;

    #[inline(always)]
    fn unpack(block: &[u8], values: &mut [u8; 256]) {
        unpack_nibbles(&block[4..20], values);
    }

    #[inline(always)]
    fn put_scales(block: &[u8], scales: &mut [u8], _place: usize, row: usize) {
        put_scale_and_minimum(block, scales, row);
    }
}

/// Five bits.
impl BlockFormat for Q5_1 {
    const FILE_BLOCK_BYTES: usize = 24;
    const FILE_BLOCK_COLUMNS: usize = 32;
    const BITS: Bits = Bits::Five;
    const SCALES: Scales = Scales::SingleAndMinimum;
    const OFFSET: i32 = 0;

    #[inline(always)]
    fn unpack(block: &[u8], values: &mut [u8; 256]) {
        unpack_five_bits(&block[4..24], values);
    }

    #[inline(always)]
    fn put_scales(block: &[u8], scales: &mut [u8], _place: usize, row: usize) {
        put_scale_and_minimum(block, scales, row);
    }
}

/// Nibbles.
impl BlockFormat for IQ4NL {
    const FILE_BLOCK_BYTES: usize = 18;
    const FILE_BLOCK_COLUMNS: usize = 32;
    const BITS: Bits = Bits::FourChoices;
    const SCALES: Scales = Scales::Single;
    const OFFSET: i32 = 128;

    #[inline(always)]
    fn unpack(block: &[u8], values: &mut [u8; 256]) {
        unpack_nibbles(&block[2..18], values);
    }

    #[inline(always)]
    fn put_scales(block: &[u8], scales: &mut [u8], place: usize, row: usize) {
        put_scale(block, scales, place, row);
    }
}

/// Twice the floats of 4 bits, which have two bits of exponent and one of fraction.
const FLOATS: [i8; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];

/// Half of the scale 2^(exponent − 127), as an f16: what lies below its range becomes 0, what lies above infinite.
fn half_scale(exponent: u8) -> u16 {
    match i32::from(exponent) - 128 {
        16.. => 0x7c00,
        x @ -14..16 => ((x + 15) as u16) << 10,
        x @ -24..-14 => 1 << (x + 24),
        _ => 0,
    }
}

/// Nibbles. In a tile they are twice the floats, in five bits: no kernel has to look them up.
impl BlockFormat for MXFP4 {
    const FILE_BLOCK_BYTES: usize = 17;
    const FILE_BLOCK_COLUMNS: usize = 32;
    const BITS: Bits = Bits::Five;
    const SCALES: Scales = Scales::Single;
    const OFFSET: i32 = 12;

    #[inline(always)]
    fn unpack(block: &[u8], values: &mut [u8; 256]) {
        unpack_nibbles(&block[1..17], values);
        for value in &mut values[..32] {
            *value = (FLOATS[usize::from(*value)] + 12).cast_unsigned();
        }
    }

    #[inline(always)]
    fn put_scales(block: &[u8], scales: &mut [u8], place: usize, row: usize) {
        put_scale(&half_scale(block[0]).to_le_bytes(), scales, place, row);
    }
}
