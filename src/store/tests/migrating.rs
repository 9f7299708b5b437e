//! A memory that was made before sqlite-vec searched: the schema's second version, with sketches.

use std::path::Path;

use rusqlite::{Connection, params};
use rusqlite_migration::{M, Migrations};

use super::builders::*;
use super::vector_index::Clusters;
use crate::memory::Embedding;
use crate::store::{Level, Store};

const OLD: [M<'_>; 2] = [
    M::up(include_str!("../../../assets/schema/0001_initial.sql")),
    M::up(include_str!("../../../assets/schema/0002_vectors.sql")),
];

const N: u64 = 2_500;

/// One message for each vector, and a meaningless sketch: nothing reads those any more.
fn made_before(dir: &Path, vectors: &[Embedding]) {
    let mut conn = Connection::open(dir.join("memory.db")).unwrap();
    Migrations::from_slice(&OLD).to_latest(&mut conn).unwrap();
    conn.pragma_update(None, "journal_mode", "WAL").unwrap();
    conn.execute_batch(
        "INSERT INTO meta VALUES ('embedder', 'made up'), ('dimensions', '384');
         INSERT INTO session VALUES (1, '', 0, 0, 0);
         INSERT INTO message_sketch VALUES (0, x'c0ffee');",
    )
    .unwrap();
    let tx = conn.transaction().unwrap();
    for (vector, id) in vectors.iter().zip(1..) {
        let blob: Vec<u8> = vector.as_slice().iter().flat_map(|x| x.to_le_bytes()).collect();
        let message = "INSERT INTO message (id, session, role, content, created_ms, created_offset,
            complete) VALUES (?1, 1, 'user', 'x', 0, 0, 1)";
        tx.prepare_cached(message).unwrap().execute([id]).unwrap();
        let row = "INSERT INTO message_vector VALUES (?1, ?2)";
        tx.prepare_cached(row).unwrap().execute(params![id, blob]).unwrap();
    }
    tx.commit().unwrap();
}

fn version(dir: &Path) -> i64 {
    let conn = Connection::open(dir.join("memory.db")).unwrap();
    conn.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

#[track_caller]
fn finds_the_same(store: &Store, vectors: &[Embedding]) {
    assert_valid(store);
    for number in 0..20 {
        let query = Clusters::of(N).question(number * N / 20);
        let best = vectors
            .iter()
            .zip(1..)
            .max_by(|a, b| a.0.cosine(&query).total_cmp(&b.0.cosine(&query)))
            .unwrap();
        let found = store.read(|r| r.nearest(Level::Message, &query, 1)).unwrap();
        assert_eq!(found[0].0, best.1);
        assert!((found[0].1 - best.0.cosine(&query)).abs() < 1e-5);
    }
}

#[test]
fn an_older_memory_is_indexed_and_finds_the_same() {
    let clusters = Clusters::of(N);
    // One level that is searched exactly, one with an index.
    for n in [500, N] {
        let dir = tempfile::tempdir().unwrap();
        let vectors: Vec<Embedding> = (0..n).map(|number| clusters.memory(number)).collect();
        made_before(dir.path(), &vectors);
        // Reading alone changes nothing.
        finds_the_same(&Store::open_read_only(dir.path()).unwrap(), &vectors);
        assert_eq!(version(dir.path()), 2);
        for _ in 0..2 {
            finds_the_same(&Store::open(dir.path()).unwrap(), &vectors);
            assert_eq!(version(dir.path()), 10);
        }
        let store = Store::open_read_only(dir.path()).unwrap();
        finds_the_same(&store, &vectors);
        let sketches = "SELECT count(*) FROM sqlite_schema WHERE name LIKE '%sketch%'";
        assert_eq!(store.read(|r| r.count(sketches)).unwrap(), 0);
        let indexes = store.read(|r| r.count("SELECT count(*) FROM vector_index")).unwrap();
        assert_eq!(indexes, usize::from(n == N));
    }
}

/// A step that fails in the middle leaves the older version as it was.
#[test]
fn a_migration_that_fails_leaves_the_older_memory() {
    let dir = tempfile::tempdir().unwrap();
    let vectors = vec![Clusters::of(N).memory(1); 3];
    made_before(dir.path(), &vectors);
    let conn = Connection::open(dir.path().join("memory.db")).unwrap();
    conn.execute_batch("CREATE TABLE vector_index (in_the_way)").unwrap();
    assert!(Store::open(dir.path()).is_err());
    assert_eq!(version(dir.path()), 2);
    let sketch: Vec<u8> =
        conn.query_row("SELECT sketches FROM message_sketch", [], |row| row.get(0)).unwrap();
    assert_eq!(sketch, [0xc0, 0xff, 0xee]);
    conn.execute_batch("DROP TABLE vector_index").unwrap();
    drop(conn);
    finds_the_same_of(&Store::open(dir.path()).unwrap(), &vectors[0]);
}

#[test]
fn a_damaged_vector_keeps_no_memory_from_being_migrated() {
    let dir = tempfile::tempdir().unwrap();
    let clusters = Clusters::of(N);
    let vectors: Vec<Embedding> = (0..N).map(|number| clusters.memory(number)).collect();
    made_before(dir.path(), &vectors);
    let conn = Connection::open(dir.path().join("memory.db")).unwrap();
    let damage = "UPDATE message_vector SET embedding = zeroblob(1536) WHERE id = 2000";
    conn.execute(damage, []).unwrap();
    drop(conn);
    let store = Store::open(dir.path()).unwrap();
    finds_the_same_of(&store, &vectors[77]);
    let found = store.read(|r| r.verify()).unwrap();
    assert!(found[0].contains("cannot check the vectors"), "{found:?}");
}

#[track_caller]
fn finds_the_same_of(store: &Store, vector: &Embedding) {
    let found = store.read(|r| r.nearest(Level::Message, vector, 1)).unwrap();
    assert!(found[0].1 > 0.999, "{found:?}");
}
