//! A table of which a few rows are read at a time: it stays in its file.

use std::ops::Range;
use std::sync::Arc;

use candle_core::{Device, Result, Tensor};
use packed_matmul::{Arena, PackedMatrix, SharedBytes};

use super::metadata::StoredType;
use super::unpacking::unpacked;
use super::weight_files::Bytes;
use super::weights::Weights;
use crate::interfaces::ModelError;

/// Rows `[n, width]` as stored.
#[derive(Debug)]
pub struct Table {
    file: Arc<Bytes>,
    range: Range<usize>,
    stored: StoredType,
    n: usize,
    width: usize,
}

impl Table {
    /// The tensor of this name.
    ///
    /// # Errors
    /// [`ModelError::BadFile`] if it is missing, has another shape, holds no floating-point numbers, or its rows are
    /// not whole blocks.
    pub fn new(
        weights: &Weights,
        name: &str,
        (n, width): (usize, usize),
    ) -> std::result::Result<Self, ModelError> {
        let (file, tensor) = weights.stored(name, &[n, width])?;
        let table = Self { file, range: tensor.range(), stored: tensor.stored, n, width };
        // Every row has as many bytes, and the first shows whether they can be read.
        if !table.range.len().is_multiple_of(n.max(1)) || table.row(0).is_err() {
            return Err(weights.bad(format!("the rows of `{name}` can't be read one by one")));
        }
        Ok(table)
    }

    /// These rows in f32, `[indices, width]`.
    ///
    /// # Errors
    /// If there is no such row.
    pub fn rows(&self, indices: &[u32], device: &Device) -> Result<Tensor> {
        let mut values = Vec::with_capacity(indices.len() * self.width);
        for &index in indices {
            values.extend(self.row(index as usize)?);
        }
        Tensor::from_vec(values, (indices.len(), self.width), device)
    }

    fn row(&self, index: usize) -> Result<Vec<f32>> {
        if index >= self.n {
            candle_core::bail!("there is no row {index} of {}", self.n)
        }
        let row_bytes = self.range.len() / self.n;
        let start = self.range.start + index * row_bytes;
        let range = start..start + row_bytes;
        if let StoredType::Packed(format) = self.stored {
            let blocks = SharedBytes::new(Arc::clone(&self.file) as _, range);
            let packed = PackedMatrix::new(format, (1, self.width), blocks, &Arena::default());
            let packed = packed.map_err(candle_core::Error::wrap)?;
            let mut values = vec![0f32; self.width];
            packed.row(0, &mut values);
            return Ok(values);
        }
        match unpacked(self.stored, &[1, self.width], &self.file.as_slice()[range]) {
            Some(values) => values,
            None => candle_core::bail!("it holds no floating-point numbers"),
        }
    }
}
