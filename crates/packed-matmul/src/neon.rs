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
use crate::formats::{Bits, BlockFormat, Scales};
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
            inputs: &Int8Rows,
            first: usize,
        ) -> [[f32; ROWS]; M] {
            let mut sums = [[[vdupq_n_f32(0.0); VECTORS]; M]; 2];
            for b in 0..inputs.n_blocks() {
                let block = tile_block::<F>(tile, b);
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

/// Sums four products for each lane in an instruction.
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
    let n_in_16_bits = if F::BITS == Bits::Eight { 2 } else { QUADS };
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
        let (first, second) = (at(2 * part), at(2 * part + 1));
        let low = vdupq_n_u8(15);
        let mut four = [
            vandq_u8(first, low),
            vshrq_n_u8::<4>(first),
            vandq_u8(second, low),
            vshrq_n_u8::<4>(second),
        ];
        if F::BITS == Bits::Five {
            for (q, quad) in four.iter_mut().enumerate() {
                let bits = 256 + (part * QUADS + q) * 8 + half * 4 + v * 2;
                let fifth = fifth_bits([values[bits], values[bits + 1]]);
                *quad = vbslq_u8(vdupq_n_u8(16), fifth, *quad);
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

/// Bit i in the fifth bit of byte i, whose other bits are anything.
#[inline]
#[target_feature(enable = "neon")]
fn fifth_bits(bits: [u8; 2]) -> uint8x16_t {
    let own_byte = vcombine_u8(vdup_n_u8(0), vdup_n_u8(1));
    let bits = vqtbl1q_u8(vreinterpretq_u8_u16(vdupq_n_u16(u16::from_le_bytes(bits))), own_byte);
    // Shifts from bit 0, 1, … 7 to bit 4.
    let left = vcreate_s8(u64::from_le_bytes([4, 3, 2, 1, 0, 0xff, 0xfe, 0xfd]));
    vshlq_u8(bits, vcombine_s8(left, left))
}

/// [`crate::matrix::BlockScales`] of half the rows.
struct HalfScales {
    first: [float32x4_t; VECTORS],
    second: [float32x4_t; VECTORS],
    minimum: [float32x4_t; VECTORS],
}

#[inline]
#[target_feature(enable = "neon")]
fn scales_of<F: BlockFormat>(block: TileBlock<'_>, half: usize) -> HalfScales {
    let f16_from = |row: usize| load_f16(&block.scales[2 * (row + half * HALF)..]);
    let minimum = [vdupq_n_f32(0.0); VECTORS];
    if F::SCALES == Scales::Single {
        let first = f16_from(block.place * ROWS);
        return HalfScales { first, second: first, minimum };
    }
    let small = &block.scales[64 + block.place * 32 + half * HALF..];
    let (scale, other) = (f16_from(0), &small[ROWS..]);
    if F::IS_BY_16 {
        let first = times(scale, load_bytes::<true>(small));
        return HalfScales { first, second: times(scale, load_bytes::<true>(other)), minimum };
    }
    let first = times(scale, load_bytes::<false>(small));
    let minimum = times(f16_from(ROWS), load_bytes::<false>(other));
    HalfScales { first, second: first, minimum }
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
    // Values of 8 bits are unpacked with their sign.
    let offset = if F::BITS == Bits::Eight { 0 } else { F::OFFSET };
    for (i, (sums, x)) in sums.iter_mut().zip(xs).enumerate() {
        let [first_sum, second_sum] = x.sums;
        for (v, sum) in sums.iter_mut().enumerate() {
            let mut add = |part: int32x4_t, total: i32, scale: float32x4_t| {
                let part = vsubq_s32(part, vdupq_n_s32(offset * total));
                *sum = vfmaq_f32(*sum, vcvtq_f32_s32(part), vmulq_n_f32(scale, x.scale));
            };
            let (first, second) = (products[0][i][v], products[1][i][v]);
            if F::IS_BY_16 {
                add(first, first_sum, scales.first[v]);
                add(second, second_sum, scales.second[v]);
            } else {
                add(first, first_sum + second_sum, scales.first[v]);
            }
            if F::HAS_MINIMA {
                let total = x.scale * (first_sum + second_sum) as f32;
                *sum = vfmsq_f32(*sum, scales.minimum[v], vdupq_n_f32(total));
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
fn load_bytes<const SIGNED: bool>(bytes: &[u8]) -> [float32x4_t; VECTORS] {
    assert!(bytes.len() >= 8);
    // SAFETY: 8 bytes are there, as asserted.
    let bytes = unsafe { vld1_u8(bytes.as_ptr()) };
    if SIGNED {
        let wide = vmovl_s8(vreinterpret_s8_u8(bytes));
        [vcvtq_f32_s32(vmovl_s16(vget_low_s16(wide))), vcvtq_f32_s32(vmovl_high_s16(wide))]
    } else {
        let wide = vmovl_u8(bytes);
        [vcvtq_f32_u32(vmovl_u16(vget_low_u16(wide))), vcvtq_f32_u32(vmovl_high_u16(wide))]
    }
}

#[inline]
#[target_feature(enable = "neon")]
fn store(vector: float32x4_t, out: &mut [f32; 4]) {
    // SAFETY: `out` has room for 4 values.
    unsafe { vst1q_f32(out.as_mut_ptr(), vector) };
}
