//! Prompts of the person's own: called by name, filled into the input, listed.

use super::*;
use crate::chat::{Command, MessageKind, OwnFile as _, Template};
use crate::tui::event::StoreRequest;

fn read() -> Event {
    let prompt = |name, text| Template::parse(name, text).unwrap();
    let translate = "---\ndescription: into another language\n---\nInto {{language}}:\n\n{{input}}";
    Event::Store(StoreReply::Prompts {
        prompts: vec![
            prompt("memory", "All that you know."),
            prompt("standup", "What did I do yesterday?"),
            prompt("translate", translate),
        ],
        unusable: vec![("two words".into(), "its name is to be typed after /".into())],
    })
}

fn with_prompts(width: u16, height: u16) -> Harness {
    let mut h = Harness::ready(width, height);
    h.feed(read());
    h
}

fn submit(text: &str) -> Effect {
    Effect::Chat(Command::Submit { text: text.into(), kind: MessageKind::Chat })
}

#[test]
fn a_prompt_is_filled_into_the_input_and_sent_by_enter() {
    let mut h = with_prompts(80, 24);
    h.enter("/standup");
    assert_eq!(h.state.editor.shown(), "What did I do yesterday?");
    // They are read again where a command begins.
    assert_eq!((h.take(), h.n_prompts_read), (vec![], 1));
    h.press("enter");
    assert_eq!(h.take(), [submit("What did I do yesterday?")]);
    h.chat(Update::Phase(PhaseName::Idle));
    h.paste("/translate \"Old Norse\" good  evening");
    h.press("enter");
    h.press("enter");
    assert_eq!(h.take(), [submit("Into Old Norse:\n\ngood  evening")]);
    // The line that called it is in the history, too.
    h.chat(Update::Phase(PhaseName::Idle));
    h.press("up");
    assert_eq!(h.state.editor.shown(), "Into Old Norse:\n\ngood  evening");
    let line = "/translate \"Old Norse\" good  evening".to_owned();
    assert!(h.state.editor.history.contains(&line));
}

#[test]
fn a_missing_argument_is_asked_for_at_its_place() {
    let mut h = with_prompts(80, 24);
    h.type_str("/tr");
    h.keys("enter enter");
    assert_eq!(h.state.editor.shown(), "Into {{language}}:\n\n{{input}}");
    assert!(h.screen().contains("language: type what goes here."), "{}", h.screen());
    h.type_str("French");
    h.press("tab");
    assert!(h.screen().contains("input: type what goes here."), "{}", h.screen());
    h.press("tab");
    h.paste("good\nevening");
    h.take();
    h.press("enter");
    assert_eq!(h.take(), [submit("Into French:\n\ngood\nevening")]);
    // Enter sends nothing with a place in it, but leads there.
    h.chat(Update::Phase(PhaseName::Idle));
    h.paste("/translate German");
    h.press("enter");
    h.keys("ctrl-a enter");
    assert_eq!(h.take(), []);
    h.type_str("hi");
    h.press("enter");
    assert_eq!(h.take(), [submit("Into German:\n\nhi")]);
    // A message that only looks like one is sent as it is.
    h.chat(Update::Phase(PhaseName::Idle));
    h.paste("What does {{input}} mean?");
    h.press("enter");
    assert_eq!(h.take(), [submit("What does {{input}} mean?")]);
}

#[test]
fn a_command_goes_before_a_prompt_and_says_so_once() {
    let mut h = with_prompts(80, 24);
    h.paste("/memory");
    h.press("enter");
    assert_eq!(h.take(), [Effect::Store(StoreRequest::Tree { learned: false })]);
    h.keys("esc");
    assert!(h.screen().contains("prompts/memory.md was not used"), "{}", h.screen());
    let n_entries = h.state.transcript.entries.len();
    h.feed(read());
    h.paste("/memory");
    h.press("enter");
    assert_eq!(h.state.transcript.entries.len(), n_entries);
    h.press("esc");
    h.take();
    // The list says it, too, and why others can't be used.
    h.paste("/prompts");
    h.press("enter");
    assert_eq!((h.take(), h.n_prompts_read), (vec![], 1));
    h.feed(read());
    let screen = h.screen();
    assert!(screen.contains("can't be used: /memory is a command"), "{screen}");
    assert!(screen.contains("can't be used: its name"), "{screen}");
    h.press("enter");
    assert_eq!(h.state.editor.shown(), "What did I do yesterday?");
}

#[test]
fn screens() {
    screens::check("prompts", with_prompts, |h| {
        h.paste("/prompts");
        h.press("enter");
        h.feed(read());
    });
    screens::check("completion_prompts", with_prompts, |h| {
        h.type_str("/t");
        h.feed(read());
    });
    screens::check("prompt_places", with_prompts, |h| {
        h.paste("/translate");
        h.press("enter");
    });
}
