//! Products of quantised matrices on the processor.
//!
//! One copy of the weights serves every width: packed ([`packed`]), or the mapped file where reading
//! that is as quick. One row of input (decoding) is bound by memory and reads each weight once, as
//! narrow as the file has it; many (a prefill) go through the tile unit where there is one.
//! [`portable`] is the definition; the AVX2, AVX-512 and NEON kernels equal it bit for bit, the tile
//! unit within the rounding to bf16.

/// Defines a function whose body is compiled for the widest vectors that processors have, and runs
/// the one that fits: rustc's own x86-64 knows only the vectors of 2003. Its aarch64 has NEON.
macro_rules! vectorised {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $out:ty)? $body:block) => {
        $(#[$meta])*
        #[cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "the processor was asked"))]
        $vis fn $name($($arg: $type),*) $(-> $out)? {
            #[inline(always)]
            fn body($($arg: $type),*) $(-> $out)? $body
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,f16c,fma")]
                fn avx512($($arg: $type),*) $(-> $out)? {
                    body($($arg),*)
                }
                #[target_feature(enable = "avx2,f16c,fma")]
                fn avx2($($arg: $type),*) $(-> $out)? {
                    body($($arg),*)
                }
                match $crate::inference::kernels::Level::best() {
                    $crate::inference::kernels::Level::Portable => body($($arg),*),
                    // SAFETY: `Level::best` names only what is there.
                    $crate::inference::kernels::Level::Avx2 => unsafe { avx2($($arg),*) },
                    // SAFETY: as above.
                    _ => unsafe { avx512($($arg),*) },
                }
            }
            #[cfg(not(target_arch = "x86_64"))]
            body($($arg),*)
        }
    };
}
pub(super) use vectorised;

mod activations;
#[cfg(target_arch = "x86_64")]
mod amx;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod halves;
#[cfg(target_arch = "x86_64")]
mod in_place;
#[cfg(target_arch = "x86_64")]
mod int16;
#[cfg(target_arch = "aarch64")]
mod neon;
mod packed;
mod packing;
#[cfg(target_arch = "x86_64")]
mod packing_avx512;
mod pages;
mod portable;
#[cfg(target_arch = "x86_64")]
mod single_query;
#[cfg(test)]
pub(super) mod tests;

use std::sync::OnceLock;

use half::f16;
use rayon::prelude::*;

use activations::Quantised;
#[cfg(target_arch = "x86_64")]
use activations::{PANEL, PanelBlock};
pub use halves::{narrow, widen};
use packed::ROWS;
pub use packed::{Kind, PackedMatrix, Stored};
pub use pages::Pages;

/// What the processor can do, from the least to the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Amx,
    #[cfg(target_arch = "aarch64")]
    Neon,
    #[cfg(target_arch = "aarch64")]
    NeonDotProducts,
}

impl Level {
    pub fn best() -> Self {
        static BEST: OnceLock<Level> = OnceLock::new();
        *BEST.get_or_init(|| Self::all().into_iter().next_back().unwrap_or(Self::Portable))
    }

    /// What the processor's makers call it; None where nothing but plain code runs.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Portable => None,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => Some("AVX2"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => Some("AVX-512 with VNNI"),
            #[cfg(target_arch = "x86_64")]
            Self::Amx => Some("AVX-512 with VNNI and AMX"),
            #[cfg(target_arch = "aarch64")]
            Self::Neon => Some("NEON"),
            #[cfg(target_arch = "aarch64")]
            Self::NeonDotProducts => Some("NEON with dot products"),
        }
    }

    /// Every level that this processor has, least first.
    pub fn all() -> Vec<Self> {
        #[allow(unused_mut, reason = "elsewhere there is one")]
        let mut all = vec![Self::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            let has_avx2 = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("f16c");
            if has_avx2 {
                all.push(Self::Avx2);
            }
            let has_avx512 = has_avx2
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512vnni");
            if has_avx512 {
                all.push(Self::Avx512);
                if amx::is_available() {
                    all.push(Self::Amx);
                }
            }
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") {
            all.push(Self::Neon);
            if std::arch::is_aarch64_feature_detected!("dotprod") {
                all.push(Self::NeonDotProducts);
            }
        }
        all
    }
}

/// With fewer rows of input than this, unpacking a panel for the tile unit costs more than it saves.
#[cfg(target_arch = "x86_64")]
const TILE_UNIT_ROWS_MIN: usize = 12;

/// Bytes of weights that are worth another core's waking.
const BYTES_PER_TASK: usize = 48 * 1024;

/// Where products go: `[n_rows, width]`, written in parts by several cores.
struct Outputs<'a> {
    start: *mut f32,
    n_rows: usize,
    width: usize,
    _values: std::marker::PhantomData<&'a mut [f32]>,
}

#[expect(unsafe_code, reason = "columns of a row-major matrix are written by several cores")]
// SAFETY: each task writes columns of its own: those of its tiles.
unsafe impl Sync for Outputs<'_> {}

#[expect(unsafe_code, reason = "columns of a row-major matrix are written by several cores")]
impl<'a> Outputs<'a> {
    fn new(values: &'a mut [f32], width: usize) -> Self {
        let n_rows = values.len() / width;
        Self { start: values.as_mut_ptr(), n_rows, width, _values: std::marker::PhantomData }
    }

    /// Writes `values` into `row` from `column` on.
    fn put(&self, row: usize, column: usize, values: &[f32]) {
        assert!(row < self.n_rows && column + values.len() <= self.width);
        // SAFETY: inside, as asserted; nobody else writes these columns.
        unsafe {
            let to = self.start.add(row * self.width + column);
            std::ptr::copy_nonoverlapping(values.as_ptr(), to, values.len());
        }
    }

    /// The start of a square of `size` rows and columns, and the distance of its rows.
    #[cfg(target_arch = "x86_64")]
    fn square(&self, row: usize, column: usize, size: usize) -> (*mut f32, usize) {
        assert!(row + size <= self.n_rows && column + size <= self.width);
        // SAFETY: inside, as asserted.
        (unsafe { self.start.add(row * self.width + column) }, self.width)
    }
}

/// Each matrix `[n_out, n_in]` times the rows of `xs` (`[n, n_in]`): `[n, n_out]` each.
///
/// # Panics
/// If `xs` is not whole rows, the matrices have not all the same `n_in`, or the processor has less
/// than `level`.
pub fn multiply(matrices: &[&PackedMatrix], xs: &[f32], level: Level) -> Vec<Vec<f32>> {
    assert!(level <= Level::best());
    let Some(n_in) = matrices.first().map(|m| m.n_in()) else { return Vec::new() };
    assert!(xs.len().is_multiple_of(n_in) && matrices.iter().all(|m| m.n_in() == n_in));
    let n_rows = xs.len() / n_in;
    let mut products: Vec<Vec<f32>> =
        matrices.iter().map(|m| vec![0f32; n_rows * m.n_out()]).collect();
    let outputs: Vec<Outputs<'_>> =
        products.iter_mut().zip(matrices).map(|(p, m)| Outputs::new(p, m.n_out())).collect();
    let n_blocks = matrices[0].n_blocks();
    #[cfg(target_arch = "x86_64")]
    if level == Level::Amx && n_rows >= TILE_UNIT_ROWS_MIN {
        amx::multiply(matrices, &amx::Inputs::new(xs, n_blocks), &outputs);
        drop(outputs);
        return products;
    }
    let inputs = Quantised::new(xs, n_blocks);
    let tasks: Vec<(usize, std::ops::Range<usize>)> = matrices
        .iter()
        .enumerate()
        .flat_map(|(index, matrix)| {
            let n_tiles = matrix.n_tiles();
            let least = BYTES_PER_TASK.div_ceil(matrix.tile_bytes());
            let fair = n_tiles.div_ceil(4 * rayon::current_num_threads());
            let step = fair.max(least);
            (0..n_tiles).step_by(step).map(move |first| (index, first..n_tiles.min(first + step)))
        })
        .collect();
    #[cfg(target_arch = "x86_64")]
    let panels = Panels::new(matrices, &inputs, n_rows, level);
    let run = |(index, tiles): &(usize, std::ops::Range<usize>)| {
        let (matrix, output) = (matrices[*index], &outputs[*index]);
        for index in tiles.clone() {
            if n_rows == 1 && multiply_in_place(matrix, index, &inputs, output, level) {
                continue;
            }
            matrix.with_tile(index, |tile| {
                #[cfg(target_arch = "x86_64")]
                let done = panels.multiply_tile(matrix, index, tile, output);
                #[cfg(not(target_arch = "x86_64"))]
                let done = 0;
                multiply_tile(matrix, index, tile, &inputs, done..n_rows, output, level);
            });
        }
    };
    if let [one] = tasks.as_slice() {
        run(one);
    } else {
        tasks.par_iter().with_max_len(1).for_each(run);
    }
    drop(outputs);
    products
}

/// One position's queries `[n_queries, dim]` times keys `[n_keys, dim]` in f16, times `scale`, into
/// `[n_queries, n_keys]`; whether there is a kernel for that.
#[cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "the processor was asked"))]
pub fn score_halves(
    queries: &[f32],
    keys: &[f16],
    dim: usize,
    scale: f32,
    scores: &mut [f32],
) -> bool {
    #[cfg(target_arch = "x86_64")]
    if single_query::fits(dim, keys.len() / dim) {
        // SAFETY: `fits` asked the processor.
        unsafe { single_query::score(queries, keys, dim, scale, scores) };
        return true;
    }
    let _ = (queries, keys, dim, scale, scores);
    false
}

/// Adds shares `[n_queries, n_keys]` of values `[n_keys, dim]` in f16 to `[n_queries, dim]`; whether
/// there is a kernel for that.
#[cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "the processor was asked"))]
pub fn mix_halves(shares: &[f32], values: &[f16], dim: usize, out: &mut [f32]) -> bool {
    #[cfg(target_arch = "x86_64")]
    if single_query::fits(dim, values.len() / dim) {
        // SAFETY: `fits` asked the processor.
        unsafe { single_query::mix(shares, values, dim, out) };
        return true;
    }
    let _ = (shares, values, dim, out);
    false
}

/// A dense matrix `[n_out, n_in]`, rounded to what the processor multiplies fastest.
#[derive(Debug)]
pub struct DenseMatrix {
    weights: Dense,
    n_out: usize,
    n_in: usize,
}

#[derive(Debug)]
enum Dense {
    #[cfg(target_arch = "x86_64")]
    Bf16(amx::Tiled),
    #[cfg(target_arch = "x86_64")]
    Int16(int16::Int16Matrix, Level),
}

impl DenseMatrix {
    /// From its values in row-major order; None where f32 is faster, closer or simpler: on other
    /// processors, and for an odd number of columns or very many.
    ///
    /// # Panics
    /// If the values are not `n_out · n_in`, or the processor has less than `level`.
    pub fn new(values: &[f32], n_out: usize, n_in: usize, level: Level) -> Option<Self> {
        assert!(values.len() == n_out * n_in && level <= Level::best());
        if values.is_empty() {
            return None;
        }
        let weights = match level {
            #[cfg(target_arch = "x86_64")]
            Level::Amx if n_in.is_multiple_of(packed::BLOCK) => {
                Some(Dense::Bf16(amx::Tiled::new(values, n_out, n_in)))
            }
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 | Level::Avx512 | Level::Amx
                if n_in.is_multiple_of(2) && n_in <= int16::N_IN_MAX =>
            {
                Some(Dense::Int16(int16::Int16Matrix::new(values, n_out, n_in), level))
            }
            _ => None,
        };
        weights.map(|weights| Self { weights, n_out, n_in })
    }

    pub fn n_in(&self) -> usize {
        self.n_in
    }

    pub fn n_out(&self) -> usize {
        self.n_out
    }

    /// Times the rows of `xs` (`[n, n_in]`), into `[n, n_out]`.
    ///
    /// # Panics
    /// If the two are not as many whole rows.
    pub fn multiply(&self, xs: &[f32], product: &mut [f32]) {
        assert!(xs.len().is_multiple_of(self.n_in));
        assert_eq!(product.len(), xs.len() / self.n_in * self.n_out);
        match self.weights {
            #[cfg(target_arch = "x86_64")]
            Dense::Bf16(ref matrix) => matrix.multiply(xs, &Outputs::new(product, self.n_out)),
            #[cfg(target_arch = "x86_64")]
            Dense::Int16(ref matrix, level) => {
                matrix.multiply(xs, &Outputs::new(product, self.n_out), level);
            }
        }
    }
}

/// The input of many rows as AVX-512 wants it: a copy for each offset of the weights.
#[cfg(target_arch = "x86_64")]
struct Panels {
    by_offset: Vec<(i32, Vec<PanelBlock>)>,
    n_blocks: usize,
}

#[cfg(target_arch = "x86_64")]
impl Panels {
    /// Empty below AVX-512, and for less than one panel of rows.
    fn new(matrices: &[&PackedMatrix], inputs: &Quantised, n_rows: usize, level: Level) -> Self {
        let mut by_offset: Vec<(i32, Vec<PanelBlock>)> = Vec::new();
        if level >= Level::Avx512 && n_rows >= PANEL {
            for offset in matrices.iter().map(|matrix| matrix.kind().offset()) {
                if by_offset.iter().all(|(other, _)| *other != offset) {
                    by_offset.push((offset, inputs.panels(offset)));
                }
            }
        }
        Self { by_offset, n_blocks: inputs.n_blocks() }
    }

    /// The rows that stand in panels; how many they are.
    #[expect(unsafe_code, reason = "a kernel for what the processor was found to have")]
    fn multiply_tile(
        &self,
        matrix: &PackedMatrix,
        index: usize,
        tile: &[u8],
        output: &Outputs<'_>,
    ) -> usize {
        let kind = matrix.kind();
        let of_kind = self.by_offset.iter().find(|(offset, _)| *offset == kind.offset());
        let Some((_, panels)) = of_kind else { return 0 };
        let column = index * ROWS;
        let n_columns = ROWS.min(matrix.n_out() - column);
        for (p, panel) in panels.chunks_exact(self.n_blocks).enumerate() {
            // SAFETY: there are panels only where there is AVX-512.
            let products = unsafe { avx512::panel(kind, tile, panel) };
            for (r, product) in products.iter().enumerate() {
                output.put(p * PANEL + r, column, &product[..n_columns]);
            }
        }
        panels.len() / self.n_blocks * PANEL
    }
}

/// One row of input times tile `index` straight from the file; whether there is a kernel for that.
#[cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "the processor was asked"))]
fn multiply_in_place(
    matrix: &PackedMatrix,
    index: usize,
    inputs: &Quantised,
    output: &Outputs<'_>,
    level: Level,
) -> bool {
    #[cfg(target_arch = "x86_64")]
    if matrix.kind().is_read_in_place(level)
        && let Some(rows) = matrix.stored_rows(index)
    {
        // SAFETY: there is AVX-512, or nothing would be read in place.
        output.put(0, index * ROWS, &unsafe { in_place::row(rows, inputs, 0) });
        return true;
    }
    let _ = (matrix, index, inputs, output, level);
    false
}

fn multiply_tile(
    matrix: &PackedMatrix,
    index: usize,
    tile: &[u8],
    inputs: &Quantised,
    wanted: std::ops::Range<usize>,
    output: &Outputs<'_>,
    level: Level,
) {
    let column = index * ROWS;
    let n_columns = ROWS.min(matrix.n_out() - column);
    let mut row = wanted.start;
    let mut put = |products: &[[f32; ROWS]]| {
        for product in products {
            output.put(row, column, &product[..n_columns]);
            row += 1;
        }
        row
    };
    let mut done = wanted.start;
    while done < wanted.end {
        done = match wanted.end - done {
            4.. => put(&rows::<4>(matrix.kind(), tile, inputs, done, level)),
            2.. => put(&rows::<2>(matrix.kind(), tile, inputs, done, level)),
            _ => put(&rows::<1>(matrix.kind(), tile, inputs, done, level)),
        };
    }
}

#[expect(unsafe_code, reason = "kernels for what the processor was found to have")]
fn rows<const M: usize>(
    kind: Kind,
    tile: &[u8],
    inputs: &Quantised,
    first: usize,
    level: Level,
) -> [[f32; ROWS]; M] {
    match level {
        Level::Portable => portable::rows(kind, tile, inputs, first),
        // SAFETY: [`Level::all`] names only what is there.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { avx2::rows(kind, tile, inputs, first) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 | Level::Amx => unsafe {
            avx512::rows(kind, tile, inputs, first, level == Level::Amx)
        },
        // SAFETY: as above.
        #[cfg(target_arch = "aarch64")]
        Level::Neon => unsafe { neon::rows(kind, tile, inputs, first) },
        // SAFETY: as above.
        #[cfg(target_arch = "aarch64")]
        Level::NeonDotProducts => unsafe { neon::rows_by_dot_products(kind, tile, inputs, first) },
    }
}
