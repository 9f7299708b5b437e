use std::time::Duration;

use super::*;
use crate::mcp::ToolResult;
use crate::mcp::message::{Incoming, parse};

/// Offers one tool that answers with what it was called with.
pub struct Echo {
    tools: Vec<Value>,
}

impl Echo {
    pub fn new() -> Self {
        let schema = json!({
            "type": "object",
            "properties": {"n": {"type": "integer"}},
            "required": ["n"],
            "additionalProperties": false
        });
        Self { tools: vec![json!({"name": "echo", "inputSchema": schema})] }
    }
}

impl Service for Echo {
    fn instructions(&self) -> &'static str {
        "Ask."
    }

    fn tools(&self) -> &[Value] {
        &self.tools
    }

    fn call(
        &self,
        caller: &Caller,
        _: &str,
        arguments: &Map<String, Value>,
        _: &Cancel,
    ) -> ToolResult {
        if arguments["n"] == 13 {
            return ToolResult::error("not that one");
        }
        let text = format!("{} for {}", arguments["n"], caller.name.as_deref().unwrap_or("?"));
        let structured = Some(json!({"n": arguments["n"]}));
        ToolResult { text, structured, is_error: false }
    }

    fn templates(&self) -> &[Value] {
        &[]
    }

    fn resources(&self, cursor: Option<&str>) -> Result<Page, Refusal> {
        match cursor {
            None => Ok(Page { items: vec![json!({"uri": "a:b"})], next: Some("2".into()) }),
            Some("2") => Ok(Page { items: Vec::new(), next: None }),
            Some(_) => Err(Refusal::Request("no such page".into())),
        }
    }

    fn read(&self, uri: &str) -> Result<Value, Refusal> {
        match uri {
            "a:b" => Ok(json!([{"uri": uri, "text": "x"}])),
            "a:broken" => Err(Refusal::Failed("the disk is gone".into())),
            _ => Err(Refusal::Request("no such resource".into())),
        }
    }

    fn rests_after(&self) -> Option<Duration> {
        None
    }

    fn rest(&self, _: &Cancel) {}
}

/// The reply to a request, whether it is ready or has to be worked on.
#[track_caller]
fn reply(connection: &mut Connection, request: &Value) -> Value {
    let Incoming::One(message) = parse(request.to_string().as_bytes()) else {
        panic!("a batch: {request}");
    };
    let service = Echo::new();
    match connection.handle(message, &service) {
        Step::Reply(reply) => reply,
        Step::Work(work) => work.answer(&service, &Cancel::default()),
        other => panic!("{request}: {other:?}"),
    }
}

fn ask(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
}

/// As revision 2026-07-28 has it.
fn modern_ask(method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        VERSION: "2026-07-28",
        CLIENT: {"name": "tester", "version": "1"},
        CAPABILITIES: {},
    });
    ask(method, params)
}

fn initialized(version: &str) -> Connection {
    let mut connection = Connection::default();
    let params = json!({
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "old", "version": "1"}
    });
    reply(&mut connection, &ask("initialize", params));
    connection
}

#[test]
fn the_new_revision_needs_no_handshake_and_remembers_nothing() {
    let mut connection = Connection::default();
    let found = reply(&mut connection, &modern_ask("server/discover", json!({})));
    let found = &found["result"];
    assert_eq!(found["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(found["resultType"], "complete");
    assert_eq!(found["instructions"], "Ask.");
    assert_eq!(found["capabilities"], json!({"tools": {}, "resources": {}}));
    assert_eq!(found["_meta"][SERVER]["name"], "inglenook");
    assert!(found["ttlMs"].is_u64() && found["cacheScope"] == "private", "{found}");

    let called = modern_ask("tools/call", json!({"name": "echo", "arguments": {"n": 3}}));
    let called = reply(&mut connection, &called);
    assert_eq!(called["result"]["content"], json!([{"type": "text", "text": "3 for tester"}]));
    assert_eq!(called["result"]["structuredContent"], json!({"n": 3}));
    assert_eq!(called["result"]["resultType"], "complete");
    assert_eq!(called["result"]["isError"], false);

    // The last request said which revision; this one does not.
    let silent = reply(&mut connection, &ask("tools/list", json!({})));
    assert_eq!(silent["error"]["code"], INVALID_PARAMS, "{silent}");
    // Gone from this revision.
    for method in ["ping", "logging/setLevel", "resources/subscribe", "prompts/list"] {
        let gone = reply(&mut connection, &modern_ask(method, json!({})));
        assert_eq!(gone["error"]["code"], METHOD_NOT_FOUND, "{gone}");
    }
}

#[test]
fn a_request_of_the_new_revision_is_whole() {
    let mut connection = Connection::default();
    let mut check = |meta: Value, code: i64| {
        let got = reply(&mut connection, &ask("tools/list", json!({"_meta": meta})));
        assert_eq!(got["error"]["code"], code, "{got}");
        got
    };
    let unknown = check(json!({VERSION: "1900-01-01", CAPABILITIES: {}}), UNSUPPORTED_VERSION);
    assert_eq!(unknown["error"]["data"]["requested"], "1900-01-01");
    assert_eq!(unknown["error"]["data"]["supported"][0], "2026-07-28");
    check(json!({VERSION: "2025-11-25", CAPABILITIES: {}}), UNSUPPORTED_VERSION);
    check(json!({VERSION: 3, CAPABILITIES: {}}), INVALID_PARAMS);
    check(json!({VERSION: "2026-07-28"}), INVALID_PARAMS);
    check(json!({VERSION: "2026-07-28", CAPABILITIES: []}), INVALID_PARAMS);
    check(json!({}), INVALID_PARAMS);
    check(json!("x"), INVALID_PARAMS);
}

#[test]
fn older_clients_shake_hands() {
    for (wanted, given) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("", "2025-11-25"),
    ] {
        let params = json!({"protocolVersion": wanted, "clientInfo": {"name": "old"}});
        let mut connection = Connection::default();
        let got = reply(&mut connection, &ask("initialize", params));
        assert_eq!(got["result"]["protocolVersion"], given, "{got}");
        assert_eq!(got["result"]["serverInfo"]["name"], "inglenook");
        assert!(got["result"].get("resultType").is_none(), "{got}");
        assert_eq!(connection.has_batches(), given == WITH_BATCHES);
        let listed = reply(&mut connection, &ask("tools/list", json!({})));
        assert_eq!(listed["result"]["tools"][0]["name"], "echo");
        assert!(listed["result"].get("ttlMs").is_none(), "{listed}");
        let call = ask("tools/call", json!({"name": "echo", "arguments": {"n": 1}}));
        assert_eq!(reply(&mut connection, &call)["result"]["content"][0]["text"], "1 for old");
        assert_eq!(reply(&mut connection, &ask("ping", json!({})))["result"], json!({}));
        // Both eras on one pair of pipes.
        let modern = reply(&mut connection, &modern_ask("tools/list", json!({})));
        assert_eq!(modern["result"]["resultType"], "complete");
    }
    let mut connection = Connection::default();
    let got = reply(&mut connection, &ask("initialize", json!({"protocolVersion": 1})));
    assert_eq!(got["error"]["code"], INVALID_PARAMS);
    // Before the handshake there is only `ping`, and the probe of newer clients.
    assert_eq!(reply(&mut connection, &ask("ping", json!({})))["result"], json!({}));
    let got = reply(&mut connection, &ask("server/discover", json!({})));
    assert_eq!(got["error"]["code"], INVALID_PARAMS);
}

#[test]
fn wrong_parameters_are_the_models_or_the_programs_to_mend() {
    let mut connection = initialized("2025-11-25");
    let mut check = |method: &str, params: Value, code: i64| {
        let got = reply(&mut connection, &ask(method, params));
        assert_eq!(got["error"]["code"], code, "{got}");
        assert_eq!(got["id"], 7);
        got
    };
    check("tools/call", json!({}), INVALID_PARAMS);
    check("tools/call", json!({"name": 3}), INVALID_PARAMS);
    check("tools/call", json!({"name": "nothing"}), INVALID_PARAMS);
    check("tools/call", json!({"name": "echo", "arguments": [1]}), INVALID_PARAMS);
    check("tools/list", json!({"cursor": "2"}), INVALID_PARAMS);
    check("resources/list", json!({"cursor": 2}), INVALID_PARAMS);
    check("resources/list", json!({"cursor": "9"}), INVALID_PARAMS);
    check("resources/read", json!({}), INVALID_PARAMS);
    check("resources/read", json!({"uri": "a:broken"}), INTERNAL_ERROR);
    let missing = check("resources/read", json!({"uri": "a:c"}), RESOURCE_NOT_FOUND);
    assert_eq!(missing["error"]["data"]["uri"], "a:c");
    check("completion/complete", json!({}), METHOD_NOT_FOUND);
    check(&"x".repeat(10_000), json!({}), METHOD_NOT_FOUND);
    let missing = modern_ask("resources/read", json!({"uri": "a:c"}));
    let missing = reply(&mut Connection::default(), &missing);
    assert_eq!(missing["error"]["code"], INVALID_PARAMS, "the later revision's code");

    for (arguments, says) in [
        (json!({}), "n: is missing"),
        (json!({"n": "3"}), "n: has to be of type integer"),
        (json!({"n": 3, "m": 4}), "m: is unknown"),
        (json!({"n": 13}), "not that one"),
    ] {
        let call = ask("tools/call", json!({"name": "echo", "arguments": arguments}));
        let got = reply(&mut connection, &call);
        assert_eq!(got["result"]["isError"], true, "{got}");
        assert!(got["result"]["content"][0]["text"].as_str().unwrap().contains(says), "{got}");
    }
}

#[test]
fn resources_come_in_pages() {
    let mut connection = initialized("2025-06-18");
    let first = reply(&mut connection, &ask("resources/list", json!({})));
    assert_eq!(first["result"]["nextCursor"], "2");
    let last = reply(&mut connection, &ask("resources/list", json!({"cursor": "2"})));
    assert!(last["result"].get("nextCursor").is_none(), "{last}");
    let read = reply(&mut connection, &modern_ask("resources/read", json!({"uri": "a:b"})));
    assert_eq!(read["result"]["contents"][0]["text"], "x");
    assert_eq!(read["result"]["ttlMs"], 0);
}

#[test]
fn a_subscription_is_acknowledged_and_stays_silent() {
    let mut connection = Connection::default();
    let wanted = json!({"notifications": {"toolsListChanged": true}});
    let got = reply(&mut connection, &modern_ask("subscriptions/listen", wanted));
    assert_eq!(got["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(got["params"]["_meta"][SUBSCRIPTION], 7);
    assert_eq!(got["params"]["notifications"], json!({}));
    assert!(got.get("id").is_none());
}

#[test]
fn notifications_are_never_answered() {
    let mut connection = Connection::default();
    for method in ["notifications/initialized", "tools/list", "notifications/cancelled", "x"] {
        let told = Message::Notification { method: method.into(), params: Map::new() };
        assert_eq!(connection.handle(told, &Echo::new()), Step::Nothing, "{method}");
    }
    let params = Map::from_iter([("requestId".into(), json!("a"))]);
    let told = Message::Notification { method: "notifications/cancelled".into(), params };
    assert_eq!(connection.handle(told, &Echo::new()), Step::Cancel(json!("a")));
}
