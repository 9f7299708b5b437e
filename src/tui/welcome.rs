//! What the empty chat offers: things to try, or the last chats. Tab or the mouse chooses.

use std::cell::RefCell;

use ratatui::layout::{Position, Rect};

use crate::chat::Command;
use crate::memory::{Moment, SessionId};
use crate::texts::{self, key};
use crate::tui::event::Effect;
use crate::tui::state::State;

/// Something that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Offer {
    /// What goes into the input, and what comes of it.
    Try(&'static str, &'static str),
    /// A chat, its title, and when it was last gone on with.
    Chat(SessionId, String, Moment),
}

/// What is chosen of it, and where the view put it.
#[derive(Debug, Default)]
pub struct Offered {
    pub chosen: Option<usize>,
    /// Set by the view.
    pub places: RefCell<Vec<(usize, Rect)>>,
}

/// The messages are English, as what the rules read.
const TRIALS: [(&str, &str); 3] = [
    ("I moved to Lund last week", key!("kept, and dated")),
    ("where do I live?", key!("answered from memory")),
    ("/memory", key!("all that is remembered")),
];

/// What is offered now.
pub fn offers(state: &State) -> Vec<Offer> {
    let chats = &state.greeting.chats;
    if chats.is_empty() {
        return TRIALS.iter().map(|&(text, what)| Offer::Try(text, texts::lookup(what))).collect();
    }
    chats.iter().map(|(id, title, at)| Offer::Chat(*id, title.clone(), *at)).collect()
}

/// Whether the screen shows offers, and nothing is written.
fn is_there(state: &State) -> bool {
    let transcript = &state.transcript;
    let is_empty =
        transcript.entries.is_empty() && transcript.sending.is_none() && transcript.live.is_none();
    is_empty && state.pane.is_none() && !state.offered.places.borrow().is_empty()
}

/// The next one; `false` where there is none.
pub(super) fn next(state: &mut State) -> bool {
    if !is_there(state) || !state.editor.is_empty() {
        return false;
    }
    let n = state.offered.places.borrow().len();
    state.offered.chosen = Some(state.offered.chosen.map_or(0, |chosen| (chosen + 1) % n));
    true
}

/// Takes the one that is chosen: what is to be tried goes into the input, a chat is opened.
pub(super) fn take(state: &mut State) -> Vec<Effect> {
    let chosen = state.offered.chosen.take().filter(|_| is_there(state) && state.editor.is_empty());
    match chosen.and_then(|n| offers(state).into_iter().nth(n)) {
        Some(Offer::Try(text, _)) => state.editor.set(text),
        Some(Offer::Chat(id, ..)) => return vec![Effect::Chat(Command::OpenSession(id))],
        None => {}
    }
    Vec::new()
}

/// Takes what was clicked on.
pub(super) fn click(state: &mut State, column: u16, row: u16) -> Vec<Effect> {
    let at = Position { x: column, y: row };
    let places = state.offered.places.borrow();
    let hit = places.iter().find(|(_, place)| place.contains(at)).map(|(n, _)| *n);
    drop(places);
    if hit.is_none() || !is_there(state) {
        return Vec::new();
    }
    state.editor.clear();
    state.offered.chosen = hit;
    take(state)
}
