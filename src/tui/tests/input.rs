//! The input: what waits for its turn, keys, the editor outside.

use super::*;
use crate::chat::{Command, MessageKind};

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
