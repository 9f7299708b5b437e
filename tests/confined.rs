//! Models are loaded and run with few rights. A process of its own: the threads that compute start once in each.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use inglenook::inference::{
    Confinement, ModelKind, confinement, load_embedder, load_language, probe, validate,
};
use inglenook::interfaces::{Cancel, LanguageModel, LoadProgress, Priority, Sampling};
use inglenook::testing::skip;
use tempfile::TempDir;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// A snapshot in a Hugging Face cache: every file a link to a blob.
fn snapshot(of: &Path) -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let (blobs, snapshot) = (dir.path().join("blobs"), dir.path().join("snapshots/1f"));
    fs::create_dir(&blobs).unwrap();
    let mut folders = vec![(of.to_owned(), snapshot.clone(), "../../blobs")];
    folders.push((of.join("1_Pooling"), snapshot.join("1_Pooling"), "../../../blobs"));
    let mut n = 0;
    for (from, to, blobs_from_there) in folders {
        if !from.is_dir() {
            continue;
        }
        fs::create_dir_all(&to).unwrap();
        for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
            if entry.path().is_file() {
                n += 1;
                fs::copy(entry.path(), blobs.join(n.to_string())).unwrap();
                symlink(format!("{blobs_from_there}/{n}"), to.join(entry.file_name())).unwrap();
            }
        }
    }
    (dir, snapshot)
}

type Attempts = (Result<(), ErrorKind>, Result<(), ErrorKind>);

const REFUSED: Attempts = (Err(ErrorKind::PermissionDenied), Err(ErrorKind::PermissionDenied));

/// A folder that belongs to no model.
struct Place(TempDir);

impl Place {
    /// None, with the calling test skipped, where no thread can be confined.
    fn new() -> Option<Self> {
        if confinement().unwrap() == Confinement::None {
            skip("this kernel has no Landlock");
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("secret"), "text").unwrap();
        Some(Self(dir))
    }

    /// What comes of reading and of writing here.
    fn attempts(&self) -> Attempts {
        let read = fs::read(self.0.path().join("secret")).map(drop);
        let write = fs::write(self.0.path().join("new"), "");
        (read.map_err(|e| e.kind()), write.map_err(|e| e.kind()))
    }
}

fn says_something(model: &dyn LanguageModel) {
    let mut context = model.context(Priority::Chat).unwrap();
    context.extend(&model.encode("Hello")).unwrap();
    let sampling = Sampling::greedy(3);
    let generated = context.generate(&sampling, &Cancel::default(), &mut |_| {}).unwrap();
    assert!(generated.n_tokens > 0);
}

#[test]
fn models_from_several_folders_are_loaded_one_after_the_other_and_compute_confined() {
    let (_first, language) = snapshot(&fixture("models/llama-f16-gguf"));
    let model = load_language(&language.join("model.gguf"), &|_| {}).unwrap();
    says_something(&*model);

    let (_second, embedder) = snapshot(&fixture("embedders/distilbert"));
    assert_eq!(validate(&embedder).unwrap().kind, ModelKind::Embedder);
    let embedder = load_embedder(&embedder, &|_| {}).unwrap();
    assert_eq!(embedder.embed(&["Hello"]).unwrap().len(), 1);

    let (_third, sharded) = snapshot(&fixture("models/llama3-rope"));
    assert_eq!(validate(&sharded).unwrap().kind, ModelKind::Language);
    assert_eq!(probe(&sharded, &[1, 2]).unwrap().len(), 2);
    // By one of its files, as `-m` may name it.
    let (_fourth, single) = snapshot(&fixture("models/llama-tied"));
    assert_eq!(probe(&single.join("model.safetensors"), &[1, 2]).unwrap().len(), 2);

    #[cfg(feature = "starter")]
    {
        use inglenook::inference::starter;
        let starter = starter::language(&|_| {}).unwrap();
        says_something(&*starter);
        starter::embedder(&|_| {}).unwrap().embed(&["Hello"]).unwrap();
        assert!(starter::reranker().scores("Who?", &["Ana."]).unwrap().is_some());
    }
    says_something(&*model);

    let Some(place) = Place::new() else { return };
    let in_pool = rayon::broadcast(|_| place.attempts());
    assert!(in_pool.iter().all(|attempts| *attempts == REFUSED), "{in_pool:?}");
    assert_eq!(place.attempts(), (Ok(()), Ok(())));
}

#[test]
fn a_language_model_is_loaded_confined() {
    let Some(place) = Place::new() else { return };
    let seen = Mutex::new(Vec::new());
    let progress = |at: LoadProgress| {
        if at.stage == "reading weights" {
            seen.lock().unwrap().push(place.attempts());
        }
    };
    load_language(&fixture("models/llama-f16-gguf/model.gguf"), &progress).unwrap();
    #[cfg(feature = "starter")]
    inglenook::inference::starter::language(&progress).unwrap();
    let seen = seen.into_inner().unwrap();
    assert!(seen.len() > 1 && seen.iter().all(|attempts| *attempts == REFUSED), "{seen:?}");
}

/// A link to a file is followed, as caches have them; one to a whole folder would open too much.
#[test]
fn an_embedder_is_loaded_confined() {
    let Some(place) = Place::new() else { return };
    let model = place.0.path().join("model");
    fs::create_dir(&model).unwrap();
    for entry in fs::read_dir(fixture("embedders/distilbert")).unwrap().map(Result::unwrap) {
        if entry.path().is_file() {
            fs::copy(entry.path(), model.join(entry.file_name())).unwrap();
        }
    }
    let pooling = model.join("1_Pooling");
    symlink(fixture("embedders/distilbert/1_Pooling"), &pooling).unwrap();
    let refused = load_embedder(&model, &|_| {}).err().unwrap().to_string();
    assert!(refused.contains("1_Pooling/config.json"), "{refused}");
    fs::remove_file(&pooling).unwrap();
    load_embedder(&model, &|_| {}).unwrap();
}
