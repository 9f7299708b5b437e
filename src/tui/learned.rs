//! The pane with what was learnt from imports: each fact is kept, corrected or thrown away. What is thrown away goes when the pane
//! is closed.

use crossterm::event::KeyEvent;

use crate::memory::SemanticId;
use crate::store::AnyId;
use crate::texts::text;
use crate::tui::event::{Effect, StoreRequest};
use crate::tui::keys::{Action, Context};
use crate::tui::palette::Palette;
use crate::tui::state::{Focus, MemoryPane, Node, Pane, State};
use crate::tui::{memory_tree, panes};

pub(super) fn open(state: &mut State) -> Vec<Effect> {
    let mut effects = leave(state);
    state.pane =
        Some(Pane::Memory(Box::new(MemoryPane { learned: true, ..MemoryPane::default() })));
    state.focus = Focus::Pane;
    state.greeting.learned = None;
    effects.extend(
        [StoreRequest::Tree { learned: true }, StoreRequest::SeeLearned].map(Effect::Store),
    );
    effects
}

/// The pane gives way: what was thrown away goes, what the page showed has been seen.
pub(super) fn leave(state: &mut State) -> Vec<Effect> {
    let Some(Pane::Memory(pane)) = &mut state.pane else { return Vec::new() };
    if !pane.learned {
        let visit = Effect::Store(StoreRequest::VisitPage);
        return pane.tree.is_some().then_some(visit).into_iter().collect();
    }
    let thrown: Vec<SemanticId> = std::mem::take(&mut pane.thrown).into_iter().flatten().collect();
    if thrown.is_empty() { Vec::new() } else { vec![Effect::Store(StoreRequest::Strike(thrown))] }
}

/// One key; `None` if it means here what it means in the memory.
pub(super) fn on_key(state: &mut State, key: KeyEvent) -> Option<Vec<Effect>> {
    let palette = state.palette;
    let Some(Pane::Memory(pane)) = &mut state.pane else { return None };
    let action =
        state.keys.lookup(Context::Learned, key).or(state.keys.lookup(Context::MemoryPane, key))?;
    let facts = match action {
        Action::Keep | Action::Throw => fact(pane).into_iter().collect(),
        Action::KeepRest | Action::ThrowRest => rest(pane),
        Action::Undo => {
            pane.thrown.pop()?;
            memory_tree::rebuild(pane, &palette);
            return Some(Vec::new());
        }
        _ => return None,
    };
    if facts.is_empty() {
        state.say(text!("Choose a fact: ↓."));
        return Some(Vec::new());
    }
    if matches!(action, Action::Keep | Action::KeepRest) {
        keep(pane, &facts, &palette);
        return Some(vec![Effect::Store(StoreRequest::KeepLearned(facts))]);
    }
    pane.thrown.push(facts);
    memory_tree::rebuild(pane, &palette);
    if action == Action::Throw {
        panes::step(pane, 1);
    }
    Some(Vec::new())
}

/// The fact under the cursor, or the one that what is under the cursor belongs to; none that was thrown away.
fn fact(pane: &MemoryPane) -> Option<SemanticId> {
    let tree = pane.state.borrow();
    let mut path = tree.selected().iter();
    let fact = path.find_map(|node| match node {
        Node::Unit(AnyId::Semantic(id)) => Some(*id),
        _ => None,
    })?;
    (!is_thrown(pane, fact)).then_some(fact)
}

pub(super) fn is_thrown(pane: &MemoryPane, fact: SemanticId) -> bool {
    pane.thrown.iter().flatten().any(|thrown| *thrown == fact)
}

/// The facts that are shown of the import under the cursor, without those that were thrown away.
fn rest(pane: &MemoryPane) -> Vec<SemanticId> {
    let tree = pane.state.borrow();
    let import = tree.selected().first();
    let import = pane.items.iter().find(|item| Some(item.identifier()) == import);
    let facts = import.into_iter().flat_map(|import| import.children());
    let facts = facts.filter_map(|fact| match fact.identifier() {
        Node::Unit(AnyId::Semantic(id)) => Some(*id),
        _ => None,
    });
    facts.filter(|fact| !is_thrown(pane, *fact)).collect()
}

/// These are no longer listed; the cursor goes to what follows.
fn keep(pane: &mut MemoryPane, facts: &[SemanticId], palette: &Palette) {
    let at = panes::rows(pane).1;
    for import in pane.tree.iter_mut().flat_map(|tree| &mut tree.learned) {
        import.facts.retain(|(fact, _)| !facts.contains(fact));
    }
    memory_tree::rebuild(pane, palette);
    let (rows, _) = panes::rows(pane);
    if let (Some(last), Some(at)) = (rows.len().checked_sub(1), at) {
        pane.state.get_mut().select(rows[at.min(last)].clone());
    }
}

/// Where the person begins: at the first fact of the newest import.
pub(super) fn open_first(pane: &mut MemoryPane) {
    let Some(import) = pane.items.first() else { return };
    let state = pane.state.get_mut();
    state.open(vec![*import.identifier()]);
    let fact = import.children().first();
    state.select([import].into_iter().chain(fact).map(|item| *item.identifier()).collect());
}
