//! The memories themselves (§3.1): written by the model in the paper's prompts, by rules, or given.

use std::collections::BTreeMap;
use std::ops::Range;

use super::Structure;
use crate::eval::EvalError;
use crate::eval::answering::shelf::{Built, MadeBy, Unit};
use crate::eval::answering::workshop::{Pen, Ready, Workshop, places};
use crate::extractive;
use crate::interfaces::LanguageModel as _;
use crate::prompts::{AtomicFacts, Line, Prompt, Summary, Triples};
use crate::worker::writer::{Extractive, Writer as _, sources};

/// Longest replies; a quarter of the model's context where that is less.
const LIST_TOKENS_MAX: usize = 600;
const SUMMARY_TOKENS_MAX: usize = 300;

/// One part of memory, from runs of messages.
pub(super) fn write(
    structure: Structure,
    runs: &[Range<usize>],
    workshop: &Workshop<'_>,
    pen: &Pen,
) -> Result<Built, EvalError> {
    let plan = workshop.hands.plan;
    match structure {
        Structure::Chunks | Structure::Mixed => Ok(chunks(runs, workshop)),
        Structure::Triples if plan.semantics => by_model(structure, runs, workshop, pen),
        Structure::Triples => {
            let facts = match workshop.given()? {
                Some(Ready { facts, .. }) => facts.clone(),
                None => stated(runs, workshop)?,
            };
            let n_facts = facts.len();
            let triples = facts.into_iter().filter_map(|fact| {
                let parts = extractive::triple(&fact.text)?;
                Some(Unit { text: parts.join("; "), ..fact })
            });
            Ok(built(MadeBy::Rules, triples.collect(), [("facts", n_facts)]))
        }
        Structure::Facts => match workshop.given()? {
            Some(Ready { facts, .. }) => Ok(built(MadeBy::Given, facts.clone(), [])),
            None if plan.semantics => by_model(structure, runs, workshop, pen),
            None => Ok(built(MadeBy::Rules, stated(runs, workshop)?, [("documents", runs.len())])),
        },
        Structure::Summaries => match workshop.given()? {
            Some(Ready { summaries, .. }) => Ok(built(MadeBy::Given, summaries.clone(), [])),
            None if plan.episode => by_model(structure, runs, workshop, pen),
            None => narrated(runs, workshop),
        },
    }
}

fn built<const N: usize>(made_by: MadeBy, units: Vec<Unit>, counts: [(&str, usize); N]) -> Built {
    let counts = counts.map(|(name, n)| (name.to_owned(), n as u64));
    Built { made_by, units, counts: BTreeMap::from(counts) }
}

/// The messages themselves.
fn chunks(runs: &[Range<usize>], workshop: &Workshop<'_>) -> Built {
    let unit = |run: &Range<usize>| {
        let lines: Vec<String> = workshop
            .lines(run.clone())
            .iter()
            .map(|l| format!("{}: {}", l.speaker, l.text))
            .collect();
        let at = workshop.told.messages[run.start].at;
        Unit { text: lines.join("\n"), at, messages: run.clone().collect() }
    };
    built(MadeBy::Rules, runs.iter().map(unit).collect(), [])
}

/// What people say, in the third person.
fn stated(runs: &[Range<usize>], workshop: &Workshop<'_>) -> Result<Vec<Unit>, EvalError> {
    let mut units = Vec::new();
    for (done, run) in runs.iter().enumerate() {
        workshop.step(done, runs.len())?;
        units.extend(workshop.stated(run.clone())?);
    }
    Ok(units)
}

/// The statements of a document, told in order.
fn narrated(runs: &[Range<usize>], workshop: &Workshop<'_>) -> Result<Built, EvalError> {
    let mut units = Vec::new();
    for (done, run) in runs.iter().enumerate() {
        workshop.step(done, runs.len())?;
        let told = Extractive.episode(&workshop.utterances(run.clone()), workshop.cancel)?;
        let text = format!("{}. {}", told.title, told.content);
        let at = workshop.told.messages[run.start].at;
        units.push(Unit { text, at, messages: run.clone().collect() });
    }
    Ok(built(MadeBy::Rules, units, [("documents", runs.len())]))
}

/// In the paper's prompts. A reply that can't be read leaves its document out, and is counted:
/// nothing of the method is mended.
fn by_model(
    structure: Structure,
    runs: &[Range<usize>],
    workshop: &Workshop<'_>,
    pen: &Pen,
) -> Result<Built, EvalError> {
    let quarter = pen.model.info().context_tokens / 4;
    let (mut units, mut n_too_long, mut n_unread) = (Vec::new(), 0, 0);
    for (done, run) in runs.iter().enumerate() {
        workshop.step(done, runs.len())?;
        let started_at = workshop.told.messages[run.start].at;
        let (prompt, tokens_max) = prompt(structure, &workshop.lines(run.clone()));
        let reply = pen.generative.ask(&prompt, tokens_max.min(quarter), None, workshop.cancel)?;
        let Some(reply) = reply else {
            n_too_long += 1;
            continue;
        };
        let texts = texts(structure, &reply.text);
        n_unread += usize::from(texts.is_empty());
        let utterances = workshop.utterances(run.clone());
        units.extend(texts.into_iter().map(|text| {
            let messages = match structure {
                Structure::Summaries => run.clone().collect(),
                _ => places(&sources(&text, &utterances)),
            };
            let at = messages.first().map_or(started_at, |&place| workshop.told.messages[place].at);
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
