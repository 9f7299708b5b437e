//! Dense matrices in 16-bit integers, with exact sums in 32.
//!
//! Processors multiply and add pairs of 16-bit integers at least twice as fast as f32, and as fast as
//! bf16 or faster; only the tile unit ([`super::amx`]) is quicker. Each row of the matrix and of the
//! input has one scale. Inputs take 13 bits; a row of the matrix takes what is left so that no sum can
//! overflow, whatever the input: Σ|w| · max|x| < 2^31. With n columns that is a rounding of about
//! n ÷ 1,800,000 of a typical weight: less than bf16's up to some 2,000 columns.

#[allow(clippy::wildcard_imports, reason = "the names of the instructions")]
use std::arch::x86_64::*;

use rayon::prelude::*;

use super::{Level, Outputs, activations};

/// Rows of the matrix that are multiplied at once.
const PANEL: usize = 32;
/// Most columns of a matrix: with more, weights would be rounded too much.
pub const N_IN_MAX: usize = 4096;
const INPUT_MAX: f32 = 4095.0;
const WEIGHT_MAX: f32 = i16::MAX as f32;
/// Most that the sizes in a row of the matrix add up to, and some room for the rounding of its scale.
const ROW_SUM_MAX: usize = i32::MAX as usize / INPUT_MAX as usize - 64;

/// Two columns of a panel: 16-bit numbers side by side, as an instruction takes them.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Columns([[i16; 2]; PANEL]);

/// See the module.
#[derive(Debug)]
pub struct Int16Matrix {
    n_out: usize,
    n_pairs: usize,
    /// Per panel `n_pairs` pairs of columns; rows past the last are 0.
    columns: Vec<Columns>,
    /// One a row, up to whole panels.
    scales: Vec<f32>,
}

/// Rows of input: values, and a scale each.
struct Inputs {
    values: Vec<[i16; 2]>,
    scales: Vec<f32>,
}

impl Int16Matrix {
    /// From `[n_out, n_in]` in row-major order; `n_in` is even and at most [`N_IN_MAX`].
    pub fn new(values: &[f32], n_out: usize, n_in: usize) -> Self {
        assert!(n_in.is_multiple_of(2) && n_in <= N_IN_MAX && values.len() == n_out * n_in);
        let n_pairs = n_in / 2;
        let n_panels = n_out.div_ceil(PANEL);
        let mut columns = vec![Columns([[0; 2]; PANEL]); n_panels * n_pairs];
        let mut scales = vec![0f32; n_panels * PANEL];
        columns
            .par_chunks_exact_mut(n_pairs)
            .zip(scales.par_chunks_exact_mut(PANEL))
            .zip(values.par_chunks(PANEL * n_in))
            .for_each(|((columns, scales), rows)| {
                let mut rounded = vec![0i16; n_in];
                for (r, (row, scale)) in rows.chunks_exact(n_in).zip(scales).enumerate() {
                    *scale = weight_scale(row);
                    round(row, *scale, &mut rounded);
                    for (columns, &two) in columns.iter_mut().zip(rounded.as_chunks::<2>().0) {
                        columns.0[r] = two;
                    }
                }
            });
        Self { n_out, n_pairs, columns, scales }
    }

    /// The rows of `xs` times the matrix, by a level that has a kernel.
    pub fn multiply(&self, xs: &[f32], output: &Outputs<'_>, level: Level) {
        let inputs = Inputs::new(xs, 2 * self.n_pairs);
        let n_panels = self.scales.len() / PANEL;
        let fair = n_panels.div_ceil(4 * rayon::current_num_threads());
        let tasks = (0..n_panels).into_par_iter().step_by(fair).with_max_len(1);
        tasks.for_each(|first| {
            let panels = first..n_panels.min(first + fair);
            self.multiply_panels(panels, &inputs, output, level);
        });
    }

    fn multiply_panels(
        &self,
        panels: std::ops::Range<usize>,
        inputs: &Inputs,
        output: &Outputs<'_>,
        level: Level,
    ) {
        let n_rows = inputs.scales.len();
        // As many as the registers hold, and no group much smaller than the others.
        let n_groups = n_rows.div_ceil(if level == Level::Avx2 { 4 } else { 12 });
        for group in 0..n_groups {
            let rows = group * n_rows / n_groups..(group + 1) * n_rows / n_groups;
            for panel in panels.clone() {
                macro_rules! for_size {
                    ($($n:literal)*) => {
                        match rows.len() {
                            $($n => self.product::<$n>(panel, inputs, rows.start, output, level),)*
                            n => unreachable!("a group of {n} rows"),
                        }
                    };
                }
                for_size!(1 2 3 4 5 6 7 8 9 10 11 12);
            }
        }
    }

    /// `M` rows of input from `first` on times a panel.
    #[expect(unsafe_code, reason = "the processor was asked")]
    fn product<const M: usize>(
        &self,
        panel: usize,
        inputs: &Inputs,
        first: usize,
        output: &Outputs<'_>,
        level: Level,
    ) {
        let columns = &self.columns[panel * self.n_pairs..(panel + 1) * self.n_pairs];
        let values = &inputs.values[first * self.n_pairs..(first + M) * self.n_pairs];
        let rows = std::array::from_fn(|r| &values[r * self.n_pairs..(r + 1) * self.n_pairs]);
        // SAFETY: [`super::DenseMatrix::new`] makes such a matrix for these levels only, and
        // [`Level::all`] names only what is there.
        let sums: [[i32; PANEL]; M] = unsafe {
            match level {
                Level::Avx2 => avx2(columns, rows),
                _ => avx512(columns, rows),
            }
        };
        let column = panel * PANEL;
        let n_columns = PANEL.min(self.n_out - column);
        let scales: &[f32] = &self.scales[column..column + PANEL];
        for (r, sums) in sums.iter().enumerate() {
            let mut products = [0f32; PANEL];
            let row_scale = inputs.scales[first + r];
            for ((product, &sum), &scale) in products.iter_mut().zip(sums).zip(scales) {
                *product = sum as f32 * (row_scale * scale);
            }
            output.put(first + r, column, &products[..n_columns]);
        }
    }
}

impl Inputs {
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

/// See [`ROW_SUM_MAX`]; rounding adds up to a half to each.
fn weight_scale(row: &[f32]) -> f32 {
    let sum: f64 = row.iter().map(|w| f64::from(w.abs())).sum();
    let scale = (sum / (ROW_SUM_MAX - row.len() / 2) as f64) as f32;
    // What is no number stays so.
    if scale < largest(row) / WEIGHT_MAX { largest(row) / WEIGHT_MAX } else { scale }
}

vectorised! {
fn largest(xs: &[f32]) -> f32 {
    activations::largest(xs)
}
}

vectorised! {
/// `xs ÷ scale`, rounded; anything where that is no number.
fn round(xs: &[f32], scale: f32, out: &mut [i16]) {
    // What is all but nothing is nothing.
    let inverse = if scale >= f32::MIN_POSITIVE { 1.0 / scale } else { 0.0 };
    for (out, &x) in out.iter_mut().zip(xs) {
        *out = activations::rounded_product(x, inverse) as i16;
    }
}
}

#[target_feature(enable = "avx512f,avx512vnni")]
#[expect(unsafe_code, reason = "loads and stores of 64 bytes, broadcasts of 4")]
fn avx512<const M: usize>(columns: &[Columns], rows: [&[[i16; 2]]; M]) -> [[i32; PANEL]; M] {
    assert!(rows.iter().all(|row| row.len() == columns.len()));
    let mut sums = [[_mm512_setzero_si512(); 2]; M];
    for (p, columns) in columns.iter().enumerate() {
        // SAFETY: there are 128 bytes.
        let columns =
            [0, PANEL / 2].map(|i| unsafe { _mm512_loadu_si512(columns.0.as_ptr().add(i).cast()) });
        for (sums, row) in sums.iter_mut().zip(&rows) {
            // SAFETY: every row has as many pairs as there are columns; a pair is four bytes.
            let two =
                _mm512_set1_epi32(unsafe { row.as_ptr().add(p).cast::<i32>().read_unaligned() });
            sums[0] = _mm512_dpwssd_epi32(sums[0], columns[0], two);
            sums[1] = _mm512_dpwssd_epi32(sums[1], columns[1], two);
        }
    }
    sums.map(|[a, b]| {
        let mut out = [0; PANEL];
        // SAFETY: room for two vectors of sixteen.
        unsafe {
            _mm512_storeu_si512(out.as_mut_ptr().cast(), a);
            _mm512_storeu_si512(out.as_mut_ptr().add(PANEL / 2).cast(), b);
        }
        out
    })
}

#[target_feature(enable = "avx2")]
#[expect(unsafe_code, reason = "loads and stores of 32 bytes, broadcasts of 4")]
fn avx2<const M: usize>(columns: &[Columns], rows: [&[[i16; 2]]; M]) -> [[i32; PANEL]; M] {
    const WIDTH: usize = 8;
    assert!(rows.iter().all(|row| row.len() == columns.len()));
    let mut out = [[0; PANEL]; M];
    for first in (0..PANEL).step_by(2 * WIDTH) {
        let mut sums = [[_mm256_setzero_si256(); 2]; M];
        for (p, columns) in columns.iter().enumerate() {
            // SAFETY: there are 64 bytes from `first` on.
            let columns = [first, first + WIDTH]
                .map(|i| unsafe { _mm256_loadu_si256(columns.0.as_ptr().add(i).cast()) });
            for (sums, row) in sums.iter_mut().zip(&rows) {
                // SAFETY: every row has as many pairs as there are columns; a pair is four bytes.
                let two = _mm256_set1_epi32(unsafe {
                    row.as_ptr().add(p).cast::<i32>().read_unaligned()
                });
                sums[0] = _mm256_add_epi32(sums[0], _mm256_madd_epi16(columns[0], two));
                sums[1] = _mm256_add_epi32(sums[1], _mm256_madd_epi16(columns[1], two));
            }
        }
        for (out, [a, b]) in out.iter_mut().zip(sums) {
            // SAFETY: room for two vectors of eight from `first` on.
            unsafe {
                _mm256_storeu_si256(out.as_mut_ptr().add(first).cast(), a);
                _mm256_storeu_si256(out.as_mut_ptr().add(first + WIDTH).cast(), b);
            }
        }
    }
    out
}
