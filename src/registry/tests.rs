//! The registry against a real folder and a real (local, tiny) hub.

use std::io::Write as _;

use tempfile::TempDir;

use super::*;
#[cfg(feature = "hub")]
use crate::interfaces::Cancel;
use crate::interfaces::ModelError;

const CONTENT_LEN: usize = 300_000;

fn content() -> Vec<u8> {
    b"GGUF".iter().copied().chain((0..CONTENT_LEN - 4).map(|i| (i * 7 % 251) as u8)).collect()
}

/// A backend that reads nothing but the first bytes: the content of files is not tested here.
fn backend() -> ModelBackend {
    let bad = |path: &Path, reason: &str| ModelError::BadFile {
        path: path.display().to_string(),
        reason: reason.into(),
    };
    ModelBackend {
        validate: Box::new(move |path| {
            if path.is_dir() {
                let config = std::fs::read_to_string(path.join("config.json"))
                    .map_err(|_| bad(path, "no config.json"))?;
                let purpose = if config.contains("bert") {
                    ModelPurpose::Embedding
                } else {
                    ModelPurpose::Language
                };
                return Ok(ModelDescription { purpose, summary: "a folder".into() });
            }
            let bytes = std::fs::read(path).map_err(|e| bad(path, &e.to_string()))?;
            if bytes.len() < 100 {
                return Err(bad(path, "it is cut off"));
            }
            Ok(ModelDescription { purpose: ModelPurpose::Language, summary: "a file".into() })
        }),
        load_language: Box::new(|path, _| {
            Err(ModelError::Backend { what: format!("load {}", path.display()), source: None })
        }),
        load_embedder: Box::new(|path, _| {
            Err(ModelError::Backend { what: format!("embed {}", path.display()), source: None })
        }),
        built_in: None,
    }
}

fn registry_at(dir: &Path, endpoint: &str, catalogue: Catalogue) -> Registry {
    let hub = HubSettings {
        endpoint: endpoint.into(),
        cache_dir: dir.join("hub"),
        offline: false,
        token: None,
        timeout: Duration::from_secs(2),
        pause: Duration::ZERO,
    };
    Registry::new(dir, hub, catalogue, backend(), None)
}

fn empty_registry() -> (TempDir, Registry) {
    let dir = tempfile::tempdir().unwrap();
    let registry = registry_at(dir.path(), "http://127.0.0.1:9", Catalogue::default());
    (dir, registry)
}

fn import(registry: &Registry, path: &Path) -> Result<InstalledModel, RegistryError> {
    registry.import(path, None, &mut |_| {})
}

/// What is in the folder of models, hidden leftovers included.
fn entries(registry: &Registry) -> Vec<String> {
    let Ok(dir) = std::fs::read_dir(&registry.models_dir) else { return Vec::new() };
    let mut names: Vec<String> =
        dir.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn zip_of(path: &Path, entries: &[(&str, &[u8])]) {
    let mut zip = zip::ZipWriter::new(std::fs::File::create(path).unwrap());
    for (name, bytes) in entries {
        zip.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap();
}

#[test]
fn an_imported_file_is_checked_hashed_listed_used_and_removed() {
    let (dir, registry) = empty_registry();
    let source = dir.path().join("My Model Q4.gguf");
    std::fs::write(&source, content()).unwrap();

    let model = import(&registry, &source).unwrap();
    assert_eq!(model.name, "my-model-q4");
    assert_eq!(model.files[0].sha256, hash::sha256_file(&source).unwrap().0);
    assert_eq!(registry.default_name(), STARTER);
    registry.use_model("my-model-q4").unwrap();
    assert_eq!(registry.default_name(), "my-model-q4");
    assert!(registry.list().unwrap()[0].in_use);

    assert!(
        registry.verify(None, &mut |_, _| {}).unwrap().iter().all(|v| v.state == FileState::Sound)
    );
    let copy = registry.models_dir.join(&model.path);
    std::fs::write(&copy, b"GGUF but other").unwrap();
    assert_eq!(registry.verify(None, &mut |_, _| {}).unwrap()[0].state, FileState::Changed);
    std::fs::remove_file(&copy).unwrap();
    assert_eq!(registry.verify(None, &mut |_, _| {}).unwrap()[0].state, FileState::Missing);

    assert!(matches!(import(&registry, &source), Err(RegistryError::NameTaken { .. })));
    registry.remove("my-model-q4").unwrap();
    assert_eq!(entries(&registry), ["installed.toml"]);
    assert_eq!(registry.default_name(), STARTER);
    assert!(source.exists(), "the person's own file stays");
}

#[test]
fn a_refused_model_leaves_nothing_behind() {
    let (dir, registry) = empty_registry();
    let source = dir.path().join("short.gguf");
    std::fs::write(&source, b"GGUF\x03").unwrap();
    assert!(matches!(import(&registry, &source), Err(RegistryError::Refused { .. })));
    std::fs::write(&source, b"hello, I am a text").unwrap();
    assert!(matches!(import(&registry, &source), Err(RegistryError::NotAModel { .. })));
    let empty = dir.path().join("folder");
    std::fs::create_dir(&empty).unwrap();
    assert!(matches!(import(&registry, &empty), Err(RegistryError::NotAModel { .. })));
    assert!(matches!(
        import(&registry, &dir.path().join("nowhere")),
        Err(RegistryError::Io { .. })
    ));
    assert_eq!(entries(&registry), Vec::<String>::new());
}

#[test]
fn a_wheel_gives_only_its_model() {
    let (dir, registry) = empty_registry();
    let wheel = dir.path().join("mini-0.1.whl");
    zip_of(
        &wheel,
        &[
            ("mini/__init__.py", b"import os"),
            ("mini/model/config.json", br#"{"model_type": "bert"}"#),
            ("mini/model/model.safetensors", b"12345678"),
            ("mini/model/1_Pooling/config.json", b"{}"),
            ("mini/model/run.sh", b"rm -rf /"),
        ],
    );
    let model = import(&registry, &wheel).unwrap();
    assert_eq!(model.purpose, ModelPurpose::Embedding);
    let mut files: Vec<String> = model.files.iter().map(|f| f.path.display().to_string()).collect();
    files.sort();
    assert_eq!(
        files,
        ["mini-0.1/1_Pooling/config.json", "mini-0.1/config.json", "mini-0.1/model.safetensors"]
    );
    assert!(registry.models_dir.join("mini-0.1/1_Pooling/config.json").is_file());
    registry.use_model("mini-0.1").unwrap();
    let error = registry.load_embedder(&|_| {}).err().unwrap().to_string();
    assert!(error.starts_with("embed ") && error.ends_with("mini-0.1"), "{error}");
}

#[track_caller]
fn check_refused(registry: &Registry, archive: &Path, reason: &str) {
    let error = import(registry, archive).unwrap_err().to_string();
    assert!(error.contains(reason), "{error}");
    assert_eq!(entries(registry), Vec::<String>::new());
}

#[test]
fn hostile_archives_are_refused() {
    let (dir, registry) = empty_registry();
    let archive = dir.path().join("a.zip");
    let config: &[u8] = b"{}";

    zip_of(&archive, &[("../../evil.safetensors", b"x"), ("m/config.json", config)]);
    check_refused(&registry, &archive, "leaves the folder");
    zip_of(&archive, &[("/etc/evil.safetensors", b"x"), ("../config.json", config)]);
    check_refused(&registry, &archive, "leaves the folder");
    zip_of(&archive, &[("m/model.safetensors", &vec![0; 8 << 20]), ("m/config.json", config)]);
    check_refused(&registry, &archive, "unpacks to too much");
    zip_of(&archive, &[("readme.txt", b"x")]);
    check_refused(&registry, &archive, "holds neither");
    zip_of(&archive, &[("a/m.safetensors", b"x"), ("a/config.json", config), ("b.gguf", b"GGUF")]);
    check_refused(&registry, &archive, "more than one model");
    let mut bytes = std::fs::read(&archive).unwrap();
    bytes.truncate(bytes.len() / 2);
    std::fs::write(&archive, bytes).unwrap();
    check_refused(&registry, &archive, "cannot unpack");
}

#[test]
fn names_cannot_leave_the_folder() {
    let (dir, registry) = empty_registry();
    let source = dir.path().join("m.gguf");
    std::fs::write(&source, content()).unwrap();
    for name in ["../up", "a/b", "", ".hidden", "starter", "with space"] {
        assert!(registry.import(&source, Some(name), &mut |_| {}).is_err(), "{name:?}");
    }
}

#[cfg(feature = "hub")]
mod hub;
#[cfg(unix)]
mod links;
