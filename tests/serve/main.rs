//! `inglenook serve` as programs and agents use it: the real binary on a free port, with the built-in model.

#![cfg(all(feature = "server", feature = "starter"))]
#![expect(clippy::unwrap_used, reason = "tests")]

mod agents;
mod client;
mod guarded;
mod memory;
mod people;
mod programs;

#[path = "../support/home.rs"]
mod home;
#[path = "../support/python.rs"]
mod python;

use base64::Engine as _;
use client::Server;
use home::Home;
use inglenook::mcp::schema::validate;
use serde_json::{Value, json};

/// What [`Home`] runs.
const PROGRAM: &str = env!("CARGO_BIN_EXE_inglenook");

#[test]
fn a_chat_completion_is_whole_or_streamed() {
    let home = Home::new();
    let server = Server::start(&home);
    let fields = json!({"seed": 7, "temperature": 0, "max_tokens": 60});
    let whole = server.say("Hi, how are you?", fields.clone()).json();
    let text = whole["choices"][0]["message"]["content"].as_str().unwrap();
    assert!(!text.is_empty());
    assert_eq!(whole["object"], "chat.completion");
    assert_eq!(
        (&whole["model"], &whole["choices"][0]["finish_reason"]),
        (&json!("starter"), &json!("stop"))
    );
    let usage = &whole["usage"];
    let n = |name: &str| usage[name].as_u64().unwrap();
    assert!(n("prompt_tokens") > 0 && n("completion_tokens") > 0);
    assert_eq!(n("total_tokens"), n("prompt_tokens") + n("completion_tokens"));

    let mut streamed = fields;
    streamed["stream"] = true.into();
    streamed["stream_options"] = json!({"include_usage": true});
    let got = server.say("Hi, how are you?", streamed);
    assert!(got.head.to_lowercase().contains("content-type: text/event-stream"), "{}", got.head);
    assert!(got.body.ends_with("data: [DONE]\n\n"), "{}", got.body);
    let events = got.events();
    let delta = |event: &Value| event["choices"][0]["delta"]["content"].as_str().map(str::to_owned);
    assert_eq!(events.iter().filter_map(delta).collect::<String>(), text);
    assert!(events.len() > 5, "it comes in pieces: {events:?}");
    assert_eq!(events[0]["choices"][0]["delta"]["role"], "assistant");
    let [.., last, usage] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!(last["choices"][0]["finish_reason"], "stop");
    assert_eq!(usage["choices"], json!([]));
    // The whole prompt was read before.
    let (all, cached) =
        (&usage["usage"]["prompt_tokens"], &usage["usage"]["prompt_tokens_details"]);
    assert_eq!(all, &cached["cached_tokens"]);
    server.end();
}

#[test]
fn a_reply_ends_at_a_stop_or_when_it_is_long_enough() {
    let home = Home::new();
    let server = Server::start(&home);
    let of = |fields: Value| {
        let mut reply = server.say("Hi, how are you?", fields).json();
        let text = reply["choices"][0]["message"]["content"].as_str().unwrap().to_owned();
        (text, reply["choices"][0]["finish_reason"].take())
    };
    let (whole, _) = of(json!({"temperature": 0}));
    let stop = whole.split(' ').nth(2).unwrap();
    let (text, reason) = of(json!({"temperature": 0, "stop": [stop, "\u{1f980}"]}));
    assert_eq!((text.as_str(), reason), (&whole[..whole.find(stop).unwrap()], json!("stop")));
    let (text, reason) = of(json!({"temperature": 0, "max_tokens": 2}));
    assert_eq!(reason, "length");
    assert!(whole.starts_with(&text) && text.len() < whole.len());
    // A request's turns are what the model sees.
    let turns = json!({"model": "inglenook", "messages": [
        {"role": "system", "content": "You are a helpful assistant."},
        {"role": "user", "content": [{"type": "text", "text": "Hi!"}]},
        {"role": "assistant", "content": "Hello!"},
        {"role": "user", "content": "How are you?"},
    ]});
    let got = server.post("/v1/chat/completions", &turns);
    assert_eq!(got.status, 200, "{got:?}");
}

#[test]
fn a_reply_keeps_to_its_schema() {
    let home = Home::new();
    let server = Server::start(&home);
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 20},
            "age": {"type": "integer"},
            "kind": {"enum": ["person", "place", null]},
            "weight": {"type": ["number", "null"]},
            "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3},
            "home": {"$ref": "#/$defs/place"},
        },
        "required": ["name", "age", "kind", "tags", "home"],
        "additionalProperties": false,
        "$defs": {"place": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}},
    });
    // What is left of the schema once its references are written out.
    let mut flat = schema.clone();
    flat["properties"]["home"] = schema["$defs"]["place"].clone();
    flat.as_object_mut().unwrap().remove("$defs");
    for (seed, tokens_max) in [(1, 60), (2, 90), (3, 200)] {
        let format = json!({"type": "json_schema", "json_schema": {"name": "x", "schema": schema, "strict": true}});
        let fields = json!({"seed": seed, "temperature": 1.2, "max_tokens": tokens_max, "response_format": format});
        let reply = server.say("Describe somebody.", fields).json();
        let text = reply["choices"][0]["message"]["content"].as_str().unwrap();
        let value: Value = serde_json::from_str(text).unwrap_or_else(|e| panic!("{text:?}: {e}"));
        let (object, names) = (value.as_object().unwrap(), ["name", "age", "kind", "tags", "home"]);
        assert!(names.iter().all(|name| object.contains_key(*name)), "{text}");
        assert!(value["age"].is_i64() && value["home"]["city"].is_string(), "{text}");
        assert!(value["name"].as_str().unwrap().chars().count() <= 20, "{text}");
        assert!((1..=3).contains(&value["tags"].as_array().unwrap().len()), "{text}");
        assert!(["\"person\"", "\"place\"", "null"].contains(&value["kind"].to_string().as_str()));
        let _ = validate(&flat, &value);
    }
    let any = json!({"max_tokens": 80, "response_format": {"type": "json_object"}});
    let reply = server.say("Describe somebody as JSON.", any).json();
    let text = reply["choices"][0]["message"]["content"].as_str().unwrap();
    assert!(serde_json::from_str::<Value>(text).unwrap().is_object(), "{text}");
    // What can't be kept to is said.
    for (schema, why) in [
        (json!({"type": "string", "pattern": "a+"}), "pattern"),
        (json!({"type": "object", "properties": {"a": {"$ref": "#"}}}), "itself"),
        (json!({"type": "stone"}), "stone"),
    ] {
        let format = json!({"type": "json_schema", "json_schema": {"name": "x", "schema": schema}});
        let got = server.say("Hi", json!({"response_format": format}));
        let message = got.json()["error"]["message"].to_string();
        assert_eq!((got.status, message.contains(why)), (400, true), "{message}");
    }
    let short = json!({"max_tokens": 3, "response_format": {"type": "json_schema", "json_schema": {"schema": flat}}});
    assert_eq!(server.say("Hi", short).json()["error"]["param"], "max_tokens");
}

#[test]
fn models_are_listed_and_texts_become_vectors() {
    let home = Home::new();
    let server = Server::start(&home);
    let listed = server.get("/v1/models").json();
    let names: Vec<&str> =
        listed["data"].as_array().unwrap().iter().filter_map(|m| m["id"].as_str()).collect();
    let ["starter", embedder] = names.as_slice() else { panic!("{names:?}") };
    for name in ["starter", "inglenook", embedder] {
        assert_eq!(server.get(&format!("/v1/models/{name}")).json()["id"], *name);
    }
    assert_eq!(server.get("/v1/models/gpt-9").status, 404);
    let texts = ["I live in Ghent.", "My home is in Ghent.", "", "The moon is full of cheese."];
    let asked = json!({"model": embedder, "input": texts});
    let embedded = server.post("/v1/embeddings", &asked).json();
    let vector = |entry: &Value| -> Vec<f64> {
        entry["embedding"].as_array().unwrap().iter().filter_map(Value::as_f64).collect()
    };
    let vectors: Vec<Vec<f64>> = embedded["data"].as_array().unwrap().iter().map(vector).collect();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    for vector in &vectors {
        assert_eq!(vector.len(), 384);
        assert!((dot(vector, vector) - 1.0).abs() < 1e-3);
    }
    assert!(dot(&vectors[0], &vectors[1]) > dot(&vectors[0], &vectors[3]));
    assert!(embedded["usage"]["prompt_tokens"].as_u64().unwrap() > 5);
    let asked = json!({"model": "inglenook", "input": texts[0], "encoding_format": "base64", "dimensions": 384});
    let coded = server.post("/v1/embeddings", &asked).json();
    let coded = coded["data"][0]["embedding"].as_str().unwrap();
    let bytes = base64::engine::general_purpose::STANDARD.decode(coded).unwrap();
    let decoded: Vec<f64> =
        bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b).into()).collect();
    assert!((dot(&decoded, &vectors[0]) - 1.0).abs() < 1e-3);
    let asked = json!({"model": "inglenook", "input": texts[0], "dimensions": 10});
    assert_eq!(server.post("/v1/embeddings", &asked).json()["error"]["param"], "dimensions");
}

#[test]
fn responses_have_their_own_form() {
    let home = Home::new();
    let server = Server::start(&home);
    let asked = json!({"model": "inglenook", "input": "Good morning!", "temperature": 0});
    let whole = server.post("/v1/responses", &asked).json();
    assert_eq!((&whole["object"], &whole["status"]), (&json!("response"), &json!("completed")));
    let text = whole["output"][0]["content"][0]["text"].as_str().unwrap();
    assert!(whole["usage"]["output_tokens"].as_u64().unwrap() > 0 && !text.is_empty());
    let asked = json!({
        "model": "inglenook", "temperature": 0, "stream": true,
        "input": [{"role": "user", "content": [{"type": "input_text", "text": "Good morning!"}]}],
    });
    let events = server.post("/v1/responses", &asked).events();
    let numbers: Vec<u64> = events.iter().filter_map(|e| e["sequence_number"].as_u64()).collect();
    assert_eq!(numbers, (0..events.len() as u64).collect::<Vec<_>>());
    let deltas = events.iter().filter(|e| e["type"] == "response.output_text.delta");
    assert_eq!(deltas.filter_map(|e| e["delta"].as_str()).collect::<String>(), text);
    let last = &events[events.len() - 1];
    assert_eq!(
        (&last["type"], &last["response"]["output"][0]["content"][0]["text"]),
        (&json!("response.completed"), &json!(text))
    );
    let asked = json!({"model": "inglenook", "input": "Tell me a story.", "max_output_tokens": 2});
    let cut = server.post("/v1/responses", &asked).json();
    assert_eq!(
        (&cut["status"], &cut["incomplete_details"]["reason"]),
        (&json!("incomplete"), &json!("max_output_tokens"))
    );
    let asked = json!({"model": "inglenook", "input": "And?", "previous_response_id": "resp_1"});
    assert_eq!(server.post("/v1/responses", &asked).status, 400);
}

#[test]
fn several_at_once_share_the_model() {
    let home = Home::new();
    let server = Server::start(&home);
    let system = "You are a patient assistant who has a lot to say about foxes. ".repeat(8);
    let ask = |seed: usize| {
        let asked = json!({
            "model": "inglenook", "seed": seed, "max_tokens": 60, "temperature": 1.0,
            "messages": [
                {"role": "system", "content": system},
                {"role": "user", "content": format!("Tell me story number {seed}.")},
            ],
        });
        let reply = server.post("/v1/chat/completions", &asked).json();
        let usage = &reply["usage"];
        let n = |name: &str| usage[name].as_u64().unwrap();
        let text = reply["choices"][0]["message"]["content"].as_str().unwrap().to_owned();
        (
            text,
            n("prompt_tokens"),
            usage["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap(),
        )
    };
    let together: Vec<(String, u64, u64)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|seed| scope.spawn(move || ask(seed))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    // What they all begin with is read once.
    let n_read: u64 = together.iter().map(|(_, all, cached)| all - cached).sum();
    let longest = together.iter().map(|(_, all, _)| *all).max().unwrap();
    assert!(n_read < longest + 60, "{n_read} tokens of prompts of {longest}");
    // Each is as it would be alone.
    for (seed, (text, ..)) in together.iter().enumerate() {
        assert_eq!(&ask(seed).0, text);
    }
}
