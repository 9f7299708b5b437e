//! XLM-RoBERTa: bge-m3, multilingual E5, snowflake-arctic-embed-l-v2.0.

use candle_core::Tensor;
use candle_nn::Activation;
use candle_transformers::models::xlm_roberta::{Config, XLMRobertaModel};
use serde::Deserialize;
use serde_json::Value;

use super::EncoderFamily;
use crate::inference::encoder::{Encoder, Shape, read_config, within};
use crate::inference::padded::PaddedEncoder;
use crate::inference::weights::Weights;
use crate::interfaces::ModelError;

pub static FAMILY: EncoderFamily = EncoderFamily {
    name: "xlm-roberta",
    classes: &["XLMRobertaModel", "XLMRobertaForMaskedLM"],
    shape: |config| read(config)?.shape(),
    load,
    load_gguf: None,
};

#[derive(Deserialize)]
struct Json {
    vocab_size: usize,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    max_position_embeddings: usize,
    type_vocab_size: usize,
    layer_norm_eps: f64,
    pad_token_id: u32,
    #[serde(default)]
    hidden_act: Activation,
    position_embedding_type: Option<String>,
}

impl Json {
    fn shape(&self) -> Result<Shape, String> {
        if self.position_embedding_type.as_deref().is_some_and(|kind| kind != "absolute") {
            return Err("its positions are not absolute".into());
        }
        within("the number of token types", self.type_vocab_size, 1 << 10)?;
        // A text's positions are counted from the one after the padding's.
        let positions = self.max_position_embeddings.min(1 << 16);
        let shape = Shape {
            hidden: self.hidden_size,
            n_layers: self.num_hidden_layers,
            n_heads: self.num_attention_heads,
            intermediate: self.intermediate_size,
            vocabulary: self.vocab_size,
            tokens_max: positions.saturating_sub(self.pad_token_id as usize + 1),
        };
        shape.checked()
    }
}

fn read(config: &Value) -> Result<Json, String> {
    read_config(config, "XLM-RoBERTa")
}

fn load(config: &Value, weights: &Weights) -> Result<Box<dyn Encoder>, ModelError> {
    let json = read(config).map_err(|reason| weights.bad(reason))?;
    let shape = json.shape().map_err(|reason| weights.bad(reason))?;
    let config = Config {
        hidden_size: json.hidden_size,
        layer_norm_eps: json.layer_norm_eps,
        attention_probs_dropout_prob: 0.0,
        hidden_dropout_prob: 0.0,
        num_attention_heads: json.num_attention_heads,
        position_embedding_type: "absolute".into(),
        intermediate_size: json.intermediate_size,
        hidden_act: json.hidden_act,
        num_hidden_layers: json.num_hidden_layers,
        vocab_size: json.vocab_size,
        max_position_embeddings: json.max_position_embeddings,
        type_vocab_size: json.type_vocab_size,
        pad_token_id: json.pad_token_id,
    };
    PaddedEncoder::load(weights, shape, (json.pad_token_id, "roberta."), |tensors| {
        let model = XLMRobertaModel::new(&config, tensors)?;
        Ok(move |ids: &Tensor, mask: &Tensor| {
            model.forward(ids, mask, &ids.zeros_like()?, None, None, None)
        })
    })
}
