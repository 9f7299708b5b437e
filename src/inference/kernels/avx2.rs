//! The products of quantised values by AVX2, half a tile (eight rows of the matrix) an instruction.
//! Bytes are multiplied and summed in 16 bits as long as nothing can overflow, then in 32.

#[allow(clippy::wildcard_imports, reason = "the names of the instructions")]
use std::arch::x86_64::*;

use super::activations::Quantised;
use super::packed::{BLOCK, Kind, ROWS, TileBlock, block_of, for_kind};

/// Rows of half a tile.
const HALF: usize = ROWS / 2;

/// What [`super::portable::rows`] computes.
#[target_feature(enable = "avx2,fma,f16c")]
pub fn rows<const M: usize>(
    kind: Kind,
    tile: &[u8],
    inputs: &Quantised,
    first: usize,
) -> [[f32; ROWS]; M] {
    for_kind!(kind, KIND => rows_of::<{ KIND as u8 }, M>(tile, inputs, first))
}

#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn rows_of<const KIND: u8, const M: usize>(
    tile: &[u8],
    inputs: &Quantised,
    first: usize,
) -> [[f32; ROWS]; M] {
    let kind = Kind::numbered(KIND);
    let mut sums = [[_mm256_setzero_ps(); M]; 2];
    for b in 0..inputs.n_blocks() {
        let block = block_of(kind, tile, b);
        for (half, sums) in sums.iter_mut().enumerate() {
            let quads = unpack::<KIND>(block.values, half);
            let scales = scales_of::<KIND>(block, half);
            for (i, sum) in sums.iter_mut().enumerate() {
                let input = inputs.block(first + i, b);
                let [first_sum, second_sum] = input.sums;
                let [first_half, second_half] = dot::<KIND>(&quads, input.values);
                let input_scale = _mm256_set1_ps(input.scale);
                let mut add = |part: __m256i, total: i32, scale: __m256| {
                    // Q8_0 is unpacked with its sign.
                    let offset = if kind == Kind::Q8_0 { 0 } else { kind.offset() };
                    let part = _mm256_sub_epi32(part, _mm256_set1_epi32(offset * total));
                    let scale = _mm256_mul_ps(scale, input_scale);
                    *sum = _mm256_fmadd_ps(_mm256_cvtepi32_ps(part), scale, *sum);
                };
                if kind == Kind::Q6K {
                    add(first_half, first_sum, scales.first);
                    add(second_half, second_sum, scales.second);
                } else {
                    let part = _mm256_add_epi32(first_half, second_half);
                    add(part, first_sum + second_sum, scales.first);
                }
                if matches!(kind, Kind::Q4K | Kind::Q5K) {
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
/// A product of pairs is at most 2 · 127 times the largest weight: 15 eight times, 31 four times and
/// 63 twice are less than 2^15.
#[inline]
#[target_feature(enable = "avx2")]
fn dot<const KIND: u8>(quads: &[__m256i; 8], input: &[i8; BLOCK]) -> [__m256i; 2] {
    let kind = Kind::numbered(KIND);
    let ones = _mm256_set1_epi16(1);
    let fours = input.as_chunks::<4>().0;
    let pairs = |q: usize| {
        let four = _mm256_set1_epi32(i32::from_le_bytes(fours[q].map(i8::cast_unsigned)));
        if kind == Kind::Q8_0 {
            // 128 · 127 · 2 fits too: the sign goes to the input, which has no −128.
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
    match kind {
        Kind::Q4_0 | Kind::Q4K => {
            [wide(_mm256_add_epi16(four(0), four(4))), _mm256_setzero_si256()]
        }
        Kind::Q5_0 | Kind::Q5K => [wide(four(0)), wide(four(4))],
        Kind::Q6K => [four_of_six(0), four_of_six(4)],
        Kind::Q8_0 => [four_of_eight(0), four_of_eight(4)],
    }
}

/// The eight quads of a block, of half the rows: unsigned, but for Q8_0.
#[inline]
#[target_feature(enable = "avx2")]
fn unpack<const KIND: u8>(values: &[u8], half: usize) -> [__m256i; 8] {
    let kind = Kind::numbered(KIND);
    let at = |vector: usize| load(&values[vector * 64 + half * 32..]);
    let mut quads = [_mm256_setzero_si256(); 8];
    if kind == Kind::Q8_0 {
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
    if matches!(kind, Kind::Q5_0 | Kind::Q5K) {
        for (quad, bits) in quads.iter_mut().zip(values[256..320].as_chunks::<8>().0) {
            let bits = bits.as_chunks::<4>().0[half];
            *quad = _mm256_or_si256(*quad, sixteen_where(u32::from_le_bytes(bits)));
        }
    }
    if kind == Kind::Q6K {
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
    // Byte i of the vector gets the byte of bit i, of which its own bit is looked at.
    let spread =
        _mm256_setr_epi64x(0, 0x0101_0101_0101_0101, 0x0202_0202_0202_0202, 0x0303_0303_0303_0303);
    let own = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64.cast_signed());
    let bits = _mm256_shuffle_epi8(_mm256_set1_epi32(bits.cast_signed()), spread);
    let is_set = _mm256_cmpeq_epi8(_mm256_and_si256(bits, own), own);
    _mm256_and_si256(is_set, _mm256_set1_epi8(16))
}

/// As [`super::packed::BlockScales`], of half the rows.
struct Scales {
    first: __m256,
    second: __m256,
    minimum: __m256,
}

#[inline]
#[target_feature(enable = "avx2,f16c")]
fn scales_of<const KIND: u8>(block: TileBlock<'_>, half: usize) -> Scales {
    let kind = Kind::numbered(KIND);
    let halves = |row: usize| load_halves(&block.scales[2 * (row + half * HALF)..]);
    let minimum = _mm256_setzero_ps();
    if !kind.is_super() {
        let first = halves(block.place * ROWS);
        return Scales { first, second: first, minimum };
    }
    let small = &block.scales[64 + block.place * 32 + half * HALF..];
    let (scale, other) = (halves(0), &small[ROWS..]);
    if kind == Kind::Q6K {
        let first = _mm256_mul_ps(scale, load_small::<true>(small));
        return Scales { first, second: _mm256_mul_ps(scale, load_small::<true>(other)), minimum };
    }
    let first = _mm256_mul_ps(scale, load_small::<false>(small));
    let minimum = _mm256_mul_ps(halves(ROWS), load_small::<false>(other));
    Scales { first, second: first, minimum }
}

#[inline]
#[target_feature(enable = "avx2")]
#[expect(unsafe_code, reason = "an unaligned load of 32 bytes")]
fn load(bytes: &[u8]) -> __m256i {
    assert!(bytes.len() >= 32);
    // SAFETY: there are 32 bytes.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2,f16c")]
#[expect(unsafe_code, reason = "an unaligned load of 16 bytes")]
fn load_halves(bytes: &[u8]) -> __m256 {
    assert!(bytes.len() >= 16);
    // SAFETY: there are 16 bytes.
    _mm256_cvtph_ps(unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) })
}

#[inline]
#[target_feature(enable = "avx2")]
#[expect(unsafe_code, reason = "an unaligned load of 8 bytes")]
fn load_small<const SIGNED: bool>(bytes: &[u8]) -> __m256 {
    assert!(bytes.len() >= 8);
    // SAFETY: there are 8 bytes.
    let bytes = unsafe { _mm_loadl_epi64(bytes.as_ptr().cast()) };
    _mm256_cvtepi32_ps(if SIGNED {
        _mm256_cvtepi8_epi32(bytes)
    } else {
        _mm256_cvtepu8_epi32(bytes)
    })
}

#[inline]
#[target_feature(enable = "avx2")]
#[expect(unsafe_code, reason = "a store of 32 bytes")]
fn store(vector: __m256, out: &mut [f32; HALF]) {
    // SAFETY: there is room for 8 values.
    unsafe { _mm256_storeu_ps(out.as_mut_ptr(), vector) };
}
