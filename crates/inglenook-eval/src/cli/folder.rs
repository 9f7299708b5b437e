//! A folder for tables and plots.

use std::path::Path;

use inglenook::cli::App;

use super::error::CommandError;
use crate::Plot;

/// Writes `report.md` and the plots into `out`, if it was given, replacing earlier ones.
pub(super) fn keep(
    app: &App,
    out: Option<&Path>,
    markdown: &str,
    plots: &[Plot],
) -> Result<(), CommandError> {
    let Some(out) = out else { return Ok(()) };
    let failed = |path: &Path, source| CommandError::file("write", path, source);
    std::fs::create_dir_all(out).map_err(|source| failed(out, source))?;
    let plots = plots.iter().map(|plot| (plot.file, plot.svg.as_str()));
    for (name, text) in [("report.md", markdown)].into_iter().chain(plots) {
        let path = out.join(name);
        std::fs::write(&path, text).map_err(|source| failed(&path, source))?;
    }
    app.console.note(&format!("The tables and plots are in {}.", out.display()));
    Ok(())
}
