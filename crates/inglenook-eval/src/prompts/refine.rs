//! A thought about a question, for the next search (structural-memory paper, Figure 13). The
//! demonstration is our own.

use inglenook::prompts::{Problem, Prompt, Style, data};
use minijinja::context;

use super::TEMPLATES;
use super::summary::paragraph;

/// A longer thought is a loop.
const THOUGHT_CHARS_MAX: usize = 600;

/// Asks for reasoning from the memories found so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refine<'a> {
    /// Memories, each one safe line.
    pub lines: &'a [&'a str],
    pub question: &'a str,
}

impl Refine<'_> {
    /// The filled prompt.
    #[must_use]
    pub fn fill(&self) -> Prompt {
        let lines: Vec<_> = self.lines.iter().map(|line| line.trim_end().to_owned()).collect();
        let context = context! { lines, question => data(self.question) };
        TEMPLATES.prompt("refine", Style::Instructed, context)
    }

    /// The thought, if there is one.
    #[must_use]
    pub fn parse(reply: &str) -> (Option<String>, Vec<Problem>) {
        let (thought, problems) = paragraph(reply, &["thought"]);
        (thought.map(|thought| thought.chars().take(THOUGHT_CHARS_MAX).collect()), problems)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thought_is_text() {
        let check = |reply: &str, expected: Option<&str>| {
            assert_eq!(Refine::parse(reply).0.as_deref(), expected, "{reply}");
        };
        check(
            "Thought: Max is a beagle.\nSo the answer is: Lund.",
            Some("Max is a beagle. So the answer is: Lund."),
        );
        check("Max is a beagle.", Some("Max is a beagle."));
        check("", None);
        assert_eq!(Refine::parse(&"so ".repeat(900)).0.map(|t| t.len()), Some(600));
    }
}
