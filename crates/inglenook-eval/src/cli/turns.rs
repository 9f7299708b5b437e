//! `turns`: what messages want.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use inglenook::cli::{App, counted};
use inglenook::extractive::{WantsModel, wants};

use super::args::Turns;
use super::error::{CommandError, Outcome};
use crate::{Turn, fit_turns, parse_turns, render_turns, score_turns};

pub(super) fn run(app: &App, args: &Turns) -> Outcome {
    let fitted = if args.fit.is_empty() { None } else { Some(fit(app, args)?) };
    for path in &args.files {
        let turns = read(app, path)?;
        let scored = match &fitted {
            Some(model) => score_turns(&turns, |text| model.wants(text)),
            None => score_turns(&turns, wants),
        };
        app.console.line(&format!(
            "{}: {}, {:.3} right; memory or not: {:.3}",
            path.display(),
            counted(turns.len(), "message"),
            scored.accuracy,
            scored.memory_accuracy,
        ))?;
        for (turn, said) in &scored.wrong {
            app.console.line(&format!("  {:?} → {said:?}: {}", turn.wants, turn.text))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn fit(app: &App, args: &Turns) -> Result<WantsModel, CommandError> {
    let turns: Vec<Vec<Turn>> =
        args.fit.iter().map(|path| read(app, path)).collect::<Result<_, _>>()?;
    let text = render_turns(&fit_turns(&turns.concat(), args.l2));
    if let Some(path) = &args.out {
        std::fs::write(path, &text).map_err(|source| CommandError::file("write", path, source))?;
    }
    Ok(WantsModel::parse(&text))
}

fn read(app: &App, path: &PathBuf) -> Result<Vec<Turn>, CommandError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| CommandError::file("read", Path::new(path), source))?;
    let (turns, n_damaged) = parse_turns(&text);
    if n_damaged > 0 {
        app.console.warn(&format!("{n_damaged} lines of {} are damaged", path.display()));
    }
    Ok(turns)
}
