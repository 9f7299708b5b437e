//! Atomic facts (structural-memory paper, Figure 11). The demonstration is our own.

use inglenook::prompts::{Line, Problem, Prompt, Style, date, facts, reply};
use jiff::civil::DateTime;
use minijinja::context;

use super::TEMPLATES;

/// Asks for the smallest facts that a document's messages tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AtomicFacts<'a> {
    pub lines: &'a [Line],
    pub started_at: DateTime,
}

impl AtomicFacts<'_> {
    /// The filled prompt.
    #[must_use]
    pub fn fill(&self) -> Prompt {
        let lines: Vec<_> = self.lines.iter().map(Line::render).collect();
        let context = context! { lines, started => date(self.started_at) };
        TEMPLATES.prompt("atomic_facts", Style::Instructed, context)
    }

    /// The facts, without their key elements, marks and repeats.
    #[must_use]
    pub fn parse(reply: &str) -> (Vec<String>, Vec<Problem>) {
        let text = reply::clean(reply);
        let first = |line: &str| line.split('|').next().unwrap_or_default().trim().to_owned();
        let (found, mut problems) = facts(text.lines().map(first));
        if text.is_empty() {
            problems.push(Problem::Empty);
        }
        (found, problems)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_elements_are_left_out() {
        let check = |reply: &str, facts: &[&str], n_problems: usize| {
            let (found, problems) = AtomicFacts::parse(reply);
            assert_eq!(found, facts, "{reply}");
            assert_eq!(problems.len(), n_problems, "{problems:?}");
        };
        check(
            "1. Max is a beagle. | Max | beagle\n2. Ana adopted Max. | Ana | Max",
            &["Max is a beagle.", "Ana adopted Max."],
            0,
        );
        check("Atomic facts:\n1) Max is a beagle.\n2) max is a beagle", &["Max is a beagle."], 2);
        check("| Max | beagle", &[], 0);
        check("", &[], 1);
    }
}
