//! SmolLM3.

use super::{DecoderFamily, llama};
use crate::inference::chat_template::{ChatFormat, NEUTRAL, Piece, Trim};
use crate::inference::config::{DecoderConfig, Fields, LayerKind, attend_to_everything};
use crate::inference::tokenizer::PreTokenizer;

/// Its entry in the table.
pub static FAMILY: DecoderFamily = DecoderFamily {
    name: "smollm3",
    classes: &["SmolLM3ForCausalLM"],
    gguf_rope_interleaved: true,
    tied: Some(true),
    defaults: &[("rope_theta", 2_000_000.0)],
    configure,
    chat_formats: &[&SMOLLM3],
    pre_tokenizers: &[PreTokenizer {
        names: &["smaug-bpe"],
        begins: false,
        ..llama::PRE_TOKENIZER
    }],
    ..llama::PLAIN
};

/// Of so many layers the last is not rotated.
const INTERVAL: usize = 4;

fn configure(fields: &Fields<'_>, config: &mut DecoderConfig) -> Result<(), String> {
    if fields.boolean(("use_sliding_window", ""))? == Some(true) {
        return Err("it attends through a sliding window, which is not supported for it".into());
    }
    attend_to_everything(fields, config)?;
    let rotated = if let Some(listed) = fields.numbers(("no_rope_layers", ""))? {
        listed.into_iter().map(|rotated| rotated != 0).collect()
    } else {
        let interval = fields.number(("no_rope_layer_interval", ""))?.unwrap_or(INTERVAL);
        let is_rotated = |index: usize| (index + 1).checked_rem(interval) != Some(0);
        (0..config.n_layers).map(is_rotated).collect::<Vec<bool>>()
    };
    let kind = |rotated| if rotated { LayerKind::Full } else { LayerKind::Unrotated };
    config.layers = rotated.into_iter().map(kind).collect();
    Ok(())
}

const OPEN: &[Piece] = &[Piece::Special("<|im_start|>"), Piece::Role, Piece::Text("\n")];

/// ChatML whose replies, earlier ones too, open with an empty `<think>` block: the model answers at once. The system's
/// text stands alone, as after `/system_override`: the template would put the day and a reasoning mode before it.
static SMOLLM3: ChatFormat = ChatFormat {
    name: "SmolLM3",
    recognise: |clues| {
        let own = match clues.template {
            "" => clues.has("<|begin_of_text|>"),
            template => template.contains("/system_override"),
        };
        own && clues.has_all(&["<|im_start|>", "<|im_end|>", "<think>", "</think>"])
    },
    open: [
        OPEN,
        OPEN,
        &[
            Piece::Special("<|im_start|>"),
            Piece::Role,
            Piece::Text("\n"),
            Piece::Special("<think>"),
            Piece::Text("\n\n"),
            Piece::Special("</think>"),
            Piece::Text("\n"),
        ],
    ],
    close: [&[Piece::Special("<|im_end|>"), Piece::Text("\n")]; 3],
    trims: [Trim::After, Trim::Nothing, Trim::NewlinesBefore],
    ..NEUTRAL
};
