//! Does the queued jobs one after the other, on its own thread or on the caller's.
//!
//! A job's row records that it has begun: whatever happens then, it is completed, settled (pending again, or failed
//! for good) or begun again by the next process.

use std::any::Any;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::check::Check;
use super::step_context::{StepContext, StepError};
use super::{WorkerState, WorkerStatus};
use crate::error_chain::error_chain;
use crate::interfaces::{Cancel, ModelError};
use crate::store::{Job, JobKind, StoreError};
use crate::texts::{self, key};

/// A job is given up after this many failures.
const ATTEMPTS_MAX: u32 = 3;

/// A job that has begun this often without ever ending must be crashing the process: it is given up.
const CRASHES_MAX: u32 = 50;

/// The first and the longest pause after the store or the engine failed; each is twice the one before.
const WAIT_SECONDS: (u64, u64) = (1, 60);

/// How often an idle worker checks whether the memory has changed.
const POLL: Duration = Duration::from_millis(300);

/// How often it checks whether the conversation has fallen silent.
const SILENCE_POLL: Duration = Duration::from_secs(20);

/// The check so far is saved every so many items.
const CHECK_KEPT_EVERY: usize = 5;

/// What the status line says before the first job, and while a model is checked.
const GETTING_READY: &str = key!("getting ready");
const CHECKING: &str = key!("trying what the model is good at");

/// What `memory consolidate` says while another process does the jobs.
const WAITING: &str = "another inglenook is at it";

/// How often the queue is counted for the status line.
const COUNT_EVERY: Duration = Duration::from_millis(200);

/// What the worker's thread and its handle share.
pub(super) struct Shared {
    inner: Mutex<Inner>,
    changed: Condvar,
}

#[derive(Default)]
struct Inner {
    is_paused: bool,
    is_stopped: bool,
    /// What is being done, in the person's words.
    doing: Option<&'static str>,
    /// Cancels it.
    cancel: Cancel,
    /// The newest failure.
    failed: Option<String>,
    jobs_done: usize,
    jobs_left: usize,
}

impl Shared {
    fn new() -> Self {
        let inner = Inner { doing: Some(GETTING_READY), ..Inner::default() };
        Self { inner: Mutex::new(inner), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Every state between two assignments is valid, so a poisoned lock is harmless.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, f: impl FnOnce(&mut Inner)) {
        f(&mut self.lock());
        self.changed.notify_all();
    }

    /// Nothing begins, and what runs stops within one token.
    pub fn pause(&self) {
        self.change(|inner| {
            inner.is_paused = true;
            inner.cancel.cancel();
        });
    }

    pub fn resume(&self) {
        self.change(|inner| inner.is_paused = false);
    }

    /// As a pause, but for good.
    pub fn stop(&self) {
        self.change(|inner| {
            inner.is_stopped = true;
            inner.cancel.cancel();
        });
    }

    pub fn status(&self) -> WorkerStatus {
        let inner = self.lock();
        let state = match (inner.doing, &inner.failed) {
            (Some(what), _) => WorkerState::Working { what: what.into() },
            (None, _) if inner.is_paused => WorkerState::Paused,
            (None, Some(what)) => WorkerState::Failed { what: what.clone() },
            (None, None) => WorkerState::Idle,
        };
        WorkerStatus { state, jobs_done: inner.jobs_done, jobs_left: inner.jobs_left }
    }

    /// Waits until `has_happened`, but for no longer than `at_most`.
    fn wait(&self, at_most: Duration, has_happened: impl Fn(&Inner) -> bool) {
        let waited =
            self.changed.wait_timeout_while(self.lock(), at_most, |inner| !has_happened(inner));
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// Waits for the end of a pause; false if the worker is to stop.
    fn wait_to_go_on(&self) -> bool {
        let is_held = |inner: &mut Inner| inner.is_paused && !inner.is_stopped;
        let held = self.changed.wait_while(self.lock(), is_held);
        !held.unwrap_or_else(PoisonError::into_inner).is_stopped
    }
}

/// Does the jobs.
pub(super) struct Driver {
    pub shared: Arc<Shared>,
    context: StepContext,
    /// The caller's: cancels the running step and the whole run.
    cancel: Option<Cancel>,
    is_prepared: bool,
    /// The job that the store records as running.
    begun: Option<i64>,
    /// Failures by job in this process, not counting interruptions and crashes.
    failures: HashMap<i64, u32>,
    n_waits: u32,
    counted: Option<Instant>,
    /// The store's generation when the queue was last found empty.
    empty_at: Option<u64>,
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
    pub fn new(context: StepContext, cancel: Option<Cancel>) -> Self {
        Self {
            shared: Arc::new(Shared::new()),
            context,
            cancel,
            is_prepared: false,
            begun: None,
            failures: HashMap::new(),
            n_waits: 0,
            counted: None,
            empty_at: None,
            silence_checked: Instant::now(),
            idle_since: Instant::now(),
            check: Checked::default(),
        }
    }

    /// Does every job and returns the number of steps done.
    pub fn run_until_idle(
        &mut self,
        on_progress: &mut dyn FnMut(&WorkerStatus),
    ) -> Result<usize, StepError> {
        self.wait_for_others(on_progress)?;
        while self.do_next(on_progress)? {
            on_progress(&self.shared.status());
        }
        Ok(self.shared.status().jobs_done)
    }

    /// Waits while another process does the jobs.
    fn wait_for_others(
        &mut self,
        on_progress: &mut dyn FnMut(&WorkerStatus),
    ) -> Result<(), StepError> {
        let (shared, store) = (Arc::clone(&self.shared), self.context.store.clone());
        let cancel = self.cancel.clone().unwrap_or_default();
        self.context.wait_for_work(|| {
            cancel.check()?;
            let n = store.read(|r| r.pending_jobs())?.len();
            shared.change(|inner| (inner.doing, inner.jobs_left) = (Some(WAITING), n));
            on_progress(&shared.status());
            Ok(())
        })
    }

    /// The worker's thread: until it is stopped.
    pub fn run_thread(mut self) {
        loop {
            match self.do_next(&mut |_| {}) {
                Ok(true) => self.idle_since = Instant::now(),
                Ok(false) => self.idle(),
                Err(StepError::Interrupted) => {
                    self.context.rest();
                    self.idle_since = Instant::now();
                    if !self.shared.wait_to_go_on() {
                        return;
                    }
                }
                Err(StepError::Crashed) => return,
                Err(error) => self.wait_for_better(&error),
            }
        }
    }

    /// The lock, or an error if nothing may begin now.
    fn unless_interrupted(&self) -> Result<MutexGuard<'_, Inner>, StepError> {
        let inner = self.shared.lock();
        let is_cancelled = self.cancel.as_ref().is_some_and(Cancel::is_cancelled);
        if is_cancelled || inner.is_paused || inner.is_stopped {
            return Err(StepError::Interrupted);
        }
        Ok(inner)
    }

    /// Records what is being done from now on, and returns the flag that cancels it.
    fn begin(&self, what: &'static str) -> Result<Cancel, StepError> {
        let mut inner = self.unless_interrupted()?;
        inner.doing = Some(what);
        inner.cancel = self.cancel.clone().unwrap_or_default();
        Ok(inner.cancel.clone())
    }

    /// Does one job; false if there is none. An error says that it was interrupted, or that the store or the engine
    /// can't be used.
    fn do_next(&mut self, on_progress: &mut dyn FnMut(&WorkerStatus)) -> Result<bool, StepError> {
        let done = self.next_job().and_then(|job| match job {
            Some(job) => self.do_job(&job, on_progress).map(|()| true),
            None => Ok(false),
        });
        // The check goes on between its items.
        if !matches!((&done, &self.check), (Ok(false), Checked::UnderWay(_))) {
            self.shared.lock().doing = None;
        }
        done
    }

    /// Gets ready, if that has not been done, and fetches the next job; none while another process does them.
    fn next_job(&mut self) -> Result<Option<Job>, StepError> {
        drop(self.unless_interrupted()?);
        // Before reading, so that whatever is written from now on is seen.
        let generation = self.context.store.generation();
        if self.empty_at == Some(generation) && self.begun.is_none() || !self.context.may_work()? {
            return Ok(None);
        }
        if let Some(id) = self.begun {
            self.settle(id, "interrupted", u32::MAX)?;
        }
        if !self.is_prepared {
            let cancel = self.begin(GETTING_READY)?;
            self.context.prepare(&cancel)?;
            self.is_prepared = true;
        }
        self.context.check_embedder()?;
        if self.counted.is_none_or(|at| at.elapsed() >= COUNT_EVERY) {
            self.counted = Some(Instant::now());
            let n = self.context.store.read(|r| r.pending_jobs())?.len();
            self.shared.lock().jobs_left = n;
        }
        let job = self.context.store.read(|r| r.next_job())?;
        self.empty_at = job.is_none().then_some(generation);
        if job.is_none() {
            self.n_waits = 0;
            self.shared.lock().jobs_left = 0;
        }
        Ok(job)
    }

    fn do_job(
        &mut self,
        job: &Job,
        on_progress: &mut dyn FnMut(&WorkerStatus),
    ) -> Result<(), StepError> {
        let cancel = self.begin(what(&job.kind))?;
        on_progress(&self.shared.status());
        if job.attempts >= CRASHES_MAX {
            let error = format!("was begun {} times and never ended", job.attempts);
            return self.give_up(job, &error);
        }
        match self.context.commit(|tx| tx.begin_job(job.id)) {
            Ok(()) => self.begun = Some(job.id),
            // Forgotten since it was fetched; the step will find nothing to do.
            Err(StepError::Store(StoreError::NotFound { .. })) => {}
            Err(error) => return Err(error),
        }
        // A damaged model or a bug in a rule must not crash the chat.
        let outcome = catch_unwind(AssertUnwindSafe(|| self.context.run(job, &cancel)));
        let error = match outcome {
            Ok(Ok(())) => {
                self.begun = None;
                self.failures.remove(&job.id);
                self.n_waits = 0;
                let mut inner = self.shared.lock();
                inner.jobs_done += 1;
                inner.jobs_left = inner.jobs_left.saturating_sub(1);
                return Ok(());
            }
            Ok(Err(StepError::Interrupted)) => {
                self.settle(job.id, "interrupted", u32::MAX)?;
                return Err(StepError::Interrupted);
            }
            Ok(Err(error @ (StepError::Crashed | StepError::Model(ModelError::EngineStopped)))) => {
                return Err(error);
            }
            Ok(Err(error)) => error_chain(&error),
            Err(panic) => {
                self.context.cache = None;
                format!("internal error: {}", panic_message(&*panic))
            }
        };
        let n = self.failures.entry(job.id).or_default();
        *n += 1;
        if *n >= ATTEMPTS_MAX {
            self.failures.remove(&job.id);
            return self.give_up(job, &error);
        }
        self.settle(job.id, &error, u32::MAX)
    }

    /// Keeps the failed job in the store with its error, for the person to see.
    fn give_up(&mut self, job: &Job, error: &str) -> Result<(), StepError> {
        self.shared.lock().failed = Some(format!("{}: {error}", texts::lookup(what(&job.kind))));
        self.settle(job.id, error, 0)
    }

    /// Makes a job pending again, or failed for good after `attempts_max` attempts.
    fn settle(&mut self, job: i64, error: &str, attempts_max: u32) -> Result<(), StepError> {
        self.context.commit(|tx| tx.fail_job(job, error, attempts_max))?;
        self.begun = None;
        Ok(())
    }

    /// Waits, each time longer, unless it is stopped.
    fn wait_for_better(&mut self, error: &StepError) {
        self.context.rest();
        self.shared.lock().failed = Some(error_chain(error));
        let pause = pause_after(self.n_waits);
        self.n_waits += 1;
        self.shared.wait(pause, |inner| inner.is_stopped);
    }

    /// Nothing is queued: looks for something else to do, or waits.
    fn idle(&mut self) {
        self.look_for_silence();
        if self.shared.lock().failed.is_some() {
            self.idle_since = Instant::now();
        }
        let is_long = |after| self.idle_since.elapsed() >= after;
        let checks =
            self.check != Checked::Done && self.context.config.check_after.is_some_and(is_long);
        if !checks || !self.context.may_work().unwrap_or(false) {
            self.context.rest();
            return self.shared.wait(POLL, |inner| inner.is_paused || inner.is_stopped);
        }
        self.check_while_idle();
    }

    fn look_for_silence(&mut self) {
        let Some(after) = self.context.config.close_after else { return };
        if self.silence_checked.elapsed() < SILENCE_POLL {
            return;
        }
        self.silence_checked = Instant::now();
        // A failure is ignored: this is tried again after the next wait.
        let _ = self.context.close_when_silent(after);
    }

    /// Spends idle time on an item of `model check`, if the model has no grade yet.
    fn check_while_idle(&mut self) {
        let result = catch_unwind(AssertUnwindSafe(|| self.check_one()));
        let goes_on = matches!((&result, &self.check), (Ok(Ok(())), Checked::UnderWay(_)));
        match result {
            Ok(Ok(())) => {}
            // The person is back.
            Ok(Err(StepError::Interrupted)) => self.idle_since = Instant::now(),
            // A model that can't be checked is not trusted, and the chat itself reports what is wrong with it.
            Ok(Err(_)) | Err(_) => self.check = Checked::Done,
        }
        if !goes_on {
            self.shared.lock().doing = None;
        }
    }

    fn check_one(&mut self) -> Result<(), StepError> {
        let cancel = self.begin(CHECKING)?;
        let mut check = match std::mem::replace(&mut self.check, Checked::Done) {
            Checked::Not => match self.context.check_to_go_on_with()? {
                Some(check) => check,
                None => return Ok(()),
            },
            Checked::UnderWay(check) => check,
            Checked::Done => return Ok(()),
        };
        let found = check.next(&self.context.models, &cancel);
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
}

/// How long to wait after `n_waits` waits in a row.
fn pause_after(n_waits: u32) -> Duration {
    Duration::from_secs((WAIT_SECONDS.0 << n_waits.min(10)).min(WAIT_SECONDS.1))
}

/// A job in the person's words.
fn what(kind: &JobKind) -> &'static str {
    match kind {
        JobKind::Boundary(_) => key!("following the conversation"),
        JobKind::Close(_) => key!("writing down a conversation"),
        JobKind::Semantics(_) => key!("noting facts"),
        JobKind::NameTheme(_) => key!("naming a theme"),
        JobKind::Consolidate(_) => key!("comparing facts"),
        JobKind::Reembed => key!("linking the memory anew"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_fails_is_asked_again_ever_more_slowly() {
        let waits: Vec<u64> = (0..9).map(|n| pause_after(n).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
        assert_eq!(pause_after(u32::MAX), pause_after(9));
    }
}
