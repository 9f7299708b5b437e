//! Dense matrices in 16-bit integers, with exact sums in 32.
//!
//! Processors multiply and add pairs of 16-bit integers at least twice as fast as f32, and as fast as
//! bf16 or faster. Each row of the matrix and of the input has one scale. Inputs take 13 bits; a row
//! of the matrix takes as many as leave no sum able to overflow, whatever the input:
//! Σ|w| · max|x| < 2^31. With n columns that is a rounding of about n ÷ 1,800,000 of a typical weight:
//! less than bf16's up to some 2,000 columns.

#[allow(clippy::wildcard_imports, reason = "the names of the instructions")]
use std::arch::x86_64::*;
use std::ops::Range;

use rayon::prelude::*;

use crate::activations;
use crate::columns::Columns;
use crate::instruction_set::{InstructionSet, Set};
use crate::vectorised;

/// Rows of the matrix that are multiplied at once.
const PANEL: usize = 32;
/// Most columns of a matrix: with more, weights would be rounded too coarsely.
pub const N_IN_MAX: usize = 4096;
const INPUT_MAX: f32 = 4095.0;
const WEIGHT_MAX: f32 = i16::MAX as f32;
/// The largest Σ|w| of a row of the matrix, less some room for the scale's rounding.
const ROW_SUM_MAX: usize = i32::MAX as usize / INPUT_MAX as usize - 64;

/// Two columns of a panel, row by row side by side, as an instruction reads them.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct ColumnPair([[i16; 2]; PANEL]);

/// A matrix in 16-bit integers, for AVX2 or AVX-512.
#[derive(Debug)]
pub struct Int16Matrix {
    n_out: usize,
    n_pairs: usize,
    /// `n_pairs` for each panel; rows past the last are 0.
    pairs: Vec<ColumnPair>,
    /// One for each row, up to whole panels.
    scales: Vec<f32>,
    instructions: InstructionSet,
}

/// Rows of input: values, and a scale each.
struct Int16Rows {
    values: Vec<[i16; 2]>,
    scales: Vec<f32>,
}

impl Int16Matrix {
    /// A matrix `[n_out, n_in]`; `fill` gets a row's number and writes that row.
    ///
    /// # Panics
    /// If `n_in` is odd or more than [`N_IN_MAX`], or the instruction set is below AVX2.
    pub fn new(
        fill: impl Fn(usize, &mut [f32]) + Sync,
        n_out: usize,
        n_in: usize,
        instructions: InstructionSet,
    ) -> Self {
        assert!(n_in.is_multiple_of(2) && n_in <= N_IN_MAX);
        assert!(instructions.has_avx2());
        let n_pairs = n_in / 2;
        let n_panels = n_out.div_ceil(PANEL);
        let mut pairs = vec![ColumnPair([[0; 2]; PANEL]); n_panels * n_pairs];
        let mut scales = vec![0f32; n_panels * PANEL];
        pairs
            .par_chunks_exact_mut(n_pairs)
            .zip(scales.par_chunks_exact_mut(PANEL))
            .enumerate()
            .for_each(|(panel, (pairs, scales))| {
                let (mut row, mut rounded) = (vec![0f32; n_in], vec![0i16; n_in]);
                let n_rows = PANEL.min(n_out - panel * PANEL);
                for (r, scale) in scales[..n_rows].iter_mut().enumerate() {
                    fill(panel * PANEL + r, &mut row);
                    *scale = weight_scale(&row);
                    round(&row, *scale, &mut rounded);
                    for (pair, &two) in pairs.iter_mut().zip(rounded.as_chunks::<2>().0) {
                        pair.0[r] = two;
                    }
                }
            });
        Self { n_out, n_pairs, pairs, scales, instructions }
    }

    /// The rows of `xs` times the matrix.
    ///
    /// # Panics
    /// If `output` has fewer rows, or fewer columns than the matrix has rows.
    pub fn multiply(&self, xs: &[f32], output: Columns<'_>) {
        let inputs = Int16Rows::new(xs, 2 * self.n_pairs);
        let n_panels = self.scales.len() / PANEL;
        let step = n_panels.div_ceil(4 * rayon::current_num_threads());
        let tasks: Vec<_> = (0..n_panels).step_by(step).zip(output.chunks(step * PANEL)).collect();
        tasks.into_par_iter().with_max_len(1).for_each(|(first, mut output)| {
            let panels = first..n_panels.min(first + step);
            self.multiply_panels(panels, &inputs, &mut output);
        });
    }

    /// Row `index` in f32.
    pub fn row(&self, index: usize, out: &mut [f32]) {
        let (panel, r) = (index / PANEL, index % PANEL);
        let pairs = &self.pairs[panel * self.n_pairs..(panel + 1) * self.n_pairs];
        for (out, pair) in out.as_chunks_mut::<2>().0.iter_mut().zip(pairs) {
            *out = pair.0[r].map(|value| f32::from(value) * self.scales[index]);
        }
    }

    /// `output`: the columns of these panels.
    fn multiply_panels(&self, panels: Range<usize>, inputs: &Int16Rows, output: &mut Columns<'_>) {
        let n_rows = inputs.scales.len();
        // As many as the registers hold, and no group much smaller than the others.
        let rows_max = if self.instructions.set() == Set::Avx512 { 12 } else { 4 };
        let n_groups = n_rows.div_ceil(rows_max);
        for group in 0..n_groups {
            let rows = group * n_rows / n_groups..(group + 1) * n_rows / n_groups;
            for panel in panels.clone() {
                let column = (panel - panels.start) * PANEL;
                macro_rules! for_size {
                    ($($n:literal)*) => {
                        match rows.len() {
                            $($n => self.product::<$n>(panel, inputs, rows.start, column, output),)*
                            n => unreachable!("a group of {n} rows"),
                        }
                    };
                }
                for_size!(1 2 3 4 5 6 7 8 9 10 11 12);
            }
        }
    }

    /// `M` rows of input, from row `first` on, times a panel, into `output` from `column` on.
    fn product<const M: usize>(
        &self,
        panel: usize,
        inputs: &Int16Rows,
        first: usize,
        column: usize,
        output: &mut Columns<'_>,
    ) {
        let pairs = &self.pairs[panel * self.n_pairs..(panel + 1) * self.n_pairs];
        let values = &inputs.values[first * self.n_pairs..(first + M) * self.n_pairs];
        let rows = std::array::from_fn(|r| &values[r * self.n_pairs..(r + 1) * self.n_pairs]);
        let sums: [[i32; PANEL]; M] = if self.instructions.set() == Set::Avx512 {
            // SAFETY: the processor has what an `InstructionSet` names: it comes from detection.
            unsafe { avx512(pairs, rows) }
        } else {
            // SAFETY: as above; `new` refuses sets below AVX2.
            unsafe { avx2(pairs, rows) }
        };
        let n_columns = PANEL.min(self.n_out - panel * PANEL);
        let scales: &[f32] = &self.scales[panel * PANEL..(panel + 1) * PANEL];
        for (r, sums) in sums.iter().enumerate() {
            let mut products = [0f32; PANEL];
            let row_scale = inputs.scales[first + r];
            for ((product, &sum), &scale) in products.iter_mut().zip(sums).zip(scales) {
                *product = sum as f32 * (row_scale * scale);
            }
            output.write(first + r, column, &products[..n_columns]);
        }
    }
}

impl Int16Rows {
    /// `xs`: rows of `n_in` values.
    fn new(xs: &[f32], n_in: usize) -> Self {
        const ROWS_PER_TASK: usize = 16;
        let n_pairs = n_in / 2;
        let n_rows = xs.len() / n_in;
        let mut values = vec![[0i16; 2]; n_rows * n_pairs];
        let mut scales = vec![0f32; n_rows];
        values
            .par_chunks_mut(ROWS_PER_TASK * n_pairs)
            .zip(scales.par_chunks_mut(ROWS_PER_TASK))
            .zip(xs.par_chunks(ROWS_PER_TASK * n_in))
            .for_each(|((values, scales), xs)| {
                let rows = xs.chunks_exact(n_in).zip(values.chunks_exact_mut(n_pairs));
                for ((row, values), scale) in rows.zip(scales) {
                    *scale = largest(row) / INPUT_MAX;
                    round(row, *scale, values.as_flattened_mut());
                }
            });
        Self { values, scales }
    }
}

/// The scale with which a row's absolute values add up to at most [`ROW_SUM_MAX`], though rounding may
/// raise each by up to a half; NaN or infinite if a weight is.
fn weight_scale(row: &[f32]) -> f32 {
    let sum: f64 = row.iter().map(|w| f64::from(w.abs())).sum();
    let scale = (sum / (ROW_SUM_MAX - row.len() / 2) as f64) as f32;
    // False for NaN, which is thus kept.
    if scale < largest(row) / WEIGHT_MAX { largest(row) / WEIGHT_MAX } else { scale }
}

vectorised! {
fn largest(xs: &[f32]) -> f32 {
    activations::largest(xs)
}
}

vectorised! {
/// `xs ÷ scale`, rounded; anything if the scale is NaN or infinite.
fn round(xs: &[f32], scale: f32, out: &mut [i16]) {
    // Subnormal rows count as zeros.
    let inverse = if scale >= f32::MIN_POSITIVE { 1.0 / scale } else { 0.0 };
    for (out, &x) in out.iter_mut().zip(xs) {
        *out = activations::rounded_product(x, inverse) as i16;
    }
}
}

#[target_feature(enable = "avx512f,avx512vnni")]
fn avx512<const M: usize>(pairs: &[ColumnPair], rows: [&[[i16; 2]]; M]) -> [[i32; PANEL]; M] {
    assert!(rows.iter().all(|row| row.len() == pairs.len()));
    let mut sums = [[_mm512_setzero_si512(); 2]; M];
    for (p, pair) in pairs.iter().enumerate() {
        // SAFETY: a pair of columns is 128 bytes: 64 from 0 on, and 64 from its row 16 on.
        let columns =
            [0, PANEL / 2].map(|i| unsafe { _mm512_loadu_si512(pair.0.as_ptr().add(i).cast()) });
        for (sums, row) in sums.iter_mut().zip(&rows) {
            // SAFETY: `p < row.len()`, as asserted; two `i16` are the four bytes of an `i32`.
            let two =
                _mm512_set1_epi32(unsafe { row.as_ptr().add(p).cast::<i32>().read_unaligned() });
            sums[0] = _mm512_dpwssd_epi32(sums[0], columns[0], two);
            sums[1] = _mm512_dpwssd_epi32(sums[1], columns[1], two);
        }
    }
    sums.map(|[a, b]| {
        let mut out = [0; PANEL];
        // SAFETY: `out` has room for two vectors of sixteen `i32`.
        unsafe {
            _mm512_storeu_si512(out.as_mut_ptr().cast(), a);
            _mm512_storeu_si512(out.as_mut_ptr().add(PANEL / 2).cast(), b);
        }
        out
    })
}

#[target_feature(enable = "avx2")]
fn avx2<const M: usize>(pairs: &[ColumnPair], rows: [&[[i16; 2]]; M]) -> [[i32; PANEL]; M] {
    const WIDTH: usize = 8;
    assert!(rows.iter().all(|row| row.len() == pairs.len()));
    let mut out = [[0; PANEL]; M];
    for first in (0..PANEL).step_by(2 * WIDTH) {
        let mut sums = [[_mm256_setzero_si256(); 2]; M];
        for (p, pair) in pairs.iter().enumerate() {
            // SAFETY: `first` is 0 or 16 of 32 rows of four bytes, so 64 bytes follow it.
            let columns = [first, first + WIDTH]
                .map(|i| unsafe { _mm256_loadu_si256(pair.0.as_ptr().add(i).cast()) });
            for (sums, row) in sums.iter_mut().zip(&rows) {
                // SAFETY: `p < row.len()`, as asserted; two `i16` are the four bytes of an `i32`.
                let two = _mm256_set1_epi32(unsafe {
                    row.as_ptr().add(p).cast::<i32>().read_unaligned()
                });
                sums[0] = _mm256_add_epi32(sums[0], _mm256_madd_epi16(columns[0], two));
                sums[1] = _mm256_add_epi32(sums[1], _mm256_madd_epi16(columns[1], two));
            }
        }
        for (out, [a, b]) in out.iter_mut().zip(sums) {
            // SAFETY: `out` has room for two vectors of eight `i32` from `first` (0 or 16) on.
            unsafe {
                _mm256_storeu_si256(out.as_mut_ptr().add(first).cast(), a);
                _mm256_storeu_si256(out.as_mut_ptr().add(first + WIDTH).cast(), b);
            }
        }
    }
    out
}
