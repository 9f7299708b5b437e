//! Products of quantised values by AVX-512 with VNNI, sixteen rows of the matrix at a time.

#[allow(clippy::wildcard_imports, reason = "the names of the instructions")]
use std::arch::x86_64::*;

use crate::activations::{Int8Rows, PANEL, PanelBlock, for_each_row};
use crate::formats::{Bits, BlockFormat, CHOICES_UNSIGNED, Scales};
use crate::matrix::{ROWS, TileBlock, tile_block};

#[inline]
#[target_feature(enable = "avx512f")]
fn load(bytes: &[u8]) -> __m512i {
    assert!(bytes.len() >= 64);
    // SAFETY: 64 bytes are there, as asserted.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_f16(bytes: &[u8]) -> __m512 {
    assert!(bytes.len() >= 32);
    // SAFETY: 32 bytes are there, as asserted.
    _mm512_cvtph_ps(unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) })
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn load_16(bytes: &[u8]) -> __m128i {
    assert!(bytes.len() >= 16);
    // SAFETY: 16 bytes are there, as asserted.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

/// The eight quads of a block.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn unpack<F: BlockFormat>(values: &[u8]) -> [__m512i; 8] {
    let mut quads = [_mm512_setzero_si512(); 8];
    if F::BITS == Bits::Eight {
        for (q, quad) in quads.iter_mut().enumerate() {
            *quad = load(&values[q * 64..]);
        }
        return quads;
    }
    if F::BITS.are_by_two() {
        let low = _mm512_set1_epi8(3);
        for v in 0..2 {
            let four = load(&values[v * 64..]);
            quads[4 * v] = _mm512_and_si512(four, low);
            quads[4 * v + 1] = _mm512_and_si512(_mm512_srli_epi16::<2>(four), low);
            quads[4 * v + 2] = _mm512_and_si512(_mm512_srli_epi16::<4>(four), low);
            quads[4 * v + 3] = _mm512_and_si512(_mm512_srli_epi16::<6>(four), low);
        }
    } else {
        let low = _mm512_set1_epi8(15);
        for v in 0..4 {
            let pair = load(&values[v * 64..]);
            quads[2 * v] = _mm512_and_si512(pair, low);
            quads[2 * v + 1] = _mm512_and_si512(_mm512_srli_epi16::<4>(pair), low);
        }
    }
    if let Some((from, bit)) = F::BITS.lone_bit() {
        let bit = _mm512_set1_epi8(1 << bit);
        for (quad, bits) in quads.iter_mut().zip(values[from..from + 64].as_chunks::<8>().0) {
            let bits = u64::from_le_bytes(*bits);
            *quad = _mm512_mask_add_epi8(*quad, bits, *quad, bit);
        }
    }
    if F::BITS == Bits::FourChoices {
        let choices = _mm512_broadcast_i32x4(load_16(&CHOICES_UNSIGNED));
        for quad in &mut quads {
            *quad = _mm512_shuffle_epi8(choices, *quad);
        }
    }
    if F::BITS == Bits::Six {
        let upper_bits = _mm512_set1_epi8(0x30);
        for v in 0..2 {
            let upper = load(&values[256 + v * 64..]);
            let placed = [
                _mm512_slli_epi16::<4>(upper),
                _mm512_slli_epi16::<2>(upper),
                upper,
                _mm512_srli_epi16::<2>(upper),
            ];
            for (quad, placed) in quads[4 * v..].iter_mut().zip(placed) {
                // quad | (placed & upper_bits)
                *quad = _mm512_ternarylogic_epi32::<0xf8>(*quad, placed, upper_bits);
            }
        }
    }
    quads
}

/// [`crate::matrix::BlockScales`]: of the first and of the last 16 columns.
struct VectorScales {
    scales: [__m512; 2],
    minima: [__m512; 2],
    shared: __m512,
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn scales_of<F: BlockFormat>(TileBlock { scales, place, .. }: TileBlock<'_>) -> VectorScales {
    let none = _mm512_setzero_ps();
    let same = |scale: __m512, minimum: __m512| VectorScales {
        scales: [scale; 2],
        minima: [minimum; 2],
        shared: none,
    };
    if F::SCALES == Scales::Single {
        return same(load_f16(&scales[place * 2 * ROWS..]), none);
    }
    let (scale, minimum) = (load_f16(scales), &scales[2 * ROWS..]);
    let small = &scales[4 * ROWS + place * F::SCALES.small_bytes()..];
    let times = |scale: __m512, small: __m512i| _mm512_mul_ps(scale, _mm512_cvtepi32_ps(small));
    match F::SCALES {
        Scales::Single | Scales::SingleAndMinimum => same(scale, load_f16(minimum)),
        Scales::TwoLevels => same(times(scale, _mm512_cvtepi8_epi32(load_16(small))), none),
        Scales::TwoLevelsAndMinima => {
            let last = load_16(&small[ROWS..]);
            same(
                times(scale, _mm512_cvtepu8_epi32(load_16(small))),
                times(load_f16(minimum), _mm512_cvtepu8_epi32(last)),
            )
        }
        Scales::TwoLevelsBy16 => {
            let last = load_16(&small[ROWS..]);
            VectorScales {
                scales: [
                    _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(load_16(small))),
                    _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(last)),
                ],
                minima: [none; 2],
                shared: scale,
            }
        }
        Scales::TwoLevelsAndMinimaBy16 => {
            let first = _mm512_cvtepu8_epi32(load_16(small));
            let last = _mm512_cvtepu8_epi32(load_16(&small[ROWS..]));
            let (low, minimum) = (_mm512_set1_epi32(15), load_f16(minimum));
            VectorScales {
                scales: [
                    times(scale, _mm512_and_si512(first, low)),
                    times(scale, _mm512_and_si512(last, low)),
                ],
                minima: [
                    times(minimum, _mm512_srli_epi32::<4>(first)),
                    times(minimum, _mm512_srli_epi32::<4>(last)),
                ],
                shared: none,
            }
        }
    }
}

/// What [`crate::plain::rows`] computes.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
pub fn rows<F: BlockFormat, const M: usize>(
    tile: &[u8],
    first_block: usize,
    inputs: &Int8Rows,
    first: usize,
) -> [[f32; ROWS]; M] {
    let mut sums = [_mm512_setzero_ps(); M];
    for b in 0..inputs.n_blocks() {
        let block = tile_block::<F>(tile, first_block + b);
        let quads = unpack::<F>(block.values);
        let VectorScales { scales, minima, shared } = scales_of::<F>(block);
        for (i, sum) in sums.iter_mut().enumerate() {
            let input = inputs.block(first + i, b);
            let [first_sum, second_sum] = input.sums();
            let mut parts = [
                _mm512_set1_epi32(-F::OFFSET * first_sum),
                _mm512_set1_epi32(-F::OFFSET * second_sum),
            ];
            for (q, quad) in quads.iter().enumerate() {
                let four = input.values.as_chunks::<4>().0[q].map(i8::cast_unsigned);
                let four = _mm512_set1_epi32(i32::from_le_bytes(four));
                parts[q / 4] = _mm512_dpbusd_epi32(parts[q / 4], *quad, four);
            }
            let input_scale = _mm512_set1_ps(input.scale);
            let mut add = |part: __m512i, total: i32, half: usize| {
                let scale = _mm512_mul_ps(scales[half], input_scale);
                *sum = _mm512_fmadd_ps(_mm512_cvtepi32_ps(part), scale, *sum);
                if F::HAS_MINIMA {
                    let total = _mm512_set1_ps(input.scale * total as f32);
                    *sum = _mm512_fnmadd_ps(minima[half], total, *sum);
                }
            };
            if F::ARE_SUMS_SCALED {
                let part = scaled(parts, &scales);
                *sum = _mm512_fmadd_ps(part, _mm512_mul_ps(shared, input_scale), *sum);
            } else if F::IS_BY_16 {
                add(parts[0], first_sum, 0);
                add(parts[1], second_sum, 1);
            } else {
                add(_mm512_add_epi32(parts[0], parts[1]), first_sum + second_sum, 0);
            }
        }
    }
    sums.map(|sum| to_array(sum))
}

/// What [`rows`] computes, for the rows of a panel.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
pub fn panel<F: BlockFormat>(tile: &[u8], panel: &[PanelBlock]) -> [[f32; ROWS]; PANEL] {
    const { assert!(F::OFFSET == 0 || !F::HAS_MINIMA) };
    let mut sums = [_mm512_setzero_ps(); PANEL];
    for (b, input) in panel.iter().enumerate() {
        let block = tile_block::<F>(tile, b);
        let quads = unpack::<F>(block.values);
        let VectorScales { scales, minima, shared } = scales_of::<F>(block);
        for_each_row!(ROW => {
            let fours = input.values[ROW].as_chunks::<4>().0;
            let four = |q: usize| {
                _mm512_set1_epi32(i32::from_le_bytes(fours[q].map(i8::cast_unsigned)))
            };
            let input_scale = _mm512_set1_ps(input.scales[ROW]);
            let sum = &mut sums[ROW];
            // The products of `quads`: those of one half of the block, or all eight.
            let products = |quads: &[__m512i], half: usize| {
                let mut part = if F::OFFSET == 0 {
                    _mm512_setzero_si512()
                } else {
                    _mm512_set1_epi32(input.addends[half][ROW].cast_signed())
                };
                for (q, quad) in quads.iter().enumerate() {
                    part = _mm512_dpbusd_epi32(part, *quad, four(4 * half + q));
                }
                part
            };
            let mut add = |part: __m512i, half: usize| {
                let scale = _mm512_mul_ps(scales[half], input_scale);
                *sum = _mm512_fmadd_ps(_mm512_cvtepi32_ps(part), scale, *sum);
                if F::HAS_MINIMA {
                    let total = _mm512_set1_ps(f32::from_bits(input.addends[half][ROW]));
                    *sum = _mm512_fnmadd_ps(minima[half], total, *sum);
                }
            };
            if F::ARE_SUMS_SCALED {
                let part = scaled([products(&quads[..4], 0), products(&quads[4..], 1)], &scales);
                *sum = _mm512_fmadd_ps(part, _mm512_mul_ps(shared, input_scale), *sum);
            } else if F::IS_BY_16 {
                add(products(&quads[..4], 0), 0);
                add(products(&quads[4..], 1), 1);
            } else {
                add(products(&quads, 0), 0);
            }
        });
    }
    sums.map(|sum| to_array(sum))
}

/// Both halves of a block, each times its scale; exact ([`BlockFormat::ARE_SUMS_SCALED`]).
#[inline]
#[target_feature(enable = "avx512f")]
fn scaled([first, last]: [__m512i; 2], scales: &[__m512; 2]) -> __m512 {
    let first = _mm512_mul_ps(_mm512_cvtepi32_ps(first), scales[0]);
    _mm512_fmadd_ps(_mm512_cvtepi32_ps(last), scales[1], first)
}

#[inline]
#[target_feature(enable = "avx512f")]
pub fn to_array(vector: __m512) -> [f32; ROWS] {
    let mut out = [0f32; ROWS];
    // SAFETY: `out` has room for 16 values.
    unsafe { _mm512_storeu_ps(out.as_mut_ptr(), vector) };
    out
}
