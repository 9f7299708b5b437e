//! Products of packed matrices: their tasks, and which kernel computes what.
//!
//! One copy of the weights serves every number of rows. A single row of input (decoding) is bound by
//! memory and reads each weight once, as narrow as in the file; of many (a prefill), panels of eight
//! share each unpacked block.

use std::ops::Range;

use rayon::prelude::*;

#[cfg(target_arch = "x86_64")]
use crate::activations::{Addends, PANEL, PanelBlock};
use crate::activations::{Int8Rows, Rests};
use crate::columns::Columns;
use crate::formats::{BlockFormat, for_format};
use crate::instruction_set::{InstructionSet, Set};
use crate::matrix::{PackedMatrix, ROWS};
#[cfg(target_arch = "aarch64")]
use crate::neon;
use crate::plain;
#[cfg(target_arch = "x86_64")]
use crate::{avx2, avx512, matrix, q8_0_in_place};

/// The fewest bytes of weights that are worth another core.
const BYTES_PER_TASK: usize = 48 * 1024;

/// Each matrix `[n_out, n_in]` times the rows of `xs` (`[n, n_in]`): `[n, n_out]` each, row-major.
///
/// The rows are rounded to 8 bits first, with a scale for each 32 values; where a few values are far
/// larger than the rest of their row, the rounding errors of those beside them are added back. Runs on rayon's current
/// thread pool; matrices that share an input should be multiplied together, so that its rounding and
/// the threads' start are shared too. NaN and infinity in a row of `xs` make its products NaN or
/// infinite.
///
/// # Panics
/// If `xs` is not whole rows, or the matrices differ in `n_in`.
pub fn multiply(matrices: &[&PackedMatrix], xs: &[f32]) -> Vec<Vec<f32>> {
    multiply_with(InstructionSet::best(), matrices, xs)
}

/// [`multiply`] with the kernels of one instruction set. The results are the same, bit for bit.
///
/// # Panics
/// As [`multiply`].
pub fn multiply_with(
    instructions: InstructionSet,
    matrices: &[&PackedMatrix],
    xs: &[f32],
) -> Vec<Vec<f32>> {
    multiply_groups(instructions, &[(matrices, xs)]).pop().unwrap_or_default()
}

/// [`multiply`] for each of several groups of matrices, with an input of its own: together they keep the cores busy,
/// also where each is small.
///
/// # Panics
/// As [`multiply`].
pub fn multiply_each(groups: &[(&[&PackedMatrix], &[f32])]) -> Vec<Vec<Vec<f32>>> {
    multiply_groups(InstructionSet::best(), groups)
}

fn multiply_groups(
    instructions: InstructionSet,
    groups: &[(&[&PackedMatrix], &[f32])],
) -> Vec<Vec<Vec<f32>>> {
    let of_group = |&(matrices, xs): &(&[&PackedMatrix], &[f32])| {
        let n_in = matrices.first()?.n_in();
        assert!(xs.len().is_multiple_of(n_in) && matrices.iter().all(|m| m.n_in() == n_in));
        Some(Product::new(instructions, matrices, xs))
    };
    let shared: Vec<Option<Product>> = match groups {
        [one] => vec![of_group(one)],
        _ => groups.par_iter().map(of_group).collect(),
    };
    let empty = |&(matrices, xs): &(&[&PackedMatrix], &[f32])| {
        matrices.iter().map(|m| vec![0f32; xs.len() / m.n_in() * m.n_out()]).collect()
    };
    let mut products: Vec<Vec<Vec<f32>>> = groups.iter().map(empty).collect();
    let mut tasks: Vec<(&Product, Task<'_>)> = Vec::new();
    for ((shared, (matrices, _)), products) in shared.iter().zip(groups).zip(&mut products) {
        let Some(shared) = shared else { continue };
        for (matrix, product) in matrices.iter().zip(products) {
            let n_tiles = matrix.n_tiles();
            let least = BYTES_PER_TASK.div_ceil(matrix.tile_bytes());
            let step = n_tiles.div_ceil(4 * rayon::current_num_threads()).max(least);
            let parts = Columns::new(product, matrix.n_out()).chunks(step * ROWS);
            tasks.extend((0..n_tiles).step_by(step).zip(parts).map(|(first, output)| {
                (shared, Task { matrix, tiles: first..n_tiles.min(first + step), output })
            }));
        }
    }
    if tasks.len() == 1 {
        // On this thread, because waking another takes longer.
        for (shared, task) in tasks {
            shared.compute(task);
        }
    } else {
        tasks.into_par_iter().with_max_len(1).for_each(|(shared, task)| shared.compute(task));
    }
    products
}

/// Some tiles of a matrix, and the columns of its product that they give.
struct Task<'a> {
    matrix: &'a PackedMatrix,
    tiles: Range<usize>,
    output: Columns<'a>,
}

/// What the tasks of a product share.
struct Product {
    instructions: InstructionSet,
    n_rows: usize,
    inputs: Int8Rows,
    #[cfg(target_arch = "x86_64")]
    panels: Panels,
}

impl Product {
    fn new(instructions: InstructionSet, matrices: &[&PackedMatrix], xs: &[f32]) -> Self {
        let inputs = Int8Rows::new(xs, matrices[0].n_blocks());
        Self {
            instructions,
            n_rows: xs.len() / matrices[0].n_in(),
            #[cfg(target_arch = "x86_64")]
            panels: Panels::new(instructions, matrices, &inputs),
            inputs,
        }
    }

    fn compute(&self, Task { matrix, tiles, mut output }: Task<'_>) {
        let first_tile = tiles.start;
        for index in tiles {
            let column = (index - first_tile) * ROWS;
            #[cfg(target_arch = "x86_64")]
            if self.n_rows == 1
                && matrix::is_read_in_place(matrix.format(), self.instructions)
                && let Some(rows) = matrix.file_rows(index)
            {
                let product = |block: usize, inputs: &Int8Rows, index: usize| {
                    // SAFETY: `is_read_in_place` is true only if the processor has AVX-512 with VNNI.
                    unsafe { q8_0_in_place::row(rows, matrix.n_blocks(), block, inputs, index) }
                };
                output.write(0, column, &product(0, &self.inputs, 0));
                if let Some(Rests { rows: rests, places }) = self.inputs.rests() {
                    for (i, &(block, _)) in places.iter().enumerate() {
                        output.add(0, column, &product(block, rests, i));
                    }
                }
                continue;
            }
            let n_columns = ROWS.min(matrix.n_out() - index * ROWS);
            matrix.with_tile(index, |tile| {
                for_format!(matrix.format(), F => {
                    self.multiply_tile::<F>(tile, column..column + n_columns, &mut output);
                });
            });
        }
    }

    fn multiply_tile<F: BlockFormat>(
        &self,
        tile: &[u8],
        columns: Range<usize>,
        output: &mut Columns<'_>,
    ) {
        let mut done = 0;
        let mut write = |products: &[[f32; ROWS]]| {
            // A panel may have rows more.
            for product in products.iter().take(self.n_rows - done) {
                match columns.len() {
                    // Of a length that the compiler knows.
                    ROWS => output.write(done, columns.start, product),
                    n => output.write(done, columns.start, &product[..n]),
                }
                done += 1;
            }
            done
        };
        let mut next = 0;
        #[cfg(target_arch = "x86_64")]
        for panel in self.panels.of(kind::<F>(self.instructions)) {
            next = write(&match self.instructions.set() {
                // SAFETY: the processor has the instructions that an `InstructionSet` names.
                Set::Avx512 => unsafe { avx512::panel::<F>(tile, panel) },
                // SAFETY: there are panels only if the instruction set is one of these two.
                _ => unsafe { avx2::panel::<F>(tile, panel) },
            });
        }
        while next < self.n_rows {
            next = match self.n_rows - next {
                4.. => write(&self.rows::<F, 4>(tile, 0, &self.inputs, next)),
                2.. => write(&self.rows::<F, 2>(tile, 0, &self.inputs, next)),
                _ => write(&self.rows::<F, 1>(tile, 0, &self.inputs, next)),
            };
        }
        if let Some(rests) = self.inputs.rests() {
            self.add_rests::<F>(tile, rests, columns, output);
        }
    }

    /// Adds the products of the rounding errors ([`Rests`]).
    fn add_rests<F: BlockFormat>(
        &self,
        tile: &[u8],
        Rests { rows: rests, places }: &Rests,
        columns: Range<usize>,
        output: &mut Columns<'_>,
    ) {
        let mut done = 0;
        let mut add = |products: &[[f32; ROWS]]| {
            for product in products {
                output.add(places[done].1, columns.start, &product[..columns.len()]);
                done += 1;
            }
        };
        let mut next = 0;
        for places in places.chunk_by(|(block, _), (other, _)| block == other) {
            let (block, end) = (places[0].0, next + places.len());
            while next < end {
                next += match end - next {
                    4.. => {
                        add(&self.rows::<F, 4>(tile, block, rests, next));
                        4
                    }
                    2.. => {
                        add(&self.rows::<F, 2>(tile, block, rests, next));
                        2
                    }
                    _ => {
                        add(&self.rows::<F, 1>(tile, block, rests, next));
                        1
                    }
                };
            }
        }
    }

    /// `M` rows of input, from row `first` on, times the blocks of a tile from `block` on.
    fn rows<F: BlockFormat, const M: usize>(
        &self,
        tile: &[u8],
        block: usize,
        inputs: &Int8Rows,
        first: usize,
    ) -> [[f32; ROWS]; M] {
        match self.instructions.set() {
            Set::Plain => plain::rows::<F, M>(tile, block, inputs, first),
            // SAFETY: the processor has the instructions that an `InstructionSet` names, because
            // values of it come from detection only.
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => unsafe { avx2::rows::<F, M>(tile, block, inputs, first) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => unsafe { avx512::rows::<F, M>(tile, block, inputs, first) },
            // SAFETY: as above.
            #[cfg(target_arch = "aarch64")]
            Set::Neon => unsafe { neon::rows::<F, M>(tile, block, inputs, first) },
            // SAFETY: as above.
            #[cfg(target_arch = "aarch64")]
            Set::NeonDotProd => unsafe {
                neon::rows_by_dot_products::<F, M>(tile, block, inputs, first)
            },
        }
    }
}

/// What a kernel adds to the products of a format, and whether that has a scale for each 16 columns.
#[cfg(target_arch = "x86_64")]
type Kind = (Addends, bool);

#[cfg(target_arch = "x86_64")]
fn kind<F: BlockFormat>(instructions: InstructionSet) -> Kind {
    let offset = if instructions.has_avx512() { F::OFFSET } else { F::SIGNED_OFFSET };
    let addends = match offset {
        0 => Addends::Sums,
        _ if F::ARE_SUMS_SCALED && !instructions.has_avx512() => Addends::PairsOfOffset(offset),
        _ => Addends::Offset(offset),
    };
    (addends, F::IS_BY_16)
}

/// The input of many rows as x86's kernels read it: a copy for each kind of weights.
#[cfg(target_arch = "x86_64")]
struct Panels {
    by_kind: Vec<(Kind, Vec<PanelBlock>)>,
    n_blocks: usize,
}

#[cfg(target_arch = "x86_64")]
impl Panels {
    /// Empty without AVX2, and for few rows.
    fn new(instructions: InstructionSet, matrices: &[&PackedMatrix], inputs: &Int8Rows) -> Self {
        let mut by_kind: Vec<(Kind, Vec<PanelBlock>)> = Vec::new();
        if matches!(instructions.set(), Set::Avx2 | Set::Avx512) && inputs.n_rows() > PANEL / 2 {
            for matrix in matrices {
                let kind = for_format!(matrix.format(), F => kind::<F>(instructions));
                if by_kind.iter().all(|(other, _)| *other != kind) {
                    by_kind.push((kind, inputs.panels(kind.0, kind.1)));
                }
            }
        }
        Self { by_kind, n_blocks: inputs.n_blocks() }
    }

    /// The panels for weights of this kind, in order of the rows.
    fn of(&self, kind: Kind) -> impl Iterator<Item = &[PanelBlock]> {
        let panels = self.by_kind.iter().filter(move |(of, _)| *of == kind);
        panels.flat_map(|(_, blocks)| blocks.chunks_exact(self.n_blocks))
    }
}
