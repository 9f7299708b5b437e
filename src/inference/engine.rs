//! The one thread that owns the weights.
//!
//! A request carries its sequence (tokens, keys and values) to the thread and gets it back with the answer, so the
//! thread holds nothing between requests and a dropped context needs no cleanup. Requests queue by priority, first
//! come first served within one. Between two layers of a prefill and between two tokens of a generation the running
//! request looks at the queue; a request of higher priority runs right there, to its end, before the other
//! continues (chat > recall > memory, so at most three are ever on the stack). Within one priority, replies are generated
//! together, a token of each in turn; while something else is computed (a prefill), they get half of the time.
//!
//! The thread ends when the last handle is gone. If it dies, every waiting and every later request
//! gets [`ModelError::EngineStopped`]: their channels close. It knows nothing of text.

use std::collections::VecDeque;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::decoder::Decoder;
use super::generation::{self, Generation, Next};
use super::sequence::Sequence;
use crate::interfaces::{Finish, ModelError, Priority};

/// To be called between the steps of a request: requests of higher priority run there.
pub type Pause<'a> = &'a mut (dyn FnMut() + Send);

/// Replies that are generated together at most. The others wait until one of them has ended.
const N_TOGETHER_MAX: usize = 8;

/// A request's work, with its sequence and where the answer goes.
type Whole = dyn FnOnce(&Decoder, Pause<'_>) + Send;

enum Work {
    /// Done at once, to its end.
    Whole(Box<Whole>),
    /// Done token by token.
    Reply(Box<Reply>),
}

struct Request {
    priority: Priority,
    work: Work,
}

/// A reply under way.
struct Reply {
    sequence: Sequence,
    generation: Generation,
    /// Returns false to stop.
    on_token: Box<dyn FnMut(u32) -> bool + Send>,
    answer: Sender<(Sequence, Result<Finish, ModelError>)>,
}

impl Reply {
    /// Takes what a step gave; itself, if it goes on.
    fn after(mut self: Box<Self>, next: Result<Next, ModelError>) -> Option<Box<Self>> {
        let outcome = match next {
            Ok(Next::Token(token)) if (self.on_token)(token) => return Some(self),
            Ok(Next::Token(_)) => Ok(Finish::Cancelled),
            Ok(Next::Finished(finish)) => Ok(finish),
            Err(error) => Err(error),
        };
        let Self { sequence, answer, on_token, .. } = *self;
        // Whoever reads its tokens learns that there are no more.
        drop(on_token);
        let _ = answer.send((sequence, outcome));
        None
    }
}

/// A request under way.
pub struct Pending<T>(Receiver<(Sequence, Result<T, ModelError>)>);

impl<T> Pending<T> {
    /// Waits for the answer. The sequence comes back, unless the engine is gone.
    ///
    /// # Errors
    /// [`ModelError::EngineStopped`], or what the work failed with.
    pub fn wait(self, sequence: &mut Sequence) -> Result<T, ModelError> {
        let (returned, outcome) = self.0.recv().map_err(|_| ModelError::EngineStopped)?;
        *sequence = returned;
        outcome
    }
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
    /// If the system can't start a thread.
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

    /// Whether the thread is still running; does not wait for it.
    ///
    /// # Errors
    /// [`ModelError::EngineStopped`].
    pub fn check(&self) -> Result<(), ModelError> {
        if self.alive.strong_count() > 0 { Ok(()) } else { Err(ModelError::EngineStopped) }
    }

    /// Queues `work` on `sequence`.
    pub fn begin<T: Send + 'static>(
        &self,
        priority: Priority,
        mut sequence: Sequence,
        work: impl FnOnce(&mut Sequence, &Decoder, Pause<'_>) -> Result<T, ModelError> + Send + 'static,
    ) -> Pending<T> {
        let (answer, pending) = mpsc::channel();
        let work = Box::new(move |decoder: &Decoder, pause: Pause<'_>| {
            let outcome = work(&mut sequence, decoder, pause);
            // Fails only if the asker is gone.
            let _ = answer.send((sequence, outcome));
        });
        // Where the thread is gone, `answer` is dropped, which the waiting side notices.
        let _ = self.requests.send(Request { priority, work: Work::Whole(work) });
        Pending(pending)
    }

    /// Queues a reply that follows `sequence`. `on_token` returns false to stop.
    pub fn begin_reply(
        &self,
        priority: Priority,
        sequence: Sequence,
        generation: Generation,
        on_token: impl FnMut(u32) -> bool + Send + 'static,
    ) -> Pending<Finish> {
        let (answer, pending) = mpsc::channel();
        let on_token = Box::new(on_token);
        let reply = Box::new(Reply { sequence, generation, on_token, answer });
        let _ = self.requests.send(Request { priority, work: Work::Reply(reply) });
        Pending(pending)
    }

    /// Does `work` on `sequence` and waits for it.
    ///
    /// # Errors
    /// As [`Pending::wait`].
    pub fn ask<T: Send + 'static>(
        &self,
        priority: Priority,
        sequence: &mut Sequence,
        work: impl FnOnce(&mut Sequence, &Decoder, Pause<'_>) -> Result<T, ModelError> + Send + 'static,
    ) -> Result<T, ModelError> {
        self.begin(priority, std::mem::take(sequence), work).wait(sequence)
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

    fn run(&mut self, decoder: &Decoder, Request { priority, work }: Request) {
        let work = match work {
            Work::Whole(work) => work,
            Work::Reply(reply) => return self.go_on(decoder, priority, reply),
        };
        let (mut since, mut taken) = (Instant::now(), Duration::ZERO);
        let mut pause = || {
            self.run_urgent(decoder, priority);
            if since.elapsed() >= taken
                && let Some(reply) = self.next_reply(priority)
            {
                let begun = Instant::now();
                self.go_on(decoder, priority, reply);
                (since, taken) = (Instant::now(), begun.elapsed());
            }
        };
        work(decoder, &mut pause);
    }

    /// What outranks `running`, to its end.
    fn run_urgent(&mut self, decoder: &Decoder, running: Priority) {
        self.collect();
        while let Some(urgent) = self.next(Some(running)) {
            self.run(decoder, urgent);
        }
    }

    /// The first waiting reply of this priority.
    fn next_reply(&mut self, priority: Priority) -> Option<Box<Reply>> {
        let waiting = &mut self.waiting[priority as usize];
        let at = waiting.iter().position(|request| matches!(request.work, Work::Reply(_)))?;
        match waiting.remove(at)?.work {
            Work::Reply(reply) => Some(reply),
            Work::Whole(_) => None,
        }
    }

    /// One token of this reply and of those that wait beside it; what does not end then goes to the end of the queue.
    fn go_on(&mut self, decoder: &Decoder, priority: Priority, first: Box<Reply>) {
        self.collect();
        let mut replies = vec![first];
        while replies.len() < N_TOGETHER_MAX
            && let Some(reply) = self.next_reply(priority)
        {
            replies.push(reply);
        }
        let mut parts: Vec<_> = replies
            .iter_mut()
            .map(|reply| {
                let Reply { sequence, generation, .. } = &mut **reply;
                (sequence, generation)
            })
            .collect();
        let mut pause = || self.run_urgent(decoder, priority);
        let given = generation::step(decoder, &mut parts, &mut pause);
        for (reply, next) in replies.into_iter().zip(given) {
            if let Some(reply) = reply.after(next) {
                let request = Request { priority, work: Work::Reply(reply) };
                self.waiting[priority as usize].push_back(request);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::inference::load_decoder;
    use crate::inference::weights::Precision;
    use crate::interfaces::{Cancel, Finish, Sampling};

    fn start() -> (Engine, JoinHandle<()>) {
        start_with("llama-tied")
    }

    fn start_with(model: &str) -> (Engine, JoinHandle<()>) {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/models");
        let mut decoder = load_decoder(&fixtures.join(model), Precision::Fast).unwrap();
        decoder.set_context_tokens(1 << 20);
        Engine::start(decoder).unwrap()
    }

    fn extend(engine: &Engine, priority: Priority, sequence: &mut Sequence, tokens: &[u32]) {
        let tokens = tokens.to_vec();
        let work = move |sequence: &mut Sequence, decoder: &Decoder, pause: Pause<'_>| {
            sequence.extend(decoder, &tokens, 0..0, &mut |_, _| {}, pause)
        };
        engine.ask(priority, sequence, work).unwrap();
    }

    /// A generation of at most `tokens_max` tokens after `sequence`; `on_token` returns false to stop.
    fn generate(
        engine: &Engine,
        priority: Priority,
        sequence: Sequence,
        (tokens_max, cancel): (usize, &Cancel),
        on_token: impl FnMut(u32) -> bool + Send + 'static,
    ) -> Pending<Finish> {
        let cancel = [cancel.clone(), Cancel::default()];
        let sampling = Sampling::greedy(tokens_max);
        let generation = Generation::new(&sequence, &sampling, &[], None, &cancel);
        engine.begin_reply(priority, sequence, generation, on_token)
    }

    #[test]
    fn the_thread_ends_with_the_last_handle() {
        let (engine, thread) = start();
        let other = engine.clone();
        drop(engine);
        let mut sequence = Sequence::default();
        extend(&other, Priority::Chat, &mut sequence, &[1, 2]);
        drop(other);
        thread.join().unwrap();
        assert_eq!(sequence.tokens(), [1, 2]);
    }

    #[test]
    fn a_dead_engine_says_so() {
        let (engine, thread) = start();
        let mut sequence = Sequence::default();
        let died: Result<(), _> =
            engine.ask(Priority::Chat, &mut sequence, |_, _, _| panic!("a test ends the engine"));
        assert!(matches!(died, Err(ModelError::EngineStopped)));
        assert!(thread.join().is_err());
        assert!(matches!(engine.check(), Err(ModelError::EngineStopped)));
        let later = engine.ask(Priority::Chat, &mut sequence, |_, _, _| Ok(()));
        assert!(matches!(later, Err(ModelError::EngineStopped)));
    }

    /// Chat and recall requests run while a memory generation that would take hours is suspended; its tokens are
    /// the same as without them.
    #[test]
    fn chat_overtakes_a_running_memory_generation() {
        let (engine, _thread) = start();
        let cancel = Cancel::default();
        let n_drawn = Arc::new(AtomicUsize::new(0));
        let mut memory = Sequence::default();
        extend(&engine, Priority::Memory, &mut memory, &[7, 8, 9]);
        let mut alone = memory.fork();
        let count = Arc::clone(&n_drawn);
        let endless = (1 << 19, &cancel);
        let pending = generate(&engine, Priority::Memory, memory, endless, move |_| {
            count.fetch_add(1, Ordering::SeqCst);
            true
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
            extend(&engine, priority, &mut sequence, &tokens);
            let mut after = Sequence::default();
            let five = (5, &Cancel::default());
            generate(&engine, priority, sequence, five, |_| true).wait(&mut after).unwrap();
            assert_eq!(after.tokens().len(), 155);
        }
        wait_for(20);
        cancel.cancel();
        let mut memory = Sequence::default();
        assert_eq!(pending.wait(&mut memory).unwrap(), Finish::Cancelled);
        let told = &memory.tokens()[3..];
        assert!(told.len() >= 20);
        // The same generation, undisturbed.
        let n = told.len().min(100);
        let undisturbed = (n, &Cancel::default());
        let pending = generate(&engine, Priority::Memory, alone.fork(), undisturbed, |_| true);
        pending.wait(&mut alone).unwrap();
        assert_eq!(alone.tokens()[3..], told[..n]);
    }

    /// Recall runs before memory work that was asked for earlier, and chat before both.
    #[test]
    fn waiting_requests_run_by_priority() {
        let (engine, _thread) = start();
        let hold = Cancel::default();
        let mut sequence = Sequence::default();
        extend(&engine, Priority::Chat, &mut sequence, &[1]);
        let (first, begun) = mpsc::channel();
        let endless = (1 << 19, &hold);
        let busy = generate(&engine, Priority::Chat, sequence, endless, move |_| {
            first.send(()).unwrap_or_default();
            true
        });
        begun.recv().unwrap();
        // Nothing outranks a chat generation, so these wait in the channel in this order.
        let (finished, order) = mpsc::channel();
        let priorities = [Priority::Memory, Priority::Recall, Priority::Chat, Priority::Memory];
        for (n, priority) in priorities.into_iter().enumerate() {
            let finished = finished.clone();
            engine.begin(priority, Sequence::default(), move |_, _, _| {
                finished.send(n).unwrap();
                Ok(())
            });
        }
        hold.cancel();
        busy.wait(&mut Sequence::default()).unwrap();
        assert_eq!(order.iter().take(4).collect::<Vec<_>>(), [2, 1, 0, 3]);
    }

    /// An asker that is gone does not keep the engine busy.
    #[test]
    fn a_generation_without_a_receiver_stops() {
        let (engine, thread) = start();
        let mut sequence = Sequence::default();
        extend(&engine, Priority::Chat, &mut sequence, &[1]);
        let (tokens, drawn) = mpsc::channel();
        let endless = (1 << 19, &Cancel::default());
        let pending = generate(&engine, Priority::Chat, sequence, endless, move |token| {
            tokens.send(token).is_ok()
        });
        drop((pending, drawn, engine));
        thread.join().unwrap();
    }

    /// Replies of one priority are generated together, each as it would be alone, also while a prompt is read.
    #[test]
    fn replies_share_the_engine_and_are_as_they_would_be_alone() {
        for model in ["llama-tied", "qwen35"] {
            check_replies_together(model);
        }
    }

    #[track_caller]
    fn check_replies_together(model: &str) {
        let (engine, _thread) = start_with(model);
        let prompts: [&[u32]; 5] = [&[1, 2, 3], &[4], &[5, 6], &[7, 8, 9, 10], &[11]];
        let n = 40;
        let begun: Vec<Sequence> = prompts
            .iter()
            .map(|prompt| {
                let mut sequence = Sequence::default();
                extend(&engine, Priority::Chat, &mut sequence, prompt);
                sequence
            })
            .collect();
        let until = (n, &Cancel::default());
        let reply = |sequence: &Sequence, tell: mpsc::Sender<usize>, who: usize| {
            generate(&engine, Priority::Chat, sequence.fork(), until, move |_| {
                tell.send(who).is_ok()
            })
        };
        let (tell, told) = mpsc::channel();
        let together: Vec<_> = begun
            .iter()
            .zip(0..)
            .map(|(sequence, who)| reply(sequence, tell.clone(), who))
            .collect();
        let mut read = Sequence::default();
        extend(
            &engine,
            Priority::Chat,
            &mut read,
            &(0..1_000).map(|n| n % 200).collect::<Vec<u32>>(),
        );
        drop(tell);
        let mut after = Vec::new();
        for pending in together {
            let mut sequence = Sequence::default();
            assert_eq!(pending.wait(&mut sequence).unwrap(), Finish::Length);
            after.push(sequence);
        }
        let order: Vec<usize> = told.iter().collect();
        let last_of = |who| order.iter().rposition(|&drawn| drawn == who).unwrap();
        for (who, sequence) in after.iter().enumerate() {
            assert!(last_of(who) > order.len() / 2, "{who} ended long before the others");
            let mut alone = Sequence::default();
            let (tell, _told) = mpsc::channel();
            reply(&begun[who], tell, who).wait(&mut alone).unwrap();
            assert_eq!(sequence.tokens(), alone.tokens());
        }
    }
}
