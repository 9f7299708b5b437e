//! One server for many people: each has a folder, a token, and a memory that nobody else learns of.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::PROGRAM;
use super::client::{Got, Server};
use super::guarded::story;
use super::home::Home;

/// A folder of people, and the server's own home beside it.
struct People(Home);

impl People {
    fn new(names: &[&str]) -> Self {
        let people = Self(Home::new());
        for name in names {
            fs::create_dir_all(people.home(name)).unwrap();
        }
        people
    }

    fn home(&self, name: &str) -> PathBuf {
        self.0.dir.path().join("people").join(name)
    }

    fn serve(&self, args: &[&str]) -> Served<'_> {
        let folder = self.home("");
        let all = [&["--people", folder.to_str().unwrap()], args].concat();
        Served { people: self, server: Server::start_with(&self.0, &all, &[]) }
    }

    fn token(&self, name: &str) -> String {
        fs::read_to_string(self.home(name).join("serve-token")).unwrap().trim().to_owned()
    }

    fn run(&self, name: &str, args: &[&str], env: &[(&str, &str)]) -> Output {
        let mut command = Command::new(PROGRAM);
        command.args(args).env_clear().envs(env.iter().copied());
        command.env("INGLENOOK_HOME", self.home(name)).env("HOME", self.home("")).output().unwrap()
    }

    /// What a command says on a person's home.
    #[track_caller]
    fn ok(&self, name: &str, args: &[&str]) -> String {
        let output = self.run(name, args, &[]);
        assert!(output.status.success(), "{name} {args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}

struct Served<'a> {
    people: &'a People,
    server: Server,
}

impl Served<'_> {
    fn post(&self, token: &str, path: &str, body: &Value) -> Got {
        let request = self.server.request_with(token, "POST", path, "", &body.to_string());
        self.server.got(&request)
    }

    fn models(&self, token: &str) -> Got {
        self.server.got(&self.server.request_with(token, "GET", "/v1/models", "", ""))
    }

    fn say(&self, name: &str, text: &str, mut fields: Value) -> Got {
        fields["model"] = "inglenook".into();
        fields["messages"] = json!([{"role": "user", "content": text}]);
        self.post(&self.people.token(name), "/v1/chat/completions", &fields)
    }

    /// With memory: the answer with its evidence.
    #[track_caller]
    fn tell(&self, name: &str, text: &str) -> String {
        let got = self.say(name, text, json!({"memory": true}));
        assert_eq!(got.status, 200, "{name}: {got:?}");
        got.body
    }

    #[track_caller]
    fn agent(&self, name: &str, tool: &str, arguments: &Value) -> Value {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}});
        let mut got = self.post(&self.people.token(name), "/mcp", &message).json();
        assert_eq!(got["result"]["isError"], false, "{got}");
        got["result"]["structuredContent"].take()
    }
}

#[track_caller]
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_mins(2);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what} does not come true");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn two_people_never_learn_of_each_other() {
    let people = People::new(&["ana", "bo"]);
    let served = people.serve(&[]);
    for name in ["ana", "bo"] {
        let token = fs::metadata(people.home(name).join("serve-token")).unwrap();
        assert_eq!(token.permissions().mode() & 0o777, 0o600);
    }
    served.tell("ana", "My sister Clara lives in Ghent.");
    served.tell("bo", "My locker code is 4711.");
    served.agent("bo", "remember", &json!({"text": "Bo's dog is called Quaver."}));
    let questions = ["Where does Clara live?", "What is my locker code?", "Who is Quaver?"];
    for question in questions {
        let (ana, bo) = (served.tell("ana", question), served.tell("bo", question));
        assert!(!ana.contains("4711") && !ana.contains("dog"), "{ana}");
        assert!(!bo.contains("Ghent"), "{bo}");
    }
    assert!(served.tell("ana", questions[0]).contains("Ghent"));
    assert!(served.tell("bo", questions[1]).contains("4711"));
    let search = |name, what| served.agent(name, "search", &json!({"query": what})).to_string();
    for (name, own, others) in [("ana", "Ghent", "4711"), ("bo", "Quaver", "Ghent")] {
        assert!(search(name, own).contains(own), "{name}");
        let found = search(name, others);
        assert!(!found.contains(if name == "ana" { "4711" } else { "Ghent" }), "{found}");
        let recent = served.agent(name, "recent", &json!({})).to_string();
        assert!(!recent.contains(if name == "ana" { "4711" } else { "Ghent" }), "{recent}");
    }
    // What one sent is read anew for the other: neither its text nor its time is shared.
    let cached = |name: &str| {
        let reply = served.say(name, "Tell me a story of the sea.", json!({"max_tokens": 3}));
        reply.json()["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap()
    };
    assert_eq!((cached("ana"), cached("bo")), (0, 0));
    assert!(cached("ana") > 10 && cached("bo") > 10);
    // The memory of both is built, without a further request.
    for name in ["ana", "bo"] {
        wait_until("a fact", || {
            let stats: Value =
                serde_json::from_str(&people.ok(name, &["memory", "stats", "--json"])).unwrap();
            stats["semantics"].as_u64() > Some(0)
        });
    }
    // Also after one forgets.
    people.ok("bo", &["memory", "forget", "--match", "4711", "--yes"]);
    assert!(!served.tell("bo", questions[1]).contains("4711"));
    assert_eq!(cached("bo"), 0, "what was kept before the forgetting is gone");
    assert!(cached("ana") > 10);
    assert!(served.tell("ana", questions[0]).contains("Ghent"));
    let metrics = served.server.request_with(&people.token("bo"), "GET", "/metrics", "", "");
    let metrics = served.server.got(&metrics).body;
    assert!(metrics.contains("inglenook_requests_total") && !metrics.contains("ana"), "{metrics}");
    served.server.end();
    let all = |name| people.ok(name, &["export"]);
    assert!(all("ana").contains("Ghent") && !all("ana").contains("dog"));
    assert!(all("bo").contains("Quaver") && !all("bo").contains("Ghent"));
    for name in ["ana", "bo"] {
        people.ok(name, &["memory", "verify"]);
    }
}

#[test]
fn one_persons_requests_hold_up_nobody_else() {
    let people = People::new(&["ana", "bo"]);
    let served = people.serve(&[]);
    let server = &served.server;
    let request = server.request_with(
        &people.token("ana"),
        "POST",
        "/v1/chat/completions",
        "",
        &story(false),
    );
    let anas: Vec<_> = (0..20)
        .map(|_| {
            let mut client = server.connect();
            client.write_all(&request).unwrap();
            client
        })
        .collect();
    let gauges = || {
        let metrics = server.request_with(&people.token("bo"), "GET", "/metrics", "", "");
        let metrics = server.got(&metrics).body;
        ["running", "waiting"].map(|name| {
            let name = format!("inglenook_requests_{name} ");
            let line = metrics.lines().find_map(|line| line.strip_prefix(&name)).unwrap();
            line.parse::<u64>().unwrap()
        })
    };
    wait_until("ana has half of the places", || gauges() == [4, 16]);
    let refused = server.got(&request);
    assert_eq!(refused.status, 429, "{refused:?}");
    assert!(refused.head.to_lowercase().contains("retry-after: 1"));
    // Of hers none is answered before his.
    assert_eq!(served.say("bo", "Hi!", json!({"max_tokens": 3})).status, 200);
    served.tell("bo", "My locker code is 4711.");
    assert_eq!(gauges(), [4, 16]);
    drop(anas);
    wait_until("nobody waits", || gauges() == [0, 0]);
    served.server.end();
}

#[test]
fn nobody_is_told_who_else_there_is() {
    let people = People::new(&["ana", "bo", "bo/deeper", ".hidden"]);
    fs::write(people.home("README"), "no person").unwrap();
    std::os::unix::fs::symlink(people.home("ana"), people.home("link")).unwrap();
    let served = people.serve(&[]);
    let ana = people.token("ana");
    assert!(!people.home(".hidden").join("serve-token").exists());
    assert!(!people.home("bo/deeper").join("serve-token").exists());
    let wrong: String = ana.chars().rev().collect();
    let refused: BTreeSet<String> = [wrong.as_str(), &ana[1..], "", "ana", "../ana"]
        .into_iter()
        .map(|token| {
            let got = served.models(token);
            assert_eq!(got.status, 401, "{token}");
            let head: Vec<&str> = got.head.lines().filter(|l| !l.starts_with("date:")).collect();
            format!("{head:?} {}", got.body)
        })
        .collect();
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert_eq!(served.models(&ana).status, 200);
    assert!(
        people.0.fails(&["serve", "--people", "/nowhere", "--port", "0"], 1).contains("nowhere")
    );
    people.0.fails(&["serve", "--people", ".", "--token-file", "x"], 2);
}

/// Memories that the server has open.
fn n_open(served: &Served<'_>) -> usize {
    let fds = fs::read_dir(format!("/proc/{}/fd", served.server.pid())).unwrap();
    let open = fds.filter_map(|fd| fs::read_link(fd.unwrap().path()).ok());
    open.filter(|file| file.ends_with("memory.db")).collect::<BTreeSet<_>>().len()
}

#[test]
fn more_people_than_memories_may_be_open_are_served() {
    let names: Vec<String> = (0..14).map(|n| format!("p{n}")).collect();
    let people = People::new(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let served = people.serve(&["--open", "10"]);
    for (n, name) in names.iter().enumerate() {
        served.tell(name, &format!("My friend is called Robin{n}."));
    }
    assert_eq!(n_open(&served), 10);
    // Many at once, again and again.
    std::thread::scope(|scope| {
        for (n, name) in names.iter().enumerate() {
            let served = &served;
            scope.spawn(move || {
                for _ in 0..2 {
                    let said = served.tell(name, "What is my friend called?");
                    assert!(said.contains(&format!("Robin{n}.")), "{name}: {said}");
                    let others = said.matches("Robin").count();
                    assert_eq!(others, said.matches(&format!("Robin{n}")).count(), "{said}");
                }
            });
        }
    });
    wait_until("what is too much is closed", || n_open(&served) <= 10);
    served.server.end();
    for name in &names {
        people.ok(name, &["memory", "verify"]);
    }
}

#[test]
fn who_comes_is_found_and_who_goes_is_served_no_longer() {
    let people = People::new(&["ana"]);
    let served = people.serve(&[]);
    served.tell("ana", "My sister Clara lives in Ghent.");
    let ana = people.token("ana");
    fs::create_dir(people.home("bo")).unwrap();
    wait_until("bo has a token", || people.home("bo").join("serve-token").exists());
    wait_until("bo is served", || served.models(&people.token("bo")).status == 200);
    served.tell("bo", "My locker code is 4711.");
    let away = people.0.dir.path().join("ana");
    fs::rename(people.home("ana"), &away).unwrap();
    wait_until("ana is not", || served.models(&ana).status == 401);
    assert!(!people.home("ana").exists(), "nothing is made of what was removed");
    // Another one of this name gets nothing of hers.
    fs::create_dir(people.home("ana")).unwrap();
    wait_until("another token", || people.home("ana").join("serve-token").exists());
    wait_until("another ana", || served.models(&people.token("ana")).status == 200);
    assert!(people.token("ana") != ana && served.models(&ana).status == 401);
    assert!(!served.tell("ana", "Where does Clara live?").contains("Ghent"));
    fs::rename(people.home("ana"), people.0.dir.path().join("other")).unwrap();
    fs::rename(&away, people.home("ana")).unwrap();
    wait_until("ana is back", || served.models(&ana).status == 200);
    assert!(served.tell("ana", "Where does Clara live?").contains("Ghent"));
    // A copy has her token: whose is it?
    let mut copy = Command::new("cp");
    copy.arg("-a").args([people.home("ana"), people.home("copy")]);
    assert!(copy.status().unwrap().success());
    wait_until("neither is let in", || served.models(&ana).status == 401);
    fs::remove_file(people.home("copy").join("serve-token")).unwrap();
    wait_until("she is, again", || served.models(&ana).status == 200);
    wait_until("the copy has its own", || people.home("copy").join("serve-token").exists());
    assert_ne!(people.token("copy"), ana);
    // A token that others can read lets in nobody.
    let file = people.home("ana").join("serve-token");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    wait_until("a token for all is none", || served.models(&ana).status == 401);
    served.server.end();
}

#[test]
fn what_a_killed_server_had_answered_is_there_after_a_restart() {
    let people = People::new(&["ana", "bo", "cy"]);
    let mut told: Vec<(&str, String)> = Vec::new();
    for round in 0..3 {
        let served = people.serve(&[]);
        std::thread::scope(|scope| {
            let threads = ["ana", "bo", "cy"].map(|name| {
                let served = &served;
                scope.spawn(move || {
                    let mut told = Vec::new();
                    for n in 0.. {
                        let fact = format!("My friend Robin{round}x{n}{name} keeps bees.");
                        if served.say(name, &fact, json!({"memory": true})).status != 200 {
                            break;
                        }
                        told.push((name, fact));
                        if n == 3 && name == "bo" {
                            // In the middle of what the others are at.
                            let pid = served.server.pid().to_string();
                            Command::new("kill").args(["-KILL", &pid]).status().unwrap();
                        }
                    }
                    told
                })
            });
            told.extend(threads.into_iter().flat_map(|thread| thread.join().unwrap()));
        });
    }
    assert!(told.len() >= 12);
    let served = people.serve(&[]);
    served.tell("ana", "Who keeps bees?");
    served.server.end();
    for name in ["ana", "bo", "cy"] {
        let kept = people.ok(name, &["export"]);
        people.ok(name, &["memory", "verify"]);
        for (of, fact) in &told {
            assert_eq!(kept.contains(fact.as_str()), *of == name, "{of} told {fact:?}, {name}");
        }
    }
}

#[test]
fn a_home_that_cannot_be_opened_hurts_only_its_own() {
    let people = People::new(&["ana", "damaged", "encrypted", "held", "wrong"]);
    people.0.file("passphrase", "a long enough passphrase\n");
    let passphrase = people.0.dir.path().join("passphrase");
    let env = [("INGLENOOK_PASSPHRASE_FILE", passphrase.to_str().unwrap())];
    assert!(people.run("encrypted", &["memory", "encrypt"], &env).status.success());
    fs::write(people.home("damaged").join("memory.db"), [7_u8; 5_000]).unwrap();
    fs::write(people.home("wrong").join("config.toml"), "model = 3\n").unwrap();
    let held = fs::File::create(people.home("held").join("memory.lock")).unwrap();
    held.lock().unwrap();
    // The server's own passphrase is not theirs.
    let folder = people.home("");
    let args = ["--people", folder.to_str().unwrap()];
    let served = Served { people: &people, server: Server::start_with(&people.0, &args, &env) };
    let check = |name: &str, status: u16, why: &str| {
        for fields in [json!({"memory": true}), json!({"max_tokens": 3})] {
            let got = served.say(name, "Hi!", fields);
            let message = got.json()["error"]["message"].as_str().unwrap().to_owned();
            assert_eq!(got.status, status, "{name}: {message}");
            assert!(message.contains(why), "{name}: {message}");
            let others = ["ana", "damaged", "encrypted", "held", "wrong"];
            let others = others.iter().filter(|other| **other != name);
            let paths: Vec<_> = others.map(|o| format!("people/{o}")).collect();
            assert!(!paths.iter().any(|path| message.contains(path)), "{message}");
            served.tell("ana", "Hi!");
        }
        let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
        assert_eq!(served.post(&people.token(name), "/mcp", &list).status, status, "{name}");
    };
    check("damaged", 500, "not an SQLite database");
    check("encrypted", 500, "encrypted");
    check("wrong", 500, "line 1");
    check("held", 503, "--wait");
    held.unlock().unwrap();
    served.tell("held", "My locker code is 4711.");
    served.server.end();
    assert_eq!(fs::read(people.home("damaged").join("memory.db")).unwrap(), [7_u8; 5_000]);
    assert!(people.ok("held", &["export"]).contains("4711"));
}

/// Each through a folder of their own, which other devices of theirs have, too.
#[test]
fn a_memory_that_is_open_exchanges_with_its_persons_other_devices() {
    let people = People::new(&["ana", "bo"]);
    let place = people.0.dir.path().join("shared").display().to_string();
    let said = people.ok("ana", &["sync", "init", &place, "--name", "server"]);
    let code = said.lines().map(str::trim).find(|line| line.len() == 34).unwrap();
    people.0.ok(&["sync", "init", &place, "--name", "phone", "--code", code]);
    let served = people.serve(&[]);
    served.tell("bo", "My locker code is 4711.");
    served.tell("ana", "My sister Clara lives in Ghent.");
    wait_until("it comes to her phone", || {
        people.0.ok(&["sync", "now"]);
        people.0.ok(&["export"]).contains("Ghent")
    });
    assert!(!people.0.ok(&["export"]).contains("4711"));
    people.0.import(&[("user", "My brother Tom is a baker in Lund.")]);
    people.0.ok(&["sync", "now"]);
    // The next exchange is some seconds after she says something, or minutes; at the end there is one.
    served.tell("ana", "Good morning!");
    served.server.end();
    assert!(people.ok("ana", &["export"]).contains("Lund"));
    let status: Value =
        serde_json::from_str(&people.ok("ana", &["sync", "status", "--json"])).unwrap();
    assert_eq!((&status["to_send"], &status["to_read"]), (&json!(0), &json!(0)), "{status}");
}
