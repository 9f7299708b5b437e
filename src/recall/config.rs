//! How evidence is selected.

use crate::interfaces::Signal;
use crate::memory::inclusion::GatePolicy;
use crate::memory::relevance::Relevance;
use crate::memory::{SemanticId, ThemeId};
use crate::store::{Reader, StoreError};

/// What Stage I may choose from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Levels {
    /// Facts alone.
    Facts,
    /// Facts and whole raw messages.
    #[default]
    Mixed,
}

/// A fact that was found, as a [`FactRule`] sees it.
#[derive(Debug, Clone, Copy)]
pub struct FoundFact {
    /// Its id.
    pub id: SemanticId,
    /// Its theme.
    pub theme: ThemeId,
    /// The probability that it is evidence.
    pub relevance: f64,
}

/// Chooses among the facts that were found: their indices.
pub type FactRule = fn(&Reader<'_>, &[FoundFact]) -> Result<Vec<usize>, StoreError>;

/// How evidence is selected; the default is the product's.
#[derive(Debug, Clone)]
pub struct RecallConfig {
    /// The signal of Stage II where a model reads; without one no episode is probed. That is the default:
    /// with Qwen2.5-0.5B the gate changed F1 by −0.010 [−0.042, 0.021] for 560 more tokens per question.
    pub signal: Option<Signal>,
    /// From which facts Stage I selects, for comparison: Eq. 4 is in `inglenook-eval`. Without a rule, hybrid
    /// relevance alone decides, which finds most: at equal characters, Eq. 4 with α = 0.1 changed evidence
    /// recall on the dev conversations by −0.003 to 0.003, and with α = 0.7 and five themes it cost 0.01 to
    /// 0.03 from 1,350 characters on and 0.1 at 300 (tests/retrieval.rs at 1bd4f73).
    pub fact_rule: Option<FactRule>,
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
    /// Answer positions over which the reader's uncertainty is averaged (m).
    pub n_positions: usize,
    /// Stage II may process this share of the prompt in tokens that do not stay in it (refused units,
    /// and the question for each measurement): with 0.5 at most 1.5 times the final prompt …
    pub overhead_share: f64,
    /// … but always at least this many, or a short prompt could try nothing.
    pub overhead_tokens_min: usize,
    /// How many units of each level are found by vectors, and as many by words.
    pub n_candidates: usize,
    /// How many of the best candidates the reranker reads.
    pub n_reranked: usize,
    /// Less relevant units are dropped.
    pub relevance_min: f64,
    /// Once the reranker has read, units less relevant than this are not evidence for the question.
    pub relevance_bar: f64,
}

impl Default for RecallConfig {
    fn default() -> Self {
        Self {
            signal: None,
            fact_rule: None,
            levels: Levels::default(),
            relevance: Relevance::default(),
            gate: GatePolicy::default(),
            coarse_characters: 1_350,
            evidence_tokens_max: 512,
            window_tokens: 8_192,
            n_positions: 8,
            overhead_share: 0.5,
            overhead_tokens_min: 128,
            n_candidates: 64,
            n_reranked: 48,
            relevance_min: 0.0002,
            relevance_bar: 0.005,
        }
    }
}
