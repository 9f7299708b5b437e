//! JSON-RPC 2.0, without a transport: bytes → messages. Both ends of a pipe read with it.

use serde_json::{Map, Value, json};

/// The request's JSON is none.
pub const PARSE_ERROR: i64 = -32700;
/// It is JSON, but no request.
pub const INVALID_REQUEST: i64 = -32600;
/// There is no such method.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// The method can't use these parameters.
pub const INVALID_PARAMS: i64 = -32602;
/// Something failed here.
pub const INTERNAL_ERROR: i64 = -32603;
/// A resource that is not there, before revision 2026-07-28.
pub const RESOURCE_NOT_FOUND: i64 = -32002;
/// A revision that is not spoken here.
pub const UNSUPPORTED_VERSION: i64 = -32022;

/// An id is echoed: a longer one is nobody's counter.
const ID_BYTES_MAX: usize = 1_000;

/// Messages of a batch.
const BATCH_MAX: usize = 100;

/// A request to be answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// A text or a whole number.
    pub id: Value,
    pub method: String,
    pub params: Map<String, Value>,
}

/// One JSON-RPC message.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    Request(Request),
    /// Nothing is answered, whatever is wrong with it.
    Notification {
        method: String,
        params: Map<String, Value>,
    },
    /// An answer: a server has asked nothing, a client looks for the id of its request.
    Response {
        id: Value,
        outcome: Result<Value, Fault>,
    },
    /// No message at all: the error to answer with.
    Invalid(Value),
}

/// Why a request was not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub code: i64,
    pub message: String,
}

/// What a line holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Incoming {
    One(Message),
    /// An array of them, never empty.
    Batch(Vec<Message>),
}

/// A reply that says what went wrong; `id` is null where none could be read.
pub fn error(id: &Value, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

/// A reply that says what went wrong, with details.
pub fn error_with(id: &Value, code: i64, message: &str, data: Value) -> Value {
    let mut reply = error(id, code, message);
    reply["error"]["data"] = data;
    reply
}

/// A reply with a result.
pub fn result(id: &Value, result: Map<String, Value>) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

fn invalid(id: &Value, why: &str) -> Message {
    Message::Invalid(error(id, INVALID_REQUEST, &format!("invalid request: {why}")))
}

/// A request; without an `id`, a notification.
pub fn request(id: Option<u64>, method: &str, params: Value) -> Value {
    let mut request = json!({"jsonrpc": "2.0", "method": method, "params": params});
    if let Some(id) = id {
        request["id"] = id.into();
    }
    request
}

/// Reads one line.
pub fn parse(line: &[u8]) -> Incoming {
    match serde_json::from_slice(line) {
        Ok(Value::Array(values)) if values.is_empty() => {
            Incoming::One(invalid(&Value::Null, "an empty batch"))
        }
        Ok(Value::Array(values)) if values.len() > BATCH_MAX => Incoming::One(invalid(
            &Value::Null,
            &format!("more than {BATCH_MAX} messages in a batch"),
        )),
        Ok(Value::Array(values)) => Incoming::Batch(values.into_iter().map(message).collect()),
        Ok(value) => Incoming::One(message(value)),
        Err(e) => Incoming::One(Message::Invalid(error(
            &Value::Null,
            PARSE_ERROR,
            &format!("parse error: {e}"),
        ))),
    }
}

/// An id that can be echoed.
fn usable(id: &Value) -> bool {
    match id {
        Value::String(text) => text.len() <= ID_BYTES_MAX,
        Value::Number(n) => n.is_i64() || n.is_u64(),
        _ => false,
    }
}

fn message(value: Value) -> Message {
    let Value::Object(mut object) = value else {
        return invalid(&Value::Null, "it is not an object");
    };
    let id = object.remove("id");
    let known = id.clone().filter(usable).unwrap_or(Value::Null);
    if object.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return invalid(&known, "`jsonrpc` has to be \"2.0\"");
    }
    let method = match object.remove("method") {
        Some(Value::String(method)) => method,
        Some(_) => return invalid(&known, "`method` has to be text"),
        None if object.contains_key("result") || object.contains_key("error") => {
            let outcome = match (object.remove("error"), object.remove("result")) {
                (Some(error), _) => Err(Fault {
                    code: error["code"].as_i64().unwrap_or(INTERNAL_ERROR),
                    message: error["message"].as_str().unwrap_or_default().to_owned(),
                }),
                (None, result) => Ok(result.unwrap_or_default()),
            };
            return Message::Response { id: known, outcome };
        }
        None => return invalid(&known, "it has no `method`"),
    };
    let params = match object.remove("params") {
        None | Some(Value::Null) => Some(Map::new()),
        Some(Value::Object(params)) => Some(params),
        Some(_) => None,
    };
    match (id, params) {
        (None, params) => Message::Notification { method, params: params.unwrap_or_default() },
        (Some(id), _) if !usable(&id) => {
            invalid(&Value::Null, "`id` has to be a text or a whole number")
        }
        (Some(id), None) => {
            Message::Invalid(error(&id, INVALID_PARAMS, "`params` has to be an object"))
        }
        (Some(id), Some(params)) => Message::Request(Request { id, method, params }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_request_is_answered_as_json_rpc_says() {
        #[track_caller]
        fn check(line: &str, id: Value, code: i64) {
            let Incoming::One(Message::Invalid(reply)) = parse(line.as_bytes()) else {
                panic!("{line}: {:?}", parse(line.as_bytes()));
            };
            assert_eq!((&reply["id"], &reply["error"]["code"]), (&id, &json!(code)), "{reply}");
        }
        for line in ["", "{", "nonsense", "{\"a\":\"\\ud800\"}", "\u{feff}{}", "{} {}"] {
            check(line, Value::Null, PARSE_ERROR);
        }
        // Deeper than anybody means it.
        check(&"[".repeat(100_000), Value::Null, PARSE_ERROR);
        for line in ["1", "null", "\"x\"", "{}", "[]"] {
            check(line, Value::Null, INVALID_REQUEST);
        }
        check(&format!("[{}1]", "1,".repeat(200_000)), Value::Null, INVALID_REQUEST);
        check(r#"{"id":1,"method":"ping"}"#, json!(1), INVALID_REQUEST);
        check(r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, json!("a"), INVALID_REQUEST);
        check(r#"{"jsonrpc":"2.0","id":1,"method":7}"#, json!(1), INVALID_REQUEST);
        check(r#"{"jsonrpc":"2.0","id":1}"#, json!(1), INVALID_REQUEST);
        for id in ["null", "1.5", "[]", "true", "1e400"] {
            let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
            let code = if id == "1e400" { PARSE_ERROR } else { INVALID_REQUEST };
            check(&line, Value::Null, code);
        }
        let long = format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"ping"}}"#, "x".repeat(2_000));
        check(&long, Value::Null, INVALID_REQUEST);
        check(r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}"#, json!(1), INVALID_PARAMS);
    }

    #[test]
    fn requests_notifications_and_answers_are_told_apart() {
        let one = |line: &str| match parse(line.as_bytes()) {
            Incoming::One(message) => message,
            batch @ Incoming::Batch(_) => panic!("{batch:?}"),
        };
        let Message::Request(request) = one(r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#) else {
            panic!("no request");
        };
        assert_eq!((request.id, request.method.as_str()), (json!("a"), "ping"));
        let told = one(r#"{"jsonrpc":"2.0","method":"notifications/x","params":[1]}"#);
        assert!(
            matches!(told, Message::Notification { method, .. } if method == "notifications/x")
        );
        let answer = |id, outcome| Message::Response { id, outcome };
        let fault = |code, message: &str| Err(Fault { code, message: message.into() });
        for (line, expected) in [
            (r#"{"jsonrpc":"2.0","id":1,"result":{"a":2}}"#, answer(json!(1), Ok(json!({"a": 2})))),
            (
                r#"{"jsonrpc":"2.0","id":null,"error":{}}"#,
                answer(Value::Null, fault(INTERNAL_ERROR, "")),
            ),
            (
                r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"no"}}"#,
                answer(json!(3), fault(METHOD_NOT_FOUND, "no")),
            ),
        ] {
            assert_eq!(one(line), expected);
        }
        let batch = parse(br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}, 3]"#);
        let Incoming::Batch(batch) = batch else { panic!("no batch") };
        assert!(matches!(batch[..], [Message::Request(_), Message::Invalid(_)]));
    }
}
