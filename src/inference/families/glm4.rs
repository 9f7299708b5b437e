//! GLM-4, the dense models of April 2025 (9B, 32B).

use super::{DecoderFamily, TensorNames, llama};
use crate::inference::chat_template::{ChatFormat, NEUTRAL, Piece};
use crate::inference::config::{DecoderConfig, Fields, attend_to_everything};
use crate::inference::tokenizer::PreTokenizer;

/// Its entry in the table.
pub static FAMILY: DecoderFamily = DecoderFamily {
    name: "glm4",
    classes: &["Glm4ForCausalLM"],
    tensors: TensorNames {
        post_attention_norm: Some(("post_self_attn_layernorm", "post_attention_norm")),
        feed_forward_norm: ("post_attention_layernorm", "ffn_norm"),
        post_feed_forward_norm: Some(("post_mlp_layernorm", "post_ffw_norm")),
        fused_feed_forward: Some(("mlp.gate_up_proj", "ffn_up")),
        ..llama::TENSORS
    },
    partial_rotation: true,
    tied: Some(false),
    defaults: &[("partial_rotary_factor", 0.5)],
    configure,
    chat_formats: &[&GLM4],
    pre_tokenizers: &[PreTokenizer {
        names: &["glm4", "chatglm-bpe"],
        begins: false,
        ..llama::PRE_TOKENIZER
    }],
    ..llama::PLAIN
};

fn configure(fields: &Fields<'_>, config: &mut DecoderConfig) -> Result<(), String> {
    // Pairs stand side by side in both kinds of file.
    config.rope.interleaved = true;
    if fields.number(("", "nextn_predict_layers"))?.is_some_and(|n| n > 0) {
        return Err("it has layers that predict further tokens, which are not supported".into());
    }
    attend_to_everything(fields, config)
}

/// `[gMASK]<sop><|user|>⏎…`: nothing closes a turn but the next one.
static GLM4: ChatFormat = ChatFormat {
    name: "Glm4",
    recognise: |clues| clues.has_all(&["[gMASK]", "<sop>", "<|user|>", "<|assistant|>"]),
    begin: &[Piece::Special("[gMASK]"), Piece::Special("<sop>")],
    open: [
        &[Piece::Special("<|system|>"), Piece::Text("\n")],
        &[Piece::Special("<|user|>"), Piece::Text("\n")],
        &[Piece::Special("<|assistant|>"), Piece::Text("\n")],
    ],
    ..NEUTRAL
};
