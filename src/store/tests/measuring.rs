//! Figures, on request: `cargo test --release --lib store::tests::measuring -- --ignored --nocapture`.

use std::io::Write;
use std::time::Instant;

use super::builders::*;
use crate::memory::{Embedding, MessageId, Role};
use crate::store::{AnyId, Level, Store};

const N: usize = 10_000;
const DIMENSIONS: usize = 384;

fn vector(seed: usize) -> Embedding {
    let mut state = seed as u64 + 1;
    let floats = (0..DIMENSIONS)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((state >> 40) as f32) / 8_388_608.0 - 1.0
        })
        .collect();
    Embedding::normalise(floats).unwrap()
}

fn timed<T>(what: &str, f: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let value = f();
    let line = format!("{what}: {:.1} ms\n", start.elapsed().as_secs_f64() * 1e3);
    std::io::stderr().write_all(line.as_bytes()).unwrap();
    value
}

#[test]
#[ignore = "prints figures"]
fn ten_thousand_facts() {
    let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let store = timed("open, new", || Store::open(dir.path()).unwrap());
    let session = store
        .write(|tx| {
            tx.use_embedder("random", DIMENSIONS)?;
            tx.set_setting("theme_cap", "100")?;
            tx.create_session("", at(0), false)
        })
        .unwrap();
    timed("100 messages, a durable transaction each", || {
        for i in 0..100 {
            store.write(|tx| Ok(say(tx, session, Role::User, &format!("hello {i}")))).unwrap();
        }
    });
    timed("10,000 messages, episodes of 10, facts with vectors", || {
        for batch in 0..N / 100 {
            store
                .write(|tx| {
                    let theme = tx.create_theme("a theme")?;
                    for e in 0..10 {
                        let ids: Vec<MessageId> = (0..10)
                            .map(|i| {
                                let text =
                                    format!("we spoke of topic {} and item {i}{e}", batch % 97);
                                say(tx, session, Role::User, &text)
                            })
                            .collect();
                        let episode = close(tx, session, &ids);
                        for id in ids {
                            let new = crate::store::NewSemantic {
                                content: format!("The user spoke of item {}", id.0),
                                subject: None,
                                attribute: None,
                                created_at: at(0),
                                episodes: vec![episode],
                                messages: vec![id],
                            };
                            tx.insert_semantic(new, theme, &vector(id.0 as usize))?;
                        }
                    }
                    Ok(())
                })
                .unwrap();
        }
    });
    let size = std::fs::metadata(dir.path().join("memory.db")).unwrap().len();
    std::io::stderr().write_all(format!("{} MB\n", size / 1_000_000).as_bytes()).unwrap();
    let query = vector(7_777);
    for _ in 0..2 {
        timed("nearest 10", || store.read(|r| r.nearest(Level::Semantic, &query, 10)).unwrap());
        timed("embeddings", || store.read(|r| r.embeddings(Level::Semantic)).unwrap());
        timed("full text 10", || {
            store.read(|r| r.full_text(Level::Message, "the topic 13 item 42", 10)).unwrap()
        });
        timed("semantics", || store.read(|r| r.semantics()).unwrap());
        timed("stats", || store.read(|r| r.stats()).unwrap());
        timed("sessions", || store.read(|r| r.sessions()).unwrap());
    }
    timed("verify", || assert_valid(&store));
    let plan =
        timed("plan", || store.read(|r| r.plan_forget(&[AnyId::Message(MessageId(5000))], None)));
    timed("forget", || store.write(|tx| tx.forget(&plan.unwrap())).unwrap());
    timed("scrub", || store.scrub().unwrap());
    drop(store);
    let store = timed("open", || Store::open(dir.path()).unwrap());
    drop(store);
    timed("open to read, and stats", || {
        Store::open_read_only(dir.path()).unwrap().read(|r| r.stats()).unwrap()
    });
}
