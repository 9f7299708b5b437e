//! `inglenook mcp` as a client sees it: lines of JSON to and from the real binary.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Home;
use super::mcp_client::Client;
use super::python::run_script;

fn ids(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|unit| unit["id"].as_str().unwrap()).collect()
}

/// What was said in a chat here, as far as the memory can tell.
fn said_here(home: &Home, texts: &[&str]) {
    for text in texts {
        home.ok(&["ask", text]);
    }
    home.ok(&["memory", "consolidate", "--wait"]);
}

#[test]
fn an_empty_memory_answers_and_nothing_is_made() {
    let home = Home::new();
    let mut client = Client::start(&home);
    let names: Vec<&str> = client.tools.iter().map(|t| t["name"].as_str().unwrap()).collect();
    let wanted = ["recall", "search", "fetch", "remember", "recent", "themes", "why", "forget"];
    assert_eq!(names, wanted);
    let (found, text) = client.call("recall", json!({"question": "where do I live?"}));
    assert_eq!(found, json!({"memories": "", "evidence": [], "themes": []}));
    assert_eq!(text, "Nothing about that is remembered.");
    assert_eq!(client.call("search", json!({"query": "x"})).0["results"], json!([]));
    assert_eq!(client.call("recent", json!({})).0["results"], json!([]));
    assert_eq!(client.call("themes", json!({})).0, json!({"themes": [], "total": 0}));
    assert!(client.refused("fetch", json!({"id": "m1"})).contains("m1"));
    assert!(client.refused("fetch", json!({"id": "nonsense"})).contains("looks like t2"));
    let listed = client.result("resources/list", json!({}));
    assert_eq!(listed["resources"][0]["uri"], "inglenook://themes");
    client.end();
    assert!(!home.data().join("memory.db").exists(), "reading makes no memory");
}

#[test]
fn what_was_said_is_recalled_with_date_and_origin() {
    let home = Home::new();
    home.import(&[
        ("user", "My sister Ida lives in Umeå and is a vet."),
        ("user", "I adopted a cat called Sotis from the shelter."),
        ("user", "The washing machine repair cost 1,200 kronor."),
    ]);
    home.ok(&["memory", "consolidate", "--wait"]);
    let mut client = Client::start(&home);
    let (found, text) = client.call("recall", json!({"question": "Where does my sister live?"}));
    assert!(text.contains("Umeå") && text.contains("never instructions"), "{text}");
    assert!(text.contains("2026"), "a line has its date: {text}");
    assert!(found["memories"].as_str().unwrap().ends_with("</memories>\n"), "{found}");
    let evidence = found["evidence"].as_array().unwrap();
    assert!(evidence.iter().all(|unit| unit["origin"] == "an import's owner"), "{found}");
    assert!(evidence.iter().all(|unit| unit["date"] == "2026-11-16"), "{found}");
    // A smaller budget holds.
    let asked = json!({"question": "What do you know about me?", "budget_tokens": 64});
    let (found, _) = client.call("recall", asked);
    assert!(found["memories"].as_str().unwrap().len() <= 64 * 4 + "</memories>\n".len(), "{found}");

    let (found, text) = client.call("search", json!({"query": "Sotis", "limit": 3}));
    let fact = ids(&found["results"])[0].to_owned();
    assert!(text.starts_with(&fact) && text.contains("Sotis"), "{text}");
    let days = |from, to| json!({"query": "Sotis", "from": from, "to": to});
    assert_eq!(client.call("search", days("2026-11-17", "2026-12-01")).0["results"], json!([]));
    let found = client.call("search", days("2026-11-16", "2026-11-16")).0;
    assert!(!ids(&found["results"]).is_empty());
    assert!(client.refused("search", days("yesterday", "2026-11-16")).contains("has to be a day"));

    let (themes, _) = client.call("themes", json!({}));
    let theme = themes["themes"][0]["id"].as_str().unwrap().to_owned();
    assert!(client.call("fetch", json!({"id": theme})).0["text"].as_str().unwrap().contains("s1"));
    let (whole, _) = client.call("fetch", json!({"id": "m2"}));
    assert_eq!(whole["text"], "I adopted a cat called Sotis from the shelter.");
    assert_eq!(whole["url"], "inglenook://message/m2");
    let (whole, _) = client.call("fetch", json!({"id": "inglenook://episode/e1"}));
    assert!(whole["text"].as_str().unwrap().contains("| an import's owner | "), "{whole}");
    let (why, text) = client.call("why", json!({"id": "s1"}));
    assert_eq!(ids(&why["rests_on"]), ["m1"], "{text}");
    let (why, _) = client.call("why", json!({"id": "m1"}));
    assert!(ids(&why["led_to"]).contains(&"s1"), "{why}");
    let (recent, _) = client.call("recent", json!({"limit": 2}));
    assert_eq!(ids(&recent["results"]).len(), 2);

    let listed = client.result("resources/list", json!({}));
    for resource in listed["resources"].as_array().unwrap().clone() {
        let read = client.result("resources/read", json!({"uri": resource["uri"]}));
        assert_eq!(read["contents"][0]["uri"], resource["uri"]);
        assert!(!read["contents"][0]["text"].as_str().unwrap().is_empty(), "{resource}");
    }
    for uri in
        ["inglenook://theme/t99", "inglenook://theme/e1", "inglenook://x", "file:///etc/passwd", ""]
    {
        let reply = client.ask("resources/read", json!({"uri": uri}));
        assert_eq!(reply["error"]["code"], -32602, "{uri}: {reply}");
    }
    let reply = client.ask("resources/list", json!({"cursor": "m1"}));
    assert_eq!(reply["error"]["code"], -32602);
    client.end();
}

#[test]
fn a_reply_says_what_it_rested_on() {
    let home = Home::new();
    said_here(&home, &["My cat is called Sotis.", "What is my cat called?"]);
    let mut client = Client::start(&home);
    let replies = client.call("search", json!({"query": "Sotis", "limit": 50})).0;
    let results = replies["results"].as_array().unwrap().clone();
    let mut of_replies = results.iter().filter(|unit| unit["origin"] == "the assistant");
    let rests = of_replies.any(|reply| {
        let why = client.call("why", json!({"id": reply["id"]})).0;
        ids(&why["rests_on"]).iter().any(|id| id.starts_with(['s', 'm']))
    });
    assert!(rests, "{replies}");
    client.end();
}

#[test]
fn what_an_agent_notes_is_its_own_word_and_overrules_nobody() {
    let home = Home::new();
    said_here(&home, &["My name is Sanna.", "I live in Lund."]);
    let mut client = Client::start(&home);
    let note = json!({"text": "I live in Malmö.", "speaker": "user"});
    let (noted, text) = client.call("remember", note.clone());
    assert_eq!((&noted["origin"], &noted["is_new"]), (&json!("an agent"), &json!(true)), "{text}");
    // Asked again, as programs do.
    let (again, _) = client.call("remember", note);
    assert_eq!((&again["id"], &again["is_new"]), (&noted["id"], &json!(false)));
    client.call("remember", json!({"text": "Sanna moved to Malmö and lives there now."}));
    let other = json!({"text": "I am allergic to peanuts.", "speaker": "Ida", "at": "2026-11-02"});
    let (noted, _) = client.call("remember", other);
    assert_eq!(noted["date"], "2026-11-02");
    // At once, before any fact is made of it.
    let (found, _) = client.call("recall", json!({"question": "What is Ida allergic to?"}));
    assert!(found["memories"].as_str().unwrap().contains("peanuts"), "{found}");
    let origins: Vec<&Value> =
        found["evidence"].as_array().unwrap().iter().map(|unit| &unit["origin"]).collect();
    assert!(origins.contains(&&json!("an agent")), "{found}");
    client.call("remember", json!({"text": "My name is Eve."}));
    client.end();

    home.ok(&["memory", "consolidate", "--wait"]);
    assert!(home.ok(&["memory", "verify"]).contains("Sound"));
    let answer = home.ok(&["ask", "--incognito", "Where do I live?"]);
    assert!(answer.contains("Lund") && !answer.contains("Malmö"), "{answer}");
    let mut client = Client::start(&home);
    let (found, _) = client.call("recall", json!({"question": "Where does Sanna live?"}));
    let memories = found["memories"].as_str().unwrap();
    assert!(memories.contains("Lund") && !memories.contains("Malmö"), "{found}");
    let (found, _) = client.call("search", json!({"query": "Lund"}));
    let first = &found["results"][0];
    assert_eq!((&first["origin"], first.get("superseded_by")), (&json!("the person"), None));
    client.end();
    // The notes are no chat to go on with; they have their program's name, and go by it.
    let sessions = home.json(&["session", "list", "--json"]);
    let notes = sessions.as_array().unwrap().iter().filter(|s| s["source"] == "test-agent").count();
    assert_eq!(notes, 2, "one of each day: {sessions}");
    home.ok(&["memory", "forget", "--source", "test-agent", "--yes"]);
    assert!(!home.ok(&["export", "--format", "json"]).contains("Malmö"));
    assert!(home.ok(&["export"]).contains("Lund"));
}

#[test]
fn the_memory_of_a_note_is_built_while_nobody_asks() {
    let home = Home::new();
    let mut client = Client::start(&home);
    client.call("remember", json!({"text": "Ida works as a vet in Umeå."}));
    // A reply sooner or later, whatever is being built.
    client.call("recent", json!({}));
    let deadline = Instant::now() + Duration::from_mins(2);
    while home.json(&["memory", "stats", "--json"])["semantics"] == 0 {
        assert!(Instant::now() < deadline, "no fact was made");
        std::thread::sleep(Duration::from_millis(200));
    }
    let (found, _) = client.call("search", json!({"query": "vet"}));
    assert!(ids(&found["results"]).iter().any(|id| id.starts_with('s')), "{found}");
    client.end();
    // It let go of the memory.
    home.ok_after_unlock(&["memory", "consolidate", "--wait"]);
}

#[test]
fn the_official_python_client_is_served() {
    run_script("mcp", "INGLENOOK_MCP_PYTHON", "mcp/client.py", &[super::PROGRAM]);
}

#[test]
fn an_agents_notes_stay_its_own_through_export_backup_and_repair() {
    let home = Home::new();
    let mut client = Client::start(&home);
    client
        .call("remember", json!({"text": "The user's boat is called Havfrue.", "speaker": "user"}));
    client.end();
    home.ok(&["memory", "consolidate", "--wait"]);
    let origin = |home: &Home| home.json(&["memory", "show", "m1", "--json"])["origin"].clone();
    assert_eq!(origin(&home), "an agent");
    let whole = home.file("whole.json", home.ok(&["export", "--format", "json"]));
    let other = Home::new();
    other.ok(&["import", whole.to_str().unwrap()]);
    assert_eq!(origin(&other), "an agent");
    home.ok(&["memory", "repair"]);
    assert_eq!(origin(&home), "an agent");
}

#[test]
fn forgetting_shows_its_plan_and_wants_that_very_plan_confirmed() {
    let home = Home::new();
    home.import(&[
        ("user", "I keep my savings at Nordbanken."),
        ("user", "My locker has the code 4711."),
    ]);
    home.ok(&["memory", "consolidate", "--wait"]);
    let mut client = Client::start(&home);
    let (planned, text) = client.call("forget", json!({"id": "m2"}));
    assert_eq!(planned["erased"], false);
    assert!(planned["plan"].as_str().unwrap().contains("4711"), "{planned}");
    assert!(text.contains("Nothing was erased yet"), "{text}");
    let code = planned["confirm"].as_str().unwrap().to_owned();
    for wrong in ["yes", "true", "", "erase-000000000000"] {
        let refused = client.refused("forget", json!({"id": "m2", "confirm": wrong}));
        assert!(refused.contains("another plan"), "{refused}");
    }
    // The code of another plan, and of this one once the memory has changed.
    let refused = client.refused("forget", json!({"id": "m1", "confirm": code}));
    assert!(refused.contains("another plan"), "{refused}");
    assert!(home.ok(&["export"]).contains("4711"));
    let (done, text) = client.call("forget", json!({"id": "m2", "confirm": code}));
    assert_eq!((&done["erased"], &done["confirm"]), (&json!(true), &Value::Null), "{text}");
    assert!(client.refused("fetch", json!({"id": "m2"})).contains("m2"));
    assert!(client.refused("forget", json!({"id": "m2", "confirm": code})).contains("m2"));
    client.end();
    let mut left = Vec::new();
    for entry in std::fs::read_dir(home.data()).unwrap().flatten() {
        left.extend(std::fs::read(entry.path()).unwrap_or_default());
    }
    assert!(!left.windows(4).any(|bytes| bytes == b"4711"), "no copy is left");
    assert!(home.ok(&["memory", "verify"]).contains("Sound"));
}

#[test]
fn beside_a_chat_it_reads_and_writes_and_says_who_keeps_it_waiting() {
    let home = Home::new();
    home.import(&[("user", "My dog is called Rex.")]);
    let mut client = Client::start(&home);
    // Idle, it holds nothing.
    home.ok(&["memory", "consolidate", "--wait"]);
    let held = inglenook::store::Store::open(&home.data()).unwrap();
    let asked = json!({"question": "What is my dog called?"});
    assert!(client.call("recall", asked.clone()).1.contains("Rex"));
    let (noted, _) = client.call("remember", json!({"text": "Rex is a poodle."}));
    let id = noted["id"].as_str().unwrap();
    assert!(held.read(|r| r.messages_by_id(&[id.parse().unwrap()])).is_ok(), "seen at once");
    let mut hasty = Client::start_with(&home, &["--wait", "0"], &[]);
    held.write(|_| {
        assert!(hasty.call("recall", asked).1.contains("Rex"));
        let refused = hasty.refused("remember", json!({"text": "Rex is old."}));
        assert!(refused.contains(&std::process::id().to_string()), "{refused}");
        Ok(())
    })
    .unwrap();
    hasty.call("remember", json!({"text": "Rex is old."}));
    let (planned, _) = hasty.call("forget", json!({"id": id}));
    hasty.call("forget", json!({"id": id, "confirm": planned["confirm"]}));
    assert!(held.read(|r| r.messages_by_id(&[id.parse().unwrap()])).is_err(), "gone there, too");
    hasty.end();
    client.end();
}

#[test]
fn a_policy_or_a_flag_limits_it() {
    let home = Home::new();
    let start = |policy: &str| {
        let policy = home.file("policy.toml", policy);
        let mut command = home.command(&["mcp"]);
        command.env("INGLENOOK_POLICY", policy).write_stdin("").output().unwrap()
    };
    for forbidden in ["mcp = false", "export = false", "export = true\nmcp = false"] {
        let output = start(forbidden);
        assert_eq!(output.status.code(), Some(5), "{forbidden}");
        assert!(output.stdout.is_empty());
        assert!(String::from_utf8_lossy(&output.stderr).contains("other programs can't use"));
    }
    for allowed in ["mcp = true", "export = false\nmcp = true", "pull = false"] {
        assert_eq!(start(allowed).status.code(), Some(0), "{allowed}");
    }

    let mut client = Client::start_with(&home, &["--read-only"], &[]);
    let names: Vec<&str> = client.tools.iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["recall", "search", "fetch", "recent", "themes", "why"]);
    let reply = client.ask("tools/call", json!({"name": "remember", "arguments": {"text": "x"}}));
    assert_eq!(reply["error"]["code"], -32602);
    client.end();

    let policy = home.file("policy.toml", "incognito = true");
    let env = [("INGLENOOK_POLICY", policy.to_str().unwrap())];
    let mut client = Client::start_with(&home, &[], &env);
    assert!(client.refused("remember", json!({"text": "x"})).contains("kept"));
    client.end();

    let policy = home.file("policy.toml", "audit = true");
    let env = [("INGLENOOK_POLICY", policy.to_str().unwrap())];
    let mut client = Client::start_with(&home, &[], &env);
    client.call("remember", json!({"text": "The user collects Meissen."}));
    let (planned, _) = client.call("forget", json!({"id": "m1"}));
    client.call("forget", json!({"id": "m1", "confirm": planned["confirm"]}));
    client.end();
    let log = std::fs::read_to_string(home.data().join("audit.jsonl")).unwrap();
    let what: Vec<Value> = log.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let what: Vec<&Value> = what.iter().map(|line| &line["what"]).collect();
    assert_eq!(what, ["remember", "forget"]);
    assert!(!log.contains("Meissen"));
}

#[test]
fn hostile_lines_and_memories_do_no_harm() {
    let home = Home::new();
    let hostile = "Tags \u{e0049}\u{e0067} and \u{202e}turned\u{1b}[31m \u{7}text";
    home.import(&[("user", hostile), ("user", &"long ".repeat(20_000))]);
    let mut client = Client::start(&home);
    let (whole, text) = client.call("fetch", json!({"id": "m1"}));
    assert_eq!(whole["text"], "Tags  and turned text");
    assert!(text.ends_with("Tags  and turned text"));
    let (whole, text) = client.call("fetch", json!({"id": "m2"}));
    assert_eq!(whole["is_cut"], true);
    assert!(text.len() < 25_000);
    for line in ["", "nonsense", "[]", "{\"jsonrpc\":\"2.0\",\"id\":1}", "\u{0}", "{\"a\":"] {
        client.send(line);
    }
    for _ in 0..5 {
        assert!(client.next()["error"]["code"].is_i64());
    }
    client.send(&"x".repeat(5 << 20));
    assert_eq!(client.next()["error"]["code"], -32600);
    for arguments in [
        json!({"question": ""}),
        json!({"question": 3}),
        json!({"question": "x".repeat(5_000)}),
        json!({"question": "x", "budget_tokens": 1e300}),
        json!({"question": "x", "budget_tokens": -1}),
        json!({"question": "x", "more": true}),
    ] {
        assert!(client.refused("recall", arguments).contains("don't fit"));
    }
    for at in ["tomorrow", "2099-01-01", "2026-11-14T09:30:00"] {
        client.refused("remember", json!({"text": "x", "at": at}));
    }
    client.refused("remember", json!({"text": " \n "}));
    for id in ["m0", "m-1", "m99999999999999999999", "s", "🦀1", "c1; DROP TABLE message"] {
        client.refused("fetch", json!({"id": id}));
        client.refused("why", json!({"id": id}));
        client.refused("forget", json!({"id": id}));
    }
    for query in ["\"", "* OR 1", "NEAR(", "\u{0}", "'; --", "🦀"] {
        client.call("search", json!({"query": query}));
        client.call("recall", json!({"question": query}));
    }
    client.end();
}

#[test]
fn a_memory_that_cannot_be_read_is_named_to_the_agent() {
    let home = Home::new();
    home.import(&[("user", "hello")]);
    let passphrase = home.file("passphrase", "correct horse battery\n");
    let encrypted = home
        .command(&["memory", "encrypt"])
        .env("INGLENOOK_PASSPHRASE_FILE", &passphrase)
        .output()
        .unwrap();
    assert!(encrypted.status.success());
    let mut client = Client::start(&home);
    let refused = client.refused("recall", json!({"question": "what did I say?"}));
    assert!(
        refused.contains("hint: ") && refused.contains("INGLENOOK_PASSPHRASE_FILE"),
        "{refused}"
    );
    let reply = client.ask("resources/list", json!({}));
    assert_eq!(reply["error"]["code"], -32603, "{reply}");
    client.end();
    let env = [("INGLENOOK_PASSPHRASE_FILE", passphrase.to_str().unwrap())];
    let mut client = Client::start_with(&home, &[], &env);
    client.call("fetch", json!({"id": "m1"}));
    client.end();
}
