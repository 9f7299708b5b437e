//! `locomo`, `longmemeval`, `perltqa`, `msc`: questions about conversations, answered by a reader from the
//! evidence that each method selects.
//!
//! All methods answer the same questions, one question at a time, so that they can be compared in pairs. A
//! run is a folder ([`journal`]) and resumes after a kill.

mod built_cache;
mod calibration;
mod costs;
mod data;
mod equation_4;
mod journal;
mod lightmem;
mod markdown;
mod memory;
mod memory_builder;
mod meter;
mod method;
mod methods;
#[cfg(test)]
mod own_memory_tests;
mod plots;
mod prepared;
mod pruning;
mod report;
mod structural;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod words_tests;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use self::built_cache::BuiltCache;
pub use self::built_cache::{BuildTime, MadeBy};
pub use self::calibration::{GateReport, GateRun, SignalRow, SweepRow, measure_gate};
pub use self::costs::{BreakEven, CostRow, PayOff};
pub use self::data::DataSet;
use self::data::{Conversation, Question};
pub use self::journal::{BuildCost, Line, MemoryRow, Outcome, Timing};
use self::journal::{Journal, Record};
use self::meter::Metered;
pub use self::method::Method;
use self::methods::{Answered, Answerer};
use self::prepared::Prepared;
pub use self::report::{
    AnswerRow, AnswersReport, ConstructionRow, DifferenceRow, FigureRow, SecondsRow,
};
pub use self::structural::Mode;
use inglenook::interfaces::{Cancel, ModelError, ModelInfo, Models, Signal};
use inglenook::recall::RecallConfig;
use inglenook::worker::WorkerConfig;

use self::memory_builder::ModelUse;
use super::sample::some;
use super::{EvalError, SEED};

/// Something that was left out, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Skipped {
    pub what: String,
    pub reason: String,
}

/// The arguments of a run.
#[derive(Debug, Clone)]
pub struct Run<'a> {
    pub set: DataSet,
    pub file: &'a Path,
    /// Ready-made memories, one folder per conversation; without them the product builds its own.
    pub memories: Option<&'a Path>,
    pub methods: BTreeSet<Method>,
    /// Samples at most this many questions.
    pub questions_max: Option<usize>,
    /// Where the run is kept.
    pub out: &'a Path,
    /// Continues the run in `out`.
    pub resume: bool,
    pub recall: RecallConfig,
    pub writer: WorkerConfig,
    /// Share of tokens that `rag-pruning` and `lightmem` keep, in (0, 1].
    pub pruning_ratio: f64,
    /// Key and value of the grade that `model check` stored for the model, if any.
    pub grade: Option<(String, String)>,
    /// The caller's part of the manifest: `program`, `data`, `memories`, `machine`.
    pub manifest: Value,
}

/// Progress of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'a> {
    /// Building a conversation's memory.
    Building { conversation: &'a str, done: usize, of: usize },
    /// Answering; `earlier` answers were there before this process started.
    Answering { done: usize, of: usize, earlier: usize },
}

/// A finished run.
#[derive(Debug, Clone, PartialEq)]
pub struct Ran {
    pub report: AnswersReport,
    pub seconds: Vec<SecondsRow>,
    /// Build times of the methods' own memories.
    pub construction_seconds: Vec<BuildTime>,
    /// The report's tables.
    pub markdown: String,
    pub markdown_of_seconds: String,
}

/// Runs what is missing, and reports the whole run.
///
/// # Errors
/// If the file can't be read, the folder can't be used, the model or a store fails, or the run was cancelled.
/// A question that can't be answered is no error: see [`AnswersReport::skipped`].
pub fn measure_answers(
    run: &Run<'_>,
    models: &Models,
    on_step: &dyn Fn(Step<'_>),
    cancel: &Cancel,
) -> Result<Ran, EvalError> {
    let (conversations, skipped) = run.set.load(run.file)?;
    let chosen = chosen(&conversations, run.questions_max);
    let manifest = manifest(run, models, &conversations, &chosen);
    let mut journal = Journal::open(run.out, &manifest, run.resume, different)?;
    let of = chosen.len() * run.methods.len();
    let all =
        || chosen.iter().flat_map(|&(i, asked)| run.methods.iter().map(move |&m| (i, asked, m)));
    let earlier = all()
        .filter(|&(i, asked, m)| journal.done.contains(&key(&conversations[i], asked, m)))
        .count();
    let mut done = earlier;
    on_step(Step::Answering { done, of, earlier });

    let cache = BuiltCache::of(run.out, identity(&manifest));
    let model = Metered::new(Arc::clone(&models.language));
    let system = methods::system(&model);
    let head = methods::head(&model, &system)?;
    for (i, conversation) in conversations.iter().enumerate() {
        let asked: Vec<&Question> =
            chosen.iter().filter(|(of, _)| *of == i).map(|&(_, asked)| asked).collect();
        let left: BTreeSet<Method> = asked
            .iter()
            .flat_map(|asked| run.methods.iter().map(move |&method| (asked, method)))
            .filter(|(asked, method)| !journal.done.contains(&key(conversation, asked, *method)))
            .map(|(_, method)| method)
            .collect();
        if left.is_empty() {
            continue;
        }
        let prepared =
            Prepared::new(run, (i, conversation), &left, models, &cache, on_step, cancel)?;
        if let Ok(Some(memory)) = &prepared.memory {
            journal.remember(&memory.row(&conversation.name)?, prepared.seconds_to_build)?;
        }
        let answerer = Answerer {
            messages: &conversation.messages,
            vectors: &prepared.vectors,
            memory: prepared.memory.as_ref().ok().and_then(Option::as_ref),
            notes: prepared.notes.as_ref().ok().and_then(Option::as_ref),
            structures: prepared.structures.as_ref(),
            model_use: model_use(run, models),
            pruning_ratio: run.pruning_ratio,
            models,
            model: &model,
            recall: &run.recall,
            signal: signal(run, models.language.info()),
            system: &system,
            head: &*head,
            whole: RefCell::default(),
            cancel,
        };
        for asked in asked {
            for &method in &run.methods {
                if journal.done.contains(&key(conversation, asked, method)) {
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
                    outcome(answerer.answer(method, asked), asked, &model)?
                };
                let line = Line {
                    conversation: conversation.name.clone(),
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
    finish(&journal, &cache, skipped)
}

fn model_use(run: &Run<'_>, models: &Models) -> ModelUse {
    let grade = run.grade.as_ref().map(|(_, grade)| grade.as_str());
    ModelUse::of(run.writer.writer, models.language.info(), grade)
}

fn key(conversation: &Conversation, asked: &Question, method: Method) -> journal::Key {
    (conversation.name.clone(), asked.place, method.as_str().to_owned())
}

fn finish(journal: &Journal, cache: &BuiltCache, skipped: Vec<Skipped>) -> Result<Ran, EvalError> {
    let Record { manifest, lines, memories, timings } = journal.read()?;
    let mut report = AnswersReport::of(manifest, lines, memories, skipped);
    report.construction = ConstructionRow::of(&cache.all());
    let seconds = report::seconds(&timings);
    let construction_seconds = cache.seconds()?;
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

/// The questions of all conversations, or a sample of `questions_max`, in order.
fn chosen(conversations: &[Conversation], questions_max: Option<usize>) -> Vec<(usize, &Question)> {
    let all: Vec<(usize, &Question)> = conversations
        .iter()
        .enumerate()
        .flat_map(|(i, conversation)| conversation.questions.iter().map(move |asked| (i, asked)))
        .collect();
    let n = questions_max.unwrap_or(all.len());
    some(all, n, &format!("locomo answers {SEED}"))
}

/// The signal of `+uncsion`.
fn signal(run: &Run<'_>, info: &ModelInfo) -> Signal {
    run.recall.signal.unwrap_or(usual_signal(info))
}

/// The paper's entropy; the starter's says nothing, so its gate goes by words.
fn usual_signal(info: &ModelInfo) -> Signal {
    if info.starter { Signal::Overlap } else { Signal::Entropy }
}

fn manifest(
    run: &Run<'_>,
    models: &Models,
    conversations: &[Conversation],
    chosen: &[(usize, &Question)],
) -> Value {
    let info = models.language.info();
    let signal = signal(run, info);
    let n_conversations = chosen.iter().map(|&(i, _)| i).collect::<BTreeSet<usize>>().len();
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
        let ModelUse { plan, thinks } = model_use(run, models);
        manifest["written_by"] = json!({
            "notes, facts, triples": by(plan.semantics),
            "summaries": by(plan.episode),
            "updates": by(plan.conflict),
            "thoughts, ranks": by(thinks),
        });
    }
    manifest["data"]["conversations"] = json!(n_conversations);
    manifest["data"]["questions"] = json!(chosen.len());
    manifest["data"]["questions_in_file"] =
        json!(conversations.iter().map(|conversation| conversation.questions.len()).sum::<usize>());
    manifest
}

/// The parts of a manifest that answers depend on. Machine and commit are not among them: the program is
/// identified by its hash.
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

/// The first of these parts in which two manifests differ.
fn different(there: &Value, here: &Value) -> Option<String> {
    let found = PARTS.into_iter().find(|part| there.pointer(part) != here.pointer(part))?;
    Some(found[1..].replace('/', " "))
}

/// The identity of a run: a hash of these parts.
fn identity(manifest: &Value) -> String {
    let parts: Vec<Option<&Value>> = PARTS.iter().map(|part| manifest.pointer(part)).collect();
    let hash = Sha256::digest(json!(parts).to_string());
    let mut first = [0; 8];
    first.copy_from_slice(&hash[..8]);
    format!("{:016x}", u64::from_be_bytes(first))
}

/// A failure that concerns one question is its outcome; any other ends the run.
fn outcome(
    answered: Result<Answered, EvalError>,
    asked: &Question,
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

/// The message of an error that concerns one question only; any other error is returned.
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
