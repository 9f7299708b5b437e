//! A shape as the two kinds of files say it.

use serde_json::json;

use super::*;
use crate::inference::metadata::Value as Meta;

fn config(changes: &Value) -> Result<DecoderConfig, String> {
    let mut config = json!({
        "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "intermediate_size": 64,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
        "max_position_embeddings": 512,
    });
    for (key, value) in changes.as_object().unwrap() {
        config[key] = value.clone();
    }
    config_of(&config)
}

fn config_of(config: &Value) -> Result<DecoderConfig, String> {
    DecoderConfig::from_json(&config.to_string())
}

#[test]
fn old_and_new_spelling_of_the_rotation_are_one() {
    let theta = 500_000.0;
    let llama3 = json!({
        "rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    });
    let with_theta = |mut parameters: Value| {
        parameters["rope_theta"] = theta.into();
        json!({ "rope_parameters": parameters })
    };
    let linear = json!({"rope_type": "linear", "factor": 2.0});
    for (scaling, expected) in [
        (
            llama3,
            RopeScaling::Llama3 {
                factor: 32.0,
                low_freq_factor: 1.0,
                high_freq_factor: 4.0,
                original_context: 8192.0,
            },
        ),
        (linear, RopeScaling::Linear(2.0)),
        (json!({"rope_type": "default"}), RopeScaling::None),
    ] {
        let old = config(&json!({"rope_theta": theta, "rope_scaling": scaling})).unwrap();
        assert_eq!((old.rope.theta, &old.rope.scaling), (theta, &expected));
        // Before `rope_type` it was `type`.
        let mut oldest = scaling.clone();
        oldest["type"] = oldest.as_object_mut().unwrap().remove("rope_type").unwrap();
        let oldest = config(&json!({"rope_theta": theta, "rope_scaling": oldest})).unwrap();
        assert_eq!(old, oldest);
        assert_eq!(old, config(&with_theta(scaling)).unwrap());
    }
    let old = config(&json!({"rope_theta": theta, "rope_scaling": null})).unwrap();
    let new = config(&json!({"rope_parameters": {"rope_theta": theta}})).unwrap();
    assert_eq!((old.rope.theta, &old.rope.scaling), (theta, &RopeScaling::None));
    assert_eq!(old, new);
    let dynamic = config(&json!({"rope_scaling": {"type": "dynamic"}}));
    assert!(dynamic.unwrap_err().contains("`dynamic`"));
}

#[test]
fn which_layers_have_a_window() {
    use LayerKind::{Full, Sliding};
    let read = |changes: Value| config(&changes).map(|c| (c.window, c.layers));
    let listed = |kinds: [&str; 2]| json!({"layer_types": kinds, "sliding_window": 128});
    assert_eq!(read(listed(["full_attention"; 2])), Ok((None, vec![Full, Full])));
    let mixed = listed(["full_attention", "sliding_attention"]);
    assert_eq!(read(mixed), Ok((Some(128), vec![Full, Sliding])));
    // Qwen names a window that is off, or as long as the context, and the first layer that has it.
    let qwen = |on: bool, window: Value, first: usize| {
        let names = json!({
            "architectures": ["Qwen2ForCausalLM"], "use_sliding_window": on,
            "sliding_window": window, "max_window_layers": first,
        });
        read(names).unwrap()
    };
    assert_eq!(qwen(true, 128.into(), 1), (Some(128), vec![Full, Sliding]));
    assert_eq!(qwen(true, 512.into(), 0), (None, vec![Sliding, Sliding]));
    assert_eq!(qwen(false, 128.into(), 0), (None, vec![]));
    assert_eq!(qwen(false, Value::Null, 0), (None, vec![]));
    for (wrong, reason) in [
        (json!({"use_sliding_window": true}), "names no window"),
        (json!({"layer_types": ["sliding_attention", "sliding_attention"]}), "names no window"),
        (json!({"use_sliding_window": true, "sliding_window": 0}), "holds 0 tokens"),
        (
            json!({"layer_types": ["full_attention", "full_attention", "full_attention"]}),
            "kinds of 3 layers and has 2",
        ),
        (json!({"layer_types": ["mamba", "mamba"]}), "`mamba`"),
        (json!({"layer_types": "full"}), "`layer_types` of config.json is not usable"),
    ] {
        let refused = config(&wrong).unwrap_err();
        assert!(refused.contains(reason), "{refused}");
    }
    let gguf = |window| gguf("qwen2", &[("attention.sliding_window", Meta::Integer(window))]).err();
    assert!(gguf(128).unwrap().contains("sliding window"));
    assert_eq!(gguf(0), None);
    assert_eq!(gguf(512), None);
}

/// GGUF metadata of two layers, with these values too.
fn gguf(architecture: &str, more: &[(&str, Meta)]) -> Result<DecoderConfig, String> {
    let mut metadata = Metadata::default();
    metadata.insert("general.architecture".into(), Meta::String(architecture.into()));
    let sizes = [
        ("block_count", 2),
        ("embedding_length", 64),
        ("feed_forward_length", 64),
        ("attention.head_count", 4),
        ("context_length", 512),
    ];
    let sizes = sizes.map(|(key, n)| (key, Meta::Integer(n)));
    for (key, value) in sizes.iter().chain(more) {
        metadata.insert(format!("{architecture}.{key}"), value.clone());
    }
    DecoderConfig::from_gguf(&metadata)
}

/// The file of Gemma 3 4B, which also sees, leaves out what Gemma's own code knows.
#[test]
fn gemma_s_shape_is_known_where_its_file_says_nothing() {
    let four = config_of(&json!({
        "architectures": ["Gemma3ForConditionalGeneration"], "model_type": "gemma3",
        "text_config": {
            "hidden_size": 2560, "intermediate_size": 10240, "model_type": "gemma3_text",
            "num_hidden_layers": 34, "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
            "sliding_window": 1024,
        },
        "vision_config": {"hidden_size": 1152},
    }));
    let four = four.unwrap();
    assert_eq!((four.n_heads, four.heads.n, four.heads.dim), (8, 4, 256));
    assert_eq!((four.tied, four.context_tokens, four.window), (Some(true), 131_072, Some(1024)));
    assert_eq!(four.rope.scaling, RopeScaling::Linear(8.0));
    assert_eq!((four.rope.theta, four.local_rope.as_ref().unwrap().theta), (1e6, 1e4));
    assert_eq!(four.local_rope.as_ref().unwrap().scaling, RopeScaling::None);
    let scales =
        Scales { embedding: 2560f64.sqrt(), attention: 0.0625, residual: 1.0, logits: 1.0 };
    assert_eq!(four.scales, scales);
    let full: Vec<usize> =
        (0..34).filter(|&layer| four.layer(layer) == (LayerKind::Full, None)).collect();
    assert_eq!(full, [5, 11, 17, 23, 29]);

    let window = ("attention.sliding_window", Meta::Integer(128));
    let small = gguf("gemma3", std::slice::from_ref(&window)).unwrap();
    assert_eq!((small.window, small.layers), (Some(128), vec![LayerKind::Sliding; 2]));
    assert_eq!(small.local_rope.unwrap().theta, 1e4);
    let layers = ("block_count", Meta::Integer(62));
    let large = gguf("gemma3", &[layers, window]).unwrap();
    // By the width of a token's vector for each head; here both are 16.
    assert_eq!(large.scales.attention, 0.25);
    for (key, value, reason) in [
        ("attention.sliding_window", Meta::Integer(0), "0 tokens"),
        ("attention.sliding_window", Meta::Float(0.5), "not usable"),
        ("final_logit_softcapping", Meta::Float(30.0), "caps its logits"),
    ] {
        let refused = gguf("gemma3", &[(key, value)]).unwrap_err();
        assert!(refused.contains(reason), "{refused}");
    }
}
