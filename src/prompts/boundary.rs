//! Does an episode end here?

use minijinja::context;

use super::{Line, Prompt, Style, asset::PROMPTS};

/// Asks whether `next` starts another topic than `history`; the answer is chosen by logits from
/// [`Boundary::CHOICES`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boundary<'a> {
    /// Oldest first; the last few are enough.
    pub history: &'a [Line],
    /// The line in question.
    pub next: &'a Line,
}

impl Boundary<'_> {
    /// The answers, "yes" (a boundary) first.
    pub const CHOICES: [&'static str; 2] = ["yes", "no"];

    /// Both turns of the prompt.
    pub fn fill(&self, style: Style) -> Prompt {
        let history: Vec<_> = self.history.iter().map(Line::render).collect();
        PROMPTS.prompt("boundary", style, context! { history, next => self.next.render() })
    }
}
