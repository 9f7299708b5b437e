//! A theme's name.

use minijinja::context;

use super::{Problem, Prompt, Style, asset, data, reply};

/// Asks what facts have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThemeName<'a> {
    pub facts: &'a [&'a str],
}

impl ThemeName<'_> {
    /// A longer line is no name.
    pub const CHARS_MAX: usize = 60;

    #[must_use]
    pub fn fill(&self, style: Style) -> Prompt {
        let facts: Vec<_> = self.facts.iter().map(|fact| data(fact)).collect();
        asset::prompt("theme", style, context! { facts })
    }

    /// The name, if the reply is one: a few words on a line.
    #[must_use]
    pub fn parse(reply: &str) -> (Option<String>, Vec<Problem>) {
        let (line, mut problems) = reply::first_line(reply);
        let Some(line) = line else { return (None, problems) };
        let name = line.strip_prefix("Name:").unwrap_or(&line);
        let name = name.trim().trim_end_matches('.').trim_matches('"').to_owned();
        if name.is_empty() || name.chars().count() > Self::CHARS_MAX {
            let why = "not a name of a few words";
            problems.push(Problem::Dropped { line: reply::shorten(&line), why });
            return (None, problems);
        }
        (Some(name), problems)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_short() {
        let check = |reply: &str, name: Option<&str>| {
            assert_eq!(ThemeName::parse(reply).0.as_deref(), name, "{reply}");
        };
        check("\"Max the dog\".", Some("Max the dog"));
        check("Name: work at the bakery", Some("work at the bakery"));
        check(&"words and ".repeat(20), None);
        check("", None);
    }
}
