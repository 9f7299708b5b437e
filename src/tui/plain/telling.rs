//! The chat as lines, one after another: what a change of the state adds to them, and what a line that was entered does. Pure, as
//! `update` is, of which it is another view.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::told::{help, learned, list, memory, question, why};
use crate::chat::{Level, PhaseName, SavedReply, Update};
use crate::extractive::REMINDER;
use crate::memory::{Message, Moment, Role, SessionId, plain_text};
use crate::texts::{plural, text};
use crate::tui::event::{Effect, Event, StoreRequest};
use crate::tui::keys::Action;
use crate::tui::page::Tab;
use crate::tui::palette::Palette;
use crate::tui::slash;
use crate::tui::state::{Confirm, ModelLine, Overlay, Pane, State};
use crate::tui::transcript::{Body, Entry};
use crate::tui::{markdown, overlays, panes, speaker, tools, update};

/// No line is broken here: the terminal or the screen reader does that.
pub(super) const WIDTH: usize = 100_000;
/// Messages of a chat that is opened again that are told.
const N_EARLIER: usize = 6;
/// Ticks without a word, after which it is said that a reply is on its way.
const PATIENCE: u64 = 40;
/// Begins and ends a message of several lines.
pub(super) const SEVERAL: &str = "\"\"\"";

/// What was told so far.
#[derive(Default)]
pub struct Telling {
    out: String,
    /// The text of the reply that was told.
    reply: String,
    /// A reply was begun, and something of it was told.
    begun: bool,
    /// That it takes a while was said.
    waits: bool,
    /// The labels of the list that was told.
    list: Option<Vec<String>>,
    /// Tenths of a download that were told.
    tenths: u64,
    /// The part of memory that was asked for.
    tab: Option<Tab>,
    /// The lines of a message that has several.
    lines: Option<Vec<String>>,
    is_ready: bool,
}

impl Telling {
    /// What is to be printed since the last time.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.out)
    }

    pub fn say(&mut self, text: &str) {
        for line in plain_text(text).lines().map(str::trim_end).filter(|line| !line.is_empty()) {
            // Dots between parts are for the eye.
            self.out.push_str(&line.replace(" · ", ", "));
            self.out.push('\n');
        }
    }

    /// What the chat begins with.
    pub fn begin(&mut self, state: &State) {
        self.say(text!("inglenook, a private assistant that remembers. /help lists the commands, Ctrl+C stops a reply or leaves."));
        for entry in &state.transcript.entries {
            self.entry(entry);
        }
    }

    /// Whether it was said what the model is, or that there is none.
    pub fn is_begun(&self, state: &State) -> bool {
        self.is_ready || state.model == ModelLine::Absent
    }

    /// Whether a question waits for a line, also while a reply is being made.
    pub fn asks(state: &State) -> bool {
        matches!(state.overlay, Some(Overlay::Confirm(_)))
    }

    /// One step of the chat, told.
    pub fn feed(&mut self, state: &mut State, event: Event, now: Moment) -> Vec<Effect> {
        let before = Before::of(state);
        let what = What::of(&event);
        // It is gone afterwards.
        let is_over = matches!(what, What::Idle);
        let live = is_over.then(|| state.transcript.live.clone()).flatten();
        let effects = update(state, event, now);
        self.tell(state, &before, &what, live);
        self.close_what_was_told(state, effects)
    }

    /// A line that was entered.
    pub fn entered(&mut self, state: &mut State, line: &str, now: Moment) -> Vec<Effect> {
        state.now = now;
        let before = Before::of(state);
        let effects = self.act(state, line);
        let effects = update::settled(state, effects);
        self.tell(state, &before, &What::Other, None);
        self.close_what_was_told(state, effects)
    }

    /// Ctrl+C.
    pub fn interrupted(&mut self, state: &mut State, now: Moment) -> Vec<Effect> {
        self.lines = None;
        if state.overlay.is_some() {
            return self.entered(state, "", now);
        }
        let before = Before::of(state);
        let effects = update::run(state, Action::Interrupt);
        let effects = update::settled(state, effects);
        self.tell(state, &before, &What::Other, None);
        effects
    }

    fn act(&mut self, state: &mut State, line: &str) -> Vec<Effect> {
        let key = |c: Option<char>| {
            KeyEvent::new(c.map_or(KeyCode::Esc, KeyCode::Char), KeyModifiers::NONE)
        };
        let word = line.trim();
        match &mut state.overlay {
            Some(Overlay::Confirm(confirm)) => {
                confirm.armed = 0;
                let first = word.chars().next().map(|c| c.to_ascii_lowercase());
                return overlays::on_key(state, key(first));
            }
            Some(Overlay::Picker(picker)) => {
                let chosen = word.parse::<usize>().ok().filter(|n| *n <= picker.visible().len());
                if let Some(n) = chosen.and_then(|n| n.checked_sub(1)) {
                    picker.selected = n;
                    self.list = None;
                    return overlays::accept(state);
                }
                // A command is none of its words.
                if slash::is_command(word) {
                    overlays::on_key(state, key(None));
                    return self.act(state, line);
                }
                if word.is_empty() {
                    self.list = None;
                    return overlays::on_key(state, key(None));
                }
                word.clone_into(&mut picker.filter);
                self.list = None;
                return overlays::find(state);
            }
            Some(Overlay::Help { .. } | Overlay::Edit(_)) => state.overlay = None,
            None => {}
        }
        let Some(message) = self.whole(line) else { return Vec::new() };
        let mut words = message.split_whitespace();
        match (words.next(), words.next()) {
            (Some("/memory"), Some(tab)) => {
                let begins =
                    |of: &Tab| of.names().0.to_lowercase().starts_with(&tab.to_lowercase());
                let tab = Tab::ALL.into_iter().find(begins);
                self.tab = Some(tab.unwrap_or_default());
                return panes::open_memory(state);
            }
            (Some("/correct"), Some(id)) => {
                let text: Vec<&str> = words.collect();
                let Some(semantic) = id.parse().ok().filter(|_| !text.is_empty()) else {
                    self.say(text!("/correct s12 and the whole sentence, as it should be."));
                    return Vec::new();
                };
                return vec![Effect::Store(StoreRequest::Edit { semantic, text: text.join(" ") })];
            }
            _ => {}
        }
        if !message.trim().is_empty() {
            state.editor.set(&message);
        }
        state.completion_closed = true;
        let effects = update::run(state, Action::Send);
        // What was no command is not to be sent by the next line.
        if slash::is_command(&message) && state.editor.text() == message {
            state.editor.clear();
        }
        effects
    }

    /// A message, once all of its lines are there.
    fn whole(&mut self, line: &str) -> Option<String> {
        match (&mut self.lines, line.trim().strip_prefix(SEVERAL)) {
            (None, Some(first)) => {
                if let Some(only) = first.strip_suffix(SEVERAL) {
                    return Some(only.to_owned());
                }
                self.lines = Some(
                    [first].into_iter().filter(|l| !l.is_empty()).map(str::to_owned).collect(),
                );
                None
            }
            (None, None) => Some(line.to_owned()),
            (Some(lines), _) => {
                let Some(last) = line.trim_end().strip_suffix(SEVERAL) else {
                    lines.push(line.to_owned());
                    return None;
                };
                lines.extend((!last.is_empty()).then(|| last.to_owned()));
                self.lines.take().map(|lines| lines.join("\n"))
            }
        }
    }

    fn tell(&mut self, state: &mut State, before: &Before, what: &What, live: Option<String>) {
        match what {
            What::Again(begun) => {
                self.reply.clone_from(begun);
                self.begun = false;
            }
            What::Dropped => self.reply.clear(),
            What::Done { text, complete } => {
                self.end_reply(text);
                if !complete {
                    self.say(text!("stopped"));
                }
            }
            What::Idle => {
                if let Some(text) = live.filter(|text| !text.trim().is_empty()) {
                    self.end_reply(&text);
                }
                (self.waits, self.begun) = (false, false);
                self.reply.clear();
            }
            What::Text => {
                self.go_on(state.transcript.live.as_deref().unwrap_or_default());
            }
            What::Tick => self.wait(state),
            What::Ready if !self.is_ready => {
                self.is_ready = true;
                if let Some(profile) = state.model.profile() {
                    self.say(&text!("The model is {name}.", name = plain_text(&profile.name)));
                }
            }
            What::Pulling => self.pulling(state),
            What::Other | What::Ready | What::Session => {}
        }
        if matches!(what, What::Session) {
            self.session(state, before);
        } else {
            for entry in state.transcript.entries.iter().skip(before.n_entries) {
                self.entry(entry);
            }
        }
        if let Some((hint, _)) = &state.hint
            && before.hint.as_ref() != Some(hint)
        {
            self.say(hint);
        }
        self.overlay(state, before);
        if !state.editor.is_empty()
            && before.input != state.editor.text()
            && !state.transcript.busy()
        {
            let text = state.editor.text();
            self.say(&text!("Enter sends: {text}", text));
        }
    }

    /// A pane that was told is closed: what comes next is the chat.
    fn close_what_was_told(&mut self, state: &mut State, mut effects: Vec<Effect>) -> Vec<Effect> {
        let lines = match &mut state.pane {
            Some(Pane::Memory(pane)) if pane.tree.is_some() || pane.error.is_some() => {
                let tab = self.tab.take();
                if pane.learned { learned(pane) } else { memory(pane, tab, state.now) }
            }
            Some(Pane::Why(_)) => {
                let Some(lines) = why(state) else { return effects };
                lines
            }
            _ => return effects,
        };
        self.say(&lines.join("\n"));
        effects.extend(panes::close(state));
        effects
    }

    // — replies —

    /// Tells the whole paragraphs of a reply that is being written.
    fn go_on(&mut self, text: &str) {
        let Some(rest) = text.strip_prefix(self.reply.as_str()) else { return };
        let ends = rest.rmatch_indices("\n\n").map(|(at, end)| at + end.len());
        // Not within a block of code.
        let is_outside = |at: &usize| {
            let told = &text[..self.reply.len() + at];
            told.lines().filter(|line| line.trim_start().starts_with("```")).count() % 2 == 0
        };
        if let Some(at) = ends.into_iter().find(is_outside) {
            self.part(&rest[..at]);
        }
    }

    fn end_reply(&mut self, text: &str) {
        let rest = text.strip_prefix(self.reply.as_str());
        // What was told is not what it became.
        self.begun &= rest.is_some();
        self.part(rest.unwrap_or(text));
        text.clone_into(&mut self.reply);
    }

    fn part(&mut self, part: &str) {
        self.reply.push_str(part);
        let lines = markdown::render(part, &Palette::named("mono"), WIDTH);
        let mut lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
        lines.retain(|line| !line.trim().is_empty());
        if lines.is_empty() {
            return;
        }
        if !std::mem::replace(&mut self.begun, true) {
            lines[0] = text!("Answer: {text}", text = lines[0]);
        }
        self.say(&lines.join("\n"));
    }

    fn wait(&mut self, state: &State) {
        let is_long = state.busy_since.is_some_and(|since| state.tick - since >= PATIENCE);
        if is_long && !self.begun && !std::mem::replace(&mut self.waits, true) {
            self.say(text!("An answer is on its way."));
        }
    }

    fn pulling(&mut self, state: &State) {
        let Some(pull) = &state.pull else { return };
        let tenths = (pull.bytes * 10).checked_div(pull.total_bytes).unwrap_or_default();
        if tenths != self.tenths {
            self.tenths = tenths;
            self.say(&pull.text());
        }
    }

    // — the chat —

    fn session(&mut self, state: &State, before: &Before) {
        if state.incognito != before.incognito && !state.incognito {
            self.say(text!("This chat is kept again."));
        }
        let transcript = &state.transcript;
        if transcript.session == before.session {
            return;
        }
        if transcript.session.is_none() {
            self.say(text!("A new chat."));
            return;
        }
        self.say(&text!("Chat: {title}", title = transcript.title));
        let messages: Vec<&Message> =
            transcript.entries.iter().filter_map(Entry::message).collect();
        let n_left = messages.len().saturating_sub(N_EARLIER);
        if n_left > 0 {
            self.say(&plural!("{n} earlier message", "{n} earlier messages", n_left));
        }
        for message in &messages[n_left..] {
            let name = match message.role {
                Role::User => speaker(message),
                Role::Assistant => text!("Answer"),
            };
            self.say(&format!("{name}: {}", message.content));
        }
    }

    /// A notice, or what a tool gave; messages are told as they are written.
    fn entry(&mut self, entry: &Entry) {
        match &entry.body {
            Body::Notice { level: Level::Error, text } => {
                self.say(&text!("Error: {text}", text = text));
            }
            Body::Notice { text, .. } => self.say(text),
            Body::Called { head, result } => {
                self.say(head);
                let rows: Vec<&str> = tools::result_rows(result).collect();
                self.say(&rows.join("\n"));
            }
            Body::User(_) | Body::Reply(_) | Body::Unsaved(_) => {}
        }
    }

    // — questions and lists —

    fn overlay(&mut self, state: &mut State, before: &Before) {
        match &state.overlay {
            Some(Overlay::Confirm(confirm)) if before.confirm.as_ref() != Some(confirm) => {
                let lines = question(state, confirm);
                self.say(&lines.join("\n"));
            }
            Some(Overlay::Picker(picker)) if !picker.loading && picker.asked.is_none() => {
                let labels = list(picker);
                if self.list.as_ref() != Some(&labels) {
                    self.say(&labels.join("\n"));
                    self.list = Some(labels);
                }
            }
            Some(Overlay::Help { .. }) => {
                self.say(&help().join("\n"));
                state.overlay = None;
            }
            Some(Overlay::Edit(_)) => state.overlay = None,
            Some(Overlay::Confirm(_) | Overlay::Picker(_)) => {}
            None => self.list = None,
        }
    }
}

/// What of the state is compared with what it becomes.
struct Before {
    n_entries: usize,
    hint: Option<String>,
    confirm: Option<Confirm>,
    session: Option<SessionId>,
    incognito: bool,
    input: String,
}

impl Before {
    fn of(state: &State) -> Self {
        let confirm = match &state.overlay {
            Some(Overlay::Confirm(confirm)) => Some(confirm.clone()),
            _ => None,
        };
        Self {
            n_entries: state.transcript.entries.len(),
            hint: state.hint.as_ref().map(|(text, _)| text.clone()),
            confirm,
            session: state.transcript.session,
            incognito: state.incognito,
            input: state.editor.text(),
        }
    }
}

/// What of an event is told.
enum What {
    Again(String),
    Text,
    Done { text: String, complete: bool },
    Dropped,
    Idle,
    Tick,
    Ready,
    Pulling,
    Session,
    Other,
}

impl What {
    fn of(event: &Event) -> Self {
        match event {
            Event::Tick => Self::Tick,
            Event::Chat(Update::Again { begun, .. }) => Self::Again(begun.clone()),
            // It may take the place of what stands above it.
            Event::Chat(Update::ReplyText(text)) if text.starts_with(REMINDER) => Self::Other,
            Event::Chat(Update::ReplyText(_)) => Self::Text,
            Event::Chat(Update::ReplyDone(SavedReply { message, .. })) => {
                Self::Done { text: message.content.clone(), complete: message.complete }
            }
            Event::Chat(Update::ReplyDropped) => Self::Dropped,
            Event::Chat(Update::Phase(PhaseName::Idle)) => Self::Idle,
            Event::Chat(Update::Ready(_)) => Self::Ready,
            Event::Chat(Update::Pulling { .. }) => Self::Pulling,
            Event::Chat(Update::Session { .. }) => Self::Session,
            _ => Self::Other,
        }
    }
}
