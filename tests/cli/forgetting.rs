//! Forgetting removes a text from every file (invariant 5).

use inglenook::interfaces::Embedder as _;
use inglenook::store::{NewSemantic, Store};
use inglenook::testing::HashEmbedder;

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
