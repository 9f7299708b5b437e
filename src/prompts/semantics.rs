//! Lasting facts, one per line.

use jiff::civil::DateTime;
use minijinja::context;

use super::{Line, Problem, Prompt, Style, asset::PROMPTS, data, reply, started};

/// Asks for the facts that an episode's messages tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Semantics<'a> {
    /// The messages, oldest first.
    pub lines: &'a [Line],
    /// When the first one was sent, by the wall clock.
    pub started_at: DateTime,
    /// The names that facts may be about: "Ana", or "Caroline and Melanie".
    pub about: &'a str,
}

impl Semantics<'_> {
    /// An episode that gives more facts than this is a model in a loop.
    pub const FACTS_MAX: usize = 40;
    /// A longer line is a story and not a fact.
    pub const FACT_CHARS_MAX: usize = 300;

    /// The prompts: one of all lines, or one a line for a model that was trained to be asked so.
    pub fn fill(&self, style: Style) -> Vec<Prompt> {
        let whole = self.fill_whole(style);
        match style {
            Style::Instructed => vec![whole],
            Style::Trained => self.lines.iter().map(|line| of_line(&whole.user, line)).collect(),
        }
    }

    /// One prompt of all lines.
    pub fn fill_whole(&self, style: Style) -> Prompt {
        let lines: Vec<_> = self.lines.iter().map(Line::render).collect();
        let context = context! {
            lines,
            started => started(self.started_at, style),
            about => data(self.about),
        };
        PROMPTS.prompt("semantics", style, context)
    }

    /// The facts, without marks and repeats, and which lines were left out.
    pub fn parse(reply: &str) -> (Vec<String>, Vec<Problem>) {
        let text = reply::clean(reply);
        let lines = json_lines(&text).unwrap_or_else(|| text.lines().map(str::to_owned).collect());
        let (facts, mut problems) = facts(lines.into_iter());
        // Bare list marks are as empty as no text; "none" is an answer.
        if text.lines().all(|line| reply::strip_marks(line).is_empty()) {
            problems.push(Problem::Empty);
        }
        (facts, problems)
    }
}

/// Asks for the facts of one line, with all of them before it.
fn of_line(all: &str, line: &Line) -> Prompt {
    Prompt {
        system: PROMPTS.render("semantics", "line", context! {}),
        user: format!("{all}\nLine: {}", line.render()),
    }
}

/// The lines that are facts, without marks and repeats.
pub fn facts(lines: impl Iterator<Item = String>) -> (Vec<String>, Vec<Problem>) {
    let (mut facts, mut problems) = (Vec::<String>::new(), Vec::new());
    for line in lines {
        let fact = reply::strip_marks(&line);
        let bare = fact.trim_end_matches('.').to_lowercase();
        let why = if fact.is_empty() || bare == "none" {
            continue;
        } else if reply::is_preamble(fact) {
            "talk about the task"
        } else if fact.ends_with('?') {
            "a question"
        } else if fact.split_whitespace().count() < 3 {
            "too short to be a fact"
        } else if fact.chars().count() > Semantics::FACT_CHARS_MAX {
            "too long to be one fact"
        } else if facts.iter().any(|f| f.trim_end_matches('.').to_lowercase() == bare) {
            "said already"
        } else if facts.len() == Semantics::FACTS_MAX {
            "too many facts"
        } else {
            facts.push(fact.to_owned());
            continue;
        };
        problems.push(Problem::Dropped { line: reply::shorten(fact), why });
    }
    (facts, problems)
}

/// A JSON array of strings: some models answer with one whatever they are asked.
fn json_lines(text: &str) -> Option<Vec<String>> {
    let array = text.get(text.find('[')?..=text.rfind(']')?)?;
    let lines: Vec<String> = serde_json::from_str(array).ok()?;
    Some(lines.iter().map(|line| reply::one_line(line)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(reply: &str, facts: &[&str], n_problems: usize) {
        let (found, problems) = Semantics::parse(reply);
        assert_eq!(found, facts);
        assert_eq!(problems.len(), n_problems, "{problems:?}");
    }

    #[test]
    fn one_fact_per_line_whatever_surrounds_it() {
        check("Ana lives in Lund.\nAna has a dog.", &["Ana lives in Lund.", "Ana has a dog."], 0);
        check(
            "Here are the facts:\n1. Ana lives in Lund.\n2) ana lives in lund",
            &["Ana lives in Lund."],
            2,
        );
        check("none", &[], 0);
        check("None.", &[], 0);
        check("", &[], 1);
        check("[\"Ana lives in Lund.\"]", &["Ana lives in Lund."], 0);
        check("Ana\nWhere does Ana live now?", &[], 2);
        check(
            "[\"Ana lives\\nin Lund.\", \"Ana has\\u001b a dog.\"]",
            &["Ana lives in Lund.", "Ana has a dog."],
            0,
        );
        check("[broken json, of course", &["[broken json, of course"], 0);
        check(&"Ana likes tea and more. ".repeat(20), &[], 1);
    }
}
