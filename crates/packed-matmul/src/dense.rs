//! Dense matrices, rounded to what the processor multiplies fastest.

#[cfg(target_arch = "x86_64")]
use crate::columns::Columns;
use crate::instruction_set::InstructionSet;
#[cfg(target_arch = "x86_64")]
use crate::int16::{Int16Matrix, N_IN_MAX};

/// A dense matrix `[n_out, n_in]` in 16-bit integers with a scale for each row.
///
/// Its products are closer to exact ones than with bf16, up to some 2,000 columns, and at least twice
/// as fast as f32. There are kernels for AVX2 and AVX-512.
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
    #[cfg(target_arch = "x86_64")]
    weights: Int16Matrix,
    n_out: usize,
    n_in: usize,
}

impl DenseMatrix {
    /// From its values in row-major order. `None` where f32 is faster or closer: on processors
    /// without a kernel, and for no, an odd number of or more than 4,096 columns.
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
        #[cfg(target_arch = "x86_64")]
        if instructions.has_avx2()
            && !values.is_empty()
            && n_in.is_multiple_of(2)
            && n_in <= N_IN_MAX
        {
            let weights = Int16Matrix::new(values, n_out, n_in, instructions);
            return Some(Self { weights, n_out, n_in });
        }
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
    /// If the two are not as many whole rows.
    pub fn multiply(&self, xs: &[f32], product: &mut [f32]) {
        assert!(xs.len().is_multiple_of(self.n_in));
        assert_eq!(product.len(), xs.len() / self.n_in * self.n_out);
        #[cfg(target_arch = "x86_64")]
        self.weights.multiply(xs, Columns::new(product, self.n_out));
    }
}
