//! Forgetting removes a text from every file (invariant 5).

use inglenook::interfaces::{Clock as _, Embedder as _, SystemClock};
use inglenook::memory::{NewMessage, Role};
use inglenook::store::{NewSemantic, Store};
use inglenook::testing::{HashEmbedder, skip};
use serde_json::{Value, json};

use super::Home;

const SECRET: &str = "xylophone-4711";

/// A memory of two messages, an episode of both, and a fact from each.
fn remembered() -> Home {
    let home = Home::new();
    home.import(&[("user", &format!("My secret word is {SECRET}.")), ("user", "I live in Lund.")]);
    let store = Store::open(&home.data()).unwrap();
    let embed = |text: &str| HashEmbedder.embed(&[text]).unwrap().remove(0);
    store
        .write(|tx| {
            let session = tx.sessions()?[0].id;
            let messages = tx.messages(session)?;
            tx.use_embedder(HashEmbedder.id(), HashEmbedder.dimensions())?;
            let content = format!("The user said that the word is {SECRET}.");
            let run: Vec<_> = messages.iter().map(|m| m.id).collect();
            tx.insert_episode(session, "Two facts", &content, &run)?;
            let theme = tx.create_theme("The user")?;
            for (message, text) in messages
                .iter()
                .zip([format!("The secret word is {SECRET}"), "The user lives in Lund".into()])
            {
                let fact = NewSemantic {
                    content: text.clone(),
                    subject: None,
                    attribute: None,
                    created_at: message.created_at,
                    messages: vec![message.id],
                };
                tx.insert_semantic(fact, theme, &embed(&text))?;
            }
            Ok(())
        })
        .unwrap();
    drop(store);
    home.ok_after_unlock(&["memory", "undo"]);
    home
}

/// Files of the data directory that hold the text.
fn files_with_the_secret(home: &Home) -> Vec<String> {
    std::fs::read_dir(home.data())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .filter(|path| {
            let bytes = std::fs::read(path).unwrap();
            bytes.windows(SECRET.len()).any(|window| window.eq_ignore_ascii_case(SECRET.as_bytes()))
        })
        .map(|path| path.display().to_string())
        .collect()
}

#[test]
fn a_forgotten_text_is_in_no_file() {
    let home = remembered();
    assert_ne!(files_with_the_secret(&home), Vec::<String>::new(), "the test sees the text");
    assert!(home.ok(&["memory", "tree"]).contains(SECRET));

    // Without a terminal to ask on, the plan is shown and nothing is erased.
    let output = home.run(&["memory", "forget", "--match", SECRET]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stdout).contains(SECRET));
    assert_ne!(files_with_the_secret(&home), Vec::<String>::new());

    let said = home.ok(&["memory", "forget", "--match", SECRET, "--yes"]);
    assert!(said.contains("Erased: 1 message"), "{said}");
    assert_eq!(files_with_the_secret(&home), Vec::<String>::new());
    assert!(home.ok(&["memory", "verify"]).starts_with("Sound"));
    let left = home.ok(&["export", "--format", "json"]);
    assert!(!left.contains(SECRET) && left.contains("I live in Lund."), "{left}");
    assert_eq!(home.ok(&["memory", "undo"]), "There is nothing to undo.\n");
}

#[test]
fn a_fact_takes_its_messages_with_it() {
    let home = remembered();
    home.ok(&["memory", "forget", "s1", "--yes"]);
    assert_eq!(files_with_the_secret(&home), Vec::<String>::new());
    assert_eq!(home.json(&["memory", "stats", "--json"])["messages"], 1);
}

#[test]
fn a_session_is_erased_with_all_that_came_from_it() {
    let home = remembered();
    home.ok(&["session", "delete", "c1", "--yes"]);
    assert_eq!(files_with_the_secret(&home), Vec::<String>::new());
    let stats = home.json(&["memory", "stats", "--json"]);
    for level in ["messages", "episodes", "semantics", "themes"] {
        assert_eq!(stats[level], 0, "{level}");
    }
}

#[test]
fn forgetting_something_unknown_is_reported() {
    let home = remembered();
    assert_eq!(
        home.ok(&["memory", "forget", "--match", "zebra", "--yes"]),
        "Nothing of that is remembered.\n"
    );
    let stderr = home.fails(&["memory", "forget", "s99", "--yes"], 1);
    assert!(stderr.contains("s99"), "{stderr}");
    home.fails(&["memory", "forget", "--match", "  ", "--yes"], 2);
}

#[test]
fn an_edit_can_be_taken_back() {
    let home = remembered();
    home.ok(&["memory", "edit", "t1", "Where and what"]);
    assert!(home.ok(&["memory", "tree", "--depth", "1"]).contains("t1 Where and what · 2 facts"));
    let undone = home.ok(&["memory", "undo"]);
    assert!(undone.starts_with("Undone:"), "{undone}");
    assert!(home.ok(&["memory", "tree", "--depth", "1"]).contains("t1 The user · 2 facts"));
    // What was said can be erased, not rewritten.
    home.fails(&["memory", "edit", "m1", "I never said that"], 2);
}

/// Whether any file of the memory holds these bytes.
fn is_on_disk(home: &Home, text: &str) -> bool {
    inglenook::store::FILES.iter().any(|name| {
        let bytes = std::fs::read(home.data().join(name)).unwrap_or_default();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    })
}

/// The id of the fact with this text.
fn fact(home: &Home, text: &str) -> String {
    let found = home.json(&["memory", "search", text, "--json", "-k", "20"]);
    let all = found.as_array().unwrap();
    let is_it = |s: &&Value| s["kind"] == "semantic" && s["text"].as_str().unwrap().contains(text);
    all.iter().find(is_it).unwrap_or_else(|| panic!("{all:?}"))["id"].as_str().unwrap().to_owned()
}

fn facts(home: &Home) -> String {
    home.ok(&["memory", "tree", "--depth", "2"])
}

#[test]
fn a_correction_outlives_the_forgetting_of_what_was_said_beside_it() {
    let home = Home::new();
    home.import(&[
        ("user", "I live in Oslo."),
        ("user", "My dog is called Rex."),
        ("user", "I work as a nurse."),
    ]);
    home.ok(&["memory", "consolidate", "--wait"]);
    home.ok(&["memory", "edit", &fact(&home, "Oslo"), "The user lives in Drammen"]);
    home.ok(&["memory", "forget", "--match", "Rex", "--yes"]);
    assert!(home.ok(&["memory", "verify"]).contains("Sound"));
    home.ok(&["memory", "consolidate", "--wait"]);
    let left = facts(&home);
    assert!(left.contains("Drammen") && left.contains("nurse"), "{left}");
    assert!(!left.contains("Oslo") && !left.contains("Rex"), "{left}");
    assert!(home.ok(&["memory", "verify"]).contains("Sound"));
    assert!(home.ok(&["ask", "Where do I live?"]).contains("Drammen"));
}

#[test]
fn a_fact_that_goes_alone_does_not_come_back() {
    let home = Home::new();
    home.import(&[("user", "I live in Oslo."), ("user", "My dog is called Rex.")]);
    home.ok(&["memory", "consolidate", "--wait"]);
    home.fails(&["memory", "forget", "m1", "--only", "--yes"], 1);
    let told = home.ok(&["memory", "forget", &fact(&home, "Oslo"), "--only", "--yes"]);
    assert!(told.contains("stay") && told.contains("0 messages"), "{told}");
    // Written anew, for another reason.
    home.ok(&["memory", "forget", "--match", "Rex", "--yes"]);
    home.ok(&["memory", "consolidate", "--wait"]);
    let left = facts(&home);
    assert!(!left.contains("Oslo"), "{left}");
    assert!(home.ok(&["export"]).contains("I live in Oslo."));
    assert!(home.ok(&["memory", "verify"]).contains("Sound"));
    assert!(!home.ok(&["ask", "Where do I live?"]).contains("Oslo"));
    // Said anew, it is a fact again.
    home.ok(&["ask", "I live in Oslo, as ever."]);
    home.ok(&["memory", "consolidate", "--wait"]);
    assert!(facts(&home).contains("Oslo"));
}

#[test]
fn words_can_go_alone() {
    let home = Home::new();
    home.import(&[
        ("user", "I live in Oslo, at Zebragata 5, with my sister Ida."),
        ("user", "My dog is called Rex."),
    ]);
    home.ok(&["ask", "My address is zebragata 5, you know."]);
    home.ok(&["memory", "consolidate", "--wait"]);
    home.ok(&["ask", "Where do I live?"]);
    home.ok(&[
        "memory",
        "edit",
        &fact(&home, "Rex"),
        "The user's dog at Zebragata 5 is called Rex",
    ]);
    let told = home.ok(&["memory", "forget", "--redact", "ZEBRAGATA\u{a0}5", "--yes"]);
    assert!(told.contains("[…]"), "{told}");
    for written in ["Zebragata", "zebragata"] {
        assert!(!is_on_disk(&home, written), "{written}");
    }
    assert!(home.ok(&["memory", "verify"]).contains("Sound"));
    home.ok(&["memory", "consolidate", "--wait"]);
    assert!(home.ok(&["memory", "verify"]).contains("Sound"));
    let said = home.ok(&["export"]);
    assert!(said.contains("I live in Oslo, at […], with my sister Ida."), "{said}");
    let left = facts(&home);
    assert!(!left.to_lowercase().contains("zebragata"), "{left}");
    assert!(left.contains("The user's dog at […] is called Rex"), "{left}");
    assert!(home.ok(&["ask", "Where do I live?"]).contains("Oslo"));
    // Imported once more, it does not come back.
    home.ok(&["import", home.dir.path().join("import.jsonl").to_str().unwrap()]);
    assert!(!home.ok(&["export"]).contains("Zebragata"));
    let none = home.ok(&["memory", "forget", "--redact", "Zebragata", "--yes"]);
    assert!(none.contains("Nothing of that"), "{none}");
}

#[test]
fn a_correction_and_what_stands_beside_it_are_told_apart() {
    let home = Home::new();
    home.import(&[
        ("user", "I like tea. I like jazz. My dog is called Rex."),
        ("user", "I work as a nurse."),
    ]);
    home.ok(&["memory", "consolidate", "--wait"]);
    home.ok(&["memory", "edit", &fact(&home, "likes tea"), "The user likes coffee"]);
    home.ok(&["memory", "forget", "--match", "nurse", "--yes"]);
    home.ok(&["memory", "consolidate", "--wait"]);
    let left = facts(&home);
    for kept in ["coffee", "jazz", "Rex"] {
        assert!(left.contains(kept), "{kept}: {left}");
    }
    assert!(!left.contains("tea"), "{left}");
    // Undone between the forgetting and the writing anew.
    home.ok(&["memory", "edit", &fact(&home, "jazz"), "The user likes blues"]);
    home.ok(&["memory", "undo"]);
    assert!(home.ok(&["memory", "verify"]).contains("Sound"));
    assert!(facts(&home).contains("jazz"));
}

#[test]
fn undoing_a_correction_whose_episode_went_leaves_nothing_broken() {
    let home = Home::new();
    home.import(&[("user", "I live in Oslo."), ("user", "My dog is called Rex.")]);
    home.ok(&["memory", "consolidate", "--wait"]);
    home.ok(&["memory", "edit", &fact(&home, "Oslo"), "The user lives in Drammen"]);
    home.ok(&["memory", "forget", "--match", "Rex", "--yes"]);
    home.ok(&["memory", "undo"]);
    assert!(home.ok(&["memory", "verify"]).contains("Sound"));
    home.ok(&["memory", "consolidate", "--wait"]);
    let left = facts(&home);
    assert!(left.contains("Oslo") && !left.contains("Drammen"), "{left}");
    assert!(home.ok(&["memory", "verify"]).contains("Sound"));
}

#[test]
fn all_of_a_source_goes_at_once() {
    let home = Home::new();
    let line = |session: &str, day: u8, text: &str| {
        json!({"session": session, "role": "user", "content": text,
               "created_at": format!("2026-11-{day:02}T10:00:00Z")})
        .to_string()
            + "\n"
    };
    let work = line("a", 1, "I work as a nurse.") + &line("b", 2, "My dog is called Rex.");
    for (name, text) in
        [("work.jsonl", work), ("home.jsonl", line("a", 3, "My dog is called Rex."))]
    {
        home.ok(&["import", home.file(name, text).to_str().unwrap()]);
    }
    home.ok(&["memory", "consolidate", "--wait"]);
    let listed = home.ok(&["session", "list"]);
    assert_eq!(listed.matches("(from work.jsonl)").count(), 2, "{listed}");
    let none = home.ok(&["memory", "forget", "--source", "play.jsonl", "--yes"]);
    assert!(none.contains("Nothing of that"), "{none}");
    let told = home.ok(&["memory", "forget", "--source", "work.jsonl", "--yes"]);
    assert!(told.contains("2 sessions") && told.contains("Erased: 2 messages"), "{told}");
    let left = facts(&home);
    assert!(left.contains("Rex") && !left.contains("nurse"), "{left}");
    assert!(home.ok(&["memory", "verify"]).contains("Sound"));
    let sessions = home.json(&["session", "list", "--json"]);
    assert_eq!(sessions.as_array().unwrap().len(), 1);
    assert_eq!(sessions[0]["source"], "home.jsonl");
}

#[test]
fn the_name_of_a_file_is_forgotten_too() {
    let home = Home::new();
    let line = r#"{"role": "user", "content": "I live in Oslo.", "created_at": 1}"#;
    home.ok(&["import", home.file("Zqxcanary therapy.jsonl", line).to_str().unwrap()]);
    let told = home.ok(&["memory", "forget", "--match", "zqxcanary", "--yes"]);
    assert!(told.contains("Erased"), "{told}");
    let bytes = std::fs::read(home.data().join("memory.db")).unwrap();
    assert!(!bytes.windows(9).any(|window| window.eq_ignore_ascii_case(b"zqxcanary")));
    assert!(home.ok(&["export"]).contains("Oslo"));
}

#[test]
fn a_correction_that_goes_is_in_no_list_of_what_was_struck_out() {
    for redacts in [false, true] {
        let home = Home::new();
        home.import(&[("user", "I live in Lund."), ("user", "My dog is called Max.")]);
        home.ok(&["memory", "consolidate", "--wait"]);
        home.ok(&["memory", "edit", "s2", "The user plays the Qwertzuiop."]);
        if redacts {
            let said = home.ok(&["memory", "forget", "--redact", "Qwertzuiop", "--yes"]);
            assert!(said.contains("corrections"), "{said}");
        } else {
            home.ok(&["memory", "forget", "s2", "--only", "--yes"]);
        }
        let bytes = std::fs::read(home.data().join("memory.db")).unwrap();
        assert!(!bytes.windows(10).any(|window| window == b"Qwertzuiop"), "{redacts}");
    }
}

/// A file system of two megabytes over the home's folder, as long as the value lives.
#[cfg(target_os = "linux")]
struct SmallDisk(std::path::PathBuf);

#[cfg(target_os = "linux")]
impl SmallDisk {
    /// With what lies in the folder; `None` where nobody may mount.
    fn over(folder: &std::path::Path) -> Option<Self> {
        let files: Vec<_> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_file())
            .map(|path| (path.clone(), std::fs::read(path).unwrap()))
            .collect();
        let mut mount = std::process::Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=2m,mode=0700", "tmpfs"]).arg(folder);
        if !mount.output().is_ok_and(|done| done.status.success()) {
            return None;
        }
        for (path, bytes) in files {
            std::fs::write(path, bytes).unwrap();
        }
        Some(Self(folder.to_owned()))
    }

    fn fill(&self) {
        use std::io::Write as _;
        let mut filler = std::fs::File::create(self.0.join("filler")).unwrap();
        while filler.write_all(&[7; 512]).is_ok() {}
    }
}

#[cfg(target_os = "linux")]
impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_no_reason_to_remember() {
    // A memory at rest, and one whose last words are still in the log.
    for with_log in [false, true] {
        let home = remembered();
        let open = with_log.then(|| {
            let store = Store::open(&home.data()).unwrap();
            let say = |text: &str| {
                let new = NewMessage::new(Role::User, text, SystemClock.now());
                store.write(|tx| tx.append_message(tx.sessions()?[0].id, &new)).unwrap();
            };
            say(&format!("Again: {SECRET}."));
            store
        });
        let Some(disk) = SmallDisk::over(&home.data()) else {
            skip("nobody may mount a file system here");
            return;
        };
        drop(open);
        disk.fill();
        let doctor = String::from_utf8(home.run(&["doctor"]).stdout).unwrap();
        assert!(doctor.contains("what is said may not be kept. Make room"), "{doctor}");
        assert!(!files_with_the_secret(&home).is_empty());
        let said = home.ok(&["memory", "forget", "--match", SECRET, "--yes"]);
        assert!(said.contains("overwritten in place"), "{said}");
        assert_eq!(files_with_the_secret(&home), Vec::<String>::new());
        std::fs::remove_file(home.data().join("filler")).unwrap();
        assert!(home.ok(&["memory", "verify"]).starts_with("Sound"));
        assert!(home.ok(&["export"]).contains("Lund"));
    }
}
