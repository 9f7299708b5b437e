//! Recall for a reader elsewhere: what would be put before a model, without one.

use std::time::Instant;

use super::pipeline::Setup;
use super::question::QuestionTraits;
use super::rerank::rerank;
use super::{Evidence, Query, RecallConfig, RecallError, gather, is_answered};
use crate::extractive;
use crate::interfaces::{Cancel, Embedder, Reranker};
use crate::memory::Moment;
use crate::store::Store;

/// Characters of evidence per token of a budget that was asked for: where the fitting begins.
const CHARACTERS_PER_TOKEN: usize = 3;

/// Finds evidence as [`super::Recall`] does for a model that reads, but neither loads nor asks a language model: Stage II,
/// which needs one, is left out.
pub struct Lookup<'a> {
    /// The memory.
    pub store: &'a Store,
    /// Turns the question into a vector.
    pub embedder: &'a dyn Embedder,
    /// Reads the best candidates, and what contradicts what.
    pub reranker: Option<&'a dyn Reranker>,
    /// How evidence is selected.
    pub config: RecallConfig,
}

impl Lookup<'_> {
    /// The evidence for a question, and in [`Evidence::block`] the memories as a model would get them: about
    /// `budget_tokens` at most, or as many as in the chat.
    ///
    /// # Errors
    /// If the store cannot be read, a model fails, or `cancel` is set.
    pub fn run(
        &self,
        question: &str,
        budget_tokens: Option<usize>,
        now: Moment,
        cancel: &Cancel,
    ) -> Result<Evidence, RecallError> {
        /// As in the chat, for a question that memory is to answer.
        const BEST_MIN: f64 = 0.02;
        let start = Instant::now();
        let traits = QuestionTraits::of(question);
        let query = Query { question, traits: &traits, now };
        let (mut candidates, user) = gather(self.store, self.embedder, &self.config, &query)?;
        candidates.add_unread(self.store, &query)?;
        candidates.load_episodes(self.store)?;
        let setup = Setup {
            store: self.store,
            config: &self.config,
            encoder: self.reranker,
            user: user.as_deref().unwrap_or(extractive::THE_USER),
            traits: &traits,
            cancel,
        };
        cancel.check()?;
        // Where rules are sure, what they are sure of is evidence, whatever the reranker says.
        let by_rules = setup.of(&candidates).for_rules(&mut |_| {})?;
        if !is_answered(&query, &by_rules, user.as_deref())
            && let Some(reranker) = self.reranker
            && rerank(&mut candidates, reranker, &self.config, &query, user.as_deref())?
        {
            candidates.drop_below(self.config.relevance_bar, BEST_MIN);
        }
        cancel.check()?;
        let characters = match budget_tokens {
            Some(tokens) => tokens * CHARACTERS_PER_TOKEN,
            None => self.config.coarse_characters,
        };
        let tokens_max = budget_tokens.unwrap_or(self.config.evidence_tokens_max);
        let mut evidence = setup.of(&candidates).for_elsewhere(characters, tokens_max)?;
        evidence.seconds = start.elapsed().as_secs_f64();
        Ok(evidence)
    }
}
