//! Writes memory by rules over text, in the person's own words.

use super::Writer;
use crate::extractive::{self, Judgement, Statement, Utterance};
use crate::interfaces::{Cancel, ModelError};
use crate::prompts::EpisodeDraft;

/// Writes memory by rules.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extractive;

impl Writer for Extractive {
    fn boundary(
        &self,
        history: &[Utterance],
        next: &Utterance,
        dip: Option<f32>,
        _: &Cancel,
    ) -> Result<Option<bool>, ModelError> {
        Ok(Some(extractive::changes_topic(history, next, dip)))
    }

    fn episode(&self, lines: &[Utterance], _: &Cancel) -> Result<EpisodeDraft, ModelError> {
        let started = lines.first().map(|line| line.at).unwrap_or_default();
        Ok(EpisodeDraft {
            title: extractive::title(lines),
            content: extractive::narrative(started, &extractive::statements(lines)),
        })
    }

    fn statements(
        &self,
        earlier: &[Utterance],
        lines: &[Utterance],
        _: &Cancel,
    ) -> Result<Vec<Statement>, ModelError> {
        let stored: Vec<Utterance> =
            lines.iter().filter(|line| extractive::says_something(line)).cloned().collect();
        Ok(extractive::memorable(&extractive::statements_after(earlier, &stored), &stored))
    }

    fn theme_name(&self, facts: &[&str], _: &Cancel) -> Result<String, ModelError> {
        Ok(extractive::theme_name(facts))
    }

    fn judge(
        &self,
        earlier: &Statement,
        later: &Statement,
        similarity: f32,
        _: &Cancel,
    ) -> Result<Judgement, ModelError> {
        Ok(extractive::judge(earlier, later, similarity))
    }
}
