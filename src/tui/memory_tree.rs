//! The memory as tree items: theme → fact → episode → message, filtered by words.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use ratatui::text::{Line, Span};
use tui_tree_widget::TreeItem;

use crate::memory::{Episode, EpisodeId, Message, Semantic, SemanticId, plain_text};
use crate::store::AnyId;
use crate::texts::text;
use crate::tui::event::Tree;
use crate::tui::palette::Palette;
use crate::tui::state::{MemoryPane, Node};
use crate::tui::wrap;
use crate::tui::{dates, speaker};

/// More than the widest screen; the widget cuts rows.
const CELLS_MAX: usize = 240;

fn row(text: &str) -> String {
    wrap::ellipsis(&plain_text(text), CELLS_MAX)
}

struct Builder<'a> {
    episodes: HashMap<EpisodeId, &'a Episode>,
    messages: HashMap<EpisodeId, &'a [Message]>,
    thrown: HashSet<SemanticId>,
    palette: &'a Palette,
}

impl Builder<'_> {
    fn episode(&self, id: EpisodeId) -> Option<TreeItem<'static, Node>> {
        let episode = self.episodes.get(&id)?;
        let children = match self.messages.get(&id) {
            Some(messages) => messages.iter().map(|m| self.message(m)).collect(),
            None => vec![TreeItem::new_leaf(
                Node::Wait(id),
                Line::styled(text!("reading…"), self.palette.muted),
            )],
        };
        let line = Line::from(vec![
            Span::styled(format!("{} ", dates::date(episode.started_at)), self.palette.muted),
            Span::styled(row(&episode.title), self.palette.text),
        ]);
        TreeItem::new(Node::Unit(AnyId::Episode(id)), line, children).ok()
    }

    fn message(&self, message: &Message) -> TreeItem<'static, Node> {
        let line = Line::from(vec![
            Span::styled(format!("{}: ", row(speaker(message))), self.palette.user),
            Span::styled(row(&message.content), self.palette.text),
        ]);
        TreeItem::new_leaf(Node::Unit(AnyId::Message(message.id)), line)
    }

    fn fact(&self, fact: &Semantic) -> Option<TreeItem<'static, Node>> {
        let is_gone = fact.superseded_by.is_some() || self.thrown.contains(&fact.id);
        let style = if is_gone { self.palette.superseded } else { self.palette.text };
        let mut episodes = fact.episodes.clone();
        episodes.dedup();
        let children = episodes.iter().filter_map(|&id| self.episode(id)).collect();
        let line = Line::styled(row(&fact.content), style);
        TreeItem::new(Node::Unit(AnyId::Semantic(fact.id)), line, children).ok()
    }
}

impl Builder<'_> {
    /// The imports with the facts that came of them, and how many facts those are.
    fn learned(&self, tree: &Tree, words: &[String]) -> (Rc<Vec<TreeItem<'static, Node>>>, usize) {
        let facts: HashMap<SemanticId, &Semantic> =
            tree.themes.iter().flat_map(|theme| &theme.facts).map(|fact| (fact.id, fact)).collect();
        let (mut items, mut n_found) = (Vec::new(), 0);
        for (n, import) in tree.learned.iter().enumerate() {
            let of_import = import.facts.iter().filter_map(|(id, _)| facts.get(id));
            let wanted: Vec<_> = of_import.filter(|fact| found(&fact.content, words)).collect();
            if wanted.is_empty() {
                continue;
            }
            n_found += wanted.len();
            let line = Line::from(vec![
                Span::styled(format!("{:>2}  ", wanted.len()), self.palette.muted),
                Span::styled(row(&import.source), self.palette.theme),
            ]);
            let children = wanted.into_iter().filter_map(|fact| self.fact(fact)).collect();
            items.extend(TreeItem::new(Node::Import(n), line, children).ok());
        }
        (Rc::new(items), n_found)
    }
}

fn found(text: &str, words: &[String]) -> bool {
    words.iter().all(|word| wrap::holds(text, word))
}

/// The items, after the tree, the messages or the search changed: now, or once they are to be seen.
pub fn rebuild(pane: &mut MemoryPane, palette: &Palette) {
    pane.is_old = true;
    if !pane.lists() {
        bring_up_to_date(pane, palette);
    }
}

/// Makes the items anew, if something has changed since.
pub fn bring_up_to_date(pane: &mut MemoryPane, palette: &Palette) {
    if !std::mem::take(&mut pane.is_old) {
        return;
    }
    build(pane, palette);
    let Some(first) = pane.items.first() else { return };
    let state = pane.state.get_mut();
    if state.selected().is_empty() {
        state.select(vec![*first.identifier()]);
    }
}

fn build(pane: &mut MemoryPane, palette: &Palette) {
    let Some(tree) = &pane.tree else { return };
    let words = pane.words();
    let builder = Builder {
        episodes: tree.episodes.iter().map(|e| (e.id, e)).collect(),
        messages: pane.messages.iter().map(|(id, m)| (*id, m.as_slice())).collect(),
        thrown: pane.thrown.iter().flatten().copied().collect(),
        palette,
    };
    if pane.learned {
        (pane.items, pane.n_found) = builder.learned(tree, &words);
        return;
    }
    let mut n_found = 0;
    let mut items = Vec::new();
    for theme in &tree.themes {
        let named = !words.is_empty() && found(&theme.name, &words);
        let facts: Vec<_> = theme
            .facts
            .iter()
            .filter(|f| named || words.is_empty() || found(&f.content, &words))
            .collect();
        if facts.is_empty() {
            continue;
        }
        n_found += facts.len();
        let n = facts.len();
        // The number first: names are cut at the pane's edge.
        let line = Line::from(vec![
            Span::styled(format!("{n:>2}  "), palette.muted),
            Span::styled(row(&theme.name), palette.theme),
        ]);
        let node = Node::Unit(AnyId::Theme(theme.id));
        // Of a closed theme one child is enough to say that it can be opened.
        let n_seen = if pane.state.borrow().opened().contains(&vec![node]) { n } else { 1 };
        let children = facts.into_iter().take(n_seen).filter_map(|f| builder.fact(f)).collect();
        items.extend(TreeItem::new(node, line, children).ok());
    }
    let without_facts: Vec<_> = tree
        .without_facts
        .iter()
        .filter(|id| {
            words.is_empty()
                || builder
                    .episodes
                    .get(id)
                    .is_some_and(|e| found(&format!("{} {}", e.title, e.content), &words))
        })
        .filter_map(|&id| builder.episode(id))
        .collect();
    if !without_facts.is_empty() {
        let line = Line::from(vec![
            Span::styled(format!("{:>2}  ", without_facts.len()), palette.muted),
            Span::styled(text!("Episodes without facts"), palette.muted),
        ]);
        items.extend(TreeItem::new(Node::WithoutFacts, line, without_facts).ok());
    }
    pane.n_found = n_found;
    pane.items = Rc::new(items);
}

/// A theme was opened or closed.
pub fn fill_opened(pane: &mut MemoryPane, palette: &Palette) {
    if matches!(pane.state.borrow().selected(), [Node::Unit(AnyId::Theme(_))]) {
        build(pane, palette);
    }
}

/// While searching, opens the themes that were found and selects the first fact.
pub fn open_found(pane: &mut MemoryPane, palette: &Palette) {
    if pane.search.trim().is_empty() {
        return;
    }
    let state = pane.state.get_mut();
    for theme in pane.items.iter() {
        state.open(vec![*theme.identifier()]);
    }
    build(pane, palette);
    let state = pane.state.get_mut();
    if let Some(theme) = pane.items.first() {
        let fact = theme.children().first();
        state.select([theme].into_iter().chain(fact).map(|item| *item.identifier()).collect());
    }
}
