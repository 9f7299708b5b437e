//! Roles, downloads, and sentences that ask to forget.

use super::*;
use crate::chat::sampling::{Setting, SettingValue, Settings};
use crate::chat::{Command, OwnFile as _, Persona, Update};
use crate::tui::event::{Greeting, StoreReply, StoreRequest};

#[test]
fn roles_are_chosen_from_a_list_or_by_name() {
    let read = |name: Option<&str>| Effect::Store(StoreRequest::Roles(name.map(Into::into)));
    for (typed, done) in [
        ("/role fr", read(Some("fr"))),
        ("/role none", Effect::Chat(Command::Role(None))),
        ("/role", read(None)),
    ] {
        let mut h = Harness::ready(80, 24);
        h.paste(typed);
        h.press("enter");
        assert_eq!(h.take(), [done], "{typed}");
    }
    let mut h = Harness::ready(80, 24);
    h.paste("/role");
    h.press("enter");
    h.take();
    let role = Persona::parse("fr", "You translate into French.").unwrap();
    let unusable = vec![("bad".to_owned(), "it says nothing to the model".to_owned())];
    h.feed(Event::Store(StoreReply::Roles { roles: vec![role.clone()], unusable }));
    assert!(h.screen().contains("can't be used: it says nothing"), "{}", h.screen());
    h.keys("down enter");
    assert_eq!(h.take(), [Effect::Chat(Command::Role(Some(role.clone().into())))]);
    h.feed(Event::Store(StoreReply::Role(Ok(role.clone()))));
    assert_eq!(h.take(), [Effect::Chat(Command::Role(Some(role.clone().into())))]);
    let mut profile = starter();
    profile.role = Some(role.into());
    h.chat(Update::Ready(profile));
    assert!(h.screen().contains("As fr. /role none ends it."));
    h.press("x");
    h.feed(Event::Store(StoreReply::Role(Err("there is no role de".into()))));
    assert!(h.screen().contains("there is no role de"));
    h.chat(Update::Ready(starter()));
    assert!(h.screen().contains("An assistant again."));
}

#[test]
fn a_model_is_downloaded_in_the_chat() {
    let mut h = Harness::ready(100, 24);
    h.press("ctrl-l");
    h.take();
    let models = StoreReply::Models { installed: Vec::new(), pullable: pullable() };
    h.feed(Event::Store(models.clone()));
    // What suits this machine stands first; it asks first.
    h.keys("down enter");
    assert!(h.screen().contains("from https://huggingface.co/org/good-4b"), "{}", h.screen());
    assert_eq!(h.take(), []);
    h.press("enter");
    assert_eq!(h.take(), [], "Enter is no");
    h.press("ctrl-l");
    h.take();
    h.feed(Event::Store(models.clone()));
    h.keys("down enter y");
    assert_eq!(h.take(), [Effect::Chat(Command::Pull("good-4b".into()))]);
    let (name, total_bytes) = ("good-4b".to_owned(), 2_500_000_000);
    h.chat(Update::Pulling { name: name.clone(), bytes: 500_000_000, total_bytes });
    assert!(h.screen().contains("↓ good-4b 500.0 MB of 2.5 GB · Esc stops"), "{}", h.screen());
    h.clock.advance(jiff::SignedDuration::from_secs(10));
    h.chat(Update::Pulling { name: name.clone(), bytes: 600_000_000, total_bytes });
    let left = "600.0 MB of 2.5 GB · 10.0 MB/s · 4 min left";
    assert!(h.screen().contains(left), "{}", h.screen());
    // One at a time.
    h.press("ctrl-l");
    h.feed(Event::Store(models));
    h.keys("down down enter y");
    h.take();
    assert!(h.screen().contains("one at a time"), "{}", h.screen());
    h.press("esc");
    assert_eq!(h.take(), [Effect::Chat(Command::StopPull)]);
    h.chat(Update::Pulled { name: name.clone(), result: Ok(false) });
    assert!(h.screen().contains("What has come is kept"));
    h.chat(Update::Pulled { name, result: Err("the hub is silent".into()) });
    assert!(h.screen().contains("the hub is silent"));
}

#[test]
fn a_sentence_that_forgets_nothing_is_not_lost() {
    let mut h = Harness::ready(80, 24);
    let (what, text) = ("my shoe size".to_owned(), "forget my shoe size".to_owned());
    h.feed(Event::Store(StoreReply::NothingAbout { what, text }));
    assert_eq!(h.state.editor.shown(), "forget my shoe size");
    assert!(h.screen().contains("I know nothing of my shoe size."));
}

#[test]
fn how_replies_are_drawn_is_seen_and_changed() {
    let set = |setting, value| Effect::Chat(Command::Set(setting, value));
    let mut h = Harness::ready(80, 24);
    for (typed, said, done) in [
        (
            "/set temperature 0.2",
            "temperature is 0.2 in this chat; it was 0.7 (default).",
            vec![set(Setting::Temperature, Some(SettingValue::Number(0.2)))],
        ),
        (
            "/set Top-P=0.5",
            "top_p is 0.5 in this chat",
            vec![set(Setting::TopP, Some(SettingValue::Number(0.5)))],
        ),
        (
            "/set temperature hot",
            "temperature is a number from 0 to 5: /set temperature hot",
            vec![],
        ),
        ("/set seed 1 2", "seed is a whole number from 0 up", vec![]),
        ("/set heat 1", "There is no heat, but temperature, top_p", vec![]),
        (
            "/set seed",
            "seed is random (default). It can be a whole number",
            vec![set(Setting::Seed, None)],
        ),
    ] {
        h.paste(typed);
        h.press("enter");
        assert_eq!(h.take(), done, "{typed}");
        assert!(h.screen().contains(said), "{typed}: {}", h.screen());
        h.state.editor.clear();
    }
    h.chat(Update::Sampling(Settings::from([(Setting::Temperature, SettingValue::Number(0.2))])));
    // The list says where each comes from, and leads into the input.
    h.paste("/set");
    h.press("enter");
    let screen = h.screen();
    let row = |words: &[&str]| screen.lines().any(|row| words.iter().all(|w| row.contains(w)));
    assert!(row(&["temperature", "0.2", "this chat"]), "{screen}");
    assert!(row(&["seed", "random", "default"]), "{screen}");
    h.press("enter");
    assert_eq!(h.state.editor.shown(), "/set temperature ");
    h.press("enter");
    assert_eq!(h.take(), [set(Setting::Temperature, None)]);
    assert!(h.screen().contains("temperature is 0.7 (default) again."), "{}", h.screen());
    // Names are completed; one that is whole is sent.
    h.type_str("/set rep");
    h.press("tab");
    assert_eq!(h.state.editor.shown(), "/set repetition_penalty ");
    h.press("ctrl-c");
    h.type_str("/set seed");
    h.press("enter");
    assert_eq!(h.take(), [set(Setting::Seed, None)]);
}

#[test]
fn what_the_empty_chat_offers_goes_into_the_input_or_opens() {
    use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
    let mut h = Harness::ready(80, 24);
    assert!(h.screen().contains("Tab chooses"), "{}", h.screen());
    h.press("tab");
    assert!(h.screen().contains("› I moved to Lund last week"), "{}", h.screen());
    assert!(h.state.editor.is_empty());
    h.keys("tab enter");
    assert_eq!(h.state.editor.shown(), "where do I live?");
    assert_eq!(h.take(), []);
    // Whoever writes chooses nothing; neither does Esc.
    h.keys("ctrl-c tab esc enter ctrl-c tab x");
    assert_eq!((h.state.offered.chosen, h.state.editor.shown().as_str()), (None, "x"));
    h.press("ctrl-c");
    let click = |h: &mut Harness, text: &str| {
        let row = h.screen().lines().position(|line| line.contains(text)).unwrap() as u16;
        let kind = MouseEventKind::Down(MouseButton::Left);
        let mouse = MouseEvent { kind, column: 12, row, modifiers: KeyModifiers::NONE };
        h.feed(Event::Terminal(TerminalEvent::Mouse(mouse)));
    };
    click(&mut h, "all that is remembered");
    assert_eq!(h.state.editor.shown(), "/memory");
    click(&mut h, "Three things to try");
    assert_eq!(h.state.editor.shown(), "/memory");
    h.press("ctrl-c");
    let chats = (1..=9).map(|n| (SessionId(n), format!("Chat {n}"), at("2026-11-20T09:00:00Z")));
    let greeting = Greeting { chats: chats.collect(), ..Greeting::default() };
    h.feed(Event::Store(StoreReply::Greeting(greeting)));
    h.screen();
    h.keys("tab tab enter");
    assert_eq!(h.take(), [Effect::Chat(Command::OpenSession(SessionId(2)))]);
    click(&mut h, "Chat 3");
    assert_eq!(h.take(), [Effect::Chat(Command::OpenSession(SessionId(3)))]);
    // Only what is to be seen can be chosen.
    h.resize(40, 12);
    assert!(!h.screen().contains("Chat 4"), "{}", h.screen());
    h.keys("tab tab tab tab enter");
    assert_eq!(h.take(), [Effect::Chat(Command::OpenSession(SessionId(1)))]);
    // Not once something was said.
    h.exchange(1, "Hi", "Hello.", json!({}));
    h.press("tab");
    assert_eq!(h.state.offered.chosen, None);
}

#[test]
fn that_something_has_to_wait_is_said_while_it_has_to() {
    let mut h = Harness::ready(80, 24);
    h.chat(Update::Phase(PhaseName::Replying));
    h.chat(Update::Busy);
    assert!(h.screen().contains("Still answering. Esc stops it."), "{}", h.screen());
    h.chat(Update::Phase(PhaseName::Idle));
    assert!(!h.screen().contains("Still answering"), "{}", h.screen());
    // What else was said stays to be read.
    h.chat(Update::Hint("Copied.".into()));
    h.chat(Update::Phase(PhaseName::Idle));
    assert!(h.screen().contains("Copied."), "{}", h.screen());
}

#[test]
fn a_model_that_was_opened_by_its_path_is_in_the_list() {
    let mut h = Harness::ready(80, 24);
    h.chat(Update::Ready(qwen()));
    h.press("ctrl-l");
    h.feed(Event::Store(StoreReply::Models { installed: Vec::new(), pullable: Vec::new() }));
    let list = h.screen();
    assert!(list.contains("qwen3-0.6b") && list.contains("in use, from its file"), "{list}");
}

#[test]
fn who_looks_elsewhere_is_told_of_a_long_reply() {
    use crossterm::event::Event as TerminalEvent;
    for (elsewhere, ticks, told) in [(true, 60, true), (true, 5, false), (false, 60, false)] {
        let mut h = Harness::ready(80, 24);
        h.chat(Update::Phase(PhaseName::Recalling));
        h.feed(Event::Terminal(TerminalEvent::FocusLost));
        if !elsewhere {
            h.feed(Event::Terminal(TerminalEvent::FocusGained));
        }
        h.chat(Update::Phase(PhaseName::Replying));
        h.tick(ticks);
        h.chat(Update::Phase(PhaseName::Idle));
        let said = h.take();
        assert_eq!(matches!(&said[..], [Effect::Notify(_)]), told, "{elsewhere} {ticks} {said:?}");
    }
}
