//! What the worker does next, as a pure state machine: an event comes in, effects go out.
//!
//! It knows nothing of steps, store, models and threads, which are the driver's; so tests can try any
//! order of events.

use std::collections::HashMap;

use crate::store::{Job, JobKind};

/// A job is given up after so many failures.
const ATTEMPTS_MAX: u32 = 3;

/// A job that was begun so often without an end must be crashing the process: it is given up.
const CRASHES_MAX: u32 = 50;

/// First pause after the store or the engine failed; doubles up to the second.
const WAIT_SECONDS: (u64, u64) = (1, 60);

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The worker starts.
    Started,
    /// [`Effect::Prepare`] is done.
    Prepared,
    /// [`Effect::Fetch`] is done.
    Fetched(Option<Job>),
    /// [`Effect::Run`] is done.
    Stepped(Outcome),
    /// [`Effect::Release`], [`Effect::Retry`] or [`Effect::GiveUp`] is done.
    Settled,
    /// The store or the engine cannot be used at the moment.
    Unavailable { error: String },
    /// [`Effect::Wait`] is over.
    Waited,
    /// There may be new jobs.
    Woken,
    /// The person is chatting.
    Pause,
    /// The person waits for nothing.
    Resume,
    /// The worker is to end.
    Stop,
}

/// How a step ended. Its own transaction holds the job's completion, so `Done` is durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Done,
    /// Cancelled before its transaction, as if it had not begun.
    Interrupted,
    Failed {
        error: String,
    },
}

/// What to do, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Before the first job: check the embedder's identity, close sessions left open.
    Prepare,
    /// Ask the store for the next job.
    Fetch,
    /// Mark the job as begun.
    Begin(Job),
    /// Do the step.
    Run(Job),
    /// Cancel the running step: it stops within one token.
    Interrupt,
    /// Make the job pending again without counting an attempt.
    Release(Job),
    /// Make the job pending again after a failure.
    Retry { job: Job, error: String },
    /// Keep the failed job in the store with its error, for the person to see.
    GiveUp { job: Job, error: String },
    /// Do nothing for so long unless stopped.
    Wait { seconds: u64 },
    /// Stop the driver.
    End,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
enum Phase {
    #[default]
    New,
    Preparing,
    Fetching,
    Running(Job),
    Settling(Job),
    /// No job left.
    Idle,
    /// Paused, with no step running.
    Held,
    /// Until the store or the engine works again; then the job is released.
    Waiting(Option<Job>),
    Ended,
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

/// The worker's state.
#[derive(Debug, Default)]
pub struct Machine {
    phase: Phase,
    prepared: bool,
    paused: bool,
    stopping: bool,
    /// Failures by job in this process, not counting interruptions and crashes.
    failures: HashMap<i64, u32>,
    n_waits: u32,
    /// The newest failure, until the person asks for another try.
    failed: Option<String>,
    jobs_done: usize,
}

impl Machine {
    /// Handles one event and returns the effects to execute, in order.
    pub fn handle(&mut self, event: Event) -> Vec<Effect> {
        match (event, std::mem::replace(&mut self.phase, Phase::Ended)) {
            (_, Phase::Ended) => Vec::new(),
            (Event::Started, Phase::New)
            | (Event::Waited, Phase::Waiting(None))
            | (Event::Settled, Phase::Settling(_))
            | (Event::Woken, Phase::Idle) => self.next(),
            (Event::Prepared, Phase::Preparing) => {
                self.prepared = true;
                self.next()
            }
            (Event::Fetched(job), Phase::Fetching) => match job {
                _ if self.paused || self.stopping => self.next(),
                None => {
                    self.n_waits = 0;
                    self.enter(Phase::Idle, Vec::new())
                }
                Some(job) if job.attempts >= CRASHES_MAX => {
                    let error = format!("was begun {} times and never ended", job.attempts);
                    self.give_up(job, error)
                }
                Some(job) => {
                    let effects = vec![Effect::Begin(job.clone()), Effect::Run(job.clone())];
                    self.enter(Phase::Running(job), effects)
                }
            },
            (Event::Stepped(outcome), Phase::Running(job)) => self.stepped(job, outcome),
            (Event::Unavailable { error }, phase) => {
                self.failed = Some(error);
                let job = match phase {
                    Phase::Running(job) | Phase::Settling(job) => Some(job),
                    Phase::Waiting(job) => job,
                    _ => None,
                };
                if self.stopping {
                    return self.end();
                }
                let seconds = (WAIT_SECONDS.0 << self.n_waits.min(10)).min(WAIT_SECONDS.1);
                self.n_waits += 1;
                self.enter(Phase::Waiting(job), vec![Effect::Wait { seconds }])
            }
            (Event::Waited, Phase::Waiting(Some(job))) => {
                self.enter(Phase::Settling(job.clone()), vec![Effect::Release(job)])
            }
            (Event::Pause, phase) => {
                self.paused = true;
                match phase {
                    Phase::Running(_) => self.enter(phase, vec![Effect::Interrupt]),
                    Phase::Idle => self.enter(Phase::Held, Vec::new()),
                    other => self.enter(other, Vec::new()),
                }
            }
            (Event::Resume, phase) => {
                self.paused = false;
                if phase == Phase::Held { self.next() } else { self.enter(phase, Vec::new()) }
            }
            (Event::Stop, phase) => {
                self.stopping = true;
                match phase {
                    Phase::Running(_) => self.enter(phase, vec![Effect::Interrupt]),
                    Phase::Idle | Phase::Held | Phase::New | Phase::Waiting(_) => self.end(),
                    other => self.enter(other, Vec::new()),
                }
            }
            // Any other event changes nothing.
            (_, phase) => self.enter(phase, Vec::new()),
        }
    }

    fn enter(&mut self, phase: Phase, effects: Vec<Effect>) -> Vec<Effect> {
        self.phase = phase;
        effects
    }

    fn end(&mut self) -> Vec<Effect> {
        self.enter(Phase::Ended, vec![Effect::End])
    }

    fn next(&mut self) -> Vec<Effect> {
        if self.stopping {
            self.end()
        } else if self.paused {
            self.enter(Phase::Held, Vec::new())
        } else if self.prepared {
            self.enter(Phase::Fetching, vec![Effect::Fetch])
        } else {
            self.enter(Phase::Preparing, vec![Effect::Prepare])
        }
    }

    fn stepped(&mut self, job: Job, outcome: Outcome) -> Vec<Effect> {
        match outcome {
            Outcome::Done => {
                self.failures.remove(&job.id);
                self.jobs_done += 1;
                self.n_waits = 0;
                self.next()
            }
            Outcome::Interrupted => {
                self.enter(Phase::Settling(job.clone()), vec![Effect::Release(job)])
            }
            Outcome::Failed { error } => {
                let n = self.failures.entry(job.id).or_default();
                *n += 1;
                if *n >= ATTEMPTS_MAX {
                    self.failures.remove(&job.id);
                    self.give_up(job, error)
                } else {
                    self.enter(Phase::Settling(job.clone()), vec![Effect::Retry { job, error }])
                }
            }
        }
    }

    fn give_up(&mut self, job: Job, error: String) -> Vec<Effect> {
        self.failed = Some(format!("{}: {error}", what(&job.kind)));
        self.enter(Phase::Settling(job.clone()), vec![Effect::GiveUp { job, error }])
    }

    /// What the status line shows.
    #[must_use]
    pub fn state(&self) -> WorkerState {
        match &self.phase {
            Phase::Running(job) | Phase::Settling(job) => {
                WorkerState::Working { what: what(&job.kind).into() }
            }
            Phase::Preparing | Phase::New => WorkerState::Working { what: "getting ready".into() },
            Phase::Held => WorkerState::Paused,
            Phase::Fetching | Phase::Idle | Phase::Waiting(_) | Phase::Ended => {
                self.failed.clone().map_or(WorkerState::Idle, |what| WorkerState::Failed { what })
            }
        }
    }

    /// Whether there is nothing to do and nothing running.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        matches!(self.phase, Phase::Idle | Phase::Ended)
    }

    /// Whether it has stopped for good.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.phase == Phase::Ended
    }

    /// Steps done in this process.
    #[must_use]
    pub fn jobs_done(&self) -> usize {
        self.jobs_done
    }

    /// Forgets all failures: the person asked for another try.
    pub fn forgive(&mut self) {
        self.failed = None;
        self.failures.clear();
    }
}

/// A job in the person's words.
#[must_use]
pub fn what(kind: &JobKind) -> &'static str {
    match kind {
        JobKind::Boundary { .. } => "following the conversation",
        JobKind::Close { .. } => "writing down a conversation",
        JobKind::Semantics { .. } => "noting facts",
        JobKind::NameTheme { .. } => "naming a theme",
        JobKind::Consolidate { .. } => "comparing facts",
        JobKind::Reembed => "linking the memory anew",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(id: i64) -> Job {
        Job { id, kind: JobKind::Reembed, attempts: 0 }
    }

    fn failed() -> Event {
        Event::Stepped(Outcome::Failed { error: "no".into() })
    }

    /// Events from the start; the effects of the last one.
    #[track_caller]
    fn check(events: Vec<Event>, expected: &[Effect]) -> Machine {
        let mut machine = Machine::default();
        let mut effects = Vec::new();
        for event in events {
            effects = machine.handle(event);
        }
        assert_eq!(effects, expected);
        machine
    }

    /// Started, prepared, one job running.
    fn running(then: Vec<Event>) -> Vec<Event> {
        [vec![Event::Started, Event::Prepared, Event::Fetched(Some(job(1)))], then].concat()
    }

    #[test]
    fn jobs_run_one_after_the_other() {
        check(vec![Event::Started], &[Effect::Prepare]);
        check(vec![Event::Started, Event::Prepared], &[Effect::Fetch]);
        check(running(vec![]), &[Effect::Begin(job(1)), Effect::Run(job(1))]);
        let machine = check(running(vec![Event::Stepped(Outcome::Done)]), &[Effect::Fetch]);
        assert_eq!(machine.jobs_done(), 1);
        let machine =
            check(running(vec![Event::Stepped(Outcome::Done), Event::Fetched(None)]), &[]);
        assert!(machine.is_idle());
        assert_eq!(machine.state(), WorkerState::Idle);
    }

    #[test]
    fn idle_wakes() {
        let idle = vec![Event::Started, Event::Prepared, Event::Fetched(None)];
        check([idle, vec![Event::Woken]].concat(), &[Effect::Fetch]);
        check(running(vec![Event::Woken]), &[]);
    }

    #[test]
    fn the_person_comes_first() {
        check(running(vec![Event::Pause]), &[Effect::Interrupt]);
        let interrupted = vec![Event::Pause, Event::Stepped(Outcome::Interrupted)];
        check(running(interrupted.clone()), &[Effect::Release(job(1))]);
        let held = [interrupted, vec![Event::Settled]].concat();
        let machine = check(running(held.clone()), &[]);
        assert_eq!(machine.state(), WorkerState::Paused);
        check(running([held.clone(), vec![Event::Woken]].concat()), &[]);
        check(running([held, vec![Event::Resume]].concat()), &[Effect::Fetch]);
        // Paused while it fetched: the job is not begun.
        check(
            vec![Event::Started, Event::Prepared, Event::Pause, Event::Fetched(Some(job(1)))],
            &[],
        );
        // The step finished before it saw the flag.
        check(running(vec![Event::Pause, Event::Stepped(Outcome::Done)]), &[]);
    }

    #[test]
    fn an_interruption_is_no_failure() {
        let mut machine = check(running(vec![]), &[Effect::Begin(job(1)), Effect::Run(job(1))]);
        for _ in 0..10 {
            machine.handle(Event::Pause);
            machine.handle(Event::Stepped(Outcome::Interrupted));
            machine.handle(Event::Settled);
            assert_eq!(machine.handle(Event::Resume), [Effect::Fetch]);
            machine.handle(Event::Fetched(Some(job(1))));
        }
        let retry = Effect::Retry { job: job(1), error: "no".into() };
        assert_eq!(machine.handle(failed()), [retry]);
    }

    #[test]
    fn three_failures_and_it_is_given_up() {
        let again = vec![failed(), Event::Settled, Event::Fetched(Some(job(1)))];
        let error = "no".to_owned();
        check(running(vec![failed()]), &[Effect::Retry { job: job(1), error: error.clone() }]);
        let twice = [again.clone(), again, vec![failed()]].concat();
        let machine = check(running(twice.clone()), &[Effect::GiveUp { job: job(1), error }]);
        assert_eq!(machine.failed.as_deref(), Some("linking the memory anew: no"));
        // Others go on, and the failure stays visible.
        let mut machine = check(running([twice, vec![Event::Settled]].concat()), &[Effect::Fetch]);
        machine.handle(Event::Fetched(None));
        assert!(matches!(machine.state(), WorkerState::Failed { .. }));
        machine.forgive();
        assert_eq!(machine.state(), WorkerState::Idle);
    }

    #[test]
    fn a_job_that_kills_the_process_ends_too() {
        let mut machine = check(vec![Event::Started, Event::Prepared], &[Effect::Fetch]);
        let job = Job { attempts: CRASHES_MAX, ..job(1) };
        let effects = machine.handle(Event::Fetched(Some(job)));
        assert!(matches!(effects[..], [Effect::GiveUp { .. }]), "{effects:?}");
    }

    #[test]
    fn a_store_that_fails_is_asked_again_ever_more_slowly() {
        let mut machine = check(running(vec![]), &[Effect::Begin(job(1)), Effect::Run(job(1))]);
        let mut waits = Vec::new();
        for _ in 0..9 {
            let error = "disk full".to_owned();
            match machine.handle(Event::Unavailable { error })[..] {
                [Effect::Wait { seconds }] => waits.push(seconds),
                ref other => panic!("{other:?}"),
            }
            assert_eq!(machine.handle(Event::Waited), [Effect::Release(job(1))]);
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
        assert_eq!(machine.handle(Event::Settled), [Effect::Fetch]);
    }

    #[test]
    fn stopping_waits_for_the_step_that_runs() {
        check(running(vec![Event::Stop]), &[Effect::Interrupt]);
        let released = vec![Event::Stop, Event::Stepped(Outcome::Interrupted)];
        check(running(released.clone()), &[Effect::Release(job(1))]);
        let machine = check(running([released, vec![Event::Settled]].concat()), &[Effect::End]);
        assert!(machine.has_ended());
        check(
            vec![Event::Started, Event::Prepared, Event::Fetched(None), Event::Stop],
            &[Effect::End],
        );
        check(running(vec![Event::Unavailable { error: "x".into() }, Event::Stop]), &[Effect::End]);
    }

    /// In any order of events, never two steps run at once, and nothing happens after the end.
    #[test]
    fn any_order_of_events_is_safe() {
        let all = [
            Event::Started,
            Event::Prepared,
            Event::Fetched(Some(job(1))),
            Event::Fetched(None),
            Event::Stepped(Outcome::Done),
            Event::Stepped(Outcome::Interrupted),
            failed(),
            Event::Settled,
            Event::Unavailable { error: "x".into() },
            Event::Waited,
            Event::Woken,
            Event::Pause,
            Event::Resume,
            Event::Stop,
        ];
        let mut seed = 1_u64;
        for _ in 0..2_000 {
            let mut machine = Machine::default();
            let mut n_running = 0;
            for _ in 0..40 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let event = all[(seed >> 33) as usize % all.len()].clone();
                let ends_step = matches!(event, Event::Stepped(_) | Event::Unavailable { .. })
                    && n_running == 1;
                let ended = machine.has_ended();
                let effects = machine.handle(event);
                assert!(!ended || effects.is_empty());
                n_running -= i32::from(ends_step);
                n_running += effects.iter().filter(|e| matches!(e, Effect::Run(_))).count() as i32;
                assert!(n_running <= 1);
            }
        }
    }
}
