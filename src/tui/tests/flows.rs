//! Before / keys / after.

use super::*;
use crate::chat::{Command, Level, MessageKind};
use crate::store::{AnyId, Conversation, ForgetPlan};
use crate::tui::editor::SEND_BYTES_MAX;
use crate::tui::event::{StoreReply, StoreRequest};
use crate::tui::state::{Focus, Overlay, Pane};

/// Text in the input, keys, text in the input and what was asked for.
#[track_caller]
fn check(before: &str, keys: &str, after: &str, done: &[Effect]) {
    let mut h = Harness::ready(80, 24);
    h.paste(before);
    h.screen();
    h.take();
    h.keys(keys);
    assert_eq!(h.state.editor.shown(), after, "{before:?} + {keys}");
    assert_eq!(h.take(), done, "{before:?} + {keys}");
}

fn submit(text: &str) -> Effect {
    Effect::Chat(Command::Submit { text: text.into(), kind: MessageKind::Chat })
}

#[test]
fn enter_sends_and_the_other_enters_do_not() {
    check("hello", "enter", "", &[submit("hello")]);
    check("hello", "shift-enter x", "hello\nx", &[]);
    check("hello", "alt-enter x", "hello\nx", &[]);
    check("hello", "ctrl-j x", "hello\nx", &[]);
    check("hello", "ctrl-enter x", "hello\nx", &[]);
    // What some terminals send for Enter.
    check("hello", "ctrl-m", "", &[submit("hello")]);
    check("a\nb", "enter", "", &[submit("a\nb")]);
    check("  \n ", "enter", "  \n ", &[]);
    check("a\u{1b}[31mb\r\nc\u{7}", "enter", "", &[submit("ab\nc")]);
    check("", "enter", "", &[]);
}

#[test]
fn keys_that_open_and_close() {
    check("", "ctrl-n", "", &[Effect::Chat(Command::NewSession)]);
    check("", "ctrl-s", "", &[Effect::Store(StoreRequest::Sessions)]);
    check("", "ctrl-l", "", &[Effect::Store(StoreRequest::Models)]);
    check("", "ctrl-r", "", &[Effect::Store(StoreRequest::History)]);
    let page = Effect::Store(StoreRequest::Tree { learned: false });
    check("", "ctrl-t", "", std::slice::from_ref(&page));
    check("", "ctrl-T", "", std::slice::from_ref(&page));
    check("", "ctrl-t esc", "", &[page]);
    check("", "ctrl-z", "", &[Effect::Suspend]);
    check("", "ctrl-d", "", &[Effect::Quit(0)]);
    check("x", "home ctrl-d", "", &[]);
    // A question mark opens help on an empty line only.
    check("why", "?", "why?", &[]);
    check("", "? esc x", "x", &[]);
    // AltGr on some layouts is Ctrl+Alt: a character, not a command.
    let mut h = Harness::ready(80, 24);
    h.press("ctrl-alt-p");
    assert!(h.state.overlay.is_none());
}

#[test]
fn ctrl_c_clears_then_interrupts_then_leaves() {
    check("draft", "ctrl-c", "", &[]);
    check("", "ctrl-c", "", &[]);
    check("", "ctrl-c ctrl-c", "", &[Effect::Quit(0)]);
    check("draft", "ctrl-c ctrl-c", "", &[]);
    // Another key in between is a change of mind.
    check("", "ctrl-c x ctrl-c ctrl-c", "", &[]);
    let mut h = Harness::ready(80, 24);
    h.chat(Update::Phase(PhaseName::Replying));
    h.press("ctrl-c");
    assert_eq!(h.take(), [Effect::Chat(Command::Stop)]);
    // So is time passing.
    let mut h = Harness::ready(80, 24);
    h.press("ctrl-c");
    h.tick(60);
    h.press("ctrl-c");
    assert_eq!(h.take(), []);
}

#[test]
fn escape_stops_a_reply_first() {
    let mut h = Harness::ready(80, 24);
    h.press("ctrl-g");
    h.press("tab");
    h.chat(Update::Phase(PhaseName::Replying));
    h.take();
    h.press("esc");
    assert_eq!(h.take(), [Effect::Chat(Command::Stop)]);
    h.chat(Update::Phase(PhaseName::Idle));
    h.press("esc");
    assert!(h.state.pane.is_none());
}

#[test]
fn a_returned_message_is_in_the_input_again() {
    let mut h = Harness::ready(80, 24);
    h.enter("one");
    h.type_str("two");
    h.chat(Update::Returned { text: "one".into() });
    assert_eq!(h.state.editor.shown(), "one\ntwo");
}

#[test]
fn slash_commands() {
    let remember = |text: &str| {
        Effect::Chat(Command::Submit { text: text.into(), kind: MessageKind::Remember })
    };
    let forget = |ids: Vec<AnyId>, matching: Option<&str>| {
        Effect::Store(StoreRequest::PlanForget { ids, matching: matching.map(Into::into) })
    };
    let ids = vec![AnyId::Semantic(SemanticId(12)), AnyId::Message(MessageId(4))];
    check("/new", "enter", "", &[Effect::Chat(Command::NewSession)]);
    check("/remember I am 41", "enter", "", &[remember("I am 41")]);
    let sentence = "Please forget my locker code.";
    let about =
        StoreRequest::PlanForgetAbout { what: "my locker code".into(), text: sentence.into() };
    check(sentence, "enter", "", &[Effect::Store(about)]);
    check("forget it", "enter", "", &[submit("forget it")]);
    check("/forget Lund", "enter", "", &[forget(vec![], Some("Lund"))]);
    check("/forget s12, m4", "enter", "", &[forget(ids, None)]);
    // Words that only begin like ids are text.
    check("/forget s12 and more", "enter", "", &[forget(vec![], Some("s12 and more"))]);
    check("/forget \"m4\"", "enter", "", &[forget(vec![], Some("m4"))]);
    check("/forget é", "enter", "", &[forget(vec![], Some("é"))]);
    check("/incognito", "enter", "", &[Effect::Chat(Command::Incognito(true))]);
    check("/model", "enter", "", &[Effect::Store(StoreRequest::Models)]);
    check("/models b", "enter", "", &[Effect::Chat(Command::LoadModel(Some("b".into())))]);
    check("/retry", "enter", "", &[Effect::Chat(Command::Regenerate)]);
    check("/undo", "enter", "", &[Effect::Store(StoreRequest::Undo)]);
    check("/quit ", "enter", "", &[Effect::Quit(0)]);
    check("/q", "enter", "", &[Effect::Quit(0)]);
    // A path is a message.
    check("/usr/bin/env", "enter", "", &[submit("/usr/bin/env")]);
}

#[test]
fn a_mistaken_command_is_explained_and_kept() {
    for (line, why) in [
        ("/nwe", "There is no /nwe"),
        ("/new please", "/new takes nothing"),
        ("/remember", "Say what"),
        ("/forget", "Say what"),
    ] {
        let mut h = Harness::ready(80, 24);
        h.paste(line);
        h.press("enter");
        assert_eq!((h.state.editor.shown().as_str(), h.take()), (line, vec![]));
        assert!(h.screen().contains(why), "{line}: {}", h.screen());
    }
}

#[test]
fn exporting_takes_the_whole_rest_as_a_file() {
    let mut h = Harness::ready(80, 24);
    h.exchange(1, "Hi", "Hello", json!({}));
    h.enter("/export a b.md");
    let (session, path) = (SessionId(1), Some("a b.md".into()));
    assert_eq!(h.take(), [Effect::Store(StoreRequest::Export { session, path })]);
    // Of an incognito chat the memory has nothing: what it has under that number is another chat.
    h.state.incognito = true;
    h.enter("/export");
    assert_eq!(h.take(), []);
    assert!(h.screen().contains("can't be saved"), "{}", h.screen());
}

#[test]
fn completion_chooses_and_completes() {
    let mut h = Harness::ready(80, 24);
    h.type_str("/re");
    assert!(h.screen().contains("keep this in memory"));
    h.keys("down down tab");
    assert_eq!(h.state.editor.shown(), "/retry ");
    h.press("ctrl-c");
    h.enter("/rem");
    // It needs an argument: the line is completed, not run.
    assert_eq!(h.state.editor.shown(), "/remember ");
    assert_eq!(h.take(), []);
    h.press("ctrl-c");
    h.enter("/n");
    assert_eq!(h.take(), [Effect::Chat(Command::NewSession)]);
    h.type_str("/m");
    h.press("esc");
    assert!(!h.screen().contains("browse what is remembered"));
    h.type_str("o");
    assert!(h.screen().contains("list models"));
}

#[test]
fn a_huge_paste_is_kept_and_sent_in_parts() {
    let mut h = Harness::ready(80, 24);
    let whole = "0123456789abcde\n".repeat(16_000);
    h.paste(&whole);
    assert!(h.screen().contains("[pasted 256.0 kB]"), "{}", h.screen());
    assert!(h.screen().contains("parts of at most 100.0 kB"), "{}", h.screen());
    let mut sent = String::new();
    for _ in 0..2 {
        h.press("enter");
        assert!(matches!(h.state.overlay, Some(Overlay::Confirm(_))));
        h.press("y");
        let done = h.take();
        let [Effect::Chat(Command::Submit { text, .. })] = &done[..] else { panic!("{done:?}") };
        assert!(text.len() <= SEND_BYTES_MAX && text.ends_with('\n'));
        sent.push_str(text);
        h.state.transcript.sending = None;
    }
    h.press("enter");
    let done = h.take();
    let [Effect::Chat(Command::Submit { text, .. })] = &done[..] else { panic!("{done:?}") };
    sent.push_str(text);
    assert_eq!(sent, whole);
    // "No" leaves it where it is.
    let mut h = Harness::ready(80, 24);
    h.paste(&whole);
    h.keys("enter n");
    assert_eq!(h.take(), []);
    assert_eq!(h.state.editor.text(), whole);
}

#[test]
fn forgetting_asks_first_and_enter_is_no() {
    let mut h = Harness::ready(80, 24);
    let plan = ForgetPlan { messages: vec![MessageId(4)], ..ForgetPlan::default() };
    let lines = vec!["1 message".into(), "  You: I moved to Lund.".into()];
    h.feed(Event::Store(StoreReply::ForgetPlan {
        plan: plan.clone(),
        lines: lines.clone(),
        other: None,
    }));
    h.press("enter");
    assert_eq!(h.take(), []);
    h.feed(Event::Store(StoreReply::ForgetPlan { plan: plan.clone(), lines, other: None }));
    h.press("y");
    assert_eq!(h.take(), [Effect::Store(StoreRequest::Forget(Box::new(plan)))]);
    h.feed(Event::Store(StoreReply::Forgotten { n_messages: 1, n_facts: 2, n_blotted: 0 }));
    assert!(h.screen().contains("Forgotten: 1 message, 2 facts"));
    assert_eq!(
        h.take(),
        [Effect::Chat(Command::Reload), Effect::Store(StoreRequest::History)],
        "what was forgotten leaves the screen and the arrow keys"
    );
    // The reload keeps the sentence and drops the message.
    h.chat(no_session(false));
    h.feed(Event::Store(StoreReply::ForgetPlan {
        plan: ForgetPlan::default(),
        lines: vec![],
        other: None,
    }));
    assert!(h.state.overlay.is_none());
    assert!(h.screen().contains("Nothing in memory matches"));
}

#[test]
fn the_memory_tree_opens_searches_edits_and_forgets() {
    let mut h = Harness::ready(80, 24);
    h.press("ctrl-t");
    h.feed(Event::Store(StoreReply::Tree(tree())));
    h.take();
    h.keys("5 right down right");
    assert!(h.screen().contains("Where Ana lives, and Max"), "{}", h.screen());
    h.keys("left down right down right");
    assert_eq!(h.take(), [Effect::Store(StoreRequest::Messages(EpisodeId(4)))]);
    assert!(h.screen().contains("reading…"));
    h.feed(Event::Store(episode_messages()));
    h.keys("down");
    assert!(h.screen().contains("You: I moved to Lund last week."), "{}", h.screen());
    h.press("f");
    let message = AnyId::Message(MessageId(4));
    assert_eq!(
        h.take(),
        [Effect::Store(StoreRequest::PlanForget { ids: vec![message], matching: None })]
    );
    h.press("F");
    assert_eq!(h.take(), [Effect::Store(StoreRequest::PlanForgetFile(message))]);
    // Only facts are corrected.
    h.press("e");
    assert!(h.state.overlay.is_none());
    h.keys("left left left e");
    assert!(matches!(h.state.overlay, Some(Overlay::Edit(_))), "{}", h.screen());
    h.enter("!");
    assert_eq!(
        h.take(),
        [Effect::Store(StoreRequest::Edit {
            semantic: SemanticId(31),
            text: "Ana moved to Lund (week of 9 November 2026)!".into()
        })]
    );
    h.press("/");
    h.type_str("labrador");
    let screen = h.screen();
    assert!(screen.contains("1 found") && screen.contains("Max, a Labrador"), "{screen}");
    assert!(!screen.contains("Home and moves"), "{screen}");
    h.keys("enter esc");
    assert!(h.screen().contains("Home and moves"));
    assert!(h.state.pane.is_some());
    h.press("esc");
    assert!(h.state.pane.is_none());
    assert_eq!(h.state.focus, Focus::Input);
}

#[test]
fn typing_beside_the_why_pane_goes_to_the_input() {
    let mut h = Harness::ready(120, 30);
    h.exchange(1, "Where do I live?", "In Lund.", record());
    h.press("ctrl-g");
    h.take();
    assert_eq!(h.state.focus, Focus::Pane);
    h.type_str("and since when?");
    assert_eq!(h.state.editor.shown(), "and since when?");
    assert!(matches!(h.state.pane, Some(Pane::Why(_))));
    h.press("enter");
    assert_eq!(h.take(), [submit("and since when?")]);
}

#[test]
fn why_walks_through_the_answers_and_reads_old_ones() {
    let mut h = Harness::ready(80, 24);
    let messages = vec![
        message(1, Role::User, "First question?"),
        message(2, Role::Assistant, "First."),
        message(3, Role::User, "Second question?"),
        message(4, Role::Assistant, "Second."),
    ];
    let conversation = Conversation { title: "Old".into(), messages, ..Conversation::default() };
    h.chat(Update::Session { session: Some(SessionId(1)), conversation, incognito: false });
    // What each answer rests on is read with the chat; this one is asked for before that is there.
    assert_eq!(h.take(), [Effect::Store(StoreRequest::Whys(SessionId(1)))]);
    h.press("ctrl-g");
    assert_eq!(h.take(), [Effect::Store(StoreRequest::Why(MessageId(4)))]);
    h.feed(Event::Store(StoreReply::Why { message: MessageId(4), record: Some(record()) }));
    let screen = h.screen();
    assert!(screen.contains("Second question?") && !screen.contains("2.31"), "{screen}");
    let [Effect::Store(StoreRequest::Grounds { reply: MessageId(4), of })] = &h.take()[..] else {
        panic!("what was said is not asked for");
    };
    assert!(!of.is_empty());
    let said = vec![message(1, Role::User, "I moved to Lund\u{1b}[2J last week.")];
    h.feed(Event::Store(StoreReply::Grounds { reply: MessageId(4), said }));
    let screen = h.screen();
    assert!(screen.contains("you said, ") && screen.contains("“I moved to Lund"), "{screen}");
    h.press("ctrl-g");
    assert!(h.screen().contains("2.31 → 1.04"), "{}", h.screen());
    h.press("left");
    assert_eq!(h.take(), [Effect::Store(StoreRequest::Why(MessageId(2)))]);
    h.feed(Event::Store(StoreReply::Why { message: MessageId(2), record: None }));
    let screen = h.screen();
    assert!(screen.contains("First question?") && screen.contains("No memory was used"));
    assert!(screen.contains("answer 1 of 2"));
}

#[test]
fn lists_filter_and_choose() {
    let mut h = Harness::ready(80, 24);
    h.press("ctrl-s");
    h.take();
    h.feed(Event::Store(StoreReply::Sessions(vec![
        session(1, "Moving to Lund", "2026-11-16T09:00:00Z", false),
        session(2, "A new bike", "2026-11-20T09:00:00Z", false),
    ])));
    let screen = h.screen();
    assert!(screen.find("A new bike") < screen.find("Moving to Lund"), "newest first: {screen}");
    h.enter("lund");
    let find = Effect::Store(StoreRequest::Find("lu".into()));
    assert_eq!(h.take(), [find, Effect::Chat(Command::OpenSession(SessionId(1)))]);
    // History fills the input, and does not send it.
    h.press("ctrl-r");
    h.take();
    h.feed(Event::Store(StoreReply::History(vec!["older".into(), "newer".into()])));
    h.keys("ctrl-r enter");
    assert_eq!(h.state.editor.shown(), "older");
    assert_eq!(h.take(), []);
    // A late answer does not open a list that was closed.
    h.feed(Event::Store(StoreReply::Sessions(vec![])));
    assert!(h.state.overlay.is_none());
}

#[test]
fn the_palette_runs_what_it_shows() {
    let mut h = Harness::ready(80, 24);
    h.press("ctrl-p");
    h.enter("new chat");
    assert_eq!(h.take(), [Effect::Chat(Command::NewSession)]);
}

#[test]
fn scrolling_leaves_the_end_and_comes_back() {
    let mut h = Harness::ready(80, 24);
    for n in 0..30 {
        h.exchange(n, &format!("question {n}"), &format!("answer {n}"), json!({}));
    }
    assert!(h.screen().contains("answer 29"));
    h.press("pgup");
    let screen = h.screen();
    assert!(!screen.contains("answer 29") && screen.contains("more lines"), "{screen}");
    // What arrives meanwhile does not move the page.
    h.chat(Update::ReplyText("late".into()));
    assert_eq!(h.screen().lines().nth(3), screen.lines().nth(3));
    h.press("ctrl-home");
    assert!(h.screen().contains("question 0"));
    h.press("ctrl-end");
    h.chat(Update::ReplyDropped);
    assert!(h.screen().contains("answer 29"));
    h.keys("pgup pgdn pgdn");
    h.screen();
    assert!(h.state.transcript.follows());
}

#[test]
fn hostile_text_reaches_no_cell() {
    let evil = "\u{1b}[2J\u{1b}]0;pwned\u{7}\u{9b}31mred\u{202e}gnp.exe \u{0}";
    let mut h = Harness::ready(80, 24);
    let mut record = record();
    record["evidence"]["semantics"][0]["text"] = evil.into();
    record["evidence"]["episodes"][0]["title"] = evil.into();
    h.exchange(1, evil, evil, record);
    h.chat(Update::Notice { level: Level::Error, text: evil.into() });
    h.chat(Update::Progress(evil.into()));
    h.worker(WorkerState::Failed { what: evil.into() }, 0);
    let mut hostile = tree();
    hostile.themes[0].name = evil.into();
    hostile.themes[0].facts[0].content = evil.into();
    hostile.episodes[0].title = evil.into();
    let look = |h: &mut Harness| {
        let screen = h.screen();
        for c in screen.chars().filter(|&c| c != '\n') {
            assert!(!c.is_control() && c != '\u{202e}', "{c:?} in {screen}");
        }
        assert!(!screen.contains("[2J") && !screen.contains("pwned"), "{screen}");
    };
    look(&mut h);
    h.press("ctrl-g");
    look(&mut h);
    h.press("ctrl-t");
    h.feed(Event::Store(StoreReply::Tree(hostile)));
    look(&mut h);
    h.keys("5 right down right down");
    look(&mut h);
    h.press("esc");
    h.paste(evil);
    look(&mut h);
    h.feed(Event::Store(StoreReply::ForgetPlan {
        plan: ForgetPlan { messages: vec![MessageId(1)], ..ForgetPlan::default() },
        lines: vec![format!("  {evil}")],
        other: None,
    }));
    look(&mut h);
    // The clipboard, too.
    h.keys("n ctrl-y");
    let copied = h.take();
    assert!(
        copied
            .iter()
            .any(|d| matches!(d, Effect::Copy(text) if !text.chars().any(char::is_control))),
        "{copied:?}"
    );
}

#[test]
fn any_size_at_any_time() {
    let mut h = Harness::ready(80, 24);
    h.exchange(1, "Where do I live? 日本語 👩‍👩‍👧 שלום", &"long answer ".repeat(60), record());
    h.feed(Event::Store(StoreReply::Tree(tree())));
    for keys in [
        "", "ctrl-g", "esc", "ctrl-t", "n", "5", "right", "/", "x", "esc", "esc", "ctrl-p", "esc",
        "?",
    ] {
        if !keys.is_empty() {
            h.press(keys);
        }
        for (width, height) in [
            (1, 1),
            (10, 3),
            (39, 12),
            (40, 11),
            (40, 12),
            (41, 13),
            (99, 20),
            (100, 20),
            (200, 60),
            (300, 80),
        ] {
            h.resize(width, height);
            h.screen();
        }
    }
}
