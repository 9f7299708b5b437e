//! The help overlay.

use ratatui::Frame;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use crate::texts::{self, text};
use crate::tui::keys::{Action, Context};
use crate::tui::palette::Palette;
use crate::tui::slash::COMMANDS;
use crate::tui::state::State;
use crate::tui::view::popup;
use crate::tui::wrap;

/// Cells of the left column.
const LEFT: usize = 24;

fn rows(left: &str, right: &str, palette: &Palette, width: usize, lines: &mut Vec<Line<'static>>) {
    if width < 56 {
        // Not enough room for two columns.
        lines.extend(wrap::plain(left, palette.accent, width));
        lines.extend(wrap::plain(&format!("  {right}"), palette.text, width));
        return;
    }
    let lefts = wrap::plain(left, palette.accent, LEFT - 2);
    let rights = wrap::plain(right, palette.text, width - LEFT);
    for n in 0..lefts.len().max(rights.len()) {
        let left = lefts.get(n).cloned().unwrap_or_default();
        let pad = LEFT.saturating_sub(left.width());
        let mut spans = left.spans;
        spans.push(Span::raw(" ".repeat(pad)));
        spans.extend(rights.get(n).cloned().unwrap_or_default().spans);
        lines.push(Line::from(spans));
    }
}

pub(super) fn draw(frame: &mut Frame<'_>, state: &State, scroll: u16) {
    let palette = &state.palette;
    let area = popup(frame, palette, text!("help"), 76, frame.area().height);
    let width = usize::from(area.width);
    let mut lines = Vec::new();
    let keys_of = |context, lines: &mut Vec<Line<'static>>| {
        for (keys, help) in state.keys.help(context) {
            rows(&keys, help, palette, width, lines);
        }
    };
    keys_of(Context::Chat, &mut lines);
    lines.push(Line::raw(""));
    lines.push(Line::styled(text!("Commands"), palette.heading));
    for command in COMMANDS {
        let usage = format!("/{} {}", command.name, texts::lookup(command.arguments));
        rows(usage.trim_end(), texts::lookup(command.help), palette, width, &mut lines);
    }
    lines.push(Line::raw(""));
    lines.push(Line::styled(text!("On a chosen message"), palette.heading));
    keys_of(Context::Messages, &mut lines);
    lines.push(Line::raw(""));
    lines.push(Line::styled(text!("On the memory's page"), palette.heading));
    keys_of(Context::MemoryPage, &mut lines);
    lines.push(Line::raw(""));
    lines.push(Line::styled(text!("On what imports taught (/learned)"), palette.heading));
    keys_of(Context::Learned, &mut lines);
    let height = area.height.saturating_sub(1);
    let most = (lines.len() as u16).saturating_sub(height);
    let scroll = scroll.min(most);
    let body = ratatui::layout::Rect { height, ..area };
    frame.render_widget(Paragraph::new(lines).scroll((scroll, 0)), body);
    let foot = ratatui::layout::Rect { y: area.y + height, height: 1, ..area };
    let hint = |action| state.keys.hint(Context::Help, action);
    let close = hint(Action::Close);
    let keys = match (scroll < most, most > 0) {
        (true, _) => format!("{} · {close}", hint(Action::Down)),
        (false, true) => format!("{} · {close}", hint(Action::Up)),
        (false, false) => close,
    };
    frame.render_widget(Span::styled(keys, palette.muted), foot);
}
