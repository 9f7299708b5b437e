//! `memory encrypt | decrypt | rekey`, and the commands on an encrypted memory.

use std::path::{Path, PathBuf};

use assert_cmd::Command;

use inglenook::store::{Secret, Store, WAIT};

use crate::home::Home;

pub const PASSPHRASE: &str = "correct horse battery staple";

pub struct Encrypted {
    pub home: Home,
    pub passphrase: PathBuf,
}

impl Encrypted {
    pub fn new() -> Self {
        let home = Home::new();
        home.import(&[
            ("user", "I live in Oslo, at Zebragata 5."),
            ("user", "My dog is called Xerxes."),
        ]);
        home.ok(&["memory", "consolidate", "--wait"]);
        let passphrase = private(&home, "passphrase", PASSPHRASE);
        let this = Self { home, passphrase };
        let said = this.ok(&["memory", "encrypt"]);
        assert!(said.contains("Encrypted: 2 messages"), "{said}");
        this
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = self.home.command(args);
        command.env("INGLENOOK_PASSPHRASE_FILE", &self.passphrase);
        command
    }

    #[track_caller]
    pub fn ok(&self, args: &[&str]) -> String {
        let output = self.command(args).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {stderr}");
        String::from_utf8(output.stdout).unwrap()
    }
}

pub fn private(home: &Home, name: &str, line: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let path = home.file(name, format!("{line}\n"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    path
}

/// Files under a folder that hold any of the words of what was said, or SQLite's first words.
fn readable(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(readable(&path));
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        let holds =
            |word: &str| bytes.windows(word.len()).any(|w| w.eq_ignore_ascii_case(word.as_bytes()));
        // The words, their stems in the full text, names of tables.
        if ["zebragata", "xerxes", "xerx", "CREATE TABLE", "SQLite format"]
            .iter()
            .any(|word| holds(word))
        {
            found.push(path);
        }
    }
    found
}

#[test]
fn nothing_of_an_encrypted_memory_can_be_read_and_all_of_it_works() {
    let memory = Encrypted::new();
    let home = &memory.home;
    assert_eq!(readable(&home.data()), Vec::<PathBuf>::new());
    memory.ok(&["ask", "My cousin Xerxesina works in Zebragata."]);
    let answer = memory.ok(&["ask", "What is my dog called?"]);
    assert!(answer.contains("Xerxes"), "{answer}");
    memory.ok(&["memory", "consolidate", "--wait"]);
    assert!(memory.ok(&["memory", "verify"]).contains("Sound"));
    assert!(memory.ok(&["doctor"]).contains("encrypted"));
    assert!(memory.ok(&["memory", "search", "dog"]).contains("Xerxes"));
    memory.ok(&["memory", "forget", "--redact", "Xerxesina", "--yes"]);
    memory.ok(&["backup", "--auto"]);
    assert_eq!(readable(&home.data()), Vec::<PathBuf>::new());
    assert!(!memory.ok(&["export"]).contains("Xerxesina"));
}

#[test]
fn without_its_passphrase_it_stays_shut_and_as_it_is() {
    let memory = Encrypted::new();
    let home = &memory.home;
    let database = home.data().join("memory.db");
    let before = std::fs::read(&database).unwrap();
    for args in [
        &["memory", "stats"][..],
        &["ask", "hi"],
        &["export"],
        &["memory", "forget", "--match", "dog", "--yes"],
        &["memory", "decrypt"],
        &["backup", "copy.db"],
    ] {
        let told = home.fails(args, 4);
        assert!(
            told.contains("is encrypted") && told.contains("INGLENOOK_PASSPHRASE_FILE"),
            "{told}"
        );
    }
    assert!(home.ok(&["doctor"]).contains("no passphrase"));
    home.fails(&["memory", "encrypt"], 2);
    let wrong = private(home, "wrong", "correct horse battery stable");
    let since = std::time::Instant::now();
    let output = memory
        .command(&["memory", "stats"])
        .env("INGLENOOK_PASSPHRASE_FILE", &wrong)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&output.stderr).contains("not the passphrase"));
    assert!(since.elapsed().as_millis() > 1900);
    assert!(std::fs::read(&database).unwrap() == before);
}

#[test]
fn the_passphrase_can_be_changed_and_taken_away() {
    let memory = Encrypted::new();
    let home = &memory.home;
    let new = private(home, "new", "another one, quite as long");
    let output = memory
        .command(&["memory", "rekey"])
        .env("INGLENOOK_NEW_PASSPHRASE_FILE", &new)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(memory.command(&["memory", "stats"]).output().unwrap().status.code(), Some(4));
    let memory = Encrypted { home: memory.home, passphrase: new };
    assert!(memory.ok(&["memory", "verify"]).contains("Sound"));
    assert_eq!(readable(&memory.home.data()), Vec::<PathBuf>::new());
    memory.ok(&["memory", "decrypt"]);
    assert!(memory.home.ok(&["export"]).contains("Xerxes"));
    memory.home.fails(&["memory", "decrypt"], 2);
}

#[test]
fn backups_can_be_encrypted_and_come_back() {
    let memory = Encrypted::new();
    let copy = memory.home.dir.path().join("copy.db");
    let copy = copy.to_str().unwrap();
    memory.ok(&["backup", copy]);
    let other = Home::new();
    other.fails(&["restore", copy], 4);
    let mut restore = other.command(&["restore", copy]);
    restore.env("INGLENOOK_PASSPHRASE_FILE", &memory.passphrase);
    assert!(restore.output().unwrap().status.success());
    assert_eq!(readable(&other.data()), Vec::<PathBuf>::new());
    other.fails(&["memory", "stats"], 4);

    // A plain memory's backup with a passphrase of its own; a plain backup in the place of an encrypted memory.
    let plain = Home::new();
    plain.import(&[("user", "My dog is called Xerxes.")]);
    let sealed = plain.dir.path().join("sealed.db");
    let mut backup = plain.command(&["backup", "--encrypt", sealed.to_str().unwrap()]);
    backup.env("INGLENOOK_PASSPHRASE_FILE", &memory.passphrase);
    assert!(backup.output().unwrap().status.success());
    assert!(!std::fs::read(&sealed).unwrap().windows(6).any(|w| w == b"Xerxes"));
    let open = plain.dir.path().join("open.db");
    plain.ok(&["backup", open.to_str().unwrap()]);
    let restored =
        memory.command(&["restore", open.to_str().unwrap(), "--replace"]).output().unwrap();
    let warned = String::from_utf8(restored.stderr).unwrap();
    assert!(restored.status.success() && warned.contains("not encrypted"), "{warned}");
}

#[test]
fn what_was_cut_off_leaves_nothing_readable() {
    let memory = Encrypted::new();
    let data = memory.home.data();
    for name in ["memory.before.db", "memory.restoring.db"] {
        std::fs::write(data.join(name), "Zebragata").unwrap();
    }
    memory.home.fails(&["memory", "encrypt"], 2);
    assert_eq!(readable(&data), Vec::<PathBuf>::new());
    // The log of an open memory, too.
    let key = Secret::new(PASSPHRASE.into());
    let store = Store::open_with(&data, Some(&key), WAIT).unwrap();
    store.write(|tx| tx.set_setting("note", "Zebragata")).unwrap();
    assert!(std::fs::metadata(data.join("memory.db-wal")).unwrap().len() > 0);
    assert_eq!(readable(&data), Vec::<PathBuf>::new());
}

#[test]
fn a_home_can_begin_encrypted() {
    let home = Home::new();
    let passphrase = private(&home, "passphrase", PASSPHRASE);
    let memory = Encrypted { home, passphrase };
    memory.ok(&["memory", "encrypt"]);
    memory.ok(&["ask", "My dog is called Xerxes."]);
    assert!(memory.ok(&["ask", "What is my dog called?"]).contains("Xerxes"));
    assert_eq!(readable(&memory.home.data()), Vec::<PathBuf>::new());
}
