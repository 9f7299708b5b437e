//! The one thread that owns the weights.
//!
//! A request carries its sequence (tokens, keys and values) to the thread and gets it back with the answer, so the
//! thread holds nothing between requests and a dropped context needs no cleanup. Requests queue by priority, first
//! come first served within one. Between two layers of a prefill and between two tokens of a generation the running
//! request looks at the queue; a request of higher priority runs right there, to its end, before the other
//! continues (chat > recall > memory, so at most three are ever on the stack).
//!
//! The thread ends when the last handle is gone. If it dies, every waiting and every later request
//! gets [`ModelError::EngineStopped`]: their channels close. It knows nothing of text.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;

use super::decoder::Decoder;
use super::mask::Mask;
use super::sequence::Sequence;
use crate::interfaces::{Cancel, Finish, ModelError, Priority, Sampling, Uncertainty};

/// What can be asked of a sequence.
pub enum Work {
    Extend {
        tokens: Vec<u32>,
        wanted: Range<usize>,
    },
    /// As [`Work::Extend`], and each token's negative log-likelihood.
    Nlls {
        tokens: Vec<u32>,
    },
    Uncertainty {
        question: Vec<u32>,
        tail: Vec<u32>,
        n_positions: usize,
        stops: Vec<u32>,
    },
    Choose {
        choices: Vec<Vec<u32>>,
    },
    /// Stops when either flag is raised. The mask is the sampling's constraint, begun.
    Generate {
        sampling: Sampling,
        stops: Vec<u32>,
        mask: Option<Box<Mask>>,
        cancel: [Cancel; 2],
    },
    #[cfg(test)]
    Panic,
}

/// The answer to [`Work`].
pub enum Output {
    /// Rows of logits.
    Extended(Vec<Vec<f32>>),
    Nlls(Vec<f64>),
    Uncertainty(Uncertainty),
    Chosen(Vec<f64>),
    Generated(Finish),
}

enum Event {
    Token(u32),
    Done(Box<Sequence>, Result<Output, ModelError>),
}

struct Request {
    priority: Priority,
    sequence: Sequence,
    work: Work,
    events: Sender<Event>,
}

/// A handle on the thread; clones share it.
#[derive(Clone)]
pub struct Engine {
    requests: Sender<Request>,
    /// Dropped by the thread when it ends, however it ends.
    alive: Weak<()>,
}

impl Engine {
    /// Starts the thread.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub fn start(decoder: Decoder) -> Result<(Self, JoinHandle<()>), ModelError> {
        let (requests, inbox) = mpsc::channel();
        let life = Arc::new(());
        let alive = Arc::downgrade(&life);
        let thread = std::thread::Builder::new()
            .name("engine".into())
            .spawn(move || {
                Runner { inbox, waiting: Default::default() }.run_until_closed(&decoder);
                drop(life);
            })
            .map_err(|e| ModelError::Backend {
                what: "the engine's thread could not be started".into(),
                source: Some(Box::new(e)),
            })?;
        Ok((Self { requests, alive }, thread))
    }

    /// Whether the thread is there; does not wait for it.
    ///
    /// # Errors
    /// [`ModelError::EngineStopped`].
    pub fn check(&self) -> Result<(), ModelError> {
        if self.alive.strong_count() > 0 { Ok(()) } else { Err(ModelError::EngineStopped) }
    }

    /// Does `work` on `sequence` and waits for it. `on_token` gets each token of a generation as it is drawn. The
    /// sequence comes back, unless the engine is gone.
    ///
    /// # Errors
    /// [`ModelError::EngineStopped`], or what the work failed with.
    pub fn ask(
        &self,
        priority: Priority,
        sequence: &mut Sequence,
        work: Work,
        on_token: &mut dyn FnMut(u32),
    ) -> Result<Output, ModelError> {
        let (events, answers) = mpsc::channel();
        let sequence_out = std::mem::take(sequence);
        let request = Request { priority, sequence: sequence_out, work, events };
        if let Err(mpsc::SendError(request)) = self.requests.send(request) {
            *sequence = request.sequence;
            return Err(ModelError::EngineStopped);
        }
        loop {
            match answers.recv() {
                Ok(Event::Token(token)) => on_token(token),
                Ok(Event::Done(returned, outcome)) => {
                    *sequence = *returned;
                    return outcome;
                }
                Err(mpsc::RecvError) => return Err(ModelError::EngineStopped),
            }
        }
    }
}

struct Runner {
    inbox: Receiver<Request>,
    /// By priority.
    waiting: [VecDeque<Request>; 3],
}

impl Runner {
    fn run_until_closed(mut self, decoder: &Decoder) {
        loop {
            self.collect();
            if let Some(request) = self.next(None) {
                self.run(decoder, request);
            } else {
                match self.inbox.recv() {
                    Ok(request) => self.waiting[request.priority as usize].push_back(request),
                    Err(mpsc::RecvError) => return,
                }
            }
        }
    }

    fn collect(&mut self) {
        while let Ok(request) = self.inbox.try_recv() {
            self.waiting[request.priority as usize].push_back(request);
        }
    }

    /// The first request of the highest priority above `running`.
    fn next(&mut self, running: Option<Priority>) -> Option<Request> {
        let lowest = running.map_or(0, |p| p as usize + 1);
        self.waiting[lowest..].iter_mut().rev().find_map(VecDeque::pop_front)
    }

    fn run(&mut self, decoder: &Decoder, request: Request) {
        let Request { priority, mut sequence, work, events } = request;
        let mut pause = || {
            self.collect();
            while let Some(urgent) = self.next(Some(priority)) {
                self.run(decoder, urgent);
            }
        };
        let outcome = match work {
            Work::Extend { tokens, wanted } => {
                let mut rows = Vec::with_capacity(wanted.len().min(tokens.len()));
                let mut keep = |_, row: &[f32]| rows.push(row.to_vec());
                let extended = sequence.extend(decoder, &tokens, wanted, &mut keep, &mut pause);
                extended.map(|()| Output::Extended(rows))
            }
            Work::Nlls { tokens } => {
                sequence.extend_with_nlls(decoder, &tokens, &mut pause).map(Output::Nlls)
            }
            Work::Uncertainty { question, tail, n_positions, stops } => sequence
                .uncertainty(decoder, &question, &tail, n_positions, &stops, &mut pause)
                .map(Output::Uncertainty),
            Work::Choose { choices } => {
                sequence.choose(decoder, &choices, &mut pause).map(Output::Chosen)
            }
            Work::Generate { sampling, stops, mask, cancel } => {
                let mut tell = |token| events.send(Event::Token(token)).is_ok();
                sequence
                    .generate(decoder, &sampling, &stops, mask, &cancel, &mut tell, &mut pause)
                    .map(Output::Generated)
            }
            #[cfg(test)]
            Work::Panic => panic!("a test ends the engine"),
        };
        // Fails only if the asker is gone.
        let _ = events.send(Event::Done(Box::new(sequence), outcome));
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::path::Path;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::inference::load_decoder;
    use crate::inference::weights::Precision;

    fn start() -> (Engine, JoinHandle<()>) {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/models");
        let mut decoder = load_decoder(&fixtures.join("llama-tied"), Precision::Fast).unwrap();
        decoder.set_context_tokens(1 << 20);
        Engine::start(decoder).unwrap()
    }

    fn extend(tokens: &[u32], wanted: Range<usize>) -> Work {
        Work::Extend { tokens: tokens.to_vec(), wanted }
    }

    fn generate(tokens_max: usize, cancel: &Cancel) -> Work {
        Work::Generate {
            sampling: Sampling::greedy(tokens_max),
            stops: Vec::new(),
            mask: None,
            cancel: [cancel.clone(), Cancel::default()],
        }
    }

    #[test]
    fn the_thread_ends_with_the_last_handle() {
        let (engine, thread) = start();
        let other = engine.clone();
        drop(engine);
        let mut sequence = Sequence::default();
        other.ask(Priority::Chat, &mut sequence, extend(&[1, 2], 0..0), &mut |_| {}).unwrap();
        drop(other);
        thread.join().unwrap();
        assert_eq!(sequence.tokens(), [1, 2]);
    }

    #[test]
    fn a_dead_engine_says_so() {
        let (engine, thread) = start();
        let mut sequence = Sequence::default();
        let died = engine.ask(Priority::Chat, &mut sequence, Work::Panic, &mut |_| {});
        assert!(matches!(died, Err(ModelError::EngineStopped)));
        assert!(thread.join().is_err());
        assert!(matches!(engine.check(), Err(ModelError::EngineStopped)));
        let later = engine.ask(Priority::Chat, &mut sequence, extend(&[1], 0..0), &mut |_| {});
        assert!(matches!(later, Err(ModelError::EngineStopped)));
    }

    /// Chat and recall requests run while a memory generation that would take hours is suspended; its tokens are
    /// the same as without them.
    #[test]
    fn chat_overtakes_a_running_memory_generation() {
        let (engine, _thread) = start();
        let cancel = Cancel::default();
        let n_drawn = Arc::new(AtomicUsize::new(0));
        let memory = std::thread::spawn({
            let (engine, cancel, n_drawn) = (engine.clone(), cancel.clone(), Arc::clone(&n_drawn));
            move || {
                let mut sequence = Sequence::default();
                let priority = Priority::Memory;
                engine.ask(priority, &mut sequence, extend(&[7, 8, 9], 0..0), &mut |_| {}).unwrap();
                let mut on_token = |_| {
                    n_drawn.fetch_add(1, Ordering::SeqCst);
                };
                let work = generate(1 << 19, &cancel);
                let outcome = engine.ask(priority, &mut sequence, work, &mut on_token).unwrap();
                assert!(matches!(outcome, Output::Generated(Finish::Cancelled)));
                sequence.tokens()[3..].to_vec()
            }
        });
        let wait_for = |n: usize| {
            while n_drawn.load(Ordering::SeqCst) < n {
                std::thread::yield_now();
            }
        };
        wait_for(1);
        for priority in [Priority::Chat, Priority::Recall] {
            let mut sequence = Sequence::default();
            let tokens: Vec<u32> = (0..150).collect();
            engine.ask(priority, &mut sequence, extend(&tokens, 0..0), &mut |_| {}).unwrap();
            let work = generate(5, &Cancel::default());
            engine.ask(priority, &mut sequence, work, &mut |_| {}).unwrap();
            assert_eq!(sequence.tokens().len(), 155);
        }
        wait_for(20);
        cancel.cancel();
        let told = memory.join().unwrap();
        assert!(told.len() >= 20);
        // The same generation, undisturbed.
        let mut alone = Sequence::default();
        engine.ask(Priority::Memory, &mut alone, extend(&[7, 8, 9], 0..0), &mut |_| {}).unwrap();
        let work = generate(told.len().min(100), &Cancel::default());
        engine.ask(Priority::Memory, &mut alone, work, &mut |_| {}).unwrap();
        assert_eq!(alone.tokens()[3..], told[..told.len().min(100)]);
    }

    /// Recall runs before memory work that was asked for earlier, and chat before both.
    #[test]
    fn waiting_requests_run_by_priority() {
        let (engine, _thread) = start();
        let hold = Cancel::default();
        let mut sequence = Sequence::default();
        engine.ask(Priority::Chat, &mut sequence, extend(&[1], 0..0), &mut |_| {}).unwrap();
        let (first, begun) = mpsc::channel();
        let busy = std::thread::spawn({
            let (engine, hold) = (engine.clone(), hold.clone());
            move || {
                let work = generate(1 << 19, &hold);
                let mut on_token = |_| first.send(()).unwrap_or_default();
                engine.ask(Priority::Chat, &mut sequence, work, &mut on_token).unwrap();
            }
        });
        begun.recv().unwrap();
        // Nothing outranks a chat generation, so these wait in the channel in this order.
        let (events, answers) = mpsc::channel();
        let order = [Priority::Memory, Priority::Recall, Priority::Chat, Priority::Memory];
        for (n, priority) in order.into_iter().enumerate() {
            let tokens = vec![1; n + 1];
            let work = Work::Extend { tokens, wanted: 0..0 };
            let sequence = Sequence::default();
            engine
                .requests
                .send(Request { priority, sequence, work, events: events.clone() })
                .unwrap();
        }
        hold.cancel();
        busy.join().unwrap();
        let finished: Vec<usize> = answers
            .iter()
            .take(4)
            .map(|event| match event {
                Event::Done(sequence, _) => sequence.tokens().len() - 1,
                Event::Token(_) => unreachable!("nothing generates"),
            })
            .collect();
        assert_eq!(finished, [2, 1, 0, 3]);
    }

    /// An asker that is gone does not keep the engine busy.
    #[test]
    fn a_generation_without_a_receiver_stops() {
        let (engine, thread) = start();
        let mut sequence = Sequence::default();
        engine.ask(Priority::Chat, &mut sequence, extend(&[1], 0..0), &mut |_| {}).unwrap();
        let (events, answers) = mpsc::channel();
        let work = generate(1 << 19, &Cancel::default());
        engine.requests.send(Request { priority: Priority::Chat, sequence, work, events }).unwrap();
        drop((answers, engine));
        thread.join().unwrap();
    }
}
