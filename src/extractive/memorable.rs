//! Of what was stated, what is worth remembering: short, one thing each, and about lasting things.
//!
//! The statements of an episode tell it whole; facts are the part of it that somebody would write
//! down. A weighted sum of signs decides (`[worth remembering]` in `assets/words/`), fitted by
//! logistic regression to what was noted of five conversations.

use std::collections::HashSet;

use super::attributes::{is_creature, main_verb, parse_statement};
use super::lexicon::{self, REACTION, STOP};
use super::lists::{Table, Words};
use super::words::{Sentence, Token, join, tokens};
use super::{Statement, Utterance, dates};

static EMPHASIS: Words = Words::new("emphasis");
static FEELINGS: Words = Words::new("feelings");
/// Stems of what people remember of each other.
pub(super) static LASTING_THINGS: Words = Words::new("lasting things");
static LOOSE_PRONOUNS: Words = Words::new("loose pronouns");
static POINTING: Words = Words::new("pointing");
static VAGUE: Words = Words::new("vague");
static WEIGHTS: Table = Table::new("worth remembering");

/// Between two people a statement is kept if its sum is at least this …
const TOLD_MIN: f64 = 0.0;
/// … and at least this if the assistant is told: it was told for a reason.
const CONFIDED_MIN: f64 = -0.9;
/// Each better fact of the same message makes the next one worth less.
const ANOTHER: f64 = 0.5;

/// A continuation joins its fact up to this many words.
const JOINED_WORDS_MAX: usize = 13;

/// The statements that are worth remembering, each made short. `lines` are the messages they come from.
pub fn memorable(statements: &[Statement], lines: &[Utterance]) -> Vec<Statement> {
    let mut kept = Vec::new();
    for of_one in statements.chunk_by(|a, b| a.messages.first() == b.messages.first()) {
        match lines.iter().find(|line| of_one[0].messages.first() == Some(&line.message)) {
            Some(line) => kept.extend(of_message(of_one, line)),
            None => kept.extend_from_slice(of_one),
        }
    }
    kept
}

/// The same for the statements of one message.
fn of_message(statements: &[Statement], line: &Utterance) -> Vec<Statement> {
    // What the assistant was told stays as it was told.
    if line.addressee.is_none() {
        return statements.iter().filter(|fact| confided(fact, line).is_some()).cloned().collect();
    }
    let short = |said: &Statement| {
        let fact =
            |text: String| Statement { messages: said.messages.clone(), ..parse_statement(&text) };
        pieces(&said.text, line).into_iter().map(fact).collect::<Vec<_>>()
    };
    let facts: Vec<Statement> = statements.iter().flat_map(short).collect();
    let scores: Vec<f64> = facts.iter().map(|fact| score(fact, line)).collect();
    let n_better = |score: f64| scores.iter().filter(|&&other| other > score).count() as f64;
    let worth = |score: f64| score - ANOTHER * n_better(score) >= TOLD_MIN;
    facts.into_iter().zip(&scores).filter(|&(_, &score)| worth(score)).map(|(f, _)| f).collect()
}

/// What a statement to the assistant is worth, if it is kept.
fn confided(fact: &Statement, line: &Utterance) -> Option<f64> {
    let worth = score(fact, line);
    let kept = fact.attribute.is_some() || worth >= CONFIDED_MIN && says_of_somebody(fact, line);
    kept.then_some(worth)
}

/// Of what is kept of a message to the assistant, what is worth the most, in its order, as many as `fit`; and how many more are kept.
pub(super) fn worth_most<'a>(
    statements: &[&'a Statement],
    line: &Utterance,
    mut fit: impl FnMut(&Statement) -> bool,
) -> (Vec<&'a Statement>, usize) {
    let worth =
        |(place, &fact): (usize, &&'a Statement)| Some((confided(fact, line)?, place, fact));
    let mut kept: Vec<_> = statements.iter().enumerate().filter_map(worth).collect();
    kept.sort_by(|(a, ..), (b, ..)| b.total_cmp(a));
    let n_kept = kept.len();
    kept.retain(|(_, _, fact)| fit(fact));
    kept.sort_by_key(|(_, place, _)| *place);
    let more = n_kept - kept.len();
    (kept.into_iter().map(|(_, _, fact)| fact).collect(), more)
}

/// "Long one on 24 November 2026" does not.
fn says_of_somebody(fact: &Statement, line: &Utterance) -> bool {
    let words = tokens(&fact.text);
    words.first().is_some_and(|t| names(t, &line.speaker)) || main_verb(&words).is_some()
}

/// Also as an owner's.
fn names(token: &Token, person: &str) -> bool {
    token.text.trim_end_matches("'s") == person
}

/// A statement without its comments, in one or more short sentences.
fn pieces(text: &str, line: &Utterance) -> Vec<String> {
    let opaque = format!("{} said: ", lexicon::capitalise(&line.speaker));
    let (said, rest) = match text.strip_prefix(&opaque) {
        Some(rest) if !rest.starts_with('"') => (true, rest),
        Some(_) => return vec![text.to_owned()],
        None => (false, text),
    };
    let mut out: Vec<String> = Vec::new();
    for part in rest.split("; ") {
        let short = concise(part);
        let words = tokens(&short);
        let loose = words.first().is_some_and(|t| t.within(&LOOSE_PRONOUNS));
        if let Some(found) = found_to_be(&words, line) {
            out.push(found);
        } else if out.is_empty() && !said {
            out.push(short);
        } else if !loose && main_verb(&words).is_some() {
            out.push(format!("{} says that {}", line.speaker, lowered(&words)));
        } else if let Some(last) = out.last_mut()
            && last.split(' ').count() + short.split(' ').count() <= JOINED_WORDS_MAX
        {
            *last = format!("{last}; {short}");
        }
    }
    out
}

/// Without the capital of a sentence's beginning, unless it is a name's.
fn lowered(words: &[Token]) -> String {
    let text = join(words);
    let first = &words[0];
    let common = STOP.has(&first.lower)
        || lexicon::is_adverb(&first.lower)
        || lexicon::is_base_verb(&first.lower)
        || first.lower.ends_with("ing")
        || LASTING_THINGS.has(&lexicon::stem(&first.lower))
        || REACTION.has(&first.lower);
    let named = words.get(1).is_some_and(|t| t.upper() && t.word);
    if common && !named && !first.is("i") {
        let mut chars = text.chars();
        let small = chars.next().into_iter().flat_map(char::to_lowercase);
        return small.chain(chars).collect();
    }
    text
}

/// "it was hard to leave" → "Ana found it hard to leave".
fn found_to_be(words: &[Token], line: &Utterance) -> Option<String> {
    let verb = match words.lower(1) {
        "is" => "finds",
        "was" => "found",
        _ => return None,
    };
    let to = words.iter().take(6).position(|t| t.among(&["to", "that", "how", "when"]))?;
    let plain = words.lower(0) == "it"
        && to > 2
        && words[2..to].iter().all(|t| t.word && !t.upper() && !t.among(&["a", "the", "like"]));
    plain.then(|| format!("{} {verb} it {}", line.speaker, join(&words[2..]).trim()))
}

/// Without emphasis and comments: "Ana is really so happy, you know" → "Ana is happy".
fn concise(text: &str) -> String {
    let mut words = tokens(text);
    let mut i = 1;
    while i < words.len() {
        let next = words.lower(i + 1);
        let measures = words[i].is("so") && words[i..].iter().any(|t| t.is("that"));
        let emphatic = words[i].within(&EMPHASIS)
            && !measures
            && words.get(i + 1).is_some_and(|t| t.word)
            && !matches!(
                next,
                "that" | "as" | "far" | "much" | "many" | "like" | "to" | "got" | "had"
            );
        if emphatic {
            words.remove(i);
        } else {
            i += 1;
        }
    }
    // A comment after a dash.
    let dash = words
        .iter()
        .position(|t| matches!(t.text.as_str(), "-" | "–" | "—" | "--") && t.space_before);
    if let Some(dash) = dash.filter(|&d| d >= 3) {
        let tail = &words[dash + 1..];
        let n = tail.iter().filter(|t| t.word).count();
        let empty = tail
            .iter()
            .filter(|t| t.word && (REACTION.has(&t.lower) || STOP.has(&t.lower)))
            .count();
        if n < 3 || n - empty <= 2 {
            words.truncate(dash);
        }
    }
    while words.len() > 3
        && words.last().is_some_and(|t| {
            !t.word && !matches!(t.text.as_str(), ")" | "\"" | "”" | "%")
                || t.among(&["too", "though", "anyway"])
        })
    {
        words.pop();
    }
    join(&words)
}

/// The sum of its signs.
fn score(fact: &Statement, line: &Utterance) -> f64 {
    let weight = |name: &str| WEIGHTS.get(name).and_then(|w| w.parse::<f64>().ok()).unwrap_or(0.0);
    signs(fact, line).into_iter().map(|(name, value)| value * weight(name)).sum()
}

/// What speaks for a statement or against it, by the names of its weights.
fn signs(fact: &Statement, line: &Utterance) -> Vec<(&'static str, f64)> {
    let words = tokens(&fact.text);
    let words: Vec<&Token> = words.iter().filter(|t| t.word).collect();
    let at = |i: usize| words.get(i).map_or("", |t| t.lower.as_str());
    let listener = line.addressee.as_deref().unwrap_or("Assistant");
    let party = |t: &Token| names(t, &line.speaker) || names(t, listener);
    let empty = |t: &Token| {
        STOP.has(&t.lower) || REACTION.has(&t.lower) || EMPHASIS.has(&t.lower) || party(t)
    };
    let content: HashSet<String> =
        words.iter().filter(|t| !empty(t)).map(|t| lexicon::stem(&t.lower)).collect();
    let content = content.len().min(12) as f64;
    let count = |max: usize, holds: &dyn Fn(&Token) -> bool| {
        words.iter().filter(|t| holds(t)).count().min(max) as f64
    };
    let flag = |holds: bool| f64::from(u8::from(holds));
    let speaks = words.first().is_some_and(|t| t.text == line.speaker);
    let verb = match at(1) {
        _ if !speaks => "",
        adverb if lexicon::is_adverb(adverb) => at(2),
        verb => verb,
    };
    let helps = matches!(verb, "is" | "was" | "were" | "has" | "had" | "did");
    let negated = |t: &Token| t.lower.ends_with("n't") || t.among(&["not", "never"]);
    vec![
        ("always", 1.0),
        ("content words", content),
        ("few or many", (1.0 + content).ln()),
        ("words", words.len().min(30) as f64),
        ("the speaker is the subject", flag(speaks)),
        ("the speaker's", flag(!speaks && words.first().is_some_and(|t| names(t, &line.speaker)))),
        ("names the listener", count(2, &|t| names(t, listener))),
        ("names others", count(4, &|t| t.upper() && !party(t) && !STOP.has(&t.lower))),
        ("dated", flag(!dates::find(&fact.text).is_empty())),
        ("event", flag(lexicon::is_past(verb) && !helps)),
        ("state", flag(matches!(verb, "is" | "was"))),
        ("habit", flag(lexicon::is_third_person(verb) && !helps)),
        ("plan", flag(fact.attribute.as_deref() == Some("plan"))),
        ("in progress", flag(fact.text.contains(" been "))),
        ("negated", flag(words.iter().any(|t| negated(t)))),
        ("feeling", flag(FEELINGS.has(&lexicon::stem(verb)))),
        ("opinion", flag(fact.text.contains(" says that "))),
        ("finding", flag(["finds it", "found it"].iter().any(|it| fact.text.contains(it)))),
        ("vague", count(3, &|t| t.within(&VAGUE))),
        ("reaction", count(4, &|t| t.within(&REACTION))),
        ("lasting", count(3, &|t| LASTING_THINGS.has(&lexicon::stem(&t.lower)))),
        ("kin", count(2, &|t| is_creature(t.lower.trim_end_matches("'s")))),
        ("points", flag(words.first().is_some_and(|t| t.within(&POINTING)))),
        ("message's length", (line.text.len() as f64 / 100.0).min(5.0)),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::tests::{cases, said};
    use super::super::{statements, titles};
    use super::*;

    #[track_caller]
    fn check(section: &str, speaker: &str, addressee: Option<&str>) {
        for (text, expected) in cases(include_str!("tests/cases/memorable.txt"), section) {
            let lines = [said(speaker, addressee, &text)];
            let facts = memorable(&statements(&lines), &lines);
            let facts: Vec<String> = facts.into_iter().map(|fact| fact.text).collect();
            assert_eq!(facts, expected, "of {text:?}");
        }
    }

    #[test]
    fn between_two_people_chatter_is_no_fact() {
        check("between two people", "Caroline", Some("Melanie"));
    }

    #[test]
    fn what_the_assistant_is_told_stays_as_it_was_told() {
        check("to the assistant", "Ana", None);
    }

    #[test]
    fn every_sign_has_its_weight() {
        let line = said("Ana", Some("Ben"), "I live in Lund");
        let fact = parse_statement("Ana lives in Lund");
        let names: Vec<&str> = signs(&fact, &line).into_iter().map(|(name, _)| name).collect();
        assert!(names.iter().all(|name| WEIGHTS.get(name).is_some()), "{names:?}");
        assert_eq!(names.len(), WEIGHTS.len());
        assert!(!titles::title(&[line]).is_empty());
    }
}
