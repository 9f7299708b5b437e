//! The weights, from GGUF or safetensors.

use candle_core::{Device, Tensor};
use rayon::prelude::*;

use super::rows::add;
use super::{Bert, BertConfig, Layer, Linear, LinearWeight, Norm};
use crate::inference::weights::{Weights, backend};
use crate::interfaces::ModelError;
use packed_matmul::DenseMatrix;

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
        // Old checkpoints, converted from TensorFlow, call them gamma and beta.
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
    /// Copies the weights out of the file, in f32 (the word table, which another file may hold, as stored).
    ///
    /// # Errors
    /// If the configuration is impossible or does not fit the tensors.
    pub fn load(
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
}
