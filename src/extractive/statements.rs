//! The person's own statements, one fact each, in the third person and with absolute dates.
//!
//! Questions, small talk and what is said to or about the assistant are dropped. Text that is not
//! English is quoted, never rewritten.

use std::collections::HashSet;

use std::sync::LazyLock;

use jiff::civil::DateTime;
use regex::Regex;

use super::antecedents::Antecedents;
use super::attributes::{is_creature, is_single_valued, parse_statement};
use super::clauses::clauses;
use super::lexicon::{self, capitalise};
use super::person::{self, Parties};
use super::words::{Token, join, tokens};
use super::{Statement, Utterance, dates, intent, language, sentences};
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
        let stripped = strip_vocative(&intent::strip_opening(&words), parties);
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
        || intent::is_thanks(sentence)
        || intent::is_greeting(sentence)
        || intent::is_small_talk(&words)
        || intent::is_request(&words)
    {
        return 0;
    }
    if is_about_the_conversation(&words) {
        return 0;
    }
    let words = restore_subject(words);
    let words = name_the_nameless(words);
    for clause in clauses(&words) {
        let clause = strip_vocative(&intent::strip_opening(&clause), parties);
        if clause.iter().filter(|t| t.word).count() < 2
            || intent::is_small_talk(&clause)
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

/// "Hey Caroline, …", "…, Mel": the name of the person spoken to.
fn strip_vocative(words: &[Token], parties: Parties<'_>) -> Vec<Token> {
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

/// Without end marks, emoji and laughter.
fn trim_end(words: &mut Vec<Token>) {
    while words.last().is_some_and(|t| {
        !t.word
            && !matches!(
                t.text.as_str(),
                ")" | "\"" | "”" | "]" | "%" | "$" | "€" | "£" | "°" | "+" | "'"
            )
            || t.among(&[
                "lol", "haha", "hahaha", "lmao", "xd", "hehe", "btw", "tho", "please", "pls",
                "right", "ok", "okay",
            ]) && words.len() > 3
    }) {
        words.pop();
    }
    // A bracket or quotation mark without its partner, left by the sentence's end.
    for (open, close) in [("(", ")"), ("\"", "\""), ("“", "”")] {
        let opens = words.iter().filter(|t| t.text == open).count();
        let closes = words.iter().filter(|t| t.text == close).count();
        let odd = if open == close { opens % 2 == 1 } else { opens != closes };
        if odd {
            words.retain(|t| t.text != open && t.text != close);
        }
    }
    words.retain(|t| t.word || !t.text.chars().all(super::sentences::is_emoji));
    if let Some(first) = words.first_mut() {
        first.space_before = false;
    }
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

const SUBJECTLESS: &[&str] = &[
    "went",
    "got",
    "saw",
    "took",
    "bought",
    "met",
    "found",
    "finished",
    "started",
    "joined",
    "signed",
    "visited",
    "tried",
    "moved",
    "watched",
    "played",
    "hiked",
    "ran",
    "won",
    "lost",
    "spent",
    "began",
    "decided",
    "booked",
    "adopted",
    "attended",
    "had",
    "ate",
    "drove",
    "flew",
    "graduated",
    "completed",
    "celebrated",
    "learned",
    "painted",
    "wrote",
    "came",
];

/// "Went to Rome yesterday", "Gonna move", "Been running a lot": the subject is "I".
fn restore_subject(mut words: Vec<Token>) -> Vec<Token> {
    let mut j = 0;
    while words.get(j).is_some_and(|t| {
        t.among(&["just", "recently", "finally", "also", "already", "actually", "still", "even"])
    }) {
        j += 1;
    }
    let Some(first) = words.get(j) else { return words };
    let next = words.get(j + 1).map(|t| t.lower.clone()).unwrap_or_default();
    let insert: &[&str] = match first.lower.as_str() {
        lower if SUBJECTLESS.contains(&lower) => {
            if matches!(next.as_str(), "me" | "my" | "us") && matches!(lower, "took" | "got") {
                return words;
            }
            &["I"]
        }
        "gonna" => &["I", "am"],
        "going" if next == "to" => &["I", "am"],
        "been" if next.ends_with("ing") => &["I", "have"],
        "have" | "am" | "love" | "hate" | "live" | "work" | "like" | "need" | "want" | "enjoy"
            if j == 0 && words.len() > 2 =>
        {
            if matches!(next.as_str(), "is" | "was" | "you" | "it" | "that" | "this" | "your") {
                return words;
            }
            &["I"]
        }
        lower if lower.ends_with("ing") && lower.len() > 4 => {
            // A gerund that is a subject has its verb: "Painting is fun".
            let verb = words
                .iter()
                .skip(j + 1)
                .take_while(|t| !matches!(t.text.as_str(), "—" | "–" | "-" | ";"))
                .any(|t| {
                    lexicon::AUXILIARIES.contains(t.lower.as_str())
                        || lexicon::MODALS.contains(t.lower.as_str())
                        || lexicon::is_third_person(&t.lower)
                        || t.lower.ends_with("'s")
                        || lexicon::is_past(&t.lower)
                });
            let base = lower.trim_end_matches("ing");
            let known = lexicon::is_base_verb(base)
                || lexicon::is_base_verb(&format!("{base}e"))
                || base.len() > 2
                    && lexicon::is_base_verb(
                        &base[..base.len() - base.chars().next_back().map_or(0, char::len_utf8)],
                    );
            if verb || !known {
                return words;
            }
            &["I", "am"]
        }
        _ => return words,
    };
    let mut restored: Vec<Token> = insert.iter().map(|w| Token::new(*w, true)).collect();
    for (n, mut word) in words.drain(..).enumerate() {
        if n == 0 {
            word.space_before = true;
            if !word.text.chars().skip(1).any(char::is_uppercase) {
                word = Token::new(word.lower.clone(), true);
            }
        }
        restored.push(word);
    }
    restored[0].space_before = false;
    restored
}

/// "my dog max is", "a cat called tom": names typed small get their capital.
fn name_the_nameless(mut words: Vec<Token>) -> Vec<Token> {
    // "My boss, Karen, is strict": the name without its commas.
    let mut i = 1;
    while i + 2 < words.len() {
        let closes = words.get(i + 3).is_none_or(|t| t.text == ",");
        let owned = words[..i].iter().rev().take(3).any(|t| t.among(&["my", "our"]));
        if is_creature(&words[i].lower)
            && (!words[i].lower.ends_with('s') || words[i].is("boss"))
            && owned
            && words[i + 1].text == ","
            && is_name(&words[i + 2])
            && closes
        {
            if i + 3 < words.len() {
                words.remove(i + 3);
            }
            words.remove(i + 1);
        }
        // "My dog (Max) is sick".
        if is_creature(&words[i].lower)
            && owned
            && words.get(i + 1).is_some_and(|t| t.text == "(")
            && words.get(i + 2).is_some_and(is_name)
            && words.get(i + 3).is_some_and(|t| t.text == ")")
        {
            words.remove(i + 3);
            words.remove(i + 1);
            words[i + 1].space_before = true;
        }
        i += 1;
    }
    for i in 1..words.len() {
        let word = &words[i];
        let plain = word.word
            && word.text.chars().all(char::is_lowercase)
            && word.text.chars().count() > 1
            && !lexicon::STOP.contains(word.lower.as_str());
        if !plain {
            continue;
        }
        let before = words[i - 1].lower.as_str();
        let known = lexicon::is_finite(&word.lower)
            || lexicon::is_adverb(&word.lower)
            || lexicon::is_participle(&word.lower)
            || is_creature(&word.lower)
            || word.lower.ends_with("ing");
        let after_kin = is_creature(before)
            && !before.ends_with('s')
            && i >= 2
            && words[..i - 1].iter().rev().take(3).any(|t| t.among(&["my", "our"]))
            && !known
            && !word.space_before_is_missing()
            && words.get(i + 1).is_none_or(|t| {
                !t.word
                    || lexicon::AUXILIARIES.contains(t.lower.as_str())
                    || lexicon::MODALS.contains(t.lower.as_str())
                    || lexicon::is_third_person(&t.lower)
                    || lexicon::is_past(&t.lower)
                    || t.among(&["and", "who", "in", "from"])
            });
        let naming = matches!(before, "named" | "called")
            && !matches!(
                word.lower.as_str(),
                "after" | "for" | "off" | "back" | "him" | "her" | "in" | "sick" | "it"
            )
            || before == "is" && i >= 2 && (words[i - 2].is("name") || words[i - 2].is("name's"))
            || matches!(before, "name's" | "names")
                && words[..i - 1].iter().any(|t| t.is("my") || t.among(&["his", "her", "its"]));
        if after_kin || naming {
            let capital = capitalise(&word.text);
            let space = word.space_before;
            let stated = before == "is";
            words[i] = Token::new(capital, space);
            // "my name is bob smith"
            let surname = stated
                && words.get(i + 1).is_some_and(|t| {
                    t.word
                        && t.text.chars().all(char::is_lowercase)
                        && !lexicon::STOP.contains(t.lower.as_str())
                        && !lexicon::is_finite(&t.lower)
                        && !lexicon::is_adverb(&t.lower)
                })
                && words.get(i + 2).is_none_or(|t| !t.word || t.is("and"));
            if surname {
                words[i + 1] = Token::new(capitalise(&words[i + 1].text), true);
            }
        }
    }
    words
}

impl Token {
    fn space_before_is_missing(&self) -> bool {
        !self.space_before
    }
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

/// Appositions and relative clauses as facts of their own.
pub(super) fn facts(text: &str) -> Vec<String> {
    let words = tokens(text);
    let commas: Vec<usize> =
        words.iter().enumerate().filter(|(_, t)| t.text == ",").map(|(i, _)| i).collect();
    if let [open, close, ..] = commas.as_slice()
        && *open <= 6
        && close - open <= 10
        && *close + 1 < words.len()
    {
        let subject = &words[..*open];
        let inside = &words[open + 1..*close];
        let rest = &words[close + 1..];
        let named = subject.iter().any(|t| t.upper() && t.word)
            && !subject.iter().any(|t| lexicon::is_finite(&t.lower) && !t.upper());
        let article =
            inside.first().is_some_and(|t| t.among(&["a", "an", "the"]) || t.lower.ends_with("'s"));
        let rest_verb = rest.first().is_some_and(|t| {
            lexicon::is_finite(&t.lower)
                || lexicon::is_adverb(&t.lower)
                    && rest.get(1).is_some_and(|v| lexicon::is_finite(&v.lower))
        });
        let who = inside.first().is_some_and(|t| t.among(&["who", "which"]))
            && inside.get(1).is_some_and(|t| lexicon::is_finite(&t.lower));
        if named && rest_verb && (article || who) && !inside.iter().any(|t| t.is("and")) {
            let subject_text = join(subject);
            let middle = if who { join(&inside[1..]) } else { format!("is {}", join(inside)) };
            let mut out = vec![format!("{subject_text} {}", middle.trim())];
            out.extend(facts(&format!("{subject_text} {}", join(rest).trim())));
            return out;
        }
    }
    // "has a dog named Max who is 5", "lives with Ana's sister Emily, who is a nurse".
    if let Some(who) = words.iter().position(|t| t.is("who"))
        && who >= 3
        && words.get(who + 1).is_some_and(|t| {
            lexicon::AUXILIARIES.contains(t.lower.as_str())
                || lexicon::is_third_person(&t.lower)
                || lexicon::is_past(&t.lower)
        })
    {
        let comma = words[who - 1].text == ",";
        let end = if comma { who - 1 } else { who };
        let name = &words[end - 1];
        let has_name = name.upper()
            && name.word
            && !name.lower.ends_with("'s")
            && words[..end - 1]
                .iter()
                .rev()
                .take(3)
                .any(|t| is_creature(&t.lower) || t.among(&["named", "called"]));
        if has_name && words.len() > who + 2 && !words[who + 1..].iter().any(|t| t.text == ",") {
            return vec![join(&words[..end]), format!("{} {}", name.text, join(&words[who + 1..]))];
        }
    }
    copula_list(&words).or_else(|| coordinated(&words)).unwrap_or_else(|| vec![text.to_owned()])
}

/// "Ana is Ana, 34, from Porto and allergic to nuts": one fact each.
fn copula_list(words: &[Token]) -> Option<Vec<String>> {
    let is = words.iter().take(6).position(|t| t.is("is"))?;
    if is == 0 || words.len() > 40 {
        return None;
    }
    let subject = join(&words[..is]);
    let mut segments: Vec<&[Token]> = Vec::new();
    let mut start = is + 1;
    for i in is + 1..words.len() {
        if words[i].text == "," || words[i].is("and") {
            if i > start {
                segments.push(&words[start..i]);
            }
            start = i + 1;
        }
    }
    segments.push(words.get(start..)?);
    if segments.len() < 2 {
        return None;
    }
    let age = |s: &[Token]| {
        s.first().is_some_and(|t| lexicon::number(&t.text).is_some_and(|n| n > 3))
            && (s.len() == 1 || s.get(1).is_some_and(|t| t.among(&["years", "yo"])))
    };
    let has_age = segments.iter().any(|s| age(s));
    let whole = |s: &[Token]| {
        let low = join(s).to_lowercase();
        let name = s.len() <= 2
            && s.iter().all(|t| {
                t.word
                    && (t.upper()
                        || has_age && s.len() == 1 && t.text.chars().all(char::is_alphabetic))
            });
        age(s)
            || name && super::names::may_be_a_name(&capitalise(&join(s)))
            || [
                "from ",
                "originally from ",
                "allergic to ",
                "based in ",
                "married",
                "single",
                "divorced",
                "vegetarian",
                "vegan",
            ]
            .iter()
            .any(|p| low.starts_with(p))
            || s.first().is_some_and(|t| t.among(&["a", "an"])) && s.len() >= 2
    };
    segments.iter().all(|s| !s.is_empty() && whole(s)).then(|| {
        segments
            .iter()
            .enumerate()
            .map(|(n, s)| {
                let mut text = join(s);
                if n == 0 && s.len() == 1 && has_age && !age(s) {
                    text = capitalise(&text);
                }
                format!("{subject} is {}", text.trim())
            })
            .collect()
    })
}

/// "Mia loves dinosaurs and hates broccoli": one fact each.
fn coordinated(words: &[Token]) -> Option<Vec<String>> {
    if words.len() > 40 {
        return None;
    }
    let verb = words
        .iter()
        .take(7)
        .skip(1)
        .position(|t| lexicon::is_third_person(&t.lower) && !t.upper())?
        + 1;
    let subject = &words[..verb];
    // Only a plain subject is repeated.
    if subject.iter().any(|t| {
        !t.word || t.among(&["and", "who", "that", "which", "when", "if", "since", "because"])
    }) {
        return None;
    }
    for i in verb + 2..words.len().saturating_sub(2) {
        let t = &words[i];
        if t.among(&[
            "who", "that", "which", "because", "when", "if", "while", "where", "what", "how",
            "whose", "since", "so",
        ]) || matches!(t.text.as_str(), ";" | ":" | "\"" | "(")
        {
            return None;
        }
        if !t.among(&["and", "but"]) {
            continue;
        }
        let end = if words[i - 1].text == "," { i - 1 } else { i };
        let mut j = i + 1;
        while words.get(j).is_some_and(|t| lexicon::is_adverb(&t.lower)) {
            j += 1;
        }
        let Some(second) = words.get(j) else { continue };
        let verb_like = !second.upper()
            && lexicon::is_third_person(&second.lower)
            && (!lexicon::is_noun_like(&lexicon::base_of_third(&second.lower))
                || words.get(j + 1).is_some_and(|t| {
                    t.among(&[
                        "as", "at", "for", "in", "with", "the", "a", "an", "it", "to", "on", "from",
                    ])
                }));
        if verb_like {
            let subject = join(subject);
            let mut out = vec![join(&words[..end])];
            out.extend(facts(&format!("{subject} {}", join(&words[i + 1..]).trim())));
            return Some(out);
        }
    }
    None
}

/// "Ana's dog Max" → "Max is Ana's dog": the relation outlives whatever else the sentence says.
fn relations(text: &str) -> Vec<String> {
    let words = tokens(text);
    let mut out = Vec::new();
    for i in 1..words.len() {
        if !words[i - 1].lower.ends_with("'s") || out.len() >= 4 {
            continue;
        }
        let user = i >= 2 && words[i - 1].is("user's") && words[i - 2].is("the");
        let Some(kind) = (i..words.len().min(i + 3)).find(|&k| is_creature(&words[k].lower)) else {
            continue;
        };
        if words[i..kind].iter().any(|t| !t.word || t.upper())
            || words[kind].lower.ends_with('s') && !words[kind].is("boss")
        {
            continue;
        }
        let names: Vec<&Token> =
            words[kind + 1..].iter().take(2).take_while(|t| is_name(t)).collect();
        if names.is_empty() {
            continue;
        }
        let name =
            names.iter().map(|t| t.text.trim_end_matches("'s")).collect::<Vec<_>>().join(" ");
        let owner = if user { "the user's".to_owned() } else { words[i - 1].text.clone() };
        let owner = match owner.as_str() {
            "The" => "the".to_owned(),
            _ => owner,
        };
        let relation = format!("{name} is {owner} {}", join(&words[i..=kind]).trim());
        if !text.ends_with(&relation) {
            out.push(relation);
        }
    }
    // "Ana has a sister, Emily, and a brother, Tom".
    if let Some(verb) = words.iter().position(|t| t.is("has")).filter(|&v| (1..=2).contains(&v)) {
        for i in verb + 2..words.len().saturating_sub(2) {
            if words[i - 1].among(&["a", "an"])
                && is_creature(&words[i].lower)
                && words[i + 1].text == ","
                && is_name(&words[i + 2])
                && words.get(i + 3).is_none_or(|t| t.text == "," || t.is("and"))
            {
                let owner = person::possessive(&person::inside(&join(&words[..verb])));
                out.push(format!("{} is {owner} {}", words[i + 2].text, words[i].text));
            }
        }
    }
    // "Ana has a dog named Max".
    for i in 3..words.len().saturating_sub(1) {
        if words[i].among(&["named", "called"])
            && is_creature(&words[i - 1].lower)
            && is_name(&words[i + 1])
            && words.iter().take(i).any(|t| t.among(&["has", "got", "adopted", "bought"]))
            && !words[i - 1].lower.ends_with('s')
        {
            let Some(verb) =
                words.iter().position(|t| t.among(&["has", "got", "adopted", "bought"]))
            else {
                continue;
            };
            let owner = join(&words[..verb]);
            let owner = owner.trim_end_matches(" just").trim_end_matches(" also");
            if owner.is_empty() || owner.split(' ').count() > 3 || owner.contains(" and ") {
                continue;
            }
            out.push(format!(
                "{} is {} {}",
                words[i + 1].text,
                person::possessive(&person::inside(owner)),
                words[i - 1].text
            ));
        }
    }
    out
}

/// A capitalised word that is no weekday, month or language.
fn is_name(token: &Token) -> bool {
    token.word
        && token.upper()
        && token.text.chars().all(|c| c.is_alphabetic() || matches!(c, '\'' | '-'))
        && !lexicon::MONTHS.contains(&token.text.as_str())
        && !lexicon::WEEKDAYS.contains(&token.text.as_str())
        && !token.is("i")
        && !matches!(
            token.lower.as_str(),
            "english" | "spanish" | "french" | "german" | "swedish" | "christmas"
        )
}
