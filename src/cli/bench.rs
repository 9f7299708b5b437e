//! `bench …`: what the program costs on this machine, in figures.

use std::collections::BTreeSet;

use super::App;
use super::args::{Bench as Args, BenchMemory};
use super::output::{bytes, counted};
use super::report::{Failure, Outcome, done};
use crate::eval::{ScaleRow, ScaleStep, measure_scale};

pub fn run(app: &App, args: &Args) -> Outcome {
    match args {
        Args::Memory(args) => memory(app, args),
    }
}

fn memory(app: &App, args: &BenchMemory) -> Outcome {
    let sizes: BTreeSet<usize> = args.semantics.iter().map(|&n| n as usize).collect();
    let progress = app.console.progress();
    let on_progress = |n: usize, step: ScaleStep, done: usize, of: usize| {
        let doing = match step {
            ScaleStep::Inserting => "inserting",
            ScaleStep::Storing => "storing",
            ScaleStep::Selecting => "asking",
        };
        progress.set(done as u64, of as u64, &format!("{}: {doing}", counted(n, "fact")));
    };
    let measured = measure_scale(&sizes, &on_progress, &app.cancel);
    progress.finish();
    app.console.report(&measured?, args.json, |report| print(app, &report.rows))?;
    done()
}

fn print(app: &App, rows: &[ScaleRow]) -> Result<(), Failure> {
    app.console.line(
        "    facts  themes  insert p50, p99 (ms)  selection p50, p99 (ms)  edges right  resident",
    )?;
    for row in rows {
        app.console.line(&format!(
            "{:>9} {:>7}  {:>9.2} {:>9.2}  {:>12.1} {:>10.1}  {:>11.3}  {:>8}",
            row.semantics,
            row.themes,
            row.insert_p50_ms,
            row.insert_p99_ms,
            row.selection_p50_ms,
            row.selection_p99_ms,
            row.neighbour_recall,
            row.resident_bytes.map_or_else(|| "–".into(), bytes),
        ))?;
    }
    Ok(())
}
