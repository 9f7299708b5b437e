//! One server, as its client: a program that was started here, with lines of JSON-RPC on its pipes.
//!
//! Whatever it does, nobody waits for it for ever, and nothing grows: lines are bounded and few of them wait, what it is sent is
//! written by a thread of its own, each request has its time and can be given up, and with its handle it ends, and all that it
//! has started.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Map, Value, json};
use thiserror::Error;

use super::ToolResult;
use super::message::{
    Fault, INVALID_PARAMS, Incoming, METHOD_NOT_FOUND, Message, UNSUPPORTED_VERSION, error, parse,
    request, result,
};
use super::protocol::{CAPABILITIES, CLIENT, LEGACY, MODERN, VERSION, server};
use super::servers::{ServerConfig, Tool};
use super::stdio::{Event, LINE_BYTES_MAX, LINES_MAX, read};
use crate::interfaces::Cancel;

/// For the handshake and the list of tools: some servers are downloaded by what starts them.
const START_SECONDS: u64 = 30;
const CALL_SECONDS: u64 = 60;
/// Between two looks at whether somebody still waits.
const POLL: Duration = Duration::from_millis(20);
/// Lines on its way that it has not read yet.
const OUTBOX_MAX: usize = 16;
/// Lines that are no JSON-RPC, in answer to one request; some servers log to stdout.
const STRANGE_LINES_MAX: usize = 1_000;
const PAGES_MAX: usize = 10;
const TOOLS_MAX: usize = 100;
/// Kept of the end of what it says on stderr.
const COMPLAINT_BYTES: usize = 2_000;
/// After a polite word, before the next that is less so.
const PATIENCE: Duration = Duration::from_millis(250);

/// Of this program's environment, what a server gets: no token and no passphrase that was meant for others.
const INHERITED: [&str; 10] =
    ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LC_ALL", "TMPDIR", "TZ"];

/// Why a server did not do what was asked.
#[derive(Debug, Error)]
pub enum ClientError {
    #[error("`{command}` can't be started")]
    NotStarted {
        command: String,
        #[source]
        source: std::io::Error,
    },
    /// With its last words.
    #[error("it has ended{0}")]
    Ended(String),
    #[error("it did not answer within {seconds} seconds{strange}")]
    TimedOut { seconds: u64, strange: String },
    #[error("it does not read what it is sent")]
    Deaf,
    #[error("it answered more than {} MiB at once", LINE_BYTES_MAX >> 20)]
    TooLong,
    #[error("{0}")]
    Nonsense(String),
    #[error("it refused: {} ({})", .0.message, .0.code)]
    Refused(Fault),
    #[error("stopped")]
    Cancelled,
}

/// A running server.
pub struct Client {
    child: Child,
    outbox: Option<SyncSender<String>>,
    lines: Receiver<Event>,
    complaint: Arc<Mutex<Vec<u8>>>,
    last_id: u64,
    /// Each request carries its revision; there was no handshake.
    is_modern: bool,
}

impl Client {
    /// Starts a server; what it offers.
    ///
    /// # Errors
    /// If it can't be started, or does not say what it offers.
    pub fn start(config: &ServerConfig, cancel: &Cancel) -> Result<(Self, Vec<Tool>), ClientError> {
        let inherited = INHERITED.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
        let not_started =
            |source| ClientError::NotStarted { command: config.command.clone(), source };
        let mut child = Command::new(&config.command)
            .args(&config.args)
            .env_clear()
            .envs(inherited)
            .envs(config.env.iter().cloned())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // So that what it starts can be ended with it.
            .process_group(0)
            .spawn()
            .map_err(not_started)?;
        let (sender, lines) = sync_channel(LINES_MAX);
        let (outbox, outgoing) = sync_channel(OUTBOX_MAX);
        let complaint = Arc::default();
        let (to, from, words) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let mut client = Self {
            child,
            outbox: Some(outbox),
            lines,
            complaint: Arc::clone(&complaint),
            last_id: 0,
            is_modern: false,
        };
        let spawn = |work: Box<dyn FnOnce() + Send>| {
            thread::Builder::new().name("mcp-client".into()).spawn(work).map_err(not_started)
        };
        spawn(Box::new(move || from.into_iter().for_each(|from| read(from, &sender))))?;
        spawn(Box::new(move || to.into_iter().for_each(|to| write(to, &outgoing))))?;
        spawn(Box::new(move || words.into_iter().for_each(|words| listen(words, &complaint))))?;
        let until = Instant::now() + Duration::from_secs(START_SECONDS);
        client.shake_hands(until, cancel)?;
        let tools = client.list_tools(until, cancel)?;
        Ok((client, tools))
    }

    fn shake_hands(&mut self, until: Instant, cancel: &Cancel) -> Result<(), ClientError> {
        let hello =
            json!({"protocolVersion": LEGACY[0], "capabilities": {}, "clientInfo": server()});
        match self.request("initialize", hello, until, START_SECONDS, cancel) {
            Ok(answer) => {
                let version = answer["protocolVersion"].as_str().unwrap_or_default();
                if !LEGACY.contains(&version) {
                    let what = format!("it speaks revision {version:?}, which is not known here");
                    return Err(ClientError::Nonsense(what));
                }
                self.send(&request(None, "notifications/initialized", json!({})))
            }
            Err(ClientError::Refused(Fault {
                code: METHOD_NOT_FOUND | UNSUPPORTED_VERSION | INVALID_PARAMS,
                ..
            })) => {
                self.is_modern = true;
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn list_tools(&mut self, until: Instant, cancel: &Cancel) -> Result<Vec<Tool>, ClientError> {
        let (mut tools, mut params) = (Vec::new(), json!({}));
        for _ in 0..PAGES_MAX {
            let page = self.request("tools/list", params, until, START_SECONDS, cancel)?;
            let Some(listed) = page["tools"].as_array() else {
                return Err(ClientError::Nonsense("its list of tools is none".into()));
            };
            tools.extend(listed.iter().filter_map(Tool::read));
            params = match page["nextCursor"].as_str() {
                Some(next) if tools.len() < TOOLS_MAX => json!({"cursor": next}),
                _ => break,
            };
        }
        tools.truncate(TOOLS_MAX);
        Ok(tools)
    }

    /// Runs a tool.
    ///
    /// # Errors
    /// If the server does not answer as it should.
    pub fn call(
        &mut self,
        tool: &str,
        arguments: &Map<String, Value>,
        cancel: &Cancel,
    ) -> Result<ToolResult, ClientError> {
        let until = Instant::now() + Duration::from_secs(CALL_SECONDS);
        let params = json!({"name": tool, "arguments": arguments});
        match self.request("tools/call", params, until, CALL_SECONDS, cancel) {
            Ok(answer) => read_result(&answer),
            Err(ClientError::Refused(fault)) => Ok(ToolResult::error(fault.message)),
            Err(error) => Err(error),
        }
    }

    fn request(
        &mut self,
        method: &str,
        mut params: Value,
        until: Instant,
        seconds: u64,
        cancel: &Cancel,
    ) -> Result<Value, ClientError> {
        if self.is_modern {
            params["_meta"] = json!({VERSION: MODERN[0], CLIENT: server(), CAPABILITIES: {}});
        }
        self.last_id += 1;
        let id = self.last_id;
        self.send(&request(Some(id), method, params))?;
        let answer = self.answer(id, until, seconds, cancel);
        if let Err(ClientError::Cancelled | ClientError::TimedOut { .. }) = answer {
            let _ = self.send(&request(None, "notifications/cancelled", json!({"requestId": id})));
        }
        answer
    }

    /// The answer to this request; what comes before it is for nobody.
    fn answer(
        &mut self,
        id: u64,
        until: Instant,
        seconds: u64,
        cancel: &Cancel,
    ) -> Result<Value, ClientError> {
        let mut n_strange = 0;
        loop {
            if cancel.is_cancelled() {
                return Err(ClientError::Cancelled);
            }
            if Instant::now() >= until {
                let strange = match n_strange {
                    0 => String::new(),
                    n => format!(", but wrote {n} lines that are no JSON-RPC"),
                };
                return Err(ClientError::TimedOut { seconds, strange });
            }
            let line = match self.lines.recv_timeout(POLL) {
                Ok(Event::Line(line)) => line,
                Err(RecvTimeoutError::Timeout) => continue,
                Ok(Event::TooLong) => return Err(ClientError::TooLong),
                Ok(Event::End) | Err(RecvTimeoutError::Disconnected) => return Err(self.ended()),
            };
            let messages = match parse(line.trim_ascii()) {
                Incoming::One(message) => vec![message],
                Incoming::Batch(messages) => messages,
            };
            for message in messages {
                match message {
                    Message::Response { id: of, outcome } if of == json!(id) => {
                        return outcome.map_err(ClientError::Refused);
                    }
                    Message::Request(asked) if asked.method == "ping" => {
                        self.send(&result(&asked.id, Map::new()))?;
                    }
                    Message::Request(asked) => {
                        self.send(&error(&asked.id, METHOD_NOT_FOUND, "not offered here"))?;
                    }
                    Message::Invalid(_) => n_strange += 1,
                    // A late answer, or what it likes to tell.
                    Message::Response { .. } | Message::Notification { .. } => {}
                }
            }
            if n_strange > STRANGE_LINES_MAX {
                let what = "it writes lines that are no JSON-RPC, and no answer".into();
                return Err(ClientError::Nonsense(what));
            }
        }
    }

    fn send(&mut self, message: &Value) -> Result<(), ClientError> {
        match self.outbox.as_ref().map(|outbox| outbox.try_send(format!("{message}\n"))) {
            Some(Ok(())) => Ok(()),
            Some(Err(TrySendError::Full(_))) => Err(ClientError::Deaf),
            Some(Err(TrySendError::Disconnected(_))) | None => Err(self.ended()),
        }
    }

    fn ended(&mut self) -> ClientError {
        // Its last words may still be on their way.
        self.exits_by(Instant::now() + PATIENCE);
        thread::sleep(POLL);
        let complaint = self.complaint.lock().unwrap_or_else(PoisonError::into_inner);
        let complaint = String::from_utf8_lossy(&complaint);
        let last = complaint.trim_end().lines().next_back().unwrap_or_default().trim();
        ClientError::Ended(if last.is_empty() { String::new() } else { format!(": {last}") })
    }

    fn exits_by(&mut self, until: Instant) -> bool {
        loop {
            match self.child.try_wait() {
                Ok(None) if Instant::now() < until => thread::sleep(Duration::from_millis(5)),
                outcome => return !matches!(outcome, Ok(None)),
            }
        }
    }

    /// Closes its input: a word to end.
    pub(super) fn hang_up(&mut self) {
        self.outbox = None;
    }

    /// Ends it, with all that it has started.
    fn end(&mut self) {
        self.hang_up();
        let group = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let signal = |signal| group.map(|group| kill_process_group(group, signal));
        if !self.exits_by(Instant::now() + PATIENCE) {
            signal(Signal::TERM);
            self.exits_by(Instant::now() + PATIENCE);
        }
        signal(Signal::KILL);
        let _ = self.child.wait();
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.end();
    }
}

fn write(mut to: impl Write, outgoing: &Receiver<String>) {
    while let Ok(line) = outgoing.recv() {
        if to.write_all(line.as_bytes()).and_then(|()| to.flush()).is_err() {
            return;
        }
    }
}

/// Keeps the end of what it says on stderr.
fn listen(mut words: impl Read, complaint: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 1_024];
    while let Ok(n @ 1..) = words.read(&mut buffer) {
        let mut kept = complaint.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(&buffer[..n]);
        let too_many = kept.len().saturating_sub(COMPLAINT_BYTES);
        kept.drain(..too_many);
    }
}

/// The text of a result; what is no text is named.
fn read_result(answer: &Value) -> Result<ToolResult, ClientError> {
    let nonsense = |what: &str| Err(ClientError::Nonsense(what.into()));
    if answer["resultType"].as_str().is_some_and(|kind| kind != "complete") {
        return nonsense("it asks for more than arguments, which is not possible here");
    }
    let structured = answer.get("structuredContent").cloned();
    let parts = match (answer["content"].as_array(), &structured) {
        (Some(parts), _) => parts.as_slice(),
        (None, Some(_)) => &[],
        (None, None) => return nonsense("its result is none"),
    };
    let text = |part: &Value| {
        let text = part["text"].as_str().or_else(|| part["resource"]["text"].as_str());
        let kind = part["type"].as_str().unwrap_or("part");
        text.map_or_else(|| format!("({kind}, left out)"), str::to_owned)
    };
    let mut text = parts.iter().map(text).collect::<Vec<_>>().join("\n");
    if let (true, Some(structured)) = (text.is_empty(), &structured) {
        text = structured.to_string();
    }
    Ok(ToolResult { text, structured, is_error: answer["isError"] == true })
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
