//! Dense matrices, rounded to what the processor multiplies fastest.

#[cfg(target_arch = "x86_64")]
use std::borrow::Cow;
#[cfg(target_arch = "x86_64")]
use std::ops::Range;

#[cfg(target_arch = "x86_64")]
use crate::columns::Columns;
use crate::instruction_set::InstructionSet;
#[cfg(target_arch = "x86_64")]
use crate::int16::{Int16Matrix, N_IN_MAX};

/// A dense matrix `[n_out, n_in]` in 16-bit integers with a scale for each row.
///
/// Its products are closer to exact ones than with bf16, up to some 2,000 columns, and at least twice
/// as fast as f32. There are kernels for AVX2 and AVX-512. Matrices of more than 4,096 columns are
/// split into several of fewer, whose products are added.
///
/// ```
/// use packed_matmul::DenseMatrix;
///
/// let weights = [1.0, 2.0, 3.0, 4.0]; // two rows of two columns
/// if let Some(matrix) = DenseMatrix::new(&weights, 2, 2) {
///     let mut product = [0.0; 2];
///     matrix.multiply(&[1.0, -1.0], &mut product);
///     assert!((product[0] + 1.0).abs() < 1e-3 && (product[1] + 1.0).abs() < 1e-3);
/// }
/// ```
#[derive(Debug)]
pub struct DenseMatrix {
    /// Of `N_IN_MAX` columns each, the last of what is left.
    #[cfg(target_arch = "x86_64")]
    parts: Vec<Int16Matrix>,
    n_out: usize,
    n_in: usize,
}

impl DenseMatrix {
    /// From its values in row-major order. `None` where f32 is faster or closer: on processors
    /// without a kernel, and for an odd number of columns, or none.
    ///
    /// # Panics
    /// If there are not `n_out · n_in` values.
    pub fn new(values: &[f32], n_out: usize, n_in: usize) -> Option<Self> {
        Self::new_with(InstructionSet::best(), values, n_out, n_in)
    }

    /// [`Self::new`], to be multiplied with the kernels of one instruction set.
    ///
    /// # Panics
    /// As [`Self::new`].
    pub fn new_with(
        instructions: InstructionSet,
        values: &[f32],
        n_out: usize,
        n_in: usize,
    ) -> Option<Self> {
        assert_eq!(n_out.checked_mul(n_in), Some(values.len()));
        let fill = |row: usize, out: &mut [f32]| {
            out.copy_from_slice(&values[row * n_in..(row + 1) * n_in]);
        };
        Self::from_rows_with(instructions, fill, n_out, n_in)
    }

    /// [`Self::new`], from rows that are made one at a time: `fill` gets a row's number and `n_in`
    /// places for its values.
    pub fn from_rows(
        fill: impl Fn(usize, &mut [f32]) + Sync,
        n_out: usize,
        n_in: usize,
    ) -> Option<Self> {
        Self::from_rows_with(InstructionSet::best(), fill, n_out, n_in)
    }

    fn from_rows_with(
        instructions: InstructionSet,
        fill: impl Fn(usize, &mut [f32]) + Sync,
        n_out: usize,
        n_in: usize,
    ) -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        if instructions.has_avx2() && n_out > 0 && n_in > 0 && n_in.is_multiple_of(2) {
            let parts = (0..n_in).step_by(N_IN_MAX).map(|first| {
                let columns = first..n_in.min(first + N_IN_MAX);
                let fill = |row: usize, out: &mut [f32]| {
                    if columns.len() == n_in {
                        return fill(row, out);
                    }
                    let mut whole = vec![0f32; n_in];
                    fill(row, &mut whole);
                    out.copy_from_slice(&whole[columns.clone()]);
                };
                Int16Matrix::new(fill, n_out, columns.len(), instructions)
            });
            return Some(Self { parts: parts.collect(), n_out, n_in });
        }
        let _ = (fill, n_out, n_in);
        let _ = instructions;
        None
    }

    /// Columns: values of a row of input.
    pub fn n_in(&self) -> usize {
        self.n_in
    }

    /// Rows: values of a product.
    pub fn n_out(&self) -> usize {
        self.n_out
    }

    /// Times the rows of `xs` (`[n, n_in]`), into `product` (`[n, n_out]`), on rayon's current thread
    /// pool.
    ///
    /// # Panics
    /// If `xs` and `product` do not consist of whole rows, as many each.
    pub fn multiply(&self, xs: &[f32], product: &mut [f32]) {
        assert!(xs.len().is_multiple_of(self.n_in));
        assert_eq!(product.len(), xs.len() / self.n_in * self.n_out);
        #[cfg(target_arch = "x86_64")]
        for (part, first) in self.parts.iter().zip((0..self.n_in).step_by(N_IN_MAX)) {
            let columns = first..self.n_in.min(first + N_IN_MAX);
            let xs = columns_of(xs, self.n_in, &columns);
            if first == 0 {
                part.multiply(&xs, Columns::new(product, self.n_out));
            } else {
                let mut more = vec![0f32; product.len()];
                part.multiply(&xs, Columns::new(&mut more, self.n_out));
                product.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
            }
        }
    }

    /// Row `index` in f32, rounded as it is multiplied, into `out` of `n_in` values.
    ///
    /// # Panics
    /// If there is no such row, or `out` has another length.
    pub fn row(&self, index: usize, out: &mut [f32]) {
        assert!(index < self.n_out && out.len() == self.n_in);
        #[cfg(target_arch = "x86_64")]
        for (part, out) in self.parts.iter().zip(out.chunks_mut(N_IN_MAX)) {
            part.row(index, out);
        }
    }
}

/// Some columns of a matrix of `n_in`.
#[cfg(target_arch = "x86_64")]
fn columns_of<'a>(values: &'a [f32], n_in: usize, columns: &Range<usize>) -> Cow<'a, [f32]> {
    if columns.len() == n_in {
        return Cow::Borrowed(values);
    }
    Cow::Owned(values.chunks_exact(n_in).flat_map(|row| &row[columns.clone()]).copied().collect())
}
