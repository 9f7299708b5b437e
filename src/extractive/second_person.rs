//! Third person → second person, when a memory is shown to the person it is about.

use std::fmt::Write as _;

use super::lexicon::{self, capitalise};
use super::lists::{Table, Words};
use super::memorable::worth_most;
use super::planning::REMINDED;
use super::words::{Sentence, Token, join, tokens};
use super::{Statement, Utterance};

static AFTER_A_SHARED_VERB: Words = Words::new("after a shared verb");
static ENDS_SHARED_VERBS: Words = Words::new("ends shared verbs");
static SECOND_PERSONS: Table = Table::new("second persons");
static NOT_BEFORE_A_SUBJECT: Words = Words::new("not before a subject");

/// "The user's dog is Max" → "Your dog is Max"; "Ana moved" → "You moved" when the person is Ana.
pub fn to_second_person(text: &str, person: Option<&str>) -> String {
    if text.len() > 20_000 {
        return text.to_owned();
    }
    let mut words = tokens(text);
    let name: Vec<String> =
        person.unwrap_or_default().split_whitespace().map(str::to_lowercase).collect();
    let mut i = 0;
    while i < words.len() {
        let (length, possessive) = mention(&words, i, &name);
        if length == 0 {
            i += 1;
            continue;
        }
        // "Ana's name is Ana": the name itself stays a name.
        let told = i >= 1
            && (words[i - 1].among(&["named", "called"])
                || i >= 2 && words[i - 1].is("is") && words[i - 2].is("name"));
        if told && !words[i].is("the") {
            i += length;
            continue;
        }
        let first = words[i].clone();
        let start = i == 0 || matches!(words[i - 1].text.as_str(), "." | "!" | "?" | "“");
        let subject = !possessive && is_subject(&words, i, length);
        let you = if possessive {
            if words.get(i + length).is_some_and(|t| t.word) { "your" } else { "yours" }
        } else {
            "you"
        };
        let you = if start && first.upper() { capitalise(you) } else { you.to_owned() };
        words.splice(i..i + length, [Token::new(you, first.space_before)]);
        // "Ana and others live in Solna": "you" is plural as well.
        if words.lower(i + 1) == "and" && words.lower(i + 2) == "others" {
            words.drain(i + 1..i + 3);
        }
        if subject {
            disagree(&mut words, i + 1);
        }
        i += 1;
    }
    for i in 0..words.len() {
        if words[i].is("themself") && words[..i].iter().any(|t| t.is("you")) {
            words[i] = Token::new("yourself", words[i].space_before);
        }
        if i > 0 && words[i].is("their") && words[i - 1].is("on") && words.lower(i + 1) == "own" {
            words[i] = Token::new("your", words[i].space_before);
        }
    }
    join(&words)
}

/// A memory as a whole sentence to the person; where the rules are not sure of the verb after "you", as it stands.
pub fn said_to(text: &str, person: Option<&str>) -> String {
    let text = text.trim();
    let said = to_second_person(text, person);
    let words = tokens(&said);
    let is_wrong = |i: usize| {
        words[i].is("you") && words.among(i + 1, &["is", "has", "does", "was", "isn't", "doesn't"])
    };
    let said = if (0..words.len()).any(is_wrong) { capitalise(text) } else { capitalise(&said) };
    if said.ends_with(['.', '!', '?', '"', '”', '…']) { said } else { format!("{said}.") }
}

/// How many words at `i` name the person, and whether in the possessive.
pub(super) fn mention(words: &[Token], i: usize, name: &[String]) -> (usize, bool) {
    if words[i].is("the") && words.among(i + 1, &["user", "user's"]) {
        return (2, words[i + 1].is("user's"));
    }
    let Some((last, head)) = name.split_last() else { return (0, false) };
    if head.iter().enumerate().any(|(n, part)| words.lower(i + n) != part) {
        return (0, false);
    }
    match words.lower(i + head.len()) {
        lower if lower == last => (name.len(), false),
        lower if lower.strip_suffix("'s") == Some(last) => (name.len(), true),
        _ => (0, false),
    }
}

fn is_subject(words: &[Token], i: usize, length: usize) -> bool {
    // "and Ana are", "with Ana is": the verb belongs to others.
    let before = i.checked_sub(1).map(|p| words.lower(p)).unwrap_or_default();
    let verb = words.lower(words.after_adverbs(i + length));
    let verb = if verb == "no" { words.lower(i + length + 2) } else { verb };
    !NOT_BEFORE_A_SUBJECT.has(before) && (lexicon::is_finite(verb) || verb.ends_with('s'))
}

/// "is" → "are", "lives" → "live".
fn second_person(verb: &str) -> Option<String> {
    let looks_third = || {
        verb.len() > 3 && verb.ends_with('s') && !verb.ends_with("ss") && !lexicon::is_past(verb)
    };
    if let Some(irregular) = SECOND_PERSONS.get(verb) {
        return Some((*irregular).to_owned());
    }
    (lexicon::is_third_person(verb) || looks_third()).then(|| lexicon::base_of_third(verb))
}

/// Makes the verbs after "you" agree, those coordinated with the first as well: "Ana likes tea and
/// hates coffee".
fn disagree(words: &mut [Token], start: usize) {
    // "The user no longer takes it"
    let denied = words.lower(start) == "no" && words.lower(start + 1) == "longer";
    let first = words.after_adverbs(if denied { start + 2 } else { start });
    let Some(verb) = words.get(first) else { return };
    let auxiliary = verb.among(&["doesn't", "does"]) || lexicon::MODALS.has(&verb.lower);
    if let Some(text) = second_person(&verb.lower) {
        words[first] = Token::new(text, words[first].space_before);
    }
    if auxiliary {
        return;
    }
    for i in first + 1..words.len() {
        let t = &words[i];
        if t.within(&ENDS_SHARED_VERBS) || matches!(t.text.as_str(), ";" | ":" | "(" | "—" | ".")
        {
            return;
        }
        let at = words.after_adverbs(i + 1);
        let verb = words.lower(at);
        let shares = t.among(&["and", "or", "but"])
            && !words.is_upper(at)
            && (lexicon::is_third_person(verb) || SECOND_PERSONS.get(verb).is_some())
            && (!lexicon::NOUN_LIKE.has(&lexicon::base_of_third(verb))
                || words.get(at + 1).is_some_and(|t| t.within(&AFTER_A_SHARED_VERB)));
        if shares && let Some(text) = second_person(verb) {
            words[at] = Token::new(text, words[at].space_before);
        }
    }
}

/// Begins an acknowledgement, before a colon or a stop.
const NOTED: &str = "Noted";

/// Whether a reply says back what was noted, after a word of feeling or without one.
pub fn is_acknowledgement(text: &str) -> bool {
    const FIRST_BYTES_MAX: usize = 30;
    let at = text.find(NOTED).filter(|at| text[at + NOTED.len()..].starts_with([':', '.']));
    at.is_some_and(|at| at == 0 || at < FIRST_BYTES_MAX && text[..at].ends_with(' '))
}

/// "Noted: your dog Max is a golden retriever." Of a long message only the best is said back: who told of their week knows it.
pub fn acknowledge(statements: &[Statement], line: &Utterance, person: Option<&str>) -> String {
    const BYTES_MAX: usize = 150;
    // A relation that another statement shows already is not said twice.
    let shown: Vec<&Statement> =
        statements.iter().filter(|s| !is_shown_by_another(s, statements)).collect();
    if shown.is_empty() {
        return "All right.".into();
    }
    let said = |s: &Statement| to_second_person(s.text.trim().trim_end_matches('.'), person);
    let mut room = BYTES_MAX;
    let fits = |s: &Statement| match room.checked_sub(said(s).len()) {
        Some(left) => {
            room = left;
            true
        }
        None => false,
    };
    let (best, more) = worth_most(&shown, line, fits);
    let mut parts: Vec<String> = best.into_iter().map(said).collect();
    let mut out = NOTED.to_owned();
    if let Some(first) = parts.first_mut() {
        *first = small_you(first);
        let _ = write!(out, ": {}", parts.join(". "));
        if more > 0 {
            let _ = write!(out, ". And {more} more");
        }
    }
    out.push('.');
    if statements.iter().any(|s| s.text.contains(REMINDED)) {
        out += " I can't call out to you: ask me what is on.";
    }
    out
}

/// "Max is Ana's dog", where "Ana's dog Max …" says so, or "a dog called Max who …" what Max does.
pub(super) fn is_shown_by_another(statement: &Statement, all: &[Statement]) -> bool {
    let told = statement.subject.as_deref().and_then(|name| statement.text.strip_prefix(name));
    let who =
        told.map(|told| format!("{} who{told}", statement.subject.as_deref().unwrap_or_default()));
    if who.is_some_and(|who| all.iter().any(|s| s.text.contains(&who))) {
        return true;
    }
    if statement.attribute.as_deref() != Some("relation") {
        return false;
    }
    let (Some(name), Some(relation)) = (&statement.subject, &statement.value) else { return false };
    let phrase = format!("{relation} {name}").to_lowercase();
    let called =
        format!("{} named {name}", relation.rsplit(' ').next().unwrap_or_default()).to_lowercase();
    let called2 = called.replace(" named ", " called ");
    all.iter().any(|s| {
        let text = s.text.to_lowercase();
        !std::ptr::eq(s, statement)
            && (text.contains(&phrase) || text.contains(&called) || text.contains(&called2))
    })
}

/// "Your dog" → "your dog" after a colon.
pub(super) fn small_you(text: &str) -> String {
    for (big, small) in
        [("You ", "you "), ("Your ", "your "), ("Yours ", "yours "), ("The ", "the ")]
    {
        if let Some(rest) = text.strip_prefix(big) {
            return format!("{small}{rest}");
        }
    }
    text.to_owned()
}
