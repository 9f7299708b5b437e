//! Exchanges with the person's other devices while a chat is open: at its start, some seconds after something was written,
//! every few minutes, and at its end. On a thread of its own, because a carrier may be slow or gone; nothing waits for it.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::exchange::{Damaged, ExchangeError, exchange};
use crate::error_chain::error_chain;
use crate::interfaces::Clock;
use crate::store::Store;

/// Between two looks whether something was written.
const POLL: Duration = Duration::from_secs(1);
/// After the last of what was written: a turn writes several times.
const QUIET: Duration = Duration::from_secs(10);
/// Others may have written.
const EVERY: Duration = Duration::from_mins(3);

#[derive(Default)]
struct Shared {
    is_ending: Mutex<bool>,
    changed: Condvar,
}

impl Shared {
    /// Waits for a while, and returns whether the end has come.
    fn wait(&self, at_most: Duration) -> bool {
        let is_ending = self.is_ending.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(is_ending, at_most, |ending| !*ending);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// What the chat hears of exchanges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// Something came from another device.
    Received,
    /// In words.
    Failed(String),
}

/// The thread. Dropped, it ends after what it is at; see [`Exchanges::end`].
pub struct Exchanges {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Exchanges {
    /// Starts it. `tell` hears of what came, and once of failures, until an exchange succeeds.
    ///
    /// # Errors
    /// If the system can't start a thread.
    pub fn start(
        store: Store,
        clock: Arc<dyn Clock>,
        tell: impl Fn(Told) + Send + 'static,
    ) -> std::io::Result<Self> {
        let shared = Arc::<Shared>::default();
        let of_thread = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("exchanges".into())
            .spawn(move || run(&store, &*clock, &of_thread, &tell))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    fn stop(&self) {
        *self.shared.is_ending.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.shared.changed.notify_all();
    }

    /// Makes a last exchange, and waits for it for a while. One that goes on then may end with the process at any point.
    pub fn end(mut self, at_most: Duration) {
        self.stop();
        let since = Instant::now();
        while self.thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
            if since.elapsed() >= at_most {
                self.thread = None;
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Exchanges {
    fn drop(&mut self) {
        self.stop();
    }
}

fn run(store: &Store, clock: &dyn Clock, shared: &Shared, tell: &impl Fn(Told)) {
    let mut has_failed = false;
    loop {
        let told = exchange_once(store, clock);
        let is_failure = matches!(told, Some(Told::Failed(_)));
        if let Some(told) = told
            && !(is_failure && has_failed)
        {
            tell(told);
        }
        has_failed = is_failure;
        let (since, done_at) = (Instant::now(), store.generation());
        let (mut generation, mut quiet_since) = (done_at, Instant::now());
        while since.elapsed() < EVERY {
            if shared.wait(POLL) {
                // What was written since the last one is worth another.
                if store.generation() != done_at {
                    let _ = exchange(store, clock.now(), Duration::ZERO);
                }
                return;
            }
            let now = store.generation();
            if now != generation {
                (generation, quiet_since) = (now, Instant::now());
            }
            if generation != done_at && quiet_since.elapsed() >= QUIET {
                break;
            }
        }
    }
}

/// Makes an exchange, and returns what is worth telling of it.
fn exchange_once(store: &Store, clock: &dyn Clock) -> Option<Told> {
    match exchange(store, clock.now(), Duration::ZERO) {
        Ok(done) => match done.damaged.iter().chain(&done.refused).next() {
            Some(Damaged { device, why, .. }) => Some(Told::Failed(format!(
                "A piece that device {device} shared can't be used: {why} (`inglenook sync now` says more)."
            ))),
            None => (done.received > 0).then_some(Told::Received),
        },
        Err(ExchangeError::NotShared | ExchangeError::Busy) => None,
        Err(error) => Some(Told::Failed(format!(
            "Nothing was exchanged with your other devices: {}. It is tried again every few minutes.",
            error_chain(&error)
        ))),
    }
}
