//! Models that are used where they lie.

use super::*;
use crate::registry::scan::{Layout, Place};

/// A registry, and another program's model.
fn linked() -> (TempDir, Registry, PathBuf) {
    let (dir, registry) = empty_registry();
    let path = dir.path().join("theirs/Some Model-Q4_K_M.gguf");
    std::fs::create_dir(path.parent().unwrap()).unwrap();
    std::fs::write(&path, content()).unwrap();
    let model = registry.link(&path, None, None, &mut |_| {}).unwrap();
    assert_eq!(model.name, "some-model-q4_k_m");
    (dir, registry, path)
}

fn load(registry: &Registry) -> String {
    let Err(error) = registry.load(Some("some-model-q4_k_m"), &|_| {}) else { panic!("it loads") };
    error.to_string()
}

fn touch(path: &Path, seconds: u64) {
    let file = std::fs::File::options().append(true).open(path).unwrap();
    file.set_modified(std::time::UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
}

#[test]
fn a_linked_model_is_used_where_it_lies_and_never_deleted() {
    let (_dir, registry, path) = linked();
    assert_eq!(entries(&registry), ["installed.toml"], "nothing is copied");
    assert_eq!(load(&registry), format!("load {}", path.display()));
    let listed = registry.list().unwrap();
    assert_eq!(listed[0].installed.as_deref(), Some(path.to_str().unwrap()));
    assert_eq!(registry.installed()[0].name, "some-model-q4_k_m", "what Ctrl+L lists");
    registry.use_model("some-model-q4_k_m").unwrap();
    registry.remove("some-model-q4_k_m").unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), content());
    assert_eq!(registry.default_name(), STARTER);
}

#[test]
fn what_another_program_did_to_it_is_noticed() {
    let (_dir, registry, path) = linked();
    let state = || registry.verify(None, &mut |_, _| {}).unwrap()[0].state;

    // Only touched: said, and mended by a look at the content.
    touch(&path, 1_000_000);
    assert!(load(&registry).contains("was changed after"));
    assert!(matches!(
        registry.inspect("some-model-q4_k_m"),
        Err(RegistryError::LinkChanged { .. })
    ));
    assert_eq!(state(), FileState::Sound);
    assert!(load(&registry).starts_with("load "));

    // Other content of the same length.
    let mut other = content();
    other[1000] ^= 1;
    std::fs::write(&path, other).unwrap();
    assert!(load(&registry).contains("was changed after"));
    assert_eq!(state(), FileState::Changed);
    assert!(load(&registry).contains("was changed after"), "not forgiven");

    let moved = path.with_extension("moved");
    std::fs::rename(&path, &moved).unwrap();
    assert!(load(&registry).contains("is no longer at"));
    assert_eq!(state(), FileState::Missing);
    registry.remove("some-model-q4_k_m").unwrap();
    assert!(moved.exists());
}

#[test]
fn the_same_file_is_linked_once() {
    let (dir, registry, path) = linked();
    let link = |path: &Path| registry.link(path, Some("again"), None, &mut |_| {});
    let other = dir.path().join("link.gguf");
    std::os::unix::fs::symlink(&path, &other).unwrap();
    let hard = dir.path().join("hard.gguf");
    std::fs::hard_link(&path, &hard).unwrap();
    for path in [&path, &other, &hard] {
        assert!(matches!(link(path), Err(RegistryError::InstalledAs { .. })), "{}", path.display());
    }
    // Another file, by a name that is taken.
    let second = dir.path().join("second.gguf");
    std::fs::write(&second, content()).unwrap();
    let taken = registry.link(&second, Some("Some-Model-Q4_K_M"), None, &mut |_| {});
    assert!(matches!(taken, Err(RegistryError::NameTaken { .. })));
}

#[test]
fn what_is_no_model_is_not_linked() {
    let (dir, registry) = empty_registry();
    let link = |path: &Path| registry.link(path, None, None, &mut |_| {});
    let archive = dir.path().join("a.zip");
    zip_of(&archive, &[("m/config.json", b"{}")]);
    assert!(matches!(link(&archive), Err(RegistryError::NotAModel { .. })));
    let short = dir.path().join("short.gguf");
    std::fs::write(&short, b"GGUF").unwrap();
    assert!(matches!(link(&short), Err(RegistryError::Refused { .. })));
    assert!(matches!(link(&dir.path().join("nowhere")), Err(RegistryError::Io { .. })));
    assert_eq!(entries(&registry), Vec::<String>::new());
}

#[test]
fn a_folder_is_linked_as_a_whole() {
    let (dir, registry) = empty_registry();
    let folder = dir.path().join("Mini");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("config.json"), "{\"model_type\": \"bert\"}").unwrap();
    std::fs::write(folder.join("model.safetensors"), "12345678").unwrap();
    registry.link(&folder, None, None, &mut |_| {}).unwrap();
    registry.use_model("mini").unwrap();
    let error = || registry.load_embedder(&|_| {}).err().unwrap().to_string();
    assert_eq!(error(), format!("embed {}", folder.display()));
    touch(&folder.join("config.json"), 1_000_000);
    assert!(error().contains("config.json was changed"));
}

#[test]
fn a_scan_says_what_runs_and_what_is_here_already() {
    let (dir, registry, path) = linked();
    std::fs::write(dir.path().join("theirs/bad.gguf"), "GGUF").unwrap();
    std::fs::write(dir.path().join("theirs/good.gguf"), [content(), vec![1]].concat()).unwrap();
    let place =
        Place { program: "LM Studio", dir: path.parent().unwrap().into(), layout: Layout::Tree };
    let (found, remarks) = registry.scan(&[place], &mut |_| {}).unwrap();
    let states: Vec<String> =
        found.iter().map(|m| format!("{} {:?}", m.file.name, m.state)).collect();
    assert_eq!(remarks, Vec::<String>::new());
    assert_eq!(states.len(), 3);
    assert!(
        states[0].starts_with("some-model-q4_k_m-2 Installed(\"some-model-q4_k_m\")"),
        "{states:?}"
    );
    assert!(states[1].starts_with("bad Refused("), "{states:?}");
    assert!(states[2].starts_with("good Runs("), "{states:?}");
}
