//! The person's own name, where they say it.

use super::lexicon::{self, capitalise};
use super::lists::{Lines, Words};
use super::words::{Sentence, Token, tokens};

static ADJECTIVE_ENDINGS: Lines = Lines::new("adjective endings");
static AFTER_AN_INTRODUCTION: Words = Words::new("after an introduction");
static BEFORE_CALL_ME: Words = Words::new("before call me");
static CALL_ME_NO_NAME: Words = Words::new("call me no name");
static NOT_NAMES: Words = Words::new("not a name");
static STATES: Words = Words::new("states");

/// The name that a person gives for themself: "my name is Ana", "I'm Ana", "call me Ana".
pub fn user_name(text: &str) -> Option<String> {
    let text = crate::memory::plain_text(lexicon::clip(text, 8_000));
    let mut latest = None;
    for sentence in super::sentences(&text) {
        if sentence.len() < 400 {
            latest = in_sentence(&tokens(sentence)).or(latest);
        }
    }
    latest
}

/// False if any sign says that one of the capitalised words is not a person's name.
pub(super) fn may_be_a_name(words: &str) -> bool {
    words.split(' ').all(|w| {
        let lower = w.to_lowercase();
        !NOT_NAMES.has(&lower)
            && !lexicon::STOP.has(&lower)
            && (2..=24).contains(&w.chars().count())
            && !(w.len() > 2 && w.chars().all(char::is_uppercase))
    })
}

fn in_sentence(words: &[Token]) -> Option<String> {
    (0..words.len()).find_map(|i| stated(words, i).or_else(|| introduced(words, i)))
}

/// "My name is Ana", "my name's Ana", "my friends call me Ana".
fn stated(words: &[Token], i: usize) -> Option<String> {
    let lower = |at: usize| words.lower(at);
    let length = match (lower(i), lower(i + 1), lower(i + 2)) {
        ("my", "name", "is" | ":" | "=") => 3,
        ("my", "name's" | "names", _) => 2,
        ("my", "full" | "first" | "real", "name") if lower(i + 3) == "is" => 4,
        ("names" | "name's", ..) if i == 0 => 1,
        ("call", "me", _) if i == 0 || words[i - 1].within(&BEFORE_CALL_ME) => 2,
        ("i", "go", "by") | ("i", "am", "called") => 3,
        _ => return None,
    };
    let mut at = i + length;
    while matches!(lower(at), "actually" | "just" | "also" | "now" | ":" | "\"" | "'" | "“") {
        at += 1;
    }
    // "My name is not Bob, it's Rob".
    if lower(at) == "not" {
        at = (at + 1..words.len()).find(|&j| lower(j) == "is")? + 1;
    }
    // "call me ana" with nothing after it.
    let alone = words.get(at + 1).is_none_or(|t| !t.word) && !CALL_ME_NO_NAME.has(lower(at));
    let any_case = lower(i) != "call" || alone;
    name_at(words, at, false).or_else(|| name_at(words, at, any_case))
}

/// "I'm Ana", "I am Ana Silva", "this is Ana", "hi im tom".
fn introduced(words: &[Token], i: usize) -> Option<String> {
    let at = i + 2;
    let begins = i == 0
        || !words[i - 1].word
        || words[i - 1].among(&["hi", "hello", "hey", "and", "well", "so"]);
    if !begins || !matches!((words.lower(i), words.lower(i + 1)), ("i", "am") | ("this", "is")) {
        return None;
    }
    let (word, next) = (words.get(at)?, words.get(at + 1));
    let greeted = i <= 3
        && words[..i]
            .iter()
            .any(|t| t.among(&["hi", "hello", "hey", "hiya", "morning", "evening"]));
    // "hi im tom", "im sara, 29"
    let small = greeted
        && next.is_none_or(|t| !t.word || t.is("and"))
        && !looks_like_an_adjective(&word.lower)
        || next.is_some_and(|t| t.text == ",")
            && words.get(at + 2).and_then(|t| lexicon::number(&t.text)).is_some_and(|n| n > 3)
            && !lexicon::REACTION.has(&word.lower);
    if small && let Some(name) = name_at(words, at, true) {
        return Some(name);
    }
    let name = name_at(words, at, false)?;
    let after = at + name.split(' ').count();
    // "I'm Ana's sister", "I'm Swedish", "This is Paris calling".
    let ends = words.get(after).is_none_or(|t| !t.word || t.within(&AFTER_AN_INTRODUCTION));
    let this = words[i].is("this") && !(i == 0 && words.len() <= after + 1);
    (ends && !this).then_some(name)
}

/// "tired" in "hi im tired" is not a name.
fn looks_like_an_adjective(lower: &str) -> bool {
    lexicon::REACTION.has(lower)
        || lexicon::STOP.has(lower)
        || lexicon::is_finite(lower)
        || lexicon::is_participle(lower)
        || lexicon::is_adverb(lower)
        || lower.len() > 4 && ADJECTIVE_ENDINGS.iter().any(|end| lower.ends_with(end))
        || STATES.has(lower)
}

fn name_at(words: &[Token], at: usize, any_case: bool) -> Option<String> {
    let fits = |t: &Token| {
        t.word
            && t.text.chars().all(|c| c.is_alphabetic() || matches!(c, '-' | '\''))
            && (2..=24).contains(&t.text.chars().count())
            && !t.lower.ends_with("'s")
            && !NOT_NAMES.has(&t.lower)
            && !lexicon::STOP.has(&t.lower)
            && !lexicon::MONTHS[..4].iter().any(|m| m.eq_ignore_ascii_case(&t.text) && !t.upper())
    };
    let first = words.get(at).filter(|t| fits(t) && (any_case || t.upper()))?;
    let mut name = if first.upper() { first.text.clone() } else { capitalise(&first.text) };
    // "my name is bob smith"
    if any_case
        && !first.upper()
        && let Some(next) = words.get(at + 1).filter(|t| {
            fits(t) && !t.upper() && !lexicon::is_finite(&t.lower) && !lexicon::is_adverb(&t.lower)
        })
        && words.get(at + 2).is_none_or(|t| !t.word || t.is("and"))
    {
        return Some(format!("{name} {}", capitalise(&next.text)));
    }
    for next in words[at + 1..].iter().take(2) {
        let shouted = next.text.chars().all(char::is_uppercase) && next.text.len() > 1;
        if !(fits(next) && next.upper()) || shouted && !first.text.chars().all(char::is_uppercase) {
            break;
        }
        name.push(' ');
        name.push_str(&next.text);
    }
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::super::tests::cases;
    use super::*;

    #[test]
    fn names_that_people_give() {
        assert_eq!(user_name(""), None);
        for (text, expected) in cases(include_str!("tests/cases/names.txt"), "names") {
            assert_eq!(user_name(&text), expected.first().cloned(), "of {text:?}");
        }
    }
}
