//! Opening: permissions, the lock, reading beside a writer, and what is wrong with a file.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::builders::*;
use crate::memory::Role;
use crate::store::Store;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn everything_is_private() {
    let base = tempfile::tempdir().unwrap();
    let dir = base.path().join("a/b");
    let store = Store::open(&dir).unwrap();
    small(&store);
    assert_eq!(mode(&dir), 0o700);
    let mut names: Vec<String> = fs::read_dir(&dir)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            assert_eq!(mode(&path), 0o600, "{path:?}");
            path.file_name().unwrap().to_string_lossy().into_owned()
        })
        .collect();
    names.sort();
    let expected = [
        "memory.db",
        "memory.db-shm",
        "memory.db-wal",
        "memory.lock",
        "memory.turn",
        "memory.worker",
    ];
    assert_eq!(names, expected);
}

#[test]
fn loose_files_are_tightened_and_a_used_directory_is_left_alone() {
    let base = tempfile::tempdir().unwrap();
    let dir = base.path().join("shared");
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("notes.txt"), "mine").unwrap();
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
    drop(Store::open(&dir).unwrap());
    assert_eq!(mode(&dir), 0o755);
    fs::set_permissions(dir.join("memory.db"), fs::Permissions::from_mode(0o644)).unwrap();
    drop(Store::open(&dir).unwrap());
    assert_eq!(mode(&dir.join("memory.db")), 0o600);
}

#[test]
fn the_writer_waits_for_the_drive() {
    let dir = tempfile::tempdir().unwrap();
    drop(Store::open(dir.path()).unwrap());
    let conn = crate::store::open::writer(&dir.path().join("memory.db"), None).unwrap();
    for (pragma, expected) in [("synchronous", 2), ("fullfsync", 1)] {
        let value: i64 = conn.pragma_query_value(None, pragma, |row| row.get(0)).unwrap();
        assert_eq!(value, expected, "{pragma}");
    }
}

#[test]
fn what_was_written_is_there_after_reopening() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    small(&store);
    let before = store.read(|r| r.dump()).unwrap();
    drop(store);
    // The last connection folded the log into the file.
    assert!(!dir.path().join("memory.db-wal").exists());
    let store = Store::open(dir.path()).unwrap();
    assert_eq!(store.read(|r| r.dump()).unwrap(), before);
}

#[test]
fn reads_beside_a_writer() {
    let dir = tempfile::tempdir().unwrap();
    let writer = Store::open(dir.path()).unwrap();
    let reader = Store::open_read_only(dir.path()).unwrap();
    let small = small(&writer);
    assert_eq!(reader.read(|r| r.stats()).unwrap().messages, 4);
    assert_valid(&reader);
    assert!(reader.write(|tx| tx.set_setting("a", "b")).is_err());
    // A snapshot stays as it was while the writer goes on.
    read(&reader, |r| {
        assert_eq!(r.stats()?.messages, 4);
        writer.write(|tx| Ok(say(tx, small.session, Role::User, "more")))?;
        assert_eq!(r.stats()?.messages, 4);
        Ok(())
    });
    assert_eq!(reader.read(|r| r.stats()).unwrap().messages, 5);
}

#[test]
fn reads_without_a_writer_and_without_a_log() {
    let dir = tempfile::tempdir().unwrap();
    small(&Store::open(dir.path()).unwrap());
    assert!(!dir.path().join("memory.db-wal").exists());
    let reader = Store::open_read_only(dir.path()).unwrap();
    assert_eq!(reader.read(|r| r.stats()).unwrap().messages, 4);
    assert_valid(&reader);
    // And a writer may come while it is open.
    let writer = Store::open(dir.path()).unwrap();
    writer.write(|tx| tx.set_setting("a", "b")).unwrap();
    assert_eq!(reader.read(|r| r.setting("a")).unwrap().as_deref(), Some("b"));
}

#[test]
fn a_memory_that_does_not_exist_reads_as_empty_and_is_not_made() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("nowhere");
    let store = Store::open_read_only(&missing).unwrap();
    assert_eq!(store.read(|r| r.stats()).unwrap(), crate::store::MemoryStats::default());
    assert!(!missing.exists());
    assert!(store.write(|tx| tx.set_setting("a", "b")).is_err());
}
