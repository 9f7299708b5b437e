//! Values as the person worded them: places, ages, times, without dates and contrasts.

use std::sync::LazyLock;

use regex::Regex;

use super::dates;
use super::lexicon::{self, KIN, PETS};
use super::lists::Words;

static ILLNESSES: Words = Words::new("illnesses");
static AFTER_A_PLACE: Words = Words::new("after a place");

pub(super) fn has_job_words(low: &str) -> bool {
    ["job", "work", "position", "company", "team", "club", "gym"].iter().any(|w| low.contains(w))
}

pub(super) fn has_time(low: &str) -> bool {
    static TIME: LazyLock<Regex> = LazyLock::new(|| {
        super::pattern(
            r"\b(?:\d{1,2}(?::\d\d)? ?(?:am|pm|a\.m|p\.m)|\d{1,2}:\d\d|at \d{1,2}|noon|midnight|on (?:mon|tues|wednes|thurs|fri|satur|sun)day|on \d{1,2} \w+|\d{4})\b",
        )
    });
    TIME.is_match(low)
}

/// "5 years old", "34", "a 5-year-old", "turning 40".
pub(super) fn age(low: &str) -> Option<String> {
    static AGE: LazyLock<Regex> = LazyLock::new(|| {
        super::pattern(
            r"^(?:now |currently |already |only |almost |about |just |turning |an? )*(\d{1,3}|[a-z]+(?:-[a-z]+)?)[- ]?(?:(years?|yrs?|months?|weeks?)(?:[- ]old| of age)?\b|yo\b|y/o\b|$|,|\.| \(| now\b| and\b| today\b| on\b| in \w+ \d{4})",
        )
    });
    let found = AGE.captures(low)?;
    let number = found.get(1)?.as_str();
    let n = lexicon::number(number).filter(|n| (0..=130).contains(n))?;
    if matches!(number, "a" | "an" | "one") && found.get(2).is_none() {
        return None;
    }
    let unit = found.get(2).map_or("", |m| m.as_str());
    Some(if unit.starts_with('m') || unit.starts_with('w') {
        format!("{n} {unit}")
    } else {
        n.to_string()
    })
}

/// The place of "in Lund", "with Tom in Lund", "at home".
pub(super) fn place(after: &str) -> Option<String> {
    let low = after.to_lowercase();
    ["in", "on", "at", "near"].iter().find_map(|p| place_after(&low, after, p)).or_else(|| {
        (!after.is_empty() && !low.starts_with("with") && !low.starts_with("alone"))
            .then(|| after.to_owned())
    })
}

/// What follows a word, at the beginning or later.
fn following<'a>(low: &str, text: &'a str, word: &str) -> Option<&'a str> {
    let at = match low.strip_prefix(word).filter(|rest| rest.starts_with(' ')) {
        Some(_) => word.len() + 1,
        None => low.find(&format!(" {word} "))? + word.len() + 2,
    };
    text.get(at..)
}

pub(super) fn place_after(low: &str, text: &str, preposition: &str) -> Option<String> {
    let value = following(low, text, preposition)?;
    let mut end = 0;
    for (n, word) in value.split(' ').enumerate() {
        let rest = &value[end + word.len()..];
        let dated = word == "in" && rest.trim_start().starts_with(|c: char| c.is_ascii_digit());
        if n > 0 && (AFTER_A_PLACE.has(word) || dated) || word.starts_with('(') {
            break;
        }
        end = (end + word.len() + 1).min(value.len());
    }
    let value = value[..end].trim_end();
    (!value.is_empty()).then(|| value.to_owned())
}

pub(super) fn after_word(low: &str, text: &str, word: &str) -> Option<String> {
    let value = following(low, text, word)?;
    Some(value.strip_prefix("a ").or_else(|| value.strip_prefix("an ")).unwrap_or(value).to_owned())
}

pub(super) fn having(
    low: &str,
    after: &str,
    negated: bool,
    main: &str,
) -> Option<(&'static str, String)> {
    let words: Vec<&str> = low.split(' ').take(6).map(|w| w.trim_end_matches(',')).collect();
    let appointments = ["a birthday", "a meeting", "an appointment", "an interview", "an exam"];
    let (attribute, negation) = if low.contains("allerg") {
        ("allergy", "no allergy")
    } else if main == "got" && low.starts_with("a job as ") {
        return Some(("job", after[9..].to_owned()));
    } else if main == "got" && low.starts_with("married")
        || appointments.iter().any(|appointment| low.starts_with(appointment))
    {
        ("event", "event")
    } else if words.iter().any(|w| PETS.has(w)) {
        ("pet", "no pet")
    } else if words.iter().any(|w| KIN.has(w)) {
        ("family", "family")
    } else if ILLNESSES.iter().any(|illness| low.contains(illness)) {
        ("health", "health")
    } else if matches!(main, "has" | "owns") {
        ("has", "lacks")
    } else {
        return None;
    };
    Some((if negated { negation } else { attribute }, after.to_owned()))
}

/// What ends a value: "Lund, not Rome".
#[rustfmt::skip]
const CONTRASTS: [&str; 10] = [
    ", not ", " instead of ", " anymore", " any more", ", but ", " now", " rather than ",
    " these days", " — ", " and not ",
];

/// The value without its date, contrast and end marks.
pub(super) fn clean_value(value: &str) -> String {
    let mut value = value.trim();
    if let Some(found) = dates::find(value).first() {
        let head = value[..found.start].trim_end();
        let head = head.strip_suffix('(').unwrap_or(head).trim_end();
        let head = ["on", "in", "in the", "on the", "at", "since", "around"]
            .iter()
            .find_map(|p| head.strip_suffix(p).filter(|h| h.is_empty() || h.ends_with(' ')))
            .unwrap_or(head)
            .trim_end();
        if !head.is_empty() {
            value = head;
        }
    }
    for contrast in CONTRASTS {
        if let Some(at) = value.find(contrast).filter(|&at| at > 0) {
            value = &value[..at];
        }
    }
    value.trim_end_matches(['.', '!', ',', ';', ' ']).to_owned()
}
