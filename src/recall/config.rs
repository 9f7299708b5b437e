//! How recall is to be done, and by which signal.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;

use crate::interfaces::{ModelInfo, Uncertainty};
use crate::memory::inclusion::GatePolicy;

/// What Stage II takes for the reader's uncertainty (DESIGN §4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Mean entropy of the first answer positions: the paper's.
    Entropy,
    /// Mean negative log-likelihood of the greedy answer: the official code's.
    Nll,
    /// Mean negative log-likelihood of the question's own tokens.
    QuestionNll,
    /// The share of the question's terms that no evidence names. Needs no model.
    Overlap,
}

impl Signal {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Entropy => "entropy",
            Self::Nll => "nll",
            Self::QuestionNll => "question-nll",
            Self::Overlap => "overlap",
        }
    }

    /// Of a measurement; [`Signal::Overlap`] is not measured by a model.
    #[must_use]
    pub fn of(self, measured: &Uncertainty) -> f64 {
        match self {
            Self::Entropy | Self::Overlap => measured.entropy_nats,
            Self::Nll => measured.nll_nats,
            Self::QuestionNll => measured.question_nll_nats,
        }
    }

    /// The one that tells evidence from noise best for this model, as `model check` measured it
    /// (`grade`: the setting `grade:<weights hash>`); without a grade, overlap for the starter and
    /// other tiny models, the paper's entropy for all others.
    #[must_use]
    pub fn auto(info: &ModelInfo, grade: Option<&str>) -> Self {
        /// A signal is used only where it is better than a coin (AUC 0.5) by so much.
        const USEFUL_MIN: f64 = 0.6;
        const TINY_PARAMETERS: u64 = 100_000_000;

        #[derive(Deserialize)]
        struct Grade {
            gate: Gate,
        }
        #[derive(Deserialize)]
        #[serde(default)]
        #[derive(Default)]
        struct Gate {
            entropy: f64,
            nll: f64,
            question_nll: f64,
        }
        if info.starter {
            return Self::Overlap;
        }
        let Some(gate) = grade.and_then(|text| serde_json::from_str::<Grade>(text).ok()) else {
            return if info.n_parameters < TINY_PARAMETERS { Self::Overlap } else { Self::Entropy };
        };
        let Gate { entropy, nll, question_nll } = gate.gate;
        let mut best = (Self::Entropy, entropy);
        for other in [(Self::QuestionNll, question_nll), (Self::Nll, nll)] {
            if other.1 > best.1 {
                best = other;
            }
        }
        if best.1 >= USEFUL_MIN { best.0 } else { Self::Overlap }
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Signal {
    type Err = UnknownSignal;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::Entropy, Self::Nll, Self::QuestionNll, Self::Overlap]
            .into_iter()
            .find(|signal| signal.as_str() == text)
            .ok_or_else(|| UnknownSignal { name: text.to_owned() })
    }
}

/// No such [`Signal`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no uncertainty signal is named `{name}` (entropy, nll, question-nll, overlap)")]
pub struct UnknownSignal {
    pub name: String,
}

/// How Stage I selects facts from the pool of the most relevant ones.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum StageOne {
    /// By hybrid relevance alone; the themes are those of the chosen facts. The default, because it
    /// finds most: at equal characters, Eq. 4 with α = 0.1 changed evidence recall on the dev
    /// conversations by −0.003 to 0.003, and with α = 0.7 and five themes it cost 0.01 to 0.03 from
    /// 1,350 characters on and 0.1 at 300 (tests/retrieval.rs).
    #[default]
    Relevance,
    /// The paper's: Eq. 4 on themes, then on their facts.
    Representatives { alpha: f64, n_themes: usize, n_semantics: usize, coverage_target: f64 },
}

impl StageOne {
    /// With the official code's numbers.
    pub const PAPER: Self =
        Self::Representatives { alpha: 0.7, n_themes: 5, n_semantics: 20, coverage_target: 1.0 };
}

/// See the fields.
#[derive(Debug, Clone, PartialEq)]
pub struct RecallConfig {
    /// `None`: [`Signal::auto`].
    pub signal: Option<Signal>,
    pub stage_one: StageOne,
    pub gate: GatePolicy,
    /// Most characters of facts and whole messages in the coarse context.
    pub coarse_characters: usize,
    /// Most tokens of evidence in the prompt, episodes included; less where the model's context is
    /// short.
    pub evidence_tokens_max: usize,
    /// Most tokens of the prompt and the reply together; less where the model's context is shorter.
    pub window_tokens: usize,
    /// Answer positions over which the reader's uncertainty is averaged (m of DESIGN §4).
    pub n_positions: usize,
    /// Looking for evidence may take this share of the prompt in tokens that are not in it at the
    /// end (refused units, and the question once a measurement): with 0.5 at most 1.5 times the
    /// final prompt is read …
    pub overhead_share: f64,
    /// … but for a short prompt this many, or nothing could be tried at all.
    pub overhead_tokens_min: usize,
    /// How many of each level and cue are looked at.
    pub pool: usize,
    /// Units less relevant than this are no evidence.
    pub relevance_min: f64,
}

impl Default for RecallConfig {
    fn default() -> Self {
        Self {
            signal: None,
            stage_one: StageOne::default(),
            gate: GatePolicy::default(),
            coarse_characters: 2_700,
            evidence_tokens_max: 2_048,
            window_tokens: 8_192,
            n_positions: 8,
            overhead_share: 0.5,
            overhead_tokens_min: 256,
            pool: 64,
            relevance_min: 0.0005,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(n_parameters: u64, starter: bool) -> ModelInfo {
        ModelInfo {
            name: "m".into(),
            weights_sha256: "h".into(),
            n_parameters,
            context_tokens: 512,
            vocabulary: 10,
            starter,
        }
    }

    #[test]
    fn auto_goes_by_the_grade_and_else_by_size() {
        let check = |info: &ModelInfo, grade: Option<&str>, expected| {
            assert_eq!(Signal::auto(info, grade), expected, "{info:?} {grade:?}");
        };
        let (tiny, large) = (info(7_000_000, false), info(600_000_000, false));
        check(&info(600_000_000, true), None, Signal::Overlap);
        check(&tiny, None, Signal::Overlap);
        check(&large, None, Signal::Entropy);
        check(&large, Some("not json"), Signal::Entropy);
        let grade = r#"{"answering": 0.9, "gate": {"entropy": 0.7, "nll": 0.6, "question_nll": 0.9, "overlap": 1.0}}"#;
        check(&large, Some(grade), Signal::QuestionNll);
        check(&tiny, Some(r#"{"gate": {"entropy": 0.9, "question_nll": 0.9}}"#), Signal::Entropy);
        check(&large, Some(r#"{"gate": {"entropy": 0.23, "nll": 0.5}}"#), Signal::Overlap);
    }

    #[test]
    fn signals_have_names() {
        for name in ["entropy", "nll", "question-nll", "overlap"] {
            assert_eq!(name.parse::<Signal>().map(Signal::as_str), Ok(name));
        }
        assert!("auto".parse::<Signal>().is_err());
    }
}
