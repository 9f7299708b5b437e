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

pub static FAMILY: EncoderFamily = EncoderFamily {
    name: "distilbert",
    classes: &["DistilBertModel", "DistilBertForMaskedLM"],
    shape: |config| read(config)?.shape(),
    load,
    load_gguf: None,
};

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
    activation: Option<String>,
}

impl Json {
    fn shape(&self) -> Result<Shape, String> {
        let activation = self.activation.as_deref().unwrap_or("gelu");
        if !matches!(activation, "gelu" | "relu") {
            return Err(format!("its activation is {activation:?} (gelu and relu are supported)"));
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
    read_config(config, "DistilBERT")
}

fn load(config: &Value, weights: &Weights) -> Result<Box<dyn Encoder>, ModelError> {
    let json = read(config).map_err(|reason| weights.bad(reason))?;
    let shape = json.shape().map_err(|reason| weights.bad(reason))?;
    // candle's type has private fields: what was checked goes through JSON.
    let config = json!({
        "vocab_size": json.vocab_size, "dim": json.dim, "n_layers": json.n_layers, "n_heads": json.n_heads,
        "hidden_dim": json.hidden_dim, "activation": json.activation.as_deref().unwrap_or("gelu"),
        "max_position_embeddings": json.max_position_embeddings, "initializer_range": 0.02,
        "pad_token_id": json.pad_token_id, "model_type": null,
    });
    let config: Config =
        read_config(&config, "DistilBERT").map_err(|reason| weights.bad(reason))?;
    PaddedEncoder::load(weights, shape, (json.pad_token_id, "distilbert."), |tensors| {
        let model = DistilBertModel::load(tensors, &config)?;
        Ok(move |ids: &Tensor, mask: &Tensor| {
            // It wants to know what to leave out, for every query of every head.
            let (n_texts, n_tokens) = mask.dims2()?;
            model.forward(ids, &mask.eq(0u32)?.reshape((n_texts, 1, 1, n_tokens))?)
        })
    })
}
