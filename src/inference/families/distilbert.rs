//! DistilBERT: half of BERT's layers, no token types (msmarco-distilbert, multi-qa-distilbert).
//!
//! candle computes its GELU by the tanh approximation, where the original uses the error function: vectors agree
//! to a cosine of more than 0.9999.

use candle_core::Tensor;
use candle_transformers::models::distilbert::{Config, DistilBertModel};
use serde::Deserialize;
use serde_json::{Value, json};

use super::EncoderFamily;
use crate::inference::encoder::{Encoder, Shape, read_config};
use crate::inference::padded::PaddedEncoder;
use crate::inference::weights::Weights;
use crate::interfaces::ModelError;

/// Its entry in the table.
pub static FAMILY: EncoderFamily = EncoderFamily {
    name: "distilbert",
    classes: &["DistilBertModel", "DistilBertForMaskedLM"],
    shape: |config| read(config)?.shape(),
    load,
    load_gguf: None,
};

/// What candle's type keeps private.
#[derive(Deserialize)]
struct Json {
    vocab_size: usize,
    dim: usize,
    n_layers: usize,
    n_heads: usize,
    hidden_dim: usize,
    max_position_embeddings: usize,
    #[serde(default)]
    pad_token_id: u32,
    activation: String,
}

impl Json {
    fn shape(&self) -> Result<Shape, String> {
        if !matches!(self.activation.as_str(), "gelu" | "relu") {
            return Err("its activation is neither gelu nor relu, which is not supported".into());
        }
        let shape = Shape {
            hidden: self.dim,
            n_layers: self.n_layers,
            n_heads: self.n_heads,
            intermediate: self.hidden_dim,
            vocabulary: self.vocab_size,
            tokens_max: self.max_position_embeddings,
        };
        shape.checked()
    }
}

fn read(config: &Value) -> Result<Json, String> {
    read_config(config, "DistilBERT", json!({ "activation": "gelu" }))
}

fn load(config: &Value, weights: &Weights) -> Result<Box<dyn Encoder>, ModelError> {
    let json = read(config).map_err(|reason| weights.bad(reason))?;
    let shape = json.shape().map_err(|reason| weights.bad(reason))?;
    let defaults = json!({ "activation": "gelu", "initializer_range": 0.0, "pad_token_id": 0 });
    let config: Config =
        read_config(config, "DistilBERT", defaults).map_err(|reason| weights.bad(reason))?;
    PaddedEncoder::load(weights, shape, (json.pad_token_id, "distilbert."), |tensors| {
        let model = DistilBertModel::load(tensors, &config)?;
        Ok(move |ids: &Tensor, mask: &Tensor| {
            // It wants to know what to leave out, for every query of every head.
            let (n_texts, n_tokens) = mask.dims2()?;
            model.forward(ids, &mask.eq(0u32)?.reshape((n_texts, 1, 1, n_tokens))?)
        })
    })
}
