//! Products of quantised values by AVX-512 with VNNI, sixteen rows of the matrix at a time.

#[allow(clippy::wildcard_imports, reason = "the names of the instructions")]
use std::arch::x86_64::*;

use crate::activations::{Int8Rows, PANEL, PanelBlock};
use crate::formats::{Bits, BlockFormat, Scales};
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
fn load_bytes<const SIGNED: bool>(bytes: &[u8]) -> __m512 {
    assert!(bytes.len() >= 16);
    // SAFETY: 16 bytes are there, as asserted.
    let bytes = unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) };
    _mm512_cvtepi32_ps(if SIGNED {
        _mm512_cvtepi8_epi32(bytes)
    } else {
        _mm512_cvtepu8_epi32(bytes)
    })
}

/// The eight quads of a block.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn unpack<F: BlockFormat>(values: &[u8]) -> [__m512i; 8] {
    let mut quads = [_mm512_setzero_si512(); 8];
    if F::BITS == Bits::Eight {
        for (q, quad) in quads.iter_mut().enumerate() {
            *quad = load(&values[q * 64..]);
        }
        return quads;
    }
    let low = _mm512_set1_epi8(15);
    for v in 0..4 {
        let pair = load(&values[v * 64..]);
        quads[2 * v] = _mm512_and_si512(pair, low);
        quads[2 * v + 1] = _mm512_and_si512(_mm512_srli_epi16::<4>(pair), low);
    }
    if F::BITS == Bits::Five {
        let sixteen = _mm512_set1_epi8(16);
        for (quad, bits) in quads.iter_mut().zip(values[256..320].as_chunks::<8>().0) {
            let bits = u64::from_le_bytes(*bits);
            *quad = _mm512_mask_add_epi8(*quad, bits, *quad, sixteen);
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

/// The scales of a block, of its first and of its last 16 columns, and its minima.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn scales_of<F: BlockFormat>(block: TileBlock<'_>) -> (__m512, __m512, __m512) {
    let no_minimum = _mm512_setzero_ps();
    if F::SCALES == Scales::Single {
        let scale = load_f16(&block.scales[block.place * 2 * ROWS..]);
        return (scale, scale, no_minimum);
    }
    let scale = load_f16(block.scales);
    let small = &block.scales[64 + block.place * 32..];
    if F::IS_BY_16 {
        (
            _mm512_mul_ps(scale, load_bytes::<true>(small)),
            _mm512_mul_ps(scale, load_bytes::<true>(&small[ROWS..])),
            no_minimum,
        )
    } else {
        let scale = _mm512_mul_ps(scale, load_bytes::<false>(small));
        let minimum =
            _mm512_mul_ps(load_f16(&block.scales[32..]), load_bytes::<false>(&small[ROWS..]));
        (scale, scale, minimum)
    }
}

/// What [`crate::plain::rows`] computes.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
pub fn rows<F: BlockFormat, const M: usize>(
    tile: &[u8],
    inputs: &Int8Rows,
    first: usize,
) -> [[f32; ROWS]; M] {
    let mut sums = [_mm512_setzero_ps(); M];
    for b in 0..inputs.n_blocks() {
        let block = tile_block::<F>(tile, b);
        let quads = unpack::<F>(block.values);
        let (scale, second_scale, minimum) = scales_of::<F>(block);
        for (i, sum) in sums.iter_mut().enumerate() {
            let input = inputs.block(first + i, b);
            let [first_sum, second_sum] = input.sums;
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
            if F::IS_BY_16 {
                for (part, scale) in parts.into_iter().zip([scale, second_scale]) {
                    let scale = _mm512_mul_ps(scale, input_scale);
                    *sum = _mm512_fmadd_ps(_mm512_cvtepi32_ps(part), scale, *sum);
                }
            } else {
                let part = _mm512_cvtepi32_ps(_mm512_add_epi32(parts[0], parts[1]));
                *sum = _mm512_fmadd_ps(part, _mm512_mul_ps(scale, input_scale), *sum);
            }
            if F::HAS_MINIMA {
                let total = _mm512_set1_ps(input.scale * (first_sum + second_sum) as f32);
                *sum = _mm512_fnmadd_ps(minimum, total, *sum);
            }
        }
    }
    sums.map(|sum| to_array(sum))
}

/// `$body` once for each row of a panel, so that the sums stay in registers: the compiler does not
/// unroll a loop of this size, and would keep them in memory.
macro_rules! for_each_row {
    ($row:ident => $body:block) => {
        for_each_row!($row => $body, 0 1 2 3 4 5 6 7);
    };
    ($row:ident => $body:block, $($number:literal)*) => {
        const { assert!([$($number),*].len() == PANEL) };
        $({
            const $row: usize = $number;
            $body
        })*
    };
}

/// What [`rows`] computes, for the rows of a panel.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
pub fn panel<F: BlockFormat>(tile: &[u8], panel: &[PanelBlock]) -> [[f32; ROWS]; PANEL] {
    let mut sums = [_mm512_setzero_ps(); PANEL];
    for (b, input) in panel.iter().enumerate() {
        let block = tile_block::<F>(tile, b);
        let quads = unpack::<F>(block.values);
        let (scale, second_scale, minimum) = scales_of::<F>(block);
        for_each_row!(ROW => {
            let fours = input.values[ROW].as_chunks::<4>().0;
            let four = |q: usize| {
                _mm512_set1_epi32(i32::from_le_bytes(fours[q].map(i8::cast_unsigned)))
            };
            let start = |half: usize| {
                if F::OFFSET == 0 {
                    _mm512_setzero_si512()
                } else {
                    _mm512_set1_epi32(input.corrections[half][ROW])
                }
            };
            let dot = |mut part: __m512i, range: std::ops::Range<usize>| {
                for q in range {
                    part = _mm512_dpbusd_epi32(part, quads[q], four(q));
                }
                part
            };
            let input_scale = _mm512_set1_ps(input.scales[ROW]);
            let sum = &mut sums[ROW];
            if F::IS_BY_16 {
                for (half, scale) in [scale, second_scale].into_iter().enumerate() {
                    let part = dot(start(half), 4 * half..4 * half + 4);
                    let scale = _mm512_mul_ps(scale, input_scale);
                    *sum = _mm512_fmadd_ps(_mm512_cvtepi32_ps(part), scale, *sum);
                }
            } else {
                let start = if F::OFFSET == 0 {
                    start(0)
                } else {
                    _mm512_add_epi32(start(0), start(1))
                };
                let part = _mm512_cvtepi32_ps(dot(start, 0..8));
                *sum = _mm512_fmadd_ps(part, _mm512_mul_ps(scale, input_scale), *sum);
            }
            if F::HAS_MINIMA {
                *sum = _mm512_fnmadd_ps(minimum, _mm512_set1_ps(input.totals[ROW]), *sum);
            }
        });
    }
    sums.map(|sum| to_array(sum))
}

#[inline]
#[target_feature(enable = "avx512f")]
pub fn to_array(vector: __m512) -> [f32; ROWS] {
    let mut out = [0f32; ROWS];
    // SAFETY: `out` has room for 16 values.
    unsafe { _mm512_storeu_ps(out.as_mut_ptr(), vector) };
    out
}
