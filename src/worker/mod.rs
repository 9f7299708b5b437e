//! Builds the memory in the background: messages → episodes → semantics → themes, then
//! consolidation.
//!
//! `driver` does the queued jobs one after the other; `steps/` has one file per step, `writer/` the two
//! ways to write. A job is a row, and a step is a transaction that also completes its job: after a crash
//! at any point the same job runs again, and nothing is written twice. The worker knows nothing of the
//! terminal and yields to the chat within one token.

#![expect(
    clippy::redundant_closure_for_method_calls,
    reason = "`Reader::stats` instead of `|r| r.stats()` is not general enough over its lifetime"
)]

mod cache;
mod driver;
mod exchanges;
mod step_context;
mod steps;

pub mod check;
pub mod exchange;
pub mod segment;
pub mod writer;

pub use exchanges::{Exchanges, Told};
pub use steps::remember;

use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use jiff::SignedDuration;
use thiserror::Error;

use crate::interfaces::{Cancel, Clock, ModelError, Models};
use crate::memory::{SemanticId, SessionId};
use crate::model_policy::Mode;
use crate::store::{Store, StoreError};
use driver::{Driver, Shared};
use step_context::{StepContext, StepError};

/// How often [`catch_up`] checks whether to stop.
const CATCH_UP_POLL: Duration = Duration::from_millis(20);

/// How the worker works; the default is the program's.
#[derive(Debug, Clone, Default)]
pub struct WorkerConfig {
    /// Who writes.
    pub writer: Mode,
    /// A chat is open, so a reply may be streaming.
    pub live: bool,
    /// The session on the screen: it is not closed at the start.
    pub current_session: Option<SessionId>,
    /// An episode ends after this much silence.
    pub close_after: Option<SignedDuration>,
    /// A model without a grade is checked after this much idle time ([`check`]); `None`: never.
    pub check_after: Option<Duration>,
}

impl WorkerConfig {
    /// For a worker beside a chat.
    pub fn beside_chat(current_session: Option<SessionId>) -> Self {
        Self {
            live: true,
            current_session,
            close_after: Some(SignedDuration::from_mins(5)),
            // Long enough that a short question to a new model does not have to wait.
            check_after: Some(Duration::from_secs(20)),
            ..Self::default()
        }
    }
}

/// Why the worker stopped. A failed step is not an error but data: see [`WorkerState::Failed`] and
/// `Reader::failed_jobs`.
#[derive(Debug, Error)]
pub enum WorkerError {
    /// The store cannot be used.
    #[error("cannot build the memory")]
    Store(#[source] StoreError),
    /// The language model or the embedder failed.
    #[error("cannot build the memory")]
    Model(#[source] ModelError),
    /// It was told to stop.
    #[error("cancelled")]
    Cancelled,
    /// The text to remember is empty.
    #[error("there is nothing to remember in an empty text")]
    NothingToRemember,
}

impl From<StepError> for WorkerError {
    fn from(error: StepError) -> Self {
        match error {
            StepError::Store(error) => Self::Store(error),
            StepError::Model(error) => Self::Model(error),
            StepError::Interrupted | StepError::Crashed => Self::Cancelled,
        }
    }
}

/// What the worker is doing, for the status line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkerState {
    /// Nothing to do.
    Idle,
    /// A step runs.
    Working {
        /// What it does, in the person's words.
        what: String,
    },
    /// Waiting for the chat.
    Paused,
    /// Idle after a failure.
    Failed {
        /// What failed and why.
        what: String,
    },
}

/// What the worker is doing, and how far it has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerStatus {
    /// What it is doing.
    pub state: WorkerState,
    /// Steps that this worker has done.
    pub jobs_done: usize,
    /// Steps in the queue; each may add more.
    pub jobs_left: usize,
}

/// A running worker. Dropping it stops it within one token; unfinished jobs stay queued.
pub struct Worker {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    store: Store,
    models: Models,
    clock: Arc<dyn Clock>,
}

impl Worker {
    /// Starts a worker on its own thread.
    ///
    /// # Panics
    /// If the system cannot start a thread.
    #[expect(clippy::expect_used, reason = "a system without threads runs no chat either")]
    pub fn start(
        store: Store,
        models: Models,
        clock: Arc<dyn Clock>,
        config: WorkerConfig,
    ) -> Self {
        let context = StepContext::new(store.clone(), models.clone(), Arc::clone(&clock), config);
        let driver = Driver::new(context, None);
        let shared = Arc::clone(&driver.shared);
        let thread = std::thread::Builder::new()
            .name("memory worker".into())
            .spawn(move || driver.run_thread())
            .expect("a thread");
        Self { shared, thread: Some(thread), store, models, clock }
    }

    /// What the worker is doing.
    pub fn status(&self) -> WorkerStatus {
        self.shared.status()
    }

    /// Pauses: no step begins, and one that is generating stops within one token.
    pub fn pause(&self) {
        self.shared.pause();
    }

    /// Ends a pause.
    pub fn resume(&self) {
        self.shared.resume();
    }

    /// [`remember()`] with the worker's store, models and clock.
    ///
    /// # Errors
    /// As [`remember()`].
    pub fn remember(&self, session: SessionId, text: &str) -> Result<Vec<SemanticId>, WorkerError> {
        remember(&self.store, &self.models, Arc::clone(&self.clock), session, text)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.shared.stop();
        if let Some(thread) = self.thread.take() {
            // Panics of steps are caught on the thread; another one has nobody left to report to.
            let _ = thread.join();
        }
    }
}

/// Runs the worker on this thread until nothing is left to do, and returns the number of steps done.
/// Steps that failed for good stay in the store (`Reader::failed_jobs`).
///
/// # Errors
/// If the store or the engine cannot be used, or `cancel` was set.
pub fn run_until_idle(
    store: &Store,
    models: &Models,
    clock: Arc<dyn Clock>,
    config: WorkerConfig,
    on_progress: impl FnMut(&WorkerStatus),
    cancel: &Cancel,
) -> Result<usize, WorkerError> {
    until_idle(StepContext::new(store.clone(), models.clone(), clock, config), on_progress, cancel)
}

fn until_idle(
    context: StepContext,
    mut on_progress: impl FnMut(&WorkerStatus),
    cancel: &Cancel,
) -> Result<usize, WorkerError> {
    let mut driver = Driver::new(context, Some(cancel.clone()));
    Ok(driver.run_until_idle(&mut on_progress)?)
}

/// Brings the memory up to date before a single question (`ask`). Where rules write, which takes a few
/// milliseconds per step, every pending job runs, with titles and names by the rules too. Where the model decides what
/// episodes and facts there are, which takes seconds, only messages are embedded, so that they can be found by meaning. Stops after `patience` or when `cancel`
/// is set; what is done is kept, and the rest waits for the next time.
///
/// # Errors
/// If the store or the engine cannot be used.
pub fn catch_up(
    store: &Store,
    models: &Models,
    clock: Arc<dyn Clock>,
    config: WorkerConfig,
    patience: Duration,
    cancel: &Cancel,
) -> Result<(), WorkerError> {
    let stop = Cancel::default();
    std::thread::scope(|scope| {
        let (done, ended) = std::sync::mpsc::channel::<()>();
        scope.spawn(|| {
            let (begun, ended) = (Instant::now(), ended);
            while ended.recv_timeout(CATCH_UP_POLL) == Err(RecvTimeoutError::Timeout) {
                if cancel.is_cancelled() || begun.elapsed() >= patience {
                    stop.cancel();
                    return;
                }
            }
        });
        let mut context = StepContext::new(store.clone(), models.clone(), clock, config);
        // Where another process does the jobs, it does these.
        let plan = context.wait_for_work(|| Ok(stop.check()?)).and_then(|()| context.plan());
        let outcome = match plan {
            Ok(plan) if plan.makes_units() => context.embed_messages(&stop).map_err(Into::into),
            Ok(_) => {
                // A title is not worth the wait.
                context.config.writer = Mode::Extractive;
                until_idle(context, |_| {}, &stop).map(drop)
            }
            Err(error) => Err(error.into()),
        };
        drop(done);
        match outcome {
            Err(WorkerError::Cancelled) => Ok(()),
            other => other,
        }
    })
}

/// For `tests/recovery.rs`: like [`run_until_idle`], but stops as if the process died before commit
/// `n_commits + 1`. Returns whether it got that far.
///
/// # Errors
/// As [`run_until_idle`].
#[doc(hidden)]
pub fn run_and_crash(
    store: &Store,
    models: &Models,
    clock: Arc<dyn Clock>,
    config: WorkerConfig,
    n_commits: usize,
) -> Result<bool, WorkerError> {
    let mut context = StepContext::new(store.clone(), models.clone(), clock, config);
    context.commits_left = Some(n_commits);
    match until_idle(context, |_| {}, &Cancel::default()) {
        Err(WorkerError::Cancelled) => Ok(true),
        other => other.map(|_| false),
    }
}
