//! Damaged and malicious model files give an error that names the file and the reason: never a
//! panic, never memory beyond a small multiple of the file size.

#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "inference_hostile/families.rs"]
mod families;

use std::fs;
use std::path::{Path, PathBuf};

use inglenook::inference::config::DecoderConfig;
use inglenook::inference::decoder::Decoder;
use inglenook::inference::sequence::Sequence;
use inglenook::inference::weights::{Bytes, Weights};
use inglenook::inference::{ModelKind, gguf, load_language, probe, safetensors, validate};
use inglenook::interfaces::ModelError;
use proptest::prelude::*;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/models").join(name)
}

/// A GGUF file built by hand.
#[derive(Clone, Default)]
struct Gguf {
    values: Vec<u8>,
    n_values: u64,
    tensors: Vec<u8>,
    n_tensors: u64,
    data: Vec<u8>,
}

impl Gguf {
    fn string(out: &mut Vec<u8>, text: &str) {
        out.extend((text.len() as u64).to_le_bytes());
        out.extend(text.as_bytes());
    }

    fn value(mut self, key: &str, kind: u32, bytes: &[u8]) -> Self {
        Self::string(&mut self.values, key);
        self.values.extend(kind.to_le_bytes());
        self.values.extend(bytes);
        self.n_values += 1;
        self
    }

    fn text(self, key: &str, text: &str) -> Self {
        let mut bytes = Vec::new();
        Self::string(&mut bytes, text);
        self.value(key, 8, &bytes)
    }

    fn tensor(mut self, name: &str, dims: &[u64], kind: u32, offset: u64) -> Self {
        Self::string(&mut self.tensors, name);
        self.tensors.extend((dims.len() as u32).to_le_bytes());
        for d in dims {
            self.tensors.extend(d.to_le_bytes());
        }
        self.tensors.extend(kind.to_le_bytes());
        self.tensors.extend(offset.to_le_bytes());
        self.n_tensors += 1;
        self
    }

    fn data(mut self, n: usize) -> Self {
        self.data = vec![0; n];
        self
    }

    fn build(&self) -> Vec<u8> {
        let mut out = b"GGUF\x03\0\0\0".to_vec();
        out.extend(self.n_tensors.to_le_bytes());
        out.extend(self.n_values.to_le_bytes());
        out.extend(&self.values);
        out.extend(&self.tensors);
        out.resize(out.len().next_multiple_of(32), 0);
        out.extend(&self.data);
        out
    }
}

#[track_caller]
fn refuses_gguf(bytes: &[u8], because: &str) {
    let reason = gguf::parse(bytes).unwrap_err();
    assert!(reason.contains(because), "{reason:?} instead of {because:?}");
}

#[test]
fn false_gguf_headers_are_refused() {
    let file = Gguf::default;
    // 57 bytes; candle 0.11's reader divides by zero here.
    let alignment = file().value("general.alignment", 4, &0u32.to_le_bytes());
    assert_eq!(8 + 16 + 8 + 17 + 4 + 4, 57);
    refuses_gguf(&alignment.build()[..57], "`general.alignment` is 0");
    for alignment in [3u32, 1 << 20, u32::MAX] {
        let odd = file().value("general.alignment", 4, &alignment.to_le_bytes());
        refuses_gguf(&odd.build(), "`general.alignment` is");
    }
    refuses_gguf(&file().text("general.alignment", "32").build(), "not an integer");

    let huge = file().tensor("token_embd.weight", &[1 << 40, 1 << 40], 0, 0);
    refuses_gguf(&huge.build(), "impossible dimensions");
    refuses_gguf(&file().tensor("a", &[1 << 30], 0, 0).data(64).build(), "outside the file");
    refuses_gguf(&file().tensor("a", &[8], 0, u64::MAX - 31).data(64).build(), "outside the file");
    refuses_gguf(&file().tensor("a", &[8], 0, 8).data(64).build(), "multiple of the alignment");
    refuses_gguf(&file().tensor("a", &[0, 8], 0, 0).data(64).build(), "impossible dimensions");
    refuses_gguf(&file().tensor("a", &[], 0, 0).data(64).build(), "0 dimensions");
    refuses_gguf(&file().tensor("a", &[1; 9], 0, 0).data(64).build(), "9 dimensions");
    refuses_gguf(&file().tensor("a", &[33], 8, 0).data(64).build(), "rows of 33 values");
    refuses_gguf(&file().tensor("a", &[256], 18, 0).data(256).build(), "IQ3_XXS");
    refuses_gguf(&file().tensor("a", &[256], 999, 0).data(256).build(), "number 999");
    let twice = file().tensor("a", &[8], 0, 0).tensor("a", &[8], 0, 32).data(64);
    refuses_gguf(&twice.build(), "\"a\" occurs twice");
    let shared = file().tensor("a", &[16], 0, 0).tensor("b", &[8], 0, 32).data(64);
    refuses_gguf(&shared.build(), "\"a\" and \"b\" overlap");

    refuses_gguf(&file().text("k", "v").text("k", "w").build(), "\"k\" occurs twice");
    refuses_gguf(&file().value("k", 8, &u64::MAX.to_le_bytes()).build(), "too long");
    refuses_gguf(&file().value("k", 8, &1000u64.to_le_bytes()).build(), "cut off");
    refuses_gguf(&file().value("k", 77, &[]).build(), "unknown type 77");
    refuses_gguf(&file().value("k", 7, &[2]).build(), "not a truth value");
    let array = |kind: u32, n: u64| [&kind.to_le_bytes()[..], &n.to_le_bytes()].concat();
    refuses_gguf(&file().value("k", 9, &array(4, u64::MAX)).build(), "claims");
    refuses_gguf(&file().value("k", 9, &array(4, 1 << 20)).build(), "cut off");
    let nested: Vec<u8> = (0..1000).flat_map(|_| array(9, 1)).collect();
    refuses_gguf(&file().value("k", 9, &nested).build(), "nested too deeply");

    refuses_gguf(b"GGUF", "cut off");
    refuses_gguf(b"GGML\x03\0\0\0", "not a GGUF file");
    refuses_gguf(b"GGUF\x01\0\0\0", "version 1");
    refuses_gguf(b"GGUF\0\0\0\x03", "big-endian");
    refuses_gguf(b"GGUF\x63\0\0\0", "version 99");
    let mut counts = file().build();
    counts[8..16].copy_from_slice(&u64::MAX.to_le_bytes());
    refuses_gguf(&counts, "claims 18446744073709551615 tensors");
}

/// Each array is allowed; together they would take gigabytes.
#[test]
fn metadata_is_bounded_by_the_memory_it_takes() {
    const N: u64 = 3_000_000;
    let mut array = 8_u32.to_le_bytes().to_vec();
    array.extend(N.to_le_bytes());
    array.resize(array.len() + 8 * N as usize, 0);
    let one = Gguf::default().value("a", 9, &array);
    assert!(gguf::parse(&one.build()).is_ok());
    refuses_gguf(&one.value("b", 9, &array).build(), "more than 128 MB");
}

/// Each expert is a matrix of its own: four bytes of a file could ask for a hundred of memory.
#[test]
fn no_file_is_of_too_many_experts() {
    let weights = |n: u64| {
        let tensor =
            |file: Gguf, i| file.tensor(&format!("{i}_exps.weight"), &[1, 1, 1024], 0, i << 12);
        let file = (0..n).fold(Gguf::default().data((n << 12) as usize), tensor).build();
        Weights::from_bytes(Path::new("x"), Bytes::Owned(file)).map_err(|e| e.to_string())
    };
    assert!(weights(128).is_ok() && weights(129).err().unwrap().contains("132096 matrices"));
}

/// Names in a file reach the screen without escape sequences.
#[test]
fn names_in_messages_hold_no_control_characters() {
    let file = Gguf::default().tensor("\x1b]0;owned\x07", &[1 << 30], 0, 0);
    let reason = gguf::parse(&file.build()).unwrap_err();
    assert!(!reason.chars().any(char::is_control), "{reason:?}");
    let file = Gguf::default().value("\x1b[2J", 8, &1000u64.to_le_bytes());
    let reason = gguf::parse(&file.build()).unwrap_err();
    assert!(!reason.chars().any(char::is_control), "{reason:?}");
}

fn safetensors_file(header: &str, n_data: usize) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &vec![0; n_data]].concat()
}

#[track_caller]
fn refuses_safetensors(bytes: &[u8], because: &str) {
    let reason = safetensors::parse(bytes).unwrap_err();
    assert!(reason.contains(because), "{reason:?} instead of {because:?}");
}

#[test]
fn false_safetensors_headers_are_refused() {
    refuses_safetensors(b"abc", "too short");
    refuses_safetensors(&u64::MAX.to_le_bytes(), "claims 18446744073709551615 bytes");
    // As JSON it would take gigabytes.
    refuses_safetensors(&(5u64 << 20).to_le_bytes(), "at most 4194304 are allowed");
    refuses_safetensors(&1000u64.to_le_bytes(), "only 0 follow");
    refuses_safetensors(&safetensors_file("{", 0), "not valid JSON");
    refuses_safetensors(&safetensors_file("[1]", 0), "not valid JSON");
    refuses_safetensors(&safetensors_file(&"[".repeat(100_000), 0), "not valid JSON");
    let one = |dtype: &str, shape: &str, offsets: &str, n_data| {
        let header =
            format!(r#"{{"a":{{"dtype":"{dtype}","shape":{shape},"data_offsets":{offsets}}}}}"#);
        safetensors_file(&header, n_data)
    };
    assert!(safetensors::parse(&one("F32", "[2,2]", "[0,16]", 16)).is_ok());
    refuses_safetensors(&one("F32", "[2,2]", "[0,16]", 15), "outside the file");
    refuses_safetensors(&one("F32", "[2,2]", "[0,16]", 17), "1 bytes at its end");
    refuses_safetensors(&one("F32", "[2,2]", "[16,0]", 16), "outside the file");
    refuses_safetensors(&one("F32", "[2,2]", "[4,20]", 20), "leaves a hole");
    refuses_safetensors(&one("F32", "[2,3]", "[0,16]", 16), "needs 24");
    refuses_safetensors(&one("F32", "[-1]", "[0,16]", 16), "no valid shape");
    refuses_safetensors(&one("F32", "[1e30]", "[0,16]", 16), "no valid shape");
    refuses_safetensors(&one("F32", "[4294967296,4294967296]", "[0,16]", 16), "impossible");
    refuses_safetensors(&one("F99", "[4]", "[0,16]", 16), "unknown type");
    refuses_safetensors(&one("F32", "[4]", "[0]", 16), "no valid data_offsets");
    let overlap = r#"{"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},
                      "b":{"dtype":"U8","shape":[8],"data_offsets":[4,12]}}"#;
    refuses_safetensors(&safetensors_file(overlap, 12), "overlaps");
}

/// Cut at every length: refused wherever a part of a tensor is missing.
#[test]
fn every_truncation_is_refused() {
    let bytes = fs::read(fixture("llama-q4_0-gguf/model.gguf")).unwrap();
    let header = gguf::parse(&bytes).unwrap();
    let end = header.tensors.iter().map(|t| t.start + t.n_bytes).max().unwrap();
    for n in 0..end {
        assert!(gguf::parse(&bytes[..n]).is_err(), "{n} of {end} bytes");
    }
    let bytes = fs::read(fixture("llama3-rope/model-00001-of-00002.safetensors")).unwrap();
    for n in 0..bytes.len() {
        assert!(safetensors::parse(&bytes[..n]).is_err(), "{n} of {} bytes", bytes.len());
    }
}

/// Loads and runs the model, as far as that works.
fn try_to_run(bytes: Vec<u8>) -> Result<Vec<f32>, ModelError> {
    let weights = Weights::from_bytes(Path::new("hostile.gguf"), Bytes::Owned(bytes))?;
    let config = DecoderConfig::from_gguf(weights.metadata()).map_err(|r| weights.bad(r))?;
    let decoder = Decoder::load(config, &weights, &candle_core::Device::Cpu, &|_| {})?;
    let mut sequence = Sequence::default();
    sequence.extend(&decoder, &[1, 2, 3], 0..0, &mut |_, _| {}, &mut || {})?;
    sequence.last_logits(&decoder, &mut || {})
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() })]

    /// Changed bytes in the header (about 1.7 kB) and in the weights.
    #[test]
    fn flipped_bytes_never_panic(
        flips in prop::collection::vec((0usize..2400, any::<u8>()), 1..6),
        deep in prop::collection::vec((0usize..40_000, any::<u8>()), 0..3),
        name in prop::sample::select(vec![
            "llama-q4_0-gguf", "qwen2-q8_0-gguf", "gemma3-f16-gguf", "gemma4-f16-gguf", "glm4-f16-gguf", "phi3-f16-gguf", "mistral3-f16-gguf",
            "granite-f16-gguf", "lfm2-f16-gguf", "qwen3-moe-f16-gguf", "qwen35-f16-gguf",
        ]),
    ) {
        let mut bytes = fs::read(fixture(name).join("model.gguf")).unwrap();
        for (at, byte) in flips.into_iter().chain(deep) {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        if let Ok(logits) = try_to_run(bytes) {
            prop_assert!(logits.iter().all(|l| l.is_finite()));
        }
    }

    #[test]
    fn noise_is_no_model(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(safetensors::parse(&bytes).is_err());
        let headed = [b"GGUF\x03\0\0\0".as_slice(), &bytes].concat();
        let _ = gguf::parse(&headed);
    }

    #[test]
    fn damaged_configurations_never_panic(
        at in 0usize..900, with in "[0-9eE\\-\\.\"\\[\\]{}a-z]{0,6}", n in 0usize..4,
        name in prop::sample::select(vec![
            "llama3-rope", "gemma3", "gemma4", "gemma4-large", "glm4", "phi3", "ministral3", "granite4", "lfm2", "smollm3",
            "qwen3-moe", "qwen35",
        ]),
    ) {
        let text = fs::read_to_string(fixture(name).join("config.json")).unwrap();
        let at = at.min(text.len());
        let damaged = format!("{}{with}{}", &text[..at], &text[(at + n).min(text.len())..]);
        let _ = DecoderConfig::from_json(&damaged);
    }
}

#[track_caller]
fn refuses_config(change: impl FnOnce(&mut serde_json::Value), because: &str) {
    refuses_config_of("qwen3", change, because);
}

#[track_caller]
fn refuses_config_of(name: &str, change: impl FnOnce(&mut serde_json::Value), because: &str) {
    let text = fs::read_to_string(fixture(name).join("config.json")).unwrap();
    let mut json: serde_json::Value = serde_json::from_str(&text).unwrap();
    change(&mut json);
    let reason = DecoderConfig::from_json(&json.to_string()).unwrap_err();
    assert!(reason.contains(because), "{reason:?} instead of {because:?}");
}

#[test]
fn unsupported_models_are_refused_with_a_reason() {
    for name in ["MambaForCausalLM", "Qwen3_5MoeForConditionalGeneration"] {
        let because = format!("`{name}`, which is not supported");
        refuses_config(|c| c["architectures"][0] = name.into(), &because);
    }
    refuses_config(|c| c["layer_types"][1] = "linear_attention".into(), "`linear_attention`");
    refuses_config(|c| c["layer_types"][1] = "conv".into(), "by a convolution");
    refuses_config(|c| c["rope_parameters"]["rope_type"] = "dynamic".into(), "`dynamic`");
    refuses_config(|c| c["hidden_act"] = "gelu".into(), "\"gelu\"");
    refuses_config(|c| c["quantization_config"] = serde_json::json!({}), "use a GGUF file");
    refuses_config(|c| c["num_attention_heads"] = 0.into(), "attention heads 0");
    refuses_config(|c| c["num_attention_heads"] = 3.into(), "share 2 key-value heads");
    refuses_config(|c| c["head_dim"] = 33.into(), "odd");
    refuses_config(|c| c["hidden_size"] = u64::MAX.into(), "hidden size");
    refuses_config(|c| c["rope_parameters"]["rope_theta"] = 0.into(), "rope parameters");
}

fn bad_file(error: ModelError) -> (String, String) {
    match error {
        ModelError::BadFile { path, reason } => (path, reason),
        other => panic!("{other}"),
    }
}

#[test]
fn errors_name_the_file_and_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::write(at("text.gguf"), "hello").unwrap();
    let (path, reason) = bad_file(validate(&at("text.gguf")).unwrap_err());
    assert!(path.ends_with("text.gguf") && reason.contains("not a GGUF file"), "{reason}");

    let (_, reason) = bad_file(validate(&at("absent.gguf")).unwrap_err());
    assert_eq!(reason, "there is no such file");
    let (_, reason) =
        bad_file(validate(directory.path().join("text.gguf/x").as_path()).unwrap_err());
    assert!(reason.contains("can't be read"), "{reason}");
    fs::write(at("empty.gguf"), "").unwrap();
    bad_file(validate(&at("empty.gguf")).unwrap_err());
    fs::create_dir(at("nothing")).unwrap();
    let (_, reason) = bad_file(validate(&at("nothing")).unwrap_err());
    assert!(reason.contains("neither a config.json nor a GGUF file"));

    let mamba = Gguf::default().text("general.architecture", "mamba").build();
    fs::write(at("mamba.gguf"), mamba).unwrap();
    let kind = validate(&at("mamba.gguf")).unwrap().kind;
    assert_eq!(kind, ModelKind::Unsupported("mamba".into()));
    let Err(error) = load_language(&at("mamba.gguf"), &|_| {}) else { panic!("it loaded") };
    assert!(bad_file(error).1.contains("`mamba`, which is not supported"));

    // An index that points elsewhere.
    fs::create_dir(at("sharded")).unwrap();
    fs::copy(fixture("llama3-rope/config.json"), at("sharded/config.json")).unwrap();
    let index = r#"{"weight_map": {"a": "../../secret.safetensors"}}"#;
    fs::write(at("sharded/model.safetensors.index.json"), index).unwrap();
    let (path, reason) = bad_file(validate(&at("sharded")).unwrap_err());
    assert!(path.ends_with("index.json") && reason.contains("outside its directory"));

    // Tensors that exist, but not in the size that the configuration states.
    fs::create_dir(at("wrong")).unwrap();
    let config = fs::read_to_string(fixture("llama-tied/config.json")).unwrap();
    let config = config.replace("\"intermediate_size\": 64", "\"intermediate_size\": 96");
    fs::write(at("wrong/config.json"), config).unwrap();
    fs::copy(fixture("llama-tied/model.safetensors"), at("wrong/model.safetensors")).unwrap();
    let (_, reason) = bad_file(probe(&at("wrong"), &[1]).unwrap_err());
    assert!(reason.contains("mlp.gate_proj.weight` is [64, 64] where [96, 64]"), "{reason}");
    // More layers than there are.
    let config = fs::read_to_string(fixture("llama-tied/config.json")).unwrap();
    let config = config.replace("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 4000000");
    fs::write(at("wrong/config.json"), config).unwrap();
    let (_, reason) = bad_file(probe(&at("wrong"), &[1]).unwrap_err());
    assert!(reason.contains("model.layers.2.") && reason.contains("missing"), "{reason}");
}

#[test]
fn weights_that_are_nan_are_detected() {
    let mut bytes = fs::read(fixture("llama-f16-gguf/model.gguf")).unwrap();
    let header = gguf::parse(&bytes).unwrap();
    let norm = header.tensors.iter().find(|t| t.name == "blk.1.ffn_norm.weight").unwrap();
    bytes[norm.start..norm.start + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    assert!(matches!(try_to_run(bytes), Err(ModelError::NotANumber)));
}
