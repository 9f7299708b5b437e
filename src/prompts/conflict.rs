//! How two facts relate.

use minijinja::context;
use serde::Deserialize;

use super::{Prompt, Style, asset::PROMPTS, data};

/// Asks how a later fact relates to an earlier one; the answer is chosen by logits from
/// [`Conflict::choices`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict<'a> {
    /// The older fact.
    pub earlier: &'a str,
    /// The newer fact.
    pub later: &'a str,
}

/// How a later fact relates to an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Relation {
    /// They tell different things: keep both.
    Both,
    /// The later one changes or corrects the earlier one.
    Update,
    /// They say the same.
    Same,
}

impl Conflict<'_> {
    /// The relations, in the order of [`Conflict::choices`].
    pub const RELATIONS: [Relation; 3] = [Relation::Both, Relation::Update, Relation::Same];

    /// The answers to choose from. A model trained on these prompts knows the first two only.
    pub fn choices(style: Style) -> &'static [&'static str] {
        match style {
            Style::Trained => &["keep", "update"],
            Style::Instructed => &["keep", "update", "same"],
        }
    }

    /// Both turns of the prompt.
    pub fn fill(&self, style: Style) -> Prompt {
        let context = context! { earlier => data(self.earlier), later => data(self.later) };
        PROMPTS.prompt("conflict", style, context)
    }
}
