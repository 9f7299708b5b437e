//! `model check`: scores a model and the rules on the same built-in items, one group for each step of memory.
//!
//! It takes minutes, once per model: by itself while a chat is idle, or on demand. The grade is stored under the
//! weights' fingerprint, and decides what `writer = auto` and `reader = auto` mean. The prompts are the program's own.

mod items;
mod reader;

use std::sync::Arc;
use std::time::Instant;

use jiff::civil::{DateTime, date};
use serde::{Deserialize, Serialize};

use super::segment::{LOOK_BACK, mean_similarity};
use super::writer::{Extractive, Generative, Writer};
use crate::extractive::{self, Candidate, HEDGE, Judgement, Statement, Utterance};
use crate::interfaces::{Cancel, LanguageModel, ModelError, Models};
use crate::memory::{Embedding, MessageId, Origin, Role};
use crate::model_policy::{Grade, Score, prompt_style};
use crate::prompts::{Answer, MemoryLine, Relation};
use crate::store::{Store, StoreError};

pub use reader::{ANSWER_TOKENS_MAX, Reader};

use items::{ITEMS, Item, Question, Topic};

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
pub fn harmonic_mean(a: f64, b: f64) -> f64 {
    if a <= 0.0 || b <= 0.0 { 0.0 } else { 2.0 * a * b / (a + b) }
}

/// A check under way: item by item, so that it can be interrupted and go on another day.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// The fingerprint of the items that the scores are of.
    items: u64,
    /// The model's score and the rules', in [0, 1], of each item so far.
    scores: Vec<[f64; 2]>,
    seconds: f64,
}

impl Check {
    /// Resumes what [`Self::to_setting`] wrote; starts afresh if that is damaged or of other items.
    pub fn from_setting(text: Option<&str>) -> Self {
        let check: Option<Self> = text.and_then(|text| serde_json::from_str(text).ok());
        let fresh = Self { items: ITEMS.fingerprint(), ..Self::default() };
        check.filter(|check| check.items == fresh.items).unwrap_or(fresh)
    }

    /// The check so far, as text.
    pub fn to_setting(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// How many items are done, and how many there are.
    pub fn progress(&self) -> (usize, usize) {
        (self.scores.len(), ITEMS.n())
    }

    /// Scores one more item; returns the grade after the last one.
    ///
    /// # Errors
    /// If the model fails, or `cancel` was set; the item is not done then.
    pub fn next(&mut self, models: &Models, cancel: &Cancel) -> Result<Option<Grade>, ModelError> {
        let start = Instant::now();
        cancel.check()?;
        if let Some(item) = ITEMS.item(self.scores.len()) {
            let examiner =
                Examiner { models, writer: Generative::new(Arc::clone(&models.language)), cancel };
            self.scores.push(examiner.score(item)?);
        }
        self.seconds += start.elapsed().as_secs_f64();
        Ok((self.scores.len() >= ITEMS.n()).then(|| self.grade()))
    }

    fn grade(&self) -> Grade {
        let of = |is_of: fn(&Item<'static>) -> bool| {
            let items = self.scores.iter().enumerate();
            Score::of(
                items
                    .filter(|(i, _)| ITEMS.item(*i).is_some_and(|item| is_of(&item)))
                    .map(|(_, s)| *s),
            )
        };
        Grade {
            answering: of(|item| matches!(item, Item::Question(_))),
            extraction: of(|item| matches!(item, Item::Told(_))),
            router: of(|item| matches!(item, Item::Routed(_))),
            boundary: of(|item| matches!(item, Item::Topic(_))),
            conflict: of(|item| matches!(item, Item::Pair(_))),
            title: of(|item| matches!(item, Item::Title(_))),
            theme: of(|item| matches!(item, Item::Theme(_))),
            n_items: self.scores.len(),
            seconds: self.seconds,
        }
    }
}

/// Grades a model and calls `on_progress(done, of)` after each item.
///
/// # Errors
/// If the model fails, or `cancel` was set.
pub fn check(
    models: &Models,
    mut on_progress: impl FnMut(usize, usize),
    cancel: &Cancel,
) -> Result<Grade, ModelError> {
    let mut check = Check::from_setting(None);
    loop {
        let grade = check.next(models, cancel)?;
        let (done, of) = check.progress();
        on_progress(done, of);
        if let Some(grade) = grade {
            return Ok(grade);
        }
    }
}

/// Puts the same items to the model and to the rules.
struct Examiner<'a> {
    models: &'a Models,
    writer: Generative,
    cancel: &'a Cancel,
}

impl Examiner<'_> {
    /// The model's score and the rules'.
    fn score(&self, item: Item<'_>) -> Result<[f64; 2], ModelError> {
        match item {
            Item::Question(item) => self.answering(item),
            Item::Routed(item) => {
                let line = ana(&item.text);
                let by_rules = extractive::says_something(&line);
                let found = [self.writer.route(&line, self.cancel)?, by_rules];
                Ok(found.map(|store| f64::from(store == item.store)))
            }
            Item::Told(item) => self.each(|writer| {
                let facts = writer.statements(&[], &[ana(&item.text)], self.cancel)?;
                let texts: Vec<String> = facts.into_iter().map(|f| f.text).collect();
                Ok(f1(&texts, &item.facts))
            }),
            Item::Topic(item) => {
                let similarity = self.similarity_before(item)?;
                let line = |(i, text): (usize, &String)| spoken(i, text);
                let history: Vec<Utterance> = item.history.iter().enumerate().map(line).collect();
                let next = spoken(0, &item.next);
                self.each(|writer| {
                    let found = writer.boundary(&history, &next, similarity, self.cancel)?;
                    Ok(f64::from(found == Some(item.new)))
                })
            }
            Item::Pair(item) => {
                let vectors = self.embed(&[&item.earlier, &item.later])?;
                let similarity = vectors[0].cosine(&vectors[1]);
                let [earlier, later] = [&item.earlier, &item.later].map(|text| Statement {
                    messages: vec![MessageId(1)],
                    ..extractive::parse_statement(text)
                });
                self.each(|writer| {
                    let found = match writer.judge(&earlier, &later, similarity, self.cancel)? {
                        Judgement::KeepBoth => Relation::Both,
                        Judgement::Supersedes => Relation::Update,
                        Judgement::Merge(_) => Relation::Same,
                    };
                    // Of two texts that say the same, the later one may as well supersede the earlier.
                    let may = item.relation == Relation::Same && found == Relation::Update;
                    Ok(f64::from(may || found == item.relation))
                })
            }
            Item::Title(item) => {
                let lines: Vec<Utterance> =
                    item.lines.iter().enumerate().map(|(i, text)| spoken(i, text)).collect();
                self.each(|writer| {
                    let title = writer.episode(&lines, self.cancel)?.title;
                    Ok(f64::from(names(&title, &item.words, TITLE_WORDS_MAX)))
                })
            }
            Item::Theme(item) => {
                let facts: Vec<&str> = item.facts.iter().map(String::as_str).collect();
                self.each(|writer| {
                    let name = writer.theme_name(&facts, self.cancel)?;
                    Ok(f64::from(names(&name, &item.words, NAME_WORDS_MAX)))
                })
            }
        }
    }

    fn each(
        &self,
        score: impl Fn(&dyn Writer) -> Result<f64, ModelError>,
    ) -> Result<[f64; 2], ModelError> {
        Ok([score(&self.writer)?, score(&Extractive)?])
    }

    /// The rules quote. The model reads as in a chat: it answers only what the rules are not sure of.
    fn answering(&self, item: &Question) -> Result<[f64; 2], ModelError> {
        let candidate = |(day, text): &(i8, String)| Candidate {
            text: text.clone(),
            relevance: 1.0,
            at: said_on(*day),
            raw_speaker: None,
            superseded: false,
            origin: Origin::Person,
            answers: None,
        };
        let candidates: Vec<Candidate> = item.facts.iter().map(candidate).collect();
        let quoted =
            extractive::answer(&item.asked, &candidates, said_on(16), None).map(|a| a.text);
        let by_rules = f64::from(item.is_answered_by(quoted.as_deref()));
        if quoted.as_ref().is_some_and(|text| !text.starts_with(HEDGE)) {
            return Ok([by_rules; 2]);
        }
        let model = &*self.models.language;
        let system = Answer.chat_system(prompt_style(model.info()), said_on(16));
        let reader = Reader::with_system(model, &system)?;
        let reply = answer(&reader, item, self.cancel)?;
        let sources: Vec<&str> = item.facts.iter().map(|fact| fact.1.as_str()).collect();
        let is_held =
            Answer.refuses(&reply) || extractive::grounded(&reply, &sources, said_on(16)).is_err();
        let said = if is_held { quoted } else { Some(reply) };
        Ok([f64::from(item.is_answered_by(said.as_deref())), by_rules])
    }

    /// The mean cosine of a line and those before it, as segmentation computes it.
    fn similarity_before(&self, item: &Topic) -> Result<Option<f32>, ModelError> {
        let mut texts: Vec<&str> =
            item.history.iter().rev().take(LOOK_BACK).map(String::as_str).collect();
        texts.push(&item.next);
        let mut vectors = self.embed(&texts)?;
        let next = vectors.pop();
        Ok(next.and_then(|next| mean_similarity(&next, &vectors)))
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Embedding>, ModelError> {
        let vectors = self.models.embedder.embed(texts)?;
        Ok(vectors.into_iter().map(Embedding::as_stored).collect())
    }
}

/// A title and a theme's name have at most this many words.
const TITLE_WORDS_MAX: usize = 8;
const NAME_WORDS_MAX: usize = 5;

/// Whether a name is short and has one of the words, in lower case.
fn names(name: &str, words: &[String], words_max: usize) -> bool {
    let lower = name.to_lowercase();
    name.split_whitespace().count() <= words_max && words.iter().any(|word| lower.contains(word))
}

fn ana(text: &str) -> Utterance {
    Utterance {
        message: MessageId(1),
        role: Role::User,
        speaker: "Ana".into(),
        addressee: None,
        text: text.into(),
        at: said_on(16),
    }
}

/// Line `i` of a chat that Ana begins.
fn spoken(i: usize, text: &str) -> Utterance {
    let message = MessageId(1 + i as i64);
    if i.is_multiple_of(2) {
        return Utterance { message, ..ana(text) };
    }
    Utterance { message, role: Role::Assistant, speaker: "Assistant".into(), ..ana(text) }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ScriptedModel;

    fn models(script: &[(&str, &str)]) -> Models {
        let language: Arc<dyn LanguageModel> = Arc::new(ScriptedModel::new(script));
        crate::testing::models(language)
    }

    /// A model that reads: it answers with the fact's key word.
    fn reader() -> Models {
        let mut script: Vec<(&str, &str)> = Vec::new();
        for item in &ITEMS.questions {
            let answer = item.answers.first().map_or("I don't know.", String::as_str);
            script.push((&item.asked, answer));
        }
        for item in &ITEMS.routed {
            script.push((&item.text, if item.store { "store" } else { "discard" }));
        }
        models(&script)
    }

    #[test]
    fn a_model_that_reads_better_than_the_rules_is_found_out() {
        let mut progress = Vec::new();
        let cancel = Cancel::default();
        let grade = check(&reader(), |done, of| progress.push((done, of)), &cancel).unwrap();
        assert!(grade.answering.is_better(), "{grade:?}");
        assert_eq!(grade.router.model, 1.0);
        assert!(!grade.boundary.is_better() && !grade.conflict.is_better(), "{grade:?}");
        assert!(grade.n_items >= 200);
        assert_eq!(progress.last(), Some(&(grade.n_items, grade.n_items)));
    }

    #[test]
    fn a_model_that_babbles_is_better_at_nothing() {
        let grade = check(&models(&[]), |_, _| {}, &Cancel::default()).unwrap();
        for (step, score, _) in grade.steps(models(&[]).language.info(), false) {
            assert!(!score.is_better(), "{step}: {score:?}");
        }
    }

    #[test]
    fn an_interrupted_check_goes_on_where_it_was() {
        let (models, cancel) = (reader(), Cancel::default());
        let mut check = Check::from_setting(None);
        assert_eq!(check.next(&models, &cancel).unwrap(), None);
        let stopped = Cancel::default();
        stopped.cancel();
        let kept = check.clone();
        assert!(matches!(check.next(&models, &stopped), Err(ModelError::Cancelled)));
        assert_eq!(check.progress(), kept.progress());
        assert_eq!(Check::from_setting(Some(&kept.to_setting())), kept);
        // Damaged, or of other items: from the start.
        assert_eq!(Check::from_setting(Some("{broken")).progress().0, 0);
        let other = Check { items: kept.items ^ 1, ..kept };
        assert_eq!(Check::from_setting(Some(&other.to_setting())).progress().0, 0);
    }

    #[test]
    fn a_grade_is_stored_by_the_weights() {
        let store = Store::in_memory().unwrap();
        let models = reader();
        let grade = check(&models, |_, _| {}, &Cancel::default()).unwrap();
        let stored = || store.read(|r| r.setting(&models.language.info().grade_key())).unwrap();
        assert_eq!(Grade::from_setting(stored().as_deref()), None);
        keep_grade(&store, &*models.language, &grade).unwrap();
        let read = Grade::from_setting(stored().as_deref()).unwrap();
        assert_eq!((read.n_items, read.router), (grade.n_items, grade.router));
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
