//! The memory's page: what is known as sentences to the person, in tabs; what keys do there.

pub mod known;
pub mod rows;

use std::cell::Cell;

use crossterm::event::KeyEvent;

use crate::memory::{MessageId, Moment, SessionId};
use crate::store::AnyId;
use crate::texts::text;
use crate::tui::event::{Effect, StoreRequest};
use crate::tui::keys::{Action, Context};
use crate::tui::state::{MemoryPane, Pane, State};
use crate::tui::{overlays, panes};
use known::{Change, Knowledge, Known};
use rows::Row;

/// What the page shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tab {
    #[default]
    You,
    People,
    Plans,
    Places,
    /// The tree of themes.
    Everything,
}

impl Tab {
    pub const ALL: [Self; 5] =
        [Self::You, Self::People, Self::Plans, Self::Places, Self::Everything];

    /// In full, and where there is little room.
    pub fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::You => (text!("About you"), text!("You")),
            Self::People => (text!("People"), text!("People")),
            Self::Plans => (text!("Plans"), text!("Plans")),
            Self::Places => (text!("Places"), text!("Places")),
            Self::Everything => (text!("Everything"), text!("All")),
        }
    }

    /// Whether a fact stands here.
    pub fn holds(self, known: &Known) -> bool {
        match self {
            Self::You => known.about_you,
            Self::People => !known.people.is_empty(),
            Self::Plans => known.plan.is_some(),
            Self::Places => !known.places.is_empty(),
            Self::Everything => true,
        }
    }
}

/// The page.
#[derive(Default)]
pub struct Page {
    pub tab: Tab,
    /// What changed stands here instead of the tab.
    pub changes: bool,
    pub known: Knowledge,
    /// Of the tab, as far as they are looked for.
    pub rows: Vec<Row>,
    /// The row that is chosen, if it is a fact's.
    pub chosen: usize,
    /// The first row of the last frame.
    pub top: Cell<usize>,
}

impl Page {
    /// Whether it lists facts; otherwise the tree of themes stands there.
    pub fn lists(&self) -> bool {
        self.changes || self.tab != Tab::Everything
    }

    /// What a row is about.
    pub fn at(&self, row: usize) -> Option<&Known> {
        match self.rows.get(row)? {
            Row::Fact(fact) => self.known.all.get(fact.known),
            Row::Heading(_) => None,
        }
    }

    /// How many facts it lists.
    pub fn n_facts(&self) -> usize {
        (0..self.rows.len()).filter(|&row| self.at(row).is_some()).count()
    }

    pub fn chosen(&self) -> Option<&Known> {
        self.at(self.chosen)
    }

    /// The current facts of a tab.
    pub fn n_of(&self, tab: Tab) -> usize {
        let current = self.known.all.iter().filter(|known| known.superseded.is_none());
        current.filter(|known| tab.holds(known)).count()
    }

    /// How many facts are new, corrected, superseded since the person last looked.
    pub fn n_changed(&self) -> [usize; 3] {
        let all = &self.known.all;
        [Change::New, Change::Corrected, Change::Superseded]
            .map(|change| all.iter().filter(|known| known.change == Some(change)).count())
    }

    /// How alike a row is to one that was chosen, if it tells the same: what was said becomes a fact.
    fn likeness(&self, row: usize, heading: &str, was: &Known) -> Option<u8> {
        let Row::Fact(fact) = self.rows.get(row)? else { return None };
        let known = self.known.all.get(fact.known)?;
        let tells_it = known.id == was.id || known.sentence == was.sentence;
        tells_it.then(|| 2 * u8::from(known.id == was.id) + u8::from(fact.heading == heading))
    }

    /// Makes the rows anew, of what is known now. What was chosen stays so, or what stands in its place is.
    pub fn rebuild(&mut self, known: Option<Knowledge>, words: &[String], now: Moment) {
        let was = match self.rows.get(self.chosen) {
            Some(Row::Fact(fact)) => {
                self.chosen().map(|known| (fact.heading.clone(), known.clone()))
            }
            _ => None,
        };
        if let Some(known) = known {
            self.known = known;
        }
        self.rows = rows::rows(self, words, now.civil().date());
        if let Some((heading, was)) = was {
            let like = |row| Some((self.likeness(row, &heading, &was)?, row));
            let found =
                (0..self.rows.len()).rev().filter_map(like).max_by_key(|(likeness, _)| *likeness);
            self.chosen = found.map_or(self.chosen, |(_, row)| row);
        }
        self.step(0);
    }

    /// From the top.
    fn begin(&mut self) {
        self.chosen = 0;
        self.top.set(0);
        self.step(0);
    }

    /// Moves among the facts; headings are passed over.
    pub fn step(&mut self, by: isize) {
        let facts: Vec<usize> = (0..self.rows.len()).filter(|&n| self.at(n).is_some()).collect();
        let Some(last) = facts.len().checked_sub(1) else {
            self.chosen = 0;
            return;
        };
        let at = facts.partition_point(|&n| n < self.chosen).min(last);
        self.chosen = facts[at.saturating_add_signed(by).min(last)];
    }
}

/// One key that means on the page something else than in the tree, or nothing there.
pub(super) fn on_key(state: &mut State, key: KeyEvent) -> Option<Vec<Effect>> {
    let now = state.now;
    let Some(Pane::Memory(pane)) = &mut state.pane else { return None };
    let lists = pane.page.lists();
    let action = state.keys.lookup(Context::MemoryPage, key).or_else(|| {
        let wanted = |action: &Action| {
            lists && matches!(action, Action::Left | Action::Right | Action::Accept)
        };
        state.keys.lookup(Context::MemoryPane, key).filter(wanted)
    })?;
    match action {
        Action::Right | Action::NextTab => turn(pane, 1, now),
        Action::Left | Action::PreviousTab => turn(pane, 4, now),
        Action::Tab(n) => open(pane, Tab::ALL[usize::from(n) % Tab::ALL.len()], now),
        Action::Changes => {
            pane.page.changes = !pane.page.changes;
            pane.rebuild_page(now);
            pane.page.begin();
        }
        Action::Pin => return Some(pin(state)),
        Action::Accept | Action::OpenChat => return Some(open_chat(state)),
        Action::Close => return Some(panes::close(state)),
        _ => return None,
    }
    Some(Vec::new())
}

fn turn(pane: &mut MemoryPane, by: usize, now: Moment) {
    let at = Tab::ALL.iter().position(|tab| *tab == pane.page.tab).unwrap_or_default();
    open(pane, Tab::ALL[(at + by) % Tab::ALL.len()], now);
}

fn open(pane: &mut MemoryPane, tab: Tab, now: Moment) {
    (pane.page.tab, pane.page.changes) = (tab, false);
    pane.rebuild_page(now);
    pane.page.begin();
}

/// Pins the chosen fact, or no more.
fn pin(state: &mut State) -> Vec<Effect> {
    let now = state.now;
    let Some(Pane::Memory(pane)) = &mut state.pane else { return Vec::new() };
    let Some(AnyId::Semantic(fact)) = panes::selected(pane) else {
        state.say(text!("Only facts can be pinned, once they are noted."));
        return Vec::new();
    };
    let known = pane.page.known.all.iter_mut().find(|known| known.id == AnyId::Semantic(fact));
    let Some(known) = known else { return Vec::new() };
    known.pinned = !known.pinned;
    let pinned = known.pinned;
    pane.rebuild_page(now);
    if !pane.page.lists() {
        state.say(if pinned {
            text!("Pinned: it stands on top of its tabs.")
        } else {
            text!("Pinned no more.")
        });
    }
    vec![Effect::Store(StoreRequest::PinFact { fact, pinned })]
}

/// Where what is chosen was said.
pub(super) fn place(pane: &MemoryPane) -> Option<(SessionId, MessageId)> {
    let id = panes::selected(pane)?;
    match id {
        AnyId::Semantic(_) => {
            let known = pane.page.known.all.iter().find(|known| known.id == id)?;
            Some((known.session, known.message))
        }
        AnyId::Message(id) => {
            let known = pane.page.chosen().filter(|known| known.message == id);
            let said = pane.messages.iter().flat_map(|(_, said)| said).find(|said| said.id == id);
            known.map(|known| known.session).or(said.map(|said| said.session)).zip(Some(id))
        }
        AnyId::Episode(id) => {
            let episode = pane.tree.as_ref()?.episodes.iter().find(|episode| episode.id == id)?;
            Some((episode.session, *episode.messages.first()?))
        }
        AnyId::Theme(_) | AnyId::Session(_) => None,
    }
}

/// Opens the chat at the message that the chosen fact comes from.
fn open_chat(state: &mut State) -> Vec<Effect> {
    let Some(Pane::Memory(pane)) = &state.pane else { return Vec::new() };
    let Some((session, message)) = place(pane) else {
        state.say(text!("Choose a fact: ↓."));
        return Vec::new();
    };
    let mut effects = panes::close(state);
    effects.extend(overlays::open_at(state, session, message));
    effects
}
