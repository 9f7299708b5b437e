//! The list of chats: search, rename, pin, delete with undo; and the screen's colours.

use super::*;
use crate::chat::Command;
use crate::store::{Conversation, Found};
use crate::tui::event::StoreRequest;
use crate::tui::state::{Focus, Overlay};

fn listed() -> Harness {
    let mut h = Harness::ready(80, 24);
    h.press("ctrl-s");
    h.feed(Event::Store(StoreReply::Sessions(vec![
        session(1, "Moving to Lund", "2026-11-16T09:00:00Z", false),
        session(2, "A new bike", "2026-11-20T09:00:00Z", false),
        Session { pinned: true, ..session(3, "Recipes", "2026-01-01T09:00:00Z", false) },
    ])));
    h.take();
    h
}

fn found(query: &str) -> StoreReply {
    let found = vec![Found {
        session: SessionId(1),
        title: "Moving to Lund".into(),
        message: MessageId(3),
        role: Role::User,
        at: at("2026-11-16T09:00:00Z"),
        snippet: "we bought a \u{1}cargo\u{2} bike\u{1b}[31m there".into(),
    }];
    StoreReply::Found { query: query.into(), found }
}

#[test]
fn typing_searches_titles_and_all_that_was_said() {
    let mut h = listed();
    h.type_str("ca");
    assert_eq!(h.take(), [Effect::Store(StoreRequest::Find("ca".into()))]);
    // Typed on meanwhile: the old answer is not shown, and the new one is asked for.
    h.type_str("rgo");
    assert_eq!(h.take(), []);
    h.feed(Event::Store(found("ca")));
    assert_eq!(h.take(), [Effect::Store(StoreRequest::Find("cargo".into()))]);
    h.feed(Event::Store(found("cargo")));
    let screen = h.screen();
    assert!(screen.contains("we bought a cargo bike there"), "{screen}");
    assert!(!screen.contains("A new bike"), "{screen}");
    h.press("enter");
    assert_eq!(h.take(), [Effect::Chat(Command::OpenSession(SessionId(1)))]);
    // It opens where it was found.
    let said = (1..60).map(|n| message(n, Role::User, &format!("line {n}")));
    let messages = said.collect();
    let conversation = Conversation { title: "Old".into(), messages, ..Conversation::default() };
    h.chat(Update::Session { session: Some(SessionId(1)), conversation, incognito: false });
    let screen = h.screen();
    assert!(screen.contains("line 3") && !screen.contains("line 59"), "{screen}");
    assert_eq!(h.state.focus, Focus::Messages);
    // From the command line, too.
    h.press("esc");
    h.take();
    h.enter("/find cargo bike");
    let find = StoreRequest::Find("cargo bike".into());
    assert_eq!(h.take(), [Effect::Store(StoreRequest::Sessions), Effect::Store(find)]);
}

#[test]
fn chats_are_renamed_and_pinned() {
    let mut h = listed();
    let screen = h.screen();
    assert!(screen.find("★ Recipes") < screen.find("A new bike"), "{screen}");
    h.press("ctrl-e");
    assert!(h.screen().contains("rename the chat"), "{}", h.screen());
    h.enter(" of mine");
    let title = "Recipes of mine".into();
    assert_eq!(
        h.take(),
        [
            Effect::Store(StoreRequest::Rename { session: SessionId(3), title }),
            Effect::Store(StoreRequest::Sessions)
        ]
    );
    let mut h = listed();
    h.keys("down ctrl-p");
    let pin = StoreRequest::Pin { session: SessionId(2), pinned: true };
    assert_eq!(h.take(), [Effect::Store(pin), Effect::Store(StoreRequest::Sessions)]);
    assert!(matches!(h.state.overlay, Some(Overlay::Picker(_))));
}

#[test]
fn a_deleted_chat_can_be_had_back_for_ten_seconds() {
    let delete = || Effect::Store(StoreRequest::DeleteChats(vec![SessionId(3)]));
    let mut h = listed();
    h.press("del");
    assert!(h.screen().contains("deleted"), "{}", h.screen());
    h.press("del");
    assert!(!h.screen().contains("deleted"), "{}", h.screen());
    h.keys("del esc");
    assert!(h.screen().contains("1 chat deleted"), "{}", h.screen());
    h.tick(50);
    h.enter("/undo");
    assert!(h.screen().contains("Kept: 1 chat"), "{}", h.screen());
    h.tick(200);
    assert_eq!(h.take(), []);
    // While the list is open, nothing goes; then it does.
    let mut h = listed();
    h.press("del");
    h.tick(300);
    assert_eq!(h.take(), []);
    h.press("esc");
    h.tick(101);
    assert_eq!(h.take(), [delete()]);
    // Leaving does not keep it.
    let mut h = listed();
    h.keys("del esc ctrl-d");
    assert_eq!(h.take(), [delete(), Effect::Quit(0)]);
}

#[test]
fn colours_are_tried_and_taken_or_left() {
    let mut h = Harness::ready(80, 24);
    let before = h.state.palette;
    h.enter("/theme");
    h.keys("down down");
    assert_eq!(h.state.palette, Palette::named("dusk"));
    h.press("esc");
    assert_eq!(h.state.palette, before);
    h.enter("/theme");
    h.keys("down enter");
    assert_eq!(h.state.palette, Palette::named("hearth"));
    assert_eq!(h.take(), [Effect::Store(StoreRequest::Look("hearth".into()))]);
    h.enter("/theme paper");
    assert_eq!(h.state.palette, Palette::named("paper"));
}
