//! A feed-forward part of many experts, of which each token takes a few, alone (Qwen3 MoE) or beside a dense one (Gemma 4).

use candle_core::{Device, Result, Tensor};
use packed_matmul::PackedMatrix;

use crate::inference::config::Activation;
use crate::inference::linear::{LinearGroup, with_values};
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
    /// Of each expert, what its weights are multiplied by.
    pub scales: Option<Vec<f32>>,
}

/// Experts that stand beside a dense part, with norms of their own.
pub(super) struct Beside {
    pub experts: Experts,
    /// Before the router.
    pub router_norm: Tensor,
    /// After the dense part.
    pub dense_norm: Tensor,
    /// Before and after the experts.
    pub norms: [Tensor; 2],
}

impl Beside {
    /// What the experts make of the layer's `xs`, added to what the dense part made of it.
    pub fn forward(
        &self,
        xs: &Tensor,
        dense: &Tensor,
        activation: Activation,
        norm_epsilon: f64,
    ) -> Result<Tensor> {
        let norm = |xs: &Tensor, weight: &Tensor| ops::rms_norm(xs, weight, norm_epsilon);
        let [before, after] = &self.norms;
        let scored = norm(xs, &self.router_norm)?;
        let made = self.experts.forward(&norm(xs, before)?, &scored, activation)?;
        norm(dense, &self.dense_norm)? + norm(&made, after)?
    }
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
    /// `[n, hidden]` → `[n, hidden]`; `scored` is what the router reads.
    pub fn forward(&self, xs: &Tensor, scored: &Tensor, activation: Activation) -> Result<Tensor> {
        let (n, hidden) = xs.dims2()?;
        let scores = self.router.forward(scored)?.to_device(&Device::Cpu)?.to_vec2::<f32>()?;
        let all = self.all.iter().zip(self.choose(scores));
        let all: Vec<(&Expert, Taken)> =
            all.filter(|(_, taken)| !taken.tokens.is_empty()).collect();
        let packed: Option<Vec<_>> = all.iter().map(|(expert, _)| expert.packed()).collect();
        let made = match packed {
            Some(packed) => with_values(xs, |xs| {
                let rows = |(_, taken): &(&Expert, Taken)| taken.rows(xs, hidden);
                Ok(make_together(&packed, all.iter().map(rows).collect(), activation))
            })?,
            None => {
                all.iter().map(|(e, taken)| e.make(xs, taken, activation)).collect::<Result<_>>()?
            }
        };
        let mut of_token = vec![Vec::new(); n];
        for ((_, taken), made) in all.iter().zip(&made) {
            let rows = made.chunks_exact(hidden).zip(&taken.weights);
            for (&token, row) in taken.tokens.iter().zip(rows) {
                of_token[token as usize].push(row);
            }
        }
        let mut out = vec![0f32; n * hidden];
        ops::each_row(&mut out, hidden, |token, out| {
            for &(row, weight) in &of_token[token] {
                out.iter_mut().zip(row).for_each(|(out, x)| *out += weight * x);
            }
        });
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
                let scale = self.scales.as_ref().map_or(1.0, |scales| scales[expert]);
                taken[expert].weights.push(scale * scores[expert] / total);
            }
        }
        taken
    }
}

impl Taken {
    /// Its tokens' rows of `xs`.
    fn rows(&self, xs: &[f32], width: usize) -> Vec<f32> {
        let mut rows = Vec::with_capacity(self.tokens.len() * width);
        for &token in &self.tokens {
            rows.extend_from_slice(&xs[token as usize * width..][..width]);
        }
        rows
    }
}

impl Expert {
    /// Gate and up, then down, if all are packed.
    fn packed(&self) -> Option<(Vec<&PackedMatrix>, [&PackedMatrix; 1])> {
        let gate_up = self.gate_up.packed().filter(|both| both.len() == 2)?;
        Some((gate_up, [self.down.packed()?]))
    }

    /// A row for each token that takes it.
    fn make(&self, xs: &Tensor, taken: &Taken, activation: Activation) -> Result<Vec<f32>> {
        let indices = Tensor::new(taken.tokens.as_slice(), xs.device())?;
        let projected = self.gate_up.forward(&xs.index_select(&indices, 0)?)?;
        let [gate, up] = projected.as_slice() else { candle_core::bail!("expected gate and up") };
        let made = self.down.forward(&ops::gated(activation, gate, up)?)?;
        made.to_device(&Device::Cpu)?.flatten_all()?.to_vec1()
    }
}

/// What [`Expert::make`] makes, of all experts at once: each alone is too little for the cores.
fn make_together(
    experts: &[(Vec<&PackedMatrix>, [&PackedMatrix; 1])],
    inputs: Vec<Vec<f32>>,
    activation: Activation,
) -> Vec<Vec<f32>> {
    let groups = experts.iter().zip(&inputs);
    let groups: Vec<_> =
        groups.map(|((gate_up, _), xs)| (gate_up.as_slice(), xs.as_slice())).collect();
    let mut projected = packed_matmul::multiply_each(&groups);
    drop(inputs);
    ops::gate_each(activation, &mut projected);
    let groups = experts.iter().zip(&projected);
    let groups: Vec<_> =
        groups.map(|((_, down), gated)| (down.as_slice(), gated[0].as_slice())).collect();
    packed_matmul::multiply_each(&groups).into_iter().flatten().collect()
}
