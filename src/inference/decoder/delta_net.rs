//! A layer that keeps a state instead of keys: a gated DeltaNet (Qwen3.5; Yang et al. 2024, arXiv 2412.06464).
//!
//! A short convolution makes queries, keys and values of a token. Each head's state, a matrix, is what its keys are mapped to: at
//! each token it decays, then what it says of the token's key moves towards the token's value, and the query reads it. This is
//! computed on the processor, token by token, and a few columns of one state for all tokens before the next. What is kept of
//! the states is said in [`crate::inference::states`].

use candle_core::{DType, Device, Result, Tensor};
use packed_matmul::elementwise::exp;
use packed_matmul::vectorised;
use rayon::prelude::*;

use super::Held;
use super::convolution::add_product;
use crate::inference::branches::Run;
use crate::inference::config::{Activation, Recurrence};
use crate::inference::kv_cache::KvCache;
use crate::inference::linear::{LinearGroup, with_values};
use crate::inference::ops;
use crate::inference::states::State;
use crate::inference::weights::Matrix;

/// So many tokens before a longer pass ends, the state is kept: a next prompt often differs from the last one's end.
const TAIL_TOKENS: usize = 32;
/// Of a state that are brought along all tokens together: 16 KiB with keys of 128.
const COLUMNS: usize = 32;
/// Added to squared lengths of queries and keys.
const EPSILON: f32 = 1e-6;

/// The weights of one layer.
pub(super) struct DeltaNet {
    pub shape: Recurrence,
    /// Which head of keys each head of values has.
    pub keys_of: Vec<usize>,
    /// To queries, keys and values in one; to the gate of the results; to the rate and the decay of each head.
    pub input: LinearGroup,
    /// For each place, the oldest first, the weights of all channels.
    pub kernel: Vec<Vec<f32>>,
    /// How fast each head forgets, below 0.
    pub decay: Vec<f32>,
    /// Added before.
    pub decay_bias: Vec<f32>,
    /// Over each head's result.
    pub norm: Tensor,
    pub output: Matrix,
}

/// A token's part of a head.
struct Step<'a> {
    query: &'a [f32],
    key: &'a [f32],
    value: &'a [f32],
    /// How far the state moves towards the value.
    rate: f32,
    /// What remains of the state.
    decay: f32,
}

impl DeltaNet {
    /// `[n, hidden]` → `[n, hidden]`.
    pub fn forward(
        &self,
        index: usize,
        xs: &Tensor,
        held: &mut Held<'_, '_>,
        epsilon: f64,
    ) -> Result<Tensor> {
        let projected = self.input.forward(xs)?;
        let [inputs, gate, rate, decay] = projected.as_slice() else {
            candle_core::bail!("expected queries, keys and values, a gate, rates and decays")
        };
        let read = held.each([inputs, rate, decay], |parts, run, cache| {
            let [inputs, rate, decay] = parts.map(on_processor);
            let read = with_values(&inputs?, |inputs| {
                let [rates, decays] = [rate?, decay?].map(|xs| xs.flatten_all()?.to_vec1());
                self.mix(index, inputs, (&rates?, &decays?), run, cache)
            })?;
            Tensor::from_vec(read, (parts[0].dim(0)?, self.shape.values()), &Device::Cpu)
        })?;
        let (n, width) = read.dims2()?;
        let heads = read.reshape((n * self.shape.n_value_heads, self.shape.value_dim))?;
        let heads = heads.to_device(xs.device())?;
        let normed = ops::rms_norm(&heads, &self.norm, epsilon)?.reshape((n, width))?;
        self.output.forward(&ops::gated(Activation::Silu, gate, &normed)?)
    }

    /// What each head reads from its state at each token: `[n, values]`.
    fn mix(
        &self,
        index: usize,
        inputs: &[f32],
        (rates, decays): (&[f32], &[f32]),
        run: Run<'_>,
        cache: &mut KvCache,
    ) -> Result<Vec<f32>> {
        let (width, n_heads) = (self.shape.width(), self.shape.n_value_heads);
        let n = inputs.len() / width;
        let branching = !run.branches.is_empty();
        let states = cache.states(index);
        let mut state = match run.start {
            0 => self.empty(),
            start => match states.take(start, branching || n > 1) {
                Some(state) => state,
                None => candle_core::bail!("the state after {start} tokens is not kept"),
            },
        };
        let convolved = self.convolve(inputs, &state, run);
        let sigmoid = |x: f32| 1.0 / (1.0 + (-x).exp());
        let rates: Vec<f32> = rates.iter().map(|&x| sigmoid(x)).collect();
        let remains = |(at, &x): (usize, &f32)| {
            let x = x + self.decay_bias[at % n_heads];
            let softplus = if x > 20.0 { x } else { x.exp().ln_1p() };
            (self.decay[at % n_heads] * softplus).exp()
        };
        let decays: Vec<f32> = decays.iter().enumerate().map(remains).collect();

        // Head by head, a row of values for each token.
        let mut read = vec![0f32; n * self.shape.values()];
        let mut pass = |memory: &mut [f32], tokens: std::ops::Range<usize>| {
            let of_step = |head: usize, token: usize| {
                let at = token * n_heads + head;
                self.step(&convolved[token * width..][..width], head, rates[at], decays[at])
            };
            let rows = read.par_chunks_exact_mut(n * self.shape.value_dim);
            let heads = memory.par_chunks_exact_mut(self.shape.key_dim * self.shape.value_dim);
            rows.zip(heads).enumerate().for_each(|(head, (rows, memory))| {
                let mut strip = vec![[0f32; COLUMNS]; self.shape.key_dim];
                let steps: Vec<_> = tokens.clone().map(|token| of_step(head, token)).collect();
                let rows = &mut rows[tokens.start * self.shape.value_dim..];
                advance(memory, &mut strip, &steps, rows);
            });
        };
        if branching {
            let begins = |&(token, &begin): &(usize, &usize)| token == begin;
            let begins = run.branches.iter().enumerate().filter(begins).map(|(token, _)| token);
            let bounds: Vec<usize> = begins.chain([n]).collect();
            for branch in bounds.windows(2) {
                pass(&mut state.memory.clone(), branch[0]..branch[1]);
            }
        } else {
            let before = if n > 2 * TAIL_TOKENS { n - TAIL_TOKENS } else { 0 };
            if before > 0 {
                pass(&mut state.memory, 0..before);
                let kept = State {
                    inputs: last_inputs(&state.inputs, &inputs[..before * width]),
                    memory: state.memory.clone(),
                };
                states.put(run.start + before, kept, true);
            }
            pass(&mut state.memory, before..n);
            state.inputs = last_inputs(&state.inputs, inputs);
            states.put(run.start + n, state, n > 1);
        }
        Ok(self.by_token(&read, n))
    }

    /// Before the first token.
    fn empty(&self) -> State {
        State {
            inputs: vec![0.0; (self.kernel.len() - 1) * self.shape.width()],
            memory: vec![0.0; self.shape.state()],
        }
    }

    /// Queries, keys and values of the run's tokens, `[n, width]`: queries and keys of length 1, queries then divided by the root
    /// of their size.
    fn convolve(&self, inputs: &[f32], state: &State, run: Run<'_>) -> Vec<f32> {
        let (width, reach) = (self.shape.width(), self.kernel.len() - 1);
        let mut out = vec![0f32; inputs.len()];
        ops::each_row(&mut out, width, |token, out| {
            let begin = run.branches.get(token).copied().unwrap_or(0);
            for (weights, distance) in self.kernel.iter().zip((0..=reach).rev()) {
                let row = if distance <= token - begin {
                    &inputs[(token - distance) * width..][..width]
                } else {
                    &state.inputs[(reach + token - begin - distance) * width..][..width]
                };
                add_product(weights, row, out);
            }
            silu(out);
            let keys = self.shape.keys();
            for (at, head) in out[..2 * keys].chunks_exact_mut(self.shape.key_dim).enumerate() {
                let is_query = at < self.shape.n_key_heads;
                let size = if is_query { self.shape.key_dim as f32 } else { 1.0 };
                let squares: f32 = head.iter().map(|x| x * x).sum();
                let scale = 1.0 / ((squares + EPSILON) * size).sqrt();
                for x in head {
                    *x *= scale;
                }
            }
        });
        out
    }

    fn step<'a>(&self, row: &'a [f32], head: usize, rate: f32, decay: f32) -> Step<'a> {
        let Recurrence { key_dim, value_dim, .. } = self.shape;
        let (keys, key) = (self.shape.keys(), self.keys_of[head] * key_dim);
        Step {
            query: &row[key..][..key_dim],
            key: &row[keys + key..][..key_dim],
            value: &row[2 * keys + head * value_dim..][..value_dim],
            rate,
            decay,
        }
    }

    /// From `[heads, n, value_dim]` to `[n, heads, value_dim]`.
    fn by_token(&self, by_head: &[f32], n: usize) -> Vec<f32> {
        let (dim, width) = (self.shape.value_dim, self.shape.values());
        if n == 1 {
            return by_head.to_vec();
        }
        let mut out = vec![0f32; n * width];
        ops::each_row(&mut out, width, |token, out| {
            for (head, out) in out.chunks_exact_mut(dim).enumerate() {
                out.copy_from_slice(&by_head[(head * n + token) * dim..][..dim]);
            }
        });
        out
    }
}

/// As many inputs as stood `before`: those, then `inputs`, without the first.
fn last_inputs(before: &[f32], inputs: &[f32]) -> Vec<f32> {
    let n = before.len();
    let from_before = n.saturating_sub(inputs.len());
    let from_inputs = inputs.len().saturating_sub(n);
    [&before[n - from_before..], &inputs[from_inputs..]].concat()
}

fn on_processor(xs: &Tensor) -> Result<Tensor> {
    xs.to_dtype(DType::F32)?.to_device(&Device::Cpu)
}

vectorised! {
fn silu(xs: &mut [f32]) {
    for x in xs {
        *x /= 1.0 + exp(-*x);
    }
}
}

vectorised! {
/// Brings a head's state `[key_dim, value_dim]` along all steps, and reads it after each into a row of `out`. Columns do not
/// depend on one another: so many at a time as stay in the core's first cache, in `strip`, of a row for each key.
fn advance(memory: &mut [f32], strip: &mut [[f32; COLUMNS]], steps: &[Step<'_>], out: &mut [f32]) {
    let width = memory.len() / strip.len();
    for first in (0..width).step_by(COLUMNS) {
        let columns = first..width.min(first + COLUMNS);
        let n = columns.len();
        for (row, all) in strip.iter_mut().zip(memory.chunks_exact(width)) {
            row[..n].copy_from_slice(&all[columns.clone()]);
            row[n..].fill(0.0);
        }
        for (step, out) in steps.iter().zip(out.chunks_exact_mut(width)) {
            let mut value = [0f32; COLUMNS];
            value[..n].copy_from_slice(&step.value[columns.clone()]);
            let mut change = [0f32; COLUMNS];
            for (row, &k) in strip.iter().zip(step.key) {
                for (change, x) in change.iter_mut().zip(row) {
                    *change += k * x;
                }
            }
            for (change, value) in change.iter_mut().zip(&value) {
                *change = step.rate * (value - step.decay * *change);
            }
            let mut read = [0f32; COLUMNS];
            for ((row, &k), &q) in strip.iter_mut().zip(step.key).zip(step.query) {
                for ((x, change), read) in row.iter_mut().zip(&change).zip(&mut read) {
                    *x = step.decay * *x + k * change;
                    *read += q * *x;
                }
            }
            out[columns.clone()].copy_from_slice(&read[..n]);
        }
        for (row, all) in strip.iter().zip(memory.chunks_exact_mut(width)) {
            all[columns.clone()].copy_from_slice(&row[..n]);
        }
    }
}
}
