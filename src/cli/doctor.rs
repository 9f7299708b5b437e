//! `doctor`: checks what commonly goes wrong, and says what to do about it.

use std::io::IsTerminal as _;
use std::iter;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use serde_json::json;

use super::App;
use super::machine::memory as memory_of_machine;
use super::memory::unit_counts;
use super::output::{bytes, counted, one_line};
use super::report::{Failure, Outcome, done, found_problems};
use crate::error_chain::error_chain;
use crate::inference::{self, Confinement, InstructionSet, TokenCost, confinement};
use crate::interfaces::ModelSource as _;
use crate::registry::ModelPurpose;
use crate::store::{self, StoreError};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Health {
    Good,
    /// Works, but could be better.
    Remark,
    Bad,
}

pub fn run(app: &App, json: bool) -> Outcome {
    let users = [
        (cfg!(feature = "hub"), "`model pull`"),
        (cfg!(feature = "server"), "`serve`"),
        (cfg!(feature = "postgres"), "`sync` through PostgreSQL"),
    ];
    let users: Vec<&str> =
        users.into_iter().filter(|(is_built, _)| *is_built).map(|u| u.1).collect();
    let network = match users.split_last() {
        None => "this build has no network code".into(),
        Some((last, [])) => format!("used by {last} only"),
        Some((last, rest)) => format!("used by {} and {last} only", rest.join(", ")),
    };
    let checks = [
        ("version", vec![(Health::Good, version())]),
        ("machine", vec![machine()]),
        ("gpu", gpu()),
        ("data", folder(&app.dirs.data)),
        ("memory", memory(app)),
        ("models", models(app)),
        ("speed", speed(app)),
        ("sandbox", vec![sandbox()]),
        ("terminal", vec![terminal()]),
        ("network", vec![(Health::Good, network)]),
    ];
    let mut bad = false;
    let mut list = Vec::new();
    for (what, (health, says)) in
        checks.into_iter().flat_map(|(what, found)| found.into_iter().map(move |f| (what, f)))
    {
        bad |= health == Health::Bad;
        let (word, mark) = match health {
            Health::Good => ("good", "ok "),
            Health::Remark => ("remark", " · "),
            Health::Bad => ("bad", "BAD"),
        };
        if json {
            list.push(json!({ "what": what, "state": word, "says": says }));
        } else {
            app.console.line(&format!("{mark} {what:<9} {says}"))?;
        }
    }
    if json {
        app.console.json(&list)?;
    }
    if bad { found_problems() } else { done() }
}

/// Nothing to say in a build without GPU support.
fn gpu() -> Vec<(Health, String)> {
    #[cfg(feature = "cuda")]
    let says = match crate::inference::without_gpu() {
        None => vec![(Health::Good, "the first one computes".into())],
        Some(reason) => {
            vec![(Health::Remark, format!("none can be used ({reason}): the processor computes"))]
        }
    };
    #[cfg(not(feature = "cuda"))]
    let says = Vec::new();
    says
}

fn version() -> String {
    let mut features = Vec::new();
    for (name, on) in [
        ("starter", cfg!(feature = "starter")),
        ("hub", cfg!(feature = "hub")),
        ("server", cfg!(feature = "server")),
        ("postgres", cfg!(feature = "postgres")),
        ("cuda", cfg!(feature = "cuda")),
    ] {
        if on {
            features.push(name);
        }
    }
    format!("inglenook {} ({})", env!("CARGO_PKG_VERSION"), features.join(", "))
}

fn machine() -> (Health, String) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let kernels = InstructionSet::best().name();
    let memory = memory_of_machine().map(|m| m.free);
    let mut says = counted(cores, "core");
    if let Some(kernels) = kernels {
        says = format!("{says}, kernels for {kernels}");
    }
    if let Some(n) = memory {
        says = format!("{says}, {} of memory free", bytes(n));
    }
    if kernels.is_none() {
        says += ": models will be slow without AVX2 or NEON";
        return (Health::Remark, says);
    }
    if memory.is_some_and(|n| n < 1_000_000_000) {
        says += ": close something before you load a larger model";
        return (Health::Remark, says);
    }
    (Health::Good, says)
}

/// Memory cannot be written with less: a write-ahead log grows to 16 MB.
const SPACE_MIN: u64 = 32 << 20;

fn folder(path: &Path) -> Vec<(Health, String)> {
    let shown = path.display();
    if !path.exists() {
        return vec![(Health::Good, format!("{shown} (made at the first chat)"))];
    }
    if let Err(e) = tempfile::tempfile_in(path) {
        let says = format!("cannot write to {shown}: {e}. Check who owns it, or use --data-dir");
        return vec![(Health::Bad, says)];
    }
    let mut found = Vec::new();
    if let Some(left) = store::space_left(path)
        && left < SPACE_MIN
    {
        let says = format!(
            "only {} free in {shown}: what is said may not be kept. Make room",
            bytes(left)
        );
        found.push((Health::Bad, says));
    }
    let person = rustix::process::geteuid().as_raw();
    let files = store::FILES.into_iter().chain(store::LOCK_FILES).map(|name| path.join(name));
    let paths = iter::once((path.to_owned(), true)).chain(files.map(|file| (file, false)));
    for (path, is_folder) in paths {
        // The folder may be a link to where there is room; its files may not.
        let of = if is_folder { path.metadata() } else { path.symlink_metadata() };
        let Ok(of) = of else { continue };
        let (shown, mode) = (path.display(), if is_folder { "700" } else { "600" });
        if of.is_symlink() {
            found
                .push((Health::Bad, format!("{shown} is a link: replace it by what it points to")));
        } else if of.uid() != person {
            let says = format!("{shown} belongs to another user, who can read and change it");
            found.push((Health::Bad, says));
        } else if of.mode() & 0o022 != 0 {
            let says = format!("{shown} can be changed by others: chmod {mode} {shown}");
            found.push((Health::Bad, says));
        } else if of.mode() & 0o077 != 0 {
            let says = format!("{shown} can be read by others: chmod {mode} {shown}");
            found.push((Health::Remark, says));
        }
    }
    if found.is_empty() {
        found.push((Health::Good, format!("{shown}")));
    }
    found
}

fn memory(app: &App) -> Vec<(Health, String)> {
    let of_log = store::log_damage(&app.dirs.data);
    let read = app.open_read_only().and_then(|store| {
        let (stats, mut violations, failed, is_unclean) =
            store.read(|r| Ok((r.stats()?, r.verify()?, r.failed_jobs()?, r.scrub_is_due()?)))?;
        violations.extend(match of_log {
            None => store.log_damage()?,
            found => found,
        });
        Ok((stats, violations, failed, is_unclean))
    });
    let (stats, violations, failed, is_unclean) = match read {
        Ok(all) => all,
        Err(Failure::Store(StoreError::NeedsPassphrase { .. })) => {
            return vec![(Health::Remark, "encrypted, so not looked into: no passphrase".into())];
        }
        Err(Failure::Store(e @ StoreError::Corrupt { .. })) => {
            return vec![(
                Health::Bad,
                format!("{e}. Nothing was changed; put back a copy, or move it away"),
            )];
        }
        Err(e) => return vec![(Health::Bad, e.to_string())],
    };
    let encrypted =
        if store::is_encrypted(&app.dirs.data).unwrap_or(false) { ", encrypted" } else { "" };
    let mut findings = vec![(Health::Good, unit_counts(&stats).join(", ") + encrypted)];
    if store::is_replacing(&app.dirs.data) {
        let says = "a restore or an encryption was cut off, and the old file is still there: the next command that writes \
                    takes it away";
        findings.push((Health::Remark, says.into()));
    }
    if is_unclean {
        let says = "what was forgotten is still in the file's bytes: the next command that writes overwrites it";
        findings.push((Health::Remark, says.into()));
    }
    findings.extend(violations.into_iter().map(|violation| (Health::Bad, violation)));
    if stats.jobs_pending > 0 {
        findings.push((
            Health::Remark,
            format!(
                "{} waiting: the chat does them in the background, `memory consolidate --wait` now",
                counted(stats.jobs_pending, "step")
            ),
        ));
    }
    for (job, error) in failed.iter().take(5) {
        findings.push((
            Health::Remark,
            format!("step {} failed: {error}. `memory consolidate --wait` tries again", job.id),
        ));
    }
    findings
}

fn models(app: &App) -> Vec<(Health, String)> {
    let registry = match app.registry() {
        Ok(registry) => registry,
        Err(e) => return vec![(Health::Bad, e.to_string())],
    };
    let list = match registry.list() {
        Ok(list) => list,
        Err(e) => return vec![(Health::Bad, e.to_string())],
    };
    let default = registry.default_name();
    let mut findings = Vec::new();
    let installed: Vec<_> = list.iter().filter(|m| m.installed.is_some()).collect();
    if registry.check_default().is_err() {
        findings.push((
            Health::Bad,
            format!(
                "`{default}` is to be used, but it is not installed: `model list` shows what is"
            ),
        ));
    }
    for model in &installed {
        let used = if model.in_use { ", in use" } else { "" };
        let kind = if model.purpose == ModelPurpose::Embedding { "embedding, " } else { "" };
        let name = &model.name;
        if model.built_in {
            let mut says =
                format!("{name}: {kind}built in{used}; small: it talks plainly and knows little");
            let mut state = Health::Good;
            if model.in_use && model.purpose != ModelPurpose::Embedding {
                says += ". For real conversation: `inglenook model pull qwen3-0.6b --use`";
                state = Health::Remark;
            }
            findings.push((state, says));
            continue;
        }
        match registry.inspect(name) {
            Ok(what) => findings.push((
                Health::Good,
                format!("{name}: {kind}{}, {}{used}", what.summary, bytes(model.bytes)),
            )),
            Err(e) => {
                let failure = Failure::Registry(e);
                let hint = failure.hint().unwrap_or_default();
                findings.push((Health::Bad, format!("{name}: {failure}. {hint}")));
            }
        }
    }
    findings
}

/// What to expect of the models that there are, by a measurement of two seconds.
fn speed(app: &App) -> Vec<(Health, String)> {
    const NEEDED: u64 = 600_000_000;
    let memory = memory_of_machine();
    if memory.is_some_and(|m| m.free < NEEDED) {
        let says = "not measured: there is too little memory free".into();
        return vec![(Health::Remark, says)];
    }
    let speed = match inference::measure() {
        Ok(speed) => speed,
        Err(e) => return vec![(Health::Remark, format!("not measured: {}", error_chain(&e)))],
    };
    let mut findings = vec![(
        Health::Good,
        format!(
            "memory is read at {:.1} GB/s, 4-bit weights at {:.1} GB/s for one token, {:.0} billion operations a second \
             for many",
            speed.read / 1e9,
            speed.decode / 1e9,
            speed.prefill / 1e9
        ),
    )];
    let Ok(registry) = app.registry() else { return findings };
    let window = app.config.chat.window_tokens as u64;
    let total = memory.map_or(u64::MAX, |m| m.total);
    let recommended =
        registry.catalogue.recommended(total, window, speed.decode).map(|m| m.name.clone());
    let of_catalogue = registry.catalogue.models.iter();
    let too_large = of_catalogue.clone().filter(|m| !m.fits(total, window)).count();
    let fitting =
        of_catalogue.filter(|m| m.fits(total, window)).map(|m| (m.name.clone(), m.purpose));
    let fitting: Vec<String> =
        fitting.filter(|(_, p)| *p == ModelPurpose::Language).map(|(name, _)| name).collect();
    for model in registry.list().unwrap_or_default() {
        let is_known = registry.catalogue.get(&model.name).is_some();
        let is_shown = fitting.contains(&model.name) || (model.installed.is_some() && !is_known);
        if model.purpose != ModelPurpose::Language || model.built_in || !is_shown {
            continue;
        }
        let best = if recommended.as_deref() == Some(&model.name) { ", recommended" } else { "" };
        let header = model.installed.as_deref().and_then(|p| inference::validate(p.as_ref()).ok());
        let cost = header.and_then(|header| header.cost);
        let cost = cost.unwrap_or_else(|| TokenCost::of_bytes(model.bytes));
        findings.push((
            Health::Good,
            format!(
                "{}: expect {} tokens a second, and prompts read at {}{best}",
                one_line(&model.name, 80),
                rounded(speed.decode_tokens(cost)),
                rounded(speed.prefill_tokens(cost)),
            ),
        ));
    }
    if too_large > 0 {
        let says = format!(
            "{} of the catalogue are too large for its memory",
            counted(too_large, "model")
        );
        findings.push((Health::Good, says));
    }
    findings
}

/// "about 12": no more digits than the prediction is good for.
fn rounded(tokens: f64) -> String {
    if tokens < 1.0 {
        return "less than 1".into();
    }
    if tokens < 10.0 {
        return format!("about {tokens:.1}");
    }
    let unit = 10f64.powf(tokens.log10().floor() - 1.0);
    format!("about {:.0}", (tokens / unit).round() * unit)
}

fn sandbox() -> (Health, String) {
    let (health, says) = match confinement() {
        Ok(Confinement::FilesAndTcp) => (
            Health::Good,
            "models are read where no other file can be read, none written, and no TCP used (Landlock)",
        ),
        Ok(Confinement::Files) => (
            Health::Good,
            "models are read where no other file can be read and none written; TCP can be used, before Linux 6.7 (Landlock)",
        ),
        Ok(Confinement::None) => (
            Health::Remark,
            "this system has no Landlock: what reads a model can do all that this program can",
        ),
        Err(e) => return (Health::Bad, format!("no model can be loaded: {}", error_chain(&e))),
    };
    (health, says.into())
}

fn terminal() -> (Health, String) {
    if !std::io::stdout().is_terminal() {
        return (Health::Good, "the output is not a terminal".into());
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
        return (Health::Remark, "TERM is dumb: the chat is lines, as with --plain".into());
    }
    if !utf8 {
        return (
            Health::Remark,
            format!("{term}{size}, not UTF-8: set LANG to something like en_GB.UTF-8"),
        );
    }
    (Health::Good, format!("{term}{size}, UTF-8"))
}
