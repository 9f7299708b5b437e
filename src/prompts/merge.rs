//! One fact out of two that say the same.

use minijinja::context;

use super::{Prompt, Style, asset::PROMPTS, data, reply};

/// Asks for one sentence that keeps everything either fact says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedFact<'a> {
    /// The older fact.
    pub earlier: &'a str,
    /// The newer fact.
    pub later: &'a str,
}

impl MergedFact<'_> {
    /// Both turns of the prompt.
    pub fn fill(&self, style: Style) -> Prompt {
        let context = context! { earlier => data(self.earlier), later => data(self.later) };
        PROMPTS.prompt("merge", style, context)
    }

    /// The sentence, if there is one.
    pub fn parse(reply: &str) -> Option<String> {
        reply::first_line(reply)
    }
}
