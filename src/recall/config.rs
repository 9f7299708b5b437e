//! How recall is to be done, and by which signal.

use crate::interfaces::Signal;
use crate::memory::inclusion::GatePolicy;
use crate::memory::relevance::Relevance;

/// What Stage I may choose from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Levels {
    Facts,
    /// Facts and whole raw messages, as an answer gets them.
    #[default]
    Mixed,
}

/// How Stage I selects facts from the pool of the most relevant ones.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum StageOne {
    /// By hybrid relevance alone; the themes are those of the chosen facts. The default, because it
    /// finds most: at equal characters, Eq. 4 with α = 0.1 changed evidence recall on the dev
    /// conversations by −0.003 to 0.003, and with α = 0.7 and five themes it cost 0.01 to 0.03 from
    /// 1,350 characters on and 0.1 at 300 (tests/retrieval.rs at 1bd4f73).
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
    /// `None`: [`signal_for`] the model.
    pub signal: Option<Signal>,
    pub stage_one: StageOne,
    pub levels: Levels,
    pub relevance: Relevance,
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
    pub n_candidates: usize,
    /// How many of the best, by their cues, the reranker reads: before a model
    /// does, and where the rules are not sure.
    pub n_reranked: usize,
    /// Units less relevant than this are no evidence.
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
