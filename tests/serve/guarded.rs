//! Who is not let in, what is not understood, and clients that are slow, broken or gone.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::Server;
use super::home::Home;

#[test]
fn only_who_has_the_token_is_let_in() {
    let home = Home::new();
    let server = Server::start(&home);
    let file = home.data().join("serve-token");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(server.address.starts_with("127.0.0.1:"));
    let with = |headers: &str, path: &str| {
        server.got(format!("GET {path} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n").as_bytes())
    };
    let (host, token) = (format!("Host: {}\r\n", server.address), &server.token);
    let wrong: String = token.chars().rev().collect();
    for headers in [
        host.clone(),
        format!("{host}Authorization: Bearer {wrong}\r\n"),
        format!("{host}Authorization: Bearer {}\r\n", &token[1..]),
        format!("{host}Authorization: Basic {token}\r\n"),
        format!("{host}Authorization: Bearer\r\n"),
    ] {
        let got = with(&headers, "/v1/models");
        assert_eq!(got.status, 401, "{headers}");
        assert_eq!(got.json()["error"]["code"], "invalid_api_key");
        assert!(!got.body.contains(token.as_str()) && got.head.contains("www-authenticate"));
        assert_eq!(with(&headers, "/metrics").status, 401);
    }
    assert_eq!(with(&host, "/health").status, 200);
    let good = format!("Authorization: bearer {token}\r\n");
    assert_eq!(with(&format!("{host}{good}"), "/v1/models").status, 200);
    // A page of another name that leads here.
    for host in ["Host: evil.example\r\n", "Host: evil.example:80\r\n", ""] {
        assert!(
            [403, 400].contains(&with(&format!("{host}{good}"), "/v1/models").status),
            "{host}"
        );
    }
    let origin = format!("{host}{good}Origin: https://evil.example\r\n");
    assert!(!with(&origin, "/v1/models").head.contains("access-control"));
    // The token stays from one start to the next.
    let token = server.token.clone();
    server.end();
    let again = Server::start(&home);
    assert_eq!(again.token, token);
    drop(again);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(home.fails(&["serve", "--port", "0"], 2).contains("chmod 600"));
}

#[test]
fn what_is_wrong_is_said_in_openais_form() {
    let home = Home::new();
    let server = Server::start(&home);
    let check = |path: &str, body: &str, status: u16, said: &str| {
        let got = server.got(&server.request("POST", path, "", body));
        assert_eq!(got.status, status, "{body}: {got:?}");
        let error = &got.json()["error"];
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(said), "{message:?} does not say {said:?}");
        assert!(error["type"].is_string() && error.get("param").is_some());
    };
    let chat = "/v1/chat/completions";
    let hi = r#""messages": [{"role": "user", "content": "Hi"}]"#;
    let deep = "[".repeat(100_000);
    for (body, status, said) in [
        ("", 400, "not JSON"),
        ("[]", 400, "object"),
        ("{\"model\": \"inglenook\", \u{0}", 400, "not JSON"),
        (deep.as_str(), 400, "not JSON"),
        ("{}", 400, "model"),
        (r#"{"model": "inglenook"}"#, 400, "messages"),
        (r#"{"model": "inglenook", "messages": []}"#, 400, "user says"),
        (r#"{"model": "inglenook", "messages": [{"role": "tool", "content": "x"}]}"#, 400, "role"),
        (
            r#"{"model": "inglenook", "messages": [{"role": "user", "content": [{"type": "image_url"}]}]}"#,
            400,
            "text",
        ),
        (&format!("{{{hi}}}"), 400, "model"),
        (&format!(r#"{{"model": "gpt-9", {hi}}}"#), 404, "starter"),
        (&format!(r#"{{"model": "inglenook", {hi}, "temperature": 9}}"#), 400, "temperature"),
        (&format!(r#"{{"model": "inglenook", {hi}, "max_tokens": 0}}"#), 400, "max_tokens"),
        (&format!(r#"{{"model": "inglenook", {hi}, "stop": ["", "a"]}}"#), 400, "stop"),
        (&format!(r#"{{"model": "inglenook", {hi}, "n": 2}}"#), 400, "one reply"),
        (&format!(r#"{{"model": "inglenook", {hi}, "tools": [{{}}]}}"#), 400, "tools"),
        (&format!(r#"{{"model": "inglenook", {hi}, "memory": "yes"}}"#), 400, "memory"),
        (
            &format!(r#"{{"model": "inglenook", {hi}, "memory": {{"session": "c99"}}}}"#),
            404,
            "session",
        ),
        (
            &format!(
                r#"{{"model": "inglenook", {hi}, "memory": true, "response_format": {{"type": "json_object"}}}}"#
            ),
            400,
            "form",
        ),
    ] {
        check(chat, body, status, said);
    }
    let long = "word ".repeat(20_000);
    let long = json!({"model": "inglenook", "messages": [{"role": "user", "content": long}]});
    check(chat, &long.to_string(), 400, "context");
    check("/v1/embeddings", r#"{"model": "inglenook", "input": [1, 2]}"#, 400, "input");
    check("/v1/responses", r#"{"model": "inglenook", "input": 3}"#, 400, "input");
    check("/v1/audio/speech", "{}", 404, "/v1/audio/speech");
    assert_eq!(server.get(chat).status, 405);
    let large = format!("{{\"model\": \"{}\"}}", "x".repeat(17 << 20));
    assert_eq!(server.got(&server.request("POST", chat, "", &large)).status, 413);
    for garbage in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..],
        b"GET / HTTP/9\r\n\r\n",
        b"\0\0\0\0\r\n\r\n",
    ] {
        let said = server.raw(garbage);
        assert!(said.is_empty() || said.starts_with("HTTP/1.1 4"), "{said:?}");
    }
    let many = "X: y\r\n".repeat(200);
    assert!(server.raw(&server.request("GET", "/health", &many, "")).starts_with("HTTP/1.1 431"));
    let huge = format!("X: {}\r\n", "y".repeat(200_000));
    assert!(server.raw(&server.request("GET", "/health", &huge, "")).starts_with("HTTP/1.1 431"));
    assert_eq!(server.get("/health").status, 200);
}

/// A long reply, as it is streamed.
pub fn story(memory: bool) -> String {
    // The form makes it long, whatever the model would say.
    let endless = json!({"type": "array", "items": {"type": "string"}, "minItems": 200});
    let mut asked = json!({
        "model": "inglenook", "stream": true, "max_tokens": 1_500,
        "messages": [{"role": "user", "content": "Tell me a story."}],
    });
    if memory {
        asked["memory"] = true.into();
    } else {
        asked["response_format"] =
            json!({"type": "json_schema", "json_schema": {"schema": endless}});
    }
    asked.to_string()
}

#[test]
fn a_client_that_goes_away_ends_its_reply() {
    let home = Home::new();
    let server = Server::start(&home);
    let asks = |streams: bool| {
        let mut asked: Value = serde_json::from_str(&story(false)).unwrap();
        asked["stream"] = streams.into();
        let mut client = server.connect();
        client
            .write_all(&server.request("POST", "/v1/chat/completions", "", &asked.to_string()))
            .unwrap();
        client
    };
    for streams in [true, false] {
        let mut client = asks(streams);
        if streams {
            let mut some = [0u8; 2_000];
            client.read_exact(&mut some).unwrap();
        }
        server.wait_for("inglenook_requests_running", 1);
        drop(client);
        let since = Instant::now();
        server.wait_for("inglenook_requests_running", 0);
        assert!(since.elapsed() < Duration::from_secs(5), "{streams}: {:?}", since.elapsed());
    }
    assert_eq!(server.metric("inglenook_cancelled_total"), 2);
    // The engine is free at once.
    assert_eq!(server.say("Hi!", json!({"max_tokens": 5})).status, 200);
}

#[test]
fn a_slow_client_holds_up_nobody() {
    let home = Home::new();
    let server = Server::start(&home);
    let slow: Vec<_> = (0..4)
        .map(|n| {
            let mut client = server.connect();
            // Half a head; a head without its body; a body that never ends; a reply that nobody reads.
            let request = server.request("POST", "/v1/chat/completions", "", &story(false));
            let part = match n {
                0 => &request[..20],
                1 => &request[..request.len() - story(false).len()],
                2 => &request[..request.len() - 5],
                _ => &request[..],
            };
            client.write_all(part).unwrap();
            client
        })
        .collect();
    for _ in 0..3 {
        let since = Instant::now();
        assert_eq!(server.say("Hi!", json!({"max_tokens": 5})).status, 200);
        assert!(since.elapsed() < Duration::from_secs(20));
    }
    drop(slow);
    server.wait_for("inglenook_requests_running", 0);
    server.end();
}

#[test]
fn when_too_many_wait_that_is_said() {
    let home = Home::new();
    let server = Server::start(&home);
    let request = server.request("POST", "/v1/chat/completions", "", &story(false));
    let mut waiting = Vec::new();
    for _ in 0..72 {
        let mut client = server.connect();
        client.write_all(&request).unwrap();
        waiting.push(client);
    }
    server.wait_for("inglenook_requests_waiting", 64);
    let refused = server.say("Hi!", json!({}));
    assert_eq!(
        (refused.status, refused.head.to_lowercase().contains("retry-after: 1")),
        (429, true)
    );
    assert_eq!(refused.json()["error"]["type"], "rate_limit_error");
    drop(waiting);
    server.wait_for("inglenook_requests_waiting", 0);
    server.wait_for("inglenook_requests_running", 0);
    assert_eq!(server.say("Hi!", json!({"max_tokens": 5})).status, 200);
}

#[test]
fn running_replies_end_when_the_server_is_told_to() {
    let home = Home::new();
    let server = Server::start(&home);
    let mut client = server.connect();
    client.write_all(&server.request("POST", "/v1/chat/completions", "", &story(false))).unwrap();
    let mut some = [0u8; 1_000];
    client.read_exact(&mut some).unwrap();
    let since = Instant::now();
    server.end();
    assert!(since.elapsed() < Duration::from_secs(10), "{:?}", since.elapsed());
    let mut rest = String::new();
    client.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("data: [DONE]"), "a stopped reply has an end: {rest:?}");
}
