//! Who writes memory: two forms of every step behind one trait (DESIGN §3).
//!
//! The extractive form invents nothing because it generates nothing. The generative form asks the
//! model and checks what it says against the messages. A writer knows no store and no vectors.

mod extractive;
mod forms;
mod generative;

pub use extractive::Extractive;
pub use generative::{Generative, NotedFacts, Reply, sources};

use std::sync::Arc;

use crate::extractive::{Judgement, Statement, Utterance};
use crate::interfaces::{Cancel, LanguageModel, ModelError};
use crate::model_policy::Plan;

/// Title and narrative of an episode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EpisodeText {
    pub title: String,
    pub content: String,
}

/// The steps that need judgement or words.
///
/// # Errors
/// [`ModelError`] if the model fails or the step is cancelled; odd output is no error.
pub trait Writer: Send + Sync {
    /// Does another topic begin at `next`? `dip`: the similarity of `next` to what came before it,
    /// where that is a local minimum. `None`: no opinion.
    fn boundary(
        &self,
        history: &[Utterance],
        next: &Utterance,
        dip: Option<f32>,
        cancel: &Cancel,
    ) -> Result<Option<bool>, ModelError>;

    /// Tells an episode.
    fn episode(&self, lines: &[Utterance], cancel: &Cancel) -> Result<EpisodeText, ModelError>;

    /// The lasting facts that an episode's messages tell; the router comes first.
    fn statements(
        &self,
        lines: &[Utterance],
        cancel: &Cancel,
    ) -> Result<Vec<Statement>, ModelError>;

    /// Names what facts have in common; a few words.
    fn theme_name(&self, facts: &[&str], cancel: &Cancel) -> Result<String, ModelError>;

    /// Judges a later fact against an earlier one; `similarity` is the cosine of their vectors.
    fn judge(
        &self,
        earlier: &Statement,
        later: &Statement,
        similarity: f32,
        cancel: &Cancel,
    ) -> Result<Judgement, ModelError>;
}

/// Both writers, and who does which step.
pub struct Writers {
    extractive: Extractive,
    generative: Generative,
    plan: Plan,
}

impl Writers {
    #[must_use]
    pub fn new(model: Arc<dyn LanguageModel>, plan: Plan) -> Self {
        Self { extractive: Extractive, generative: Generative::new(model), plan }
    }

    /// Whether the model does any step.
    #[must_use]
    pub fn generate(&self) -> bool {
        self.plan != Plan::all(false)
    }

    fn pick(&self, generate: bool) -> &dyn Writer {
        if generate { &self.generative } else { &self.extractive }
    }

    /// Who follows the conversation.
    pub fn boundary(&self) -> &dyn Writer {
        self.pick(self.plan.boundary)
    }

    /// Who tells episodes.
    pub fn episode(&self) -> &dyn Writer {
        self.pick(self.plan.episode)
    }

    /// Who notes facts.
    pub fn semantics(&self) -> &dyn Writer {
        self.pick(self.plan.semantics)
    }

    /// Who names themes.
    pub fn theme(&self) -> &dyn Writer {
        self.pick(self.plan.theme)
    }

    /// Who judges conflicts.
    pub fn conflict(&self) -> &dyn Writer {
        self.pick(self.plan.conflict)
    }
}
