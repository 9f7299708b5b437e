//! Qwen3 as a mixture of experts. It writes conversations as Qwen3 does.

use super::{DecoderFamily, TensorNames, llama};
use crate::inference::config::{DecoderConfig, Fields, Mixture, attend_to_everything};

/// Its entry in the table.
pub static FAMILY: DecoderFamily = DecoderFamily {
    name: "qwen3moe",
    classes: &["Qwen3MoeForCausalLM", "qwen3_moe"],
    tensors: TensorNames {
        experts: Some([
            ("mlp.gate", "ffn_gate_inp"),
            ("mlp.experts.{}.gate_proj", "ffn_gate_exps.{}"),
            ("mlp.experts.{}.up_proj", "ffn_up_exps.{}"),
            ("mlp.experts.{}.down_proj", "ffn_down_exps.{}"),
        ]),
        ..llama::TENSORS
    },
    head_norms: true,
    tied: Some(false),
    defaults: &[
        ("moe_intermediate_size", 768.0),
        ("num_experts", 128.0),
        ("num_experts_per_tok", 8.0),
    ],
    configure,
    ..llama::PLAIN
};

fn configure(fields: &Fields<'_>, config: &mut DecoderConfig) -> Result<(), String> {
    attend_to_everything(fields, config)?;
    let step = fields.number(("decoder_sparse_step", ""))?.unwrap_or(1);
    let dense = fields.numbers(("mlp_only_layers", ""))?.unwrap_or_default();
    if step != 1 || !dense.is_empty() {
        return Err("some of its layers have no experts, which is not supported".into());
    }
    // llama.cpp always does; a `config.json` says so.
    let normalises = fields.boolean(("norm_topk_prob", ""))?.unwrap_or(fields.is_gguf());
    let n_experts = match fields.number(("num_local_experts", ""))? {
        Some(newer) => newer,
        None => fields.needed(("num_experts", "expert_count"))?,
    };
    config.mixture = Some(Mixture {
        n_experts,
        n_used: fields.needed(("num_experts_per_tok", "expert_used_count"))?,
        width: fields.needed(("moe_intermediate_size", "expert_feed_forward_length"))?,
        normalises,
    });
    Ok(())
}
