//! The embedders against the vectors of the reference implementation.

#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use inglenook::inference::embedder::{self, EncoderEmbedder};
use inglenook::inference::weights::{Bytes, Weights};
use inglenook::interfaces::{Embedder, ModelError};
use inglenook::memory::Embedding;
use inglenook::testing::{shared, skip};
use serde_json::Value;

/// MiniLM's directory, fetched once; None (with the reason printed) if it can't be had.
fn minilm() -> Option<PathBuf> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/fetch-minilm.sh");
    let output = Command::new(script).output().unwrap();
    if !output.status.success() {
        skip(&format!("MiniLM is not here: {}", String::from_utf8_lossy(&output.stderr)));
        return None;
    }
    Some(PathBuf::from(String::from_utf8(output.stdout).unwrap().trim()))
}

fn memories() -> Option<PathBuf> {
    shared("data/locomo-dev-memories")
}

/// Rows of a two-dimensional little-endian f32 `.npy` file.
fn read_npy(path: &Path) -> Vec<Embedding> {
    let bytes = std::fs::read(path).unwrap();
    let header_len = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let header = str::from_utf8(&bytes[10..10 + header_len]).unwrap();
    assert!(header.contains("'<f4'") && header.contains("'fortran_order': False"), "{header}");
    let values: Vec<f32> = bytes[10 + header_len..]
        .as_chunks::<4>()
        .0
        .iter()
        .map(|&b| f32::from_le_bytes(b))
        .collect();
    values.chunks_exact(384).map(|row| Embedding::normalise(row.to_vec()).unwrap()).collect()
}

fn contents(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let row = |line: &str| serde_json::from_str::<Value>(line).unwrap();
    text.lines().map(|line| row(line)["content"].as_str().unwrap().to_owned()).collect()
}

fn questions(path: &Path) -> Vec<Value> {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn embed(embedder: &dyn Embedder, texts: &[String]) -> Vec<Embedding> {
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    embedder.embed(&texts).unwrap()
}

#[track_caller]
fn check_equal(what: &str, vectors: &[Embedding], reference: &[Embedding]) {
    assert_eq!(vectors.len(), reference.len());
    for (i, (a, b)) in vectors.iter().zip(reference).enumerate() {
        let cosine = a.cosine(b);
        assert!(cosine > 0.999, "{what} {i}: cosine {cosine}");
    }
}

#[test]
fn minilm_equals_its_reference_vectors() {
    let (Some(minilm), Some(memories)) = (minilm(), memories()) else { return };
    let embedder = EncoderEmbedder::from_files(&minilm).unwrap();
    assert_eq!(embedder.dimensions(), 384);
    assert_eq!(embedder.tokens_max(), 256);
    for user in ["Caroline_0", "Jon_1"] {
        let folder = memories.join(user);
        let semantics = contents(&folder.join("semantics.jsonl"));
        let vectors = embed(&embedder, &semantics);
        check_equal("semantic", &vectors, &read_npy(&folder.join("semantics.f32.npy")));
        // Longer texts, some over the model's limit.
        let episodes = contents(&folder.join("episodes.jsonl"));
        let vectors = embed(&embedder, &episodes);
        check_equal("episode", &vectors, &read_npy(&folder.join("episodes.f32.npy")));
    }
}

#[test]
fn a_text_has_one_vector_whatever_its_company() {
    let Some(minilm) = minilm() else { return };
    let embedder = embedder::load(&minilm, &|_| {}).unwrap();
    let long = "The ferry leaves at noon. ".repeat(400);
    let texts =
        ["", "a", "[CLS] [SEP] [MASK]", "Ana moved to Lund.", &long, "🙂", "\u{0}\u{1b}[31m"];
    let together = embedder.embed(&texts).unwrap();
    for (text, vector) in texts.iter().zip(&together) {
        let alone = &embedder.embed(&[text]).unwrap()[0];
        assert!(alone.cosine(vector) > 0.999_99, "{text:?}");
    }
    assert!(embedder.embed(&[]).unwrap().is_empty());
}

/// MiniLM's files with other words in the small ones beside the weights.
fn with_settings(minilm: &Path, settings: &[(&str, &str)]) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for file in ["config.json", "tokenizer.json", "model.safetensors"] {
        std::fs::copy(minilm.join(file), copy.path().join(file)).unwrap();
    }
    for (file, text) in settings {
        let path = copy.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    copy
}

#[test]
fn pooling_length_and_prompt_are_the_models_own() {
    let Some(minilm) = minilm() else { return };
    let text = "Ana moved to Lund last week.";
    let mean = embedder::load(&minilm, &|_| {}).unwrap();

    let pooling = r#"{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}"#;
    let folder = with_settings(&minilm, &[("1_Pooling/config.json", pooling)]);
    let cls = embedder::load(folder.path(), &|_| {}).unwrap();
    // By transformers: the first token's last hidden state, at unit length.
    let reference =
        [-0.004_02, -0.064_461, 0.015_278, 0.081_134, 0.013_076, 0.047_288, 0.014_193, 0.011_739];
    let vector = &cls.embed(&[text]).unwrap()[0];
    for (value, expected) in vector.as_slice().iter().zip(reference) {
        // Products are rounded to bf16 where the processor has a tile unit.
        assert!((value - expected).abs() < 1e-3, "{value} {expected}");
    }
    assert_ne!(cls.id(), mean.id(), "vectors of the two must never be compared");

    let prompts =
        r#"{"prompts": {"query": "query: ", "other": "x"}, "default_prompt_name": "query"}"#;
    let length = r#"{"max_seq_length": 6}"#;
    let folder = with_settings(
        &minilm,
        &[("config_sentence_transformers.json", prompts), ("sentence_bert_config.json", length)],
    );
    let prompted = embedder::load(folder.path(), &|_| {}).unwrap();
    // [CLS] query : ana moved [SEP]
    let expected = &mean.embed(&["query: Ana moved"]).unwrap()[0];
    assert!(prompted.embed(&[text]).unwrap()[0].cosine(expected) > 0.999_99);
    assert_ne!(prompted.id(), mean.id());

    let odd = with_settings(
        &minilm,
        &[("1_Pooling/config.json", r#"{"pooling_mode_max_tokens": true}"#)],
    );
    assert!(embedder::load(odd.path(), &|_| {}).is_err());
}

/// The built-in embedder's file, cut short or with impossible numbers.
#[test]
fn damaged_gguf_embedders_are_errors() {
    let whole = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/starter/embedder.gguf");
    let bytes: &'static [u8] = std::fs::read(&whole).unwrap().leak();
    let from_bytes = |bytes| EncoderEmbedder::from_gguf(&Weights::from_bytes(&whole, bytes)?);
    for length in [0, 3, 4, 23, 24, 100, 5_000, 300_000, 600_000, 1_000_000, bytes.len() - 1] {
        assert!(from_bytes(Bytes::Static(&bytes[..length])).is_err());
    }
    let key = b"bert.attention.head_count";
    let at = bytes.windows(key.len()).position(|window| window == key).unwrap() + key.len() + 4;
    for count in [0u32, 7, u32::MAX] {
        let mut changed = bytes.to_vec();
        changed[at..at + 4].copy_from_slice(&count.to_le_bytes());
        assert!(from_bytes(Bytes::Static(changed.leak())).is_err());
    }
}

#[test]
fn damaged_models_are_errors_that_name_the_file() {
    let Some(minilm) = minilm() else { return };
    let break_it = |name: &str, change: &dyn Fn(Vec<u8>) -> Vec<u8>| {
        let copy = tempfile::tempdir().unwrap();
        for file in
            ["config.json", "tokenizer.json", "model.safetensors", "sentence_bert_config.json"]
        {
            let bytes = std::fs::read(minilm.join(file)).unwrap();
            let bytes = if file == name { change(bytes) } else { bytes };
            std::fs::write(copy.path().join(file), bytes).unwrap();
        }
        match embedder::load(copy.path(), &|_| {}) {
            Ok(_) => panic!("accepted a broken {name}"),
            Err(ModelError::BadFile { path, reason }) => {
                assert!(!reason.is_empty() && path.contains(&*copy.path().to_string_lossy()));
            }
            Err(other) => panic!("{other}"),
        }
    };
    let replace = |from: &'static str, to: &'static str| {
        move |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().replace(from, to).into_bytes()
    };
    break_it("config.json", &|_| b"{".to_vec());
    break_it("config.json", &replace("\"bert\"", "\"roberta\""));
    break_it("config.json", &replace("\"hidden_size\": 384", "\"hidden_size\": 383"));
    break_it("config.json", &replace("\"num_hidden_layers\": 6", "\"num_hidden_layers\": 7"));
    break_it("config.json", &replace("30522", "30000"));
    break_it("tokenizer.json", &|bytes| bytes[..bytes.len() / 2].to_vec());
    break_it("model.safetensors", &|bytes| bytes[..bytes.len() / 2].to_vec());
    break_it("model.safetensors", &|_| Vec::new());
}

/// Mean share of a question's evidence messages that its ten nearest semantics cover
///, over the five development conversations.
fn evidence_recall_at_10(embedder: &dyn Embedder, memories: &Path) -> (f64, usize) {
    let (mut total, mut n) = (0.0, 0);
    for user in ["Caroline_0", "Jon_1", "Tim_4", "James_6", "Calvin_9"] {
        let folder = memories.join(user);
        let rows = std::fs::read_to_string(folder.join("semantics.jsonl")).unwrap();
        let rows: Vec<Value> = rows.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        let semantics = embed(embedder, &contents(&folder.join("semantics.jsonl")));
        let questions = questions(&folder.join("qa.json"));
        let texts: Vec<String> =
            questions.iter().map(|q| q["question"].as_str().unwrap().to_owned()).collect();
        for (question, vector) in questions.iter().zip(embed(embedder, &texts)) {
            if !(1..=4).contains(&question["category"].as_u64().unwrap()) {
                continue;
            }
            let evidence: Vec<&str> = question["evidence"]
                .as_array()
                .unwrap()
                .iter()
                .filter_map(Value::as_str)
                .filter(|id| is_message_id(id))
                .collect();
            if evidence.is_empty() {
                continue;
            }
            let mut order: Vec<usize> = (0..semantics.len()).collect();
            order.sort_by(|&a, &b| {
                vector.cosine(&semantics[b]).total_cmp(&vector.cosine(&semantics[a]))
            });
            let covered = |id: &&&str| {
                order[..10].iter().any(|&i| {
                    rows[i]["evidence"].as_array().unwrap().iter().any(|e| e.as_str() == Some(id))
                })
            };
            total += evidence.iter().filter(covered).count() as f64 / evidence.len() as f64;
            n += 1;
        }
    }
    (total / f64::from(n), n as usize)
}

/// `D3:14`
fn is_message_id(id: &str) -> bool {
    id.strip_prefix('D').and_then(|id| id.split_once(':')).is_some_and(|(session, message)| {
        session.parse::<u32>().is_ok() && message.parse::<u32>().is_ok()
    })
}

/// Milliseconds for 32 sentences of about 30 tokens, best of five.
fn speed_ms(embedder: &dyn Embedder) -> f64 {
    let text = "Ana said that she had moved to a small flat near the harbour in Lund with her \
                sister and an old dog, and that the train to work takes forty minutes.";
    let texts = [text; 32];
    embedder.embed(&texts).unwrap();
    (0..5)
        .map(|_| {
            let start = Instant::now();
            embedder.embed(&texts).unwrap();
            start.elapsed().as_secs_f64() * 1e3
        })
        .fold(f64::INFINITY, f64::min)
}

/// The card's figures: what the built-in embedder keeps of MiniLM's quality, and how fast it is.
#[cfg(feature = "starter")]
#[test]
fn the_built_in_embedder_finds_nearly_as_much_as_minilm() {
    let start = Instant::now();
    let small = inglenook::inference::starter::embedder(&|_| {}).unwrap();
    eprintln!("the built-in embedder loads in {:?}", start.elapsed());
    let (Some(minilm), Some(memories)) = (minilm(), memories()) else { return };
    let minilm = embedder::load(&minilm, &|_| {}).unwrap();
    let (full, n) = evidence_recall_at_10(&*minilm, &memories);
    let (kept, _) = evidence_recall_at_10(&*small, &memories);
    let (slow, fast) = (speed_ms(&*minilm), speed_ms(&*small));
    eprintln!(
        "evidence recall@10 over {n} questions: MiniLM {full:.4}, built in {kept:.4} ({:.4}x); \
         32 sentences: {slow:.1} ms, {fast:.1} ms ({:.2}x)",
        kept / full,
        slow / fast
    );
    assert!(kept >= 0.97 * full, "{kept:.4} of {full:.4}");
    assert_ne!(small.id(), minilm.id());
}
