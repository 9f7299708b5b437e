//! Knowledge triples (structural-memory paper, Figure 9). The demonstration is our own.

use std::fmt;

use inglenook::prompts::{Line, Problem, Prompt, Style, date, reply};
use jiff::civil::DateTime;
use minijinja::context;

use super::TEMPLATES;

/// More than this from one document is a loop, not triples.
const TRIPLES_MAX: usize = 60;
/// A longer line is a story, not a triple.
const TRIPLE_CHARS_MAX: usize = 300;

/// Asks for the triples that a document's messages tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Triples<'a> {
    pub lines: &'a [Line],
    pub started_at: DateTime,
}

/// ⟨head; relation; tail⟩, none of them empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Triple {
    pub head: String,
    pub relation: String,
    pub tail: String,
}

impl fmt::Display for Triple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}; {}", self.head, self.relation, self.tail)
    }
}

impl Triples<'_> {
    /// The filled prompt.
    #[must_use]
    pub fn fill(&self) -> Prompt {
        let lines: Vec<_> = self.lines.iter().map(Line::render).collect();
        let context = context! { lines, started => date(self.started_at) };
        TEMPLATES.prompt("triples", Style::Instructed, context)
    }

    /// The triples, without repeats.
    #[must_use]
    pub fn parse(reply: &str) -> (Vec<Triple>, Vec<Problem>) {
        let text = reply::clean(reply);
        let (mut triples, mut problems) = (Vec::<Triple>::new(), Vec::new());
        for line in text.lines().map(reply::strip_marks).filter(|line| !line.is_empty()) {
            let why = match triple(line) {
                Some(triple) if triples.contains(&triple) => "said already",
                Some(_) if triples.len() == TRIPLES_MAX => "too many triples",
                Some(triple) => {
                    triples.push(triple);
                    continue;
                }
                None => "not a triple",
            };
            problems.push(Problem::Dropped { line: reply::shorten(line), why });
        }
        if text.is_empty() {
            problems.push(Problem::Empty);
        }
        (triples, problems)
    }
}

/// `<head; relation; tail>`, in whatever brackets; a tail may hold semicolons.
fn triple(line: &str) -> Option<Triple> {
    if line.chars().count() > TRIPLE_CHARS_MAX {
        return None;
    }
    let line = line.trim_end_matches([',', '.']);
    let bare = line.trim_matches(['<', '>', '⟨', '⟩', '‹', '›', '(', ')', '[', ']', '*']);
    let mut parts = bare.splitn(3, ';').map(str::trim).filter(|part| !part.is_empty());
    let mut part = || parts.next().map(str::to_owned);
    Some(Triple { head: part()?, relation: part()?, tail: part()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(reply: &str, expected: &[&str], n_problems: usize) {
        let (found, problems) = Triples::parse(reply);
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found, expected, "{reply}");
        assert_eq!(problems.len(), n_problems, "{problems:?}");
    }

    #[test]
    fn the_asked_form_and_what_small_models_make_of_it() {
        check(
            "<Ana; adopted; Max>\n<Max; loves; cheese, carrots>",
            &["Ana; adopted; Max", "Max; loves; cheese, carrots"],
            0,
        );
        check("Knowledge triples:\n1. ⟨Ana; adopted; Max⟩.", &["Ana; adopted; Max"], 1);
        check("- (Ana; adopted; Max; in Lund)", &["Ana; adopted; Max; in Lund"], 0);
        check("<Ana; adopted; Max>\n<Ana; adopted; Max>\n<Ana; ; Max>", &["Ana; adopted; Max"], 2);
        check("Ana adopted Max.", &[], 1);
        check("", &[], 1);
        check(&"<a; b; c> ".repeat(100), &[], 1);
    }
}
