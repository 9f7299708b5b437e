//! What the list of chats does besides opening one: rename, pin, delete.

use crate::chat::Command;
use crate::memory::SessionId;
use crate::texts::{plural, text};
use crate::tui::editor::Editor;
use crate::tui::event::{Effect, StoreRequest};
use crate::tui::keys::Action;
use crate::tui::pickers::{Pick, Picker};
use crate::tui::state::{Edit, Edited, Overlay, State, Trash};

/// Ticks until a deleted chat is gone.
const GRACE: u64 = 100;

/// An action on the chosen chat; `None` if it is not one of these.
pub(super) fn run(state: &mut State, action: Action) -> Option<Vec<Effect>> {
    let Some(Overlay::Picker(picker)) = &state.overlay else { return None };
    let item = picker.chosen()?;
    let id = item.session()?;
    match (action, &item.pick) {
        (Action::Rename, Pick::Session { .. }) => {
            let mut editor = Editor::default();
            editor.set(item.label.trim_start_matches(['★', '↳', ' ']));
            state.overlay = Some(Overlay::Edit(Box::new(Edit { what: Edited::Title(id), editor })));
            Some(Vec::new())
        }
        (Action::Pin, Pick::Session { pinned, .. }) => {
            let pin = StoreRequest::Pin { session: id, pinned: !pinned };
            Some(vec![Effect::Store(pin), Effect::Store(StoreRequest::Sessions)])
        }
        (Action::DeleteChat, _) => {
            toggle(state, id);
            Some(Vec::new())
        }
        _ => None,
    }
}

/// Deletes a chat, or takes that back.
fn toggle(state: &mut State, id: SessionId) {
    let mut chats = state.trash.take().map(|trash| trash.chats).unwrap_or_default();
    let n = chats.len();
    chats.retain(|chat| *chat != id);
    if chats.len() == n {
        chats.push(id);
    }
    state.trash = (!chats.is_empty()).then_some(Trash { chats, until: state.tick + GRACE });
}

pub(super) fn is_deleted(state: &State, id: SessionId) -> bool {
    state.trash.as_ref().is_some_and(|trash| trash.chats.contains(&id))
}

/// Says what is about to go, when the list is closed.
pub(super) fn say_deleted(state: &mut State) {
    let Some(trash) = &mut state.trash else { return };
    trash.until = state.tick + GRACE;
    let until = trash.until;
    let chats = plural!("{n} chat", "{n} chats", trash.chats.len());
    let text = text!(
        "{chats} deleted, with all that was learnt from there. /undo within ten seconds.",
        chats
    );
    state.hint = Some((text, until));
}

/// What `/undo` takes back first.
pub(super) fn restore(state: &mut State) -> bool {
    let Some(trash) = state.trash.take() else { return false };
    state.hint = None;
    let chats = plural!("{n} chat", "{n} chats", trash.chats.len());
    state.say(text!("Kept: {chats}.", chats));
    true
}

/// The time is over, or the program is left.
pub(super) fn delete(state: &mut State) -> Vec<Effect> {
    let Some(Trash { chats, .. }) = state.trash.take() else { return Vec::new() };
    let is_open = state.transcript.session.is_some_and(|open| chats.contains(&open));
    let leave = (is_open && !state.incognito).then_some(Effect::Chat(Command::NewSession));
    leave.into_iter().chain([Effect::Store(StoreRequest::DeleteChats(chats))]).collect()
}

/// One tick: while the list is open, nothing goes.
pub(super) fn tick(state: &mut State) -> Vec<Effect> {
    let is_listed = matches!(&state.overlay, Some(Overlay::Picker(_) | Overlay::Edit(_)));
    match &mut state.trash {
        Some(trash) if is_listed => trash.until = state.tick + GRACE,
        Some(trash) if state.tick >= trash.until && !state.transcript.busy() => {
            return delete(state);
        }
        _ => {}
    }
    Vec::new()
}

/// The list with something to look for in it.
pub(super) fn find(state: &mut State, words: &str) -> Vec<Effect> {
    let mut picker = Picker::new(crate::tui::pickers::PickerKind::Sessions);
    words.clone_into(&mut picker.filter);
    let find = picker.next_query().map(StoreRequest::Find);
    state.overlay = Some(Overlay::Picker(picker));
    [StoreRequest::Sessions].into_iter().chain(find).map(Effect::Store).collect()
}
