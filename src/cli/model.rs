//! `model …`: what is installed, and how it gets here.

use std::path::Path;

use serde_json::json;

use super::App;
use super::args::Model as Args;
use super::machine::{memory, supposed_decode_rate};
#[cfg(feature = "hub")]
use super::model_pull;
use super::model_scan;
use super::output::{bytes, one_line};
use super::report::{Outcome, done, found_problems};
use crate::inference::{self, Precision};
use crate::registry::{CopyProgress, FileState, ModelPurpose};
use crate::worker::check;

pub fn run(app: &App, args: Args) -> Outcome {
    match args {
        Args::List { json } => list(app, json),
        #[cfg(feature = "hub")]
        Args::Pull { what, name, r#use, yes } => {
            let (what, name) = (what.as_deref(), name.as_deref());
            model_pull::run(app, &model_pull::Request { what, name, then_use: r#use, yes })
        }
        #[cfg(not(feature = "hub"))]
        Args::Pull { .. } => Err(crate::registry::RegistryError::NoHub.into()),
        Args::Scan { link, json } => model_scan::run(app, link.as_deref(), json),
        Args::Import { path, link, name } => import(app, &path, link, name.as_deref()),
        Args::Verify { name, json } => verify(app, name.as_deref(), json),
        Args::Use { name } => use_model(app, &name),
        Args::Remove { name, yes } => remove(app, &name, yes),
        Args::Probe { path, tokens, fast, json } => probe(app, &path, &tokens, fast, json),
        Args::Check { name, json } => check(app, name.as_deref(), json),
    }
}

fn list(app: &App, json: bool) -> Outcome {
    let registry = app.registry()?;
    let list = registry.list()?;
    let memory = memory();
    let window = app.config.chat.window_tokens as u64;
    let recommended = memory
        .and_then(|m| registry.catalogue.recommended(m.total, window, supposed_decode_rate()));
    let recommended = recommended.map(|model| model.name.as_str());
    if json {
        let list: Vec<_> = list
            .iter()
            .map(|m| {
                let known = registry.catalogue.get(&m.name);
                json!({
                    "name": m.name,
                    "kind": m.purpose.as_str(),
                    "bytes": m.bytes,
                    "licence": m.licence,
                    "installed": m.installed,
                    "in_use": m.in_use,
                    "context_tokens": known.map(|k| k.context_tokens),
                    "needed_bytes": known.map(|k| k.needed_bytes(window)),
                    "fits": known.zip(memory).map(|(k, memory)| k.fits(memory.total, window)),
                    "good_at": known.and_then(|k| k.good_at.as_deref()),
                    "recommended": recommended == Some(m.name.as_str()),
                })
            })
            .collect();
        app.console.json(&list)?;
        return done();
    }
    let (here, elsewhere): (Vec<_>, Vec<_>) = list.iter().partition(|m| m.installed.is_some());
    for (title, models) in [("installed", here), ("can be pulled", elsewhere)] {
        if models.is_empty() {
            continue;
        }
        app.console.line(&format!("{title}:"))?;
        for m in models {
            let known = registry.catalogue.get(&m.name);
            let fits = known.zip(memory).is_none_or(|(k, memory)| k.fits(memory.total, window));
            let says = if m.purpose == ModelPurpose::Embedding {
                "embedding"
            } else if !fits {
                "too large for this machine's memory"
            } else {
                known.and_then(|k| k.good_at.as_deref()).unwrap_or_default()
            };
            let mark = if m.in_use { "*" } else { " " };
            let best = if recommended == Some(m.name.as_str()) { "recommended: " } else { "" };
            let of = m.licence.as_deref().or(m.installed.as_deref());
            let of = of.map_or_else(String::new, |text| one_line(text, 60));
            let (name, size) = (one_line(&m.name, 80), bytes(m.bytes));
            let line = format!("{mark} {name:<24} {size:>8}  {of:<20} {best}{says}");
            app.console.line(line.trim_end())?;
        }
    }
    if let Some(memory) = memory {
        let text = format!(
            "This machine has {} of memory. Other programs' models: `inglenook model scan`; any on the hub: `inglenook model \
             pull OWNER/REPO`.",
            bytes(memory.total)
        );
        app.console.note(&text);
    }
    done()
}

fn import(app: &App, path: &Path, link: bool, name: Option<&str>) -> Outcome {
    let registry = app.registry()?;
    let progress = app.console.progress();
    let mut show = |CopyProgress { bytes: n, total_bytes }| {
        progress.set(n, total_bytes, &format!("{} of {}", bytes(n), bytes(total_bytes)));
    };
    let imported = if link {
        registry.link(path, name, None, &mut show)
    } else {
        registry.import(path, name, &mut show)
    };
    progress.finish();
    let model = imported?;
    let what = registry.inspect(&model.name)?.summary;
    app.console.line(&format!(
        "{} {} ({}, {}).",
        if link { "Linked" } else { "Imported" },
        model.name,
        one_line(&what, 120),
        bytes(model.bytes())
    ))?;
    app.console.note(&format!("`inglenook model use {}` uses it from now on.", model.name));
    done()
}

fn verify(app: &App, name: Option<&str>, json: bool) -> Outcome {
    let registry = app.registry()?;
    let results = registry.verify(name, &mut |model, file| {
        let file = file.file_name().map(|f| f.to_string_lossy().into_owned()).unwrap_or_default();
        app.console.note(&format!("{model}: hashing {file}"));
    })?;
    let word = |state| match state {
        FileState::Sound => "sound",
        FileState::Missing => "missing",
        FileState::Changed => "changed",
    };
    if json {
        let list: Vec<_> = results
            .iter()
            .map(|v| {
                json!({
                    "model": v.model,
                    "file": v.path.display().to_string(),
                    "state": word(v.state),
                })
            })
            .collect();
        app.console.json(&list)?;
    } else if results.is_empty() {
        app.console.line("There are no model files; the starter is part of the program.")?;
    } else {
        for v in &results {
            app.console.line(&format!("{:<8} {} {}", word(v.state), v.model, v.path.display()))?;
        }
    }
    let bad = results.iter().any(|v| v.state != FileState::Sound);
    if bad {
        app.console.note(
            "hint: `inglenook model remove NAME`, then pull or import it again: a changed file \
             can't be trusted.",
        );
        return found_problems();
    }
    done()
}

pub(super) fn use_model(app: &App, name: &str) -> Outcome {
    match app.registry()?.use_model(name)? {
        ModelPurpose::Language => {
            app.console.line(&format!("{name} is used from now on."))?;
        }
        ModelPurpose::Embedding => {
            app.console.line(&format!("{name} is the embedding model from now on."))?;
            app.console.note(
                "What is remembered has to be embedded again: the chat does it in the background, \
                 `inglenook memory consolidate --wait` at once.",
            );
        }
    }
    done()
}

fn remove(app: &App, name: &str, yes: bool) -> Outcome {
    let registry = app.registry()?;
    let question = match registry.linked_path(name) {
        Some(path) => format!("Forget {name}? {} stays where it is.", path.display()),
        None => format!("Delete the files of {name}?"),
    };
    if !yes && !app.console.confirm(&question)? {
        app.console.line("Nothing was deleted.")?;
        return done();
    }
    let model = registry.remove(name)?;
    app.console.line(&if model.is_linked() {
        format!("{} is no longer listed; {} stays where it is.", model.name, model.path.display())
    } else {
        format!("{} is gone ({}).", model.name, bytes(model.bytes()))
    })?;
    done()
}

fn probe(app: &App, path: &Path, tokens: &[u32], fast: bool, json: bool) -> Outcome {
    app.policy.check_model(path)?;
    let precision = if fast { Precision::Auto } else { Precision::Exact };
    let logits = inference::probe_with(path, tokens, precision)?;
    if json {
        app.console.json_line(&json!({ "logits": logits }))?;
        return done();
    }
    for (row, token) in logits.iter().zip(tokens) {
        let best = row.iter().enumerate().max_by(|(_, a), (_, b)| a.total_cmp(b));
        if let Some((id, logit)) = best {
            app.console.line(&format!("after {token}: {id} is likeliest ({logit:.4})"))?;
        }
    }
    done()
}

/// Grades the named model, or the one in use, and stores the grade under its weights' hash.
fn check(app: &App, name: Option<&str>, json: bool) -> Outcome {
    let store = app.open()?;
    let models = app.models_named(name)?;
    let progress = app.console.progress();
    let graded = check::check(
        &models,
        |done, of| progress.set(done as u64, of as u64, &format!("item {done} of {of}")),
        &app.cancel,
    );
    progress.finish();
    let grade = graded?;
    check::keep_grade(&store, &*models.language, &grade)?;
    let info = models.language.info();
    if json {
        let mut value = serde_json::to_value(&grade).unwrap_or_default();
        value["model"] = json!(info.name);
        app.console.json(&value)?;
        return done();
    }
    app.console.line(&format!(
        "{} and the rules on the same {} items in {:.0} s (1 is perfect). The model writes where it is better by \
         more than two standard errors, and answers what the rules are not sure of, if neither they nor the starter do that better.",
        one_line(&info.name, 80),
        grade.n_items,
        grade.seconds
    ))?;
    app.console.line("  step         model  rules")?;
    for (step, score, by) in grade.steps(info, models.memory.is_some()) {
        app.console
            .line(&format!("  {step:<11}  {:.2}   {:.2}   {by}", score.model, score.rules))?;
    }
    done()
}
