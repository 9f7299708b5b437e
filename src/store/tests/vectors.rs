//! Vectors: what is stored, what is found nearest, and a sample of them.

use super::builders::*;
use super::forgetting::forget;
use crate::memory::{Embedding, MessageId, Role};
use crate::store::{AnyId, JobKind, Level, Store};

#[test]
fn nearest_is_exact() {
    let texts: Vec<String> =
        (0..700).map(|i| format!("item {} of {} in {}", i % 37, i % 11, i * 7919)).collect();
    let store = with_messages(&texts);
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
    write(&store, |tx| {
        let session = tx.create_session("", at(0), false)?;
        say(tx, session, Role::User, "hello");
        Ok(())
    });
    read(&store, |r| {
        assert_eq!(r.embedder_id()?, None);
        assert!(r.nearest(Level::Message, &embed("x"), 3)?.is_empty());
        assert!(r.embeddings(Level::Message)?.is_empty());
        assert_eq!(r.without_embedding(Level::Message, 9)?, [(1, "hello".to_owned())]);
        Ok(())
    });
    let error = store.write(|tx| tx.put_embedding(Level::Message, 1, &embed("x"))).unwrap_err();
    assert!(error.to_string().contains("no embedding model"), "{error}");
    assert_valid(&store);
}

#[test]
fn another_embedder_takes_the_vectors_away_and_queues_new_ones() {
    let (store, small) = small_in_memory();
    // The same one again changes nothing.
    store.write(use_hash_embedder).unwrap();
    assert_eq!(store.read(|r| Ok(r.embeddings(Level::Semantic)?.len())).unwrap(), 2);
    store.write(|tx| tx.use_embedder("other", 2)).unwrap();
    read(&store, |r| {
        assert_eq!(r.embedder_id()?.as_deref(), Some("other"));
        assert!(r.embeddings(Level::Semantic)?.is_empty());
        assert_eq!(r.next_job()?.map(|j| j.kind), Some(JobKind::Reembed));
        assert_eq!(r.without_embedding(Level::Semantic, 1)?.len(), 1);
        Ok(())
    });
    // Until the job is done, facts without vectors are no violation; then they are.
    assert_valid(&store);
    let vector = Embedding::normalise(vec![0.6, 0.8]).unwrap();
    write(&store, |tx| {
        let job = tx.next_job()?.unwrap();
        tx.put_embedding(Level::Semantic, small.facts[0].0, &vector)?;
        tx.finish_job(job.id)
    });
    let found = store.read(|r| r.verify()).unwrap();
    assert_eq!(found[0], "s2 has no vector");
}

#[test]
fn a_sample_is_spread_over_all_vectors() {
    let texts: Vec<String> = (1..=100).map(|i| format!("word{i}")).collect();
    let store = with_messages(&texts);
    let sample = |n| store.read(|r| r.sample(Level::Message, n)).unwrap();
    let of = |id: usize| embed(&texts[id - 1]);
    assert_eq!(sample(0), []);
    assert_eq!(sample(1), [of(1)]);
    assert_eq!(sample(4), [of(1), of(34), of(67), of(100)]);
    assert_eq!(sample(100).len(), 100, "all where there are no more");
    assert_eq!(sample(1000).len(), 100);
    assert_eq!(store.read(|r| r.sample(Level::Semantic, 9)).unwrap(), []);
    assert_eq!(Store::in_memory().unwrap().read(|r| r.sample(Level::Message, 9)).unwrap(), []);
    // Gaps are stepped over, none counts twice.
    let gone: Vec<AnyId> = (2..=99).map(|i| AnyId::Message(MessageId(i))).collect();
    forget(&store, &gone, None);
    let left = store.read(|r| r.sample(Level::Message, 9)).unwrap();
    assert_eq!(left, [of(1), of(100)]);
}
