//! Requests with memory: what is said is kept, what was said comes back with its evidence.

use std::io::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use super::client::{Got, Server};
use super::home::Home;

fn remembering(server: &Server, text: &str) -> Value {
    let got = server.say(text, json!({"memory": true}));
    assert_eq!(got.status, 200, "{got:?}");
    got.json()
}

fn text(reply: &Value) -> &str {
    reply["choices"][0]["message"]["content"].as_str().unwrap()
}

#[test]
fn what_was_said_is_kept_and_comes_back_with_its_evidence() {
    let home = Home::new();
    let server = Server::start(&home);
    let told = remembering(&server, "My sister Clara lives in Ghent and plays the cello.");
    assert_eq!(told["inglenook"]["session"], "c1");
    let asked = remembering(&server, "Where does my sister live?");
    assert!(text(&asked).contains("Ghent"), "{asked}");
    assert_eq!(asked["inglenook"]["session"], "c2");
    let evidence = asked["inglenook"]["evidence"].to_string();
    assert!(evidence.contains("Clara lives in Ghent") && evidence.contains("\"m1\""), "{evidence}");
    // By the header, streamed: the evidence comes with the last event.
    let body = json!({
        "model": "inglenook", "stream": true,
        "messages": [{"role": "user", "content": "What does Clara play?"}],
    });
    let request = server.request(
        "POST",
        "/v1/chat/completions",
        "X-Inglenook-Memory: true\r\n",
        &body.to_string(),
    );
    let events = server.got(&request).events();
    let said: String =
        events.iter().filter_map(|e| e["choices"][0]["delta"]["content"].as_str()).collect();
    assert!(said.contains("cello"), "{events:?}");
    assert!(events[events.len() - 1]["inglenook"]["evidence"].to_string().contains("cello"));
    // And as a response.
    let body = json!({"model": "inglenook", "memory": true, "input": "Who is Clara?"});
    let response = server.post("/v1/responses", &body).json();
    assert!(response["inglenook"]["evidence"].to_string().contains("Clara"), "{response}");
    // Without memory nothing is kept, and nothing is known.
    let plain = server.say("Where does my sister live?", json!({})).json();
    assert!(!text(&plain).contains("Ghent") && plain.get("inglenook").is_none(), "{plain}");
    // Other commands work on the same home meanwhile.
    let sessions = home.json(&["session", "list", "--json"]);
    assert_eq!(sessions.as_array().unwrap().len(), 4, "{sessions}");
    assert!(home.ok(&["ask", "Where does Clara live?"]).contains("Ghent"));
    home.import(&[("user", "My brother Tom is a baker in Lund."), ("assistant", "I see.")]);
    assert!(text(&remembering(&server, "What does my brother Tom do?")).contains("baker"));
    server.end();
    home.ok(&["memory", "verify"]);
}

#[test]
fn a_conversation_that_is_sent_again_goes_on_in_its_session() {
    let home = Home::new();
    let server = Server::start(&home);
    let ask = |messages: &Value, memory: Value| -> Got {
        let body = json!({"model": "inglenook", "memory": memory, "messages": messages});
        server.post("/v1/chat/completions", &body)
    };
    let first = json!([{"role": "user", "content": "I moved to Lund last week."}]);
    let reply = ask(&first, true.into()).json();
    let mut messages = first;
    let more = |messages: &mut Value, reply: &Value, next: &str| {
        let list = messages.as_array_mut().unwrap();
        list.push(json!({"role": "assistant", "content": text(reply)}));
        list.push(json!({"role": "user", "content": next}));
    };
    more(&mut messages, &reply, "Where do I live?");
    let reply = ask(&messages, true.into()).json();
    assert_eq!(reply["inglenook"]["session"], "c1");
    assert!(text(&reply).contains("Lund"), "{reply}");
    // Also when the server was started anew.
    more(&mut messages, &reply, "Thank you!");
    let reply = ask(&messages, true.into()).json();
    assert_eq!(reply["inglenook"]["session"], "c1");
    // By name; and what memory does not know yet is kept too.
    let named =
        ask(&json!([{"role": "user", "content": "Hi again."}]), json!({"session": "c1"})).json();
    assert_eq!(named["inglenook"]["session"], "c1");
    let unknown = json!([
        {"role": "user", "content": "My cat is called Miso."},
        {"role": "assistant", "content": "A fine name."},
        {"role": "user", "content": "What is my cat called?"},
    ]);
    let reply = ask(&unknown, true.into()).json();
    assert_eq!(reply["inglenook"]["session"], "c2");
    assert!(text(&reply).contains("Miso"), "{reply}");
    let shown = home.json(&["session", "show", "c1", "--json"]);
    assert_eq!(shown["messages"].as_array().unwrap().len(), 8, "{shown}");
    let shown = home.json(&["session", "show", "c2", "--json"]);
    assert_eq!(shown["messages"].as_array().unwrap().len(), 4, "{shown}");
}

#[test]
fn no_message_is_lost_when_its_client_goes_away_or_many_come_at_once() {
    let home = Home::new();
    let server = Server::start(&home);
    let said = |n: usize| format!("My friend number {n} is called Robin{n}.");
    std::thread::scope(|scope| {
        for n in 0..8 {
            let server = &server;
            scope.spawn(move || {
                let body = json!({
                    "model": "inglenook", "memory": true, "stream": n % 2 == 0,
                    "messages": [{"role": "user", "content": said(n)}],
                });
                let request = server.request("POST", "/v1/chat/completions", "", &body.to_string());
                if n < 4 {
                    assert_eq!(server.got(&request).status, 200);
                } else {
                    let mut client = server.connect();
                    client.write_all(&request).unwrap();
                    std::thread::sleep(Duration::from_millis(1_500));
                }
            });
        }
    });
    server.wait_for("inglenook_requests_running", 0);
    server.end();
    let kept = home.ok(&["export"]);
    for n in 0..4 {
        assert!(kept.contains(&said(n)), "{n} was acknowledged, and is not in {kept}");
    }
    home.ok(&["memory", "verify"]);
}

#[test]
fn a_policy_holds_here_too() {
    let home = Home::new();
    let policy = home.file("policy.toml", "incognito = true\n");
    let server = Server::start_with(&home, &[], &[("INGLENOOK_POLICY", policy.to_str().unwrap())]);
    let reply = remembering(&server, "I live in Ghent.");
    assert_eq!(reply["inglenook"]["session"], Value::Null);
    server.end();
    assert_eq!(home.json(&["session", "list", "--json"]), json!([]));
    let policy = home.file("policy.toml", "mcp = false\n");
    let server = Server::start_with(&home, &[], &[("INGLENOOK_POLICY", policy.to_str().unwrap())]);
    assert_eq!(server.say("Hi!", json!({"memory": true})).status, 403);
    assert_eq!(server.say("Hi!", json!({"max_tokens": 5})).status, 200);
}

#[test]
fn an_encrypted_memory_is_served_with_its_passphrase() {
    let home = Home::new();
    let file = home.file("passphrase", "a long enough passphrase\n");
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let passphrase = file.to_str().unwrap();
    let with = |args: &[&str]| {
        let output =
            home.command(args).env("INGLENOOK_PASSPHRASE_FILE", passphrase).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    with(&["memory", "encrypt"]);
    home.fails(&["serve", "--port", "0"], 4);
    let server = Server::start_with(&home, &[], &[("INGLENOOK_PASSPHRASE_FILE", passphrase)]);
    remembering(&server, "My sister Clara lives in Ghent.");
    assert!(text(&remembering(&server, "Where does Clara live?")).contains("Ghent"));
    server.end();
    assert!(with(&["session", "list"]).contains("Clara"));
}
