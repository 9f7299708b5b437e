//! Any sequence of deeds leaves a valid memory, and what was forgotten in no table.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::builders::*;
use super::deeds::{ANY, MAKING, OPERATIONS, act, one_of, units, word, words_in};
use crate::memory::{Role, SemanticId};
use crate::store::{AnyId, Level, Store};

/// Every value of every table, the indexes' own included.
pub(super) fn everything(store: &Store) -> String {
    read(store, |r| {
        let tables = r.all(
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'",
                [],
                |row| row.get::<_, String>(0),
            )?;
        let mut all = String::new();
        for table in tables {
            let mut statement = r.conn.prepare(&format!("SELECT * FROM \"{table}\""))?;
            let n = statement.column_count();
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                for column in 0..n {
                    match row.get_ref(column)? {
                        rusqlite::types::ValueRef::Text(b) | rusqlite::types::ValueRef::Blob(b) => {
                            all.push_str(&String::from_utf8_lossy(b));
                            all.push('\n');
                        }
                        _ => {}
                    }
                }
            }
        }
        Ok(all)
    })
}

pub(super) fn forget(store: &Store, ids: &[AnyId], matching: Option<&str>) {
    let plan = store.read(|r| r.plan_forget(ids, matching)).unwrap();
    // A reply has the words of others: only users' words are their own. (A reply that goes with what
    // it answered may have been quoted by another: citations are followed one step.)
    let gone: BTreeSet<String> = store
        .read(|r| r.messages_by_id(&plan.messages))
        .unwrap()
        .iter()
        .filter(|m| m.role == Role::User)
        .map(|m| word(m.id))
        .collect();
    store.write(|tx| tx.forget(&plan)).unwrap();
    store.scrub().unwrap();
    let all = everything(store);
    let left: BTreeSet<&str> = words_in(&all).into_iter().filter(|w| gone.contains(*w)).collect();
    assert!(left.is_empty(), "{left:?} of {ids:?} {matching:?} {plan:?}");
    for (word, level) in gone.iter().flat_map(|word| Level::ALL.map(|level| (word, level))) {
        let found = store.read(|r| r.full_text(level, word, 3)).unwrap();
        assert!(found.is_empty(), "{word}: {found:?}");
    }
}

/// Fewer than usual: a case is sixty deeds with a check of everything after each.
fn config() -> ProptestConfig {
    let mut config = ProptestConfig::default();
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = 48;
    }
    config
}

proptest! {
    #![proptest_config(config())]
    #[test]
    fn any_sequence_keeps_the_memory_valid(deeds in prop::collection::vec(one_of(ANY), 1..60)) {
        let store = Store::in_memory().unwrap();
        store.write(use_hash_embedder).unwrap();
        // The caps are `memory`'s to keep, and it has no part in this.
        store.write(|tx| tx.set_setting("theme_cap", "999")).unwrap();
        let mut given: [i64; 4] = [0; 4];
        for deed in &deeds {
            let before = store.read(|r| Ok(units(r))).unwrap();
            act(&store, deed);
            let found = store.read(|r| r.verify()).unwrap();
            prop_assert!(found.is_empty(), "after {deed:?}: {found:#?}");
            // Conservation, counted another way than by `verify`.
            let u = store.read(|r| Ok(units(r))).unwrap();
            let themes = store.read(|r| r.themes()).unwrap();
            let members: BTreeSet<SemanticId> = themes.iter().flat_map(|t| t.members.clone()).collect();
            let n: usize = themes.iter().map(|t| t.members.len()).sum();
            prop_assert!(n == members.len() && members.into_iter().eq(u.facts.iter().copied()));
            prop_assert!(themes.iter().all(|t| !t.members.is_empty()));
            // Ids are never given twice: a new one is greater than all there ever were.
            for ((before, after), given) in before.ids().iter().zip(&u.ids()).zip(&mut given) {
                for id in after.iter().filter(|id| !before.contains(id)) {
                    prop_assert!(*id > *given, "{id} again, after {deed:?}");
                    *given = *id;
                }
            }
        }
        store.read(|r| r.dump()).unwrap();
    }
}

/// [`Reader::dump`] without the queue: an undo may leave work behind.
fn hierarchy(store: &Store) -> Vec<String> {
    let dump = store.read(|r| r.dump()).unwrap();
    dump.lines().filter(|line| !line.starts_with("job ")).map(str::to_owned).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, ..ProptestConfig::default() })]
    #[test]
    fn the_last_hundred_operations_are_undone_one_by_one(
        base in prop::collection::vec(one_of(MAKING), 50..80),
        deeds in prop::collection::vec(one_of(OPERATIONS), 120..160),
    ) {
        let store = Store::in_memory().unwrap();
        store.write(use_hash_embedder).unwrap();
        store.write(|tx| tx.set_setting("theme_cap", "999")).unwrap();
        for deed in &base {
            act(&store, deed);
        }
        let n_operations = || store.read(|r| r.last_id("operation")).unwrap();
        let mut before = Vec::new();
        for deed in &deeds {
            let (n, was) = (n_operations(), hierarchy(&store));
            act(&store, deed);
            if n_operations() > n {
                before.push(was);
            }
        }
        prop_assume!(before.len() >= 100);
        for was in before.iter().rev().take(100) {
            prop_assert!(store.write(|tx| tx.undo()).unwrap().is_some());
            prop_assert_eq!(&hierarchy(&store), was);
        }
        prop_assert!(store.write(|tx| tx.undo()).unwrap().is_none());
    }
}
