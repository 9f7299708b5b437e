//! `score`: a file of answers.

use std::process::ExitCode;

use inglenook::cli::{App, Failure, counted};

use super::args::Score;
use super::error::{CommandError, Outcome};
use crate::{self as eval, Interval, Scored, interval};

pub(super) fn run(app: &App, args: &Score) -> Outcome {
    let path = args.file.display().to_string();
    let text = std::fs::read_to_string(&args.file)
        .map_err(|source| CommandError::file("read", &args.file, source))?;
    let scores = eval::score(&text);
    app.console.report(&scores, args.json, |scores| print(app, &scores.rows))?;
    for bad in &scores.skipped {
        app.console.warn(&format!("line {} of {path} is not scored: {}", bad.line, bad.reason));
    }
    Ok(if scores.skipped.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print(app: &App, rows: &[Scored]) -> Result<(), Failure> {
    app.console.line(&format!("{}; means with 95 % intervals", counted(rows.len(), "row")))?;
    let column = |of: fn(&Scored) -> f64| -> Vec<f64> { rows.iter().map(of).collect() };
    let figures = [
        ("f1", column(|row| row.f1)),
        ("bleu1", column(|row| row.bleu1)),
        ("rouge_l", column(|row| row.rouge_l)),
        ("exact", column(|row| f64::from(row.exact))),
    ];
    for (name, values) in figures {
        let figure = match interval(&values, eval::SEED) {
            Some(Interval { mean, low, high }) => format!("{mean:.4}  [{low:.4}, {high:.4}]"),
            None => "–".into(),
        };
        app.console.line(&format!("  {name:<8} {figure}"))?;
    }
    Ok(())
}
