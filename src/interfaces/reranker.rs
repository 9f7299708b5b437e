//! A small model that reads texts: how well each answers a question, and what they are.

use std::fmt;
use std::ops::Range;

use crate::interfaces::ModelError;

/// A local model that reads a question and a text together (a cross-encoder): slower than comparing
/// vectors, and a better judge. It may have further heads that classify texts.
pub trait Reranker: Send + Sync {
    /// One score per text, in order: the higher, the more of an answer the text holds. Scores are
    /// comparable across questions. Texts longer than the model's limit are cut there.
    /// `None` for a question that it can't read (its words are in no language that it knows).
    ///
    /// # Errors
    /// If the model fails; never because of a text.
    fn scores(&self, question: &str, texts: &[&str]) -> Result<Option<Vec<f32>>, ModelError>;

    /// What a head says of each text, or of each pair of texts: the probabilities of its labels, in alphabetical order.
    /// `None` if there is no such head, or it can't read one of them.
    ///
    /// # Errors
    /// As [`Self::scores`].
    fn probabilities(
        &self,
        _head: &str,
        _inputs: &[&[&str]],
    ) -> Result<Option<Vec<Vec<f32>>>, ModelError> {
        Ok(None)
    }

    /// Where each text answers a question best: words of the text itself; `None` for a text in letters that it does not know.
    /// `None` if there is no such head, or it can't read the question.
    ///
    /// # Errors
    /// As [`Self::scores`].
    fn spans(
        &self,
        _question: &str,
        _texts: &[&str],
    ) -> Result<Option<Vec<Option<Span>>>, ModelError> {
        Ok(None)
    }
}

/// The words of a text that answer a question best.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// Bytes of the text.
    pub bytes: Range<usize>,
    /// The logarithm of how much likelier they are than that the text has no answer: at 0 both are equally likely.
    pub log_odds: f32,
}

impl fmt::Debug for dyn Reranker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reranker")
    }
}

/// Identity: the same object.
impl PartialEq for dyn Reranker {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::addr_eq(self, other)
    }
}
