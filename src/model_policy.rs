//! What a model is trusted with: who writes memory, who answers, which signal gates the evidence,
//! how prompts are worded. Pure.
//!
//! What is special about the built-in starter is decided here, and for the chat in `chat::policy`.

use serde::{Deserialize, Serialize};

use crate::interfaces::{ModelInfo, Signal};
use crate::prompts::Style;

/// The value of the settings `writer` and `reader`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// By the model's grade; by its size if it has none.
    #[default]
    Auto,
    /// Rules, always.
    Extractive,
    /// The model, always.
    Generative,
}

impl Mode {
    /// Reads the setting; anything unknown is `auto`.
    #[must_use]
    pub fn from_setting(text: Option<&str>) -> Self {
        match text {
            Some("extractive") => Self::Extractive,
            Some("generative") => Self::Generative,
            _ => Self::Auto,
        }
    }
}

/// What `model check` found; stored under the setting `grade:<weights hash>`. All but the last two
/// lie in [0, 1], and 1 is perfect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Grade {
    /// Share of questions answered right from memories, refusals included.
    pub answering: f64,
    /// Mean F1 of the facts noted from messages, after the guard.
    pub extraction: f64,
    /// Share of store/discard decisions that are right.
    pub router: f64,
    /// Share of topic boundaries that are right.
    pub boundary: f64,
    /// Share of pairs of facts judged right.
    pub conflict: f64,
    /// How well each uncertainty signal tells evidence from random memories.
    pub gate: GateGrade,
    /// Number of items asked.
    pub n_items: usize,
    /// How long it took.
    pub seconds: f64,
}

/// AUC of each signal: how often it is lower with the evidence than with noise (0.5 is chance).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GateGrade {
    /// [`Signal::Entropy`].
    pub entropy: f64,
    /// [`Signal::Nll`].
    pub nll: f64,
    /// [`Signal::QuestionNll`].
    pub question_nll: f64,
    /// [`Signal::Overlap`].
    pub overlap: f64,
}

impl GateGrade {
    /// The best signal; of equals entropy, the paper's.
    #[must_use]
    pub fn best(&self) -> Signal {
        let overlap = (Signal::Overlap, self.overlap);
        best_of([self.best_of_model(), overlap]).0
    }

    fn best_of_model(&self) -> (Signal, f64) {
        best_of([
            (Signal::Entropy, self.entropy),
            (Signal::QuestionNll, self.question_nll),
            (Signal::Nll, self.nll),
        ])
    }
}

/// The first of the highest.
fn best_of<const N: usize>(signals: [(Signal, f64); N]) -> (Signal, f64) {
    signals
        .into_iter()
        .reduce(|best, next| if next.1 > best.1 { next } else { best })
        .unwrap_or((Signal::Entropy, 0.0))
}

impl Grade {
    /// Reads the setting; `None` if it is absent or damaged.
    #[must_use]
    pub fn from_setting(text: Option<&str>) -> Option<Self> {
        serde_json::from_str(text?).ok()
    }
}

/// From this score on, a model does the step itself.
const GOOD: f64 = 0.75;

/// From this size on, a model without a grade reads (Qwen3-0.6B does, SmolLM2-360M not). None writes without one:
/// Qwen2.5-0.5B's facts were worse than the rules'.
pub const N_PARAMETERS_GENERATE_MIN: u64 = 450_000_000;

/// From this size on, the uncertainty of a model without a grade is used.
const N_PARAMETERS_SIGNAL_MIN: u64 = 100_000_000;

/// A signal is used from this AUC on (0.5 is chance).
const USEFUL_AUC_MIN: f64 = 0.6;

/// What `auto` goes by.
enum Trust<'a> {
    /// The built-in starter: it invents too much, whatever its grade says.
    Never,
    Graded(&'a Grade),
    /// Not graded yet: by the number of parameters.
    Ungraded(u64),
}

impl<'a> Trust<'a> {
    fn of(info: &ModelInfo, grade: Option<&'a Grade>) -> Self {
        match grade {
            _ if info.starter => Self::Never,
            Some(grade) => Self::Graded(grade),
            None => Self::Ungraded(info.n_parameters),
        }
    }
}

/// Who does each step of writing: true is the model, false the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Plan {
    /// Finds where an episode ends.
    pub boundary: bool,
    /// Tells an episode's story.
    pub episode: bool,
    /// Routes messages and notes facts.
    pub semantics: bool,
    /// Names themes.
    pub theme: bool,
    /// Judges pairs of facts.
    pub conflict: bool,
}

impl Plan {
    /// Every step by the model, or every step by rules.
    #[must_use]
    pub fn all(generate: bool) -> Self {
        Self {
            boundary: generate,
            episode: generate,
            semantics: generate,
            theme: generate,
            conflict: generate,
        }
    }

    /// The plan for `writer = mode`.
    #[must_use]
    pub fn of(mode: Mode, info: &ModelInfo, grade: Option<&Grade>) -> Self {
        match (mode, Trust::of(info, grade)) {
            (Mode::Extractive, _) | (Mode::Auto, Trust::Never | Trust::Ungraded(_)) => {
                Self::all(false)
            }
            (Mode::Generative, _) => Self::all(true),
            (Mode::Auto, Trust::Graded(grade)) => Self {
                boundary: grade.boundary >= GOOD,
                // A model that notes facts well tells them well; no cheaper test of a story exists.
                episode: grade.extraction >= GOOD,
                semantics: grade.extraction >= GOOD && grade.router >= GOOD,
                theme: grade.extraction >= GOOD,
                conflict: grade.conflict >= GOOD,
            },
        }
    }
}

/// Whether the model answers under `reader = mode`; otherwise rules quote memory.
#[must_use]
pub fn reader_generates(mode: Mode, info: &ModelInfo, grade: Option<&Grade>) -> bool {
    match (mode, Trust::of(info, grade)) {
        (Mode::Extractive, _) | (Mode::Auto, Trust::Never) => false,
        (Mode::Generative, _) => true,
        (Mode::Auto, Trust::Ungraded(n)) => n >= N_PARAMETERS_GENERATE_MIN,
        (Mode::Auto, Trust::Graded(grade)) => grade.answering >= GOOD,
    }
}

/// The signal that Stage II goes by: of a graded model the one that tells evidence from noise best;
/// without a grade the paper's entropy, or overlap for tiny models.
#[must_use]
pub fn gate_signal(info: &ModelInfo, grade: Option<&Grade>) -> Signal {
    match Trust::of(info, grade) {
        Trust::Never => Signal::Overlap,
        Trust::Ungraded(n) if n < N_PARAMETERS_SIGNAL_MIN => Signal::Overlap,
        Trust::Ungraded(_) => Signal::Entropy,
        Trust::Graded(grade) => match grade.gate.best_of_model() {
            (signal, auc) if auc >= USEFUL_AUC_MIN => signal,
            _ => Signal::Overlap,
        },
    }
}

/// How prompts are worded for a model.
#[must_use]
pub fn prompt_style(info: &ModelInfo) -> Style {
    if info.starter { Style::Trained } else { Style::Instructed }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
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

    fn grade(score: f64) -> Grade {
        Grade {
            answering: score,
            extraction: score,
            router: score,
            boundary: score,
            conflict: 1.0 - score,
            gate: GateGrade { entropy: 0.2, nll: 0.4, question_nll: 0.9, overlap: 0.8 },
            n_items: 60,
            seconds: 1.0,
        }
    }

    #[test]
    fn only_a_graded_model_writes() {
        let check = |info: ModelInfo, grade: Option<Grade>, [writes, reads]: [bool; 2]| {
            assert_eq!(Plan::of(Mode::Auto, &info, grade.as_ref()).semantics, writes);
            assert_eq!(reader_generates(Mode::Auto, &info, grade.as_ref()), reads);
        };
        check(info(7_000_000, true), None, [false; 2]);
        check(info(7_000_000, true), Some(grade(1.0)), [false; 2]);
        check(info(360_000_000, false), None, [false; 2]);
        // Without a grade it reads, but rules write.
        check(info(600_000_000, false), None, [false, true]);
        check(info(600_000_000, false), Some(grade(0.3)), [false; 2]);
        check(info(135_000_000, false), Some(grade(0.9)), [true; 2]);
    }

    #[test]
    fn a_grade_decides_step_by_step_and_a_setting_overrules_it() {
        let big = info(600_000_000, false);
        let plan = Plan::of(Mode::Auto, &big, Some(&grade(0.9)));
        assert!(plan.semantics && !plan.conflict);
        assert_eq!(Plan::of(Mode::Extractive, &big, None), Plan::all(false));
        assert_eq!(Plan::of(Mode::Generative, &info(1, true), None), Plan::all(true));
        assert_eq!(Mode::from_setting(Some("whatever")), Mode::Auto);
    }

    #[test]
    fn the_best_signal_is_reported() {
        assert_eq!(grade(0.5).gate.best(), Signal::QuestionNll);
        let tie = GateGrade { entropy: 0.9, nll: 0.9, question_nll: 0.9, overlap: 0.9 };
        assert_eq!(tie.best(), Signal::Entropy);
        assert_eq!(GateGrade { overlap: 1.0, ..tie }.best(), Signal::Overlap);
    }

    #[test]
    fn the_gate_goes_by_the_grade_and_else_by_size() {
        let check = |info: &ModelInfo, gate: Option<[f64; 3]>, expected| {
            let grade = gate.map(|[entropy, nll, question_nll]| Grade {
                gate: GateGrade { entropy, nll, question_nll, overlap: 1.0 },
                ..grade(0.9)
            });
            assert_eq!(gate_signal(info, grade.as_ref()), expected, "{info:?} {grade:?}");
        };
        let (tiny, large) = (info(7_000_000, false), info(600_000_000, false));
        check(&info(600_000_000, true), None, Signal::Overlap);
        check(&info(600_000_000, true), Some([0.9; 3]), Signal::Overlap);
        check(&tiny, None, Signal::Overlap);
        check(&large, None, Signal::Entropy);
        check(&large, Some([0.7, 0.6, 0.9]), Signal::QuestionNll);
        check(&tiny, Some([0.9, 0.0, 0.9]), Signal::Entropy);
        check(&large, Some([0.23, 0.5, 0.0]), Signal::Overlap);
    }

    #[test]
    fn a_grade_survives_being_stored() {
        let grade = grade(0.25);
        let text = serde_json::to_string(&grade).unwrap();
        assert_eq!(Grade::from_setting(Some(&text)), Some(grade));
        assert_eq!(Grade::from_setting(Some("{broken")), None);
    }
}
