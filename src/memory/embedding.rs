//! Unit vectors.

use thiserror::Error;

/// A vector of length one, so that the dot product is the cosine similarity.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedding(Vec<f32>);

/// Why a vector cannot be an [`Embedding`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum EmbeddingError {
    #[error("the vector is empty")]
    Empty,
    #[error("the vector has no direction (all zeros)")]
    Zero,
    #[error("component {index} of the vector is not a finite number")]
    NotFinite { index: usize },
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
    #[must_use]
    pub fn cosine(&self, other: &Self) -> f32 {
        debug_assert_eq!(self.0.len(), other.0.len(), "embeddings of different models");
        self.0.iter().zip(&other.0).map(|(a, b)| a * b).sum::<f32>().clamp(-1.0, 1.0)
    }

    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.0.len()
    }

    #[must_use]
    pub fn as_slice(&self) -> &[f32] {
        &self.0
    }

    #[must_use]
    pub fn into_inner(self) -> Vec<f32> {
        self.0
    }
}
