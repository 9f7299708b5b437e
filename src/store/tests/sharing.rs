//! Threads and panics.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

use super::builders::*;
use crate::memory::Role;
use crate::store::{JobKind, Reader, Store, StoreError};

#[test]
fn four_threads_write_and_two_read() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let sessions: Vec<_> = (0..4)
        .map(|i| store.write(|tx| tx.create_session(&format!("{i}"), at(i), false)).unwrap())
        .collect();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let (store, done) = (store.clone(), &done);
            scope.spawn(move || {
                let mut last = 0;
                while !done.load(Ordering::Relaxed) {
                    let (n, listed) =
                        store.read(|r| Ok((r.stats()?.messages, r.all_messages()?.len()))).unwrap();
                    // One snapshot, and never back in time.
                    assert_eq!(n, listed);
                    assert!(n >= last);
                    last = n;
                }
            });
        }
        let writers: Vec<_> = sessions
            .iter()
            .map(|&session| {
                let store = store.clone();
                scope.spawn(move || {
                    for i in 0..50 {
                        write(&store, |tx| {
                            say(tx, session, Role::User, &format!("message {i}"));
                            tx.enqueue(&JobKind::Boundary(session))
                        });
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.join().unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    read(&store, |r| {
        for &session in &sessions {
            let contents: Vec<String> =
                r.messages(session)?.into_iter().map(|m| m.content).collect();
            let expected: Vec<String> = (0..50).map(|i| format!("message {i}")).collect();
            assert_eq!(contents, expected);
        }
        assert_eq!(r.pending_jobs()?.len(), 4);
        Ok(())
    });
    assert_valid(&store);
    assert_eq!(store.generation(), 4 + 200);
}

#[test]
fn a_reading_beside_has_a_snapshot_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    for store in [Store::open(dir.path()).unwrap(), Store::in_memory().unwrap()] {
        let session = store.write(|tx| tx.create_session("", at(0), false)).unwrap();
        let is_file = store.path().is_file();
        let all = |r: &Reader<'_>| Ok(r.all_messages()?.iter().map(|m| m.id).collect::<Vec<_>>());
        let written = Barrier::new(2);
        let (own, beside, known) = store
            .read_beside(
                |other| {
                    if is_file {
                        written.wait();
                    }
                    all(other)
                },
                |reader, wait| {
                    let own = all(reader)?;
                    if is_file {
                        store.write(|tx| Ok(say(tx, session, Role::User, "meanwhile")))?;
                        written.wait();
                    }
                    let beside = wait()?;
                    let known = reader.find_messages(beside.iter().copied())?;
                    Ok((own, beside, known.len()))
                },
            )
            .unwrap();
        assert_eq!((own.len(), beside.len(), known), (0, usize::from(is_file), 0));
        let failed =
            store.read_beside(|_| Err::<(), _>(StoreError::invalid("no")), |_, wait| wait());
        assert!(failed.is_err_and(|e| e.to_string().contains("no")));
    }
}

#[test]
fn a_panic_leaves_no_trace_and_the_store_usable() {
    let dir = tempfile::tempdir().unwrap();
    for store in [Store::in_memory().unwrap(), Store::open(dir.path()).unwrap()] {
        let session = store.write(|tx| tx.create_session("", at(0), false)).unwrap();
        let generation = store.generation();
        for writes in [true, false] {
            let store = store.clone();
            let panicked = std::thread::spawn(move || {
                let _ = if writes {
                    store.write(|tx| -> Result<(), StoreError> {
                        say(tx, session, Role::User, "never");
                        panic!("in a write")
                    })
                } else {
                    store.read(|_| -> Result<(), StoreError> { panic!("in a read") })
                };
            });
            assert!(panicked.join().is_err());
        }
        assert_eq!(store.generation(), generation);
        assert_eq!(store.read(|r| r.stats()).unwrap().messages, 0);
        store.write(|tx| Ok(say(tx, session, Role::User, "hello"))).unwrap();
        assert_valid(&store);
    }
}

#[test]
fn an_error_rolls_back() {
    let (store, small) = small_in_memory();
    let before = (store.generation(), store.read(|r| r.dump()).unwrap());
    let error = store.write(|tx| -> Result<(), StoreError> {
        say(tx, small.session, Role::User, "never");
        tx.edit_semantic(small.facts[0], "never", &embed("never"))?;
        tx.use_embedder("never", 7)?;
        Err(StoreError::Invalid { what: "on purpose".to_owned() })
    });
    assert_eq!(error.unwrap_err().to_string(), "on purpose");
    assert_eq!((store.generation(), store.read(|r| r.dump()).unwrap()), before);
    assert_eq!(store.read(|r| r.embeddings(crate::store::Level::Semantic)).unwrap().len(), 2);
}

#[test]
fn a_nested_transaction_is_an_error_and_no_deadlock() {
    let dir = tempfile::tempdir().unwrap();
    let file = Store::open(dir.path()).unwrap();
    let memory = Store::in_memory().unwrap();
    for store in [&file, &memory] {
        let nested = store.write(|_| store.write(|tx| tx.set_setting("a", "b")));
        assert!(nested.unwrap_err().to_string().contains("in use by the same thread"));
        store.write(|tx| tx.set_setting("a", "b")).unwrap();
    }
    assert!(memory.read(|_| memory.read(|r| r.stats())).is_err());
    // A file has further connections, to read with.
    file.read(|_| file.read(|r| r.stats())).unwrap();
    file.write(|tx| {
        tx.set_setting("a", "c")?;
        assert_eq!(file.read(|r| r.setting("a"))?.as_deref(), Some("b"));
        Ok(())
    })
    .unwrap();
}
