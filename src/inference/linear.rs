//! Matrix products of the decoder: dense or quantised, with or without a bias, and groups of them
//! that share an input.

use candle_core::{CpuStorage, D, Device, Result, Storage, Tensor};
use packed_matmul::PackedMatrix;

use super::weights::Matrix;

impl Matrix {
    /// `[n, n_in]` → `[n, n_out]`.
    ///
    /// # Errors
    /// If `xs` has another shape or type, or is on another device.
    pub fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        match self {
            Self::Dense(weight) => xs.matmul(&weight.t()?),
            Self::Packed(weight) => {
                let mut products = multiply(&[weight], xs)?;
                products.pop().ok_or_else(|| candle_core::Error::msg("a product is missing"))
            }
            Self::Rounded(weight) => with_values(xs, |values| {
                let n_rows = values.len() / weight.n_in();
                let mut product = vec![0f32; n_rows * weight.n_out()];
                weight.multiply(values, &mut product);
                Tensor::from_vec(product, (n_rows, weight.n_out()), &Device::Cpu)
            }),
            Self::Quantised(weight) => xs.apply_op1_no_bwd(weight.as_ref()),
            Self::Unpacked(weight) => xs.matmul(&weight.dequantize(xs.device())?.t()?),
        }
    }

    /// Rows by index, in f32: `[n, n_in]`.
    ///
    /// # Errors
    /// If there is no such row.
    pub fn rows(&self, indices: &Tensor) -> Result<Tensor> {
        match self {
            Self::Dense(weight) => weight.index_select(indices, 0),
            Self::Packed(weight) => {
                rows(indices, (weight.n_out(), weight.n_in()), |i, row| weight.row(i, row))
            }
            Self::Rounded(weight) => {
                rows(indices, (weight.n_out(), weight.n_in()), |i, row| weight.row(i, row))
            }
            Self::Quantised(weight) | Self::Unpacked(weight) => weight.embedding(indices),
        }
    }
}

/// Rows of a matrix `[n_out, n_in]` by index.
fn rows(
    indices: &Tensor,
    (n_out, n_in): (usize, usize),
    unpack: impl Fn(usize, &mut [f32]),
) -> Result<Tensor> {
    let indices = indices.to_vec1::<u32>()?;
    let mut values = vec![0f32; indices.len() * n_in];
    for (row, &index) in values.chunks_exact_mut(n_in).zip(&indices) {
        if index as usize >= n_out {
            candle_core::bail!("there is no row {index} of {n_out}")
        }
        unpack(index as usize, row);
    }
    Tensor::from_vec(values, (indices.len(), n_in), &Device::Cpu)
}

/// Calls `work` with the f32 values of `xs`.
pub(super) fn with_values<T>(xs: &Tensor, work: impl FnOnce(&[f32]) -> Result<T>) -> Result<T> {
    let xs = xs.contiguous()?;
    let (storage, layout) = xs.storage_and_layout();
    let (Storage::Cpu(CpuStorage::F32(values)), Some((start, end))) =
        (&*storage, layout.contiguous_offsets())
    else {
        candle_core::bail!("packed matrices multiply f32 values on the processor")
    };
    work(&values[start..end])
}

/// Each packed matrix times the rows of `xs`.
fn multiply(matrices: &[&PackedMatrix], xs: &Tensor) -> Result<Vec<Tensor>> {
    let n_rows = xs.dim(0)?;
    let products = with_values(xs, |values| Ok(packed_matmul::multiply(matrices, values)))?;
    matrices
        .iter()
        .zip(products)
        .map(|(matrix, product)| Tensor::from_vec(product, (n_rows, matrix.n_out()), &Device::Cpu))
        .collect()
}

/// Several products of one input.
#[derive(Debug)]
pub struct LinearGroup {
    /// One matrix each, or one with the rows of all.
    matrices: Vec<Matrix>,
    widths: Vec<usize>,
    biases: Option<Vec<Tensor>>,
}

impl LinearGroup {
    /// `widths`: the rows of each product; `biases`: one for each, or none.
    pub fn new(matrices: Vec<Matrix>, widths: Vec<usize>, biases: Option<Vec<Tensor>>) -> Self {
        Self { matrices, widths, biases }
    }

    /// `[n, n_in]` → one `[n, width]` each (possibly a view of some columns of a wider tensor).
    ///
    /// # Errors
    /// If `xs` has another shape or type, or is on another device.
    pub fn forward(&self, xs: &Tensor) -> Result<Vec<Tensor>> {
        let mut products = self.products(xs)?;
        if let Some(biases) = &self.biases {
            for (product, bias) in products.iter_mut().zip(biases) {
                *product = product.broadcast_add(bias)?;
            }
        }
        Ok(products)
    }

    /// Its matrices, if all are packed.
    pub fn packed(&self) -> Option<Vec<&PackedMatrix>> {
        self.matrices.iter().map(Matrix::packed).collect()
    }

    fn products(&self, xs: &Tensor) -> Result<Vec<Tensor>> {
        if let ([one], true) = (self.matrices.as_slice(), self.widths.len() > 1) {
            let all = one.forward(xs)?;
            let mut start = 0;
            return self
                .widths
                .iter()
                .map(|&width| {
                    start += width;
                    all.narrow(D::Minus1, start - width, width)
                })
                .collect();
        }
        if let Some(packed) = self.packed() {
            return multiply(&packed, xs);
        }
        self.matrices.iter().map(|m| m.forward(xs)).collect()
    }
}
