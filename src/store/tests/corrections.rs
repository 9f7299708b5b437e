//! The person's corrections: on other devices, and with what consolidation makes of them.

use super::builders::*;
use super::random::everything;
use super::syncing::{ELSEWHERE, apply, meet, meet_first_hears, two};
use crate::memory::{SemanticId, SessionId};
use crate::store::{AnyId, JobKind, Level, Store};
use crate::sync::{Entry, State};

/// The first fact, in other words.
fn correct(store: &Store, text: &str) -> SemanticId {
    let fact = read(store, |r| r.semantics()).remove(0).id;
    write(store, |tx| tx.edit_semantic(fact, text, &embed(text)));
    fact
}

fn redact(store: &Store, word: &str) {
    write(store, |tx| {
        let plan = tx.plan_blot(word)?;
        tx.forget(&plan)
    });
}

#[test]
fn a_correction_takes_the_place_of_the_fact_that_was_derived_here() {
    for derives_first in [true, false] {
        let stores = two();
        let [first, second] = &stores;
        let fact_here = read(second, |r| r.semantics()).remove(0);
        if !derives_first {
            write(second, |tx| {
                let plan = tx.plan_strike(&[AnyId::Semantic(fact_here.id)])?;
                tx.forget(&crate::store::ForgetPlan { struck: Vec::new(), ..plan })
            });
        }
        write(first, |tx| {
            let fact = tx.semantics()?.remove(0).id;
            tx.edit_semantic(fact, "The user moved to Malmö", &embed("The user moved to Malmö"))
        });
        meet(&stores);
        let now = read(second, |r| r.semantics());
        assert_eq!(now.len(), 1);
        assert_eq!(now[0].content, "The user moved to Malmö");
        assert_eq!(now[0].id == fact_here.id, derives_first);
        assert_eq!(
            (&now[0].messages, &now[0].episodes),
            (&fact_here.messages, &fact_here.episodes)
        );
        assert!(read(second, |r| r.embedding(Level::Semantic, now[0].id.0)).is_none());
        assert_eq!(read(second, |r| r.refused_messages()).len(), 1);
        // Taken back, the episode is told anew.
        write(first, |tx| tx.undo_own());
        meet(&stores);
        assert_eq!(read(second, |r| r.semantics()), []);
        assert!(read(second, |r| r.refused_messages()).is_empty());
        let jobs = read(second, |r| r.pending_jobs());
        assert!(jobs.iter().any(|job| job.kind == JobKind::Close(SessionId(1))));
    }
}

/// Of a fact that goes, every wording of the person's goes, also one that another device put another in the place of
/// meanwhile, or that it had put together with something else.
#[test]
fn a_correction_that_is_struck_out_is_nowhere() {
    for (first, is_merged) in [(0, false), (1, false), (0, true), (1, true)] {
        let stores = two();
        let strike = |store: &Store, fact: SemanticId| {
            write(store, |tx| {
                let plan = tx.plan_strike(&[AnyId::Semantic(fact)])?;
                tx.forget(&plan)
            });
        };
        let here = correct(&stores[0], "The user moved to Malmö");
        meet(&stores);
        if is_merged {
            let joint = write(&stores[1], |tx| {
                let part = tx.semantics()?.remove(0);
                let text = "The user moved to Malmö last week";
                let joint = fact(tx, text, part.theme, &part.messages);
                tx.supersede(part.id, joint, None, at(9))?;
                Ok(joint)
            });
            strike(&stores[1], joint);
        } else {
            correct(&stores[1], "The user moved to Ystad");
            strike(&stores[0], here);
        }
        meet_first_hears(&stores, first);
        for store in &stores {
            let all = everything(store) + &format!("{:?}", read(store, |r| r.shared_log()));
            assert!(!all.contains("Malmö") && !all.contains("Ystad"), "{first} {is_merged} {all}");
            // What it was made of would be made again.
            assert_eq!(read(store, |r| r.refused_messages()).len(), 1);
        }
    }
}

/// Two devices that take another word each out of one correction, before they hear of each other; who hears of both at once
/// holds what both left. What is worded anew later counts as it is.
#[test]
fn a_correction_loses_what_either_redacted() {
    const TEXT: &str = "The user likes Zebedee and Quentin";
    for (first, is_worded_anew) in [(0, false), (1, false), (0, true), (1, true)] {
        let stores = two();
        correct(&stores[0], TEXT);
        meet(&stores);
        redact(&stores[0], "Zebedee");
        // Its clock is ahead.
        for pinned in [true, false, true] {
            write(&stores[1], |tx| tx.pin_session(SessionId(1), pinned));
            write(&stores[1], |tx| tx.changes());
        }
        redact(&stores[1], "Quentin");
        let told: Vec<Entry> =
            stores.iter().flat_map(|store| write(store, |tx| tx.changes())).collect();
        let third = Store::in_memory().unwrap();
        write(&third, |tx| tx.begin_sync(ELSEWHERE));
        apply(&third, &told);
        meet_first_hears(&stores, first);
        let mut expected = "The user likes […]";
        if is_worded_anew {
            expected = "The user likes Zebedee no more";
            correct(&stores[first], expected);
            meet_first_hears(&stores, first);
            // What was told before is no later.
            for store in &stores {
                apply(store, &told);
            }
            meet(&stores);
            apply(&third, &read(&stores[0], |r| r.shared_log()));
        }
        for store in stores.iter().chain([&third]) {
            let corrections: Vec<String> = read(store, |r| r.shared_log())
                .into_iter()
                .filter_map(|entry| match entry.state {
                    State::Correction(correction) => Some(correction.content),
                    _ => None,
                })
                .collect();
            assert_eq!(corrections, [expected], "{first} {is_worded_anew}");
            assert!(!everything(store).contains("Quentin"));
        }
    }
}

/// What one device redacts in a correction comes back from no other, which has worded it anew meanwhile: by no edit that is taken
/// back before or after they hear of each other, also if the redacted wording was never told.
#[test]
fn no_edit_that_is_taken_back_brings_redacted_words_back() {
    for case in 0..32_u8 {
        let [is_undone, is_told, redacts_too, is_reworded, hears_first] =
            [1, 2, 4, 8, 16].map(|bit| case & bit > 0);
        // Of what the redacted wording was, nobody knows any more (decision 034).
        if is_undone && is_reworded {
            continue;
        }
        let stores = two();
        let [here, there] = &stores;
        correct(here, "The user likes Zebedee and Quentin");
        meet(&stores);
        if redacts_too {
            redact(there, "Zebedee");
        }
        correct(there, "The user lives in Lund");
        if is_told {
            write(there, |tx| tx.changes());
        }
        if is_undone {
            write(there, |tx| tx.undo_own());
        }
        redact(here, "Quentin");
        if is_reworded {
            correct(here, "The user bakes bread");
        }
        meet_first_hears(&stores, hears_first.into());
        write(there, |tx| tx.undo_own());
        meet(&stores);
        let logs = stores.each_ref().map(|store| read(store, |r| r.shared_log()));
        assert_eq!(logs[0], logs[1], "{case}");
        for store in &stores {
            let all = everything(store) + &format!("{logs:?}");
            assert!(!all.contains("Quentin"), "{case}: {all}");
            assert!(!redacts_too || !all.contains("Zebedee"), "{case}: {all}");
        }
    }
}

/// What is left of one ("has one cat, Tom") belongs to it: they go together, and it takes its place where the person words it anew.
#[test]
fn what_is_left_of_a_correction_belongs_to_it() {
    const TOM: &str = "The user has one cat, Tom";
    let said = || {
        let (store, small) = small_in_memory();
        let [cats, _] = small.facts;
        let texts = ["The user has two cats, Fifi and Tom", "Fifi died", TOM];
        let [_, died, rest] = texts.map(|text| {
            write(&store, |tx| match text {
                TOM => Ok(fact(tx, text, small.themes[0], &small.messages[..1])),
                "Fifi died" => Ok(fact(tx, text, small.themes[0], &small.messages[2..3])),
                _ => tx.edit_semantic(cats, text, &embed(text)).map(|()| cats),
            })
        });
        write(&store, |tx| tx.supersede(cats, died, Some(rest), at(9)));
        (store, cats, rest)
    };
    let facts = |store: &Store| -> Vec<String> {
        read(store, |r| r.semantics()).into_iter().map(|fact| fact.content).collect()
    };
    for is_rest in [false, true] {
        let (store, cats, rest) = said();
        write(&store, |tx| {
            let plan = tx.plan_strike(&[AnyId::Semantic(if is_rest { rest } else { cats })])?;
            tx.forget(&plan)
        });
        assert!(!everything(&store).contains("Tom"));
        assert!(facts(&store).contains(&"Fifi died".to_owned()));
    }
    let (store, _, rest) = said();
    let text = "The user has one cat, Max";
    write(&store, |tx| tx.edit_semantic(rest, text, &embed(text)));
    let all = facts(&store);
    assert!(all.contains(&text.to_owned()) && !all.iter().any(|fact| fact.contains("Fifi and")));
    // Taken back, it is still the person's word.
    write(&store, |tx| tx.undo_own());
    write(&store, |tx| tx.derive_anew());
    assert_eq!(facts(&store), [TOM]);
    let (store, cats, _) = said();
    write(&store, |tx| tx.edit_semantic(cats, text, &embed(text)));
    assert!(!facts(&store).contains(&TOM.to_owned()) && facts(&store).len() == 3);
    assert_valid(&store);
}
