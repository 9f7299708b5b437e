//! The memories themselves (§3.1): written by the model in the paper's prompts, by rules, or given.

use std::collections::BTreeMap;
use std::ops::Range;

use inglenook::interfaces::LanguageModel as _;
use inglenook::prompts::{Line, Prompt};
use inglenook::worker::writer::{Extractive, Writer as _, sources};

use super::Structure;
use crate::EvalError;
use crate::answering::built_cache::{BuildResult, MadeBy, Unit};
use crate::answering::memory_builder::{GivenMemory, MemoryBuilder, MeteredWriter, places};
use crate::prompts::{AtomicFacts, Summary, Triples};

/// Longest replies; a quarter of the model's context where that is less.
const LIST_TOKENS_MAX: usize = 600;
const SUMMARY_TOKENS_MAX: usize = 300;

/// One part of memory, from runs of messages.
pub(super) fn write(
    structure: Structure,
    runs: &[Range<usize>],
    builder: &MemoryBuilder<'_>,
    writer: &MeteredWriter,
) -> Result<BuildResult, EvalError> {
    let plan = builder.model_use.plan;
    match structure {
        Structure::Chunks | Structure::Mixed => Ok(chunks(runs, builder)),
        Structure::Triples if plan.semantics => by_model(structure, runs, builder, writer),
        Structure::Triples => {
            let facts = match builder.given()? {
                Some(GivenMemory { facts, .. }) => facts.clone(),
                None => stated(runs, builder)?,
            };
            let n_facts = facts.len();
            let triples = facts.into_iter().filter_map(|fact| {
                let parts = super::triples::triple(&fact.text)?;
                Some(Unit { text: parts.join("; "), ..fact })
            });
            Ok(built(MadeBy::Rules, triples.collect(), [("facts", n_facts)]))
        }
        Structure::Facts => match builder.given()? {
            Some(GivenMemory { facts, .. }) => Ok(built(MadeBy::Given, facts.clone(), [])),
            None if plan.semantics => by_model(structure, runs, builder, writer),
            None => Ok(built(MadeBy::Rules, stated(runs, builder)?, [("documents", runs.len())])),
        },
        Structure::Summaries => match builder.given()? {
            Some(GivenMemory { summaries, .. }) => Ok(built(MadeBy::Given, summaries.clone(), [])),
            None if plan.episode => by_model(structure, runs, builder, writer),
            None => narrated(runs, builder),
        },
    }
}

fn built<const N: usize>(
    made_by: MadeBy,
    units: Vec<Unit>,
    counts: [(&str, usize); N],
) -> BuildResult {
    let counts = counts.map(|(name, n)| (name.to_owned(), n as u64));
    BuildResult { made_by, units, counts: BTreeMap::from(counts) }
}

/// The messages themselves.
fn chunks(runs: &[Range<usize>], builder: &MemoryBuilder<'_>) -> BuildResult {
    let unit = |run: &Range<usize>| {
        let lines: Vec<String> = builder
            .lines(run.clone())
            .iter()
            .map(|l| format!("{}: {}", l.speaker, l.text))
            .collect();
        let at = builder.conversation.messages[run.start].at;
        Unit { text: lines.join("\n"), at, messages: run.clone().collect() }
    };
    built(MadeBy::Rules, runs.iter().map(unit).collect(), [])
}

/// What people say, in the third person.
fn stated(runs: &[Range<usize>], builder: &MemoryBuilder<'_>) -> Result<Vec<Unit>, EvalError> {
    let mut units = Vec::new();
    for (done, run) in runs.iter().enumerate() {
        builder.step(done, runs.len())?;
        units.extend(builder.stated(run.clone())?);
    }
    Ok(units)
}

/// The statements of a document, in order.
fn narrated(runs: &[Range<usize>], builder: &MemoryBuilder<'_>) -> Result<BuildResult, EvalError> {
    let mut units = Vec::new();
    for (done, run) in runs.iter().enumerate() {
        builder.step(done, runs.len())?;
        let episode = Extractive.episode(&builder.utterances(run.clone()), builder.cancel)?;
        let text = format!("{}. {}", episode.title, episode.content);
        let at = builder.conversation.messages[run.start].at;
        units.push(Unit { text, at, messages: run.clone().collect() });
    }
    Ok(built(MadeBy::Rules, units, [("documents", runs.len())]))
}

/// In the paper's prompts. A reply that can't be read leaves its document out, and is counted:
/// nothing of the method is mended.
fn by_model(
    structure: Structure,
    runs: &[Range<usize>],
    builder: &MemoryBuilder<'_>,
    writer: &MeteredWriter,
) -> Result<BuildResult, EvalError> {
    let quarter = writer.model.info().context_tokens / 4;
    let (mut units, mut n_too_long, mut n_unread) = (Vec::new(), 0, 0);
    for (done, run) in runs.iter().enumerate() {
        builder.step(done, runs.len())?;
        let started_at = builder.conversation.messages[run.start].at;
        let (prompt, tokens_max) = prompt(structure, &builder.lines(run.clone()));
        let reply =
            writer.generative.ask(&prompt, tokens_max.min(quarter), None, builder.cancel)?;
        let Some(reply) = reply else {
            n_too_long += 1;
            continue;
        };
        let texts = texts(structure, &reply.text);
        n_unread += usize::from(texts.is_empty());
        let utterances = builder.utterances(run.clone());
        units.extend(texts.into_iter().map(|text| {
            let messages = match structure {
                Structure::Summaries => run.clone().collect(),
                _ => places(&sources(&text, &utterances)),
            };
            let at = messages
                .first()
                .map_or(started_at, |&place| builder.conversation.messages[place].at);
            Unit { text, at, messages }
        }));
    }
    let counts = [
        ("documents", runs.len()),
        ("prompts too long", n_too_long),
        ("replies without any", n_unread),
    ];
    Ok(built(MadeBy::Model, units, counts))
}

fn prompt(structure: Structure, lines: &[Line]) -> (Prompt, usize) {
    let started_at = lines.first().map(|line| line.at).unwrap_or_default();
    match structure {
        Structure::Triples => (Triples { lines, started_at }.fill(), LIST_TOKENS_MAX),
        Structure::Summaries => (Summary { lines, started_at }.fill(), SUMMARY_TOKENS_MAX),
        _ => (AtomicFacts { lines, started_at }.fill(), LIST_TOKENS_MAX),
    }
}

fn texts(structure: Structure, reply: &str) -> Vec<String> {
    match structure {
        Structure::Triples => Triples::parse(reply).0.iter().map(ToString::to_string).collect(),
        Structure::Summaries => Summary::parse(reply).0.into_iter().collect(),
        _ => AtomicFacts::parse(reply).0,
    }
}
