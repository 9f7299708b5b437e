//! The status line: model, speed, context, memory worker.

use std::iter;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use throbber_widgets_tui::symbols::throbber::BRAILLE_SIX;

use crate::interfaces::LoadProgress;
use crate::memory::plain_text;
use crate::texts::{self, text};
use crate::tui::keys::{Action, Context};
use crate::tui::state::{Focus, ModelLine, State};
use crate::tui::view::{led, spread};
use crate::tui::{messages, wrap};
use crate::worker::{WorkerState, WorkerStatus};

/// One frame of the spinner.
pub(super) fn spinner(state: &State) -> &'static str {
    let frames = BRAILLE_SIX.symbols;
    frames[(state.frame() % frames.len() as u64) as usize]
}

/// 8192 → "8,192".
fn thousands(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push_str(text!(","));
        }
        out.push(c);
    }
    out
}

/// What stands in place of the status line for a moment, or while a message is chosen.
fn instead(state: &State, width: u16) -> Option<Vec<Line<'static>>> {
    let (text, style) = match &state.hint {
        Some((text, _)) => (plain_text(text).into_owned(), state.palette.accent),
        None if state.focus == Focus::Messages => (messages::hints(state), state.palette.muted),
        None => return None,
    };
    let rows = wrap::plain(&text, style, usize::from(width.saturating_sub(2)));
    Some(rows.into_iter().take(ROWS_MAX).map(|row| led(Span::raw(" "), row)).collect())
}

/// A longer sentence is cut.
const ROWS_MAX: usize = 3;

/// Rows that it takes: a sentence is not cut where the screen is narrow.
pub(super) fn rows(state: &State, width: u16) -> u16 {
    instead(state, width).map_or(1, |rows| rows.len().max(1) as u16)
}

pub(super) fn draw(frame: &mut Frame<'_>, state: &State, area: Rect) {
    let palette = &state.palette;
    let width = usize::from(area.width);
    if let Some(rows) = instead(state, area.width) {
        frame.render_widget(Paragraph::new(rows), area);
        return;
    }
    let mut parts: Vec<Vec<Span<'static>>> = vec![model(state, area.width)];
    if let Some(speed) = state.tokens_per_second {
        parts.push(vec![Span::styled(
            text!("{n} tok/s", n = format_args!("{speed:.0}")),
            palette.muted,
        )]);
    }
    if let Some(window) = state.window {
        let (used, limit) = (thousands(window.used_tokens), thousands(window.limit_tokens));
        let text = text!("context {used}/{limit}", used, limit);
        parts.push(vec![Span::styled(text, palette.muted)]);
    }
    if let Some(status) = &state.worker {
        let failed = matches!(status.state, WorkerState::Failed { .. });
        let style = if failed { palette.warning } else { palette.muted };
        let mut spans = Vec::new();
        if state.worker_is_busy() {
            spans.push(Span::styled(format!("{} ", spinner(state)), palette.accent));
        }
        spans.push(Span::styled(plain_text(&worker(status)).into_owned(), style));
        parts.push(spans);
    }
    let help = state.keys.hint(Context::Input, Action::Help);
    let help = vec![Span::styled(format!("{help} "), palette.muted)];
    // If there is no room for all, drop the context first, then the speed, then the worker.
    let cells = |parts: &[Vec<Span<'_>>]| {
        parts.iter().flatten().map(|s| wrap::width(&s.content)).sum::<usize>() + 3 * parts.len()
    };
    while parts.len() > 1 && cells(&parts) + 8 > width {
        let at = if parts.len() > 2 { parts.len() - 2 } else { 1 };
        parts.remove(at);
    }
    // How to get a better model, where there is room; it matters more than that this is built in.
    let next = match (&state.pull, &state.model) {
        (Some(pull), _) => {
            let stops = text!("{key} stops", key = state.key(Action::Escape));
            Some(Span::styled(format!("{} · {stops}", pull.text()), palette.text))
        }
        (None, ModelLine::Ready(profile)) if profile.starter => {
            Some(Span::styled(text!("better: /model"), palette.muted))
        }
        _ => None,
    };
    if let Some(next) = next {
        let next = vec![next];
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

/// What the memory worker does, in a few words.
fn worker(WorkerStatus { state, jobs_left, .. }: &WorkerStatus) -> String {
    let text = match state {
        WorkerState::Failed { what } => return text!("memory: {error}", error = what),
        WorkerState::Working { what } => text!("memory: {what}", what = texts::lookup(what)),
        // It pauses during every reply; that is worth a word only if it has work.
        WorkerState::Paused if *jobs_left > 0 => text!("memory waits").into(),
        WorkerState::Idle | WorkerState::Paused => return text!("memory idle").into(),
    };
    if *jobs_left == 0 { text } else { text!("{doing}, {n} left", doing = text, n = jobs_left) }
}

fn model(state: &State, width: u16) -> Vec<Span<'static>> {
    let palette = &state.palette;
    match &state.model {
        ModelLine::Ready(profile) => {
            let role = profile.role.as_ref().map(|role| {
                let name = wrap::ellipsis(&plain_text(&role.name), 16);
                Span::styled(format!(" {}", text!("as {role}", role = name)), palette.text)
            });
            let note = match role {
                None if profile.starter && width >= 60 => {
                    Some(Span::styled(format!(" ({})", text!("built in")), palette.muted))
                }
                role => role,
            };
            let name = wrap::ellipsis(&plain_text(&profile.name), 28);
            iter::once(Span::styled(name, palette.accent)).chain(note).collect()
        }
        ModelLine::Loading { name, progress, .. } => {
            let mut spans = vec![
                Span::styled(spinner(state), palette.accent),
                Span::styled(
                    format!(
                        " {}",
                        text!("loading {name}", name = wrap::ellipsis(&plain_text(name), 24))
                    ),
                    palette.text,
                ),
            ];
            let Some(LoadProgress { stage, fraction }) = progress else { return spans };
            if let Some(fraction) = fraction {
                let cells = 10;
                let full = (fraction.clamp(0.0, 1.0) * cells as f32).round() as usize;
                spans.push(Span::styled(format!("  {}", "━".repeat(full)), palette.bar));
                spans.push(Span::styled("─".repeat(cells - full), palette.bar_refused));
                spans.push(Span::styled(format!(" {:.0} %", fraction * 100.0), palette.muted));
            }
            if !stage.is_empty() {
                let stage = wrap::ellipsis(&plain_text(texts::lookup(stage)), 28);
                spans.push(Span::styled(format!("  {stage}"), palette.muted));
            }
            spans
        }
        ModelLine::Absent => vec![Span::styled(text!("no model"), palette.error)],
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

    #[test]
    fn the_worker_in_a_few_words() {
        let check = |state, jobs_left, text: &str| {
            assert_eq!(worker(&WorkerStatus { state, jobs_done: 0, jobs_left }), text);
        };
        check(WorkerState::Idle, 0, "memory idle");
        check(WorkerState::Paused, 0, "memory idle");
        check(WorkerState::Paused, 2, "memory waits, 2 left");
        let working = WorkerState::Working { what: "noting facts".into() };
        check(working, 3, "memory: noting facts, 3 left");
        check(WorkerState::Failed { what: "1 step failed".into() }, 3, "memory: 1 step failed");
    }
}
