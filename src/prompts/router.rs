//! Does a message tell anything worth storing?

use minijinja::context;

use super::{Prompt, Style, asset::PROMPTS, data};

/// Asks whether to store a message; the answer is chosen by logits from [`Router::CHOICES`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Router<'a> {
    /// What was said.
    pub text: &'a str,
}

impl Router<'_> {
    /// The answers, "store" first.
    pub const CHOICES: [&'static str; 2] = ["store", "discard"];

    /// Both turns of the prompt.
    pub fn fill(&self, style: Style) -> Prompt {
        PROMPTS.prompt("router", style, context! { text => data(self.text) })
    }
}
