//! The same items answered by rules (`extractive`): the baseline that a model has to beat before it may write
//! memory.

use inglenook::extractive::{self, Candidate, Judgement, Utterance};
use inglenook::interfaces::{Cancel, Embedder, ModelError};
use inglenook::memory::{MessageId, Origin, Role};
use inglenook::worker::writer::{Extractive, Writer};
use jiff::SignedDuration;
use jiff::civil::DateTime;

use super::EvalError;
use super::items::{
    BoundaryItem, ConflictItem, ExtractionItem, QuestionItem, RoutingItem, StoreOrDiscard,
    UpdateOrKeep, YesOrNo, at_noon,
};
use super::writing::{Compared, Decision, joined, spoken};
use crate::metrics::words;

fn utterance(speaker: &str, text: &str, at: DateTime) -> Utterance {
    Utterance {
        message: MessageId(1),
        role: if speaker == "Assistant" { Role::Assistant } else { Role::User },
        speaker: speaker.into(),
        addressee: None,
        text: text.into(),
        at,
    }
}

fn similarity(embedder: &dyn Embedder, a: &str, b: &str) -> Result<f32, ModelError> {
    Ok(match embedder.embed(&[a, b])?.as_slice() {
        [a, b] => a.cosine(b),
        _ => 0.0,
    })
}

pub(super) fn route(item: &RoutingItem) -> Decision {
    let message = utterance("The user", &item.text, DateTime::default());
    let stores = extractive::says_something(&message);
    (usize::from(item.answer == StoreOrDiscard::Store), Some(usize::from(stores)))
}

/// Assumes a minute between turns, and a local minimum of similarity.
pub(super) fn starts_topic(
    item: &BoundaryItem,
    embedder: &dyn Embedder,
    cancel: &Cancel,
) -> Result<Decision, EvalError> {
    let mut at = DateTime::default();
    let mut turn = |line: &str| {
        at = at.saturating_add(SignedDuration::from_mins(1));
        let line = spoken(line);
        utterance(&line.speaker, &line.text, at)
    };
    let history: Vec<Utterance> = item.history.iter().map(|line| turn(line)).collect();
    let next = turn(&item.next);
    let last = history.iter().rev().take(2).rev().map(|u| u.text.as_str());
    let before = last.collect::<Vec<_>>().join("\n");
    let dip = similarity(embedder, &before, &next.text)?;
    let found = Extractive.boundary(&history, &next, Some(dip), cancel)?;
    Ok((usize::from(item.answer == YesOrNo::Yes), found.map(usize::from)))
}

pub(super) fn relation(
    item: &ConflictItem,
    embedder: &dyn Embedder,
) -> Result<Decision, EvalError> {
    let statement = extractive::parse_statement;
    let near = similarity(embedder, &item.earlier, &item.later)?;
    let found = match extractive::judge(&statement(&item.earlier), &statement(&item.later), near) {
        Judgement::Supersedes => Some(1),
        Judgement::KeepBoth => Some(0),
        Judgement::Merge(_) => None,
    };
    Ok((usize::from(item.answer == UpdateOrKeep::Update), found))
}

pub(super) fn extract(item: &ExtractionItem, cancel: &Cancel) -> Result<Compared, EvalError> {
    let message = utterance(&item.speaker, &item.text, at_noon(item.date));
    let found = Extractive.statements(&[], &[message], cancel)?;
    let facts: Vec<String> = found.into_iter().map(|statement| statement.text).collect();
    Ok(Compared::with(&joined(&facts), [joined(&item.answer)].iter()))
}

/// The extractive reader's answer, scored.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quoted {
    /// Whether the quote contains the answer's words in sequence.
    pub holds: bool,
    pub silent: bool,
}

pub(super) fn quote(item: &QuestionItem, embedder: &dyn Embedder) -> Result<Quoted, EvalError> {
    let mut texts = vec![item.question.as_str()];
    texts.extend(item.memories.iter().map(|note| note.text.as_str()));
    let vectors = embedder.embed(&texts)?;
    let candidates: Vec<Candidate> = item
        .memories
        .iter()
        .zip(vectors.iter().skip(1))
        .map(|(note, vector)| Candidate {
            text: note.text.clone(),
            relevance: f64::from(vectors[0].cosine(vector)).clamp(0.0, 1.0),
            at: at_noon(note.date),
            raw_speaker: None,
            superseded: false,
            origin: Origin::Person,
            answers: None,
        })
        .collect();
    let now = candidates.iter().map(|c| c.at).max().unwrap_or_default();
    let found = extractive::answer(&item.question, &candidates, now, None);
    let quoted = words(found.as_ref().map_or("", |answer| answer.text.as_str()));
    let right = item.accept.iter().chain([&item.answer]).map(|text| words(text));
    let holds = right
        .filter(|right: &Vec<String>| !right.is_empty())
        .any(|right| quoted.windows(right.len()).any(|run| run == right));
    Ok(Quoted { holds, silent: found.is_none() })
}
