//! `model pull` against a hub that answers as the real one does, and against broken ones.

use std::sync::Mutex;

use super::catalogue::CatalogueFile;
use super::pull::{Plan, PullProgress, Wanted};
use super::*;
use mock_hub::{COMMIT, Faults, MockHub, etag_of};

#[path = "../../../tests/support/mock_hub.rs"]
mod mock_hub;

const CONFIG: &[u8] = b"{\"model_type\": \"llama\"}";

fn catalogue(files: &[&str]) -> Catalogue {
    let files = files.iter().map(|f| CatalogueFile { path: (*f).into(), sha256: None }).collect();
    Catalogue {
        models: vec![CatalogueModel {
            name: "tiny".into(),
            repo: "org/tiny".into(),
            revision: "main".into(),
            files,
            licence: "MIT".into(),
            bytes_approx: 300_000,
            default: true,
            ..CatalogueModel::default()
        }],
    }
}

/// A hub with one large and one small file, and a registry that knows of both.
fn hub_with_model(faults: Faults) -> (TempDir, MockHub, Registry) {
    let dir = tempfile::tempdir().unwrap();
    let files: [(&str, &[u8]); 2] = [("config.json", CONFIG), ("model.gguf", &content())];
    let hub = MockHub::start("org/tiny", &files, faults);
    let registry =
        registry_at(dir.path(), &hub.endpoint, catalogue(&["config.json", "model.gguf"]));
    (dir, hub, registry)
}

fn pull(registry: &Registry) -> Result<InstalledModel, RegistryError> {
    registry.pull("tiny", &|_| {})
}

#[track_caller]
fn check_pulled(registry: &Registry) -> InstalledModel {
    let model = pull(registry).unwrap();
    assert_eq!(std::fs::read(&model.path).unwrap(), content());
    assert_eq!(std::fs::read(&model.files[0].path).unwrap(), CONFIG);
    assert_eq!(model.files[1].sha256, etag_of(&content()));
    model
}

fn blobs(dir: &TempDir) -> PathBuf {
    dir.path().join("hub/models--org--tiny/blobs")
}

/// What is in the cache beside locks.
fn left(dir: &TempDir) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(blobs(dir)) else { return Vec::new() };
    let paths = entries.map(|e| e.unwrap().path());
    let others = paths.filter(|path| path.extension().is_none_or(|e| e != "lock"));
    others.map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect()
}

#[test]
fn a_pull_resumes_checks_and_lays_out_the_cache() {
    let (dir, hub, registry) =
        hub_with_model(Faults { cuts: vec![23, 100_000, 50_000], ..Faults::default() });
    let seen = Mutex::new(Vec::new());
    let model = registry.pull("tiny", &|p: PullProgress| seen.lock().unwrap().push(p)).unwrap();
    assert_eq!(std::fs::read(&model.path).unwrap(), content());

    // The small file came whole (its cut was its length); the large one in three pieces.
    assert_eq!(hub.ranges(), ["", "", "100000-", "150000-"]);
    let last = seen.lock().unwrap().last().cloned().unwrap();
    assert_eq!((last.bytes, last.total_bytes), (CONTENT_LEN as u64, CONTENT_LEN as u64));

    // As every other program lays it out, so that each finds what the other fetched.
    let repo = dir.path().join("hub/models--org--tiny");
    assert_eq!(std::fs::read_to_string(repo.join("refs/main")).unwrap(), COMMIT);
    let pointer = repo.join("snapshots").join(COMMIT).join("model.gguf");
    let blob = repo.join("blobs").join(etag_of(&content()));
    assert_eq!(pointer.canonicalize().unwrap(), blob.canonicalize().unwrap());
    assert!(!pointer.read_link().unwrap().is_absolute(), "a cache can be moved");
    let other = registry_at(&dir.path().join("other"), &hub.endpoint, catalogue(&["model.gguf"]));
    let other = Registry { hub: registry.hub.clone(), ..other };
    assert!(other.list().unwrap()[0].installed.is_some(), "found in the cache");
    assert!(matches!(other.remove("tiny"), Err(RegistryError::NotOurs { .. })));

    // A second pull fetches nothing; removed, the blob is gone.
    pull(&registry).unwrap();
    assert_eq!(hub.ranges().len(), 4);
    registry.remove("tiny").unwrap();
    assert!(!pointer.exists() && !blob.exists());
}

#[test]
fn a_part_from_an_earlier_run_is_continued() {
    let (dir, hub, registry) = hub_with_model(Faults::default());
    std::fs::create_dir_all(blobs(&dir)).unwrap();
    let part = blobs(&dir).join(format!("{}.part", etag_of(&content())));
    std::fs::write(&part, &content()[..123_456]).unwrap();
    check_pulled(&registry);
    assert_eq!(hub.ranges(), ["", "123456-"]);

    // A damaged part: the hash tells, and the file is fetched anew.
    registry.remove("tiny").unwrap();
    std::fs::write(&part, vec![9; 1000]).unwrap();
    hub.forget_seen();
    check_pulled(&registry);
    assert_eq!(hub.ranges(), ["", "1000-", ""]);

    // A whole part, and one that is too long.
    for bytes in [content(), [content(), vec![1]].concat()] {
        registry.remove("tiny").unwrap();
        std::fs::write(&part, bytes).unwrap();
        check_pulled(&registry);
    }
}

#[test]
fn a_download_that_is_stopped_goes_on_where_it_was() {
    let (dir, hub, registry) = hub_with_model(Faults::default());
    let cancel = Cancel::default();
    let stop = |p: PullProgress| {
        if p.file == "model.gguf" {
            cancel.cancel();
        }
    };
    let stopped = registry.pull_until("tiny", &cancel, &stop);
    assert!(matches!(stopped, Err(RegistryError::Stopped)), "{stopped:?}");
    let part = blobs(&dir).join(format!("{}.part", etag_of(&content())));
    let n = part.metadata().unwrap().len();
    assert!((1..CONTENT_LEN as u64).contains(&n), "{n}");
    hub.forget_seen();
    check_pulled(&registry);
    assert_eq!(hub.ranges(), [format!("{n}-")]);
}

#[test]
fn a_file_of_two_models_stays_as_long_as_one_of_them() {
    let (dir, _hub, registry) = hub_with_model(Faults::default());
    check_pulled(&registry);
    let other = Manifest::update(&registry.models_dir, |manifest| {
        let other = InstalledModel { name: "other".into(), ..manifest.models[0].clone() };
        manifest.put(other.clone());
        Ok(other)
    });
    registry.remove("tiny").unwrap();
    assert!(other.unwrap().files.iter().all(|file| file.path.exists()));
    registry.remove("other").unwrap();
    assert_eq!(left(&dir), Vec::<String>::new());
}

#[test]
fn two_hundred_pulls_from_a_hub_that_dies_are_all_right_and_none_restarts() {
    let (_dir, hub, registry) = hub_with_model(Faults::default());
    let large = format!("/{}", etag_of(&content()));
    let mut n_cut = 0;
    for seed in 0..200 {
        hub.set(Faults { random_cuts: Some(seed), ..Faults::default() });
        hub.forget_seen();
        check_pulled(&registry);
        // Each request goes on exactly where the bytes that had come ended.
        let bodies: Vec<_> = hub
            .seen()
            .into_iter()
            .filter(|s| s.method == "GET" && s.path.starts_with(&large))
            .collect();
        let mut at = 0;
        for body in &bodies {
            let range = if at == 0 { String::new() } else { format!("{at}-") };
            assert_eq!(body.range, range, "pull {seed}");
            at += body.sent;
        }
        assert_eq!(at, CONTENT_LEN, "pull {seed}");
        n_cut += bodies.len() - 1;
        registry.remove("tiny").unwrap();
    }
    assert!(n_cut > 200, "the hub died {n_cut} times only");
}

#[test]
fn broken_hubs_and_mirrors_are_borne() {
    let cut = || vec![CONFIG.len(), 1000];
    for (what, faults) in [
        ("no Content-Range", Faults { no_content_range: true, cuts: cut(), ..Faults::default() }),
        ("no ranges", Faults { no_ranges: true, cuts: cut(), ..Faults::default() }),
        ("another range", Faults { wrong_range: true, cuts: cut(), ..Faults::default() }),
        ("no HEAD", Faults { no_head: true, cuts: cut(), ..Faults::default() }),
        ("moved by an absolute 308", Faults { moved: true, cuts: cut(), ..Faults::default() }),
        ("busy", Faults { busy: vec![503, 429, 500], ..Faults::default() }),
        ("busy thrice within one file", Faults { busy: vec![503; 4], ..Faults::default() }),
    ] {
        let (_dir, _hub, registry) = hub_with_model(faults);
        let model = pull(&registry).unwrap_or_else(|e| panic!("{what}: {e:?}"));
        assert_eq!(std::fs::read(&model.path).unwrap(), content(), "{what}");
    }
}

#[test]
fn nothing_is_compressed_on_the_way() {
    let (_dir, hub, registry) = hub_with_model(Faults { cuts: vec![3], ..Faults::default() });
    // The mock would answer the small file's range without its length and place.
    check_pulled(&registry);
    assert_eq!(hub.ranges(), ["", "3-", ""]);
}

#[test]
fn a_silent_server_is_given_up() {
    let (_dir, _hub, mut registry) = hub_with_model(Faults { silent: 1, ..Faults::default() });
    registry.hub.timeout = Duration::from_millis(200);
    check_pulled(&registry);
    let (_dir, hub, mut registry) = hub_with_model(Faults { silent: 100, ..Faults::default() });
    registry.hub.timeout = Duration::from_millis(50);
    let error = crate::error_chain::error_chain(&pull(&registry).unwrap_err());
    assert!(error.contains("timeout"), "{error}");
    assert_eq!(
        hub.seen().iter().filter(|s| s.path.contains("resolve-cache") && s.method == "GET").count(),
        5
    );
}

#[test]
fn redirects_end() {
    let (_dir, hub, registry) = hub_with_model(Faults { endless: true, ..Faults::default() });
    let error = crate::error_chain::error_chain(&pull(&registry).unwrap_err());
    assert!(error.contains("redirected more than 10 times"), "{error}");
    assert_eq!(hub.seen().len(), 11);
}

#[test]
fn the_token_goes_to_the_hub_alone() {
    let (_dir, hub, mut registry) =
        hub_with_model(Faults { gated: Some("secret"), ..Faults::default() });
    assert!(matches!(pull(&registry), Err(RegistryError::Gated { has_token: false, .. })));
    registry.hub.token = Some("secret".into());
    hub.forget_seen();
    check_pulled(&registry);
    let seen = hub.seen();
    assert!(seen.iter().any(|s| s.of_cdn) && seen.iter().any(|s| !s.of_cdn));
    for request in seen {
        assert_eq!(request.token.is_some(), !request.of_cdn, "{request:?}");
    }
    // Nor to where the hub says that it has moved.
    hub.set(Faults { moved: true, ..Faults::default() });
    hub.forget_seen();
    registry.remove("tiny").unwrap();
    check_pulled(&registry);
    assert!(hub.seen().iter().any(|s| s.token.is_none() && !s.of_cdn));
}

#[test]
fn a_wrong_file_leaves_nothing() {
    for faults in [
        Faults { wrong: true, ..Faults::default() },
        Faults { longer: true, ..Faults::default() },
        Faults { etag: Some("ab".repeat(32)), ..Faults::default() },
    ] {
        let shown = format!("{faults:?}");
        let (dir, _hub, registry) = hub_with_model(faults);
        let error = pull(&registry).unwrap_err();
        let is_right =
            matches!(error, RegistryError::HashMismatch { .. } | RegistryError::Fetch { .. });
        assert!(is_right, "{shown}: {error:?}");
        assert!(registry.list().unwrap()[0].installed.is_none());
        let left = left(&dir);
        assert!(left.iter().all(|name| dir_len(&dir, name) == 0), "{shown}: {left:?}");
    }
}

fn dir_len(dir: &TempDir, name: &str) -> u64 {
    blobs(dir).join(name).metadata().unwrap().len()
}

#[test]
fn what_is_no_model_is_not_kept() {
    let dir = tempfile::tempdir().unwrap();
    let hub = MockHub::start("org/tiny", &[("model.gguf", b"GGUF short")], Faults::default());
    let registry = registry_at(dir.path(), &hub.endpoint, catalogue(&["model.gguf"]));
    assert!(matches!(pull(&registry), Err(RegistryError::Refused { .. })));
    assert_eq!(left(&dir), Vec::<String>::new());
}

#[test]
fn a_hash_in_the_catalogue_outranks_the_hub() {
    let (_dir, _hub, mut registry) = hub_with_model(Faults::default());
    registry.catalogue.models[0].files[1].sha256 = Some("ab".repeat(32));
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
fn a_blob_or_a_link_that_was_tampered_with_is_replaced() {
    let (dir, _hub, registry) = hub_with_model(Faults::default());
    let model = check_pulled(&registry);
    std::fs::write(blobs(&dir).join(etag_of(&content())), b"GGUF evil").unwrap();
    check_pulled(&registry);
    std::fs::remove_file(&model.path).unwrap();
    std::fs::write(&model.path, b"GGUF evil").unwrap();
    check_pulled(&registry);
}

#[test]
fn two_pulls_at_once_do_the_work_of_one() {
    let (_dir, hub, registry) = hub_with_model(Faults::default());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| check_pulled(&registry));
        }
    });
    assert_eq!(hub.ranges().len(), 2);
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
    assert_eq!(hub.ranges().len(), 2);
}

#[test]
fn what_is_not_there_is_named() {
    let (_dir, _hub, mut registry) = hub_with_model(Faults::default());
    assert!(matches!(registry.pull("nothing", &|_| {}), Err(RegistryError::UnknownName { .. })));
    registry.catalogue.models[0].files[1].path = "other.gguf".into();
    let error = pull(&registry).unwrap_err();
    assert!(
        matches!(&error, RegistryError::NoFile { file, .. } if file == "other.gguf"),
        "{error:?}"
    );
    registry.catalogue.models[0].repo = "org/other".into();
    assert!(matches!(pull(&registry), Err(RegistryError::NoRepository { .. })));
    registry.hub.endpoint = "http://127.0.0.1:9".into();
    assert!(matches!(pull(&registry), Err(RegistryError::Fetch { .. })));
}

/// A model's bytes, or text.
fn content_of(name: &str) -> Vec<u8> {
    if name.contains(".json") { b"{}".repeat(100) } else { content() }
}

/// A repository of GGUF files of the given quantisations.
fn plan_of(
    files: &[(&str, usize)],
    wanted: &str,
) -> (TempDir, Registry, Result<Plan, RegistryError>) {
    let dir = tempfile::tempdir().unwrap();
    let contents: Vec<(&str, Vec<u8>)> =
        files.iter().map(|(name, n)| (*name, content_of(name)[..*n].to_vec())).collect();
    let files: Vec<(&str, &[u8])> =
        contents.iter().map(|(name, b)| (*name, b.as_slice())).collect();
    let hub = MockHub::start("org/Some-GGUF", &files, Faults::default());
    let registry = registry_at(dir.path(), &hub.endpoint, Catalogue::default());
    let wanted = Wanted::parse(wanted).unwrap();
    let plan = registry.plan(&wanted, None, Some(8 << 30));
    (dir, registry, plan)
}

#[test]
fn any_repository_can_be_pulled() {
    let files = [
        ("README.md", 300),
        ("M-Q4_K_M.gguf", 200_000),
        ("M-Q8_0.gguf", 250_000),
        ("mmproj-M-F16.gguf", 900),
    ];
    let (_dir, registry, plan) = plan_of(&files, "org/Some-GGUF");
    let plan = plan.unwrap();
    assert_eq!(plan.quantisation.as_deref(), Some("Q8_0"));
    assert_eq!((plan.model.name.as_str(), plan.model.licence.as_str()), ("m-q8_0", "apache-2.0"));
    assert_eq!(plan.others, [("Q4_K_M".to_owned(), Some(200_000))]);
    assert_eq!(
        plan.model.files[0].sha256.as_deref(),
        Some(etag_of(&content()[..250_000]).as_str())
    );
    let model = registry.pull_planned(&plan, &|_| {}).unwrap();
    assert_eq!(std::fs::read(&model.path).unwrap(), content()[..250_000]);
    assert_eq!(registry.list().unwrap()[0].name, "m-q8_0");

    for (wanted, expected) in
        [("q4_k_m", "m-q4_k_m"), ("M-Q4_K_M.gguf", "m-q4_k_m"), ("m-q8_0", "m-q8_0")]
    {
        let (.., plan) = plan_of(&files, &format!("org/Some-GGUF:{wanted}"));
        assert_eq!(plan.unwrap().model.name, expected);
    }
    let (.., plan) = plan_of(&files, "org/Some-GGUF:Q5_K_M");
    let Err(RegistryError::NothingToRun { there, .. }) = plan else { panic!("{plan:?}") };
    assert_eq!(there, ["Q4_K_M", "Q8_0"]);
    let (.., plan) = plan_of(&files, "org/other");
    assert!(matches!(plan, Err(RegistryError::NoRepository { .. })));
}

#[test]
fn a_safetensors_repository_is_pulled_as_a_folder() {
    let weights = [("model.safetensors", 100_000), ("config.json", 100), ("tokenizer.json", 100)];
    let more = [("pytorch_model.bin", 100_000), ("consolidated.safetensors", 100_000)];
    let (_dir, registry, plan) = plan_of(&[&weights[..], &more].concat(), "hf.co/org/Some-GGUF");
    let plan = plan.unwrap();
    let mut paths: Vec<&str> = plan.model.files.iter().map(|f| f.path.as_str()).collect();
    paths.sort_unstable();
    assert_eq!(paths, ["config.json", "model.safetensors", "tokenizer.json"]);
    let model = registry.pull_planned(&plan, &|_| {}).unwrap();
    assert_eq!(model.name, "some-gguf");
    assert!(model.path.join("model.safetensors").is_file());

    for missing in ["config.json", "tokenizer.json", "model.safetensors"] {
        let files: Vec<_> = weights.iter().copied().filter(|(name, _)| *name != missing).collect();
        let (.., plan) = plan_of(&files, "org/Some-GGUF");
        assert!(matches!(plan, Err(RegistryError::NothingToRun { .. })), "{missing}: {plan:?}");
    }
}
