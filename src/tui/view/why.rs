//! *Why*: what was said that an answer rests on; in detail, all that was considered, and the uncertainty step by step.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use crate::chat::Sureness;
use crate::memory::{Message, Moment, Role, plain_text};
use crate::texts::{self, plural, text};
use crate::tui::dates;
use crate::tui::keys::{Action, Context};
use crate::tui::palette::Palette;
use crate::tui::state::{State, WhyPane};
use crate::tui::view::{led, pane_frame};
use crate::tui::why::{TriedEpisode, Why, WhyText, bar};
use crate::tui::wrap;

/// Messages that the answer in words quotes.
const N_SAID_MAX: usize = 5;

pub(super) fn draw(frame: &mut Frame<'_>, state: &State, pane: &WhyPane, area: Rect) {
    let palette = &state.palette;
    let (inner, _) = pane_frame(frame, state, text!("why this answer"), area);
    let [body, foot] = Layout::vertical([Constraint::Min(1), Constraint::Length(1)]).areas(inner);
    let lines = lines(state, pane, usize::from(body.width));
    let most = (lines.len() as u16).saturating_sub(body.height);
    frame.render_widget(Paragraph::new(lines).scroll((pane.scroll.min(most), 0)), body);
    let replies = state.transcript.replies();
    let at = pane.reply.and_then(|id| replies.iter().position(|&r| r == id));
    let hint = |action| state.keys.hint(Context::WhyPane, action);
    let mut keys = Vec::new();
    if let Some(at) = at.filter(|_| replies.len() > 1) {
        let place = text!("{n} of {of}", n = at + 1, of = replies.len());
        keys.push(format!("{} {place}", hint(Action::Left)));
    }
    if !pane.in_detail && pane.reply.is_some() {
        keys.push(hint(Action::Why));
    }
    keys.push(hint(Action::Close));
    let keys = keys.join(" · ");
    let keys = wrap::parts_that_fit(&keys, usize::from(foot.width));
    frame.render_widget(Span::styled(keys, palette.muted), foot);
}

pub(in crate::tui) fn lines(state: &State, pane: &WhyPane, width: usize) -> Vec<Line<'static>> {
    let palette = &state.palette;
    let Some(id) = pane.reply else {
        let text = text!("No answer yet. After one, this shows what you said that it rests on.");
        return wrap::plain(&format!("\n{text}"), palette.muted, width);
    };
    let mut lines = Vec::new();
    if let Some(question) = state.transcript.question_of(id) {
        let text = wrap::ellipsis(&plain_text(&question.content), width.saturating_sub(2) * 2);
        let rows = wrap::plain(&text, palette.text, width.saturating_sub(2));
        lines.extend(rows.into_iter().map(|row| led(Span::styled("▌ ", palette.user), row)));
    }
    match state.transcript.why(id) {
        Some((Some(why), _)) if !pane.in_detail => {
            let said = pane.grounds.as_deref();
            in_words(&mut lines, why, said, state.now, palette, width);
        }
        Some((Some(why), _)) => {
            read(&mut lines, why, palette, width, true);
            chart(&mut lines, why, palette, width);
            read(&mut lines, why, palette, width, false);
            themes(&mut lines, why, palette, width);
            cost(&mut lines, why, palette, width);
        }
        Some((None, true)) => {
            lines.push(Line::raw(""));
            let text = text!("No memory was used for this answer.");
            lines.extend(wrap::plain(text, palette.muted, width));
        }
        _ => {
            lines.push(Line::raw(""));
            lines.push(Line::styled(text!("reading…"), palette.muted));
        }
    }
    lines
}

fn heading(lines: &mut Vec<Line<'static>>, text: &str, palette: &Palette, width: usize) {
    lines.push(Line::raw(""));
    lines.extend(wrap::plain(text, palette.heading, width));
}

/// What was said that the answer rests on.
fn in_words(
    lines: &mut Vec<Line<'static>>,
    why: &Why,
    said: Option<&[Message]>,
    now: Moment,
    palette: &Palette,
    width: usize,
) {
    let Some(said) = said else { return };
    let is_quoted = why.quoted.is_some();
    // The newest count most.
    let n_left = said.len().saturating_sub(N_SAID_MAX);
    for (at, message) in said[n_left..].iter().enumerate() {
        heading(lines, &said_when(message, at == 0, is_quoted, now), palette, width);
        let text: Vec<&str> = message.content.split_whitespace().collect();
        let text = wrap::ellipsis(&plain_text(&text.join(" ")), width.saturating_sub(2) * 4);
        lines.extend(wrap::plain(&text!("“{text}”", text), palette.text, width));
    }
    if said.is_empty() {
        read(lines, why, palette, width, is_quoted);
    }
    if let Some(sureness) = why.sureness {
        let (gauge, words) = match sureness {
            Sureness::Sure => ("▰▰▰", text!("sure")),
            Sureness::FairlySure => ("▰▰▱", text!("fairly sure")),
            Sureness::Guessing => ("▰▱▱", text!("guessing")),
        };
        lines.push(Line::raw(""));
        lines.push(Line::from(vec![
            Span::styled(gauge, palette.bar),
            Span::styled(format!("  {words}"), palette.muted),
        ]));
    }
    let n_others = why.facts.len() + why.messages.len() - why.grounds().len();
    if n_left + n_others > 0 {
        let others = plural!(
            "{n} other memory considered",
            "{n} other memories considered",
            n_left + n_others
        );
        lines.push(Line::raw(""));
        lines.extend(wrap::plain(&others, palette.muted, width));
    }
}

/// "Because you said, today 10:00:"
fn said_when(message: &Message, is_first: bool, is_quoted: bool, now: Moment) -> String {
    let when = dates::day_and_time(message.created_at, now);
    let name = match (&message.speaker, message.role) {
        (Some(name), _) => plain_text(name),
        (None, Role::Assistant) => text!("the assistant").into(),
        (None, Role::User) => {
            return match (is_first, is_quoted) {
                (true, true) => text!("Because you said, {when}:", when),
                (true, false) => text!("It was shown what you said, {when}:", when),
                (false, _) => text!("And you said, {when}:", when),
            };
        }
    };
    match (is_first, is_quoted) {
        (true, true) => text!("Because {name} said, {when}:", name, when),
        (true, false) => text!("It was shown what {name} said, {when}:", name, when),
        (false, _) => text!("And {name} said, {when}:", name, when),
    }
}

/// To two decimal places, and never "-0.00".
fn rounded(nats: f64) -> f64 {
    (nats * 100.0).round() / 100.0 + 0.0
}

/// One bar for the context before any episode, then one for each episode that was tried.
fn chart(lines: &mut Vec<Line<'static>>, why: &Why, palette: &Palette, width: usize) {
    if why.steps.is_empty() && why.coarse_nats.is_none() {
        return;
    }
    let title = if why.overlap {
        text!("Share of the question not covered")
    } else {
        text!("Uncertainty, in nats")
    };
    heading(lines, title, palette, width);
    let max = why.nats_max();
    // The number at the right takes seven cells; one stays free.
    let cells = width.saturating_sub(8).clamp(4, 48);
    let number = |nats: Option<f64>| match nats {
        Some(n) if n.is_finite() => format!(" {:>6}", texts::decimal(rounded(n), 2)),
        _ => "      –".into(),
    };
    let row = |nats: Option<f64>, style| {
        let text = bar(nats.unwrap_or(0.0), max, cells);
        let pad = cells.saturating_sub(wrap::width(&text));
        Line::from(vec![
            Span::styled(text, style),
            Span::raw(" ".repeat(pad)),
            Span::styled(number(nats), palette.muted),
        ])
    };
    let start = why.coarse_nats.or_else(|| why.steps.first().and_then(|s| s.before_nats));
    lines.push(Line::styled(text!("with themes and facts"), palette.muted));
    lines.push(row(start, palette.bar));
    for step in &why.steps {
        lines.push(label(step, palette, width));
        let style = if step.admitted { palette.bar } else { palette.bar_refused };
        lines.push(row(step.after_nats, style));
    }
    if let (Some(first), Some(last)) = (start, why.final_nats) {
        let text = if why.steps.iter().any(|s| s.admitted) {
            let [before, after] = [first, last].map(|nats| texts::decimal(rounded(nats), 2));
            if why.overlap {
                format!("{before} → {after}")
            } else {
                text!("{before} → {after} nats", before, after)
            }
        } else if why.steps.is_empty() {
            text!("no episode was tried").into()
        } else {
            text!("no episode lowered it: none was admitted").into()
        };
        lines.push(Line::styled(wrap::ellipsis(&text, width), palette.ok));
    }
}

fn label(step: &TriedEpisode, palette: &Palette, width: usize) -> Line<'static> {
    let (mark, style, verdict) = match (step.admitted, step.expanded) {
        (true, true) => ("+ ", palette.ok, text!("with its messages")),
        (true, false) => ("+ ", palette.ok, text!("admitted")),
        (false, _) => ("· ", palette.muted, text!("refused")),
    };
    let change = match (step.before_nats, step.after_nats) {
        (Some(before), Some(after)) if before.is_finite() && after.is_finite() => {
            format!("{:+.2}", rounded(after - before)).replace('.', text!("."))
        }
        _ => String::new(),
    };
    let right = format!("  {verdict} {change}");
    let room = width.saturating_sub(wrap::width(&right) + 2 + step.id.len() + 1);
    let title = wrap::ellipsis(&step.title, room);
    let title = format!("{} {title}", step.id);
    let gap = width.saturating_sub(2 + wrap::width(&title) + wrap::width(&right));
    Line::from(vec![
        Span::styled(mark, style),
        Span::styled(title, if step.admitted { palette.text } else { palette.muted }),
        Span::raw(" ".repeat(gap)),
        Span::styled(right, palette.muted),
    ])
}

/// Facts and whole messages: those that the reply quotes, or the others.
fn read(lines: &mut Vec<Line<'static>>, why: &Why, palette: &Palette, width: usize, quoted: bool) {
    let (of_facts, of_messages) = match (quoted, &why.quoted) {
        (true, _) => (text!("Quoted"), text!("Quoted from messages")),
        (false, Some(_)) => (text!("Also considered"), text!("Messages also considered")),
        (false, None) => (text!("Facts"), text!("Messages")),
    };
    let style = if quoted || why.quoted.is_none() { palette.text } else { palette.muted };
    for (title, texts) in [(of_facts, &why.facts), (of_messages, &why.messages)] {
        let texts: Vec<_> = texts.iter().filter(|t| why.quotes(&t.id) == quoted).collect();
        if !texts.is_empty() {
            heading(lines, title, palette, width);
        }
        for WhyText { id, speaker, text } in texts {
            let speaker = match speaker.as_deref() {
                // As records name the person.
                Some("You") => format!("{}: ", text!("You")),
                Some("The user") => format!("{}: ", text!("The user")),
                Some(name) => format!("{name}: "),
                None => String::new(),
            };
            let line = Line::from(vec![
                Span::styled(format!("{id:<5}"), palette.muted),
                Span::styled(speaker, palette.user),
                Span::styled(wrap::ellipsis(text, width * 5), style),
            ]);
            lines.extend(wrap::wrap(&line, width, 5));
        }
    }
}

fn themes(lines: &mut Vec<Line<'static>>, why: &Why, palette: &Palette, width: usize) {
    if why.themes.is_empty() {
        return;
    }
    heading(lines, text!("Themes"), palette, width);
    lines.extend(wrap::plain(&why.themes.join(" · "), palette.muted, width));
}

fn cost(lines: &mut Vec<Line<'static>>, why: &Why, palette: &Palette, width: usize) {
    let mut parts = Vec::new();
    if let Some(n) = why.prompt_tokens {
        parts.push(text!("{n} tokens read", n));
    }
    if let Some(n) = why.processed_tokens {
        parts.push(text!("{n} processed", n));
    }
    if let Some(seconds) = why.recall_seconds {
        parts.push(text!("{seconds} s of recall", seconds = texts::decimal(seconds, 1)));
    }
    if let Some(model) = &why.model {
        parts.push(model.clone());
    }
    if !parts.is_empty() {
        lines.push(Line::raw(""));
        lines.extend(wrap::plain(&parts.join(" · "), palette.muted, width));
    }
}
