//! The products of quantised values by AVX-512 VNNI, sixteen rows of the matrix an instruction, and
//! the unpacking to bf16 that the tile unit ([`super::amx`]) multiplies.

#[allow(clippy::wildcard_imports, reason = "the names of the instructions")]
use std::arch::x86_64::*;

use super::activations::{PANEL, PanelBlock, Quantised};
use super::packed::{BLOCK, Kind, ROWS, TileBlock, block_of, for_kind};

const Q5_0: u8 = Kind::Q5_0 as u8;
const Q8_0: u8 = Kind::Q8_0 as u8;
const Q4K: u8 = Kind::Q4K as u8;
const Q5K: u8 = Kind::Q5K as u8;
const Q6K: u8 = Kind::Q6K as u8;

/// What [`super::portable::rows`] computes. `prefetches`: ask for memory a page ahead, which helps
/// Xeons with a tile unit and costs a Zen 4 a tenth with large pages, two fifths with small ones.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
pub fn rows<const M: usize>(
    kind: Kind,
    tile: &[u8],
    inputs: &Quantised,
    first: usize,
    prefetches: bool,
) -> [[f32; ROWS]; M] {
    for_kind!(kind, KIND => rows_of::<{ KIND as u8 }, M>(tile, inputs, first, prefetches))
}

#[inline]
#[target_feature(enable = "avx512f")]
#[expect(unsafe_code, reason = "an unaligned load of 64 bytes")]
fn load(bytes: &[u8]) -> __m512i {
    assert!(bytes.len() >= 64);
    // SAFETY: there are 64 bytes.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
#[expect(unsafe_code, reason = "an unaligned load of 32 bytes")]
fn load_halves(bytes: &[u8]) -> __m512 {
    assert!(bytes.len() >= 32);
    // SAFETY: there are 32 bytes.
    _mm512_cvtph_ps(unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) })
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
#[expect(unsafe_code, reason = "an unaligned load of 16 bytes")]
fn load_small<const SIGNED: bool>(bytes: &[u8]) -> __m512 {
    assert!(bytes.len() >= 16);
    // SAFETY: there are 16 bytes.
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
fn unpack<const KIND: u8>(values: &[u8]) -> [__m512i; 8] {
    let mut quads = [_mm512_setzero_si512(); 8];
    if KIND == Q8_0 {
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
    if KIND == Q5_0 || KIND == Q5K {
        let sixteen = _mm512_set1_epi8(16);
        for (quad, bits) in quads.iter_mut().zip(values[256..320].as_chunks::<8>().0) {
            let bits = u64::from_le_bytes(*bits);
            *quad = _mm512_mask_add_epi8(*quad, bits, *quad, sixteen);
        }
    }
    if KIND == Q6K {
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

/// The scales of a block: of its first and its last half, and its minima.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn scales_of<const KIND: u8>(block: TileBlock<'_>) -> (__m512, __m512, __m512) {
    let none = _mm512_setzero_ps();
    if !Kind::numbered(KIND).is_super() {
        let scale = load_halves(&block.scales[block.place * 2 * ROWS..]);
        return (scale, scale, none);
    }
    let scale = load_halves(block.scales);
    let small = &block.scales[64 + block.place * 32..];
    if KIND == Q6K {
        (
            _mm512_mul_ps(scale, load_small::<true>(small)),
            _mm512_mul_ps(scale, load_small::<true>(&small[ROWS..])),
            none,
        )
    } else {
        let scale = _mm512_mul_ps(scale, load_small::<false>(small));
        let minimum =
            _mm512_mul_ps(load_halves(&block.scales[32..]), load_small::<false>(&small[ROWS..]));
        (scale, scale, minimum)
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
fn rows_of<const KIND: u8, const M: usize>(
    tile: &[u8],
    inputs: &Quantised,
    first: usize,
    prefetches: bool,
) -> [[f32; ROWS]; M] {
    let kind = Kind::numbered(KIND);
    let mut sums = [_mm512_setzero_ps(); M];
    for b in 0..inputs.n_blocks() {
        let block = block_of(kind, tile, b);
        if prefetches && block.place == 0 {
            prefetch(block.scales, kind.scale_bytes() / 64);
        }
        if prefetches {
            prefetch(block.values, kind.value_bytes() / 64);
        }
        let quads = unpack::<KIND>(block.values);
        let (scale, second_scale, minimum) = scales_of::<KIND>(block);
        for (i, sum) in sums.iter_mut().enumerate() {
            let input = inputs.block(first + i, b);
            let [first_sum, second_sum] = input.sums;
            let mut parts = [
                _mm512_set1_epi32(-kind.offset() * first_sum),
                _mm512_set1_epi32(-kind.offset() * second_sum),
            ];
            for (q, quad) in quads.iter().enumerate() {
                let four = input.values.as_chunks::<4>().0[q].map(i8::cast_unsigned);
                let four = _mm512_set1_epi32(i32::from_le_bytes(four));
                parts[q / 4] = _mm512_dpbusd_epi32(parts[q / 4], *quad, four);
            }
            let input_scale = _mm512_set1_ps(input.scale);
            if KIND == Q6K {
                for (part, scale) in parts.into_iter().zip([scale, second_scale]) {
                    let scale = _mm512_mul_ps(scale, input_scale);
                    *sum = _mm512_fmadd_ps(_mm512_cvtepi32_ps(part), scale, *sum);
                }
            } else {
                let part = _mm512_cvtepi32_ps(_mm512_add_epi32(parts[0], parts[1]));
                *sum = _mm512_fmadd_ps(part, _mm512_mul_ps(scale, input_scale), *sum);
            }
            if KIND == Q4K || KIND == Q5K {
                let total = _mm512_set1_ps(input.scale * (first_sum + second_sum) as f32);
                *sum = _mm512_fnmadd_ps(minimum, total, *sum);
            }
        }
    }
    sums.map(|sum| to_array(sum))
}

/// What [`rows`] computes, for the rows of a panel.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
pub fn panel(kind: Kind, tile: &[u8], panel: &[PanelBlock]) -> [[f32; ROWS]; PANEL] {
    for_kind!(kind, KIND => panel_of::<{ KIND as u8 }>(tile, panel))
}

/// `$body` once for each row of a panel, so that what it keeps stays in registers: the compiler
/// leaves a loop of this size a loop, and its sums in memory.
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

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
fn panel_of<const KIND: u8>(tile: &[u8], panel: &[PanelBlock]) -> [[f32; ROWS]; PANEL] {
    let kind = Kind::numbered(KIND);
    let mut sums = [_mm512_setzero_ps(); PANEL];
    for (b, input) in panel.iter().enumerate() {
        let block = block_of(kind, tile, b);
        let quads = unpack::<KIND>(block.values);
        let (scale, second_scale, minimum) = scales_of::<KIND>(block);
        for_each_row!(ROW => {
            let fours = input.values[ROW].as_chunks::<4>().0;
            let four = |q: usize| {
                _mm512_set1_epi32(i32::from_le_bytes(fours[q].map(i8::cast_unsigned)))
            };
            let start = |half: usize| {
                if kind.offset() == 0 {
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
            if KIND == Q6K {
                for (half, scale) in [scale, second_scale].into_iter().enumerate() {
                    let part = dot(start(half), 4 * half..4 * half + 4);
                    let scale = _mm512_mul_ps(scale, input_scale);
                    *sum = _mm512_fmadd_ps(_mm512_cvtepi32_ps(part), scale, *sum);
                }
            } else {
                let start = if kind.offset() == 0 {
                    start(0)
                } else {
                    _mm512_add_epi32(start(0), start(1))
                };
                let part = _mm512_cvtepi32_ps(dot(start, 0..8));
                *sum = _mm512_fmadd_ps(part, _mm512_mul_ps(scale, input_scale), *sum);
            }
            if KIND == Q4K || KIND == Q5K {
                *sum = _mm512_fnmadd_ps(minimum, _mm512_set1_ps(input.totals[ROW]), *sum);
            }
        });
    }
    sums.map(|sum| to_array(sum))
}

/// Asks for what comes a page later: tiles are read once, front to back, one after the other.
#[inline]
#[target_feature(enable = "avx512f")]
fn prefetch(bytes: &[u8], n_lines: usize) {
    const AHEAD: usize = 4096;
    for line in 0..n_lines {
        _mm_prefetch::<_MM_HINT_T0>(bytes.as_ptr().wrapping_add(AHEAD + line * 64).cast());
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
#[expect(unsafe_code, reason = "a store of 64 bytes")]
pub fn to_array(vector: __m512) -> [f32; ROWS] {
    let mut out = [0f32; ROWS];
    // SAFETY: there is room for 16 values.
    unsafe { _mm512_storeu_ps(out.as_mut_ptr(), vector) };
    out
}

/// A block of a tile as the tile unit reads it: 16 rows of two columns each, for each row of the
/// matrix the two values side by side, rounded to bf16.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
pub fn block_to_bf16(kind: Kind, block: TileBlock<'_>, out: &mut [[u32; ROWS]; 16]) {
    for_kind!(kind, KIND => block_to_bf16_of::<{ KIND as u8 }>(block, out));
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[expect(unsafe_code, reason = "stores of 64 bytes")]
fn block_to_bf16_of<const KIND: u8>(block: TileBlock<'_>, out: &mut [[u32; ROWS]; 16]) {
    let kind = Kind::numbered(KIND);
    let quads = unpack::<KIND>(block.values);
    let (scale, second_scale, minimum) = scales_of::<KIND>(block);
    let offset = _mm512_set1_ps(kind.offset() as f32);
    let minima = if kind.offset() == 0 {
        [minimum; 2]
    } else {
        [_mm512_mul_ps(scale, offset), _mm512_mul_ps(second_scale, offset)]
    };
    let byte = _mm512_set1_epi32(0xff);
    for (q, quad) in quads.into_iter().enumerate() {
        let (scale, minimum) = if q < 4 { (scale, minima[0]) } else { (second_scale, minima[1]) };
        let value = |bytes| _mm512_fmsub_ps(_mm512_cvtepi32_ps(bytes), scale, minimum);
        let pairs = [
            bf16_pair(
                value(_mm512_and_si512(quad, byte)),
                value(_mm512_and_si512(_mm512_srli_epi32::<8>(quad), byte)),
            ),
            bf16_pair(
                value(_mm512_and_si512(_mm512_srli_epi32::<16>(quad), byte)),
                value(_mm512_srli_epi32::<24>(quad)),
            ),
        ];
        for (pair, out) in pairs.into_iter().zip(&mut out[2 * q..2 * q + 2]) {
            // SAFETY: there is room for 16 numbers.
            unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), pair) };
        }
    }
}

/// Two values rounded to bf16: the first in the lower half of each number, the second in the upper.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub fn bf16_pair(first: __m512, second: __m512) -> __m512i {
    let half = _mm512_set1_epi32(0x8000);
    let first = _mm512_srli_epi32::<16>(_mm512_add_epi32(_mm512_castps_si512(first), half));
    let second = _mm512_add_epi32(_mm512_castps_si512(second), half);
    _mm512_mask_blend_epi16(0xaaaa_aaaa, first, second)
}

/// 32 columns of one input row in bf16, in order: one row of a tile of the tile unit.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
#[expect(unsafe_code, reason = "loads and a store of 64 bytes")]
pub fn input_to_bf16(xs: &[f32; BLOCK], out: &mut [u32; ROWS]) {
    let even_first = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    let odd_first = _mm512_set_epi32(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
    // SAFETY: 32 values are read and 16 numbers written.
    unsafe {
        let (a, b) = (_mm512_loadu_ps(xs.as_ptr()), _mm512_loadu_ps(xs.as_ptr().add(16)));
        let pair = bf16_pair(
            _mm512_permutex2var_ps(a, even_first, b),
            _mm512_permutex2var_ps(a, odd_first, b),
        );
        _mm512_storeu_si512(out.as_mut_ptr().cast(), pair);
    }
}
