//! What an empty chat says.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use crate::chat::PULL;
use crate::tui::keys::{self, Action, Context};
use crate::tui::palette::Palette;
use crate::tui::state::{ModelLine, State};
use crate::tui::wrap;

fn paragraph(text: &str, palette: &Palette, width: usize) -> Vec<Line<'static>> {
    wrap::plain(text, palette.text, width)
}

pub(super) fn draw(frame: &mut Frame<'_>, state: &State, area: Rect) {
    let palette = &state.palette;
    let width = usize::from(area.width.min(64));
    let is_starter = !state.incognito && state.model.profile().is_some_and(|p| p.starter);
    let mut full = Vec::new();
    if state.incognito {
        full.push(Line::styled("Incognito", palette.heading));
        full.extend(paragraph(
            "Nothing said here is kept. What is in memory can be asked about.",
            palette,
            width,
        ));
    } else {
        full.push(Line::styled("An assistant that remembers", palette.heading));
        full.extend(paragraph("Everything stays on this machine.", palette, width));
    }
    let mut short = full.clone();
    if is_starter {
        let command = Line::from(vec![Span::raw("  "), Span::styled(PULL, palette.code)]);
        for (lines, introduction) in [
            (
                &mut full,
                "This is the built-in starter model: it keeps and finds what you tell it, and quotes it \
                 back. It is too small for real conversation. For that, leave and run",
            ),
            (&mut short, "The built-in starter quotes; to converse:"),
        ] {
            lines.push(Line::raw(""));
            lines.extend(paragraph(introduction, palette, width));
            lines.push(command.clone());
        }
    }
    if let ModelLine::Absent = state.model {
        full.push(Line::raw(""));
        full.push(Line::styled("No model is loaded. Ctrl+L lists them.", palette.warning));
    }
    let keys = format!(
        "{} · / commands · {}",
        keys::hint_text(Context::Input, Action::Help),
        keys::hint_text(Context::Chat, Action::Memory),
    );
    let tail = [
        Line::raw(""),
        Line::styled("Tell it about yourself, or ask what it knows.", palette.muted),
        Line::styled(keys, palette.muted),
    ];
    full.extend(tail.clone());
    short.extend(tail);
    let lines = if full.len() < usize::from(area.height) { full } else { short };
    let pad = area.height.saturating_sub(lines.len() as u16) / 2;
    let left = (area.width.saturating_sub(width as u16) / 2).min(8);
    let middle = Rect {
        x: area.x + left,
        y: area.y + pad,
        width: area.width - left,
        height: area.height - pad,
    };
    frame.render_widget(Paragraph::new(lines), middle);
}
