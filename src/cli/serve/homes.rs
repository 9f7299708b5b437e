//! The memories that are open: few of many, those that were asked last.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::background::Background;
use super::person::Open;
use crate::worker::Worker;

/// Without a request. Longer than the silence that ends an episode.
const IDLE: Duration = Duration::from_mins(10);
/// Between two looks for what silence brings about.
const LOOK_EVERY: Duration = Duration::from_secs(30);
/// Where there is work, but it can't be done.
const AGAIN: Duration = Duration::from_secs(1);

pub struct Homes {
    /// The one that was asked last is last.
    open: Mutex<Vec<Held>>,
    n_max: usize,
    pub background: Background,
}

#[derive(Clone)]
struct Held {
    /// The person's.
    id: u64,
    open: Arc<Open>,
    used: Instant,
    /// When its worker had its last turn.
    worked: Option<Instant>,
}

impl Homes {
    /// At most so many; requests under way can hold more, if there are more of those.
    pub fn new(n_max: usize) -> Self {
        Self { open: Mutex::default(), n_max, background: Background::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Held>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn get(&self, id: u64) -> Option<Arc<Open>> {
        let mut open = self.lock();
        let at = open.iter().position(|held| held.id == id)?;
        let held = Held { used: Instant::now(), ..open.remove(at) };
        let found = Arc::clone(&held.open);
        open.push(held);
        Some(found)
    }

    /// Lets go of those that were asked longest ago, if there are too many now.
    pub fn put(&self, id: u64, new: &Arc<Open>) {
        let mut gone = Vec::new();
        let mut open = self.lock();
        while open.len() >= self.n_max
            && let Some(at) = open.iter().position(|held| self.is_free(held))
        {
            gone.push(open.remove(at));
        }
        open.push(Held { id, open: Arc::clone(new), used: Instant::now(), worked: None });
        drop(open);
        drop(gone);
    }

    /// No request holds it, and its worker does not work.
    fn is_free(&self, held: &Held) -> bool {
        let is_at_work = |worker| self.background.is_at_work(&worker);
        Arc::strong_count(&held.open) == 1 && !held.open.worker().is_some_and(is_at_work)
    }

    pub fn remove(&self, id: u64) {
        let mut open = self.lock();
        let at = open.iter().position(|held| held.id == id);
        let gone = at.map(|at| open.remove(at));
        drop(open);
        drop(gone);
    }

    /// Lets go of those that nobody has asked for a while, and in which nothing is left to do; and of what is still too much.
    pub fn let_go(&self) {
        let mut gone = Vec::new();
        let mut open = self.lock();
        loop {
            let is_much = open.len() > self.n_max;
            let may_go = |held: &Held| {
                let is_idle = || held.used.elapsed() >= IDLE && !held.open.has_work();
                self.is_free(held) && (is_much || is_idle())
            };
            let Some(at) = open.iter().position(may_go) else { break };
            gone.push(open.remove(at));
        }
        drop(open);
        drop(gone);
    }

    /// Gives the turn to work on to the next one, when it is time for that.
    pub fn take_turns(&self) {
        if !self.background.is_over() {
            return;
        }
        let mut waiting = self.lock().clone();
        waiting.sort_by_key(|held| held.worked);
        let wants = |held: &&Held| match held.worked.map(|worked| worked.elapsed()) {
            Some(since) => since >= LOOK_EVERY || since >= AGAIN && held.open.has_work(),
            None => true,
        };
        let next: Option<(u64, Arc<Worker>)> =
            waiting.iter().find(wants).and_then(|held| Some((held.id, held.open.worker()?)));
        drop(waiting);
        if let Some((id, _)) = next {
            let mut open = self.lock();
            let held = open.iter_mut().find(|held| held.id == id);
            if let Some(held) = held {
                held.worked = Some(Instant::now());
            }
        }
        self.background.give(next.map(|(_, worker)| worker));
    }

    /// At the end of the program: with a last exchange with their other devices.
    pub fn close(&self) {
        self.background.give(None);
        let open = std::mem::take(&mut *self.lock());
        thread::scope(|scope| {
            for held in &open {
                scope.spawn(|| held.open.end_exchanges());
            }
        });
    }
}
