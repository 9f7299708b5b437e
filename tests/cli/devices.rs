//! Another device's chats, and a memory that is made anew.

use inglenook::memory::{Moment, Role};
use inglenook::store::Store;
use inglenook::sync::{DeviceId, Entry, Said, SharedSession, Stamp, State, Uid};

use crate::home::Home;

fn dump(home: &Home) -> String {
    Store::open_read_only(&home.data()).unwrap().read(|r| r.dump()).unwrap()
}

/// A chat of another device, as a sync brings it.
fn with_a_foreign_chat() -> Home {
    let home = Home::new();
    let store = Store::open(&home.data()).unwrap();
    let there = DeviceId([2; 8]);
    let at = Moment::new("2026-11-20T10:00:00Z".parse().unwrap(), jiff::tz::Offset::UTC);
    let session = Uid { device: there, n: 1 };
    let chat = State::Session(SharedSession {
        title: "I moved to Lund.".into(),
        titled: 1,
        created_at: at,
        imported: false,
        source: None,
        agent: false,
        pinned: false,
        fork: None,
    });
    let said = |role, content: &str| {
        State::Message(Said {
            session,
            role,
            speaker: None,
            content: content.into(),
            created_at: at,
            external_id: None,
            complete: true,
            aside: false,
        })
    };
    let told = said(Role::User, "I moved to Lund.");
    let entries = [chat, told, said(Role::Assistant, "Noted.")].into_iter().zip(1..);
    let stamp = Stamp { clock: 1, device: there };
    let entries: Vec<Entry> =
        entries.map(|(state, n)| Entry { uid: Uid { device: there, n }, stamp, state }).collect();
    store.write(|tx| tx.begin_sync(DeviceId([1; 8]))).unwrap();
    let applied = store.write(|tx| tx.apply(&entries)).unwrap();
    assert_eq!(applied.n_taken, 3);
    home
}

#[test]
fn who_goes_on_with_anothers_chat_writes_into_a_fork() {
    let home = with_a_foreign_chat();
    home.ok(&["ask", "--session", "c1", "My dog is called Max."]);
    let store = Store::open(&home.data()).unwrap();
    let (sessions, there, here) = store
        .read(|r| {
            let mut sessions = r.sessions()?;
            sessions.sort_by_key(|s| s.id);
            let here = r.conversation(sessions[1].id)?;
            Ok((sessions.clone(), r.messages(sessions[0].id)?, here))
        })
        .unwrap();
    assert_eq!(sessions.len(), 2, "{sessions:?}");
    assert_eq!((sessions[1].parent, there.len()), (Some(sessions[0].id), 2));
    assert_eq!(here.title, "I moved to Lund.");
    let texts: Vec<&str> = here.messages.iter().map(|m| m.content.as_str()).collect();
    assert_eq!(texts[..3], ["I moved to Lund.", "Noted.", "My dog is called Max."]);
    assert_eq!(texts.len(), 4);
    // All of it is this device's to tell.
    let told = store.write(|tx| tx.changes()).unwrap();
    assert_eq!(told.iter().map(|entry| entry.uid.n).collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn a_memory_is_made_anew_and_corrections_stay() {
    let home = Home::new();
    home.import(&[
        ("user", "I live in Oslo."),
        ("user", "My dog is called Rex."),
        ("user", "My sister works as a nurse."),
    ]);
    home.ok(&["memory", "consolidate", "--wait"]);
    let before = dump(&home);
    home.ok(&["memory", "rebuild", "--yes"]);
    assert_eq!(dump(&home), before);
    home.ok(&["memory", "search", "Rex"]);
    let tree = home.ok(&["memory", "search", "Oslo", "--json"]);
    let oslo =
        tree.split('"').find(|word| word.starts_with('s') && word[1..].parse::<u32>().is_ok());
    home.ok(&["memory", "edit", oslo.unwrap(), "Ana lives in Lund."]);
    home.ok(&["memory", "rebuild", "--yes"]);
    let after = dump(&home);
    assert!(after.contains("Ana lives in Lund.") && after.contains("Rex"), "{after}");
    assert!(!after.contains("lives in Oslo\""), "{after}");
    assert!(home.ok(&["memory", "verify"]).contains("Sound"));
    assert!(home.ok(&["memory", "undo"]).contains("nothing to undo"));
}
