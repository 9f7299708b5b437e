//! `eval …`: what a model is good at, in figures.

use std::path::{Path, PathBuf};

use super::App;
use super::args::{Eval as Args, EvalStarter};
use super::output::{counted, one_line};
use super::report::{Failure, Outcome, done};
use crate::eval::{self, Conversation, Options, Report};

/// Beside the checkout, where the project's measurements look for data.
const MEMORIES: &str = "../shared/data/locomo-dev-memories";
const QUESTIONS: &str = "../shared/data/locomo-dev.json";

/// Of a model of so few parameters, several copies are loaded and asked side by side.
const TINY_PARAMETERS: u64 = 100_000_000;
const COPIES_MAX: usize = 4;

pub fn run(app: &App, args: &Args) -> Outcome {
    match args {
        Args::Starter(args) => starter(app, args),
    }
}

fn starter(app: &App, args: &EvalStarter) -> Outcome {
    let items = match &args.file {
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(|source| Failure::File {
                action: "read",
                path: path.display().to_string(),
                source,
            })?;
            eval::parse(&text, &path.display().to_string())?
        }
        None => eval::built_in()?,
    };
    if items.is_empty() {
        return Err(Failure::Usage {
            what: "there are no items".into(),
            hint: "a build with the feature `starter` brings them along; --file reads others"
                .into(),
        });
    }
    let locomo = conversations(args)?;
    let mut copies = vec![app.models()?];
    if copies[0].language.info().n_parameters <= TINY_PARAMETERS {
        // A tiny model keeps one core busy at best.
        let n_cores = std::thread::available_parallelism().map_or(1, usize::from);
        for _ in 1..n_cores.min(COPIES_MAX) {
            copies.push(app.models()?);
        }
    }
    let options = Options {
        items_max: args.items.map(usize::from),
        tasks: args.task.iter().copied().collect(),
        trained: args.trained,
        locomo: locomo.as_deref(),
    };
    let progress = app.console.progress();
    let mut on_progress = |done: usize, of: usize, task: eval::Task| {
        progress.set(done as u64, of as u64, &format!("{task}: item {done} of {of}"));
    };
    let measured = eval::measure(&copies, items, &options, &mut on_progress, &app.cancel);
    progress.finish();
    let report = measured?;
    if args.json {
        app.console.json(&report)?;
    } else {
        print(app, &report)?;
    }
    done()
}

/// The conversations that were named, or those beside the checkout; nothing if there are none.
fn conversations(args: &EvalStarter) -> Result<Option<Vec<Conversation>>, Failure> {
    let memories = args.memories.clone().unwrap_or_else(|| PathBuf::from(MEMORIES));
    if args.memories.is_none() && args.locomo.is_none() && !memories.is_dir() {
        return Ok(None);
    }
    let beside =
        || Some(PathBuf::from(QUESTIONS)).filter(|p| args.memories.is_none() && p.exists());
    let questions = args.locomo.clone().or_else(beside);
    Ok(Some(eval::load(questions.as_deref(), Path::new(&memories))?))
}

fn print(app: &App, report: &Report) -> Result<(), Failure> {
    let figure = |value: Option<f64>| value.map_or_else(|| "–".into(), |v| format!("{v:.3}"));
    app.console.line(&format!(
        "{} ({}), {:.0} s",
        one_line(&report.model, 80),
        one_line(&report.sha256, 12),
        report.seconds
    ))?;
    for row in &report.rows {
        app.console.line(&format!(
            "  {:<10} {:<10} {:<20} {:>5}  {}",
            row.task,
            one_line(&row.phrasing, 20),
            row.metric,
            figure(row.value),
            counted(row.items, "item"),
        ))?;
    }
    if !report.gate.is_empty() {
        app.console.line("evidence told from noise (area under the ROC curve; pairs won)")?;
    }
    for row in &report.gate {
        let after = if row.context == 0 {
            String::new()
        } else {
            format!("after {}", counted(row.context, "note"))
        };
        app.console.line(&format!(
            "  {:<10} {:<20} {:<14} {:>5}  {:>5}  {}",
            row.set,
            row.signal,
            after,
            figure(row.auc),
            figure(row.paired),
            counted(row.pairs, "pair"),
        ))?;
    }
    Ok(())
}
