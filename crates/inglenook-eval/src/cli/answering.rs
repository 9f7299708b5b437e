//! `locomo`, `longmemeval`, `perltqa`, `msc`: the run's arguments, what it ran on, its tables.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use inglenook::cli::{App, Failure, counted, one_line};
use inglenook::interfaces::Models;
use inglenook::registry::{hex, sha256_file};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::args::{Locomo, LongMem, Msc, PerLtqa, RunArgs};
use super::error::{CommandError, Outcome};
use crate::{self as eval, DataSet, Method, Run, Step};

pub(super) fn locomo(app: &App, args: &Locomo) -> Outcome {
    run(app, DataSet::Locomo, &args.file, args.memories.as_deref(), &args.out, &args.run)
}

pub(super) fn long_mem_eval(app: &App, args: &LongMem) -> Outcome {
    run(app, DataSet::LongMemEval, &args.file, None, &args.out, &args.run)
}

pub(super) fn perltqa(app: &App, args: &PerLtqa) -> Outcome {
    run(app, DataSet::PerLtqa, &args.file, None, &args.out, &args.run)
}

pub(super) fn msc(app: &App, args: &Msc) -> Outcome {
    run(app, DataSet::Msc, &args.file, None, &args.out, &args.run)
}

fn run(
    app: &App,
    set: DataSet,
    file: &Path,
    memories: Option<&Path>,
    out: &Path,
    args: &RunArgs,
) -> Outcome {
    let methods: BTreeSet<Method> = if args.method.is_empty() {
        Method::by_default().collect()
    } else {
        let named: Result<Vec<Vec<Method>>, String> =
            args.method.iter().map(|name| Method::named(name)).collect();
        let named = named.map_err(|what| Failure::Usage { what, hint: String::new() })?;
        named.into_iter().flatten().collect()
    };
    let manifest = manifest(app, set, file, memories)?;
    let recall = app.recall_config(args.uncertainty.as_deref())?;
    let models = app.models()?;
    let run = Run {
        set,
        file,
        memories,
        methods,
        questions_max: args.limit.map(|n| n as usize),
        out,
        resume: args.resume,
        recall,
        writer: app.worker_config(),
        pruning_ratio: args.pruning_ratio,
        grade: grade(app, &models),
        manifest,
    };
    let progress = app.console.progress();
    let start = Instant::now();
    let on_step = |step: Step<'_>| match step {
        Step::Building { conversation, done, of } => {
            let what = format!("building the memory of {}", one_line(conversation, 40));
            progress.set(done as u64, of as u64, &format!("{what}: step {done} of {of}"));
        }
        Step::Answering { done, of, earlier } => {
            let left = time_left(start.elapsed().as_secs_f64(), done - earlier, of - done);
            progress.set(done as u64, of as u64, &format!("answer {done} of {of}{left}"));
        }
    };
    let ran = eval::measure_answers(&run, &models, &on_step, &app.cancel);
    progress.finish();
    let ran = ran?;
    if args.json {
        let mut document = serde_json::to_value(&ran.report).unwrap_or_default();
        document["seconds"] = json!(ran.seconds);
        document["construction_seconds"] = json!(ran.construction_seconds);
        app.console.json(&document)?;
    } else {
        app.console.line(&format!("{}\n{}", ran.markdown, ran.markdown_of_seconds))?;
    }
    for skipped in &ran.report.skipped {
        let (what, reason) = (one_line(&skipped.what, 100), one_line(&skipped.reason, 400));
        app.console.warn(&format!("left out: {what}: {reason}"));
    }
    let n = counted(ran.report.answers.len(), "answer");
    app.console.note(&format!("{n}, the tables and plots are in {}.", out.display()));
    Ok(if ran.report.skipped.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Key and value of the grade that `model check` stored for the model; `None` if there is no readable memory.
pub(super) fn grade(app: &App, models: &Models) -> Option<(String, String)> {
    let key = models.language.info().grade_key();
    let grade = app.open_read_only().and_then(|store| Ok(store.read(|r| r.setting(&key))?));
    grade.ok().flatten().map(|grade| (key, grade))
}

/// The estimated time left; empty before the first answer.
pub(super) fn time_left(seconds: f64, n_done: usize, n_left: usize) -> String {
    if n_done == 0 {
        return String::new();
    }
    let left = (seconds / n_done as f64 * n_left as f64).round() as u64;
    match left {
        0..60 => format!(", {left} s left"),
        60..3600 => format!(", {} min left", left.div_ceil(60)),
        _ => format!(", {} h {:02} min left", left / 3600, left % 3600 / 60),
    }
}

/// The manifest's part about program, data and machine.
fn manifest(
    app: &App,
    set: DataSet,
    file: &Path,
    memories: Option<&Path>,
) -> Result<Value, CommandError> {
    let sha256 = |path: &Path| sha256_file(path).ok().map(|(sha256, _)| sha256);
    let own = std::env::current_exe().ok().and_then(|path| sha256_file(&path).ok());
    let memories = match memories {
        Some(dir) => json!({
            "kind": "ready-made",
            "name": name_of(dir),
            "sha256": sha256_of_folder(dir).map_err(|source| CommandError::file("read", dir, source))?,
        }),
        None => json!({
            "kind": "built by the program",
            "writer": app.worker_config().writer,
        }),
    };
    Ok(json!({
        "program": {
            "version": env!("CARGO_PKG_VERSION"),
            "commit": commit(),
            "sha256": own.map(|(sha256, _)| sha256),
        },
        // A missing file is reported where it is read.
        "data": {
            "name": name_of(file),
            "sha256": sha256(file),
            "beside_sha256": set.beside(file).as_deref().and_then(sha256),
        },
        "memories": memories,
        "machine": {
            "system": std::env::consts::OS,
            "architecture": std::env::consts::ARCH,
            "processor": processor(),
            "cores": std::thread::available_parallelism().map_or(1, usize::from),
        },
    }))
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The current commit of the checkout that the program was built in, if it still exists.
fn commit() -> Option<String> {
    let output = std::process::Command::new("git")
        .args(["-C", env!("CARGO_MANIFEST_DIR"), "describe", "--always", "--dirty"])
        .args(["--abbrev=40", "--exclude=*"])
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}

fn processor() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// A hash over the names and hashes of all files below, in order.
fn sha256_of_folder(dir: &Path) -> std::io::Result<String> {
    let mut files = Vec::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path: PathBuf = entry?.path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    let mut hasher = Sha256::new();
    for path in files {
        let name = path.strip_prefix(dir).unwrap_or(&path).to_string_lossy().into_owned();
        hasher.update(format!("{name}\n{}\n", sha256_file(&path)?.0));
    }
    Ok(hex(&hasher.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_reads_well() {
        assert_eq!(time_left(10.0, 0, 5), "");
        assert_eq!(time_left(10.0, 5, 5), ", 10 s left");
        assert_eq!(time_left(10.0, 1, 7), ", 2 min left");
        assert_eq!(time_left(100.0, 1, 40), ", 1 h 06 min left");
        assert_eq!(time_left(9.0, 3, 0), ", 0 s left");
    }
}
