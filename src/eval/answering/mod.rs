//! `eval locomo`, `longmemeval`, `perltqa`, `msc`: questions about conversations, answered by a reader that is
//! shown what each method chooses.
//!
//! Every method sees the same questions, one question at a time, so that methods can be compared in
//! pairs. A run is a folder ([`journal`]) and goes on where it was killed.

mod calibration;
mod costs;
mod data;
mod journal;
mod markdown;
mod memory;
mod meter;
mod methods;
mod plots;
mod report;
#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;
use serde_json::{Value, json};

pub use self::calibration::{GateReport, GateRun, SignalRow, SweepRow, measure_gate};
pub use self::costs::{BreakEven, CostRow, PayOff};
pub use self::data::DataSet;
use self::data::{Asked, Told};
pub use self::journal::{Built, Line, MemoryRow, Outcome, Timing};
use self::journal::{Journal, Record};
use self::memory::Remembered;
use self::meter::Metered;
pub use self::methods::Method;
use self::methods::{Answered, Asking};
pub use self::report::{AnswerRow, AnswersReport, DifferenceRow, FigureRow, SecondsRow};
use super::retrieval::vectors::embed;
use super::sample::some;
use super::{EvalError, SEED};
use crate::interfaces::{Cancel, ModelError, Models};
use crate::recall::{RecallConfig, signal_for};
use crate::worker::WorkerConfig;

/// Something that was left out, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Skipped {
    pub what: String,
    pub reason: String,
}

/// What is to be run.
#[derive(Debug, Clone)]
pub struct Run<'a> {
    pub set: DataSet,
    pub file: &'a Path,
    /// Ready-made memories, a folder a conversation; without them the program builds its own.
    pub memories: Option<&'a Path>,
    pub methods: BTreeSet<Method>,
    /// At most so many questions, drawn from all.
    pub questions_max: Option<usize>,
    /// Where the run is kept.
    pub out: &'a Path,
    /// Goes on with the run that is there.
    pub resume: bool,
    pub recall: RecallConfig,
    pub writer: WorkerConfig,
    /// The setting that `model check` keeps for the model, if it was checked.
    pub grade: Option<(String, String)>,
    /// What only the caller knows: `program`, `data`, `memories`, `machine`.
    pub manifest: Value,
}

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'a> {
    /// Steps of building a conversation's memory.
    Building { conversation: &'a str, done: usize, of: usize },
    /// Answers of the whole run; `earlier` were there already.
    Answering { done: usize, of: usize, earlier: usize },
}

/// A run that is over.
#[derive(Debug, Clone, PartialEq)]
pub struct Ran {
    pub report: AnswersReport,
    pub seconds: Vec<SecondsRow>,
    /// The report's tables, and the seconds'.
    pub markdown: String,
    pub markdown_of_seconds: String,
}

/// Runs what is not there yet, and reports all of it.
///
/// # Errors
/// If the file can't be read, the folder can't be used, the engine or a store fails, or it was
/// cancelled. A question that can't be answered is no error: see [`AnswersReport::skipped`].
pub fn measure_answers(
    run: &Run<'_>,
    models: &Models,
    on_step: &dyn Fn(Step<'_>),
    cancel: &Cancel,
) -> Result<Ran, EvalError> {
    let (told, skipped) = run.set.load(run.file)?;
    let chosen = chosen(&told, run.questions_max);
    let mut journal =
        Journal::open(run.out, &manifest(run, models, &told, &chosen), run.resume, different)?;
    let of = chosen.len() * run.methods.len();
    let all =
        || chosen.iter().flat_map(|&(i, asked)| run.methods.iter().map(move |&m| (i, asked, m)));
    let earlier =
        all().filter(|&(i, asked, m)| journal.done.contains(&key(&told[i], asked, m))).count();
    let mut done = earlier;
    on_step(Step::Answering { done, of, earlier });

    let model = Metered::new(Arc::clone(&models.language));
    let system = methods::system(&model);
    let head = methods::head(&model, &system)?;
    for (i, told) in told.iter().enumerate() {
        let asked: Vec<&Asked> =
            chosen.iter().filter(|(of, _)| *of == i).map(|&(_, asked)| asked).collect();
        let left: BTreeSet<Method> = asked
            .iter()
            .flat_map(|asked| run.methods.iter().map(move |&method| (asked, method)))
            .filter(|(asked, method)| !journal.done.contains(&key(told, asked, *method)))
            .map(|(_, method)| method)
            .collect();
        if left.is_empty() {
            continue;
        }
        let prepared = Prepared::new(run, told, &left, models, on_step, cancel)?;
        if let Ok(Some(memory)) = &prepared.memory {
            journal.remember(&memory.row(&told.name)?, prepared.seconds_to_build)?;
        }
        let asking = Asking {
            messages: &told.messages,
            vectors: &prepared.vectors,
            memory: prepared.memory.as_ref().ok().and_then(Option::as_ref),
            models,
            model: &model,
            recall: &run.recall,
            system: &system,
            head: &*head,
            cancel,
        };
        for asked in asked {
            for &method in &run.methods {
                if journal.done.contains(&key(told, asked, method)) {
                    continue;
                }
                if cancel.is_cancelled() {
                    return Err(EvalError::Cancelled);
                }
                let start = Instant::now();
                let unprepared = prepared.memory.as_ref().err();
                let outcome = if let Some(reason) = unprepared.filter(|_| method.needs_memory()) {
                    Outcome::Failed { error: reason.clone() }
                } else {
                    model.take_written();
                    outcome(asking.answer(method, asked), asked, &model)?
                };
                let line = Line {
                    conversation: told.name.clone(),
                    question: asked.place,
                    category: asked.category,
                    method: method.as_str().to_owned(),
                    asked: asked.text.clone(),
                    expected: asked.answer.clone(),
                    outcome,
                };
                journal.append(&line, start.elapsed().as_secs_f64())?;
                done += 1;
                on_step(Step::Answering { done, of, earlier });
            }
        }
    }
    finish(&journal, skipped)
}

fn key(told: &Told, asked: &Asked, method: Method) -> journal::Key {
    (told.name.clone(), asked.place, method.as_str().to_owned())
}

fn finish(journal: &Journal, skipped: Vec<Skipped>) -> Result<Ran, EvalError> {
    let Record { manifest, lines, memories, timings } = journal.read()?;
    let report = AnswersReport::of(manifest, lines, memories, skipped);
    let seconds = report::seconds(&timings);
    let markdown = markdown::of(&report);
    let markdown_of_seconds = markdown::of_seconds(&seconds);
    journal.write("report.json", &journal::pretty(&report))?;
    journal.write("report.md", &markdown)?;
    journal.write("timings.md", &markdown_of_seconds)?;
    for plot in plots::of(&report) {
        journal.write(plot.file, &plot.svg)?;
    }
    Ok(Ran { report, seconds, markdown, markdown_of_seconds })
}

/// The questions of all conversations, or so many of them, in their order.
fn chosen(told: &[Told], questions_max: Option<usize>) -> Vec<(usize, &Asked)> {
    let all: Vec<(usize, &Asked)> = told
        .iter()
        .enumerate()
        .flat_map(|(i, told)| told.questions.iter().map(move |asked| (i, asked)))
        .collect();
    let n = questions_max.unwrap_or(all.len());
    some(all, n, &format!("locomo answers {SEED}"))
}

fn manifest(run: &Run<'_>, models: &Models, told: &[Told], chosen: &[(usize, &Asked)]) -> Value {
    let info = models.language.info();
    let signal = run
        .recall
        .signal
        .unwrap_or_else(|| signal_for(info, run.grade.as_ref().map(|(_, grade)| grade.as_str())));
    let conversations: BTreeSet<usize> = chosen.iter().map(|&(i, _)| i).collect();
    let mut manifest = json!({
        "command": run.set.command(),
        "methods": run.methods.iter().map(|m| m.as_str()).collect::<Vec<_>>(),
        "model": {
            "name": info.name,
            "sha256": info.weights_sha256,
            "parameters": info.n_parameters,
            "context_tokens": info.context_tokens,
        },
        "embedder": models.embedder.id(),
        "uncertainty": signal.as_str(),
        "window_tokens": run.recall.window_tokens,
        "seed": SEED,
        "limit": run.questions_max,
    });
    if let (Some(all), Some(own)) = (manifest.as_object_mut(), run.manifest.as_object()) {
        all.extend(own.clone());
    }
    manifest["data"]["conversations"] = json!(conversations.len());
    manifest["data"]["questions"] = json!(chosen.len());
    manifest["data"]["questions_in_file"] =
        json!(told.iter().map(|told| told.questions.len()).sum::<usize>());
    manifest
}

/// The part of two manifests by which their answers may differ. The machine and the checkout's
/// state are no such part: the program is known by its own hash.
fn different(there: &Value, here: &Value) -> Option<String> {
    const PARTS: [&str; 11] = [
        "/command",
        "/methods",
        "/model",
        "/embedder",
        "/uncertainty",
        "/window_tokens",
        "/seed",
        "/limit",
        "/data",
        "/memories",
        "/program/sha256",
    ];
    let found = PARTS.into_iter().find(|part| there.pointer(part) != here.pointer(part))?;
    Some(found[1..].replace('/', " "))
}

/// A failure of one question is its outcome; one of the machinery ends the run.
fn outcome(
    answered: Result<Answered, EvalError>,
    asked: &Asked,
    model: &Metered,
) -> Result<Outcome, EvalError> {
    match answered {
        Ok(answered) => {
            let found = asked.evidence.intersection(&answered.covered).count();
            Ok(Outcome::Answered {
                answer: answered.text,
                evidence_named: asked.evidence.len() as u64,
                evidence_found: found as u64,
                prompt_tokens: answered.prompt_tokens,
                tokens: answered.tokens,
                processed_tokens: answered.processed_tokens,
                written_tokens: model.take_written(),
                model_calls: answered.model_calls,
            })
        }
        Err(error) => Ok(Outcome::Failed { error: of_question(error)? }),
    }
}

/// What failed, if it was one question; any other error ends the run.
fn of_question(error: EvalError) -> Result<String, EvalError> {
    match error {
        EvalError::Model(
            error @ (ModelError::ContextOverflow { .. }
            | ModelError::NotANumber
            | ModelError::Backend { .. }),
        ) => Ok(error.to_string()),
        error => Err(error),
    }
}

/// What the methods that are left need of a conversation.
struct Prepared {
    vectors: Vec<crate::memory::Embedding>,
    /// Or why there is none.
    memory: Result<Option<Remembered>, String>,
    seconds_to_build: f64,
}

impl Prepared {
    fn new(
        run: &Run<'_>,
        told: &Told,
        left: &BTreeSet<Method>,
        models: &Models,
        on_step: &dyn Fn(Step<'_>),
        cancel: &Cancel,
    ) -> Result<Self, EvalError> {
        let vectors = if left.contains(&Method::NaiveRag) {
            let lines: Vec<String> =
                told.messages.iter().map(|m| format!("{}: {}", m.name(), m.text)).collect();
            embed(models.embedder.as_ref(), &lines)?
        } else {
            Vec::new()
        };
        let start = Instant::now();
        let memory = if left.iter().any(|method| method.needs_memory()) {
            match Self::remembered(run, told, models, on_step, cancel) {
                Ok(memory) => Ok(Some(memory)),
                Err(error @ (EvalError::Cancelled | EvalError::Store(_) | EvalError::Model(_))) => {
                    return Err(error);
                }
                Err(error) => Err(said(&error)),
            }
        } else {
            Ok(None)
        };
        Ok(Self { vectors, memory, seconds_to_build: start.elapsed().as_secs_f64() })
    }

    fn remembered(
        run: &Run<'_>,
        told: &Told,
        models: &Models,
        on_step: &dyn Fn(Step<'_>),
        cancel: &Cancel,
    ) -> Result<Remembered, EvalError> {
        let grade = run.grade.as_ref();
        if let Some(memories) = run.memories {
            let path: PathBuf = memory::folder(memories, told).ok_or(EvalError::NoMemory)?;
            memory::given(path, told, &models.embedder, grade)
        } else {
            let conversation = told.name.as_str();
            let on_job = |done, of| on_step(Step::Building { conversation, done, of });
            memory::built(told, models, &run.writer, grade, &on_job, cancel)
        }
    }
}

/// An error with its causes, on one line.
fn said(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
