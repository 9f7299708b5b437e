//! What an empty chat says: what this is and what it runs on, then things to try, or the last chats and what was learnt. As much
//! of it as there is room for.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use crate::memory::plain_text;
use crate::texts::{self, key, plural, text};
use crate::tui::keys::{Action, Context};
use crate::tui::state::{ModelLine, State};
use crate::tui::view::{framed, led, spread};
use crate::tui::welcome::{Offer, offers};
use crate::tui::{dates, wrap};

/// Cells of a column; longer lines are hard to read.
const WIDTH_MAX: usize = 66;
/// From this width on, there is room for what comes of a trial.
const NOTES_WIDTH: usize = 50;
/// Between two columns.
const GAP: usize = 6;
const INCOGNITO: &str = key!("Nothing said here is kept. What is in memory can be asked about.");
const PRIVATE: &str = key!("Everything stays on this machine.");

/// How much is said, from all to the least.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Size {
    /// Rows of a section.
    n_rows: usize,
    /// Whether there is more than the title and the first section.
    whole: bool,
    /// The sections stand beside each other.
    beside: bool,
}

/// A line, and the offer that it is.
type Row = (Line<'static>, Option<usize>);

pub(super) fn draw(frame: &mut Frame<'_>, state: &State, area: Rect) {
    let (width, height) = (usize::from(area.width), usize::from(area.height));
    let size = |n_rows, whole, beside| Size { n_rows, whole, beside };
    let sizes =
        [size(7, true, true), size(5, true, false), size(3, true, false), size(3, false, false)];
    // A frame takes two rows and two cells on each side.
    let two = !state.greeting.chats.is_empty() && !state.greeting.facts.is_empty();
    let fits = |size: &&Size| {
        let cells = if size.beside { 2 * WIDTH_MAX + GAP + 8 } else { 60 };
        (two || !size.beside) && width >= cells && rows(state, **size, width).len() + 4 <= height
    };
    let size = sizes.iter().filter(|size| size.whole).find(fits);
    let is_framed = size.is_some();
    let size = size.copied().unwrap_or(sizes[3]);
    let mut rows = rows(state, size, width);
    rows.truncate(height);
    let columns = if size.beside { 2 * WIDTH_MAX + GAP } else { WIDTH_MAX };
    let (margin, air) = if is_framed { (3, 2) } else { (0, 0) };
    let across = (columns + 2 * margin + 2 * usize::from(is_framed)).min(width) as u16;
    let tall = (rows.len() + 2 * air) as u16;
    // A little above the middle is where the eye rests.
    let top = area.height.saturating_sub(tall) * 2 / 5;
    let left = if is_framed { area.width.saturating_sub(across) / 2 } else { 0 };
    let outer = Rect { x: area.x + left, y: area.y + top, width: across, height: tall };
    let margin = margin as u16 + u16::from(is_framed);
    let inner = Rect {
        x: outer.x + margin,
        y: outer.y + air as u16,
        width: outer.width.saturating_sub(2 * margin),
        height: rows.len() as u16,
    };
    if is_framed {
        frame.render_widget(framed(&state.palette, "", state.palette.border), outer);
    }
    let mut places = state.offered.places.borrow_mut();
    places.clear();
    for (n, (_, offer)) in rows.iter().enumerate() {
        if let Some(offer) = offer {
            let row = Rect {
                y: inner.y + n as u16,
                height: 1,
                width: inner.width.min(WIDTH_MAX as u16),
                ..inner
            };
            places.push((*offer, row));
        }
    }
    let lines: Vec<Line<'_>> = rows.into_iter().map(|(line, _)| line).collect();
    frame.render_widget(Paragraph::new(lines), inner);
}

/// The whole text in `width` cells, its frame included.
fn rows(state: &State, size: Size, width: usize) -> Vec<Row> {
    let column = if size.whole { (width - 8).min(WIDTH_MAX) } else { width.min(WIDTH_MAX) };
    let palette = &state.palette;
    let mut rows = head(state, size, column);
    let mut sections = sections(state, size, column);
    if !size.whole {
        sections.truncate(1);
    }
    if size.beside && sections.len() > 1 {
        rows.push((Line::raw(""), None));
        rows.extend(beside(sections));
    } else {
        for section in sections {
            rows.push((Line::raw(""), None));
            rows.extend(section);
        }
    }
    if size.whole {
        let keys = format!(
            "{} · / {} · {}",
            state.keys.hint(Context::Input, Action::Help),
            text!("commands"),
            state.keys.hint(Context::Chat, Action::Memory),
        );
        rows.extend([(Line::raw(""), None), (Line::styled(keys, palette.muted), None)]);
    }
    rows
}

/// Two sections next to each other.
fn beside(sections: Vec<Vec<Row>>) -> Vec<Row> {
    let mut sections = sections.into_iter().map(Vec::into_iter);
    let (mut left, mut right) =
        (sections.next().unwrap_or_default(), sections.next().unwrap_or_default());
    let mut rows = Vec::new();
    loop {
        let (a, b) = match (left.next(), right.next()) {
            (None, None) => return rows,
            (a, b) => (a.unwrap_or_default(), b.unwrap_or_default()),
        };
        let (mut line, offer) = a;
        let gap = (WIDTH_MAX + GAP).saturating_sub(line.width());
        line.spans.push(Span::raw(" ".repeat(gap)));
        line.spans.extend(b.0.spans);
        rows.push((line, offer));
    }
}

/// The title, and what all of it runs on.
fn head(state: &State, size: Size, width: usize) -> Vec<Row> {
    let (palette, greeting) = (&state.palette, &state.greeting);
    let title = if state.incognito {
        text!("Incognito").to_owned()
    } else if greeting.chats.is_empty() {
        text!("An assistant that remembers").to_owned()
    } else {
        match &greeting.name {
            Some(name) => text!("Welcome back, {name}", name = plain_text(name)),
            None => text!("Welcome back").to_owned(),
        }
    };
    let mut lines = vec![Line::styled(wrap::ellipsis(&title, width), palette.heading)];
    let is_first = greeting.chats.is_empty() && !state.incognito;
    let text = texts::lookup(if state.incognito { INCOGNITO } else { PRIVATE });
    let text = match runs_on(state, is_first && size.whole).filter(|_| size.whole) {
        Some(model) => format!("{text} {model}"),
        None => text.to_owned(),
    };
    lines.extend(wrap::plain(&text, palette.text, width));
    if let Some((n, source)) = greeting.learned.as_ref().filter(|_| !state.incognito) {
        let things = plural!("{n} thing", "{n} things", *n);
        let text = if size.whole {
            let source = wrap::ellipsis(&plain_text(source), 40);
            text!("{things} learnt from {source}: /learned lists them.", things, source)
        } else {
            text!("{things} learnt: /learned.", things)
        };
        lines.extend(wrap::plain(&text, palette.accent, width));
    }
    if let ModelLine::Absent = state.model {
        let text = text!("No model is loaded. {key} lists them.", key = state.key(Action::Models));
        lines.extend(wrap::plain(&text, palette.warning, width));
    }
    lines.into_iter().map(|line| (line, None)).collect()
}

/// "It runs on qwen3-0.6b."
fn runs_on(state: &State, at_length: bool) -> Option<String> {
    let profile = state.model.profile()?;
    let name = wrap::ellipsis(&plain_text(&profile.name), 28);
    Some(match (profile.starter, at_length) {
        (true, true) => {
            text!(
                "It runs on the built-in model, which is small: it keeps and finds what you tell it and talks simply, but knows \
                 little of the world. /model gets a larger one."
            )
            .into()
        }
        (true, false) => text!("It runs on the built-in model.").into(),
        (false, _) => text!("It runs on {name}.", name = name.trim_end_matches('.')).replace("….", "…"),
    })
}

/// What can be chosen, and what was learnt.
fn sections(state: &State, size: Size, width: usize) -> Vec<Vec<Row>> {
    let (palette, greeting) = (&state.palette, &state.greeting);
    if state.incognito {
        return Vec::new();
    }
    let choose = text!("{key} chooses", key = state.key(Action::SwitchFocus));
    let title = |text: &str, note: &str| {
        let left = vec![Span::styled(text.to_owned(), palette.muted)];
        let room = width.saturating_sub(wrap::width(text) + 2);
        let note = Span::styled(wrap::parts_that_fit(note, room), palette.border);
        (spread(left, vec![note], width), None)
    };
    let offers = offers(state);
    let chats = !greeting.chats.is_empty();
    let mut first = vec![if chats {
        let all = text!("{key} all", key = state.key(Action::Sessions));
        title(text!("Last chats"), &format!("{choose} · {all}"))
    } else {
        title(text!("Three things to try"), &choose)
    }];
    first.extend(offers.iter().take(size.n_rows).enumerate().map(|(n, offer)| {
        let (text, note) = match offer {
            // On a narrow screen what comes of it stands back.
            Offer::Try(text, _) if width < NOTES_WIDTH => ((*text).to_owned(), String::new()),
            Offer::Try(text, what) => ((*text).to_owned(), (*what).to_owned()),
            Offer::Chat(_, title, at) => {
                (plain_text(title).into_owned(), dates::day(*at, state.now))
            }
        };
        (offered(state, n, &text, &note, width), Some(n))
    }));
    let facts = greeting.facts.iter().take(size.n_rows).map(|fact| {
        let text = wrap::ellipsis(&plain_text(fact), width.saturating_sub(2));
        (led(Span::styled("· ", palette.marker), Line::styled(text, palette.text)), None)
    });
    let mut second: Vec<Row> = facts.collect();
    if !second.is_empty() && chats {
        let all = text!("{key} all", key = state.key(Action::Memory));
        second.insert(0, title(text!("Learnt lately"), &all));
        return vec![first, second];
    }
    vec![first]
}

/// A row that can be chosen.
fn offered(state: &State, n: usize, text: &str, note: &str, width: usize) -> Line<'static> {
    let palette = &state.palette;
    let chosen = state.offered.chosen == Some(n);
    let room = width.saturating_sub(wrap::width(note) + 4);
    let left = vec![
        Span::styled(if chosen { "› " } else { "  " }, palette.accent),
        Span::styled(wrap::ellipsis(text, room), palette.text),
    ];
    let mut line = spread(left, vec![Span::styled(note.to_owned(), palette.muted)], width);
    if chosen {
        line.spans.iter_mut().for_each(|span| span.style = palette.selected);
    }
    line
}
