//! The index of a large level: what it finds, that it follows every change, and what forgetting leaves.

use std::path::Path;

use super::builders::*;
use super::forgetting::forget;
use super::forgotten_bytes::{bytes, has};
use crate::memory::{Embedding, MessageId, Role};
use crate::store::{AnyId, Level, Store, StoreError, WriteTx};

const DIMENSIONS: usize = 384;

/// Memories in groups of seven, groups in topics, all in one cone; as in `bench memory`.
pub(super) struct Clusters {
    n_topics: u64,
}

fn direction(seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0xd129_0ddb_53c4_3e49) ^ 0x9e37_79b9_7f4a_7c15;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / 8_388_608.0 - 1.0
    };
    let values: Vec<f32> = (0..DIMENSIONS).map(|_| next() + next()).collect();
    Embedding::normalise(values).unwrap().into_inner()
}

impl Clusters {
    pub(super) fn of(n: u64) -> Self {
        Self { n_topics: 2 * (n as f64).sqrt() as u64 }
    }

    fn drawn(&self, number: u64, own: u64, shares: [f32; 4]) -> Embedding {
        let group = number / 7;
        let seeds = [1, 1_000_000 + group % self.n_topics, 2_000_000 + group, 4_000_000 + own];
        let mut sum = vec![0.0; DIMENSIONS];
        for (seed, share) in seeds.into_iter().zip(shares) {
            for (x, part) in sum.iter_mut().zip(direction(seed)) {
                *x += share.sqrt() * part;
            }
        }
        Embedding::normalise(sum).unwrap()
    }

    pub(super) fn memory(&self, number: u64) -> Embedding {
        self.drawn(number, number, [0.30, 0.15, 0.25, 0.30])
    }

    /// About the same as that memory.
    pub(super) fn question(&self, number: u64) -> Embedding {
        self.drawn(number, u64::MAX / 2 + number, [0.25, 0.15, 0.20, 0.40])
    }
}

fn said(tx: &mut WriteTx<'_>, vector: &Embedding) -> Result<i64, StoreError> {
    let session = match tx.sessions()?.first() {
        Some(session) => session.id,
        None => tx.create_session("", at(0), false)?,
    };
    let id = say(tx, session, Role::User, "x").0;
    tx.put_embedding(Level::Message, id, vector)?;
    Ok(id)
}

/// Messages 1 to `n`, with the vectors 0 to `n - 1`.
fn fill(store: &Store, vectors: &[Embedding]) {
    write(store, |tx| {
        tx.use_embedder("made up", DIMENSIONS)?;
        vectors.iter().try_for_each(|vector| said(tx, vector).map(drop))
    });
}

fn nearest(store: &Store, query: &Embedding, k: usize) -> Vec<(i64, f32)> {
    store.read(|r| r.nearest(Level::Message, query, k)).unwrap()
}

/// The share of the true `k` nearest that are found, over forty questions.
fn recall(store: &Store, vectors: &[Embedding], clusters: &Clusters, k: usize) -> f64 {
    let mut n_found = 0;
    for i in 0..40 {
        let query = clusters.question(i * vectors.len() as u64 / 40);
        let mut all: Vec<(f32, i64)> =
            vectors.iter().zip(1..).map(|(vector, id)| (vector.cosine(&query), id)).collect();
        all.sort_by(|a, b| b.0.total_cmp(&a.0));
        let found = nearest(store, &query, k);
        assert_eq!(found.len(), k);
        assert!(found.windows(2).all(|pair| pair[0].1 >= pair[1].1));
        n_found += all[..k].iter().filter(|(_, id)| found.iter().any(|f| f.0 == *id)).count();
    }
    n_found as f64 / (40 * k) as f64
}

fn memories(clusters: &Clusters, n: u64) -> Vec<Embedding> {
    (0..n).map(|number| clusters.memory(number)).collect()
}

#[test]
fn beyond_the_exact_size_hardly_any_of_the_nearest_are_missed() {
    for n in [3_000, 20_000] {
        let clusters = Clusters::of(n);
        let vectors = memories(&clusters, n);
        let store = Store::in_memory().unwrap();
        fill(&store, &vectors);
        let share = recall(&store, &vectors, &clusters, 10);
        assert!(share >= 0.97, "{share} of the ten nearest among {n}");
    }
}

#[test]
fn the_index_follows_every_change() {
    let folder = tempfile::tempdir().unwrap();
    for store in [Store::in_memory().unwrap(), Store::open(folder.path()).unwrap()] {
        follows_every_change(&store);
    }
}

fn follows_every_change(store: &Store) {
    const N: u64 = 3_000;
    let clusters = Clusters::of(N);
    fill(store, &memories(&clusters, N));
    assert_valid(store);
    let query = clusters.question(1_234);
    let best = nearest(store, &query, 2);
    // One that goes is not found again, one that changes is found where it is now.
    forget(store, &[AnyId::Message(MessageId(best[0].0))], None);
    store.write(|tx| tx.put_embedding(Level::Message, 7, &query)).unwrap();
    let after = nearest(store, &query, 2);
    assert_eq!(after[0].0, 7);
    assert_eq!(after[1], best[1]);
    // What was not committed is not found, and what was added is.
    let refused = store.write(|tx| {
        tx.put_embedding(Level::Message, 1, &query)?;
        Err::<(), _>(StoreError::invalid("no"))
    });
    assert!(refused.is_err());
    assert_eq!(nearest(store, &query, 2), after);
    let new = clusters.memory(N + 5_000);
    let id = store.write(|tx| said(tx, &new)).unwrap();
    assert_eq!(nearest(store, &new, 1)[0].0, id);
    assert_valid(store);
    store.write(|tx| tx.use_embedder("another", DIMENSIONS)).unwrap();
    assert_eq!(nearest(store, &new, 1), []);
    assert_valid(store);
}

/// Whole chunks of the index go, and `VACUUM` writes the rest anew.
#[test]
fn the_index_survives_deletion_and_vacuum() {
    let clusters = Clusters::of(4_000);
    let mut vectors = memories(&clusters, 4_000);
    let store = Store::in_memory().unwrap();
    fill(&store, &vectors);
    let gone: Vec<AnyId> = (1..=1_500).map(|i| AnyId::Message(MessageId(i))).collect();
    forget(&store, &gone, None);
    store.scrub().unwrap();
    assert_valid(&store);
    let more: Vec<Embedding> = (4_000..4_500).map(|number| clusters.memory(number)).collect();
    store.write(|tx| more.iter().try_for_each(|vector| said(tx, vector).map(drop))).unwrap();
    vectors.extend(more);
    for number in [1_500, 2_777, 3_999, 4_499] {
        assert_eq!(nearest(&store, &vectors[number], 1)[0].0, number as i64 + 1);
    }
    assert_valid(&store);
}

#[test]
fn all_are_found_where_all_are_alike() {
    let vectors = vec![Clusters::of(9).memory(1); 1_500];
    let store = Store::in_memory().unwrap();
    fill(&store, &vectors);
    let found = nearest(&store, &vectors[0], 64);
    assert!(found.len() == 64 && found.iter().all(|f| f.1 > 0.999), "{found:?}");
    // More than can be asked of the index.
    assert_eq!(nearest(&store, &vectors[0], 1_400).len(), 1_400);
}

#[test]
fn verify_finds_what_the_index_lacks_or_has_too_much() {
    let clusters = Clusters::of(1_100);
    let store = Store::in_memory().unwrap();
    fill(&store, &memories(&clusters, 1_100));
    let damages = [
        ("DELETE FROM message_vector_index WHERE rowid = 7", "m7"),
        ("UPDATE message_vector SET embedding = (SELECT embedding FROM message_vector WHERE id = 900)
          WHERE id = 8", "m8"),
        ("INSERT INTO message_vector_index (rowid, sampled, code) VALUES (5000, 0, vec_bit(zeroblob(96)))", ""),
    ];
    for (sql, id) in damages {
        let found = store.write(|tx| {
            tx.conn.execute_batch(sql)?;
            let found = tx.verify()?;
            Err::<(), _>(StoreError::invalid(format!("{found:?}")))
        });
        let found = found.unwrap_err().to_string();
        assert!(found.contains(&format!("the index has another vector of {id}")), "{sql}: {found}");
    }
}

/// The codes are in no file either, nor an index that is no longer needed.
#[test]
fn no_byte_of_a_forgotten_code_is_in_any_file() {
    const N: i64 = 1_300;
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    fill(&store, &memories(&Clusters::of(N as u64), N as u64));
    let code = |id: i64| -> Vec<u8> {
        let sql = "SELECT code FROM message_vector_index WHERE rowid = ?1";
        store.read(|r| r.optional(sql, [id], |row| row.get(0))).unwrap().unwrap()
    };
    // The last two are in the partition that is searched first.
    let canaries = [(5, code(5)), (640, code(640)), (1_296, code(1_296))];
    let kept = code(1_000);
    let has_code = |dir: &Path, code: &[u8]| code.chunks(24).any(|piece| has(&bytes(dir), piece));
    let forget = |ids: &[i64]| {
        let ids: Vec<AnyId> = ids.iter().map(|&id| AnyId::Message(MessageId(id))).collect();
        forget(&store, &ids, None);
        store.scrub().unwrap();
    };
    for (id, code) in &canaries {
        assert!(has_code(dir.path(), code), "the test sees the code of {id}");
    }
    forget(&canaries.each_ref().map(|(id, _)| *id));
    for (id, code) in &canaries {
        assert!(!has_code(dir.path(), code), "the code of {id}");
    }
    assert!(has_code(dir.path(), &kept));
    assert_valid(&store);
    // So few are left that they are searched exactly.
    let is_here = |id: &i64| canaries.iter().all(|(gone, _)| gone != id);
    let most: Vec<i64> = (1..=N - 300).filter(is_here).collect();
    forget(&most);
    assert!(!has_code(dir.path(), &kept));
    let tables = "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'message_vector_index%'";
    assert_eq!(store.read(|r| r.count(tables)).unwrap(), 0);
    assert_eq!(store.read(|r| r.count("SELECT count(*) FROM vector_index")).unwrap(), 0);
    assert_eq!(nearest(&store, &Clusters::of(N as u64).memory(1_200), 1)[0].0, 1_201);
    assert_valid(&store);
}
