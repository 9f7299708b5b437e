//! The chat without a screen, for screen readers, dumb terminals and pipes: a line in, lines out. The state, what changes it and the
//! threads are those of the screen.

mod telling;
mod told;

#[cfg(test)]
mod tests;

use std::io::{self, BufRead as _, IsTerminal as _, Write as _, stdout};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crossterm::clipboard::CopyToClipboard;
use crossterm::execute;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use self::telling::Telling;
use super::event::{Effect, Event, StoreRequest};
use super::runner::{self, Beginning, Left, Presence, TuiError};
use super::state::State;
use super::store_thread::{Requests, StoreThread};
use super::terminal;
use crate::chat::{Command, Driver, Parts, Update};
use crate::interfaces::Clock;
use crate::texts::text;

const TICK: Duration = Duration::from_millis(100);
/// Where nothing moves, it is only looked whether all is well.
const IDLE: Duration = Duration::from_secs(1);
/// What the conversation is asked for comes within this time, or its beginning does: the next line may be the answer to it.
const SETTLING: Duration = Duration::from_millis(200);
const PROMPT: &str = "> ";

/// Runs the chat until it is left, or the input ends.
///
/// # Errors
/// If standard input or output can't be used, or the conversation's thread panicked.
pub fn run(parts: Parts, beginning: Beginning) -> Result<Left, TuiError> {
    terminal::install_panic_hook();
    let runtime = runner::runtime()?;
    let (mut driver, mut store) = (None, None);
    let outcome = runtime.block_on(drive(parts, beginning, &mut driver, &mut store));
    runner::end(runtime, store, driver);
    outcome
}

/// The lines of standard input, read on a thread of their own; `None` is the end.
fn lines() -> io::Result<UnboundedReceiver<Option<String>>> {
    let (sender, lines) = unbounded_channel();
    let read = move || {
        let mut input = io::stdin().lock();
        let mut line = Vec::new();
        while input.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
            let text = String::from_utf8_lossy(&line);
            let text = text.trim_end_matches(['\n', '\r']).to_owned();
            line.clear();
            if sender.send(Some(text)).is_err() {
                return;
            }
        }
        let _ = sender.send(None);
    };
    thread::Builder::new().name("input".into()).spawn(read)?;
    Ok(lines)
}

struct Loop<'a> {
    state: State,
    telling: Telling,
    clock: Arc<dyn Clock>,
    driver: &'a Driver,
    store: &'a Requests,
    /// What was asked for and is not there yet.
    n_pending: usize,
    /// When the conversation was last asked for something.
    asked: Option<Instant>,
    exit: Option<Left>,
    /// The prompt stands at the end of what was printed.
    is_prompted: bool,
    has_terminal: bool,
}

async fn drive(
    parts: Parts,
    Beginning { notices, draft, lock_after, palette, keys }: Beginning,
    driver: &mut Option<Driver>,
    requests: &mut Option<Requests>,
) -> Result<Left, TuiError> {
    let fail = TuiError::Terminal;
    let clock = Arc::clone(&parts.clock);
    let state = State { keys, ..runner::begun(&parts, notices, &draft, palette.as_deref()) };
    let mut terminate = signal(SignalKind::terminate()).map_err(fail)?;
    let mut hang_up = signal(SignalKind::hangup()).map_err(fail)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(fail)?;
    let (sender, mut events) = unbounded_channel::<Event>();
    let started = threads(parts, &sender).map_err(fail)?;
    let (driver, store) = (&*driver.insert(started.0), &*requests.insert(started.1));
    let mut lines = lines().map_err(fail)?;
    let has_terminal = io::stdin().is_terminal() && stdout().is_terminal();
    let mut looped = Loop {
        state,
        telling: Telling::default(),
        clock,
        driver,
        store,
        n_pending: 0,
        asked: None,
        exit: None,
        is_prompted: false,
        has_terminal,
    };
    looped.telling.begin(&looped.state);
    looped.ask(StoreRequest::Prompts);
    let (mut ticked, mut presence) = (Instant::now(), Presence::new());
    loop {
        looped.print().map_err(fail)?;
        if let Some(left) = looped.exit.take() {
            return Ok(left);
        }
        looped.asked.take_if(|asked| asked.elapsed() >= SETTLING);
        let is_quiet = !looped.state.moves() && looped.asked.is_none();
        let pause = if is_quiet { IDLE } else { TICK };
        tokio::select! {
            biased;
            _ = terminate.recv() => looped.exit = Some(Left::Quit(143)),
            _ = hang_up.recv() => looped.exit = Some(Left::Quit(129)),
            _ = interrupt.recv() => {
                presence.is_here();
                let now = looped.clock.now();
                looped.is_prompted = false;
                let effects = looped.telling.interrupted(&mut looped.state, now);
                looped.run(effects);
            }
            Some(event) = events.recv() => looped.feed(event),
            line = lines.recv(), if looped.listens() => {
                presence.is_here();
                looped.is_prompted = false;
                looped.entered(line.flatten());
            }
            () = tokio::time::sleep(pause.saturating_sub(ticked.elapsed())) => {
                ticked = Instant::now();
                looped.tick()?;
                if looped.state.transcript.busy() {
                    presence.busy = Instant::now();
                }
                // Its passphrase can't be asked for here: the input is being read.
                if lock_after.is_some_and(|after| presence.is_gone(after)) {
                    looped.telling.say(text!("Left, because nobody was there (`lock_minutes`)."));
                    looped.exit = Some(Left::Quit(0));
                }
            }
        }
    }
}

/// The conversation's and the store's thread, which send what happens there.
fn threads(parts: Parts, sender: &UnboundedSender<Event>) -> io::Result<(Driver, Requests)> {
    let (replies, updates) = (sender.clone(), sender.clone());
    let store = StoreThread(parts.clone()).start(move |reply| {
        let _ = replies.send(Event::Store(reply));
    })?;
    let driver = Driver::start(parts, move |update: Update| {
        let _ = updates.send(Event::Chat(update));
    })?;
    Ok((driver, store))
}

impl Loop<'_> {
    /// Whether a line is taken now: each is answered before the next, but for one that a question waits for.
    fn listens(&self) -> bool {
        let has_settled = self.asked.is_none_or(|asked| asked.elapsed() >= SETTLING);
        let is_free = !self.state.transcript.busy() && self.n_pending == 0 && has_settled;
        is_free && self.telling.is_begun(&self.state) || Telling::asks(&self.state)
    }

    fn entered(&mut self, line: Option<String>) {
        let Some(line) = line else {
            self.exit = Some(Left::Quit(0));
            return;
        };
        let now = self.clock.now();
        let effects = self.telling.entered(&mut self.state, &line, now);
        self.run(effects);
    }

    fn feed(&mut self, event: Event) {
        if matches!(event, Event::Store(_) | Event::Chat(Update::Tools(_))) {
            self.n_pending = self.n_pending.saturating_sub(1);
        }
        let now = self.clock.now();
        let effects = self.telling.feed(&mut self.state, event, now);
        self.run(effects);
    }

    fn tick(&mut self) -> Result<(), TuiError> {
        if self.state.moves() {
            self.feed(Event::Tick);
        }
        if self.driver.is_dead() {
            let place = terminal::take_panic().unwrap_or_else(|| "the chat".into());
            return Err(TuiError::Bug { place });
        }
        Ok(())
    }

    fn ask(&mut self, request: StoreRequest) {
        self.n_pending += 1;
        self.store.send(request);
    }

    fn run(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Chat(command) => {
                    self.asked = Some(Instant::now());
                    self.n_pending += usize::from(command == Command::ListTools);
                    self.driver.send(command);
                }
                Effect::Store(request) => self.ask(request),
                Effect::Copy(text) if self.has_terminal => {
                    let _ = execute!(stdout(), CopyToClipboard::to_clipboard_from(text));
                }
                Effect::Quit(code) => self.exit = Some(Left::Quit(code)),
                // Those are of a screen.
                Effect::Copy(_) | Effect::Notify(_) | Effect::Suspend | Effect::WriteOutside(_) => {
                }
            }
        }
    }

    /// Prints what was told since, and the prompt once a line is waited for.
    fn print(&mut self) -> io::Result<()> {
        let told = self.telling.take();
        let mut out = stdout().lock();
        if !told.is_empty() {
            if std::mem::take(&mut self.is_prompted) {
                out.write_all(b"\n")?;
            }
            out.write_all(told.as_bytes())?;
        }
        if self.has_terminal && !self.is_prompted && self.exit.is_none() && self.listens() {
            out.write_all(PROMPT.as_bytes())?;
            self.is_prompted = true;
        }
        out.flush()
    }
}
