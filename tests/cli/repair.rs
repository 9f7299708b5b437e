//! `memory repair`.

use std::fs;

use crate::home::Home;

const PAGE: usize = 4096;

fn told(n: usize) -> Home {
    let home = Home::new();
    let lines: Vec<String> = (0..n)
        .map(|i| format!("My friend number {i} is called Name{i} and lives in Town{i}."))
        .collect();
    home.import(&lines.iter().take(59).map(|l| ("user", l.as_str())).collect::<Vec<_>>());
    home.ok(&["memory", "consolidate", "--wait"]);
    home
}

#[test]
fn a_sound_memory_is_left_alone() {
    let home = told(3);
    let before = fs::read(home.data().join("memory.db")).unwrap();
    assert!(home.ok(&["memory", "repair"]).contains("nothing to repair"));
    assert!(fs::read(home.data().join("memory.db")).unwrap() == before);
}

/// Pages are overwritten, and the file is cut: whatever can still be read is there afterwards.
#[test]
fn what_can_be_read_is_in_a_new_memory() {
    let home = told(59);
    let database = home.data().join("memory.db");
    let whole = fs::read(&database).unwrap();
    let n_pages = whole.len() / PAGE;
    let (mut most, mut least) = (0, usize::MAX);
    let text = b"My friend number 3 ";
    let said = (0..whole.len() - text.len()).filter(|&i| whole[i..].starts_with(text));
    let holding: Vec<usize> = said.map(|i| i / PAGE).take(2).collect();
    for page in holding.into_iter().chain([n_pages / 3, n_pages * 2 / 3, n_pages]) {
        let mut damaged = whole.clone();
        if page == n_pages {
            damaged.truncate(whole.len() * 3 / 4);
        } else {
            damaged[page * PAGE..(page + 1) * PAGE].fill(0x5a);
        }
        let other = Home::new();
        fs::create_dir_all(other.data()).unwrap();
        fs::write(other.data().join("memory.db"), &damaged).unwrap();
        let output = other.run(&["memory", "repair"]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success(),
            "page {page}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        if said.contains("nothing to repair") {
            continue; // A page without content.
        }
        assert!(other.ok(&["memory", "verify"]).contains("Sound"), "page {page}");
        other.ok(&["memory", "consolidate", "--wait"]);
        assert!(other.ok(&["memory", "verify"]).contains("Sound"), "page {page}");
        let n = other.json(&["memory", "stats", "--json"])["messages"].as_u64().unwrap() as usize;
        (most, least) = (most.max(n), least.min(n));
        let mut kept = fs::read_dir(other.data()).unwrap().map(|entry| entry.unwrap().path());
        let is_it =
            |name: &str| name.strip_suffix(".db").is_some_and(|n| n.starts_with("memory.damaged-"));
        let kept = kept.find(|path| is_it(path.file_name().unwrap().to_str().unwrap())).unwrap();
        assert!(fs::read(kept).unwrap() == damaged, "page {page}");
    }
    assert_eq!(most, 59, "most pages hold no messages");
    assert!(least < 59, "some do");
}

/// A file that was emptied beside its log: all that the log holds is there again, and nothing is lost where it holds too little.
#[test]
fn a_log_that_has_lost_its_file_is_read() {
    let home = Home::new();
    let text = "My friend Ida lives in Umeå.";
    let store = inglenook::store::Store::open(&home.data()).unwrap();
    let at = inglenook::interfaces::Clock::now(&inglenook::interfaces::SystemClock);
    let said = inglenook::memory::NewMessage::new(inglenook::memory::Role::User, text, at);
    store
        .write(|tx| {
            let session = tx.create_session("", at, false)?;
            tx.append_message(session, &said)
        })
        .unwrap();
    let [file, log] = ["memory.db", "memory.db-wal"];
    let bytes = fs::read(home.data().join(log)).unwrap();
    for (is_there, n) in [(true, bytes.len()), (false, bytes.len()), (true, 32 + 5000)] {
        let other = Home::new();
        fs::create_dir_all(other.data()).unwrap();
        if is_there {
            fs::write(other.data().join(file), b"").unwrap();
        }
        fs::write(other.data().join(log), &bytes[..n]).unwrap();
        let output = other.run(&["memory", "repair"]);
        if n == bytes.len() {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            assert!(other.ok(&["export"]).contains(text));
        } else {
            assert!(!output.status.success());
            assert!(fs::read(other.data().join(log)).unwrap() == bytes[..n]);
        }
        let left = fs::read_dir(other.data()).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(left.filter(|name| name.to_str().unwrap().contains("alone")).count(), 0);
    }
}

#[test]
fn corrections_are_taken_over() {
    let home = Home::new();
    home.import(&[("user", "I live in Oslo."), ("user", "My dog is called Rex.")]);
    home.ok(&["memory", "consolidate", "--wait"]);
    home.ok(&["memory", "edit", "s1", "The user lives in Drammen"]);
    let database = home.data().join("memory.db");
    let conn = rusqlite::Connection::open(&database).unwrap();
    conn.execute_batch("PRAGMA foreign_keys = OFF; DELETE FROM episode; UPDATE message SET content = 'My dog is called Rax.' WHERE id = 2").unwrap();
    drop(conn);
    let said = home.ok(&["memory", "repair"]);
    assert!(
        said.contains("2 messages taken over") && said.contains("1 are not as they were"),
        "{said}"
    );
    home.ok(&["memory", "consolidate", "--wait"]);
    assert!(home.ok(&["memory", "verify"]).contains("Sound"));
    let facts = home.ok(&["memory", "tree", "--depth", "2"]);
    assert!(
        facts.contains("Drammen") && !facts.contains("Oslo") && facts.contains("Rax"),
        "{facts}"
    );
}

/// The new memory is complete, the old one partly renamed: the next command that writes goes on.
#[test]
fn a_repair_that_was_cut_off_goes_on() {
    for renamed in [&[][..], &["memory.db"], &["memory.db", "memory.db-wal"]] {
        let (home, other) = (told(3), told(2));
        let data = home.data();
        let damaged = b"damaged".to_vec();
        fs::write(data.join("memory.db"), &damaged).unwrap();
        fs::write(data.join("memory.db-wal"), "its log").unwrap();
        for name in renamed {
            let kept = name.replace("memory.db", "memory.damaged-20260101T000000.db");
            fs::rename(data.join(name), data.join(kept)).unwrap();
        }
        let repaired = data.join("memory.repaired-20260101T000000.db");
        fs::copy(other.data().join("memory.db"), &repaired).unwrap();
        if !renamed.is_empty() {
            let told = home.fails(&["memory", "stats"], 1);
            assert!(told.contains("a repair was cut off"), "{told}");
        }
        home.ok(&["memory", "consolidate", "--wait"]);
        let said = |of: &Home| of.ok(&["export", "--format", "jsonl"]);
        assert!(said(&home) == said(&other), "{renamed:?}");
        let kept = data.join("memory.damaged-20260101T000000.db");
        assert_eq!(fs::read(&kept).unwrap(), damaged);
        assert_eq!(fs::read_to_string(kept.with_extension("db-wal")).unwrap(), "its log");
        assert!(!repaired.exists());
    }
}
