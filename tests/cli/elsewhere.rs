//! Models of other programs, as a person uses them.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::Home;

pub const MODEL: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/models/llama-f16-gguf/model.gguf");

#[path = "../support/split_gguf.rs"]
mod split_gguf;

fn copy_to(path: &Path) -> PathBuf {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::copy(MODEL, path).unwrap();
    path.to_path_buf()
}

/// A home in which Ollama, LM Studio and Jan have models.
fn with_other_programs() -> Home {
    let home = Home::new();
    let at = |path: &str| home.dir.path().join(path);
    let hash = "5".repeat(64);
    copy_to(&at(&format!(".ollama/models/blobs/sha256-{hash}")));
    let manifest = at(".ollama/models/manifests/registry.ollama.ai/library/qwen3/tiny");
    std::fs::create_dir_all(manifest.parent().unwrap()).unwrap();
    let layer = serde_json::json!({"mediaType": "application/vnd.ollama.image.model", "digest": format!("sha256:{hash}")});
    std::fs::write(manifest, serde_json::json!({"layers": [layer]}).to_string()).unwrap();
    copy_to(&at(".lmstudio/models/owner/Tiny-GGUF/Tiny-Q4_K_M.gguf"));
    std::fs::write(at(".lmstudio/models/owner/Tiny-GGUF/bad.gguf"), "GGUF and no more").unwrap();
    symlink("..", at(".lmstudio/models/owner/loop")).unwrap();
    home
}

#[test]
fn models_of_other_programs_are_found_linked_used_and_left_alone() {
    let home = with_other_programs();
    let found = home.json(&["model", "scan", "--json"]);
    let found: Vec<(&str, &str, bool)> = found
        .as_array()
        .unwrap()
        .iter()
        .map(|m| (m["program"].as_str().unwrap(), m["name"].as_str().unwrap(), m["runs"] == true))
        .collect();
    let expected = [
        ("LM Studio", "tiny-q4_k_m", true),
        ("LM Studio", "bad", false),
        ("Ollama", "qwen3-tiny", true),
    ];
    assert_eq!(found, expected);
    let said = home.ok(&["model", "scan"]);
    assert!(said.contains("Ollama:") && said.contains("does not run here"), "{said}");

    home.ok(&["model", "scan", "--link"]);
    let list = home.ok(&["model", "list"]);
    assert!(list.contains("tiny-q4_k_m") && list.contains("qwen3-tiny"), "{list}");
    let models = home.data().join("models");
    let names: Vec<_> =
        std::fs::read_dir(models).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["installed.toml"], "nothing is copied");

    home.ok(&["model", "use", "qwen3-tiny"]);
    home.ok(&["ask", "--incognito", "hello"]);
    // The name is a hash that the content does not have: whoever named it so is not believed.
    let output = home.run(&["model", "verify", "qwen3-tiny"]);
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("changed"));

    let path = home.dir.path().join(".lmstudio/models/owner/Tiny-GGUF/Tiny-Q4_K_M.gguf");
    let moved = path.with_extension("moved");
    std::fs::rename(&path, &moved).unwrap();
    let stderr = home.fails(&["-m", "tiny-q4_k_m", "ask", "--incognito", "hello"], 1);
    assert!(stderr.contains("no longer at"), "{stderr}");
    let doctor = home.run(&["doctor"]);
    let doctor = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(doctor.contains("no longer at") && doctor.contains("model scan"), "{doctor}");
    std::fs::rename(&moved, &path).unwrap();
    home.ok(&["-m", "tiny-q4_k_m", "ask", "--incognito", "hello"]);
    let doctor = home.ok(&["doctor"]);
    assert!(doctor.contains("tiny-q4_k_m: llama"), "{doctor}");

    let said = home.ok(&["model", "remove", "tiny-q4_k_m", "--yes"]);
    assert!(said.contains("stays where it is") && path.is_file(), "{said}");
    assert_eq!(std::fs::read(&path).unwrap(), std::fs::read(MODEL).unwrap());
}

#[test]
fn one_of_them_can_be_named() {
    let home = with_other_programs();
    let stderr = home.fails(&["model", "scan", "--link", "nothing"], 3);
    assert!(stderr.contains("tiny-q4_k_m, qwen3-tiny"), "{stderr}");
    home.fails(&["model", "scan", "--link", "bad"], 1);
    home.ok(&["model", "scan", "--link", "tiny-q4_k_m"]);
    let list = home.ok(&["model", "list"]);
    assert!(list.contains("tiny-q4_k_m") && !list.contains("qwen3-tiny"), "{list}");
    let path = home.dir.path().join(".lmstudio/models/owner/Tiny-GGUF/Tiny-Q4_K_M.gguf");
    let again = home.fails(&["model", "import", "--link", path.to_str().unwrap()], 1);
    assert!(again.contains("installed already, as `tiny-q4_k_m`"), "{again}");
}

#[test]
fn nothing_found_says_where_it_looked() {
    let home = Home::new();
    let said = home.ok(&["model", "scan"]);
    assert!(said.contains("Jan") && said.contains("Jan/data/llamacpp/models"), "{said}");
    assert_eq!(home.json(&["model", "scan", "--json"]), serde_json::json!([]));
}

#[test]
fn a_policy_holds_for_linked_models_too() {
    let home = Home::new();
    let path = copy_to(&home.dir.path().join("tiny.gguf"));
    home.ok(&["model", "import", "--link", path.to_str().unwrap()]);
    let policy = home.file("policy.toml", format!("models = ['{}']", "0".repeat(64)));
    let mut command = home.command(&["-m", "tiny", "ask", "--incognito", "hello"]);
    let output = command.env("INGLENOOK_POLICY", policy).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && stderr.contains("policy does not allow"), "{stderr}");
}

#[test]
fn a_model_in_two_files_is_one_model() {
    let home = Home::new();
    let folder = home.dir.path().join(".lmstudio/models/owner/Tiny-GGUF");
    std::fs::create_dir_all(&folder).unwrap();
    split_gguf::split(Path::new(MODEL), &folder, "Tiny-F16");
    let found = home.json(&["model", "scan", "--json"]);
    assert_eq!(found.as_array().unwrap().len(), 1, "{found}");
    assert_eq!((&found[0]["name"], &found[0]["runs"]), (&"tiny-f16".into(), &true.into()));
    let at = |number: u32| folder.join(format!("Tiny-F16-{number:05}-of-00002.gguf"));
    let bytes: u64 = [at(1), at(2)].iter().map(|path| path.metadata().unwrap().len()).sum();
    assert_eq!(found[0]["bytes"], bytes);

    home.ok(&["model", "scan", "--link"]);
    home.ok(&["-m", "tiny-f16", "ask", "--incognito", "hello"]);
    let again = home.fails(&["model", "import", "--link", at(2).to_str().unwrap()], 1);
    assert!(again.contains("installed already, as `tiny-f16`"), "{again}");
    // Any part names it.
    home.ok(&["model", "import", at(2).to_str().unwrap(), "--name", "copy"]);
    let mut copied: Vec<_> = std::fs::read_dir(home.data().join("models/copy"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    copied.sort();
    assert_eq!(copied, ["copy-00001-of-00002.gguf", "copy-00002-of-00002.gguf"]);

    std::fs::rename(at(2), folder.join("moved")).unwrap();
    let stderr = home.fails(&["-m", "tiny-f16", "ask", "--incognito", "hello"], 1);
    assert!(stderr.contains("no longer at") && stderr.contains("00002-of"), "{stderr}");
    home.ok(&["-m", "copy", "ask", "--incognito", "hello"]);
    let stderr = home.fails(&["model", "import", at(1).to_str().unwrap()], 1);
    assert!(stderr.contains("Tiny-F16-00002-of-00002.gguf"), "{stderr}");
}
