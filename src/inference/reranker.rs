//! A question and texts → scores, with a BERT encoder that reads both together (a cross-encoder).
//!
//! The score is that of late interaction (ColBERT, arXiv 2004.12832, §3.3) on states that saw each
//! other: of every token of the question the largest cosine with a token of the text, weighed by a
//! softmax over the question's tokens, plus two linear terms. One GGUF file with the encoder's layers
//! and these weights; the word table and the vocabulary are an embedder's, which lies beside it.

use std::path::Path;

use rayon::prelude::*;

use super::attention::dot;
use super::bert::{Bert, BertConfig};
use super::tokenizer::Tokenizer;
use super::weights::{Bytes, Weights, backend};
use crate::interfaces::{ModelError, Reranker};

/// Tokens of the question that are read; its first ones.
const QUESTION_TOKENS_MAX: usize = 48;
/// … and of a text.
const TEXT_TOKENS_MAX: usize = 96;
/// Tokens of a word, on average, beyond which a question is in another language than the vocabulary's.
const PIECES_MAX: usize = 2;

/// A cross-encoder with its tokenizer and the weights of its score.
pub struct BertReranker {
    bert: Bert,
    tokenizer: Tokenizer,
    /// `[CLS]` and `[SEP]`.
    first: u32,
    separator: u32,
    head: Head,
}

/// What makes a score of the last hidden states.
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
    /// From a GGUF file without a word table, and the embedder's that has it.
    ///
    /// # Errors
    /// If a file is damaged, or they don't fit each other.
    pub fn from_gguf(path: &Path, bytes: Bytes, embedder: Bytes) -> Result<Self, ModelError> {
        let weights = Weights::from_bytes(path, bytes)?;
        let words = Weights::from_bytes(Path::new("the embedder beside it"), embedder)?;
        let config =
            BertConfig::from_gguf(&weights, &words).map_err(|reason| weights.bad(reason))?;
        let tokenizer =
            Tokenizer::from_gguf(words.metadata()).map_err(|e| words.bad(e.to_string()))?;
        let &[first, separator] = tokenizer.begin() else {
            return Err(words.bad("its tokenizer puts no [CLS] and [SEP] around a text"));
        };
        if tokenizer.n_ids() > config.vocab_size {
            return Err(words.bad("its tokenizer has more tokens than its word table rows"));
        }
        if config.max_position_embeddings < QUESTION_TOKENS_MAX + TEXT_TOKENS_MAX + 3 {
            return Err(weights.bad("its positions are too few for a question and a text"));
        }
        let hidden = config.hidden_size;
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
        let bert = Bert::load(&weights, &words, config)?;
        Ok(Self { bert, tokenizer, first, separator, head })
    }

    /// Of one text's last hidden states, `[n_question + text + 3, hidden]`.
    fn score(&self, states: &[f32], n_question: usize) -> f32 {
        let hidden = self.bert.config().hidden_size;
        let rows: Vec<&[f32]> = states.chunks_exact(hidden).collect();
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
        let mut question = self.tokenizer.encode(question);
        // Words in letters that the vocabulary has not leave no token.
        if question.is_empty() || !(n_words..=PIECES_MAX * n_words + 2).contains(&question.len()) {
            return Ok(None);
        }
        question.truncate(QUESTION_TOKENS_MAX);
        let (mut ids, mut lengths) = (Vec::new(), Vec::with_capacity(texts.len()));
        for text in texts {
            let mut text = self.tokenizer.encode(text);
            text.truncate(TEXT_TOKENS_MAX);
            let before = ids.len();
            ids.push(self.first);
            ids.extend(&question);
            ids.push(self.separator);
            ids.extend(text);
            ids.push(self.separator);
            lengths.push(ids.len() - before);
        }
        let states = self.bert.forward(&ids, &lengths).map_err(backend)?;
        let hidden = self.bert.config().hidden_size;
        let (mut parts, mut rest) = (Vec::with_capacity(lengths.len()), states.as_slice());
        for &length in &lengths {
            let (text, after) = rest.split_at(length * hidden);
            parts.push(text);
            rest = after;
        }
        let scores: Vec<f32> =
            parts.into_par_iter().map(|states| self.score(states, question.len())).collect();
        if scores.iter().any(|score| !score.is_finite()) {
            return Err(ModelError::NotANumber);
        }
        Ok(Some(scores))
    }
}
