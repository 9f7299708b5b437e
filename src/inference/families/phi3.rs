//! Phi-3, Phi-3.5 and Phi-4, the mini ones too.

use super::{DecoderFamily, TensorNames, llama};
use crate::inference::chat_template::{ChatFormat, Clues, NEUTRAL, Piece};
use crate::inference::config::{DecoderConfig, Fields, LayerKind, RopeConfig};
use crate::inference::tokenizer::PreTokenizer;

/// Its entry in the table.
pub static FAMILY: DecoderFamily = DecoderFamily {
    name: "phi3",
    classes: &["Phi3ForCausalLM"],
    tensors: TensorNames {
        fused_attention: Some(("self_attn.qkv_proj", "attn_qkv")),
        fused_feed_forward: Some(("mlp.gate_up_proj", "ffn_up")),
        ..llama::TENSORS
    },
    partial_rotation: true,
    tied: Some(false),
    configure,
    chat_formats: &[&PHI3, &PHI4],
    pre_tokenizers: &[PRE_TOKENIZER],
    ..llama::PLAIN
};

fn configure(fields: &Fields<'_>, config: &mut DecoderConfig) -> Result<(), String> {
    // GGUF files write 0 where there is none.
    let window = fields.number(("sliding_window", "attention.sliding_window"))?;
    config.window = window.filter(|&window| window > 0 || !fields.is_gguf());
    if config.window.is_some() {
        config.layers = vec![LayerKind::Sliding; config.n_layers];
    }
    // GGUF files do not say that it is LongRoPE: only the factors are there, and the scale.
    if fields.is_gguf()
        && fields.has(("", "rope.scaling.attn_factor"))
        && let Some(original) = fields.number(("", "rope.scaling.original_context_length"))?
    {
        config.rope.scaling = RopeConfig::long_of_gguf(fields, original)?;
    }
    Ok(())
}

/// Also of Llama 4 and GPT-4o.
const PRE_TOKENIZER: PreTokenizer = PreTokenizer {
    names: &["gpt-4o", "llama4"],
    rules: &[
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ],
    ignore_merges: false,
    begins: false,
    nfc: false,
};

const TURNS: [&str; 4] = ["<|system|>", "<|user|>", "<|assistant|>", "<|end|>"];

/// Phi-3 has Llama's vocabulary.
fn is_phi3(clues: &Clues<'_>) -> bool {
    clues.has_all(&TURNS) && clues.has("</s>")
}

/// `<|user|>⏎…<|end|>⏎` (Phi-3, Phi-3.5).
static PHI3: ChatFormat = ChatFormat {
    name: "Phi3",
    recognise: is_phi3,
    open: [
        &[Piece::Special(TURNS[0]), Piece::Text("\n")],
        &[Piece::Special(TURNS[1]), Piece::Text("\n")],
        &[Piece::Special(TURNS[2]), Piece::Text("\n")],
    ],
    close: [&[Piece::Special(TURNS[3]), Piece::Text("\n")]; 3],
    ..NEUTRAL
};

/// `<|user|>…<|end|>` (Phi-4-mini).
static PHI4: ChatFormat = ChatFormat {
    name: "Phi4",
    recognise: |clues| clues.has_all(&TURNS) && !clues.has("</s>"),
    open: [&[Piece::Special(TURNS[0])], &[Piece::Special(TURNS[1])], &[Piece::Special(TURNS[2])]],
    close: [&[Piece::Special(TURNS[3])]; 3],
    ..NEUTRAL
};
