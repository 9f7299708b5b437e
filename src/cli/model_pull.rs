//! `model pull`: a model of the catalogue, or any repository of the hub.

use std::fmt::Write as _;
use std::path::Path;

use super::App;
use super::machine::memory;
use super::output::{bytes, one_line};
use super::report::{Failure, Outcome, done};
use crate::registry::{InstalledModel, Plan, PullProgress, Registry, RegistryError, Wanted};
use crate::store;

/// What was asked for.
pub struct Request<'a> {
    /// A name of the catalogue, or `owner/repo[:which]`; the default model without one.
    pub what: Option<&'a str>,
    /// What it is called here.
    pub name: Option<&'a str>,
    pub then_use: bool,
    pub yes: bool,
}

/// Room that a download leaves on the disk.
const SPACE_LEFT: u64 = 256 << 20;

pub fn run(app: &App, request: &Request<'_>) -> Outcome {
    let registry = app.registry()?;
    let default = registry.catalogue.default_language().map(|m| m.name.clone());
    let Some(what) = request.what.map(str::to_owned).or(default) else {
        return Err(Failure::NeedsYes);
    };
    let pulled = match Wanted::parse(&what) {
        Some(wanted) => of_repository(app, &registry, &wanted, request)?,
        None if what.contains('/') => {
            return Err(RegistryError::BadRepository { text: what }.into());
        }
        None => Some(of_catalogue(app, &registry, &what)?),
    };
    let Some(model) = pulled else {
        app.console.line("Nothing was downloaded.")?;
        return done();
    };
    app.console.line(&format!(
        "{} is here ({}, checked): {}",
        model.name,
        bytes(model.bytes()),
        model.path.display()
    ))?;
    if request.then_use {
        return super::model::use_model(app, &model.name);
    }
    app.console.note(&format!("`inglenook model use {}` uses it from now on.", model.name));
    done()
}

fn of_catalogue(app: &App, registry: &Registry, name: &str) -> Result<InstalledModel, Failure> {
    if let Some(model) = registry.catalogue.get(name) {
        let checked = if model.files.iter().all(|file| file.sha256.is_some()) {
            "the hash in the catalogue"
        } else {
            "the hash that the hub states"
        };
        app.console.note(&format!(
            "{}: about {}, {}, from {}/{}, checked by {checked}",
            model.name,
            bytes(model.bytes_approx),
            model.licence,
            registry.hub.endpoint.trim_end_matches('/'),
            model.repo,
        ));
        check_space(&registry.hub.cache_dir, model.bytes_approx)?;
    }
    with_progress(app, |on_progress| registry.pull(name, on_progress))
}

/// `None` if the person does not want it.
fn of_repository(
    app: &App,
    registry: &Registry,
    wanted: &Wanted,
    request: &Request<'_>,
) -> Result<Option<InstalledModel>, Failure> {
    let memory = memory().map(|m| m.free);
    let plan = registry.plan(wanted, request.name, memory)?;
    describe(app, registry, &plan, memory);
    for (path, hash) in plan.weight_hashes() {
        app.policy.check_hash(path, hash)?;
    }
    check_space(&registry.hub.cache_dir, plan.model.bytes_approx)?;
    let in_catalogue =
        registry.catalogue.get(&plan.model.name).is_some_and(|m| m.repo == wanted.repo);
    if !in_catalogue && !request.yes && !app.console.confirm("Download it?")? {
        return Ok(None);
    }
    with_progress(app, |on_progress| registry.pull_planned(&plan, on_progress)).map(Some)
}

/// What will be downloaded, and why that.
fn describe(app: &App, registry: &Registry, plan: &Plan, memory: Option<u64>) {
    let model = &plan.model;
    let size = |n: Option<u64>| n.map_or_else(|| "size unknown".to_owned(), bytes);
    let total = (model.bytes_approx > 0).then_some(model.bytes_approx);
    let licence = if plan.has_licence {
        format!("licence {}", model.licence)
    } else {
        "the hub names no licence".to_owned()
    };
    let endpoint = registry.hub.endpoint.trim_end_matches('/');
    let what = match model.files.as_slice() {
        [file] => file.path.clone(),
        files => format!("{} files", files.len()),
    };
    let mut text = format!(
        "{}: {what}, {}, {licence}, from {endpoint}/{}",
        model.name,
        size(total),
        model.repo
    );
    let _ = match &plan.quantisation {
        Some(quantisation) => write!(text, "\n{quantisation}: {}", plan.why),
        None => write!(text, "\n{}", plan.why),
    };
    if let (Some(needed), Some(free)) = (plan.needed_bytes, memory) {
        let _ = write!(text, "; it takes about {}, and {} are free", bytes(needed), bytes(free));
    }
    app.console.note(&one_line_each(&text));
    if plan.is_too_large {
        app.console.warn("it may not fit into this machine's memory, and would then be very slow");
    }
    if !plan.others.is_empty() {
        let others: Vec<String> = plan
            .others
            .iter()
            .take(12)
            .map(|(name, bytes)| format!("{name} ({})", size(*bytes)))
            .collect();
        let text = format!("also there: {}; {}:NAME takes one", others.join(", "), model.repo);
        app.console.note(&one_line(&text, 1000));
    }
}

/// The hub's texts can't add lines.
fn one_line_each(text: &str) -> String {
    text.lines().map(|line| one_line(line, 500)).collect::<Vec<_>>().join("\n")
}

fn with_progress(
    app: &App,
    fetch: impl FnOnce(&(dyn Fn(PullProgress) + Sync)) -> Result<InstalledModel, RegistryError>,
) -> Result<InstalledModel, Failure> {
    let progress = app.console.progress();
    let pulled = fetch(&|p| {
        let message = format!("{} of {} {}", bytes(p.bytes), bytes(p.total_bytes), p.file);
        progress.set(p.bytes, p.total_bytes, &message);
    });
    progress.finish();
    Ok(pulled?)
}

/// # Errors
/// If the disk has too little room for `bytes` more.
pub(super) fn check_space(cache: &Path, needed: u64) -> Result<(), Failure> {
    let there = cache.ancestors().find(|dir| dir.exists());
    let Some((dir, left)) = there.and_then(|dir| Some((dir, store::space_left(dir)?))) else {
        return Ok(());
    };
    if left < needed + SPACE_LEFT {
        return Err(Failure::Usage {
            what: format!(
                "{} has {} left, and this download takes {}",
                dir.display(),
                bytes(left),
                bytes(needed)
            ),
            hint: "make room, or let HF_HUB_CACHE name a folder on another disk".into(),
        });
    }
    Ok(())
}
