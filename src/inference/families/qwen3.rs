//! Qwen3. Its GGUF files name Qwen2's pre-tokenizer.

use super::qwen2::CHAT_ML;
use super::{DecoderFamily, llama};
use crate::inference::chat_template::{ChatFormat, Piece};

/// Its entry in the table.
pub static FAMILY: DecoderFamily = DecoderFamily {
    name: "qwen3",
    classes: &["Qwen3ForCausalLM"],
    head_norms: true,
    chat_formats: &[&QWEN3],
    ..llama::PLAIN
};

/// ChatML; the reply opens with an empty `<think>` block, so that the model answers at once. Earlier turns lose
/// theirs.
pub static QWEN3: ChatFormat = ChatFormat {
    name: "Qwen3",
    recognise: |clues| {
        // Later Qwen3 releases have the tokens but no thinking to switch off.
        // Of these the ones that always think open the thought for the model, and it is closed here.
        let thinks = clues.template.is_empty()
            || ["enable_thinking", r"assistant\n<think>"]
                .iter()
                .any(|t| clues.template.contains(t));
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
