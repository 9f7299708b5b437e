//! How uncertain the reader is of its answer, given what it has been shown so far.
//!
//! There are two probes: one asks a model that reads a KV cache, the other counts the words that
//! evidence and question share. Both can roll back.

use std::collections::{BTreeMap, BTreeSet};

use crate::interfaces::{Context, LanguageModel, ModelError, Signal};
use crate::memory::lexical::{self, Rarity};

/// A reader that is shown evidence and measured.
pub(super) trait UncertaintyProbe {
    /// The present state, for [`UncertaintyProbe::roll_back`].
    fn mark(&self) -> usize;

    /// Shows more; false, and nothing changes, if there is no room for it.
    fn show(&mut self, text: &str) -> Result<bool, ModelError>;

    /// Forgets everything shown since `mark`.
    fn roll_back(&mut self, mark: usize);

    /// Tokens that showing this and measuring would cost.
    fn cost(&self, text: &str) -> usize;

    /// Tokens in the context.
    fn n_held(&self) -> usize;

    /// The present uncertainty; smaller is better.
    fn measure(&mut self) -> Result<f64, ModelError>;
}

/// Asks the model. The context is never processed again: a measurement costs the new tokens and the
/// question.
pub(super) struct ModelProbe<'a> {
    pub model: &'a dyn LanguageModel,
    pub context: Box<dyn Context>,
    pub signal: Signal,
    /// Tokens of the block's end and the question.
    pub question: &'a [u32],
    /// Closes the question's turn and opens the answer's.
    pub tail: &'a [u32],
    pub n_positions: usize,
    /// Tokens that the context may hold before the question.
    pub n_tokens_max: usize,
    /// Tokens processed so far, without the answers that measurements decode.
    pub n_processed: usize,
}

impl UncertaintyProbe for ModelProbe<'_> {
    fn mark(&self) -> usize {
        self.context.len()
    }

    fn show(&mut self, text: &str) -> Result<bool, ModelError> {
        let tokens = self.model.encode(text);
        if self.context.len() + tokens.len() > self.n_tokens_max {
            return Ok(false);
        }
        self.context.extend(&tokens)?;
        self.n_processed += tokens.len();
        Ok(true)
    }

    fn roll_back(&mut self, mark: usize) {
        self.context.truncate(mark);
    }

    fn cost(&self, text: &str) -> usize {
        self.model.encode(text).len() + self.question.len() + self.tail.len()
    }

    fn n_held(&self) -> usize {
        self.context.len()
    }

    fn measure(&mut self) -> Result<f64, ModelError> {
        let measured = self.context.uncertainty(self.question, self.tail, self.n_positions)?;
        self.n_processed += self.question.len() + self.tail.len();
        Ok(self.signal.of(&measured))
    }
}

/// The share of the question that nothing shown names ([`lexical::unnamed`]). Rare terms weigh more.
pub(super) struct OverlapProbe<'a> {
    /// Weights of the question's terms; they sum to 1.
    weights: BTreeMap<String, f64>,
    /// Terms of each line of everything shown, in order.
    shown: Vec<Vec<BTreeSet<String>>>,
    sizes: Vec<usize>,
    size_left: usize,
    size_of: &'a dyn Fn(&str) -> usize,
}

impl<'a> OverlapProbe<'a> {
    /// `texts` is everything that may be shown: a term that many of them contain says little. At most
    /// `size_max` can be shown, as `size_of` counts.
    pub(super) fn new<'t>(
        terms: &BTreeSet<String>,
        texts: impl IntoIterator<Item = &'t str>,
        size_max: usize,
        size_of: &'a dyn Fn(&str) -> usize,
    ) -> Self {
        let weights = Rarity::new(texts).weights(terms);
        Self { weights, shown: Vec::new(), sizes: Vec::new(), size_left: size_max, size_of }
    }
}

impl UncertaintyProbe for OverlapProbe<'_> {
    fn mark(&self) -> usize {
        self.shown.len()
    }

    fn show(&mut self, text: &str) -> Result<bool, ModelError> {
        let size = (self.size_of)(text);
        if size > self.size_left {
            return Ok(false);
        }
        self.size_left -= size;
        self.sizes.push(size);
        let terms = |line| lexical::terms(line).into_iter().collect();
        self.shown.push(text.lines().map(terms).collect());
        Ok(true)
    }

    fn roll_back(&mut self, mark: usize) {
        self.shown.truncate(mark);
        self.size_left += self.sizes.drain(mark.min(self.sizes.len())..).sum::<usize>();
    }

    /// No model processes a token.
    fn cost(&self, _: &str) -> usize {
        0
    }

    fn n_held(&self) -> usize {
        0
    }

    fn measure(&mut self) -> Result<f64, ModelError> {
        let lines: Vec<&BTreeSet<String>> = self.shown.iter().flatten().collect();
        Ok(lexical::unnamed(&self.weights, &lines))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uncertainty_falls_as_terms_are_named_and_rises_on_roll_back() {
        let terms = lexical::terms("Which breed is Ana's dog?").into_iter().collect();
        let texts = ["Ana has a dog", "The dog barks", "A rare breed"];
        let mut probe = OverlapProbe::new(&terms, texts, 30, &str::len);
        assert!((probe.measure().unwrap() - 1.0).abs() < 1e-12);
        assert!(probe.show("Ana has a dog").unwrap());
        let (mark, with_dog) = (probe.mark(), probe.measure().unwrap());
        assert!(with_dog < 1.0 && with_dog > 0.0);
        assert!(probe.show("A rare breed").unwrap());
        let both = probe.measure().unwrap();
        assert!(both < with_dog && both > 0.1, "all are named, but not together");
        assert!(!probe.show("something else").unwrap(), "no room");
        probe.roll_back(mark);
        assert!((probe.measure().unwrap() - with_dog).abs() < 1e-12);
        assert!(probe.show("Ana dog breed").unwrap(), "room again");
        assert!(probe.measure().unwrap().abs() < 1e-12);
    }

    #[test]
    fn a_question_without_terms_has_no_uncertainty() {
        let mut probe = OverlapProbe::new(&BTreeSet::new(), ["a dog"], 100, &str::len);
        assert!(probe.measure().unwrap().abs() < 1e-12);
    }
}
