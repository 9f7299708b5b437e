//! Reading what a model wrote: shared by the tolerant parsers.

use std::fmt;

/// What was wrong with a reply. Data for logs and for the model's grade, never a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// Nothing usable at all.
    Empty,
    /// None of the words that were asked for.
    NotAChoice { received: String },
    /// A field of the asked form is missing.
    Missing { field: &'static str },
    /// A field can't be read.
    Unreadable { field: &'static str, received: String },
    /// A line was left out.
    Dropped { line: String, why: &'static str },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "the reply is empty"),
            Self::NotAChoice { received } => write!(f, "`{received}` is not one of the choices"),
            Self::Missing { field } => write!(f, "the reply has no {field}"),
            Self::Unreadable { field, received } => write!(f, "`{received}` is not a {field}"),
            Self::Dropped { line, why } => write!(f, "left out `{line}`: {why}"),
        }
    }
}

/// The reply without a reasoning block (`<think>…</think>`), code fences and control characters.
#[must_use]
pub fn clean(reply: &str) -> String {
    let mut text = reply.to_owned();
    while let Some(start) = text.find("<think>") {
        match text[start..].find("</think>") {
            Some(end) => text.replace_range(start..start + end + "</think>".len(), ""),
            None => text.truncate(start), // cut off while still thinking: nothing was said
        }
    }
    text.lines()
        .filter(|line| !line.trim_start().starts_with("```"))
        .map(|line| line.chars().filter(|c| !c.is_control() || *c == '\t').collect::<String>())
        .collect::<Vec<_>>()
        .join("\n")
        .trim()
        .to_owned()
}

/// A list line without its bullet or number, quotes and emphasis.
#[must_use]
pub fn strip_marks(line: &str) -> &str {
    let line = line.trim().trim_start_matches(['-', '*', '•', '–', '#']).trim_start();
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let line = match line.as_bytes().get(digits) {
        Some(b'.' | b')') if digits > 0 && digits <= 3 => {
            let rest = &line[digits + 1..];
            // "3.5 kg" is no list number.
            if rest.starts_with(char::is_whitespace) { rest.trim_start() } else { line }
        }
        _ => line,
    };
    line.trim_matches(['*', '"', '“', '”', '`']).trim()
}

/// The index of the first choice that occurs as a word in the reply.
pub(super) fn choice(reply: &str, choices: &[&str]) -> (Option<usize>, Vec<Problem>) {
    let text = clean(reply).to_lowercase();
    let found = text
        .split(|c: char| !c.is_alphanumeric())
        .find_map(|word| choices.iter().position(|&choice| choice == word));
    match found {
        Some(index) => (Some(index), Vec::new()),
        None if text.is_empty() => (None, vec![Problem::Empty]),
        None => (None, vec![Problem::NotAChoice { received: shorten(&text) }]),
    }
}

/// At most 60 characters, for a problem's text.
#[must_use]
pub fn shorten(text: &str) -> String {
    let mut out: String = text.chars().take(60).collect();
    if out.len() < text.len() {
        out.push('…');
    }
    out
}

/// The first sentence-like line that is no preamble ("Sure, here is…:").
pub(super) fn first_line(reply: &str) -> (Option<String>, Vec<Problem>) {
    let text = clean(reply);
    let mut problems = Vec::new();
    for line in text.lines().map(strip_marks).filter(|line| !line.is_empty()) {
        if is_preamble(line) {
            problems.push(Problem::Dropped { line: shorten(line), why: "talk about the task" });
            continue;
        }
        return (Some(line.to_owned()), problems);
    }
    problems.push(Problem::Empty);
    (None, problems)
}

/// "Here are the facts:", "Sure!", "Output:".
#[must_use]
pub fn is_preamble(line: &str) -> bool {
    let lower = line.to_lowercase();
    let polite = ["sure", "certainly", "of course", "okay", "ok,", "here is", "here are", "here's"];
    line.ends_with(':') || polite.iter().any(|p| lower.starts_with(p) && lower.len() < 80)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_found_in_odd_replies() {
        let check = |reply: &str, expected: Option<usize>| {
            assert_eq!(choice(reply, &["store", "discard"]).0, expected, "{reply}");
        };
        check("store", Some(0));
        check(" **Discard**.", Some(1));
        check("{\"route\": \"store\", \"rationale\": \"\"}", Some(0));
        check("<think>discard? no</think>store", Some(0));
        check("{\"route\": \"\"}", None);
        check("", None);
        check("restore", None);
    }

    #[test]
    fn marks_go_and_numbers_stay() {
        let check = |line: &str, expected: &str| assert_eq!(strip_marks(line), expected);
        check("- Ana lives in Lund.", "Ana lives in Lund.");
        check("12) \"Ana\"", "Ana");
        check("3.5 kg of flour", "3.5 kg of flour");
        check("2026 was good", "2026 was good");
        check("**Ana**", "Ana");
    }

    #[test]
    fn an_unfinished_thought_says_nothing() {
        assert_eq!(first_line("<think>hmm, maybe").0, None);
        assert_eq!(
            first_line("Here is the name:\n\"Max the dog\"").0.as_deref(),
            Some("Max the dog")
        );
    }
}
