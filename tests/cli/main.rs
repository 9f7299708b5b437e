//! The program as a person or a script runs it: the real binary, real files, exit codes.
//!
//! No test needs a network. Tests that need `../shared` are skipped without it.

#![expect(clippy::unwrap_used, reason = "tests")]

mod ask;
mod bad_input;
mod bench;
mod conversations;
mod eval;
mod forgetting;
mod models;
mod plain_output;
mod processes;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::{Duration, Instant};

use assert_cmd::Command;
use inglenook::testing::shared;
use serde_json::Value;
use tempfile::TempDir;

/// A home directory for one test.
struct Home {
    dir: TempDir,
}

impl Home {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// A file beside the data directory.
    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_inglenook"));
        command.args(args).env_clear();
        command
            .env("INGLENOOK_HOME", self.data())
            .env("HOME", self.dir.path())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
    }

    #[track_caller]
    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// stdout of a command that must succeed.
    #[track_caller]
    fn ok(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(
            output.status.success(),
            "{args:?} failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    /// As [`Home::ok`], after this process has held the lock: a child that another test is just
    /// starting may have inherited it for a moment.
    #[track_caller]
    fn ok_after_unlock(&self, args: &[&str]) -> String {
        let deadline = Instant::now() + Duration::from_secs(10);
        while self.run(args).status.code() == Some(11) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
        }
        self.ok(args)
    }

    /// The JSON of a command that must succeed.
    #[track_caller]
    fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.ok(args)).unwrap()
    }

    /// stderr of a command that must end with `code`.
    #[track_caller]
    fn fails(&self, args: &[&str], code: i32) -> String {
        let output = self.run(args);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {stderr}");
        assert!(!stderr.contains("panicked"), "{stderr}");
        stderr
    }

    /// Imports messages as JSONL, a minute apart.
    #[track_caller]
    fn import(&self, messages: &[(&str, &str)]) {
        let mut lines = String::new();
        for (i, (role, content)) in messages.iter().enumerate() {
            let at = format!("2026-11-16T10:{i:02}:00+01:00");
            let line = serde_json::json!({"role": role, "content": content, "created_at": at});
            writeln!(lines, "{line}").unwrap();
        }
        let path = self.file("import.jsonl", lines);
        self.ok(&["import", path.to_str().unwrap()]);
    }
}

#[test]
fn help_names_every_command() {
    let home = Home::new();
    let help = home.ok(&["--help"]);
    for command in [
        "import",
        "export",
        "session",
        "memory",
        "model",
        "eval",
        "bench",
        "doctor",
        "dirs",
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
fn completions_and_man_pages_are_made() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(home.ok(&["completions", shell]).contains("inglenook"), "{shell}");
    }
    assert!(home.ok(&["man"]).contains(".TH inglenook"));
    let pages = home.dir.path().join("pages");
    home.ok(&["man", "--output", pages.to_str().unwrap()]);
    assert!(pages.join("inglenook-memory-forget.1").is_file());
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
}
