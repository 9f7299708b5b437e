//! A home directory for a test that runs a whole program, which the including file names `PROGRAM`.

#![allow(dead_code, reason = "not every program needs all of it")]

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Output;
use std::time::{Duration, Instant};

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

/// A home directory for one test.
pub struct Home {
    pub dir: TempDir,
}

impl Home {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub fn data(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// A file beside the data directory.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(super::PROGRAM);
        command.args(args).env_clear();
        command
            .env("INGLENOOK_HOME", self.data())
            .env("HOME", self.dir.path())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
    }

    #[track_caller]
    pub fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// stdout of a command that must succeed.
    #[track_caller]
    pub fn ok(&self, args: &[&str]) -> String {
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
    pub fn ok_after_unlock(&self, args: &[&str]) -> String {
        let deadline = Instant::now() + Duration::from_secs(10);
        while self.run(args).status.code() == Some(11) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
        }
        self.ok(args)
    }

    /// The JSON of a command that must succeed.
    #[track_caller]
    pub fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.ok(args)).unwrap()
    }

    /// stderr of a command that must end with `code`.
    #[track_caller]
    pub fn fails(&self, args: &[&str], code: i32) -> String {
        let output = self.run(args);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {stderr}");
        assert!(!stderr.contains("panicked"), "{stderr}");
        stderr
    }

    /// Imports messages as JSONL, a minute apart.
    #[track_caller]
    pub fn import(&self, messages: &[(&str, &str)]) {
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
