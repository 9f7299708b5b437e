//! A theme's name.

use minijinja::context;

use super::{Prompt, Style, asset::PROMPTS, data, reply};

/// Asks what facts have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThemeName<'a> {
    /// The facts of the theme.
    pub facts: &'a [&'a str],
}

impl ThemeName<'_> {
    /// A longer line is not a name.
    pub const CHARS_MAX: usize = 60;

    /// Both turns of the prompt.
    pub fn fill(&self, style: Style) -> Prompt {
        let facts: Vec<_> = self.facts.iter().map(|fact| data(fact)).collect();
        PROMPTS.prompt("theme", style, context! { facts })
    }

    /// The name, if the reply holds one: a few words on one line.
    pub fn parse(reply: &str) -> Option<String> {
        let line = reply::first_line(reply)?;
        let name = line.strip_prefix("Name:").unwrap_or(&line);
        let name = name.trim().trim_end_matches('.');
        let name = name.trim_matches(|c: char| c == '"' || c.is_whitespace());
        (!name.is_empty() && name.chars().count() <= Self::CHARS_MAX).then(|| name.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_short() {
        let check = |reply: &str, name: Option<&str>| {
            assert_eq!(ThemeName::parse(reply).as_deref(), name, "{reply}");
        };
        check("\"Max the dog\".", Some("Max the dog"));
        check("\"Max \u{3000}\".", Some("Max"));
        check("Name: work at the bakery", Some("work at the bakery"));
        check(&"words and ".repeat(20), None);
        check("", None);
    }
}
