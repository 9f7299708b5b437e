//! `kill -9` at a hundred random moments of import, worker, `ask` and the chat itself. After each:
//! the memory opens, `memory verify` finds nothing, no acknowledged message is lost, no job has
//! failed. In the end no job is stuck.
//!
//! The seed is printed; `INGLENOOK_KILL_SEED=…` repeats the choices of a run.
#![cfg(all(unix, feature = "starter"))]
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

#[path = "support/rng.rs"]
mod rng;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read;
use std::num::NonZeroU16;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use expectrl::Expect as _;
use expectrl::process::unix::Signal;
use expectrl::session::OsSession;
use rng::Rng;

const N_KILLS: usize = 100;

/// A chat that shows nothing for this long is broken.
const PATIENCE: Duration = Duration::from_secs(30);

/// At most `most`, distributed so that short waits are as likely as long ones.
fn wait(rng: &mut Rng, most: Duration) -> Duration {
    let share = rng.below(1_000) as f64 / 1_000.0;
    most.mul_f64(share * share)
}

struct Bed {
    home: tempfile::TempDir,
    /// Texts that the program has acknowledged, so they must be on disk.
    acknowledged: Vec<String>,
    /// The messages of a killed import, of which all or none must be stored.
    imports: Vec<Vec<String>>,
    n_acknowledged_by: BTreeMap<&'static str, usize>,
}

impl Bed {
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_inglenook"));
        command.args(args).env("INGLENOOK_HOME", self.home.path()).env("NO_COLOR", "1");
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).stdin(Stdio::null()).output().unwrap()
    }

    fn spawn(&self, args: &[&str]) -> Child {
        let mut command = self.command(args);
        command.stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
    }

    fn acknowledge(&mut self, by: &'static str, texts: impl IntoIterator<Item = String>) {
        for text in texts {
            self.acknowledged.push(text);
            *self.n_acknowledged_by.entry(by).or_default() += 1;
        }
    }

    /// Checks everything that must hold after a kill.
    fn check(&self, when: &str) {
        let verify = self.run(&["memory", "verify"]);
        assert!(verify.status.success(), "{when}: {verify:?}");
        let said = String::from_utf8(self.run(&["export"]).stdout).unwrap();
        for text in &self.acknowledged {
            assert!(said.contains(text.as_str()), "{when}: `{text}` is lost");
        }
        for texts in &self.imports {
            let n = texts.iter().filter(|text| said.contains(text.as_str())).count();
            assert!(n == 0 || n == texts.len(), "{when}: {n} of {} imported", texts.len());
        }
        let stats = self.stats();
        assert_eq!(stats["jobs_failed"], 0, "{when}: {stats}");
    }

    fn stats(&self) -> serde_json::Value {
        serde_json::from_slice(&self.run(&["memory", "stats", "--json"]).stdout).unwrap()
    }
}

/// Kills the process after `wait`, unless it has ended. Returns whether it had succeeded, and whether
/// it had written to stdout.
fn kill_after(mut child: Child, wait: Duration) -> (bool, bool) {
    let mut stdout = child.stdout.take().unwrap();
    let spoke = Arc::new(AtomicBool::new(false));
    let reader = std::thread::spawn({
        let spoke = Arc::clone(&spoke);
        move || {
            let mut buffer = [0; 256];
            while let Ok(n @ 1..) = stdout.read(&mut buffer) {
                if buffer[..n].iter().any(|b| !b.is_ascii_whitespace()) {
                    spoke.store(true, Ordering::SeqCst);
                }
            }
        }
    });
    let start = Instant::now();
    let mut ended = None;
    while ended.is_none() && start.elapsed() < wait {
        ended = child.try_wait().unwrap();
        std::thread::sleep(Duration::from_millis(1).min(wait));
    }
    // Output after the signal does not count.
    let spoken = spoke.load(Ordering::SeqCst);
    child.kill().unwrap();
    let status = child.wait().unwrap();
    reader.join().unwrap();
    (ended.is_some_and(|s| s.success()) && status.success(), spoken)
}

fn import(bed: &mut Bed, rng: &mut Rng, round: usize) {
    let subjects = ["dog", "cat", "garden", "cello", "sister", "office"];
    let n = 4 + rng.below(40) as usize;
    let mut texts = Vec::new();
    let mut lines = String::new();
    for i in 0..n {
        let subject = subjects[rng.below(subjects.len() as u64) as usize];
        let text = format!("My {subject} number {round} is called Kilo{round}x{i}.");
        let (day, minute) = (1 + round % 28, i % 60);
        let _ = writeln!(
            lines,
            r#"{{"role":"user","content":"{text}","created_at":"2026-10-{day:02}T10:{minute:02}:00Z"}}"#
        );
        texts.push(text);
    }
    let file: PathBuf = bed.home.path().join(format!("import-{round}.jsonl"));
    std::fs::write(&file, lines).unwrap();
    let child = bed.spawn(&["import", file.to_str().unwrap()]);
    let (done, _) = kill_after(child, wait(rng, Duration::from_millis(60)));
    if done {
        bed.acknowledge("import", texts);
    } else {
        bed.imports.push(texts);
    }
}

fn consolidate(bed: &Bed, rng: &mut Rng) {
    let child = bed.spawn(&["memory", "consolidate", "--wait"]);
    kill_after(child, wait(rng, Duration::from_millis(1_200)));
}

/// A reply is only written when the message is on disk, so its first byte acknowledges the message.
fn ask(bed: &mut Bed, rng: &mut Rng, round: usize) {
    let text = format!("My lucky word is Asked{round}.");
    let child = bed.spawn(&["ask", &text]);
    // It may first work for three seconds on what the others left undone.
    let (done, spoken) = kill_after(child, wait(rng, Duration::from_secs(4)));
    if done || spoken {
        bed.acknowledge("ask", [text]);
    }
}

/// Types into the chat screen. "Noted" is the reply to a statement, which is then on disk.
fn chat(bed: &mut Bed, rng: &mut Rng, round: usize) {
    let mut command = bed.command(&[]);
    command.env("TERM", "xterm-256color").env("LC_ALL", "C");
    let mut session = expectrl::Session::spawn(command).unwrap();
    session.get_process_mut().set_window_size(100, 30).unwrap();
    let (rows, columns) = (NonZeroU16::new(30).unwrap(), NonZeroU16::new(100).unwrap());
    let mut screen = vt100::Parser::new(rows, columns, 0);
    let mut shows = |session: &mut OsSession, text: &str, most: Duration| {
        let start = Instant::now();
        let mut buffer = vec![0; 65_536];
        loop {
            while let Ok(n @ 1..) = session.try_read(&mut buffer) {
                screen.process(&buffer[..n]);
            }
            let contents = screen.screen().contents();
            let found = contents.contains(text);
            if found || start.elapsed() >= most {
                assert!(found || most < PATIENCE, "no `{text}` on the screen:\n{contents}");
                return found;
            }
            std::thread::sleep(Duration::from_millis(3));
        }
    };
    let word = format!("Typed{round}");
    let stage = round / 5 % 4;
    let mut noted = false;
    if stage > 0 && shows(&mut session, "starter", PATIENCE) {
        let _ = session.send(format!("My lucky word is {word}."));
        shows(&mut session, &word, PATIENCE);
    }
    if stage > 1 {
        let _ = session.send("\r");
    }
    if stage > 2 {
        noted = shows(&mut session, "Noted", PATIENCE);
    }
    let rest = wait(rng, Duration::from_millis(500));
    shows(&mut session, "what never comes", rest);
    let process = session.get_process_mut();
    process.kill(Signal::SIGKILL).unwrap();
    process.wait().unwrap();
    if noted {
        bed.acknowledge("chat", [word]);
    }
}

fn seed() -> u64 {
    std::env::var("INGLENOOK_KILL_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or_else(|| {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap().subsec_nanos().into()
    })
}

#[test]
fn a_hundred_kills_lose_nothing_and_leave_nothing_stuck() {
    let seed = seed();
    println!("INGLENOOK_KILL_SEED={seed}");
    let mut rng = Rng(seed);
    let mut bed = Bed {
        home: tempfile::tempdir().unwrap(),
        acknowledged: Vec::new(),
        imports: Vec::new(),
        n_acknowledged_by: BTreeMap::new(),
    };
    assert!(Path::new(env!("CARGO_BIN_EXE_inglenook")).exists());
    let start = Instant::now();
    for round in 0..N_KILLS {
        // The programs take turns, so that each is killed often; the moments are random.
        let name = ["import", "consolidate", "ask", "consolidate", "chat"][round % 5];
        match name {
            "import" => import(&mut bed, &mut rng, round),
            "consolidate" => consolidate(&bed, &mut rng),
            "ask" => ask(&mut bed, &mut rng, round),
            _ => chat(&mut bed, &mut rng, round),
        }
        bed.check(&format!("seed {seed}, kill {round}, {name}"));
    }
    let interrupted = bed.stats();
    let last = bed.run(&["memory", "consolidate", "--wait"]);
    assert!(last.status.success(), "{last:?}");
    bed.check("in the end");
    let stats = bed.stats();
    assert_eq!(stats["jobs_pending"], 0, "{stats}");
    println!(
        "{N_KILLS} kills in {:.0} s; acknowledged {:?}; before the last run {interrupted}, after it {stats}",
        start.elapsed().as_secs_f64(),
        bed.n_acknowledged_by,
    );
    // Without any acknowledged message the run would prove nothing.
    for by in ["import", "ask", "chat"] {
        assert!(bed.n_acknowledged_by.contains_key(by), "{:?}", bed.n_acknowledged_by);
    }
}
