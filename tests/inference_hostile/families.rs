//! What each family's own numbers and tensors may not be.

use super::*;

/// Sizes that don't fit, windows of nothing, factors of zero: of each family's own kinds.
#[test]
fn impossible_shapes_of_later_families_are_refused() {
    let window = |n: u64| move |c: &mut serde_json::Value| c["sliding_window"] = n.into();
    refuses_config_of("gemma3", window(0), "holds 0 tokens");
    refuses_config_of("phi3-window", window(0), "holds 0 tokens");
    refuses_config_of("gemma3", |c| c["final_logit_softcapping"] = 30.0.into(), "caps its logits");
    refuses_config_of("gemma3", |c| c["use_bidirectional_attention"] = true.into(), "follows");
    refuses_config_of("gemma3", |c| c["query_pre_attn_scalar"] = 0.into(), "multipliers");
    refuses_config_of("gemma3", |c| c["hidden_activation"] = "gelu".into(), "\"gelu\"");
    refuses_config_of("gemma3", |c| c["layer_types"] = serde_json::json!([]), "kinds");
    let local = |c: &mut serde_json::Value| {
        c["rope_parameters"]["sliding_attention"]["rope_theta"] = (-1).into();
    };
    refuses_config_of("gemma3", local, "rope parameters");

    let factors = |c: &mut serde_json::Value| {
        c["rope_parameters"]["long_factor"] = serde_json::json!([1.0, 2.0]);
    };
    refuses_config_of("phi3", factors, "[6, 2] factors for 6 pairs");
    let none = |c: &mut serde_json::Value| c["rope_parameters"]["short_factor"][2] = 0.into();
    refuses_config_of("phi3", none, "rope parameters");
    for part in [0.0, -1.0, 1.1, 0.07, 1e300] {
        let part =
            |c: &mut serde_json::Value| c["rope_parameters"]["partial_rotary_factor"] = part.into();
        refuses_config_of("phi3-window", part, "rotate, which is impossible");
    }
    let original = |n: u64| {
        move |c: &mut serde_json::Value| {
            c["rope_parameters"]["original_max_position_embeddings"] = n.into();
        }
    };
    for name in ["phi3", "ministral3"] {
        refuses_config_of(name, original(0), "rope parameters");
    }
    refuses_config_of(
        "ministral3",
        |c| c["rope_parameters"]["factor"] = 0.into(),
        "rope parameters",
    );
    refuses_config_of(
        "ministral3",
        |c| c["rope_parameters"]["beta_fast"] = (-2).into(),
        "rope parameters",
    );
    refuses_config_of(
        "ministral3",
        |c| c["rope_parameters"]["llama_4_scaling_beta"] = (-1).into(),
        "multipliers",
    );
    refuses_config_of(
        "ministral3",
        |c| c["rope_parameters"]["rope_type"] = "linear".into(),
        "no step",
    );

    for key in
        ["embedding_multiplier", "attention_multiplier", "residual_multiplier", "logits_scaling"]
    {
        refuses_config_of("granite", |c| c[key] = 0.into(), "multipliers");
        refuses_config_of("granite", |c| c[key] = "1".into(), "not usable");
    }
    refuses_config_of("granite4", |c| c["layer_types"][0] = "mamba".into(), "Mamba");
    refuses_config_of("granite4", |c| c["num_local_experts"] = 4.into(), "mixture of experts");
    refuses_config_of(
        "granite4",
        |c| c["shared_intermediate_size"] = 0.into(),
        "intermediate size 0",
    );
    for kernel in [0u64, 65, 1 << 40] {
        refuses_config_of("lfm2", |c| c["conv_L_cache"] = kernel.into(), "impossible");
    }
    refuses_config_of("lfm2", |c| c["block_multiple_of"] = 0.into(), "not usable");
    refuses_config_of("lfm2", |c| c["block_ffn_dim_multiplier"] = 1e300.into(), "not usable");
    for (key, n, reason) in [
        ("num_local_experts", 0, "2 of 0 experts"),
        ("num_local_experts", 1025, "2 of 1025 experts"),
        ("num_experts_per_tok", 0, "0 of 6 experts"),
        ("num_experts_per_tok", 7, "7 of 6 experts"),
        ("moe_intermediate_size", 0, "a width of 0"),
        ("decoder_sparse_step", 2, "have no experts"),
    ] {
        refuses_config_of("qwen3-moe", |c| c[key] = n.into(), reason);
    }
    refuses_config_of(
        "smollm3",
        |c| c["no_rope_layers"] = serde_json::json!([1]),
        "kinds of 1 layers",
    );
    refuses_config_of("smollm3", |c| c["no_rope_layers"][0] = (-1).into(), "not usable");
}

/// Keys that no layer has, heads that can't be rotated, vectors of nothing.
#[test]
fn impossible_shapes_of_gemma_4_are_refused() {
    for (name, key, value, reason) in [
        ("gemma4", "num_kv_shared_layers", 6, "its last 6 of 6 layers share keys"),
        ("gemma4", "num_kv_shared_layers", 4, "its last 4 of 6 layers share keys"),
        ("gemma4", "hidden_size_per_layer_input", 1_i64 << 40, "a token's vector in each layer"),
        ("gemma4", "global_head_dim", 0, "head size 0"),
        ("gemma4", "global_head_dim", 31, "is odd"),
        ("gemma4", "final_logit_softcapping", 0, "multipliers"),
        ("gemma4", "final_logit_softcapping", -3, "multipliers"),
        ("gemma4-large", "num_global_key_value_heads", 3, "4 attention heads share 3"),
    ] {
        refuses_config_of(name, |c| c[key] = value.into(), reason);
    }
    refuses_config_of("gemma4", |c| c["enable_moe_block"] = true.into(), "lacks `num_experts`");
    refuses_config_of("gemma4-moe", |c| c["top_k_experts"] = 9.into(), "9 of 8 experts");
    let many = |c: &mut serde_json::Value| c["num_experts"] = (1_i64 << 40).into();
    refuses_config_of("gemma4-moe", many, "experts of a width");
    refuses_config_of("gemma4", |c| c["use_bidirectional_attention"] = "all".into(), "follows");
    let share = |share: f64| {
        move |c: &mut serde_json::Value| {
            c["rope_parameters"]["full_attention"]["partial_rotary_factor"] = share.into();
        }
    };
    refuses_config_of("gemma4", share(1.5), "rotate, which is impossible");
}

/// A tensor of a family's own that is not there, under its name in a GGUF file.
#[test]
fn missing_tensors_of_later_families_are_named() {
    for (name, tensor) in [
        ("gemma3-f16-gguf", "blk.0.post_ffw_norm.weight"),
        ("gemma3-f16-gguf", "blk.3.post_attention_norm.weight"),
        ("gemma4-f16-gguf", "per_layer_token_embd.weight"),
        ("gemma4-f16-gguf", "per_layer_model_proj.weight"),
        ("gemma4-f16-gguf", "per_layer_proj_norm.weight"),
        ("gemma4-f16-gguf", "blk.1.inp_gate.weight"),
        ("gemma4-f16-gguf", "blk.4.proj.weight"),
        ("gemma4-f16-gguf", "blk.5.post_norm.weight"),
        ("gemma4-large-f16-gguf", "blk.1.attn_v.weight"),
        ("phi3-f16-gguf", "blk.1.attn_qkv.weight"),
        ("phi3-f16-gguf", "rope_factors_long.weight"),
        ("phi3-f16-gguf", "rope_factors_short.weight"),
        ("lfm2-f16-gguf", "blk.0.shortconv.conv.weight"),
        ("lfm2-f16-gguf", "blk.2.shortconv.in_proj.weight"),
        ("lfm2-f16-gguf", "token_embd_norm.weight"),
        ("qwen3-moe-f16-gguf", "blk.1.ffn_gate_inp.weight"),
        ("qwen35-f16-gguf", "blk.0.attn_qkv.weight"),
        ("qwen35-f16-gguf", "blk.0.attn_gate.weight"),
        ("qwen35-f16-gguf", "blk.0.post_attention_norm.weight"),
        ("qwen35-f16-gguf", "blk.1.ssm_alpha.weight"),
        ("qwen35-f16-gguf", "blk.1.ssm_beta.weight"),
        ("qwen35-f16-gguf", "blk.1.ssm_conv1d.weight"),
        ("qwen35-f16-gguf", "blk.3.ssm_a"),
        ("qwen35-f16-gguf", "blk.3.ssm_dt.bias"),
        ("qwen35-f16-gguf", "blk.3.ssm_norm.weight"),
        ("qwen35-f16-gguf", "blk.3.ssm_out.weight"),
    ] {
        let mut bytes = fs::read(fixture(name).join("model.gguf")).unwrap();
        let at = bytes.windows(tensor.len()).position(|w| w == tensor.as_bytes()).unwrap();
        bytes[at] = b'X';
        let (_, reason) = bad_file(try_to_run(bytes).unwrap_err());
        assert_eq!(reason, format!("the tensor `{tensor}` is missing"));
    }
    // Factors that would divide by zero.
    let mut bytes = fs::read(fixture("phi3-f16-gguf/model.gguf")).unwrap();
    let header = gguf::parse(&bytes).unwrap();
    let factors = header.tensors.iter().find(|t| t.name == "rope_factors_long.weight").unwrap();
    bytes[factors.start..factors.start + 4].fill(0);
    assert!(bad_file(try_to_run(bytes).unwrap_err()).1.contains("no usable factors"));
}

/// Heads that share nothing, states that would take gigabytes, a convolution of nothing.
#[test]
fn impossible_states_are_refused() {
    let change = |key: &'static str, value: serde_json::Value| {
        move |c: &mut serde_json::Value| c["text_config"][key] = value
    };
    for (key, n, reason) in [
        ("linear_num_key_heads", 0, "4 heads of 12 values by 0 of 8 keys"),
        ("linear_num_key_heads", 3, "4 heads of 12 values by 3 of 8 keys"),
        ("linear_num_value_heads", 0, "0 heads"),
        ("linear_num_value_heads", 1 << 40, "heads of 12 values"),
        ("linear_key_head_dim", 0, "2 of 0 keys"),
        ("linear_key_head_dim", 1 << 21, "2 of 2097152 keys"),
        ("linear_value_head_dim", 0, "4 heads of 0 values"),
        ("linear_value_head_dim", u64::MAX >> 1, "impossible"),
        ("linear_conv_kernel_dim", 0, "mixes 0 tokens"),
        ("linear_conv_kernel_dim", 65, "mixes 65 tokens"),
    ] {
        refuses_config_of("qwen35", change(key, n.into()), reason);
    }
    refuses_config_of("qwen35", change("attn_output_gate", false.into()), "no gate");
    refuses_config_of("qwen35", change("linear_num_key_heads", "2".into()), "not usable");
    let kinds = serde_json::json!(["linear_attention", "full_attention"]);
    refuses_config_of("qwen35", change("layer_types", kinds), "kinds of 2 layers");
    for (key, n, reason) in [
        ("nextn_predict_layers", 5u32, "layers 0"),
        ("nextn_predict_layers", 9, "layers 0"),
        ("full_attention_interval", 0, "blk.2.ssm_a` is missing"),
        ("ssm.conv_kernel", 0, "mixes 0 tokens"),
        ("ssm.inner_size", 33, "heads of 0 values"),
        ("ssm.time_step_rank", 0, "0 heads"),
        ("ssm.group_count", 3, "3 of 8 keys"),
        ("ssm.state_size", 1 << 30, "keys"),
        ("ssm.state_size", 9, "blk.0.attn_qkv.weight` is [64, 32] where [68, 32]"),
    ] {
        let key = format!("qwen35.{key}");
        let mut bytes = fs::read(fixture("qwen35-f16-gguf/model.gguf")).unwrap();
        let at = bytes.windows(key.len()).position(|w| w == key.as_bytes()).unwrap();
        // After the number of its type.
        bytes[at + key.len() + 4..][..4].copy_from_slice(&n.to_le_bytes());
        let (_, given) = bad_file(try_to_run(bytes).unwrap_err());
        assert!(given.contains(reason), "{given:?} instead of {reason:?}");
    }
}
