//! Qwen3.5, the dense models' language part: of so many layers the last attends, the others keep a state.
//!
//! Their files also have an eye and layers that predict further tokens, which are not read. GGUF files count the latter among
//! the layers, and hold the heads of values in another order: the first of each head of keys, then the second.

use super::qwen2::{CHAT_ML, PRE_TOKENIZER};
use super::qwen3::QWEN3;
use super::{DecoderFamily, RecurrenceNames, TensorNames, llama};
use crate::inference::chat_template::{ChatFormat, Trim};
use crate::inference::config::{DecoderConfig, Fields, Key, LayerKind, Recurrence};
use crate::inference::tokenizer::PreTokenizer;

/// Its entry in the table.
pub static FAMILY: DecoderFamily = DecoderFamily {
    name: "qwen35",
    classes: &["Qwen3_5ForCausalLM", "Qwen3_5ForConditionalGeneration", "qwen3_5", "qwen3_5_text"],
    tensors: TensorNames {
        feed_forward_norm: ("post_attention_layernorm", "post_attention_norm"),
        recurrence: Some(RecurrenceNames {
            input: [
                ("linear_attn.in_proj_qkv", "attn_qkv"),
                ("linear_attn.in_proj_z", "attn_gate"),
                ("linear_attn.in_proj_b", "ssm_beta"),
                ("linear_attn.in_proj_a", "ssm_alpha"),
            ],
            kernel: ("linear_attn.conv1d", "ssm_conv1d"),
            decay: ("linear_attn.A_log", "ssm_a"),
            decay_bias: ("linear_attn.dt_bias", "ssm_dt.bias"),
            norm: ("linear_attn.norm", "ssm_norm"),
            output: ("linear_attn.out_proj", "ssm_out"),
        }),
        ..llama::TENSORS
    },
    query_gates: true,
    head_norms: true,
    norms_from_one: true,
    partial_rotation: true,
    defaults: &[
        ("head_dim", 256.0),
        ("partial_rotary_factor", 0.25),
        ("linear_conv_kernel_dim", 4.0),
        ("linear_num_key_heads", 16.0),
        ("linear_num_value_heads", 32.0),
        ("linear_key_head_dim", 128.0),
        ("linear_value_head_dim", 128.0),
    ],
    configure,
    chat_formats: &[&QWEN35],
    pre_tokenizers: &[PreTokenizer {
        names: &["qwen35"],
        rules: &[
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ],
        ..PRE_TOKENIZER
    }],
    ..llama::PLAIN
};

/// Of so many layers the last attends to everything.
const INTERVAL: usize = 4;

fn configure(fields: &Fields<'_>, config: &mut DecoderConfig) -> Result<(), String> {
    if fields.boolean(("attn_output_gate", ""))? == Some(false) {
        return Err("its attention has no gate, which is not supported".into());
    }
    if fields.has(("", "attention.recurrent_layers")) {
        return Err("it lists which layers keep a state, which is not supported".into());
    }
    let n_predicting = fields.number(("", "nextn_predict_layers"))?.unwrap_or(0);
    config.n_layers = config.n_layers.saturating_sub(n_predicting);
    if !config.list_layers(fields)? {
        let interval: Key = ("full_attention_interval", "full_attention_interval");
        let interval = fields.number(interval)?.unwrap_or(INTERVAL);
        let attends = |index: usize| (index + 1).checked_rem(interval) == Some(0);
        let kind = |index| if attends(index) { LayerKind::Full } else { LayerKind::Recurrent };
        config.layers = (0..config.n_layers).map(kind).collect();
    }
    config.kernel = fields.needed(("linear_conv_kernel_dim", "ssm.conv_kernel"))?;
    let n_value_heads = fields.needed(("linear_num_value_heads", "ssm.time_step_rank"))?;
    let value_dim = if fields.is_gguf() {
        let values = fields.needed(("", "ssm.inner_size"))?;
        values.checked_div(n_value_heads).filter(|dim| dim * n_value_heads == values).unwrap_or(0)
    } else {
        fields.needed(("linear_value_head_dim", ""))?
    };
    config.recurrence = Some(Recurrence {
        n_key_heads: fields.needed(("linear_num_key_heads", "ssm.group_count"))?,
        n_value_heads,
        key_dim: fields.needed(("linear_key_head_dim", "ssm.state_size"))?,
        value_dim,
    });
    Ok(())
}

/// As Qwen3, without the whitespace around any text.
static QWEN35: ChatFormat = ChatFormat {
    name: "Qwen35",
    recognise: |clues| {
        let trims = ["enable_thinking", "|trim"].iter().all(|part| clues.template.contains(part));
        trims && (QWEN3.recognise)(clues)
    },
    trims: [Trim::Ends; 3],
    reply_prefix: QWEN3.reply_prefix,
    ..CHAT_ML
};
