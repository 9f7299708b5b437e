//! ModernBERT: modernbert-embed, gte-modernbert. Rotary positions; two of three layers attend to a window only.

use candle_core::Tensor;
use candle_transformers::models::modernbert::{Config, ModernBert};
use serde::Deserialize;
use serde_json::Value;

use super::EncoderFamily;
use crate::inference::encoder::{Encoder, Shape, read_config, within};
use crate::inference::padded::PaddedEncoder;
use crate::inference::weights::Weights;
use crate::interfaces::ModelError;

pub static FAMILY: EncoderFamily = EncoderFamily {
    name: "modernbert",
    classes: &["ModernBertModel", "ModernBertForMaskedLM"],
    shape: |config| read(config)?.shape(),
    load,
    load_gguf: None,
};

/// As published models spell it (transformers 4).
#[derive(Deserialize)]
struct Json {
    vocab_size: usize,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    max_position_embeddings: usize,
    norm_eps: f64,
    pad_token_id: u32,
    global_attn_every_n_layers: usize,
    global_rope_theta: f64,
    local_attention: usize,
    local_rope_theta: f64,
    hidden_activation: Option<String>,
    #[serde(default)]
    attention_bias: bool,
    #[serde(default)]
    mlp_bias: bool,
    #[serde(default)]
    norm_bias: bool,
}

impl Json {
    fn shape(&self) -> Result<Shape, String> {
        if self.hidden_activation.as_deref().is_some_and(|name| name != "gelu") {
            return Err("its activation is not gelu, which is not supported".into());
        }
        if self.attention_bias || self.mlp_bias || self.norm_bias {
            return Err("it has biases, which are not supported".into());
        }
        let thetas = [self.global_rope_theta, self.local_rope_theta];
        if thetas.iter().any(|theta| !(theta.is_finite() && *theta > 0.0)) {
            return Err("its rotations' bases are not usable numbers".into());
        }
        within("the attention window", self.local_attention, 1 << 16)?;
        within("the distance of global layers", self.global_attn_every_n_layers, 256)?;
        let shape = Shape {
            hidden: self.hidden_size,
            n_layers: self.num_hidden_layers,
            n_heads: self.num_attention_heads,
            intermediate: self.intermediate_size,
            vocabulary: self.vocab_size,
            tokens_max: self.max_position_embeddings,
        };
        shape.checked_for_rotation()
    }
}

fn read(config: &Value) -> Result<Json, String> {
    read_config(config, "ModernBERT")
}

fn load(config: &Value, weights: &Weights) -> Result<Box<dyn Encoder>, ModelError> {
    let json = read(config).map_err(|reason| weights.bad(reason))?;
    let shape = json.shape().map_err(|reason| weights.bad(reason))?;
    let config = Config {
        vocab_size: json.vocab_size,
        hidden_size: json.hidden_size,
        num_hidden_layers: json.num_hidden_layers,
        num_attention_heads: json.num_attention_heads,
        intermediate_size: json.intermediate_size,
        max_position_embeddings: json.max_position_embeddings,
        layer_norm_eps: json.norm_eps,
        pad_token_id: json.pad_token_id,
        global_attn_every_n_layers: json.global_attn_every_n_layers,
        global_rope_theta: json.global_rope_theta,
        local_attention: json.local_attention,
        local_rope_theta: json.local_rope_theta,
        classifier_config: None,
    };
    PaddedEncoder::load(weights, shape, (json.pad_token_id, "model."), |tensors| {
        // candle takes a norm that is missing for one that the layer does without, as the first does.
        for layer in 1..json.num_hidden_layers {
            tensors.get(json.hidden_size, &format!("model.layers.{layer}.attn_norm.weight"))?;
        }
        let model = ModernBert::load(tensors, &config)?;
        Ok(move |ids: &Tensor, mask: &Tensor| model.forward(ids, mask))
    })
}
