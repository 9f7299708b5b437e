//! The conversation.

use std::rc::Rc;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use crate::chat::{CallResult, Level, PhaseName};
use crate::interfaces::LoadProgress;
use crate::memory::{Moment, attached, own_words, plain_text};
use crate::tui::palette::Palette;
use crate::tui::state::{Focus, ModelLine, State};
use crate::tui::transcript::{Body, Entry, Laid, Place, Versions};
use crate::tui::view::{led, status, welcome};
use crate::tui::{dates, markdown, tools, wrap};

/// Longer lines are hard to read, however wide the screen.
const TEXT_CELLS_MAX: u16 = 96;
/// Rows of the person's message that are shown; a longer one ends with its size.
const USER_ROWS_MAX: usize = 24;

pub(super) fn draw(frame: &mut Frame<'_>, state: &State, area: Rect) {
    let transcript = &state.transcript;
    let area = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    let width = area.width.min(TEXT_CELLS_MAX);
    if transcript.entries.is_empty() && transcript.sending.is_none() && transcript.live.is_none() {
        transcript.rows.set((0, usize::from(area.height)));
        welcome::draw(frame, state, area);
        return;
    }
    let blocks = blocks(state, width);
    let rows: usize = blocks.iter().map(|(_, b)| b.len()).sum();
    let visible = usize::from(area.height);
    transcript.rows.set((rows, visible));
    let last = rows.saturating_sub(visible);
    remember_places(state, &blocks);
    if let Some(chosen) = transcript.chosen.filter(|_| transcript.reveal_next.take()) {
        transcript.reveal(chosen);
    }
    let top = transcript.top.get().unwrap_or(last).min(last);
    let all = blocks.iter().flat_map(|(_, block)| block.iter());
    let shown: Vec<_> = all.skip(top).take(visible).cloned().collect();
    // A short conversation stands at the bottom, next to the input.
    let pad = visible.saturating_sub(shown.len()) as u16;
    let below = Rect { y: area.y + pad, height: area.height - pad, ..area };
    frame.render_widget(Paragraph::new(shown), below);
    transcript.origin.set((area.x, area.width, below.y as isize - top as isize));
    if state.focus == Focus::Messages {
        mark_chosen(frame, state, below);
    }
    let hidden = last - top;
    if hidden > 0 {
        let more = format!(" ↓ {hidden} more lines ");
        let width = wrap::width(&more) as u16;
        let corner = Rect {
            x: area.right().saturating_sub(width),
            y: area.bottom() - 1,
            width: width.min(area.width),
            height: 1,
        };
        frame.render_widget(Span::styled(more, state.palette.badge), corner);
    }
}

/// For keys and clicks that come before the next frame. The blank row above a block is not its own.
fn remember_places(state: &State, blocks: &[(Option<usize>, Laid)]) {
    let mut places = state.transcript.places.borrow_mut();
    places.clear();
    let mut row = 0;
    for (entry, block) in blocks {
        if let Some(entry) = *entry {
            places.push(Place { entry, row: row + 1, n_rows: block.len().saturating_sub(1) });
        }
        row += block.len();
    }
}

/// A bar at the left of the chosen message.
fn mark_chosen(frame: &mut Frame<'_>, state: &State, area: Rect) {
    let transcript = &state.transcript;
    let places = transcript.places.borrow();
    let Some(place) = places.iter().find(|p| Some(p.entry) == transcript.chosen) else { return };
    let (_, _, origin) = transcript.origin.get();
    for row in place.row..place.row + place.n_rows {
        let y = origin + row as isize;
        if y >= area.y as isize && y < area.bottom() as isize {
            let cell = Rect { x: area.x - 1, y: y as u16, width: 1, height: 1 };
            frame.render_widget(Span::styled("▐", state.palette.accent), cell);
        }
    }
}

/// Everything laid out, each block with the blank row above it, and the entry that it is.
fn blocks(state: &State, width: u16) -> Vec<(Option<usize>, Laid)> {
    let transcript = &state.transcript;
    let mut blocks = Vec::with_capacity(transcript.entries.len() + 3);
    let mut n_messages = 0;
    let mut day: Option<Moment> = None;
    for (n, entry) in transcript.entries.iter().enumerate() {
        if let Some(at) = entry.message().map(|message| message.created_at) {
            // The first day is shown only if it is not today.
            let before = day.unwrap_or(state.now);
            if before.civil().date() != at.civil().date() {
                let text = dates::day(at, state.now);
                blocks.push((None, rule(&text, state.palette.muted, width)));
            }
            day = Some(at);
            if n_messages > 0 && n_messages == transcript.n_dropped {
                let text = "the model reads from here on";
                blocks.push((None, rule(text, state.palette.muted, width)));
            }
            n_messages += 1;
        }
        if !transcript.is_replaced(entry) {
            let is_message = entry.message().is_some();
            blocks.push((is_message.then_some(n), laid(entry, state, width)));
        }
    }
    if let Some(text) = &transcript.sending {
        blocks.push((None, Rc::new(user(text, &state.palette, width, true))));
    }
    if transcript.live.is_some() {
        blocks.push((None, Rc::new(live(state, width))));
    }
    blocks
}

fn rule(text: &str, style: Style, width: u16) -> Laid {
    let text = format!(" {text} ");
    let rest = usize::from(width).saturating_sub(wrap::width(&text));
    let line = format!("{}{text}{}", "╌".repeat(rest / 2), "╌".repeat(rest - rest / 2));
    Rc::new(vec![Line::raw(""), Line::styled(line, style)])
}

fn laid(entry: &Entry, state: &State, width: u16) -> Laid {
    if let Some((w, lines)) = &*entry.laid.borrow()
        && *w == width
    {
        return Rc::clone(lines);
    }
    let palette = &state.palette;
    let lines = match &entry.body {
        Body::User(message) => user(&message.content, palette, width, false),
        Body::Reply(versions) => reply(versions, palette, width),
        Body::Unsaved(text) => {
            let mut lines = vec![Line::raw("")];
            lines.extend(markdown::render(text, palette, usize::from(width)));
            lines.push(Line::styled("not saved", palette.error));
            lines
        }
        Body::Called { head, result } => {
            called(head, result, state.transcript.unfolded, palette, width)
        }
        Body::Notice { level, text } => notice(*level, text, palette, width),
    };
    let lines = Rc::new(lines);
    entry.laid.replace(Some((width, Rc::clone(&lines))));
    lines
}

fn user(text: &str, palette: &Palette, width: u16, sending: bool) -> Vec<Line<'static>> {
    let style = if sending { palette.muted } else { palette.text };
    // Only as much of a long text is wrapped as its rows can show.
    let enough = usize::from(width) * (USER_ROWS_MAX + 2) * 4;
    let labels: Vec<&str> = attached(text).collect();
    let clean = plain_text(own_words(text).trim_end());
    let end = clean.char_indices().nth(enough).map_or(clean.len(), |(at, _)| at);
    let mut rows = wrap::plain(&clean[..end], style, usize::from(width).saturating_sub(2));
    if rows.len() > USER_ROWS_MAX || end < clean.len() {
        rows.truncate(USER_ROWS_MAX);
        let size = crate::tui::editor::size_of(clean.len());
        rows.push(Line::styled(format!("… ({size} in all)"), palette.muted));
    }
    rows.extend(labels.into_iter().map(|label| {
        let label = plain_text(label);
        let label = wrap::ellipsis(&format!("+ {label}"), usize::from(width).saturating_sub(2));
        Line::styled(label, palette.muted)
    }));
    let mut lines = vec![Line::raw("")];
    lines.extend(rows.into_iter().map(|row| led(Span::styled("▌ ", palette.user), row)));
    lines
}

fn reply(versions: &Versions, palette: &Palette, width: u16) -> Vec<Line<'static>> {
    let message = &versions.shown().message;
    let why = versions.shown().why.as_deref();
    let mut lines = vec![Line::raw("")];
    lines.extend(markdown::render(&message.content, palette, usize::from(width)));
    let mut facts: Vec<String> = versions.place().into_iter().collect();
    if !message.complete {
        facts.push("stopped".to_owned());
    }
    if let Some(why) = why {
        match why.n_memories() {
            0 => {}
            1 => facts.push("from 1 memory".into()),
            n => facts.push(format!("from {n} memories")),
        }
        if let (Some(before), Some(after)) = (why.coarse_nats, why.final_nats)
            && !why.overlap
            && why.steps.iter().any(|s| s.admitted)
        {
            facts.push(format!("{before:.2} → {after:.2} nats"));
        }
    }
    if !facts.is_empty() {
        lines.push(Line::styled(facts.join(" · "), palette.muted));
    }
    lines
}

/// A call in a row, with its result below it where that is unfolded.
fn called(
    head: &str,
    result: &CallResult,
    unfolded: bool,
    palette: &Palette,
    width: u16,
) -> Vec<Line<'static>> {
    let room = usize::from(width).saturating_sub(2);
    let mark = Span::styled("→ ", if result.is_error { palette.error } else { palette.accent });
    let outcome = tools::outcome(result);
    let outcome = wrap::ellipsis(&outcome, room / 2);
    let head = wrap::ellipsis(head, room.saturating_sub(wrap::width(&outcome) + 3));
    let row = Line::styled(format!("{head} · {outcome}"), palette.muted);
    let mut lines = vec![Line::raw(""), led(mark, row)];
    if unfolded {
        let rows = tools::result_rows(result).flat_map(|row| wrap::plain(row, palette.muted, room));
        lines.extend(rows.map(|row| led(Span::styled("│ ", palette.border), row)));
    }
    lines
}

fn notice(level: Level, text: &str, palette: &Palette, width: u16) -> Vec<Line<'static>> {
    let (mark, style) = match level {
        Level::Info => ("· ", palette.muted),
        Level::Warning => ("! ", palette.warning),
        Level::Error => ("✗ ", palette.error),
    };
    let body = if level == Level::Error { palette.text } else { style };
    let rows = wrap::plain(&plain_text(text), body, usize::from(width).saturating_sub(2));
    let mut lines = vec![Line::raw("")];
    for (n, row) in rows.into_iter().enumerate() {
        let lead = if n == 0 { Span::styled(mark, style) } else { Span::raw("  ") };
        lines.push(led(lead, row));
    }
    lines
}

fn live(state: &State, width: u16) -> Vec<Line<'static>> {
    let palette = &state.palette;
    let transcript = &state.transcript;
    let mut lines = vec![Line::raw("")];
    let text = transcript.live.as_deref().unwrap_or_default();
    if !text.trim().is_empty() {
        let mut rows = markdown::render(text, palette, usize::from(width).saturating_sub(1));
        if transcript.phase == PhaseName::Replying
            && let Some(last) = rows.last_mut()
        {
            last.spans.push(Span::styled("▍", palette.accent));
        }
        lines.extend(rows);
        if !matches!(transcript.phase, PhaseName::Asking | PhaseName::Calling) {
            return lines;
        }
    }
    let doing = match transcript.phase {
        PhaseName::AwaitingModel => match &state.model {
            ModelLine::Loading {
                progress: Some(LoadProgress { fraction: Some(f), .. }), ..
            } => {
                format!("waiting for the model, {:.0} %", f * 100.0)
            }
            _ => "waiting for the model".into(),
        },
        PhaseName::Recalling if !transcript.progress.is_empty() => {
            format!("looking into memory: {}", plain_text(&transcript.progress))
        }
        PhaseName::Recalling => "looking into memory".into(),
        PhaseName::Asking => "may it call this tool?".into(),
        PhaseName::Calling => "waiting for the tool".into(),
        PhaseName::Replying if !transcript.progress.is_empty() => {
            plain_text(&transcript.progress).into_owned()
        }
        _ => "thinking".into(),
    };
    let doing = wrap::ellipsis(&doing, usize::from(width).saturating_sub(3));
    lines.push(Line::from(vec![
        Span::styled(status::spinner(state.tick), palette.accent),
        Span::styled(format!(" {doing}"), palette.muted),
    ]));
    lines
}
