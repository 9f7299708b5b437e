//! Patterns of words, from a section of `assets/words/`.
//!
//! One a line: `can|could you *; at most 9; without i|my -> label`. A word stands for itself, `|`
//! separates alternatives, `_` is any one word, `*` any number of words, `@name` a word of the
//! section `name`. The whole text has to match. The conditions and the label may be missing.

use super::lists::{Section, Words};

enum Part {
    One,
    Any,
    Of(Vec<&'static str>),
    Listed(Words),
}

pub(super) struct Pattern {
    parts: Vec<Part>,
    at_most: usize,
    without: Vec<&'static str>,
    /// Kinds of question that it is for; empty for all kinds.
    kinds: Vec<&'static str>,
    label: &'static str,
}

impl Pattern {
    fn parse(line: &'static str) -> Self {
        let (line, label) = line.split_once(" -> ").unwrap_or((line, ""));
        let mut clauses = line.split("; ");
        let parts = clauses.next().unwrap_or_default().split(' ').map(|part| match part {
            "_" => Part::One,
            "*" => Part::Any,
            _ => match part.strip_prefix('@') {
                Some(name) => Part::Listed(Words::new(name)),
                None => Part::Of(part.split('|').collect()),
            },
        });
        let mut pattern = Self {
            parts: parts.collect(),
            at_most: usize::MAX,
            without: Vec::new(),
            kinds: Vec::new(),
            label,
        };
        for clause in clauses {
            if let Some(n) = clause.strip_prefix("at most ") {
                pattern.at_most = n.parse().unwrap_or_default();
            } else if let Some(words) = clause.strip_prefix("without ") {
                pattern.without = words.split('|').collect();
            } else if let Some(kinds) = clause.strip_prefix("kinds ") {
                pattern.kinds = kinds.split('|').collect();
            }
        }
        pattern
    }

    fn matches(&self, words: &[impl AsRef<str>]) -> bool {
        words.len() <= self.at_most
            && match_parts(&self.parts, words)
            && !words.iter().any(|word| self.without.contains(&word.as_ref()))
    }
}

fn match_parts(parts: &[Part], words: &[impl AsRef<str>]) -> bool {
    let Some((part, parts)) = parts.split_first() else { return words.is_empty() };
    if matches!(part, Part::Any) {
        return parts.is_empty() || (0..=words.len()).any(|n| match_parts(parts, &words[n..]));
    }
    let Some((word, words)) = words.split_first() else { return false };
    let word = word.as_ref();
    let fits = match part {
        Part::Of(alternatives) => alternatives.contains(&word),
        Part::Listed(list) => list.has(word),
        Part::One | Part::Any => true,
    };
    fits && match_parts(parts, words)
}

pub(super) type Patterns = Section<Vec<Pattern>>;

impl Patterns {
    pub const fn new(section: &'static str) -> Self {
        Self::parsed_by(section, |lines| lines.map(Pattern::parse).collect())
    }

    /// True if one of them matches.
    pub fn match_any(&self, words: &[impl AsRef<str>]) -> bool {
        self.iter().any(|pattern| pattern.matches(words))
    }

    /// The label of the first that matches.
    pub fn label(&self, words: &[&str]) -> Option<&'static str> {
        self.iter().find(|pattern| pattern.matches(words)).map(|pattern| pattern.label)
    }

    /// The labels of all that match and are for questions of this kind.
    pub fn labels(&self, words: &[&str], kind: &str) -> impl Iterator<Item = &'static str> {
        self.iter()
            .filter(move |p| p.kinds.is_empty() || p.kinds.contains(&kind))
            .filter(|pattern| pattern.matches(words))
            .map(|pattern| pattern.label)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_texts() {
        for (pattern, text, expected) in [
            ("good luck *", "good luck with it", true),
            ("good luck *", "good luck", true),
            ("good luck", "good luck with it", false),
            ("i|we am|are _", "we are tired", true),
            ("i|we am|are _", "we are", false),
            ("* birthday|bday *", "when is my bday again", true),
            ("* birthday|bday *", "when is my party", false),
            ("see * you|later; at most 3", "see you later", true),
            ("see * you|later; at most 2", "see you later", false),
            ("hi *; without i|my", "hi my dog", false),
            ("my @pets *", "my dog is ill", true),
            ("my @pets *", "my car is red", false),
        ] {
            let words: Vec<&str> = text.split(' ').collect();
            assert_eq!(
                Pattern::parse(pattern).matches(&words),
                expected,
                "{pattern:?} of {text:?}"
            );
        }
        assert_eq!(Pattern::parse("when * -> When").label, "When");
    }
}
