//! The shape of a BERT encoder.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::inference::encoder::{Shape, read_config, within};
use crate::inference::weights::Weights;

/// The shape of an encoder.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct BertConfig {
    pub hidden_size: usize,
    pub num_hidden_layers: usize,
    pub num_attention_heads: usize,
    pub intermediate_size: usize,
    pub max_position_embeddings: usize,
    pub vocab_size: usize,
    #[serde(default = "default_epsilon")]
    pub layer_norm_eps: f64,
    #[serde(default)]
    pub hidden_act: Activation,
    #[serde(default = "default_type_rows")]
    pub type_vocab_size: usize,
    #[serde(default)]
    pub model_type: Option<String>,
    #[serde(default)]
    pub position_embedding_type: Option<String>,
}

fn default_epsilon() -> f64 {
    1e-12
}

fn default_type_rows() -> usize {
    2
}

/// The activation between the two products of a feed-forward layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
pub enum Activation {
    #[default]
    #[serde(rename = "gelu")]
    Gelu,
    #[serde(rename = "gelu_new", alias = "gelu_pytorch_tanh", alias = "gelu_fast")]
    GeluTanh,
    #[serde(rename = "relu")]
    Relu,
}

impl BertConfig {
    /// From a GGUF file's metadata (`bert.*`); the vocabulary's size and the number of token types are those of the
    /// tables. The word table may lie in another file, `words`.
    ///
    /// # Errors
    /// If a size is missing.
    pub fn from_gguf(weights: &Weights, words: &Weights) -> Result<Self, String> {
        let rows = |weights: &Weights, name: &str| {
            weights.dims(name).and_then(|dims| dims.first().copied()).unwrap_or(0)
        };
        let metadata = weights.metadata();
        let number = |key: &str| {
            let key = format!("bert.{key}");
            let value = metadata.integer(&key).and_then(|n| usize::try_from(n).ok());
            value.ok_or_else(|| format!("`{key}` is missing"))
        };
        Ok(Self {
            hidden_size: number("embedding_length")?,
            num_hidden_layers: number("block_count")?,
            num_attention_heads: number("attention.head_count")?,
            intermediate_size: number("feed_forward_length")?,
            max_position_embeddings: number("context_length")?,
            vocab_size: rows(words, "token_embd.weight"),
            layer_norm_eps: metadata
                .float("bert.attention.layer_norm_epsilon")
                .unwrap_or(default_epsilon()),
            hidden_act: Activation::Gelu,
            type_vocab_size: rows(weights, "token_types.weight"),
            model_type: None,
            position_embedding_type: None,
        })
    }

    /// From a `config.json`.
    ///
    /// # Errors
    /// As [`Self::check`]; also if a size is missing.
    pub fn from_json(config: &Value) -> Result<Self, String> {
        let config: Self = read_config(config, "BERT", json!({}))?;
        config.check()?;
        Ok(config)
    }

    /// The sizes.
    pub fn shape(&self) -> Shape {
        Shape {
            hidden: self.hidden_size,
            n_layers: self.num_hidden_layers,
            n_heads: self.num_attention_heads,
            intermediate: self.intermediate_size,
            vocabulary: self.vocab_size,
            tokens_max: self.max_position_embeddings,
        }
    }

    /// Refuses sizes that no BERT has, before anything is allocated by them.
    ///
    /// # Errors
    /// The reason, as the end of a sentence that starts with the file's name.
    pub fn check(&self) -> Result<(), String> {
        if let Some(other) = self.model_type.as_deref().filter(|&kind| kind != "bert") {
            return Err(format!("its architecture is `{other}`, not `bert`"));
        }
        if self.position_embedding_type.as_deref().is_some_and(|kind| kind != "absolute") {
            return Err("its positions are not absolute".into());
        }
        within("the number of token types", self.type_vocab_size, 1 << 10)?;
        self.shape().checked().map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_shapes_are_refused() {
        let good = r#"{"hidden_size":8,"num_hidden_layers":1,"num_attention_heads":2,
            "intermediate_size":16,"max_position_embeddings":4,"vocab_size":10}"#;
        let config: BertConfig = serde_json::from_str(good).expect("a configuration");
        assert_eq!(config.check(), Ok(()));
        for broken in [
            BertConfig { hidden_size: 0, ..config.clone() },
            BertConfig { hidden_size: usize::MAX, ..config.clone() },
            BertConfig { num_attention_heads: 3, ..config.clone() },
            BertConfig { num_hidden_layers: 1 << 40, ..config.clone() },
            BertConfig { model_type: Some("xlm-roberta".into()), ..config.clone() },
            BertConfig { position_embedding_type: Some("relative_key".into()), ..config.clone() },
        ] {
            assert!(broken.check().is_err(), "{broken:?}");
        }
    }
}
