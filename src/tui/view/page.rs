//! The memory's page: tabs, what changed, the facts with where they are from, keys.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use crate::memory::plain_text;
use crate::store::AnyId;
use crate::texts::text;
use crate::tui::keys::{Action, Context};
use crate::tui::page::known::Known;
use crate::tui::page::rows::{FactRow, Row, source};
use crate::tui::page::{self, Page, Tab};
use crate::tui::palette::Palette;
use crate::tui::panes::selected;
use crate::tui::state::{MemoryPane, State};
use crate::tui::view::{led, memory, pane_frame};
use crate::tui::{dates, wrap};

/// From this width on, where a fact is from stands beside it.
const BESIDE_WIDTH: usize = 100;
/// From this width on, below it; on narrower screens only of the chosen fact.
const BELOW_WIDTH: usize = 56;
/// A longer line is hard to read.
const WIDTH_MAX: usize = 150;
const SOURCE_WIDTH: usize = 48;

pub(super) fn draw(frame: &mut Frame<'_>, state: &State, pane: &MemoryPane, area: Rect) {
    let palette = &state.palette;
    let (inner, focused) = pane_frame(frame, state, text!("memory"), area);
    let [top, line, body, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Min(1),
        Constraint::Length(1),
    ])
    .areas(inner);
    tabs(frame, &pane.page, palette, top);
    if pane.searching || !pane.search.is_empty() || !pane.lists() {
        memory::summary(frame, pane, palette, line, focused);
    } else if pane.tree.is_some() {
        let news = wrap::parts_that_fit(&news(state, &pane.page), usize::from(line.width));
        frame.render_widget(Span::styled(news, palette.muted), line);
    }
    if !pane.lists() {
        memory::tree(frame, state, pane, body);
    } else if pane.page.rows.is_empty() {
        let known = !pane.page.known.all.is_empty();
        memory::nothing(frame, state, pane, known.then(|| empty(&pane.page)), body);
    } else {
        list(frame, state, &pane.page, body);
    }
    let keys = wrap::parts_that_fit(&hints(state, pane), usize::from(foot.width));
    frame.render_widget(Span::styled(keys, palette.muted), foot);
}

/// "1 About you 12  2 People 8 …", shorter where there is no room.
fn tabs(frame: &mut Frame<'_>, page: &Page, palette: &Palette, area: Rect) {
    let texts = |write: &dyn Fn(usize, Tab) -> String| -> Vec<String> {
        Tab::ALL.iter().enumerate().map(|(n, tab)| format!(" {} ", write(n + 1, *tab))).collect()
    };
    let all = [
        texts(&|n, tab| format!("{n} {} {}", tab.names().0, page.n_of(tab))),
        texts(&|n, tab| format!("{n} {}", tab.names().0)),
        texts(&|_, tab| tab.names().1.to_owned()),
    ];
    let fits = |texts: &&Vec<String>| wrap::width(&texts.concat()) <= usize::from(area.width);
    let Some(texts) = all.iter().find(fits).or(all.last()) else { return };
    let tab = |(text, tab): (&String, &Tab)| {
        let is_open = *tab == page.tab && !page.changes;
        Span::styled(text.clone(), if is_open { palette.selected } else { palette.muted })
    };
    let spans: Vec<Span<'_>> = texts.iter().zip(&Tab::ALL).map(tab).collect();
    frame.render_widget(Line::from(spans), area);
}

/// "Since yesterday: 3 new · 1 corrected · n shows them"
fn news(state: &State, page: &Page) -> String {
    let now = state.now;
    let since = match &page.known.visit {
        Some(visit) => dates::since(visit.at(now.offset), now),
        None => text!("Not seen yet").into(),
    };
    if page.changes {
        let key = state.keys.of(Context::MemoryPage, Action::Changes);
        return format!("{since} · {}", text!("{key} goes back", key));
    }
    let [new, corrected, gone] = page.n_changed();
    let parts = [
        (new, text!("{n} new", n = new)),
        (corrected, text!("{n} corrected", n = corrected)),
        (gone, text!("{n} no longer so", n = gone)),
    ];
    let parts: Vec<String> =
        parts.into_iter().filter(|(n, _)| *n > 0).map(|(_, part)| part).collect();
    if parts.is_empty() && page.known.visit.is_none() {
        return String::new();
    }
    let what = if parts.is_empty() { text!("nothing new").to_owned() } else { parts.join(" · ") };
    format!("{since}: {what}")
}

/// What an empty tab says.
pub(in crate::tui) fn empty(page: &Page) -> &'static str {
    match page.tab {
        _ if page.changes => text!("Nothing is new, corrected or no longer so."),
        Tab::You => {
            text!("Nothing is known about you yet. Say something of yourself, and it will be here.")
        }
        Tab::People => text!("Nobody is known yet. Tell of somebody, and they will be here."),
        Tab::Plans => {
            text!(
                "Nothing lies ahead that is known. Tell what you mean to do, and it will be here."
            )
        }
        Tab::Places => {
            text!("No place is known yet. Tell where somebody lives or went, and it will be here.")
        }
        Tab::Everything => "",
    }
}

fn hints(state: &State, pane: &MemoryPane) -> String {
    if pane.searching {
        return state.keys.hints(Context::MemorySearch);
    }
    let chosen = selected(pane);
    let is_fact = matches!(chosen, Some(AnyId::Semantic(_)));
    let has_changes = pane.page.n_changed().iter().any(|n| *n > 0);
    let (page, facts) = (Context::MemoryPage, Context::MemoryPane);
    let all = [
        (facts, Action::Accept, !pane.lists()),
        (page, Action::OpenChat, page::place(pane).is_some()),
        (facts, Action::Edit, is_fact),
        (facts, Action::Forget, chosen.is_some()),
        (page, Action::Pin, is_fact),
        (facts, Action::Search, true),
        (page, Action::Changes, has_changes),
        (facts, Action::Close, true),
        (page, Action::NextTab, true),
    ];
    let possible = all.into_iter().filter(|(_, _, is_possible)| *is_possible);
    let texts: Vec<String> =
        possible.map(|(context, action, _)| state.keys.hint(context, action)).collect();
    texts.join(" · ")
}

/// The rows around the chosen one.
fn list(frame: &mut Frame<'_>, state: &State, page: &Page, area: Rect) {
    let (width, height) = (usize::from(area.width), usize::from(area.height));
    let lines = |row: usize| row_lines(state, page, row, width);
    let chosen = page.chosen.min(page.rows.len().saturating_sub(1));
    // A heading is seen with its first fact.
    let heading = chosen.checked_sub(1).filter(|&row| matches!(page.rows[row], Row::Heading(_)));
    let mut top = page.top.get().min(heading.unwrap_or(chosen));
    let (mut used, mut first) = (lines(chosen).len(), chosen);
    while let Some(above) = first.checked_sub(1) {
        used += lines(above).len();
        if used > height {
            break;
        }
        first = above;
    }
    top = top.max(first);
    page.top.set(top);
    let mut shown = Vec::new();
    for row in top..page.rows.len() {
        if shown.len() >= height {
            break;
        }
        shown.extend(lines(row));
    }
    frame.render_widget(Paragraph::new(shown), area);
}

fn row_lines(state: &State, page: &Page, row: usize, width: usize) -> Vec<Line<'static>> {
    let palette = &state.palette;
    let chosen = row == page.chosen;
    match &page.rows[row] {
        Row::Heading(text) => {
            let text = wrap::ellipsis(&plain_text(text), width);
            let air = (row > 0).then(|| Line::raw(""));
            air.into_iter().chain([Line::styled(text, palette.theme)]).collect()
        }
        Row::Fact(fact) => match page.known.all.get(fact.known) {
            Some(known) => {
                let from = source(known, state.now);
                // It is said once for a run of facts.
                let above = row.checked_sub(1).and_then(|above| page.at(above));
                let is_said = above.is_some_and(|above| source(above, state.now) == from);
                let from = (chosen || !is_said).then_some(from);
                fact_lines(state, fact, known, from, width, chosen)
            }
            None => Vec::new(),
        },
    }
}

/// A fact, and where it is from: beside it, below it or, where there is little room, only of the chosen one.
fn fact_lines(
    state: &State,
    row: &FactRow,
    known: &Known,
    from: Option<String>,
    width: usize,
    chosen: bool,
) -> Vec<Line<'static>> {
    let palette = &state.palette;
    let width = width.min(WIDTH_MAX);
    let beside = width >= BESIDE_WIDTH;
    let style = match (known.superseded, row.past) {
        (Some(_), _) => palette.superseded,
        (None, true) => palette.muted,
        (None, false) => palette.text,
    };
    let lead = match (row.before, known.pinned) {
        (true, _) => "    ",
        (false, true) => "★ ",
        (false, false) => "  ",
    };
    let indent = wrap::width(lead);
    let mut sentence = vec![Span::styled(plain_text(&known.sentence).into_owned(), style)];
    if row.before {
        sentence.insert(0, Span::styled(format!("{} ", text!("Before:")), palette.muted));
    }
    let room = width - indent - if beside { SOURCE_WIDTH + 2 } else { 0 };
    let from = from.as_deref().map(plain_text);
    let mut lines = wrap::wrap(&Line::from(sentence), room, 0);
    match from.filter(|_| beside || chosen || width >= BELOW_WIDTH) {
        Some(from) if beside => {
            let gap = (room + 2).saturating_sub(lines[0].width());
            lines[0].spans.push(Span::raw(" ".repeat(gap)));
            lines[0].spans.push(Span::styled(wrap::ellipsis(&from, SOURCE_WIDTH), palette.muted));
        }
        Some(from) => {
            let from = wrap::ellipsis(&from, room.saturating_sub(2));
            lines.push(Line::styled(format!("  {from}"), palette.muted));
        }
        None => {}
    }
    let spaces = " ".repeat(indent);
    let mut lines: Vec<Line<'static>> = lines
        .into_iter()
        .enumerate()
        .map(|(n, line)| {
            let lead = if n == 0 { lead.to_owned() } else { spaces.clone() };
            led(Span::styled(lead, palette.accent), line)
        })
        .collect();
    if chosen {
        for line in &mut lines {
            let cells = line.width();
            line.spans.push(Span::raw(" ".repeat(width.saturating_sub(cells))));
            *line = std::mem::take(line).patch_style(palette.selected);
        }
    }
    lines
}
