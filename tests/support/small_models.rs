//! Small random models and the logits that transformers computes with them: `tests/fixtures/make_models.py` made them.

#![allow(dead_code, reason = "each test takes what it needs")]

use std::fs;
use std::path::{Path, PathBuf};

pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/models").join(name)
}

/// The model of a fixture: the directory itself, or the GGUF file in it.
pub fn model_path(name: &str) -> PathBuf {
    let gguf = fixture(name).join("model.gguf");
    if gguf.is_file() { gguf } else { fixture(name) }
}

pub struct Expected {
    pub tokens: Vec<u32>,
    pub rows: Vec<usize>,
    pub logits: Vec<Vec<f32>>,
}

pub fn expected(name: &str) -> Expected {
    let text = fs::read_to_string(fixture(name).join("expected.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let numbers = |key: &str| -> Vec<u64> {
        json[key].as_array().unwrap().iter().map(|v| v.as_u64().unwrap()).collect()
    };
    let vocabulary = json["vocabulary"].as_u64().unwrap() as usize;
    let bytes = fs::read(fixture(name).join("logits.bin")).unwrap();
    let values: Vec<f32> =
        bytes.as_chunks::<4>().0.iter().map(|&b| f32::from_le_bytes(b)).collect();
    Expected {
        tokens: numbers("tokens").into_iter().map(|t| t as u32).collect(),
        rows: numbers("rows").into_iter().map(|r| r as usize).collect(),
        logits: values.chunks(vocabulary).map(<[f32]>::to_vec).collect(),
    }
}

pub fn argmax(row: &[f32]) -> usize {
    (0..row.len()).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap()
}

pub fn largest_difference(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

pub fn log_softmax(row: &[f32]) -> Vec<f64> {
    let total: f64 = row.iter().map(|&x| f64::from(x).exp()).sum();
    row.iter().map(|&x| f64::from(x) - total.ln()).collect()
}
