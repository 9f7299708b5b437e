use std::io::{Cursor, PipeReader, PipeWriter, pipe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use serde_json::{Map, json};

use super::*;
use crate::mcp::message::INTERNAL_ERROR;
use crate::mcp::{Caller, Page, Refusal, ToolResult};

/// A tool that takes its time, one that panics, and a rest that is counted.
struct Slow {
    tools: Vec<Value>,
    n_rests: AtomicUsize,
}

impl Slow {
    fn new() -> Self {
        let tool = |name| json!({"name": name, "inputSchema": {"type": "object"}});
        Self {
            tools: ["wait", "pause", "panic", "at-once"].map(tool).to_vec(),
            n_rests: AtomicUsize::new(0),
        }
    }
}

impl Service for Slow {
    fn instructions(&self) -> &'static str {
        ""
    }

    fn tools(&self) -> &[Value] {
        &self.tools
    }

    fn call(&self, _: &Caller, tool: &str, _: &Map<String, Value>, cancel: &Cancel) -> ToolResult {
        match tool {
            "wait" => {
                let begun = Instant::now();
                while !cancel.is_cancelled() && begun.elapsed() < Duration::from_secs(10) {
                    thread::sleep(Duration::from_millis(2));
                }
                ToolResult::error(if cancel.is_cancelled() { "given up" } else { "waited" })
            }
            "pause" => {
                thread::sleep(Duration::from_millis(500));
                ToolResult::error("paused")
            }
            "panic" => std::panic::resume_unwind(Box::new("a fault of this server's own")),
            _ => ToolResult { text: "done".into(), structured: None, is_error: false },
        }
    }

    fn templates(&self) -> &[Value] {
        &[]
    }

    fn resources(&self, _: Option<&str>) -> Result<Page, Refusal> {
        Err(Refusal::Request(String::new()))
    }

    fn read(&self, _: &str) -> Result<Value, Refusal> {
        Err(Refusal::Request(String::new()))
    }

    fn rests_after(&self) -> Option<Duration> {
        (self.n_rests.load(Ordering::SeqCst) == 0).then_some(Duration::from_millis(20))
    }

    fn rest(&self, cancel: &Cancel) {
        self.n_rests.fetch_add(1, Ordering::SeqCst);
        while !cancel.is_cancelled() {
            thread::sleep(Duration::from_millis(2));
        }
    }
}

fn line(id: u32, method: &str, params: Value) -> String {
    format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
}

fn shake() -> String {
    line(0, "initialize", json!({"protocolVersion": "2025-03-26"}))
}

fn call(id: u32, tool: &str) -> String {
    line(id, "tools/call", json!({"name": tool}))
}

fn cancelled(id: u32) -> String {
    let params = json!({"requestId": id});
    format!(
        "{}\n",
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
    )
}

/// The replies to all of it, sent at once.
fn replies(input: impl AsRef<[u8]>) -> Vec<Value> {
    let mut output = Vec::new();
    let input = Cursor::new(input.as_ref().to_vec());
    serve(&Slow::new(), input, &mut output).unwrap();
    let output = String::from_utf8(output).unwrap();
    output.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A server in a thread of its own.
struct Live {
    to: PipeWriter,
    from: BufReader<PipeReader>,
    server: thread::JoinHandle<io::Result<()>>,
}

impl Live {
    fn start() -> Self {
        let ((input, to), (from, output)) = (pipe().unwrap(), pipe().unwrap());
        let server = thread::spawn(move || serve(&Slow::new(), input, output));
        let mut live = Self { to, from: BufReader::new(from), server };
        live.send(&shake());
        live.next();
        live
    }

    fn send(&mut self, text: &str) {
        self.to.write_all(text.as_bytes()).unwrap();
    }

    fn next(&mut self) -> Value {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

#[test]
fn what_was_asked_is_answered_before_the_end_also_without_a_last_newline() {
    let asked = [shake(), call(1, "at-once"), call(2, "at-once")].concat();
    let got = replies(asked.trim_end());
    let ids: Vec<&Value> = got.iter().map(|reply| &reply["id"]).collect();
    assert_eq!(ids, [&json!(0), &json!(1), &json!(2)]);
    assert!(replies("").is_empty());
    assert!(replies("\n \r\n\n").is_empty());
}

#[test]
fn noise_is_answered_and_survived() {
    let mut asked = b"\xff\xfe\x00\n{\"jsonrpc\"\n[]\n".to_vec();
    asked.extend([shake(), call(1, "panic"), call(2, "at-once")].concat().into_bytes());
    let got = replies(asked);
    let codes: Vec<&Value> = got.iter().map(|reply| &reply["error"]["code"]).collect();
    assert_eq!(codes[..3], [&json!(-32700), &json!(-32700), &json!(-32600)]);
    assert_eq!((&got[4]["id"], codes[4]), (&json!(1), &json!(INTERNAL_ERROR)));
    assert_eq!(got[5]["result"]["content"][0]["text"], "done");
}

#[test]
fn a_line_that_is_too_long_is_read_past() {
    let mut asked = vec![b'x'; 3 * LINE_BYTES_MAX];
    asked.push(b'\n');
    asked.extend(shake().into_bytes());
    let got = replies(asked);
    assert_eq!(got[0]["error"]["code"], INVALID_REQUEST);
    assert_eq!(got[0]["id"], Value::Null);
    assert_eq!(got[1]["id"], 0);
    // The longest, and one byte more.
    let long = |n: usize| {
        let empty = line(1, "ping", json!({"a": ""})).len();
        line(1, "ping", json!({"a": "x".repeat(n - empty)}))
    };
    let got = replies(shake() + &long(LINE_BYTES_MAX) + &long(LINE_BYTES_MAX + 1));
    assert_eq!(got[1]["result"], json!({}));
    assert_eq!(got[2]["result"], json!({}), "its newline is not counted");
    let got = replies(shake() + &long(LINE_BYTES_MAX + 2));
    assert_eq!(got[1]["error"]["code"], INVALID_REQUEST);
    // It never ends.
    let got = replies(vec![b'['; 2 * LINE_BYTES_MAX]);
    assert_eq!(got[0]["error"]["code"], INVALID_REQUEST);
}

#[test]
fn a_batch_is_answered_at_once_where_there_are_batches() {
    let batch = |parts: &[String]| {
        format!("[{}]\n", parts.iter().map(|p| p.trim_end()).collect::<Vec<_>>().join(","))
    };
    let asked = batch(&[
        call(1, "at-once"),
        "3".into(),
        cancelled(5),
        line(2, "ping", json!({})),
        line(3, "initialize", json!({"protocolVersion": "2025-11-25"})),
    ]);
    let got = replies(shake() + &asked);
    let ids: Vec<&Value> = got[1].as_array().unwrap().iter().map(|reply| &reply["id"]).collect();
    assert_eq!(ids, [&json!(1), &Value::Null, &json!(2), &json!(3)]);
    assert_eq!(got[1][3]["error"]["code"], INVALID_REQUEST);
    // Nothing to answer: no reply, not an empty one.
    assert_eq!(replies(shake() + &batch(&[cancelled(1), cancelled(2)])).len(), 1);
    let later = line(0, "initialize", json!({"protocolVersion": "2025-11-25"}));
    let got = replies(later + &batch(&[line(2, "ping", json!({}))]));
    assert_eq!(got[1]["error"]["code"], INVALID_REQUEST);
}

#[test]
fn what_nobody_waits_for_is_given_up_and_not_answered() {
    let mut live = Live::start();
    // One that is worked on, one that waits.
    live.send(&(call(1, "wait") + &call(2, "wait") + &call(3, "at-once")));
    live.send(&line(4, "ping", json!({})));
    assert_eq!(live.next()["id"], 4, "answered while the other is worked on");
    live.send(&(cancelled(2) + &cancelled(99) + &cancelled(1)));
    assert_eq!(live.next()["id"], 3);
    drop(live.to);
    live.server.join().unwrap().unwrap();
}

#[test]
fn a_client_that_is_gone_ends_the_server() {
    let Live { mut to, from, server } = Live::start();
    drop(from);
    to.write_all(call(1, "at-once").as_bytes()).unwrap();
    // Though the input is still open.
    let ended = server.join().unwrap().unwrap_err();
    assert_eq!(ended.kind(), io::ErrorKind::BrokenPipe);
    drop(to);
}

#[test]
fn a_flood_waits_instead_of_growing() {
    let mut live = Live::start();
    live.send(&call(1, "pause"));
    let writer = {
        let mut to = live.to.try_clone().unwrap();
        thread::spawn(move || {
            for id in 2..5_000 {
                to.write_all(call(id, "at-once").as_bytes()).unwrap();
            }
        })
    };
    thread::sleep(Duration::from_millis(50));
    assert!(!writer.is_finished(), "the client is slowed down");
    drop(live.to);
    let got: Vec<Value> = (1..5_000)
        .map(|_| {
            let mut line = String::new();
            live.from.read_line(&mut line).unwrap();
            serde_json::from_str(&line).unwrap()
        })
        .collect();
    assert_eq!(got.last().unwrap()["id"], 4_999);
    writer.join().unwrap();
    live.server.join().unwrap().unwrap();
}

#[test]
fn a_rest_ends_when_somebody_asks() {
    let mut live = Live::start();
    thread::sleep(Duration::from_millis(100));
    live.send(&call(1, "at-once"));
    assert_eq!(live.next()["id"], 1);
    drop(live.to);
    live.server.join().unwrap().unwrap();
}
