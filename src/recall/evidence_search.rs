//! Evidence without a reader, for measurements: one search, then Stage I within any budget.
//!
//! Search and selection are the same as for an answer; only the gate is left out.

use super::candidates::{Candidates, Scored};
use super::config::{Levels, RecallConfig};
use super::question::QuestionTraits;
use super::rerank::rerank;
use super::stage_one::Coarse;
use super::{Query, RecallError, gather};
use crate::interfaces::{Embedder, Reranker};
use crate::memory::relevance::Cues;
use crate::memory::{MessageId, Moment, Semantic};
use crate::store::{Reader, Store};

/// A fact, or a whole message as `Speaker: text`.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// Its text.
    pub text: String,
    /// The messages that it comes from; for a message, itself.
    pub messages: Vec<MessageId>,
    /// The probability that it is evidence.
    pub relevance: f64,
}

/// The cues of a unit that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct UnitCues {
    /// What the store knows of it.
    pub cues: Cues,
    /// The reranker's score, if it read the unit.
    pub score: Option<f64>,
    /// False for a fact.
    pub is_message: bool,
    /// The messages that it comes from; for a message, itself.
    pub messages: Vec<MessageId>,
}

/// What was found for one question.
pub struct EvidenceSearch<'a> {
    store: &'a Store,
    config: &'a RecallConfig,
    candidates: Candidates,
}

impl<'a> EvidenceSearch<'a> {
    /// Searches the memory.
    ///
    /// # Errors
    /// If the store cannot be read, or the embedder or the reranker fails.
    pub fn new(
        store: &'a Store,
        embedder: &dyn Embedder,
        reranker: Option<&dyn Reranker>,
        config: &'a RecallConfig,
        question: &str,
        now: Moment,
    ) -> Result<Self, RecallError> {
        let query = Query { question, traits: &QuestionTraits::of(question), now };
        let (mut candidates, user) = gather(store, embedder, config, &query)?;
        if let Some(reranker) = reranker {
            rerank(&mut candidates, reranker, config, &query, user.as_deref())?;
        }
        Ok(Self { store, config, candidates })
    }

    /// Every fact that was found, most relevant first.
    pub fn facts(&self) -> Vec<Block> {
        self.candidates.semantics.iter().map(of_fact).collect()
    }

    /// Everything that was found, in no particular order.
    pub fn unit_cues(&self) -> Vec<UnitCues> {
        let facts = self.candidates.semantics.iter().map(|s| UnitCues {
            cues: s.cues,
            score: s.score,
            is_message: false,
            messages: s.unit.messages.clone(),
        });
        let messages = self.candidates.messages.iter().map(|m| UnitCues {
            cues: m.cues,
            score: m.score,
            is_message: true,
            messages: vec![m.unit.id],
        });
        facts.chain(messages).collect()
    }

    /// What Stage I selects within a budget of characters, best first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn coarse(&self, levels: Levels, characters: usize) -> Result<Vec<Block>, RecallError> {
        let Candidates { semantics, messages, .. } = &self.candidates;
        let messages = match levels {
            Levels::Facts => &[][..],
            Levels::Mixed => messages,
        };
        let select =
            |r: &Reader<'_>| Coarse::select(r, semantics, messages, self.config, characters);
        let coarse = self.store.read(select)?;
        let mut blocks: Vec<Block> = coarse.semantics.iter().map(of_fact).collect();
        blocks.extend(coarse.messages.iter().map(|m| Block {
            text: match &m.unit.speaker {
                Some(speaker) => format!("{speaker}: {}", m.unit.content),
                None => m.unit.content.clone(),
            },
            messages: vec![m.unit.id],
            relevance: m.relevance,
        }));
        blocks.sort_by(|a, b| place(b).total_cmp(&place(a)));
        Ok(blocks)
    }
}

/// The key by which blocks are sorted. Length counts for less than in the selection: the selected
/// blocks are read anyway, and the likeliest should come first (docs/log.md has other powers).
fn place(block: &Block) -> f64 {
    const POWER: f64 = 0.4;
    block.relevance / (block.text.chars().count().max(1) as f64).powf(POWER)
}

fn of_fact(fact: &Scored<Semantic>) -> Block {
    Block {
        text: fact.unit.content.clone(),
        messages: fact.unit.messages.clone(),
        relevance: fact.relevance,
    }
}
