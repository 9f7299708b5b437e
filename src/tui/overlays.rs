//! What keys do in an overlay: help, lists, questions, the correction of a fact.

use crossterm::event::KeyEvent;

use crate::chat::{Command, MessageKind, Permission};
use crate::memory::{MessageId, SessionId};
use crate::texts::text;
use crate::tui::event::{Effect, StoreRequest};
use crate::tui::keys::{self, Action, Context};
use crate::tui::pickers::{Pick, PickerKind};
use crate::tui::state::{Confirmed, Edited, Overlay, State};
use crate::tui::{chats, messages, prompts, pulls, tools, update};

/// One key.
pub(super) fn on_key(state: &mut State, key: KeyEvent) -> Vec<Effect> {
    match &mut state.overlay {
        Some(Overlay::Help { scroll }) => match state.keys.lookup(Context::Help, key) {
            Some(Action::Close) => state.overlay = None,
            action => *scroll = scrolled(*scroll, action, 10),
        },
        // Whoever goes on typing has not read it.
        Some(Overlay::Confirm(confirm)) if state.tick < confirm.armed => {
            confirm.armed = state.tick + tools::ARMED_TICKS;
        }
        Some(Overlay::Confirm(confirm)) => match state.keys.lookup(Context::Confirm, key) {
            Some(Action::Accept) => {
                let then = confirm.then.clone();
                state.overlay = None;
                return confirmed(state, then);
            }
            Some(Action::Other) => {
                if let Some((_, then)) = confirm.other.clone() {
                    state.overlay = None;
                    return confirmed(state, then);
                }
            }
            Some(Action::Close) => {
                let is_call = matches!(confirm.then, Confirmed::Call(_));
                state.overlay = None;
                if is_call {
                    return confirmed(state, Confirmed::Call(Permission::No));
                }
            }
            // Somebody writes who has not read it.
            None if matches!(confirm.then, Confirmed::Call(_)) => {
                confirm.armed = state.tick + tools::ARMED_TICKS;
            }
            action => confirm.scroll = scrolled(confirm.scroll, action, 8),
        },
        Some(Overlay::Picker(_)) => return picker_key(state, key),
        Some(Overlay::Edit(_)) => return edit_key(state, key),
        None => {}
    }
    Vec::new()
}

/// The scroll position after an action, a page being `page` rows.
pub(super) fn scrolled(scroll: u16, action: Option<Action>, page: i16) -> u16 {
    scroll.saturating_add_signed(match action {
        Some(Action::Up) => -1,
        Some(Action::Down) => 1,
        Some(Action::ScrollPage(by)) => i16::from(by) * page,
        _ => 0,
    })
}

fn confirmed(state: &mut State, then: Confirmed) -> Vec<Effect> {
    match then {
        Confirmed::Forget(plan) => {
            if state.transcript.busy() {
                let stop = state.key(Action::Escape);
                state.say(text!(
                    "Not while an answer is being written. {key} stops it.",
                    key = stop
                ));
                return Vec::new();
            }
            vec![Effect::Store(StoreRequest::Forget(plan))]
        }
        Confirmed::Call(permission) => vec![Effect::Chat(Command::Permit(permission))],
        Confirmed::Tools(on) => vec![Effect::Chat(Command::Tools(on))],
        Confirmed::Pull(name) => pulls::begin(state, name),
        Confirmed::SendPart => {
            let part = state.editor.take_part();
            update::submit(state, part, MessageKind::Chat)
        }
    }
}

fn edit_key(state: &mut State, key: KeyEvent) -> Vec<Effect> {
    let Some(Overlay::Edit(edit)) = &mut state.overlay else { return Vec::new() };
    match state.keys.lookup(Context::Edit, key) {
        Some(Action::Accept) => {
            let text = edit.editor.text().split_whitespace().collect::<Vec<_>>().join(" ");
            let what = edit.what;
            if text.is_empty() {
                state.say(match what {
                    Edited::Fact(_) => text!("A fact can't be empty. To remove it, forget it."),
                    Edited::Title(_) => text!("A chat's title can't be empty."),
                });
                return Vec::new();
            }
            state.overlay = None;
            return match what {
                Edited::Fact(semantic) => {
                    vec![Effect::Store(StoreRequest::Edit { semantic, text })]
                }
                Edited::Title(session) => rename(state, session, text),
            };
        }
        Some(_) => state.overlay = None,
        // The chat's commands wait until this is closed.
        None if state.keys.lookup(Context::Chat, key).is_some() => {}
        None => edit.editor.key(key),
    }
    Vec::new()
}

/// Gives a chat another title, and shows the list again.
pub(super) fn rename(state: &mut State, session: SessionId, title: String) -> Vec<Effect> {
    if state.transcript.session == Some(session) {
        state.transcript.title.clone_from(&title);
    }
    let mut effects = vec![Effect::Store(StoreRequest::Rename { session, title })];
    effects.extend(update::run(state, Action::Sessions));
    effects
}

fn opened_by(kind: PickerKind) -> Action {
    match kind {
        PickerKind::Palette => Action::Palette,
        PickerKind::Sessions => Action::Sessions,
        PickerKind::Models => Action::Models,
        PickerKind::History => Action::History,
        PickerKind::Look => Action::Look,
        // No key opens it.
        PickerKind::Roles | PickerKind::Settings | PickerKind::Prompts => Action::Close,
    }
}

fn picker_key(state: &mut State, key: KeyEvent) -> Vec<Effect> {
    let Some(Overlay::Picker(picker)) = &mut state.overlay else { return Vec::new() };
    let last = picker.visible().len().saturating_sub(1);
    let chosen = picker.selected.min(last);
    let kind = picker.kind;
    if kind == PickerKind::Sessions
        && let Some(action) = state.keys.lookup(Context::ChatList, key)
        && let Some(effects) = chats::run(state, action)
    {
        return effects;
    }
    let Some(Overlay::Picker(picker)) = &mut state.overlay else { return Vec::new() };
    match state.keys.lookup(Context::Picker, key) {
        Some(Action::Close) => close_list(state),
        Some(Action::Up) => picker.selected = chosen.saturating_sub(1),
        Some(Action::Down) => picker.selected = (chosen + 1).min(last),
        Some(Action::ScrollPage(by)) => {
            picker.selected = chosen.saturating_add_signed(isize::from(by) * 8).min(last);
        }
        Some(Action::First) => picker.selected = 0,
        Some(Action::Last) => picker.selected = last,
        Some(Action::Accept) => return accept(state),
        Some(Action::DeleteChar) => {
            picker.filter.pop();
            picker.selected = 0;
        }
        Some(Action::ClearText) => {
            picker.filter.clear();
            picker.selected = 0;
        }
        // The key that opened a list closes it again.
        None if state.keys.lookup(Context::Chat, key) == Some(opened_by(kind)) => close_list(state),
        _ => {
            if let Some(c) = keys::typed(key) {
                picker.filter.push(c);
                picker.selected = 0;
            }
        }
    }
    if kind == PickerKind::Look {
        try_look(state);
    }
    find(state)
}

/// Takes the chosen line of a list, if there is one.
pub(super) fn accept(state: &mut State) -> Vec<Effect> {
    let Some(Overlay::Picker(picker)) = &state.overlay else { return Vec::new() };
    let Some(pick) = picker.chosen().map(|item| item.pick.clone()) else { return Vec::new() };
    close_list(state);
    picked(state, pick)
}

/// Shows the screen in the palette that the list stands on.
fn try_look(state: &mut State) {
    let Some(Overlay::Picker(picker)) = &state.overlay else { return };
    if let Some(Pick::Look(name)) = picker.chosen().map(|item| item.pick.clone()) {
        state.palette_before.get_or_insert(state.palette);
        let palette = (state.palettes)(name);
        state.set_palette(&palette);
    }
}

/// Asks the memory for what is typed into the list of chats.
pub(super) fn find(state: &mut State) -> Vec<Effect> {
    let Some(Overlay::Picker(picker)) = &mut state.overlay else { return Vec::new() };
    picker.next_query().map(|query| Effect::Store(StoreRequest::Find(query))).into_iter().collect()
}

fn close_list(state: &mut State) {
    state.overlay = None;
    if let Some(before) = state.palette_before.take() {
        state.set_palette(&before);
    }
    chats::say_deleted(state);
}

/// Opens a chat at a message.
pub(super) fn open_at(state: &mut State, session: SessionId, message: MessageId) -> Vec<Effect> {
    state.transcript.wanted = Some(message);
    if state.transcript.session == Some(session) {
        messages::show_wanted(state);
        return Vec::new();
    }
    vec![Effect::Chat(Command::OpenSession(session))]
}

fn picked(state: &mut State, pick: Pick) -> Vec<Effect> {
    match pick {
        Pick::Action(action) => update::run(state, action),
        Pick::Command(command) => (command.run)(state, ""),
        Pick::Session { id, .. } if state.transcript.session == Some(id) => Vec::new(),
        Pick::Session { id, .. } => vec![Effect::Chat(Command::OpenSession(id))],
        Pick::Message(session, message) => open_at(state, session, message),
        Pick::Model(name) => vec![Effect::Chat(Command::LoadModel(Some(name)))],
        Pick::Pull(model) => {
            pulls::ask(state, &model);
            Vec::new()
        }
        Pick::StopPull => vec![Effect::Chat(Command::StopPull)],
        Pick::Role(role) => vec![Effect::Chat(Command::Role(role))],
        Pick::Close => Vec::new(),
        Pick::Look(name) => {
            let palette = (state.palettes)(name);
            state.set_palette(&palette);
            vec![Effect::Store(StoreRequest::Look(name.to_owned()))]
        }
        Pick::Prompt(prompt) => prompts::put(state, prompt.fill("")),
        Pick::Text(text) => {
            state.editor.set(&text);
            Vec::new()
        }
    }
}
