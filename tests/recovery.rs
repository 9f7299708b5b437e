//! For every k, a process that dies before its k-th commit leaves a memory that the next one completes
//! to the same state.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

#[path = "support/worker.rs"]
mod support;

use std::fmt::Write as _;

use inglenook::memory::Role;
use inglenook::store::{Level, Store};
use inglenook::worker::run_and_crash;
use support::{Bed, models};

const FIRST: [&str; 9] = [
    "Hi! I'm Ana and I live in Oslo.",
    "My dog Max is a golden retriever. He loves playing fetch.",
    "I work as a nurse at the city hospital.",
    "My sister Emily lives in Portland with her two cats.",
    "Actually, Max is a Labrador mix, not a purebred.",
    "What's the weather like?",
    "I play the cello every Thursday.",
    "My favourite author is Tove Jansson.",
    "I'm allergic to walnuts.",
];
const SECOND: [&str; 6] = [
    "I moved to Lund last week.",
    "Max is now 5 years old.",
    "My sister Emily got married in June.",
    "I adopted a cat called Miso yesterday.",
    "I no longer play the cello.",
    "Thanks!",
];

fn bed(dir: &std::path::Path) -> Bed {
    Bed::new(Store::open(dir).unwrap(), models())
}

fn fill(bed: &Bed) {
    for texts in [&FIRST[..], &SECOND[..]] {
        let session = bed.session("a chat");
        for text in texts {
            bed.say(session, Role::User, text);
            bed.say(session, Role::Assistant, "I see.");
        }
        bed.close(session);
        bed.clock.advance(jiff::SignedDuration::from_hours(30));
    }
}

/// Everything that a step writes: units, names, provenance, supersession, queue, edges, vectors.
fn state(store: &Store) -> String {
    store
        .read(|r| {
            let mut out = r.dump()?;
            for level in [Level::Semantic, Level::Theme] {
                for (a, b, weight) in r.edges(level)? {
                    let _ = writeln!(out, "{level:?} {a} {b} {weight}");
                }
            }
            for level in [Level::Message, Level::Episode, Level::Semantic, Level::Theme] {
                for (id, vector) in r.embeddings(level)? {
                    let _ = writeln!(out, "{level:?} {id} {:?}", &vector.as_slice()[..4]);
                }
            }
            let _ = write!(out, "{:?}", r.stats()?);
            Ok(out)
        })
        .unwrap()
}

/// Fails with the first difference only.
#[track_caller]
fn assert_same(found: &str, expected: &str, when: &str) {
    for (n, (a, b)) in found.lines().zip(expected.lines()).enumerate() {
        assert_eq!(a, b, "line {n}, {when}");
    }
    assert_eq!(found.lines().count(), expected.lines().count(), "{when}");
}

#[test]
fn a_crash_before_any_commit_does_not_change_the_final_memory() {
    let dir = tempfile::tempdir().unwrap();
    let whole = bed(dir.path());
    fill(&whole);
    let before = state(&whole.store);
    whole.work();
    let expected = state(&whole.store);
    let stats = whole.store.read(|r| r.stats()).unwrap();
    assert!(stats.episodes >= 2 && stats.semantics >= 12, "{stats:?}");
    assert!(stats.superseded >= 2 && stats.themes >= 3, "{stats:?}\n{expected}");

    let mut k = 0;
    loop {
        let dir = tempfile::tempdir().unwrap();
        let first = bed(dir.path());
        fill(&first);
        assert_same(&state(&first.store), &before, "filled alike");
        let clock = first.clock.clone();
        let crashed =
            run_and_crash(&first.store, &first.models, clock, first.config.clone(), k).unwrap();
        drop(first);
        let second = bed(dir.path());
        second.work();
        assert_same(&state(&second.store), &expected, &format!("crashed before commit {}", k + 1));
        if !crashed {
            break;
        }
        k += 1;
    }
    println!("{k} commits");
    assert!(k > 40, "{k}");
}

/// Crash, resume, crash, resume: a few commits at a time.
#[test]
fn many_crashes_in_a_row_make_the_same_memory() {
    let dir = tempfile::tempdir().unwrap();
    let whole = bed(dir.path());
    fill(&whole);
    whole.work();
    let expected = state(&whole.store);
    for stride in [3, 4, 7] {
        let dir = tempfile::tempdir().unwrap();
        fill(&bed(dir.path()));
        let mut n = 0;
        loop {
            let bed = bed(dir.path());
            let crashed = run_and_crash(
                &bed.store,
                &bed.models,
                bed.clock.clone(),
                bed.config.clone(),
                stride,
            )
            .unwrap();
            n += 1;
            if !crashed {
                assert_same(&state(&bed.store), &expected, &format!("{stride} commits at a time"));
                break;
            }
            assert!(n < 1_000, "no progress");
        }
    }
}
