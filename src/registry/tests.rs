//! The registry against a real folder and a real (local, tiny) hub.

use std::io::Write as _;

use tempfile::TempDir;

use super::*;
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
mod hub {
    use std::io::{BufRead as _, BufReader};
    use std::net::{TcpListener, TcpStream};
    use std::sync::{Arc, Mutex};

    use super::catalogue::CatalogueFile;
    use super::*;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    /// How the hub misbehaves.
    #[derive(Default)]
    struct Faults {
        /// Cut the connection after this many body bytes, as often as listed.
        cuts: Vec<usize>,
        /// Serve other bytes than the hash says.
        wrong: bool,
        /// The etag that it states, instead of the right one.
        etag: Option<String>,
    }

    struct Hub {
        endpoint: String,
        /// `Range` of every body request.
        ranges: Arc<Mutex<Vec<String>>>,
    }

    fn etag_of(bytes: &[u8]) -> String {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        if bytes.len() > 1000 {
            hash::sha256_file(file.path()).unwrap().0
        } else {
            git_blob::git_blob_file(file.path()).unwrap()
        }
    }

    /// Enough of the protocol: `resolve` answers with the commit and the hash, and sends large
    /// files elsewhere (`/cdn`), which understands ranges.
    fn serve(files: Vec<(&'static str, Vec<u8>)>, faults: Faults) -> Hub {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let ranges = Arc::new(Mutex::new(Vec::new()));
        let (base, log) = (endpoint.clone(), Arc::clone(&ranges));
        let faults = Arc::new(Mutex::new(faults));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let _ = answer(stream.unwrap(), &base, &files, &faults, &log);
            }
        });
        Hub { endpoint, ranges }
    }

    fn answer(
        mut stream: TcpStream,
        base: &str,
        files: &[(&'static str, Vec<u8>)],
        faults: &Mutex<Faults>,
        log: &Mutex<Vec<String>>,
    ) -> std::io::Result<()> {
        let mut lines = BufReader::new(stream.try_clone()?).lines();
        let request = lines.next().unwrap()?;
        let path = request.split(' ').nth(1).unwrap().to_owned();
        let mut range = String::new();
        for line in lines {
            let line = line?;
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.to_lowercase().strip_prefix("range: bytes=") {
                range = value.to_owned();
            }
        }
        let Some((name, bytes)) = files.iter().find(|(name, _)| path.ends_with(name)) else {
            return stream.write_all(
                b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            );
        };
        let mut faults = faults.lock().unwrap();
        let etag = faults.etag.clone().unwrap_or_else(|| etag_of(bytes));
        let headers =
            format!("X-Repo-Commit: {COMMIT}\r\nETag: \"{etag}\"\r\nConnection: close\r\n");
        if bytes.len() > 1000 && !path.starts_with("/cdn") {
            return write!(
                stream,
                "HTTP/1.1 302 Found\r\nX-Linked-Etag: \"{etag}\"\r\nLocation: {base}/cdn/{name}\r\n\
                 {headers}Content-Length: 0\r\n\r\n"
            );
        }
        let (from, to) = range.split_once('-').unwrap();
        let from: usize = from.parse().unwrap();
        let to = to.parse().map_or(bytes.len(), |to: usize| to + 1);
        if from >= bytes.len() {
            return write!(
                stream,
                "HTTP/1.1 416 Range Not Satisfiable\r\n{headers}Content-Length: 0\r\n\r\n"
            );
        }
        let mut body = bytes[from..to].to_vec();
        let metadata_only = to - from == 1;
        if !metadata_only {
            log.lock().unwrap().push(range);
            if faults.wrong {
                body[0] ^= 1;
            }
        }
        write!(
            stream,
            "HTTP/1.1 206 Partial Content\r\n{headers}Content-Range: bytes {from}-{}/{}\r\n\
             Content-Length: {}\r\n\r\n",
            to - 1,
            bytes.len(),
            body.len()
        )?;
        if !metadata_only && !faults.cuts.is_empty() {
            body.truncate(faults.cuts.remove(0));
        }
        stream.write_all(&body)
    }

    fn catalogue(files: &[&str]) -> Catalogue {
        let files =
            files.iter().map(|f| CatalogueFile { path: (*f).into(), sha256: None }).collect();
        Catalogue {
            models: vec![CatalogueModel {
                name: "tiny".into(),
                purpose: ModelPurpose::Language,
                repo: "org/tiny".into(),
                revision: "main".into(),
                files,
                licence: "MIT".into(),
                bytes_approx: 300_000,
                default: true,
            }],
        }
    }

    /// A hub with one large file, and a registry that knows of it.
    fn hub_with_model(faults: Faults) -> (TempDir, Hub, Registry) {
        let dir = tempfile::tempdir().unwrap();
        let hub = serve(vec![("model.gguf", content())], faults);
        let registry = registry_at(dir.path(), &hub.endpoint, catalogue(&["model.gguf"]));
        (dir, hub, registry)
    }

    fn pull(registry: &Registry) -> Result<InstalledModel, RegistryError> {
        registry.pull("tiny", &|_| {})
    }

    #[test]
    fn a_pull_resumes_checks_and_lays_out_the_cache() {
        let dir = tempfile::tempdir().unwrap();
        let hub = serve(
            vec![("config.json", b"{}".to_vec()), ("model.gguf", content())],
            Faults { cuts: vec![2, 100_000, 50_000], ..Faults::default() },
        );
        let registry =
            registry_at(dir.path(), &hub.endpoint, catalogue(&["config.json", "model.gguf"]));
        let seen = Mutex::new(Vec::new());
        let model = registry.pull("tiny", &|p| seen.lock().unwrap().push(p)).unwrap();

        // The small file came whole (its cut was its length); the large one in three pieces.
        assert_eq!(*hub.ranges.lock().unwrap(), ["0-", "0-", "100000-", "150000-"]);
        assert_eq!(std::fs::read(&model.path).unwrap(), content());
        assert_eq!(model.files[1].sha256, etag_of(&content()));
        let last = seen.lock().unwrap().last().cloned().unwrap();
        assert_eq!((last.bytes, last.total_bytes), (CONTENT_LEN as u64, CONTENT_LEN as u64));

        // As every other program lays it out, so that each finds what the other fetched.
        let repo = dir.path().join("hub/models--org--tiny");
        assert_eq!(std::fs::read_to_string(repo.join("refs/main")).unwrap(), COMMIT);
        let pointer = repo.join("snapshots").join(COMMIT).join("model.gguf");
        assert_eq!(
            pointer.canonicalize().unwrap(),
            repo.join("blobs").join(etag_of(&content())).canonicalize().unwrap()
        );
        let other =
            registry_at(&dir.path().join("other"), &hub.endpoint, catalogue(&["model.gguf"]));
        let other = Registry { hub: registry.hub.clone(), ..other };
        assert!(other.list().unwrap()[0].installed.is_some(), "found in the cache");
        assert!(matches!(other.remove("tiny"), Err(RegistryError::NotOurs { .. })));

        // A second pull fetches nothing; removed, the blob is gone.
        pull(&registry).unwrap();
        assert_eq!(hub.ranges.lock().unwrap().len(), 4);
        registry.remove("tiny").unwrap();
        assert!(!pointer.exists() && !repo.join("blobs").join(etag_of(&content())).exists());
    }

    #[test]
    fn a_part_from_an_earlier_run_is_continued() {
        let (dir, hub, registry) = hub_with_model(Faults::default());
        let blobs = dir.path().join("hub/models--org--tiny/blobs");
        std::fs::create_dir_all(&blobs).unwrap();
        let part = blobs.join(format!("{}.part", etag_of(&content())));
        std::fs::write(&part, &content()[..123_456]).unwrap();
        let model = pull(&registry).unwrap();
        assert_eq!(*hub.ranges.lock().unwrap(), ["123456-"]);
        assert_eq!(std::fs::read(&model.path).unwrap(), content());

        // A damaged part: the hash tells, and the file is fetched anew.
        registry.remove("tiny").unwrap();
        std::fs::write(&part, vec![9; 1000]).unwrap();
        let model = pull(&registry).unwrap();
        assert_eq!(*hub.ranges.lock().unwrap(), ["123456-", "1000-", "0-"]);
        assert_eq!(std::fs::read(&model.path).unwrap(), content());
    }

    #[test]
    fn a_wrong_hash_leaves_nothing() {
        let (dir, _hub, registry) = hub_with_model(Faults { wrong: true, ..Faults::default() });
        assert!(matches!(pull(&registry), Err(RegistryError::HashMismatch { .. })));
        assert!(registry.list().unwrap()[0].installed.is_none());
        let blobs = dir.path().join("hub/models--org--tiny/blobs");
        let left: Vec<_> = std::fs::read_dir(blobs)
            .unwrap()
            .map(|e| e.unwrap().path())
            .filter(|p| p.extension().is_none_or(|e| e != "lock"))
            .collect();
        assert_eq!(left, Vec::<PathBuf>::new());
    }

    #[test]
    fn a_hash_in_the_catalogue_outranks_the_hub() {
        let (_dir, _hub, mut registry) = hub_with_model(Faults::default());
        registry.catalogue.models[0].files[0].sha256 = Some("ab".repeat(32));
        assert!(matches!(pull(&registry), Err(RegistryError::HashMismatch { .. })));
    }

    #[test]
    fn a_server_cannot_name_a_path() {
        let etag = Some("../../../evil".into());
        let (dir, _hub, registry) = hub_with_model(Faults { etag, ..Faults::default() });
        assert!(matches!(pull(&registry), Err(RegistryError::Fetch { .. })));
        assert!(!dir.path().join("hub").exists());
    }

    #[test]
    fn offline_uses_the_cache_or_refuses() {
        let (_dir, hub, mut registry) = hub_with_model(Faults::default());
        registry.hub.offline = true;
        assert!(matches!(pull(&registry), Err(RegistryError::Offline { .. })));
        registry.hub.offline = false;
        pull(&registry).unwrap();
        registry.hub.offline = true;
        registry.hub.endpoint = "http://127.0.0.1:9".into();
        pull(&registry).unwrap();
        assert_eq!(hub.ranges.lock().unwrap().len(), 1);
    }

    #[test]
    fn an_unknown_name_and_a_missing_file_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let hub = serve(vec![], Faults::default());
        let registry = registry_at(dir.path(), &hub.endpoint, catalogue(&["model.gguf"]));
        assert!(matches!(
            registry.pull("nothing", &|_| {}),
            Err(RegistryError::UnknownName { .. })
        ));
        let error = pull(&registry).unwrap_err();
        assert!(error.to_string().contains("model.gguf"), "{error}");
    }
}
