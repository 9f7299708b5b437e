//! What the memory's page keeps: where facts are from, pins, the last visit.

use super::builders::*;
use super::forgetting::forget;
use crate::memory::SemanticId;
use crate::store::{AnyId, Store};

fn pinned(store: &Store) -> Vec<SemanticId> {
    read(store, |r| r.pinned_facts()).into_iter().collect()
}

#[test]
fn pins_go_with_their_facts() {
    let (store, small) = small_in_memory();
    let [first, second] = small.facts;
    write(&store, |tx| tx.pin_fact(first, true));
    write(&store, |tx| tx.pin_fact(second, true));
    write(&store, |tx| tx.pin_fact(SemanticId(99), true));
    assert_eq!(pinned(&store), [first, second]);
    write(&store, |tx| tx.pin_fact(second, false));
    assert_eq!(pinned(&store), [first]);
    forget(&store, &[AnyId::Semantic(first)], None);
    let kept = read(&store, |r| r.setting("page_pinned"));
    assert_eq!(kept.as_deref(), Some(""), "the id of what was forgotten is kept nowhere");
}

#[test]
fn what_takes_the_place_of_a_pinned_fact_is_pinned() {
    let (store, small) = small_in_memory();
    let [first, second] = small.facts;
    write(&store, |tx| tx.supersede(first, second, None, at(9)));
    assert_eq!(pinned(&store), []);
    write(&store, |tx| tx.undo());
    write(&store, |tx| tx.pin_fact(first, true));
    write(&store, |tx| tx.supersede(first, second, None, at(9)));
    assert_eq!(pinned(&store), [first, second]);
    // Not again, once the person wants it no more.
    write(&store, |tx| tx.pin_fact(second, false));
    write(&store, |tx| tx.undo());
    assert_eq!(pinned(&store), [first]);
}

#[test]
fn pins_outlast_a_rebuild() {
    let (store, small) = small_in_memory();
    let [first, second] = small.facts;
    write(&store, |tx| tx.edit_semantic(second, "Ana likes tea", &embed("tea")));
    let pinned_texts = || -> Vec<String> {
        let texts = pinned(&store).into_iter().map(|id| read(&store, |r| r.semantic(id)).content);
        texts.collect()
    };
    write(&store, |tx| tx.pin_fact(first, true));
    let lives = pinned_texts().remove(0);
    write(&store, |tx| tx.pin_fact(second, true));
    write(&store, |tx| tx.derive_anew());
    assert_eq!(pinned_texts(), ["Ana likes tea"], "a correction stays");
    let derive = |text: &str| {
        write(&store, |tx| {
            let theme = tx.create_theme("Ana")?;
            Ok(fact(tx, text, theme, &small.messages[..1]))
        })
    };
    write(&store, |tx| Ok(close(tx, small.session, &small.messages)));
    derive("Ana has a dog");
    derive(&lives);
    assert_eq!(pinned_texts(), ["Ana likes tea", &*lives]);
    let kept = || read(&store, |r| r.setting("page_pins_kept"));
    assert_eq!(kept().as_deref(), Some(""), "what was pinned again waits no longer");
    // What waits is not guessed from later.
    write(&store, |tx| tx.derive_anew());
    assert_ne!(kept().as_deref(), Some(""));
    forget(&store, &[AnyId::Message(small.messages[0])], None);
    assert_eq!(kept().as_deref(), Some(""));
}

#[test]
fn a_visit_tells_what_is_new_and_what_was_corrected_since() {
    let (store, small) = small_in_memory();
    let [first, second] = small.facts;
    assert_eq!(read(&store, |r| r.page_visit()), None);
    let edit = |text: &str| write(&store, |tx| tx.edit_semantic(first, text, &embed(text)));
    edit("Ana lives in Lund");
    write(&store, |tx| tx.visit_page(at(30)));
    let visit = read(&store, |r| r.page_visit()).unwrap();
    assert_eq!((visit.ms, visit.newest), (at(30).as_millisecond(), second));
    let since = || read(&store, |r| r.corrected_since(&visit));
    assert!(since().is_empty());
    edit("Ana lives in Bergen");
    assert_eq!(since().into_iter().collect::<Vec<_>>(), [first]);
    write(&store, |tx| tx.undo_own());
    assert!(since().is_empty());
}

#[test]
fn every_fact_has_a_source() {
    let (store, small) = small_in_memory();
    write(&store, |tx| tx.edit_semantic(small.facts[1], "Ana likes tea", &embed("tea")));
    let sources = read(&store, |r| r.fact_sources());
    let of = |n: usize| sources[&small.facts[n]];
    assert_eq!(sources.len(), 2);
    assert!(small.messages.contains(&of(0).message) && of(0).session == small.session);
    assert_eq!([of(0).corrected, of(1).corrected], [false, true]);
}
