//! The input of a product, rounded to 8 bits.

use rayon::prelude::*;

use crate::matrix::BLOCK;
use crate::vectorised;

/// The fewest values that are worth another core.
const VALUES_PER_TASK: usize = 32 * 1024;

/// A block is coarse if its scale is this many times its row's mean scale. Models have a few dimensions
/// whose values are many times the others', and the 31 values beside such a one lose most to rounding.
/// From the first to the second bound a growing share of the rounding error is added back, so that a
/// product does not jump where a scale changes in its last bit.
const COARSE: [f32; 2] = [2.5, 3.0];

/// Rows in 8 bits, with a scale for each block of 32 columns: its largest absolute value ÷ 127.
#[derive(Debug)]
pub struct Int8Rows {
    n_blocks: usize,
    values: Vec<[i8; BLOCK]>,
    scales: Vec<f32>,
    sums: Vec<[PairSums; 2]>,
    rests: Option<Box<Rests>>,
}

/// Of 16 values, those of the first two and those of the last two of each four: what a kernel finds in the halves of 32
/// bits when it adds products in 16.
type PairSums = [i16; 2];

/// The first in the lower half.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn bits_of_pair([first, last]: PairSums) -> u32 {
    u32::from(first.cast_unsigned()) | u32::from(last.cast_unsigned()) << 16
}

/// The rounding errors of coarse blocks, in 8 bits too: their products are added to those of the rows.
#[derive(Debug)]
pub struct Rests {
    /// Rows of one block.
    pub rows: Int8Rows,
    /// Block and row of each, in order.
    pub places: Vec<(usize, usize)>,
}

/// One block of a row.
#[derive(Debug, Clone, Copy)]
pub struct Block<'a> {
    pub values: &'a [i8; BLOCK],
    pub scale: f32,
    /// Of the first and of the last 16 values.
    pub pair_sums: [PairSums; 2],
}

impl Block<'_> {
    /// The sums of the first and of the last 16 values.
    #[inline(always)]
    pub fn sums(&self) -> [i32; 2] {
        self.pair_sums.map(|[first, last]| i32::from(first) + i32::from(last))
    }
}

impl Int8Rows {
    /// `xs`: rows of `n_blocks` · 32 values.
    pub fn new(xs: &[f32], n_blocks: usize) -> Self {
        let blocks = xs.as_chunks::<BLOCK>().0;
        let mut rows = Self::rounded(blocks, n_blocks);
        rows.rests = rows.rests_of(blocks).map(Box::new);
        rows
    }

    /// Without the rests.
    fn rounded(blocks: &[[f32; BLOCK]], n_blocks: usize) -> Self {
        let mut rows = Self {
            n_blocks,
            values: vec![[0; BLOCK]; blocks.len()],
            scales: vec![0.0; blocks.len()],
            sums: vec![[[0; 2]; 2]; blocks.len()],
            rests: None,
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

    fn rests_of(&self, blocks: &[[f32; BLOCK]]) -> Option<Rests> {
        let (mut places, mut means) = (Vec::new(), Vec::new());
        let [from, to] = COARSE;
        for (row, scales) in self.scales.chunks_exact(self.n_blocks).enumerate() {
            // A scale that is NaN or infinite never exceeds its own row's mean.
            let mean = scales.iter().sum::<f32>() / scales.len() as f32;
            let coarse = scales.iter().enumerate().filter(|(_, scale)| **scale > from * mean);
            places.extend(coarse.map(|(block, _)| (block, row)));
            means.push(mean);
        }
        if places.is_empty() {
            return None;
        }
        places.sort_unstable();
        let rest = |&(block, row): &(usize, usize)| {
            let index = row * self.n_blocks + block;
            let rounded = |i: usize| f32::from(self.values[index][i]) * self.scales[index];
            let share = ((self.scales[index] / means[row] - from) / (to - from)).min(1.0);
            std::array::from_fn(|i| share * (blocks[index][i] - rounded(i)))
        };
        let rests: Vec<[f32; BLOCK]> = places.iter().map(rest).collect();
        Some(Rests { rows: Self::rounded(&rests, 1), places })
    }

    /// What is to be added to products with these rows.
    pub fn rests(&self) -> Option<&Rests> {
        self.rests.as_deref()
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
        let (values, scale) = (&self.values[index], self.scales[index]);
        Block { values, scale, pair_sums: self.sums[index] }
    }
}

/// `$body` once for each row of a panel, so that the sums stay in registers: the compiler does not
/// unroll a loop of this size, and would keep them in memory.
#[cfg(target_arch = "x86_64")]
macro_rules! for_each_row {
    ($row:ident => $body:block) => {
        $crate::activations::for_each_row!($row => $body, 0 1 2 3 4 5 6 7);
    };
    ($row:ident => $body:block, $($number:literal)*) => {
        const { assert!([$($number),*].len() == $crate::activations::PANEL) };
        $({
            const $row: usize = $number;
            $body
        })*
    };
}
#[cfg(target_arch = "x86_64")]
pub(crate) use for_each_row;

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
    /// What is added to the sums of products ([`Addends`]): of the first and of the last 16 columns, or all in the
    /// first where these share a scale.
    pub addends: [[u32; PANEL]; 2],
}

/// What a kernel of many rows adds to the sums of products.
#[cfg(target_arch = "x86_64")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Addends {
    /// The weights' offset times the sum of the columns, as bits of an `i32`.
    Offset(i32),
    /// The same for [`PairSums`], in 16 bits each.
    PairsOfOffset(i32),
    /// For minima: the scale times the sum of the columns, as bits of an `f32`.
    Sums,
}

#[cfg(target_arch = "x86_64")]
impl Int8Rows {
    /// The panels of the rows, `n_blocks` blocks each, for weights with a scale for each 16 columns or not. The last is
    /// filled up with zeros if so many rows are left that one by one they would take as long.
    pub fn panels(&self, addends: Addends, is_by_16: bool) -> Vec<PanelBlock> {
        const ZEROS: Block<'_> = Block { values: &[0; BLOCK], scale: 0.0, pair_sums: [[0; 2]; 2] };
        let (n_blocks, n_rows) = (self.n_blocks, self.n_rows());
        let n_panels = n_rows / PANEL + usize::from(n_rows % PANEL > PANEL / 2);
        let block = |index: usize| {
            let (panel, b) = (index / n_blocks, index % n_blocks);
            let row = |r: usize| {
                let row = panel * PANEL + r;
                if row < n_rows { self.block(row, b) } else { ZEROS }
            };
            let addend = |r: usize, half: usize| {
                let row = row(r);
                let [first, last] = row.sums();
                let sum = if is_by_16 { [first, last][half] } else { first + last };
                match addends {
                    Addends::Offset(offset) => (-offset * sum).cast_unsigned(),
                    Addends::PairsOfOffset(offset) => bits_of_pair(
                        row.pair_sums[half].map(|sum| sum.wrapping_mul(-offset as i16)),
                    ),
                    Addends::Sums => (row.scale * sum as f32).to_bits(),
                }
            };
            PanelBlock {
                values: std::array::from_fn(|r| *row(r).values),
                scales: std::array::from_fn(|r| row(r).scale),
                addends: [0, 1].map(|half| std::array::from_fn(|r| addend(r, half))),
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
    sums: &mut [[PairSums; 2]],
) {
    for (((xs, values), scale), sums) in blocks.iter().zip(values).zip(scales).zip(sums) {
        quantise_block(xs, values, scale, sums);
    }
}
}

/// The largest absolute value; NaN if any input is NaN.
#[inline(always)]
pub fn largest(xs: &[f32]) -> f32 {
    // The bits of absolute values are ordered as the values are, with NaN above all.
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
    sums: &mut [PairSums; 2],
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
    for (sums, half) in sums.iter_mut().zip(rounded.as_chunks::<{ BLOCK / 2 }>().0) {
        let mut columns = [0i32; 4];
        for four in half.as_chunks::<4>().0 {
            for (sum, value) in columns.iter_mut().zip(four) {
                *sum += value;
            }
        }
        *sums = [columns[0] + columns[1], columns[2] + columns[3]].map(|sum| sum as i16);
    }
}
