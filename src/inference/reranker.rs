//! A question and texts → scores, with a BERT encoder that reads both together (a cross-encoder).
//!
//! The score is that of late interaction (ColBERT, arXiv 2004.12832, §3.3) on states that saw each
//! other: of every token of the question the largest cosine with a token of the text, weighted by a
//! softmax over the question's tokens, plus two linear terms. One GGUF file with the encoder's layers
//! and these weights.

use std::path::Path;

use rayon::prelude::*;

use super::attention::dot;
use super::trunk::Trunk;
use super::weights::Bytes;
use crate::interfaces::{ModelError, Reranker};

/// Tokens of the question that are read; its first ones.
const QUESTION_TOKENS_MAX: usize = 48;
/// … and of a text.
const TEXT_TOKENS_MAX: usize = 96;
/// A question with more tokens per word than this, on average, is in a language that the vocabulary does not cover.
const PIECES_MAX: usize = 2;

/// A cross-encoder with the weights of its score.
pub struct BertReranker {
    trunk: Trunk,
    head: Head,
}

/// Turns the last hidden states into a score.
struct Head {
    /// Of each token of the question: how much it counts …
    gate: Vec<f32>,
    /// … and what it says of the text besides its largest cosine.
    value: Vec<f32>,
    /// Of `[CLS]`.
    first: Vec<f32>,
    bias: f32,
    /// Of the cosines.
    scale: f32,
}

impl BertReranker {
    /// From a GGUF file without a word table, and the embedder's, which has it.
    ///
    /// # Errors
    /// If a file is damaged, or they don't fit each other.
    pub fn from_gguf(path: &Path, bytes: Bytes, embedder: Bytes) -> Result<Self, ModelError> {
        let tokens_max = QUESTION_TOKENS_MAX + TEXT_TOKENS_MAX;
        let (trunk, weights) = Trunk::from_gguf(path, bytes, embedder, tokens_max)?;
        let hidden = trunk.hidden();
        let number = |key: &str| {
            let value = weights.metadata().float(&format!("inglenook.reranker.{key}"));
            value
                .map(|x| x as f32)
                .filter(|x| x.is_finite())
                .ok_or_else(|| weights.bad(format!("`inglenook.reranker.{key}` is missing")))
        };
        let head = Head {
            gate: weights.values("gate.weight", &[hidden])?,
            value: weights.values("value.weight", &[hidden])?,
            first: weights.values("first.weight", &[hidden])?,
            bias: number("bias")?,
            scale: number("scale")?,
        };
        Ok(Self { trunk, head })
    }

    /// One text's score, from the last hidden states `[n_question + text + 3, hidden]`.
    fn score(&self, states: &[f32], n_question: usize) -> f32 {
        let rows: Vec<&[f32]> = states.chunks_exact(self.trunk.hidden()).collect();
        let lengths: Vec<f32> =
            rows.iter().map(|row| dot(row, row).sqrt().max(f32::MIN_POSITIVE)).collect();
        // [CLS] question [SEP] text [SEP]
        let text = n_question + 2..rows.len() - 1;
        let gates: Vec<f32> = (1..=n_question).map(|i| dot(rows[i], &self.head.gate)).collect();
        let largest = gates.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let (mut sum, mut weights) = (0.0, 0.0);
        for (i, gate) in (1..=n_question).zip(gates) {
            let nearest = text
                .clone()
                .map(|j| dot(rows[i], rows[j]) / (lengths[i] * lengths[j]))
                .fold(-1.0, f32::max);
            let weight = (gate - largest).exp();
            sum += weight * (self.head.scale * nearest + dot(rows[i], &self.head.value));
            weights += weight;
        }
        sum / weights + dot(rows[0], &self.head.first) + self.head.bias
    }
}

impl Reranker for BertReranker {
    fn scores(&self, question: &str, texts: &[&str]) -> Result<Option<Vec<f32>>, ModelError> {
        let n_words = question.split_whitespace().count();
        let mut question = self.trunk.encode(question);
        // Words in letters that the vocabulary lacks yield no token.
        if question.is_empty() || !(n_words..=PIECES_MAX * n_words + 2).contains(&question.len()) {
            return Ok(None);
        }
        question.truncate(QUESTION_TOKENS_MAX);
        let texts: Vec<Vec<u32>> = texts.iter().map(|text| self.trunk.encode(text)).collect();
        let first = |text: &Vec<u32>| text.len().min(TEXT_TOKENS_MAX);
        let inputs: Vec<Vec<&[u32]>> =
            texts.iter().map(|text| vec![&question[..], &text[..first(text)]]).collect();
        let states = self.trunk.states(&inputs)?;
        let scores: Vec<f32> =
            states.par_iter().map(|states| self.score(states, question.len())).collect();
        if scores.iter().any(|score| !score.is_finite()) {
            return Err(ModelError::NotANumber);
        }
        Ok(Some(scores))
    }
}
