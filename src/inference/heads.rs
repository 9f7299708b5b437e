//! A text, or two → probabilities of labels. All heads share one BERT encoder; each is a linear layer over the mean of
//! the last hidden states. `models/starter/train_encoder.py` trains them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::attention::dot;
use super::ops;
use super::tokenizer::PlacedToken;
use super::trunk::Trunk;
use super::weights::Bytes;
use crate::interfaces::{ModelError, Span};

/// Of a longer text only the beginning and the end are read: the last sentence is often what asks.
const TOKENS_BEGINNING: usize = 24;
const TOKENS_END: usize = 40;

/// The head that says where an answer begins and ends: it reads every token's state, not their mean.
const SPAN: &str = "span";
/// Where an answer is looked for: tokens of the question, and of a part of the text.
const QUESTION_TOKENS_MAX: usize = 32;
const PART_TOKENS_MAX: usize = 93;
/// The longest answer.
const SPAN_TOKENS_MAX: usize = 24;

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

    /// Where each text answers a question best, as in SQuAD 2 (arXiv 1806.03822): a row of the head scores the first token, the
    /// other one the last; both of `[CLS]` say that there is no answer. A long text is read in parts. `None` if there is no such
    /// head, and for what is in letters that the vocabulary lacks.
    ///
    /// # Errors
    /// If the model fails.
    pub fn spans(
        &self,
        question: &str,
        texts: &[&str],
    ) -> Result<Option<Vec<Option<Span>>>, ModelError> {
        let Some(head) = self.heads.get(SPAN) else { return Ok(None) };
        let mut question = self.trunk.encode(question);
        question.truncate(QUESTION_TOKENS_MAX);
        if question.is_empty() {
            return Ok(None);
        }
        let encode = |text: &&str| self.trunk.encode_with_places(text).unwrap_or_default();
        let encoded: Vec<Vec<PlacedToken>> = texts.iter().map(encode).collect();
        let parts = encoded.iter().enumerate().flat_map(|(of, tokens)| {
            let starts = (0..).step_by(PART_TOKENS_MAX / 2);
            let is_new = |at: usize| at == 0 || at + PART_TOKENS_MAX / 2 < tokens.len();
            let starts = starts.take_while(move |&at| at < tokens.len() && is_new(at));
            starts.map(move |at| (of, &tokens[at..tokens.len().min(at + PART_TOKENS_MAX)]))
        });
        let parts: Vec<(usize, &[PlacedToken])> = parts.collect();
        let ids: Vec<Vec<u32>> =
            parts.iter().map(|(_, tokens)| tokens.iter().map(|(id, _)| *id).collect()).collect();
        let inputs: Vec<Vec<&[u32]>> = ids.iter().map(|ids| vec![&question[..], ids]).collect();
        let states = self.trunk.states(&inputs)?;
        let mut best: Vec<Option<Span>> = vec![None; texts.len()];
        for ((of, tokens), states) in parts.into_iter().zip(&states) {
            let span = self.span(head, states, question.len(), tokens)?;
            if best[of].as_ref().is_none_or(|best| best.log_odds < span.log_odds) {
                best[of] = Some(span);
            }
        }
        Ok(Some(best))
    }

    /// The best span of a part, from its last hidden states `[question + tokens + 3, hidden]`.
    fn span(
        &self,
        head: &Head,
        states: &[f32],
        n_question: usize,
        tokens: &[PlacedToken],
    ) -> Result<Span, ModelError> {
        let rows: Vec<&[f32]> = states.chunks_exact(self.trunk.hidden()).collect();
        let score = |row: usize, end: usize| {
            let weight = &head.weight[end * self.trunk.hidden()..][..self.trunk.hidden()];
            dot(rows[row], weight) + head.bias[end]
        };
        let of_text = n_question + 2..n_question + 2 + tokens.len();
        let firsts: Vec<f32> = of_text.clone().map(|row| score(row, 0)).collect();
        let lasts: Vec<f32> = of_text.map(|row| score(row, 1)).collect();
        let none = score(0, 0) + score(0, 1);
        let (mut best, mut place) = (f32::NEG_INFINITY, (0, 0));
        for (i, first) in firsts.iter().enumerate() {
            for (j, last) in lasts.iter().enumerate().skip(i).take(SPAN_TOKENS_MAX) {
                if first + last > best {
                    (best, place) = (first + last, (i, j));
                }
            }
        }
        if !(best - none).is_finite() {
            return Err(ModelError::NotANumber);
        }
        let bytes = tokens[place.0].1.start..tokens[place.1].1.end;
        Ok(Span { bytes, log_odds: best - none })
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
