//! Memory work behind the requests: in one home at a time, and only while nobody waits for an answer from memory.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::worker::{Worker, WorkerState};

/// A worker that has the turn may be about to begin.
const LOOK: Duration = Duration::from_millis(200);
/// How long a turn lasts while others wait: then up to the end of a step.
const SLICE: Duration = Duration::from_secs(3);

/// Whose worker may work.
#[derive(Default)]
pub struct Background(Mutex<State>);

#[derive(Default)]
struct State {
    /// Requests under way.
    n_asking: usize,
    turn: Option<Turn>,
}

struct Turn {
    worker: Arc<Worker>,
    since: Instant,
    /// Its steps when the slice was over.
    n_done: Option<usize>,
}

impl Background {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request is under way until this is dropped: meanwhile the worker waits, as it does in a chat while a reply is written.
    pub fn wait(&self) -> Asking<'_> {
        self.count_asking(|n| n + 1);
        Asking(self)
    }

    fn count_asking(&self, change: impl FnOnce(usize) -> usize) {
        let mut state = self.lock();
        state.n_asking = change(state.n_asking);
        match &state.turn {
            Some(turn) if state.n_asking == 0 => turn.worker.resume(),
            Some(turn) => turn.worker.pause(),
            None => {}
        }
    }

    /// Gives the turn to a worker, or to none.
    pub fn give(&self, worker: Option<Arc<Worker>>) {
        let mut state = self.lock();
        let same = |before: &Turn| worker.as_ref().is_some_and(|w| Arc::ptr_eq(w, &before.worker));
        if let Some(before) = &state.turn
            && !same(before)
        {
            before.worker.pause();
        }
        state.turn = worker.map(|worker| Turn { worker, since: Instant::now(), n_done: None });
        if let (Some(turn), 0) = (&state.turn, state.n_asking) {
            turn.worker.resume();
        }
    }

    pub fn is_at_work(&self, worker: &Arc<Worker>) -> bool {
        self.lock().turn.as_ref().is_some_and(|turn| Arc::ptr_eq(&turn.worker, worker))
    }

    /// Whether whoever has the turn has nothing left to do, or had its share.
    pub fn is_over(&self) -> bool {
        let mut state = self.lock();
        let Some(turn) = &mut state.turn else { return true };
        let (status, since) = (turn.worker.status(), turn.since.elapsed());
        match status.state {
            WorkerState::Paused => false,
            WorkerState::Idle | WorkerState::Failed { .. } => since >= LOOK,
            WorkerState::Working { .. } => {
                since >= SLICE && status.jobs_done > *turn.n_done.get_or_insert(status.jobs_done)
            }
        }
    }
}

/// A request under way.
pub struct Asking<'a>(&'a Background);

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.count_asking(|n| n - 1);
    }
}
