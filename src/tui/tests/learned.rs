//! What was learnt from imports: kept, corrected, thrown away.

use super::*;
use crate::store::Learned;
use crate::tui::event::Greeting;

fn imports() -> Event {
    let fact = |id, chat: &str| (SemanticId(id), chat.to_owned());
    let learned = vec![
        Learned {
            source: "conversations.json".into(),
            facts: vec![fact(12, "Malmö"), fact(31, "Moving")],
        },
        Learned { source: "notes in /home/ana/vault".into(), facts: vec![fact(7, "Max")] },
    ];
    let mut tree = Tree { learned, ..tree() };
    tree.themes[0].facts[0].superseded_by = None;
    Event::Store(StoreReply::Tree(tree))
}

fn opened(width: u16, height: u16) -> Harness {
    let mut h = Harness::ready(width, height);
    h.paste("/learned");
    h.press("enter");
    assert_eq!(
        h.take(),
        [StoreRequest::Tree { learned: true }, StoreRequest::SeeLearned].map(Effect::Store)
    );
    h.feed(imports());
    h
}

fn keep(ids: &[i64]) -> Effect {
    Effect::Store(StoreRequest::KeepLearned(ids.iter().map(|&id| SemanticId(id)).collect()))
}

fn strike(ids: &[i64]) -> Effect {
    Effect::Store(StoreRequest::Strike(ids.iter().map(|&id| SemanticId(id)).collect()))
}

#[test]
fn a_fact_is_kept_corrected_or_thrown_away() {
    let mut h = opened(100, 30);
    let screen = h.screen();
    // The newest import is open, its first fact chosen, with its day and its chat.
    assert!(screen.contains("Ana lives in Malmö"), "{screen}");
    assert!(screen.contains("s12 · said") && screen.contains("· Malmö"), "{screen}");
    h.press("a");
    assert_eq!(h.take(), [keep(&[12])]);
    assert!(!h.screen().contains("Ana lives in Malmö"), "{}", h.screen());
    // The cursor is on what follows.
    h.press("e");
    h.type_str("!");
    h.press("enter");
    let text = "Ana moved to Lund (week of 9 November 2026)!".to_owned();
    assert_eq!(h.take(), [Effect::Store(StoreRequest::Edit { semantic: SemanticId(31), text })]);
    h.press("x");
    assert!(h.screen().contains("1 to go when this is closed"), "{}", h.screen());
    h.press("u");
    assert!(!h.screen().contains("to go"), "{}", h.screen());
    // Without anything to take back, it takes back a correction as ever.
    h.press("u");
    assert_eq!(h.take(), [Effect::Store(StoreRequest::Undo)]);
    h.keys("up x x");
    assert_eq!(h.take(), [], "nothing goes before the page is closed");
    h.press("esc");
    assert_eq!(h.take(), [strike(&[31])]);
}

#[test]
fn all_the_rest_goes_one_way() {
    let mut h = opened(100, 30);
    h.press("A");
    assert_eq!(h.take(), [keep(&[12, 31])]);
    // Of the import that the cursor is in.
    h.press("X");
    h.press("ctrl-t");
    assert_eq!(h.take(), [strike(&[7])]);
    assert!(h.state.pane.is_none());
    // What is searched for is all that the keys see; leaving the program takes it along.
    let mut h = opened(100, 30);
    h.press("/");
    h.type_str("lund");
    h.keys("enter X");
    h.keys("ctrl-d");
    assert_eq!(h.take(), [strike(&[31]), Effect::Quit(0)]);
    // Another pane takes its place.
    let mut h = opened(100, 30);
    h.keys("x ctrl-g");
    assert_eq!(h.take(), [strike(&[12])]);
    let mut h = opened(100, 30);
    h.keys("A A a x");
    assert_eq!(h.take(), [keep(&[12, 31]), keep(&[7])]);
    assert!(h.screen().contains("Nothing from an import is left"), "{}", h.screen());
}

#[test]
fn the_welcome_offers_it_until_it_was_looked_at() {
    let mut h = Harness::ready(80, 24);
    let learned = Some((127, "conversations.json".into()));
    h.feed(Event::Store(StoreReply::Greeting(Greeting { learned, ..Greeting::default() })));
    let words = "127 things learnt from conversations.json: /learned lists them.";
    assert!(h.screen().contains(words), "{}", h.screen());
    h.paste("/learned");
    h.press("enter");
    h.press("esc");
    assert!(!h.screen().contains("127 things"), "{}", h.screen());
}

#[test]
fn screens() {
    screens::check("learned", opened, |h| h.keys("x"));
    screens::check("welcome_learned", Harness::ready, |h| {
        let learned = Some((127, "conversations.json".into()));
        h.feed(Event::Store(StoreReply::Greeting(Greeting { learned, ..Greeting::default() })));
    });
}
