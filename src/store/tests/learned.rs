//! What was learnt from imports, and which of it was looked through.

use super::builders::*;
use super::forgetting::forget;
use crate::memory::{Role, SemanticId};
use crate::store::{AnyId, Store};

/// The imports with their facts, and the chats' titles.
fn learned(store: &Store) -> Vec<(String, Vec<(SemanticId, String)>)> {
    let learned = store.read(|r| r.learned()).unwrap();
    learned.into_iter().map(|import| (import.source, import.facts)).collect()
}

#[test]
fn facts_of_imports_are_listed_until_they_are_kept() {
    let (store, small) = small_in_memory();
    assert_eq!(learned(&store), [], "what was said here is known");
    let facts = write(&store, |tx| {
        let mut facts = Vec::new();
        for (title, file) in [("Snow", "a.json"), ("Ice", "b.zip"), ("Rain", "a.json")] {
            let chat = tx.import_session(title, at(30), file)?;
            let message = say(tx, chat, Role::User, title);
            close(tx, chat, &[message]);
            facts.push(fact(tx, &format!("The user likes {title}"), small.themes[0], &[message]));
        }
        Ok(facts)
    });
    let of = |n: usize, title: &str| (facts[n], title.to_owned());
    // The newest import first, its facts in their order.
    let all = [
        ("a.json".to_owned(), vec![of(0, "Snow"), of(2, "Rain")]),
        ("b.zip".to_owned(), vec![of(1, "Ice")]),
    ];
    assert_eq!(learned(&store), all);
    let seen = |store: &Store| store.read(|r| r.learned_seen()).unwrap();
    assert_eq!(seen(&store), SemanticId(0));
    write(&store, |tx| tx.see_learned());
    assert_eq!(seen(&store), facts[2]);
    write(&store, |tx| tx.keep_learned(&[facts[0]]));
    write(&store, |tx| tx.keep_learned(&[facts[1]]));
    assert_eq!(learned(&store), [("a.json".to_owned(), vec![of(2, "Rain")])]);
    // What no longer holds is not listed; the ids of what is gone are not kept.
    forget(&store, &[AnyId::Semantic(facts[1])], None);
    write(&store, |tx| tx.keep_learned(&[]));
    let kept = store.read(|r| r.setting("learned_kept")).unwrap();
    assert_eq!(kept, Some(facts[0].0.to_string()));
    write(&store, |tx| tx.supersede(facts[2], small.facts[0], None, at(40)));
    assert_eq!(learned(&store), []);
}
