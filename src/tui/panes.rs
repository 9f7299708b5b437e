//! What stands beside the chat or instead of it, the memory and *why*: what opens and fills it, what keys do there.

use std::collections::HashMap;
use std::rc::Rc;

use crossterm::event::{KeyCode, KeyEvent};

use crate::memory::{EpisodeId, Message, MessageId, Moment, SemanticId, plain_text};
use crate::store::AnyId;
use crate::texts::text;
use crate::tui::editor::Editor;
use crate::tui::event::{Effect, StoreRequest, Tree};
use crate::tui::keys::{self, Action, Context};
use crate::tui::palette::Palette;
use crate::tui::state::{Edit, Edited, Focus, MemoryPane, Node, Overlay, Pane, State, WhyPane};
use crate::tui::why::Recorded;
use crate::tui::{learned, memory_tree, overlays, page};

pub(super) fn open_memory(state: &mut State) -> Vec<Effect> {
    let mut effects = learned::leave(state);
    state.pane = Some(Pane::Memory(Box::default()));
    state.focus = Focus::Pane;
    effects.push(Effect::Store(StoreRequest::Tree { learned: false }));
    effects
}

pub(super) fn open_why(state: &mut State) -> Vec<Effect> {
    let last = state.transcript.replies().last().copied();
    show_why(state, last)
}

/// Why this answer.
pub(super) fn open_why_of(state: &mut State, reply: MessageId) -> Vec<Effect> {
    show_why(state, Some(reply))
}

fn show_why(state: &mut State, reply: Option<MessageId>) -> Vec<Effect> {
    let mut effects = learned::leave(state);
    state.pane = Some(Pane::Why(WhyPane { reply, ..WhyPane::default() }));
    state.focus = Focus::Pane;
    effects.extend(ask_why(state));
    effects
}

/// Another answer, in the same way.
pub(super) fn why_of_another(pane: &mut WhyPane, reply: MessageId) {
    *pane = WhyPane { reply: Some(reply), in_detail: pane.in_detail, ..WhyPane::default() };
}

/// In detail, and then no more.
pub(super) fn more_of_why(state: &mut State) -> Vec<Effect> {
    match &mut state.pane {
        Some(Pane::Why(pane)) if !pane.in_detail => {
            (pane.in_detail, pane.scroll) = (true, 0);
            Vec::new()
        }
        _ => close(state),
    }
}

/// What answers rest on, as it is read.
pub(super) fn put_whys(state: &mut State, whys: HashMap<MessageId, Recorded>) -> Vec<Effect> {
    state.transcript.set_whys(whys);
    ask_why(state)
}

/// Likewise, what was said of which an answer's memories were made.
pub(super) fn put_grounds(state: &mut State, reply: MessageId, said: Vec<Message>) {
    if let Some(Pane::Why(pane)) = &mut state.pane
        && pane.reply == Some(reply)
    {
        pane.grounds = Some(said);
    }
}

/// Asks for the record of the answer shown, and for what was said of which its memories were made, if they are not known yet.
pub(super) fn ask_why(state: &State) -> Vec<Effect> {
    let Some(Pane::Why(WhyPane { reply: Some(reply), grounds, .. })) = &state.pane else {
        return Vec::new();
    };
    let request = match state.transcript.why(*reply) {
        Some((_, false)) => StoreRequest::Why(*reply),
        Some((Some(why), true)) if grounds.is_none() => {
            StoreRequest::Grounds { reply: *reply, of: why.grounds() }
        }
        _ => return Vec::new(),
    };
    vec![Effect::Store(request)]
}

/// Closes the pane; what was thrown away there goes.
pub(super) fn close(state: &mut State) -> Vec<Effect> {
    let effects = learned::leave(state);
    state.pane = None;
    state.focus = Focus::Input;
    effects
}

/// The wheel, while the pane has the focus.
pub(super) fn scroll(state: &mut State, by: isize) {
    match &mut state.pane {
        Some(Pane::Why(pane)) => pane.scroll = pane.scroll.saturating_add_signed(by as i16),
        Some(Pane::Memory(pane)) if pane.lists() => pane.page.step(by),
        Some(Pane::Memory(pane)) => {
            let tree = pane.state.get_mut();
            if by < 0 {
                tree.scroll_up(by.unsigned_abs());
            } else {
                tree.scroll_down(by.unsigned_abs());
            }
        }
        None => {}
    }
}

/// One key for the pane that has the focus; `None` if it is not the pane's.
pub(super) fn on_key(state: &mut State, key: KeyEvent) -> Option<Vec<Effect>> {
    let effects = pane_key(state, key);
    if let Some(Pane::Memory(pane)) = &mut state.pane
        && pane.is_old
        && !pane.lists()
    {
        memory_tree::bring_up_to_date(pane, &state.palette);
        memory_tree::open_found(pane, &state.palette);
    }
    effects
}

fn pane_key(state: &mut State, key: KeyEvent) -> Option<Vec<Effect>> {
    match &mut state.pane {
        Some(Pane::Why(_)) => why_key(state, key),
        Some(Pane::Memory(pane)) if pane.searching => search_key(state, key),
        Some(Pane::Memory(_)) => memory_key(state, key),
        None => None,
    }
}

/// `None` for keys that are not this pane's: what is typed goes into the message.
fn why_key(state: &mut State, key: KeyEvent) -> Option<Vec<Effect>> {
    let action = state.keys.lookup(Context::WhyPane, key)?;
    let replies = state.transcript.replies();
    let Some(Pane::Why(pane)) = &mut state.pane else { return None };
    let at = pane.reply.and_then(|id| replies.iter().position(|&r| r == id));
    let other = match action {
        Action::Left => at.and_then(|at| at.checked_sub(1)),
        Action::Right => at.map(|at| at + 1),
        Action::Help => {
            state.overlay = Some(Overlay::Help { scroll: 0 });
            return Some(Vec::new());
        }
        Action::Close => return Some(close(state)),
        Action::Why => return Some(more_of_why(state)),
        _ => {
            pane.scroll = overlays::scrolled(pane.scroll, Some(action), 10);
            None
        }
    };
    if let Some(&id) = other.and_then(|at| replies.get(at)) {
        why_of_another(pane, id);
    }
    Some(ask_why(state))
}

fn search_key(state: &mut State, key: KeyEvent) -> Option<Vec<Effect>> {
    let Some(Pane::Memory(pane)) = &mut state.pane else { return None };
    match state.keys.lookup(Context::MemorySearch, key) {
        Some(Action::Close) => {
            pane.searching = false;
            pane.search.clear();
        }
        Some(Action::DeleteChar) => {
            pane.search.pop();
        }
        Some(_) => pane.searching = false,
        None => pane.search.push(keys::typed(key)?),
    }
    look_for(pane, &state.palette, state.now);
    Some(Vec::new())
}

/// The search has changed.
fn look_for(pane: &mut MemoryPane, palette: &Palette, now: Moment) {
    memory_tree::rebuild(pane, palette);
    if !pane.is_old {
        memory_tree::open_found(pane, palette);
    }
    pane.rebuild_page(now);
}

/// What is pasted while the memory is searched is looked for; otherwise `false`.
pub(super) fn paste(state: &mut State, text: &str) -> bool {
    match &mut state.pane {
        Some(Pane::Memory(pane)) if pane.searching && state.focus == Focus::Pane => {
            let line = plain_text(text.lines().next().unwrap_or_default()).into_owned();
            pane.search.extend(line.chars().take(200));
            look_for(pane, &state.palette, state.now);
            true
        }
        _ => false,
    }
}

fn memory_key(state: &mut State, key: KeyEvent) -> Option<Vec<Effect>> {
    let palette = state.palette;
    let Some(Pane::Memory(pane)) = &mut state.pane else { return None };
    if pane.learned
        && let Some(effects) = learned::on_key(state, key)
    {
        return Some(effects);
    }
    if state.page().is_some()
        && let Some(effects) = page::on_key(state, key)
    {
        return Some(effects);
    }
    let now = state.now;
    let Some(Pane::Memory(pane)) = &mut state.pane else { return None };
    let Some(action) = state.keys.lookup(Context::MemoryPane, key) else {
        // A wrong key here must not write into the message, least of all where that is not to be seen.
        let may_write = !pane.learned || matches!(key.code, KeyCode::Char(_));
        let is_hidden = match state.keys.lookup(Context::Chat, key) {
            None => may_write,
            Some(action) => {
                !pane.learned && matches!(action, Action::Newline | Action::ChooseMessage)
            }
        };
        return is_hidden.then(Vec::new);
    };
    match action {
        Action::Up => step(pane, -1),
        Action::Down => step(pane, 1),
        Action::First => step(pane, isize::MIN),
        Action::Last => step(pane, isize::MAX),
        Action::ScrollPage(by) => step(pane, isize::from(by) * 8),
        Action::Left => {
            pane.state.get_mut().key_left();
        }
        Action::Right => {
            pane.state.get_mut().key_right();
            memory_tree::fill_opened(pane, &palette);
            return Some(read_opened(pane));
        }
        Action::Accept => {
            pane.state.get_mut().toggle_selected();
            memory_tree::fill_opened(pane, &palette);
            return Some(read_opened(pane));
        }
        Action::Search => pane.searching = true,
        Action::Forget => {
            let plan =
                |id| Effect::Store(StoreRequest::PlanForget { ids: vec![id], matching: None });
            return Some(selected(pane).map(plan).into_iter().collect());
        }
        Action::ForgetFile => {
            let plan = |id| Effect::Store(StoreRequest::PlanForgetFile(id));
            return Some(selected(pane).map(plan).into_iter().collect());
        }
        Action::Edit => {
            if let Some((semantic, mut text)) = selected_fact(pane) {
                // As it stands there.
                if let Some(known) = pane.page.chosen().filter(|_| pane.lists()) {
                    text.clone_from(&known.sentence);
                }
                let mut editor = Editor::default();
                editor.set(&text);
                state.overlay =
                    Some(Overlay::Edit(Box::new(Edit { what: Edited::Fact(semantic), editor })));
            } else {
                state.say(text!("Only facts can be corrected, once they are noted."));
            }
        }
        Action::Undo => return Some(vec![Effect::Store(StoreRequest::Undo)]),
        Action::Close if !pane.search.is_empty() => {
            pane.search.clear();
            memory_tree::rebuild(pane, &palette);
            pane.rebuild_page(now);
        }
        Action::Close if pane.page.changes => {
            pane.page.changes = false;
            pane.rebuild_page(now);
        }
        Action::Close => return Some(close(state)),
        Action::Help => state.overlay = Some(Overlay::Help { scroll: 0 }),
        _ => return None,
    }
    Some(Vec::new())
}

/// The visible rows, and which of them is chosen.
pub(super) fn rows(pane: &mut MemoryPane) -> (Vec<Vec<Node>>, Option<usize>) {
    let items = Rc::clone(&pane.items);
    let state = pane.state.get_mut();
    let rows: Vec<Vec<Node>> =
        state.flatten(&items).into_iter().map(|row| row.identifier).collect();
    let at = rows.iter().position(|row| row == state.selected());
    (rows, at)
}

/// Moves among the visible rows. The widget's own keys go by the last drawn frame, and a second key
/// may come before the next frame.
pub(super) fn step(pane: &mut MemoryPane, by: isize) {
    if pane.lists() {
        return pane.page.step(by);
    }
    let (rows, at) = rows(pane);
    let Some(last) = rows.len().checked_sub(1) else { return };
    let to = match at {
        Some(at) => at.saturating_add_signed(by).min(last),
        None => 0,
    };
    pane.state.get_mut().select(rows[to].clone());
}

/// Asks for the messages of an episode that was opened.
fn read_opened(pane: &mut MemoryPane) -> Vec<Effect> {
    let tree = pane.state.get_mut();
    let path = tree.selected();
    let Some(&Node::Unit(AnyId::Episode(id))) = path.last() else { return Vec::new() };
    let known = pane.messages.iter().any(|(e, _)| *e == id);
    if known || !tree.opened().contains(path) {
        return Vec::new();
    }
    vec![Effect::Store(StoreRequest::Messages(id))]
}

/// What is under the cursor.
pub fn selected(pane: &MemoryPane) -> Option<AnyId> {
    if pane.lists() {
        return pane.page.chosen().map(|known| known.id);
    }
    match pane.state.borrow().selected().last() {
        Some(Node::Unit(id)) => Some(*id),
        _ => None,
    }
}

pub(super) fn selected_fact(pane: &MemoryPane) -> Option<(SemanticId, String)> {
    let AnyId::Semantic(id) = selected(pane)? else { return None };
    let fact = pane.tree.as_ref()?.themes.iter().flat_map(|t| &t.facts).find(|f| f.id == id)?;
    Some((fact.id, fact.content.clone()))
}

pub(super) fn set_tree(state: &mut State, mut tree: Tree) {
    let (palette, now) = (state.palette, state.now);
    if let Some(Pane::Memory(pane)) = &mut state.pane {
        let first = pane.tree.is_none();
        pane.error = None;
        // Messages of episodes that are gone must not stay on screen.
        pane.messages.retain(|(id, _)| tree.episodes.iter().any(|e| e.id == *id));
        let words = pane.words();
        pane.page.rebuild(Some(std::mem::take(&mut tree.known)), &words, now);
        pane.tree = Some(tree);
        memory_tree::rebuild(pane, &palette);
        if first && pane.learned {
            learned::open_first(pane);
        }
    }
}

pub(super) fn set_messages(state: &mut State, episode: EpisodeId, messages: Vec<Message>) {
    let palette = state.palette;
    if let Some(Pane::Memory(pane)) = &mut state.pane {
        pane.messages.retain(|(id, _)| *id != episode);
        pane.messages.push((episode, messages));
        memory_tree::rebuild(pane, &palette);
    }
}
