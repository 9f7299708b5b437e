//! A list to choose from: commands, chats, models, earlier messages.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{List, ListState};

use crate::memory::plain_text;
use crate::store::FOUND;
use crate::texts::text;
use crate::tui::keys::Context;
use crate::tui::palette::Palette;
use crate::tui::pickers::{Picker, PickerKind};
use crate::tui::state::State;
use crate::tui::view::{list_line, popup};
use crate::tui::{chats, wrap};

pub(super) fn draw(frame: &mut Frame<'_>, state: &State, picker: &Picker) {
    let palette = &state.palette;
    let title = match picker.kind {
        PickerKind::Palette => text!("commands"),
        PickerKind::Sessions => text!("chats"),
        PickerKind::Models => text!("models"),
        PickerKind::History => text!("your messages"),
        PickerKind::Look => text!("colours"),
        PickerKind::Roles => text!("roles"),
        PickerKind::Prompts => text!("your prompts"),
        PickerKind::Settings => text!("sampling"),
    };
    let rows = picker.items.iter().map(|i| 1 + u16::from(i.preview.is_some())).sum::<u16>();
    let is_large = picker.kind == PickerKind::Sessions;
    let (width, most) = if is_large { (88, 30) } else { (72, 22) };
    // What is found later must not move the list.
    let least = if is_large && !picker.filter.is_empty() { most } else { 8 };
    let height = rows.saturating_add(4).clamp(least, most);
    let area = popup(frame, palette, title, width, height);
    let [top, list, foot] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)])
            .areas(area);
    let width = usize::from(area.width);

    let filter = plain_text(&picker.filter);
    let filter = wrap::ellipsis(&filter, width.saturating_sub(4));
    let x = top.x + 2 + wrap::width(&filter) as u16;
    let typed = if picker.filter.is_empty() {
        let words = if is_large {
            text!("type to search titles and messages")
        } else {
            text!("type to filter")
        };
        Span::styled(words, palette.muted)
    } else {
        Span::styled(filter, palette.text)
    };
    frame.render_widget(Line::from(vec![Span::styled("› ", palette.accent), typed]), top);
    frame.set_cursor_position(Position { x: x.min(top.right().saturating_sub(1)), y: top.y });

    let items = picker.visible();
    if items.is_empty() {
        frame.render_widget(Span::styled(picker.empty(), palette.muted), list);
    }
    let chosen = picker.selected.min(items.len().saturating_sub(1));
    let lines = items.iter().enumerate().map(|(n, item)| {
        let room = width.saturating_sub(2);
        let is_gone = item.session().is_some_and(|id| chats::is_deleted(state, id));
        let detail = if is_gone { text!("deleted") } else { &item.detail };
        let beside = room.saturating_sub(wrap::width(&item.label) + 2);
        let detail = wrap::ellipsis(detail, beside.max(room / 2));
        let label = wrap::ellipsis(&item.label, room.saturating_sub(wrap::width(&detail) + 2));
        let mut line = list_line(palette, format!(" {label}"), &detail, n == chosen, width);
        if is_gone && n != chosen {
            line.spans[0].style = palette.superseded;
        }
        let preview = item.preview.as_ref().map(|text| found(palette, text, width));
        Text::from([line].into_iter().chain(preview).collect::<Vec<_>>())
    });
    let mut scrolled = ListState::default().with_selected(Some(chosen));
    frame.render_stateful_widget(List::new(lines), list, &mut scrolled);
    let mut keys = state.keys.hints(Context::Picker);
    if is_large {
        keys = format!("{} · {keys}", state.keys.hints(Context::ChatList));
    }
    let keys = wrap::parts_that_fit(&keys, width);
    frame.render_widget(Span::styled(keys, palette.muted), foot);
}

/// The words around what was found, which stands out.
fn found(palette: &Palette, preview: &str, width: usize) -> Line<'static> {
    let mut spans = vec![Span::raw("   ")];
    let mut room = width.saturating_sub(4);
    let mut is_hit = false;
    for part in preview.split([FOUND.0, FOUND.1]) {
        let text = wrap::cut(&plain_text(part), room);
        room = room.saturating_sub(wrap::width(&text));
        let style = if is_hit { palette.accent } else { palette.muted };
        spans.push(Span::styled(text, style));
        is_hit = !is_hit;
    }
    Line::from(spans)
}
