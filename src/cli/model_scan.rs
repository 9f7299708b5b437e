//! `model scan`: models of other programs, used where they lie.

use serde_json::json;

use super::App;
use super::output::{bytes, counted, one_line};
use super::report::{Failure, Outcome, done};
use crate::registry::{
    CopyProgress, FoundModel, FoundState, Registry, RegistryError, System, places,
};

/// Lists what there is; `link` then records those that run, or only those named in it.
pub fn run(app: &App, link: Option<&[String]>, json: bool) -> Outcome {
    let registry = app.registry()?;
    let env = |name: &str| std::env::var(name).ok();
    let places = places(System::this(), &env, &app.dirs.home, &app.dirs.hub_cache);
    let progress = app.console.progress();
    let scanned = registry.scan(&places, &mut |file| {
        progress.set(0, 0, &file.display().to_string());
    });
    progress.finish();
    let (mut found, remarks) = scanned?;
    for remark in &remarks {
        app.console.warn(remark);
    }
    if let Some(names) = link {
        self::link(app, &registry, &mut found, names)?;
    }
    if json {
        let list: Vec<_> = found.iter().map(as_json).collect();
        app.console.json(&list)?;
        return done();
    }
    if found.is_empty() {
        app.console.line("No models of other programs were found. Looked in:")?;
        for place in &places {
            app.console.line(&format!("  {:<12} {}", place.program, place.dir.display()))?;
        }
        return done();
    }
    list(app, &found)?;
    let n_to_link = found.iter().filter(|m| matches!(m.state, FoundState::Runs(_))).count();
    if n_to_link > 0 {
        app.console.note(
            "`inglenook model scan --link` lists those that run here with the others, where they lie: nothing is copied. \
             `--link NAME` takes one.",
        );
    }
    done()
}

fn list(app: &App, found: &[FoundModel]) -> Result<(), Failure> {
    let mut program = "";
    for model in found {
        let file = &model.file;
        if file.program != program {
            program = file.program;
            app.console.line(&format!("{program}:"))?;
        }
        let (name, says) = match &model.state {
            FoundState::Installed(name) => (name, "installed".to_owned()),
            FoundState::Runs(what) => (&file.name, what.clone()),
            FoundState::Refused(why) => (&file.name, format!("does not run here: {why}")),
        };
        let (name, says) = (one_line(name, 80), one_line(&says, 200));
        app.console.line(&format!("  {name:<24} {:>8}  {says}", bytes(file.bytes)))?;
        app.console.line(&format!("  {:<24} {}", "", file.path.display()))?;
    }
    Ok(())
}

fn as_json(model: &FoundModel) -> serde_json::Value {
    let (installed_as, runs, says) = match &model.state {
        FoundState::Installed(name) => (Some(name), true, None),
        FoundState::Runs(what) => (None, true, Some(what)),
        FoundState::Refused(why) => (None, false, Some(why)),
    };
    json!({
        "program": model.file.program,
        "name": model.file.name,
        "path": model.file.path.display().to_string(),
        "bytes": model.file.bytes,
        "runs": runs,
        "installed_as": installed_as,
        "says": says,
    })
}

/// Records the models that run, or those of `names`.
fn link(
    app: &App,
    registry: &Registry,
    found: &mut [FoundModel],
    names: &[String],
) -> Result<(), Failure> {
    let is_named = |model: &FoundModel, name: &String| model.file.name.eq_ignore_ascii_case(name);
    let runs = |model: &FoundModel| matches!(model.state, FoundState::Runs(_));
    if let Some(name) = names.iter().find(|name| !found.iter().any(|m| is_named(m, name))) {
        let found = found.iter().filter(|m| runs(m)).map(|m| m.file.name.clone()).collect();
        return Err(RegistryError::NotFound { name: name.clone(), found }.into());
    }
    let mut n_linked = 0;
    for model in found {
        let wanted = if names.is_empty() {
            runs(model)
        } else {
            names.iter().any(|name| is_named(model, name))
        };
        if !wanted {
            continue;
        }
        let file = &model.file;
        let progress = app.console.progress();
        let sha256 = file.sha256.as_deref();
        let linked = registry.link(&file.path, Some(&file.name), sha256, &mut |p| {
            let CopyProgress { bytes: n, total_bytes } = p;
            let of = format!("{} of {} {}", bytes(n), bytes(total_bytes), file.name);
            progress.set(n, total_bytes, &of);
        });
        progress.finish();
        model.state = FoundState::Installed(linked?.name);
        n_linked += 1;
    }
    app.console.note(&format!(
        "{} linked: `inglenook model use NAME` uses one from now on.",
        counted(n_linked, "model")
    ));
    Ok(())
}
