//! How evidence is selected.

use crate::interfaces::Signal;
use crate::memory::inclusion::GatePolicy;
use crate::memory::relevance::Relevance;

/// What Stage I may choose from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Levels {
    /// Facts alone.
    Facts,
    /// Facts and whole raw messages.
    #[default]
    Mixed,
}

/// How Stage I selects facts from the candidates.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum StageOne {
    /// By hybrid relevance alone; the themes are those of the selected facts. It is the default because
    /// it finds most: at equal characters, Eq. 4 with α = 0.1 changed evidence recall on the dev
    /// conversations by −0.003 to 0.003, and with α = 0.7 and five themes it cost 0.01 to 0.03 from
    /// 1,350 characters on and 0.1 at 300 (tests/retrieval.rs at 1bd4f73).
    #[default]
    Relevance,
    /// The paper's: Eq. 4 on themes, then on their facts.
    Representatives {
        /// 1 is coverage alone, 0 is relevance alone.
        alpha: f64,
        /// Most themes.
        n_themes: usize,
        /// Most facts.
        n_semantics: usize,
        /// Selection stops when this share of the candidates is covered.
        coverage_target: f64,
    },
}

impl StageOne {
    /// The paper's with the official code's parameters.
    pub const PAPER: Self =
        Self::Representatives { alpha: 0.7, n_themes: 5, n_semantics: 20, coverage_target: 1.0 };
}

/// How evidence is selected; the default is the product's.
#[derive(Debug, Clone, PartialEq)]
pub struct RecallConfig {
    /// The gate's signal; `None` is [`crate::model_policy::gate_signal`]'s choice.
    pub signal: Option<Signal>,
    /// How Stage I selects.
    pub stage_one: StageOne,
    /// What Stage I selects from.
    pub levels: Levels,
    /// The weights of the cues.
    pub relevance: Relevance,
    /// When Stage II admits an episode.
    pub gate: GatePolicy,
    /// Most characters of facts and whole messages in the coarse context.
    pub coarse_characters: usize,
    /// Most tokens of evidence in the prompt, episodes included; less where the model's context is
    /// short.
    pub evidence_tokens_max: usize,
    /// Most tokens of the prompt and the reply together; less where the model's context is shorter.
    pub window_tokens: usize,
    /// Answer positions over which the reader's uncertainty is averaged (m in DESIGN §4).
    pub n_positions: usize,
    /// Stage II may process this share of the prompt in tokens that do not stay in it (refused units,
    /// and the question for each measurement): with 0.5 at most 1.5 times the final prompt …
    pub overhead_share: f64,
    /// … but always at least so many, or a short prompt could try nothing.
    pub overhead_tokens_min: usize,
    /// How many units of each level are found by vectors, and as many by words.
    pub n_candidates: usize,
    /// How many of the best candidates the reranker reads.
    pub n_reranked: usize,
    /// Less relevant units are dropped.
    pub relevance_min: f64,
}

impl Default for RecallConfig {
    fn default() -> Self {
        Self {
            signal: None,
            stage_one: StageOne::default(),
            levels: Levels::default(),
            relevance: Relevance::default(),
            gate: GatePolicy::default(),
            coarse_characters: 2_700,
            evidence_tokens_max: 2_048,
            window_tokens: 8_192,
            n_positions: 8,
            overhead_share: 0.5,
            overhead_tokens_min: 128,
            n_candidates: 64,
            n_reranked: 48,
            relevance_min: 0.0002,
        }
    }
}
