//! One fact out of two that say the same.

use minijinja::context;

use super::{Problem, Prompt, Style, asset, data, reply};

/// Asks for one sentence that keeps what either says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedFact<'a> {
    pub earlier: &'a str,
    pub later: &'a str,
}

impl MergedFact<'_> {
    #[must_use]
    pub fn fill(&self, style: Style) -> Prompt {
        asset::prompt(
            "merge",
            style,
            context! { earlier => data(self.earlier), later => data(self.later) },
        )
    }

    /// The sentence, if there is one.
    #[must_use]
    pub fn parse(reply: &str) -> (Option<String>, Vec<Problem>) {
        reply::first_line(reply)
    }
}
