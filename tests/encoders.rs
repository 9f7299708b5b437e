//! The embedders that candle-transformers computes, against transformers' vectors.
//!
//! The models are small and random: `tests/fixtures/make_embedders.py` made them.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};

use inglenook::inference::embedder::EncoderEmbedder;
use inglenook::inference::{ModelKind, load_embedder, validate};
use inglenook::interfaces::{Embedder, ModelError};
use inglenook::memory::Embedding;
use serde_json::{Value, json};

const FAMILIES: [&str; 4] = ["distilbert", "modernbert", "nomic-bert", "xlm-roberta"];

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/embedders").join(name)
}

fn json_of(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Texts, and their vectors by transformers.
fn expected(name: &str) -> (Vec<String>, Vec<Embedding>) {
    let json = json_of(&fixture(name).join("expected.json"));
    let texts = json["texts"].as_array().unwrap().iter().map(|t| t.as_str().unwrap().to_owned());
    let vectors = json["vectors"].as_array().unwrap().iter().map(|vector| {
        let values = vector.as_array().unwrap().iter().map(|x| x.as_f64().unwrap() as f32);
        Embedding::normalise(values.collect()).unwrap()
    });
    (texts.collect(), vectors.collect())
}

#[test]
fn vectors_equal_transformers() {
    for name in FAMILIES {
        let embedder = load_embedder(&fixture(name), &|_| {}).unwrap();
        assert_eq!(embedder.dimensions(), 32);
        let (texts, vectors) = expected(name);
        let mut worst: f32 = 1.0;
        for (text, vector) in texts.iter().zip(&vectors) {
            worst = worst.min(embedder.embed(&[text]).unwrap()[0].cosine(vector));
        }
        println!("{name}: worst cosine {worst:.8}");
        assert!(worst > 0.9999, "{name}: cosine {worst}");
    }
}

#[test]
fn a_text_has_one_vector_whatever_its_company() {
    for name in FAMILIES {
        let embedder = load_embedder(&fixture(name), &|_| {}).unwrap();
        // Enough for several batches, of all lengths, so that most are padded.
        let sentence = "The ferry leaves at noon, and nobody knows why it is late. ";
        let texts: Vec<String> =
            (0..60).map(|n| sentence[..n % sentence.len()].repeat(1 + n % 3)).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let together = embedder.embed(&texts).unwrap();
        assert_eq!(together.len(), texts.len());
        for (text, vector) in texts.iter().zip(&together) {
            let alone = &embedder.embed(&[text]).unwrap()[0];
            assert!(alone.cosine(vector) > 0.999_999, "{name}: {text:?}");
        }
        assert!(embedder.embed(&[]).unwrap().is_empty());
    }
}

#[test]
fn texts_are_cut_at_the_models_limit() {
    for (name, limit) in
        [("distilbert", 48), ("modernbert", 128), ("nomic-bert", 128), ("xlm-roberta", 64)]
    {
        let embedder = EncoderEmbedder::from_files(&fixture(name)).unwrap();
        assert_eq!(embedder.tokens_max(), limit, "{name}");
        let long = "a ".repeat(5_000);
        let vectors = embedder.embed(&[&long, &long[..2_000]]).unwrap();
        assert!(vectors[0].cosine(&vectors[1]) > 0.999_999, "{name}");
    }
}

#[test]
fn headers_tell_an_embedder() {
    for name in FAMILIES {
        assert_eq!(validate(&fixture(name)).unwrap().kind, ModelKind::Embedder, "{name}");
    }
    let ids: Vec<String> =
        FAMILIES.map(|name| load_embedder(&fixture(name), &|_| {}).unwrap().id().to_owned()).into();
    assert!(ids.iter().zip(FAMILIES).all(|(id, name)| id.starts_with(&name[..4])), "{ids:?}");
}

#[test]
fn the_weights_file_may_have_another_name() {
    let folder = with_config("distilbert", &json!({}));
    let id = load_embedder(folder.path(), &|_| {}).unwrap().id().to_owned();
    let named = |name: &str| folder.path().join(name);
    fs::rename(named("model.safetensors"), named("model-00001-of-00001.safetensors")).unwrap();
    assert_eq!(load_embedder(folder.path(), &|_| {}).unwrap().id(), id);
}

/// A fixture's files with other values in its `config.json`; a null removes one.
fn with_config(name: &str, changes: &Value) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for file in ["tokenizer.json", "model.safetensors"] {
        fs::copy(fixture(name).join(file), copy.path().join(file)).unwrap();
    }
    let mut config = json_of(&fixture(name).join("config.json"));
    for (key, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => drop(config.as_object_mut().unwrap().remove(key)),
            value => config[key] = value.clone(),
        }
    }
    fs::write(copy.path().join("config.json"), config.to_string()).unwrap();
    copy
}

#[track_caller]
fn check_refused(name: &str, changes: &Value) {
    let folder = with_config(name, changes);
    match load_embedder(folder.path(), &|_| {}) {
        Ok(_) => panic!("{name} was accepted with {changes}"),
        Err(ModelError::BadFile { path, reason }) => {
            let named = path.contains(&*folder.path().to_string_lossy());
            assert!(named && !reason.is_empty() && !reason.contains('\n'), "{path}: {reason}");
        }
        Err(other) => panic!("{name} with {changes}: {other}"),
    }
}

#[test]
fn hostile_configurations_are_errors() {
    // Hidden size, layers, heads, feed-forward size, positions, vocabulary.
    let names = [
        ("distilbert", ["dim", "n_layers", "n_heads", "hidden_dim"]),
        ("nomic-bert", ["n_embd", "n_layer", "n_head", "n_inner"]),
        (
            "modernbert",
            ["hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size"],
        ),
        (
            "xlm-roberta",
            ["hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size"],
        ),
    ];
    for (name, keys) in names {
        let positions =
            if name == "nomic-bert" { "n_positions" } else { "max_position_embeddings" };
        for key in keys.into_iter().chain([positions, "vocab_size"]) {
            for value in [json!(0), json!(-1), json!(u64::MAX), json!(1u64 << 40), json!("x")] {
                check_refused(name, &json!({ key: value }));
            }
            // Within bounds, but not what the tensors are. Rotations have no tensor for positions.
            if key != positions || matches!(name, "distilbert" | "xlm-roberta") {
                check_refused(name, &json!({ key: 5 }));
            }
        }
        check_refused(name, &json!({ "model_type": "unheard-of" }));
        check_refused(name, &json!({ "pad_token_id": 4_000_000_000u32 }));
    }
    check_refused("distilbert", &json!({ "activation": "mish" }));
    check_refused("distilbert", &json!({ "dim": null }));
    check_refused("xlm-roberta", &json!({ "position_embedding_type": "relative_key" }));
    check_refused("xlm-roberta", &json!({ "type_vocab_size": 0 }));
    check_refused("xlm-roberta", &json!({ "hidden_act": "unheard-of" }));
    check_refused("modernbert", &json!({ "attention_bias": true }));
    check_refused("modernbert", &json!({ "norm_bias": true }));
    check_refused("modernbert", &json!({ "hidden_activation": "relu" }));
    check_refused("modernbert", &json!({ "local_attention": 0 }));
    check_refused("modernbert", &json!({ "global_attn_every_n_layers": 0 }));
    check_refused("modernbert", &json!({ "global_rope_theta": -1.0 }));
    check_refused("nomic-bert", &json!({ "activation_function": "gelu" }));
    check_refused("nomic-bert", &json!({ "rotary_emb_fraction": 0.5 }));
    check_refused("nomic-bert", &json!({ "rotary_scaling_factor": 2.0 }));
    check_refused("nomic-bert", &json!({ "num_experts": 8 }));
    check_refused("nomic-bert", &json!({ "qkv_proj_bias": true }));
    check_refused("nomic-bert", &json!({ "type_vocab_size": 1u64 << 50 }));
}

#[test]
fn damaged_weights_are_errors() {
    for name in FAMILIES {
        let whole = fs::read(fixture(name).join("model.safetensors")).unwrap();
        for length in [0, 7, 100, 2_000, whole.len() / 2, whole.len() - 1] {
            let folder = with_config(name, &json!({}));
            fs::write(folder.path().join("model.safetensors"), &whole[..length]).unwrap();
            let refused = load_embedder(folder.path(), &|_| {});
            assert!(matches!(refused, Err(ModelError::BadFile { .. })), "{name}, {length}");
        }
        // A tensor by another name is one that is missing.
        let text = "weight\":{";
        for (at, _) in whole.windows(text.len()).enumerate().filter(|(_, w)| *w == text.as_bytes())
        {
            let mut renamed = whole.clone();
            renamed[at] = b'W';
            let folder = with_config(name, &json!({}));
            fs::write(folder.path().join("model.safetensors"), renamed).unwrap();
            assert!(load_embedder(folder.path(), &|_| {}).is_err(), "{name}, byte {at}");
        }
    }
}

#[test]
fn weights_that_are_not_numbers_are_noticed() {
    for name in FAMILIES {
        let mut bytes = fs::read(fixture(name).join("model.safetensors")).unwrap();
        let half = bytes.len() / 2;
        bytes[half..].fill(0xff);
        let folder = with_config(name, &json!({}));
        fs::write(folder.path().join("model.safetensors"), bytes).unwrap();
        let embedder = load_embedder(folder.path(), &|_| {}).unwrap();
        assert!(matches!(embedder.embed(&["a"]), Err(ModelError::NotANumber)), "{name}");
    }
}
