//! `turns`: what messages want.

use std::process::ExitCode;

use inglenook::cli::{App, counted};
use inglenook::model_policy::wants;

use super::args::Turns;
use super::error::{CommandError, Outcome};
use crate::{parse_turns, score_turns};

pub(super) fn run(app: &App, args: &Turns) -> Outcome {
    let encoder = app.reranker()?;
    for path in &args.files {
        let text = std::fs::read_to_string(path)
            .map_err(|source| CommandError::file("read", path, source))?;
        let (turns, n_damaged) = parse_turns(&text);
        if n_damaged > 0 {
            app.console.warn(&format!("{n_damaged} lines of {} are damaged", path.display()));
        }
        let start = std::time::Instant::now();
        let scored = score_turns(&turns, |text| wants(encoder.as_deref(), text));
        app.console.line(&format!(
            "{}: {}, {:.3} right; memory or not: {:.3}; {:.1} ms each",
            path.display(),
            counted(turns.len(), "message"),
            scored.accuracy,
            scored.memory_accuracy,
            start.elapsed().as_secs_f64() * 1e3 / turns.len().max(1) as f64,
        ))?;
        for (turn, said) in &scored.wrong {
            app.console.line(&format!("  {:?} → {said:?}: {}", turn.wants, turn.text))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
