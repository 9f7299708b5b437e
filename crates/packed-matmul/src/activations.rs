//! The input of a product, rounded to 8 bits.

use rayon::prelude::*;

use crate::matrix::BLOCK;
use crate::vectorised;

/// Values below which a task is not worth another core.
const VALUES_PER_TASK: usize = 32 * 1024;

/// Rows in 8 bits, with a scale for each block of 32 columns: its largest size ÷ 127.
#[derive(Debug)]
pub struct Int8Rows {
    n_blocks: usize,
    values: Vec<[i8; BLOCK]>,
    scales: Vec<f32>,
    /// Of the first and of the last 16 values of each block.
    sums: Vec<[i32; 2]>,
}

/// One block of a row.
#[derive(Debug, Clone, Copy)]
pub struct Block<'a> {
    pub values: &'a [i8; BLOCK],
    pub scale: f32,
    pub sums: [i32; 2],
}

impl Int8Rows {
    /// `xs`: rows of `n_blocks` · 32 values.
    pub fn new(xs: &[f32], n_blocks: usize) -> Self {
        let blocks = xs.as_chunks::<BLOCK>().0;
        let mut rows = Self {
            n_blocks,
            values: vec![[0; BLOCK]; blocks.len()],
            scales: vec![0.0; blocks.len()],
            sums: vec![[0; 2]; blocks.len()],
        };
        let Self { values, scales, sums, .. } = &mut rows;
        let per_task = VALUES_PER_TASK / BLOCK;
        if blocks.len() < 2 * per_task {
            quantise(blocks, values, scales, sums);
        } else {
            blocks
                .par_chunks(per_task)
                .zip(values.par_chunks_mut(per_task))
                .zip(scales.par_chunks_mut(per_task))
                .zip(sums.par_chunks_mut(per_task))
                .for_each(|(((blocks, values), scales), sums)| {
                    quantise(blocks, values, scales, sums);
                });
        }
        rows
    }

    #[cfg(target_arch = "x86_64")]
    pub fn n_rows(&self) -> usize {
        self.values.len() / self.n_blocks
    }

    /// Blocks of a row.
    pub fn n_blocks(&self) -> usize {
        self.n_blocks
    }

    #[inline(always)]
    pub fn block(&self, row: usize, block: usize) -> Block<'_> {
        let index = row * self.n_blocks + block;
        Block { values: &self.values[index], scale: self.scales[index], sums: self.sums[index] }
    }
}

/// Rows of a [`PanelBlock`].
#[cfg(target_arch = "x86_64")]
pub const PANEL: usize = 8;

/// One block of [`PANEL`] rows, one after the other, with what a kernel of many rows adds to their
/// products: loading it from here takes no instruction of its own.
#[cfg(target_arch = "x86_64")]
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub struct PanelBlock {
    pub values: [[i8; BLOCK]; PANEL],
    pub scales: [f32; PANEL],
    /// The scale times the sum of the block.
    pub totals: [f32; PANEL],
    /// What the weights' offset adds to the sums of the first and of the last 16 products.
    pub corrections: [[i32; PANEL]; 2],
}

#[cfg(target_arch = "x86_64")]
impl Int8Rows {
    /// The whole panels of the rows, `n_blocks` blocks each, for weights with this offset.
    pub fn panels(&self, offset: i32) -> Vec<PanelBlock> {
        let n_blocks = self.n_blocks;
        let n_panels = self.n_rows() / PANEL;
        let block = |index: usize| {
            let (panel, b) = (index / n_blocks, index % n_blocks);
            let row = |r: usize| self.block(panel * PANEL + r, b);
            PanelBlock {
                values: std::array::from_fn(|r| *row(r).values),
                scales: std::array::from_fn(|r| row(r).scale),
                totals: std::array::from_fn(|r| {
                    let Block { scale, sums, .. } = row(r);
                    scale * (sums[0] + sums[1]) as f32
                }),
                corrections: [0, 1].map(|h| std::array::from_fn(|r| -offset * row(r).sums[h])),
            }
        };
        let per_task = VALUES_PER_TASK / BLOCK / PANEL;
        (0..n_panels * n_blocks).into_par_iter().with_min_len(per_task).map(block).collect()
    }
}

vectorised! {
/// A NaN or infinity makes the scale NaN or infinite, and with it the product.
fn quantise(
    blocks: &[[f32; BLOCK]],
    values: &mut [[i8; BLOCK]],
    scales: &mut [f32],
    sums: &mut [[i32; 2]],
) {
    for (((xs, values), scale), sums) in blocks.iter().zip(values).zip(scales).zip(sums) {
        quantise_block(xs, values, scale, sums);
    }
}
}

/// The largest size; NaN if any input is NaN.
#[inline(always)]
pub fn largest(xs: &[f32]) -> f32 {
    // The bits of sizes are ordered as the sizes are, with NaN above all.
    let size = |x: &f32| x.to_bits() & 0x7fff_ffff;
    let (chunks, rest) = xs.as_chunks::<16>();
    let mut maxima = [0u32; 16];
    for chunk in chunks {
        for (max, x) in maxima.iter_mut().zip(chunk) {
            *max = (*max).max(size(x));
        }
    }
    f32::from_bits(maxima.into_iter().chain(rest.iter().map(size)).max().unwrap_or(0))
}

/// `x · factor`, rounded, ties to even; anything for NaN and beyond 2^22. (A cast would test for
/// those, value by value.)
#[inline(always)]
pub fn rounded_product(x: f32, factor: f32) -> i32 {
    // At this size a float's last bit is worth 1, so its lowest bits are the integer.
    const SHIFT: f32 = (3 << 22) as f32;
    x.mul_add(factor, SHIFT).to_bits().wrapping_sub(SHIFT.to_bits()).cast_signed()
}

#[inline(always)]
fn quantise_block(
    xs: &[f32; BLOCK],
    values: &mut [i8; BLOCK],
    scale: &mut f32,
    sums: &mut [i32; 2],
) {
    let max = largest(xs);
    *scale = max / 127.0;
    let inverse = if max > 0.0 { 127.0 / max } else { 0.0 };
    let mut rounded = [0i32; BLOCK];
    for (rounded, &x) in rounded.iter_mut().zip(xs) {
        *rounded = rounded_product(x, inverse);
    }
    for (value, rounded) in values.iter_mut().zip(rounded) {
        *value = rounded as i8;
    }
    let (first, second) = rounded.split_at(BLOCK / 2);
    *sums = [first, second].map(|half| half.iter().sum());
}
