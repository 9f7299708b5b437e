//! The products of quantised values by NEON, half a tile (eight rows of the matrix) at a time: with
//! the dot products of Armv8.2 (FEAT_DotProd: every Apple M, Cortex-A55 and A75 and later) and without
//! (Cortex-A53, A72).
//!
//! These want both sides signed, unlike Intel's. All values fit: those of Q8_0 get their sign back,
//! the others are below 64.

#[allow(clippy::wildcard_imports, reason = "the names of the instructions")]
use std::arch::aarch64::*;
use std::arch::asm;

use super::activations::{Block, Quantised};
use super::packed::{BLOCK, Kind, ROWS, TileBlock, block_of, for_kind};

/// Rows of half a tile.
const HALF: usize = ROWS / 2;
/// Vectors of four rows that make half a tile.
const VECTORS: usize = 2;
/// Quads of 16 columns, which in Q6_K share a scale.
const QUADS: usize = BLOCK / 4 / 2;

/// The products of one block and half a tile, by row of the input; the second ones, those of the last
/// 16 columns, in Q6_K alone.
type Products<const M: usize> = [[[int32x4_t; VECTORS]; M]; 2];

/// Where the products of 16 columns are summed.
const fn place<const KIND: u8>(part: usize) -> usize {
    if matches!(Kind::numbered(KIND), Kind::Q6K) { part } else { 0 }
}

/// What [`super::portable::rows`] computes, with `$dot` for the products of half a block: once for
/// each set of instructions, because what has more of them is not inlined into what has fewer.
macro_rules! rows {
    ($(#[$meta:meta])* $name:ident, $features:literal, $dot:ident) => {
        $(#[$meta])*
        #[target_feature(enable = $features)]
        pub fn $name<const M: usize>(
            kind: Kind,
            tile: &[u8],
            inputs: &Quantised,
            first: usize,
        ) -> [[f32; ROWS]; M] {
            #[inline]
            #[target_feature(enable = $features)]
            fn of_kind<const KIND: u8, const M: usize>(
                tile: &[u8],
                inputs: &Quantised,
                first: usize,
            ) -> [[f32; ROWS]; M] {
                let mut sums = [[[vdupq_n_f32(0.0); VECTORS]; M]; 2];
                for b in 0..inputs.n_blocks() {
                    let block = block_of(Kind::numbered(KIND), tile, b);
                    let mut xs = [inputs.block(first, b); M];
                    for (i, x) in xs.iter_mut().enumerate().skip(1) {
                        *x = inputs.block(first + i, b);
                    }
                    for (half, sums) in sums.iter_mut().enumerate() {
                        let products = $dot::<KIND, M>(block.values, half, &xs);
                        add::<KIND, M>(sums, &products, &scales_of::<KIND>(block, half), &xs);
                    }
                }
                finish(&sums)
            }
            for_kind!(kind, KIND => of_kind::<{ KIND as u8 }, M>(tile, inputs, first))
        }
    };
}

rows! {
    /// What [`super::portable::rows`] computes, with what every 64-bit Arm has.
    rows, "neon", dot
}
rows! {
    /// The same with FEAT_DotProd.
    rows_by_dot_products, "neon,dotprod", dot_by_dot_products
}

/// Four products a lane and instruction.
#[inline]
#[target_feature(enable = "neon,dotprod")]
fn dot_by_dot_products<const KIND: u8, const M: usize>(
    values: &[u8],
    half: usize,
    xs: &[Block<'_>; M],
) -> Products<M> {
    let mut products = [[[vdupq_n_s32(0); VECTORS]; M]; 2];
    for part in 0..2 {
        let quads = unpack::<KIND>(values, half, part);
        for (sums, x) in products[place::<KIND>(part)].iter_mut().zip(xs) {
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
#[expect(
    unsafe_code,
    reason = "std's own `vdotq_laneq_s32` is not stable yet (rust-lang/rust#117224)"
)]
fn dot_product<const QUAD: usize>(
    mut sum: int32x4_t,
    weights: int8x16_t,
    x: int8x16_t,
) -> int32x4_t {
    // SAFETY: an instruction of FEAT_DotProd on registers alone; the caller has the feature.
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

/// Products are summed in 16 bits as long as nothing can overflow (four of 63 · 127, two of
/// 128 · 127), then in 32.
#[inline]
#[target_feature(enable = "neon")]
fn dot<const KIND: u8, const M: usize>(
    values: &[u8],
    half: usize,
    xs: &[Block<'_>; M],
) -> Products<M> {
    let n_in_16_bits = if Kind::numbered(KIND) == Kind::Q8_0 { 2 } else { QUADS };
    let mut products = [[[vdupq_n_s32(0); VECTORS]; M]; 2];
    for part in 0..2 {
        let quads = unpack::<KIND>(values, half, part);
        for (sums, x) in products[place::<KIND>(part)].iter_mut().zip(xs) {
            let x = vreinterpretq_s32_s8(load_signed(&x.values[part * BLOCK / 2..]));
            // Each quad of the input beside itself, for four rows.
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
fn unpack<const KIND: u8>(
    values: &[u8],
    half: usize,
    part: usize,
) -> [[int8x16_t; VECTORS]; QUADS] {
    let kind = Kind::numbered(KIND);
    let mut quads = [[vdupq_n_s8(0); VECTORS]; QUADS];
    for v in 0..VECTORS {
        let at = |vector: usize| load(&values[vector * 64 + half * 32 + v * 16..]);
        let mut put = |q: usize, values: uint8x16_t| quads[q][v] = vreinterpretq_s8_u8(values);
        if kind == Kind::Q8_0 {
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
        if matches!(kind, Kind::Q5_0 | Kind::Q5K) {
            for (q, quad) in four.iter_mut().enumerate() {
                let bits = 256 + (part * QUADS + q) * 8 + half * 4 + v * 2;
                let fifth = fifth_bits([values[bits], values[bits + 1]]);
                *quad = vbslq_u8(vdupq_n_u8(16), fifth, *quad);
            }
        }
        if kind == Kind::Q6K {
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

/// Bit i in the fifth bit of byte i; what is in the others means nothing.
#[inline]
#[target_feature(enable = "neon")]
fn fifth_bits(bits: [u8; 2]) -> uint8x16_t {
    let own_byte = vcombine_u8(vdup_n_u8(0), vdup_n_u8(1));
    let bits = vqtbl1q_u8(vreinterpretq_u8_u16(vdupq_n_u16(u16::from_le_bytes(bits))), own_byte);
    // From bit 0, 1, … 7 of a byte.
    let left = vcreate_s8(u64::from_le_bytes([4, 3, 2, 1, 0, 0xff, 0xfe, 0xfd]));
    vshlq_u8(bits, vcombine_s8(left, left))
}

/// As [`super::packed::BlockScales`], of half the rows.
struct Scales {
    first: [float32x4_t; VECTORS],
    second: [float32x4_t; VECTORS],
    minimum: [float32x4_t; VECTORS],
}

#[inline]
#[target_feature(enable = "neon")]
fn scales_of<const KIND: u8>(block: TileBlock<'_>, half: usize) -> Scales {
    let kind = Kind::numbered(KIND);
    let halves = |row: usize| load_halves(&block.scales[2 * (row + half * HALF)..]);
    let minimum = [vdupq_n_f32(0.0); VECTORS];
    if !kind.is_super() {
        let first = halves(block.place * ROWS);
        return Scales { first, second: first, minimum };
    }
    let small = &block.scales[64 + block.place * 32 + half * HALF..];
    let (scale, other) = (halves(0), &small[ROWS..]);
    if kind == Kind::Q6K {
        let first = times(scale, load_small::<true>(small));
        return Scales { first, second: times(scale, load_small::<true>(other)), minimum };
    }
    let first = times(scale, load_small::<false>(small));
    let minimum = times(halves(ROWS), load_small::<false>(other));
    Scales { first, second: first, minimum }
}

/// Adds what the products of one block of half a tile count, with the definition's roundings.
#[inline]
#[target_feature(enable = "neon")]
fn add<const KIND: u8, const M: usize>(
    sums: &mut [[float32x4_t; VECTORS]; M],
    products: &Products<M>,
    scales: &Scales,
    xs: &[Block<'_>; M],
) {
    let kind = Kind::numbered(KIND);
    // Q8_0 is unpacked with its sign.
    let offset = if kind == Kind::Q8_0 { 0 } else { kind.offset() };
    for (i, (sums, x)) in sums.iter_mut().zip(xs).enumerate() {
        let [first_sum, second_sum] = x.sums;
        for (v, sum) in sums.iter_mut().enumerate() {
            let mut add = |part: int32x4_t, total: i32, scale: float32x4_t| {
                let part = vsubq_s32(part, vdupq_n_s32(offset * total));
                *sum = vfmaq_f32(*sum, vcvtq_f32_s32(part), vmulq_n_f32(scale, x.scale));
            };
            let (first, second) = (products[0][i][v], products[1][i][v]);
            if kind == Kind::Q6K {
                add(first, first_sum, scales.first[v]);
                add(second, second_sum, scales.second[v]);
            } else {
                add(first, first_sum + second_sum, scales.first[v]);
            }
            if matches!(kind, Kind::Q4K | Kind::Q5K) {
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
#[expect(unsafe_code, reason = "a load of 16 bytes")]
fn load(bytes: &[u8]) -> uint8x16_t {
    assert!(bytes.len() >= 16);
    // SAFETY: there are 16 bytes.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}

#[inline]
#[target_feature(enable = "neon")]
#[expect(unsafe_code, reason = "a load of 16 bytes")]
fn load_signed(values: &[i8]) -> int8x16_t {
    assert!(values.len() >= 16);
    // SAFETY: there are 16 values.
    unsafe { vld1q_s8(values.as_ptr()) }
}

#[inline]
#[target_feature(enable = "neon")]
fn load_halves(bytes: &[u8]) -> [float32x4_t; VECTORS] {
    let halves = vreinterpretq_f16_u8(load(bytes));
    [vcvt_f32_f16(vget_low_f16(halves)), vcvt_high_f32_f16(halves)]
}

#[inline]
#[target_feature(enable = "neon")]
#[expect(unsafe_code, reason = "a load of 8 bytes")]
fn load_small<const SIGNED: bool>(bytes: &[u8]) -> [float32x4_t; VECTORS] {
    assert!(bytes.len() >= 8);
    // SAFETY: there are 8 bytes.
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
#[expect(unsafe_code, reason = "a store of 16 bytes")]
fn store(vector: float32x4_t, out: &mut [f32; 4]) {
    // SAFETY: there is room for 4 values.
    unsafe { vst1q_f32(out.as_mut_ptr(), vector) };
}
