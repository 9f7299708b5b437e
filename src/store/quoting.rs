//! Does one text quote another? Pure; for forgetting, where a miss leaves a text behind and a false
//! alarm costs a reply or a name that can be written again.

use std::collections::HashSet;

use crate::memory::lexical::words;

/// A run of this many words is no coincidence.
const RUN: usize = 5;
/// A text shorter than that, of at least this many words, counts if all of it is there.
const WHOLE_MIN: usize = 3;

/// Texts whose quotations are looked for.
#[derive(Debug, Default)]
pub(super) struct Quoted {
    runs: HashSet<Vec<String>>,
}

impl Quoted {
    pub(super) fn add(&mut self, text: &str) {
        let words: Vec<String> = words(text).collect();
        if words.len() >= RUN {
            self.runs.extend(words.windows(RUN).map(<[String]>::to_vec));
        } else if words.len() >= WHOLE_MIN {
            self.runs.insert(words);
        }
    }

    /// Whether `text` contains a run of words from any of them.
    pub(super) fn is_in(&self, text: &str) -> bool {
        if self.runs.is_empty() {
            return false;
        }
        let words: Vec<String> = words(text).collect();
        (WHOLE_MIN..=RUN).any(|n| words.windows(n).any(|run| self.runs.contains(run)))
    }
}

/// Whether `needle`'s words occur in `text`, one after the other.
pub(super) fn has_words(text: &str, needle: &[String]) -> bool {
    let words: Vec<String> = words(text).collect();
    !needle.is_empty() && words.windows(needle.len()).any(|run| run == needle)
}

/// Whether `text` contains `part`, ignoring case.
pub(super) fn contains(text: &str, part: &str) -> bool {
    text.to_lowercase().contains(&part.to_lowercase())
}

/// Words that may carry meaning (not "the" or "and"): of four letters or more, not ASCII, or with a digit.
pub(super) fn telling_words(text: &str) -> impl Iterator<Item = String> {
    words(text).filter(|w| {
        w.chars().count() >= 4 || !w.is_ascii() || w.bytes().any(|b| b.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, text: &str, expected: bool) {
        let mut quoted = Quoted::default();
        quoted.add(source);
        assert_eq!(quoted.is_in(text), expected, "{source:?} in {text:?}");
    }

    #[test]
    fn five_words_in_a_row_are_a_quotation() {
        check("I moved to Lund last week", "You said: \"I moved to LUND, last week\".", true);
        check("I moved to Lund last week", "You moved to Lund last week.", true);
        check("I moved to Lund last week", "Last week you moved", false);
        check("I am Ana", "So: I am Ana!", true);
        check("thank you", "thank you", false);
        check("", "", false);
    }

    #[test]
    fn names_are_found_as_words() {
        assert!(has_words("Ana's dog", &["ana".into()]));
        assert!(!has_words("Anastasia", &["ana".into()]));
        assert!(!has_words("Ana", &[]));
    }
}
