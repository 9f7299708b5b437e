//! Products of quantised values by NEON, half a tile (eight rows of the matrix) at a time: with the
//! dot products of Armv8.2 (FEAT_DotProd: every Apple M, Cortex-A55 and A75 and later) and without
//! (Cortex-A53, A72).
//!
//! Both sides of these products are signed, unlike x86-64's. All values fit: those of 8 bits get their
//! sign back, the others are below 64.

#[allow(clippy::wildcard_imports, reason = "the names of the instructions")]
use std::arch::aarch64::*;
use std::arch::asm;

use crate::activations::{Block, Int8Rows};
use crate::formats::{Bits, BlockFormat, CHOICES, Scales};
use crate::matrix::{BLOCK, ROWS, TileBlock, tile_block};

/// Rows of half a tile.
const HALF: usize = ROWS / 2;
/// Vectors of four rows that make half a tile.
const VECTORS: usize = 2;
/// Quads of 16 columns.
const QUADS: usize = BLOCK / 4 / 2;

/// The products of one block and half a tile, for each row of input: of the first and of the last 16
/// columns, or all in the first where these share a scale.
type Products<const M: usize> = [[[int32x4_t; VECTORS]; M]; 2];

/// Where the products of the first (`part` 0) or last 16 columns are summed.
const fn place<F: BlockFormat>(part: usize) -> usize {
    if F::IS_BY_16 { part } else { 0 }
}

/// What [`crate::plain::rows`] computes, with `$dot` for the products of half a block: once for each
/// set of instructions, because a function with more of them is not inlined into one with fewer.
macro_rules! rows {
    ($(#[$meta:meta])* $name:ident, $features:literal, $dot:ident) => {
        $(#[$meta])*
        #[target_feature(enable = $features)]
        pub fn $name<F: BlockFormat, const M: usize>(
            tile: &[u8],
            first_block: usize,
            inputs: &Int8Rows,
            first: usize,
        ) -> [[f32; ROWS]; M] {
            let mut sums = [[[vdupq_n_f32(0.0); VECTORS]; M]; 2];
            for b in 0..inputs.n_blocks() {
                let block = tile_block::<F>(tile, first_block + b);
                let mut xs = [inputs.block(first, b); M];
                for (i, x) in xs.iter_mut().enumerate().skip(1) {
                    *x = inputs.block(first + i, b);
                }
                for (half, sums) in sums.iter_mut().enumerate() {
                    let products = $dot::<F, M>(block.values, half, &xs);
                    add::<F, M>(sums, &products, &scales_of::<F>(block, half), &xs);
                }
            }
            finish(&sums)
        }
    };
}

rows! {
    /// What [`crate::plain::rows`] computes, with instructions of every 64-bit Arm.
    rows, "neon", dot
}
rows! {
    /// The same with FEAT_DotProd.
    rows_by_dot_products, "neon,dotprod", dot_by_dot_products
}

/// Each instruction sums four products per lane.
#[inline]
#[target_feature(enable = "neon,dotprod")]
fn dot_by_dot_products<F: BlockFormat, const M: usize>(
    values: &[u8],
    half: usize,
    xs: &[Block<'_>; M],
) -> Products<M> {
    let mut products = [[[vdupq_n_s32(0); VECTORS]; M]; 2];
    for part in 0..2 {
        let quads = unpack::<F>(values, half, part);
        for (sums, x) in products[place::<F>(part)].iter_mut().zip(xs) {
            let x = load_signed(&x.values[part * BLOCK / 2..]);
            for (v, sum) in sums.iter_mut().enumerate() {
                *sum = dot_product::<0>(*sum, quads[0][v], x);
                *sum = dot_product::<1>(*sum, quads[1][v], x);
                *sum = dot_product::<2>(*sum, quads[2][v], x);
                *sum = dot_product::<3>(*sum, quads[3][v], x);
            }
        }
    }
    products
}

/// `sum` + four rows' quads times four columns of the input, those at `4 · QUAD`.
#[inline]
#[target_feature(enable = "neon,dotprod")]
fn dot_product<const QUAD: usize>(
    mut sum: int32x4_t,
    weights: int8x16_t,
    x: int8x16_t,
) -> int32x4_t {
    // std's own `vdotq_laneq_s32` is not stable yet (rust-lang/rust#117224).
    // SAFETY: one instruction on registers only, of FEAT_DotProd, which this function's callers have.
    unsafe {
        asm!(
            "sdot {sum:v}.4s, {weights:v}.16b, {x:v}.4b[{quad}]",
            sum = inout(vreg) sum,
            weights = in(vreg) weights,
            x = in(vreg) x,
            quad = const QUAD,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    sum
}

/// Products are summed in 16 bits for as long as nothing can overflow (four of 63 · 127, two of
/// 128 · 127), then in 32.
#[inline]
#[target_feature(enable = "neon")]
fn dot<F: BlockFormat, const M: usize>(
    values: &[u8],
    half: usize,
    xs: &[Block<'_>; M],
) -> Products<M> {
    let n_in_16_bits = if F::ARE_WIDE { 2 } else { QUADS };
    let mut products = [[[vdupq_n_s32(0); VECTORS]; M]; 2];
    for part in 0..2 {
        let quads = unpack::<F>(values, half, part);
        for (sums, x) in products[place::<F>(part)].iter_mut().zip(xs) {
            let x = vreinterpretq_s32_s8(load_signed(&x.values[part * BLOCK / 2..]));
            // Each quad of the input repeated, for four rows.
            let xs = [
                vdupq_laneq_s32::<0>(x),
                vdupq_laneq_s32::<1>(x),
                vdupq_laneq_s32::<2>(x),
                vdupq_laneq_s32::<3>(x),
            ];
            for (v, sum) in sums.iter_mut().enumerate() {
                let [mut first, mut last] = [vdupq_n_s32(0); 2];
                for q in (0..QUADS).step_by(n_in_16_bits) {
                    let [mut first_pairs, mut last_pairs] = [vdupq_n_s16(0); 2];
                    for q in q..q + n_in_16_bits {
                        let (weights, x) = (quads[q][v], vreinterpretq_s8_s32(xs[q]));
                        first_pairs = vmlal_s8(first_pairs, vget_low_s8(weights), vget_low_s8(x));
                        last_pairs = vmlal_high_s8(last_pairs, weights, x);
                    }
                    first = vpadalq_s16(first, first_pairs);
                    last = vpadalq_s16(last, last_pairs);
                }
                *sum = vaddq_s32(*sum, vpaddq_s32(first, last));
            }
        }
    }
    products
}

/// The four quads of 16 columns, of half the rows.
#[inline]
#[target_feature(enable = "neon")]
fn unpack<F: BlockFormat>(
    values: &[u8],
    half: usize,
    part: usize,
) -> [[int8x16_t; VECTORS]; QUADS] {
    let mut quads = [[vdupq_n_s8(0); VECTORS]; QUADS];
    for v in 0..VECTORS {
        let at = |vector: usize| load(&values[vector * 64 + half * 32 + v * 16..]);
        let mut put = |q: usize, values: uint8x16_t| quads[q][v] = vreinterpretq_s8_u8(values);
        if F::BITS == Bits::Eight {
            for q in 0..QUADS {
                put(q, veorq_u8(at(part * QUADS + q), vdupq_n_u8(0x80)));
            }
            continue;
        }
        let mut four = if F::BITS.are_by_two() {
            let (all, low) = (at(part), vdupq_n_u8(3));
            [
                vandq_u8(all, low),
                vandq_u8(vshrq_n_u8::<2>(all), low),
                vandq_u8(vshrq_n_u8::<4>(all), low),
                vshrq_n_u8::<6>(all),
            ]
        } else {
            let (first, second, low) = (at(2 * part), at(2 * part + 1), vdupq_n_u8(15));
            [
                vandq_u8(first, low),
                vshrq_n_u8::<4>(first),
                vandq_u8(second, low),
                vshrq_n_u8::<4>(second),
            ]
        };
        if let Some((from, bit)) = F::BITS.lone_bit() {
            for (q, quad) in four.iter_mut().enumerate() {
                let bits = from + (part * QUADS + q) * 8 + half * 4 + v * 2;
                let lone = lone_bits([values[bits], values[bits + 1]], bit);
                *quad = vbslq_u8(vdupq_n_u8(1 << bit), lone, *quad);
            }
        }
        if F::BITS == Bits::FourChoices {
            let choices = vreinterpretq_u8_s8(load_signed(&CHOICES));
            for quad in &mut four {
                *quad = vqtbl1q_u8(choices, *quad);
            }
        }
        if F::BITS == Bits::Six {
            let (upper, upper_bits) = (at(4 + part), vdupq_n_u8(0x30));
            let placed =
                [vshlq_n_u8::<4>(upper), vshlq_n_u8::<2>(upper), upper, vshrq_n_u8::<2>(upper)];
            for (quad, placed) in four.iter_mut().zip(placed) {
                *quad = vbslq_u8(upper_bits, placed, *quad);
            }
        }
        for (q, quad) in four.into_iter().enumerate() {
            put(q, quad);
        }
    }
    quads
}

/// Bit i in bit `bit` of byte i, whose other bits are anything.
#[inline]
#[target_feature(enable = "neon")]
fn lone_bits(bits: [u8; 2], bit: u32) -> uint8x16_t {
    let own_byte = vcombine_u8(vdup_n_u8(0), vdup_n_u8(1));
    let bits = vqtbl1q_u8(vreinterpretq_u8_u16(vdupq_n_u16(u16::from_le_bytes(bits))), own_byte);
    // Shifts from bit 0, 1, … 7 to `bit`; right where negative.
    let left = vcreate_s8(u64::from_le_bytes([0, 0xff, 0xfe, 0xfd, 0xfc, 0xfb, 0xfa, 0xf9]));
    let left = vadd_s8(left, vdup_n_s8(bit as i8));
    vshlq_u8(bits, vcombine_s8(left, left))
}

/// [`crate::matrix::BlockScales`] of half the rows.
struct HalfScales {
    scales: [[float32x4_t; VECTORS]; 2],
    minima: [[float32x4_t; VECTORS]; 2],
    shared: [float32x4_t; VECTORS],
}

#[inline]
#[target_feature(enable = "neon")]
fn scales_of<F: BlockFormat>(block: TileBlock<'_>, half: usize) -> HalfScales {
    let f16_from = |row: usize| load_f16(&block.scales[2 * (row + half * HALF)..]);
    let none = [vdupq_n_f32(0.0); VECTORS];
    let same =
        |scale, minimum| HalfScales { scales: [scale; 2], minima: [minimum; 2], shared: none };
    let small_at = block.place * F::SCALES.small_bytes() + half * HALF;
    let small = |at: usize| load_8(&block.scales[4 * ROWS + small_at + at..]);
    let signed = |at: usize| times(f16_from(0), signed_floats(small(at)));
    match F::SCALES {
        Scales::Single => same(f16_from(block.place * ROWS), none),
        Scales::SingleAndMinimum => same(f16_from(0), f16_from(ROWS)),
        Scales::TwoLevels => same(signed(0), none),
        Scales::TwoLevelsAndMinima => {
            same(times(f16_from(0), floats(small(0))), times(f16_from(ROWS), floats(small(ROWS))))
        }
        Scales::TwoLevelsBy16 => {
            let scales = [signed_floats(small(0)), signed_floats(small(ROWS))];
            HalfScales { scales, minima: [none; 2], shared: f16_from(0) }
        }
        Scales::TwoLevelsAndMinimaBy16 => {
            let (scale, minimum) = (f16_from(0), f16_from(ROWS));
            let low = |at: usize| times(scale, floats(vand_u8(small(at), vdup_n_u8(15))));
            let high = |at: usize| times(minimum, floats(vshr_n_u8::<4>(small(at))));
            let (scales, minima) = ([low(0), low(ROWS)], [high(0), high(ROWS)]);
            HalfScales { scales, minima, shared: none }
        }
    }
}

/// Adds the scaled products of one block of half a tile, rounded as by the definition.
#[inline]
#[target_feature(enable = "neon")]
fn add<F: BlockFormat, const M: usize>(
    sums: &mut [[float32x4_t; VECTORS]; M],
    products: &Products<M>,
    scales: &HalfScales,
    xs: &[Block<'_>; M],
) {
    for (i, (sums, x)) in sums.iter_mut().zip(xs).enumerate() {
        let [first_sum, second_sum] = x.sums();
        for (v, sum) in sums.iter_mut().enumerate() {
            let part = |part: int32x4_t, total: i32| {
                vcvtq_f32_s32(vsubq_s32(part, vdupq_n_s32(F::SIGNED_OFFSET * total)))
            };
            let mut add = |products: int32x4_t, total: i32, half: usize| {
                let scale = vmulq_n_f32(scales.scales[half][v], x.scale);
                *sum = vfmaq_f32(*sum, part(products, total), scale);
                if F::HAS_MINIMA {
                    let total = vdupq_n_f32(x.scale * total as f32);
                    *sum = vfmsq_f32(*sum, scales.minima[half][v], total);
                }
            };
            let (first, second) = (products[0][i][v], products[1][i][v]);
            if F::ARE_SUMS_SCALED {
                let first = vmulq_f32(part(first, first_sum), scales.scales[0][v]);
                let both = vfmaq_f32(first, part(second, second_sum), scales.scales[1][v]);
                *sum = vfmaq_f32(*sum, both, vmulq_n_f32(scales.shared[v], x.scale));
            } else if F::IS_BY_16 {
                add(first, first_sum, 0);
                add(second, second_sum, 1);
            } else {
                add(first, first_sum + second_sum, 0);
            }
        }
    }
}

#[inline]
#[target_feature(enable = "neon")]
fn finish<const M: usize>(sums: &[[[float32x4_t; VECTORS]; M]; 2]) -> [[f32; ROWS]; M] {
    let mut out = [[0f32; ROWS]; M];
    for (i, out) in out.iter_mut().enumerate() {
        for (vector, out) in out.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            store(sums[vector / VECTORS][i][vector % VECTORS], out);
        }
    }
    out
}

#[inline]
#[target_feature(enable = "neon")]
fn times(a: [float32x4_t; VECTORS], b: [float32x4_t; VECTORS]) -> [float32x4_t; VECTORS] {
    [vmulq_f32(a[0], b[0]), vmulq_f32(a[1], b[1])]
}

#[inline]
#[target_feature(enable = "neon")]
fn load(bytes: &[u8]) -> uint8x16_t {
    assert!(bytes.len() >= 16);
    // SAFETY: 16 bytes are there, as asserted.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}

#[inline]
#[target_feature(enable = "neon")]
fn load_signed(values: &[i8]) -> int8x16_t {
    assert!(values.len() >= 16);
    // SAFETY: 16 values are there, as asserted.
    unsafe { vld1q_s8(values.as_ptr()) }
}

#[inline]
#[target_feature(enable = "neon")]
fn load_f16(bytes: &[u8]) -> [float32x4_t; VECTORS] {
    let values = vreinterpretq_f16_u8(load(bytes));
    [vcvt_f32_f16(vget_low_f16(values)), vcvt_high_f32_f16(values)]
}

#[inline]
#[target_feature(enable = "neon")]
fn load_8(bytes: &[u8]) -> uint8x8_t {
    assert!(bytes.len() >= 8);
    // SAFETY: 8 bytes are there, as asserted.
    unsafe { vld1_u8(bytes.as_ptr()) }
}

#[inline]
#[target_feature(enable = "neon")]
fn signed_floats(bytes: uint8x8_t) -> [float32x4_t; VECTORS] {
    let wide = vmovl_s8(vreinterpret_s8_u8(bytes));
    [vcvtq_f32_s32(vmovl_s16(vget_low_s16(wide))), vcvtq_f32_s32(vmovl_high_s16(wide))]
}

#[inline]
#[target_feature(enable = "neon")]
fn floats(bytes: uint8x8_t) -> [float32x4_t; VECTORS] {
    let wide = vmovl_u8(bytes);
    [vcvtq_f32_u32(vmovl_u16(vget_low_u16(wide))), vcvtq_f32_u32(vmovl_high_u16(wide))]
}

#[inline]
#[target_feature(enable = "neon")]
fn store(vector: float32x4_t, out: &mut [f32; 4]) {
    // SAFETY: `out` has room for 4 values.
    unsafe { vst1q_f32(out.as_mut_ptr(), vector) };
}
