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
    let height = lines.len() as u16 + 4;
    let area = popup(frame, palette, &question.title, 72, height);
    let [body, _, foot] =
        Layout::vertical([Constraint::Min(1), Constraint::Length(1), Constraint::Length(1)])
            .areas(area);
    let most = (lines.len() as u16).saturating_sub(body.height);
    frame.render_widget(Paragraph::new(lines).scroll((question.scroll.min(most), 0)), body);
    let key = |action| state.keys.of(Context::Confirm, action);
    let mut spans = vec![
        Span::styled(key(Action::Accept), palette.accent),
        Span::styled(format!(" {}   ", question.yes), palette.text),
        Span::styled(key(Action::Close), palette.accent),
        Span::styled(format!(" {}", text!("leave it")), palette.text),
    ];
    if let Some((what, _)) = &question.other {
        let other = [
            Span::styled(key(Action::Other), palette.accent),
            Span::styled(format!(" {what}   "), palette.text),
        ];
        spans.splice(2..2, other);
    }
    if most > 0 {
        let read = state.keys.hint(Context::Confirm, Action::Up);
        spans.push(Span::styled(format!("   {read}"), palette.muted));
    }
    frame.render_widget(Line::from(spans), foot);
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
