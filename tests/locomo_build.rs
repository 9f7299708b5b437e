//! Rules build a complete memory from a conversation of 19 sessions, in seconds.
//!
//! LoCoMo is CC BY-NC 4.0 and not in the repository: without it beside the checkout the test is
//! skipped.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

#[path = "support/worker.rs"]
mod support;

use std::time::Instant;

use inglenook::memory::{Moment, Role};
use inglenook::store::{JobKind, Store};
use inglenook::testing::shared;
use jiff::civil::DateTime;
use support::{Bed, models};

fn conversation(id: &str) -> Option<serde_json::Value> {
    let path = shared("data/locomo-dev.json")?;
    let text = std::fs::read_to_string(&path).unwrap();
    let all: serde_json::Value = serde_json::from_str(&text).unwrap();
    let found = all.as_array()?.iter().find(|c| c["sample_id"] == id)?;
    Some(found["conversation"].clone())
}

/// "1:56 pm on 8 May, 2023"
fn said_at(text: &str) -> DateTime {
    DateTime::strptime("%I:%M %p on %d %B, %Y", text).unwrap()
}

fn import(bed: &Bed, conversation: &serde_json::Value) -> usize {
    let mut n = 0;
    for session in 1.. {
        let key = format!("session_{session}");
        let Some(turns) = conversation[&key].as_array() else { break };
        let start = said_at(conversation[format!("{key}_date_time")].as_str().unwrap());
        let at = |minutes: usize| {
            Moment::from_civil_utc(start + jiff::SignedDuration::from_mins(minutes as i64))
        };
        let id = bed.store.write(|tx| tx.create_session(&key, at(0), true)).unwrap();
        for (i, turn) in turns.iter().enumerate() {
            let speaker = turn["speaker"].as_str().unwrap();
            let role =
                if conversation["speaker_a"] == speaker { Role::User } else { Role::Assistant };
            bed.append(id, role, Some(speaker), turn["text"].as_str().unwrap(), at(i));
            n += 1;
        }
        bed.store.write(|tx| tx.enqueue(&JobKind::Close(id))).unwrap();
    }
    n
}

#[test]
fn nineteen_sessions_become_four_levels() {
    let Some(conversation) = conversation("conv-26") else { return };
    #[cfg(feature = "starter")]
    let models = inglenook::interfaces::Models {
        embedder: inglenook::inference::starter::embedder(&|_| {}).unwrap(),
        ..models()
    };
    #[cfg(not(feature = "starter"))]
    let models = models();
    let dir = tempfile::tempdir().unwrap();
    let bed = Bed::new(Store::open(dir.path()).unwrap(), models);
    let n_messages = import(&bed, &conversation);
    let start = Instant::now();
    let n_jobs = bed.work();
    let seconds = start.elapsed().as_secs_f64();
    let stats = bed.store.read(|r| r.stats()).unwrap();
    println!("{n_messages} messages, {n_jobs} steps in {seconds:.1} s: {stats:?}");
    if std::env::var_os("DUMP").is_some() {
        println!("{}", bed.store.read(|r| r.dump()).unwrap());
    }
    assert_eq!(stats.messages, 419);
    assert!((19..=120).contains(&stats.episodes), "{stats:?}");
    assert!(stats.semantics > 100, "{stats:?}");
    assert!((10..stats.semantics).contains(&stats.themes), "{stats:?}");
    assert!(stats.largest_theme <= 12, "{stats:?}");
    assert!(stats.edges > stats.semantics, "{stats:?}");
    assert_eq!((stats.jobs_pending, stats.jobs_failed), (0, 0));
    assert!(seconds < 120.0, "{seconds}");
}
