//! A PostgreSQL server for one test.
#![allow(dead_code, reason = "not every program needs all of it")]

use std::fs;
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use inglenook::testing::skip;

/// PostgreSQL refuses to run as root.
const NOBODY: u32 = 65_534;

/// A server of the system's version, for one test. It has the roles `ana` and `bo`.
pub struct Server {
    bin: PathBuf,
    dir: tempfile::TempDir,
    pub port: u16,
}

/// Where PostgreSQL's programs are: Debian has them beside the path.
fn bin() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let debian = versions.map(|entry| entry.unwrap().path().join("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    debian.chain(std::env::split_paths(&path)).find(|dir| dir.join("initdb").exists())
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata("/proc/self").is_ok_and(|found| found.uid() == 0)
}

impl Server {
    /// `None`, and skipped, where there is none.
    pub fn start() -> Option<Self> {
        let Some(bin) = bin() else {
            skip("PostgreSQL is not installed");
            return None;
        };
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let server = Self { bin, dir: tempfile::tempdir().unwrap(), port };
        let password = server.dir.path().join("password");
        fs::write(&password, "owner").unwrap();
        if is_root() {
            for path in [server.dir.path(), &password] {
                std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
            }
        }
        let data = server.data();
        let pwfile = format!("--pwfile={}", password.display());
        let auth = "--auth=scram-sha-256";
        server.run("initdb", &["-D", &data, "-U", "owner", "-N", "-E", "UTF8", auth, &pwfile]);
        server.control("start");
        server.psql("owner", "postgres", "CREATE DATABASE notes");
        for role in ["ana", "bo"] {
            server.sql("owner", &format!("CREATE ROLE {role} LOGIN PASSWORD '{role}'"));
        }
        Some(server)
    }

    pub fn data(&self) -> String {
        self.dir.path().join("data").display().to_string()
    }

    fn program(&self, name: &str, args: &[&str]) -> Command {
        let mut command = Command::new(self.bin.join(name));
        command.args(args).current_dir("/").stdin(Stdio::null());
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    fn run(&self, name: &str, args: &[&str]) {
        let output = self.program(name, args).output().unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    }

    pub fn control(&self, what: &str) {
        let options = format!(
            "-p {} -k {} -c listen_addresses=127.0.0.1 -c fsync=off",
            self.port,
            self.dir.path().display()
        );
        let log = self.dir.path().join("log").display().to_string();
        let data = self.data();
        self.run(
            "pg_ctl",
            &["-w", "-s", "-D", &data, "-l", &log, "-m", "fast", "-o", &options, what],
        );
    }

    pub fn psql(&self, role: &str, database: &str, sql: &str) -> Output {
        let url = format!("postgres://{role}:{role}@127.0.0.1:{}/{database}", self.port);
        let args = ["-X", "-q", "-t", "-A", "-v", "ON_ERROR_STOP=1", "-c", sql, &url];
        self.program("psql", &args).output().unwrap()
    }

    /// What a statement that must succeed returns.
    #[track_caller]
    pub fn sql(&self, role: &str, sql: &str) -> String {
        let output = self.psql(role, "notes", sql);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    pub fn url(&self, role: &str) -> String {
        format!("postgres://{role}:{role}@127.0.0.1:{}/notes", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let data = self.data();
        let _ = self.program("pg_ctl", &["-s", "-D", &data, "-m", "immediate", "stop"]).output();
    }
}
