//! The memory as a tree, theme → fact → episode → message, with the chosen node in full below: a tab of the page, and the pane
//! with what was learnt from imports.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Paragraph};
use tui_tree_widget::Tree as TreeWidget;

use crate::memory::plain_text;
use crate::store::AnyId;
use crate::texts::{plural, text};
use crate::tui::keys::{Action, Context};
use crate::tui::palette::Palette;
use crate::tui::panes::selected;
use crate::tui::state::{MemoryPane, State};
use crate::tui::view::pane_frame;
use crate::tui::{dates, speaker, wrap};

pub(super) fn draw(frame: &mut Frame<'_>, state: &State, pane: &MemoryPane, area: Rect) {
    let palette = &state.palette;
    let (inner, focused) = pane_frame(frame, state, text!("learnt from imports"), area);
    let [top, body, foot] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)])
            .areas(inner);
    summary(frame, pane, palette, top, focused);
    tree(frame, state, pane, body);
    let keys = if pane.searching {
        state.keys.hints(Context::MemorySearch)
    } else {
        let more = |action| state.keys.hint(Context::MemoryPane, action);
        let more = [Action::Edit, Action::Search, Action::Close].map(more).join(" · ");
        format!("{} · {more}", state.keys.hints(Context::Learned))
    };
    let keys = wrap::parts_that_fit(&keys, usize::from(foot.width));
    frame.render_widget(Span::styled(keys, palette.muted), foot);
}

/// The tree, and below it what is chosen.
pub(super) fn tree(frame: &mut Frame<'_>, state: &State, pane: &MemoryPane, area: Rect) {
    let palette = &state.palette;
    let detail = detail(pane, palette, usize::from(area.width));
    let below = match (detail.len() as u16 + 1).min(area.height.div_ceil(3)) {
        n if n >= 3 && !detail.is_empty() => n,
        _ => 0,
    };
    let [tree, bottom] =
        Layout::vertical([Constraint::Min(1), Constraint::Length(below)]).areas(area);
    body(frame, state, pane, tree);
    if below > 0 {
        let block = Block::new().borders(Borders::TOP).border_style(palette.border);
        let space = block.inner(bottom);
        frame.render_widget(block, bottom);
        frame.render_widget(Paragraph::new(detail), space);
    }
}

/// What is looked for, or how much there is.
pub(super) fn summary(
    frame: &mut Frame<'_>,
    pane: &MemoryPane,
    palette: &Palette,
    area: Rect,
    focused: bool,
) {
    if pane.searching || !pane.search.is_empty() {
        let n_found = if pane.lists() { pane.page.n_facts() } else { pane.n_found };
        let text = wrap::ellipsis(&plain_text(&pane.search), usize::from(area.width) - 12);
        let x = area.x + 2 + wrap::width(&text) as u16;
        let line = Line::from(vec![
            Span::styled("/ ", palette.accent),
            Span::styled(text, palette.text),
            Span::styled(format!("   {}", text!("{n} found", n = n_found)), palette.muted),
        ]);
        frame.render_widget(line, area);
        if pane.searching && focused {
            frame.set_cursor_position(Position { x: x.min(area.right() - 1), y: area.y });
        }
        return;
    }
    let Some(tree) = &pane.tree else { return };
    if pane.learned {
        let n: usize = tree.learned.iter().map(|import| import.facts.len()).sum();
        let mut text = plural!("{n} fact", "{n} facts", n);
        match pane.thrown.iter().flatten().count() {
            0 => {}
            n => {
                let thrown = text!("{n} to go when this is closed, u takes that back", n);
                text = format!("{text} · {thrown}");
            }
        }
        let text = wrap::ellipsis(&text, usize::from(area.width));
        frame.render_widget(Span::styled(text, palette.muted), area);
        return;
    }
    let facts: usize = tree.themes.iter().map(|t| t.facts.len()).sum();
    let text = format!(
        "{} · {} · {} · {}",
        plural!("{n} theme", "{n} themes", tree.themes.len()),
        plural!("{n} fact", "{n} facts", facts),
        plural!("{n} episode", "{n} episodes", tree.episodes.len()),
        plural!("{n} message", "{n} messages", tree.n_messages),
    );
    let text = wrap::parts_that_fit(&text, usize::from(area.width));
    frame.render_widget(Span::styled(text, palette.muted), area);
}

/// Instead of the facts, where there are none.
pub(super) fn nothing(
    frame: &mut Frame<'_>,
    state: &State,
    pane: &MemoryPane,
    here: Option<&str>,
    area: Rect,
) {
    let palette = &state.palette;
    let text = match (&pane.tree, &pane.error) {
        (_, Some(error)) => {
            text!("The memory could not be read: {error}", error = plain_text(error))
        }
        (None, None) => text!("reading…").into(),
        (Some(_), None) if !pane.search.trim().is_empty() => text!("Nothing matches.").into(),
        (Some(_), None) if pane.learned => {
            text!("Nothing from an import is left to look through.").into()
        }
        (Some(_), None) if here.is_some() => here.unwrap_or_default().into(),
        (Some(tree), None) if tree.n_messages > 0 => {
            text!(
                "Nothing has settled into memory yet. That happens by itself, a little after a topic ends; a new chat \
                 ({key}) ends it now.",
                key = state.key(Action::NewSession)
            )
        }
        (Some(_), None) => text!("Nothing here yet. What you tell it will be.").into(),
    };
    let lines = wrap::plain(&text, palette.muted, usize::from(area.width));
    let space = Rect {
        y: area.y + 1.min(area.height.saturating_sub(1)),
        height: area.height.saturating_sub(1),
        ..area
    };
    frame.render_widget(Paragraph::new(lines), space);
}

fn body(frame: &mut Frame<'_>, state: &State, pane: &MemoryPane, area: Rect) {
    let items = &pane.items;
    if items.is_empty() {
        return nothing(frame, state, pane, None, area);
    }
    // Siblings are unique by construction; if they were not, the pane would stay empty.
    let Ok(tree) = TreeWidget::new(items) else { return };
    let tree = tree
        .node_closed_symbol("▸ ")
        .node_open_symbol("▾ ")
        .node_no_children_symbol("  ")
        .highlight_style(state.palette.selected);
    frame.render_stateful_widget(tree, area, &mut pane.state.borrow_mut());
}

/// The chosen node in full.
fn detail(pane: &MemoryPane, palette: &Palette, width: usize) -> Vec<Line<'static>> {
    let Some((head, text)) = chosen(pane) else { return Vec::new() };
    let head = wrap::ellipsis(&plain_text(&head), width);
    let mut lines = vec![Line::styled(head, palette.muted)];
    let clean = plain_text(&text);
    let end = clean.char_indices().nth(4_000).map_or(clean.len(), |(at, _)| at);
    lines.extend(wrap::plain(&clean[..end], palette.text, width));
    lines
}

/// What there is to say about the chosen node, and its text.
fn chosen(pane: &MemoryPane) -> Option<(String, String)> {
    let tree = pane.tree.as_ref()?;
    match selected(pane)? {
        AnyId::Semantic(id) => {
            let fact = tree.themes.iter().flat_map(|t| &t.facts).find(|f| f.id == id)?;
            let said = text!("said {date}", date = dates::date(fact.created_at));
            let mut head = format!("{} · {said}", fact.id);
            if let Some(later) = fact.superseded_by {
                head = format!("{head} · {}", text!("replaced by {id}", id = later));
            }
            let mut learned = tree.learned.iter().filter(|_| pane.learned).flat_map(|l| &l.facts);
            if let Some((_, chat)) = learned.find(|(fact, _)| *fact == id) {
                head = format!("{head} · {chat}");
            }
            Some((head, fact.content.clone()))
        }
        AnyId::Episode(id) => {
            let episode = tree.episodes.iter().find(|e| e.id == id)?;
            let (date, n) = (dates::date(episode.started_at), episode.messages.len());
            let messages = plural!("{n} message", "{n} messages", n);
            let head = format!("{} · {date} · {messages}", episode.id);
            Some((head, format!("{}\n{}", episode.title, episode.content)))
        }
        AnyId::Message(id) => {
            let message = pane.messages.iter().flat_map(|(_, m)| m).find(|m| m.id == id)?;
            let (date, time) = (dates::date(message.created_at), dates::time(message.created_at));
            let head = format!("{} · {} · {date} {time}", message.id, speaker(message));
            Some((head, message.content.clone()))
        }
        AnyId::Theme(_) | AnyId::Session(_) => None,
    }
}
