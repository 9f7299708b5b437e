//! A question and texts → how well each answers it.

use crate::interfaces::ModelError;

/// A local model that reads a question and a text together (a cross-encoder): slower than comparing
/// vectors, and a better judge.
pub trait Reranker: Send + Sync {
    /// One score a text, in order: the higher, the more the text has of an answer. Scores of one
    /// question compare with those of another. Over-long texts are cut at the model's limit.
    /// `None` for a question that it can't read (its words are in no language that it knows).
    ///
    /// # Errors
    /// If the model fails; never because of a text.
    fn scores(&self, question: &str, texts: &[&str]) -> Result<Option<Vec<f32>>, ModelError>;
}
