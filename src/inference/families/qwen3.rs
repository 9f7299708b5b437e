//! Qwen3. Its GGUF files name Qwen2's pre-tokenizer.

use super::qwen2::CHAT_ML;
use super::{DecoderFamily, llama};
use crate::inference::chat_template::{ChatFormat, Piece};

/// Its entry in the table.
pub static FAMILY: DecoderFamily = DecoderFamily {
    name: "qwen3",
    class: "Qwen3ForCausalLM",
    tensors: llama::TENSORS,
    qkv_bias: false,
    head_norms: true,
    gguf_rope_interleaved: false,
    chat_formats: &[&QWEN3],
    pre_tokenizers: &[],
};

/// ChatML; the reply opens with an empty `<think>` block, so that the model answers at once. Earlier turns lose
/// theirs.
static QWEN3: ChatFormat = ChatFormat {
    name: "Qwen3",
    recognise: |clues| {
        // Later Qwen3 releases have the tokens but no thinking to switch off.
        let thinks = clues.template.is_empty() || clues.template.contains("enable_thinking");
        thinks && clues.has_all(&["<think>", "</think>"]) && (CHAT_ML.recognise)(clues)
    },
    reply_prefix: &[
        Piece::Special("<think>"),
        Piece::Text("\n\n"),
        Piece::Special("</think>"),
        Piece::Text("\n\n"),
    ],
    ..CHAT_ML
};
