//! What is told of a chat, from the lines that are entered and the updates that come.

use super::super::tests::{at, no_session, pullable, qwen, record, session, starter, tree};
use super::*;
use crate::chat::{Command, Level, MessageKind, PhaseName, SavedReply};
use crate::memory::{Message, MessageId, Role, SessionId};
use crate::store::{Conversation, ForgetPlan};
use crate::testing::message;
use crate::tui::event::StoreReply;
use crate::tui::palette::Palette;

struct Plain {
    state: State,
    telling: Telling,
}

impl Plain {
    fn new() -> Self {
        let state = State::new(&Palette::named("mono"), at("2026-11-21T10:00:00Z"), "starter");
        let mut plain = Self { state, telling: Telling::default() };
        plain.chat(Update::Ready(starter()));
        plain.telling.take();
        plain
    }

    fn feed(&mut self, event: Event) -> Vec<Effect> {
        self.telling.feed(&mut self.state, event, at("2026-11-21T10:00:00Z"))
    }

    fn chat(&mut self, update: Update) -> Vec<Effect> {
        self.feed(Event::Chat(update))
    }

    fn store(&mut self, reply: StoreReply) -> Vec<Effect> {
        self.feed(Event::Store(reply))
    }

    fn enter(&mut self, line: &str) -> Vec<Effect> {
        self.telling.entered(&mut self.state, line, at("2026-11-21T10:00:00Z"))
    }

    #[track_caller]
    fn told(&mut self, expected: &str) {
        assert_eq!(self.telling.take(), expected);
    }

    fn done(&mut self, text: &str) {
        self.chat(Update::ReplyDone(SavedReply {
            message: message(3, Role::Assistant, text),
            record: record(),
            tokens_per_second: None,
        }));
        self.chat(Update::Phase(PhaseName::Idle));
    }
}

fn submit(text: &str) -> Vec<Effect> {
    vec![Effect::Chat(Command::Submit { text: text.into(), kind: MessageKind::Chat })]
}

#[test]
fn a_reply_is_told_by_paragraphs_once_and_without_markup() {
    let mut p = Plain::new();
    assert_eq!(p.enter("what do I need?"), submit("what do I need?"));
    let mine = message(2, Role::User, "what do I need?");
    p.chat(Update::UserMessage { title: "Tea".into(), message: mine });
    p.chat(Update::Phase(PhaseName::Replying));
    p.chat(Update::ReplyText("You **need**".into()));
    p.told("");
    p.chat(Update::ReplyText(" this:\n\n- tea\n- a pot\n\n```\nls -l\n\nls".into()));
    p.told("Answer: You need this:\n• tea\n• a pot\n");
    p.chat(Update::ReplyText("\n```".into()));
    p.done("You **need** this:\n\n- tea\n- a pot\n\n```\nls -l\n\nls\n```");
    let told = p.telling.take();
    assert!(told.contains("ls -l") && !told.contains("Answer") && !told.contains("tea"), "{told}");
    // It became something else than what was told.
    p.chat(Update::Phase(PhaseName::Replying));
    p.chat(Update::ReplyText("One.\n\nTwo".into()));
    p.told("Answer: One.\n");
    p.done("Only this.");
    p.told("Answer: Only this.\n");
}

#[test]
fn what_gives_way_to_a_reminder_is_not_told() {
    let mut p = Plain::new();
    p.chat(Update::Phase(PhaseName::Replying));
    p.chat(Update::ReplyText("You haven't told me that.".into()));
    let reminder = "\n\nYou told me: You are allergic to nuts.";
    p.chat(Update::ReplyText(reminder.into()));
    p.told("");
    p.done(reminder.trim_start());
    p.told("Answer: You told me: You are allergic to nuts.\n");
}

#[test]
fn waiting_stopping_and_what_could_not_be_saved_are_told() {
    let mut p = Plain::new();
    p.chat(Update::Phase(PhaseName::Recalling));
    for _ in 0..60 {
        p.feed(Event::Tick);
    }
    p.told("An answer is on its way.\n");
    let now = at("2026-11-21T10:00:00Z");
    let stopped = p.telling.interrupted(&mut p.state, now);
    assert_eq!(stopped, [Effect::Chat(Command::Stop)]);
    p.chat(Update::ReplyText("Half a".into()));
    p.chat(Update::Notice { level: Level::Error, text: "the disk is full".into() });
    p.chat(Update::Phase(PhaseName::Idle));
    p.told("Error: the disk is full\nAnswer: Half a\n");
    assert_eq!(p.telling.interrupted(&mut p.state, now), []);
    assert_eq!(p.telling.interrupted(&mut p.state, now), [Effect::Quit(0)]);
}

#[test]
fn several_lines_are_one_message() {
    let mut p = Plain::new();
    assert_eq!(p.enter("\"\"\"one"), []);
    assert_eq!(p.enter(""), []);
    assert_eq!(p.enter("/two\"\"\""), submit("one\n\n/two"));
    let mut p = Plain::new();
    assert_eq!(p.enter("\"\"\"only\"\"\""), submit("only"));
}

#[test]
fn a_question_takes_a_line() {
    let plan = || StoreReply::ForgetPlan {
        plan: ForgetPlan { messages: vec![MessageId(4)], ..ForgetPlan::default() },
        lines: vec!["1 message".into(), "  “Peanuts”".into()],
        other: None,
    };
    let mut p = Plain::new();
    p.enter("/forget peanuts");
    p.store(plan());
    let told = p.telling.take();
    assert!(told.contains("\n1 message\n  “Peanuts”\n") && told.contains("y: "), "{told}");
    assert!(told.ends_with(": leave it.\n"), "{told}");
    assert_eq!(p.enter(""), []);
    assert!(p.state.overlay.is_none());
    p.store(plan());
    p.telling.take();
    assert!(matches!(&p.enter("Yes")[..], [Effect::Store(StoreRequest::Forget(_))]));
}

#[test]
fn a_list_takes_a_number_or_words() {
    let mut p = Plain::new();
    assert_eq!(p.enter("/sessions"), [Effect::Store(StoreRequest::Sessions)]);
    let chats = || {
        vec![
            session(2, "Moving to Lund", "2026-11-20T10:00:00Z", false),
            session(3, "Max", "2026-11-19T10:00:00Z", false),
        ]
    };
    p.store(StoreReply::Sessions(chats()));
    let told = p.telling.take();
    assert!(told.starts_with("1. Moving to Lund, ") && told.contains("\n2. Max, "), "{told}");
    assert_eq!(p.enter("max"), [Effect::Store(StoreRequest::Find("max".into()))]);
    p.store(StoreReply::Found { query: "max".into(), found: Vec::new() });
    assert!(p.telling.take().starts_with("1. Max, "));
    assert_eq!(p.enter("1"), [Effect::Chat(Command::OpenSession(SessionId(3)))]);
    let said: Vec<Message> = (0..8)
        .map(|n| {
            message(
                2 * n,
                if n % 2 == 0 { Role::User } else { Role::Assistant },
                &format!("line {n}"),
            )
        })
        .collect();
    let conversation =
        Conversation { title: "Max".into(), messages: said, ..Conversation::default() };
    p.chat(Update::Session { session: Some(SessionId(3)), conversation, incognito: false });
    p.told("Chat: Max\n2 earlier messages\nYou: line 2\nAnswer: line 3\nYou: line 4\nAnswer: line 5\nYou: line 6\nAnswer: line 7\n");
    p.chat(no_session(false));
    p.told("A new chat.\n");
    p.enter("/model");
    p.store(StoreReply::Models { installed: Vec::new(), pullable: pullable() });
    let told = p.telling.take();
    assert!(told.contains("2. good-4b, download"), "{told}");
    assert_eq!(p.enter(""), []);
    p.chat(Update::Loading { name: Some("qwen3-0.6b".into()) });
    p.chat(Update::Ready(qwen()));
    p.told("Now with qwen3-0.6b.\n");
}

#[test]
fn memory_is_told_and_put_right() {
    let mut p = Plain::new();
    p.enter("/memory");
    let closed = p.store(StoreReply::Tree(tree()));
    assert_eq!(closed, [Effect::Store(StoreRequest::VisitPage)]);
    let told = p.telling.take();
    assert!(told.starts_with("About you:\n"), "{told}");
    assert!(told.contains(" s31, told yesterday"), "{told}");
    assert!(told.contains("\nBesides: People "), "{told}");
    p.enter("/memory plans");
    p.store(StoreReply::Tree(tree()));
    assert!(p.telling.take().starts_with("Plans:\n"));
    p.enter("/memory all");
    p.store(StoreReply::Tree(tree()));
    let told = p.telling.take();
    assert!(!told.contains("Besides"), "{told}");
    let edit =
        StoreRequest::Edit { semantic: "s31".parse().unwrap(), text: "Ana lives in Lund".into() };
    assert_eq!(p.enter("/correct s31 Ana lives in Lund"), [Effect::Store(edit)]);
    assert_eq!(p.enter("/correct Ana lives in Lund"), []);
    p.told("/correct s12 and the whole sentence, as it should be.\n");
    p.store(StoreReply::Edited);
    p.told("Corrected. /undo takes it back.\n");
}

#[test]
fn why_is_told_once_all_of_it_is_read() {
    let mut p = Plain::new();
    p.enter("/why");
    p.told("\nNo answer yet. After one, this shows what you said that it rests on.\n".trim_start());
    p.chat(Update::UserMessage {
        title: "Lund".into(),
        message: message(2, Role::User, "Where do I live?"),
    });
    p.done("In Lund.");
    p.telling.take();
    assert!(matches!(&p.enter("/why")[..], [Effect::Store(StoreRequest::Grounds { .. })]));
    p.told("");
    let said = vec![message(1, Role::User, "I moved to Lund last week")];
    p.store(StoreReply::Grounds { reply: MessageId(3), said });
    let told = p.telling.take();
    assert!(told.starts_with("Where do I live?\nIt was shown what you said, "), "{told}");
    assert!(told.contains("“I moved to Lund last week”") && p.state.pane.is_none(), "{told}");
}

#[test]
fn help_is_told_and_nothing_stays_open() {
    let mut p = Plain::new();
    p.enter("/help");
    let told = p.telling.take();
    assert!(
        told.contains("/forget ID… or TEXT: take something out of memory for good\n"),
        "{told}"
    );
    assert!(p.state.overlay.is_none());
    p.enter("/nonsense");
    p.told("There is no /nonsense. Type / to see the commands.\n");
    p.enter("");
    p.told("");
}
