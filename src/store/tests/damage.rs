//! What is wrong with a file is said, and the file is left as it was.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::builders::*;
use crate::store::{AnyId, Secret, Store, StoreError, WAIT};

fn filled(dir: &Path) -> std::path::PathBuf {
    let store = Store::open(dir).unwrap();
    small(&store);
    drop(store);
    dir.join("memory.db")
}

/// Both ways of opening say that the file is damaged, name it, and change no byte of it.
#[track_caller]
fn is_corrupt(bytes: &[u8], why: &str) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("memory.db");
    fs::write(&path, bytes).unwrap();
    let errors = [Store::open(dir.path()).err(), Store::open_read_only(dir.path()).err()];
    for error in errors {
        let error = error.expect("an error");
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.contains("memory.db") && text.contains(why), "{text}");
    }
    assert!(fs::read(&path).unwrap() == bytes, "the file was changed");
    let log = fs::metadata(dir.path().join("memory.db-wal"));
    assert!(!log.is_ok_and(|m| m.len() > 0), "something was written");
}

#[test]
fn garbage_is_no_database() {
    is_corrupt(b"hello", "not an SQLite database");
    is_corrupt(&[0; 4096], "not an SQLite database");
    is_corrupt(&vec![0x5a; 100_000], "not an SQLite database");
    is_corrupt(b"SQLite format 3\0", "not an SQLite database");
}

#[test]
fn a_file_that_was_cut_off_is_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = fs::read(filled(dir.path())).unwrap();
    is_corrupt(&bytes[..bytes.len() / 2], "cut off");
    is_corrupt(&bytes[..4096], "cut off");
    is_corrupt(&bytes[..bytes.len() - 1], "cut off");
    is_corrupt(&bytes[..99], "not an SQLite database");
}

#[test]
fn a_damaged_header_or_schema_is_damage() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = fs::read(filled(dir.path())).unwrap();
    let with = |from: usize, patch: &[u8]| {
        let mut bytes = bytes.clone();
        bytes[from..from + patch.len()].copy_from_slice(patch);
        bytes
    };
    // The page of the schema.
    is_corrupt(&with(100, &[0xff; 3000]), "damaged");
    // Application id, schema version.
    is_corrupt(&with(68, &7_u32.to_be_bytes()), "another program's");
    is_corrupt(&with(60, &0_u32.to_be_bytes()), "schema version is 0");
}

#[test]
fn a_newer_schema_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = filled(dir.path());
    let mut bytes = fs::read(&path).unwrap();
    bytes[60..64].copy_from_slice(&77_u32.to_be_bytes());
    fs::write(&path, &bytes).unwrap();
    for error in [Store::open(dir.path()).err(), Store::open_read_only(dir.path()).err()] {
        let error = error.unwrap();
        assert!(matches!(error, StoreError::Newer { found: 77, known: 10, .. }), "{error:?}");
    }
    assert!(fs::read(&path).unwrap() == bytes);
}

/// Damage in the middle: opening need not see it, but nothing panics, and `verify` does.
#[test]
fn damage_in_the_middle_is_found_by_verify() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = fs::read(filled(dir.path())).unwrap();
    let pages = bytes.len() / 4096;
    let mut found = 0;
    for page in 1..pages {
        let dir = tempfile::tempdir().unwrap();
        let mut bad = bytes.clone();
        bad[page * 4096..page * 4096 + 2048].fill(0xa5);
        fs::write(dir.path().join("memory.db"), &bad).unwrap();
        let verified = Store::open_read_only(dir.path()).and_then(|s| s.read(|r| r.verify()));
        match verified {
            Err(StoreError::Corrupt { .. }) => found += 1,
            Err(other) => panic!("page {page}: {other:?}"),
            Ok(violations) if violations.is_empty() => {}
            Ok(_) => found += 1,
        }
        // Using it fails with an error at worst.
        if let Ok(store) = Store::open(dir.path()) {
            let _ = store.read(|r| r.dump());
            let _ = store.write(|tx| tx.create_session("x", at(0), false));
        }
    }
    // What it can't see is unused space and the bytes of vectors.
    assert!(found * 10 >= (pages - 1) * 3, "{found} of {}", pages - 1);
}

/// SQLite reads the log up to the first damaged frame and says nothing of the rest.
#[test]
fn a_damaged_log_is_found() {
    const FRAME: usize = 24 + 4096;
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    small(&store);
    let log = fs::read(dir.path().join("memory.db-wal")).unwrap();
    let of = |log: &[u8]| {
        let copy = tempfile::tempdir().unwrap();
        fs::copy(dir.path().join("memory.db"), copy.path().join("memory.db")).unwrap();
        fs::write(copy.path().join("memory.db-wal"), log).unwrap();
        crate::store::log_damage(copy.path())
    };
    assert_eq!(of(&log), None);
    assert_eq!(of(b""), None);
    // Killed in the middle of a frame: its transaction had not ended.
    assert_eq!(of(&[&log[..], &log[32..132]].concat()), None);
    let is_end = |frame: &[u8]| frame[8..16] == log[16..24] && frame[4..8] != [0; 4];
    let n_frames = 1 + log[32..].chunks_exact(FRAME).rposition(is_end).unwrap();
    assert!(n_frames > 3, "{n_frames}");
    let flipped = |at: usize| {
        let mut damaged = log.clone();
        damaged[at] ^= 4;
        of(&damaged).unwrap_or_default()
    };
    for frame in [0, n_frames / 2, n_frames - 2] {
        // In its number, salt, checksum and page.
        for at in [0, 9, 17, 1000] {
            let says = flipped(32 + frame * FRAME + at);
            assert!(says.contains("cannot be read"), "{frame}, {at}: {says}");
        }
    }
    for at in [0, 8, 17, 25] {
        assert!(flipped(at).contains("at its beginning"), "{at}");
    }
}

/// Its checksums are of the text: what SQLite has read of it tells.
#[test]
fn a_damaged_log_of_an_encrypted_memory_is_found() {
    let (dir, key) = (tempfile::tempdir().unwrap(), Secret::new(b"correct horse".to_vec()));
    small(&Store::open(dir.path()).unwrap());
    crate::store::encrypt(dir.path(), None, Some(&key), WAIT).unwrap();
    let store = Store::open_with(dir.path(), Some(&key), WAIT).unwrap();
    for n in 0..4 {
        write(&store, |tx| tx.create_session(&format!("chat {n}"), at(n), false));
    }
    let log = fs::read(dir.path().join("memory.db-wal")).unwrap();
    let page = usize::from(u16::from_be_bytes([log[10], log[11]]));
    let of = |log: &[u8]| {
        let copy = tempfile::tempdir().unwrap();
        fs::copy(dir.path().join("memory.db"), copy.path().join("memory.db")).unwrap();
        fs::write(copy.path().join("memory.db-wal"), log).unwrap();
        let store = Store::open_read_only_with(copy.path(), Some(&key)).unwrap();
        store.log_damage().unwrap()
    };
    assert_eq!(of(&log), None);
    assert_eq!(of(&[&log[..], &log[32..132]].concat()), None);
    for at in [32 + 17, 32 + 24 + 100, 32 + 24 + page + 24 + 7] {
        let mut damaged = log.clone();
        damaged[at] ^= 4;
        let says = of(&damaged).unwrap_or_default();
        assert!(says.contains("cannot be read"), "{at}: {says}");
    }
}

#[test]
fn an_empty_file_is_a_new_memory() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("memory.db"), b"").unwrap();
    let reader = Store::open_read_only(dir.path()).unwrap();
    assert_eq!(reader.read(|r| r.stats()).unwrap().messages, 0);
    small(&Store::open(dir.path()).unwrap());
}

/// Neither an emptied nor a deleted file is a new memory, and a log that has lost its file is left alone.
#[test]
fn a_memory_that_is_gone_is_not_a_new_one() {
    let check = |harm: &dyn Fn(&Path), what: &str| {
        let dir = tempfile::tempdir().unwrap();
        let path = filled(dir.path());
        harm(&path);
        let before: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().path()).collect();
        for error in [Store::open_read_only(dir.path()).err(), Store::open(dir.path()).err()] {
            let error = error.expect("an error");
            assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
            let text = error.to_string();
            assert!(text.contains(what) && text.contains("memory.lock"), "{text}");
        }
        let after: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().path()).collect();
        assert_eq!(after, before);
    };
    check(&|path| fs::write(path, b"").unwrap(), "it is empty");
    check(&|path| fs::remove_file(path).unwrap(), "it is gone");
    // With a log, and without a lock.
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("memory.db-wal");
    fs::write(&log, "frames").unwrap();
    for error in [Store::open_read_only(dir.path()).err(), Store::open(dir.path()).err()] {
        assert!(error.is_some_and(|e| e.to_string().contains("it is gone")));
    }
    assert_eq!(fs::read(&log).unwrap(), b"frames");
    // As the message says.
    fs::remove_file(&log).unwrap();
    fs::remove_file(dir.path().join("memory.lock")).unwrap();
    small(&Store::open(dir.path()).unwrap());
}

#[cfg(unix)]
#[test]
fn a_lock_that_is_a_link_is_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let other = dir.path().join("other");
    fs::write(&other, "mine").unwrap();
    let home = dir.path().join("home");
    fs::create_dir(&home).unwrap();
    std::os::unix::fs::symlink(&other, home.join("memory.lock")).unwrap();
    let error = Store::open(&home).err().expect("an error").to_string();
    assert!(error.contains("memory.lock"), "{error}");
    assert_eq!(fs::read(&other).unwrap(), b"mine");
}

#[test]
fn a_directory_that_is_a_file_is_unwritable() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "mine").unwrap();
    for path in [file.clone(), file.join("below")] {
        let error = Store::open(&path).err().unwrap();
        assert!(matches!(error, StoreError::Unwritable { .. }), "{error:?}");
    }
    assert_eq!(fs::read(&file).unwrap(), b"mine");
}

const CHILD: &str = "INGLENOOK_TEST_READ_ONLY_DIR";

/// Not a test of its own: what `a_read_only_directory` runs as an unprivileged user.
#[test]
fn read_only_child() {
    let Some(dir) = std::env::var_os(CHILD) else { return };
    let dir = Path::new(&dir);
    if dir.join("memory.lock").exists() {
        // All files are there, and may be written.
        Store::open(dir).unwrap().write(|tx| tx.set_setting("a", "b")).unwrap();
    } else {
        let error = Store::open(dir).err().unwrap();
        assert!(matches!(error, StoreError::Unwritable { .. }), "{error:?}");
    }
    let error = Store::open(&dir.join("new")).err().unwrap();
    assert!(matches!(error, StoreError::Unwritable { .. }), "{error:?}");
    let store = Store::open_read_only(dir).unwrap();
    assert_eq!(store.read(|r| r.stats()).unwrap().messages, 4);
    assert_valid(&store);
}

/// Reading needs no rights to write the directory: without a log, and beside a writer with one.
#[test]
fn a_read_only_directory() {
    use std::os::unix::{fs::PermissionsExt, process::CommandExt};
    const NOBODY: u32 = 65_534;
    for with_log in [false, true] {
        let base = tempfile::tempdir().unwrap();
        let dir = base.path().join("data");
        let store = Store::open(&dir).unwrap();
        small(&store);
        if !with_log {
            drop(store);
            for name in crate::store::LOCK_FILES {
                let _ = fs::remove_file(dir.join(name));
            }
        }
        // Root can write to any directory, so another user has to try.
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "store::tests::damage::read_only_child"]).env(CHILD, &dir);
        let is_root = fs::metadata("/proc/self").is_ok_and(|m| {
            use std::os::unix::fs::MetadataExt;
            m.uid() == 0
        });
        if is_root {
            let files = fs::read_dir(&dir).unwrap().map(|e| e.unwrap().path());
            for path in files.chain([base.path().to_path_buf(), dir.clone()]) {
                std::os::unix::fs::chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
            }
            child.uid(NOBODY).gid(NOBODY);
        }
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o555)).unwrap();
        let output = child.output();
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
        match output {
            Ok(output) => assert!(
                output.status.success(),
                "with_log {with_log}\n{}",
                String::from_utf8_lossy(&output.stdout)
            ),
            Err(error) => {
                crate::testing::skip(&format!("nobody may not run the test program ({error})"));
            }
        }
    }
}

#[test]
fn damage_is_no_reason_to_keep_what_is_to_go() {
    for (damage, matching) in [
        ("UPDATE message SET content = CAST(x'4d617820ee20' AS TEXT) WHERE id IN (2, 4)", None),
        (
            "UPDATE semantic SET content = CAST(x'ee20' AS TEXT), subject = CAST(x'ee' AS TEXT)",
            Some("Max"),
        ),
        ("UPDATE theme SET name = CAST(x'ee' AS TEXT)", Some("Max")),
        ("UPDATE session SET title = CAST(x'ee' AS TEXT)", Some("Max")),
        ("INSERT INTO operation (what, inverse) VALUES ('x', '{Max')", Some("Max")),
        ("INSERT INTO answer VALUES (2, '{Max')", Some("Max")),
        ("UPDATE answer SET record = CAST(x'7b7dee' AS TEXT)", None),
        // The index keeps the words of what was said.
        ("DROP TRIGGER message_text_update; UPDATE message SET content = 'Mex'", None),
        ("DROP TRIGGER semantic_text_update; UPDATE semantic SET content = 'Mex'", None),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let small = small(&store);
        let other = rusqlite::Connection::open(dir.path().join("memory.db")).unwrap();
        other.execute_batch(damage).unwrap();
        let ids: Vec<AnyId> =
            if matching.is_some() { Vec::new() } else { small.messages.map(AnyId::Message).into() };
        let plan = store.read(|r| r.plan_forget(&ids, matching)).unwrap();
        assert!(!plan.messages.is_empty(), "{damage}");
        store.write(|tx| tx.forget(&plan)).unwrap_or_else(|e| panic!("{damage}: {e:?}"));
        let left = store.read(|r| r.messages(small.session)).unwrap_or_default();
        assert!(plan.messages.iter().all(|gone| left.iter().all(|m| m.id != *gone)), "{damage}");
        let undone = store.write(|tx| tx.undo());
        assert!(undone.is_ok(), "{damage}: {undone:?}");
    }
}
