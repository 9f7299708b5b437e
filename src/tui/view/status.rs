//! The status line: model, speed, context, memory worker.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Span;
use throbber_widgets_tui::symbols::throbber::BRAILLE_SIX;

use crate::memory::plain_text;
use crate::tui::keys::{self, Action, Context};
use crate::tui::state::{ModelLine, State};
use crate::tui::view::spread;
use crate::tui::wrap;

/// One frame of the spinner.
pub(super) fn spinner(tick: u64) -> &'static str {
    let frames = BRAILLE_SIX.symbols;
    frames[(tick % frames.len() as u64) as usize]
}

/// 8192 → "8,192".
fn thousands(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

pub(super) fn draw(frame: &mut Frame<'_>, state: &State, area: Rect) {
    let palette = &state.palette;
    let width = usize::from(area.width);
    if let Some((text, _)) = &state.hint {
        let text = wrap::ellipsis(&plain_text(text), width.saturating_sub(2));
        frame.render_widget(Span::styled(format!(" {text}"), palette.accent), area);
        return;
    }
    let mut parts: Vec<Vec<Span<'static>>> = vec![model(state)];
    if let Some(speed) = state.tokens_per_second {
        parts.push(vec![Span::styled(format!("{speed:.0} tok/s"), palette.muted)]);
    }
    if let Some(window) = state.window {
        let text =
            format!("context {}/{}", thousands(window.used_tokens), thousands(window.limit_tokens));
        parts.push(vec![Span::styled(text, palette.muted)]);
    }
    if !state.worker.text.is_empty() {
        let style = if state.worker.failed { palette.warning } else { palette.muted };
        let mut spans = Vec::new();
        if state.worker.busy {
            spans.push(Span::styled(format!("{} ", spinner(state.tick)), palette.accent));
        }
        spans.push(Span::styled(plain_text(&state.worker.text).into_owned(), style));
        parts.push(spans);
    }
    let help = keys::hint_text(Context::Input, Action::Help);
    let help = vec![Span::styled(format!("{help} "), palette.muted)];
    // What does not fit is left out, the least needed first: the context, then the speed.
    let cells = |parts: &[Vec<Span<'_>>]| {
        parts.iter().flatten().map(|s| wrap::width(&s.content)).sum::<usize>() + 3 * parts.len()
    };
    while parts.len() > 1 && cells(&parts) + 8 > width {
        let at = if parts.len() > 2 { parts.len() - 2 } else { 1 };
        parts.remove(at);
    }
    // How to get a better model, where there is room; it matters more than that this is built in.
    let built_in = match &state.model {
        ModelLine::Ready(profile) => profile.built_in,
        _ => None,
    };
    if let Some(built_in) = built_in {
        let next = vec![Span::styled(format!("better: {}", built_in.upgrade), palette.muted)];
        let mut with_next = parts.clone();
        with_next.insert(1, next);
        if cells(&with_next) + 8 > width {
            with_next[0].truncate(1);
        }
        if cells(&with_next) + 8 <= width {
            parts = with_next;
        }
    }
    let mut left = vec![Span::raw(" ")];
    for (n, part) in parts.into_iter().enumerate() {
        if n > 0 {
            left.push(Span::styled(" · ", palette.border));
        }
        left.extend(part);
    }
    frame.render_widget(spread(left, help, width), area);
}

fn model(state: &State) -> Vec<Span<'static>> {
    let palette = &state.palette;
    match &state.model {
        ModelLine::Ready(profile) => match profile.built_in {
            Some(built_in) => {
                let note = if state.width < 60 { "" } else { built_in.note };
                let label = Span::styled(built_in.label, palette.accent);
                vec![label, Span::styled(note, palette.muted)]
            }
            None => {
                vec![Span::styled(wrap::ellipsis(&plain_text(&profile.name), 28), palette.accent)]
            }
        },
        ModelLine::Loading { name, stage, fraction, .. } => {
            let mut spans = vec![
                Span::styled(spinner(state.tick), palette.accent),
                Span::styled(
                    format!(" loading {}", wrap::ellipsis(&plain_text(name), 24)),
                    palette.text,
                ),
            ];
            if let Some(fraction) = fraction {
                let cells = 10;
                let full = (fraction.clamp(0.0, 1.0) * cells as f32).round() as usize;
                spans.push(Span::styled(format!("  {}", "━".repeat(full)), palette.bar));
                spans.push(Span::styled("─".repeat(cells - full), palette.bar_refused));
                spans.push(Span::styled(format!(" {:.0} %", fraction * 100.0), palette.muted));
            }
            if !stage.is_empty() {
                let stage = wrap::ellipsis(&plain_text(stage), 28);
                spans.push(Span::styled(format!("  {stage}"), palette.muted));
            }
            spans
        }
        ModelLine::Absent { .. } => vec![Span::styled("no model", palette.error)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_commas() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(999), "999");
        assert_eq!(thousands(8192), "8,192");
        assert_eq!(thousands(1_234_567), "1,234,567");
    }
}
