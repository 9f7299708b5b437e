//! The loop: terminal, signals and channels in, frames and commands out.

use std::io::{Write, stdout};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use crossterm::clipboard::CopyToClipboard;
use crossterm::event::{Event as TerminalEvent, EventStream, MouseButton, MouseEventKind};
use crossterm::execute;
use futures_util::StreamExt;
use thiserror::Error;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::chat::{Command, Driver, Level, Parts, Update};
use crate::interfaces::Clock;
use crate::memory::SessionId;
use crate::tui::event::{Effect, Event, StoreRequest};
use crate::tui::keys::Keymap;
use crate::tui::palette::Palette;
use crate::tui::state::State;
use crate::tui::store_thread::{PALETTE, Requests, StoreThread};
use crate::tui::terminal::{self, Screen};
use crate::tui::{update, view};

/// Why the screen could not run.
#[derive(Debug, Error)]
pub enum TuiError {
    #[error("the chat needs a terminal, and standard input or output is not one")]
    NotATerminal,
    #[error("cannot use the terminal")]
    Terminal(#[source] std::io::Error),
    #[error("an internal error in {place} (a bug in inglenook); what was said is saved")]
    Bug { place: String },
}

/// Frames are at least this far apart: a fast reply must not spend more time on drawing than on reading.
const FRAME: Duration = Duration::from_millis(16);
const TICK: Duration = Duration::from_millis(100);
/// Where nothing moves, it is only looked whether all is well.
const IDLE: Duration = Duration::from_secs(1);

/// How the chat was left.
#[derive(Debug, PartialEq, Eq)]
pub enum Left {
    /// For good, with this exit code.
    Quit(u8),
    /// Nobody was there for as long as was asked for. What stood in the input goes back there.
    Locked(Draft),
}

/// What goes on after a lock.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Draft {
    /// The text in the input, after what waited to be sent.
    pub text: String,
    /// Whether the chat was incognito: it is gone, but what comes next is kept nowhere either.
    pub incognito: bool,
    /// The chat that was open.
    pub session: Option<SessionId>,
}

/// What the chat begins with.
#[derive(Debug, Default)]
pub struct Beginning {
    /// Warnings of the configuration and the like, shown once.
    pub notices: Vec<String>,
    /// What a locked chat left.
    pub draft: Draft,
    /// How long nobody has to press a key before it is left by itself; `None`: it never is.
    pub lock_after: Option<Duration>,
    /// The configured palette, unless another was chosen in the chat.
    pub palette: Option<String>,
    pub keys: Keymap,
}

/// Runs the chat until it is left.
///
/// # Errors
/// If there is no terminal, it can't be used, or the conversation's thread panicked. The terminal is
/// left as it was, whatever happens.
pub fn run(parts: Parts, beginning: Beginning) -> Result<Left, TuiError> {
    if !terminal::is_interactive() {
        return Err(TuiError::NotATerminal);
    }
    terminal::install_panic_hook();
    let runtime = runtime()?;
    let mut screen = terminal::enter().map_err(|error| {
        terminal::leave();
        TuiError::Terminal(error)
    })?;
    let (mut driver, mut store) = (None, None);
    let outcome = runtime.block_on(drive(parts, beginning, &mut screen, &mut driver, &mut store));
    terminal::leave();
    // Only now: the person has their shell back while the last writes finish.
    end(runtime, store, driver);
    outcome
}

/// The loop's.
pub(super) fn runtime() -> Result<Runtime, TuiError> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(TuiError::Terminal)
}

/// Finishes the last writes.
pub(super) fn end(runtime: Runtime, store: Option<Requests>, driver: Option<Driver>) {
    // A thread that waits for a key is not waited for.
    runtime.shutdown_background();
    if let Some(store) = store {
        store.finish();
    }
    if let Some(driver) = driver {
        driver.stop();
    }
}

struct Loop<'a> {
    screen: &'a mut Screen,
    state: State,
    clock: Arc<dyn Clock>,
    driver: &'a Driver,
    store: &'a Requests,
    dirty: bool,
    exit: Option<Left>,
    /// A text to be opened in the person's own editor.
    outside: Option<String>,
    events: UnboundedReceiver<Event>,
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

/// What the screen shows first.
pub(super) fn begun(
    parts: &Parts,
    notices: Vec<String>,
    draft: &Draft,
    palette: Option<&str>,
) -> State {
    let chosen = parts.store.read(|r| r.setting(PALETTE)).ok().flatten();
    let palette = Palette::of(&variable, chosen.as_deref().or(palette));
    let mut state = State::new(&palette, parts.clock.now(), &parts.source.default_name());
    state.palettes = |name| Palette::of(&variable, Some(name));
    for text in notices {
        state.notice(Level::Warning, text);
    }
    state.sampling.clone_from(&parts.config.sampling);
    state.incognito = parts.incognito || draft.incognito;
    if !draft.text.is_empty() {
        state.editor.set(&draft.text);
    }
    state
}

/// Where the person was.
fn go_to(draft: &Draft, driver: &Driver) {
    if draft.incognito {
        driver.send(Command::Incognito(true));
    } else if let Some(session) = draft.session {
        driver.send(Command::OpenSession(session));
    }
}

async fn drive(
    parts: Parts,
    Beginning { notices, draft, lock_after, palette, keys }: Beginning,
    screen: &mut Screen,
    driver: &mut Option<Driver>,
    requests: &mut Option<Requests>,
) -> Result<Left, TuiError> {
    let fail = TuiError::Terminal;
    let clock = Arc::clone(&parts.clock);
    let state = State { keys, ..begun(&parts, notices, &draft, palette.as_deref()) };
    // The first frame, before anything else is begun.
    terminal::draw(screen, |frame| view::draw(frame, &state)).map_err(fail)?;

    let mut terminate = signal(SignalKind::terminate()).map_err(fail)?;
    let mut hang_up = signal(SignalKind::hangup()).map_err(fail)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(fail)?;
    // SIGCONT, which tokio has no name for.
    let mut go_on = signal(SignalKind::from_raw(libc::SIGCONT)).map_err(fail)?;

    let (sender, events) = unbounded_channel::<Event>();
    let replies = sender.clone();
    let store = StoreThread(parts.clone())
        .start(move |reply| {
            let _ = replies.send(Event::Store(reply));
        })
        .map_err(fail)?;
    let store = &*requests.insert(store);
    store.send(StoreRequest::History);
    store.send(StoreRequest::Prompts);
    store.send(StoreRequest::Greeting);
    let started = Driver::start(parts, move |update: Update| {
        let _ = sender.send(Event::Chat(update));
    })
    .map_err(fail)?;
    let driver = &*driver.insert(started);
    go_to(&draft, driver);

    let mut looped = Loop {
        screen,
        state,
        clock,
        driver,
        store,
        dirty: true,
        exit: None,
        outside: None,
        events,
    };
    let mut keys = EventStream::new();
    let (mut drawn, mut ticked, mut pressed) = (Instant::now(), Instant::now(), false);
    let mut presence = Presence::new();
    let panics = std::env::var_os("INGLENOOK_TEST_PANIC").is_some();
    loop {
        // Whoever presses a key does not wait for the next frame of a reply.
        let wait = if pressed { Duration::ZERO } else { FRAME.saturating_sub(drawn.elapsed()) };
        let pause = if looped.state.moves() { TICK } else { IDLE };
        tokio::select! {
            biased;
            _ = terminate.recv() => looped.exit = Some(Left::Quit(143)),
            _ = hang_up.recv() => looped.exit = Some(Left::Quit(129)),
            _ = interrupt.recv() => looped.exit = Some(Left::Quit(130)),
            _ = go_on.recv() => {
                // Stopped from outside and continued: the terminal may be anyone's.
                terminal::resume(looped.screen).map_err(fail)?;
                looped.dirty = true;
            }
            key = keys.next() => match key {
                Some(Ok(event)) => {
                    // For tests/tui_pty.rs: a panic must leave the terminal as it was.
                    assert!(!panics || !is_f12(&event), "provoked by a test");
                    if !is_noise(&event) {
                        pressed |= matches!(event, TerminalEvent::Key(_));
                        presence.is_here();
                        looped.feed(Event::Terminal(event))?;
                    }
                }
                // The terminal is gone.
                Some(Err(_)) | None => looped.exit = Some(Left::Quit(129)),
            },
            Some(event) = looped.events.recv() => {
                looped.feed(event)?;
                // A fast reply comes in many pieces; take what is there before drawing.
                for _ in 0..1_000 {
                    let Ok(event) = looped.events.try_recv() else { break };
                    looped.feed(event)?;
                }
            }
            () = tokio::time::sleep(pause.saturating_sub(ticked.elapsed())) => {
                ticked = Instant::now();
                looped.tick()?;
                if looped.state.transcript.busy() {
                    presence.busy = Instant::now();
                }
                if lock_after.is_some_and(|after| presence.is_gone(after)) {
                    looped.exit = Some(Left::Locked(looped.state.draft()));
                }
            }
            () = tokio::time::sleep(wait), if looped.dirty => {
                looped.draw().map_err(fail)?;
                (drawn, pressed) = (Instant::now(), false);
            }
        }
        if let Some(left) = looped.exit.take() {
            return Ok(left);
        }
        if let Some(text) = looped.outside.take() {
            // Its thread would take the editor's keys.
            drop(keys);
            let written = terminal::write_outside(&text);
            // Ctrl+C was the editor's.
            interrupt = without_pending(SignalKind::interrupt()).await.map_err(fail)?;
            terminal::resume(looped.screen).map_err(fail)?;
            keys = EventStream::new();
            presence.is_here();
            looped.feed(Event::Written(written))?;
        }
    }
}

/// When somebody was there, and when a reply was being written.
pub(super) struct Presence {
    key: Instant,
    /// Goes on while the computer sleeps.
    key_by_the_clock: SystemTime,
    pub(super) busy: Instant,
}

impl Presence {
    /// A reply stays to be read for so long after it is done.
    const READING: Duration = Duration::from_mins(2);

    pub(super) fn new() -> Self {
        Self { key: Instant::now(), key_by_the_clock: SystemTime::now(), busy: Instant::now() }
    }

    pub(super) fn is_here(&mut self) {
        (self.key, self.key_by_the_clock) = (Instant::now(), SystemTime::now());
    }

    /// Whether nobody was there for `after`. A reply that never ends holds the lock off for four times as long.
    pub(super) fn is_gone(&self, after: Duration) -> bool {
        let by_the_clock = self.key_by_the_clock.elapsed().unwrap_or_default();
        let alone = self.key.elapsed().max(by_the_clock);
        alone >= after * 4 || alone >= after && self.busy.elapsed() >= Self::READING.min(after)
    }
}

/// A signal from now on: what came while this thread was busy is handed out first.
async fn without_pending(kind: SignalKind) -> std::io::Result<Signal> {
    tokio::task::yield_now().await;
    signal(kind)
}

/// Mouse events without a meaning here.
fn is_noise(event: &TerminalEvent) -> bool {
    matches!(event, TerminalEvent::Mouse(m)
        if !matches!(m.kind, MouseEventKind::ScrollUp | MouseEventKind::ScrollDown
            | MouseEventKind::Down(MouseButton::Left)))
}

fn is_f12(event: &TerminalEvent) -> bool {
    matches!(event, TerminalEvent::Key(key) if key.code == crossterm::event::KeyCode::F(12))
}

impl Loop<'_> {
    fn draw(&mut self) -> std::io::Result<()> {
        self.dirty = false;
        let state = &self.state;
        terminal::draw(self.screen, |frame| view::draw(frame, state))
    }

    /// What moves goes on.
    fn tick(&mut self) -> Result<(), TuiError> {
        if self.state.moves() {
            let (before, was_dirty) = (self.state.by_time(), self.dirty);
            self.feed(Event::Tick)?;
            self.dirty = was_dirty || before != self.state.by_time();
        }
        if self.driver.is_dead() {
            let place = terminal::take_panic().unwrap_or_else(|| "the chat".into());
            return Err(TuiError::Bug { place });
        }
        Ok(())
    }

    fn feed(&mut self, event: Event) -> Result<(), TuiError> {
        self.dirty = true;
        let now = self.clock.now();
        for effect in update(&mut self.state, event, now) {
            match effect {
                Effect::Chat(command) => self.driver.send(command),
                Effect::Store(request) => self.store.send(request),
                Effect::Copy(text) => {
                    let mut out = stdout();
                    let _ = execute!(out, CopyToClipboard::to_clipboard_from(text));
                    let _ = out.flush();
                }
                Effect::Notify(text) => terminal::notify(&text),
                Effect::Suspend => {
                    terminal::suspend();
                    terminal::resume(self.screen).map_err(TuiError::Terminal)?;
                }
                Effect::WriteOutside(text) => self.outside = Some(text),
                Effect::Quit(code) => self.exit = Some(Left::Quit(code)),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn a_signal_from_before_is_dropped() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let kind = SignalKind::user_defined2();
            let mut before = signal(kind).unwrap();
            let pid = std::process::id().to_string();
            std::process::Command::new("kill").args(["-USR2", &pid]).status().unwrap();
            std::thread::sleep(Duration::from_millis(200));
            let mut after = without_pending(kind).await.unwrap();
            assert_eq!(before.recv().now_or_never(), Some(Some(())));
            assert_eq!(after.recv().now_or_never(), None);
        });
    }
}
