//! The second stage of ranking: the best units of the candidates, read together with the question.
//!
//! Cues compare a question with what is stored of each unit; a reranker reads both. It costs a pass
//! through a small encoder for every unit, so only the best by their cues are read.

use super::candidates::{Candidates, rank_below_successors};
use super::question::Nature;
use crate::interfaces::{ModelError, Reranker};
use crate::memory::relevance::{Judgement, Relevance};
use crate::memory::{Message, Role};

/// What is read, and by whom.
pub(super) struct Rerank<'a> {
    pub reranker: &'a dyn Reranker,
    pub question: &'a str,
    pub nature: &'a Nature,
    /// The person's own name, if it is known.
    pub user: Option<&'a str>,
    pub weights: &'a Relevance,
    /// How many units are read.
    pub n: usize,
}

impl Rerank<'_> {
    /// Judges the best units of the candidates anew; false if none was read, and all is as it was.
    ///
    /// # Errors
    /// If the reranker fails.
    pub(super) fn apply(&self, candidates: &mut Candidates) -> Result<bool, ModelError> {
        // By relevance, facts first: (relevance, is a message, place in its list).
        let facts = candidates.semantics.iter().enumerate().map(|(i, s)| (s.relevance, false, i));
        let messages = candidates.messages.iter().enumerate().map(|(i, m)| (m.relevance, true, i));
        let mut best: Vec<(f64, bool, usize)> = facts.chain(messages).collect();
        best.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2)));
        best.truncate(self.n);
        let texts: Vec<String> = best
            .iter()
            .map(|&(_, is_message, i)| {
                if is_message {
                    Self::line(&candidates.messages[i].unit)
                } else {
                    self.named(&candidates.semantics[i].unit.content)
                }
            })
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        if texts.is_empty() {
            return Ok(false);
        }
        let Some(scores) = self.reranker.scores(self.question, &texts)? else { return Ok(false) };
        let largest = f64::from(scores.iter().copied().fold(f32::NEG_INFINITY, f32::max));
        for ((by_cues, is_message, i), score) in best.into_iter().zip(scores) {
            let score = f64::from(score);
            let judgement = Judgement { by_cues, score, best: largest, is_message };
            let judged = self.weights.reranking.relevance(&judgement);
            let answers = Some(self.weights.answering.relevance(&judgement));
            if is_message {
                let message = &mut candidates.messages[i];
                (message.relevance, message.score, message.answers) =
                    (judged, Some(score), answers);
            } else {
                let fact = &mut candidates.semantics[i];
                (fact.relevance, fact.score, fact.answers) = (judged, Some(score), answers);
            }
        }
        if !self.nature.past {
            rank_below_successors(&mut candidates.semantics);
        }
        candidates.sort();
        Ok(true)
    }

    /// As the reranker knows a conversation: `Speaker: text`.
    fn line(message: &Message) -> String {
        let speaker = match (&message.speaker, message.role) {
            (Some(speaker), _) => speaker,
            (None, Role::User) => "The user",
            (None, Role::Assistant) => "The assistant",
        };
        format!("{speaker}: {}", message.content)
    }

    /// A fact names the person; a question that says "I" does not.
    fn named(&self, fact: &str) -> String {
        match self.user {
            Some(user) if self.nature.of_user => fact.replace(user, "The user"),
            _ => fact.to_owned(),
        }
    }
}
