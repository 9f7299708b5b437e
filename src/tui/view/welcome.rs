//! What an empty chat says.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use crate::memory::plain_text;
use crate::tui::count;
use crate::tui::dates;
use crate::tui::keys::{Action, Context};
use crate::tui::palette::Palette;
use crate::tui::state::{ModelLine, State};
use crate::tui::wrap;

fn paragraph(text: &str, palette: &Palette, width: usize) -> Vec<Line<'static>> {
    wrap::plain(text, palette.text, width)
}

pub(super) fn draw(frame: &mut Frame<'_>, state: &State, area: Rect) {
    let width = usize::from(area.width.min(64));
    let (mut full, mut short) = if state.incognito {
        let lines = heading(state, "Incognito", INCOGNITO, width);
        (lines.clone(), lines)
    } else if state.greeting.chats.is_empty() {
        first_time(state, width)
    } else {
        coming_back(state, width)
    };
    let palette = &state.palette;
    if let Some((n, source)) = state.greeting.learned.as_ref().filter(|_| !state.incognito) {
        let source = wrap::ellipsis(&plain_text(source), 40);
        let n = count(*n, "thing", "things");
        let text = format!("{n} learnt from {source}: /learned lists them.");
        // Below the title, where there is room for no more.
        short.truncate(1);
        for lines in [&mut full, &mut short] {
            lines.push(Line::raw(""));
            lines.extend(wrap::plain(&text, palette.accent, width));
        }
    }
    if let ModelLine::Absent = state.model {
        full.push(Line::raw(""));
        let text = format!("No model is loaded. {} lists them.", state.key(Action::Models));
        full.push(Line::styled(text, palette.warning));
    }
    let keys = format!(
        "{} · / commands · {}",
        state.keys.hint(Context::Input, Action::Help),
        state.keys.hint(Context::Chat, Action::Memory),
    );
    let tail = [Line::raw(""), Line::styled(keys, palette.muted)];
    full.extend(tail.clone());
    short.extend(tail);
    let fits = full.len() < usize::from(area.height) && width >= FULL_WIDTH_MIN;
    let lines = if fits { full } else { short };
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

/// The trials need it.
const FULL_WIDTH_MIN: usize = 52;
const INCOGNITO: &str = "Nothing said here is kept. What is in memory can be asked about.";
/// What to try, and what comes of it.
const TRIALS: [(&str, &str); 3] = [
    ("I moved to Lund last week", "kept, and dated"),
    ("where do I live?", "answered from memory"),
    ("/memory", "all that is remembered"),
];

fn heading(state: &State, title: &str, text: &str, width: usize) -> Vec<Line<'static>> {
    let mut lines = vec![Line::styled(title.to_owned(), state.palette.heading)];
    lines.extend(paragraph(text, &state.palette, width));
    lines
}

/// What this is, and what it runs on; in full and in short.
fn first_time(state: &State, width: usize) -> (Vec<Line<'static>>, Vec<Line<'static>>) {
    let palette = &state.palette;
    let mut full =
        heading(state, "An assistant that remembers", "Everything stays on this machine.", width);
    let mut short = full.clone();
    if state.model.profile().is_some_and(|profile| profile.starter) {
        let command = Line::from(vec![Span::raw("  "), Span::styled("/model", palette.code)]);
        for (lines, introduction) in [
            (
                &mut full,
                "The built-in model is small: it keeps and finds what you tell it and talks simply, but \
                 knows little about the world. Larger ones can be downloaded here:",
            ),
            (&mut short, "The built-in model is small. Larger:"),
        ] {
            lines.push(Line::raw(""));
            lines.extend(paragraph(introduction, palette, width));
            lines.push(command.clone());
        }
    }
    full.push(Line::raw(""));
    full.push(Line::styled("Three things to try:", palette.muted));
    for (text, what) in TRIALS {
        full.push(Line::from(vec![
            Span::styled(format!("  {text:<27}"), palette.text),
            Span::styled(what, palette.muted),
        ]));
    }
    short.push(Line::raw(""));
    short.push(Line::styled("Tell it something, then ask about it.", palette.muted));
    (full, short)
}

/// The last chats, and what was learnt.
fn coming_back(state: &State, width: usize) -> (Vec<Line<'static>>, Vec<Line<'static>>) {
    let (palette, greeting) = (&state.palette, &state.greeting);
    let name = greeting.name.as_ref().map(|name| format!(", {}", plain_text(name)));
    let title = format!("Welcome back{}", name.unwrap_or_default());
    let short = heading(state, &title, "Everything stays on this machine.", width);
    let mut full = short.clone();
    let mut section = |title: String, rows: Vec<String>| {
        if rows.is_empty() {
            return;
        }
        full.push(Line::raw(""));
        full.push(Line::styled(title, palette.muted));
        full.extend(rows.into_iter().map(|row| {
            Line::styled(
                format!("  {}", wrap::ellipsis(&plain_text(&row), width - 2)),
                palette.text,
            )
        }));
    };
    let chats = greeting.chats.iter();
    section(
        format!("Last chats ({} lists them all)", state.key(Action::Sessions)),
        chats.map(|(title, at)| format!("{}: {title}", dates::day(*at, state.now))).collect(),
    );
    section("Learnt lately".to_owned(), greeting.facts.clone());
    (full, short)
}
