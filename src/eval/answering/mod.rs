//! `eval locomo`, `longmemeval`, `perltqa`, `msc`: questions about conversations, answered by a reader that is
//! shown what each method chooses.
//!
//! Every method sees the same questions, one question at a time, so that methods can be compared in
//! pairs. A run is a folder ([`journal`]) and goes on where it was killed.

mod calibration;
mod costs;
mod data;
mod journal;
mod lightmem;
mod markdown;
mod memory;
mod meter;
mod method;
mod methods;
#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod own_memory_tests;
mod plots;
mod prepared;
mod pruning;
mod report;
mod shelf;
mod structural;
#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests;
mod workshop;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

pub use self::calibration::{GateReport, GateRun, SignalRow, SweepRow, measure_gate};
pub use self::costs::{BreakEven, CostRow, PayOff};
pub use self::data::DataSet;
use self::data::{Asked, Told};
pub use self::journal::{Built, Line, MemoryRow, Outcome, Timing};
use self::journal::{Journal, Record};
use self::meter::Metered;
pub use self::method::Method;
use self::methods::{Answered, Asking};
use self::prepared::Prepared;
pub use self::report::{
    AnswerRow, AnswersReport, ConstructionRow, DifferenceRow, FigureRow, SecondsRow,
};
use self::shelf::Shelf;
pub use self::shelf::{BuildTime, MadeBy};
pub use self::structural::Mode;
use self::workshop::Hands;
use super::sample::some;
use super::{EvalError, SEED};
use crate::interfaces::{Cancel, ModelError, Models};
use crate::model_policy::{Grade, gate_signal};
use crate::recall::RecallConfig;
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
    /// The share of tokens that `rag-pruning` and `lightmem` keep, above 0 and at most 1.
    pub pruning_ratio: f64,
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
    /// Of memories that methods built for themselves.
    pub construction_seconds: Vec<BuildTime>,
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
    let manifest = manifest(run, models, &told, &chosen);
    let mut journal = Journal::open(run.out, &manifest, run.resume, different)?;
    let of = chosen.len() * run.methods.len();
    let all =
        || chosen.iter().flat_map(|&(i, asked)| run.methods.iter().map(move |&m| (i, asked, m)));
    let earlier =
        all().filter(|&(i, asked, m)| journal.done.contains(&key(&told[i], asked, m))).count();
    let mut done = earlier;
    on_step(Step::Answering { done, of, earlier });

    let shelf = Shelf::of(run.out, identity(&manifest));
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
        let prepared = Prepared::new(run, (i, told), &left, models, &shelf, on_step, cancel)?;
        if let Ok(Some(memory)) = &prepared.memory {
            journal.remember(&memory.row(&told.name)?, prepared.seconds_to_build)?;
        }
        let asking = Asking {
            messages: &told.messages,
            vectors: &prepared.vectors,
            memory: prepared.memory.as_ref().ok().and_then(Option::as_ref),
            notes: prepared.notes.as_ref().ok().and_then(Option::as_ref),
            library: prepared.library.as_ref(),
            hands: hands(run, models),
            pruning_ratio: run.pruning_ratio,
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
                let outcome = if let Some(error) = prepared.missing(method) {
                    Outcome::Failed { error }
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
    finish(&journal, &shelf, skipped)
}

fn hands(run: &Run<'_>, models: &Models) -> Hands {
    let grade = run.grade.as_ref().map(|(_, grade)| grade.as_str());
    Hands::of(run.writer.writer, models.language.info(), grade)
}

fn key(told: &Told, asked: &Asked, method: Method) -> journal::Key {
    (told.name.clone(), asked.place, method.as_str().to_owned())
}

fn finish(journal: &Journal, shelf: &Shelf, skipped: Vec<Skipped>) -> Result<Ran, EvalError> {
    let Record { manifest, lines, memories, timings } = journal.read()?;
    let mut report = AnswersReport::of(manifest, lines, memories, skipped);
    report.construction = ConstructionRow::of(&shelf.all());
    let seconds = report::seconds(&timings);
    let construction_seconds = shelf.seconds()?;
    let markdown = markdown::of(&report);
    let markdown_of_seconds =
        markdown::of_seconds(&seconds) + &markdown::of_building(&construction_seconds);
    journal.write("report.json", &journal::pretty(&report))?;
    journal.write("report.md", &markdown)?;
    journal.write("timings.md", &markdown_of_seconds)?;
    for plot in plots::of(&report) {
        journal.write(plot.file, &plot.svg)?;
    }
    Ok(Ran { report, seconds, construction_seconds, markdown, markdown_of_seconds })
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
    let signal = run.recall.signal.unwrap_or_else(|| {
        gate_signal(
            info,
            Grade::from_setting(run.grade.as_ref().map(|(_, text)| text.as_str())).as_ref(),
        )
    });
    let conversations: BTreeSet<usize> = chosen.iter().map(|&(i, _)| i).collect();
    let mut manifest = json!({
        "command": run.set.command(),
        "methods": run.methods.iter().map(|m| m.as_str()).collect::<Vec<_>>(),
        "model": {
            "name": info.name,
            "sha256": models.language.weights_sha256(),
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
    if run.methods.iter().any(|method| matches!(method, Method::RagPruning | Method::LightMem)) {
        manifest["pruning_ratio"] = json!(run.pruning_ratio);
    }
    if run.methods.iter().any(|method| matches!(method, Method::LightMem | Method::Structural(_))) {
        let by = |model: bool| if model { MadeBy::Model } else { MadeBy::Rules };
        let Hands { plan, thinks } = hands(run, models);
        manifest["written_by"] = json!({
            "notes, facts, triples": by(plan.semantics),
            "summaries": by(plan.episode),
            "updates": by(plan.conflict),
            "thoughts, ranks": by(thinks),
        });
    }
    manifest["data"]["conversations"] = json!(conversations.len());
    manifest["data"]["questions"] = json!(chosen.len());
    manifest["data"]["questions_in_file"] =
        json!(told.iter().map(|told| told.questions.len()).sum::<usize>());
    manifest
}

/// What of a manifest answers may depend on. The machine and the checkout's state are no such part: the
/// program is known by its own hash.
const PARTS: [&str; 13] = [
    "/command",
    "/methods",
    "/model",
    "/embedder",
    "/uncertainty",
    "/window_tokens",
    "/pruning_ratio",
    "/written_by",
    "/seed",
    "/limit",
    "/data",
    "/memories",
    "/program/sha256",
];

/// The part of two manifests by which their answers may differ.
fn different(there: &Value, here: &Value) -> Option<String> {
    let found = PARTS.into_iter().find(|part| there.pointer(part) != here.pointer(part))?;
    Some(found[1..].replace('/', " "))
}

/// What a run is known by: runs that don't differ have the same.
fn identity(manifest: &Value) -> String {
    let parts: Vec<Option<&Value>> = PARTS.iter().map(|part| manifest.pointer(part)).collect();
    let hash = Sha256::digest(json!(parts).to_string());
    let mut first = [0; 8];
    first.copy_from_slice(&hash[..8]);
    format!("{:016x}", u64::from_be_bytes(first))
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
