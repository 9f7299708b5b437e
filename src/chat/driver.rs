//! Executes the machine's effects: one thread for the conversation and the store, one for each
//! recall, generation or loading of a model. The screen learns of everything through `on_update`.

use std::collections::VecDeque;
use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::chat::executor::{Executor, Job, Parts};
use crate::chat::machine::{Command, Effect, Event, Level, Machine, PhaseName, TurnEvent, Update};
use crate::error_chain::error_chain;
use crate::interfaces::{Cancel, ModelError};
use crate::texts::text;
use crate::worker::{Exchanges, Told, WorkerStatus};

pub(super) enum Input {
    Command(Command),
    Event(Event),
    Tell(Update),
    /// Of the exchanges with the person's other devices.
    Exchange(Told),
    Quit,
}

/// How often the worker's status is read.
const POLL: Duration = Duration::from_millis(200);
/// How long [`Driver::stop`] waits for the last writes and the worker.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(3);
/// How long the chat's end waits for the last exchange with other devices, within that.
const LAST_EXCHANGE_TIMEOUT: Duration = Duration::from_secs(2);

/// A running conversation.
pub struct Driver {
    inbox: Sender<Input>,
    thread: JoinHandle<()>,
}

type OnUpdate = Arc<dyn Fn(Update) + Send + Sync>;

impl Driver {
    /// Starts the thread and loads the default model.
    ///
    /// # Errors
    /// If the thread can't be started.
    pub fn start(
        parts: Parts,
        on_update: impl Fn(Update) + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        let (inbox, events) = mpsc::channel();
        let tell: OnUpdate = Arc::new(on_update);
        let back = inbox.clone();
        let thread = thread::Builder::new().name("chat".into()).spawn(move || {
            Conversation::new(parts, tell, back).run(&events);
        })?;
        Ok(Self { inbox, thread })
    }

    /// Queues a command; never blocks.
    pub fn send(&self, command: Command) {
        let _ = self.inbox.send(Input::Command(command));
    }

    /// True if the thread has ended; before [`Self::stop`] that is a bug, and the screen says so.
    pub fn is_dead(&self) -> bool {
        self.thread.is_finished()
    }

    /// Saves the unfinished reply, closes the session, stops the worker. Waits a few seconds at
    /// most.
    pub fn stop(self) {
        let _ = self.inbox.send(Input::Quit);
        let since = Instant::now();
        while !self.is_dead() && since.elapsed() < LEAVE_TIMEOUT {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

struct Conversation {
    machine: Machine,
    executor: Executor,
    tell: OnUpdate,
    inbox: Sender<Input>,
    /// The status last reported.
    worker: Option<WorkerStatus>,
    /// Stops the download.
    pull: Cancel,
    /// The store's generation when a change of memory was last reported.
    generation: u64,
    /// Something came from another device since the chat on the screen was read.
    has_received: bool,
}

impl Conversation {
    fn new(parts: Parts, tell: OnUpdate, inbox: Sender<Input>) -> Self {
        let (machine, executor) = (Machine::default(), Executor::new(parts));
        Self {
            machine,
            executor,
            tell,
            inbox,
            worker: None,
            pull: Cancel::default(),
            generation: 0,
            has_received: false,
        }
    }

    fn run(mut self, events: &Receiver<Input>) {
        if self.executor.parts.incognito {
            self.command(Command::Incognito(true));
        }
        self.command(Command::LoadModel(None));
        self.generation = self.executor.parts.store.generation();
        let exchanges = self.exchanges();
        loop {
            match events.recv_timeout(POLL) {
                Ok(Input::Command(command)) => self.command(command),
                Ok(Input::Event(event)) => self.step(event),
                Ok(Input::Tell(update)) => (self.tell)(update),
                Ok(Input::Exchange(Told::Received)) => self.has_received = true,
                Ok(Input::Exchange(Told::Failed(text))) => {
                    (self.tell)(Update::Notice { level: Level::Warning, text });
                }
                Ok(Input::Quit) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => self.poll(),
            }
        }
        // Before it is told to: these servers end before the program does.
        self.executor.end_tools();
        self.command(Command::Leave);
        self.executor.background = None;
        if let Some(exchanges) = exchanges {
            exchanges.end(LAST_EXCHANGE_TIMEOUT);
        }
    }

    /// Exchanges with the person's other devices from now on, in a chat that stays open (it has a worker), unless the policy
    /// forbids it. A system without threads runs no chat either.
    fn exchanges(&self) -> Option<Exchanges> {
        let Parts { store, clock, allowed, worker, .. } = &self.executor.parts;
        let inbox = self.inbox.clone();
        let tell = move |told| {
            let _ = inbox.send(Input::Exchange(told));
        };
        let is_wanted = allowed.sync && worker.is_some();
        is_wanted.then(|| Exchanges::start(store.clone(), Arc::clone(clock), tell).ok())?
    }

    /// Reports the worker's status, and that the store was written to, if either is new.
    fn poll(&mut self) {
        if let Some(worker) = &self.executor.background {
            let now = worker.status();
            if self.worker.as_ref() != Some(&now) {
                (self.tell)(Update::Worker(now.clone()));
                self.worker = Some(now);
            }
        }
        let generation = self.executor.parts.store.generation();
        if generation != self.generation && self.machine.phase() == PhaseName::Idle {
            self.generation = generation;
            self.look_for_forgetting();
            (self.tell)(Update::MemoryChanged);
        }
        if self.machine.phase() == PhaseName::Idle && std::mem::take(&mut self.has_received) {
            self.command(Command::Reload);
        }
    }

    /// Another process may have forgotten what this one still knows of the chat.
    fn look_for_forgetting(&mut self) {
        let Ok(n) = self.executor.parts.n_forgettings() else { return };
        if n != self.executor.n_forgettings && self.machine.phase() == PhaseName::Idle {
            self.executor.n_forgettings = n;
            self.executor.drop_caches();
            self.command(Command::Reload);
            (self.tell)(Update::Forgotten);
        }
    }

    fn command(&mut self, command: Command) {
        // By this machine's policy, or for one question.
        let is_refused = match &command {
            Command::Incognito(false) | Command::OpenSession(_) => true,
            Command::Submit { .. } => !self.machine.is_incognito(),
            _ => false,
        };
        if self.executor.parts.incognito && is_refused {
            let text =
                text!("Every chat is incognito here: none is kept, none that was is opened.")
                    .into();
            (self.tell)(Update::Notice { level: Level::Error, text });
            return;
        }
        if let (Command::Tools(true), Err(why)) = (&command, &self.executor.parts.allowed.tools) {
            (self.tell)(Update::Notice { level: Level::Warning, text: why.clone() });
            return;
        }
        // No answer is made from what is gone.
        if matches!(command, Command::Submit { .. } | Command::Regenerate | Command::Continue) {
            self.look_for_forgetting();
        }
        let at = self.executor.parts.clock.now();
        self.step(Event::Command { command, at });
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
            }
            Effect::PauseWorker => {
                if let Some(worker) = &self.executor.background {
                    worker.pause();
                }
            }
            Effect::ResumeWorker => {
                if let Some(worker) = &self.executor.background {
                    worker.resume();
                }
            }
            Effect::LoadModel(name) => self.load(name),
            Effect::Pull(name) => self.pull(name),
            Effect::StopPull => self.pull.cancel(),
            Effect::Start(job) => {
                let job = self.executor.job(job)?;
                self.reply(job);
            }
            Effect::Cancel => self.executor.cancel(),
            Effect::ListTools { on } => {
                let status = self.executor.tools_status(on);
                (self.tell)(Update::Tools(status));
            }
            quick => return self.executor.execute(quick),
        }
        None
    }

    fn start_worker(&mut self) {
        self.worker = None;
        self.executor.start_background();
        if self.machine.phase() != PhaseName::Idle
            && let Some(worker) = &self.executor.background
        {
            worker.pause();
        }
    }

    fn load(&self, name: Option<String>) {
        let source = Arc::clone(&self.executor.parts.source);
        let install = self.executor.installer();
        let failed = |error| Event::ModelFailed { error };
        self.spawn("load", text!("the loader failed"), failed, move |inbox| {
            let progress = |progress| {
                let _ = inbox.send(Input::Tell(Update::LoadProgress(progress)));
            };
            let event = match source.load(name.as_deref(), &progress) {
                Ok(models) => install(models),
                Err(error) => Some(Event::ModelFailed { error: error_chain(&error) }),
            };
            if let Some(event) = event {
                let _ = inbox.send(Input::Event(event));
            }
        });
    }

    fn pull(&mut self, name: String) {
        /// Between two notes of how far it has come.
        const NOTE_EVERY: Duration = Duration::from_millis(200);
        let source = Arc::clone(&self.executor.parts.source);
        self.pull = Cancel::default();
        let (cancel, pulled) = (self.pull.clone(), name.clone());
        let failed = move |error| Event::Pulled { name: pulled.clone(), result: Err(error) };
        self.spawn("pull", text!("the download failed"), failed, move |inbox| {
            let last: Mutex<Option<Instant>> = Mutex::default();
            let progress = |bytes, total_bytes| {
                let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
                if last.is_none_or(|last| last.elapsed() >= NOTE_EVERY) {
                    *last = Some(Instant::now());
                    let name = name.clone();
                    let _ = inbox.send(Input::Tell(Update::Pulling { name, bytes, total_bytes }));
                }
            };
            let result = match source.pull(&name, &cancel, &progress) {
                Ok(()) => Ok(true),
                Err(ModelError::Cancelled) => Ok(false),
                Err(error) => Err(error_chain(&error)),
            };
            let _ = inbox.send(Input::Event(Event::Pulled { name: name.clone(), result }));
        });
    }

    fn reply(&self, job: Job) {
        let turn = job.request.turn;
        let failed = move |error| Event::Turn(turn, TurnEvent::Failed { error });
        let bug = text!("an internal error: a bug in inglenook");
        self.spawn("reply", bug, failed, move |inbox| {
            job.run(&mut |input| {
                let _ = inbox.send(input);
            });
        });
    }

    /// Runs `work` on a thread of its own. If the thread can't be started, or `work` panics
    /// (`bug`), the event that `failed` makes of the reason is sent.
    fn spawn(
        &self,
        name: &str,
        bug: &'static str,
        failed: impl Fn(String) -> Event + Clone + Send + 'static,
        work: impl FnOnce(&Sender<Input>) + Send + 'static,
    ) {
        let inbox = self.inbox.clone();
        let panicked = failed.clone();
        let started = thread::Builder::new().name(name.into()).spawn(move || {
            if panic::catch_unwind(AssertUnwindSafe(|| work(&inbox))).is_err() {
                let _ = inbox.send(Input::Event(panicked(bug.into())));
            }
        });
        if let Err(error) = started {
            let _ = self.inbox.send(Input::Event(failed(error.to_string())));
        }
    }
}

#[cfg(test)]
#[path = "driver_tests.rs"]
mod tests;
