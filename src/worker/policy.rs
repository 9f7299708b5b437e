//! Which steps a model may do: `writer` and `reader`, `auto` by its grade (DESIGN §3). Pure.

use serde::{Deserialize, Serialize};

use crate::interfaces::{ModelInfo, Signal};

/// `writer = …` and `reader = …`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// By the model's grade, or by its size while it has none.
    #[default]
    Auto,
    Extractive,
    Generative,
}

impl Mode {
    /// The setting's text; anything unknown is `auto`.
    #[must_use]
    pub fn from_setting(text: Option<&str>) -> Self {
        match text {
            Some("extractive") => Self::Extractive,
            Some("generative") => Self::Generative,
            _ => Self::Auto,
        }
    }
}

/// What `model check` found; kept under the setting `grade:<weights hash>`.
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
    /// AUC of each signal: evidence against random memories.
    pub gate: GateGrade,
    pub n_items: usize,
    pub seconds: f64,
}

/// How often a signal is lower with the evidence than with noise (0.5 is chance).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GateGrade {
    pub entropy: f64,
    pub nll: f64,
    pub question_nll: f64,
    pub overlap: f64,
}

impl GateGrade {
    /// The best signal; entropy, the paper's, where it is among the best.
    #[must_use]
    pub fn best(&self) -> Signal {
        let signals = [
            (Signal::Entropy, self.entropy),
            (Signal::QuestionNll, self.question_nll),
            (Signal::Nll, self.nll),
            (Signal::Overlap, self.overlap),
        ];
        let highest = signals.iter().map(|s| s.1).fold(f64::NEG_INFINITY, f64::max);
        signals.into_iter().find(|s| s.1 >= highest).map_or(Signal::Entropy, |s| s.0)
    }
}

impl Grade {
    /// Reads the setting; a damaged one is none.
    #[must_use]
    pub fn from_setting(text: Option<&str>) -> Option<Self> {
        serde_json::from_str(text?).ok()
    }
}

/// A score from which on a model does the step itself.
const GOOD: f64 = 0.75;

/// Models without a grade generate from this size on (Qwen3-0.6B and up; SmolLM2-360M not).
const N_PARAMETERS_MIN: u64 = 450_000_000;

/// Who does each step: true is the model, false the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Plan {
    pub boundary: bool,
    pub episode: bool,
    pub semantics: bool,
    pub theme: bool,
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

    /// For `writer = mode`.
    #[must_use]
    pub fn of(mode: Mode, info: &ModelInfo, grade: Option<&Grade>) -> Self {
        match (mode, grade) {
            (Mode::Extractive, _) => Self::all(false),
            (Mode::Generative, _) => Self::all(true),
            (Mode::Auto, _) if info.starter => Self::all(false),
            (Mode::Auto, None) => Self::all(info.n_parameters >= N_PARAMETERS_MIN),
            (Mode::Auto, Some(grade)) => Self {
                boundary: grade.boundary >= GOOD,
                // Who notes facts well tells them well; there is no cheaper test of a narrative.
                episode: grade.extraction >= GOOD,
                semantics: grade.extraction >= GOOD && grade.router >= GOOD,
                theme: grade.extraction >= GOOD,
                conflict: grade.conflict >= GOOD,
            },
        }
    }
}

/// For `reader = mode`: does the model answer, or do the rules quote?
#[must_use]
pub fn reader_generates(mode: Mode, info: &ModelInfo, grade: Option<&Grade>) -> bool {
    match (mode, grade) {
        (Mode::Extractive, _) => false,
        (Mode::Generative, _) => true,
        (Mode::Auto, _) if info.starter => false,
        (Mode::Auto, None) => info.n_parameters >= N_PARAMETERS_MIN,
        (Mode::Auto, Some(grade)) => grade.answering >= GOOD,
    }
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
    fn the_starter_and_tiny_models_write_by_rules() {
        let check = |info: ModelInfo, grade: Option<Grade>, generates: bool| {
            assert_eq!(Plan::of(Mode::Auto, &info, grade.as_ref()).semantics, generates);
            assert_eq!(reader_generates(Mode::Auto, &info, grade.as_ref()), generates);
        };
        check(info(7_000_000, true), None, false);
        check(info(7_000_000, true), Some(grade(1.0)), false);
        check(info(360_000_000, false), None, false);
        check(info(600_000_000, false), None, true);
        check(info(600_000_000, false), Some(grade(0.3)), false);
        check(info(135_000_000, false), Some(grade(0.9)), true);
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
    fn the_signal_that_separates_is_used() {
        assert_eq!(grade(0.5).gate.best(), Signal::QuestionNll);
        let tie = GateGrade { entropy: 0.9, nll: 0.9, question_nll: 0.9, overlap: 0.9 };
        assert_eq!(tie.best(), Signal::Entropy);
    }

    #[test]
    fn a_grade_survives_the_setting() {
        let grade = grade(0.25);
        let text = serde_json::to_string(&grade).unwrap();
        assert_eq!(Grade::from_setting(Some(&text)), Some(grade));
        assert_eq!(Grade::from_setting(Some("{broken")), None);
    }
}
