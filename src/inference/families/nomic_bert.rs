//! NomicBERT: nomic-embed-text v1 and v1.5. Rotary positions, a gated feed-forward part, no biases.

use candle_core::Tensor;
use candle_transformers::models::nomic_bert::{Config, NomicBertModel};
use serde_json::{Value, json};

use super::{Build, EncoderFamily};
use crate::inference::encoder::{Shape, check_rotation, is_on, read_config, within};
use crate::inference::padded::{PaddedEncoder, TOKENS_MAX};

/// Its entry in the table.
pub static FAMILY: EncoderFamily =
    EncoderFamily { name: "nomic_bert", classes: &["NomicBertModel"], read, load_gguf: None };

/// In the spelling of the published models, whose code is older than transformers' own class.
fn read(json: &Value) -> Result<Build, String> {
    let number = |key: &str| json.get(key).and_then(Value::as_f64);
    let unsupported = [
        (number("rotary_emb_scale_base").is_some(), "xPos scaling"),
        (number("rotary_scaling_factor").is_some_and(|f| f != 1.0), "a stretched rotation"),
        (is_on(json, "parallel_block"), "parallel blocks"),
        (is_on(json, "use_rms_norm"), "other norms"),
        (number("num_experts").is_some_and(|n| n > 0.0), "a mixture of experts"),
    ];
    if let Some((_, what)) = unsupported.iter().find(|(it_is, _)| *it_is) {
        return Err(format!("it has {what}, which is not supported"));
    }
    // candle fills in nomic-embed-text-v1.5's sizes; here every model has to name its own.
    let sizes = ["vocab_size", "n_embd", "n_head", "n_layer", "n_inner", "n_positions"];
    if let Some(missing) = sizes.iter().find(|key| json.get(**key).is_none()) {
        return Err(format!("it describes no NomicBERT encoder: `{missing}` is missing"));
    }
    let mut config: Config = read_config(json, "NomicBERT", json!({}))?;
    if config.activation_function != "swiglu" {
        return Err("its activation is not swiglu, which is not supported".into());
    }
    if config.rotary_emb_fraction != 1.0 {
        return Err("it rotates only a part of each head, which is not supported".into());
    }
    check_rotation(config.rotary_emb_base)?;
    within("the number of token types", config.type_vocab_size, 1 << 10)?;
    let shape = Shape {
        hidden: config.n_embd,
        n_layers: config.n_layer,
        n_heads: config.n_head,
        intermediate: config.n_inner,
        vocabulary: config.vocab_size,
        tokens_max: config.n_positions,
    };
    let shape = shape.checked_for_rotation()?;
    let pad = json.get("pad_token_id").and_then(Value::as_u64).unwrap_or(0);
    let pad = u32::try_from(pad).unwrap_or(u32::MAX);
    // candle makes its rotation tables this long.
    config.n_positions = shape.tokens_max.min(TOKENS_MAX);
    Ok(Box::new(move |weights| {
        PaddedEncoder::load(weights, shape, (pad, "nomic_bert."), |tensors| {
            let model = NomicBertModel::load(tensors, &config)?;
            Ok(move |ids: &Tensor, mask: &Tensor| model.forward(ids, None, Some(mask)))
        })
    }))
}
