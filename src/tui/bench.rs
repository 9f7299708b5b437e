//! The screen without a terminal and without models, for measuring what a frame costs: `inglenook-eval bench screen`.

use std::io::{self, Sink, sink};

use crossterm::event::Event as TerminalEvent;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};

use crate::chat::{PhaseName, Update};
use crate::memory::{Message, Moment};
use crate::store::{Conversation, Store, StoreError};
use crate::tui::event::{Event, StoreReply, Tree};
use crate::tui::keys::Key;
use crate::tui::palette::Palette;
use crate::tui::state::State;
use crate::tui::{panes, store_thread, update, view};

/// The chat's screen, drawn to nowhere.
pub struct ScreenBench {
    state: State,
    terminal: Terminal<CrosstermBackend<Sink>>,
    now: Moment,
    tree: Tree,
}

impl ScreenBench {
    /// A screen of this size with a chat of these messages.
    ///
    /// # Errors
    /// As [`Self::draw`].
    pub fn new(width: u16, height: u16, messages: Vec<Message>, now: Moment) -> io::Result<Self> {
        let viewport = Viewport::Fixed(Rect::new(0, 0, width, height));
        let backend = CrosstermBackend::new(sink());
        let terminal = Terminal::with_options(backend, TerminalOptions { viewport })?;
        let state = State::new(&Palette::named("hearth"), now, "starter");
        let mut bench = Self { state, terminal, now, tree: Tree::default() };
        let session = messages.first().map(|message| message.session);
        let conversation = Conversation { messages, ..Conversation::default() };
        bench.feed(Event::Chat(Update::Session { session, conversation, incognito: false }));
        Ok(bench)
    }

    fn feed(&mut self, event: Event) {
        update(&mut self.state, event, self.now);
    }

    /// One key, as `keys.toml` writes it.
    pub fn press(&mut self, key: &str) {
        if let Ok(key) = Key::parse(key) {
            self.feed(Event::Terminal(TerminalEvent::Key(key.into())));
        }
    }

    /// A reply begins.
    pub fn begin_reply(&mut self) {
        self.feed(Event::Chat(Update::Phase(PhaseName::Replying)));
    }

    /// A piece of it.
    pub fn stream(&mut self, piece: &str) {
        self.feed(Event::Chat(Update::ReplyText(piece.to_owned())));
    }

    /// What moves goes on.
    pub fn tick(&mut self) {
        self.feed(Event::Tick);
    }

    /// Another size of the terminal.
    ///
    /// # Errors
    /// As [`Self::draw`].
    pub fn resize(&mut self, width: u16, height: u16) -> io::Result<()> {
        self.terminal.resize(Rect::new(0, 0, width, height))?;
        self.feed(Event::Terminal(TerminalEvent::Resize(width, height)));
        Ok(())
    }

    /// Reads the memory for its page, as the program does beside the screen.
    ///
    /// # Errors
    /// If it can't be read.
    pub fn read_memory(&mut self, store: &Store) -> Result<(), StoreError> {
        self.tree = store.read(|r| store_thread::tree(r, false))?;
        Ok(())
    }

    /// Opens the memory's page with what was read.
    pub fn open_memory(&mut self) {
        panes::open_memory(&mut self.state);
        let tree = std::mem::take(&mut self.tree);
        self.feed(Event::Store(StoreReply::Tree(tree)));
    }

    /// One frame.
    ///
    /// # Errors
    /// If what goes nowhere can't be written.
    pub fn draw(&mut self) -> io::Result<()> {
        let state = &self.state;
        self.terminal.draw(|frame| view::draw(frame, state)).map(|_| ())
    }
}
