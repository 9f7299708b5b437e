//! Store or discard, by choice.

use minijinja::context;

use super::{Problem, Prompt, Style, asset, data, reply};

/// Asks whether a message tells anything worth keeping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Router<'a> {
    pub text: &'a str,
}

impl Router<'_> {
    /// `[store, discard]`, for choice by logits.
    pub const CHOICES: [&'static str; 2] = ["store", "discard"];

    #[must_use]
    pub fn fill(&self, style: Style) -> Prompt {
        asset::prompt("router", style, context! { text => data(self.text) })
    }

    /// `Some(true)` is store.
    #[must_use]
    pub fn parse(reply: &str) -> (Option<bool>, Vec<Problem>) {
        let (index, problems) = reply::choice(reply, &Self::CHOICES);
        (index.map(|i| i == 0), problems)
    }
}
