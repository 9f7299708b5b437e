//! DistilBERT: half of BERT's layers, no token types (msmarco-distilbert, multi-qa-distilbert).
//!
//! candle computes its GELU by the tanh approximation, where the original uses the error function: vectors agree
//! to a cosine of more than 0.9999.

use candle_core::Tensor;
use candle_transformers::models::distilbert::{Config, DistilBertModel};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Build, EncoderFamily};
use crate::inference::encoder::{Shape, read_config};
use crate::inference::padded::PaddedEncoder;

/// Its entry in the table.
pub static FAMILY: EncoderFamily = EncoderFamily {
    name: "distilbert",
    classes: &["DistilBertModel", "DistilBertForMaskedLM"],
    read,
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
    pad_token_id: u32,
    activation: String,
}

fn read(config: &Value) -> Result<Build, String> {
    let defaults = json!({ "activation": "gelu", "initializer_range": 0.0, "pad_token_id": 0 });
    let json: Json = read_config(config, "DistilBERT", defaults.clone())?;
    if !matches!(json.activation.as_str(), "gelu" | "relu") {
        return Err("its activation is neither gelu nor relu, which is not supported".into());
    }
    let shape = Shape {
        hidden: json.dim,
        n_layers: json.n_layers,
        n_heads: json.n_heads,
        intermediate: json.hidden_dim,
        vocabulary: json.vocab_size,
        tokens_max: json.max_position_embeddings,
    };
    let shape = shape.checked()?;
    let config: Config = read_config(config, "DistilBERT", defaults)?;
    Ok(Box::new(move |weights| {
        PaddedEncoder::load(weights, shape, (json.pad_token_id, "distilbert."), |tensors| {
            let model = DistilBertModel::load(tensors, &config)?;
            Ok(move |ids: &Tensor, mask: &Tensor| {
                // candle's mask marks what to leave out, and is broadcast over heads and queries.
                let (n_texts, n_tokens) = mask.dims2()?;
                model.forward(ids, &mask.eq(0u32)?.reshape((n_texts, 1, 1, n_tokens))?)
            })
        })
    }))
}
