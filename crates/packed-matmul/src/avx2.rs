//! Products of quantised values by AVX2, half a tile (eight rows of the matrix) at a time. Bytes are
//! multiplied and summed in 16 bits for as long as nothing can overflow, then in 32.

#[allow(clippy::wildcard_imports, reason = "the names of the instructions")]
use std::arch::x86_64::*;

use crate::activations::Int8Rows;
use crate::formats::{Bits, BlockFormat, Scales};
use crate::matrix::{BLOCK, ROWS, TileBlock, tile_block};

/// Rows of half a tile.
const HALF: usize = ROWS / 2;

/// What [`crate::plain::rows`] computes.
#[target_feature(enable = "avx2,fma,f16c")]
pub fn rows<F: BlockFormat, const M: usize>(
    tile: &[u8],
    inputs: &Int8Rows,
    first: usize,
) -> [[f32; ROWS]; M] {
    let mut sums = [[_mm256_setzero_ps(); M]; 2];
    for b in 0..inputs.n_blocks() {
        let block = tile_block::<F>(tile, b);
        for (half, sums) in sums.iter_mut().enumerate() {
            let quads = unpack::<F>(block.values, half);
            let scales = scales_of::<F>(block, half);
            for (i, sum) in sums.iter_mut().enumerate() {
                let input = inputs.block(first + i, b);
                let [first_sum, second_sum] = input.sums;
                let [first_half, second_half] = dot::<F>(&quads, input.values);
                let input_scale = _mm256_set1_ps(input.scale);
                let mut add = |part: __m256i, total: i32, scale: __m256| {
                    // Values of 8 bits are unpacked with their sign.
                    let offset = if F::BITS == Bits::Eight { 0 } else { F::OFFSET };
                    let part = _mm256_sub_epi32(part, _mm256_set1_epi32(offset * total));
                    let scale = _mm256_mul_ps(scale, input_scale);
                    *sum = _mm256_fmadd_ps(_mm256_cvtepi32_ps(part), scale, *sum);
                };
                if F::IS_BY_16 {
                    add(first_half, first_sum, scales.first);
                    add(second_half, second_sum, scales.second);
                } else {
                    let part = _mm256_add_epi32(first_half, second_half);
                    add(part, first_sum + second_sum, scales.first);
                }
                if F::HAS_MINIMA {
                    let total = input.scale * (first_sum + second_sum) as f32;
                    *sum = _mm256_fnmadd_ps(scales.minimum, _mm256_set1_ps(total), *sum);
                }
            }
        }
    }
    std::array::from_fn(|i| {
        let mut out = [0f32; ROWS];
        for (half, out) in out.as_chunks_mut::<HALF>().0.iter_mut().enumerate() {
            store(sums[half][i], out);
        }
        out
    })
}

/// The products of the first and of the last 16 columns, eight rows each.
///
/// A pair's sum is at most 2 · 127 times the largest weight: eight of 15, four of 31 and two of 63
/// stay below 2^15.
#[inline]
#[target_feature(enable = "avx2")]
fn dot<F: BlockFormat>(quads: &[__m256i; 8], input: &[i8; BLOCK]) -> [__m256i; 2] {
    let ones = _mm256_set1_epi16(1);
    let fours = input.as_chunks::<4>().0;
    let pairs = |q: usize| {
        let four = _mm256_set1_epi32(i32::from_le_bytes(fours[q].map(i8::cast_unsigned)));
        if F::BITS == Bits::Eight {
            // 128 · 127 · 2 fits too: the sign moves to the input, which is never −128.
            _mm256_maddubs_epi16(_mm256_abs_epi8(quads[q]), _mm256_sign_epi8(four, quads[q]))
        } else {
            _mm256_maddubs_epi16(quads[q], four)
        }
    };
    let two = |q: usize| _mm256_add_epi16(pairs(q), pairs(q + 1));
    let four = |q: usize| _mm256_add_epi16(two(q), two(q + 2));
    let wide = |sums: __m256i| _mm256_madd_epi16(sums, ones);
    // Written out: a closure given to `map` would be compiled without AVX2.
    let four_of_six = |q: usize| _mm256_add_epi32(wide(two(q)), wide(two(q + 2)));
    let two_of_eight = |q: usize| _mm256_add_epi32(wide(pairs(q)), wide(pairs(q + 1)));
    let four_of_eight = |q: usize| _mm256_add_epi32(two_of_eight(q), two_of_eight(q + 2));
    match F::BITS {
        Bits::Four if !F::IS_BY_16 => {
            [wide(_mm256_add_epi16(four(0), four(4))), _mm256_setzero_si256()]
        }
        Bits::Four | Bits::Five => [wide(four(0)), wide(four(4))],
        Bits::Six => [four_of_six(0), four_of_six(4)],
        Bits::Eight => [four_of_eight(0), four_of_eight(4)],
    }
}

/// The eight quads of a block, of half the rows: unsigned, but those of 8 bits.
#[inline]
#[target_feature(enable = "avx2")]
fn unpack<F: BlockFormat>(values: &[u8], half: usize) -> [__m256i; 8] {
    let at = |vector: usize| load(&values[vector * 64 + half * 32..]);
    let mut quads = [_mm256_setzero_si256(); 8];
    if F::BITS == Bits::Eight {
        let sign = _mm256_set1_epi8(-128);
        for (q, quad) in quads.iter_mut().enumerate() {
            *quad = _mm256_xor_si256(at(q), sign);
        }
        return quads;
    }
    let low = _mm256_set1_epi8(15);
    for v in 0..4 {
        let pair = at(v);
        quads[2 * v] = _mm256_and_si256(pair, low);
        quads[2 * v + 1] = _mm256_and_si256(_mm256_srli_epi16::<4>(pair), low);
    }
    if F::BITS == Bits::Five {
        for (quad, bits) in quads.iter_mut().zip(values[256..320].as_chunks::<8>().0) {
            let bits = bits.as_chunks::<4>().0[half];
            *quad = _mm256_or_si256(*quad, sixteen_where(u32::from_le_bytes(bits)));
        }
    }
    if F::BITS == Bits::Six {
        let upper_bits = _mm256_set1_epi8(0x30);
        for v in 0..2 {
            let upper = at(4 + v);
            let placed = [
                _mm256_slli_epi16::<4>(upper),
                _mm256_slli_epi16::<2>(upper),
                upper,
                _mm256_srli_epi16::<2>(upper),
            ];
            for (quad, placed) in quads[4 * v..].iter_mut().zip(placed) {
                *quad = _mm256_or_si256(*quad, _mm256_and_si256(placed, upper_bits));
            }
        }
    }
    quads
}

/// 16 in each byte whose bit is set.
#[inline]
#[target_feature(enable = "avx2")]
fn sixteen_where(bits: u32) -> __m256i {
    // Byte i of the vector gets the byte that has bit i, and keeps that bit.
    let spread =
        _mm256_setr_epi64x(0, 0x0101_0101_0101_0101, 0x0202_0202_0202_0202, 0x0303_0303_0303_0303);
    let own = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64.cast_signed());
    let bits = _mm256_shuffle_epi8(_mm256_set1_epi32(bits.cast_signed()), spread);
    let is_set = _mm256_cmpeq_epi8(_mm256_and_si256(bits, own), own);
    _mm256_and_si256(is_set, _mm256_set1_epi8(16))
}

/// [`crate::matrix::BlockScales`] of half the rows.
struct HalfScales {
    first: __m256,
    second: __m256,
    minimum: __m256,
}

#[inline]
#[target_feature(enable = "avx2,f16c")]
fn scales_of<F: BlockFormat>(block: TileBlock<'_>, half: usize) -> HalfScales {
    let f16_from = |row: usize| load_f16(&block.scales[2 * (row + half * HALF)..]);
    let minimum = _mm256_setzero_ps();
    if F::SCALES == Scales::Single {
        let first = f16_from(block.place * ROWS);
        return HalfScales { first, second: first, minimum };
    }
    let small = &block.scales[64 + block.place * 32 + half * HALF..];
    let (scale, other) = (f16_from(0), &small[ROWS..]);
    if F::IS_BY_16 {
        let first = _mm256_mul_ps(scale, load_bytes::<true>(small));
        return HalfScales {
            first,
            second: _mm256_mul_ps(scale, load_bytes::<true>(other)),
            minimum,
        };
    }
    let first = _mm256_mul_ps(scale, load_bytes::<false>(small));
    let minimum = _mm256_mul_ps(f16_from(ROWS), load_bytes::<false>(other));
    HalfScales { first, second: first, minimum }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(bytes: &[u8]) -> __m256i {
    assert!(bytes.len() >= 32);
    // SAFETY: 32 bytes are there, as asserted.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2,f16c")]
fn load_f16(bytes: &[u8]) -> __m256 {
    assert!(bytes.len() >= 16);
    // SAFETY: 16 bytes are there, as asserted.
    _mm256_cvtph_ps(unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) })
}

#[inline]
#[target_feature(enable = "avx2")]
fn load_bytes<const SIGNED: bool>(bytes: &[u8]) -> __m256 {
    assert!(bytes.len() >= 8);
    // SAFETY: 8 bytes are there, as asserted.
    let bytes = unsafe { _mm_loadl_epi64(bytes.as_ptr().cast()) };
    _mm256_cvtepi32_ps(if SIGNED {
        _mm256_cvtepi8_epi32(bytes)
    } else {
        _mm256_cvtepu8_epi32(bytes)
    })
}

#[inline]
#[target_feature(enable = "avx2")]
fn store(vector: __m256, out: &mut [f32; HALF]) {
    // SAFETY: `out` has room for 8 values.
    unsafe { _mm256_storeu_ps(out.as_mut_ptr(), vector) };
}
