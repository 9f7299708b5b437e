//! A list to choose from: commands, chats, models, earlier messages.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position};
use ratatui::text::{Line, Span};
use ratatui::widgets::{List, ListState};

use crate::memory::plain_text;
use crate::tui::keys::{self, Context};
use crate::tui::palette::Palette;
use crate::tui::state::{Picker, PickerKind};
use crate::tui::view::{list_line, popup};
use crate::tui::wrap;

pub(super) fn draw(frame: &mut Frame<'_>, palette: &Palette, picker: &Picker) {
    let title = match picker.kind {
        PickerKind::Palette => "commands",
        PickerKind::Sessions => "chats",
        PickerKind::Models => "models",
        PickerKind::History => "your messages",
    };
    let height = (picker.items.len() as u16).saturating_add(4).clamp(8, 22);
    let area = popup(frame, palette, title, 72, height);
    let [top, list, foot] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)])
            .areas(area);
    let width = usize::from(area.width);

    let filter = plain_text(&picker.filter);
    let filter = wrap::ellipsis(&filter, width.saturating_sub(4));
    let x = top.x + 2 + wrap::width(&filter) as u16;
    let typed = if picker.filter.is_empty() {
        Span::styled("type to filter", palette.muted)
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
        let detail = wrap::ellipsis(&item.detail, room / 2);
        let label = wrap::ellipsis(&item.label, room.saturating_sub(wrap::width(&detail) + 2));
        list_line(palette, format!(" {label}"), &detail, n == chosen, width)
    });
    let mut scrolled = ListState::default().with_selected(Some(chosen));
    frame.render_stateful_widget(List::new(lines), list, &mut scrolled);
    let keys = wrap::ellipsis(&keys::hints(Context::Picker), width);
    frame.render_widget(Span::styled(keys, palette.muted), foot);
}
