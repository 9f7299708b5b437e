//! Executes the machine's effects: one thread for the conversation and the store, one for each
//! recall, generation or loading of a model. The screen hears of everything through `on_update`.

use std::collections::VecDeque;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::chat::hands::{Hands, Job, Parts};
use crate::chat::machine::{Effect, Event, Kind, Machine, Phase, Update};
use crate::interfaces::{Clock, LoadProgress};
use crate::memory::SessionId;

/// What the person wants.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    Submit {
        text: String,
        kind: Kind,
    },
    Stop,
    Regenerate,
    NewSession,
    OpenSession(SessionId),
    LoadModel(Option<String>),
    Incognito(bool),
    /// Something was forgotten: read the open session again.
    Reload,
}

pub(super) enum Input {
    Command(Command),
    Event(Event),
    Tell(Update),
    Quit,
}

/// How often the worker's state is looked at.
const POLL: Duration = Duration::from_millis(200);
/// How long leaving waits for what still runs.
const PATIENCE: Duration = Duration::from_secs(3);

/// A running conversation.
pub struct Driver {
    inbox: Sender<Input>,
    thread: Option<JoinHandle<()>>,
}

type Teller = Arc<dyn Fn(Update) + Send + Sync>;

impl Driver {
    /// Starts the thread and loads the model (`None`: the one in use).
    ///
    /// # Errors
    /// If the system has no thread for it.
    pub fn start(
        parts: Parts,
        model: Option<String>,
        on_update: impl Fn(Update) + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        let (inbox, events) = mpsc::channel();
        let tell: Teller = Arc::new(on_update);
        let back = inbox.clone();
        let thread = thread::Builder::new().name("chat".into()).spawn(move || {
            Conversation::new(parts, tell, back).run(&events, model);
        })?;
        Ok(Self { inbox, thread: Some(thread) })
    }

    /// Never blocks.
    pub fn send(&self, command: Command) {
        let _ = self.inbox.send(Input::Command(command));
    }

    /// True if the thread ended without being asked to (a bug; the screen says so).
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Keeps what was said of an unfinished reply, closes the session, stops the worker. Waits a few
    /// seconds at most.
    pub fn stop(mut self) {
        let _ = self.inbox.send(Input::Quit);
        let Some(thread) = self.thread.take() else { return };
        let since = Instant::now();
        while !thread.is_finished() && since.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(5));
        }
        if thread.is_finished() {
            let _ = thread.join();
        }
    }
}

struct Conversation {
    machine: Machine,
    hands: Hands,
    tell: Teller,
    inbox: Sender<Input>,
    clock: Arc<dyn Clock>,
    /// The worker's status as last told.
    status: Option<(String, bool, bool)>,
    generation: u64,
    /// Each loading of a model has a number: a slow one that was overtaken is dropped.
    loading: u64,
}

impl Conversation {
    fn new(parts: Parts, tell: Teller, inbox: Sender<Input>) -> Self {
        let clock = Arc::clone(&parts.clock);
        Self {
            machine: Machine::new(),
            hands: Hands::new(parts),
            tell,
            inbox,
            clock,
            status: None,
            generation: 0,
            loading: 0,
        }
    }

    fn run(mut self, events: &Receiver<Input>, model: Option<String>) {
        if self.hands.starts_incognito() {
            self.step(Event::Incognito { on: true });
        }
        self.step(Event::LoadModel { name: model });
        self.generation = self.hands.generation();
        loop {
            match events.recv_timeout(POLL) {
                Ok(Input::Command(command)) => {
                    let event = self.event_of(command);
                    self.step(event);
                }
                Ok(Input::Event(event)) => self.step(event),
                Ok(Input::Tell(update)) => (self.tell)(update),
                Ok(Input::Quit) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => self.look(),
            }
        }
        self.step(Event::Leave);
        self.hands.stop_background();
    }

    fn event_of(&self, command: Command) -> Event {
        let at = self.clock.now();
        match command {
            Command::Submit { text, kind } => Event::Submit { text, at, kind },
            Command::Stop => Event::Stop,
            Command::Regenerate => Event::Regenerate { at },
            Command::NewSession => Event::NewSession,
            Command::OpenSession(session) => Event::OpenSession { session },
            Command::LoadModel(name) => Event::LoadModel { name },
            Command::Incognito(on) => Event::Incognito { on },
            Command::Reload => Event::Reload,
        }
    }

    /// The worker's state and what it wrote.
    fn look(&mut self) {
        if let Some(worker) = self.hands.background() {
            let now = worker.status();
            if self.status.as_ref() != Some(&now) {
                let (text, busy, failed) = now.clone();
                (self.tell)(Update::Worker { text, busy, failed });
                self.status = Some(now);
            }
        }
        let generation = self.hands.generation();
        if generation != self.generation && self.machine.phase() == Phase::Idle {
            self.generation = generation;
            (self.tell)(Update::MemoryChanged);
        }
    }

    fn step(&mut self, event: Event) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            for effect in self.machine.handle(event) {
                events.extend(self.execute(effect));
            }
        }
    }

    fn execute(&mut self, effect: Effect) -> Option<Event> {
        match effect {
            Effect::Tell(update) => {
                if matches!(update, Update::Ready(_)) {
                    self.start_worker();
                }
                (self.tell)(update);
                None
            }
            Effect::PauseWorker => {
                if let Some(worker) = self.hands.background() {
                    worker.pause();
                }
                None
            }
            Effect::ResumeWorker => {
                if let Some(worker) = self.hands.background() {
                    worker.resume();
                }
                None
            }
            Effect::LoadModel { name } => {
                self.load(name);
                None
            }
            Effect::Recall { .. } | Effect::Generate { .. } => {
                let job = self.hands.job(effect)?;
                self.spawn(job);
                None
            }
            Effect::Cancel { .. } => {
                self.hands.cancel();
                None
            }
            quick => self.hands.do_now(quick),
        }
    }

    fn start_worker(&mut self) {
        self.status = None;
        self.hands.start_background();
        if self.machine.phase() != Phase::Idle
            && let Some(worker) = self.hands.background()
        {
            worker.pause();
        }
    }

    fn load(&mut self, name: Option<String>) {
        self.loading += 1;
        let number = self.loading;
        let source = self.hands.source();
        let shared = self.hands.loader(number);
        let inbox = self.inbox.clone();
        let failed = self.inbox.clone();
        let started = thread::Builder::new().name("load".into()).spawn(move || {
            let progress = |p: LoadProgress| {
                let _ = inbox.send(Input::Tell(Update::LoadProgress {
                    stage: p.stage,
                    fraction: p.fraction,
                }));
            };
            let loaded =
                panic::catch_unwind(AssertUnwindSafe(|| source.load(name.as_deref(), &progress)));
            let event = match loaded {
                Ok(Ok(models)) => shared.ready(models),
                Ok(Err(error)) => Some(Event::ModelFailed { error: in_words(&error) }),
                Err(_) => Some(Event::ModelFailed { error: "the loader failed".into() }),
            };
            if let Some(event) = event {
                let _ = inbox.send(Input::Event(event));
            }
        });
        if let Err(error) = started {
            let _ = failed.send(Input::Event(Event::ModelFailed { error: error.to_string() }));
        }
    }

    fn spawn(&self, job: Job) {
        let inbox = self.inbox.clone();
        let failed = job.failure();
        let not_started = job.failure();
        let started = thread::Builder::new().name("reply".into()).spawn(move || {
            let ran = panic::catch_unwind(AssertUnwindSafe(|| {
                job.run(&mut |input| {
                    let _ = inbox.send(input);
                });
            }));
            if ran.is_err() {
                let _ = inbox
                    .send(Input::Event(failed("an internal error: a bug in inglenook".into())));
            }
        });
        if let Err(error) = started {
            let _ = self.inbox.send(Input::Event(not_started(error.to_string())));
        }
    }
}

/// An error with its causes, in one sentence.
pub(super) fn in_words(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.contains(&next) {
            text.push_str(": ");
            text.push_str(&next);
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
#[path = "driver_tests.rs"]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests;
