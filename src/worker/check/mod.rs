//! `model check`: grades a model on sixty built-in items, one group for each task of memory.
//!
//! It takes a minute, once per model: the grade is stored under the hash of the weights, and decides
//! for `writer = auto` and `reader = auto`. The prompts are the program's own.

mod items;
mod reader;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use jiff::civil::{DateTime, date};

use super::writer::{Generative, Writer};
use crate::extractive::Utterance;
use crate::interfaces::{Cancel, LanguageModel, ModelError, Uncertainty};
use crate::memory::{MessageId, Role, lexical};
use crate::model_policy::{GateGrade, Grade, prompt_style};
use crate::prompts::{Line, MemoryLine, Relation};
use crate::store::{Store, StoreError};

pub use reader::{ANSWER_TOKENS_MAX, Reader, refuses};

use items::{ITEMS, Question};

/// Answer positions over which entropy is averaged (m).
const N_POSITIONS: usize = 8;

/// Stores a model's grade.
///
/// # Errors
/// If the store cannot be written.
pub fn keep_grade(
    store: &Store,
    model: &dyn LanguageModel,
    grade: &Grade,
) -> Result<(), StoreError> {
    let key = model.info().grade_key();
    let text = serde_json::to_string(grade)
        .map_err(|e| StoreError::Invalid { what: format!("the grade can't be written: {e}") })?;
    store.write(|tx| tx.set_setting(&key, &text))
}

/// The harmonic mean, 0 if either is 0; of precision and recall it is F1.
#[must_use]
pub fn harmonic_mean(a: f64, b: f64) -> f64 {
    if a <= 0.0 || b <= 0.0 { 0.0 } else { 2.0 * a * b / (a + b) }
}

/// 1 if `a` is larger than `b`, ½ if they are equal, else 0.
#[must_use]
pub fn wins(a: f64, b: f64) -> f64 {
    if a == b { 0.5 } else { f64::from(a > b) }
}

/// Grades a model and calls `on_progress(done, of)` after each item.
///
/// # Errors
/// If the model fails, or `cancel` was set.
pub fn check(
    model: &Arc<dyn LanguageModel>,
    mut on_progress: impl FnMut(usize, usize),
    cancel: &Cancel,
) -> Result<Grade, ModelError> {
    let start = Instant::now();
    let writer = Generative::new(Arc::clone(model));
    let items = &*ITEMS;
    let mut done = 0;
    let mut step = || {
        done += 1;
        on_progress(done, items.n());
    };
    let at = date(2026, 11, 16).at(9, 0, 0, 0);
    let ana = |text: &str| Utterance {
        message: MessageId(1),
        role: Role::User,
        speaker: "Ana".into(),
        addressee: None,
        text: text.into(),
        at,
    };

    let reader = Reader::new(&**model, prompt_style(model.info()))?;
    let mut answering = 0.0;
    let mut gate = Gate::default();
    for (i, item) in items.questions.iter().enumerate() {
        let reply = answer(&reader, item, cancel)?;
        answering += f64::from(is_right(&reply, item.answer.as_deref()));
        if item.answer.is_some() {
            let noise = &items.questions[(i + 5) % items.questions.len()];
            gate.compare(&reader, item, noise)?;
        }
        step();
    }
    let mut extraction = 0.0;
    for item in &items.told {
        let facts = writer.statements(&[ana(&item.text)], cancel)?;
        let texts: Vec<String> = facts.into_iter().map(|f| f.text).collect();
        extraction += f1(&texts, &item.facts);
        step();
    }
    let mut router = 0.0;
    for item in &items.routed {
        router += f64::from(writer.route(&ana(&item.text), cancel)? == item.store);
        step();
    }
    let mut boundary = 0.0;
    for item in &items.topics {
        let line = |(i, text): (usize, &String)| Line {
            speaker: ["Ana", "Assistant"][i % 2].into(),
            at,
            text: text.clone(),
        };
        let history: Vec<Line> = item.history.iter().enumerate().map(line).collect();
        let found = writer.starts_topic(&history, &line((0, &item.next)), cancel)?;
        boundary += f64::from(found == Some(item.new));
        step();
    }
    let mut conflict = 0.0;
    for item in &items.pairs {
        let found = writer.relation(&item.earlier, &item.later, cancel)?;
        let expected = item.relation;
        // Of two texts that say the same, the later one may replace both.
        let also = (expected == Relation::Same).then_some(Relation::Update);
        conflict += f64::from(found == Some(expected) || (also.is_some() && found == also));
        step();
    }
    Ok(Grade {
        answering: answering / items.questions.len() as f64,
        extraction: extraction / items.told.len() as f64,
        router: router / items.routed.len() as f64,
        boundary: boundary / items.topics.len() as f64,
        conflict: conflict / items.pairs.len() as f64,
        gate: gate.grade(),
        n_items: items.n(),
        seconds: start.elapsed().as_secs_f64(),
    })
}

fn said_on(day: i8) -> DateTime {
    date(2026, 11, day).at(9, 0, 0, 0)
}

fn notes(facts: &[(i8, String)]) -> Vec<MemoryLine<'_>> {
    facts
        .iter()
        .map(|(day, text)| MemoryLine::Semantic { text, at: said_on(*day), superseded: false })
        .collect()
}

fn answer(reader: &Reader<'_>, item: &Question, cancel: &Cancel) -> Result<String, ModelError> {
    let mut context = reader.read(&notes(&item.facts))?;
    reader.answer(&mut *context, &item.asked, cancel)
}

fn is_right(reply: &str, expected: Option<&str>) -> bool {
    match expected {
        Some(answer) => reply.to_lowercase().contains(answer) && !refuses(reply),
        None => refuses(reply),
    }
}

/// F1 of the facts found: a fact is right if it contains the words of an expected one.
fn f1(found: &[String], expected: &[Vec<String>]) -> f64 {
    if expected.is_empty() {
        return f64::from(found.is_empty());
    }
    let fits = |fact: &str, words: &[String]| {
        let fact = fact.to_lowercase();
        words.iter().all(|word| fact.contains(word))
    };
    let n_right = found.iter().filter(|f| expected.iter().any(|words| fits(f, words))).count();
    let n_found = expected.iter().filter(|words| found.iter().any(|f| fits(f, words))).count();
    let precision = n_right as f64 / found.len().max(1) as f64;
    harmonic_mean(precision, n_found as f64 / expected.len() as f64)
}

/// Paired comparisons by each signal: evidence against as many facts about somebody else.
#[derive(Default)]
struct Gate {
    entropy: f64,
    nll: f64,
    question_nll: f64,
    overlap: f64,
    n: f64,
}

impl Gate {
    fn compare(
        &mut self,
        reader: &Reader<'_>,
        item: &Question,
        noise: &Question,
    ) -> Result<(), ModelError> {
        let question = reader.question(&item.asked);
        let measure = |facts: &[(i8, String)]| -> Result<Uncertainty, ModelError> {
            reader.read(&notes(facts))?.uncertainty(&question, reader.tail(), N_POSITIONS)
        };
        let (with, without) = (measure(&item.facts)?, measure(&noise.facts)?);
        // Less uncertain is better.
        self.entropy += wins(without.entropy_nats, with.entropy_nats);
        self.nll += wins(without.nll_nats, with.nll_nats);
        self.question_nll += wins(without.question_nll_nats, with.question_nll_nats);
        self.overlap += wins(overlap(item, item), overlap(item, noise));
        self.n += 1.0;
        Ok(())
    }

    fn grade(&self) -> GateGrade {
        let n = self.n.max(1.0);
        GateGrade {
            entropy: self.entropy / n,
            nll: self.nll / n,
            question_nll: self.question_nll / n,
            overlap: self.overlap / n,
        }
    }
}

fn overlap(item: &Question, other: &Question) -> f64 {
    let terms = |text: &str| -> BTreeSet<String> { lexical::terms(text).into_iter().collect() };
    let facts: Vec<&str> = other.facts.iter().map(|f| f.1.as_str()).collect();
    lexical::overlap(&terms(&item.asked), &terms(&facts.join(" ")))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::testing::ScriptedModel;

    /// A model that reads: it answers with the fact's key word and is more certain with the evidence.
    fn reader() -> Arc<dyn LanguageModel> {
        let mut script: Vec<(&str, &str)> = Vec::new();
        for item in &ITEMS.questions {
            script.push((&item.asked, item.answer.as_deref().unwrap_or("I don't know.")));
        }
        for item in &ITEMS.routed {
            script.push((&item.text, if item.store { "store" } else { "discard" }));
        }
        let model = ScriptedModel::new(&script).with_uncertainty(|context, question| {
            let item = ITEMS.questions.iter().find(|q| question.contains(&q.asked)).unwrap();
            if context.contains(&item.facts[0].1) { 0.5 } else { 1.5 }
        });
        Arc::new(model)
    }

    #[test]
    fn a_model_that_reads_gets_good_grades_for_reading() {
        let mut progress = Vec::new();
        let cancel = Cancel::default();
        let grade = check(&reader(), |done, of| progress.push((done, of)), &cancel).unwrap();
        assert_eq!(grade.answering, 1.0);
        assert_eq!(grade.router, 1.0);
        assert_eq!(grade.gate.entropy, 1.0);
        assert!(grade.gate.overlap > 0.8, "{:?}", grade.gate);
        assert!(grade.boundary < 0.75 && grade.conflict < 0.75, "{grade:?}");
        assert_eq!(progress.last(), Some(&(60, 60)));
    }

    #[test]
    fn a_model_that_babbles_gets_bad_ones() {
        let babbler: Arc<dyn LanguageModel> = Arc::new(ScriptedModel::new(&[]));
        let grade = check(&babbler, |_, _| {}, &Cancel::default()).unwrap();
        assert_eq!(grade.answering, 0.0);
        assert_eq!(grade.gate.entropy, 0.5);
    }

    #[test]
    fn it_can_be_cancelled() {
        let cancel = Cancel::default();
        cancel.cancel();
        assert!(matches!(check(&reader(), |_, _| {}, &cancel), Err(ModelError::Cancelled)));
    }

    #[test]
    fn a_grade_is_stored_by_the_weights() {
        let store = Store::in_memory().unwrap();
        let model = reader();
        let grade = check(&model, |_, _| {}, &Cancel::default()).unwrap();
        let stored = || store.read(|r| r.setting(&model.info().grade_key())).unwrap();
        assert_eq!(Grade::from_setting(stored().as_deref()), None);
        keep_grade(&store, &*model, &grade).unwrap();
        assert_eq!(Grade::from_setting(stored().as_deref()), Some(grade));
    }

    #[test]
    fn facts_are_scored_by_their_words() {
        let check = |found: &[&str], expected: &[&[&str]], score: f64| {
            let found: Vec<String> = found.iter().map(|f| (*f).to_owned()).collect();
            let expected: Vec<Vec<String>> = expected
                .iter()
                .map(|words| words.iter().map(|&w| w.to_owned()).collect())
                .collect();
            assert!((f1(&found, &expected) - score).abs() < 1e-9, "{found:?}");
        };
        check(&[], &[], 1.0);
        check(&["Ana likes tea."], &[], 0.0);
        check(&["Ana lives in Lund."], &[&["lund"]], 1.0);
        check(&["Ana lives in Lund.", "Ana likes tea."], &[&["lund"]], 2.0 / 3.0);
        check(&["Ana lives in Lund."], &[&["lund"], &["dog"]], 2.0 / 3.0);
    }
}
