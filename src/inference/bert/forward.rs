//! The forward pass.
//!
//! Several texts go through at once, *packed*: their tokens one after the other in one matrix, without padding, so
//! that a batch costs its tokens and nothing else. [`DenseMatrix`](super::DenseMatrix) or candle multiplies the
//! matrices; what happens between two products (bias, residual, normalisation, activation, attention within each
//! text) works on plain slices, in parallel over rows or heads: candle's own element-wise operations run on one
//! thread and make a pass each.

use candle_core::{Device, Tensor};
use rayon::prelude::*;

use super::rows::{activate_rows, add, attend_in_head, join_rows};
use super::{Bert, BertConfig, Linear, LinearWeight, Norm};

/// Rows that one parallel task takes.
const ROWS: usize = 16;

impl Bert {
    /// The shape.
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
        // Made once: fresh pages from the system are slow.
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
    /// key, value, their bias still to be added. `by_head`: for each text and each head `[n, width]`,
    /// so that what one task writes is contiguous.
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
