//! A text, or two → probabilities of labels. All heads share one BERT encoder; each is a linear layer over the mean of
//! the last hidden states. `models/starter/train_encoder.py` trains them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::attention::dot;
use super::ops;
use super::trunk::Trunk;
use super::weights::Bytes;
use crate::interfaces::ModelError;

/// Of a longer text only the beginning and the end are read: the last sentence is often what asks.
const TOKENS_BEGINNING: usize = 24;
const TOKENS_END: usize = 40;

/// An encoder and its heads, by name.
pub struct BertHeads {
    trunk: Trunk,
    heads: BTreeMap<String, Head>,
    /// The last head and single text, with the result: several callers ask what the same message wants.
    last: Mutex<Option<(String, String, Vec<f32>)>>,
}

struct Head {
    /// A row for each label.
    weight: Vec<f32>,
    bias: Vec<f32>,
}

impl BertHeads {
    /// From a GGUF file without a word table, and the embedder's, which has it.
    ///
    /// # Errors
    /// If a file is damaged, or they don't fit each other, or a head is missing.
    pub fn from_gguf(
        path: &Path,
        bytes: Bytes,
        embedder: Bytes,
        names: &[&str],
    ) -> Result<Self, ModelError> {
        let tokens_max = 2 * (TOKENS_BEGINNING + TOKENS_END);
        let (trunk, weights) = Trunk::from_gguf(path, bytes, embedder, tokens_max)?;
        let mut heads = BTreeMap::new();
        for name in names {
            let of_weight = format!("head.{name}.weight");
            let n_labels = weights.dims(&of_weight).and_then(|dims| dims.first().copied());
            let n_labels = n_labels.unwrap_or(0);
            let weight = weights.values(&of_weight, &[n_labels, trunk.hidden()])?;
            let bias = weights.values(&format!("head.{name}.bias"), &[n_labels])?;
            heads.insert((*name).to_owned(), Head { weight, bias });
        }
        Ok(Self { trunk, heads, last: Mutex::default() })
    }

    /// The probability of each label of a head, in the labels' order, for each input: a text, or a pair. `None` if there
    /// is no such head, or a text is in letters that the vocabulary lacks.
    ///
    /// # Errors
    /// If the model fails.
    pub fn probabilities(
        &self,
        head: &str,
        inputs: &[&[&str]],
    ) -> Result<Option<Vec<Vec<f32>>>, ModelError> {
        let Some(rows) = self.heads.get(head) else { return Ok(None) };
        let last = || self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let ([[text]], Some((of, read, odds))) = (inputs, &*last())
            && of == head
            && read == text
        {
            return Ok(Some(vec![odds.clone()]));
        }
        let encode = |texts: &&[&str]| texts.iter().map(|text| self.encode(text)).collect();
        let encoded: Option<Vec<Vec<Vec<u32>>>> = inputs.iter().map(encode).collect();
        let Some(encoded) = encoded else { return Ok(None) };
        let tokens = encoded.iter().map(|texts| texts.iter().map(Vec::as_slice).collect());
        let states = self.trunk.states(&tokens.collect::<Vec<_>>())?;
        let odds: Result<Vec<Vec<f32>>, _> =
            states.iter().map(|states| self.read(rows, states)).collect();
        let odds = odds?;
        if let ([[text]], [odds]) = (inputs, odds.as_slice()) {
            *last() = Some((head.to_owned(), (*text).to_owned(), odds.clone()));
        }
        Ok(Some(odds))
    }

    /// A head's probabilities, from one input's last hidden states.
    fn read(&self, head: &Head, states: &[f32]) -> Result<Vec<f32>, ModelError> {
        let hidden = self.trunk.hidden();
        let mut mean = vec![0.0; hidden];
        for state in states.chunks_exact(hidden) {
            mean.iter_mut().zip(state).for_each(|(sum, x)| *sum += x);
        }
        let n = (states.len() / hidden) as f32;
        for sum in &mut mean {
            *sum /= n;
        }
        let rows = head.weight.chunks_exact(hidden).zip(&head.bias);
        let mut odds: Vec<f32> = rows.map(|(row, bias)| dot(row, &mean) + bias).collect();
        if odds.iter().any(|score| !score.is_finite()) {
            return Err(ModelError::NotANumber);
        }
        ops::softmax(&mut odds);
        Ok(odds)
    }

    fn encode(&self, text: &str) -> Option<Vec<u32>> {
        let text = &*Trunk::ends(text);
        let mut tokens = self.trunk.encode(text);
        if tokens.is_empty() || tokens.len() < text.split_whitespace().count() {
            return None;
        }
        if tokens.len() > TOKENS_BEGINNING + TOKENS_END {
            tokens.drain(TOKENS_BEGINNING..tokens.len() - TOKENS_END);
        }
        Some(tokens)
    }
}
