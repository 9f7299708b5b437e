//! Gemma 3, of 270 million parameters and more.

use super::{DecoderFamily, TensorNames, llama};
use crate::inference::chat_template::{ChatFormat, NEUTRAL, Piece, Trim};
use crate::inference::config::{Activation, DecoderConfig, Fields, LayerKind, RopeConfig};

/// Its entry in the table.
pub static FAMILY: DecoderFamily = DecoderFamily {
    name: "gemma3",
    classes: &["Gemma3ForCausalLM", "Gemma3ForConditionalGeneration", "gemma3_text"],
    tensors: TensorNames {
        post_attention_norm: Some(("post_attention_layernorm", "post_attention_norm")),
        feed_forward_norm: ("pre_feedforward_layernorm", "ffn_norm"),
        post_feed_forward_norm: Some(("post_feedforward_layernorm", "post_ffw_norm")),
        ..llama::TENSORS
    },
    head_norms: true,
    norms_from_one: true,
    activation: Activation::GeluTanh,
    tied: Some(true),
    // The files of the models that also see tell only what differs from these.
    defaults: &[
        ("head_dim", 256.0),
        ("max_position_embeddings", 131_072.0),
        ("num_attention_heads", 8.0),
        ("num_key_value_heads", 4.0),
        ("query_pre_attn_scalar", 256.0),
        ("rope_local_base_freq", LOCAL_THETA),
        ("rope_theta", 1_000_000.0),
        ("sliding_window", 4096.0),
        ("sliding_window_pattern", PATTERN as f64),
    ],
    configure,
    chat_formats: &[&GEMMA],
    ..llama::PLAIN
};

/// Of so many layers the last attends to everything, and the others through a window.
const PATTERN: usize = 6;
/// The base of the frequencies of layers with a window.
const LOCAL_THETA: f64 = 10_000.0;
/// The one size whose attention is not scaled by the size of its heads has so many layers.
const LAYERS_27B: usize = 62;

fn configure(fields: &Fields<'_>, config: &mut DecoderConfig) -> Result<(), String> {
    for key in [
        ("final_logit_softcapping", "final_logit_softcapping"),
        ("attn_logit_softcapping", "attn_logit_softcapping"),
    ] {
        if fields.float(key)?.is_some_and(|cap| cap != 0.0) {
            return Err("it caps its logits, which is not supported".into());
        }
    }
    if fields.boolean(("use_bidirectional_attention", ""))? == Some(true) {
        return Err("it attends to what follows: it is no language model".into());
    }
    config.scales.embedding = (config.hidden as f64).sqrt();
    let scalar = match fields.float(("query_pre_attn_scalar", ""))? {
        Some(scalar) => scalar,
        None if config.n_layers == LAYERS_27B => (config.hidden / config.n_heads) as f64,
        None => config.heads.dim as f64,
    };
    config.scales.attention = 1.0 / scalar.sqrt();
    config.window = fields.number(("sliding_window", "attention.sliding_window"))?;
    if config.window.is_none() {
        return Ok(());
    }
    if config.local_rope.is_none() {
        let theta = fields.float(("rope_local_base_freq", "rope.freq_base_swa"))?;
        let local = RopeConfig::plain(theta.unwrap_or(LOCAL_THETA), config.heads.dim, false);
        config.local_rope = Some(local);
    }
    if !config.list_layers(fields)? {
        let pattern = ("sliding_window_pattern", "attention.sliding_window_pattern");
        let pattern = fields.number(pattern)?.unwrap_or(PATTERN);
        let kind = |index: usize| match (index + 1).checked_rem(pattern) {
            Some(0) | None => LayerKind::Full,
            Some(_) => LayerKind::Sliding,
        };
        config.layers = (0..config.n_layers).map(kind).collect();
    }
    Ok(())
}

const fn open(role: &'static str) -> [Piece<'static>; 3] {
    [Piece::Special("<start_of_turn>"), Piece::Text(role), Piece::Text("\n")]
}

const CLOSE: &[Piece] = &[Piece::Special("<end_of_turn>"), Piece::Text("\n")];

/// `<start_of_turn>user⏎…<end_of_turn>⏎`; the assistant is `model`, and a system's text opens the first user's turn.
static GEMMA: ChatFormat = ChatFormat {
    name: "Gemma",
    recognise: |clues| clues.has_all(&["<start_of_turn>", "<end_of_turn>"]),
    open: [&open("user"), &open("user"), &open("model")],
    close: [&[Piece::Text("\n\n")], CLOSE, CLOSE],
    joins_system: true,
    trims: [Trim::Nothing, Trim::Ends, Trim::Ends],
    ..NEUTRAL
};
