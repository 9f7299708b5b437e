//! Two hundred flipped bits and sixty cuts: nothing panics, and no change of what a person said goes unseen.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::builders::*;
use crate::memory::{MessageId, Role};
use crate::store::{AnyId, Secret, Store, WAIT, log_damage};

const FILES: [&str; 2] = ["memory.db", "memory.db-wal"];

/// Chats of three people's words, facts, a correction and an undo log; the last third is still in the log.
fn filled(dir: &Path, key: Option<&Secret>) -> Store {
    let say_all = |store: &Store, chats: std::ops::Range<i64>| {
        for n in chats {
            write(store, |tx| {
                let session = tx.create_session(&format!("chat {n}"), at(n), false)?;
                let mut ids = Vec::new();
                for k in 0..6 {
                    let role = if k % 2 == 0 { Role::User } else { Role::Assistant };
                    let speaker = (k == 2).then_some("Emily");
                    let text =
                        format!("The {n}th time she told me {k} things about the sea at Lund.");
                    ids.push(say_as(tx, session, role, speaker, &text));
                }
                use_hash_embedder(tx)?;
                close(tx, session, &ids);
                let theme = tx.create_theme(&format!("The sea {n}"))?;
                fact(tx, &format!("The user was told of the sea {n} times"), theme, &ids[..1]);
                Ok(())
            });
        }
    };
    {
        let store = Store::open(dir).unwrap();
        say_all(&store, 0..20);
    }
    if key.is_some() {
        crate::store::encrypt(dir, None, key, WAIT).unwrap();
    }
    let store = Store::open_with(dir, key, WAIT).unwrap();
    say_all(&store, 20..30);
    store
}

/// What people said: who, when, what.
fn said(store: &Store) -> Option<BTreeMap<MessageId, String>> {
    let all = store.read(|r| {
        let mut all = BTreeMap::new();
        for session in r.sessions()? {
            for m in r.messages(session.id)? {
                all.insert(
                    m.id,
                    format!("{:?} {:?} {:?} {}", m.role, m.speaker, m.created_at, m.content),
                );
            }
        }
        Ok(all)
    });
    all.ok()
}

/// Whether damage is seen, or has changed nothing. Everything a person would do next ends without a panic.
fn is_seen(dir: &Path, key: Option<&Secret>, whole: &BTreeMap<MessageId, String>) -> bool {
    let of_log = log_damage(dir);
    let mut is_seen = of_log.is_some();
    match Store::open_read_only_with(dir, key) {
        Err(_) => is_seen = true,
        Ok(store) => {
            is_seen |= store.read(|r| r.verify()).map_or(true, |found| !found.is_empty());
            is_seen |= store.log_damage().map_or(true, |found| found.is_some());
            let now = said(&store);
            is_seen |= now.as_ref().is_none_or(|now| now == whole);
            let _ = store.read(|r| r.dump());
        }
    }
    if let Ok(store) = Store::open_with(dir, key, WAIT) {
        let _ = store.write(|tx| tx.create_session("x", at(99), false));
        let ids = [AnyId::Message(MessageId(7))];
        if let Ok(plan) = store.read(|r| r.plan_forget(&ids, None)) {
            let _ = store.write(|tx| tx.forget(&plan)).and_then(|()| store.scrub());
        }
    }
    is_seen
}

/// The damaged copies are numbered; the same numbers give the same damage.
fn check(key: Option<&Secret>, n: u64, damage: impl Fn(&mut ChaCha8Rng, &mut Vec<u8>)) {
    let dir = tempfile::tempdir().unwrap();
    let store = filled(dir.path(), key);
    let whole = said(&store).unwrap();
    let files = FILES.map(|name| fs::read(dir.path().join(name)).unwrap());
    let unseen: Vec<u64> = (0..n)
        .filter(|&number| {
            let mut rng = ChaCha8Rng::seed_from_u64(number);
            let mut copies = files.clone();
            damage(&mut rng, &mut copies[usize::from(number % 3 == 0)]);
            let copy = tempfile::tempdir().unwrap();
            for (name, bytes) in FILES.iter().zip(&copies) {
                fs::write(copy.path().join(name), bytes).unwrap();
            }
            fs::copy(dir.path().join("memory.lock"), copy.path().join("memory.lock")).unwrap();
            !is_seen(copy.path(), key, &whole)
        })
        .collect();
    assert_eq!(unseen, [0; 0], "{} of {n}", unseen.len());
}

/// Facts, titles and names of themes have no checksum: the index has their words.
#[test]
fn a_letter_of_what_was_made_of_it_is_seen() {
    let dir = tempfile::tempdir().unwrap();
    drop(filled(dir.path(), None));
    let whole = fs::read(dir.path().join("memory.db")).unwrap();
    for (text, id) in [("was told of the sea 7 times", "s8 has"), ("The sea 11", "t12 has")] {
        let n = text.len();
        let at = (0..whole.len() - n).rposition(|at| whole[at..].starts_with(text.as_bytes()));
        let copy = tempfile::tempdir().unwrap();
        let mut bytes = whole.clone();
        bytes[at.unwrap() + text.find("sea").unwrap()] = b't';
        fs::write(copy.path().join("memory.db"), bytes).unwrap();
        let found = Store::open_read_only(copy.path()).unwrap().read(|r| r.verify()).unwrap();
        assert!(found.iter().any(|what| what.contains(id)), "{text}: {found:?}");
    }
}

fn flip(rng: &mut ChaCha8Rng, bytes: &mut [u8]) {
    let at = rng.random_range(0..bytes.len());
    bytes[at] ^= 1 << rng.random_range(0..8);
}

fn cut(rng: &mut ChaCha8Rng, bytes: &mut Vec<u8>) {
    bytes.truncate(rng.random_range(0..bytes.len()));
}

#[test]
fn no_flipped_bit_changes_what_was_said_unseen() {
    check(None, 200, |rng, bytes| flip(rng, bytes));
}

#[test]
fn no_cut_changes_what_was_said_unseen() {
    check(None, 60, cut);
}

#[test]
fn nor_in_an_encrypted_memory() {
    let key = Secret::new(b"correct horse".to_vec());
    check(Some(&key), 40, |rng, bytes| flip(rng, bytes));
    check(Some(&key), 20, cut);
}

/// Of a first chat that was never closed, all is in the log.
#[test]
fn a_first_log_that_was_cut_off_is_no_beginning() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    write(&store, |tx| {
        let session = tx.create_session("", at(0), false)?;
        say(tx, session, Role::User, "I live in Lund.");
        Ok(())
    });
    let log = fs::read(dir.path().join(FILES[1])).unwrap();
    for n in [0, 31, 32, 5000, 12_456] {
        let copy = tempfile::tempdir().unwrap();
        for name in ["memory.db", "memory.lock"] {
            fs::copy(dir.path().join(name), copy.path().join(name)).unwrap();
        }
        fs::write(copy.path().join(FILES[1]), &log[..n]).unwrap();
        for opened in [Store::open_read_only(copy.path()), Store::open(copy.path())] {
            let error = opened.err().expect("an error").to_string();
            assert!(error.contains("m1 is gone") || error.contains("empty"), "{n}: {error}");
        }
    }
}

/// An older copy is put in the memory's place, and the chat goes on: new messages don't hide what is gone.
#[test]
fn a_loss_is_named_until_the_memory_is_repaired() {
    let (dir, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let old = copy.path().join("old.db");
    let told = |n: usize| {
        let store = Store::open(dir.path()).unwrap();
        write(&store, |tx| {
            let session = tx.create_session("", at(0), false)?;
            for i in 0..n {
                say(tx, session, Role::User, &format!("Number {i}."));
            }
            Ok(())
        });
        store.log_damage().unwrap()
    };
    assert_eq!(told(2), None);
    fs::copy(dir.path().join(FILES[0]), &old).unwrap();
    assert_eq!(told(3), None);
    fs::copy(&old, dir.path().join(FILES[0])).unwrap();
    assert!(told(9).unwrap().starts_with("m3 to m5 are gone"));
    assert!(told(1).unwrap().starts_with("m3 to m5 are gone"));
    let repaired = crate::store::repair(dir.path(), None, "now", WAIT).unwrap();
    assert_eq!(repaired.copied.stats.messages, 12);
    assert_eq!(told(1), None);
}
