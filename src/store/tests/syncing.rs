//! What other devices tell: what is taken, what waits, what can't be right, and what a copy of a memory is told.

use serde_json::json;

use super::builders::*;
use super::random::everything;
use crate::memory::{MessageId, Role, SessionId};
use crate::store::{AnyId, Applied, JobKind, Store};
use crate::sync::{Correction, DeviceId, Entry, Fork, Said, SharedSession, Stamp, State, Uid};

const HERE: DeviceId = DeviceId([1; 8]);
const THERE: DeviceId = DeviceId([2; 8]);
pub(super) const ELSEWHERE: DeviceId = DeviceId([3; 8]);

fn uid(device: DeviceId, n: u64) -> Uid {
    Uid { device, n }
}

fn entry(uid: Uid, clock: u64, state: State) -> Entry {
    Entry { uid, stamp: Stamp { clock, device: uid.device }, state }
}

fn chat(fork: Option<Fork>) -> State {
    State::Session(SharedSession {
        title: "A chat".into(),
        titled: 1,
        created_at: at(0),
        imported: false,
        source: None,
        agent: false,
        pinned: false,
        fork,
    })
}

fn said(session: Uid, content: &str) -> State {
    State::Message(Said {
        session,
        role: Role::User,
        speaker: None,
        content: content.into(),
        created_at: at(1),
        external_id: None,
        complete: true,
        aside: false,
    })
}

fn device() -> Store {
    let store = Store::in_memory().unwrap();
    write(&store, |tx| tx.begin_sync(HERE));
    store
}

pub(super) fn apply(store: &Store, entries: &[Entry]) -> Applied {
    let applied = write(store, |tx| tx.apply(entries));
    assert_valid(store);
    applied
}

fn texts(store: &Store) -> Vec<String> {
    read(store, |r| Ok(r.all_messages()?.into_iter().map(|m| m.content).collect()))
}

#[test]
fn what_came_out_of_order_waits() {
    let chats = [entry(uid(THERE, 1), 1, chat(None)), entry(uid(THERE, 3), 1, chat(None))];
    let first = entry(uid(THERE, 2), 1, said(uid(THERE, 1), "one"));
    let second = entry(uid(THERE, 4), 2, said(uid(THERE, 1), "two"));
    let fork = Fork { parent: uid(THERE, 1), after: Some(uid(THERE, 2)) };
    let fork = entry(uid(ELSEWHERE, 1), 3, chat(Some(fork)));
    let store = device();
    let some = [second.clone(), fork.clone(), chats[0].clone()];
    assert_eq!(
        apply(&store, &some),
        Applied { n_taken: 1, held_back: vec![second.uid, fork.uid], ..Applied::default() }
    );
    assert_eq!(texts(&store), [""; 0]);
    let all = [second, fork, chats[1].clone(), first, chats[0].clone()];
    assert_eq!(apply(&store, &all), Applied { n_taken: 4, ..Applied::default() });
    assert_eq!(texts(&store), ["one", "two"]);
    let shown = read(&store, |r| r.conversation(SessionId(3)));
    let forks = read(&store, |r| r.sessions()).into_iter().find(|s| s.parent.is_some()).unwrap();
    let shown_there = read(&store, |r| r.conversation(forks.id));
    let contents = |of: crate::store::Conversation| -> Vec<String> {
        of.messages.into_iter().map(|m| m.content).collect()
    };
    assert_eq!((contents(shown_there), shown.title.as_str()), (vec!["one".to_owned()], "A chat"));
    // Again, it says nothing new, and nothing of it is this device's to tell.
    assert_eq!(apply(&store, &all), Applied::default());
    assert_eq!(write(&store, |tx| tx.changes()), []);
    assert_eq!(read(&store, |r| r.shared_log()).len(), 5);
    let jobs: Vec<JobKind> =
        read(&store, |r| r.pending_jobs()).into_iter().map(|job| job.kind).collect();
    assert_eq!(jobs, [JobKind::Close(SessionId(1))]);
}

#[test]
fn what_is_said_again_of_a_chat_that_goes_is_no_mistake() {
    let store = device();
    let (chat_id, message) = (uid(THERE, 1), uid(THERE, 2));
    let all = [entry(chat_id, 1, chat(None)), entry(message, 1, said(chat_id, "one"))];
    apply(&store, &all);
    let gone = entry(chat_id, 2, State::Gone);
    let applied = apply(&store, &[all[1].clone(), gone]);
    assert_eq!(applied, Applied { n_taken: 1, ..Applied::default() });
    assert_eq!(texts(&store), [""; 0]);
}

#[test]
fn what_cannot_be_right_counts_for_nothing() {
    let store = device();
    let base = [
        entry(uid(THERE, 1), 1, chat(None)),
        entry(uid(THERE, 2), 1, said(uid(THERE, 1), "one")),
        entry(uid(ELSEWHERE, 1), 1, chat(None)),
    ];
    apply(&store, &base);
    let before = everything(&store);
    let setting = |key: &str| State::Setting { key: key.into(), value: Some("Mallory".into()) };
    let correction = |messages: Vec<Uid>, content: &str| {
        State::Correction(Correction {
            messages,
            content: content.into(),
            worded: Stamp { clock: 1, device: THERE },
            redacted: std::collections::BTreeSet::new(),
            subject: None,
            attribute: None,
            created_at: at(0),
        })
    };
    let next = uid(ELSEWHERE, 2);
    let own_fork = Fork { parent: uid(THERE, 1), after: Some(uid(ELSEWHERE, 1)) };
    for (bad, state) in [
        // Another device's chat; no chat; one of its own that is to come.
        (next, said(uid(THERE, 1), "two")),
        (uid(THERE, 3), said(uid(THERE, 2), "two")),
        (next, said(uid(ELSEWHERE, 9), "two")),
        (next, chat(Some(own_fork))),
        (uid(THERE, 3), chat(Some(Fork { parent: uid(THERE, 2), after: None }))),
        (next, correction(Vec::new(), "x")),
        (next, correction(vec![uid(THERE, 2)], " ")),
        (next, correction(vec![uid(THERE, 1)], "of a chat")),
        (next, setting("user_name")),
        (Uid::USER_NAME, setting("theme_cap")),
        (Uid::USER_NAME, State::Gone),
        (uid(DeviceId([0; 8]), 2), chat(None)),
        (uid(ELSEWHERE, 0), chat(None)),
        (uid(ELSEWHERE, u64::MAX), chat(None)),
        // Of another kind than it is, or said by somebody else in another chat.
        (uid(THERE, 1), said(uid(THERE, 1), "two")),
        (uid(THERE, 2), chat(None)),
        (uid(THERE, 2), said(uid(ELSEWHERE, 1), "one")),
    ] {
        let entry = Entry { uid: bad, stamp: Stamp { clock: 9, device: ELSEWHERE }, state };
        let applied = apply(&store, std::slice::from_ref(&entry));
        assert_eq!((applied.n_taken, &applied.refused[..]), (0, &[bad][..]), "{entry:?}");
    }
    for clock in [0, 1 << 60, u64::MAX] {
        let entry = entry(next, clock, chat(None));
        assert_eq!(apply(&store, &[entry]).refused, [next]);
    }
    // But for the clock.
    let clock = |text: &str| -> Vec<String> {
        text.lines().filter(|line| line.parse::<u64>().is_err()).map(str::to_owned).collect()
    };
    assert_eq!(clock(&everything(&store)), clock(&before));
}

#[test]
fn a_circle_of_forks_is_none() {
    let store = device();
    let fork = |n| Some(Fork { parent: uid(THERE, n), after: None });
    apply(&store, &[entry(uid(THERE, 1), 1, chat(None)), entry(uid(THERE, 2), 1, chat(fork(1)))]);
    apply(&store, &[entry(uid(THERE, 1), 5, chat(fork(2)))]);
    apply(&store, &[entry(uid(THERE, 2), 6, chat(fork(2)))]);
    assert!(read(&store, |r| r.sessions()).iter().all(|s| s.parent.is_none_or(|p| p < s.id)));
    read(&store, |r| r.conversation(SessionId(1)));
}

#[test]
fn a_copy_goes_on_as_another_device() {
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let first = Store::open(dirs[0].path()).unwrap();
    small(&first);
    write(&first, |tx| tx.begin_sync(HERE));
    let told = write(&first, |tx| tx.changes());
    write(&first, |tx| tx.published(&told));
    drop(first);
    std::fs::copy(dirs[0].path().join("memory.db"), dirs[1].path().join("memory.db")).unwrap();
    let [first, copy] = [0, 1].map(|i| Store::open(dirs[i].path()).unwrap());
    for (store, text) in [(&first, "first"), (&copy, "second")] {
        write(store, |tx| {
            let session = tx.create_session(text, at(9), false)?;
            say(tx, session, Role::User, text);
            Ok(())
        });
    }
    let new = write(&first, |tx| tx.changes());
    assert_eq!(new.len(), 2);
    let applied = write(&copy, |tx| tx.apply(&new));
    assert_eq!(applied, Applied { is_copy: true, ..Applied::default() });
    write(&copy, |tx| tx.become_device(THERE));
    assert_eq!(apply(&copy, &[told, new].concat()).n_taken, 2);
    let answer = write(&copy, |tx| tx.changes());
    assert_eq!(answer.iter().map(|e| e.uid).collect::<Vec<_>>(), [uid(THERE, 1), uid(THERE, 2)]);
    apply(&first, &answer);
    let mut sorted = [texts(&first), texts(&copy)];
    for texts in &mut sorted {
        texts.sort();
    }
    assert_eq!(sorted[0], sorted[1]);
    assert_eq!(sorted[0].len(), 6);
}

/// Two devices that know the same: the second has derived a fact of it, and answered from it in a chat of its own.
pub(super) fn two() -> [Store; 2] {
    let [first, second] = [HERE, THERE].map(|device| {
        let store = Store::in_memory().unwrap();
        write(&store, |tx| tx.begin_sync(device));
        store
    });
    small(&first);
    apply(&second, &write(&first, |tx| tx.changes()));
    write(&second, |tx| {
        use_hash_embedder(tx)?;
        let messages: Vec<MessageId> = tx.all_messages()?.iter().map(|m| m.id).collect();
        let episode = tx.insert_episode(SessionId(1), "Lund", "They moved to Lund.", &messages)?;
        let theme = tx.create_theme("Lund")?;
        let lund = fact(tx, "The user moved to Lund", theme, &messages[..1]);
        let session = tx.create_session("Where do I live?", at(9), false)?;
        say(tx, session, Role::User, "Where do I live?");
        let reply = say(tx, session, Role::Assistant, "In Lund.");
        let cited = json!({"semantics": [lund.to_string()], "text": "The user moved to Lund"});
        tx.record_answer(reply, &cited)?;
        tx.enqueue(&JobKind::Semantics(episode))
    });
    [first, second]
}

pub(super) fn meet(stores: &[Store; 2]) {
    meet_first_hears(stores, 1);
}

pub(super) fn meet_first_hears(stores: &[Store; 2], first: usize) {
    for _ in 0..3 {
        for (from, to) in [(1 - first, first), (first, 1 - first)] {
            let told = write(&stores[from], |tx| tx.changes());
            let applied = apply(&stores[to], &told);
            assert!(applied.held_back.is_empty() && applied.refused.is_empty(), "{applied:?}");
        }
    }
    for store in stores {
        store.scrub().unwrap();
    }
}

#[test]
fn forgetting_and_redacting_reach_what_only_the_other_device_has() {
    for redacts in [false, true] {
        let stores = two();
        write(&stores[0], |tx| {
            let plan = if redacts {
                tx.plan_blot("Lund")?
            } else {
                tx.plan_forget(&[AnyId::Message(MessageId(1))], None)?
            };
            tx.forget(&plan)
        });
        meet(&stores);
        for store in &stores {
            let all = everything(store).to_lowercase();
            assert!(!all.contains("lund"), "redacts: {redacts}");
            let log = read(store, |r| r.shared_log());
            assert!(!format!("{log:?}").contains("Lund"));
        }
        let dumps: Vec<_> = stores.iter().map(texts).collect();
        assert_eq!(dumps[0].iter().any(|text| text == "I moved to […] last week"), redacts);
        assert_eq!(dumps[0].len(), dumps[1].len());
    }
}

/// Two devices that take another word each out of one text, before they hear of each other.
#[test]
fn what_either_redacted_is_nowhere() {
    for first in [0, 1] {
        let stores = two();
        meet(&stores);
        for (store, word) in stores.iter().zip(["Lund", "week"]) {
            write(store, |tx| {
                let plan = tx.plan_blot(word)?;
                tx.forget(&plan)
            });
        }
        // What was struck out there before it was heard that the word is gone, although another message says it.
        write(&stores[1], |tx| {
            say(tx, SessionId(2), Role::User, "Lund is where I was born");
            let theme = tx.create_theme("x")?;
            let episode = tx.insert_episode(SessionId(1), "x", "x", &[MessageId(1)])?;
            let lund = fact(tx, "The user moved to Lund", theme, &[MessageId(1)]);
            let plan = tx.plan_strike(&[AnyId::Semantic(lund)])?;
            tx.forget(&plan)?;
            tx.enqueue(&JobKind::Semantics(episode))
        });
        meet_first_hears(&stores, first);
        for store in &stores {
            let all = texts(store);
            assert_eq!(all[0], "I moved to […]", "{all:?}");
            assert!(!everything(store).contains("week"));
            assert!(!everything(store).contains("The user moved to Lund"));
            let log = format!("{:?}", read(store, |r| r.shared_log()));
            assert!(!log.contains("week") && !log.contains("user moved to Lund"), "{log}");
        }
    }
}

/// What lost words does not get them back by a change that was made where they were still known.
#[test]
fn what_lost_words_does_not_get_them_back() {
    let stores = two();
    meet(&stores);
    write(&stores[0], |tx| {
        let plan = tx.plan_blot("Lund")?;
        tx.forget(&plan)
    });
    for _ in 0..9 {
        // Its clock is ahead.
        write(&stores[1], |tx| {
            tx.pin_session(SessionId(1), true)?;
            tx.choose_reply(MessageId(4), [MessageId(2)])?;
            tx.changes()?;
            tx.pin_session(SessionId(1), false)?;
            tx.choose_reply(MessageId(2), [MessageId(4)])?;
            tx.changes()?;
            tx.pin_session(SessionId(1), true)
        });
    }
    meet(&stores);
    for store in &stores {
        assert!(!everything(store).contains("Lund"));
        assert!(read(store, |r| r.session(SessionId(1))).pinned);
    }
}

#[test]
fn what_was_struck_out_is_no_fact_anywhere() {
    let stores = two();
    write(&stores[0], |tx| {
        let fact = tx.semantics()?.remove(0).id;
        let plan = tx.plan_strike(&[AnyId::Semantic(fact)])?;
        tx.forget(&plan)
    });
    meet(&stores);
    assert_eq!(read(&stores[1], |r| r.semantics()), []);
    assert_eq!(texts(&stores[1]).len(), 6);
}

/// A fact can repeat what another message says, and be struck out.
#[test]
fn what_was_refused_loses_the_words_of_a_message_that_goes() {
    let stores = two();
    meet(&stores);
    write(&stores[1], |tx| {
        let theme = tx.create_theme("Max")?;
        let mixed = fact(tx, "Max the beagle is in Lund", theme, &[MessageId(3)]);
        let plan = tx.plan_strike(&[AnyId::Semantic(mixed)])?;
        tx.forget(&plan)
    });
    meet(&stores);
    write(&stores[0], |tx| {
        let plan = tx.plan_forget(&[AnyId::Message(MessageId(1))], None)?;
        tx.forget(&plan)
    });
    meet(&stores);
    for store in &stores {
        let all = everything(store).to_lowercase();
        assert!(!all.contains("lund") && all.contains("max the beagle is in"), "{all}");
    }
}

#[test]
fn without_a_sync_nothing_is_shared() {
    let (store, _) = small_in_memory();
    assert!(store.write(|tx| tx.changes()).is_err());
    assert!(store.write(|tx| tx.apply(&[])).is_err());
    assert_eq!(read(&store, |r| r.shared_log()), []);
    write(&store, |tx| tx.begin_sync(HERE));
    assert_eq!(write(&store, |tx| tx.changes()).len(), 5);
    write(&store, |tx| tx.end_sync());
    assert_eq!(read(&store, |r| r.shared_log()), []);
    assert_eq!(read(&store, |r| r.sync_device()), None);
}
