//! State × event → state and effects. Pure: no terminal, no store, no model.

use std::path::PathBuf;

use crossterm::event::{
    Event as TerminalEvent, KeyEvent, KeyEventKind, MouseButton, MouseEventKind,
};

use crate::chat::{Command, Forked, Level, MessageKind};
use crate::extractive::asked_to_forget;
use crate::memory::{Moment, plain_text};
use crate::texts::text;
use crate::tui::editor::{SEND_BYTES_MAX, size_of};
use crate::tui::event::{Effect, Event, StoreRequest};
use crate::tui::keys::{Action, Context};
use crate::tui::pickers::{Picker, PickerKind};
use crate::tui::state::{Confirm, Confirmed, Focus, Overlay, Pane, State};
use crate::tui::transcript::Body;
use crate::tui::{
    chat_updates, chats, files, learned, messages, overlays, panes, pickers, prompts, slash,
    store_replies, tools, welcome,
};

/// One step of the screen.
pub fn update(state: &mut State, event: Event, now: Moment) -> Vec<Effect> {
    state.now = now;
    let effects = step(state, event);
    settled(state, effects)
}

/// What a step asks for, with what always comes with it.
pub(super) fn settled(state: &mut State, mut effects: Vec<Effect>) -> Vec<Effect> {
    tools::ask(state);
    if state.trash.is_some() && effects.iter().any(|e| matches!(e, Effect::Quit(_))) {
        effects.splice(0..0, chats::delete(state));
    }
    if effects.iter().any(|e| matches!(e, Effect::Quit(_))) {
        effects.splice(0..0, learned::leave(state));
    }
    if state.queue.is_empty() {
        return effects;
    }
    // What waits was meant for this chat.
    let leaves = |e: &Effect| {
        matches!(
            e,
            Effect::Chat(
                Command::NewSession
                    | Command::OpenSession(_)
                    | Command::Incognito(_)
                    | Command::Fork { .. }
            )
        )
    };
    if effects.iter().any(leaves) {
        take_back(state, "");
    } else if effects.contains(&Effect::Quit(0)) {
        take_back(state, "");
        state.say(text!("These were not sent yet. Once more leaves."));
        effects.retain(|e| !matches!(e, Effect::Quit(_)));
    }
    effects
}

/// Puts a text that was returned, what waits and what is being written into the input, in that order.
pub(super) fn take_back(state: &mut State, returned: &str) {
    let waiting = state.queue.drain(..).map(|(text, kind)| typed(text, kind));
    let parts: Vec<String> =
        [returned.to_owned()].into_iter().chain(waiting).chain([state.editor.text()]).collect();
    let parts: Vec<&str> =
        parts.iter().map(String::as_str).filter(|part| !part.trim().is_empty()).collect();
    state.editor.set(&parts.join("\n"));
}

/// As the person typed it.
fn typed(text: String, kind: MessageKind) -> String {
    match kind {
        MessageKind::Remember => format!("/remember {text}"),
        MessageKind::Chat => text,
    }
}

fn step(state: &mut State, event: Event) -> Vec<Effect> {
    match event {
        Event::Tick => return tick(state),
        Event::Terminal(TerminalEvent::Key(key)) => return on_key(state, key),
        Event::Terminal(TerminalEvent::FocusGained) => state.looks_elsewhere = false,
        Event::Terminal(TerminalEvent::FocusLost) => state.looks_elsewhere = true,
        Event::Terminal(TerminalEvent::Paste(text)) => return paste(state, &text),
        Event::Terminal(TerminalEvent::Mouse(mouse)) => match mouse.kind {
            MouseEventKind::ScrollUp => wheel(state, -3),
            MouseEventKind::ScrollDown => wheel(state, 3),
            MouseEventKind::Down(MouseButton::Left)
                if state.overlay.is_none() && state.page().is_none() =>
            {
                messages::click(state, mouse.column, mouse.row);
                return welcome::click(state, mouse.column, mouse.row);
            }
            _ => {}
        },
        Event::Terminal(_) => {}
        Event::Chat(update) => return chat_updates::apply(state, update),
        Event::Store(reply) => return store_replies::apply(state, reply),
        Event::Written(Ok(text)) => state.editor.set(&text),
        Event::Written(Err(why)) => state.notice(Level::Warning, why),
    }
    Vec::new()
}

fn tick(state: &mut State) -> Vec<Effect> {
    state.tick += 1;
    state.hint.take_if(|(_, until)| state.tick >= *until);
    state.leaving_until.take_if(|until| state.tick >= *until);
    chats::tick(state)
}

// — keys —

fn on_key(state: &mut State, key: KeyEvent) -> Vec<Effect> {
    if key.kind == KeyEventKind::Release {
        return Vec::new();
    }
    let action = state.keys.lookup(Context::Chat, key);
    if action != Some(Action::Interrupt) {
        state.leaving_until = None;
    }
    if state.overlay.is_some() {
        return overlays::on_key(state, key);
    }
    if (state.focus == Focus::Pane || state.page().is_some())
        && let Some(effects) = panes::on_key(state, key)
    {
        return effects;
    }
    if state.focus == Focus::Messages
        && let Some(effects) = messages::on_key(state, key)
    {
        return effects;
    }
    if let Some(effects) = completion_key(state, key) {
        return effects;
    }
    if let Some(action) = action {
        return run(state, action);
    }
    input_key(state, key);
    // What may have been written since stands in the popup.
    let begins = state.editor.area.lines() == ["/"];
    begins.then_some(Effect::Store(StoreRequest::Prompts)).into_iter().collect()
}

/// Keys of the completion popup.
fn completion_key(state: &mut State, key: KeyEvent) -> Option<Vec<Effect>> {
    let mut offered = state.completions();
    let last = offered.len().checked_sub(1)?;
    let chosen = state.completion.min(last);
    let completion = offered.swap_remove(chosen);
    match state.keys.lookup(Context::Completion, key)? {
        Action::Up => state.completion = chosen.checked_sub(1).unwrap_or(last),
        Action::Down => state.completion = if chosen == last { 0 } else { chosen + 1 },
        Action::Close => state.completion_closed = true,
        Action::Accept if completion.is_whole => {
            state.editor.set(&completion.line);
            return Some(send(state));
        }
        _ => {
            state.editor.set(&format!("{} ", completion.line));
            state.completion = 0;
        }
    }
    Some(Vec::new())
}

fn input_key(state: &mut State, key: KeyEvent) {
    match state.keys.lookup(Context::Input, key) {
        Some(Action::Help) if state.editor.is_empty() => {
            state.overlay = Some(Overlay::Help { scroll: 0 });
        }
        Some(Action::Earlier) if state.editor.is_empty() && !state.transcript.is_empty() => {
            messages::up(state);
        }
        Some(Action::Earlier) if state.editor.on_first_line() => state.editor.earlier(),
        Some(Action::Later) if state.editor.on_last_line() => state.editor.later(),
        _ => {
            state.focus = Focus::Input;
            state.offered.chosen = None;
            state.editor.key(key);
            state.completion = 0;
            state.completion_closed = false;
        }
    }
}

fn paste(state: &mut State, text: &str) -> Vec<Effect> {
    if state.overlay.is_none() && panes::paste(state, text) {
        return Vec::new();
    }
    match &mut state.overlay {
        Some(Overlay::Picker(picker)) => {
            let line = plain_text(text.lines().next().unwrap_or_default());
            picker.filter.extend(line.chars().take(200));
            picker.selected = 0;
            if let Some(query) = picker.next_query() {
                return vec![Effect::Store(StoreRequest::Find(query))];
            }
        }
        Some(Overlay::Edit(edit)) => {
            let line: Vec<&str> = text.split_whitespace().take(500).collect();
            edit.editor.paste(&line.join(" "));
        }
        Some(_) => {}
        None => {
            // What is pasted is to be seen.
            let closed = if state.page().is_some() { panes::close(state) } else { Vec::new() };
            state.focus = Focus::Input;
            state.editor.paste(text);
            state.completion_closed = true;
            if text.len() > SEND_BYTES_MAX {
                state.say(text!(
                    "{size} pasted: Enter sends it in parts of at most {most}.",
                    size = size_of(text.len()),
                    most = size_of(SEND_BYTES_MAX)
                ));
            }
            return closed;
        }
    }
    Vec::new()
}

fn wheel(state: &mut State, by: isize) {
    let pane_scrolls = state.page().is_some() || state.focus == Focus::Pane && state.pane.is_some();
    match &mut state.overlay {
        Some(Overlay::Help { scroll }) => *scroll = scroll.saturating_add_signed(by as i16),
        Some(Overlay::Confirm(confirm)) => {
            confirm.scroll = confirm.scroll.saturating_add_signed(by as i16);
        }
        Some(_) => {}
        None if pane_scrolls => panes::scroll(state, by),
        None => state.transcript.scroll(by),
    }
}

/// What an action of the chat does.
pub(super) fn run(state: &mut State, action: Action) -> Vec<Effect> {
    match action {
        Action::Send => return send(state),
        Action::Newline => state.editor.newline(),
        Action::Escape => return escape(state),
        Action::Interrupt => return interrupt(state),
        Action::EndOfInput => {
            if state.editor.is_empty() {
                return vec![Effect::Quit(0)];
            }
            state.editor.area.delete_next_char();
        }
        Action::Palette => {
            let mut picker = Picker::new(PickerKind::Palette);
            picker.items = pickers::palette_items(&state.keys);
            picker.loading = false;
            state.overlay = Some(Overlay::Picker(picker));
        }
        Action::NewSession => return vec![Effect::Chat(Command::NewSession)],
        Action::Sessions => {
            return open_picker(state, PickerKind::Sessions, StoreRequest::Sessions);
        }
        Action::Look => {
            let mut picker = Picker::new(PickerKind::Look);
            picker.items = pickers::look_items();
            picker.loading = false;
            state.overlay = Some(Overlay::Picker(picker));
        }
        Action::Models => return open_picker(state, PickerKind::Models, StoreRequest::Models),
        Action::History => return open_picker(state, PickerKind::History, StoreRequest::History),
        Action::Memory if matches!(state.pane, Some(Pane::Memory(_))) => {
            return panes::close(state);
        }
        Action::Memory => return panes::open_memory(state),
        Action::Why if matches!(state.pane, Some(Pane::Why(_))) => {
            return panes::more_of_why(state);
        }
        Action::Why => return panes::open_why(state),
        Action::Help => state.overlay = Some(Overlay::Help { scroll: 0 }),
        Action::Copy => return copy(state),
        Action::SwitchFocus => {
            if state.focus == Focus::Input && prompts::to_next_place(state) {
                return Vec::new();
            }
            if let Some(word) = state.editor.word().filter(|word| word.starts_with('@')) {
                return vec![Effect::Store(StoreRequest::CompletePath(word))];
            }
            if welcome::next(state) {
                return Vec::new();
            }
            if state.pane.is_some() {
                state.focus = match state.focus {
                    Focus::Input | Focus::Messages => Focus::Pane,
                    Focus::Pane => Focus::Input,
                };
            } else {
                state.editor.area.insert_str("    ");
            }
        }
        Action::ChooseMessage => messages::up(state),
        Action::Suspend => return vec![Effect::Suspend],
        Action::WriteOutside => return vec![Effect::WriteOutside(state.editor.text())],
        Action::ScrollPage(by) => {
            let page = state.transcript.visible.get().saturating_sub(2).max(1) as isize;
            state.transcript.scroll(page * isize::from(by));
        }
        Action::ScrollLine(by) => state.transcript.scroll(isize::from(by)),
        Action::ScrollEnd(-1) => state.transcript.begin(),
        Action::ScrollEnd(_) => state.transcript.follow(),
        Action::Quit => return vec![Effect::Quit(0)],
        // Actions of other contexts.
        _ => {}
    }
    Vec::new()
}

fn open_picker(state: &mut State, kind: PickerKind, request: StoreRequest) -> Vec<Effect> {
    state.overlay = Some(Overlay::Picker(Picker::new(kind)));
    vec![Effect::Store(request)]
}

fn escape(state: &mut State) -> Vec<Effect> {
    if state.transcript.busy() {
        return vec![Effect::Chat(Command::Stop)];
    }
    if messages::stop_editing(state) {
        state.say(text!("Left as it was."));
    } else if state.offered.chosen.take().is_some() {
        return Vec::new();
    } else if state.pull.is_some() && state.pane.is_none() && state.transcript.follows() {
        return vec![Effect::Chat(Command::StopPull)];
    } else if state.pane.is_some() {
        return panes::close(state);
    } else if !state.transcript.follows() {
        state.transcript.follow();
    }
    Vec::new()
}

fn interrupt(state: &mut State) -> Vec<Effect> {
    if messages::stop_editing(state) {
        return Vec::new();
    }
    if !state.editor.is_empty() {
        state.editor.clear();
        return Vec::new();
    }
    if let Some((text, kind)) = state.queue.pop_back() {
        state.editor.set(&typed(text, kind));
        return Vec::new();
    }
    if state.transcript.busy() {
        return vec![Effect::Chat(Command::Stop)];
    }
    if state.leaving_until.is_some() {
        return vec![Effect::Quit(0)];
    }
    state.leaving_until = Some(state.tick + 25);
    let again = text!("{key} again leaves.", key = state.key(Action::Interrupt));
    state.hint = Some((again, state.tick + 25));
    Vec::new()
}

// — sending —

fn send(state: &mut State) -> Vec<Effect> {
    let text = state.editor.text();
    if text.trim().is_empty() {
        return welcome::take(state);
    }
    if slash::is_command(&text) {
        if let Some(filled) = prompts::called(state, &text) {
            state.editor.remember(text.trim());
            return prompts::put(state, filled);
        }
        return match slash::parse(&text) {
            Ok((command, arguments)) => {
                state.editor.remember(text.trim());
                state.editor.clear();
                prompts::tell_hidden(state, &text);
                (command.run)(state, arguments)
            }
            Err(why) => {
                state.say(why);
                Vec::new()
            }
        };
    }
    if prompts::to_next_place(state) {
        return Vec::new();
    }
    if text.len() > SEND_BYTES_MAX {
        state.overlay = Some(Overlay::Confirm(Confirm {
            title: text!("Send it in parts?").into(),
            lines: vec![
                text!(
                    "This message has {size}. One message takes at most {most}.",
                    size = size_of(text.len()),
                    most = size_of(SEND_BYTES_MAX)
                ),
                String::new(),
                text!("Yes sends the first part; the rest stays in the input for the next Enter.")
                    .into(),
            ],
            yes: text!("send the first part").into(),
            then: Confirmed::SendPart,
            other: None,
            scroll: 0,
            armed: 0,
        }));
        return Vec::new();
    }
    if state.editing.is_some() && state.transcript.busy() {
        state.say_busy();
        return Vec::new();
    }
    let text = state.editor.take();
    if files::mentions(&text) {
        if !state.transcript.busy() {
            state.transcript.sending = Some(text.clone());
            state.transcript.follow();
        }
        return vec![Effect::Store(StoreRequest::Attach(text))];
    }
    deliver(state, text)
}

/// A message as it is to be sent: to this chat, or, written anew, to one that goes on from what stood before it.
pub(super) fn deliver(state: &mut State, text: String) -> Vec<Effect> {
    let Some(editing) = state.editing.take() else {
        return submit(state, text, MessageKind::Chat);
    };
    state.editor.set(&editing.draft);
    let then = Forked::Submit(text);
    vec![Effect::Chat(Command::Fork { parent: editing.session, before: editing.message, then })]
}

/// Gives a text to the chat; while that is busy, it waits for its turn.
pub(super) fn submit(state: &mut State, text: String, kind: MessageKind) -> Vec<Effect> {
    if state.transcript.busy() {
        state.queue.push_back((text, kind));
        return Vec::new();
    }
    if kind == MessageKind::Chat
        && !state.incognito
        && let Some(what) = asked_to_forget(&text)
    {
        let what = what.to_owned();
        return vec![Effect::Store(StoreRequest::PlanForgetAbout { what, text })];
    }
    state.transcript.sending = Some(text.clone());
    state.transcript.follow();
    vec![Effect::Chat(Command::Submit { text, kind })]
}

/// Saves the open session as a file.
pub(super) fn export(state: &mut State, path: Option<PathBuf>) -> Vec<Effect> {
    if state.incognito {
        state.say(text!("An incognito chat is kept nowhere, so it can't be saved either."));
        return Vec::new();
    }
    if let Some(session) = state.transcript.session {
        return vec![Effect::Store(StoreRequest::Export { session, path })];
    }
    state.say(text!("There is nothing to save yet."));
    Vec::new()
}

fn copy(state: &mut State) -> Vec<Effect> {
    let last = state.transcript.entries.iter().rev().find_map(|e| match &e.body {
        Body::Reply(versions) => Some(versions.shown().message.content.as_str()),
        _ => None,
    });
    let Some(text) = last else {
        state.say(text!("There is no answer to copy yet."));
        return Vec::new();
    };
    let text = plain_text(text).into_owned();
    state.say(text!("Copied (if your terminal allows it)."));
    vec![Effect::Copy(text)]
}
