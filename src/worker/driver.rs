//! Executes the machine's effects, on its own thread or on the caller's.
//!
//! The machine sits behind a mutex, so any thread can send it an event. That thread executes
//! `Interrupt` at once (it only sets a flag); the driver executes all other effects, in order.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::check::Check;
use super::machine::{Effect, Event, Machine, Outcome};
use super::step_context::{StepContext, StepError};
use super::{WorkerState, WorkerStatus};
use crate::error_chain::error_chain;
use crate::interfaces::{Cancel, ModelError};
use crate::store::{Job, StoreError};

/// How often an idle worker checks whether the memory has changed.
const POLL: Duration = Duration::from_millis(300);

/// How often it checks whether the conversation has fallen silent.
const SILENCE_POLL: Duration = Duration::from_secs(20);

/// The check so far is kept after so many items.
const CHECK_KEPT_EVERY: usize = 5;

/// What the status line says of it.
const CHECKING: &str = "trying what the model is good at";

/// How often the queue is counted for the status line.
const COUNT_EVERY: Duration = Duration::from_millis(200);

/// What the worker's thread and its handle share.
#[derive(Default)]
pub(super) struct Shared {
    inner: Mutex<Inner>,
    changed: Condvar,
}

#[derive(Default)]
struct Inner {
    machine: Machine,
    effects: VecDeque<Effect>,
    /// Cancels the running step.
    cancel: Cancel,
    /// Cancels the item of `model check` that idle time is spent on: at anything that happens.
    checking: Option<Cancel>,
    /// The check is under way, also between two items.
    is_checking: bool,
    jobs_left: usize,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Every state between two assignments is valid, so a poisoned lock is harmless.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends an event to the machine.
    pub fn send(&self, event: Event) {
        let mut inner = self.lock();
        if let Some(checking) = inner.checking.take() {
            checking.cancel();
        }
        inner.is_checking &= !matches!(event, Event::Pause | Event::Stop);
        for effect in inner.machine.handle(event) {
            match effect {
                Effect::Interrupt => inner.cancel.cancel(),
                other => inner.effects.push_back(other),
            }
        }
        drop(inner);
        self.changed.notify_all();
    }

    pub fn status(&self) -> WorkerStatus {
        let inner = self.lock();
        let state = match inner.machine.state() {
            WorkerState::Idle if inner.is_checking => {
                WorkerState::Working { what: CHECKING.into() }
            }
            state => state,
        };
        WorkerStatus { state, jobs_done: inner.machine.jobs_done(), jobs_left: inner.jobs_left }
    }

    /// See [`Machine::forgive`].
    pub fn forgive(&self) {
        self.lock().machine.forgive();
    }

    pub fn is_idle(&self) -> bool {
        let inner = self.lock();
        inner.machine.is_idle() && inner.effects.is_empty()
    }

    pub fn has_ended(&self) -> bool {
        self.lock().machine.has_ended()
    }

    /// Waits until something changes, or for `at_most`.
    pub fn wait(&self, at_most: Duration) {
        let inner = self.lock();
        drop(self.changed.wait_timeout(inner, at_most).unwrap_or_else(PoisonError::into_inner));
    }
}

/// Why a driver stopped before the machine ended.
#[derive(Debug)]
pub(super) enum Halt {
    /// Nothing is left to do.
    Idle,
    /// The machine ended.
    Ended,
    /// A test's simulated crash.
    Crashed,
    /// The store or the engine cannot be used; only if [`Driver::impatient`].
    Unavailable(StepError),
}

/// Executes the machine's effects.
pub(super) struct Driver {
    pub shared: Arc<Shared>,
    pub context: StepContext,
    /// Stop at the first unavailability instead of waiting.
    pub impatient: bool,
    /// The caller's: cancels the running step and the whole run.
    pub cancel: Option<Cancel>,
    counted: Option<Instant>,
    generation: u64,
    silence_checked: Instant,
    idle_since: Instant,
    check: Checked,
}

/// How far `model check` has come in this process.
#[derive(Debug, Default, PartialEq)]
enum Checked {
    #[default]
    Not,
    UnderWay(Check),
    /// There is a grade, or none is needed, or none can be had.
    Done,
}

impl Driver {
    pub fn new(shared: Arc<Shared>, context: StepContext) -> Self {
        let generation = context.store.generation();
        Self {
            shared,
            context,
            impatient: false,
            cancel: None,
            counted: None,
            generation,
            silence_checked: Instant::now(),
            idle_since: Instant::now(),
            check: Checked::default(),
        }
    }

    /// Executes effects until the machine waits for an event from outside.
    pub fn run_until_quiet(&mut self, on_step: &mut dyn FnMut(&Shared)) -> Halt {
        loop {
            let Some(effect) = self.shared.lock().effects.pop_front() else {
                return if self.shared.has_ended() { Halt::Ended } else { Halt::Idle };
            };
            if let Some(halt) = self.execute(effect) {
                return halt;
            }
            on_step(&self.shared);
        }
    }

    /// The worker's thread: until [`Event::Stop`].
    pub fn run_thread(mut self) {
        loop {
            match self.run_until_quiet(&mut |_| {}) {
                Halt::Ended | Halt::Crashed => return,
                Halt::Idle | Halt::Unavailable(_) => self.shared.wait(POLL),
            }
            let generation = self.context.store.generation();
            if generation != self.generation {
                self.generation = generation;
                self.shared.send(Event::Woken);
            }
            self.look_for_silence();
            self.look_for_check();
        }
    }

    /// Spends idle time on `model check`, item by item, if the model has no grade yet.
    fn look_for_check(&mut self) {
        let Some(after) = self.context.config.check_after else { return };
        let mut inner = self.shared.lock();
        if inner.machine.state() != WorkerState::Idle {
            inner.is_checking = false;
            self.idle_since = Instant::now();
        }
        drop(inner);
        let start = Instant::now();
        while self.idle_since.elapsed() >= after
            && self.check != Checked::Done
            && start.elapsed() < POLL
            && self.check_while_idle()
        {}
    }

    /// One item, unless something happens; false if there is other work.
    fn check_while_idle(&mut self) -> bool {
        let cancel = Cancel::default();
        {
            let mut inner = self.shared.lock();
            if !inner.machine.is_idle() || inner.machine.has_ended() {
                return false;
            }
            inner.checking = Some(cancel.clone());
            inner.is_checking = true;
        }
        let result = catch_unwind(AssertUnwindSafe(|| self.check_one(&cancel)));
        let mut inner = self.shared.lock();
        // An event has taken it: the person is there again.
        let is_disturbed = inner.checking.take().is_none();
        inner.is_checking = !is_disturbed && matches!(self.check, Checked::UnderWay(_));
        drop(inner);
        match result {
            Ok(Ok(())) => {}
            Ok(Err(StepError::Interrupted)) => self.idle_since = Instant::now(),
            // A model that can't be tried is not trusted, and the chat says itself what is wrong with it.
            Ok(Err(error)) => {
                tracing::warn!(error = %error_chain(&error), "the model can't be tried");
                self.check = Checked::Done;
            }
            Err(panic) => {
                tracing::error!(error = panic_message(&*panic), "trying the model failed");
                self.check = Checked::Done;
            }
        }
        true
    }

    fn check_one(&mut self, cancel: &Cancel) -> Result<(), StepError> {
        let mut check = match std::mem::replace(&mut self.check, Checked::Done) {
            Checked::Not => match self.context.check_to_go_on_with()? {
                Some(check) => check,
                None => return Ok(()),
            },
            Checked::UnderWay(check) => check,
            Checked::Done => return Ok(()),
        };
        let found = check.next(&self.context.models, cancel);
        let n_done = check.progress().0;
        if matches!(found, Ok(None)) && n_done.is_multiple_of(CHECK_KEPT_EVERY) {
            self.context.keep_check(&check)?;
        }
        if !matches!(found, Ok(Some(_))) {
            self.check = Checked::UnderWay(check);
        }
        match found? {
            Some(grade) => self.context.keep_grade(&grade),
            None => Ok(()),
        }
    }

    fn look_for_silence(&mut self) {
        let Some(after) = self.context.config.close_after else { return };
        if self.silence_checked.elapsed() < SILENCE_POLL || !self.shared.is_idle() {
            return;
        }
        self.silence_checked = Instant::now();
        if let Err(error) = self.context.close_when_silent(after) {
            tracing::warn!(%error, "cannot close the conversation that fell silent");
        }
    }

    /// Executes one effect; `Some` stops the driver.
    fn execute(&mut self, effect: Effect) -> Option<Halt> {
        let outcome = match effect {
            Effect::Prepare => {
                let cancel = self.step_cancel();
                self.context.prepare(&cancel).map(|()| Event::Prepared)
            }
            Effect::Fetch => self.fetch(),
            Effect::Begin(job) => match self.context.commit(|tx| tx.begin_job(job.id)) {
                // Not found: forgotten since it was fetched; the step will find nothing to do.
                Ok(()) | Err(StepError::Store(StoreError::NotFound { .. })) => return None,
                Err(error) => {
                    // Drops the `Run` that follows.
                    self.shared.lock().effects.clear();
                    Err(error)
                }
            },
            Effect::Run(job) => return self.step(&job),
            Effect::Release(job) => self
                .context
                .commit(|tx| tx.fail_job(job.id, "interrupted", u32::MAX))
                .map(|()| Event::Settled),
            Effect::Retry { job, error } => {
                tracing::warn!(job = job.id, %error, "a memory step failed; trying again");
                self.context
                    .commit(|tx| tx.fail_job(job.id, &error, u32::MAX))
                    .map(|()| Event::Settled)
            }
            Effect::GiveUp { job, error } => {
                tracing::error!(job = job.id, %error, "a memory step failed for good");
                self.context.commit(|tx| tx.fail_job(job.id, &error, 0)).map(|()| Event::Settled)
            }
            Effect::Wait { seconds } => {
                let until = Instant::now() + Duration::from_secs(seconds);
                // A `Stop` during the wait puts `End` in the queue.
                while Instant::now() < until && self.shared.lock().effects.is_empty() {
                    self.shared.wait(until.saturating_duration_since(Instant::now()));
                }
                Ok(Event::Waited)
            }
            Effect::Interrupt => return None, // executed by the sender
            Effect::End => return Some(Halt::Ended),
        };
        match outcome {
            Ok(event) => self.shared.send(event),
            Err(StepError::Crashed) => return Some(Halt::Crashed),
            Err(error) => return self.unavailable(error),
        }
        None
    }

    fn fetch(&mut self) -> Result<Event, StepError> {
        // Before reading, so that whatever is written from now on wakes the worker again.
        self.generation = self.context.store.generation();
        if self.counted.is_none_or(|at| at.elapsed() >= COUNT_EVERY) {
            self.counted = Some(Instant::now());
            let n = self.context.store.read(|r| r.pending_jobs())?.len();
            self.shared.lock().jobs_left = n;
        }
        let job = self.context.store.read(|r| r.next_job())?;
        if job.is_none() {
            self.shared.lock().jobs_left = 0;
        }
        if self.cancel.as_ref().is_some_and(Cancel::is_cancelled) {
            self.shared.send(Event::Stop);
        }
        Ok(Event::Fetched(job))
    }

    fn step_cancel(&self) -> Cancel {
        let cancel = self.cancel.clone().unwrap_or_default();
        self.shared.lock().cancel = cancel.clone();
        cancel
    }

    fn step(&mut self, job: &Job) -> Option<Halt> {
        let cancel = self.step_cancel();
        // A damaged model or a bug in a rule must not crash the chat.
        let result = catch_unwind(AssertUnwindSafe(|| self.context.run(job, &cancel)));
        let outcome = match result {
            Ok(Ok(())) => {
                let mut inner = self.shared.lock();
                inner.jobs_left = inner.jobs_left.saturating_sub(1);
                Outcome::Done
            }
            Ok(Err(StepError::Interrupted)) => {
                if self.cancel.is_some() {
                    self.shared.send(Event::Stop);
                }
                Outcome::Interrupted
            }
            Ok(Err(StepError::Crashed)) => return Some(Halt::Crashed),
            Ok(Err(error @ StepError::Model(ModelError::EngineStopped))) => {
                return self.unavailable(error);
            }
            Ok(Err(error)) => Outcome::Failed { error: error_chain(&error) },
            Err(panic) => {
                self.context.cache = None;
                Outcome::Failed { error: format!("internal error: {}", panic_message(&*panic)) }
            }
        };
        self.shared.send(Event::Stepped(outcome));
        None
    }

    fn unavailable(&mut self, error: StepError) -> Option<Halt> {
        tracing::error!(error = %error_chain(&error), "the memory worker has to wait");
        if self.impatient {
            return Some(Halt::Unavailable(error));
        }
        self.shared.send(Event::Unavailable { error: error_chain(&error) });
        None
    }
}

/// The message of a panic.
fn panic_message(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic".into())
}
