//! A chosen message, versions, and what an earlier message becomes.

use super::*;
use crate::chat::{Command, Forked};
use crate::store::{AnyId, Conversation};
use crate::tui::event::StoreRequest;
use crate::tui::state::{Focus, Pane};

const CODE: &str = "Two ways:\n\n```rust\nlet x = 1;\n```\n\nor\n\n```py\nx = 1\ny = 2\n```\n";

fn opened(width: u16, height: u16) -> Harness {
    let mut h = Harness::ready(width, height);
    let stopped = Message { complete: false, ..message(6, Role::Assistant, "It is") };
    let messages = vec![
        message(1, Role::User, "How do I write one?"),
        message(2, Role::Assistant, "A first try."),
        message(3, Role::Assistant, CODE),
        message(4, Role::User, "And where do I live?"),
        message(5, Role::Assistant, "In Lund."),
        stopped,
    ];
    let conversation = Conversation {
        title: "Old".into(),
        messages,
        aside: [MessageId(2), MessageId(5)].into(),
        ..Conversation::default()
    };
    h.chat(Update::Session { session: Some(SessionId(1)), conversation, incognito: false });
    h.screen();
    h.take();
    h
}

#[test]
fn a_message_is_copied_whole_or_by_its_code() {
    let mut h = opened(80, 24);
    h.keys("up up up");
    assert_eq!(h.state.focus, Focus::Messages);
    assert!(h.screen().contains("b code"), "{}", h.screen());
    h.press("c");
    assert_eq!(h.take(), [Effect::Copy(CODE.into())]);
    h.keys("b b b");
    let copies: Vec<Effect> =
        ["let x = 1;\n", "x = 1\ny = 2\n", "let x = 1;\n"].map(|c| Effect::Copy(c.into())).into();
    assert_eq!(h.take(), copies);
    assert!(h.screen().contains("block 1 of 2"), "{}", h.screen());
    // Letters without a meaning write nothing, and Esc goes back.
    h.keys("x z esc");
    assert_eq!((h.state.focus, h.state.editor.shown().as_str()), (Focus::Input, ""));
    h.keys("up b");
    assert_eq!(h.take(), []);
    assert!(h.screen().contains("no code"), "{}", h.screen());
}

#[test]
fn versions_stand_beside_each_other() {
    let mut h = opened(80, 24);
    let screen = h.screen();
    assert!(screen.contains("‹2/2›") && !screen.contains("A first try"), "{screen}");
    h.keys("up up up left");
    let chosen = message(2, Role::Assistant, "A first try.");
    let others = vec![MessageId(2), MessageId(3)];
    assert_eq!(h.take(), [Effect::Chat(Command::Choose { chosen, others })]);
    let screen = h.screen();
    assert!(screen.contains("A first try") && screen.contains("‹1/2›"), "{screen}");
    h.press("left");
    assert_eq!(h.take(), []);
    // Another version of the last one: the old ones give way until it is there.
    h.press("esc");
    h.enter("/retry");
    assert_eq!(h.take(), [Effect::Chat(Command::Regenerate)]);
    let replaces = vec![MessageId(6)];
    h.chat(Update::Again { replaces: replaces.clone(), begun: String::new() });
    h.chat(Update::Phase(PhaseName::Replying));
    h.chat(Update::ReplyText("In Malmö.".into()));
    let screen = h.screen();
    assert!(screen.contains("In Malmö.") && !screen.contains("It is"), "{screen}");
    let reply = |id, text: &str| {
        Update::ReplyDone(SavedReply {
            message: message(id, Role::Assistant, text),
            record: json!({}),
            tokens_per_second: None,
        })
    };
    h.chat(reply(7, "In Malmö."));
    h.chat(Update::Phase(PhaseName::Idle));
    let screen = h.screen();
    assert!(screen.contains("‹3/3›") && screen.contains("In Malmö."), "{screen}");
    // One that comes to nothing leaves what was there.
    h.chat(Update::Again { replaces: vec![MessageId(7)], begun: String::new() });
    h.chat(Update::ReplyDropped);
    h.chat(Update::Phase(PhaseName::Idle));
    assert!(h.screen().contains("In Malmö."));
}

#[test]
fn a_stopped_reply_goes_on_in_its_place() {
    let mut h = opened(80, 24);
    h.press("up");
    assert!(h.screen().contains("g go on"), "{}", h.screen());
    h.press("g");
    assert_eq!(h.take(), [Effect::Chat(Command::Continue)]);
    h.chat(Update::Again { replaces: vec![MessageId(6)], begun: "It is".into() });
    h.chat(Update::Phase(PhaseName::Replying));
    h.chat(Update::ReplyText(" Lund.".into()));
    assert_eq!(h.screen().matches("It is").count(), 1);
    assert!(h.screen().contains("It is Lund."));
    h.chat(Update::ReplyDone(SavedReply {
        message: message(6, Role::Assistant, "It is Lund."),
        record: json!({}),
        tokens_per_second: None,
    }));
    h.chat(Update::Phase(PhaseName::Idle));
    let screen = h.screen();
    assert!(screen.contains("It is Lund.") && screen.contains("‹2/2›"), "{screen}");
    assert!(!screen.contains("stopped"), "{screen}");
}

#[test]
fn ones_own_message_is_written_anew_and_nothing_is_lost() {
    let mut h = opened(80, 24);
    h.type_str("a draft");
    h.keys("alt-up up e");
    assert_eq!(h.state.editor.shown(), "And where do I live?");
    assert!(h.screen().contains("written anew"), "{}", h.screen());
    h.press("esc");
    assert_eq!(h.state.editor.shown(), "a draft");
    h.keys("alt-up up e ctrl-u");
    h.enter("Where did I live?");
    let then = Forked::Submit("Where did I live?".into());
    let fork = Command::Fork { parent: SessionId(1), before: MessageId(4), then };
    assert_eq!(h.take(), [Effect::Chat(fork)]);
    assert_eq!(h.state.editor.shown(), "a draft");
    // An answer can't be written anew.
    h.keys("alt-up e");
    assert_eq!(h.state.editor.shown(), "a draft");
    assert!(h.screen().contains("Only your own"), "{}", h.screen());
}

#[test]
fn a_chat_goes_on_from_any_message() {
    let fork = |before, then| {
        let parent = SessionId(1);
        Effect::Chat(Command::Fork { parent, before: MessageId(before), then })
    };
    let mut h = opened(80, 24);
    h.keys("up up up n");
    assert_eq!(h.take(), [fork(4, Forked::Nothing)]);
    // Another answer: to the last message a version, to an earlier one a chat of its own.
    h.keys("up up up r");
    assert_eq!(h.take(), [fork(2, Forked::Answer)]);
    h.keys("up up r");
    assert_eq!(h.take(), [Effect::Chat(Command::Regenerate)]);
    h.keys("up up f");
    let ids = vec![AnyId::Message(MessageId(4))];
    assert_eq!(h.take(), [Effect::Store(StoreRequest::PlanForget { ids, matching: None })]);
    h.keys("esc up w");
    assert!(matches!(&h.state.pane, Some(Pane::Why(pane)) if pane.reply == Some(MessageId(6))));
}

#[test]
fn a_click_chooses_and_the_arrows_keep_what_is_chosen_in_sight() {
    let mut h = Harness::ready(80, 24);
    for n in 0..40 {
        h.exchange(n, &format!("question {n}"), &format!("answer {n}"), json!({}));
    }
    h.screen();
    for n in (0..40).rev() {
        h.press("up");
        let screen = h.screen();
        assert!(screen.contains(&format!("answer {n}")), "{n}: {screen}");
        h.press("up");
        h.screen();
    }
    let row = h.screen().lines().position(|l| l.contains("answer 3")).unwrap();
    let click = |row: usize| {
        Event::Terminal(TerminalEvent::Mouse(crossterm::event::MouseEvent {
            kind: crossterm::event::MouseEventKind::Down(crossterm::event::MouseButton::Left),
            column: 5,
            row: row as u16,
            modifiers: KeyModifiers::NONE,
        }))
    };
    h.feed(click(row));
    h.press("c");
    assert_eq!(h.take(), [Effect::Copy("answer 3".into())]);
    // Beside any message: back to the input, at the end of the chat.
    h.feed(click(0));
    assert_eq!(h.state.focus, Focus::Input);
    assert!(h.screen().contains("answer 39"));
    // Down from the last one, too.
    h.keys("up down");
    assert_eq!(h.state.focus, Focus::Input);
}

#[test]
fn a_long_chat_costs_what_is_seen_of_it_and_nothing_is_passed_over() {
    let mut h = Harness::ready(120, 40);
    let role = |n: i64| if n % 2 == 0 { Role::User } else { Role::Assistant };
    let text = |n| format!("Message {n} says **something** of a few words.\n\n- one\n- two");
    let messages = (0..10_000).map(|n| message(n, role(n), &text(n))).collect();
    let conversation = Conversation { title: "Long".into(), messages, ..Conversation::default() };
    h.chat(Update::Session { session: Some(SessionId(1)), conversation, incognito: false });
    let shown = |h: &mut Harness| -> Vec<i64> {
        let screen = h.screen();
        let after = screen.split("Message ").skip(1);
        after.filter_map(|rest| rest.split(' ').next()?.parse().ok()).collect()
    };
    let n_laid = |h: &Harness| {
        let entries = h.state.transcript.entries.iter();
        entries.filter(|entry| entry.laid.borrow().is_some()).count()
    };
    assert_eq!(shown(&mut h).last(), Some(&9_999));
    assert!(n_laid(&h) < 20, "{}", n_laid(&h));
    h.press("ctrl-home");
    assert_eq!(shown(&mut h).first(), Some(&0));
    assert!(h.screen().contains("more messages"), "{}", h.screen());
    assert!(n_laid(&h) < 40, "{}", n_laid(&h));
    h.press("ctrl-end");
    let mut before = shown(&mut h);
    for _ in 0..50 {
        // Two keys may come before a frame.
        h.keys("pgup ctrl-up");
        let now = shown(&mut h);
        assert!(now[0] < before[0] && now.contains(&(before[0] - 1)), "{before:?} {now:?}");
        assert!(now.is_sorted(), "{now:?}");
        before = now;
    }
    // Another size, and what was on top stays there.
    h.resize(50, 40);
    let narrow = shown(&mut h);
    assert!((before[0] - narrow[0]).abs() <= 1, "{before:?} {narrow:?}");
    // As far down again as up: the end.
    h.resize(120, 40);
    (0..60).for_each(|_| h.keys("pgdn ctrl-down"));
    assert_eq!(shown(&mut h).last(), Some(&9_999));
    assert!(h.state.transcript.follows());
}

#[test]
fn time_alone_changes_the_screen_five_times_a_second_at_most() {
    let mut h = opened(80, 24);
    assert!(!h.state.moves());
    h.chat(Update::Phase(PhaseName::Recalling));
    let mut frames = std::collections::HashMap::new();
    for _ in 0..20 {
        h.tick(1);
        let screen = h.screen();
        let told = frames.entry(h.state.by_time()).or_insert_with(|| screen.clone());
        assert_eq!(*told, screen, "what is not told is not drawn");
    }
    assert!((10..=11).contains(&frames.len()), "{}", frames.len());
    h.chat(Update::Phase(PhaseName::Idle));
    h.state.say("a hint");
    let said = h.state.by_time();
    h.tick(31);
    assert_ne!(h.state.by_time(), said);
    assert!(!h.state.moves());
}

#[test]
fn what_a_reply_rests_on_can_be_forgotten() {
    let mut h = Harness::ready(80, 24);
    h.exchange(1, "Where do I live?", "In Lund.", record());
    h.press("up");
    assert!(h.screen().contains("F its sources"), "{}", h.screen());
    h.take();
    h.press("F");
    let ids = vec!["s31".parse().unwrap(), "s12".parse().unwrap()];
    assert_eq!(h.take(), [Effect::Store(StoreRequest::PlanForget { ids, matching: None })]);
    h.press("esc");
    // One that rests on nothing.
    h.exchange(2, "hi", "Hello!", Value::Null);
    h.press("up");
    h.press("F");
    assert!(h.screen().contains("rests on nothing"));
}

#[test]
fn a_command_is_begun_while_a_message_is_chosen() {
    let mut h = Harness::ready(80, 24);
    h.exchange(1, "hi", "Hello!", Value::Null);
    h.press("up");
    h.type_str("/undo");
    assert_eq!((h.state.focus, h.state.editor.text().as_str()), (Focus::Input, "/undo"));
}
