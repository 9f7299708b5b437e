//! The program as a person or a script runs it: the real binary, real files, exit codes.
//!
//! No test needs a network. Tests that need `../shared` are skipped without it.

#![expect(clippy::unwrap_used, reason = "tests")]

mod ask;
mod attacks;
mod backup;
mod bad_input;
mod canaries;
mod conversations;
mod devices;
mod elsewhere;
mod encryption;
mod forgetting;
#[cfg(feature = "hub")]
mod hub;
mod keyring;
mod mcp;
mod mcp_client;
mod models;
mod plain_chat;
mod plain_output;
mod policy;
mod processes;
mod repair;
mod sync;
mod sync_large;
#[cfg(feature = "postgres")]
mod sync_postgres;

#[path = "../support/home.rs"]
mod home;
#[cfg(feature = "hub")]
#[path = "../support/mock_hub.rs"]
mod mock_hub;
#[path = "../support/pieces.rs"]
mod pieces;
#[cfg(feature = "postgres")]
#[path = "../support/postgres.rs"]
mod postgres;
#[path = "../support/python.rs"]
mod python;
#[path = "../support/rng.rs"]
mod rng;

use std::path::Path;

use home::Home;
use inglenook::inference::{Confinement, confinement};
use inglenook::testing::shared;
use serde_json::Value;

/// What [`Home`] runs.
const PROGRAM: &str = env!("CARGO_BIN_EXE_inglenook");

#[test]
fn help_names_every_command() {
    let home = Home::new();
    let help = home.ok(&["--help"]);
    for command in [
        "import",
        "export",
        "backup",
        "restore",
        "sync",
        "session",
        "memory",
        "model",
        "mcp",
        "serve",
        "doctor",
        "dirs",
        "keys",
        "completions",
        "man",
    ] {
        assert!(help.contains(&format!("\n  {command} ")), "{command} is not in the help");
    }
    assert!(!home.data().exists(), "help makes no files");
}

#[test]
fn a_wrong_command_line_is_exit_code_2() {
    let home = Home::new();
    for args in [
        &["frobnicate"][..],
        &["memory", "show", "31"],
        &["memory", "forget"],
        &["ask", "--incognito", "--session", "c1", "hi"],
        &["ask", "--uncertainty", "guess", "hi"],
        &["memory", "tree", "--depth", "9"],
        &["model", "probe", "x", "--tokens", "one"],
    ] {
        home.fails(args, 2);
    }
}

#[test]
fn folders_follow_the_variables_and_are_private() {
    let home = Home::new();
    let dirs = home.json(&["dirs", "--json"]);
    assert_eq!(dirs["data"], home.data().to_str().unwrap());
    assert_eq!(dirs["memory"], home.data().join("memory.db").to_str().unwrap());
    let elsewhere = home.dir.path().join("elsewhere");
    let dirs = home.json(&["dirs", "--json", "--data-dir", elsewhere.to_str().unwrap()]);
    assert_eq!(dirs["data"], elsewhere.to_str().unwrap());

    home.import(&[("user", "hello")]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&home.data()), 0o700);
        for entry in std::fs::read_dir(home.data()).unwrap() {
            let path = entry.unwrap().path();
            assert_eq!(mode(&path), 0o600, "{}", path.display());
        }
    }
}

#[test]
fn completions_and_man_pages_are_made_and_name_no_path_of_ours() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(home.ok(&["completions", shell]).contains("inglenook"), "{shell}");
    }
    assert!(home.ok(&["man"]).contains(".TH inglenook"));
    let pages = home.dir.path().join("pages");
    home.ok(&["man", "--output", pages.to_str().unwrap()]);
    assert!(pages.join("inglenook-memory-forget.1").is_file());
    // A page holds the help of its command.
    for page in std::fs::read_dir(&pages).unwrap() {
        let text = std::fs::read_to_string(page.unwrap().path()).unwrap();
        assert!(!text.contains("../"), "a path outside the project in {text}");
    }
}

#[test]
fn an_unknown_setting_is_a_warning_with_its_line() {
    let home = Home::new();
    let config = home.file("config.toml", "model = \"starter\"\n[chat]\ntemprature = 1\n");
    let output = home.run(&["dirs", "--config", config.to_str().unwrap()]);
    assert!(output.status.success());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("line 3: unknown key `chat.temprature`"), "{stderr}");

    let config = home.file("config.toml", "\nmodel = 3\n");
    let stderr = home.fails(&["dirs", "--config", config.to_str().unwrap()], 2);
    assert!(stderr.contains("line 2: `model` must be text"), "{stderr}");
    let stderr = home.fails(&["dirs", "--config", "/nowhere/config.toml"], 2);
    assert!(stderr.contains("/nowhere/config.toml"), "{stderr}");
}

#[test]
fn the_doctor_finds_nothing_bad_in_a_sound_home() {
    let home = Home::new();
    home.import(&[("user", "hello")]);
    let findings = home.json(&["doctor", "--json"]);
    let bad: Vec<&Value> =
        findings.as_array().unwrap().iter().filter(|f| f["state"] == "bad").collect();
    assert!(bad.is_empty(), "{bad:?}");
    let sandbox = findings.as_array().unwrap().iter().find(|f| f["what"] == "sandbox").unwrap();
    let confined = confinement().unwrap() != Confinement::None;
    assert_eq!(sandbox["state"] == "good", confined, "{sandbox}");
}

#[test]
fn the_doctor_names_files_that_others_can_change() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let home = Home::new();
    home.import(&[("user", "hello")]);
    let says = |expected: &str, code: i32| {
        let output = home.run(&["doctor"]);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains(expected), "{text}");
        assert_eq!(output.status.code(), Some(code), "{text}");
    };
    let file = home.data().join("memory.db");
    let mode = |mode| std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
    mode(0o644);
    says("memory.db can be read by others: chmod 600", 0);
    mode(0o666);
    says("memory.db can be changed by others: chmod 600", 1);
    mode(0o600);
    let elsewhere = home.file("elsewhere", "");
    let lock = home.data().join("memory.lock");
    std::fs::remove_file(&lock).unwrap();
    symlink(&elsewhere, &lock).unwrap();
    says("memory.lock is a link", 1);

    // `memory.db-shm` has the mode that the database had a moment ago.
    for entry in std::fs::read_dir(home.data()).unwrap().flatten().filter(|e| e.path() != lock) {
        std::fs::set_permissions(entry.path(), PermissionsExt::from_mode(0o600)).unwrap();
    }
    std::fs::remove_file(&lock).unwrap();
    let (folder, moved) = (home.data(), home.data().with_file_name("moved"));
    std::fs::rename(&folder, &moved).unwrap();
    symlink(&moved, &folder).unwrap();
    says("ok  data", 0);
    std::fs::set_permissions(&moved, PermissionsExt::from_mode(0o711)).unwrap();
    says("can be read by others: chmod 700", 0);
}

#[test]
#[cfg(target_os = "linux")]
fn no_core_file_would_hold_what_was_said() {
    let home = Home::new();
    let mut import = std::process::Command::new(env!("CARGO_BIN_EXE_inglenook"))
        .args(["import", "-", "--data-dir"])
        .arg(home.data())
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let file = format!("/proc/{}/limits", import.id());
    // Its first act; but it has to be started.
    let has_none = (0..200).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        let limits = std::fs::read_to_string(&file).unwrap_or_default();
        let core = limits.lines().find(|line| line.starts_with("Max core file size"));
        core.is_some_and(|line| line.split_whitespace().nth(4) == Some("0") && line.contains(" 0 "))
    });
    import.kill().unwrap();
    import.wait().unwrap();
    assert!(has_none);
}

#[test]
fn what_moved_to_another_program_is_named() {
    let home = Home::new();
    for moved in ["eval", "bench"] {
        let stderr = home.fails(&[moved, "score", "x"], 2);
        assert!(stderr.contains("unrecognized subcommand"), "{stderr}");
        assert!(stderr.contains("hint: `inglenook-eval` measures now"), "{stderr}");
    }
}
