//! One memory on several devices, through PostgreSQL: a server of the system's version is started for each test.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use inglenook::testing::skip;

use super::home::Home;
use super::sync::{Shared, said};

/// PostgreSQL refuses to run as root.
const NOBODY: u32 = 65_534;

struct Server {
    bin: PathBuf,
    dir: tempfile::TempDir,
    port: u16,
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
    fn start() -> Option<Self> {
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

    fn data(&self) -> String {
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

    fn control(&self, what: &str) {
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

    fn psql(&self, role: &str, database: &str, sql: &str) -> Output {
        let url = format!("postgres://{role}:{role}@127.0.0.1:{}/{database}", self.port);
        let args = ["-X", "-q", "-t", "-A", "-v", "ON_ERROR_STOP=1", "-c", sql, &url];
        self.program("psql", &args).output().unwrap()
    }

    /// What a statement that must succeed returns.
    #[track_caller]
    fn sql(&self, role: &str, sql: &str) -> String {
        let output = self.psql(role, "notes", sql);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn url(&self, role: &str) -> String {
        format!("postgres://{role}:{role}@127.0.0.1:{}/notes", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let data = self.data();
        let _ = self.program("pg_ctl", &["-s", "-D", &data, "-m", "immediate", "stop"]).output();
    }
}

#[test]
fn devices_meet_in_a_table_of_which_each_role_sees_its_own_part() {
    let Some(server) = Server::start() else { return };
    let home = Home::new();
    let refused = home.fails(&["sync", "init", &server.url("ana")], 1);
    assert!(refused.contains("permission denied") && refused.contains("sync sql"), "{refused}");
    assert!(!refused.contains("ana:ana"), "the password is not shown: {refused}");
    server.sql("owner", &home.ok(&["sync", "sql"]));
    let refused = home.fails(&["sync", "init", &server.url("ana")], 1);
    assert!(refused.contains("permission denied") && refused.contains("GRANT"), "{refused}");
    server.sql("owner", "GRANT SELECT, INSERT, DELETE ON inglenook_piece TO ana, bo");
    // Twice does no harm.
    server.sql("owner", &home.ok(&["sync", "sql"]));

    let mut shared = Shared::through(tempfile::tempdir().unwrap(), server.url("ana"), 2);
    shared.homes[0].import(&[("user", "My lucky word is Quaver.")]);
    shared.homes[1].import(&[("user", "My locker code is 4711.")]);
    shared.exchange();
    shared.add();
    shared.homes[2].ok(&["memory", "forget", "--match", "4711", "--yes"]);
    shared.exchange();
    for home in &shared.homes {
        assert_eq!(said(home), ["My lucky word is Quaver."]);
    }
    let pieces = shared.in_pieces();
    assert!(pieces.contains("Quaver") && !pieces.contains("4711"), "{pieces}");
    let status = shared.homes[0].ok(&["sync", "status"]);
    assert!(status.contains("postgres://ana@127.0.0.1") && !status.contains("ana:ana"), "{status}");

    // Another role has its own, and can't reach these.
    let count = "SELECT count(*) FROM inglenook_piece";
    assert_ne!(server.sql("ana", count), "0");
    assert_eq!(server.sql("bo", count), "0");
    let forged =
        "INSERT INTO inglenook_piece (person, device, piece, bytes) VALUES ('ana', '', 9, '')";
    assert!(!server.psql("bo", "notes", forged).status.success());
    server.sql("bo", "DELETE FROM inglenook_piece");
    let other = Shared::through(tempfile::tempdir().unwrap(), server.url("bo"), 2);
    other.homes[0].import(&[("user", "I am Bo.")]);
    other.exchange();
    assert_eq!(said(&other.homes[1]), ["I am Bo."]);
    let joined = Home::new();
    let wrong = joined.fails(&["sync", "init", &server.url("bo"), "--code", &shared.code], 2);
    assert!(wrong.contains("not the code of this sync"), "{wrong}");

    // As PostgreSQL's own programs find it.
    let passfile = home.file("pgpass", format!("127.0.0.1:{}:notes:ana:ana\n", server.port));
    fs::set_permissions(&passfile, fs::Permissions::from_mode(0o600)).unwrap();
    let url = server.url("ana").replace("ana:ana@", "ana@");
    let mut init = home.command(&["sync", "init", &url, "--code", &shared.code]);
    init.env("PGPASSFILE", passfile).assert().success();
    assert_eq!(said(&home), ["My lucky word is Quaver."]);
}

#[test]
fn a_server_that_is_away_or_refuses_harms_nothing() {
    let Some(server) = Server::start() else { return };
    server.sql("owner", "GRANT CREATE ON SCHEMA public TO ana");
    let shared = Shared::through(tempfile::tempdir().unwrap(), server.url("ana"), 2);
    shared.homes[0].import(&[("user", "My lucky word is Quaver.")]);
    server.control("stop");
    let away = shared.homes[0].fails(&["sync", "now"], 1);
    assert!(away.contains("cannot connect to postgres://ana@127.0.0.1"), "{away}");
    assert!(away.contains("hint:") && !away.contains("ana:ana"), "{away}");
    server.control("start");
    server.sql("owner", "ALTER ROLE ana PASSWORD 'new'");
    let refused = shared.homes[0].fails(&["sync", "now"], 1);
    assert!(refused.contains("password authentication failed"), "{refused}");
    server.sql("owner", "ALTER ROLE ana PASSWORD 'ana'");
    shared.exchange();
    assert_eq!(said(&shared.homes[1]), ["My lucky word is Quaver."]);
    assert!(Path::new(&server.data()).exists());
}
