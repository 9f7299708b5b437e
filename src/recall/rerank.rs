//! The second stage of ranking: the best candidates, read together with the question.
//!
//! The cues compare the question with what is stored about each unit; a reranker reads both texts.
//! That costs a pass through a small encoder per unit, so it reads only the best ones.

use jiff::civil::DateTime;

use super::candidates::{Candidates, rank_below_successors};
use super::lines::speaker;
use super::question::QuestionTraits;
use super::{Query, RecallConfig};
use crate::extractive::{self, Candidate, THE_USER, Words};
use crate::interfaces::{ModelError, Reranker, Span};
use crate::memory::Message;
use crate::memory::relevance::{Judgement, Reranking};

/// Rescores the best candidates; false, with nothing changed, if the reranker read none. `user` is
/// the person's name.
pub(super) fn rerank(
    candidates: &mut Candidates,
    reranker: &dyn Reranker,
    config: &RecallConfig,
    query: &Query<'_>,
    user: Option<&str>,
) -> Result<bool, ModelError> {
    // By relevance, facts first: (relevance, is a message, index in its list).
    let facts = candidates.semantics.iter().enumerate().map(|(i, s)| (s.relevance, false, i));
    let messages = candidates.messages.iter().enumerate().map(|(i, m)| (m.relevance, true, i));
    let mut best: Vec<(f64, bool, usize)> = facts.chain(messages).collect();
    best.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2)));
    best.truncate(config.n_reranked);
    let texts: Vec<String> = best
        .iter()
        .map(|&(_, is_message, i)| {
            if is_message {
                line(&candidates.messages[i].unit)
            } else {
                named(&candidates.semantics[i].unit.content, query.traits, user)
            }
        })
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    if texts.is_empty() {
        return Ok(false);
    }
    let Some(scores) = reranker.scores(query.question, &texts)? else { return Ok(false) };
    let largest = f64::from(scores.iter().copied().fold(f32::NEG_INFINITY, f32::max));
    for ((by_cues, is_message, i), score) in best.into_iter().zip(scores) {
        let score = f64::from(score);
        let judgement = Judgement { by_cues, score, best: largest, is_message };
        let judged = config.relevance.reranking.relevance(&judgement);
        let answers = Some(config.relevance.answering.relevance(&judgement));
        if is_message {
            let message = &mut candidates.messages[i];
            (message.relevance, message.score, message.answers) = (judged, Some(score), answers);
        } else {
            let fact = &mut candidates.semantics[i];
            (fact.relevance, fact.score, fact.answers) = (judged, Some(score), answers);
        }
    }
    if !query.traits.past {
        rank_below_successors(&mut candidates.semantics);
    }
    candidates.sort();
    Ok(true)
}

/// Has those of `cited` read that no reranker has read yet; `weights` make probabilities of its scores.
///
/// # Errors
/// If the reranker fails.
pub fn read_cited(
    candidates: &mut [Candidate],
    cited: &[usize],
    reranker: &dyn Reranker,
    weights: &Reranking,
    (question, user): (&str, Option<&str>),
) -> Result<(), ModelError> {
    let traits = QuestionTraits::of(question);
    let unread: Vec<usize> =
        cited.iter().copied().filter(|&i| candidates[i].answers.is_none()).collect();
    let in_its_form = |&i: &usize| match &candidates[i] {
        Candidate { raw_speaker: Some(speaker), text, .. } => {
            let is_user = user.is_some_and(|user| user == speaker);
            format!("{}: {text}", if is_user { THE_USER } else { speaker })
        }
        fact => named(&fact.text, &traits, user),
    };
    let texts: Vec<String> = unread.iter().map(in_its_form).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    if texts.is_empty() {
        return Ok(());
    }
    let Some(scores) = reranker.scores(question, &texts)? else { return Ok(()) };
    let best = f64::from(scores.iter().copied().fold(f32::NEG_INFINITY, f32::max));
    for (i, score) in unread.into_iter().zip(scores) {
        let candidate = &mut candidates[i];
        let is_message = candidate.raw_speaker.is_some();
        let (by_cues, score) = (candidate.relevance, f64::from(score));
        let judgement = Judgement { by_cues, score, best, is_message };
        candidate.answers = Some(weights.relevance(&judgement));
    }
    Ok(())
}

/// The words of a candidate that answer a question, as the encoder finds them.
///
/// # Errors
/// If the encoder fails.
pub(super) fn find_words(
    question: &str,
    candidates: &[Candidate],
    encoder: &dyn Reranker,
    (now, user): (DateTime, Option<&str>),
) -> Result<Words, ModelError> {
    let Some(read) = extractive::readable(question, candidates, now, user) else {
        return Ok(Words::Unread);
    };
    let texts: Vec<&str> = read.iter().map(|(_, text)| *text).collect();
    if texts.is_empty() {
        return Ok(Words::None);
    }
    let Some(spans) = encoder.spans(question, &texts)? else { return Ok(Words::Unread) };
    let found = read.iter().zip(spans).filter_map(|((candidate, _), span)| {
        let Span { bytes, log_odds } = span?;
        Some((*candidate, bytes, log_odds.into()))
    });
    let words = Words::of(found.collect(), candidates);
    // What it can't read may answer.
    let is_unread = words == Words::None && texts.iter().any(|text| extractive::is_foreign(text));
    Ok(if is_unread { Words::Unread } else { words })
}

/// A message in the form that the reranker was trained on: `Speaker: text`.
fn line(message: &Message) -> String {
    format!("{}: {}", speaker(message, THE_USER), message.content)
}

/// A fact calls the person by name; a question that says "I" does not.
fn named(fact: &str, asked: &QuestionTraits, user: Option<&str>) -> String {
    match user {
        Some(user) if asked.of_user => fact.replace(user, THE_USER),
        _ => fact.to_owned(),
    }
}
