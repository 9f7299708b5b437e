//! Vectors of a data set: given in NumPy's format, or made by an embedder.

use std::collections::HashMap;
use std::path::Path;

use inglenook::interfaces::{Embedder, ModelError};
use inglenook::memory::Embedding;

use crate::EvalError;
use crate::locomo::bad;
use crate::npy;

/// The vectors in a `.npy` file; `None` if it does not exist.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<Embedding>>, EvalError> {
    if !path.exists() {
        return Ok(None);
    }
    let bytes = std::fs::read(path)
        .map_err(|source| EvalError::Unreadable { path: path.to_owned(), source })?;
    npy::rows(&bytes).map(Some).map_err(|reason| bad(path, reason))
}

/// Embeds texts, in order. Batches hold texts of similar length, which saves padding.
pub(crate) fn embed(
    embedder: &dyn Embedder,
    texts: &[String],
) -> Result<Vec<Embedding>, ModelError> {
    const BATCH: usize = 32;
    let mut order: Vec<usize> = (0..texts.len()).collect();
    order.sort_by_key(|&i| texts[i].len());
    let mut placed = Vec::with_capacity(texts.len());
    for batch in order.chunks(BATCH) {
        let of: Vec<&str> = batch.iter().map(|&i| texts[i].as_str()).collect();
        placed.extend(batch.iter().copied().zip(embedder.embed(&of)?));
    }
    placed.sort_by_key(|&(i, _)| i);
    Ok(placed.into_iter().map(|(_, vector)| vector).collect())
}

/// An embedder that only knows the vectors of given texts.
pub(crate) struct PrecomputedEmbedder {
    pub dimensions: usize,
    pub by_text: HashMap<String, Embedding>,
}

impl Embedder for PrecomputedEmbedder {
    fn id(&self) -> &'static str {
        "given"
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Embedding>, ModelError> {
        let of = |text: &&str| self.by_text.get(*text).cloned();
        texts.iter().map(of).collect::<Option<_>>().ok_or_else(|| ModelError::Backend {
            what: "a text has no vector".into(),
            source: None,
        })
    }
}
