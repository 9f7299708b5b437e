//! The decoder against candle-transformers' own models: the same weights, computed by code that shares nothing
//! with ours. One pass only: candle's models of this version are wrong after a second prefill.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

use std::path::{Path, PathBuf};

use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::{llama, qwen2, qwen3};
use inglenook::inference::probe;
use serde_json::Value;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/models").join(name)
}

/// The model's configuration as candle spells it: transformers 4's, with every key.
fn config(name: &str) -> Value {
    let text = std::fs::read_to_string(fixture(name).join("config.json")).unwrap();
    let mut config: Value = serde_json::from_str(&text).unwrap();
    let map = config.as_object_mut().unwrap();
    if let Some(parameters) = map.remove("rope_parameters") {
        map.insert("rope_theta".into(), parameters["rope_theta"].clone());
        if parameters["rope_type"] != "default" {
            map.insert("rope_scaling".into(), parameters);
        }
    }
    for (key, value) in [
        ("rope_theta", Value::from(10_000.0)),
        ("attention_bias", Value::from(false)),
        ("sliding_window", Value::from(512)),
        ("max_window_layers", Value::from(2)),
        ("use_sliding_window", Value::from(false)),
        ("head_dim", Value::from(16)),
    ] {
        map.entry(key).or_insert(value);
    }
    config
}

fn tensors(name: &str) -> VarBuilder<'static> {
    let mut tensors = std::collections::HashMap::new();
    for entry in std::fs::read_dir(fixture(name)).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "safetensors") {
            tensors.extend(candle_core::safetensors::load(path, &Device::Cpu).unwrap());
        }
    }
    VarBuilder::from_tensors(tensors, DType::F32, &Device::Cpu)
}

/// The last token's logits, by candle-transformers.
fn reference(name: &str, tokens: &[u32]) -> Vec<f32> {
    let (config, tensors) = (config(name), tensors(name));
    let input = Tensor::new(tokens, &Device::Cpu).unwrap().unsqueeze(0).unwrap();
    let logits = match config["model_type"].as_str().unwrap() {
        "llama" => {
            let config: llama::LlamaConfig = serde_json::from_value(config).unwrap();
            let config = config.into_config(false);
            let mut cache = llama::Cache::new(false, DType::F32, &config, &Device::Cpu).unwrap();
            let model = llama::Llama::load(tensors, &config).unwrap();
            model.forward(&input, 0, &mut cache).unwrap()
        }
        "qwen2" => {
            let config: qwen2::Config = serde_json::from_value(config).unwrap();
            let mut model = qwen2::ModelForCausalLM::new(&config, tensors).unwrap();
            model.forward(&input, 0).unwrap()
        }
        "qwen3" => {
            let config: qwen3::Config = serde_json::from_value(config).unwrap();
            let mut model = qwen3::ModelForCausalLM::new(&config, tensors).unwrap();
            model.forward(&input, 0).unwrap()
        }
        other => panic!("{other}"),
    };
    logits.flatten_all().unwrap().to_vec1().unwrap()
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
    };
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

fn argmax(row: &[f32]) -> usize {
    (0..row.len()).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap()
}

#[test]
fn logits_equal_candle_transformers() {
    for name in ["llama-tied", "llama3-rope", "qwen2", "qwen3"] {
        let tokens: Vec<u32> = (0..150).map(|i| (i * 97 + 13) % 263).collect();
        let ours = probe(&fixture(name), &tokens).unwrap();
        let mut worst: f64 = 1.0;
        for n in [1, 2, 7, 64, 150] {
            let theirs = reference(name, &tokens[..n]);
            worst = worst.min(cosine(&ours[n - 1], &theirs));
            assert_eq!(argmax(&ours[n - 1]), argmax(&theirs), "{name}, {n} tokens");
        }
        println!("{name}: worst cosine {worst:.8}");
        assert!(worst > 0.9999, "{name}: cosine {worst}");
    }
}
