//! Gemma 4, its text part: E2B, E4B, 31B and, with experts beside the dense part, 26B-A4B.
//!
//! Layers that attend to everything have wider heads, of which a quarter rotates. In the small models each token has a
//! vector in each layer, and the last layers use keys of layers before them; in the large ones keys are values where
//! everything is attended to.

use super::{BesideNames, DecoderFamily, PerLayerNames, TensorNames, gemma3};
use crate::inference::chat_template::{ChatFormat, NEUTRAL, Piece, Trim};
use crate::inference::config::{
    DecoderConfig, Fields, Heads, Key, LayerKind, Mixture, RopeConfig, Sharing,
};

/// Its entry in the table.
pub static FAMILY: DecoderFamily = DecoderFamily {
    name: "gemma4",
    classes: &["Gemma4ForCausalLM", "Gemma4ForConditionalGeneration", "gemma4_text"],
    tensors: TensorNames {
        per_layer: Some(PerLayerNames {
            table: ("model.embed_tokens_per_layer", "per_layer_token_embd"),
            projection: ("model.per_layer_model_projection", "per_layer_model_proj"),
            norm: ("model.per_layer_projection_norm", "per_layer_proj_norm"),
            gate: ("per_layer_input_gate", "inp_gate"),
            output: ("per_layer_projection", "proj"),
            output_norm: ("post_per_layer_input_norm", "post_norm"),
        }),
        layer_scale: Some(("layer_scalar", "layer_output_scale.weight")),
        experts: Some([
            ("router.proj", "ffn_gate_inp"),
            ("experts.{}.gate_proj", "ffn_gate_exps.{}"),
            ("experts.{}.up_proj", "ffn_up_exps.{}"),
            ("experts.{}.down_proj", "ffn_down_exps.{}"),
        ]),
        beside: Some(BesideNames {
            router_norm: ("router.scale", "ffn_gate_inp.scale"),
            scales: ("router.per_expert_scale", "ffn_down_exps.scale"),
            dense_norm: ("post_feedforward_layernorm_1", "post_ffw_norm_1"),
            norms: [
                ("pre_feedforward_layernorm_2", "pre_ffw_norm_2"),
                ("post_feedforward_layernorm_2", "post_ffw_norm_2"),
            ],
        }),
        ..gemma3::FAMILY.tensors
    },
    norms_from_one: false,
    value_norms: true,
    // The files of the models that also see tell only what differs from these.
    defaults: &[
        ("head_dim", 256.0),
        ("global_head_dim", 512.0),
        ("hidden_size_per_layer_input", 256.0),
        ("max_position_embeddings", 131_072.0),
        ("num_attention_heads", 8.0),
        ("num_key_value_heads", 4.0),
        ("num_kv_shared_layers", 0.0),
        ("sliding_window", 512.0),
    ],
    configure,
    chat_formats: &[&GEMMA4_LARGE, &GEMMA4],
    ..gemma3::FAMILY
};

/// Of so many layers the last attends to everything, where a `config.json` does not list them.
const PATTERN: usize = 6;
/// The bases of the frequencies, and the share of a head that rotates where everything is attended to.
const LOCAL_THETA: f64 = 10_000.0;
const THETA: f64 = 1_000_000.0;
const ROTATING: f64 = 0.25;

fn configure(fields: &Fields<'_>, config: &mut DecoderConfig) -> Result<(), String> {
    if fields.boolean(("enable_moe_block", ""))? == Some(true)
        || fields.number(("", "expert_count"))?.is_some_and(|n| n > 0)
    {
        config.mixture = Some(Mixture {
            n_experts: fields.needed(("num_experts", "expert_count"))?,
            n_used: fields.needed(("top_k_experts", "expert_used_count"))?,
            width: fields.needed(("moe_intermediate_size", "expert_feed_forward_length"))?,
            normalises: true,
        });
    }
    if fields.text(("use_bidirectional_attention", ""))? == Some("all") {
        return Err("it attends to what follows: it is no language model".into());
    }
    config.scales.embedding = (config.hidden as f64).sqrt();
    config.scales.attention = 1.0;
    config.logit_cap = fields.float(("final_logit_softcapping", "final_logit_softcapping"))?;
    let per_layer = ("hidden_size_per_layer_input", "embedding_length_per_layer_input");
    config.per_layer = fields.number(per_layer)?.filter(|&width| width > 0);
    config.window = fields.number(("sliding_window", "attention.sliding_window"))?;
    if fields.is_gguf() {
        let slides = fields.booleans("attention.sliding_window_pattern")?;
        let slides = slides.ok_or("its metadata do not tell which layers have a window")?;
        let kind = |slides| if slides { LayerKind::Sliding } else { LayerKind::Full };
        config.layers = slides.into_iter().map(kind).collect();
    } else if !config.list_layers(fields)? {
        let is_full = |index: usize| (index + 1).is_multiple_of(PATTERN);
        let kind = |index| if is_full(index) { LayerKind::Full } else { LayerKind::Sliding };
        config.layers = (0..config.n_layers).map(kind).collect();
    }
    let n_sharing = fields.number(("num_kv_shared_layers", "attention.shared_kv_layers"))?;
    let n_sharing = n_sharing.unwrap_or(0).min(config.n_layers);
    let is_wide = fields.boolean(("use_double_wide_mlp", ""))? == Some(true);
    let width = config.intermediate * if is_wide { 2 } else { 1 };
    config.sharing =
        (n_sharing > 0).then_some(Sharing { n_layers: n_sharing, intermediate: width });
    if fields.is_gguf() { of_gguf(fields, config) } else { of_json(fields, config) }
}

fn of_json(fields: &Fields<'_>, config: &mut DecoderConfig) -> Result<(), String> {
    config.keys_are_values = Some(fields.boolean(("attention_k_eq_v", ""))? == Some(true));
    let full: Key = ("num_global_key_value_heads", "");
    if config.keys_are_values == Some(true)
        && let Some(n) = fields.number(full)?
    {
        let dim = config.full_heads.unwrap_or(config.heads).dim;
        config.full_heads = Some(Heads { n, dim });
    }
    if !fields.has(("rope_parameters", "")) {
        let full = config.full_heads.unwrap_or(config.heads);
        config.rope = RopeConfig::proportional(THETA, full.dim, ROTATING);
        config.local_rope = Some(RopeConfig::plain(LOCAL_THETA, config.heads.dim, false));
    }
    Ok(())
}

/// What differs between layers is listed for each.
fn of_gguf(fields: &Fields<'_>, config: &mut DecoderConfig) -> Result<(), String> {
    config.keys_are_values = None;
    let theta = fields.float(("", "rope.freq_base_swa"))?.unwrap_or(LOCAL_THETA);
    let dims = fields.number(("", "rope.dimension_count_swa"))?.unwrap_or(config.heads.dim);
    config.local_rope = Some(RopeConfig::plain(theta, dims, false));
    let differs = || "its layers differ in what is not supported".to_owned();
    // Of each layer, or one number of all.
    let listed = |name| fields.numbers(("", name)).ok().flatten();
    if let Some(of_layers) = listed("attention.head_count_kv") {
        let of = |kind| {
            let own = config.layers.iter().zip(&of_layers).filter(move |(own, _)| **own == kind);
            own.map(|(_, &n)| n).collect::<Vec<usize>>()
        };
        let (full, sliding) = (of(LayerKind::Full), of(LayerKind::Sliding));
        let alike = |all: &[usize]| all.iter().all(|n| *n == all[0]);
        if of_layers.len() != config.layers.len() || !alike(&full) || !alike(&sliding) {
            return Err(differs());
        }
        let dim = config.full_heads.unwrap_or(config.heads).dim;
        config.heads.n = sliding.first().copied().unwrap_or(config.heads.n);
        config.full_heads = full.first().map(|&n| Heads { n, dim });
    }
    if let Some(of_layers) = listed("feed_forward_length") {
        config.intermediate = of_layers.first().copied().unwrap_or(0);
        if let Some(sharing) = &mut config.sharing {
            sharing.intermediate = of_layers.last().copied().unwrap_or(0);
        }
        let differs_at = |(index, &width): (usize, &usize)| width != config.intermediate(index);
        if of_layers.iter().enumerate().any(differs_at) {
            return Err(differs());
        }
    }
    Ok(())
}

const fn open(role: &'static str) -> [Piece<'static>; 3] {
    [Piece::Special("<|turn>"), Piece::Text(role), Piece::Text("\n")]
}

const CLOSE: &[Piece] = &[Piece::Special("<turn|>"), Piece::Text("\n")];

/// `<|turn>user⏎…<turn|>⏎`; the assistant is `model`.
static GEMMA4: ChatFormat = ChatFormat {
    name: "Gemma4",
    recognise: |clues| clues.has_all(&["<|turn>", "<turn|>"]),
    open: [&open("system"), &open("user"), &open("model")],
    close: [CLOSE; 3],
    trims: [Trim::Ends; 3],
    ..NEUTRAL
};

/// The large models' replies open with an empty thought, so that they answer at once.
static GEMMA4_LARGE: ChatFormat = ChatFormat {
    name: "Gemma4Large",
    recognise: |clues| {
        let closes = r"<|channel>thought\n<channel|>";
        clues.template.contains(closes) && (GEMMA4.recognise)(clues)
    },
    reply_prefix: &[
        Piece::Special("<|channel>"),
        Piece::Text("thought\n"),
        Piece::Special("<channel|>"),
    ],
    ..GEMMA4
};
