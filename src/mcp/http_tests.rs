use serde_json::json;

use super::super::protocol::tests::Echo;
use super::*;

fn post(head: &Head, body: &Value) -> Response {
    answer(&Echo::new(), head, body.to_string().as_bytes(), "7", &Cancel::default())
}

fn code(response: &Response) -> Option<i64> {
    response.body.as_ref()?["error"]["code"].as_i64()
}

fn call(n: i64) -> Value {
    json!({"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": {"name": "echo", "arguments": {"n": n}}})
}

#[test]
fn a_client_that_begins_with_initialize_keeps_its_name_in_its_session() {
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "Zed é", "version": "1"},
    }});
    let agreed = post(&Head::default(), &hello);
    assert_eq!((agreed.status, code(&agreed)), (200, None));
    assert_eq!(agreed.body.unwrap()["result"]["protocolVersion"], "2025-06-18");
    let session = agreed.session.unwrap();
    assert!(session.starts_with("7.") && session.is_ascii());
    assert_eq!(caller_of(&session).as_deref(), Some("Zed é"));
    let head =
        Head { session: Some(session), version: Some("2025-06-18".into()), ..Head::default() };
    let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(post(&head, &told), Response { status: 202, body: None, session: None });
    let answered = post(&head, &call(4));
    assert_eq!(answered.status, 200);
    assert!(answered.body.unwrap()["result"]["content"][0]["text"].to_string().contains("Zed é"));
    // Errors of methods are JSON-RPC's alone there.
    let unknown = post(&head, &json!({"jsonrpc": "2.0", "id": 1, "method": "no/such"}));
    assert_eq!((unknown.status, code(&unknown)), (200, Some(METHOD_NOT_FOUND)));
    for session in ["", "x", "x.%%", "7.//8="] {
        let head = Head { session: Some(session.into()), ..head.clone() };
        assert_eq!(post(&head, &call(4)).status, 404, "{session}");
    }
    // Without a session, too, and without a revision; that one has batches.
    assert_eq!(post(&Head::default(), &call(4)).status, 200);
    let both = post(&Head::default(), &json!([call(4), told, call(5)]));
    assert_eq!(both.body.unwrap().as_array().unwrap().len(), 2);
    let head = Head { version: Some("2025-06-18".into()), ..Head::default() };
    assert_eq!(post(&head, &json!([call(4)])).status, 400);
}

#[test]
fn since_2026_the_head_agrees_with_the_message() {
    let meta = |version: &str| {
        json!({
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "agent", "version": "1"},
        })
    };
    let mut asked = call(4);
    asked["params"]["_meta"] = meta("2026-07-28");
    let of = |version: &str, method: &str, name: &str| {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Head { version: some(version), method: some(method), name: some(name), session: None }
    };
    let good = post(&of("2026-07-28", "tools/call", "=?base64?ZWNobw==?="), &asked);
    assert_eq!((good.status, code(&good), good.session), (200, None, None));
    for head in [
        of("", "tools/call", "echo"),
        of("2025-06-18", "tools/call", "echo"),
        of("2026-07-28", "", "echo"),
        of("2026-07-28", "tools/list", "echo"),
        of("2026-07-28", "tools/call", ""),
        of("2026-07-28", "tools/call", "ech"),
        of("2026-07-28", "tools/call", "=?base64?!?="),
    ] {
        let got = post(&head, &asked);
        assert_eq!((got.status, code(&got)), (400, Some(HEADER_MISMATCH)), "{head:?}");
    }
    assert_eq!(post(&of("2026-07-28", "tools/call", "echo"), &call(4)).status, 400);
    asked["params"]["_meta"] = meta("2031-01-01");
    let newer = post(&of("2031-01-01", "tools/call", "echo"), &asked);
    assert_eq!((newer.status, code(&newer)), (400, Some(UNSUPPORTED_VERSION)));
    let unknown = json!({"jsonrpc": "2.0", "id": 1, "method": "no/such", "params": {"_meta": meta("2026-07-28")}});
    let unknown = post(&of("2026-07-28", "no/such", ""), &unknown);
    assert_eq!((unknown.status, code(&unknown)), (404, Some(METHOD_NOT_FOUND)));
    let listen = json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {"_meta": meta("2026-07-28")}});
    assert_eq!(post(&of("2026-07-28", "subscriptions/listen", ""), &listen).status, 404);
}

#[test]
fn what_is_no_message_is_a_bad_request() {
    for body in ["", "{", "[]", "3", "{\"jsonrpc\": \"2.0\", \"id\": []}"] {
        let got = answer(&Echo::new(), &Head::default(), body.as_bytes(), "7", &Cancel::default());
        assert_eq!(got.status, 400, "{body}");
    }
}
