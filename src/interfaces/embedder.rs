//! Text → unit vectors.

use crate::interfaces::ModelError;
use crate::memory::Embedding;

/// A local embedding model.
pub trait Embedder: Send + Sync {
    /// Stable identity of the weights (name and hash). Vectors of different ids are never compared.
    fn id(&self) -> &str;

    /// Length of every vector.
    fn dimensions(&self) -> usize;

    /// One unit vector per text, in order. Texts longer than the model's limit are cut there. An empty
    /// text gets a vector too.
    ///
    /// # Errors
    /// If the model fails; never because of a text.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Embedding>, ModelError>;
}
