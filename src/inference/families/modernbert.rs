//! ModernBERT: modernbert-embed, gte-modernbert. Rotary positions; two of three layers attend to a window only.

use candle_core::Tensor;
use candle_transformers::models::modernbert::{Config, ModernBert};
use serde_json::{Value, json};

use super::{Build, EncoderFamily};
use crate::inference::encoder::{Shape, check_rotation, is_on, read_config, within};
use crate::inference::padded::{PaddedEncoder, TOKENS_MAX};

/// Its entry in the table.
pub static FAMILY: EncoderFamily = EncoderFamily {
    name: "modernbert",
    classes: &["ModernBertModel", "ModernBertForMaskedLM"],
    read,
    load_gguf: None,
};

/// In the spelling of published models (transformers 4's).
fn read(config: &Value) -> Result<Build, String> {
    if config.get("hidden_activation").is_some_and(|name| name != "gelu") {
        return Err("its activation is not gelu, which is not supported".into());
    }
    if ["attention_bias", "mlp_bias", "norm_bias"].iter().any(|key| is_on(config, key)) {
        return Err("it has biases, which are not supported".into());
    }
    let epsilon = config.get("norm_eps").cloned().unwrap_or(json!(1e-5));
    let mut config: Config =
        read_config(config, "ModernBERT", json!({ "layer_norm_eps": epsilon }))?;
    check_rotation(config.global_rope_theta)?;
    check_rotation(config.local_rope_theta)?;
    within("the attention window", config.local_attention, 1 << 16)?;
    within("the distance of global layers", config.global_attn_every_n_layers, 256)?;
    let shape = Shape {
        hidden: config.hidden_size,
        n_layers: config.num_hidden_layers,
        n_heads: config.num_attention_heads,
        intermediate: config.intermediate_size,
        vocabulary: config.vocab_size,
        tokens_max: config.max_position_embeddings,
    };
    let shape = shape.checked_for_rotation()?;
    // candle makes its rotation tables this long.
    config.max_position_embeddings = shape.tokens_max.min(TOKENS_MAX);
    Ok(Box::new(move |weights| {
        PaddedEncoder::load(weights, shape, (config.pad_token_id, "model."), |tensors| {
            // candle silently skips a missing norm, because the first layer has none; in the others that is an error.
            for layer in 1..config.num_hidden_layers {
                tensors
                    .get(config.hidden_size, &format!("model.layers.{layer}.attn_norm.weight"))?;
            }
            let model = ModernBert::load(tensors, &config)?;
            Ok(move |ids: &Tensor, mask: &Tensor| model.forward(ids, mask))
        })
    }))
}
