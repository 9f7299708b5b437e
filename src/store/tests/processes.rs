//! Several that have one memory open, as several processes have: locks are of open files, not of processes.

use std::fs::File;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::builders::*;
use crate::memory::Role;
use crate::store::{
    AnyId, Copied, ForgetPlan, JobKind, LOCK_FILES, Reader, Secret, Store, StoreError, WAIT,
    encrypt, end_replacing, repair, restore,
};

const SHORT: Duration = Duration::from_millis(100);

/// How many messages there were, as the lock notes it.
fn noted(dir: &Path) -> i64 {
    let text = std::fs::read_to_string(dir.join(LOCK_FILES[0])).unwrap();
    text.lines().nth(2).unwrap().parse().unwrap()
}

fn n_messages(r: &Reader<'_>) -> Result<usize, StoreError> {
    Ok(r.stats()?.messages)
}

#[test]
fn all_write_in_turn_and_see_what_the_others_wrote() {
    const N: usize = 40;
    let dir = tempfile::tempdir().unwrap();
    let watching = Store::open(dir.path()).unwrap();
    let before = watching.generation();
    assert_eq!(watching.generation(), before);
    thread::scope(|scope| {
        for i in 0..3 {
            let dir = dir.path();
            scope.spawn(move || {
                let store = Store::open(dir).unwrap();
                let session =
                    store.write(|tx| tx.create_session(&format!("{i}"), at(i), false)).unwrap();
                for n in 0..N {
                    write(&store, |tx| {
                        say(tx, session, Role::User, &format!("{i}: {n}"));
                        tx.enqueue(&JobKind::Boundary(session))
                    });
                }
            });
        }
    });
    assert_ne!(watching.generation(), before);
    assert_eq!(watching.read(n_messages).unwrap(), 3 * N);
    assert_eq!(noted(dir.path()), 3 * N as i64);
    assert_eq!(watching.log_damage().unwrap(), None);
    assert_valid(&watching);
    let before = watching.generation();
    assert_eq!(watching.generation(), before, "nothing was written");
}

#[test]
fn a_turn_is_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let turn = File::open(dir.path().join("memory.turn")).unwrap();
    turn.lock().unwrap();
    let since = Instant::now();
    let error = Store::open_with(dir.path(), None, SHORT).err().unwrap();
    let pid = std::process::id().to_string();
    assert!(matches!(&error, StoreError::Locked { pid: p, .. } if *p == pid), "{error}");
    assert!(since.elapsed() >= SHORT);
    thread::scope(|scope| {
        let written = scope.spawn(|| store.write(|tx| tx.set_setting("a", "b")));
        let opened = scope.spawn(|| Store::open(dir.path()).map(drop));
        thread::sleep(SHORT);
        assert!(!written.is_finished() && !opened.is_finished());
        turn.unlock().unwrap();
        let since = Instant::now();
        written.join().unwrap().unwrap();
        opened.join().unwrap().unwrap();
        assert!(since.elapsed() < Duration::from_secs(1), "{:?}", since.elapsed());
    });
}

type Replacing<'a> = dyn Fn(Duration) -> Result<(), StoreError> + Sync + 'a;

/// What puts another file in the place of the memory.
fn replacing<'a>(dir: &'a Path, backup: &'a Path) -> [(&'static str, Box<Replacing<'a>>); 4] {
    let none = |_: Copied| ();
    [
        ("restore", Box::new(move |wait| restore(backup, None, dir, true, wait).map(none))),
        ("repair", Box::new(move |wait| repair(dir, None, "now", wait).map(drop))),
        ("in place", Box::new(move |wait| Store::open_in_place(dir, None, wait).map(drop))),
        (
            "encrypt",
            Box::new(move |wait| {
                let key = Secret::new(b"correct horse battery".to_vec());
                encrypt(dir, None, Some(&key), wait).map(none)
            }),
        ),
    ]
}

#[test]
fn whoever_replaces_the_memory_waits_until_nobody_has_it_open() {
    let (dir, backups) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    small(&Store::open(dir.path()).unwrap());
    let backup = backups.path().join("copy.db");
    crate::store::backup(dir.path(), None, &backup, None).unwrap();
    for (what, replace) in replacing(dir.path(), &backup) {
        let store = Store::open(dir.path()).unwrap();
        let error = replace(SHORT).unwrap_err();
        assert!(matches!(error, StoreError::Locked { .. }), "{what}: {error}");
        // Who waits takes no turn from those who write, and whoever comes is let in.
        thread::scope(|scope| {
            let replaced = scope.spawn(|| replace(WAIT));
            thread::sleep(SHORT);
            write(&store, |tx| tx.set_setting("a", "b"));
            drop(Store::open(dir.path()).unwrap());
            assert!(!replaced.is_finished(), "{what}");
            // A clone shares the lock; it goes with the last of them.
            let clone = store.clone();
            drop(store);
            thread::sleep(SHORT);
            assert!(!replaced.is_finished(), "{what}");
            drop(clone);
            replaced.join().unwrap().unwrap_or_else(|e| panic!("{what}: {e}"));
        });
    }
    end_replacing(dir.path(), SHORT).unwrap();
}

#[test]
fn nobody_opens_what_is_written_in_place() {
    let dir = tempfile::tempdir().unwrap();
    small(&Store::open(dir.path()).unwrap());
    let in_place = Store::open_in_place(dir.path(), None, SHORT).unwrap();
    for _ in 0..2 {
        let error = Store::open_with(dir.path(), None, SHORT).err().unwrap();
        assert!(matches!(error, StoreError::Locked { .. }), "{error}");
        in_place.write(|tx| tx.set_setting("a", "b")).unwrap();
    }
    drop(in_place);
    Store::open_with(dir.path(), None, SHORT).unwrap();
}

#[test]
fn one_does_the_jobs_and_the_next_takes_them_over() {
    let dir = tempfile::tempdir().unwrap();
    let (one, other) = (Store::open(dir.path()).unwrap(), Store::open(dir.path()).unwrap());
    assert!(!one.is_alone().unwrap());
    write(&one, |tx| {
        let session = tx.create_session("", at(0), false)?;
        say(tx, session, Role::User, "hello");
        tx.enqueue(&JobKind::Boundary(session))
    });
    let job = other.read(|r| r.next_job()).unwrap().unwrap();
    let work = one.work().unwrap().unwrap();
    assert!(other.work().unwrap().is_none());
    one.write(|tx| tx.begin_job(job.id)).unwrap();
    // Somebody who opens the memory meanwhile leaves it as it is.
    drop(Store::open(dir.path()).unwrap());
    assert_eq!(other.read(|r| r.next_job()).unwrap(), None);
    // As if its process had died.
    drop(work);
    let _work = other.work().unwrap().unwrap();
    assert_eq!(other.read(|r| r.next_job()).unwrap().map(|j| j.kind), Some(job.kind));
    drop(one);
    assert!(other.is_alone().unwrap());
    write(&other, |tx| tx.set_setting("a", "b"));
    assert!(other.is_alone().unwrap());
}

#[test]
fn a_forgetting_is_noticed_and_leaves_no_byte_in_any_file() {
    let dir = tempfile::tempdir().unwrap();
    let (one, other) = (Store::open(dir.path()).unwrap(), Store::open(dir.path()).unwrap());
    let small = small(&one);
    let secret = "zanzibar";
    let message =
        write(&one, |tx| Ok(say(tx, small.session, Role::User, &format!("It is {secret}."))));
    let known = |store: &Store| store.read(|r| r.n_forgettings()).unwrap();
    let before = known(&one);
    assert_eq!(one.read(|r| r.messages_by_id(&[message])).unwrap().len(), 1);
    let plan = other.read(|r| r.plan_forget(&[AnyId::Message(message)], None)).unwrap();
    other.write(|tx| tx.forget(&plan)).unwrap();
    other.scrub().unwrap();
    assert_eq!(known(&one), before + 1);
    one.drop_caches();
    for entry in std::fs::read_dir(dir.path()).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        assert!(!bytes.windows(secret.len()).any(|w| w == secret.as_bytes()), "{path:?}");
    }
    // Nothing is forgotten where nothing was found.
    let plan = other.read(|r| r.plan_forget(&[], Some(secret))).unwrap();
    other.write(|tx| tx.forget(&plan)).unwrap();
    assert_eq!(known(&one), before + 1);
    assert_valid(&one);
}

#[test]
fn what_is_said_and_replied_while_one_decides_goes_too() {
    for is_chat in [true, false] {
        let (store, small) = small_in_memory();
        let question = write(&store, |tx| Ok(say(tx, small.session, Role::User, "Is it large?")));
        let plan = |id| read(&store, |r| r.plan_forget(&[id], None));
        let plans = if is_chat {
            [plan(AnyId::Session(small.session)), ForgetPlan::default()]
        } else {
            [AnyId::Message(question), AnyId::Message(small.messages[0])].map(plan)
        };
        // An open chat goes on.
        write(&store, |tx| {
            say(tx, small.session, Role::Assistant, "You moved to Lund.");
            say(tx, small.session, Role::User, "What do I cook?");
            say(tx, small.session, Role::Assistant, "A soup.");
            Ok(())
        });
        for plan in plans {
            store.write(|tx| tx.forget(&plan)).unwrap();
        }
        assert_valid(&store);
        let stays = store.read(|r| r.messages(small.session)).unwrap_or_default();
        let stays: Vec<String> = stays.into_iter().map(|m| m.content).collect();
        let rest =
            ["My dog Max is a beagle", "Noted: Max is a beagle.", "What do I cook?", "A soup."];
        assert_eq!(stays, if is_chat { &[][..] } else { &rest });
        assert_eq!(store.read(|r| r.session(small.session)).is_ok(), !is_chat);
    }
}

#[test]
fn what_was_forgotten_since_is_known_by_id_for_a_while() {
    let store = Store::in_memory().unwrap();
    let tell = |n: usize| {
        write(&store, |tx| {
            let session = tx.create_session("", at(n as i64), false)?;
            Ok((session, say(tx, session, Role::User, &format!("My word is w{n}w."))))
        })
    };
    let forget = |id: AnyId| {
        let plan = store.read(|r| r.plan_forget(&[id], None)).unwrap();
        store.write(|tx| tx.forget(&plan)).unwrap();
    };
    let since = |n: u64| store.read(|r| r.forgotten_since(n)).unwrap();
    let (session, one) = tell(0);
    let (_, other) = tell(1);
    assert_eq!(since(0).unwrap().len(), 0);
    forget(AnyId::Message(one));
    let gone = since(0).unwrap();
    assert!(gone.contains(&AnyId::Message(one)) && gone.contains(&AnyId::Session(session)));
    assert!(!gone.contains(&AnyId::Message(other)));
    assert_eq!(since(1).unwrap().len(), 0);
    assert_eq!(since(2), None, "of an older copy of the memory nothing is known");
    for n in 2..40 {
        forget(AnyId::Message(tell(n).1));
    }
    assert_eq!(since(0), None, "it may be anything");
    assert!(since(38).is_some());
    // Words may go from a correction as well: all that was made meanwhile may have them.
    let plan = store.read(|r| r.plan_blot("w1w")).unwrap();
    store.write(|tx| tx.forget(&plan)).unwrap();
    assert_eq!(since(39), None);
}
