//! Vectors and full text.

use proptest::prelude::*;

use super::builders::*;
use crate::memory::{Embedding, MessageId, Role};
use crate::store::{AnyId, JobKind, Level, NewMessage, Store, StoreError};

fn with_messages(texts: &[&str]) -> Store {
    let store = Store::in_memory().unwrap();
    store
        .write(|tx| {
            use_hash_embedder(tx)?;
            let session = tx.create_session("", at(0), false)?;
            for text in texts {
                let id = say(tx, session, Role::User, text);
                tx.put_embedding(Level::Message, id.0, &embed(text))?;
            }
            Ok(())
        })
        .unwrap();
    store
}

#[test]
fn nearest_is_exact() {
    let texts: Vec<String> =
        (0..700).map(|i| format!("item {} of {} in {}", i % 37, i % 11, i * 7919)).collect();
    let refs: Vec<&str> = texts.iter().map(String::as_str).collect();
    let store = with_messages(&refs);
    let query = embed("item 5 of 3 in 42");
    let mut expected: Vec<(i64, f32)> =
        texts.iter().zip(1..).map(|(t, id)| (id, embed(t).cosine(&query))).collect();
    expected.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    for k in [1, 10, 699, 5000] {
        let found = store.read(|r| r.nearest(Level::Message, &query, k)).unwrap();
        assert_eq!(found.len(), k.min(700));
        for (f, e) in found.iter().zip(&expected) {
            assert!((f.1 - e.1).abs() < 1e-5, "{f:?} {e:?}");
        }
    }
    assert!(store.read(|r| r.nearest(Level::Theme, &query, 3)).unwrap().is_empty());
    assert!(store.read(|r| r.nearest(Level::Message, &query, 0)).unwrap().is_empty());
    let short = Embedding::normalise(vec![1.0; 3]).unwrap();
    assert!(store.read(|r| r.nearest(Level::Message, &short, 3)).is_err());
}

#[test]
fn beyond_the_exact_size_hardly_any_of_the_nearest_are_missed() {
    let folder = tempfile::tempdir().unwrap();
    for store in [Store::in_memory().unwrap(), Store::open(folder.path()).unwrap()] {
        finds_nearly_all_of_the_nearest(&store);
    }
}

fn finds_nearly_all_of_the_nearest(store: &Store) {
    const DIMENSIONS: usize = 384;
    const N: u64 = 3_000;
    // Three of ten are of the cone that all lie in, three of one of fifty topics.
    let drawn = |number: u64| {
        let direction = |seed: u64| {
            let mut state = seed ^ 0x9e37_79b9_7f4a_7c15;
            let values = (0..DIMENSIONS).map(move |_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                (state >> 40) as f32 / 8_388_608.0 - 1.0
            });
            values.collect::<Vec<f32>>()
        };
        let (cone, topic, own) =
            (direction(1), direction(1_000 + number % 50), direction(number << 20));
        let parts = cone.iter().zip(&topic).zip(&own);
        let sum = parts.map(|((a, b), c)| 0.55 * a + 0.55 * b + 0.63 * c).collect();
        Embedding::normalise(sum).unwrap()
    };
    store
        .write(|tx| {
            tx.use_embedder("made up", DIMENSIONS)?;
            let session = tx.create_session("", at(0), false)?;
            for number in 0..N {
                let id = say(tx, session, Role::User, "x");
                tx.put_embedding(Level::Message, id.0, &drawn(number))?;
            }
            Ok(())
        })
        .unwrap();
    let (mut n_found, mut n_true) = (0, 0);
    for query in 0..40 {
        let query = drawn(N + query);
        let mut all: Vec<(f32, i64)> =
            (0..N).map(|number| (drawn(number).cosine(&query), number as i64 + 1)).collect();
        all.sort_by(|a, b| b.0.total_cmp(&a.0));
        let found = store.read(|r| r.nearest(Level::Message, &query, 64)).unwrap();
        assert_eq!(found.len(), 64);
        assert!(found.windows(2).all(|pair| pair[0].1 >= pair[1].1));
        n_true += 64;
        n_found += all[..64].iter().filter(|(_, id)| found.iter().any(|f| f.0 == *id)).count();
    }
    let share = n_found as f64 / f64::from(n_true);
    assert!(share > 0.98, "{share} of the nearest");
    assert_valid(store);
    // The sample does not wait for new ones, and has those of now.
    let samples_its_vectors = || {
        let vector =
            |i: i64| store.read(|r| r.embedding(Level::Message, 1 + 2_944 * i / 63)).unwrap();
        let expected: Vec<Embedding> = (0..64).filter_map(vector).collect();
        for _ in 0..2 {
            assert_eq!(*store.read(|r| r.sample(Level::Message, 64)).unwrap(), expected);
        }
    };
    samples_its_vectors();
    // One that goes is not found again, one that changes is found where it is now.
    let query = drawn(N);
    let best = store.read(|r| r.nearest(Level::Message, &query, 2)).unwrap();
    let plan =
        store.read(|r| r.plan_forget(&[AnyId::Message(MessageId(best[0].0))], None)).unwrap();
    store.write(|tx| tx.forget(&plan)).unwrap();
    store.write(|tx| tx.put_embedding(Level::Message, 7, &query)).unwrap();
    let after = store.read(|r| r.nearest(Level::Message, &query, 2)).unwrap();
    assert_eq!(after[0].0, 7);
    assert_eq!(after[1], best[1]);
    samples_its_vectors();
    // What is not committed is not there, and what comes anew is.
    let refused = store.write(|tx| {
        tx.put_embedding(Level::Message, 1, &query)?;
        Err::<(), _>(StoreError::invalid("no"))
    });
    assert!(refused.is_err());
    assert_eq!(store.read(|r| r.nearest(Level::Message, &query, 2)).unwrap(), after);
    let new = drawn(u64::MAX / 2);
    let id = store.write(|tx| {
        let session = tx.create_session("", at(0), false)?;
        let id = say(tx, session, Role::User, "x").0;
        tx.put_embedding(Level::Message, id, &new)?;
        Ok::<_, StoreError>(id)
    });
    let found = store.read(|r| r.nearest(Level::Message, &new, 1)).unwrap();
    assert_eq!(found[0].0, id.unwrap());
    samples_its_vectors();
    store.write(|tx| tx.put_embedding(Level::Message, 1, &new)).unwrap();
    samples_its_vectors();
    store.write(|tx| tx.use_embedder("another", DIMENSIONS)).unwrap();
    assert_eq!(store.read(|r| r.nearest(Level::Message, &new, 1)).unwrap(), []);
    assert_valid(store);
}

#[test]
fn vectors_come_back_as_they_went_in() {
    let store = with_messages(&["one", "two", "three"]);
    let all = store.read(|r| r.embeddings(Level::Message)).unwrap();
    assert_eq!(all, [(1, embed("one")), (2, embed("two")), (3, embed("three"))]);
    store.write(|tx| tx.put_embedding(Level::Message, 2, &embed("zwei"))).unwrap();
    assert_eq!(store.read(|r| r.embedding(Level::Message, 2)).unwrap(), Some(embed("zwei")));
    assert_eq!(store.read(|r| r.embedding(Level::Message, 9)).unwrap(), None);
    assert!(store.write(|tx| tx.put_embedding(Level::Message, 9, &embed("x"))).is_err());
}

#[test]
fn without_an_embedder_there_are_no_vectors() {
    let store = Store::in_memory().unwrap();
    store
        .write(|tx| {
            let session = tx.create_session("", at(0), false)?;
            say(tx, session, Role::User, "hello");
            Ok(())
        })
        .unwrap();
    store
        .read(|r| {
            assert_eq!(r.embedder_id()?, None);
            assert!(r.nearest(Level::Message, &embed("x"), 3)?.is_empty());
            assert!(r.embeddings(Level::Message)?.is_empty());
            assert_eq!(r.without_embedding(Level::Message, 9)?, [(1, "hello".to_owned())]);
            Ok(())
        })
        .unwrap();
    let error = store.write(|tx| tx.put_embedding(Level::Message, 1, &embed("x"))).unwrap_err();
    assert!(error.to_string().contains("no embedding model"), "{error}");
    assert_valid(&store);
}

#[test]
fn another_embedder_takes_the_vectors_away_and_queues_new_ones() {
    let store = Store::in_memory().unwrap();
    let small = small(&store);
    // The same one again changes nothing.
    store.write(use_hash_embedder).unwrap();
    assert_eq!(store.read(|r| Ok(r.embeddings(Level::Semantic)?.len())).unwrap(), 2);
    store.write(|tx| tx.use_embedder("other", 2)).unwrap();
    store
        .read(|r| {
            assert_eq!(r.embedder_id()?.as_deref(), Some("other"));
            assert!(r.embeddings(Level::Semantic)?.is_empty());
            assert_eq!(r.next_job()?.map(|j| j.kind), Some(JobKind::Reembed));
            assert_eq!(r.without_embedding(Level::Semantic, 1)?.len(), 1);
            Ok(())
        })
        .unwrap();
    // Until the job is done, facts without vectors are no violation; then they are.
    assert_valid(&store);
    let vector = Embedding::normalise(vec![0.6, 0.8]).unwrap();
    store
        .write(|tx| {
            let job = tx.next_job()?.unwrap();
            tx.put_embedding(Level::Semantic, small.facts[0].0, &vector)?;
            tx.finish_job(job.id)
        })
        .unwrap();
    let found = store.read(|r| r.verify()).unwrap();
    assert_eq!(found[0].what, "s2 has no vector");
}

#[test]
fn vectors_survive_deletion_and_vacuum() {
    // Sketches are 64 to a row: four rows are emptied, one partly.
    let texts: Vec<String> = (0..600).map(|i| format!("number {i}")).collect();
    let refs: Vec<&str> = texts.iter().map(String::as_str).collect();
    let store = with_messages(&refs);
    let gone: Vec<AnyId> = (1..=300).map(|i| AnyId::Message(MessageId(i))).collect();
    let plan = store.read(|r| r.plan_forget(&gone, None)).unwrap();
    store.write(|tx| tx.forget(&plan)).unwrap();
    store.scrub().unwrap();
    let all = store.read(|r| r.embeddings(Level::Message)).unwrap();
    assert_eq!(all.len(), 300);
    for (id, vector) in &all {
        assert_eq!(*vector, embed(&texts[*id as usize - 1]), "{id}");
    }
    let best = store.read(|r| r.nearest(Level::Message, &embed("number 450"), 1)).unwrap();
    assert!(best[0].1 > 0.999, "{best:?}");
    // And more go in after them.
    store
        .write(|tx| {
            let session = tx.sessions()?[0].id;
            for i in 0..300 {
                let id = say(tx, session, Role::User, &format!("later {i}"));
                tx.put_embedding(Level::Message, id.0, &embed(&format!("later {i}")))?;
            }
            Ok(())
        })
        .unwrap();
    let best = store.read(|r| r.nearest(Level::Message, &embed("later 7"), 1)).unwrap();
    assert!(best[0].0 > 600 && best[0].1 > 0.999, "{best:?}");
    assert_valid(&store);
}

#[test]
fn neighbours_are_of_the_same_episode() {
    let store = Store::in_memory().unwrap();
    let ids: Vec<MessageId> = store
        .write(|tx| {
            let session = tx.create_session("", at(0), false)?;
            let ids: Vec<MessageId> =
                (0..5).map(|i| say(tx, session, Role::User, &format!("m{i}"))).collect();
            close(tx, session, &ids[..3]);
            close(tx, session, &ids[3..4]);
            Ok(ids)
        })
        .unwrap();
    let beside = |i: usize| store.read(|r| r.messages_beside([ids[i]])).unwrap();
    assert_eq!(beside(0), [ids[1]]);
    assert_eq!(beside(1), [ids[0], ids[2]]);
    assert_eq!(beside(2), [ids[1]], "the next one is in another episode");
    assert_eq!(beside(3), []);
    assert_eq!(beside(4), [], "in no episode yet");
    assert_eq!(store.read(|r| r.messages_beside([MessageId(99)])).unwrap(), []);
}

#[test]
fn a_sample_is_spread_over_all_vectors() {
    let texts: Vec<String> = (1..=100).map(|i| format!("word{i}")).collect();
    let refs: Vec<&str> = texts.iter().map(String::as_str).collect();
    let store = with_messages(&refs);
    let sample = |n| store.read(|r| r.sample(Level::Message, n)).unwrap();
    let of = |id: usize| embed(&texts[id - 1]);
    assert_eq!(*sample(0), []);
    assert_eq!(*sample(1), [of(1)]);
    assert_eq!(*sample(4), [of(1), of(34), of(67), of(100)]);
    assert_eq!(sample(100).len(), 100, "all where there are no more");
    assert_eq!(sample(1000).len(), 100);
    assert_eq!(*store.read(|r| r.sample(Level::Semantic, 9)).unwrap(), []);
    assert_eq!(*Store::in_memory().unwrap().read(|r| r.sample(Level::Message, 9)).unwrap(), []);
    // Gaps are stepped over, none counts twice.
    let gone: Vec<AnyId> = (2..=99).map(|i| AnyId::Message(MessageId(i))).collect();
    let plan = store.read(|r| r.plan_forget(&gone, None)).unwrap();
    store.write(|tx| tx.forget(&plan)).unwrap();
    let left = store.read(|r| r.sample(Level::Message, 9)).unwrap();
    assert_eq!(*left, [of(1), of(100)]);
}

#[track_caller]
fn finds(store: &Store, query: &str, expected: &[i64]) {
    let found = store.read(|r| r.full_text(Level::Message, query, 10)).unwrap();
    let ids: Vec<i64> = found.iter().map(|f| f.0).collect();
    assert_eq!(ids, expected, "{query:?}");
    assert!(found.iter().all(|f| f.1 > 0.0));
    assert!(found.windows(2).all(|w| w[0].1 >= w[1].1));
}

#[test]
fn words_are_found_stemmed_and_without_accents() {
    let store = with_messages(&[
        "I moved to Malmö last week",
        "My dog is a beagle, a beagle!",
        "Moving house is tiring",
        "the beagle and the cat",
    ]);
    finds(&store, "MALMO", &[1]);
    finds(&store, "moves", &[3, 1]);
    finds(&store, "beagle", &[2, 4]);
    finds(&store, "cats beagle", &[4, 2]);
    finds(&store, "zebra", &[]);
    let found = store.read(|r| r.search_all("beagle", 5)).unwrap();
    assert_eq!(
        found.iter().map(|f| (f.0, f.1)).collect::<Vec<_>>(),
        [(Level::Message, 2), (Level::Message, 4)]
    );
}

#[test]
fn no_query_is_syntax() {
    let store = with_messages(&["a NEAR thing", "content AND more", "plain"]);
    finds(&store, "", &[]);
    finds(&store, " \t\n", &[]);
    finds(&store, "\"", &[]);
    finds(&store, "\" OR \"", &[]);
    finds(&store, "*", &[]);
    finds(&store, "plain*", &[3]);
    finds(&store, "content:plain", &[3, 2]);
    finds(&store, "NEAR(plain thing)", &[1, 3]); // two words of three
    finds(&store, "^plain) AND (", &[3, 2]);
    finds(&store, "plain\0'; DROP TABLE message; --", &[3]);
    finds(&store, "🦊🔥", &[]);
    finds(&store, "\u{0301}\u{200d}\u{202e}", &[]);
    finds(&store, &"plain \"* ".repeat(2000), &[3]);
    let many: Vec<String> = (0..5000).map(|i| format!("w{i}")).collect();
    finds(&store, &many.join(" "), &[]);
    assert_eq!(store.read(|r| r.counts()).unwrap().messages, 3);
}

#[test]
fn any_text_can_be_a_message() {
    let store = Store::in_memory().unwrap();
    let texts = ["", "\0", "a\0b", "\u{feff}x", "🦊", "\u{1b}[31mred", &"long ".repeat(200_000)];
    store
        .write(|tx| {
            let session = tx.create_session("\0", at(0), true)?;
            for text in texts {
                tx.append_message(NewMessage {
                    session,
                    role: Role::Assistant,
                    speaker: Some("\0'\"".to_owned()),
                    content: text.to_owned(),
                    created_at: at(0),
                    external_id: Some("D1:1".to_owned()),
                    complete: true,
                })?;
            }
            Ok(())
        })
        .unwrap();
    let messages = store.read(|r| r.all_messages()).unwrap();
    assert!(messages.iter().map(|m| m.content.as_str()).eq(texts));
    assert_valid(&store);
}

proptest! {
    #[test]
    fn any_query_is_fine(query in "\\PC{0,60}|[\"*^:(){}\\-+ORANDNT ]{0,40}") {
        let store = with_messages(&["plain text"]);
        store.read(|r| r.search_all(&query, 5)).unwrap();
    }
}
