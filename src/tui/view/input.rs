//! The input and the completion popup above it.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, List, ListState};
use ratatui_textarea::TextArea;

use crate::memory::plain_text;
use crate::texts::text;
use crate::tui::keys::Action;
use crate::tui::state::State;
use crate::tui::view::{clear, framed, list_line};
use crate::tui::wrap;

/// Cells of the prompt sign.
const PROMPT: u16 = 3;

/// Rows of text that the input takes.
pub(super) fn rows(state: &State, area: Rect) -> u16 {
    let width = usize::from(area.width.saturating_sub(PROMPT + 1));
    let most = usize::from(area.height / 3).clamp(1, 10);
    state.editor.rows(width).clamp(1, most) as u16
}

pub(super) fn draw(frame: &mut Frame<'_>, state: &State, area: Rect, focused: bool) {
    let palette = &state.palette;
    let border = if focused { palette.border_focus } else { palette.border };
    let mut block = Block::new().borders(Borders::TOP).border_style(border);
    if state.editing.is_some() {
        let (send, leave) = (state.key(Action::Send), state.key(Action::Escape));
        let title = text!("written anew: {send} sends, {leave} leaves it", send, leave);
        block = block.title(Line::styled(format!(" {title} "), palette.muted));
    }
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let sign = if focused { palette.accent } else { palette.muted };
    frame.render_widget(Line::from(vec![Span::raw(" "), Span::styled("›", sign)]), inner);
    let text = Rect { x: inner.x + PROMPT, width: inner.width.saturating_sub(PROMPT + 1), ..inner };
    if state.editor.is_empty() {
        let stop = text!("{key} stops the reply", key = state.key(Action::Escape));
        let words = if !state.queue.is_empty() {
            let (n, back) = (state.queue.len(), state.key(Action::Interrupt));
            text!("{n} more to be sent · {stop} · {key} takes it back", n, stop, key = back)
        } else if state.transcript.busy() {
            stop
        } else if state.incognito {
            text!("A message that is not kept").to_owned()
        } else {
            text!("Message").to_owned()
        };
        frame.render_widget(Span::styled(words, palette.muted), text);
    }
    place(frame, &state.editor.area, text, focused);
}

/// Draws a text area and puts the terminal's cursor where typing goes.
pub(super) fn place(frame: &mut Frame<'_>, area: &TextArea<'_>, rect: Rect, focused: bool) {
    if !area.is_empty() {
        frame.render_widget(area, rect);
    }
    if focused && rect.width > 0 && rect.height > 0 {
        let cursor = area.screen_cursor();
        let (top, left) = if area.is_empty() { (0, 0) } else { area.scroll_offset() };
        let x = (cursor.col as u16).saturating_sub(left).min(rect.width - 1);
        let y = (cursor.row as u16).saturating_sub(top).min(rect.height - 1);
        frame.set_cursor_position(Position { x: rect.x + x, y: rect.y + y });
    }
}

pub(super) fn completions(frame: &mut Frame<'_>, state: &State, typing: Rect, body: Rect) {
    let offered = state.completions();
    if offered.is_empty() {
        return;
    }
    let palette = &state.palette;
    let rows = (offered.len() as u16).min(8).min(body.height.saturating_sub(2));
    let width = 64.min(typing.width.saturating_sub(2));
    let rect =
        Rect { x: typing.x + 1, y: typing.y.saturating_sub(rows + 2), width, height: rows + 2 };
    clear(frame, palette, rect);
    let chosen = state.completion.min(offered.len() - 1);
    let mut block = framed(palette, "", palette.border);
    if offered.len() > usize::from(rows) {
        let place = text!("{n} of {of}", n = chosen + 1, of = offered.len());
        let place = format!(" ↑ ↓ {place} ");
        block = block.title_bottom(Line::styled(place, palette.muted).right_aligned());
    }
    let inner = block.inner(rect);
    frame.render_widget(block, rect);
    let cells = usize::from(inner.width);
    let lines = offered.iter().enumerate().map(|(n, completion)| {
        let name = format!(" {} {}", completion.line, completion.arguments);
        let room = cells.saturating_sub(wrap::width(&name) + 3);
        let help = if room < 12 {
            String::new()
        } else {
            wrap::ellipsis(&plain_text(&completion.help), room)
        };
        list_line(palette, name, &help, n == chosen, cells)
    });
    let mut scrolled = ListState::default().with_selected(Some(chosen));
    frame.render_stateful_widget(List::new(lines), inner, &mut scrolled);
}
