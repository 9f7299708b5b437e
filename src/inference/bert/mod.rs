//! A BERT encoder of our own: `config` reads its shape, `load` its weights, `forward` computes with them.
//!
//! Knows no text and no pooling ([`super::embedder`] does).

mod config;
mod forward;
mod load;
mod rows;

use candle_core::Tensor;

pub use config::{Activation, BertConfig};

use super::encoder::{Encoder, Shape};
use super::weights::Matrix;
use packed_matmul::DenseMatrix;

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
    /// Query, key and value, stacked.
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

impl Encoder for Bert {
    fn shape(&self) -> Shape {
        self.config.shape()
    }

    fn states(&self, texts: &[Vec<u32>]) -> candle_core::Result<Vec<f32>> {
        let lengths: Vec<usize> = texts.iter().map(Vec::len).collect();
        self.forward(&texts.concat(), &lengths)
    }
}
