//! Does an episode end here? By choice.

use minijinja::context;

use super::{Line, Problem, Prompt, Style, asset, reply};

/// Asks whether `next` begins another topic than `history`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boundary<'a> {
    /// Oldest first; the last few are enough.
    pub history: &'a [Line],
    pub next: &'a Line,
}

impl Boundary<'_> {
    /// `[yes, no]`, for choice by logits.
    pub const CHOICES: [&'static str; 2] = ["yes", "no"];

    #[must_use]
    pub fn fill(&self, style: Style) -> Prompt {
        let history: Vec<_> = self.history.iter().map(Line::render).collect();
        asset::prompt("boundary", style, context! { history, next => self.next.render() })
    }

    /// `Some(true)` is a boundary.
    #[must_use]
    pub fn parse(reply: &str) -> (Option<bool>, Vec<Problem>) {
        let (index, problems) = reply::choice(reply, &Self::CHOICES);
        (index.map(|i| i == 0), problems)
    }
}
