//! Who is served now, who waits, and what is counted.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::error::ApiError;
use super::reply::Replied;
use crate::interfaces::Cancel;

/// Requests that are worked on at a time.
const N_RUNNING_MAX: usize = 8;
/// Requests that may wait for one of these to end.
const N_WAITING_MAX: usize = 64;

#[derive(Debug)]
pub(super) struct Queue {
    running: Arc<Semaphore>,
    n_waiting: AtomicUsize,
    /// The flags of what is worked on.
    cancels: Mutex<HashMap<u64, Cancel>>,
    newest: AtomicU64,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    /// By route and status.
    requests: BTreeMap<(String, u16), u64>,
    prompt: u64,
    cached: u64,
    generated: u64,
    cancelled: u64,
}

/// A request that is being worked on. Dropping it raises the flag: nobody waits for the answer any more.
pub(super) struct Place {
    queue: Arc<Queue>,
    number: u64,
    pub cancel: Cancel,
    is_done: bool,
}

impl Place {
    /// It came to its own end.
    pub fn done(&mut self, replied: Option<&Replied>) {
        self.is_done = true;
        if let Some(replied) = replied {
            let mut counts = lock(&self.queue.counts);
            counts.prompt += replied.n_prompt as u64;
            counts.cached += replied.n_cached as u64;
            counts.generated += replied.n_generated as u64;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.cancel.cancel();
        lock(&self.queue.cancels).remove(&self.number);
        if !self.is_done {
            lock(&self.queue.counts).cancelled += 1;
        }
    }
}

fn lock<T>(data: &Mutex<T>) -> MutexGuard<'_, T> {
    data.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts down when whoever waits gives up, too.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Queue {
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            running: Arc::new(Semaphore::new(N_RUNNING_MAX)),
            n_waiting: AtomicUsize::new(0),
            cancels: Mutex::default(),
            newest: AtomicU64::new(0),
            counts: Mutex::default(),
        })
    }

    /// Waits for its turn. The permit belongs to the work, which may outlast the client.
    ///
    /// # Errors
    /// 429, if too many wait already.
    pub async fn enter(self: &Arc<Self>) -> Result<(Place, OwnedSemaphorePermit), ApiError> {
        let waiting = Waiting(&self.n_waiting);
        if self.n_waiting.fetch_add(1, Ordering::SeqCst) >= N_WAITING_MAX {
            let message = format!("{N_WAITING_MAX} requests wait already: try again in a moment.");
            return Err(ApiError::new(429, message));
        }
        let permit = Arc::clone(&self.running).acquire_owned().await;
        drop(waiting);
        let permit = permit.map_err(|_| ApiError::new(503, "The server is stopping."))?;
        let (number, cancel) = (self.newest.fetch_add(1, Ordering::SeqCst), Cancel::default());
        lock(&self.cancels).insert(number, cancel.clone());
        Ok((Place { queue: Arc::clone(self), number, cancel, is_done: false }, permit))
    }

    /// Nothing more is begun, and what runs is asked to end.
    pub fn close(&self) {
        self.running.close();
        lock(&self.cancels).values().for_each(Cancel::cancel);
    }

    pub fn count(&self, route: &str, status: u16) {
        *lock(&self.counts).requests.entry((route.to_owned(), status)).or_default() += 1;
    }

    /// In Prometheus's text format.
    pub fn metrics(&self) -> String {
        let (counts, running) = (lock(&self.counts), lock(&self.cancels).len());
        let mut text = String::from(
            "# HELP inglenook_requests_total Requests answered.\n# TYPE inglenook_requests_total counter\n",
        );
        for ((route, status), n) in &counts.requests {
            let _ = writeln!(
                text,
                "inglenook_requests_total{{route=\"{route}\",status=\"{status}\"}} {n}"
            );
        }
        let waiting = self.n_waiting.load(Ordering::SeqCst) as u64;
        for (name, kind, help, value) in [
            ("prompt_tokens_total", "counter", "Tokens of prompts.", counts.prompt),
            (
                "cached_tokens_total",
                "counter",
                "Tokens of prompts that were read before.",
                counts.cached,
            ),
            ("generated_tokens_total", "counter", "Tokens of replies.", counts.generated),
            ("cancelled_total", "counter", "Requests whose client went away.", counts.cancelled),
            ("requests_running", "gauge", "Requests that are worked on.", running as u64),
            ("requests_waiting", "gauge", "Requests that wait.", waiting),
        ] {
            let _ = writeln!(
                text,
                "# HELP inglenook_{name} {help}\n# TYPE inglenook_{name} {kind}\ninglenook_{name} {value}"
            );
        }
        text
    }
}
