//! LFM2 and LFM2.5. They write conversations in ChatML, as Qwen2 does.

use super::{DecoderFamily, TensorNames, llama};
use crate::inference::config::{DecoderConfig, Fields, Key, LayerKind};
use crate::inference::tokenizer::PreTokenizer;

/// Its entry in the table.
pub static FAMILY: DecoderFamily = DecoderFamily {
    name: "lfm2",
    classes: &["Lfm2ForCausalLM"],
    tensors: TensorNames {
        norm: ("model.embedding_norm", "token_embd_norm"),
        attention_norm: ("operator_norm", "attn_norm"),
        output: ("self_attn.out_proj", "attn_output"),
        query_norm: ("self_attn.q_layernorm", "attn_q_norm"),
        key_norm: ("self_attn.k_layernorm", "attn_k_norm"),
        feed_forward_norm: ("ffn_norm", "ffn_norm"),
        gate: ("feed_forward.w1", "ffn_gate"),
        up: ("feed_forward.w3", "ffn_up"),
        down: ("feed_forward.w2", "ffn_down"),
        convolution: Some([
            ("conv.in_proj", "shortconv.in_proj"),
            ("conv.conv", "shortconv.conv"),
            ("conv.out_proj", "shortconv.out_proj"),
        ]),
        ..llama::TENSORS
    },
    head_norms: true,
    tied: Some(true),
    defaults: &[("rope_theta", 1_000_000.0), ("norm_eps", 1e-5), ("num_key_value_heads", 8.0)],
    configure,
    pre_tokenizers: &[PreTokenizer { names: &["lfm2"], ..llama::PRE_TOKENIZER }],
    ..llama::PLAIN
};

fn configure(fields: &Fields<'_>, config: &mut DecoderConfig) -> Result<(), String> {
    config.kernel = fields.number(("conv_L_cache", "shortconv.l_cache"))?.unwrap_or(3);
    if fields.is_gguf() {
        // Layers that do not attend have no heads of keys.
        let heads = fields.numbers(("", "attention.head_count_kv"))?;
        let heads = heads.ok_or("its metadata do not tell which layers attend")?;
        let kind = |n| if n == 0 { LayerKind::Convolution } else { LayerKind::Full };
        config.layers = heads.into_iter().map(kind).collect();
        return Ok(());
    }
    config.norm_epsilon = fields.float(("norm_eps", ""))?.unwrap_or(config.norm_epsilon);
    config.tied = fields.boolean(("tie_embedding", ""))?.or(config.tied);
    let width = fields.number(("block_ff_dim", ""))?.unwrap_or(config.intermediate);
    config.intermediate = feed_forward_width(fields, width)?;
    if !config.list_layers(fields)? {
        let attend = fields.numbers(("full_attn_idxs", ""))?;
        let attends = |index| attend.as_ref().is_none_or(|attend| attend.contains(&index));
        let kind = |index| if attends(index) { LayerKind::Full } else { LayerKind::Convolution };
        config.layers = (0..config.n_layers).map(kind).collect();
    }
    Ok(())
}

/// A `config.json` states the width before it is adjusted.
fn feed_forward_width(fields: &Fields<'_>, stated: usize) -> Result<usize, String> {
    if fields.boolean(("block_auto_adjust_ff_dim", ""))? == Some(false) {
        return Ok(stated);
    }
    let width = (2.0 * stated as f64 / 3.0) as usize;
    let factor: Key = ("block_ffn_dim_multiplier", "");
    let multiple = fields.number(("block_multiple_of", ""))?.unwrap_or(256);
    let width = (fields.float(factor)?.unwrap_or(1.0) * width as f64) as usize;
    match width.checked_next_multiple_of(multiple) {
        Some(width) if width > 0 => Ok(width),
        _ => Err("the width of its feed-forward part is not usable".into()),
    }
}
