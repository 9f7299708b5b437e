//! `bench memory`: several sizes in turns, each in a child process. So all sizes are measured over the same
//! period, and each with its own heap.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};

use inglenook::cli::{App, Failure, Progress, bytes, counted};
use serde::{Deserialize, Serialize};

use crate::cli::args::BenchMemory;
use crate::cli::error::{CommandError, Outcome};
use crate::{EvalError, N_ROUNDS, ScaleReport, ScaleRow, ScaleStep, SizedMemory};

pub fn run(app: &App, args: &BenchMemory) -> Outcome {
    if let Some(n) = args.part {
        return match part(app, n as usize) {
            // The parent reports, or is gone.
            Err(
                CommandError::Eval(EvalError::Cancelled)
                | CommandError::Program(Failure::BrokenPipe),
            ) => Ok(ExitCode::SUCCESS),
            other => other,
        };
    }
    let sizes: BTreeSet<usize> = args.semantics.iter().map(|&n| n as usize).collect();
    let progress = app.console.progress();
    let measured = measure(app, &sizes, &progress);
    progress.finish();
    let report = ScaleReport { rows: measured? };
    app.console.report(&report, args.json, |report| print(app, &report.rows))?;
    Ok(ExitCode::SUCCESS)
}

fn measure(
    app: &App,
    sizes: &BTreeSet<usize>,
    progress: &Progress,
) -> Result<Vec<ScaleRow>, CommandError> {
    let mut parts = Vec::with_capacity(sizes.len());
    for &n in sizes {
        let mut part = Part::start(n)?;
        part.until_ready(app, progress)?;
        parts.push(part);
    }
    for round in 0..N_ROUNDS {
        progress.set(round as u64, N_ROUNDS as u64, "asking");
        for part in &mut parts {
            part.ask()?;
            part.until_ready(app, progress)?;
        }
    }
    parts.into_iter().map(|part| part.row(app)).collect()
}

/// A line from a child process.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FromPart {
    Progress {
        step: ScaleStep,
        done: usize,
        of: usize,
    },
    /// It waits for a line to ask a round of questions, or for the end of its input.
    Ready,
    Row(ScaleRow),
}

/// The child process of one size. Dropping it ends the process.
struct Part {
    n: usize,
    process: Child,
    input: Option<ChildStdin>,
    output: Option<BufReader<ChildStdout>>,
}

impl Part {
    /// Runs this program with the same arguments, so that its setup is the same.
    fn start(n: usize) -> Result<Self, CommandError> {
        let failed = |e| CommandError::file("run", Path::new("this program a second time"), e);
        let program = std::env::current_exe().map_err(failed)?;
        let mut process = Command::new(program)
            .args(std::env::args_os().skip(1))
            .args(["--part", &n.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let (input, output) = (process.stdin.take(), process.stdout.take().map(BufReader::new));
        Ok(Self { n, process, input, output })
    }

    fn ended(&self) -> CommandError {
        CommandError::Part(counted(self.n, "fact"))
    }

    fn receive(&mut self, app: &App) -> Result<FromPart, CommandError> {
        let mut line = String::new();
        if let Some(output) = &mut self.output {
            // If the process is gone the line stays empty, which is not valid JSON.
            let _ = output.read_line(&mut line);
        }
        if app.cancel.is_cancelled() {
            return Err(Failure::Interrupted.into());
        }
        serde_json::from_str(&line).map_err(|_| self.ended())
    }

    fn until_ready(&mut self, app: &App, progress: &Progress) -> Result<(), CommandError> {
        loop {
            match self.receive(app)? {
                FromPart::Progress { step, done, of } => {
                    let doing = match step {
                        ScaleStep::Inserting => "inserting",
                        ScaleStep::Storing => "storing",
                    };
                    let message = format!("{}: {doing}", counted(self.n, "fact"));
                    progress.set(done as u64, of as u64, &message);
                }
                FromPart::Ready => return Ok(()),
                FromPart::Row(_) => return Err(self.ended()),
            }
        }
    }

    fn ask(&mut self) -> Result<(), CommandError> {
        let asked = self.input.as_mut().is_some_and(|input| input.write_all(b"\n").is_ok());
        if asked { Ok(()) } else { Err(self.ended()) }
    }

    fn row(mut self, app: &App) -> Result<ScaleRow, CommandError> {
        self.input = None;
        match self.receive(app)? {
            FromPart::Row(row) => Ok(row),
            FromPart::Progress { .. } | FromPart::Ready => Err(self.ended()),
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // The end of its input makes it remove its files.
        (self.input, self.output) = (None, None);
        let _ = self.process.wait();
    }
}

/// The child process.
fn part(app: &App, n: usize) -> Outcome {
    let send = |line: &FromPart| -> Result<(), Failure> {
        app.console.line(&serde_json::to_string(line).map_err(|e| Failure::Output(e.into()))?)
    };
    let on_progress = |step, done, of| {
        if send(&FromPart::Progress { step, done, of }).is_err() {
            // The parent is gone.
            app.cancel.cancel();
        }
    };
    let mut memory = SizedMemory::build(n, &on_progress, &app.cancel)?;
    send(&FromPart::Ready)?;
    for line in std::io::stdin().lines() {
        line.map_err(Failure::Output)?;
        memory.ask(&app.cancel)?;
        send(&FromPart::Ready)?;
    }
    send(&FromPart::Row(memory.row()))?;
    Ok(ExitCode::SUCCESS)
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
