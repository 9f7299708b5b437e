//! Keys of what lies over the chat: help, lists, questions, the correction of a fact.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::chat::{Command, Kind};
use crate::tui::event::{Do, Request};
use crate::tui::keys::{Action, BINDINGS};
use crate::tui::slash;
use crate::tui::state::{Confirmed, Item, Overlay, Pick, Picker, PickerKind, State};
use crate::tui::update;

/// One key.
pub(super) fn key(state: &mut State, key: KeyEvent, action: Option<Action>) -> Vec<Do> {
    // The key that opened an overlay closes it again, and so do these two.
    if matches!(action, Some(Action::Escape | Action::Interrupt)) {
        state.overlay = None;
        return Vec::new();
    }
    match &mut state.overlay {
        Some(Overlay::Help { scroll }) => {
            match (key.code, action) {
                (KeyCode::Up | KeyCode::Char('k'), _) => *scroll = scroll.saturating_sub(1),
                (KeyCode::Down | KeyCode::Char('j'), _) => *scroll = scroll.saturating_add(1),
                (_, Some(Action::ScrollPage(by))) => {
                    *scroll = scroll.saturating_add_signed(i16::from(by) * 10);
                }
                (KeyCode::Char('?' | 'q') | KeyCode::Enter, _) | (_, Some(Action::Help)) => {
                    state.overlay = None;
                }
                _ => {}
            }
            Vec::new()
        }
        Some(Overlay::Picker(_)) => picker_key(state, key, action),
        Some(Overlay::Confirm(confirm)) => {
            match (key.code, action) {
                (KeyCode::Char('y' | 'Y'), None) => {
                    let then = confirm.then.clone();
                    state.overlay = None;
                    return confirmed(state, then);
                }
                (KeyCode::Char('n' | 'N' | 'q'), None) | (_, Some(Action::Send)) => {
                    // Enter takes the safe answer.
                    state.overlay = None;
                }
                (KeyCode::Up, _) => confirm.scroll = confirm.scroll.saturating_sub(1),
                (KeyCode::Down, _) => confirm.scroll = confirm.scroll.saturating_add(1),
                (_, Some(Action::ScrollPage(by))) => {
                    confirm.scroll = confirm.scroll.saturating_add_signed(i16::from(by) * 8);
                }
                _ => {}
            }
            Vec::new()
        }
        Some(Overlay::Edit(edit)) => match action {
            Some(Action::Send) => {
                let text = edit.editor.text().split_whitespace().collect::<Vec<_>>().join(" ");
                let semantic = edit.semantic;
                if text.is_empty() {
                    state.say("A fact can't be empty. To remove it, forget it.");
                    return Vec::new();
                }
                state.overlay = None;
                vec![Do::Desk(Request::Edit { semantic, text })]
            }
            Some(_) => Vec::new(),
            None => {
                edit.editor.key(key);
                Vec::new()
            }
        },
        None => Vec::new(),
    }
}

fn confirmed(state: &mut State, then: Confirmed) -> Vec<Do> {
    match then {
        Confirmed::Forget(plan) => {
            if state.transcript.busy() {
                state.say("Not while an answer is being written. Esc stops it.");
                return Vec::new();
            }
            vec![Do::Desk(Request::Forget(plan))]
        }
        Confirmed::SendPart => {
            let part = state.editor.take_part();
            update::submit(state, part, Kind::Chat)
        }
    }
}

fn opened_by(kind: PickerKind) -> Action {
    match kind {
        PickerKind::Palette => Action::Palette,
        PickerKind::Sessions => Action::Sessions,
        PickerKind::Models => Action::Models,
        PickerKind::History => Action::History,
    }
}

fn picker_key(state: &mut State, key: KeyEvent, action: Option<Action>) -> Vec<Do> {
    let Some(Overlay::Picker(picker)) = &mut state.overlay else { return Vec::new() };
    let n = picker.visible().len();
    let chosen = picker.selected.min(n.saturating_sub(1));
    if action == Some(opened_by(picker.kind)) && picker.kind != PickerKind::History {
        state.overlay = None;
        return Vec::new();
    }
    match (key.code, action) {
        (KeyCode::Up, _) | (_, Some(Action::ScrollLine(-1))) => {
            picker.selected = chosen.saturating_sub(1);
        }
        // Ctrl+R again: the one before, as in a shell.
        (KeyCode::Down | KeyCode::Tab, _) | (_, Some(Action::ScrollLine(1) | Action::History)) => {
            picker.selected = (chosen + 1).min(n.saturating_sub(1));
        }
        (_, Some(Action::ScrollPage(by))) => {
            let to = chosen.saturating_add_signed(isize::from(by) * 8);
            picker.selected = to.min(n.saturating_sub(1));
        }
        (KeyCode::Home, _) => picker.selected = 0,
        (KeyCode::End, _) => picker.selected = n.saturating_sub(1),
        (_, Some(Action::Send)) => {
            let pick = picker.visible().get(chosen).map(|item| item.pick.clone());
            if let Some(pick) = pick {
                state.overlay = None;
                return picked(state, pick);
            }
        }
        (KeyCode::Backspace, _) => {
            picker.filter.pop();
            picker.selected = 0;
        }
        (KeyCode::Char('u'), None) if key.modifiers.contains(KeyModifiers::CONTROL) => {
            picker.filter.clear();
            picker.selected = 0;
        }
        (KeyCode::Char(c), None) => {
            picker.filter.push(c);
            picker.selected = 0;
        }
        _ => {}
    }
    Vec::new()
}

fn picked(state: &mut State, pick: Pick) -> Vec<Do> {
    match pick {
        Pick::Action(action) => update::run(state, action),
        Pick::Session(session) if state.transcript.session == Some(session) => Vec::new(),
        Pick::Session(session) => vec![Do::Chat(Command::OpenSession(session))],
        Pick::Model(name) => vec![Do::Chat(Command::LoadModel(Some(name)))],
        Pick::Text(text) => {
            state.editor.set(&text);
            Vec::new()
        }
    }
}

/// All that the palette offers.
pub(super) fn palette_items() -> Vec<Item> {
    let mut items: Vec<Item> = BINDINGS
        .iter()
        .filter_map(|b| {
            let action = b.action?;
            let mut label = b.help.to_owned();
            if let Some(first) = label.get_mut(0..1) {
                first.make_ascii_uppercase();
            }
            Some(Item { label, detail: b.keys.to_owned(), pick: Pick::Action(action) })
        })
        .collect();
    for name in ["remember", "forget"] {
        if let Some(spec) = slash::COMMANDS.iter().find(|c| c.name == name) {
            let mut label = spec.help.to_owned();
            if let Some(first) = label.get_mut(0..1) {
                first.make_ascii_uppercase();
            }
            items.push(Item {
                label,
                detail: format!("/{name}"),
                pick: Pick::Text(format!("/{name} ")),
            });
        }
    }
    items
}

/// Newest first.
pub(super) fn history_items(history: &[String]) -> Vec<Item> {
    history
        .iter()
        .rev()
        .map(|text| Item {
            label: crate::memory::plain_text(text).into_owned(),
            detail: String::new(),
            pick: Pick::Text(text.clone()),
        })
        .collect()
}

impl Picker {
    /// What an empty list says.
    #[must_use]
    pub fn empty(&self) -> &'static str {
        match (self.loading, self.filter.is_empty(), self.kind) {
            (true, ..) => "reading…",
            (_, false, _) => "nothing matches",
            (_, _, PickerKind::Sessions) => "no earlier chats yet",
            (_, _, PickerKind::Models) => "no models",
            (_, _, PickerKind::History) => "nothing sent yet",
            (_, _, PickerKind::Palette) => "",
        }
    }
}
