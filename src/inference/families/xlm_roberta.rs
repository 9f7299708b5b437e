//! XLM-RoBERTa: bge-m3, multilingual E5, snowflake-arctic-embed-l-v2.0.

use candle_core::Tensor;
use candle_transformers::models::xlm_roberta::{Config, XLMRobertaModel};
use serde_json::{Value, json};

use super::{Build, EncoderFamily};
use crate::inference::encoder::{Shape, read_config, within};
use crate::inference::padded::PaddedEncoder;

/// Its entry in the table.
pub static FAMILY: EncoderFamily = EncoderFamily {
    name: "xlm-roberta",
    classes: &["XLMRobertaModel", "XLMRobertaForMaskedLM"],
    read,
    load_gguf: None,
};

fn read(config: &Value) -> Result<Build, String> {
    let defaults = json!({
        "position_embedding_type": "absolute", "attention_probs_dropout_prob": 0.0, "hidden_dropout_prob": 0.0,
    });
    let config: Config = read_config(config, "XLM-RoBERTa", defaults)?;
    if config.position_embedding_type != "absolute" {
        return Err("its positions are not absolute".into());
    }
    within("the number of token types", config.type_vocab_size, 1 << 10)?;
    let shape = Shape {
        hidden: config.hidden_size,
        n_layers: config.num_hidden_layers,
        n_heads: config.num_attention_heads,
        intermediate: config.intermediate_size,
        vocabulary: config.vocab_size,
        // A text's positions start after the padding token's id.
        tokens_max: config.max_position_embeddings.saturating_sub(config.pad_token_id as usize + 1),
    };
    let shape = shape.checked()?;
    Ok(Box::new(move |weights| {
        PaddedEncoder::load(weights, shape, (config.pad_token_id, "roberta."), |tensors| {
            let model = XLMRobertaModel::new(&config, tensors)?;
            Ok(move |ids: &Tensor, mask: &Tensor| {
                model.forward(ids, mask, &ids.zeros_like()?, None, None, None)
            })
        })
    }))
}
