//! The lists to choose from: commands, chats, models, earlier messages.

use std::iter;
use std::sync::Arc;

use crate::chat::{Persona, Template};
use crate::interfaces::{ModelSummary, PullableModel};
use crate::memory::{MessageId, Moment, SessionId, plain_text};
use crate::store::{Found, Session};
use crate::texts::{self, plural, text};
use crate::tui::editor::size_of;
use crate::tui::keys::{Action, BINDINGS, Keymap};
use crate::tui::palette::NAMES;
use crate::tui::slash::{COMMANDS, SlashCommand};
use crate::tui::state::{Overlay, State};
use crate::tui::{dates, wrap};

/// A list to choose from.
#[derive(Debug, Clone)]
pub struct Picker {
    pub kind: PickerKind,
    pub filter: String,
    pub items: Vec<Item>,
    pub selected: usize,
    pub loading: bool,
    /// What the memory is being searched for.
    pub asked: Option<String>,
}

/// Which list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PickerKind {
    Palette,
    Sessions,
    Models,
    Roles,
    Settings,
    /// The person's own.
    Prompts,
    History,
    /// Palettes: the chosen one is tried at once.
    Look,
}

/// One line of a list.
#[derive(Debug, Clone)]
pub struct Item {
    pub label: String,
    pub detail: String,
    pub pick: Pick,
    /// The words around what the memory found: see [`crate::store::FOUND`].
    pub preview: Option<String>,
}

impl Item {
    pub(super) fn new(label: impl Into<String>, detail: impl Into<String>, pick: Pick) -> Self {
        Self { label: label.into(), detail: detail.into(), pick, preview: None }
    }

    /// The chat that this is.
    pub fn session(&self) -> Option<SessionId> {
        match self.pick {
            Pick::Session { id, .. } | Pick::Message(id, _) => Some(id),
            _ => None,
        }
    }
}

/// What choosing a line does.
#[derive(Debug, Clone)]
pub enum Pick {
    Action(Action),
    Command(&'static SlashCommand),
    Session {
        id: SessionId,
        pinned: bool,
    },
    /// A chat, at this message.
    Message(SessionId, MessageId),
    Model(String),
    /// Asks before it downloads one.
    Pull(PullableModel),
    StopPull,
    /// What the model is told that it is.
    Role(Option<Arc<Persona>>),
    /// A palette, by its name.
    Look(&'static str),
    Text(String),
    Prompt(Template),
    /// It is chosen already.
    Close,
}

impl Picker {
    pub fn new(kind: PickerKind) -> Self {
        let (filter, items) = (String::new(), Vec::new());
        Self { kind, filter, items, selected: 0, loading: true, asked: None }
    }

    /// The items that contain all words of the filter, and what the memory found.
    pub fn visible(&self) -> Vec<&Item> {
        let words: Vec<String> = self.filter.split_whitespace().map(str::to_lowercase).collect();
        let has = |item: &Item, word: &str| {
            wrap::holds(&item.label, word) || wrap::holds(&item.detail, word)
        };
        let has_words =
            |item: &&Item| item.preview.is_some() || words.iter().all(|word| has(item, word));
        self.items.iter().filter(has_words).collect()
    }

    /// The chosen line.
    pub fn chosen(&self) -> Option<&Item> {
        let visible = self.visible();
        visible.get(self.selected.min(visible.len().saturating_sub(1))).copied()
    }

    /// What the memory is to be searched for now, if it is not yet.
    pub fn next_query(&mut self) -> Option<String> {
        const CHARS_MIN: usize = 2;
        if self.kind != PickerKind::Sessions || self.asked.is_some() {
            return None;
        }
        if self.filter.trim().chars().count() < CHARS_MIN {
            self.items.retain(|item| item.preview.is_none());
            return None;
        }
        self.asked = Some(self.filter.clone());
        self.asked.clone()
    }

    /// What an empty list says.
    pub fn empty(&self) -> &'static str {
        match (self.loading, self.filter.is_empty(), self.kind) {
            (true, ..) => text!("reading…"),
            (_, false, _) => text!("nothing matches"),
            (_, _, PickerKind::Sessions) => text!("no earlier chats yet"),
            (_, _, PickerKind::Models) => text!("no models"),
            (_, _, PickerKind::Roles) => text!("none"),
            (_, _, PickerKind::Prompts) => text!("none yet: docs/guide.md shows one"),
            (_, _, PickerKind::History) => text!("nothing sent yet"),
            (_, _, PickerKind::Palette | PickerKind::Look | PickerKind::Settings) => "",
        }
    }
}

/// Every command, with the key or the slash command that runs it.
pub(super) fn palette_items(keys: &Keymap) -> Vec<Item> {
    let keys = BINDINGS.iter().filter_map(|binding| {
        let help = texts::lookup(binding.help);
        let mut rest = help.chars();
        let label: String = rest.next()?.to_uppercase().chain(rest).collect();
        let key = keys.of(binding.context, binding.action);
        Some(Item::new(label, key, Pick::Action(binding.palette?)))
    });
    let commands = COMMANDS.iter().filter_map(|command| {
        let detail = format!("/{}", command.name);
        let pick = if command.needs_arguments() {
            Pick::Text(format!("{detail} "))
        } else {
            Pick::Command(command)
        };
        Some(Item::new(texts::lookup(command.palette?), detail, pick))
    });
    keys.chain(commands).collect()
}

/// Newest first.
pub(super) fn history_items(history: &[String]) -> Vec<Item> {
    let item = |text: &String| Item::new(plain_text(text), "", Pick::Text(text.clone()));
    history.iter().rev().map(item).collect()
}

/// In the order of the registry; first the one in use, where it was opened by its path.
pub(super) fn model_items(models: &[ModelSummary], in_use: Option<&str>) -> Vec<Item> {
    let elsewhere = in_use.filter(|name| !models.iter().any(|m| m.name == **name));
    let elsewhere =
        elsewhere.map(|name| Item::new(name, text!("in use, from its file"), Pick::Close));
    let item = |m: &ModelSummary| {
        let mut detail = size_of(m.bytes as usize);
        for (is_so, note) in [(m.starter, text!("built in")), (m.in_use, text!("default"))] {
            if is_so {
                detail = format!("{detail} · {note}");
            }
        }
        Item::new(m.name.clone(), detail, Pick::Model(m.name.clone()))
    };
    elsewhere.into_iter().chain(models.iter().map(item)).collect()
}

/// The assistant, and every role; of one that can't be used, why.
pub(super) fn role_items(roles: Vec<Persona>, unusable: Vec<(String, String)>) -> Vec<Item> {
    let item = |role: Persona| {
        let begins = plain_text(role.system.lines().next().unwrap_or_default()).into_owned();
        Item::new(plain_text(&role.name).into_owned(), begins, Pick::Role(Some(role.into())))
    };
    let none = Item::new(text!("none"), text!("the assistant"), Pick::Role(None));
    let roles = roles.into_iter().map(item);
    iter::once(none).chain(roles).chain(unusable.into_iter().map(unusable_item)).collect()
}

/// A file that can't be used, and why.
pub(super) fn unusable_item((name, why): (String, String)) -> Item {
    Item::new(plain_text(&name), text!("can't be used: {why}", why), Pick::Close)
}

/// All palettes.
pub(super) fn look_items() -> Vec<Item> {
    NAMES
        .iter()
        .map(|&(name, like)| Item::new(name, texts::lookup(like), Pick::Look(name)))
        .collect()
}

/// Pinned ones first, then the newest.
pub(super) fn session_items(sessions: &[Session], now: Moment) -> Vec<Item> {
    let mut sessions: Vec<&Session> = sessions.iter().filter(|s| s.n_messages > 0).collect();
    sessions.sort_by_key(|s| (!s.pinned, std::cmp::Reverse((s.updated_at, s.id))));
    let item = |s: &Session| {
        let messages = plural!("{n} message", "{n} messages", s.n_messages);
        let origin = if s.imported { format!(" · {}", text!("imported")) } else { String::new() };
        let mark = match (s.pinned, s.parent) {
            (true, _) => "★ ",
            (false, Some(_)) => "↳ ",
            (false, None) => "",
        };
        let when = dates::day_and_time(s.updated_at, now);
        Item::new(
            format!("{mark}{}", plain_text(&s.title)),
            format!("{when} · {messages}{origin}"),
            Pick::Session { id: s.id, pinned: s.pinned },
        )
    };
    sessions.into_iter().map(item).collect()
}

/// The messages that hold what was typed into the list of chats.
pub(super) fn set_found(state: &mut State, query: &str, found: Vec<Found>) -> Option<String> {
    let now = state.now;
    let Some(Overlay::Picker(picker)) = &mut state.overlay else { return None };
    if picker.asked.as_deref() != Some(query) {
        return None;
    }
    picker.asked = None;
    if picker.filter != query {
        return picker.next_query();
    }
    picker.items.retain(|item| item.preview.is_none());
    picker.items.extend(found.into_iter().map(|f| Item {
        preview: Some(f.snippet.split_whitespace().collect::<Vec<_>>().join(" ")),
        ..Item::new(
            plain_text(&f.title),
            dates::day_and_time(f.at, now),
            Pick::Message(f.session, f.message),
        )
    }));
    None
}

/// Fills a list that is still open.
pub(super) fn fill(state: &mut State, kind: PickerKind, items: Vec<Item>) {
    if let Some(Overlay::Picker(picker)) = &mut state.overlay
        && picker.kind == kind
    {
        let chosen = picker.chosen().and_then(Item::session);
        let found = picker.items.drain(..).filter(|item| item.preview.is_some());
        picker.items = items.into_iter().chain(found.collect::<Vec<_>>()).collect();
        picker.loading = false;
        // A chat that was just pinned stands elsewhere now.
        let place = picker.visible().iter().position(|item| item.session() == chosen);
        picker.selected = place.filter(|_| chosen.is_some()).unwrap_or(0);
    }
}
