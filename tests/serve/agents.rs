//! The memory for agents, over HTTP.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{Got, Server};
use super::home::Home;

fn post(server: &Server, headers: &str, message: &Value) -> Got {
    server.got(&server.request("POST", "/mcp", headers, &message.to_string()))
}

fn call(server: &Server, headers: &str, tool: &str, arguments: &Value) -> Value {
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}});
    let mut got = post(server, headers, &message).json();
    assert_eq!(got["result"]["isError"], false, "{got}");
    got["result"]["structuredContent"].take()
}

#[test]
fn an_agents_note_has_its_name_and_becomes_memory() {
    let home = Home::new();
    let server = Server::start(&home);
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test-agent", "version": "1"},
    }});
    let agreed = post(&server, "", &hello);
    assert_eq!(agreed.json()["result"]["serverInfo"]["name"], "inglenook");
    let session = agreed.head.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
    let headers =
        format!("MCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: {}\r\n", session.unwrap());
    let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(
        (post(&server, &headers, &told).status, post(&server, &headers, &told).body),
        (202, String::new())
    );
    call(&server, &headers, "remember", &json!({"text": "Ida works as a vet in Umeå."}));
    let found = call(&server, &headers, "recall", &json!({"question": "What is Ida's work?"}));
    assert!(found["memories"].as_str().unwrap().contains("vet"), "{found}");
    let sessions = home.json(&["session", "list", "--json"]);
    assert_eq!(sessions[0]["source"], "test-agent", "{sessions}");
    // The server's worker makes facts of it, while nobody asks.
    let deadline = Instant::now() + Duration::from_mins(2);
    while home.json(&["memory", "stats", "--json"])["semantics"] == 0 {
        assert!(Instant::now() < deadline, "no fact was made");
        std::thread::sleep(Duration::from_millis(200));
    }
    // A program that asks the model from memory is told so, too.
    let asked = server.say("Where does Ida work?", json!({"memory": true})).json();
    assert!(asked["inglenook"]["evidence"].to_string().contains("vet"), "{asked}");
    server.end();
    home.ok(&["memory", "verify"]);
}

#[test]
fn no_page_and_nobody_without_the_key_is_answered() {
    let home = Home::new();
    let server = Server::start(&home);
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    assert_eq!(post(&server, "", &list).json()["result"]["tools"].as_array().unwrap().len(), 8);
    assert_eq!(post(&server, "Origin: http://localhost:3000\r\n", &list).status, 200);
    for origin in ["https://evil.example", "null", "https://127.0.0.1.evil.example", "\u{e9}"] {
        assert_eq!(post(&server, &format!("Origin: {origin}\r\n"), &list).status, 403, "{origin}");
    }
    let without = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}",
        server.address
    );
    assert_eq!(server.got(without.as_bytes()).status, 401);
    assert_eq!((server.get("/mcp").status, post(&server, "", &json!([])).status), (405, 400));
    server.end();
    let policy = home.file("policy.toml", "mcp = false\n");
    let server = Server::start_with(&home, &[], &[("INGLENOOK_POLICY", policy.to_str().unwrap())]);
    assert_eq!(post(&server, "", &list).status, 403);
}
