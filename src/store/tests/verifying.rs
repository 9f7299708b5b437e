//! `verify` sees each way in which a file can be wrong.

use rusqlite::Connection;

use super::builders::*;
use crate::store::{JobKind, Level, Store};

/// Breaks a small memory by `sql`, as another program could, and looks for `expected` in what
/// `verify` says.
#[track_caller]
fn check(sql: &str, expected: &str) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let small = small(&store);
    write(&store, |tx| {
        let [a, b] = small.facts.map(|f| f.0);
        tx.replace_edges(Level::Semantic, a, &[(b, 0.5)])?;
        tx.replace_edges(Level::Theme, small.themes[0].0, &[(small.themes[1].0, 0.5)])?;
        tx.record_answer(small.messages[1], &serde_json::json!({}))?;
        tx.enqueue(&JobKind::Boundary(small.session))?;
        tx.edit_semantic(small.facts[0], "edited", &embed("edited"))?;
        let relinking = tx.pending_jobs()?.into_iter().find(|j| j.kind == JobKind::Reembed);
        tx.finish_job(relinking.unwrap().id)?;
        let other = tx.create_session("Other", at(20), false)?;
        say(tx, other, crate::memory::Role::User, "m5");
        tx.set_setting("theme_cap", "1")
    });
    assert_valid(&store);
    let other = Connection::open(dir.path().join("memory.db")).unwrap();
    other
        .execute_batch("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON;")
        .unwrap();
    other.execute_batch(sql).unwrap();
    drop(other);
    let found = store.read(|r| r.verify()).unwrap();
    assert!(found.iter().any(|what| what.contains(expected)), "{sql}\n{found:#?}");
    // A dump of it is refused.
    assert!(store.read(|r| r.dump()).is_err());
}

#[test]
fn themes_and_facts() {
    check("INSERT INTO theme (name) VALUES ('empty')", "t3 is empty");
    check("UPDATE semantic SET theme = 77 WHERE id = 1", "s1 is in no theme");
    check("UPDATE semantic SET theme = 2 WHERE id = 1", "s1's theme is not in its history");
    check("UPDATE semantic SET theme = 2 WHERE id = 1", "t2 has 2 members; 1 is the most");
    check("DELETE FROM semantic_episode WHERE semantic = 1", "s1 names no episode");
    check("DELETE FROM semantic_message WHERE semantic = 1", "s1 names no message");
    check("INSERT INTO semantic_message VALUES (2, 5)", "s2 names m5, which is in none");
    check("INSERT INTO semantic_message VALUES (1, 55)", "row 0 of semantic_message");
}

#[test]
fn supersession() {
    let set = |id: i64, by: i64| {
        format!(
            "UPDATE semantic SET superseded_by = {by}, superseded_ms = 0, superseded_offset = 0
             WHERE id = {id};"
        )
    };
    check(&set(1, 9), "s1 is superseded by s9, which does not exist");
    check(&(set(1, 2) + &set(2, 1)), "s1 supersedes itself");
    check(&set(2, 2), "s2 supersedes itself");
}

#[test]
fn episodes_and_messages() {
    check("UPDATE message SET episode = NULL WHERE id = 2", "e1 is not contiguous: m2 lies in it");
    check("UPDATE message SET episode = NULL", "e1 has no messages");
    check("UPDATE message SET session = 2 WHERE id = 4", "m4 is in e1, of another session");
    check("DELETE FROM message", "c1 has episodes and no messages");
    check("UPDATE message SET episode = 9 WHERE id = 5", "points to no episode");
}

#[test]
fn edges_jobs_and_records() {
    check("DELETE FROM semantic_edge WHERE a = 1", "the edge s2 – s1 has one direction only");
    check("UPDATE theme_edge SET weight = 0.1 WHERE a = 1", "the edge t1 – t2 has one direction");
    check("INSERT INTO theme_edge VALUES (8, 9, 1), (9, 8, 1)", "the edge t8 – t9");
    check("UPDATE job SET subject = 9", "job 1 (boundary) is about 9, which does not exist");
    check(
        "INSERT INTO job (kind, subject, state) VALUES ('close', 1, 'running'), ('close', 2, 'running')",
        "job 3 (close) is stuck",
    );
    check("UPDATE answer SET message = 1", "m1 has a record and is no reply");
    check("UPDATE answer SET record = '{'", "m2 has a record");
    check("UPDATE operation SET inverse = '{'", "operation 1 cannot be read");
}

#[test]
fn indexes() {
    check("DELETE FROM semantic_vector WHERE id = 2", "s2 has no vector");
    check(
        "INSERT INTO message_vector SELECT 99, embedding FROM semantic_vector LIMIT 1",
        "vector of m99",
    );
    check(
        "INSERT INTO message_text (rowid, content) VALUES (99, 'x')",
        "the full-text index has m99",
    );
    check(
        "INSERT INTO theme_text (theme_text, rowid, name) VALUES ('delete', 2, 'Pets')",
        "t2 is not in the full-text index",
    );
    check("UPDATE semantic_vector SET embedding = zeroblob(8)", "cannot check the vectors");
}

#[test]
fn texts() {
    let bad = |column: &str, table: &str| {
        format!("UPDATE {table} SET {column} = CAST(x'49ee20' AS TEXT) WHERE id = 2")
    };
    check(&bad("content", "message"), "m2 holds bytes that are no text");
    check(&bad("speaker", "message"), "m2 holds bytes that are no text");
    check(&bad("content", "semantic"), "s2 holds bytes that are no text");
    check(&bad("name", "theme"), "t2 holds bytes that are no text");
    check(&bad("title", "session"), "c2 holds bytes that are no text");
    // The case of one letter: no index would tell.
    check(
        "UPDATE message SET content = 'm' || substr(content, 2) WHERE id = 3",
        "m3 is not as it was written",
    );
    check("UPDATE message SET checksum = NULL WHERE id = 4", "m4 is not as it was written");
}

/// A reading connection is kept. FTS5 remembers the shape of its index there, and its integrity
/// check, unlike a query, does not ask whether another connection has reshaped it meanwhile.
#[test]
fn a_kept_connection_finds_no_damage_that_is_not_there() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let session = store.write(|tx| tx.create_session("Chat", at(0), false)).unwrap();
    for round in 0..120 {
        write(&store, |tx| {
            for i in 0..20 {
                let text = format!("round{round} word{i} of message {}", round * 20 + i);
                say(tx, session, crate::memory::Role::User, &text);
            }
            Ok(())
        });
        if round % 40 == 10 {
            assert_valid(&store);
        }
    }
    assert_valid(&store);
}
