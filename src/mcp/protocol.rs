//! A request → what is to be done about it, in either era of the protocol.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::{Map, Value, json};

use super::message::{
    INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, Message, RESOURCE_NOT_FOUND,
    Request, UNSUPPORTED_VERSION, error, error_with, result,
};
use super::{Caller, Page, Refusal, Service, schema};
use crate::interfaces::Cancel;

/// Revisions without a handshake, the newest first.
pub(super) const MODERN: [&str; 1] = ["2026-07-28"];
/// Revisions that begin with `initialize`, the newest first.
pub(super) const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// The one that has batches.
pub const WITH_BATCHES: &str = "2025-03-26";

pub(super) const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(super) const CLIENT: &str = "io.modelcontextprotocol/clientInfo";
pub(super) const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const SERVER: &str = "io.modelcontextprotocol/serverInfo";
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// How long a client may take the lists for current that never change while this process runs. Milliseconds.
const FRESH_MS: u32 = 300_000;

/// By whose rules a request is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Era {
    Legacy,
    Modern,
}

/// What takes time and needs the service.
#[derive(Debug, Clone, PartialEq)]
enum Action {
    Call { tool: String, arguments: Map<String, Value> },
    ListResources { cursor: Option<String> },
    ReadResource { uri: String },
}

/// A checked request that waits for the service.
#[derive(Debug, Clone, PartialEq)]
pub struct Work {
    pub id: Value,
    era: Era,
    caller: Caller,
    action: Action,
}

/// What to do about a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Send this.
    Reply(Value),
    Work(Box<Work>),
    /// Give the request with this id up: nobody waits for it.
    Cancel(Value),
    Nothing,
}

/// What is remembered of a client that began with `initialize`.
#[derive(Debug, Clone, PartialEq)]
struct Handshake {
    version: &'static str,
    caller: Caller,
}

/// One client on one pair of pipes.
#[derive(Debug, Default)]
pub struct Connection {
    handshake: Option<Handshake>,
}

impl Connection {
    /// One that agreed on this revision before; none if it never begins with `initialize`.
    pub fn agreed(version: &str, caller: Option<String>) -> Option<Self> {
        let version = LEGACY.into_iter().find(|known| *known == version)?;
        let handshake = Handshake { version, caller: Caller { name: caller } };
        Some(Self { handshake: Some(handshake) })
    }

    /// Whether an array of messages is one of this revision's messages.
    pub fn has_batches(&self) -> bool {
        self.handshake.as_ref().is_some_and(|h| h.version == WITH_BATCHES)
    }

    /// What to do about a message; `service` is asked only for what it always has ready.
    pub fn handle(&mut self, message: Message, service: &dyn Service) -> Step {
        match message {
            Message::Request(request) => self.request(request, service),
            Message::Notification { method, mut params } => match params.remove("requestId") {
                Some(id) if method == "notifications/cancelled" => Step::Cancel(id),
                _ => Step::Nothing,
            },
            Message::Response { .. } => Step::Nothing,
            Message::Invalid(reply) => Step::Reply(reply),
        }
    }

    fn request(&mut self, request: Request, service: &dyn Service) -> Step {
        let Request { id, method, mut params } = request;
        let meta = match params.remove("_meta") {
            Some(Value::Object(meta)) => meta,
            _ => Map::new(),
        };
        if method == "initialize" && !meta.contains_key(VERSION) {
            return Step::Reply(self.initialize(&id, &params, service));
        }
        let (era, caller) = match &self.handshake {
            Some(handshake) if !meta.contains_key(VERSION) && method != "server/discover" => {
                (Era::Legacy, handshake.caller.clone())
            }
            None if method == "ping" && !meta.contains_key(VERSION) => {
                (Era::Legacy, Caller::default())
            }
            _ => match modern(&id, &meta) {
                Ok(caller) => (Era::Modern, caller),
                Err(reply) => return Step::Reply(reply),
            },
        };
        let done = |era, fields: Value, fresh_ms| Step::Reply(finished(&id, era, fields, fresh_ms));
        let work = |action| Step::Work(Box::new(Work { id: id.clone(), era, caller, action }));
        match (method.as_str(), era) {
            ("ping", Era::Legacy) => done(era, json!({}), None),
            ("server/discover", Era::Modern) => {
                let found = json!({
                    "supportedVersions": MODERN,
                    "capabilities": capabilities(),
                    "instructions": service.instructions(),
                });
                done(era, found, Some(FRESH_MS))
            }
            ("tools/list", _) => one_page(&id, &params)
                .unwrap_or_else(|| done(era, json!({"tools": service.tools()}), Some(FRESH_MS))),
            ("resources/templates/list", _) => one_page(&id, &params).unwrap_or_else(|| {
                done(era, json!({"resourceTemplates": service.templates()}), Some(FRESH_MS))
            }),
            ("tools/call", _) => match call(&id, era, params, service) {
                Ok(action) => work(action),
                Err(reply) => Step::Reply(reply),
            },
            ("resources/list", _) => match params.remove("cursor") {
                None | Some(Value::Null) => work(Action::ListResources { cursor: None }),
                Some(Value::String(at)) => work(Action::ListResources { cursor: Some(at) }),
                Some(_) => Step::Reply(error(&id, INVALID_PARAMS, "`cursor` has to be text")),
            },
            ("resources/read", _) => match params.remove("uri") {
                Some(Value::String(uri)) => work(Action::ReadResource { uri }),
                _ => Step::Reply(error(&id, INVALID_PARAMS, "`uri` is missing, or no text")),
            },
            // Nothing is offered to be told of, so nothing ever comes, until the client cancels.
            ("subscriptions/listen", Era::Modern) => Step::Reply(json!({
                "jsonrpc": "2.0",
                "method": "notifications/subscriptions/acknowledged",
                "params": {"_meta": {SUBSCRIPTION: id}, "notifications": {}},
            })),
            _ => {
                let method: String = method.chars().take(100).collect();
                let why = format!("there is no method `{method}`");
                Step::Reply(error(&id, METHOD_NOT_FOUND, &why))
            }
        }
    }

    fn initialize(
        &mut self,
        id: &Value,
        params: &Map<String, Value>,
        service: &dyn Service,
    ) -> Value {
        let Some(wanted) = params.get("protocolVersion").and_then(Value::as_str) else {
            let why = "`protocolVersion` is missing, or no text";
            return error_with(id, INVALID_PARAMS, why, json!({"supported": LEGACY}));
        };
        let version = LEGACY.into_iter().find(|known| *known == wanted).unwrap_or(LEGACY[0]);
        let caller = caller(params.get("clientInfo"));
        self.handshake = Some(Handshake { version, caller });
        let fields = json!({
            "protocolVersion": version,
            "capabilities": capabilities(),
            "serverInfo": server(),
            "instructions": service.instructions(),
        });
        finished(id, Era::Legacy, fields, None)
    }
}

/// The revision that a request carries with it.
pub fn claimed_version(params: &Map<String, Value>) -> Option<&str> {
    params.get("_meta")?.get(VERSION)?.as_str()
}

/// Who sends a request that carries its revision with it.
///
/// # Errors
/// The reply, if that is none of ours, or something is missing.
fn modern(id: &Value, meta: &Map<String, Value>) -> Result<Caller, Value> {
    let Some(version) = meta.get(VERSION) else {
        let why = format!(
            "`_meta` has no `{VERSION}`, and there was no `initialize`: either has to say which revision is meant"
        );
        return Err(error_with(id, INVALID_PARAMS, &why, json!({"supported": all_versions()})));
    };
    let Some(version) = version.as_str() else {
        return Err(error(id, INVALID_PARAMS, &format!("`{VERSION}` has to be text")));
    };
    if !MODERN.contains(&version) {
        let version: String = version.chars().take(100).collect();
        let data = json!({"supported": all_versions(), "requested": version});
        return Err(error_with(id, UNSUPPORTED_VERSION, "unsupported protocol version", data));
    }
    if !meta.get(CAPABILITIES).is_some_and(Value::is_object) {
        let why = format!("`_meta` has no `{CAPABILITIES}`, or it is no object");
        return Err(error(id, INVALID_PARAMS, &why));
    }
    Ok(caller(meta.get(CLIENT)))
}

fn all_versions() -> Vec<&'static str> {
    MODERN.into_iter().chain(LEGACY).collect()
}

fn caller(info: Option<&Value>) -> Caller {
    let name = info.and_then(|info| info.get("name")).and_then(Value::as_str);
    Caller { name: name.map(str::to_owned) }
}

/// Nothing changes by itself, and nothing else is offered.
fn capabilities() -> Value {
    json!({"tools": {}, "resources": {}})
}

/// This program, as either end.
pub(super) fn server() -> Value {
    json!({"name": "inglenook", "title": "inglenook", "version": env!("CARGO_PKG_VERSION")})
}

/// The reply to a list of one page that was asked for another one.
fn one_page(id: &Value, params: &Map<String, Value>) -> Option<Step> {
    let cursor = params.get("cursor").filter(|cursor| !cursor.is_null());
    cursor.map(|_| Step::Reply(error(id, INVALID_PARAMS, "there is no such page: `cursor`")))
}

/// What a tool is called with, checked.
///
/// # Errors
/// The reply, if the tool is unknown, or the arguments don't fit: for the model to read, since it can mend that.
fn call(
    id: &Value,
    era: Era,
    mut params: Map<String, Value>,
    service: &dyn Service,
) -> Result<Action, Value> {
    let Some(Value::String(tool)) = params.remove("name") else {
        return Err(error(id, INVALID_PARAMS, "`name` is missing, or no text"));
    };
    let Some(known) = service.tools().iter().find(|known| known["name"] == tool.as_str()) else {
        let tool: String = tool.chars().take(100).collect();
        return Err(error(id, INVALID_PARAMS, &format!("unknown tool: {tool}")));
    };
    let arguments = match params.remove("arguments") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(arguments)) => arguments,
        Some(_) => return Err(error(id, INVALID_PARAMS, "`arguments` has to be an object")),
    };
    let arguments = Value::Object(arguments);
    match (schema::validate(&known["inputSchema"], &arguments), arguments) {
        (Ok(()), Value::Object(arguments)) => Ok(Action::Call { tool, arguments }),
        (fits, _) => {
            let why = fits.err().unwrap_or_default();
            let text = format!("The arguments of `{tool}` don't fit: {why}.");
            Err(finished(id, era, failed(&text), None))
        }
    }
}

fn failed(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}], "isError": true})
}

/// A result as its era has it; `fresh_ms` where the later one wants to know how long it holds.
fn finished(id: &Value, era: Era, fields: Value, fresh_ms: Option<u32>) -> Value {
    let Value::Object(mut fields) = fields else { return result(id, Map::new()) };
    if era == Era::Modern {
        fields.insert("resultType".into(), "complete".into());
        fields.insert("_meta".into(), json!({SERVER: server()}));
        if let Some(ms) = fresh_ms {
            fields.insert("ttlMs".into(), ms.into());
            fields.insert("cacheScope".into(), "private".into());
        }
    }
    result(id, fields)
}

impl Work {
    /// Does it; the reply, also where the service panics.
    pub fn answer(&self, service: &dyn Service, cancel: &Cancel) -> Value {
        let fault = "the server met a fault of its own, which its stderr describes";
        catch_unwind(AssertUnwindSafe(|| self.run(service, cancel)))
            .unwrap_or_else(|_| error(&self.id, INTERNAL_ERROR, fault))
    }

    fn run(&self, service: &dyn Service, cancel: &Cancel) -> Value {
        let Self { id, era, caller, action } = self;
        let refused = |refusal| match refusal {
            Refusal::Failed(why) => error(id, INTERNAL_ERROR, &why),
            Refusal::Request(why) => match (action, era) {
                (Action::ReadResource { uri }, Era::Legacy) => {
                    error_with(id, RESOURCE_NOT_FOUND, &why, json!({"uri": uri}))
                }
                (Action::ReadResource { uri }, Era::Modern) => {
                    error_with(id, INVALID_PARAMS, &why, json!({"uri": uri}))
                }
                _ => error(id, INVALID_PARAMS, &why),
            },
        };
        match action {
            Action::Call { tool, arguments } => {
                let done = service.call(caller, tool, arguments, cancel);
                if done.is_error {
                    return finished(id, *era, failed(&done.text), None);
                }
                let mut fields = json!({
                    "content": [{"type": "text", "text": done.text}],
                    "isError": false,
                });
                if let Some(structured) = done.structured {
                    fields["structuredContent"] = structured;
                }
                finished(id, *era, fields, None)
            }
            Action::ListResources { cursor } => match service.resources(cursor.as_deref()) {
                Ok(Page { items, next }) => {
                    let mut fields = json!({"resources": items});
                    if let Some(next) = next {
                        fields["nextCursor"] = next.into();
                    }
                    finished(id, *era, fields, Some(0))
                }
                Err(refusal) => refused(refusal),
            },
            Action::ReadResource { uri } => match service.read(uri) {
                Ok(contents) => finished(id, *era, json!({"contents": contents}), Some(0)),
                Err(refusal) => refused(refusal),
            },
        }
    }
}

/// The reply to a batch where there are none.
pub fn no_batches() -> Value {
    let why = format!("invalid request: only revision {WITH_BATCHES} has batches");
    error(&Value::Null, INVALID_REQUEST, &why)
}

/// The reply to a request of a batch that has to stand alone.
pub fn not_in_a_batch(id: &Value) -> Value {
    error(id, INVALID_REQUEST, "invalid request: `initialize` stands alone")
}

#[cfg(test)]
#[path = "protocol_tests.rs"]
pub mod tests;
