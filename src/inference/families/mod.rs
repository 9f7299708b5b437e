//! The architectures that this program runs, one file each, and the two tables in which everything else looks them
//! up. `docs/adding-a-model.md` tells how to add one.
//!
//! A family is data: names, tensors, quirks. What computes with it is [`super::decoder`] for language models,
//! [`super::bert`] or candle-transformers (through [`super::padded`]) for embedders.

mod bert;
mod distilbert;
mod gemma3;
mod gemma4;
mod glm4;
mod granite;
mod lfm2;
mod llama;
mod mistral3;
mod modernbert;
mod nomic_bert;
mod phi3;
mod qwen2;
mod qwen3;
mod qwen35;
mod qwen3_moe;
mod smollm3;
mod xlm_roberta;

use serde_json::Value;

use super::chat_template::ChatFormat;
use super::config::{Activation, DecoderConfig, Fields};
use super::encoder::Encoder;
use super::tokenizer::PreTokenizer;
use super::weights::Weights;
use crate::interfaces::ModelError;

/// Decoders: each is a language model.
pub static DECODERS: [&DecoderFamily; 14] = [
    &llama::FAMILY,
    &qwen2::FAMILY,
    &qwen3::FAMILY,
    &qwen3_moe::FAMILY,
    &qwen35::FAMILY,
    &gemma3::FAMILY,
    &gemma4::FAMILY,
    &phi3::FAMILY,
    &glm4::FAMILY,
    &smollm3::FAMILY,
    &mistral3::FAMILY,
    &granite::FAMILY,
    &granite::HYBRID,
    &lfm2::FAMILY,
];

/// Encoders: each is an embedder.
pub static ENCODERS: [&EncoderFamily; 5] = [
    &bert::FAMILY,
    &distilbert::FAMILY,
    &modernbert::FAMILY,
    &nomic_bert::FAMILY,
    &xlm_roberta::FAMILY,
];

/// What one family of decoders has of its own.
#[derive(Clone, Copy)]
pub struct DecoderFamily {
    /// `general.architecture` of a GGUF file; for people.
    pub name: &'static str,
    /// The classes in `architectures` of a `config.json`, its most usual first, and the values of `model_type` that
    /// differ from `name`.
    pub classes: &'static [&'static str],
    /// What it calls its weights.
    pub tensors: TensorNames,
    /// Queries, keys and values have a bias.
    pub qkv_bias: bool,
    /// Beside each head's queries stands a gate of what the head attends to.
    pub query_gates: bool,
    /// Each head's queries and keys are normalised before the rotation.
    pub head_norms: bool,
    /// Each head's values are normalised, too, by a norm without weights.
    pub value_norms: bool,
    /// Its safetensors hold the weights of norms less 1.
    pub norms_from_one: bool,
    /// Its GGUF files hold the rows of queries and keys permuted, so that pairs (2i, 2i+1) rotate together
    /// instead of (i, i + d/2).
    pub gguf_rope_interleaved: bool,
    /// Its heads may rotate in a part only.
    pub partial_rotation: bool,
    /// What the gate goes through; a GGUF file does not say.
    pub activation: Activation,
    /// Whether its output matrix is the embedding where a `config.json` does not say.
    pub tied: Option<bool>,
    /// Numbers that its `config.json` leaves out.
    pub defaults: &'static [(&'static str, f64)],
    /// Reads what only this family has; the error is the end of a sentence about the file.
    pub configure: fn(&Fields<'_>, &mut DecoderConfig) -> Result<(), String>,
    /// Chat formats that its models introduced. Those of later families in the table are tried first.
    pub chat_formats: &'static [&'static ChatFormat],
    /// How its GGUF files' vocabularies split text.
    pub pre_tokenizers: &'static [PreTokenizer],
}

/// A tensor's name in safetensors files and in GGUF files, without the layer's prefix and `.weight` or `.bias`.
pub type Names = (&'static str, &'static str);

/// What a family of decoders calls its weights.
#[derive(Clone, Copy)]
pub struct TensorNames {
    /// Before the number of a layer.
    pub layer: Names,
    /// The token embedding.
    pub embedding: Names,
    /// The output matrix, if it is not the embedding.
    pub head: Names,
    /// The norm before the output matrix.
    pub norm: Names,
    /// Of a layer, the norm before attention.
    pub attention_norm: Names,
    /// Of a layer, the projections of attention.
    pub query: Names,
    /// As `query`.
    pub key: Names,
    /// As `query`.
    pub value: Names,
    /// As `query`.
    pub output: Names,
    /// One matrix with the rows of queries, keys and values, where the family has it instead of the three.
    pub fused_attention: Option<Names>,
    /// Where the family has `head_norms`.
    pub query_norm: Names,
    /// As `query_norm`.
    pub key_norm: Names,
    /// Of a layer, the norm after attention, where the family has one.
    pub post_attention_norm: Option<Names>,
    /// Of a layer, the norm before the feed-forward part.
    pub feed_forward_norm: Names,
    /// Of a layer, the norm after the feed-forward part, where the family has one.
    pub post_feed_forward_norm: Option<Names>,
    /// Of a layer, the matrices of the gated feed-forward part.
    pub gate: Names,
    /// As `gate`.
    pub up: Names,
    /// As `gate`.
    pub down: Names,
    /// One matrix with the rows of `gate` and `up`, where the family has it instead of the two.
    pub fused_feed_forward: Option<Names>,
    /// Of a layer with a mixture of experts: what chooses them, then gate, up and down of each, whose number stands for
    /// `{}`.
    pub experts: Option<[Names; 4]>,
    /// Where the experts stand beside a dense part.
    pub beside: Option<BesideNames>,
    /// Of a layer that mixes by a convolution: its first matrix, its kernel, its last matrix.
    pub convolution: Option<[Names; 3]>,
    /// Of a layer that keeps a state.
    pub recurrence: Option<RecurrenceNames>,
    /// Where each token has a vector of its own in each layer.
    pub per_layer: Option<PerLayerNames>,
    /// Of a layer, the factor of all that leaves it, whole.
    pub layer_scale: Option<Names>,
}

/// What a family calls the weights of the vectors that tokens have in each layer.
#[derive(Clone, Copy)]
pub struct PerLayerNames {
    /// The vectors of each token.
    pub table: Names,
    /// From a token's embedding, and the norm after it.
    pub projection: Names,
    pub norm: Names,
    /// Of a layer.
    pub gate: Names,
    pub output: Names,
    pub output_norm: Names,
}

/// What a family calls the weights of experts that stand beside a dense part.
#[derive(Clone, Copy)]
pub struct BesideNames {
    /// The norm of what chooses them, and the factor of each, whole.
    pub router_norm: Names,
    pub scales: Names,
    /// The norm after the dense part, and those before and after the experts.
    pub dense_norm: Names,
    pub norms: [Names; 2],
}

/// What a family calls the weights of a layer that keeps a state.
#[derive(Clone, Copy)]
pub struct RecurrenceNames {
    /// To queries, keys and values in one; to the gate of the results; to the rate and to the decay of each head.
    pub input: [Names; 4],
    /// The convolution of queries, keys and values.
    pub kernel: Names,
    /// How fast each head forgets, whole: the logarithm in safetensors, below 0 in GGUF files.
    pub decay: Names,
    /// Added to the decay, whole.
    pub decay_bias: Names,
    /// Over each head's result, never stored less 1.
    pub norm: Names,
    pub output: Names,
}

/// Builds an encoder from safetensors.
pub type Build = Box<dyn FnOnce(&Weights) -> Result<Box<dyn Encoder>, ModelError> + Send>;

/// Builds an encoder from a GGUF file.
type LoadGguf = fn(&Weights) -> Result<Box<dyn Encoder>, ModelError>;

/// What one family of encoders has of its own.
pub struct EncoderFamily {
    /// `general.architecture` of a GGUF file, `model_type` of a `config.json`.
    pub name: &'static str,
    /// The classes in `architectures` of a `config.json`.
    pub classes: &'static [&'static str],
    /// Reads and checks a `config.json`; the error is the end of a sentence about that file.
    pub read: fn(&Value) -> Result<Build, String>,
    /// Loads from a GGUF file, where the family has such files.
    pub load_gguf: Option<LoadGguf>,
}

/// The decoder family that a GGUF file or a `config.json` names.
pub fn decoder(name: &str) -> Option<&'static DecoderFamily> {
    DECODERS.into_iter().find(|family| family.name == name || family.classes.contains(&name))
}

/// The encoder family that a GGUF file or a `config.json` names.
pub fn encoder(name: &str) -> Option<&'static EncoderFamily> {
    ENCODERS.into_iter().find(|family| family.name == name || family.classes.contains(&name))
}

impl PartialEq for DecoderFamily {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl std::fmt::Debug for DecoderFamily {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_families_share_a_name() {
        let decoders = DECODERS.iter().flat_map(|f| f.classes.iter().copied().chain([f.name]));
        let encoders = ENCODERS.iter().flat_map(|f| f.classes.iter().copied().chain([f.name]));
        let names: Vec<&str> = decoders.chain(encoders).collect();
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len(), "{names:?}");
        let rules = DECODERS.iter().flat_map(|family| family.pre_tokenizers);
        let names: Vec<&str> = rules.flat_map(|rules| rules.names.iter().copied()).collect();
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len(), "{names:?}");
    }
}
