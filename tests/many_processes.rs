//! One home, many processes: an open chat, `ask`, `import` and `memory` commands at once. Nobody is refused, nothing that was
//! acknowledged is lost, what is forgotten is gone everywhere, and whoever is killed is taken over.
//!
//! `INGLENOOK_PROCESSES_SECONDS=60` lets them go on for a minute; the seed is printed, `INGLENOOK_PROCESSES_SEED=…` repeats its choices.
#![cfg(all(unix, feature = "starter"))]
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

#[path = "support/rng.rs"]
mod rng;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::num::NonZeroU16;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use expectrl::process::unix::Signal;
use expectrl::session::OsSession;
use rng::Rng;

/// A program that shows nothing for this long is broken.
const PATIENCE: Duration = Duration::from_mins(1);

struct Home(tempfile::TempDir);

impl Home {
    /// Rules write and read: what is tried here is how processes share a memory, not a model.
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        std::fs::create_dir(home.path().join("home")).unwrap();
        let config = "[memory]\nwriter = \"extractive\"\n[recall]\nreader = \"extractive\"\n";
        std::fs::write(home.path().join("home/config.toml"), config).unwrap();
        home
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_inglenook"));
        command.args(args).env("INGLENOOK_HOME", self.path().join("home")).env("NO_COLOR", "1");
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).stdin(Stdio::null()).output().unwrap()
    }

    #[track_caller]
    fn ok(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Files that hold this text.
    fn files_with(&self, text: &str) -> Vec<String> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(self.path().join("home")).unwrap().flatten() {
            let holds = std::fs::read(entry.path())
                .is_ok_and(|bytes| bytes.windows(text.len()).any(|part| part == text.as_bytes()));
            if holds {
                found.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        found
    }

    fn import_file(&self, name: &str, texts: &[String]) -> String {
        let mut lines = String::new();
        for (i, text) in texts.iter().enumerate() {
            let at = format!("2026-10-01T10:{:02}:{:02}Z", i / 60 % 60, i % 60);
            let line = serde_json::json!({"role": "user", "content": text, "created_at": at});
            writeln!(lines, "{line}").unwrap();
        }
        let file = self.path().join(format!("{name}.jsonl"));
        std::fs::write(&file, lines).unwrap();
        file.to_str().unwrap().to_owned()
    }
}

/// A chat in a pseudo-terminal.
struct Chat {
    session: OsSession,
    screen: vt100::Parser,
}

impl Chat {
    fn open(home: &Home) -> Self {
        let mut command = home.command(&[]);
        command.env("TERM", "xterm-256color").env("LC_ALL", "C");
        let mut session = expectrl::Session::spawn(command).unwrap();
        session.get_process_mut().set_window_size(100, 40).unwrap();
        let (rows, columns) = (NonZeroU16::new(40).unwrap(), NonZeroU16::new(100).unwrap());
        let mut chat = Self { session, screen: vt100::Parser::new(rows, columns, 0) };
        chat.until("the model", |screen| screen.contains("starter"));
        chat
    }

    fn contents(&mut self) -> String {
        let mut buffer = vec![0; 65_536];
        while let Ok(n @ 1..) = self.session.try_read(&mut buffer) {
            self.screen.process(&buffer[..n]);
        }
        self.screen.screen().contents()
    }

    #[track_caller]
    fn until(&mut self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        let since = Instant::now();
        loop {
            let contents = self.contents();
            if wanted(&contents) {
                return contents;
            }
            assert!(since.elapsed() < PATIENCE, "no {what} on the screen:\n{contents}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn say(&mut self, text: &str) {
        self.session.write_all(text.as_bytes()).unwrap();
        self.until("typed text", |screen| screen.contains(text));
        self.session.write_all(b"\r").unwrap();
    }

    /// Says that something of the person's is called `name`, which has to be noted.
    fn tell(&mut self, what: &str, name: &str) -> String {
        let text = format!("My {what} is called {name}.");
        self.say(&text);
        let noted = format!("our {what} is called {name}");
        self.until(&noted, |screen| screen.contains(&noted));
        text
    }

    fn kill(mut self) {
        let process = self.session.get_process_mut();
        process.kill(Signal::SIGKILL).unwrap();
        process.wait().unwrap();
    }

    fn leave(mut self) {
        self.session.write_all(b"\x04").unwrap();
        let since = Instant::now();
        while self.session.get_process_mut().is_alive().unwrap_or(false) {
            self.contents();
            assert!(since.elapsed() < PATIENCE, "the chat does not end");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().and_then(|n| n.parse().ok())
}

/// What was acknowledged, and how often each command ran.
#[derive(Default)]
struct Kept {
    texts: Vec<String>,
    n_runs: BTreeMap<&'static str, usize>,
}

#[track_caller]
fn check(home: &Home, texts: &[String]) {
    let verify = home.run(&["memory", "verify"]);
    assert!(verify.status.success(), "{verify:?}");
    let said = home.ok(&["export"]);
    let lost: Vec<&String> = texts.iter().filter(|text| !said.contains(text.as_str())).collect();
    assert!(lost.is_empty(), "lost: {lost:?}");
}

/// The `memory` commands, one after the other.
fn tend(home: &Home, round: usize, has_to_work: &mut dyn FnMut(&'static str, Output)) {
    let secret = format!("Forget{round}x");
    let file =
        home.import_file(&format!("secret-{round}"), &[format!("My pet {secret} is a newt.")]);
    has_to_work("import a secret", home.run(&["import", &file]));
    has_to_work("consolidate", home.run(&["memory", "consolidate", "--wait"]));
    let tree: serde_json::Value =
        serde_json::from_str(&home.ok(&["memory", "tree", "--json"])).unwrap_or_default();
    if let Some(theme) = tree.pointer("/0/id").or(tree.pointer("/themes/0/id")) {
        let theme = theme.as_str().unwrap_or_default();
        // The worker may have emptied it since.
        if home.run(&["memory", "edit", theme, "a theme"]).status.code() != Some(1) {
            has_to_work("undo", home.run(&["memory", "undo"]));
        }
    }
    has_to_work("forget", home.run(&["memory", "forget", "--match", &secret, "--yes"]));
    let backup = home.path().join(format!("backup-{round}.db"));
    has_to_work("backup", home.run(&["backup", backup.to_str().unwrap()]));
    std::fs::remove_file(backup).unwrap();
    has_to_work("verify", home.run(&["memory", "verify"]));
    has_to_work("stats", home.run(&["memory", "stats"]));
}

#[test]
fn four_processes_at_once_lose_nothing_and_nobody_is_refused() {
    let seconds = Duration::from_secs(number("INGLENOOK_PROCESSES_SECONDS").unwrap_or(6));
    let home = Home::new();
    let kept = Mutex::new(Kept::default());
    let mut chat = Chat::open(&home);
    let until = Instant::now() + seconds;
    let ran = |what: &'static str, output: &Output, texts: &[String]| {
        assert!(output.status.success(), "{what}: {output:?}");
        let mut kept = kept.lock().unwrap();
        kept.texts.extend_from_slice(texts);
        *kept.n_runs.entry(what).or_default() += 1;
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0.. {
                if n > 0 && Instant::now() >= until {
                    break;
                }
                let text = format!("My lucky word is Asked{n}x.");
                ran("ask", &home.run(&["ask", &text]), &[text]);
            }
        });
        scope.spawn(|| {
            for n in 0.. {
                if n > 0 && Instant::now() >= until {
                    break;
                }
                let texts: Vec<String> =
                    (0..5).map(|i| format!("My dog number {n} is called Kilo{n}x{i}.")).collect();
                let file = home.import_file(&format!("import-{n}"), &texts);
                ran("import", &home.run(&["import", &file]), &texts);
                // Not more than the worker can do.
                thread::sleep(Duration::from_millis(250));
            }
        });
        scope.spawn(|| {
            for n in 0.. {
                if n > 0 && Instant::now() >= until {
                    break;
                }
                tend(&home, n, &mut |what, output| ran(what, &output, &[]));
            }
        });
        for n in 0.. {
            if n > 0 && Instant::now() >= until {
                break;
            }
            let text = chat.tell(&format!("dog number {n}"), &format!("Typed{n}x"));
            let mut kept = kept.lock().unwrap();
            kept.texts.push(text);
            *kept.n_runs.entry("chat").or_default() += 1;
        }
    });
    let kept = kept.into_inner().unwrap();
    check(&home, &kept.texts);
    chat.leave();
    home.ok(&["memory", "consolidate", "--wait"]);
    check(&home, &kept.texts);
    let n_forgotten = kept.n_runs["forget"];
    for n in 0..n_forgotten {
        assert_eq!(home.files_with(&format!("Forget{n}x")), Vec::<String>::new());
    }
    println!("{seconds:?}: {} messages kept; {:?}", kept.texts.len(), kept.n_runs);
}

#[test]
fn what_another_process_forgets_leaves_the_open_chat_too() {
    let home = Home::new();
    let mut chat = Chat::open(&home);
    chat.tell("parrot", "Zanzibar");
    chat.tell("bike", "Comet");
    home.ok(&["memory", "forget", "--match", "Zanzibar", "--yes"]);
    let since = Instant::now();
    chat.until("end of the forgotten text", |screen| !screen.contains("Zanzibar"));
    println!("gone from the screen after {:?}", since.elapsed());
    assert_eq!(home.files_with("Zanzibar"), Vec::<String>::new());
    // Neither its window nor its memory has it; the rest of the chat is still there.
    chat.say("What is my parrot called?");
    chat.until("an answer", |screen| screen.contains("You have not told me that"));
    chat.say("What is my bike called?");
    chat.until("an answer", |screen| screen.matches("Comet").count() >= 3);
    // A chat that is deleted elsewhere is empty here, and the next message begins another.
    let sessions: serde_json::Value =
        serde_json::from_str(&home.ok(&["session", "list", "--json"])).unwrap();
    let id = sessions[0]["id"].as_str().unwrap().to_owned();
    home.ok(&["session", "delete", &id, "--yes"]);
    chat.until("an empty chat", |screen| !screen.contains("Comet"));
    let text = chat.tell("boat", "Kittiwake");
    chat.leave();
    assert_eq!(home.files_with("Comet"), Vec::<String>::new());
    check(&home, &[text]);
}

#[test]
fn the_chat_learns_what_others_add() {
    let home = Home::new();
    let mut chat = Chat::open(&home);
    home.ok(&["ask", "My cat is called Tipsy."]);
    chat.say("What is my cat called?");
    chat.until("what `ask` was told", |screen| screen.matches("Tipsy").count() >= 1);
    // A second chat, at the same time.
    let mut other = Chat::open(&home);
    other.tell("goat", "Brutus");
    chat.say("What is my goat called?");
    chat.until("what the other chat was told", |screen| screen.contains("Brutus"));
    other.leave();
    chat.leave();
}

#[test]
fn whoever_is_killed_is_taken_over() {
    let seed = number("INGLENOOK_PROCESSES_SEED").unwrap_or_else(|| {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap().subsec_nanos().into()
    });
    println!("INGLENOOK_PROCESSES_SEED={seed}");
    let n_rounds = number("INGLENOOK_PROCESSES_KILLS").unwrap_or(5) as usize;
    let mut rng = Rng(seed);
    let home = Home::new();
    let mut texts = Vec::new();
    let (mut n_takeovers, mut longest) = (0, Duration::ZERO);
    for round in 0..n_rounds {
        let mut chat = Chat::open(&home);
        texts.push(chat.tell(&format!("cat number {round}"), &format!("Typed{round}x")));
        let imported: Vec<String> =
            (0..60).map(|i| format!("My dog number {round} is called Kilo{round}x{i}.")).collect();
        let file = home.import_file(&format!("import-{round}"), &imported);
        // The chat's worker begins with it, while others come and are killed at some moment.
        home.ok(&["import", &file]);
        texts.extend(imported);
        let others = [
            &["memory", "consolidate", "--wait"][..],
            &["ask", "My lucky word is killed."],
            &["memory", "forget", "--match", "killed", "--yes"],
        ];
        let mut child = home
            .command(others[rng.below(3) as usize])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        thread::sleep(Duration::from_millis(rng.below(700)));
        child.kill().unwrap();
        child.wait().unwrap();
        if rng.below(2) == 0 {
            chat.kill();
        } else {
            chat.leave();
        }
        let since = Instant::now();
        home.ok(&["memory", "undo", "--wait", "1"]);
        longest = longest.max(since.elapsed());
        n_takeovers += 1;
        check(&home, &texts);
    }
    home.ok(&["memory", "consolidate", "--wait"]);
    check(&home, &texts);
    let stats: serde_json::Value =
        serde_json::from_str(&home.ok(&["memory", "stats", "--json"])).unwrap();
    assert_eq!((&stats["jobs_pending"], &stats["jobs_failed"]), (&0.into(), &0.into()), "{stats}");
    println!("{n_takeovers} takeovers, the longest within {longest:?}; {} messages", texts.len());
}
