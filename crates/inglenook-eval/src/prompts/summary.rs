//! A document's summary (structural-memory paper, Figure 10).

use inglenook::prompts::{Line, Problem, Prompt, Style, date, reply};
use jiff::civil::DateTime;
use minijinja::context;

use super::TEMPLATES;

/// Asks for a summary of a document's messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary<'a> {
    pub lines: &'a [Line],
    pub started_at: DateTime,
}

impl Summary<'_> {
    /// The filled prompt.
    #[must_use]
    pub fn fill(&self) -> Prompt {
        let lines: Vec<_> = self.lines.iter().map(Line::render).collect();
        let context = context! { lines, started => date(self.started_at) };
        TEMPLATES.prompt("summary", Style::Instructed, context)
    }

    /// The summary as one paragraph, if there is one.
    #[must_use]
    pub fn parse(reply: &str) -> (Option<String>, Vec<Problem>) {
        paragraph(reply, &["summary", "summaries"])
    }
}

/// The lines of a reply as one, without a heading such as `Summary:` and talk about the task.
pub(super) fn paragraph(reply: &str, headings: &[&str]) -> (Option<String>, Vec<Problem>) {
    let text = reply::clean(reply);
    let mut kept: Vec<&str> = Vec::new();
    let mut problems = Vec::new();
    for line in text.lines().map(reply::strip_marks) {
        let headed = line.split_once(':').filter(|(heading, _)| {
            let heading = heading.trim_matches(['*', ' ']);
            headings.iter().any(|name| name.eq_ignore_ascii_case(heading))
        });
        let line = headed.map_or(line, |(_, rest)| rest.trim_matches(['*', ' ']));
        if line.is_empty() {
            continue;
        }
        if kept.is_empty() && reply::is_preamble(line) {
            problems
                .push(Problem::Dropped { line: reply::shorten(line), why: "talk about the task" });
            continue;
        }
        kept.push(line);
    }
    if kept.is_empty() {
        problems.push(Problem::Empty);
        return (None, problems);
    }
    (Some(kept.join(" ")), problems)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_one_paragraph() {
        let check = |reply: &str, expected: Option<&str>, n_problems: usize| {
            let (found, problems) = Summary::parse(reply);
            assert_eq!(found.as_deref(), expected, "{reply}");
            assert_eq!(problems.len(), n_problems, "{problems:?}");
        };
        check("Ana moved.\n\nShe is glad.", Some("Ana moved. She is glad."), 0);
        check("**Summary:** Ana moved.", Some("Ana moved."), 0);
        check("Sure, here it is:\nSummary:\n- Ana moved.", Some("Ana moved."), 1);
        check("Sure!", None, 2);
        check("<think>well", None, 1);
    }
}
