//! Who writes memory: rules or the model, behind one trait.
//!
//! The extractive writer cannot invent anything, because it generates nothing. The generative writer
//! asks the model and checks its output against the messages. Neither knows the store or vectors.

mod extractive;
mod forms;
mod generative;
mod guard;
#[cfg(test)]
mod tests;

pub use extractive::Extractive;
pub use generative::{Generative, NotedFacts, sources};

use std::sync::Arc;

use crate::extractive::{Judgement, Statement, Utterance};
use crate::interfaces::{Cancel, LanguageModel, ModelError};
use crate::model_policy::Plan;
use crate::prompts::EpisodeDraft;

/// The steps that need judgement or words. Each fails with a [`ModelError`] if the model fails or the
/// step is cancelled; odd output is not an error.
pub trait Writer: Send + Sync {
    /// Whether a new topic begins at `next`; `None` is no opinion. `dip` is the similarity of `next` to
    /// what came before it, if that is a local minimum.
    ///
    /// # Errors
    /// If the model fails, or `cancel` was set.
    fn boundary(
        &self,
        history: &[Utterance],
        next: &Utterance,
        dip: Option<f32>,
        cancel: &Cancel,
    ) -> Result<Option<bool>, ModelError>;

    /// Writes an episode's title and narrative.
    ///
    /// # Errors
    /// If the model fails, or `cancel` was set.
    fn episode(&self, lines: &[Utterance], cancel: &Cancel) -> Result<EpisodeDraft, ModelError>;

    /// The lasting facts in an episode's messages, after the router has dropped small talk. They may speak of
    /// what was said `earlier`, or correct it.
    ///
    /// # Errors
    /// If the model fails, or `cancel` was set.
    fn statements(
        &self,
        earlier: &[Utterance],
        lines: &[Utterance],
        cancel: &Cancel,
    ) -> Result<Vec<Statement>, ModelError>;

    /// Names what facts have in common, in a few words.
    ///
    /// # Errors
    /// If the model fails, or `cancel` was set.
    fn theme_name(&self, facts: &[&str], cancel: &Cancel) -> Result<String, ModelError>;

    /// Judges a later fact against an earlier one; `similarity` is the cosine of their vectors.
    ///
    /// # Errors
    /// If the model fails, or `cancel` was set.
    fn judge(
        &self,
        earlier: &Statement,
        later: &Statement,
        similarity: f32,
        cancel: &Cancel,
    ) -> Result<Judgement, ModelError>;
}

/// Who does which step: the rules or the model.
pub struct Writers {
    /// Finds topic boundaries.
    pub boundary: Arc<dyn Writer>,
    /// Writes episodes.
    pub episode: Arc<dyn Writer>,
    /// Writes facts.
    pub semantics: Arc<dyn Writer>,
    /// Names themes.
    pub theme: Arc<dyn Writer>,
    /// Judges pairs of facts.
    pub conflict: Arc<dyn Writer>,
}

impl Writers {
    /// The writers for a model under a plan.
    pub fn new(model: Arc<dyn LanguageModel>, plan: Plan) -> Self {
        let rules: Arc<dyn Writer> = Arc::new(Extractive);
        let of = || Arc::clone(&rules);
        Self { boundary: of(), episode: of(), semantics: of(), theme: of(), conflict: of() }
            .and(model, plan)
    }

    /// The same, with what a plan gives to a model.
    #[must_use]
    pub fn and(self, model: Arc<dyn LanguageModel>, plan: Plan) -> Self {
        let generative: Arc<dyn Writer> = Arc::new(Generative::new(model).routing(plan.router));
        let pick = |generate: bool, otherwise| {
            if generate { Arc::clone(&generative) } else { otherwise }
        };
        Self {
            boundary: pick(plan.boundary, self.boundary),
            episode: pick(plan.episode, self.episode),
            semantics: pick(plan.semantics, self.semantics),
            theme: pick(plan.theme, self.theme),
            conflict: pick(plan.conflict, self.conflict),
        }
    }
}
