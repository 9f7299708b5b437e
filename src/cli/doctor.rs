//! `doctor`: looks at everything that can be wrong and says what to do about it.

use std::io::IsTerminal as _;
use std::path::Path;

use serde_json::json;

use super::App;
use super::args;
use super::output::{bytes, counted};
use super::report::{Outcome, done, found_problems};
use crate::inference::InstructionSet;
use crate::interfaces::ModelSource as _;
use crate::registry::{Kind, STARTER};
use crate::store::{Store, StoreError};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Good,
    /// Works, but could be better.
    Remark,
    Bad,
}

struct Finding {
    what: &'static str,
    state: State,
    says: String,
}

pub fn run(app: &App, args: &args::Doctor) -> Outcome {
    let mut findings = Vec::new();
    let mut say = |what, state, says: String| findings.push(Finding { what, state, says });

    say("version", State::Good, version());
    let (state, says) = machine();
    say("machine", state, says);
    #[cfg(feature = "cuda")]
    match crate::inference::without_gpu() {
        None => say("gpu", State::Good, "the first one computes".into()),
        Some(reason) => {
            say(
                "gpu",
                State::Remark,
                format!("none can be used ({reason}): the processor computes"),
            );
        }
    }
    let (state, says) = folder(&app.dirs.data);
    say("data", state, says);
    for (state, says) in memory(app) {
        say("memory", state, says);
    }
    for (state, says) in models(app) {
        say("models", state, says);
    }
    let (state, says) = terminal();
    say("terminal", state, says);
    say(
        "network",
        State::Good,
        if cfg!(feature = "hub") {
            "used by `model pull` only".into()
        } else {
            "this build has no network code".into()
        },
    );

    let bad = findings.iter().any(|f| f.state == State::Bad);
    let word = |state| match state {
        State::Good => "good",
        State::Remark => "remark",
        State::Bad => "bad",
    };
    if args.json {
        let list: Vec<_> = findings
            .iter()
            .map(|f| json!({ "what": f.what, "state": word(f.state), "says": f.says }))
            .collect();
        app.console.json(&list)?;
    } else {
        for f in &findings {
            let mark = match f.state {
                State::Good => "ok ",
                State::Remark => " · ",
                State::Bad => "BAD",
            };
            app.console.line(&format!("{mark} {:<9} {}", f.what, f.says))?;
        }
    }
    if bad { found_problems() } else { done() }
}

fn version() -> String {
    let mut features = Vec::new();
    for (name, on) in [
        ("starter", cfg!(feature = "starter")),
        ("hub", cfg!(feature = "hub")),
        ("cuda", cfg!(feature = "cuda")),
    ] {
        if on {
            features.push(name);
        }
    }
    format!("inglenook {} ({})", env!("CARGO_PKG_VERSION"), features.join(", "))
}

fn machine() -> (State, String) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let kernels = InstructionSet::best().name();
    let memory = available_memory();
    let mut says = counted(cores, "core");
    if let Some(kernels) = kernels {
        says = format!("{says}, kernels for {kernels}");
    }
    if let Some(n) = memory {
        says = format!("{says}, {} of memory free", bytes(n));
    }
    if kernels.is_none() {
        says += ": models will be slow without AVX2 or NEON";
        return (State::Remark, says);
    }
    if memory.is_some_and(|n| n < 1_000_000_000) {
        says += ": close something before you load a larger model";
        return (State::Remark, says);
    }
    (State::Good, says)
}

/// Linux says it in a file; elsewhere it stays unsaid.
fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024)
}

fn folder(path: &Path) -> (State, String) {
    let shown = path.display();
    if !path.exists() {
        return (State::Good, format!("{shown} (made at the first chat)"));
    }
    if let Err(e) = tempfile::tempfile_in(path) {
        return (
            State::Bad,
            format!("cannot write to {shown}: {e}. Check who owns it, or use --data-dir"),
        );
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let open_to_others = path.metadata().is_ok_and(|m| m.permissions().mode() & 0o077 != 0);
        if open_to_others {
            return (State::Remark, format!("{shown} can be read by others: chmod 700 {shown}"));
        }
    }
    (State::Good, format!("{shown}"))
}

fn memory(app: &App) -> Vec<(State, String)> {
    let read = Store::open_read_only(&app.dirs.data).and_then(|store| {
        store.read(|r| Ok((r.stats()?, r.verify()?, r.failed_jobs()?, r.embedder_id()?)))
    });
    let (stats, violations, failed, _) = match read {
        Ok(all) => all,
        Err(e @ StoreError::Corrupt { .. }) => {
            return vec![(
                State::Bad,
                format!("{e}. Nothing was changed; put back a copy, or move it away"),
            )];
        }
        Err(e) => return vec![(State::Bad, e.to_string())],
    };
    let mut findings = vec![(
        State::Good,
        format!(
            "{}, {}, {}, {}",
            counted(stats.messages, "message"),
            counted(stats.episodes, "episode"),
            counted(stats.semantics, "fact"),
            counted(stats.themes, "theme")
        ),
    )];
    for violation in violations {
        findings.push((State::Bad, violation.what));
    }
    if stats.jobs_pending > 0 {
        findings.push((
            State::Remark,
            format!(
                "{} waiting: the chat does them in the background, `memory consolidate --wait` now",
                counted(stats.jobs_pending, "step")
            ),
        ));
    }
    for (job, error) in failed.iter().take(5) {
        findings.push((
            State::Remark,
            format!("step {} failed: {error}. `memory consolidate --wait` tries again", job.id),
        ));
    }
    findings
}

fn models(app: &App) -> Vec<(State, String)> {
    let registry = match app.registry() {
        Ok(registry) => registry,
        Err(e) => return vec![(State::Bad, e.to_string())],
    };
    let list = match registry.list() {
        Ok(list) => list,
        Err(e) => return vec![(State::Bad, e.to_string())],
    };
    let default = registry.default_name();
    let mut findings = Vec::new();
    let installed: Vec<_> = list.iter().filter(|m| m.installed.is_some()).collect();
    if registry.check_default().is_err() {
        findings.push((
            State::Bad,
            format!(
                "`{default}` is to be used, but it is not installed: `model list` shows what is"
            ),
        ));
    }
    for model in &installed {
        let used = if model.in_use { ", in use" } else { "" };
        let kind = if model.kind == Kind::Embedding { "embedding, " } else { "" };
        let name = &model.name;
        if name == STARTER {
            let mut says =
                format!("{name}: {kind}built in{used}; small: it quotes rather than talks");
            let mut state = State::Good;
            if model.in_use && model.kind != Kind::Embedding {
                says += ". For real conversation: `inglenook model pull qwen3-0.6b --use`";
                state = State::Remark;
            }
            findings.push((state, says));
            continue;
        }
        match registry.inspect(name) {
            Ok(what) => findings.push((
                State::Good,
                format!("{name}: {kind}{}, {}{used}", what.description, bytes(model.bytes)),
            )),
            Err(e) => findings.push((
                State::Bad,
                format!("{name}: {e}. `model verify {name}`, then pull or import it again"),
            )),
        }
    }
    findings
}

fn terminal() -> (State, String) {
    if !std::io::stdout().is_terminal() {
        return (State::Good, "the output is not a terminal".into());
    }
    let set = |name: &str| std::env::var(name).ok().filter(|v| !v.is_empty());
    let utf8 = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| set(name))
        .is_some_and(|l| l.to_lowercase().replace('-', "").contains("utf8"));
    let term = set("TERM").unwrap_or_else(|| "unknown".into());
    let size = crossterm::terminal::size()
        .map_or_else(|_| String::new(), |(columns, rows)| format!(", {columns}×{rows}"));
    if term == "dumb" {
        return (State::Bad, "TERM is dumb: the chat needs a terminal that can draw".into());
    }
    if !utf8 {
        return (
            State::Remark,
            format!("{term}{size}, not UTF-8: set LANG to something like en_GB.UTF-8"),
        );
    }
    (State::Good, format!("{term}{size}, UTF-8"))
}
