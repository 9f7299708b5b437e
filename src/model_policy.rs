//! What a model is trusted with: who writes memory, who answers, who says what a message wants, how prompts are
//! worded.
//!
//! What is special about the built-in starter is decided here, and for the chat in `chat::policy`.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::extractive::{self, CHANGE_MIN, Wants};
use crate::interfaces::{LanguageModel, ModelError, ModelInfo, Models, Reranker};
use crate::prompts::Style;

/// The value of the settings `writer` and `reader`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// By the model's grade; by its size if it has none. The built-in model was graded when it was trained.
    #[default]
    Auto,
    /// Rules, always.
    Extractive,
    /// The model, always.
    Generative,
}

/// What a message most probably wants: by the built-in encoder, or by rules where it can't read the text or is missing.
pub fn wants(encoder: Option<&dyn Reranker>, text: &str) -> Wants {
    /// The encoder's labels M, S, T and W.
    const LABELS: [Wants; 4] = [Wants::Memory, Wants::SmallTalk, Wants::Statement, Wants::World];
    // The encoder knows English only.
    if extractive::asks_of_own_elsewhere(text) {
        return Wants::Memory;
    }
    // A failure is no reason not to answer.
    let said =
        encoder.and_then(|encoder| encoder.probabilities("wants", &[&[text]]).ok().flatten());
    let likeliest = said.and_then(|mut said| said.pop()).and_then(|probabilities| {
        LABELS.into_iter().zip(probabilities).max_by(|(_, a), (_, b)| a.total_cmp(b))
    });
    match likeliest {
        Some((Wants::World, _)) if extractive::asks_what_is_known(text) => Wants::Memory,
        Some((Wants::SmallTalk, _)) if extractive::tells_something(text) => Wants::Statement,
        Some((Wants::SmallTalk, _)) => extractive::no_small_talk(text).unwrap_or(Wants::SmallTalk),
        Some((wants, _)) => wants,
        None => extractive::wants(text),
    }
}

/// For each later text, the probability in [0, 1] that it changes the answer that an earlier one gives to a question, as
/// the built-in encoder reads them; empty without it.
pub fn changed(
    encoder: Option<&dyn Reranker>,
    question: &str,
    earlier: &str,
    later: &[&str],
) -> Vec<f64> {
    let Some(mut found) = encoder.and_then(|e| changing_text(e, earlier, later)) else {
        return Vec::new();
    };
    // What does not change the text does not change its answer.
    let likely: Vec<usize> = (0..later.len()).filter(|&i| found[i] >= CHANGE_MIN).collect();
    if likely.is_empty() {
        return found;
    }
    let texts: Vec<&str> = likely.iter().map(|&i| later[i]).collect();
    let answers = encoder.and_then(|e| changing_answer(e, question, earlier, &texts));
    let Some(answers) = answers else { return Vec::new() };
    for (i, answer) in likely.into_iter().zip(answers) {
        found[i] = found[i].min(answer);
    }
    found
}

/// For each later text, the probabilities in [0, 1] that it changes the earlier one, and the answer that this gives to a
/// question, as the built-in encoder reads them; empty without it.
pub fn odds_of_change(
    encoder: Option<&dyn Reranker>,
    question: &str,
    earlier: &str,
    later: &[&str],
) -> Vec<[f64; 2]> {
    let read = || -> Option<Vec<[f64; 2]>> {
        let of_text = changing_text(encoder?, earlier, later)?;
        let of_answer = changing_answer(encoder?, question, earlier, later)?;
        Some(of_text.into_iter().zip(of_answer).map(|(text, answer)| [text, answer]).collect())
    };
    read().unwrap_or_default()
}

fn changing_text(encoder: &dyn Reranker, earlier: &str, later: &[&str]) -> Option<Vec<f64>> {
    odds_of(encoder, "line", 1, earlier, later)
}

fn changing_answer(
    encoder: &dyn Reranker,
    question: &str,
    earlier: &str,
    later: &[&str],
) -> Option<Vec<f64>> {
    odds_of(encoder, "answer", 0, &format!("{question} || {earlier}"), later)
}

/// What a head says of each later text after the earlier one. `changes`: the index of its label for a change. A failure is
/// no reason not to answer.
fn odds_of(
    encoder: &dyn Reranker,
    head: &str,
    changes: usize,
    earlier: &str,
    later: &[&str],
) -> Option<Vec<f64>> {
    let pairs: Vec<[&str; 2]> = later.iter().map(|&later| [earlier, later]).collect();
    let pairs: Vec<&[&str]> = pairs.iter().map(<[_; 2]>::as_slice).collect();
    let said = encoder.probabilities(head, &pairs).ok()??;
    said.iter().map(|odds| odds.get(changes).map(|p| f64::from(*p))).collect()
}

/// How a model and the rules did one step on the same items.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// The model's mean in [0, 1]; 1 is perfect.
    pub model: f64,
    /// The rules' mean in [0, 1].
    pub rules: f64,
    /// The standard error of the mean difference.
    pub standard_error: f64,
}

impl Score {
    /// The score of items, each with the model's result and the rules', in [0, 1].
    pub fn of(items: impl Iterator<Item = [f64; 2]>) -> Self {
        let items: Vec<[f64; 2]> = items.collect();
        let n = items.len().max(1) as f64;
        let mean = |i: usize| items.iter().map(|pair| pair[i]).sum::<f64>() / n;
        let (model, rules) = (mean(0), mean(1));
        let squares = items.iter().map(|[m, r]| (m - r - (model - rules)).powi(2)).sum::<f64>();
        Self { model, rules, standard_error: squares.sqrt() / n }
    }

    /// Whether the model does better, by more than chance would explain: two standard errors.
    pub fn is_better(&self) -> bool {
        self.model - self.rules > 2.0 * self.standard_error
    }
}

/// What `model check` found; stored under the setting `grade:<weights hash>`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Grade {
    /// Questions answered from memories, refusals included.
    pub answering: Score,
    /// F1 of the facts noted from messages.
    pub extraction: Score,
    /// Decisions whether a message is to be stored.
    pub router: Score,
    /// Topic boundaries.
    pub boundary: Score,
    /// Pairs of facts.
    pub conflict: Score,
    /// Titles of episodes.
    pub title: Score,
    /// Names of themes.
    pub theme: Score,
    /// Number of items asked.
    pub n_items: usize,
    /// How long it took.
    pub seconds: f64,
}

impl Grade {
    /// Every step with its score, and who does it unless the settings say otherwise. `memory`: whether there is
    /// [`Models::memory`].
    pub fn steps(
        &self,
        info: &ModelInfo,
        memory: bool,
    ) -> [(&'static str, Score, &'static str); 7] {
        let plan = Plan::of(Mode::Auto, info, Some(self));
        let built_in = memory.then(|| Plan::of_built_in(Mode::Auto, Some(self)));
        let built_in = built_in.unwrap_or_default();
        let reader = reader(Mode::Auto, info, Some(self), memory);
        let by = |model: bool| if model { "model" } else { "rules" };
        let named = |built_in: bool, model: bool| if built_in { "starter" } else { by(model) };
        let reads = named(reader == Reader::BuiltIn, reader == Reader::Generative);
        [
            ("answering", self.answering, reads),
            ("extraction", self.extraction, by(plan.semantics)),
            ("router", self.router, by(plan.router)),
            ("boundary", self.boundary, by(plan.boundary)),
            ("conflict", self.conflict, by(plan.conflict)),
            ("title", self.title, named(built_in.episode, plan.episode)),
            ("theme", self.theme, named(built_in.theme, plan.theme)),
        ]
    }

    /// Reads the setting; `None` if it is absent or damaged.
    pub fn from_setting(text: Option<&str>) -> Option<Self> {
        serde_json::from_str(text?).ok()
    }
}

/// A model without a grade, unless it is the built-in one, reads if it has at least this many parameters (Qwen3-0.6B, not SmolLM2-360M). None writes without one:
/// Qwen2.5-0.5B's facts were worse than the rules'.
pub const N_PARAMETERS_GENERATE_MIN: u64 = 450_000_000;

/// Who does each step of writing: true is the model, false the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Plan {
    /// Finds where an episode ends.
    pub boundary: bool,
    /// Tells an episode's story.
    pub episode: bool,
    /// Decides which messages facts are noted from, where the model notes them.
    pub router: bool,
    /// Notes facts.
    pub semantics: bool,
    /// Names themes.
    pub theme: bool,
    /// Judges pairs of facts.
    pub conflict: bool,
}

impl Plan {
    /// Every step by the model, or every step by rules.
    pub fn all(generate: bool) -> Self {
        Self {
            boundary: generate,
            episode: generate,
            router: generate,
            semantics: generate,
            theme: generate,
            conflict: generate,
        }
    }

    /// Whether the model decides what episodes and facts there are, not only how they are called.
    pub fn makes_units(&self) -> bool {
        self.boundary || self.semantics || self.conflict
    }

    /// What [`Models::memory`] does beside a model with this grade: it names, unless that one does it better.
    pub fn of_built_in(mode: Mode, grade: Option<&Grade>) -> Self {
        let names = |score: fn(&Grade) -> Score, own: f64| {
            mode == Mode::Auto && grade.is_none_or(|grade| score(grade).model <= own)
        };
        Self {
            episode: names(|grade| grade.title, BUILT_IN_TITLE),
            theme: names(|grade| grade.theme, BUILT_IN_THEME),
            ..Self::default()
        }
    }

    /// The plan for `writer = mode`.
    pub fn of(mode: Mode, info: &ModelInfo, grade: Option<&Grade>) -> Self {
        match (mode, grade) {
            (Mode::Generative, _) => Self::all(true),
            // Measured when it was trained (models/starter/card.md).
            (Mode::Auto, _) if info.starter => {
                Self { episode: true, theme: true, ..Self::default() }
            }
            (Mode::Extractive, _) | (Mode::Auto, None) => Self::all(false),
            (Mode::Auto, Some(grade)) => Self {
                boundary: grade.boundary.is_better(),
                episode: grade.title.is_better(),
                router: grade.router.is_better(),
                semantics: grade.extraction.is_better(),
                theme: grade.theme.is_better(),
                conflict: grade.conflict.is_better(),
            },
        }
    }
}

/// What `model check` gives the built-in model for answering, titles and names of themes (models/starter/card.md).
const BUILT_IN_ANSWERING: f64 = 0.65;
const BUILT_IN_TITLE: f64 = 0.92;
const BUILT_IN_THEME: f64 = 0.67;

/// Who reads memories for an answer that the rules are not sure of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// Rules quote them.
    Extractive,
    /// [`Models::memory`].
    BuiltIn,
    /// The model that chats.
    Generative,
}

/// With [`Models::memory`] a model without a grade reads by itself from this size on. Of 92 questions about what strangers told, the
/// built-in model answered 65, Qwen2.5-Coder-0.5B 60; none in between was tried.
const N_PARAMETERS_READ_MIN: u64 = 1_000_000_000;

/// Who reads under `reader = mode`. `memory`: whether there is [`Models::memory`].
pub fn reader(mode: Mode, info: &ModelInfo, grade: Option<&Grade>, memory: bool) -> Reader {
    let is_large = info.n_parameters >= N_PARAMETERS_GENERATE_MIN;
    let reads = match (mode, grade) {
        (Mode::Extractive, _) => return Reader::Extractive,
        (Mode::Generative, _) => true,
        (Mode::Auto, _) if info.starter => true,
        (Mode::Auto, None) if memory => info.n_parameters >= N_PARAMETERS_READ_MIN,
        (Mode::Auto, None) => is_large,
        (Mode::Auto, Some(grade)) if memory => {
            grade.answering.model >= grade.answering.rules.max(BUILT_IN_ANSWERING)
        }
        // What the rules are sure of they answer in any case.
        (Mode::Auto, Some(grade)) if is_large => grade.answering.model >= grade.answering.rules,
        (Mode::Auto, Some(grade)) => grade.answering.is_better(),
    };
    match (reads, memory) {
        (true, _) => Reader::Generative,
        (false, true) => Reader::BuiltIn,
        (false, false) => Reader::Extractive,
    }
}

/// The model that reads, where one does.
///
/// # Errors
/// If it can't be loaded.
pub fn reading_model(
    reader: Reader,
    models: &Models,
) -> Result<Arc<dyn LanguageModel>, ModelError> {
    match (&models.memory, reader) {
        (Some(memory), Reader::BuiltIn) => memory.loaded(),
        _ => Ok(Arc::clone(&models.language)),
    }
}

/// How prompts are worded for a model.
pub fn prompt_style(info: &ModelInfo) -> Style {
    if info.starter { Style::Trained } else { Style::Instructed }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(n_parameters: u64, starter: bool) -> ModelInfo {
        ModelInfo {
            name: "m".into(),
            fingerprint: "abc".into(),
            n_parameters,
            context_tokens: 2048,
            vocabulary: 100,
            starter,
        }
    }

    fn grade(model: f64) -> Grade {
        let score = Score { model, rules: 0.7, standard_error: 0.05 };
        Grade {
            answering: score,
            extraction: score,
            router: score,
            boundary: score,
            conflict: Score { model: 0.7, ..score },
            title: score,
            theme: score,
            n_items: 250,
            seconds: 1.0,
        }
    }

    #[test]
    fn better_is_better_than_chance() {
        let of = |items: &[[f64; 2]]| Score::of(items.iter().copied());
        assert!(of(&[[1.0, 0.0]; 3]).is_better());
        assert!(!of(&[[1.0, 1.0]; 3]).is_better());
        // One of fifty more may be luck; five more, where none is lost, is not.
        let mut items = vec![[1.0, 1.0]; 50];
        items[0] = [1.0, 0.0];
        assert!(!of(&items).is_better());
        items[..5].fill([1.0, 0.0]);
        let score = of(&items);
        assert!(score.is_better());
        assert!((score.model - 1.0).abs() < 1e-9 && (score.rules - 0.9).abs() < 1e-9);
        assert!((score.standard_error - (0.09_f64 / 50.0).sqrt()).abs() < 1e-9);
        assert!(!of(&[]).is_better());
    }

    #[test]
    fn only_a_graded_model_writes() {
        let check = |info: ModelInfo, grade: Option<Grade>, [writes, reads]: [bool; 2]| {
            assert_eq!(Plan::of(Mode::Auto, &info, grade.as_ref()).semantics, writes);
            let reads = if reads { Reader::Generative } else { Reader::Extractive };
            assert_eq!(reader(Mode::Auto, &info, grade.as_ref(), false), reads);
        };
        check(info(135_000_000, true), None, [false, true]);
        check(info(135_000_000, true), Some(grade(1.0)), [false, true]);
        let starter = Plan::of(Mode::Auto, &info(135_000_000, true), None);
        assert_eq!(starter, Plan { episode: true, theme: true, ..Plan::default() });
        assert!(!starter.makes_units());
        check(info(360_000_000, false), None, [false; 2]);
        // Without a grade it reads, but rules write.
        check(info(600_000_000, false), None, [false, true]);
        check(info(600_000_000, false), Some(grade(0.3)), [false; 2]);
        check(info(135_000_000, false), Some(grade(0.9)), [true; 2]);
    }

    #[test]
    fn the_built_in_model_reads_for_one_that_reads_worse() {
        let check = |info: ModelInfo, grade: Option<Grade>, expected| {
            assert_eq!(reader(Mode::Auto, &info, grade.as_ref(), true), expected);
            assert_eq!(reader(Mode::Extractive, &info, None, true), Reader::Extractive);
            assert_eq!(reader(Mode::Generative, &info, None, true), Reader::Generative);
        };
        check(info(500_000_000, false), None, Reader::BuiltIn);
        check(info(1_500_000_000, false), None, Reader::Generative);
        check(info(1_500_000_000, false), Some(grade(0.6)), Reader::BuiltIn);
        // Its rules had 0.7.
        check(info(500_000_000, false), Some(grade(0.68)), Reader::BuiltIn);
        check(info(135_000_000, false), Some(grade(0.71)), Reader::Generative);
        check(info(135_000_000, true), None, Reader::Generative);
        let names = Plan { episode: true, theme: true, ..Plan::default() };
        assert_eq!(Plan::of_built_in(Mode::Auto, None), names);
        let better = grade(0.95);
        let left = Plan { episode: false, theme: false, ..names };
        assert_eq!(Plan::of_built_in(Mode::Auto, Some(&better)), left);
        assert_eq!(Plan::of_built_in(Mode::Extractive, None), left);
        let [.., title, theme] = grade(0.7).steps(&info(500_000_000, false), true);
        assert_eq!((title.2, theme.2), ("starter", "rules"));
    }

    #[test]
    fn a_grade_decides_step_by_step_and_a_setting_overrules_it() {
        let big = info(600_000_000, false);
        let plan = Plan::of(Mode::Auto, &big, Some(&grade(0.9)));
        assert!(plan.semantics && !plan.conflict);
        assert_eq!(Plan::of(Mode::Extractive, &big, None), Plan::all(false));
        assert_eq!(Plan::of(Mode::Generative, &info(1, true), None), Plan::all(true));
    }

    #[test]
    fn a_grade_survives_being_stored() {
        let grade = grade(0.25);
        let text = serde_json::to_string(&grade).unwrap();
        assert_eq!(Grade::from_setting(Some(&text)), Some(grade));
        assert_eq!(Grade::from_setting(Some("{broken")), None);
    }
}
