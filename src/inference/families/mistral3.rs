//! Ministral 3, Mistral Small 3 and earlier models of Mistral.

use super::{DecoderFamily, llama};
use crate::inference::chat_template::{ChatFormat, NEUTRAL, Piece};
use crate::inference::config::{DecoderConfig, Fields, LayerKind, RopeScaling, Temperature};
use crate::inference::tokenizer::PreTokenizer;

/// Its entry in the table.
pub static FAMILY: DecoderFamily = DecoderFamily {
    name: "mistral3",
    classes: &[
        "MistralForCausalLM",
        "Ministral3ForCausalLM",
        "Mistral3ForConditionalGeneration",
        "ministral3",
        "mistral",
    ],
    gguf_rope_interleaved: true,
    tied: Some(false),
    configure,
    chat_formats: &[&MISTRAL],
    pre_tokenizers: &[PRE_TOKENIZER],
    ..llama::PLAIN
};

fn configure(fields: &Fields<'_>, config: &mut DecoderConfig) -> Result<(), String> {
    config.window = fields.number(("sliding_window", "attention.sliding_window"))?;
    if config.window.is_some() && !config.list_layers(fields)? {
        config.layers = vec![LayerKind::Sliding; config.n_layers];
    }
    let rope = fields.object(("rope_parameters", ""))?;
    let rope = match rope {
        Some(rope) => Some(rope),
        None => fields.object(("rope_scaling", ""))?,
    };
    let beta = rope.as_ref().unwrap_or(fields);
    let beta = beta.float(("llama_4_scaling_beta", "attention.temperature_scale"))?;
    let Some(beta) = beta.filter(|beta| *beta != 0.0) else { return Ok(()) };
    let RopeScaling::Yarn { original_context, .. } = config.rope.scaling else {
        return Err("its queries grow with their position, but no step is named".into());
    };
    config.temperature = Some(Temperature { beta, step: original_context as usize });
    Ok(())
}

const PRE_TOKENIZER: PreTokenizer = PreTokenizer {
    names: &["tekken"],
    rules: &[
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ],
    ignore_merges: true,
    begins: true,
    nfc: false,
};

/// `[INST]…[/INST]…</s>`, the system's text between marks of its own.
static MISTRAL: ChatFormat = ChatFormat {
    name: "Mistral",
    recognise: |clues| {
        clues.has_all(&["[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[INST]", "[/INST]", "</s>"])
    },
    open: [&[Piece::Special("[SYSTEM_PROMPT]")], &[Piece::Special("[INST]")], &[]],
    close: [
        &[Piece::Special("[/SYSTEM_PROMPT]")],
        &[Piece::Special("[/INST]")],
        &[Piece::Special("</s>")],
    ],
    ..NEUTRAL
};
