//! `model …` with real, damaged and hostile files.

use super::{Home, shared};

#[test]
fn a_missing_model_is_exit_code_3() {
    let home = Home::new();
    let stderr = home.fails(&["model", "use", "nothing"], 3);
    assert!(stderr.contains("`nothing`"), "{stderr}");
    let stderr = home.fails(&["model", "use", "qwen3-0.6b"], 3);
    assert!(stderr.contains("inglenook model pull qwen3-0.6b"), "{stderr}");
    home.fails(&["model", "pull", "nothing"], 3);
    home.fails(&["model", "remove", "nothing", "--yes"], 3);
}

#[test]
fn bad_model_files_are_named_and_leave_nothing() {
    let home = Home::new();
    let mut hostile = b"GGUF\x03\x00\x00\x00".to_vec();
    hostile.extend(u64::MAX.to_le_bytes());
    hostile.extend(u64::MAX.to_le_bytes());
    for (name, bytes) in [
        ("empty.gguf", &b""[..]),
        ("text.gguf", b"I am a text"),
        ("cut.gguf", b"GGUF\x03\x00"),
        ("hostile.gguf", &hostile),
        ("cut.whl", b"PK\x03\x04\x14\x00"),
    ] {
        let path = home.file(name, bytes);
        let path = path.to_str().unwrap();
        let stderr = home.fails(&["model", "import", path], 1);
        assert!(stderr.contains(path), "{name}: {stderr}");
        assert!(stderr.contains("hint:"), "{name}: {stderr}");
        home.fails(&["model", "probe", path, "--tokens", "1", "--json"], 1);
    }
    let models = home.data().join("models");
    assert_eq!(std::fs::read_dir(models).map_or(0, Iterator::count), 0);
}

#[test]
fn a_real_model_is_imported_listed_probed_verified_and_removed() {
    let Some(path) = shared("models/stories260K") else { return };
    let path = path.to_str().unwrap();
    let home = Home::new();
    let said = home.ok(&["model", "import", path, "--name", "stories"]);
    assert!(said.contains("Imported stories (llama"), "{said}");
    home.ok(&["model", "use", "stories"]);
    let list = home.json(&["model", "list", "--json"]);
    let stories = list.as_array().unwrap().iter().find(|m| m["name"] == "stories").unwrap();
    assert_eq!(stories["in_use"], true);
    let verified = home.json(&["model", "verify", "--json"]);
    assert!(verified.as_array().unwrap().iter().all(|v| v["state"] == "sound"), "{verified}");

    let probe = home.json(&["model", "probe", path, "--tokens", "1,403,407", "--json"]);
    let rows = probe["logits"].as_array().unwrap();
    assert_eq!(rows.len(), 3);
    assert!(rows.iter().all(|row| row.as_array().unwrap().len() == 512));
    assert_eq!(probe.as_object().unwrap().len(), 1);

    let copy = home.data().join("models/stories/model.safetensors");
    let mut bytes = std::fs::read(&copy).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(&copy, bytes).unwrap();
    let output = home.run(&["model", "verify", "stories"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("changed"));
    home.ok(&["model", "remove", "stories", "--yes"]);
    assert!(!home.data().join("models/stories").exists());
}

#[cfg(feature = "hub")]
#[test]
fn offline_mode_downloads_nothing() {
    let home = Home::new();
    let output = home
        .command(&["model", "pull", "qwen3-0.6b"])
        .env("HF_HUB_OFFLINE", "1")
        .env("HF_ENDPOINT", "http://127.0.0.1:9")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("HF_HUB_OFFLINE"), "{stderr}");
}

#[test]
fn a_conversation_becomes_a_memory() {
    let home = Home::new();
    home.import(&[
        ("user", "Hi! My name is Ana and I live in Lund."),
        ("assistant", "Nice to meet you, Ana."),
        ("user", "I have a dog called Max. He is a Labrador mix."),
        ("assistant", "Max sounds lovely."),
    ]);
    assert_ne!(home.json(&["memory", "stats", "--json"])["jobs_pending"], 0);
    let said = home.ok(&["memory", "consolidate"]);
    assert!(said.contains("waiting"), "{said}");
    let said = home.ok(&["memory", "consolidate", "--wait"]);
    assert!(said.contains("4 messages → 1 episode"), "{said}");
    assert!(home.ok(&["memory", "verify"]).starts_with("Sound"));
    let stats = home.json(&["memory", "stats", "--json"]);
    assert_eq!((&stats["jobs_pending"], &stats["jobs_failed"]), (&0.into(), &0.into()));
    assert!(stats["semantics"].as_u64().unwrap() >= 2, "{stats}");

    let tree = home.ok(&["memory", "tree"]);
    for text in ["Lund", "Max", "└─ "] {
        assert!(tree.contains(text), "{text} is not in\n{tree}");
    }
    // By meaning and by words.
    let found = home.json(&["memory", "search", "--json", "which town"]);
    assert!(found[0]["text"].as_str().unwrap().contains("Lund"), "{found}");

    // A correction is kept, and can be undone.
    let fact = found.as_array().unwrap().iter().find(|hit| hit["kind"] == "semantic").unwrap();
    let id = fact["id"].as_str().unwrap();
    home.ok(&["memory", "edit", id, "Ana lives in Ystad"]);
    assert!(home.ok(&["memory", "show", id]).contains("Ystad"));
    home.ok(&["memory", "undo"]);
    assert!(!home.ok(&["memory", "show", id]).contains("Ystad"));
}

#[test]
fn a_probe_can_be_exact_or_as_the_model_runs() {
    let home = Home::new();
    let model =
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/models/qwen3-q4_k_m-gguf/model.gguf");
    let probe = |fast: &[&str]| -> Vec<f64> {
        let command = ["model", "probe", model, "--tokens", "5,6,7", "--json"];
        let rows = home.json(&[&command[..], fast].concat());
        let last = rows["logits"][2].as_array().unwrap().clone();
        last.iter().map(|x| x.as_f64().unwrap()).collect()
    };
    let (exact, fast) = (probe(&[]), probe(&["--fast"]));
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let cosine = dot(&exact, &fast) / (dot(&exact, &exact) * dot(&fast, &fast)).sqrt();
    assert!(cosine > 0.999 && exact != fast, "{cosine}");
}

#[test]
fn what_a_killed_import_left_goes_at_the_next_start() {
    let home = Home::new();
    let models = home.data().join("models");
    let (dead, alive) = (models.join(".import-dead"), models.join(".import-alive"));
    for dir in [&dead, &alive] {
        std::fs::create_dir_all(dir).unwrap();
        std::fs::write(dir.join("half.gguf"), "GGUF").unwrap();
    }
    let held = std::fs::File::open(&alive).unwrap();
    held.lock().unwrap();
    home.ok(&["model", "list"]);
    assert!(!dead.exists() && alive.join("half.gguf").exists());
    drop(held);
    let garbage = home.file("garbage.gguf", "GGUF and no more");
    home.fails(&["model", "import", garbage.to_str().unwrap()], 1);
    let left: Vec<_> = std::fs::read_dir(&models).unwrap().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
}
