//! Answers in the words of the memory.

use std::sync::Arc;

use inglenook::interfaces::{ModelError, Reranker, Span};

use super::tests::{Bed, LONG, reader};
use super::*;

/// Finds names of animals in what has some.
struct Pets;

impl Reranker for Pets {
    fn scores(&self, _: &str, texts: &[&str]) -> Result<Option<Vec<f32>>, ModelError> {
        Ok(Some(texts.iter().map(|_| 5.0).collect()))
    }

    fn spans(&self, asked: &str, texts: &[&str]) -> Result<Option<Vec<Option<Span>>>, ModelError> {
        let read = |text: &&str| {
            let found = text.find("Pixel").filter(|_| asked.contains("dog"));
            let log_odds = if found.is_some() { 3.0 } else { -3.0 };
            found.or(Some(0)).map(|at| Span { bytes: at..at + 5, log_odds })
        };
        Ok(Some(texts.iter().map(read).collect()))
    }
}

#[test]
fn words_of_the_memory_answer_before_the_reader_does() {
    let bed = Bed::new();
    let models = Models { reranker: Some(Arc::new(Pets)), ..reader(LONG) };
    let by_words = |run: &mut Run<'_>| run.methods = [Method::Words].into();
    let report = bed.run("out", &models, by_words, None).unwrap().report;
    let said = |row: &AnswerRow| match &row.line.outcome {
        Outcome::Answered { answer, model_calls: 0, processed_tokens: 0, .. } => answer.clone(),
        outcome => panic!("{outcome:?}"),
    };
    // The other conversation has no memories.
    let rows = report.answers.iter().filter(|row| row.line.conversation == "conv-1");
    let said: Vec<String> = rows.map(said).collect();
    assert_eq!(said[0], "Pixel");
    assert!(said[1..].iter().all(|answer| answer == "You have not told me."), "{said:?}");
}
