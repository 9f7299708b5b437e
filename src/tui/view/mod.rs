//! State → frame. Borrows the state and draws; changes only caches and widget state.

mod confirm;
mod help;
mod input;
mod memory;
mod page;
mod picker;
mod status;
mod transcript;
mod welcome;
mod why;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Clear, Paragraph};

use crate::memory::plain_text;
use crate::texts::text;
use crate::tui::palette::Palette;
use crate::tui::state::{Focus, HEIGHT_MIN, Overlay, Pane, SPLIT_WIDTH, State, WIDTH_MIN};
use crate::tui::wrap;

pub(super) use page::empty as empty_tab;
pub(super) use why::lines as why_lines;

/// Draws everything.
pub fn draw(frame: &mut Frame<'_>, state: &State) {
    let area = frame.area();
    if area.width < WIDTH_MIN || area.height < HEIGHT_MIN {
        too_small(frame, area, &state.palette);
        return;
    }
    frame.buffer_mut().set_style(area, state.palette.ground);
    let page = state.page();
    let input_rows = input::rows(state, area);
    let [head, body, typing, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(3),
        Constraint::Length(if page.is_some() { 0 } else { input_rows + 1 }),
        Constraint::Length(status::rows(state, area.width)),
    ])
    .areas(area);
    header(frame, state, head);
    match &state.pane {
        Some(Pane::Memory(pane)) if !pane.learned => page::draw(frame, state, pane, body),
        Some(pane) if area.width >= SPLIT_WIDTH => {
            let width = (area.width * 9 / 20).clamp(44, 90);
            let [chat, side] =
                Layout::horizontal([Constraint::Min(40), Constraint::Length(width)]).areas(body);
            transcript::draw(frame, state, chat);
            draw_pane(frame, state, pane, side);
        }
        Some(pane) => draw_pane(frame, state, pane, body),
        None => transcript::draw(frame, state, body),
    }
    let covered = state.overlay.is_some();
    if page.is_none() {
        input::draw(frame, state, typing, !covered && state.focus == Focus::Input);
    }
    status::draw(frame, state, foot);
    if !covered && page.is_none() {
        input::completions(frame, state, typing, body);
    }
    match &state.overlay {
        Some(Overlay::Help { scroll }) => help::draw(frame, state, *scroll),
        Some(Overlay::Picker(picker)) => picker::draw(frame, state, picker),
        Some(Overlay::Confirm(question)) => confirm::draw(frame, state, question),
        Some(Overlay::Edit(edit)) => confirm::edit(frame, state, edit),
        None => {}
    }
}

fn draw_pane(frame: &mut Frame<'_>, state: &State, pane: &Pane, area: Rect) {
    match pane {
        Pane::Memory(pane) => memory::draw(frame, state, pane, area),
        Pane::Why(pane) => why::draw(frame, state, pane, area),
    }
}

fn too_small(frame: &mut Frame<'_>, area: Rect, palette: &Palette) {
    let text = text!(
        "A little larger, please: {width} × {height}",
        width = WIDTH_MIN,
        height = HEIGHT_MIN
    );
    let lines = wrap::plain(&text, palette.muted, usize::from(area.width));
    let top = area.height.saturating_sub(lines.len() as u16) / 2;
    let middle = Rect { y: area.y + top, height: area.height - top, ..area };
    frame.render_widget(Paragraph::new(lines).centered(), middle);
}

fn header(frame: &mut Frame<'_>, state: &State, area: Rect) {
    let palette = &state.palette;
    let badge = match (state.incognito, state.tools_on) {
        (true, _) => format!(" {} ", text!("incognito")),
        (false, true) => format!(" {} ", text!("tools")),
        (false, false) => String::new(),
    };
    let room = usize::from(area.width).saturating_sub(16 + wrap::width(&badge));
    let mut spans = vec![Span::raw(" "), Span::styled("inglenook", palette.accent)];
    let title = &state.transcript.title;
    if !title.is_empty() {
        let title = wrap::ellipsis(&plain_text(title), room);
        spans.push(Span::styled(format!("  {title}"), palette.muted));
    }
    frame.render_widget(Line::from(spans), area);
    if !badge.is_empty() {
        let right = Line::from(vec![Span::styled(badge, palette.badge), Span::raw(" ")]);
        frame.render_widget(right.right_aligned(), area);
    }
}

/// A framed box in the middle of the screen.
fn popup(frame: &mut Frame<'_>, palette: &Palette, title: &str, width: u16, height: u16) -> Rect {
    let area = frame.area();
    let width = width.min(area.width.saturating_sub(2));
    let height = height.min(area.height.saturating_sub(2));
    let rect = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    };
    // One column of air, so that the box does not touch the words under it.
    let air = Rect {
        x: rect.x.saturating_sub(1),
        width: (rect.width + 2).min(area.right() - rect.x.saturating_sub(1)),
        ..rect
    };
    clear(frame, palette, air);
    let block = framed(palette, title, palette.border_focus);
    let inner = block.inner(rect);
    frame.render_widget(block, rect);
    Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner }
}

/// Nothing but the ground.
fn clear(frame: &mut Frame<'_>, palette: &Palette, area: Rect) {
    frame.render_widget(Clear, area);
    frame.buffer_mut().set_style(area, palette.ground);
}

/// The frame of a pane: the space in it, and whether the pane has the focus.
fn pane_frame(frame: &mut Frame<'_>, state: &State, title: &str, area: Rect) -> (Rect, bool) {
    let palette = &state.palette;
    let focused = state.focus == Focus::Pane && state.overlay.is_none();
    let border = if focused { palette.border_focus } else { palette.border };
    let block = framed(palette, title, border);
    let inner = block.inner(area);
    frame.render_widget(block, area);
    (Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner }, focused)
}

fn framed<'a>(palette: &Palette, title: &'a str, border: Style) -> Block<'a> {
    let block = Block::bordered().border_type(BorderType::Rounded).border_style(border);
    if title.is_empty() {
        return block;
    }
    block.title(Line::from(vec![
        Span::raw(" "),
        Span::styled(title, palette.heading),
        Span::raw(" "),
    ]))
}

/// A line of a list to choose from.
fn list_line(
    palette: &Palette,
    left: String,
    right: &str,
    chosen: bool,
    width: usize,
) -> Line<'static> {
    let line = |text, note| {
        let right = Span::styled(format!("{right} "), note);
        spread(vec![Span::styled(left, text)], vec![right], width)
    };
    if chosen {
        line(palette.selected, palette.selected).style(palette.selected)
    } else {
        line(palette.text, palette.muted)
    }
}

/// A line with something before it.
fn led(lead: Span<'static>, mut line: Line<'static>) -> Line<'static> {
    line.spans.insert(0, lead);
    line
}

/// A line with something at its right end.
fn spread(left: Vec<Span<'static>>, right: Vec<Span<'static>>, width: usize) -> Line<'static> {
    let cells = |spans: &[Span<'_>]| spans.iter().map(|s| wrap::width(&s.content)).sum::<usize>();
    let gap = width.saturating_sub(cells(&left) + cells(&right));
    let mut spans = left;
    spans.push(Span::raw(" ".repeat(gap)));
    spans.extend(right);
    Line::from(spans)
}
