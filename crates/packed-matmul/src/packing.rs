//! From the blocks of a file to tiles ([`crate::matrix`] describes them).

use crate::formats::{Bits, BlockFormat, Format, for_format};
#[cfg(target_arch = "x86_64")]
use crate::instruction_set::{InstructionSet, Set};
use crate::matrix::{BLOCK, ROWS};
#[cfg(target_arch = "x86_64")]
use crate::packing_avx512;
use crate::vectorised;

/// Up to sixteen rows of a file become a tile; missing rows are zeros. Bytes that the format does not
/// use keep their values.
pub fn pack_tile(format: Format, rows: &[u8], row_bytes: usize, out: &mut [u8]) {
    if rows.len() < ROWS * row_bytes {
        out.fill(0);
    }
    #[cfg(target_arch = "x86_64")]
    if rows.len() == ROWS * row_bytes && InstructionSet::best().set() == Set::Avx512 {
        // SAFETY: the processor has AVX-512: an `InstructionSet` comes from detection only.
        return unsafe { packing_avx512::pack_tile(format, rows, row_bytes, out) };
    }
    pack_by_definition(format, rows, row_bytes, out);
}

vectorised! {
/// Defines [`pack_tile`]; what `out` has for missing rows stays.
pub fn pack_by_definition(format: Format, rows: &[u8], row_bytes: usize, out: &mut [u8]) {
    for_format!(format, F => pack_tile_of::<F>(rows, row_bytes, out));
}
}

#[inline(always)]
fn pack_tile_of<F: BlockFormat>(rows: &[u8], row_bytes: usize, out: &mut [u8]) {
    let n_blocks = F::FILE_BLOCK_COLUMNS / BLOCK;
    let per_group = F::GROUP_BLOCKS / n_blocks;
    let mut values = [[0u8; 256]; ROWS];
    for column in 0..row_bytes / F::FILE_BLOCK_BYTES {
        let (group, place) = (column / per_group, column % per_group);
        let out = &mut out[group * F::GROUP_BYTES..(group + 1) * F::GROUP_BYTES];
        let (scales, out) = out.split_at_mut(F::SCALE_BYTES);
        for (r, row) in rows.chunks_exact(row_bytes).enumerate() {
            let block = &row[column * F::FILE_BLOCK_BYTES..(column + 1) * F::FILE_BLOCK_BYTES];
            F::unpack(block, &mut values[r]);
            F::put_scales(block, scales, place, r);
        }
        let out = &mut out[place * n_blocks * F::VALUE_BYTES..];
        for (i, out) in out.chunks_exact_mut(F::VALUE_BYTES).take(n_blocks).enumerate() {
            interleave::<F>(&values, i * BLOCK, out);
        }
    }
}

/// Columns `first..first + 32` of sixteen rows, as a tile has them.
#[inline(always)]
fn interleave<F: BlockFormat>(rows: &[[u8; 256]; ROWS], first: usize, out: &mut [u8]) {
    // Four columns of a row are one number: an operation on it is one on all four.
    let mut quads = [[0u32; ROWS]; 8];
    for (r, row) in rows.iter().enumerate() {
        for (quad, bytes) in quads.iter_mut().zip(row[first..first + BLOCK].as_chunks::<4>().0) {
            quad[r] = u32::from_le_bytes(*bytes);
        }
    }
    let mut put = |at: usize, numbers: [u32; ROWS]| {
        for (out, number) in out[at..at + 64].as_chunks_mut::<4>().0.iter_mut().zip(numbers) {
            *out = number.to_le_bytes();
        }
    };
    if F::BITS == Bits::Eight {
        for (q, quad) in quads.into_iter().enumerate() {
            put(q * 64, quad);
        }
        return;
    }
    // Some bits of four quads, side by side.
    let twos = |four: &[[u32; ROWS]; 4], r: usize, shift: u32| {
        let of = |i: usize| (four[i][r] >> shift & 0x0303_0303_u32) << (2 * i);
        of(0) | of(1) | of(2) | of(3)
    };
    let fours = quads.as_chunks::<4>().0;
    if F::BITS.are_by_two() {
        for (v, four) in fours.iter().enumerate() {
            put(v * 64, std::array::from_fn(|r| twos(four, r, 0)));
        }
    } else {
        for (v, [first, second]) in quads.as_chunks::<2>().0.iter().enumerate() {
            let nibbles = |r: usize| first[r] & 0x0f0f_0f0f | (second[r] & 0x0f0f_0f0f) << 4;
            put(v * 64, std::array::from_fn(nibbles));
        }
    }
    if F::BITS == Bits::Six {
        for (v, four) in fours.iter().enumerate() {
            put(256 + v * 64, std::array::from_fn(|r| twos(four, r, 4)));
        }
    }
    let Some((from, bit)) = F::BITS.lone_bit() else { return };
    for (q, quad) in quads.iter().enumerate() {
        let mut bits = 0u64;
        for (r, &number) in quad.iter().enumerate() {
            let four = number >> bit & 0x0101_0101;
            // The lowest bits of four bytes, side by side.
            let four = (four | four >> 7 | four >> 14 | four >> 21) & 15;
            bits |= u64::from(four) << (4 * r);
        }
        out[from + q * 8..from + q * 8 + 8].copy_from_slice(&bits.to_le_bytes());
    }
}
