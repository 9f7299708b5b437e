//! How two facts relate, by choice.

use minijinja::context;

use super::{Problem, Prompt, Style, asset, data, reply};

/// Asks how a later fact relates to an earlier one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict<'a> {
    pub earlier: &'a str,
    pub later: &'a str,
}

/// The answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// Different things: keep both.
    Both,
    /// The later changes or corrects the earlier.
    Update,
    /// They say the same.
    Same,
}

impl Conflict<'_> {
    /// In the order of [`Conflict::RELATIONS`], for choice by logits. The starter knows the first
    /// two only.
    pub const CHOICES: [&'static str; 3] = ["keep", "update", "same"];
    pub const RELATIONS: [Relation; 3] = [Relation::Both, Relation::Update, Relation::Same];

    #[must_use]
    pub fn fill(&self, style: Style) -> Prompt {
        let context = context! {
            earlier => data(self.earlier),
            later => data(self.later),
        };
        asset::prompt("conflict", style, context)
    }

    #[must_use]
    pub fn parse(reply: &str) -> (Option<Relation>, Vec<Problem>) {
        let (index, problems) = reply::choice(reply, &Self::CHOICES);
        (index.map(|i| Self::RELATIONS[i]), problems)
    }
}
