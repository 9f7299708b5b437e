//! `backup` and `restore`.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use inglenook::store::Store;

use crate::PROGRAM;
use crate::home::Home;

fn dump(home: &Home) -> String {
    Store::open_read_only(&home.data()).unwrap().read(|r| r.dump()).unwrap()
}

fn told(facts: &[&str]) -> Home {
    let home = Home::new();
    home.import(&facts.iter().map(|fact| ("user", *fact)).collect::<Vec<_>>());
    home.ok(&["memory", "consolidate", "--wait"]);
    home
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn what_is_copied_beside_a_chat_can_be_put_back() {
    let home = told(&["I live in Oslo.", "My dog is called Rex."]);
    let (copy, again) = (home.dir.path().join("copy.db"), home.dir.path().join("again.db"));
    let before = dump(&home);
    {
        // As a chat holds it.
        let _chat = Store::open(&home.data()).unwrap();
        let said = home.ok(&["backup", text(&copy)]);
        assert!(said.contains("2 messages"), "{said}");
        home.fails(&["restore", text(&copy), "--replace"], 11);
    }
    let kept = fs::read(&copy).unwrap();
    let refused = home.fails(&["backup", text(&copy)], 1);
    assert!(refused.contains("there already"), "{refused}");
    assert!(fs::read(&copy).unwrap() == kept);
    assert_eq!(fs::read_dir(home.dir.path()).unwrap().count(), 3, "the home, the import, the copy");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
    }

    home.ok_after_unlock(&["memory", "forget", "--match", "Rex", "--yes"]);
    let refused = home.fails(&["restore", text(&copy)], 2);
    assert!(refused.contains("memory here already"), "{refused}");
    assert_ne!(dump(&home), before);
    home.ok(&["restore", text(&copy), "--replace"]);
    assert_eq!(dump(&home), before);
    assert!(!home.data().join("memory.before.db").exists());
    // It goes on from there.
    home.ok(&["memory", "forget", "--match", "Rex", "--yes"]);
    home.ok(&["backup", text(&again)]);
    assert!(!fs::read(&again).unwrap().windows(3).any(|w| w == b"Rex"));

    // Another machine.
    let other = Home::new();
    other.ok(&["restore", text(&copy)]);
    assert_eq!(dump(&other), before);
}

#[test]
fn no_backup_is_made_of_nothing_and_none_restored_from_it() {
    let home = Home::new();
    home.fails(&["backup", "copy.db"], 2);
    assert!(!home.data().exists());
    home.fails(&["restore", "nothing.db"], 1);
    for damaged in [&b""[..], b"SQLite format 3\0", b"hello"] {
        let file = home.file("damaged.db", damaged);
        home.fails(&["restore", text(&file)], 1);
    }
    home.import(&[("user", "I live in Oslo.")]);
    let empty = home.file("empty.db", "");
    rusqlite::Connection::open(&empty).unwrap().execute_batch("VACUUM").unwrap();
    let refused = home.fails(&["restore", text(&empty), "--replace"], 1);
    assert!(refused.contains("holds no memory"), "{refused}");
    let recipes = home.file("recipes.db", "");
    rusqlite::Connection::open(&recipes)
        .unwrap()
        .execute_batch("CREATE TABLE recipes (name)")
        .unwrap();
    let refused = home.fails(&["restore", text(&recipes), "--replace"], 1);
    assert!(refused.contains("another program's"), "{refused}");
}

#[test]
fn a_backup_that_was_cut_off_takes_no_memorys_place() {
    let home = told(&["I live in Oslo.", "My dog is called Rex.", "I work as a nurse."]);
    let before = dump(&home);
    let copy = home.dir.path().join("copy.db");
    home.ok(&["backup", text(&copy)]);
    let whole = fs::read(&copy).unwrap();
    for share in [1, 3, 5, 7] {
        let cut = home.file("cut.db", &whole[..whole.len() * share / 8]);
        home.fails(&["restore", text(&cut), "--replace"], 1);
        assert_eq!(dump(&home), before);
    }
    // Changed in what was said: seen by its checksum.
    let mut changed = whole.clone();
    let at: Vec<usize> =
        (0..whole.len() - 4).filter(|&i| whole[i..].starts_with(b"Oslo")).collect();
    for i in at {
        changed[i] ^= 1;
    }
    let changed = home.file("changed.db", changed);
    let refused = home.fails(&["restore", text(&changed), "--replace"], 2);
    assert!(refused.contains("damaged"), "{refused}");
    assert_eq!(dump(&home), before);
    // Where nothing is lost by it, it is better than nothing.
    let other = Home::new();
    let warned = other.fails(&["restore", text(&changed)], 1);
    assert!(warned.contains("was damaged"), "{warned}");
    assert!(other.ok(&["export"]).contains("nurse"));
}

#[test]
fn the_newest_of_the_folder_stay() {
    let home = told(&["I live in Oslo."]);
    for day in 1..=4 {
        let folder = home.data().join("backups");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("memory-2026010{day}T100000.db")), "old").unwrap();
        fs::write(folder.join("notes.db"), "somebody's").unwrap();
    }
    let report = home.json(&["backup", "--auto", "--keep", "3", "--json"]);
    assert_eq!(report["sound"], true);
    let all = |home: &Home| {
        let entries = fs::read_dir(home.data().join("backups")).unwrap();
        let mut names: Vec<String> =
            entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    let names = all(&home);
    assert_eq!(names[..2], ["memory-20260103T100000.db", "memory-20260104T100000.db"]);
    assert!(names[2].starts_with("memory-2026") && names[3..] == ["notes.db"], "{names:?}");
    // Forgetting says what it does not reach.
    for _ in 0..2 {
        let output = home.run(&["memory", "forget", "--match", "Oslo", "--yes"]);
        let warned = String::from_utf8(output.stderr).unwrap();
        assert!(warned.contains("3 backups in "), "{warned}");
    }
}

#[test]
fn a_restore_that_was_cut_off_loses_neither() {
    let home = told(&["I live in Oslo."]);
    let other = told(&["I live in Lund.", "My cat is called Mia."]);
    let (old, new) = (dump(&home), dump(&other));
    let copy = home.dir.path().join("copy.db");
    other.ok(&["backup", text(&copy)]);
    // Between two steps: the old memory is aside, the new one not yet in its place.
    let (path, before) = (home.data().join("memory.db"), home.data().join("memory.before.db"));
    fs::rename(&path, &before).unwrap();
    fs::write(home.data().join("memory.restoring.db"), "half").unwrap();
    let told = home.fails(&["memory", "stats"], 1);
    assert!(told.contains("a restore was cut off"), "{told}");
    home.ok(&["memory", "consolidate", "--wait"]);
    assert_eq!(dump(&home), old);
    assert!(!before.exists() && !home.data().join("memory.restoring.db").exists());
    // The new one in its place, the old one not yet gone.
    fs::write(&before, "old").unwrap();
    home.ok(&["memory", "consolidate", "--wait"]);
    assert!(!before.exists());
    // Killed at any moment.
    let whole = fs::read(&path).unwrap();
    for wait in [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30] {
        fs::write(&path, &whole).unwrap();
        let mut restore = std::process::Command::new(PROGRAM)
            .args(["restore", text(&copy), "--replace", "--data-dir", text(&home.data())])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(wait));
        restore.kill().unwrap();
        restore.wait().unwrap();
        home.ok_after_unlock(&["memory", "consolidate", "--wait"]);
        let found = dump(&home);
        assert!(found == old || found == new, "{found}");
    }
}

/// Killed while it writes, a backup leaves a copy of everything: the next opening of the memory takes it away.
#[test]
fn what_a_killed_backup_leaves_goes_at_the_next_start() {
    let home = Home::new();
    home.import(&[("user", "I live in Lund.")]);
    // No process has this number.
    let (part, other) = (home.file("copy.db.4194305.part", "text"), home.file("mine.part", "text"));
    for (pid, path) in [("4194305", &part), ("4194306", &other)] {
        let note = home.data().join(format!("memory.backing-up-{pid}"));
        std::fs::write(note, path.to_str().unwrap()).unwrap();
    }
    home.ok(&["memory", "undo"]);
    assert!(!part.exists() && other.exists());
    let left = std::fs::read_dir(home.data()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(left.filter(|name| name.to_str().unwrap().contains("backing-up")).count(), 0);
    let copy = home.dir.path().join("copy.db");
    home.ok(&["backup", copy.to_str().unwrap()]);
    let left = std::fs::read_dir(home.data()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(left.filter(|name| name.to_str().unwrap().contains("backing-up")).count(), 0);
}
