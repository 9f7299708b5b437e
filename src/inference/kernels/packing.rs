//! From the blocks of a file to tiles ([`super::packed`] says what both look like).

#[cfg(target_arch = "x86_64")]
use super::Level;
use super::packed::{BLOCK, Kind, ROWS, for_kind};
#[cfg(target_arch = "x86_64")]
use super::packing_avx512;

/// Up to sixteen rows of the file become a tile, rows that are missing zeros. Bytes that the format
/// does not use keep what they were.
pub fn pack_tile(kind: Kind, rows: &[u8], row_bytes: usize, out: &mut [u8]) {
    if rows.len() < ROWS * row_bytes {
        out.fill(0);
    }
    #[cfg(target_arch = "x86_64")]
    if Level::best() >= Level::Avx512 && rows.len() == ROWS * row_bytes {
        #[expect(unsafe_code, reason = "the processor was asked")]
        // SAFETY: `Level::best` names only what is there.
        return unsafe { packing_avx512::pack_tile(kind, rows, row_bytes, out) };
    }
    pack_by_compiler(kind, rows, row_bytes, out);
}

vectorised! {
/// [`pack_tile`], defined; what `out` has for rows that are missing it keeps.
pub fn pack_by_compiler(kind: Kind, rows: &[u8], row_bytes: usize, out: &mut [u8]) {
    for_kind!(kind, KIND => pack_tile_of(KIND, rows, row_bytes, out));
}
}

#[inline(always)]
fn pack_tile_of(kind: Kind, rows: &[u8], row_bytes: usize, out: &mut [u8]) {
    let (stored_bytes, stored_columns) = kind.stored();
    let n_blocks = stored_columns / BLOCK;
    let per_group = kind.group_blocks() / n_blocks;
    let mut values = [[0u8; 256]; ROWS];
    for column in 0..row_bytes / stored_bytes {
        let (group, place) = (column / per_group, column % per_group);
        let out = &mut out[group * kind.group_bytes()..(group + 1) * kind.group_bytes()];
        let (scales, out) = out.split_at_mut(kind.scale_bytes());
        for (r, row) in rows.chunks_exact(row_bytes).enumerate() {
            let stored = &row[column * stored_bytes..(column + 1) * stored_bytes];
            unpack(kind, stored, &mut values[r]);
            put_scales(kind, stored, scales, place, r);
        }
        let out = &mut out[place * n_blocks * kind.value_bytes()..];
        for (i, out) in out.chunks_exact_mut(kind.value_bytes()).take(n_blocks).enumerate() {
            interleave(kind, &values, i * BLOCK, out);
        }
    }
}

/// The scales of one block of the file go where its group has them: f16 first, then in the formats
/// of two levels the small ones, 32 bytes for each block of 32 columns.
#[inline(always)]
fn put_scales(kind: Kind, stored: &[u8], scales: &mut [u8], place: usize, r: usize) {
    let mut put_half = |index: usize, bytes: &[u8]| {
        scales[2 * index..2 * index + 2].copy_from_slice(bytes);
    };
    match kind {
        Kind::Q4_0 | Kind::Q5_0 | Kind::Q8_0 => put_half(place * ROWS + r, &stored[..2]),
        Kind::Q4K | Kind::Q5K => {
            put_half(r, &stored[..2]);
            put_half(ROWS + r, &stored[2..4]);
            let packed: [u8; 12] = std::array::from_fn(|i| stored[4 + i]);
            for (i, small) in scales[64..].chunks_exact_mut(32).enumerate() {
                (small[r], small[ROWS + r]) = scale_and_minimum(&packed, i);
            }
        }
        Kind::Q6K => {
            put_half(r, &stored[208..210]);
            for (i, small) in scales[64..].chunks_exact_mut(32).enumerate() {
                (small[r], small[ROWS + r]) = (stored[192 + 2 * i], stored[192 + 2 * i + 1]);
            }
        }
    }
}

/// The values of one block of the file, in order.
#[inline(always)]
fn unpack(kind: Kind, stored: &[u8], values: &mut [u8; 256]) {
    match kind {
        Kind::Q4_0 => {
            for (j, &byte) in stored[2..18].iter().enumerate() {
                values[j] = byte & 15;
                values[16 + j] = byte >> 4;
            }
        }
        Kind::Q5_0 => {
            let upper = u32::from_le_bytes([stored[2], stored[3], stored[4], stored[5]]);
            for (j, &byte) in stored[6..22].iter().enumerate() {
                values[j] = byte & 15 | ((upper >> j) as u8 & 1) << 4;
                values[16 + j] = byte >> 4 | ((upper >> (16 + j)) as u8 & 1) << 4;
            }
        }
        Kind::Q8_0 => {
            for (value, &byte) in values.iter_mut().zip(&stored[2..34]) {
                *value = byte ^ 0x80;
            }
        }
        Kind::Q4K | Kind::Q5K => {
            let low = if kind == Kind::Q4K { 16 } else { 48 };
            let quarters = values.chunks_exact_mut(64).zip(stored[low..].chunks_exact(32));
            for (c, (quarter, bytes)) in quarters.enumerate() {
                let (first, second) = quarter.split_at_mut(32);
                for ((a, b), &byte) in first.iter_mut().zip(second.iter_mut()).zip(bytes) {
                    (*a, *b) = (byte & 15, byte >> 4);
                }
                if kind == Kind::Q5K {
                    for ((a, b), &bits) in first.iter_mut().zip(second).zip(&stored[16..48]) {
                        *a |= (bits >> (2 * c) & 1) << 4;
                        *b |= (bits >> (2 * c + 1) & 1) << 4;
                    }
                }
            }
        }
        Kind::Q6K => {
            for (n, half) in values.chunks_exact_mut(128).enumerate() {
                let low = &stored[n * 64..n * 64 + 64];
                let upper = &stored[128 + n * 32..128 + n * 32 + 32];
                for l in 0..32 {
                    half[l] = low[l] & 15 | (upper[l] & 3) << 4;
                    half[32 + l] = low[32 + l] & 15 | (upper[l] >> 2 & 3) << 4;
                    half[64 + l] = low[l] >> 4 | (upper[l] >> 4 & 3) << 4;
                    half[96 + l] = low[32 + l] >> 4 | (upper[l] >> 6) << 4;
                }
            }
        }
    }
}

/// The six-bit scale and minimum of block `i` of 256 in Q4_K and Q5_K.
fn scale_and_minimum(small: &[u8; 12], i: usize) -> (u8, u8) {
    if i < 4 {
        (small[i] & 63, small[i + 4] & 63)
    } else {
        (small[i + 4] & 15 | small[i - 4] >> 6 << 4, small[i + 4] >> 4 | small[i] >> 6 << 4)
    }
}

/// Columns `first..first + 32` of sixteen rows, as the tile has them.
#[inline(always)]
fn interleave(kind: Kind, rows: &[[u8; 256]; ROWS], first: usize, out: &mut [u8]) {
    // Four columns of a row are one number: what is done to a number is done to all four.
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
    if kind == Kind::Q8_0 {
        for (q, quad) in quads.into_iter().enumerate() {
            put(q * 64, quad);
        }
        return;
    }
    for (v, [first, second]) in quads.as_chunks::<2>().0.iter().enumerate() {
        let low = |r: usize| first[r] & 0x0f0f_0f0f | (second[r] & 0x0f0f_0f0f) << 4;
        put(v * 64, std::array::from_fn(low));
    }
    if kind == Kind::Q6K {
        for (v, four) in quads.as_chunks::<4>().0.iter().enumerate() {
            let upper = |r: usize| {
                let of = |i: usize| (four[i][r] >> 4 & 0x0303_0303_u32) << (2 * i);
                of(0) | of(1) | of(2) | of(3)
            };
            put(256 + v * 64, std::array::from_fn(upper));
        }
    } else if matches!(kind, Kind::Q5_0 | Kind::Q5K) {
        for (q, quad) in quads.iter().enumerate() {
            let mut bits = 0u64;
            for (r, &number) in quad.iter().enumerate() {
                let four = number >> 4 & 0x0101_0101;
                // The lowest bits of four bytes, side by side.
                let four = (four | four >> 7 | four >> 14 | four >> 21) & 15;
                bits |= u64::from(four) << (4 * r);
            }
            out[256 + q * 8..256 + q * 8 + 8].copy_from_slice(&bits.to_le_bytes());
        }
    }
}
