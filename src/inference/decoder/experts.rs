//! A feed-forward part of many experts, of which each token takes a few (Qwen3 MoE).

use candle_core::{Device, Result, Tensor};

use crate::inference::config::Activation;
use crate::inference::linear::LinearGroup;
use crate::inference::ops;
use crate::inference::weights::Matrix;

/// The weights of one layer.
pub(super) struct Experts {
    /// Scores each expert.
    pub router: Matrix,
    pub all: Vec<Expert>,
    /// Experts that a token takes.
    pub n_used: usize,
    /// Their weights are made to sum up to 1.
    pub normalises: bool,
}

/// One of them.
pub(super) struct Expert {
    pub gate_up: LinearGroup,
    pub down: Matrix,
}

/// The tokens that take an expert, and the weight it has for each.
#[derive(Clone, Default)]
struct Taken {
    tokens: Vec<u32>,
    weights: Vec<f32>,
}

impl Experts {
    /// `[n, hidden]` → `[n, hidden]`.
    pub fn forward(&self, xs: &Tensor, activation: Activation) -> Result<Tensor> {
        let (n, hidden) = xs.dims2()?;
        let scores = self.router.forward(xs)?.to_device(&Device::Cpu)?.to_vec2::<f32>()?;
        let mut out = vec![0f32; n * hidden];
        for (expert, taken) in self.all.iter().zip(self.choose(scores)) {
            if taken.tokens.is_empty() {
                continue;
            }
            let indices = Tensor::new(taken.tokens.as_slice(), xs.device())?;
            let made = expert.forward(&xs.index_select(&indices, 0)?, activation)?;
            let made: Vec<f32> = made.to_device(&Device::Cpu)?.flatten_all()?.to_vec1()?;
            let rows = made.chunks_exact(hidden).zip(&taken.tokens).zip(&taken.weights);
            for ((row, &token), weight) in rows {
                let out = &mut out[token as usize * hidden..][..hidden];
                out.iter_mut().zip(row).for_each(|(out, x)| *out += weight * x);
            }
        }
        Tensor::from_vec(out, (n, hidden), xs.device())
    }

    /// Of each expert, who takes it. `scores`: a row for each token.
    fn choose(&self, scores: Vec<Vec<f32>>) -> Vec<Taken> {
        let mut taken = vec![Taken::default(); self.all.len()];
        for (mut scores, token) in scores.into_iter().zip(0..) {
            ops::softmax(&mut scores);
            let mut best: Vec<usize> = (0..scores.len()).collect();
            best.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
            best.truncate(self.n_used);
            let total: f32 =
                if self.normalises { best.iter().map(|&i| scores[i]).sum() } else { 1.0 };
            for expert in best {
                taken[expert].tokens.push(token);
                taken[expert].weights.push(scores[expert] / total);
            }
        }
        taken
    }
}

impl Expert {
    fn forward(&self, xs: &Tensor, activation: Activation) -> Result<Tensor> {
        let projected = self.gate_up.forward(xs)?;
        let [gate, up] = projected.as_slice() else { candle_core::bail!("expected gate and up") };
        self.down.forward(&ops::gated(activation, gate, up)?)
    }
}
