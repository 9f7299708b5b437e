//! The person's own statements, one fact each, in the third person and with absolute dates.
//!
//! Questions, small talk and what is said to or about the assistant are dropped. Text that is not
//! English is quoted, never rewritten.

use std::collections::HashSet;
use std::sync::LazyLock;

use jiff::civil::DateTime;
use regex::Regex;

use super::antecedents::Antecedents;
use super::attributes::{is_single_valued, parse_statement};
use super::clauses::clauses;
use super::facts::{facts, relations};
use super::lexicon::{self, capitalise};
use super::person::{self, Parties};
use super::repairs::{name_the_nameless, restore_subject, strip_vocative, trim_end};
use super::words::{Token, join, tokens};
use super::{Statement, Utterance, dates, intent, language, openings, sentences, small_talk};
use crate::memory::{Role, plain_text};

/// Longer sentences are no statements of a person (a paste, a log).
const SENTENCE_CHARS_MAX: usize = 1_500;

/// Of one message; a pasted book is not a person's own statements.
const STATEMENTS_MAX: usize = 64;

/// The text of one message that is looked at.
const MESSAGE_BYTES_MAX: usize = 64 << 10;

/// A continuation ("It was wonderful.") joins the sentence before it up to this length.
const JOINED_CHARS_MAX: usize = 280;

/// The statements of a run of messages, in order.
pub fn statements(utterances: &[Utterance]) -> Vec<Statement> {
    run(utterances).0
}

/// True if the message states something, by itself or together with what was said before.
pub(super) fn says_something(utterance: &Utterance) -> bool {
    let (statements, n_loose) = run(std::slice::from_ref(utterance));
    !statements.is_empty() || n_loose > 0
}

/// The statements, and how many more sentences lack only what a pronoun in them means.
fn run(utterances: &[Utterance]) -> (Vec<Statement>, usize) {
    let mut n_loose = 0;
    let mut out: Vec<Statement> = Vec::new();
    let mut seen = HashSet::new();
    let mut memory: Vec<(String, Antecedents, DateTime)> = Vec::new();
    for utterance in utterances {
        if !is_a_person(utterance) {
            continue;
        }
        let at =
            memory.iter().position(|(name, ..)| *name == utterance.speaker).unwrap_or_else(|| {
                memory.push((utterance.speaker.clone(), Antecedents::default(), utterance.at));
                memory.len() - 1
            });
        let (_, antecedents, last) = &mut memory[at];
        if utterance.at.duration_since(*last).as_mins() > 30 {
            *antecedents = Antecedents::default();
        }
        *last = utterance.at;
        let mut made = Vec::new();
        n_loose += of_message(utterance, antecedents, &mut made);
        made.truncate(STATEMENTS_MAX);
        for statement in made {
            if seen.insert(statement.text.to_lowercase()) {
                out.push(statement);
            }
        }
    }
    (out, n_loose)
}

/// The assistant's words are nobody's memories.
fn is_a_person(utterance: &Utterance) -> bool {
    utterance.role == Role::User
        || !matches!(
            utterance.speaker.to_lowercase().as_str(),
            "" | "assistant" | "the assistant" | "inglenook" | "ai" | "system" | "bot"
        )
}

/// Returns how many sentences were dropped only because a pronoun in them is not resolved.
fn of_message(
    utterance: &Utterance,
    antecedents: &mut Antecedents,
    out: &mut Vec<Statement>,
) -> usize {
    let mut n_loose = 0;
    let text = plain_text(lexicon::clip(&utterance.text, MESSAGE_BYTES_MAX));
    let text = without_quoted(&text);
    let parties =
        Parties { speaker: &utterance.speaker, addressee: utterance.addressee.as_deref() };
    // The sentence before, if a continuation may join it.
    let mut previous: Option<usize> = None;
    for sentence in sentences(&text) {
        if out.len() >= STATEMENTS_MAX {
            break;
        }
        if sentence.len() > SENTENCE_CHARS_MAX {
            previous = None;
            continue;
        }
        match language::of(sentence) {
            language::Language::English => {}
            language::Language::Other => {
                let text =
                    format!("{} said: \"{}\"", capitalise(&utterance.speaker), sentence.trim());
                out.push(statement(text, utterance));
                previous = None;
                continue;
            }
            language::Language::None => {
                previous = None;
                continue;
            }
        }
        n_loose += of_sentence(sentence, utterance, parties, antecedents, &mut previous, out);
    }
    n_loose
}

/// Without code blocks and quoted lines: they are not the person's own words.
fn without_quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            code = !code;
            continue;
        }
        if !code && !line.trim_start().starts_with('>') {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

fn statement(text: String, utterance: &Utterance) -> Statement {
    let mut statement = parse_statement(&text);
    statement.messages = vec![utterance.message];
    statement
}

fn of_sentence(
    sentence: &str,
    utterance: &Utterance,
    parties: Parties<'_>,
    antecedents: &mut Antecedents,
    previous: &mut Option<usize>,
    out: &mut Vec<Statement>,
) -> usize {
    let mut n_loose = 0;
    // "i <3 pizza"
    let hearted = sentence.contains(" <3 ").then(|| sentence.replace(" <3 ", " love "));
    let sentence = hearted.as_deref().unwrap_or(sentence);
    let mut words = tokens(sentence);
    loop {
        let stripped = strip_vocative(&openings::strip_opening(&words), parties);
        if stripped.len() == words.len() {
            break;
        }
        words = stripped;
    }
    let told = tells(&words, sentence);
    if !told && (intent::is_question(&words, sentence) || intent::is_recall_request(&words)) {
        *previous = None;
        return 0;
    }
    trim_end(&mut words);
    // "Call me Ana."
    if words.iter().take(4).any(|t| t.is("call"))
        && words.len() <= 7
        && let Some(name) = super::user_name(sentence)
    {
        let fact = format!("{} is called {name}", parties.speaker);
        out.push(statement(fact, utterance));
        return 0;
    }
    if words.is_empty()
        || small_talk::is_thanks(sentence)
        || small_talk::is_greeting(sentence)
        || small_talk::is_small_talk(&words)
        || intent::is_request(&words)
    {
        return 0;
    }
    if is_about_the_conversation(&words) {
        return 0;
    }
    let words = restore_subject(words);
    let mut words = name_the_nameless(words);
    // "hi im tom": the name that was understood is written as one.
    if let Some(name) = super::user_name(sentence) {
        for word in &mut words {
            if let Some(part) = name.split(' ').find(|part| part.to_lowercase() == word.text) {
                *word = Token::new(part, word.space_before);
            }
        }
    }
    for clause in clauses(&words) {
        let clause = strip_vocative(&openings::strip_opening(&clause), parties);
        if clause.iter().filter(|t| t.word).count() < 2
            || small_talk::is_small_talk(&clause)
            || intent::is_request(&clause)
                && !clause.first().is_some_and(|t| t.upper() && !t.is("i"))
        {
            continue;
        }
        let clause = antecedents.resolve(clause, parties);
        let loose = starts_loose(&clause);
        let Some(third) = person::third_person(&clause, parties) else { continue };
        let text = finish(&join(&third), utterance);
        if text.chars().filter(|c| c.is_alphanumeric()).count() < 4 {
            continue;
        }
        // "I'm Ana", said by Ana.
        if text == format!("{0} is {0}", parties.speaker) {
            continue;
        }
        if loose && starts_loose(&tokens(&text)) {
            n_loose += usize::from(!loose_end(text, utterance, previous, out));
            continue;
        }
        let named = third != clause;
        antecedents.note(&text, parties);
        let first = out.len();
        for fact in facts(&text) {
            let fact = attribute_to_speaker(fact, named, utterance);
            out.push(statement(fact, utterance));
        }
        *previous = (out.len() > first).then_some(first);
        for relation in relations(&text) {
            if !out.iter().any(|s| s.text == relation) {
                out.push(statement(relation, utterance));
            }
        }
    }
    n_loose
}

/// "Did you know that I have a dog?" asks nothing.
fn tells(words: &[Token], sentence: &str) -> bool {
    let opened = tokens(sentence);
    let lower = |i: usize| opened.get(i).map(|t| t.lower.as_str()).unwrap_or_default();
    matches!(
        (lower(0), lower(1), lower(2)),
        ("did", "you", "know")
            | ("did", "i", "tell" | "mention")
            | ("can" | "could" | "would", "you", "remember" | "please" | "note")
    ) && words.len() < opened.len()
        && words.first().is_some_and(|t| t.among(&["i", "my", "our", "we"]) || t.upper())
        && words.len() > 2
}

/// "I have a question", "I told you", "I'm writing to you": nothing outside this conversation.
fn is_about_the_conversation(words: &[Token]) -> bool {
    let lower: Vec<&str> = words.iter().filter(|t| t.word).map(|t| t.lower.as_str()).collect();
    matches!(
        lower.as_slice(),
        ["i", "have", "a" | "another" | "one", "question" | "request" | "favor" | "favour", ..]
            | ["i", "was", "just" | "only", "kidding" | "joking" | "asking" | "wondering", ..]
            | [
                "i",
                "am",
                "just" | "only",
                "kidding" | "joking" | "asking" | "wondering" | "testing",
                ..
            ]
            | ["i", "said", ..]
            | ["i", "meant" | "mean", ..]
            | ["i", "told", "you", ..]
            | ["this" | "that", "is", "a" | "just", "test", ..]
            | ["that", "is", "not" | "wrong" | "right" | "correct" | "incorrect" | "all", ..]
            | ["let's" | "lets" | "let", ..]
            | ["there", "you", "go", ..]
    ) && lower.len() < 14
        || matches!(lower.as_slice(), ["here", "is" | "are", ..])
            && !lower.iter().any(|w| matches!(*w, "i" | "we" | "my" | "our"))
}

/// Begins with a pronoun that nobody resolved.
fn starts_loose(words: &[Token]) -> bool {
    words.first().is_some_and(|t| {
        t.among(&[
            "it", "he", "she", "they", "this", "that", "these", "those", "his", "her", "their",
            "its", "him", "them", "which",
        ])
    }) && !words.get(1).is_some_and(|t| {
        t.among(&["year", "month", "week", "weekend", "morning", "summer", "winter", "time"])
    })
}

/// A sentence about something said before joins it, or is quoted, or is dropped.
fn loose_end(
    text: String,
    utterance: &Utterance,
    previous: &mut Option<usize>,
    out: &mut Vec<Statement>,
) -> bool {
    if let Some(at) = *previous
        && let Some(before) = out.get_mut(at)
    {
        let single = before.attribute.as_deref().is_some_and(is_single_valued);
        if !single && before.text.len() + text.len() < JOINED_CHARS_MAX {
            let mut joined = before.text.clone();
            joined.push_str("; ");
            joined.push_str(&uncapitalise(&text));
            before.text = joined;
            return true;
        }
    }
    let substance = lexicon::content_stems(&text).len();
    if substance >= 4 {
        let name = capitalise(&utterance.speaker);
        out.push(statement(format!("{name} said: {}", uncapitalise(&text)), utterance));
        *previous = Some(out.len() - 1);
        return true;
    }
    false
}

fn uncapitalise(text: &str) -> String {
    let first = text.split(' ').next().unwrap_or_default();
    if matches!(
        first,
        "It" | "He"
            | "She"
            | "They"
            | "This"
            | "That"
            | "These"
            | "Those"
            | "His"
            | "Her"
            | "Their"
            | "Its"
            | "The"
            | "Which"
            | "Them"
            | "Him"
    ) {
        let mut chars = text.chars();
        chars.next().map(|c| c.to_lowercase().chain(chars).collect()).unwrap_or_default()
    } else {
        text.to_owned()
    }
}

/// "It is Ana's birthday on 21 November 2026".
static BIRTHDAY: LazyLock<Regex> = LazyLock::new(|| {
    super::pattern(
        r"^(?i)it (?:is|was) (.{1,60}(?:birthday|anniversary)) (on \d{1,2} [A-Z][a-z]+) \d{4}$",
    )
});

/// Dates, capital, no end mark.
fn finish(text: &str, utterance: &Utterance) -> String {
    let resolved = dates::resolve(text, utterance.at).text;
    let trimmed = resolved.trim().trim_end_matches(['.', '!', ',', ';', ':', ' ', '…']);
    let trimmed = trimmed.trim_start_matches([',', ' ', '-', '–', '—', ':']);
    // "It is Ana's birthday on 21 November 2026": the day, not the year.
    if let Some(found) = BIRTHDAY.captures(trimmed) {
        return capitalise(&format!("{} is {}", &found[1], &found[2]));
    }
    capitalise(trimmed)
}

/// Between two named people a statement that names nobody says whose it is.
fn attribute_to_speaker(fact: String, named: bool, utterance: &Utterance) -> String {
    if utterance.addressee.is_none() || named || fact.contains(utterance.speaker.as_str()) {
        return fact;
    }
    // Facts about named others stand by themselves: "Max gets anxious".
    let statement = parse_statement(&fact);
    if statement.subject.as_deref().is_some_and(lexicon::starts_upper)
        && statement.attribute.is_some()
    {
        return fact;
    }
    format!("{} said: {fact}", utterance.speaker)
}
