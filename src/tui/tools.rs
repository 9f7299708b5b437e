//! Tools in the chat: what there are, the question before each call, and what came of it.

use std::iter;

use crate::chat::{Call, CallResult, Command, Level, Permission, ToolsStatus};
use crate::mcp::ServerState;
use crate::memory::plain_text;
use crate::texts::{self, plural, text};
use crate::tui::event::Effect;
use crate::tui::state::{Confirm, Confirmed, Overlay, State};
use crate::tui::transcript::Body;
use crate::tui::wrap;

/// Keys typed within this many ticks were meant for something else.
pub(super) const ARMED_TICKS: u64 = 7;
/// What a row of a question may have, where the screen is narrow.
const ROW_CELLS: usize = 100;
/// Rows of a result that are shown unfolded.
const RESULT_ROWS_MAX: usize = 200;

/// `/tools`, with what follows it.
pub(super) fn command(state: &mut State, what: &str) -> Vec<Effect> {
    match what {
        "" => vec![Effect::Chat(Command::ListTools)],
        "on" => vec![Effect::Chat(Command::Tools(true))],
        "off" => vec![Effect::Chat(Command::Tools(false))],
        "show" => {
            state.transcript.unfolded ^= true;
            for entry in &state.transcript.entries {
                entry.laid.replace(None);
            }
            Vec::new()
        }
        _ => {
            state.say(text!(
                "/tools lists them; /tools on, /tools off; /tools show unfolds what they gave."
            ));
            Vec::new()
        }
    }
}

/// The servers and their tools, and whether they are to be on in this chat.
pub(super) fn list(state: &mut State, ToolsStatus { servers, on }: ToolsStatus) {
    let servers = match servers {
        Ok(servers) => servers,
        Err(why) => return state.notice(Level::Info, why),
    };
    let mut lines = Vec::new();
    for (config, of) in servers {
        let command: Vec<&str> =
            iter::once(&config.command).chain(&config.args).map(String::as_str).collect();
        lines.push(format!("{}: {}", config.name, command.join(" ")));
        match of {
            ServerState::Waiting => {
                lines.push(format!("  {}", text!("is started when it is first needed")));
            }
            ServerState::Failed(why) => {
                lines.push(format!("  {}", text!("failed: {why}", why)));
            }
            ServerState::Running(tools) => lines.extend(tools.into_iter().map(|tool| {
                let first = tool.description.trim().lines().next().unwrap_or_default();
                format!("  {} · {first}", tool.name)
            })),
        }
    }
    if state.model.profile().is_some_and(|profile| !profile.knows_tools) {
        lines.push(
            text!("The model in use is offered none of them: its chat format knows no tools.")
                .into(),
        );
        return state.notice(Level::Info, lines.join("\n"));
    }
    lines.push(String::new());
    lines.push(
        text!("A server is a program that runs with your rights. Each call is shown, and asked for, before it is made.").into(),
    );
    state.overlay = Some(Overlay::Confirm(Confirm {
        title: if on { text!("Tools are on") } else { text!("Tools") }.into(),
        lines,
        yes: if on { text!("turn them off") } else { text!("turn them on in this chat") }.into(),
        then: Confirmed::Tools(!on),
        other: None,
        scroll: 0,
        armed: 0,
    }));
}

/// Puts the question before a call on the screen, once nothing else covers it.
pub(super) fn ask(state: &mut State) {
    if state.overlay.is_some() {
        return;
    }
    let Some(call) = state.asks.take() else { return };
    let mut lines = vec![text!(
        "The model asks for `{tool}` of the server `{server}`, with",
        tool = call.tool,
        server = call.server
    )];
    lines.extend(rows(&arguments(&call, true)));
    state.overlay = Some(Overlay::Confirm(Confirm {
        title: text!("Call this tool?").into(),
        lines,
        yes: text!("once").into(),
        then: Confirmed::Call(Permission::Once),
        other: Some((text!("always in this chat").into(), Confirmed::Call(Permission::Chat))),
        scroll: 0,
        armed: state.tick + ARMED_TICKS,
    }));
}

/// The question is over, however it ended.
pub(super) fn forget_question(state: &mut State) {
    state.asks = None;
    let is_asked = |overlay: &mut Overlay| {
        matches!(overlay, Overlay::Confirm(Confirm { then: Confirmed::Call(_), .. }))
    };
    state.overlay.take_if(is_asked);
}

pub(super) fn called(state: &mut State, call: &Call, result: CallResult) {
    let head = format!("{} · {} {}", call.server, call.tool, arguments(call, false));
    state.transcript.push(Body::Called { head: plain_text(&head).into_owned(), result });
}

/// "12 lines", or what failed.
pub(super) fn outcome(result: &CallResult) -> String {
    let mut lines = result.text.lines();
    match (result.is_error, lines.clone().count()) {
        (true, _) => {
            text!("failed: {why}", why = texts::lookup(lines.next().unwrap_or_default()))
        }
        (false, 0) => text!("nothing").into(),
        (false, 1) => lines.next().unwrap_or_default().to_owned(),
        (false, n) => plural!("{n} line", "{n} lines", n),
    }
}

/// The rows of a result.
pub(super) fn result_rows(result: &CallResult) -> impl Iterator<Item = &str> {
    let more = result.text.lines().nth(RESULT_ROWS_MAX).map(|_| "…");
    result.text.lines().take(RESULT_ROWS_MAX).chain(more)
}

fn arguments(call: &Call, spread: bool) -> String {
    let text = if spread {
        serde_json::to_string_pretty(&call.arguments)
    } else {
        serde_json::to_string(&call.arguments)
    };
    plain_text(&text.unwrap_or_default()).into_owned()
}

/// All of a text, in rows that no question cuts.
pub(super) fn rows(text: &str) -> Vec<String> {
    let mut rows = Vec::new();
    for line in text.lines() {
        let mut rest = line;
        while wrap::width(rest) > ROW_CELLS {
            let row = wrap::cut(rest, ROW_CELLS);
            let n = row.len().clamp(rest.ceil_char_boundary(1), rest.len());
            rows.push(rest[..n].to_owned());
            rest = &rest[n..];
        }
        rows.push(rest.to_owned());
    }
    rows
}
