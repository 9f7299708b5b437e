//! A BERT encoder's forward pass.
//!
//! Several texts go through at once, *packed*: their tokens one after the other in one matrix, no
//! padding anywhere, so that a batch costs its tokens and nothing else. [`DenseMatrix`] or candle
//! multiplies the matrices; what happens between two products (bias, residual, normalisation,
//! activation, attention within each text) works on plain slices, in parallel over rows or heads:
//! candle's own element-wise operations run on one thread and make a pass each.
//!
//! Knows no text and no pooling ([`super::embedder`] does).

use candle_core::{Device, Tensor};
use packed_matmul::{DenseMatrix, vectorised};
use rayon::prelude::*;
use serde::Deserialize;

use super::metadata::Metadata;
use super::ops;
use super::weights::{Matrix, Weights, backend};
use crate::interfaces::ModelError;

/// The shape of an encoder.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct BertConfig {
    pub hidden_size: usize,
    pub num_hidden_layers: usize,
    pub num_attention_heads: usize,
    pub intermediate_size: usize,
    pub max_position_embeddings: usize,
    pub vocab_size: usize,
    #[serde(default = "default_epsilon")]
    pub layer_norm_eps: f64,
    #[serde(default)]
    pub hidden_act: Activation,
    #[serde(default = "default_type_rows")]
    pub type_vocab_size: usize,
    #[serde(default)]
    pub model_type: Option<String>,
    #[serde(default)]
    pub position_embedding_type: Option<String>,
}

fn default_epsilon() -> f64 {
    1e-12
}

fn default_type_rows() -> usize {
    2
}

/// Between the two products of a feed-forward layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
pub enum Activation {
    #[default]
    #[serde(rename = "gelu")]
    Gelu,
    #[serde(rename = "gelu_new", alias = "gelu_pytorch_tanh", alias = "gelu_fast")]
    GeluTanh,
    #[serde(rename = "relu")]
    Relu,
}

impl BertConfig {
    /// From GGUF metadata (`bert.*`); the vocabulary's size comes from the table itself.
    pub fn from_gguf(metadata: &Metadata, vocab_size: usize, types: usize) -> Result<Self, String> {
        let number = |key: &str| {
            let key = format!("bert.{key}");
            let value = metadata.integer(&key).and_then(|n| usize::try_from(n).ok());
            value.ok_or_else(|| format!("`{key}` is missing"))
        };
        Ok(Self {
            hidden_size: number("embedding_length")?,
            num_hidden_layers: number("block_count")?,
            num_attention_heads: number("attention.head_count")?,
            intermediate_size: number("feed_forward_length")?,
            max_position_embeddings: number("context_length")?,
            vocab_size,
            layer_norm_eps: metadata
                .float("bert.attention.layer_norm_epsilon")
                .unwrap_or(default_epsilon()),
            hidden_act: Activation::Gelu,
            type_vocab_size: types,
            model_type: None,
            position_embedding_type: None,
        })
    }

    /// Refuses what no encoder looks like, before anything is sized by it.
    pub fn check(&self) -> Result<(), String> {
        if let Some(other) = self.model_type.as_deref().filter(|&kind| kind != "bert") {
            return Err(format!("its architecture is `{other}` (embedding models are `bert`)"));
        }
        if self.position_embedding_type.as_deref().is_some_and(|kind| kind != "absolute") {
            return Err("its positions are not absolute".into());
        }
        let within = |what: &str, n: usize, max: usize| match n {
            n if (1..=max).contains(&n) => Ok(()),
            n => Err(format!("{what} is {n} (1 to {max} is possible)")),
        };
        within("the hidden size", self.hidden_size, 1 << 14)?;
        within("the number of layers", self.num_hidden_layers, 256)?;
        within("the number of heads", self.num_attention_heads, 1 << 10)?;
        within("the feed-forward size", self.intermediate_size, 1 << 16)?;
        within("the number of positions", self.max_position_embeddings, 1 << 16)?;
        within("the vocabulary", self.vocab_size, 1 << 22)?;
        within("the number of token types", self.type_vocab_size, 1 << 10)?;
        if !self.hidden_size.is_multiple_of(self.num_attention_heads) {
            return Err(format!(
                "{} hidden values cannot be split into {} heads",
                self.hidden_size, self.num_attention_heads
            ));
        }
        Ok(())
    }
}

/// `[n, n_in] → [n, n_out]`, with a bias.
struct Linear {
    weight: LinearWeight,
    bias: Vec<f32>,
}

/// `[n_out, n_in]`
enum LinearWeight {
    /// Rounded to what the processor multiplies fastest.
    Rounded(DenseMatrix),
    Plain(Tensor),
}

struct Norm {
    scale: Vec<f32>,
    shift: Vec<f32>,
}

struct Layer {
    /// Query, key and value below each other.
    attention_in: Linear,
    attention_out: Linear,
    attention_norm: Norm,
    feed_in: Linear,
    feed_out: Linear,
    feed_norm: Norm,
}

/// The weights of an encoder.
pub struct Bert {
    config: BertConfig,
    /// `[vocabulary, hidden]`; stays quantised if it is stored so.
    words: Matrix,
    /// `[positions, hidden]`, the first token type's row added to each.
    positions: Vec<f32>,
    norm: Norm,
    layers: Vec<Layer>,
}

/// Tensor names: GGUF's, or those of transformers with or without a prefix.
struct Names<'a> {
    weights: &'a Weights,
    prefix: &'static str,
}

impl<'a> Names<'a> {
    fn new(weights: &'a Weights) -> Self {
        let prefixed = weights.contains("bert.embeddings.word_embeddings.weight");
        Self { weights, prefix: if prefixed { "bert." } else { "" } }
    }

    fn pick(&self, gguf: &str, transformers: &str) -> String {
        if self.weights.is_gguf() {
            gguf.to_owned()
        } else {
            format!("{}{transformers}", self.prefix)
        }
    }

    fn layer(&self, i: usize, gguf: &str, transformers: &str) -> String {
        self.pick(&format!("blk.{i}.{gguf}"), &format!("encoder.layer.{i}.{transformers}"))
    }

    fn norm(&self, name: &str, n: usize) -> Result<Norm, ModelError> {
        // Checkpoints of TensorFlow's time call them gamma and beta.
        let old = !self.weights.contains(&format!("{name}.weight"))
            && self.weights.contains(&format!("{name}.gamma"));
        let (scale, shift) = if old { ("gamma", "beta") } else { ("weight", "bias") };
        Ok(Norm {
            scale: self.weights.values(&format!("{name}.{scale}"), &[n])?,
            shift: self.weights.values(&format!("{name}.{shift}"), &[n])?,
        })
    }

    /// One product for all `names`, each `[n_out, n_in]`.
    fn linear(&self, names: &[String], n_out: usize, n_in: usize) -> Result<Linear, ModelError> {
        let (mut rows, mut bias) = (Vec::new(), Vec::new());
        for name in names {
            rows.extend(self.weights.values(&format!("{name}.weight"), &[n_out, n_in])?);
            bias.extend(self.weights.values(&format!("{name}.bias"), &[n_out])?);
        }
        let weight = match DenseMatrix::new(&rows, bias.len(), n_in) {
            Some(rounded) => LinearWeight::Rounded(rounded),
            None => LinearWeight::Plain(
                Tensor::from_vec(rows, (bias.len(), n_in), &Device::Cpu).map_err(backend)?,
            ),
        };
        Ok(Linear { weight, bias })
    }
}

impl Bert {
    /// Copies the weights out of the file, in f32 (the word table as stored).
    ///
    /// # Errors
    /// If the configuration is impossible or does not fit the tensors.
    pub fn load(weights: &Weights, config: BertConfig) -> Result<Self, ModelError> {
        Self::load_beside(weights, weights, config)
    }

    /// The same, with the word table of another file.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn load_beside(
        weights: &Weights,
        words: &Weights,
        config: BertConfig,
    ) -> Result<Self, ModelError> {
        config.check().map_err(|reason| weights.bad(reason))?;
        let names = Names::new(weights);
        let (hidden, feed) = (config.hidden_size, config.intermediate_size);
        let word_name = names.pick("token_embd.weight", "embeddings.word_embeddings.weight");
        let words = words.matrix(&word_name, (config.vocab_size, hidden), &Device::Cpu)?;
        let mut positions = weights.values(
            &names.pick("position_embd.weight", "embeddings.position_embeddings.weight"),
            &[config.max_position_embeddings, hidden],
        )?;
        let types = weights.values(
            &names.pick("token_types.weight", "embeddings.token_type_embeddings.weight"),
            &[config.type_vocab_size, hidden],
        )?;
        for row in positions.chunks_exact_mut(hidden) {
            add(row, &types[..hidden]);
        }
        let layers = (0..config.num_hidden_layers)
            .into_par_iter()
            .map(|i| {
                let inputs = [
                    names.layer(i, "attn_q", "attention.self.query"),
                    names.layer(i, "attn_k", "attention.self.key"),
                    names.layer(i, "attn_v", "attention.self.value"),
                ];
                let linear = |gguf, transformers, n_out, n_in| {
                    names.linear(&[names.layer(i, gguf, transformers)], n_out, n_in)
                };
                let norm =
                    |gguf, transformers| names.norm(&names.layer(i, gguf, transformers), hidden);
                Ok(Layer {
                    attention_in: names.linear(&inputs, hidden, hidden)?,
                    attention_out: linear("attn_output", "attention.output.dense", hidden, hidden)?,
                    attention_norm: norm("attn_output_norm", "attention.output.LayerNorm")?,
                    feed_in: linear("ffn_up", "intermediate.dense", feed, hidden)?,
                    feed_out: linear("ffn_down", "output.dense", hidden, feed)?,
                    feed_norm: norm("layer_output_norm", "output.LayerNorm")?,
                })
            })
            .collect::<Result<_, ModelError>>()?;
        let norm = names.norm(&names.pick("token_embd_norm", "embeddings.LayerNorm"), hidden)?;
        Ok(Self { config, words, positions, norm, layers })
    }

    pub fn config(&self) -> &BertConfig {
        &self.config
    }

    /// Last hidden states of `ids`, packed: text `k` has the next `lengths[k]` of them. Row-major
    /// `[ids.len(), hidden]`. Ids are below the vocabulary's size and lengths within the positions.
    pub fn forward(&self, ids: &[u32], lengths: &[usize]) -> candle_core::Result<Vec<f32>> {
        let hidden = self.config.hidden_size;
        let ids = Tensor::new(ids, &Device::Cpu)?;
        let mut states = self.words.rows(&ids)?.flatten_all()?.to_vec1::<f32>()?;
        let mut rest = states.as_mut_slice();
        for &length in lengths {
            let (text, after) = rest.split_at_mut(length * hidden);
            add(text, &self.positions[..text.len()]);
            rest = after;
        }
        self.normalise(&mut states, &self.norm);
        // Made once: the system takes its time to hand out fresh pages.
        let (mut projected, mut inner) = (Vec::new(), Vec::new());
        let (mut by_head, mut update) = (Vec::new(), Vec::new());
        for layer in &self.layers {
            layer.attention_in.forward(&states, &mut projected)?;
            self.attend(&projected, &layer.attention_in.bias, lengths, &mut by_head);
            let attended = &mut projected[..states.len()];
            self.gather(&by_head, lengths, attended);
            layer.attention_out.forward(attended, &mut update)?;
            self.join(&mut states, &update, &layer.attention_out.bias, &layer.attention_norm);
            layer.feed_in.forward(&states, &mut inner)?;
            self.activate(&mut inner, &layer.feed_in.bias);
            layer.feed_out.forward(&inner, &mut update)?;
            self.join(&mut states, &update, &layer.feed_out.bias, &layer.feed_norm);
        }
        Ok(states)
    }

    fn normalise(&self, states: &mut [f32], norm: &Norm) {
        let epsilon = self.config.layer_norm_eps as f32;
        states.par_chunks_mut(self.config.hidden_size * ROWS).for_each(|rows| {
            join_rows(rows, &[], &[], &norm.scale, &norm.shift, epsilon);
        });
    }

    /// `states = norm(states + update + bias)`
    fn join(&self, states: &mut [f32], update: &[f32], bias: &[f32], norm: &Norm) {
        let epsilon = self.config.layer_norm_eps as f32;
        let part = self.config.hidden_size * ROWS;
        states.par_chunks_mut(part).zip(update.par_chunks(part)).for_each(|(states, update)| {
            join_rows(states, update, bias, &norm.scale, &norm.shift, epsilon);
        });
    }

    fn activate(&self, inner: &mut [f32], bias: &[f32]) {
        let activation = self.config.hidden_act;
        inner.par_chunks_mut(bias.len() * ROWS).for_each(|rows| {
            activate_rows(rows, bias, activation);
        });
    }

    /// Every token attends to all tokens of its own text. `projected` is `[n, 3 · hidden]`: query,
    /// key, value, their bias still to be added. `by_head`: of each text, of each head, `[n, width]`,
    /// so that what one task writes lies together.
    fn attend(&self, projected: &[f32], bias: &[f32], lengths: &[usize], by_head: &mut Vec<f32>) {
        let hidden = self.config.hidden_size;
        let width = hidden / self.config.num_attention_heads;
        by_head.resize(projected.len() / 3, 0.0);
        let mut texts = Vec::with_capacity(lengths.len());
        let (mut from, mut to) = (projected, by_head.as_mut_slice());
        for &length in lengths {
            let (text, from_rest) = from.split_at(length * 3 * hidden);
            let (result, to_rest) = to.split_at_mut(length * hidden);
            texts.push((text, result));
            (from, to) = (from_rest, to_rest);
        }
        texts.into_par_iter().for_each(|(text, result)| {
            let n = result.len() / hidden;
            result.par_chunks_mut(n * width).enumerate().for_each(|(head, result)| {
                attend_in_head(text, bias, hidden, head * width, width, result);
            });
        });
    }

    /// `[n, hidden]` from what [`Self::attend`] left.
    fn gather(&self, by_head: &[f32], lengths: &[usize], out: &mut [f32]) {
        let hidden = self.config.hidden_size;
        let width = hidden / self.config.num_attention_heads;
        let (mut from, mut to) = (by_head, out);
        for &length in lengths {
            let (text, from_rest) = from.split_at(length * hidden);
            let (rows, to_rest) = to.split_at_mut(length * hidden);
            for (i, row) in rows.chunks_exact_mut(hidden).enumerate() {
                let heads = row.chunks_exact_mut(width).zip(text.chunks_exact(length * width));
                for (target, head) in heads {
                    target.copy_from_slice(&head[i * width..(i + 1) * width]);
                }
            }
            (from, to) = (from_rest, to_rest);
        }
    }
}

/// Rows that one parallel task takes.
const ROWS: usize = 16;

vectorised! {
/// Each row `norm(row + update + bias)`; without an update `norm(row)`.
fn join_rows(
    rows: &mut [f32],
    update: &[f32],
    bias: &[f32],
    scale: &[f32],
    shift: &[f32],
    epsilon: f32,
) {
    let n = scale.len();
    for (i, row) in rows.chunks_exact_mut(n).enumerate() {
        if !update.is_empty() {
            for ((x, &u), &b) in row.iter_mut().zip(&update[i * n..(i + 1) * n]).zip(bias) {
                *x += u + b;
            }
        }
        let mean = sum(row, |x| x) / n as f32;
        let variance = sum(row, |x| (x - mean) * (x - mean)) / n as f32;
        let factor = 1.0 / (variance + epsilon).sqrt();
        for ((x, &scale), &shift) in row.iter_mut().zip(scale).zip(shift) {
            *x = (*x - mean) * factor * scale + shift;
        }
    }
}
}

vectorised! {
fn activate_rows(rows: &mut [f32], bias: &[f32], activation: Activation) {
    for row in rows.chunks_exact_mut(bias.len()) {
        add(row, bias);
        match activation {
            Activation::Gelu => {
                for x in row {
                    *x *= 0.5 * (1.0 + erf(*x * std::f32::consts::FRAC_1_SQRT_2));
                }
            }
            Activation::GeluTanh => {
                for x in row {
                    let inner = 0.797_884_6 * (*x + 0.044_715 * *x * *x * *x);
                    *x *= 0.5 * (1.0 + inner.tanh());
                }
            }
            Activation::Relu => {
                for x in row {
                    *x = x.max(0.0);
                }
            }
        }
    }
}
}

/// Values that are computed side by side.
const LANES: usize = 16;
/// Queries that pass over the keys together: with these, all sums stay in registers.
const QUERIES: usize = 6;

vectorised! {
/// Every token of one text attends to all of its tokens, by the head whose components begin at `head`.
/// `text`: query, key and value of each, `bias` still to be added; `out`: `[n, width]`.
fn attend_in_head(
    text: &[f32],
    bias: &[f32],
    hidden: usize,
    head: usize,
    width: usize,
    out: &mut [f32],
) {
    let n = out.len() / width;
    let (n_padded, width_padded) = (n.next_multiple_of(LANES), width.next_multiple_of(LANES));
    let scale = 1.0 / (width as f32).sqrt();
    // Keys by component, so that sixteen scores of a query grow together, component by component.
    let mut keys = vec![0.0; width * n_padded];
    let mut values = vec![0.0; n * width_padded];
    for (j, row) in text.chunks_exact(3 * hidden).enumerate() {
        let key = &row[hidden + head..][..width];
        for (d, (&k, &b)) in key.iter().zip(&bias[hidden + head..]).enumerate() {
            keys[d * n_padded + j] = (k + b) * scale;
        }
        values[j * width_padded..][..width].copy_from_slice(&row[2 * hidden + head..][..width]);
    }
    let mut queries = vec![[0.0; QUERIES]; width];
    let mut scores = vec![f32::NEG_INFINITY; QUERIES * n_padded];
    let mut mixed = vec![0.0; QUERIES * width_padded];
    for (block, out) in out.chunks_mut(QUERIES * width).enumerate() {
        let n_queries = out.len() / width;
        for q in 0..n_queries {
            let row = &text[(block * QUERIES + q) * 3 * hidden + head..][..width];
            for ((query, &x), &b) in queries.iter_mut().zip(row).zip(&bias[head..]) {
                query[q] = x + b;
            }
        }
        weighted_sums(&queries, &keys, &mut scores);
        for scores in scores.chunks_exact_mut(n_padded).take(n_queries) {
            scores[n..].fill(f32::NEG_INFINITY);
            ops::softmax(scores);
        }
        let shares: Vec<[f32; QUERIES]> =
            (0..n).map(|j| std::array::from_fn(|q| scores[q * n_padded + j])).collect();
        weighted_sums(&shares, &values, &mut mixed);
        for (out, mixed) in out.chunks_exact_mut(width).zip(mixed.chunks_exact(width_padded)) {
            // Shares add up to one, so the values' bias is added once.
            for ((out, &x), &b) in out.iter_mut().zip(mixed).zip(&bias[2 * hidden + head..]) {
                *out = x + b;
            }
        }
    }
}
}

/// Row q of `sums` = Σ `weights[i][q]` · row i of `rows`. As many rows as weights, of whole [`LANES`].
#[inline(always)]
fn weighted_sums(weights: &[[f32; QUERIES]], rows: &[f32], sums: &mut [f32]) {
    let width = sums.len() / QUERIES;
    for first in (0..width).step_by(LANES) {
        let mut lanes = [[0f32; LANES]; QUERIES];
        for (weights, row) in weights.iter().zip(rows.chunks_exact(width)) {
            let row: &[f32; LANES] = row[first..].first_chunk().unwrap_or(&[0.0; LANES]);
            for (lanes, &weight) in lanes.iter_mut().zip(weights) {
                for (lane, &x) in lanes.iter_mut().zip(row) {
                    *lane = x.mul_add(weight, *lane);
                }
            }
        }
        for (sums, lanes) in sums.chunks_exact_mut(width).zip(&lanes) {
            sums[first..first + LANES].copy_from_slice(lanes);
        }
    }
}

impl Linear {
    /// Without the bias, which the caller adds where it passes over the values anyway.
    fn forward(&self, input: &[f32], out: &mut Vec<f32>) -> candle_core::Result<()> {
        match &self.weight {
            LinearWeight::Rounded(weight) => {
                out.resize(input.len() / weight.n_in() * weight.n_out(), 0.0);
                weight.multiply(input, out);
            }
            LinearWeight::Plain(weight) => {
                let n_in = weight.dim(1)?;
                let input = Tensor::from_slice(input, (input.len() / n_in, n_in), &Device::Cpu)?;
                *out = input.matmul(&weight.t()?)?.flatten_all()?.to_vec1()?;
            }
        }
        Ok(())
    }
}

#[inline(always)]
fn add(target: &mut [f32], other: &[f32]) {
    for (t, &o) in target.iter_mut().zip(other) {
        *t += o;
    }
}

/// Sum of `f(x)`, in eight lanes (a plain float sum may not be reordered, so it stays scalar).
#[inline(always)]
fn sum(values: &[f32], f: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [0.0f32; 8];
    let (chunks, rest) = values.as_chunks::<8>();
    for chunk in chunks {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane += f(x);
        }
    }
    lanes.iter().sum::<f32>() + rest.iter().map(|&x| f(x)).sum::<f32>()
}

/// The error function by Eigen's rational approximation (within 4e-7): no branch and no
/// exponential, so that the compiler can vectorise it.
#[expect(clippy::excessive_precision, reason = "the coefficients as published")]
#[inline(always)]
fn erf(x: f32) -> f32 {
    const ALPHA: [f32; 7] = [
        -2.726_142_258_013_06e-10,
        2.770_681_424_959_02e-8,
        -2.101_024_020_825_08e-6,
        -5.692_506_394_623_46e-5,
        -7.349_906_303_268_55e-4,
        -2.954_599_808_540_25e-3,
        -1.609_603_332_624_15e-2,
    ];
    const BETA: [f32; 5] = [
        -1.456_607_184_649_96e-5,
        -2.133_740_552_789_05e-4,
        -1.682_826_974_382_03e-3,
        -7.373_329_167_204_68e-3,
        -1.426_473_905_141_89e-2,
    ];
    let x = x.clamp(-4.0, 4.0);
    let square = x * x;
    let numerator = ALPHA.iter().fold(0.0, |sum, &c| sum * square + c);
    let denominator = BETA.iter().fold(0.0, |sum, &c| sum * square + c);
    x * numerator / denominator
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn erf_is_close_to_the_error_function() {
        for (x, expected) in [
            (0.0, 0.0),
            (0.1, 0.112_462_916),
            (0.5, 0.520_499_9),
            (1.0, 0.842_700_8),
            (2.0, 0.995_322_3),
            (5.0, 1.0),
            (-1.5, -0.966_105_1),
        ] {
            assert!((erf(x) - expected).abs() < 1e-6, "erf({x}) = {}", erf(x));
        }
    }

    #[test]
    fn impossible_shapes_are_refused() {
        let good = r#"{"hidden_size":8,"num_hidden_layers":1,"num_attention_heads":2,
            "intermediate_size":16,"max_position_embeddings":4,"vocab_size":10}"#;
        let config: BertConfig = serde_json::from_str(good).expect("a configuration");
        assert_eq!(config.check(), Ok(()));
        for broken in [
            BertConfig { hidden_size: 0, ..config.clone() },
            BertConfig { hidden_size: usize::MAX, ..config.clone() },
            BertConfig { num_attention_heads: 3, ..config.clone() },
            BertConfig { num_hidden_layers: 1 << 40, ..config.clone() },
            BertConfig { model_type: Some("xlm-roberta".into()), ..config.clone() },
            BertConfig { position_embedding_type: Some("relative_key".into()), ..config.clone() },
        ] {
            assert!(broken.check().is_err(), "{broken:?}");
        }
    }
}
