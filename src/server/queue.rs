//! Who is served now, who waits, and what is counted.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::error::ApiError;
use super::reply::Replied;
use crate::interfaces::Cancel;

/// Requests that are worked on at a time.
const N_RUNNING_MAX: usize = 8;

/// What one person may have of the queue.
#[derive(Debug, Clone, Copy)]
pub(super) struct Share {
    n_running_max: usize,
    n_waiting_max: usize,
}

impl Share {
    /// Of somebody who is alone.
    pub const WHOLE: Self = Self { n_running_max: N_RUNNING_MAX, n_waiting_max: 64 };
    /// Of many. All together wait as long as there are connections.
    pub const OF_MANY: Self = Self { n_running_max: N_RUNNING_MAX / 2, n_waiting_max: 16 };
}

/// A person, by what answers them.
pub(super) type Who = usize;

#[derive(Debug)]
pub(super) struct Queue {
    share: Share,
    turns: Mutex<Turns>,
    /// The flags of what is worked on.
    cancels: Mutex<HashMap<u64, Cancel>>,
    newest: AtomicU64,
    counts: Mutex<Counts>,
}

/// Of each person with a request.
#[derive(Debug, Default)]
struct Turns {
    people: BTreeMap<Who, Turn>,
    n_running: usize,
    n_given: u64,
    is_closed: bool,
}

#[derive(Debug, Default)]
struct Turn {
    n_running: usize,
    waiting: VecDeque<oneshot::Sender<Permit>>,
    /// When a place was given last, by a count of them.
    given: u64,
}

impl Turns {
    /// Whose request is worked on next: of those who have the fewest there, whoever was given a place longest ago. So each
    /// person has as much as the others, as far as they ask for it.
    fn next(&mut self, n_running_max: usize) -> Option<(Who, oneshot::Sender<Permit>)> {
        if self.n_running >= N_RUNNING_MAX {
            return None;
        }
        self.people.retain(|_, turn| {
            turn.waiting.retain(|waiting| !waiting.is_closed());
            turn.n_running > 0 || !turn.waiting.is_empty()
        });
        let may = |turn: &Turn| !turn.waiting.is_empty() && turn.n_running < n_running_max;
        let able = self.people.iter_mut().filter(|(_, turn)| may(turn));
        let (who, turn) = able.min_by_key(|(_, turn)| (turn.n_running, turn.given))?;
        let waiting = turn.waiting.pop_front()?;
        self.n_given += 1;
        self.n_running += 1;
        (turn.n_running, turn.given) = (turn.n_running + 1, self.n_given);
        Some((*who, waiting))
    }

    fn leave(&mut self, who: Who) {
        self.n_running -= 1;
        if let Some(turn) = self.people.get_mut(&who) {
            turn.n_running -= 1;
        }
    }
}

/// Belongs to the work, which may outlast the client. Dropped, it makes place for the next.
#[derive(Debug)]
pub(super) struct Permit {
    queue: Arc<Queue>,
    who: Who,
}

impl Drop for Permit {
    fn drop(&mut self) {
        lock(&self.queue.turns).leave(self.who);
        self.queue.give();
    }
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

impl Queue {
    pub fn new(share: Share) -> Arc<Self> {
        Arc::new(Self {
            share,
            turns: Mutex::default(),
            cancels: Mutex::default(),
            newest: AtomicU64::new(0),
            counts: Mutex::default(),
        })
    }

    /// Waits for its turn.
    ///
    /// # Errors
    /// 429, if too many of this person's wait already.
    pub async fn enter(self: &Arc<Self>, who: Who) -> Result<(Place, Permit), ApiError> {
        let permit = self.line_up(who)?.await;
        let permit = permit.map_err(|_| ApiError::new(503, "The server is stopping."))?;
        let (number, cancel) = (self.newest.fetch_add(1, Ordering::SeqCst), Cancel::default());
        lock(&self.cancels).insert(number, cancel.clone());
        Ok((Place { queue: Arc::clone(self), number, cancel, is_done: false }, permit))
    }

    fn line_up(self: &Arc<Self>, who: Who) -> Result<oneshot::Receiver<Permit>, ApiError> {
        let (give, given) = oneshot::channel();
        let mut turns = lock(&self.turns);
        if !turns.is_closed {
            let waiting = &mut turns.people.entry(who).or_default().waiting;
            waiting.retain(|waiting| !waiting.is_closed());
            let n = self.share.n_waiting_max;
            if waiting.len() >= n {
                let message = format!("{n} requests of yours wait already: try again in a moment.");
                return Err(ApiError::new(429, message));
            }
            waiting.push_back(give);
        }
        drop(turns);
        self.give();
        Ok(given)
    }

    /// The places that are free.
    fn give(self: &Arc<Self>) {
        loop {
            let next = lock(&self.turns).next(self.share.n_running_max);
            let Some((who, waiting)) = next else { return };
            // If whoever waited has just gone, the permit is dropped here.
            let _ = waiting.send(Permit { queue: Arc::clone(self), who });
        }
    }

    /// Nothing more is begun, and what runs is asked to end.
    pub fn close(&self) {
        let mut turns = lock(&self.turns);
        turns.is_closed = true;
        turns.people.values_mut().for_each(|turn| turn.waiting.clear());
        drop(turns);
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
        let waiting = |turn: &Turn| turn.waiting.iter().filter(|w| !w.is_closed()).count() as u64;
        let waiting: u64 = lock(&self.turns).people.values().map(waiting).sum();
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

#[cfg(test)]
mod tests {
    use super::*;

    struct Office {
        queue: Arc<Queue>,
        waiting: Vec<(Who, oneshot::Receiver<Permit>)>,
        working: Vec<(Who, Permit)>,
    }

    impl Office {
        fn ask(&mut self, who: Who, n: usize) {
            self.waiting.extend((0..n).map(|_| (who, self.queue.line_up(who).ok().unwrap())));
        }

        fn leave(&mut self, who: Who) {
            let at = self.working.iter().position(|(of, _)| *of == who).unwrap();
            self.working.remove(at);
        }

        /// Whose turn it is now.
        fn called(&mut self) -> Vec<Who> {
            let n = self.working.len();
            let working = &mut self.working;
            self.waiting.retain_mut(|(who, given)| {
                given.try_recv().map(|permit| working.push((*who, permit))).is_err()
            });
            self.working[n..].iter().map(|(who, _)| *who).collect()
        }
    }

    #[test]
    fn places_go_round_between_people() {
        const ANA: Who = 1;
        const BO: Who = 2;
        const CY: Who = 3;
        let queue = Queue::new(Share::OF_MANY);
        let mut office = Office { queue, waiting: Vec::new(), working: Vec::new() };
        office.ask(ANA, 20);
        assert_eq!(office.called(), [ANA; 4]);
        assert_eq!(office.queue.line_up(ANA).err().map(|error| error.status), Some(429));
        office.ask(BO, 5);
        assert_eq!(office.called(), [BO; 4]);
        office.ask(CY, 2);
        assert_eq!(office.called(), [0; 0]);
        for (leaves, called) in [
            // Whoever has the fewest places, although the others have waited for longer.
            (BO, &[CY][..]),
            (ANA, &[CY]),
            (ANA, &[ANA]),
            // Of two who have as many, whoever was not called last.
            (CY, &[BO]),
            (CY, &[ANA]),
            // Nobody has more than a half.
            (BO, &[]),
        ] {
            office.leave(leaves);
            assert_eq!(office.called(), called, "{leaves}");
        }
        assert!(office.queue.metrics().contains("requests_waiting 14\n"));
        // Who went away is passed over.
        office.waiting.clear();
        assert!(office.queue.metrics().contains("requests_waiting 0\n"));
        office.leave(ANA);
        office.ask(ANA, 1);
        assert_eq!(office.called(), [ANA]);
        office.working.clear();
        assert!(lock(&office.queue.turns).people.is_empty());
        office.queue.close();
        office.ask(ANA, 1);
        assert_eq!(office.called(), [0; 0]);
    }
}
