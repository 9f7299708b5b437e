//! NomicBERT: nomic-embed-text v1 and v1.5. Rotary positions, a gated feed-forward part, no biases.

use candle_core::Tensor;
use candle_transformers::models::nomic_bert::{Config, NomicBertModel};
use serde::Deserialize;
use serde_json::Value;

use super::EncoderFamily;
use crate::inference::encoder::{Encoder, Shape, read_config, within};
use crate::inference::padded::PaddedEncoder;
use crate::inference::weights::Weights;
use crate::interfaces::ModelError;

pub static FAMILY: EncoderFamily = EncoderFamily {
    name: "nomic_bert",
    classes: &["NomicBertModel"],
    shape: |config| read(config)?.shape(),
    load,
    load_gguf: None,
};

/// In the spelling of the published models, whose code is older than transformers' own class.
#[derive(Deserialize)]
struct Json {
    vocab_size: usize,
    n_embd: usize,
    n_layer: usize,
    n_head: usize,
    n_inner: usize,
    n_positions: usize,
    type_vocab_size: usize,
    layer_norm_epsilon: f64,
    rotary_emb_base: f64,
    rotary_emb_fraction: f64,
    #[serde(default)]
    rotary_emb_interleaved: bool,
    rotary_emb_scale_base: Option<f64>,
    rotary_scaling_factor: Option<f64>,
    activation_function: String,
    #[serde(default)]
    qkv_proj_bias: bool,
    #[serde(default)]
    mlp_fc1_bias: bool,
    #[serde(default)]
    mlp_fc2_bias: bool,
    #[serde(default)]
    prenorm: bool,
    #[serde(default)]
    parallel_block: bool,
    #[serde(default)]
    use_rms_norm: bool,
    num_experts: Option<usize>,
    #[serde(default)]
    pad_token_id: Option<u32>,
}

impl Json {
    fn shape(&self) -> Result<Shape, String> {
        let unsupported = [
            (self.activation_function != "swiglu", "another activation than swiglu"),
            (self.rotary_emb_fraction != 1.0, "a rotation of only a part of each head"),
            (self.rotary_emb_scale_base.is_some(), "xPos scaling"),
            (self.rotary_scaling_factor.is_some_and(|f| f != 1.0), "a stretched rotation"),
            (self.parallel_block || self.use_rms_norm || self.prenorm, "another order of norms"),
            (self.num_experts.is_some_and(|n| n > 0), "a mixture of experts"),
        ];
        if let Some((_, what)) = unsupported.iter().find(|(it_is, _)| *it_is) {
            return Err(format!("it has {what}, which is not supported"));
        }
        if !(self.rotary_emb_base.is_finite() && self.rotary_emb_base > 0.0) {
            return Err("its rotation's base is not a usable number".into());
        }
        within("the number of token types", self.type_vocab_size, 1 << 10)?;
        let shape = Shape {
            hidden: self.n_embd,
            n_layers: self.n_layer,
            n_heads: self.n_head,
            intermediate: self.n_inner,
            vocabulary: self.vocab_size,
            tokens_max: self.n_positions,
        };
        shape.checked_for_rotation()
    }
}

fn read(config: &Value) -> Result<Json, String> {
    read_config(config, "NomicBERT")
}

fn load(config: &Value, weights: &Weights) -> Result<Box<dyn Encoder>, ModelError> {
    let json = read(config).map_err(|reason| weights.bad(reason))?;
    let shape = json.shape().map_err(|reason| weights.bad(reason))?;
    let config = Config {
        vocab_size: json.vocab_size,
        n_embd: json.n_embd,
        n_head: json.n_head,
        n_layer: json.n_layer,
        n_inner: json.n_inner,
        n_positions: json.n_positions,
        type_vocab_size: json.type_vocab_size,
        layer_norm_epsilon: json.layer_norm_epsilon,
        rotary_emb_fraction: json.rotary_emb_fraction,
        rotary_emb_base: json.rotary_emb_base,
        rotary_emb_interleaved: json.rotary_emb_interleaved,
        qkv_proj_bias: json.qkv_proj_bias,
        mlp_fc1_bias: json.mlp_fc1_bias,
        mlp_fc2_bias: json.mlp_fc2_bias,
        activation_function: json.activation_function,
        prenorm: json.prenorm,
        model_type: None,
    };
    let pad = json.pad_token_id.unwrap_or(0);
    PaddedEncoder::load(weights, shape, (pad, "nomic_bert."), |tensors| {
        let model = NomicBertModel::load(tensors, &config)?;
        Ok(move |ids: &Tensor, mask: &Tensor| model.forward(ids, None, Some(mask)))
    })
}
