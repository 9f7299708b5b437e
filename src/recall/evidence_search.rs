//! The evidence for a question without any reader, for measurements: one search, then Stage I
//! within any budget.
//!
//! It is the same search and the same selection as an answer's; only the gate is left out.

use std::collections::BTreeSet;

use super::candidates::Candidates;
use super::config::{Levels, RecallConfig};
use super::question::Nature;
use super::stage_one::Coarse;
use super::{Asked, RecallError, gather};
use crate::interfaces::{Embedder, Reranker};
use crate::memory::relevance::Cues;
use crate::memory::{MessageId, Moment};
use crate::store::{Reader, Store};

/// A fact, or a whole message as `Speaker: text`.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    pub text: String,
    /// Where it comes from; of a message, itself.
    pub messages: Vec<MessageId>,
    pub relevance: f64,
}

/// A unit that was found, and what speaks for it.
#[derive(Debug, Clone, PartialEq)]
pub struct UnitCues {
    pub cues: Cues,
    /// The reranker's, if it read the unit.
    pub score: Option<f64>,
    pub is_message: bool,
    /// Where it comes from; of a message, itself.
    pub messages: Vec<MessageId>,
}

/// See the module.
pub struct EvidenceSearch<'a> {
    store: &'a Store,
    config: &'a RecallConfig,
    candidates: Candidates,
}

impl<'a> EvidenceSearch<'a> {
    /// Searches the memory.
    ///
    /// # Errors
    /// If the store can't be read or the embedder fails.
    pub fn new(
        store: &'a Store,
        embedder: &dyn Embedder,
        reranker: Option<&dyn Reranker>,
        config: &'a RecallConfig,
        question: &str,
        now: Moment,
    ) -> Result<Self, RecallError> {
        let asked = Asked {
            question,
            nature: &Nature::of(question),
            now,
            in_window: &BTreeSet::new(),
            n_in_window: 0,
        };
        let (candidates, _) = gather(store, embedder, reranker, config, &asked)?;
        Ok(Self { store, config, candidates })
    }

    /// Every fact that was found, by falling relevance.
    #[must_use]
    pub fn facts(&self) -> Vec<Block> {
        self.candidates.semantics.iter().map(of_fact).collect()
    }

    /// Everything that was found, in no order that means anything.
    #[must_use]
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

    /// What Stage I selects within so many characters, best first.
    ///
    /// # Errors
    /// If the store can't be read.
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

/// What blocks are put in order by. Length counts for less than it does for the choice: what was chosen is
/// read anyway, and the likeliest should come first (docs/log.md has other powers).
fn place(block: &Block) -> f64 {
    const POWER: f64 = 0.4;
    block.relevance / (block.text.chars().count().max(1) as f64).powf(POWER)
}

fn of_fact(fact: &super::Scored<crate::memory::Semantic>) -> Block {
    Block {
        text: fact.unit.content.clone(),
        messages: fact.unit.messages.clone(),
        relevance: fact.relevance,
    }
}
