//! `gate`.

use std::process::ExitCode;
use std::time::Instant;

use inglenook::cli::{App, one_line};

use super::answering::{grade, time_left};
use super::args::Gate;
use super::error::Outcome;
use super::folder::keep;
use crate::{self as eval, GateRun};

pub(super) fn run(app: &App, args: &Gate) -> Outcome {
    let recall = app.recall_config(args.uncertainty.as_deref())?;
    let models = app.models()?;
    let run = GateRun {
        file: &args.file,
        memories: &args.memories,
        questions_max: args.limit.map(|n| n as usize),
        recall,
        sweeps: !args.no_sweep,
        grade: grade(app, &models),
    };
    let (progress, start) = (app.console.progress(), Instant::now());
    let on_progress = |done: usize, of: usize| {
        let left = time_left(start.elapsed().as_secs_f64(), done, of - done);
        progress.set(done as u64, of as u64, &format!("question {done} of {of}{left}"));
    };
    let measured = eval::measure_gate(&run, &models, &on_progress, &app.cancel);
    progress.finish();
    let report = measured?;
    let markdown = report.markdown();
    app.console.report(&report, args.json, |_| app.console.line(&markdown))?;
    let plots: Vec<_> = report.plot().into_iter().collect();
    keep(app, args.out.as_deref(), &markdown, &plots)?;
    for skipped in &report.skipped {
        let (what, reason) = (one_line(&skipped.what, 100), one_line(&skipped.reason, 400));
        app.console.warn(&format!("left out: {what}: {reason}"));
    }
    Ok(if report.skipped.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
