//! Repairs of what people type: restores subjects and the capitals of names; removes the listener's
//! name, end marks and emoji.

use super::attributes::{APPOINTMENTS, is_creature};
use super::facts::is_name;
use super::lexicon::{self, capitalise};
use super::lists::{Rows, Words};
use super::person::Parties;
use super::words::{Sentence, Token};

static BEFORE_REMEMBERING: Words = Words::new("before remembering");
static NOT_AFTER_NAMED: Words = Words::new("not after named");
static PASTS_WITHOUT_A_SUBJECT: Words = Words::new("pasts without a subject");
static TRAILING_PHRASES: Rows = Rows::new("trailing phrases");
static TRAILING_WORDS: Words = Words::new("trailing words");

/// "Hey Caroline, …", "…, Mel": the name of the person spoken to.
pub(super) fn strip_vocative(words: &[Token], parties: Parties<'_>) -> Vec<Token> {
    let calls = |t: &Token| match parties.addressee {
        Some(name) => {
            let name = name.to_lowercase();
            let first = name.split(' ').next().unwrap_or_default();
            t.lower == first
                || t.lower.len() >= 2 && first.starts_with(&t.lower) && t.upper()
                || t.among(&["girl", "buddy", "bro", "dude", "man", "mate", "friend"])
        }
        None => t.among(&["assistant", "inglenook", "buddy", "dude", "mate"]),
    };
    let mut words = words.to_vec();
    while words.len() >= 2 && calls(&words[0]) && !words[1].word && words[1].text != "'" {
        words.drain(..2);
    }
    let end = words.iter().rposition(|t| t.word).map_or(0, |p| p + 1);
    if end >= 2 && calls(&words[end - 1]) && words[end - 2].text == "," {
        words.drain(end - 2..end);
    }
    words
}

/// How many words at the end are such a phrase, behind a sentence of some length.
fn trailing_phrase(words: &[Token]) -> Option<usize> {
    let ends = |phrase: &&Vec<&str>| {
        words.len() >= phrase.len() + 3
            && phrase.iter().rev().zip(words.iter().rev()).all(|(word, token)| token.is(word))
    };
    TRAILING_PHRASES.iter().filter(ends).map(Vec::len).max()
}

/// "I can't remember", "a day to remember", but not "no nuts, remember".
fn is_remembered(before: &[Token]) -> bool {
    before.last().is_some_and(|t| {
        lexicon::MODALS.has(&t.lower)
            || t.within(&BEFORE_REMEMBERING)
            || lexicon::is_adverb(&t.lower)
    })
}

fn trim_marks(words: &mut Vec<Token>) {
    while words.last().is_some_and(|t| {
        !t.word
            && !matches!(
                t.text.as_str(),
                ")" | "\"" | "”" | "]" | "%" | "$" | "€" | "£" | "°" | "+" | "'"
            )
            || t.within(&TRAILING_WORDS) && words.len() > 3
            || t.is("remember") && words.len() > 3 && !is_remembered(&words[..words.len() - 1])
    }) {
        words.pop();
    }
}

/// Without end marks, emoji, laughter and what only softens.
pub(super) fn trim_end(words: &mut Vec<Token>) {
    trim_marks(words);
    // A bracket or quotation mark without its partner, left by the sentence's end.
    for (open, close) in [("(", ")"), ("\"", "\""), ("“", "”")] {
        let opens = words.iter().filter(|t| t.text == open).count();
        let closes = words.iter().filter(|t| t.text == close).count();
        let odd = if open == close { opens % 2 == 1 } else { opens != closes };
        if odd {
            words.retain(|t| t.text != open && t.text != close);
        }
    }
    trim_marks(words);
    while let Some(n) = trailing_phrase(words) {
        words.truncate(words.len() - n);
        trim_marks(words);
    }
    // "I'm Ana, nice to meet you".
    for i in 1..words.len() {
        let greets = words[i].among(&["nice", "pleased", "good", "great", "lovely"])
            && words.lower(i + 1) == "to"
            && words.among(i + 2, &["meet", "see"])
            && words.among(i + 3, &["you", "ya"]);
        if greets {
            words.truncate(i);
            while words.last().is_some_and(|t| !t.word || t.is("and")) {
                words.pop();
            }
            break;
        }
    }
    words.retain(|t| t.word || !t.text.chars().all(super::sentences::is_emoji));
    if let Some(first) = words.first_mut() {
        first.space_before = false;
    }
}

/// "Went to Rome yesterday", "Gonna move", "Been running a lot": the subject is "I".
pub(super) fn restore_subject(mut words: Vec<Token>) -> Vec<Token> {
    let led = ["just", "recently", "finally", "also", "already", "actually", "still", "even"];
    let j = words.iter().take_while(|t| t.among(&led)).count();
    let (first, next) = (words.lower(j), words.lower(j + 1));
    let subject: &[&str] = match first {
        // Somebody else did that to the speaker.
        _ if matches!(next, "me" | "us") => return words,
        "took" | "got" if next == "my" => return words,
        _ if PASTS_WITHOUT_A_SUBJECT.has(first) => &["I"],
        "gonna" => &["I", "am"],
        "going" if next == "to" => &["I", "am"],
        "can't" | "cannot" if matches!(next, "eat" | "sleep" | "stand" | "wait") => &["I"],
        "been" if next.ends_with("ing") => &["I", "have"],
        "have" | "am" | "love" | "hate" | "live" | "work" | "like" | "need" | "want" | "enjoy"
        | "appreciate"
            if j == 0
                && words.len() > 2
                && !matches!(next, "is" | "was" | "you" | "it" | "that" | "this" | "your") =>
        {
            &["I"]
        }
        _ if is_bare_gerund(&words, j) => &["I", "am"],
        _ => return words,
    };
    if let Some(first) = words.first_mut() {
        first.space_before = true;
        if !first.text.chars().skip(1).any(char::is_uppercase) {
            *first = Token::new(first.lower.clone(), true);
        }
    }
    words.splice(0..0, subject.iter().enumerate().map(|(n, word)| Token::new(*word, n > 0)));
    words
}

/// "Learning to swim", but not "Painting is fun": a gerund that is a subject has its verb.
fn is_bare_gerund(words: &[Token], j: usize) -> bool {
    let lower = words.lower(j);
    if lower.len() <= 4 || !lower.ends_with("ing") {
        return false;
    }
    let base = lower.trim_end_matches("ing");
    let has_verb = words
        .iter()
        .skip(j + 1)
        .take_while(|t| !matches!(t.text.as_str(), "—" | "–" | "-" | ";"))
        .any(|t| lexicon::is_clearly_finite(&t.lower) || t.lower.ends_with("'s"));
    !has_verb && (lexicon::is_base_verb(base) || lexicon::is_base_verb(&format!("{base}e")))
}

/// "my dog max is", "a cat called tom": names typed in lowercase are capitalised.
pub(super) fn name_the_nameless(mut words: Vec<Token>) -> Vec<Token> {
    open_my_names(&mut words);
    join_appositions(&mut words);
    for i in 1..words.len() {
        let word = &words[i];
        let plain = word.word
            && word.text.chars().all(char::is_lowercase)
            && word.text.chars().count() > 1
            && !lexicon::STOP.has(&word.lower);
        if !plain || !(is_named(&words, i) || follows_kin(&words, i)) {
            continue;
        }
        words[i] = Token::new(capitalise(&word.text), word.space_before);
    }
    words
}

/// "my names bob" → "my name is bob".
fn open_my_names(words: &mut Vec<Token>) {
    let names = (1..words.len().saturating_sub(1)).find(|&i| {
        words[i].is("names")
            && words[i - 1].is("my")
            && words[i + 1].word
            && !lexicon::STOP.has(&words[i + 1].lower)
    });
    if let Some(i) = names {
        words.splice(i..=i, [Token::new("name", true), Token::new("is", true)]);
    }
}

/// "My boss, Karen, is strict", "My dog (Max) is sick": the name without its commas.
fn join_appositions(words: &mut Vec<Token>) {
    for i in 1..words.len() {
        let mark =
            |words: &[Token], at: usize, mark: &str| words.get(at).is_some_and(|t| t.text == mark);
        if i + 2 >= words.len()
            || !is_creature(&words[i].lower)
            || !is_owned(words, i)
            || !is_name(&words[i + 2])
        {
            continue;
        }
        let one = !words[i].lower.ends_with('s') || words[i].is("boss");
        let closes = i + 3 >= words.len() || mark(words, i + 3, ",");
        if one && closes && mark(words, i + 1, ",") {
            words.drain(i + 3..(i + 4).min(words.len()));
            words.remove(i + 1);
        } else if mark(words, i + 1, "(") && mark(words, i + 3, ")") {
            words.remove(i + 3);
            words.remove(i + 1);
            words[i + 1].space_before = true;
        }
    }
}

/// "my" or "our" stands within three words before.
fn is_owned(words: &[Token], i: usize) -> bool {
    words[..i].iter().rev().take(3).any(|t| t.among(&["my", "our"]))
}

/// "my dog max is …"
fn follows_kin(words: &[Token], i: usize) -> bool {
    let (before, word) = (&words[i - 1], &words[i]);
    let known = lexicon::is_finite(&word.lower)
        || lexicon::is_adverb(&word.lower)
        || lexicon::is_participle(&word.lower)
        || is_creature(&word.lower)
        || APPOINTMENTS.has(&word.lower)
        || word.lower.ends_with("ing");
    i >= 2
        && is_creature(&before.lower)
        && !before.lower.ends_with('s')
        && is_owned(words, i - 1)
        && !known
        && word.space_before
        && words.get(i + 1).is_none_or(|t| {
            !t.word
                || lexicon::is_clearly_finite(&t.lower)
                || t.among(&["and", "who", "in", "from"])
        })
}

/// "a cat called tom", "my name is bob".
fn is_named(words: &[Token], i: usize) -> bool {
    match words.lower(i - 1) {
        "named" | "called" => !words[i].within(&NOT_AFTER_NAMED),
        "is" => i >= 2 && words[i - 2].among(&["name", "name's"]),
        "name's" | "names" => words[..i - 1].iter().any(|t| t.among(&["my", "his", "her", "its"])),
        _ => false,
    }
}
