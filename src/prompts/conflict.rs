//! How two facts relate, by choice.

use jiff::civil::DateTime;
use minijinja::context;

use super::{Problem, Prompt, asset, data, date, reply};

/// Asks how a later fact relates to an earlier one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict<'a> {
    pub earlier: &'a str,
    pub earlier_at: DateTime,
    pub later: &'a str,
    pub later_at: DateTime,
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
    /// In the order of [`Conflict::RELATIONS`], for choice by logits.
    pub const CHOICES: [&'static str; 3] = ["both", "update", "same"];
    pub const RELATIONS: [Relation; 3] = [Relation::Both, Relation::Update, Relation::Same];

    #[must_use]
    pub fn fill(&self) -> Prompt {
        let context = context! {
            earlier => data(self.earlier),
            earlier_at => date(self.earlier_at),
            later => data(self.later),
            later_at => date(self.later_at),
        };
        asset::prompt("conflict", context)
    }

    #[must_use]
    pub fn parse(reply: &str) -> (Option<Relation>, Vec<Problem>) {
        let (index, problems) = reply::choice(reply, &Self::CHOICES);
        (index.map(|i| Self::RELATIONS[i]), problems)
    }
}
