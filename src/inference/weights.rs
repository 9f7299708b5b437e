//! Weights by name, from a GGUF file, from safetensors files or from bytes in memory.
//!
//! Headers are checked first ([`super::gguf`], [`super::safetensors`]). A tensor's bytes are copied out
//! of the mapped file once, when it is loaded, or read in place for as long as the model lives
//! ([`PackedMatrix`]). Values become f32 or 16-bit integers (candle's CPU kernels for bf16 are too slow to
//! use), or stay quantised blocks, as stored.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{Device, Tensor};
use packed_matmul::{Arena, DenseMatrix, Format, PackError, PackedMatrix, SharedBytes};

use super::gguf;
use super::metadata::{Metadata, StoredType, TensorEntry, matrices, n_matrices};
use super::safetensors;
use super::unpacking::{blocks, unpacked};
pub use super::weight_files::Bytes;
pub(super) use super::weight_files::bad_file;
use crate::interfaces::ModelError;

/// A candle failure while computing.
pub(super) fn backend(e: candle_core::Error) -> ModelError {
    ModelError::Backend { what: "the model could not compute".into(), source: Some(Box::new(e)) }
}

/// What two bytes stand for.
type Half = fn([u8; 2]) -> f32;

/// A matrix `[n_out, n_in]`, by the way it multiplies.
#[derive(Debug, Clone)]
pub enum Matrix {
    /// In f32.
    Dense(Tensor),
    /// Of bf16 or f16, on the CPU: in 16-bit integers, with a scale for each row.
    Rounded(Arc<DenseMatrix>),
    /// On the CPU, in a format that [`packed_matmul`] has.
    Packed(Arc<PackedMatrix>),
    /// By candle's kernels: on a GPU, or in another format.
    Quantised(Arc<QTensor>),
    /// Unpacked to f32 for every product: slow and exact.
    Unpacked(Arc<QTensor>),
}

impl Matrix {
    /// The packed matrix, if it is one.
    pub fn packed(&self) -> Option<&PackedMatrix> {
        match self {
            Self::Packed(matrix) => Some(matrix),
            _ => None,
        }
    }
}

const N_PARAMETERS_UNPACKED_MAX: u64 = 32_000_000;

/// How quantised matrices multiply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// [`Self::Fast`], except that a model of fewer than 32 million parameters is unpacked to f32 once,
    /// at loading: that takes little memory.
    Auto,
    /// By kernels that round the input to 8 bits too, as llama.cpp's do: cosine ≥ 0.9995 to the exact
    /// logits on random models.
    Fast,
    /// In f32, to compare with reference implementations.
    Exact,
}

/// Every tensor of a model, by name.
#[derive(Debug)]
pub struct Weights {
    files: Vec<(PathBuf, Arc<Bytes>)>,
    /// With the index of their file.
    tensors: HashMap<String, (usize, TensorEntry)>,
    /// A GGUF file's; empty for safetensors.
    metadata: Metadata,
    gguf: bool,
    n_parameters: u64,
    precision: Precision,
    /// Memory of packed matrices.
    arena: Arena,
}

impl Weights {
    /// From the bytes of one file, GGUF or safetensors by how they begin.
    ///
    /// # Errors
    /// [`ModelError::BadFile`] if the header is damaged.
    pub fn from_bytes(path: &Path, bytes: Bytes) -> Result<Self, ModelError> {
        if gguf::has_magic(bytes.as_slice()) {
            Self::from_gguf(vec![(path.to_owned(), bytes)])
        } else {
            Self::from_safetensors(vec![(path.to_owned(), bytes)])
        }
    }

    /// From all parts of a GGUF model, in their order. What the first says of the model holds.
    ///
    /// # Errors
    /// [`ModelError::BadFile`] if a header is damaged, a part is not the one that belongs there, or tensors are
    /// missing or there twice.
    pub fn from_gguf(parts: Vec<(PathBuf, Bytes)>) -> Result<Self, ModelError> {
        let (n_parts, mut n) = (parts.len(), 0);
        let mut weights = Self::empty(true, Metadata::default());
        for (index, (path, bytes)) in parts.into_iter().enumerate() {
            let refuse = |reason| bad_file(&path, reason);
            let header = gguf::parse(bytes.as_slice()).map_err(refuse)?;
            header.check_part(index, n_parts).map_err(refuse)?;
            let header_bytes = header.tensors.iter().map(|tensor| tensor.start).min().unwrap_or(0);
            if index == 0 {
                weights.metadata = header.metadata;
            }
            n += header.tensors.len();
            weights.add(&path, bytes, header.tensors)?;
            weights.files[index].1.release(0..header_bytes);
        }
        match weights.metadata.integer("split.tensors.count") {
            Some(said) if n_parts > 1 && usize::try_from(said) != Ok(n) => {
                let first = &weights.files[0].0;
                Err(bad_file(first, format!("its parts have {n} tensors, where it has {said}")))
            }
            _ => Ok(weights),
        }
    }

    /// From the shards of a safetensors model.
    ///
    /// # Errors
    /// [`ModelError::BadFile`] if a header is damaged or two shards have a tensor of the same name.
    pub fn from_safetensors(files: Vec<(PathBuf, Bytes)>) -> Result<Self, ModelError> {
        let mut weights = Self::empty(false, Metadata::default());
        for (path, bytes) in files {
            let tensors =
                safetensors::parse(bytes.as_slice()).map_err(|reason| bad_file(&path, reason))?;
            weights.add(&path, bytes, tensors)?;
        }
        Ok(weights)
    }

    fn empty(gguf: bool, metadata: Metadata) -> Self {
        Self {
            files: Vec::new(),
            tensors: HashMap::new(),
            metadata,
            gguf,
            n_parameters: 0,
            precision: Precision::Auto,
            arena: Arena::default(),
        }
    }

    fn add(
        &mut self,
        path: &Path,
        bytes: Bytes,
        tensors: Vec<TensorEntry>,
    ) -> Result<(), ModelError> {
        let file = self.files.len();
        self.files.push((path.to_owned(), Arc::new(bytes)));
        let own: usize = tensors.iter().map(n_matrices).sum();
        let n = self.tensors.len() + own;
        if n > MATRICES_MAX {
            let what = format!("its tensors are {n} matrices (at most {MATRICES_MAX} are allowed)");
            return Err(bad_file(path, what));
        }
        for tensor in tensors {
            self.n_parameters += tensor.dims.iter().map(|&d| d as u64).product::<u64>();
            for tensor in matrices(tensor) {
                let name = tensor.name.clone();
                if let Some((first, _)) = self.tensors.insert(name.clone(), (file, tensor)) {
                    let other = self.files[first].0.display().to_string();
                    return Err(bad_file(path, format!("the tensor {name:?} is also in {other}")));
                }
            }
        }
        Ok(())
    }

    /// The same, with quantised matrices that multiply with this precision.
    #[must_use]
    pub fn with_precision(self, precision: Precision) -> Self {
        Self { precision, ..self }
    }

    /// True for a GGUF file.
    pub fn is_gguf(&self) -> bool {
        self.gguf
    }

    /// A GGUF file's metadata; empty for safetensors.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The files with their paths.
    pub fn files(&self) -> &[(PathBuf, Arc<Bytes>)] {
        &self.files
    }

    /// How many values all tensors have together.
    pub fn n_parameters(&self) -> u64 {
        self.n_parameters
    }

    /// Name, number of values and bytes of each tensor that is no vector.
    pub fn matrices(&self) -> impl Iterator<Item = (&str, usize, usize)> {
        let all = self.tensors.values().map(|(_, tensor)| tensor).filter(|t| t.dims.len() > 1);
        all.map(|t| (t.name.as_str(), t.dims.iter().product(), t.n_bytes))
    }

    /// True if there is a tensor of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    /// The shape of a tensor, outermost first.
    pub fn dims(&self, name: &str) -> Option<&[usize]> {
        Some(&self.tensors.get(name)?.1.dims)
    }

    /// The type that most parameters are stored in, for people: `Q4K`, `BF16`, …
    pub fn storage(&self) -> String {
        let mut counts: HashMap<String, usize> = HashMap::new();
        for (_, tensor) in self.tensors.values() {
            let n: usize = tensor.dims.iter().product();
            *counts.entry(tensor.stored.to_string()).or_default() += n;
        }
        let most = counts.into_iter().max_by(|a, b| a.1.cmp(&b.1).then_with(|| b.0.cmp(&a.0)));
        most.map_or("nothing".into(), |(name, _)| name)
    }

    /// The error for something wrong with the weights as a whole.
    pub fn bad(&self, reason: impl Into<String>) -> ModelError {
        match self.files.first() {
            Some((path, _)) => bad_file(path, reason),
            None => bad_file(Path::new("(no file)"), reason),
        }
    }

    /// Call it once a tensor's bytes are copied: its part of the file need not stay in memory.
    fn release(&self, name: &str) {
        if let Some((file, tensor)) = self.tensors.get(name) {
            self.files[*file].1.release(tensor.range());
        }
    }

    /// Call it once all that is needed is copied.
    pub(super) fn release_all(&self) {
        for (_, bytes) in &self.files {
            bytes.release(0..bytes.as_slice().len());
        }
    }

    fn find(&self, name: &str, dims: &[usize]) -> Result<(&Path, &TensorEntry, &[u8]), ModelError> {
        let Some((file, tensor)) = self.tensors.get(name) else {
            return Err(self.bad(format!("the tensor `{name}` is missing")));
        };
        let (path, bytes) = &self.files[*file];
        if tensor.dims != dims {
            return Err(bad_file(
                path,
                format!("the tensor `{name}` is {:?} where {dims:?} is needed", tensor.dims),
            ));
        }
        Ok((path, tensor, &bytes.as_slice()[tensor.range()]))
    }

    /// A tensor's values in row-major order, in f32.
    ///
    /// # Errors
    /// [`ModelError::BadFile`] if it is missing, has another shape, or holds no floating-point numbers.
    pub fn values(&self, name: &str, dims: &[usize]) -> Result<Vec<f32>, ModelError> {
        let values = self.read_values(name, dims);
        self.release(name);
        values
    }

    fn read_values(&self, name: &str, dims: &[usize]) -> Result<Vec<f32>, ModelError> {
        let (path, tensor, bytes) = self.find(name, dims)?;
        if let StoredType::Packed(format) = tensor.stored {
            let n_in = dims.last().copied().unwrap_or(1);
            let n_out = dims.iter().product::<usize>() / n_in.max(1);
            // Memory of its own: the tiles go when the values are there.
            let packed = self.pack(name, format, (n_out, n_in), &Arena::default())?;
            let mut values = vec![0f32; n_out * n_in];
            for (index, row) in values.chunks_exact_mut(n_in).enumerate() {
                packed.row(index, row);
            }
            return Ok(values);
        }
        let values = unpacked(tensor.stored, dims, bytes).ok_or_else(|| {
            bad_file(path, format!("the tensor `{name}` holds no floating-point numbers"))
        })?;
        values.map_err(backend)
    }

    /// Where a tensor is, for one who reads it there.
    pub(super) fn stored(
        &self,
        name: &str,
        dims: &[usize],
    ) -> Result<(Arc<Bytes>, &TensorEntry), ModelError> {
        let (_, tensor, _) = self.find(name, dims)?;
        let (file, _) = &self.tensors[name];
        Ok((Arc::clone(&self.files[*file].1), tensor))
    }

    /// A vector in f32.
    ///
    /// # Errors
    /// As [`Self::values`], or if the device has no memory.
    pub fn vector(&self, name: &str, n: usize, device: &Device) -> Result<Tensor, ModelError> {
        Tensor::from_vec(self.values(name, &[n])?, n, device).map_err(backend)
    }

    /// True if quantised matrices are to be unpacked at loading.
    fn unpacks(&self) -> bool {
        self.precision == Precision::Auto && self.n_parameters < N_PARAMETERS_UNPACKED_MAX
    }

    fn quantised(
        &self,
        name: &str,
        dims: &[usize],
        device: &Device,
    ) -> Result<Option<QTensor>, ModelError> {
        let (_, tensor, bytes) = self.find(name, dims)?;
        let quantised = tensor.stored.quantised().filter(|_| !self.unpacks());
        quantised.map(|dtype| blocks(dtype, dims, bytes, device)).transpose().map_err(backend)
    }

    fn packed(
        &self,
        name: &str,
        (n_out, n_in): (usize, usize),
        device: &Device,
    ) -> Result<Option<PackedMatrix>, ModelError> {
        let (_, tensor, _) = self.find(name, &[n_out, n_in])?;
        let format = tensor.stored.packed().filter(|_| matches!(device, Device::Cpu));
        let Some(format) = format else { return Ok(None) };
        if self.unpacks() || self.precision == Precision::Exact {
            return Ok(None);
        }
        let packed = self.pack(name, format, (n_out, n_in), &self.arena)?;
        if !packed.is_in_place() {
            self.release(name);
        }
        Ok(Some(packed))
    }

    fn pack(
        &self,
        name: &str,
        format: Format,
        (n_out, n_in): (usize, usize),
        arena: &Arena,
    ) -> Result<PackedMatrix, ModelError> {
        let (file, tensor) = &self.tensors[name];
        let (path, bytes) = &self.files[*file];
        let blocks = SharedBytes::new(Arc::clone(bytes) as _, tensor.range());
        let release = |part: Range<usize>| {
            bytes.release(tensor.start + part.start..tensor.start + part.end);
        };
        let shape = (n_out, n_in);
        let packed = PackedMatrix::new_by_parts(format, shape, blocks, arena, &release);
        packed.map_err(|e| match e {
            PackError::Shape { .. } => {
                bad_file(path, format!("the tensor `{name}` does not fill whole blocks"))
            }
            PackError::Memory(e) => ModelError::Backend {
                what: format!("there is no memory for the tensor `{name}`"),
                source: Some(Box::new(e)),
            },
        })
    }

    /// A matrix `[n_out, n_in]`.
    ///
    /// # Errors
    /// As [`Self::values`], or if its rows are not whole blocks, or there is not enough memory.
    pub fn matrix(
        &self,
        name: &str,
        (n_out, n_in): (usize, usize),
        device: &Device,
    ) -> Result<Matrix, ModelError> {
        if let Some(packed) = self.packed(name, (n_out, n_in), device)? {
            return Ok(Matrix::Packed(Arc::new(packed)));
        }
        if let Some(blocks) = self.quantised(name, &[n_out, n_in], device)? {
            let blocks = Arc::new(blocks);
            return Ok(match self.precision {
                Precision::Auto | Precision::Fast => Matrix::Quantised(blocks),
                Precision::Exact => Matrix::Unpacked(blocks),
            });
        }
        self.dense(&[(name.to_owned(), n_out)], n_in, device)
    }

    /// One matrix with the rows of all parts: bf16 and f16 on the CPU stay in 16 bits, anything else becomes f32.
    fn dense(
        &self,
        parts: &[(String, usize)],
        n_in: usize,
        device: &Device,
    ) -> Result<Matrix, ModelError> {
        let n_out: usize = parts.iter().map(|(_, n)| n).sum();
        // A tiny model gains nothing by it.
        let is_fast =
            self.precision != Precision::Exact && self.n_parameters >= N_PARAMETERS_UNPACKED_MAX;
        let mut rows: Vec<(&[u8], Half)> = Vec::new();
        for (name, n) in parts {
            let (_, tensor, bytes) = self.find(name, &[*n, n_in])?;
            let value: Half = match tensor.stored {
                StoredType::Ggml(GgmlDType::BF16) => |b| half::bf16::from_le_bytes(b).to_f32(),
                StoredType::Ggml(GgmlDType::F16) => |b| half::f16::from_le_bytes(b).to_f32(),
                _ => continue,
            };
            rows.extend(bytes.chunks_exact(2 * n_in).map(|row| (row, value)));
        }
        if is_fast && rows.len() == n_out && matches!(device, Device::Cpu) {
            let fill = |row: usize, out: &mut [f32]| {
                let (bytes, value) = rows[row];
                for (out, &stored) in out.iter_mut().zip(bytes.as_chunks().0) {
                    *out = value(stored);
                }
            };
            if let Some(rounded) = DenseMatrix::from_rows(fill, n_out, n_in) {
                for (name, _) in parts {
                    self.release(name);
                }
                return Ok(Matrix::Rounded(Arc::new(rounded)));
            }
        }
        let mut values = Vec::new();
        for (name, n_out) in parts {
            values.extend(self.values(name, &[*n_out, n_in])?);
        }
        Ok(Matrix::Dense(Tensor::from_vec(values, (n_out, n_in), device).map_err(backend)?))
    }

    /// Matrices that multiply the same input: one dense matrix with the rows of all if none of them is
    /// quantised, otherwise one each.
    ///
    /// # Errors
    /// As [`Self::matrix`].
    pub fn stacked(
        &self,
        parts: &[(String, usize)],
        n_in: usize,
        device: &Device,
    ) -> Result<Vec<Matrix>, ModelError> {
        let dense = |(name, _): &(String, usize)| {
            let stored = self.tensors.get(name).map(|(_, tensor)| tensor.stored);
            let blocks = stored.is_some_and(|s| s.quantised().is_some() || s.packed().is_some());
            self.unpacks() || !blocks
        };
        if !parts.iter().all(dense) {
            return parts.iter().map(|(name, n)| self.matrix(name, (*n, n_in), device)).collect();
        }
        Ok(vec![self.dense(parts, n_in, device)?])
    }
}

/// A model of 48 layers with 128 experts each has 18,500.
const MATRICES_MAX: usize = 1 << 17;
