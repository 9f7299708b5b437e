//! The conversation.

use std::rc::Rc;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use crate::chat::{CallResult, Level, PhaseName};
use crate::interfaces::LoadProgress;
use crate::memory::{attached, own_words, plain_text};
use crate::texts::{self, plural, text};
use crate::tui::palette::Palette;
use crate::tui::state::{Focus, ModelLine, State};
use crate::tui::transcript::{
    Body, Entry, Laid, LaidText, Place, Row, Transcript, Version, Versions,
};
use crate::tui::view::{led, status, welcome};
use crate::tui::{dates, markdown, tools, wrap};

/// Longer lines are hard to read, however wide the screen.
const TEXT_CELLS_MAX: u16 = 96;
/// Rows of the person's message that are shown; a longer one ends with its size.
const USER_ROWS_MAX: usize = 24;

/// So many blocks further down are counted in rows; more of them, in messages.
const NEAR: usize = 20;

pub(super) fn draw(frame: &mut Frame<'_>, state: &State, area: Rect) {
    let transcript = &state.transcript;
    let area = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    let visible = usize::from(area.height);
    transcript.visible.set(visible);
    let blocks = Blocks::of(state, area.width.min(TEXT_CELLS_MAX));
    if blocks.n() == 0 {
        welcome::draw(frame, state, area);
        return;
    }
    let top = blocks.top(visible);
    let (shown, mut places) = blocks.shown(top, visible);
    // A short conversation stands at the bottom, next to the input.
    let pad = visible.saturating_sub(shown.len()) as u16;
    let below = Rect { y: area.y + pad, height: area.height - pad, ..area };
    frame.render_widget(Paragraph::new(shown), below);
    for place in &mut places {
        place.rows = place.rows.start + below.y..place.rows.end + below.y;
    }
    transcript.columns.set((area.x, area.width));
    transcript.places.replace(places);
    if state.focus == Focus::Messages {
        mark_chosen(frame, state, area.x - 1);
    }
    if let Some(more) = blocks.after(blocks.down(top, visible)) {
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

/// A bar at the left of the chosen message.
fn mark_chosen(frame: &mut Frame<'_>, state: &State, x: u16) {
    let transcript = &state.transcript;
    let places = transcript.places.borrow();
    let Some(place) = places.iter().find(|p| Some(p.entry) == transcript.chosen) else { return };
    for y in place.rows.clone() {
        let cell = Rect { x, y, width: 1, height: 1 };
        frame.render_widget(Span::styled("▐", state.palette.accent), cell);
    }
}

/// The conversation as blocks: the entries, the message on its way, the reply that is being written. Each is laid out when
/// it is asked for, so a frame costs what it shows, however long the chat is.
struct Blocks<'a> {
    state: &'a State,
    width: u16,
    /// The entry that the model reads from on, if it does not read all.
    read_from: Option<usize>,
    /// What follows the entries.
    tail: Vec<Laid>,
}

impl<'a> Blocks<'a> {
    fn of(state: &'a State, width: u16) -> Self {
        let transcript = &state.transcript;
        let entries = transcript.entries.iter().enumerate();
        let mut messages = entries.filter(|(_, entry)| entry.message().is_some()).map(|(n, _)| n);
        let dropped = Some(transcript.n_dropped).filter(|n| *n > 0);
        let read_from = dropped.and_then(|n| messages.nth(n));
        let sending = transcript.sending.as_ref();
        let sending = sending.map(|text| Rc::new(user(text, &state.palette, width, true)));
        let live = transcript.live.is_some().then(|| Rc::new(live(state, width)));
        Self { state, width, read_from, tail: sending.into_iter().chain(live).collect() }
    }

    fn n(&self) -> usize {
        self.state.transcript.entries.len() + self.tail.len()
    }

    /// What a block is made of, the entry itself last, each with the blank row above it.
    fn parts(&self, block: usize) -> Vec<Laid> {
        let (state, width) = (self.state, self.width);
        let entries = &state.transcript.entries;
        let Some(entry) = entries.get(block) else {
            return self.tail.get(block - entries.len()).cloned().into_iter().collect();
        };
        let mut parts = Vec::new();
        if let Some(message) = entry.message() {
            let at = message.created_at;
            let before = entries[..block].iter().rev().find_map(Entry::message);
            // The first day is shown only if it is not today.
            let before = before.map_or(state.now, |message| message.created_at);
            if before.civil().date() != at.civil().date() {
                parts.push(rule(&dates::day(at, state.now), state.palette.muted, width));
            }
            if self.read_from == Some(block) {
                parts.push(rule(text!("the model reads from here on"), state.palette.muted, width));
            }
        }
        if !state.transcript.is_replaced(entry) {
            parts.push(laid(entry, state, width));
        }
        parts
    }

    fn n_rows(&self, block: usize) -> usize {
        self.parts(block).iter().map(|part| part.len()).sum()
    }

    /// So many rows further up, or the beginning.
    fn up(&self, from: Row, by: usize) -> Row {
        let (Row { mut block, mut row }, mut by) = (from, by);
        while by > row && block > 0 {
            by -= row;
            block -= 1;
            row = self.n_rows(block);
        }
        Row { block, row: row.saturating_sub(by) }
    }

    /// So many rows further down, or the end.
    fn down(&self, from: Row, by: usize) -> Row {
        let (Row { mut block, mut row }, mut by) = (from, by);
        while block < self.n() {
            let rest = self.n_rows(block).saturating_sub(row);
            if by < rest {
                return Row { block, row: row + by };
            }
            (by, block, row) = (by - rest, block + 1, 0);
        }
        Row { block, row: 0 }
    }

    /// The first row to show, after what was scrolled since the last frame.
    fn top(&self, visible: usize) -> Row {
        let transcript = &self.state.transcript;
        let last = self.up(Row { block: self.n(), row: 0 }, visible);
        let mut top = transcript.top.get().unwrap_or(last).min(last);
        // Where the screen is wider than before, a block has fewer rows.
        top.row = top.row.min(self.n_rows(top.block).saturating_sub(1));
        top = match transcript.scroll_by.take() {
            by @ ..0 => self.up(top, by.unsigned_abs()),
            by => self.down(top, by.unsigned_abs()).min(last),
        };
        if let Some(chosen) = transcript.chosen.filter(|_| transcript.reveal_next.take()) {
            top = self.revealing(chosen, top, visible).min(last);
        }
        transcript.top.set((top < last).then_some(top));
        top
    }

    /// No further than it takes to see an entry, or its beginning. The blank row above it is not its own.
    fn revealing(&self, block: usize, top: Row, visible: usize) -> Row {
        let parts = self.parts(block);
        let Some((own, rules)) = parts.split_last() else { return top };
        let begin = Row { block, row: rules.iter().map(|rule| rule.len()).sum::<usize>() + 1 };
        let end = self.down(top, visible);
        if begin < top || own.len() > visible {
            begin
        } else if end < (Row { block: block + 1, row: 0 }) {
            self.up(Row { block: block + 1, row: 0 }, visible)
        } else {
            top
        }
    }

    /// The rows from there on, and where the messages among them are.
    fn shown(&self, top: Row, visible: usize) -> (Vec<Line<'static>>, Vec<Place>) {
        let (mut rows, mut places) = (Vec::with_capacity(visible), Vec::new());
        let mut above = top.row;
        for block in top.block..self.n() {
            let y = rows.len();
            if y >= visible {
                break;
            }
            let parts = self.parts(block);
            let n_rows: usize = parts.iter().map(|part| part.len()).sum();
            let transcript = &self.state.transcript;
            let is_message = |e: &Entry| e.message().is_some() && !transcript.is_replaced(e);
            if transcript.entries.get(block).is_some_and(is_message) {
                let n_own = parts.last().map_or(0, |own| own.len().saturating_sub(1));
                let on_screen = |row: usize| (y + row.saturating_sub(above)).min(visible) as u16;
                places.push(Place {
                    entry: block,
                    rows: on_screen(n_rows - n_own)..on_screen(n_rows),
                });
            }
            let lines = parts.iter().flat_map(|part| part.iter()).skip(above);
            rows.extend(lines.take(visible - y).cloned());
            above = 0;
        }
        (rows, places)
    }

    /// What is below a row.
    fn after(&self, row: Row) -> Option<String> {
        if self.n().saturating_sub(row.block) > NEAR {
            let rest = &self.state.transcript.entries[row.block..];
            let n = rest.iter().filter(|entry| entry.message().is_some()).count();
            return Some(format!(" ↓ {} ", text!("{n} more messages", n)));
        }
        let rows: usize = (row.block..self.n()).map(|block| self.n_rows(block)).sum();
        let n = rows.saturating_sub(row.row);
        (n > 0).then(|| format!(" ↓ {} ", plural!("{n} more line", "{n} more lines", n)))
    }
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
            lines.push(Line::styled(text!("not saved"), palette.error));
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
        rows.push(Line::styled(text!("… ({size} in all)", size), palette.muted));
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
    let Version { message, why, model, .. } = versions.shown();
    let why = why.as_deref();
    let mut head = dates::time(message.created_at);
    if let Some(model) = model {
        head = format!("{} · {head}", plain_text(model));
    }
    // In the row that sets it off from what was asked.
    let mut lines = vec![Line::styled(wrap::ellipsis(&head, usize::from(width)), palette.muted)];
    lines.extend(markdown::render(&message.content, palette, usize::from(width)));
    let mut facts: Vec<String> = versions.place().into_iter().collect();
    if !message.complete {
        facts.push(text!("stopped").to_owned());
    }
    if let Some(why) = why {
        match why.n_memories() {
            0 => {}
            n => facts.push(plural!("from {n} memory", "from {n} memories", n)),
        }
        if let (Some(before), Some(after)) = (why.coarse_nats, why.final_nats)
            && !why.overlap
            && why.steps.iter().any(|s| s.admitted)
        {
            let (before, after) = (texts::decimal(before, 2), texts::decimal(after, 2));
            facts.push(text!("{before} → {after} nats", before, after));
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

/// The reply's text so far, laid out once for each piece.
fn written(transcript: &Transcript, palette: &Palette, width: u16) -> Laid {
    let text = transcript.live.as_deref().unwrap_or_default();
    let mut laid = transcript.live_laid.borrow_mut();
    if let Some(laid) = laid.as_ref().filter(|laid| laid.width == width && laid.text == text) {
        return Rc::clone(&laid.lines);
    }
    let lines = Rc::new(markdown::render(text, palette, usize::from(width)));
    *laid = Some(LaidText { width, text: text.to_owned(), lines: Rc::clone(&lines) });
    lines
}

fn live(state: &State, width: u16) -> Vec<Line<'static>> {
    let palette = &state.palette;
    let transcript = &state.transcript;
    let mut lines = vec![Line::raw("")];
    let text = transcript.live.as_deref().unwrap_or_default();
    if !text.trim().is_empty() {
        let mut rows = written(transcript, palette, width.saturating_sub(1)).to_vec();
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
                text!("waiting for the model, {n} %", n = format_args!("{:.0}", f * 100.0))
            }
            _ => text!("waiting for the model").into(),
        },
        PhaseName::Recalling if !transcript.progress.is_empty() => {
            text!("looking into memory: {step}", step = plain_text(&transcript.progress))
        }
        PhaseName::Recalling => text!("looking into memory").into(),
        PhaseName::Asking => text!("may it call this tool?").into(),
        PhaseName::Calling => text!("waiting for the tool").into(),
        PhaseName::Replying if !transcript.progress.is_empty() => {
            plain_text(&transcript.progress).into_owned()
        }
        _ => text!("thinking").into(),
    };
    let doing = wrap::ellipsis(&doing, usize::from(width).saturating_sub(3));
    lines.push(Line::from(vec![
        Span::styled(status::spinner(state), palette.accent),
        Span::styled(format!(" {doing}"), palette.muted),
    ]));
    lines
}
