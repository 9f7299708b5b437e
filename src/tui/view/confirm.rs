//! A question that takes yes or no, and the correction of a fact.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use crate::memory::plain_text;
use crate::texts::text;
use crate::tui::keys::{Action, Context};
use crate::tui::state::{Confirm, Edit, Edited, State};
use crate::tui::view::{input, popup};
use crate::tui::wrap;

pub(super) fn draw(frame: &mut Frame<'_>, state: &State, question: &Confirm) {
    let palette = &state.palette;
    let screen = frame.area();
    let width = usize::from(68.min(screen.width.saturating_sub(6)));
    let lines: Vec<Line<'_>> = question
        .lines
        .iter()
        .flat_map(|text| {
            if text.is_empty() {
                return vec![Line::raw("")];
            }
            // A wrapped row keeps the two cells by which a plan's texts are indented.
            let clean = plain_text(text);
            let line = Line::styled(wrap::ellipsis_keep_indent(&clean, width * 3), palette.text);
            wrap::wrap(&line, width, 2)
        })
        .collect();
    let answers = |reads_on: bool| {
        let key = |action, what: &str| {
            let key = Span::styled(state.keys.of(Context::Confirm, action), palette.accent);
            vec![key, Span::styled(format!(" {what}"), palette.text)]
        };
        let mut all = vec![key(Action::Accept, &question.yes)];
        all.extend(question.other.as_ref().map(|(what, _)| key(Action::Other, what)));
        all.push(key(Action::Close, text!("leave it")));
        let read = state.keys.hint(Context::Confirm, Action::Up);
        all.extend(reads_on.then(|| vec![Span::styled(read, palette.muted)]));
        rows(all, width)
    };
    let mut foot = answers(false);
    let n_rows = lines.len() as u16;
    let area = popup(frame, palette, &question.title, 72, n_rows + 3 + foot.len() as u16);
    if n_rows + 1 + foot.len() as u16 > area.height {
        foot = answers(true);
    }
    let below = Constraint::Length(foot.len() as u16);
    let [body, _, keys] =
        Layout::vertical([Constraint::Min(1), Constraint::Length(1), below]).areas(area);
    let most = n_rows.saturating_sub(body.height);
    frame.render_widget(Paragraph::new(lines).scroll((question.scroll.min(most), 0)), body);
    frame.render_widget(Paragraph::new(foot), keys);
}

/// As many of these in a row as it has cells for.
fn rows(all: Vec<Vec<Span<'_>>>, width: usize) -> Vec<Line<'_>> {
    let mut rows: Vec<Line<'_>> = Vec::new();
    for part in all {
        let cells: usize = part.iter().map(Span::width).sum();
        match rows.last_mut() {
            Some(row) if row.width() + 3 + cells <= width => {
                row.push_span(Span::raw("   "));
                row.extend(part);
            }
            _ => rows.push(Line::from(part)),
        }
    }
    rows
}

pub(super) fn edit(frame: &mut Frame<'_>, state: &State, edit: &Edit) {
    let palette = &state.palette;
    let screen = frame.area();
    let width = usize::from(72.min(screen.width.saturating_sub(2))).saturating_sub(5);
    let rows = edit.editor.rows(width).clamp(2, 8) as u16;
    let title = match edit.what {
        Edited::Fact(id) => text!("correct {id}", id),
        Edited::Title(_) => text!("rename the chat").to_owned(),
    };
    let area = popup(frame, palette, &title, 72, rows + 4);
    let [body, _, foot] =
        Layout::vertical([Constraint::Min(1), Constraint::Length(1), Constraint::Length(1)])
            .areas(area);
    input::place(frame, &edit.editor.area, body, true);
    let keys = wrap::parts_that_fit(&state.keys.hints(Context::Edit), usize::from(foot.width));
    frame.render_widget(Span::styled(keys, palette.muted), foot);
}
