//! What a model wrote, held against what it read.

use std::collections::BTreeSet;

use jiff::civil::DateTime;

use crate::extractive::{self, Ungrounded, Utterance};

/// Whether everything that a text claims (names, numbers, dates, most words) is in the lines.
pub(super) fn is_grounded(text: &str, lines: &[Utterance]) -> bool {
    let sources: Vec<String> = lines.iter().map(|l| format!("{}: {}", l.speaker, l.text)).collect();
    let sources: Vec<&str> = sources.iter().map(String::as_str).collect();
    let at = lines.first().map(|line| line.at).unwrap_or_default();
    extractive::grounded(text, &sources, at).is_ok()
}

/// Whether a theme's name tells of nobody and nothing that the facts don't; it may use other words.
pub(super) fn is_about(name: &str, facts: &[&str]) -> bool {
    let is_upper = |word: &str| word.starts_with(char::is_uppercase);
    let bare = |word: &str| {
        word.trim_end_matches("'s").trim_matches(|c: char| !c.is_alphanumeric()).to_owned()
    };
    let named: BTreeSet<String> = facts
        .iter()
        .flat_map(|fact| fact.split_whitespace())
        .filter(|word| is_upper(word))
        .map(bare)
        .collect();
    let words: Vec<&str> = name.split_whitespace().collect();
    // "Outdoor Sports" names nobody.
    let is_title_case = words.iter().all(|word| is_upper(word) || word.len() <= 3);
    let is_strange = |(at, word): (usize, &&str)| {
        is_upper(word)
            && !named.contains(&bare(word))
            && (word.ends_with("'s") || at > 0 && !is_title_case)
    };
    let lower: Vec<String> = words
        .iter()
        .map(
            |word| {
                if named.contains(&bare(word)) { (*word).to_owned() } else { word.to_lowercase() }
            },
        )
        .collect();
    let said = format!("The user and {}", lower.join(" "));
    !words.iter().enumerate().any(is_strange)
        && matches!(
            extractive::grounded(&said, facts, DateTime::default()),
            Ok(()) | Err(Ungrounded::Words)
        )
}
