//! Granite, the dense models: of Granite 4 those without Mamba layers and without experts.

use super::{DecoderFamily, TensorNames, llama};
use crate::inference::chat_template::{ChatFormat, NEUTRAL, Piece};
use crate::inference::config::{DecoderConfig, Fields, LayerKind};

/// Its entry in the table.
pub static FAMILY: DecoderFamily = DENSE;

const DENSE: DecoderFamily = DecoderFamily {
    name: "granite",
    classes: &["GraniteForCausalLM"],
    gguf_rope_interleaved: true,
    tied: Some(true),
    configure,
    chat_formats: &[&GRANITE],
    ..llama::PLAIN
};

/// Granite 4: its safetensors name the feed-forward part after experts, also where it has none. GGUF files of such
/// models are Granite's.
pub static HYBRID: DecoderFamily = DecoderFamily {
    name: "granitemoehybrid",
    classes: &["GraniteMoeHybridForCausalLM"],
    tensors: TensorNames {
        fused_feed_forward: Some(("shared_mlp.input_linear", "")),
        down: ("shared_mlp.output_linear", ""),
        ..llama::TENSORS
    },
    configure: configure_hybrid,
    chat_formats: &[],
    ..DENSE
};

fn configure(fields: &Fields<'_>, config: &mut DecoderConfig) -> Result<(), String> {
    let scale = |key, default: f64| fields.float(key).map(|stated| stated.unwrap_or(default));
    // A `config.json` that says nothing means 1, a GGUF file what follows from the size of the heads.
    let attention = if fields.is_gguf() { config.scales.attention } else { 1.0 };
    config.scales.embedding = scale(("embedding_multiplier", "embedding_scale"), 1.0)?;
    config.scales.attention = scale(("attention_multiplier", "attention.scale"), attention)?;
    config.scales.residual = scale(("residual_multiplier", "residual_scale"), 1.0)?;
    config.scales.logits = scale(("logits_scaling", "logit_scale"), 1.0)?;
    let unrotated = match fields.text(("position_embedding_type", ""))? {
        Some("nope") => true,
        None | Some("rope") => fields.boolean(("", "rope.scaling.finetuned"))? == Some(false),
        Some(_) => return Err("its positions are of a kind that is not supported".into()),
    };
    if unrotated {
        config.layers = vec![LayerKind::Unrotated; config.n_layers];
    }
    Ok(())
}

fn configure_hybrid(fields: &Fields<'_>, config: &mut DecoderConfig) -> Result<(), String> {
    if fields.is_gguf() {
        return Err("it has layers of Mamba, which are not supported".into());
    }
    if fields.number(("num_local_experts", ""))?.is_some_and(|n| n > 0) {
        return Err("it is a mixture of experts, which is not supported for it".into());
    }
    let kinds = fields.texts(("layer_types", ""))?.unwrap_or_default();
    if kinds.iter().any(|kind| !matches!(*kind, "attention" | "full_attention")) {
        return Err("it has layers of Mamba, which are not supported".into());
    }
    config.intermediate = fields.needed(("shared_intermediate_size", ""))?;
    configure(fields, config)?;
    // Its positions are none unless it says so.
    if !fields.has(("position_embedding_type", "")) {
        config.layers = vec![LayerKind::Unrotated; config.n_layers];
    }
    Ok(())
}

/// `<|start_of_role|>user<|end_of_role|>…<|end_of_text|>⏎`.
static GRANITE: ChatFormat = ChatFormat {
    name: "Granite",
    recognise: |clues| clues.has_all(&["<|start_of_role|>", "<|end_of_role|>", "<|end_of_text|>"]),
    open: [&[Piece::Special("<|start_of_role|>"), Piece::Role, Piece::Special("<|end_of_role|>")];
        3],
    close: [&[Piece::Special("<|end_of_text|>"), Piece::Text("\n")]; 3],
    ..NEUTRAL
};
