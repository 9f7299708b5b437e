//! One message over HTTP ("Streamable HTTP"), which is answered in its own response; nothing is remembered between two.
//!
//! Since revision 2026-07-28 the head repeats what the message says, and has to agree with it. Before, the head names the revision
//! that `initialize` agreed on, and a session, which here is nothing but the client's name.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::Service;
use super::message::{
    INVALID_PARAMS, INVALID_REQUEST, Incoming, METHOD_NOT_FOUND, Message, PARSE_ERROR, Request,
    UNSUPPORTED_VERSION, error, parse,
};
use super::protocol::{
    Connection, Step, WITH_BATCHES, claimed_version, no_batches, not_in_a_batch,
};
use crate::interfaces::Cancel;

/// The head says something else than the message.
const HEADER_MISMATCH: i64 = -32020;

/// What the head of a request says of its message; each is the header of that name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Head {
    /// `MCP-Protocol-Version`.
    pub version: Option<String>,
    /// `Mcp-Method`.
    pub method: Option<String>,
    /// `Mcp-Name`.
    pub name: Option<String>,
    /// `Mcp-Session-Id`.
    pub session: Option<String>,
}

/// A response.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// Of HTTP.
    pub status: u16,
    /// JSON; none where there is nothing to answer.
    pub body: Option<Value>,
    /// `Mcp-Session-Id`, for requests to come.
    pub session: Option<String>,
}

impl Response {
    fn new(status: u16, body: Value) -> Self {
        Self { status, body: Some(body), session: None }
    }
}

/// Answers one message. `unique` makes a session's id another one than any before.
pub fn answer(
    service: &dyn Service,
    head: &Head,
    body: &[u8],
    unique: &str,
    cancel: &Cancel,
) -> Response {
    let caller = match head.session.as_deref().map(caller_of) {
        Some(None) => return unknown_session(),
        known => known.flatten().filter(|name| !name.is_empty()),
    };
    // Whoever names no revision speaks the first that had this transport.
    let agreed = Connection::agreed(head.version.as_deref().unwrap_or(WITH_BATCHES), caller);
    let is_modern = agreed.is_none();
    let mut connection = agreed.unwrap_or_default();
    match parse(body) {
        Incoming::One(message) => {
            if let Message::Request(request) = &message
                && let Some(response) = refused(request, head, is_modern)
            {
                return response;
            }
            let session = match &message {
                Message::Request(request) if request.method == "initialize" => {
                    Some(session_id(unique, &request.params))
                }
                _ => None,
            };
            let Some(reply) = reply(&mut connection, message, service, cancel) else {
                return Response { status: 202, body: None, session: None };
            };
            let code = reply["error"]["code"].as_i64();
            let status = code.map_or(200, |code| status(code, is_modern));
            let session = session.filter(|_| code.is_none());
            Response { session, ..Response::new(status, reply) }
        }
        Incoming::Batch(_) if !connection.has_batches() => Response::new(400, no_batches()),
        Incoming::Batch(messages) => {
            let each = |message| match message {
                Message::Request(Request { id, method, .. }) if method == "initialize" => {
                    Some(not_in_a_batch(&id))
                }
                message => reply(&mut connection, message, service, cancel),
            };
            match messages.into_iter().filter_map(each).collect::<Vec<_>>() {
                none if none.is_empty() => Response { status: 202, body: None, session: None },
                replies => Response::new(200, replies.into()),
            }
        }
    }
}

fn reply(
    connection: &mut Connection,
    message: Message,
    service: &dyn Service,
    cancel: &Cancel,
) -> Option<Value> {
    match connection.handle(message, service) {
        Step::Reply(reply) => Some(reply),
        Step::Work(work) => Some(work.answer(service, cancel)),
        // Whoever gives a request up here closes its connection.
        Step::Cancel(_) | Step::Nothing => None,
    }
}

/// What is no request of this transport.
fn refused(request: &Request, head: &Head, is_modern: bool) -> Option<Response> {
    let Request { id, method, params } = request;
    let mismatch = |header: &str, what: &str| {
        let why = format!("the header `{header}` is not {what}");
        Some(Response::new(400, error(id, HEADER_MISMATCH, &why)))
    };
    let claimed = claimed_version(params);
    if claimed.is_some() || is_modern {
        if claimed != head.version.as_deref() {
            return mismatch("MCP-Protocol-Version", "the revision that `_meta` names");
        }
        if head.method.as_deref() != Some(method) {
            return mismatch("Mcp-Method", "the request's method");
        }
        let named = match method.as_str() {
            "tools/call" => params.get("name"),
            "resources/read" => params.get("uri"),
            _ => None,
        };
        let name = head.name.as_deref().and_then(decoded);
        if named.and_then(Value::as_str).is_some_and(|named| name.as_deref() != Some(named)) {
            return mismatch("Mcp-Name", "what the request names");
        }
    }
    // It would be a stream on which nothing ever comes.
    (method == "subscriptions/listen").then(|| {
        let why = "nothing is offered here to be told of";
        Response::new(404, error(id, METHOD_NOT_FOUND, why))
    })
}

fn status(code: i64, is_modern: bool) -> u16 {
    match code {
        PARSE_ERROR | INVALID_REQUEST | UNSUPPORTED_VERSION => 400,
        INVALID_PARAMS if is_modern => 400,
        METHOD_NOT_FOUND if is_modern => 404,
        _ => 200,
    }
}

/// A header's value as it was meant: what is not plain ASCII comes as `=?base64?…?=`.
fn decoded(value: &str) -> Option<String> {
    let coded = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="));
    match coded {
        None => Some(value.to_owned()),
        Some(coded) => String::from_utf8(STANDARD.decode(coded).ok()?).ok(),
    }
}

fn session_id(unique: &str, params: &Map<String, Value>) -> String {
    const NAME_BYTES_MAX: usize = 240;
    let name = params.get("clientInfo").and_then(|info| info.get("name")).and_then(Value::as_str);
    let name = name.unwrap_or_default();
    format!("{unique}.{}", STANDARD.encode(&name[..name.floor_char_boundary(NAME_BYTES_MAX)]))
}

/// The client's name, out of its session.
fn caller_of(session: &str) -> Option<String> {
    let (_, name) = session.split_once('.')?;
    String::from_utf8(STANDARD.decode(name).ok()?).ok()
}

fn unknown_session() -> Response {
    let why = "this session is not known here: begin with `initialize`, without a session";
    Response::new(404, error(&Value::Null, INVALID_REQUEST, why))
}

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;
