//! The one thread that owns the weights.
//!
//! A request carries its sequence (tokens, keys and values) to the thread and gets it back with
//! the answer, so the thread holds nothing between requests and a dropped context needs no
//! clearing up. Requests queue by priority, first come first served within one. Between two layers
//! of a prefill and between two tokens of a generation the running request looks at the queue, and
//! whoever outranks it runs right there, to its end, before it goes on (chat > recall > memory, so
//! at most three are ever on the stack).
//!
//! The thread ends when the last handle is gone. If it dies, every waiting and every later request
//! gets [`ModelError::EngineStopped`]: their channels close. It knows nothing of text.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;

use super::decoder::Decoder;
use super::sequence::Sequence;
use crate::interfaces::{Cancel, Finish, ModelError, Priority, Sampling, Uncertainty};

/// What can be asked of a sequence.
pub enum Work {
    Extend {
        tokens: Vec<u32>,
        wanted: Range<usize>,
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
    /// Stops when either flag is raised.
    Generate {
        sampling: Sampling,
        stops: Vec<u32>,
        cancel: [Cancel; 2],
    },
}

/// Its answer.
pub enum Output {
    /// Rows of logits.
    Extended(Vec<Vec<f32>>),
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
pub struct Engine(Sender<Request>);

impl Engine {
    /// Starts the thread.
    pub fn start(decoder: Decoder) -> Result<(Self, JoinHandle<()>), ModelError> {
        let (sender, inbox) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("engine".into())
            .spawn(move || Runner { inbox, waiting: Default::default() }.run_until_closed(&decoder))
            .map_err(|e| ModelError::Backend {
                what: "the engine's thread could not be started".into(),
                source: Some(Box::new(e)),
            })?;
        Ok((Self(sender), thread))
    }

    /// Does `work` on `sequence` and waits for it. `on_token` hears each token of a generation as
    /// it is drawn. The sequence comes back, unless the engine is gone.
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
        if let Err(mpsc::SendError(request)) = self.0.send(request) {
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
            Work::Uncertainty { question, tail, n_positions, stops } => sequence
                .uncertainty(decoder, &question, &tail, n_positions, &stops, &mut pause)
                .map(Output::Uncertainty),
            Work::Choose { choices } => {
                sequence.choose(decoder, &choices, &mut pause).map(Output::Chosen)
            }
            Work::Generate { sampling, stops, cancel } => {
                let mut tell = |token| events.send(Event::Token(token)).is_ok();
                sequence
                    .generate(decoder, &sampling, &stops, &cancel, &mut tell, &mut pause)
                    .map(Output::Generated)
            }
        };
        // Nobody listens if the asker is gone; then there is nobody to tell either.
        let _ = events.send(Event::Done(Box::new(sequence), outcome));
    }
}
