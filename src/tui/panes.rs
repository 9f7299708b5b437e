//! Keys and data of the two panes: the memory tree and *why*.

use std::rc::Rc;

use crossterm::event::{KeyCode, KeyEvent};

use crate::memory::{EpisodeId, MessageId, SemanticId, ThemeId};
use crate::store::AnyId;
use crate::tui::editor::Editor;
use crate::tui::event::{Do, MessageRow, Request, Tree};
use crate::tui::keys::Action;
use crate::tui::memory_tree;
use crate::tui::state::{Edit, Focus, MemoryPane, Node, Overlay, Pane, State, WhyPane};

pub(super) fn toggle_memory(state: &mut State) -> Vec<Do> {
    if matches!(state.pane, Some(Pane::Memory(_))) {
        close(state);
        return Vec::new();
    }
    open_memory(state)
}

pub(super) fn open_memory(state: &mut State) -> Vec<Do> {
    state.pane = Some(Pane::Memory(Box::default()));
    state.focus = Focus::Pane;
    vec![Do::Desk(Request::Tree)]
}

pub(super) fn toggle_why(state: &mut State) -> Vec<Do> {
    if matches!(state.pane, Some(Pane::Why(_))) {
        close(state);
        return Vec::new();
    }
    open_why(state)
}

pub(super) fn open_why(state: &mut State) -> Vec<Do> {
    let last = state.transcript.replies().last().copied();
    state.pane = Some(Pane::Why(WhyPane { reply: last, scroll: 0 }));
    state.focus = Focus::Pane;
    ask_why(state)
}

/// The record of the answer shown, if it is not known yet.
fn ask_why(state: &State) -> Vec<Do> {
    let Some(Pane::Why(WhyPane { reply: Some(id), .. })) = state.pane else { return Vec::new() };
    match state.transcript.reply(id) {
        Some((_, _, false)) => vec![Do::Desk(Request::Why(id))],
        _ => Vec::new(),
    }
}

fn close(state: &mut State) {
    state.pane = None;
    state.focus = Focus::Input;
}

/// The wheel over a pane.
pub(super) fn scroll(state: &mut State, by: isize) {
    match &mut state.pane {
        Some(Pane::Why(pane)) => pane.scroll = pane.scroll.saturating_add_signed(by as i16),
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
pub(super) fn key(state: &mut State, key: KeyEvent, action: Option<Action>) -> Option<Vec<Do>> {
    match state.pane {
        Some(Pane::Why(_)) => why_key(state, key, action),
        Some(Pane::Memory(_)) => memory_key(state, key, action),
        None => None,
    }
}

fn why_key(state: &mut State, key: KeyEvent, action: Option<Action>) -> Option<Vec<Do>> {
    let replies = state.transcript.replies();
    let Some(Pane::Why(pane)) = &mut state.pane else { return None };
    let at = pane.reply.and_then(|id| replies.iter().position(|&r| r == id));
    match (key.code, action) {
        (KeyCode::Up | KeyCode::Char('k'), None) => pane.scroll = pane.scroll.saturating_sub(1),
        (KeyCode::Down | KeyCode::Char('j'), None) => pane.scroll = pane.scroll.saturating_add(1),
        (_, Some(Action::ScrollPage(by))) => {
            pane.scroll = pane.scroll.saturating_add_signed(i16::from(by) * 10);
        }
        (KeyCode::Left | KeyCode::Char('h'), None) => {
            if let Some(at) = at.and_then(|at| at.checked_sub(1)) {
                *pane = WhyPane { reply: Some(replies[at]), scroll: 0 };
            }
        }
        (KeyCode::Right | KeyCode::Char('l'), None) => {
            if let Some(&id) = at.and_then(|at| replies.get(at + 1)) {
                *pane = WhyPane { reply: Some(id), scroll: 0 };
            }
        }
        (_, Some(Action::Escape)) | (KeyCode::Char('q'), None) => {
            close(state);
            return Some(Vec::new());
        }
        (KeyCode::Char('?'), None) => state.overlay = Some(Overlay::Help { scroll: 0 }),
        // Typing goes on where typing goes.
        _ => return None,
    }
    Some(ask_why(state))
}

fn memory_key(state: &mut State, key: KeyEvent, action: Option<Action>) -> Option<Vec<Do>> {
    let palette = state.palette;
    let Some(Pane::Memory(pane)) = &mut state.pane else { return None };
    if pane.searching {
        match (key.code, action) {
            (_, Some(Action::Escape)) => {
                pane.searching = false;
                pane.search.clear();
            }
            (_, Some(Action::Send)) | (KeyCode::Down, None) => pane.searching = false,
            (KeyCode::Backspace, None) => {
                pane.search.pop();
            }
            (KeyCode::Char(c), None) => pane.search.push(c),
            _ => return None,
        }
        memory_tree::rebuild(pane, &palette);
        memory_tree::open_found(pane);
        return Some(Vec::new());
    }
    match (key.code, action) {
        (KeyCode::Up | KeyCode::Char('k'), None) => step(pane, -1),
        (KeyCode::Down | KeyCode::Char('j'), None) => step(pane, 1),
        (KeyCode::Left | KeyCode::Char('h'), None) => {
            pane.state.get_mut().key_left();
        }
        (KeyCode::Right | KeyCode::Char('l'), None) => {
            pane.state.get_mut().key_right();
            return Some(read_opened(pane));
        }
        (_, Some(Action::Send)) | (KeyCode::Char(' '), None) => {
            pane.state.get_mut().toggle_selected();
            return Some(read_opened(pane));
        }
        (KeyCode::Home | KeyCode::Char('g'), None) => step(pane, isize::MIN),
        (KeyCode::End | KeyCode::Char('G'), None) => step(pane, isize::MAX),
        (_, Some(Action::ScrollPage(by))) => step(pane, isize::from(by) * 8),
        (KeyCode::Char('/'), None) => pane.searching = true,
        (KeyCode::Char('f') | KeyCode::Delete, None) => {
            return Some(match selected(pane) {
                Some(id) => vec![Do::Desk(Request::PlanForget { ids: vec![id], matching: None })],
                None => Vec::new(),
            });
        }
        (KeyCode::Char('e'), None) => {
            if let Some((semantic, text)) = selected_fact(pane) {
                let mut editor = Editor::default();
                editor.set(&text);
                state.overlay = Some(Overlay::Edit(Box::new(Edit { semantic, editor })));
            } else {
                state.say("Only facts can be corrected.");
            }
        }
        (KeyCode::Char('u'), None) => return Some(vec![Do::Desk(Request::Undo)]),
        (_, Some(Action::Escape)) | (KeyCode::Char('q'), None) => {
            if pane.search.is_empty() {
                close(state);
            } else {
                pane.search.clear();
                memory_tree::rebuild(pane, &palette);
            }
        }
        (KeyCode::Char('?'), None) => state.overlay = Some(Overlay::Help { scroll: 0 }),
        // Letters are the pane's here: a slip must not land in the chat.
        (KeyCode::Char(_), None) => {}
        _ => return None,
    }
    Some(Vec::new())
}

/// Moves among the rows that are open. The widget's own keys go by the frame that was drawn last,
/// and a second key may come before the next.
fn step(pane: &mut MemoryPane, by: isize) {
    let items = pane.items();
    let state = pane.state.get_mut();
    let rows: Vec<Vec<Node>> =
        state.flatten(&items).into_iter().map(|row| row.identifier).collect();
    let Some(last) = rows.len().checked_sub(1) else { return };
    let to = match rows.iter().position(|row| row == state.selected()) {
        Some(at) => at.saturating_add_signed(by).min(last),
        None => 0,
    };
    state.select(rows[to].clone());
}

/// Asks for the messages of an episode that was opened.
fn read_opened(pane: &mut MemoryPane) -> Vec<Do> {
    let tree = pane.state.get_mut();
    let path = tree.selected();
    let Some(&Node::Episode(id)) = path.last() else { return Vec::new() };
    let known = pane.messages.iter().any(|(e, _)| e.0 == id);
    if known || !tree.opened().contains(path) {
        return Vec::new();
    }
    vec![Do::Desk(Request::Messages(EpisodeId(id)))]
}

/// The node under the cursor.
#[must_use]
pub fn selected_node(pane: &MemoryPane) -> Option<Node> {
    pane.state.borrow().selected().last().copied()
}

fn selected(pane: &MemoryPane) -> Option<AnyId> {
    Some(match selected_node(pane)? {
        Node::Theme(id) => AnyId::Theme(ThemeId(id)),
        Node::Fact(id) => AnyId::Semantic(SemanticId(id)),
        Node::Episode(id) => AnyId::Episode(EpisodeId(id)),
        Node::Message(id) => AnyId::Message(MessageId(id)),
        Node::Loose | Node::Wait(_) => return None,
    })
}

fn selected_fact(pane: &MemoryPane) -> Option<(SemanticId, String)> {
    let Node::Fact(id) = selected_node(pane)? else { return None };
    let fact = pane.tree.as_ref()?.themes.iter().flat_map(|t| &t.facts).find(|f| f.id.0 == id)?;
    Some((fact.id, fact.text.clone()))
}

pub(super) fn set_tree(state: &mut State, tree: Tree) {
    let palette = state.palette;
    if let Some(Pane::Memory(pane)) = &mut state.pane {
        let first = pane.tree.is_none();
        pane.error = None;
        // Messages of episodes that are gone must not stay on screen.
        pane.messages.retain(|(id, _)| tree.episodes.iter().any(|e| e.id == *id));
        pane.tree = Some(tree);
        memory_tree::rebuild(pane, &palette);
        if first {
            let node = pane.items.first().map(|i| *i.identifier());
            if let Some(node) = node {
                pane.state.get_mut().select(vec![node]);
            }
        }
    }
}

pub(super) fn set_messages(state: &mut State, episode: EpisodeId, messages: Vec<MessageRow>) {
    let palette = state.palette;
    if let Some(Pane::Memory(pane)) = &mut state.pane {
        pane.messages.retain(|(id, _)| *id != episode);
        pane.messages.push((episode, messages));
        memory_tree::rebuild(pane, &palette);
    }
}

impl MemoryPane {
    /// Items for the widget; cheap to clone.
    #[must_use]
    pub fn items(&self) -> Rc<Vec<tui_tree_widget::TreeItem<'static, Node>>> {
        Rc::clone(&self.items)
    }
}
