//! What keys do in an overlay: help, lists, questions, the correction of a fact.

use crossterm::event::KeyEvent;

use crate::chat::{Command, MessageKind};
use crate::tui::event::{Effect, StoreRequest};
use crate::tui::keys::{self, Action, Context};
use crate::tui::state::{Confirmed, Overlay, Pick, PickerKind, State};
use crate::tui::update;

/// One key.
pub(super) fn on_key(state: &mut State, key: KeyEvent) -> Vec<Effect> {
    match &mut state.overlay {
        Some(Overlay::Help { scroll }) => match keys::lookup(Context::Help, key) {
            Some(Action::Close) => state.overlay = None,
            action => *scroll = scrolled(*scroll, action, 10),
        },
        Some(Overlay::Confirm(confirm)) => match keys::lookup(Context::Confirm, key) {
            Some(Action::Accept) => {
                let then = confirm.then.clone();
                state.overlay = None;
                return confirmed(state, then);
            }
            Some(Action::Close) => state.overlay = None,
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
                state.say("Not while an answer is being written. Esc stops it.");
                return Vec::new();
            }
            vec![Effect::Store(StoreRequest::Forget(*plan))]
        }
        Confirmed::SendPart => {
            let part = state.editor.take_part();
            update::submit(state, part, MessageKind::Chat)
        }
    }
}

fn edit_key(state: &mut State, key: KeyEvent) -> Vec<Effect> {
    let Some(Overlay::Edit(edit)) = &mut state.overlay else { return Vec::new() };
    match keys::lookup(Context::Edit, key) {
        Some(Action::Accept) => {
            let text = edit.editor.text().split_whitespace().collect::<Vec<_>>().join(" ");
            let semantic = edit.semantic;
            if text.is_empty() {
                state.say("A fact can't be empty. To remove it, forget it.");
                return Vec::new();
            }
            state.overlay = None;
            return vec![Effect::Store(StoreRequest::Edit { semantic, text })];
        }
        Some(_) => state.overlay = None,
        // The chat's commands wait until this is closed.
        None if keys::lookup(Context::Chat, key).is_some() => {}
        None => edit.editor.key(key),
    }
    Vec::new()
}

fn opened_by(kind: PickerKind) -> Action {
    match kind {
        PickerKind::Palette => Action::Palette,
        PickerKind::Sessions => Action::Sessions,
        PickerKind::Models => Action::Models,
        PickerKind::History => Action::History,
    }
}

fn picker_key(state: &mut State, key: KeyEvent) -> Vec<Effect> {
    let Some(Overlay::Picker(picker)) = &mut state.overlay else { return Vec::new() };
    let last = picker.visible().len().saturating_sub(1);
    let chosen = picker.selected.min(last);
    match keys::lookup(Context::Picker, key) {
        Some(Action::Close) => state.overlay = None,
        Some(Action::Up) => picker.selected = chosen.saturating_sub(1),
        Some(Action::Down) => picker.selected = (chosen + 1).min(last),
        Some(Action::ScrollPage(by)) => {
            picker.selected = chosen.saturating_add_signed(isize::from(by) * 8).min(last);
        }
        Some(Action::First) => picker.selected = 0,
        Some(Action::Last) => picker.selected = last,
        Some(Action::Accept) => {
            let pick = picker.visible().get(chosen).map(|item| item.pick.clone());
            if let Some(pick) = pick {
                state.overlay = None;
                return picked(state, pick);
            }
        }
        Some(Action::DeleteChar) => {
            picker.filter.pop();
            picker.selected = 0;
        }
        Some(Action::ClearText) => {
            picker.filter.clear();
            picker.selected = 0;
        }
        // The key that opened a list closes it again.
        None if keys::lookup(Context::Chat, key) == Some(opened_by(picker.kind)) => {
            state.overlay = None;
        }
        _ => {
            if let Some(c) = keys::typed(key) {
                picker.filter.push(c);
                picker.selected = 0;
            }
        }
    }
    Vec::new()
}

fn picked(state: &mut State, pick: Pick) -> Vec<Effect> {
    match pick {
        Pick::Action(action) => update::run(state, action),
        Pick::Command(command) => (command.run)(state, ""),
        Pick::Session(id) if state.transcript.session == Some(id) => Vec::new(),
        Pick::Session(id) => vec![Effect::Chat(Command::OpenSession(id))],
        Pick::Model(name) => vec![Effect::Chat(Command::LoadModel(Some(name)))],
        Pick::Text(text) => {
            state.editor.set(&text);
            Vec::new()
        }
    }
}
