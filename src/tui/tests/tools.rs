//! Tools: the list, the question before a call, what came of it.

use super::screens::check;
use super::*;
use crate::chat::{Call, CallResult, Command, Permission, ToolsStatus};
use crate::mcp::{ServerConfig, ServerState, Tool};

fn call(text: &str) -> Call {
    let arguments = json!({"path": "notes.md", "text": text}).as_object().unwrap().clone();
    Call { server: "files".into(), tool: "write_file".into(), arguments }
}

fn permit(permission: Permission) -> [Effect; 1] {
    [Effect::Chat(Command::Permit(permission))]
}

/// A screen on which a call is asked for.
fn asking(text: &str) -> Harness {
    let mut h = Harness::ready(80, 24);
    ask(&mut h, text);
    h
}

fn ask(h: &mut Harness, text: &str) {
    h.chat(Update::Phase(PhaseName::Asking));
    h.chat(Update::Asks(call(text)));
}

#[test]
fn a_call_is_shown_whole_and_asked_for() {
    check("tool_asked", Harness::ready, |h| ask(h, "a\u{1b}[31m line\nand more"));
    for (key, permission) in [
        ("y", Permission::Once),
        ("o", Permission::Chat),
        ("n", Permission::No),
        ("enter", Permission::No),
        ("esc", Permission::No),
    ] {
        let mut h = asking("x");
        h.tick(8);
        h.press(key);
        assert_eq!(h.take(), permit(permission), "{key}");
        assert!(h.state.overlay.is_none());
    }
    // All of a long argument can be read.
    let long = "é wx ".repeat(700) + "the end";
    let mut h = asking(&long);
    h.tick(8);
    for _ in 0..200 {
        assert!(!h.screen().contains('…'), "{}", h.screen());
        h.press("down");
    }
    assert!(h.screen().contains("the end"), "{}", h.screen());
    let wide = "é漢x ".repeat(700);
    assert_eq!(crate::tui::tools::rows(&wide).concat(), wide);
}

#[test]
fn nobody_types_a_yes_into_a_question_that_has_just_appeared() {
    let mut h = Harness::ready(80, 24);
    h.chat(Update::Phase(PhaseName::Replying));
    h.type_str("why");
    h.chat(Update::Phase(PhaseName::Asking));
    h.chat(Update::Asks(call("x")));
    for letter in "yo yes only you".chars() {
        h.type_str(&letter.to_string());
        h.tick(2);
    }
    assert_eq!(h.take(), []);
    h.tick(8);
    h.type_str("try yo");
    assert_eq!(h.take(), [], "nor later, in a word");
    h.tick(8);
    h.press("y");
    assert_eq!(h.take(), permit(Permission::Once));
    // It waits until what covers the screen is closed, and goes when the reply is stopped.
    let mut h = Harness::ready(80, 24);
    h.press("f1");
    h.chat(Update::Phase(PhaseName::Asking));
    h.chat(Update::Asks(call("x")));
    assert!(!h.screen().contains("write_file"));
    h.press("esc");
    assert!(h.screen().contains("write_file"));
    h.chat(Update::Phase(PhaseName::Idle));
    assert!(h.state.overlay.is_none() && !h.screen().contains("write_file"));
}

/// Two calls were made, and one of them failed.
fn called(h: &mut Harness) {
    h.exchange(1, "What is in my notes?", "Two things.", json!({}));
    let result = |text: &str, is_error| CallResult { text: text.into(), is_error };
    h.chat(Update::Called { call: call("x"), result: result("first thing\nsecond thing", false) });
    h.chat(Update::Called { call: call("\u{202e}y"), result: result("it has ended\nand", true) });
}

#[test]
fn what_tools_gave_is_a_row_that_unfolds() {
    check("tool_results", Harness::ready, |h| {
        called(h);
        h.enter("/tools show");
    });
    let mut h = Harness::ready(80, 24);
    called(&mut h);
    let folded = h.screen();
    assert!(folded.contains("files · write_file") && folded.contains("2 lines"), "{folded}");
    assert!(folded.contains("failed: it has ended") && !folded.contains("second"), "{folded}");
    h.enter("/tools show");
    assert!(h.screen().contains("second"), "{}", h.screen());
    h.enter("/tools show");
    assert_eq!(h.screen(), folded);
}

/// Three servers: one that runs, one that was not asked yet, one that has ended.
fn status() -> ToolsStatus {
    let server = |name: &str| ServerConfig {
        name: name.into(),
        command: "npx".into(),
        args: vec!["-y".into(), format!("server-{name}")],
        env: Vec::new(),
    };
    let tool = Tool {
        name: "read_file".into(),
        description: "Reads a file.\nAnd more.".into(),
        schema: json!({}),
    };
    let servers = Ok(vec![
        (server("files"), ServerState::Running(vec![tool])),
        (server("web"), ServerState::Waiting),
        (server("old"), ServerState::Failed("it has ended".into())),
    ]);
    ToolsStatus { servers, on: false }
}

/// They are asked for, with a model that knows tools.
fn listed(h: &mut Harness) {
    let mut profile = qwen();
    profile.knows_tools = true;
    h.chat(Update::Ready(profile));
    h.chat(Update::Tools(status()));
}

#[test]
fn the_tools_are_listed_and_turned_on() {
    check("tools", Harness::ready, listed);
    let mut h = Harness::ready(80, 24);
    h.enter("/tools");
    assert_eq!(h.take(), [Effect::Chat(Command::ListTools)]);
    h.chat(Update::Tools(status()));
    assert!(h.state.overlay.is_none() && h.screen().contains("knows no tools"), "the starter");
    listed(&mut h);
    h.press("y");
    assert_eq!(h.take(), [Effect::Chat(Command::Tools(true))]);
    h.chat(Update::ToolsOn(true));
    assert!(h.screen().lines().next().unwrap().ends_with(" tools"));
    h.chat(Update::ToolsOn(false));
    assert!(!h.screen().lines().next().unwrap().ends_with(" tools"));
    let none = ToolsStatus { servers: Err("There are no tools.".into()), on: false };
    h.chat(Update::Tools(none));
    assert!(h.state.overlay.is_none() && h.screen().contains("There are no tools."));
    for (typed, on) in [("/tools on", true), ("/tools off", false)] {
        h.enter(typed);
        assert_eq!(h.take(), [Effect::Chat(Command::Tools(on))]);
    }
    h.enter("/tools all");
    assert_eq!(h.take(), []);
}
