//! `memory consolidate`: builds what is still queued, and settles contradictions.
//!
//! The chat does this in the background; `--wait` does it now, with the same worker.

use std::sync::Arc;
use std::time::Instant;

use super::super::App;
use super::super::output::counted;
use super::super::report::{Failure, Outcome, done, found_problems};
use super::unit_counts;
use crate::interfaces::{Models, SystemClock};
use crate::store::{MemoryStats, Store};
use crate::worker::{self, WorkerState};

pub fn run(app: &App, wait: bool) -> Outcome {
    if !wait {
        return print_pending(app);
    }
    let store = app.open()?;
    let models = app.models()?;
    store.write(|tx| tx.retry_failed())?;
    build(app, &store, &models)
}

/// Does what is queued, and says what came of it.
pub fn build(app: &App, store: &Store, models: &Models) -> Outcome {
    let start = Instant::now();
    let progress = app.console.progress();
    let result = worker::run_until_idle(
        store,
        models,
        Arc::new(SystemClock),
        app.worker_config(),
        |status| {
            let done = status.jobs_done as u64;
            let total = done + status.jobs_left as u64;
            let what = match &status.state {
                WorkerState::Working { what } => what.as_str(),
                _ => "",
            };
            progress.set(done, total, &format!("step {done} of {total} {what}"));
        },
        &app.cancel,
    );
    progress.finish();
    let steps = match result {
        Ok(steps) => steps,
        Err(worker::WorkerError::Cancelled) => {
            app.console.note("Stopped; what is done is kept, the rest stays queued.");
            return Err(Failure::Interrupted);
        }
        Err(e) => return Err(e.into()),
    };
    let (stats, failed) = store.read(|r| Ok((r.stats()?, r.failed_jobs()?)))?;
    app.console.line(&format!(
        "{} in {:.1} s: {}.",
        counted(steps, "step"),
        start.elapsed().as_secs_f64(),
        levels(&stats)
    ))?;
    for (job, error) in &failed {
        app.console.warn(&format!("step {} failed: {error}", job.id));
    }
    if failed.is_empty() { done() } else { found_problems() }
}

fn print_pending(app: &App) -> Outcome {
    let store = app.open_read_only()?;
    let stats = store.read(|r| r.stats())?;
    if stats.jobs_pending + stats.jobs_failed == 0 {
        app.console.line(&format!("Nothing is left to do: {}.", levels(&stats)))?;
        return done();
    }
    app.console.line(&format!(
        "{} waiting, {} failed.",
        counted(stats.jobs_pending, "step"),
        stats.jobs_failed
    ))?;
    app.console.note("The chat does them in the background; with --wait they are done now.");
    done()
}

fn levels(stats: &MemoryStats) -> String {
    let [messages, episodes, facts, themes] = unit_counts(stats);
    format!("{messages} → {episodes} → {facts} ({} superseded) → {themes}", stats.superseded)
}
