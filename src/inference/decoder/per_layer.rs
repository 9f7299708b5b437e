//! A vector that each token has in each layer, beside the one that goes through all layers (Gemma 4's per-layer
//! embeddings).

use candle_core::{Result, Tensor};

use crate::inference::config::Activation;
use crate::inference::ops;
use crate::inference::table::Table;
use crate::inference::weights::Matrix;

/// What makes these vectors, of all layers at once.
pub(super) struct PerLayer {
    /// A row for each token: its vectors in all layers.
    pub table: Table,
    /// From a token's vector before the first layer.
    pub projection: Matrix,
    /// Over what that makes for one layer.
    pub norm: Tensor,
    /// Length of a vector.
    pub width: usize,
}

/// How a layer takes its own.
pub(super) struct OwnInput {
    pub gate: Matrix,
    pub projection: Matrix,
    pub norm: Tensor,
}

impl PerLayer {
    /// For tokens whose vectors before the first layer are `xs` (`[n, hidden]`): `[n, layers · width]`.
    pub fn inputs(&self, tokens: &[u32], xs: &Tensor, epsilon: f64) -> Result<Tensor> {
        let (n, hidden) = xs.dims2()?;
        let made = (self.projection.forward(xs)? * (hidden as f64).powf(-0.5))?;
        let all = made.dims2()?.1;
        let made = made.reshape((n * all / self.width, self.width))?;
        let made = ops::rms_norm(&made, &self.norm, epsilon)?.reshape((n, all))?;
        let looked_up = (self.table.rows(tokens, xs.device())? * (self.width as f64).sqrt())?;
        (made + looked_up)? * 0.5_f64.sqrt()
    }
}

impl OwnInput {
    /// What it adds to `xs`, `[n, hidden]`, in layer `index`.
    pub fn forward(
        &self,
        index: usize,
        xs: &Tensor,
        inputs: &Tensor,
        activation: Activation,
        epsilon: f64,
    ) -> Result<Tensor> {
        let gate = self.gate.forward(xs)?;
        let width = gate.dims2()?.1;
        let own = inputs.narrow(1, index * width, width)?;
        let gated = ops::gated(activation, &gate, &own)?;
        ops::rms_norm(&self.projection.forward(&gated)?, &self.norm, epsilon)
    }
}
