//! Canaries: words that were said, imported, edited, corrected and asked about in every way, and then forgotten.
//!
//! `INGLENOOK_CANARIES=200` tries so many; `INGLENOOK_CANARIES_SEED` others.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use serde_json::json;
use unicode_normalization::UnicodeNormalization as _;

use crate::PROGRAM;
use crate::home::Home;

/// As many share a memory.
const AT_ONCE: usize = 10;

/// Two halves of seven letters, and what stands between them.
struct Canary {
    halves: [String; 2],
    between: &'static str,
    /// Only in chats of its own, so that these can be deleted.
    alone: bool,
}

impl Canary {
    fn new(rng: &mut ChaCha8Rng) -> Self {
        let mut half = || -> String { (0..7).map(|_| rng.random_range('a'..='z')).collect() };
        let halves = [half(), half()];
        let between = ["", "", "é", "ß", "'", "-", " "].choose(rng).copied().unwrap_or_default();
        Self { halves, between, alone: rng.random_bool(0.3) }
    }

    fn plain(&self) -> String {
        self.halves.join(self.between)
    }

    /// As somebody may write it, so that it reads the same.
    fn written(&self, rng: &mut ChaCha8Rng) -> String {
        let [a, b] = &self.halves;
        let plain = self.plain();
        match rng.random_range(0..7) {
            0 => plain.to_uppercase(),
            1 => plain.nfd().collect(),
            2 => format!("{}{}", a[..1].to_uppercase(), &plain[1..]),
            3 if self.between == "'" => format!("{a}’{b}"),
            3 if self.between == "-" => format!("{a}\u{2010}{b}"),
            4 if self.between.is_empty() => format!("{a}-\n{b}"),
            5 => plain.chars().map(full_width).collect(),
            _ => plain,
        }
    }

    /// Whether any file still holds one of the halves, in ASCII or full width, in whatever case.
    fn files(&self, folder: &Path) -> Vec<String> {
        let wide = self.halves.clone().map(|half| half.chars().map(full_width).collect());
        let needles = [self.halves.clone(), wide].concat();
        let mut found = Vec::new();
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                found.extend(self.files(&path));
                continue;
            }
            let mut bytes = fs::read(&path).unwrap();
            bytes.make_ascii_lowercase();
            found.extend(
                needles
                    .iter()
                    .filter(|needle| memchr(&bytes, needle.as_bytes()))
                    .map(|needle| format!("{needle} in {}", path.display())),
            );
        }
        found
    }
}

fn memchr(bytes: &[u8], needle: &[u8]) -> bool {
    bytes.windows(needle.len()).any(|window| window == needle)
}

fn full_width(c: char) -> char {
    if c.is_ascii_lowercase() { char::from_u32(u32::from(c) + 0xfee0).unwrap() } else { c }
}

/// Told by the person, in an import by its owner, another speaker or the assistant, or as the name of the file.
fn say(home: &Home, canary: &Canary, rng: &mut ChaCha8Rng, n: usize) -> String {
    let word = canary.written(rng);
    let text = [
        format!("My code word is {word}."),
        format!("I moved to {word} in March, and my dog is called Max."),
        format!("My boss {word} gave me a raise today"),
        format!("we had dinner at {word} last night, it was lovely, and Sara came along too"),
        format!("Tell me a joke about {word}"),
    ];
    let text = text.choose(rng).unwrap();
    if !canary.alone && rng.random_bool(0.5) {
        home.ok(&["ask", text]);
        return format!("{text:?}");
    }
    let mut line = json!({"session": format!("chat {n}"), "role": "user", "content": text,
        "created_at": "2026-11-16T10:00:00+01:00"});
    match rng.random_range(0..4) {
        0 => line["role"] = json!("assistant"),
        1 => line["speaker"] = json!("Tom"),
        2 => line["speaker"] = json!(word.replace("-\n", "")),
        _ => {}
    }
    let name = if rng.random_bool(0.2) {
        format!("{}-{n}.jsonl", canary.plain())
    } else {
        format!("{n}.jsonl")
    };
    let asked = json!({"session": line["session"], "role": "user", "content": "What was it called?",
        "created_at": "2026-11-16T09:59:00+01:00"});
    let path = home.file(&name, format!("{asked}\n{line}\n"));
    home.ok(&["import", path.to_str().unwrap()]);
    fs::remove_file(path).unwrap();
    format!("{name}: {line}")
}

/// Ids of what a search finds, by their first letter.
fn ids(home: &Home, of: &str, level: char) -> Vec<String> {
    let found = home.ok(&["memory", "search", "-k", "30", of]);
    let words = found.split(|c: char| !c.is_alphanumeric());
    let is_id = |word: &&str| {
        word.strip_prefix(level)
            .is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    };
    words.filter(is_id).map(str::to_owned).collect()
}

/// One thing that people do with what is remembered. Not all of it is possible with each canary.
fn work(home: &Home, canary: &Canary, rng: &mut ChaCha8Rng) {
    let word = canary.written(rng).replace("-\n", "");
    let fact = ids(home, &canary.plain(), 's');
    match (rng.random_range(0..7), fact.first()) {
        (0, Some(fact)) => {
            home.run(&["memory", "edit", fact, &format!("The word was {word}")]);
        }
        (1, Some(fact)) => {
            home.run(&["memory", "edit", fact, &format!("The user likes {word} best")]);
            home.run(&["memory", "edit", fact, "The user likes tea"]);
        }
        (2, Some(fact)) => {
            home.run(&["memory", "edit", fact, &format!("The user knows {word}")]);
            home.run(&["memory", "undo"]);
        }
        (3, _) => drop(home.run(&["ask", &format!("What did I say about {word}?")])),
        (4, _) => {
            home.run(&["ask", &format!("Actually it's not {word} any more, it's Lund.")]);
        }
        (5, _) => {
            if let Some(theme) = ids(home, &canary.plain(), 't').first() {
                home.run(&["memory", "edit", theme, &format!("All about {word}")]);
            }
        }
        (6, _) => {
            if let Some(episode) = ids(home, &canary.plain(), 'e').first() {
                home.run(&[
                    "memory",
                    "edit",
                    episode,
                    &format!("It was about {word}."),
                    "--title",
                    &word,
                ]);
            }
        }
        _ => {}
    }
}

/// Forgets it; once in three times the program is killed meanwhile, and asked again.
fn forget(home: &Home, canary: &Canary, rng: &mut ChaCha8Rng) -> String {
    let word = canary.written(rng).replace("-\n", "");
    let way = if rng.random_bool(0.3) { "--redact" } else { "--match" };
    let args = ["memory", "forget", way, &word, "--yes"];
    let mut told = format!("{args:?}");
    if rng.random_bool(0.33) {
        let mut child = std::process::Command::new(PROGRAM)
            .args(args)
            .env("INGLENOOK_HOME", home.data())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let wait = rng.random_range(1..80);
        std::thread::sleep(Duration::from_millis(wait));
        child.kill().unwrap();
        child.wait().unwrap();
        write!(told, " killed after {wait} ms").unwrap();
    }
    let output = home.run(&args);
    told + &String::from_utf8_lossy(&output.stdout) + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn no_canary_outlives_its_forgetting() {
    let number = |name: &str, or: u64| {
        std::env::var(name).ok().map_or(or, |n| n.parse().unwrap_or_else(|e| panic!("{name}: {e}")))
    };
    let n_canaries = usize::try_from(number("INGLENOOK_CANARIES", 10)).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(number("INGLENOOK_CANARIES_SEED", 26));
    let (mut left, mut n_seen) = (Vec::new(), 0);
    for batch in 0..n_canaries.div_ceil(AT_ONCE) {
        let home = Home::new();
        let n_here = AT_ONCE.min(n_canaries - batch * AT_ONCE);
        let canaries: Vec<Canary> = (0..n_here).map(|_| Canary::new(&mut rng)).collect();
        let mut said = vec![String::new(); n_here];
        for (n, (canary, said)) in canaries.iter().zip(&mut said).enumerate() {
            *said += &say(&home, canary, &mut rng, 2 * n);
            if rng.random_bool(0.3) {
                *said += &say(&home, canary, &mut rng, 2 * n + 1);
            }
        }
        home.ok(&["memory", "consolidate", "--wait"]);
        for canary in canaries.iter().filter(|canary| !canary.alone) {
            work(&home, canary, &mut rng);
            work(&home, canary, &mut rng);
        }
        if rng.random_bool(0.5) {
            home.ok(&["memory", "consolidate", "--wait"]);
        }
        for (canary, said) in canaries.iter().zip(said) {
            // A reply that says the same as what was forgotten goes with it, and these often do.
            n_seen += usize::from(!canary.files(&home.data()).is_empty());
            let told = forget(&home, canary, &mut rng);
            let found = canary.files(&home.data());
            if !found.is_empty() {
                left.push(format!("batch {batch}, {said}: {found:?}\n{told}"));
            }
        }
        home.ok(&["memory", "consolidate", "--wait"]);
        assert!(home.ok(&["memory", "verify"]).contains("Sound"));
        // Nor does any come back.
        for canary in &canaries {
            let found = canary.files(&home.data());
            assert!(found.is_empty() || !left.is_empty(), "{}: {found:?}", canary.plain());
        }
    }
    assert!(n_seen * 2 >= n_canaries, "only {n_seen} of {n_canaries} were there to be forgotten");
    assert!(left.is_empty(), "{} of {n_canaries}:\n{}", left.len(), left.join("\n"));
}
