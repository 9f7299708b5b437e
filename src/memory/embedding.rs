//! Unit vectors.

use std::sync::Arc;

use pulp::{Arch, WithSimd};
use thiserror::Error;

/// A vector of unit length, so that the dot product is the cosine similarity. Clones share the data:
/// partition and kNN graphs hold the same vectors.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedding(Arc<[f32]>);

/// Why a vector cannot be an [`Embedding`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum EmbeddingError {
    /// It has no components.
    #[error("the vector is empty")]
    Empty,
    /// All its components are 0.
    #[error("the vector has no direction (all zeros)")]
    Zero,
    /// A component is NaN or infinite.
    #[error("component {index} of the vector is not a finite number")]
    NotFinite {
        /// Its place in the vector.
        index: usize,
    },
}

impl Embedding {
    /// Scales `vector` to unit length.
    ///
    /// # Errors
    /// If it is empty, all zeros, or has a component that is not finite.
    pub fn normalise(vector: Vec<f32>) -> Result<Self, EmbeddingError> {
        if vector.is_empty() {
            return Err(EmbeddingError::Empty);
        }
        if let Some(index) = vector.iter().position(|x| !x.is_finite()) {
            return Err(EmbeddingError::NotFinite { index });
        }
        let length = vector.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt();
        if length == 0.0 {
            return Err(EmbeddingError::Zero);
        }
        Ok(Self(vector.into_iter().map(|x| (f64::from(x) / length) as f32).collect()))
    }

    /// Cosine similarity in [−1, 1].
    ///
    /// # Panics
    /// In debug builds, if the dimensions differ.
    pub fn cosine(&self, other: &Self) -> f32 {
        debug_assert_eq!(self.0.len(), other.0.len(), "embeddings of different models");
        dot(&self.0, &other.0).clamp(-1.0, 1.0)
    }

    /// Dot product with a vector of the same dimensions and any length.
    pub fn dot(&self, other: &[f32]) -> f32 {
        dot(&self.0, other)
    }

    /// Number of components.
    pub fn dimensions(&self) -> usize {
        self.0.len()
    }

    /// The components.
    pub fn as_slice(&self) -> &[f32] {
        &self.0
    }

    /// The values, which have unit length.
    pub fn into_inner(self) -> Vec<f32> {
        self.0.to_vec()
    }

    /// The vector as it will be read back: reading normalises again, so this normalises until no bit
    /// changes. A step then sees what its replay after a crash would see.
    #[must_use]
    pub fn as_stored(mut self) -> Self {
        for _ in 0..4 {
            match Self::normalise(self.0.to_vec()) {
                Ok(again) if again != self => self = again,
                _ => break,
            }
        }
        self
    }
}

/// Dot product in sixteen lanes: the compiler may not reorder a plain fold, which would do one
/// multiplication at a time. The result is bit-identical on every processor.
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    Arch::new().dispatch(Dot(a, b))
}

struct Dot<'a>(&'a [f32], &'a [f32]);

impl WithSimd for Dot<'_> {
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> f32 {
        const LANES: usize = 16;
        let mut lanes = [0.0f32; LANES];
        let (chunks_a, rest_a) = self.0.as_chunks::<LANES>();
        let (chunks_b, rest_b) = self.1.as_chunks::<LANES>();
        for (x, y) in chunks_a.iter().zip(chunks_b) {
            for lane in 0..LANES {
                lanes[lane] += x[lane] * y[lane];
            }
        }
        let (mut sum, mut rest) = (0.0, 0.0);
        for lane in lanes {
            sum += lane;
        }
        for (x, y) in rest_a.iter().zip(rest_b) {
            rest += x * y;
        }
        sum + rest
    }
}

/// Dot product in double precision, for scores that are compared to 1e-9; the first vector may be in
/// single precision.
pub fn dot64<T: Copy + Into<f64>>(a: &[T], b: &[f64]) -> f64 {
    const LANES: usize = 8;
    let mut lanes = [0.0f64; LANES];
    let (chunks_a, chunks_b) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest = chunks_a.remainder().iter().zip(chunks_b.remainder());
    let rest: f64 = rest.map(|(&x, y)| x.into() * y).sum();
    for (x, y) in chunks_a.zip(chunks_b) {
        for lane in 0..LANES {
            lanes[lane] += x[lane].into() * y[lane];
        }
    }
    lanes.iter().sum::<f64>() + rest
}
