//! Products of quantised values by AVX2, half a tile (eight rows of the matrix) at a time. Bytes are
//! multiplied and summed in 16 bits for as long as nothing can overflow, then in 32.

#[allow(clippy::wildcard_imports, reason = "the names of the instructions")]
use std::arch::x86_64::*;
use std::hint::black_box;

use crate::activations::{Int8Rows, PANEL, PanelBlock, bits_of_pair, for_each_row};
use crate::formats::{Bits, BlockFormat, CHOICES, Scales};
use crate::matrix::{BLOCK, ROWS, TileBlock, tile_block};
use crate::prefetch::prefetch;

/// Rows of half a tile.
const HALF: usize = ROWS / 2;

/// How far ahead of a block that is multiplied another is fetched, beyond the end of a tile mostly of the next one. Left
/// to itself the processor (Zen 3) waits half its time for the next lines; from 1 to 2 KB ahead a single row is
/// multiplied 1.15 to 1.25 times as fast.
const AHEAD_BYTES: usize = 1536;

/// What [`crate::plain::rows`] computes.
#[target_feature(enable = "avx2,fma,f16c")]
pub fn rows<F: BlockFormat, const M: usize>(
    tile: &[u8],
    first_block: usize,
    inputs: &Int8Rows,
    first: usize,
) -> [[f32; ROWS]; M] {
    let mut sums = [[_mm256_setzero_ps(); M]; 2];
    for b in 0..inputs.n_blocks() {
        let block = tile_block::<F>(tile, first_block + b);
        let ahead = block.values.as_ptr().wrapping_add(AHEAD_BYTES);
        prefetch::<_MM_HINT_T0>(ahead, block.values.len());
        for (half, sums) in sums.iter_mut().enumerate() {
            let quads = unpack::<F>(block.values, half);
            if F::ARE_SUMS_SCALED {
                let scales = scales_of_sums::<F>(block, half);
                for (i, sum) in sums.iter_mut().enumerate() {
                    let input = inputs.block(first + i, b);
                    let offset = _mm256_set1_epi16(-F::OFFSET as i16);
                    let sums = input.pair_sums.map(|pair| bits_of_pair(pair).cast_signed());
                    let addend =
                        |half: usize| _mm256_mullo_epi16(_mm256_set1_epi32(sums[half]), offset);
                    let part = scaled::<F>(&quads, input.values, [addend(0), addend(1)], &scales);
                    let scale = _mm256_mul_ps(scales.shared, _mm256_set1_ps(input.scale));
                    *sum = _mm256_fmadd_ps(_mm256_cvtepi32_ps(part), scale, *sum);
                }
                continue;
            }
            let scales = scales_of::<F>(block, half);
            for (i, sum) in sums.iter_mut().enumerate() {
                let input = inputs.block(first + i, b);
                let [first_sum, second_sum] = input.sums();
                let [first_half, second_half] = dot::<F>(&quads, input.values);
                let input_scale = _mm256_set1_ps(input.scale);
                let mut add = |part: __m256i, total: i32, half: usize| {
                    let correction = _mm256_set1_epi32(F::SIGNED_OFFSET * total);
                    let part = _mm256_cvtepi32_ps(_mm256_sub_epi32(part, correction));
                    let scale = _mm256_mul_ps(scales.scales[half], input_scale);
                    *sum = _mm256_fmadd_ps(part, scale, *sum);
                    if F::HAS_MINIMA {
                        let total = _mm256_set1_ps(input.scale * total as f32);
                        *sum = _mm256_fnmadd_ps(scales.minima[half], total, *sum);
                    }
                };
                if F::IS_BY_16 {
                    add(first_half, first_sum, 0);
                    add(second_half, second_sum, 1);
                } else {
                    add(_mm256_add_epi32(first_half, second_half), first_sum + second_sum, 0);
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

/// What [`rows`] computes, for the rows of a panel: a block is unpacked once for all of them, and their sums of
/// integers stay in registers. Those of floats do not fit there too.
#[target_feature(enable = "avx2,fma,f16c")]
pub fn panel<F: BlockFormat>(tile: &[u8], panel: &[PanelBlock]) -> [[f32; ROWS]; PANEL] {
    let mut out = [[0f32; ROWS]; PANEL];
    for (b, input) in panel.iter().enumerate() {
        let block = tile_block::<F>(tile, b);
        for half in 0..2 {
            // Otherwise the compiler spreads the input once for both halves, and to memory.
            let input = black_box(input);
            let quads = unpack::<F>(block.values, half);
            if F::ARE_SUMS_SCALED {
                add_scaled_block::<F>(
                    &quads,
                    &scales_of_sums::<F>(block, half),
                    input,
                    half,
                    &mut out,
                );
                continue;
            }
            let scales = scales_of::<F>(block, half);
            let mut parts = [_mm256_setzero_si256(); PANEL];
            add_products::<F>(&quads, 0, input, &mut parts);
            if F::IS_BY_16 {
                add_block::<F>(&parts, &scales, 0, input, half, &mut out);
                parts = [_mm256_setzero_si256(); PANEL];
            }
            add_products::<F>(&quads, 4, input, &mut parts);
            add_block::<F>(&parts, &scales, usize::from(F::IS_BY_16), input, half, &mut out);
        }
    }
    out
}

/// Adds a block's products to the sums of each row, where scales are multiplied with sums of integers.
#[inline(always)]
fn add_scaled_block<F: BlockFormat>(
    quads: &[__m256i; 8],
    scales: &SumScales,
    input: &PanelBlock,
    half: usize,
    out: &mut [[f32; ROWS]; PANEL],
) {
    // SAFETY: only [`panel`] calls it.
    unsafe {
        let mut parts = [_mm256_setzero_si256(); PANEL];
        for columns in 0..2 {
            for_each_row!(ROW => {
                let addend = _mm256_set1_epi32(input.addends[columns][ROW].cast_signed());
                let sum = sum_of_four::<F>(quads, &input.values[ROW], columns, addend);
                let part = _mm256_madd_epi16(sum, scales.pairs[columns]);
                parts[ROW] = _mm256_add_epi32(parts[ROW], part);
            });
        }
        for_each_row!(ROW => {
            let scale = _mm256_mul_ps(scales.shared, _mm256_set1_ps(input.scales[ROW]));
            let out = &mut out[ROW].as_chunks_mut::<HALF>().0[half];
            let part = _mm256_cvtepi32_ps(parts[ROW]);
            store(_mm256_fmadd_ps(part, scale, _mm256_loadu_ps(out.as_ptr())), out);
        });
    }
}

/// The products of both halves of a block, each times its scale.
#[inline]
#[target_feature(enable = "avx2")]
fn scaled<F: BlockFormat>(
    quads: &[__m256i; 8],
    input: &[i8; BLOCK],
    addends: [__m256i; 2],
    scales: &SumScales,
) -> __m256i {
    let part = |half: usize| {
        let sum = sum_of_four::<F>(quads, input, half, addends[half]);
        _mm256_madd_epi16(sum, scales.pairs[half])
    };
    _mm256_add_epi32(part(0), part(1))
}

/// The products of 16 columns in 16 bits, two sums a row. With the offset (`addend`) they are at most 8 · 32 · 127,
/// which fits; that they may overflow on the way there changes nothing.
#[inline]
#[target_feature(enable = "avx2")]
fn sum_of_four<F: BlockFormat>(
    quads: &[__m256i; 8],
    input: &[i8; BLOCK],
    half: usize,
    addend: __m256i,
) -> __m256i {
    let fours = input.as_chunks::<4>().0;
    let pairs = |q: usize| pairs::<F>(quads[4 * half + q], fours[4 * half + q]);
    let first = _mm256_add_epi16(pairs(0), pairs(1));
    let last = _mm256_add_epi16(pairs(2), pairs(3));
    _mm256_add_epi16(_mm256_add_epi16(first, last), addend)
}

/// Adds the products of four quads, from `first` on, to a sum for each row of the panel: of 16 bits where all eight
/// quads of a block fit into that ([`dot`]), otherwise of 32.
#[inline(always)]
fn add_products<F: BlockFormat>(
    quads: &[__m256i; 8],
    first: usize,
    input: &PanelBlock,
    parts: &mut [__m256i; PANEL],
) {
    // SAFETY: only [`panel`] calls it.
    unsafe {
        let step = quads_in_16_bits::<F>();
        for q in (first..first + 4).step_by(step) {
            for_each_row!(ROW => {
                let fours = input.values[ROW].as_chunks::<4>().0;
                let pairs = |q: usize| pairs::<F>(quads[q], fours[q]);
                let mut sum = pairs(q);
                if step == 4 {
                    sum = _mm256_add_epi16(sum, pairs(q + 1));
                    sum = _mm256_add_epi16(sum, _mm256_add_epi16(pairs(q + 2), pairs(q + 3)));
                }
                parts[ROW] = if is_in_16_bits::<F>() {
                    _mm256_add_epi16(parts[ROW], sum)
                } else {
                    let wide = _mm256_madd_epi16(sum, _mm256_set1_epi16(1));
                    _mm256_add_epi32(parts[ROW], wide)
                };
            });
        }
    }
}

/// Adds a block's products, or those of half its columns, to the sums of each row.
#[inline(always)]
fn add_block<F: BlockFormat>(
    parts: &[__m256i; PANEL],
    scales: &HalfScales,
    columns: usize,
    input: &PanelBlock,
    half: usize,
    out: &mut [[f32; ROWS]; PANEL],
) {
    // SAFETY: only [`panel`] calls it.
    unsafe {
        for_each_row!(ROW => {
            let mut part = parts[ROW];
            if is_in_16_bits::<F>() {
                part = _mm256_madd_epi16(part, _mm256_set1_epi16(1));
            }
            let addend = input.addends[columns][ROW];
            if F::SIGNED_OFFSET != 0 {
                part = _mm256_add_epi32(part, _mm256_set1_epi32(addend.cast_signed()));
            }
            let scale = _mm256_mul_ps(scales.scales[columns], _mm256_set1_ps(input.scales[ROW]));
            let out = &mut out[ROW].as_chunks_mut::<HALF>().0[half];
            let mut sum = _mm256_fmadd_ps(_mm256_cvtepi32_ps(part), scale, _mm256_loadu_ps(out.as_ptr()));
            if F::HAS_MINIMA {
                let total = _mm256_set1_ps(f32::from_bits(addend));
                sum = _mm256_fnmadd_ps(scales.minima[columns], total, sum);
            }
            store(sum, out);
        });
    }
}

/// How many quads' products may be added in 16 bits; see [`dot`].
const fn quads_in_16_bits<F: BlockFormat>() -> usize {
    if F::ARE_WIDE { 1 } else { 4 }
}

/// True if a block's products fit into 16 bits.
const fn is_in_16_bits<F: BlockFormat>() -> bool {
    matches!(F::BITS, Bits::Four) && !F::IS_BY_16
}

/// Sums of two products.
#[inline]
#[target_feature(enable = "avx2")]
fn pairs<F: BlockFormat>(quad: __m256i, four: [i8; 4]) -> __m256i {
    let four = _mm256_set1_epi32(i32::from_le_bytes(four.map(i8::cast_unsigned)));
    if F::ARE_WIDE {
        // 128 · 127 · 2 fits too: the sign moves to the input, which is never −128.
        _mm256_maddubs_epi16(_mm256_abs_epi8(quad), _mm256_sign_epi8(four, quad))
    } else {
        _mm256_maddubs_epi16(quad, four)
    }
}

/// The products of the first and of the last 16 columns, eight rows each.
///
/// A pair's sum is at most 2 · 127 times the largest weight: eight of 15 and four of 31 stay below 2^15.
#[inline]
#[target_feature(enable = "avx2")]
fn dot<F: BlockFormat>(quads: &[__m256i; 8], input: &[i8; BLOCK]) -> [__m256i; 2] {
    let ones = _mm256_set1_epi16(1);
    let fours = input.as_chunks::<4>().0;
    let pairs = |q: usize| pairs::<F>(quads[q], fours[q]);
    let two = |q: usize| _mm256_add_epi16(pairs(q), pairs(q + 1));
    let four = |q: usize| _mm256_add_epi16(two(q), two(q + 2));
    let wide = |sums: __m256i| _mm256_madd_epi16(sums, ones);
    // Written out: a closure given to `map` would be compiled without AVX2.
    let two_of_eight = |q: usize| _mm256_add_epi32(wide(pairs(q)), wide(pairs(q + 1)));
    let four_of_eight = |q: usize| _mm256_add_epi32(two_of_eight(q), two_of_eight(q + 2));
    match F::BITS {
        Bits::Four if !F::IS_BY_16 => {
            [wide(_mm256_add_epi16(four(0), four(4))), _mm256_setzero_si256()]
        }
        // Three and Six never get here ([`scaled`]).
        Bits::Two | Bits::Three | Bits::Four | Bits::Five | Bits::Six => {
            [wide(four(0)), wide(four(4))]
        }
        Bits::FourChoices | Bits::Eight => [four_of_eight(0), four_of_eight(4)],
    }
}

/// The eight quads of a block, of half the rows: unsigned, except for wide values (`ARE_WIDE`).
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
    if F::BITS.are_by_two() {
        let low = _mm256_set1_epi8(3);
        for v in 0..2 {
            let four = at(v);
            quads[4 * v] = _mm256_and_si256(four, low);
            quads[4 * v + 1] = _mm256_and_si256(_mm256_srli_epi16::<2>(four), low);
            quads[4 * v + 2] = _mm256_and_si256(_mm256_srli_epi16::<4>(four), low);
            quads[4 * v + 3] = _mm256_and_si256(_mm256_srli_epi16::<6>(four), low);
        }
    } else {
        let low = _mm256_set1_epi8(15);
        for v in 0..4 {
            let pair = at(v);
            quads[2 * v] = _mm256_and_si256(pair, low);
            quads[2 * v + 1] = _mm256_and_si256(_mm256_srli_epi16::<4>(pair), low);
        }
    }
    if let Some((from, bit)) = F::BITS.lone_bit() {
        let bit = _mm256_set1_epi8(1 << bit);
        for (quad, bits) in quads.iter_mut().zip(values[from..from + 64].as_chunks::<8>().0) {
            let bits = u32::from_le_bytes(bits.as_chunks::<4>().0[half]);
            *quad = _mm256_or_si256(*quad, _mm256_and_si256(bytes_where(bits), bit));
        }
    }
    if F::BITS == Bits::FourChoices {
        // SAFETY: `CHOICES` is 16 bytes.
        let choices = unsafe { _mm_loadu_si128(CHOICES.as_ptr().cast()) };
        let choices = _mm256_broadcastsi128_si256(choices);
        for quad in &mut quads {
            *quad = _mm256_shuffle_epi8(choices, *quad);
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

/// 0xff in byte i where bit i of `bits` is set, elsewhere 0.
#[inline]
#[target_feature(enable = "avx2")]
fn bytes_where(bits: u32) -> __m256i {
    // Byte i of the vector gets the byte that has bit i, and keeps that bit.
    let spread =
        _mm256_setr_epi64x(0, 0x0101_0101_0101_0101, 0x0202_0202_0202_0202, 0x0303_0303_0303_0303);
    let own = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64.cast_signed());
    let bits = _mm256_shuffle_epi8(_mm256_set1_epi32(bits.cast_signed()), spread);
    _mm256_cmpeq_epi8(_mm256_and_si256(bits, own), own)
}

/// The scales of a block, of half the rows, where sums of integers are multiplied with them
/// ([`BlockFormat::ARE_SUMS_SCALED`]).
struct SumScales {
    /// Of 16 columns each: in 16 bits, twice a row.
    pairs: [__m256i; 2],
    shared: __m256,
}

#[inline]
#[target_feature(enable = "avx2,f16c")]
fn scales_of_sums<F: BlockFormat>(block: TileBlock<'_>, half: usize) -> SumScales {
    // A row's byte where it is the upper one of 16 bits, which are then shifted right.
    let upper = _mm256_setr_epi32(
        0x0080_0080,
        0x0180_0180,
        0x0280_0280,
        0x0380_0380,
        0x0480_0480,
        0x0580_0580,
        0x0680_0680,
        0x0780_0780,
    );
    let pairs = |columns: usize| {
        let at = 4 * ROWS + block.place * F::SCALES.small_bytes() + columns * ROWS + half * HALF;
        let small = _mm256_broadcastq_epi64(load_8(&block.scales[at..]));
        _mm256_srai_epi16::<8>(_mm256_shuffle_epi8(small, upper))
    };
    let shared = load_f16(&block.scales[2 * half * HALF..]);
    SumScales { pairs: [pairs(0), pairs(1)], shared }
}

/// [`crate::matrix::BlockScales`] of half the rows.
struct HalfScales {
    scales: [__m256; 2],
    minima: [__m256; 2],
}

#[inline]
#[target_feature(enable = "avx2,f16c")]
fn scales_of<F: BlockFormat>(block: TileBlock<'_>, half: usize) -> HalfScales {
    let f16_from = |row: usize| load_f16(&block.scales[2 * (row + half * HALF)..]);
    let none = _mm256_setzero_ps();
    let same =
        |scale: __m256, minimum: __m256| HalfScales { scales: [scale; 2], minima: [minimum; 2] };
    let small_at = block.place * F::SCALES.small_bytes() + half * HALF;
    let small = |at: usize| load_8(&block.scales[4 * ROWS + small_at + at..]);
    let times = |scale: __m256, small: __m256i| _mm256_mul_ps(scale, _mm256_cvtepi32_ps(small));
    let signed = |at: usize| times(f16_from(0), _mm256_cvtepi8_epi32(small(at)));
    match F::SCALES {
        Scales::Single => same(f16_from(block.place * ROWS), none),
        Scales::SingleAndMinimum => same(f16_from(0), f16_from(ROWS)),
        Scales::TwoLevels => same(signed(0), none),
        Scales::TwoLevelsAndMinima => same(
            times(f16_from(0), _mm256_cvtepu8_epi32(small(0))),
            times(f16_from(ROWS), _mm256_cvtepu8_epi32(small(ROWS))),
        ),
        Scales::TwoLevelsBy16 => unreachable!("read by `scales_of_sums`"),
        Scales::TwoLevelsAndMinimaBy16 => {
            let (first, last) = (_mm256_cvtepu8_epi32(small(0)), _mm256_cvtepu8_epi32(small(ROWS)));
            let (low, scale, minimum) = (_mm256_set1_epi32(15), f16_from(0), f16_from(ROWS));
            HalfScales {
                scales: [
                    times(scale, _mm256_and_si256(first, low)),
                    times(scale, _mm256_and_si256(last, low)),
                ],
                minima: [
                    times(minimum, _mm256_srli_epi32::<4>(first)),
                    times(minimum, _mm256_srli_epi32::<4>(last)),
                ],
            }
        }
    }
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
fn load_8(bytes: &[u8]) -> __m128i {
    assert!(bytes.len() >= 8);
    // SAFETY: 8 bytes are there, as asserted.
    unsafe { _mm_loadl_epi64(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store(vector: __m256, out: &mut [f32; HALF]) {
    // SAFETY: `out` has room for 8 values.
    unsafe { _mm256_storeu_ps(out.as_mut_ptr(), vector) };
}
