//! The lists to choose from: commands, chats, models, earlier messages.

use crate::interfaces::ModelSummary;
use crate::memory::{Moment, plain_text};
use crate::store::Session;
use crate::tui::editor::size_of;
use crate::tui::keys::BINDINGS;
use crate::tui::slash::COMMANDS;
use crate::tui::state::{Item, Overlay, Pick, Picker, PickerKind, State};
use crate::tui::{count, dates};

/// Every command, with the key or the slash command that runs it.
pub(super) fn palette_items() -> Vec<Item> {
    let keys = BINDINGS.iter().filter_map(|binding| {
        let mut label = binding.help.to_owned();
        label.get_mut(0..1)?.make_ascii_uppercase();
        let pick = Pick::Action(binding.palette?);
        Some(Item { label, detail: binding.label.to_owned(), pick })
    });
    let commands = COMMANDS.iter().filter_map(|command| {
        let detail = format!("/{}", command.name);
        let pick = if command.needs_arguments() {
            Pick::Text(format!("{detail} "))
        } else {
            Pick::Command(command)
        };
        Some(Item { label: command.palette?.to_owned(), detail, pick })
    });
    keys.chain(commands).collect()
}

/// Newest first.
pub(super) fn history_items(history: &[String]) -> Vec<Item> {
    let item = |text: &String| Item {
        label: plain_text(text).into_owned(),
        detail: String::new(),
        pick: Pick::Text(text.clone()),
    };
    history.iter().rev().map(item).collect()
}

/// In the order of the registry.
pub(super) fn model_items(models: &[ModelSummary]) -> Vec<Item> {
    let item = |m: &ModelSummary| {
        let mut detail = size_of(m.bytes as usize);
        for (is_so, note) in [(m.starter, "built in"), (m.in_use, "default")] {
            if is_so {
                detail = format!("{detail} · {note}");
            }
        }
        Item { label: m.name.clone(), detail, pick: Pick::Model(m.name.clone()) }
    };
    models.iter().map(item).collect()
}

/// Newest first.
pub(super) fn session_items(sessions: &[Session], now: Moment) -> Vec<Item> {
    let mut sessions: Vec<&Session> = sessions.iter().filter(|s| s.n_messages > 0).collect();
    sessions.sort_by_key(|s| std::cmp::Reverse((s.updated_at, s.id)));
    let item = |s: &Session| {
        let messages = count(s.n_messages, "message", "messages");
        let origin = if s.imported { " · imported" } else { "" };
        Item {
            label: plain_text(&s.title).into_owned(),
            detail: format!("{} · {messages}{origin}", dates::day(s.updated_at, now)),
            pick: Pick::Session(s.id),
        }
    };
    sessions.into_iter().map(item).collect()
}

/// Fills a list that is still open.
pub(super) fn fill(state: &mut State, kind: PickerKind, items: Vec<Item>) {
    if let Some(Overlay::Picker(picker)) = &mut state.overlay
        && picker.kind == kind
    {
        picker.items = items;
        picker.loading = false;
        picker.selected = 0;
    }
}

impl Picker {
    /// What an empty list says.
    pub fn empty(&self) -> &'static str {
        match (self.loading, self.filter.is_empty(), self.kind) {
            (true, ..) => "reading…",
            (_, false, _) => "nothing matches",
            (_, _, PickerKind::Sessions) => "no earlier chats yet",
            (_, _, PickerKind::Models) => "no models",
            (_, _, PickerKind::History) => "nothing sent yet",
            (_, _, PickerKind::Palette) => "",
        }
    }
}
