//! The memory's page.

use jiff::civil::{Date, date};

use super::*;
use crate::chat::Command;
use crate::extractive::Plan;
use crate::interfaces::Embedder;
use crate::memory::NewMessage;
use crate::store::{AnyId, NewSemantic, Store};
use crate::testing::HashEmbedder;
use crate::tui::page::known::{self, Change, Knowledge, Known, Source};
use crate::tui::state::{Focus, Overlay};

fn known(id: i64, sentence: &str, told: &str) -> Known {
    Known {
        id: AnyId::Semantic(SemanticId(id)),
        sentence: sentence.into(),
        told: at(&format!("{told}T09:12:00Z")),
        from: Source::Chat("Dinner plans".into()),
        session: SessionId(3),
        message: MessageId(4),
        about_you: false,
        people: Vec::new(),
        plan: None,
        places: Vec::new(),
        is_relation: false,
        rank: 99,
        pinned: false,
        superseded: None,
        change: None,
    }
}

fn plan(id: i64, sentence: &str, day: Option<Date>) -> Known {
    let plan = day.map_or(Plan::Undated, |day| Plan::On(day, day));
    Known { plan: Some(plan), ..known(id, sentence, "2026-11-16") }
}

/// The newest first.
pub fn knowledge() -> Knowledge {
    let you = |known: Known| Known { about_you: true, ..known };
    let at_place = |known: Known, place: &str| Known { places: vec![place.into()], ..known };
    let of = |known: Known, who: &str| Known { people: vec![who.into()], ..known };
    let emily = "Emily, your sister";
    let lund = known(31, "You moved to Lund (week of 9 November 2026).", "2026-11-20");
    let malmö = Known {
        superseded: Some((SemanticId(31), at("2026-11-20T09:12:00Z"))),
        change: Some(Change::Superseded),
        ..known(12, "You live in Malmö.", "2026-03-02")
    };
    Knowledge {
        all: vec![
            Known {
                id: AnyId::Message(MessageId(40)),
                message: MessageId(40),
                from: Source::Unsettled,
                change: Some(Change::New),
                ..you(known(0, "You are vegetarian since 2018.", "2026-11-21"))
            },
            Known { change: Some(Change::New), rank: 5, ..at_place(you(lund), "Lund") },
            plan(41, "You have an exam on 22 November 2026.", Some(date(2026, 11, 22))),
            of(
                plan(42, "Your sister Emily visits on 4 December 2026.", Some(date(2026, 12, 4))),
                emily,
            ),
            plan(43, "You had booked the dentist for 10 November 2026.", Some(date(2026, 11, 10))),
            plan(44, "You want to learn Polish.", None),
            at_place(
                of(known(45, "Your sister Emily lives in Portland.", "2026-11-16"), emily),
                "Portland",
            ),
            you(known(7, "You have a dog named Max, a Labrador mix 🐕.", "2026-11-16")),
            Known {
                is_relation: true,
                ..of(known(48, "Max is your dog.", "2026-11-16"), "Max, your dog")
            },
            Known {
                from: Source::Correction,
                ..of(known(46, "Max is afraid of thunder.", "2026-11-16"), "Max, your dog")
            },
            Known {
                from: Source::File("import.jsonl".into()),
                ..of(
                    known(
                        47,
                        "Tom is allergic to walnuts, and to cats, horses and most of the trees that bloom in spring.",
                        "2025-03-02",
                    ),
                    "Tom, your brother",
                )
            },
            at_place(you(malmö), "Malmö"),
        ],
        visit: None,
    }
}

fn opened(width: u16, height: u16) -> Harness {
    let mut h = Harness::ready(width, height);
    h.press("ctrl-t");
    h.feed(Event::Store(StoreReply::Tree(tree())));
    h.take();
    h
}

#[test]
fn tabs_hold_what_belongs_there() {
    let mut h = opened(80, 24);
    let check = |h: &mut Harness, key: &str, there: &[&str], not: &str| {
        h.press(key);
        let screen = h.screen();
        let mut rest = screen.as_str();
        for text in there {
            let at =
                rest.find(text).unwrap_or_else(|| panic!("no {text:?} after {key} in {screen}"));
            rest = &rest[at..];
        }
        assert!(!screen.contains(not), "{not:?} after {key} in {screen}");
    };
    // Home stands before what is told of nothing else, and above what it took the place of.
    let you = ["moved to Lund", "Before: You live in Malmö", "vegetarian", "dog named Max"];
    check(&mut h, "1", &you, "Emily");
    check(
        &mut h,
        "tab",
        &["Emily, your sister", "Max, your dog", "Tom, your brother"],
        "Max is your dog",
    );
    let plans = ["Coming up", "exam", "visits", "Without a day", "Polish", "Past", "dentist"];
    check(&mut h, "right", &plans, "Lund");
    check(&mut h, "4", &["Lund", "Before:", "Portland"], "Polish");
    check(&mut h, "left", &plans, "Lund");
    check(&mut h, "5", &["2 themes", "Home and moves"], "Polish");
    h.press("left");
    assert!(h.screen().contains("2 themes"), "← closes a theme");
    check(&mut h, "tab", &["About you"], "Emily");
    check(&mut h, "n", &["New", "vegetarian", "No longer so", "Malmö"], "Emily");
    check(&mut h, "esc", &["moved to Lund"], "No longer so");
    h.press("esc");
    assert!(h.state.pane.is_none());
    assert_eq!(h.take(), [Effect::Store(StoreRequest::VisitPage)]);
}

#[test]
fn one_key_for_a_fact() {
    let mut h = opened(80, 24);
    h.press("p");
    let pin = |pinned| Effect::Store(StoreRequest::PinFact { fact: SemanticId(31), pinned });
    assert_eq!(h.take(), [pin(true)]);
    assert!(h.screen().contains("★ You moved to Lund"), "{}", h.screen());
    h.press("p");
    assert_eq!(h.take(), [pin(false)]);
    h.press("e");
    assert!(matches!(h.state.overlay, Some(Overlay::Edit(_))));
    h.keys("esc f");
    let forget = |id| Effect::Store(StoreRequest::PlanForget { ids: vec![id], matching: None });
    assert_eq!(h.take(), [forget(AnyId::Semantic(SemanticId(31)))]);
    // What is not noted yet is a message: it can go, and be looked up.
    h.keys("down down p e");
    assert!(h.state.overlay.is_none());
    assert!(h.screen().contains("once they are noted"), "{}", h.screen());
    h.press("f");
    assert_eq!(h.take(), [forget(AnyId::Message(MessageId(40)))]);
    h.press("o");
    let open = Effect::Chat(Command::OpenSession(SessionId(3)));
    assert_eq!(h.take(), [Effect::Store(StoreRequest::VisitPage), open]);
    assert!(h.state.pane.is_none() && h.state.transcript.wanted == Some(MessageId(40)));
}

#[test]
fn what_is_typed_filters_and_reaches_no_message() {
    let mut h = opened(80, 24);
    h.keys("2 / w");
    h.paste("al\nnuts");
    let screen = h.screen();
    assert!(screen.contains("1 found") && screen.contains("Tom, your brother"), "{screen}");
    assert!(!screen.contains("Emily"), "{screen}");
    h.keys("enter esc x backspace shift-enter alt-up z");
    assert!(h.screen().contains("Emily"), "{}", h.screen());
    assert_eq!((h.state.editor.shown(), h.state.focus), (String::new(), Focus::Pane));
    // What is pasted is to be seen.
    h.paste("a letter");
    assert!(h.state.pane.is_none());
    assert!(h.screen().contains("a letter"), "{}", h.screen());
}

#[test]
fn the_chosen_fact_stays_chosen_while_others_are_noted() {
    let mut h = opened(80, 24);
    h.keys("2 down down");
    h.press("f");
    let max = AnyId::Semantic(SemanticId(46));
    let forget = Effect::Store(StoreRequest::PlanForget { ids: vec![max], matching: None });
    assert_eq!(h.take(), std::slice::from_ref(&forget));
    // However often it is written to meanwhile, it is read once more.
    for _ in 0..3 {
        h.chat(Update::MemoryChanged);
    }
    let again = Effect::Store(StoreRequest::Tree { learned: false });
    assert_eq!(h.take().iter().filter(|effect| **effect == again).count(), 1);
    h.feed(Event::Store(StoreReply::Tree(tree())));
    assert_eq!(h.take(), [again]);
    let mut more = tree();
    for n in 50..60 {
        let new = known(n, "Emily plays the cello.", "2026-11-21");
        more.known.all.insert(0, Known { people: vec!["Emily, your sister".into()], ..new });
    }
    h.feed(Event::Store(StoreReply::Tree(more)));
    assert!(h.screen().contains("Max is afraid of thunder"), "{}", h.screen());
    h.press("f");
    assert_eq!(h.take(), [forget]);
    // Where it is gone, what stands in its place is chosen.
    h.feed(Event::Store(StoreReply::Tree(Tree { known: Knowledge::default(), ..tree() })));
    h.keys("f e o");
    assert_eq!(h.take(), []);
    h.screen();
}

#[test]
fn opening_another_chat_leaves_the_page() {
    let mut h = opened(80, 24);
    h.chat(no_session(false));
    assert!(h.state.page().is_some(), "a reload");
    let conversation = Conversation { title: "Old".into(), ..Conversation::default() };
    h.chat(Update::Session { session: Some(SessionId(3)), conversation, incognito: false });
    assert!(h.state.page().is_none());
}

#[test]
fn screens() {
    use super::screens::check;
    check("page_you", opened, |h| h.keys("down p"));
    check("page_people", opened, |h| h.press("2"));
    check("page_plans", opened, |h| h.keys("3 end"));
    check("page_changes", opened, |h| h.press("n"));
}

/// Facts of a real store, said to Ana.
#[test]
fn facts_are_read_as_sentences_with_their_sources() {
    let store = Store::in_memory().unwrap();
    let told = at("2026-11-20T09:12:00Z");
    let said = "I'm vegetarian since 2018. My brother Tom visits on 4 December 2026.";
    let write = |texts: &[&str], imported: bool| {
        store
            .write(|tx| {
                tx.use_embedder(HashEmbedder.id(), HashEmbedder.dimensions())?;
                tx.set_setting("user_name", "Ana")?;
                let chat = if imported {
                    tx.import_session("Old", told, "import.jsonl")?
                } else {
                    tx.create_session("Dinner plans", told, false)?
                };
                let message = tx.append_message(chat, &NewMessage::new(Role::User, said, told))?;
                tx.insert_episode(chat, "Dinner", "…", &[message])?;
                let theme = tx.create_theme("All")?;
                for text in texts {
                    let fact = NewSemantic {
                        content: (*text).to_owned(),
                        subject: None,
                        attribute: None,
                        created_at: told,
                        messages: vec![message],
                    };
                    let vector = HashEmbedder.embed(&[text]).unwrap().remove(0);
                    tx.insert_semantic(fact, theme, &vector)?;
                }
                Ok(())
            })
            .unwrap();
    };
    write(
        &[
            "Ana is vegetarian since 2018",
            "Ana's brother Tom visits on 4 December 2026",
            "Tom is Ana's brother",
        ],
        false,
    );
    write(&["Tom is a baker in Lund."], true);
    store
        .write(|tx| {
            let text = "Ana's cousin Isla is tall";
            tx.edit_semantic(SemanticId(3), text, &HashEmbedder.embed(&[text]).unwrap()[0])?;
            let chat = tx.create_session("Now", told, false)?;
            tx.append_message(chat, &NewMessage::new(Role::User, "I have two cats.", told))
        })
        .unwrap();
    let now = at("2026-11-21T09:12:00Z");
    let read = || store.read(|r| known::read(r, &r.semantics()?)).unwrap();
    let seen: Vec<String> = read()
        .all
        .iter()
        .map(|k| {
            let source = crate::tui::page::rows::source(k, now);
            format!(
                "{} ({source}) {}{:?}{:?}",
                k.sentence,
                u8::from(k.about_you),
                k.people,
                k.places
            )
        })
        .collect();
    let expected = [
        "You have two cats. (told yesterday, not noted yet) 1[][]",
        "Tom is a baker in Lund. (from import.jsonl, yesterday) 0[\"Tom, your brother\"][\"Lund\"]",
        "You are vegetarian since 2018. (told yesterday, in ‘Dinner plans’) 1[][]",
        "Your brother Tom visits on 4 December 2026. (told yesterday, in ‘Dinner plans’) 0[\"Tom, your brother\"][]",
        "Your cousin Isla is tall. (corrected by you, told yesterday) 0[\"Isla, your cousin\"][]",
    ];
    assert_eq!(seen, expected);
    // After a visit only what came later is new.
    let changes = || read().all.into_iter().map(|known| known.change).collect::<Vec<_>>();
    assert_eq!(changes(), [Some(Change::New); 5]);
    store.write(|tx| tx.visit_page(now)).unwrap();
    assert_eq!(changes(), [None; 5]);
    write(&["Ana is a nurse"], false);
    let text = "Ana's cousin Isla is very tall";
    let vector = HashEmbedder.embed(&[text]).unwrap().remove(0);
    store
        .write(|tx| {
            tx.edit_semantic(SemanticId(3), text, &vector)?;
            tx.supersede(SemanticId(1), SemanticId(5), None, now)
        })
        .unwrap();
    let [new, corrected, gone] = [Change::New, Change::Corrected, Change::Superseded].map(Some);
    assert_eq!(changes(), [new, None, None, gone, None, corrected]);
}
