//! One client over lines: who reads, who works, and how much may wait.
//!
//! A thread reads lines of bounded length, the calling thread decides what each one is, and a third one works, one request
//! at a time. What the lists always have ready is answered at once, also while something is worked on; of the rest a bounded
//! number waits, then the reader does. So a client that sends more than it reads is slowed down, and nothing grows.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;

use super::Service;
use super::message::{INVALID_REQUEST, Incoming, Message, Request, error, parse};
use super::protocol::{Connection, Step, Work, no_batches, not_in_a_batch};
use crate::interfaces::Cancel;

/// Bytes of a line; a longer one is read past.
pub(super) const LINE_BYTES_MAX: usize = 2 << 20;
/// Lines that were read and not yet looked at.
pub(super) const LINES_MAX: usize = 2;
/// Requests, or batches of them, that wait to be worked on.
const WAITING_MAX: usize = 32;

/// Serves one client until its end of `input`, when what it asked for is done, or until nobody reads `output` any more.
///
/// # Errors
/// If the output can't be written, or no thread can be started.
pub fn serve(
    service: &dyn Service,
    input: impl Read + Send + 'static,
    output: impl Write + Send,
) -> io::Result<()> {
    let (sender, events) = sync_channel(LINES_MAX);
    let gone = sender.clone();
    // It ends with the input; where the output ends first, it stays behind, waiting for a line.
    std::thread::Builder::new().name("mcp-reader".into()).spawn(move || read(input, &sender))?;
    let output = Output(Mutex::new(Sink { output, broken: None }));
    let queue = Queue::default();
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new().name("mcp-worker".into());
        let (queue, output) = (&queue, &output);
        worker.spawn_scoped(scope, move || work(service, queue, output, &gone))?;
        dispatch(service, &events, queue, output);
        queue.end();
        io::Result::Ok(())
    })?;
    output.0.into_inner().unwrap_or_else(PoisonError::into_inner).broken.map_or(Ok(()), Err)
}

/// What comes in.
pub(super) enum Event {
    Line(Vec<u8>),
    /// A line was longer than [`LINE_BYTES_MAX`].
    TooLong,
    /// The input ended, or nobody reads the output.
    End,
}

/// Reads lines until there are no more, or nobody wants them.
pub(super) fn read(input: impl Read, events: &SyncSender<Event>) {
    let mut input = BufReader::new(input);
    loop {
        let event = next_line(&mut input);
        let is_end = matches!(event, Event::End);
        if events.send(event).is_err() || is_end {
            return;
        }
    }
}

fn next_line(input: &mut impl BufRead) -> Event {
    let mut line = Vec::new();
    let read = input.take(LINE_BYTES_MAX as u64 + 1).read_until(b'\n', &mut line);
    if read.is_err() || line.is_empty() {
        return Event::End;
    }
    if line.len() <= LINE_BYTES_MAX || line.ends_with(b"\n") {
        return Event::Line(line);
    }
    drop(line);
    // Past its end, without keeping it.
    loop {
        let Ok(bytes) = input.fill_buf() else { return Event::TooLong };
        let end = bytes.iter().position(|&b| b == b'\n');
        let n = end.map_or(bytes.len(), |at| at + 1);
        input.consume(n);
        if end.is_some() || n == 0 {
            return Event::TooLong;
        }
    }
}

fn dispatch(
    service: &dyn Service,
    events: &Receiver<Event>,
    queue: &Queue,
    output: &Output<impl Write>,
) {
    let mut connection = Connection::default();
    while let Ok(event) = events.recv() {
        let line = match event {
            Event::Line(line) => line,
            Event::TooLong => {
                let why = format!("invalid request: longer than {LINE_BYTES_MAX} bytes");
                output.send(&error(&Value::Null, INVALID_REQUEST, &why));
                continue;
            }
            Event::End => return,
        };
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        let is_taken = match parse(line) {
            Incoming::One(message) => match connection.handle(message, service) {
                Step::Reply(reply) => output.send(&reply),
                Step::Work(work) => {
                    queue.push(Item { parts: vec![Part::Work(work)], batch: false })
                }
                Step::Cancel(id) => queue.cancel(&id),
                Step::Nothing => true,
            },
            Incoming::Batch(_) if !connection.has_batches() => output.send(&no_batches()),
            Incoming::Batch(messages) => batch(messages, &mut connection, service, queue),
        };
        if !is_taken {
            return;
        }
    }
}

/// A batch is answered in one array, once all of it is done.
fn batch(
    messages: Vec<Message>,
    connection: &mut Connection,
    service: &dyn Service,
    queue: &Queue,
) -> bool {
    let mut parts = Vec::new();
    for message in messages {
        if let Message::Request(Request { id, method, .. }) = &message
            && method == "initialize"
        {
            parts.push(Part::Ready(not_in_a_batch(id)));
            continue;
        }
        match connection.handle(message, service) {
            Step::Reply(reply) => parts.push(Part::Ready(reply)),
            Step::Work(work) => parts.push(Part::Work(work)),
            Step::Cancel(id) => {
                queue.cancel(&id);
                parts.retain(|part| !part.is_of(&id));
            }
            Step::Nothing => {}
        }
    }
    parts.is_empty() || queue.push(Item { parts, batch: true })
}

/// What a line asks for.
struct Item {
    parts: Vec<Part>,
    batch: bool,
}

enum Part {
    Ready(Value),
    Work(Box<Work>),
}

impl Part {
    fn is_of(&self, id: &Value) -> bool {
        matches!(self, Self::Work(work) if work.id == *id)
    }
}

/// What waits, and what is being worked on.
#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Item>,
    /// The request that is worked on, and the flag that gives it up.
    current: Option<(Value, Cancel)>,
    /// Of the batch that is worked on, what was given up before its turn.
    given_up: Vec<Value>,
    /// The flag that ends a rest.
    resting: Option<Cancel>,
    /// Nothing more comes.
    is_ended: bool,
    /// Nobody would read it.
    is_closed: bool,
}

/// What the worker does next.
enum Next {
    Item(Item),
    Rest(Cancel),
    End,
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a place; false once nobody reads the replies.
    fn push(&self, item: Item) -> bool {
        let mut state = self.state();
        if let Some(rest) = state.resting.take() {
            rest.cancel();
        }
        while state.waiting.len() >= WAITING_MAX && !state.is_closed {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.is_closed {
            return false;
        }
        state.waiting.push_back(item);
        self.changed.notify_all();
        true
    }

    fn cancel(&self, id: &Value) -> bool {
        let mut state = self.state();
        for item in &mut state.waiting {
            item.parts.retain(|part| !part.is_of(id));
        }
        state.waiting.retain(|item| !item.parts.is_empty());
        match &state.current {
            Some((current, cancel)) if current == id => cancel.cancel(),
            Some(_) if state.given_up.len() < WAITING_MAX => state.given_up.push(id.clone()),
            _ => {}
        }
        self.changed.notify_all();
        true
    }

    /// What waits is still done.
    fn end(&self) {
        let mut state = self.state();
        state.is_ended = true;
        if let Some(rest) = state.resting.take() {
            rest.cancel();
        }
        self.changed.notify_all();
    }

    /// What waits is for nobody.
    fn close(&self) {
        let mut state = self.state();
        (state.is_ended, state.is_closed) = (true, true);
        state.waiting.clear();
        self.changed.notify_all();
    }

    fn next(&self, rests_after: Option<Duration>) -> Next {
        let mut state = self.state();
        loop {
            if let Some(item) = state.waiting.pop_front() {
                self.changed.notify_all();
                state.given_up.clear();
                return Next::Item(item);
            }
            if state.is_ended {
                return Next::End;
            }
            state = match rests_after {
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(after) => {
                    let waited = self.changed.wait_timeout(state, after);
                    let (mut state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
                    if timeout.timed_out() && state.waiting.is_empty() && !state.is_ended {
                        let cancel = Cancel::default();
                        state.resting = Some(cancel.clone());
                        return Next::Rest(cancel);
                    }
                    state
                }
            };
        }
    }

    /// Begins a request, unless it was given up.
    fn begin(&self, id: &Value) -> Option<Cancel> {
        let mut state = self.state();
        if state.given_up.contains(id) {
            return None;
        }
        let cancel = Cancel::default();
        state.current = Some((id.clone(), cancel.clone()));
        Some(cancel)
    }

    fn finish(&self) {
        self.state().current = None;
    }
}

fn work(
    service: &dyn Service,
    queue: &Queue,
    output: &Output<impl Write>,
    gone: &SyncSender<Event>,
) {
    loop {
        let item = match queue.next(service.rests_after()) {
            Next::Item(item) => item,
            Next::Rest(cancel) => {
                // A fault there is no reason to end: it is tried again after the next request.
                let _ = catch_unwind(AssertUnwindSafe(|| service.rest(&cancel)));
                continue;
            }
            Next::End => return,
        };
        let mut replies: Vec<Value> =
            item.parts.into_iter().filter_map(|part| reply(part, service, queue)).collect();
        let is_sent = match (item.batch, replies.len()) {
            (_, 0) => true,
            (true, _) => output.send(&Value::Array(replies)),
            (false, _) => output.send(&replies.remove(0)),
        };
        if !is_sent {
            queue.close();
            // Only to wake who waits for the next line.
            let _ = gone.try_send(Event::End);
            return;
        }
    }
}

/// The reply to a part of an item; `None` if it was given up.
fn reply(part: Part, service: &dyn Service, queue: &Queue) -> Option<Value> {
    let work = match part {
        Part::Ready(reply) => return Some(reply),
        Part::Work(work) => work,
    };
    let cancel = queue.begin(&work.id)?;
    let reply = work.answer(service, &cancel);
    queue.finish();
    if cancel.is_cancelled() {
        return None;
    }
    Some(reply)
}

/// Where replies go: whole lines, from either thread.
struct Output<W>(Mutex<Sink<W>>);

struct Sink<W> {
    output: W,
    broken: Option<io::Error>,
}

impl<W: Write> Output<W> {
    /// False once nobody reads it.
    fn send(&self, message: &Value) -> bool {
        let mut sink = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if sink.broken.is_some() {
            return false;
        }
        let line = format!("{message}\n");
        let written = sink.output.write_all(line.as_bytes()).and_then(|()| sink.output.flush());
        sink.broken = written.err();
        sink.broken.is_none()
    }
}

#[cfg(test)]
#[path = "stdio_tests.rs"]
mod tests;
