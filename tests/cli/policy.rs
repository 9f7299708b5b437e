//! What the policy of a machine forbids.

use std::process::Output;

use super::Home;

fn under(home: &Home, policy: &str, args: &[&str]) -> Output {
    let policy = home.file("policy.toml", policy);
    home.command(args).env("INGLENOOK_POLICY", policy).output().unwrap()
}

#[track_caller]
fn forbidden(home: &Home, policy: &str, args: &[&str], says: &str) {
    let output = under(home, policy, args);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{args:?}: {stderr}");
    assert!(stderr.contains(says), "{stderr}");
}

#[test]
fn a_policy_forbids_and_a_broken_one_stops_everything() {
    let home = Home::new();
    home.import(&[("user", "I live in Oslo.")]);
    forbidden(&home, "export = false", &["export"], "can't be written to other files");
    let target = home.dir.path().join("copy.db");
    forbidden(&home, "export = false", &["backup", target.to_str().unwrap()], "other files");
    assert!(!target.exists());
    forbidden(&home, "pull = false", &["model", "pull", "qwen3-0.6b"], "downloaded");
    forbidden(&home, "exports = false", &["memory", "stats"], "can't be followed");
    forbidden(&home, "retention_days = 'x'", &["memory", "stats"], "can't be followed");
    forbidden(&home, "retention_days = 0", &["memory", "stats"], "can't be followed");
    let missing = home.command(&["memory", "stats"]).env("INGLENOOK_POLICY", "/none").output();
    assert_eq!(missing.unwrap().status.code(), Some(5));
    // What it does not name is as ever.
    assert!(under(&home, "pull = false", &["export"]).status.success());
    home.ok(&["export"]);
}

#[test]
fn a_policy_wants_an_encrypted_memory() {
    let home = Home::new();
    let rule = "encryption = true";
    forbidden(&home, rule, &["ask", "hi"], "memory encrypt");
    assert!(!home.data().join("memory.db").exists());
    let copy = home.dir.path().join("plain.db");
    let plain = Home::new();
    plain.import(&[("user", "I live in Oslo.")]);
    plain.ok(&["backup", copy.to_str().unwrap()]);
    forbidden(&home, rule, &["restore", copy.to_str().unwrap()], "this backup is not");
    // A sound memory is not taken for a damaged one.
    forbidden(&plain, rule, &["memory", "repair"], "memory encrypt");
    let passphrase = home.file("passphrase", "correct horse battery\n");
    let with_key = |args: &[&str]| {
        let policy = home.file("policy.toml", rule);
        let mut command = home.command(args);
        command.env("INGLENOOK_POLICY", policy).env("INGLENOOK_PASSPHRASE_FILE", &passphrase);
        command.output().unwrap()
    };
    assert!(with_key(&["memory", "encrypt"]).status.success());
    assert!(with_key(&["memory", "stats"]).status.success());
    assert_eq!(with_key(&["memory", "decrypt"]).status.code(), Some(5));
}

#[test]
fn a_policy_keeps_no_chat_and_forgets_what_is_old() {
    let home = Home::new();
    // Said in November 2026.
    home.import(&[("user", "I live in Oslo.")]);
    home.ok(&["memory", "consolidate", "--wait"]);
    let messages = || home.json(&["memory", "stats", "--json"])["messages"].clone();
    assert!(under(&home, "incognito = true", &["ask", "My dog is called Rex."]).status.success());
    assert_eq!(messages(), 1, "the question is kept nowhere");
    forbidden(&home, "incognito = true", &["ask", "--session", "c1", "hi"], "can't be continued");
    let years = "retention_days = 36500";
    assert!(under(&home, years, &["memory", "consolidate", "--wait"]).status.success());
    assert_eq!(messages(), 1);
    let line =
        r#"{"role": "user", "content": "I live in Bergen.", "created_at": "2001-05-01T10:00:00Z"}"#;
    home.ok(&["import", home.file("old.jsonl", line).to_str().unwrap()]);
    assert_eq!(messages(), 2);
    let output =
        under(&home, "retention_days = 3650\naudit = true", &["memory", "consolidate", "--wait"]);
    assert!(output.status.success());
    assert_eq!(messages(), 1, "the old one is forgotten");
    assert!(home.ok(&["memory", "verify"]).contains("Sound"));
}

#[test]
fn what_is_done_with_memory_is_noted_without_its_content() {
    let home = Home::new();
    let rule = "audit = true";
    let said =
        r#"{"role": "user", "content": "I live in Xanadu.", "created_at": "2026-05-01T10:00:00Z"}"#;
    let file = home.file("chat.jsonl", said);
    let file = file.to_str().unwrap();
    for args in [
        &["import", file][..],
        &["export"],
        &["export", "--session", "c99"],
        &["memory", "forget", "--match", "Xanadu", "--yes"],
        &["ask", "hi"],
    ] {
        under(&home, rule, args);
    }
    let log = std::fs::read_to_string(home.data().join("audit.jsonl")).unwrap();
    let lines: Vec<serde_json::Value> =
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let what: Vec<&str> = lines.iter().map(|line| line["what"].as_str().unwrap()).collect();
    assert_eq!(what, ["import", "export", "forget"]);
    assert!(lines.iter().all(|line| line["messages"] == 1 && line["at"].is_string()));
    assert!(!log.contains("Xanadu") && !log.contains("chat.jsonl"));
    home.ok(&["memory", "stats"]);
    let again = std::fs::read_to_string(home.data().join("audit.jsonl")).unwrap();
    assert_eq!(again, log, "only where a policy wants it");
}

#[test]
fn only_the_allowed_models_are_loaded() {
    let home = Home::new();
    let models = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/models/llama-f16-gguf");
    let model = std::fs::read_dir(models).unwrap().filter_map(|entry| {
        let path = entry.unwrap().path();
        path.extension().is_some_and(|e| e == "gguf").then_some(path)
    });
    let model = model.min().expect("a model among the fixtures");
    let hash = inglenook::registry::sha256_file(&model).unwrap().0;
    let ask = |policy: &str| {
        let output = under(&home, policy, &["-m", model.to_str().unwrap(), "ask", "hi"]);
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let refused = ask("models = []");
    assert!(refused.contains("policy does not allow") && refused.contains(&hash), "{refused}");
    // In a folder it is the same file.
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/models/llama-f16-gguf");
    forbidden(&home, "models = []", &["-m", folder, "ask", "hi"], &hash);
    forbidden(&home, "models = []", &["model", "probe", folder, "--tokens", "1"], &hash);
    let loaded = ask(&format!("models = ['{hash}']"));
    assert!(!loaded.contains("policy"), "{loaded}");
    assert!(under(&home, "models = []", &["ask", "hi"]).status.success(), "the built-in one is");
}
