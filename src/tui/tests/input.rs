//! The input: what waits for its turn, keys, the editor outside.

use super::*;
use crate::chat::{Command, MessageKind};
use crate::memory::with_attached;
use crate::tui::event::StoreRequest;

#[test]
fn messages_wait_for_their_turn() {
    let send =
        |text: &str| Effect::Chat(Command::Submit { text: text.into(), kind: MessageKind::Chat });
    let mut h = Harness::ready(80, 24);
    h.enter("one");
    assert_eq!(h.take(), [send("one")]);
    h.enter("two");
    h.enter("three");
    assert_eq!(h.take(), []);
    assert!(h.screen().contains("2 more to be sent"), "{}", h.screen());
    h.press("ctrl-c");
    assert_eq!(h.state.editor.shown(), "three");
    h.press("enter");
    h.chat(Update::Phase(PhaseName::Idle));
    assert_eq!(h.take(), [send("two")]);
    h.chat(Update::Phase(PhaseName::Idle));
    assert_eq!(h.take(), [send("three")]);
    // Not into another chat: the old one is left before the new one is there.
    h.enter("four");
    h.enter("/remember five");
    h.press("ctrl-n");
    assert_eq!(h.take(), [Effect::Chat(Command::NewSession)]);
    assert_eq!(h.state.editor.shown(), "four\n/remember five");
    h.chat(Update::Phase(PhaseName::Idle));
    assert_eq!(h.take(), []);
    h.state.editor.clear();
    // Nor lost by leaving, or by a message that could not be kept.
    h.enter("six");
    h.enter("seven");
    h.take();
    h.press("ctrl-d");
    assert_eq!(h.take(), []);
    assert_eq!(h.state.editor.shown(), "seven");
    h.press("enter");
    h.chat(Update::Returned { text: "six".into() });
    assert_eq!(h.state.editor.shown(), "six\nseven");
}

#[test]
fn the_input_takes_a_shells_keys_and_what_an_editor_wrote() {
    let mut h = Harness::ready(80, 24);
    h.type_str("one two three");
    h.press("ctrl-w");
    assert_eq!(h.state.editor.shown(), "one two ");
    h.press("ctrl-u");
    assert_eq!(h.state.editor.shown(), "");
    h.type_str("draft");
    h.press("ctrl-o");
    assert_eq!(h.take(), [Effect::WriteOutside("draft".into())]);
    h.feed(Event::Written(Ok("long\ntext".into())));
    assert_eq!(h.state.editor.shown(), "long\ntext");
    h.feed(Event::Written(Err("The editor: gone".into())));
    assert_eq!(h.state.editor.shown(), "long\ntext");
    assert!(h.screen().contains("The editor: gone"));
}

#[test]
fn files_go_with_a_message() {
    let send =
        |text: &str| Effect::Chat(Command::Submit { text: text.into(), kind: MessageKind::Chat });
    let mut h = Harness::ready(80, 24);
    h.type_str("Sum up @no");
    h.press("tab");
    assert_eq!(h.take(), [Effect::Store(StoreRequest::CompletePath("@no".into()))]);
    let completed = |word: &str, completed: &str| {
        let names = vec!["notes.md".into(), "novel.md".into()];
        let (word, completed) = (word.into(), completed.into());
        Event::Store(StoreReply::CompletedPath { word, completed, names })
    };
    h.feed(completed("@no", "@no"));
    assert!(h.screen().contains("notes.md  novel.md"), "{}", h.screen());
    h.type_str("t");
    // What comes late is not written.
    h.feed(completed("@no", "@novel.md"));
    assert_eq!(h.state.editor.shown(), "Sum up @not");
    h.feed(completed("@not", "@notes.md"));
    assert_eq!(h.state.editor.shown(), "Sum up @notes.md");
    h.press("enter");
    assert_eq!(h.take(), [Effect::Store(StoreRequest::Attach("Sum up @notes.md".into()))]);
    assert!(h.screen().contains("▌ Sum up @notes.md"));
    let text = with_attached("Sum up @notes.md", "notes.md, 3 bytes", "tea");
    h.feed(Event::Store(StoreReply::Attached(Ok(text.clone()))));
    assert_eq!(h.take(), [send(&text)]);
    // The screen shows the file's name, not all of it.
    let sent = Update::UserMessage { title: "x".into(), message: message(1, Role::User, &text) };
    h.chat(sent);
    h.chat(Update::Phase(PhaseName::Idle));
    let screen = h.screen();
    assert!(screen.contains("▌ + notes.md, 3 bytes") && !screen.contains("tea"), "{screen}");
    // What can't be read is said, and the message is back.
    h.enter("Look at @cat.png");
    let why = "cat.png is an image: the models here read text only".to_owned();
    h.feed(Event::Store(StoreReply::Attached(Err((why, "Look at @cat.png".into())))));
    assert_eq!(h.state.editor.shown(), "Look at @cat.png");
    assert!(h.screen().contains("Not sent: cat.png is an image"), "{}", h.screen());
    assert!(!h.state.transcript.busy());
}
