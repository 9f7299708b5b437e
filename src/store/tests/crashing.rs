//! `kill -9` in a loop of writes: what was acknowledged is there, and the memory is valid.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use super::builders::*;
use crate::memory::{MessageId, Role};
use crate::store::{AnyId, JobKind, Store};

const CHILD: &str = "INGLENOOK_TEST_CRASH_DIR";

/// Not a test of its own: the process that is killed. Prints the id of every message that is on disk.
#[test]
fn crash_child() {
    let Some(dir) = std::env::var_os(CHILD) else { return };
    let store = Store::open(Path::new(&dir)).unwrap();
    let mut out = std::io::stdout();
    for i in 0_u64.. {
        let (session, id) = write(&store, |tx| {
            use_hash_embedder(tx)?;
            let session = match tx.sessions()?.first() {
                Some(session) => session.id,
                None => tx.create_session("", at(0), false)?,
            };
            let id = say(tx, session, Role::User, &format!("message {i}"));
            tx.enqueue(&JobKind::Boundary(session))?;
            Ok((session, id))
        });
        writeln!(out, "\nack {}", id.0).unwrap();
        out.flush().unwrap();
        // A step of a worker: begun in one transaction, done in another.
        let job = write(&store, |tx| {
            let job = tx.next_job()?;
            job.iter().try_for_each(|job| tx.begin_job(job.id))?;
            Ok(job)
        });
        write(&store, |tx| {
            let runs = tx.open_runs(session)?;
            // A run that forgetting reopened will not grow any longer.
            let run = runs.iter().enumerate().find(|(i, r)| r.len() >= 3 || i + 1 < runs.len());
            if let Some((_, run)) = run {
                let open: Vec<MessageId> = run.iter().map(|m| m.id).collect();
                let episode = close(tx, session, &open);
                let theme = tx.create_theme("theme")?;
                fact(tx, "a fact", theme, &open);
                tx.put_embedding(crate::store::Level::Episode, episode.0, &embed("x"))?;
            }
            job.iter().try_for_each(|job| tx.finish_job(job.id))
        });
        if i % 7 == 6 {
            let plan = store.read(|r| {
                let oldest = r.all_messages()?[0].id;
                r.plan_forget(&[AnyId::Message(oldest)], None)
            });
            let plan = plan.unwrap();
            for id in &plan.messages {
                writeln!(out, "\nforget {}", id.0).unwrap();
            }
            out.flush().unwrap();
            store.write(|tx| tx.forget(&plan)).unwrap();
            store.scrub().unwrap();
        }
    }
}

/// Notes what a line of the child's output says: that a message is on disk, or may no longer be.
fn note(line: &str, acknowledged: &mut BTreeSet<i64>) {
    if let Some(id) = line.strip_prefix("ack ") {
        acknowledged.insert(id.parse().unwrap());
    } else if let Some(id) = line.strip_prefix("forget ") {
        acknowledged.remove(&id.parse().unwrap());
    }
}

#[test]
fn kill_9_loses_nothing_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let mut acknowledged = BTreeSet::new();
    for round in 0..12_u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture", "store::tests::crashing::crash_child"])
            .env(CHILD, dir.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let stop_after = 1 + (round * 7) % 23;
        let mut n = 0;
        while n < stop_after {
            let Some(line) = lines.next() else {
                let output = child.wait_with_output().unwrap();
                panic!("the child ended: {}", String::from_utf8_lossy(&output.stderr));
            };
            let line = line.unwrap();
            n += u64::from(line.starts_with("ack "));
            note(&line, &mut acknowledged);
        }
        // Somewhere in the next transactions.
        std::thread::sleep(std::time::Duration::from_micros(round * 1700 % 9000));
        child.kill().unwrap();
        child.wait().unwrap();
        for line in lines.map_while(Result::ok) {
            note(&line, &mut acknowledged);
        }
        // As found, by a reader; then as opened.
        assert_valid(&Store::open_read_only(dir.path()).unwrap());
        let store = Store::open(dir.path()).unwrap();
        assert_valid(&store);
        read(&store, |r| {
            let there: BTreeSet<i64> = r.all_messages()?.iter().map(|m| m.id.0).collect();
            assert!(acknowledged.is_subset(&there), "round {round}");
            assert!(!r.scrub_is_due()?);
            Ok(())
        });
        // No job is stuck.
        while let Some(job) = store.read(|r| r.next_job()).unwrap() {
            write(&store, |tx| {
                tx.begin_job(job.id)?;
                tx.finish_job(job.id)
            });
        }
        assert_eq!(store.read(|r| r.stats()).unwrap().jobs_pending, 0);
    }
    assert!(acknowledged.len() > 50, "{}", acknowledged.len());
}
