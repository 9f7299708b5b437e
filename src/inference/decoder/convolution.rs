//! A layer that mixes each token with the few before it by a gated convolution (LFM2).
//!
//! Its inputs are kept like keys, so that rolling back and forking are as exact as for attention.

use candle_core::{DType, Device, Result, Tensor};
use packed_matmul::vectorised;

use super::with_bias;
use crate::inference::branches::Run;
use crate::inference::kv_cache::KvCache;
use crate::inference::linear::LinearGroup;
use crate::inference::ops;
use crate::inference::weights::Matrix;

/// The weights of one layer.
pub(super) struct Convolution {
    /// To the gate of the inputs, the gate of the results and what is mixed.
    pub input: LinearGroup,
    /// For each place, the oldest first, the weights of all channels.
    pub kernel: Vec<Vec<f32>>,
    pub bias: Option<Tensor>,
    pub output: Matrix,
    pub output_bias: Option<Tensor>,
}

impl Convolution {
    /// `[n, hidden]` → `[n, hidden]`; `dtype` is that of what the cache keeps.
    pub fn forward(
        &self,
        index: usize,
        xs: &Tensor,
        run: Run<'_>,
        dtype: DType,
        cache: &mut KvCache,
    ) -> Result<Tensor> {
        let projected = self.input.forward(xs)?;
        let [gate, result_gate, mixed] = projected.as_slice() else {
            candle_core::bail!("expected two gates and an input")
        };
        let inputs = (gate * mixed)?.to_dtype(dtype)?.unsqueeze(0)?;
        let [inputs] = cache.append(index, [&inputs])?;
        let mixed = self.convolve(&inputs, run)?.to_device(xs.device())?;
        let mixed = (result_gate * with_bias(mixed, self.bias.as_ref())?)?;
        with_bias(self.output.forward(&mixed)?, self.output_bias.as_ref())
    }

    /// Of all inputs `[1, start + n, hidden]` the results of the run's tokens, on the processor.
    fn convolve(&self, inputs: &Tensor, run: Run<'_>) -> Result<Tensor> {
        let (_, n_inputs, width) = inputs.dims3()?;
        let n = n_inputs - run.start;
        let reach = self.kernel.len() - 1;
        let first = run.start.saturating_sub(reach);
        let inputs = ops::to_f32(&inputs.narrow(1, first, n_inputs - first)?)?;
        let inputs: Vec<f32> = inputs.flatten_all()?.to_vec1()?;
        let mut out = vec![0f32; n * width];
        ops::each_row(&mut out, width, |token, out| {
            for (weights, distance) in self.kernel.iter().zip((0..=reach).rev()) {
                let Some(input) = run.before(token, distance) else { continue };
                let at = (input - first) * width;
                add_product(weights, &inputs[at..at + width], out);
            }
        });
        Tensor::from_vec(out, (n, width), &Device::Cpu)
    }
}

vectorised! {
/// `out += weights · xs`, element by element.
pub(super) fn add_product(weights: &[f32], xs: &[f32], out: &mut [f32]) {
    for ((out, w), x) in out.iter_mut().zip(weights).zip(xs) {
        *out += w * x;
    }
}
}
