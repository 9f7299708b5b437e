//! The program with real instruct models, as a person meets it: who speaks, what is remembered, what is not
//! made up. The models are fetched into a cache (`tests/fixtures/fetch-real-models.sh`).
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "support/home.rs"]
mod home;

use std::path::Path;
use std::process::Command;

use home::Home;
use inglenook::testing::skip;
use serde::Deserialize;
use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_inglenook");

/// Sixty messages of three people in six chats.
const TURNS: &str = include_str!("fixtures/speaking.jsonl");

/// A message.
#[derive(Deserialize)]
struct Turn {
    chat: usize,
    kind: Kind,
    text: String,
    /// Of a question about what was told: what a right answer contains, one of these; empty: it was never told, and
    /// the answer says so.
    expect: Option<Vec<String>>,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Kind {
    SmallTalk,
    World,
    Memory,
    Statement,
}

/// The model's file, or `None` with the reason on stderr: the registry is out of reach.
fn fetched(name: &str) -> Option<String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/fetch-real-models.sh");
    let output = Command::new(script).arg(name).output().unwrap();
    if output.status.success() {
        return Some(String::from_utf8(output.stdout).unwrap().trim().to_owned());
    }
    skip(&format!("{name} is not to be had: {}", String::from_utf8_lossy(&output.stderr)));
    None
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|w| w.chars().count() > 2);
    words.map(str::to_lowercase).collect()
}

/// Whether a sentence, not in quotation marks, says "I" or "my" and otherwise mostly what the person has said of
/// themself.
fn speaks_as_the_person(reply: &str, told: &[String]) -> bool {
    let unquoted: String =
        reply.split('“').map(|part| part.split_once('”').map_or(part, |(_, rest)| rest)).collect();
    unquoted.split_inclusive(['.', '!', '?', '\n']).any(|sentence| {
        let is_of_speaker =
            sentence.split(|c: char| !c.is_alphanumeric()).any(|w| matches!(w, "I" | "my" | "My"));
        let said = words(sentence);
        is_of_speaker
            && said.len() > 2
            && told.iter().any(|message| {
                let told = words(message);
                said.iter().filter(|word| told.contains(word)).count() * 3 > said.len() * 2
            })
    })
}

/// Plays all chats. Returns how many answers about what was told were right, and what was wrong. What a model knows
/// of the world is its own (and changes with the processor's rounding): it need only answer.
fn play(model: &str) -> (usize, Vec<String>) {
    let turns: Vec<Turn> = TURNS.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (mut n_right, mut wrong) = (0, Vec::new());
    for chat in turns.chunk_by(|a, b| a.chat == b.chat) {
        let home = Home::new();
        // Who speaks is known by then.
        let settings = home.file("settings.toml", "[chat]\nreply_tokens_max = 160\n");
        let settings = settings.to_str().unwrap();
        let mut told: Vec<String> = Vec::new();
        let mut session: Option<String> = None;
        for turn in chat {
            let mut args = vec!["--config", settings, "-m", model, "ask", "--json"];
            if let Some(session) = &session {
                args.extend(["--session", session]);
            }
            args.push(&turn.text);
            let reply: Value = serde_json::from_str(&home.ok(&args)).unwrap();
            if session.is_none() {
                let list: Value =
                    serde_json::from_str(&home.ok(&["session", "list", "--json"])).unwrap();
                session = list[0]["id"].as_str().map(str::to_owned);
            }
            told.push(turn.text.clone());
            let answer = reply["answer"].as_str().unwrap();
            let shown = format!("{} → {answer}", turn.text);
            assert!(!answer.trim().is_empty(), "{shown}");
            assert!(!speaks_as_the_person(answer, &told), "as the person: {shown}");
            if turn.kind == Kind::SmallTalk {
                let evidence = &reply["evidence"];
                for level in ["semantics", "episodes"] {
                    assert_eq!(evidence[level].as_array().map_or(0, Vec::len), 0, "{shown}");
                }
            }
            let lower = answer.to_lowercase();
            let is_untold =
                lower.contains("have not told me") || lower.starts_with("i am not sure");
            assert!(turn.kind != Kind::World || !is_untold, "{shown}");
            let Some(expect) = turn.expect.as_ref().filter(|_| turn.kind == Kind::Memory) else {
                continue;
            };
            let is_right = if expect.is_empty() {
                is_untold
            } else {
                expect.iter().any(|words| lower.contains(words))
            };
            n_right += usize::from(is_right);
            if !is_right {
                wrong.push(shown);
            }
        }
    }
    (n_right, wrong)
}

/// Of 28 questions about what was told.
fn check(name: &str, n_right_min: usize) {
    let Some(model) = fetched(name) else { return };
    let (n_right, wrong) = play(&model);
    assert!(n_right >= n_right_min, "{n_right}: {wrong:#?}");
}

#[test]
fn a_model_of_half_a_billion_parameters_knows_who_speaks() {
    check("qwen", 24);
}

#[test]
fn a_small_model_knows_who_speaks() {
    check("smollm2", 21);
}
