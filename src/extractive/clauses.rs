//! One fact each: coordinated clauses, appositions and relative clauses taken apart where that is
//! safe. What can't be split safely stays whole.

use super::lexicon::{self, is_adverb, is_finite};
use super::lists::Words;
use super::words::{Sentence, Token};

static CARRIES_ON: Words = Words::new("carries on");
static NOT_BEFORE_A_SHARED_SUBJECT: Words = Words::new("not before a shared subject");
static OF_FACTS: Words = Words::new("of facts");
static SUBJECTS: Words = Words::new("subjects");
static SUBORDINATORS: Words = Words::new("subordinators");

/// The clauses of a sentence in the first person, each with its own subject.
pub(super) fn clauses(tokens: &[Token]) -> Vec<Vec<Token>> {
    let mut parts: Vec<Vec<Token>> = Vec::new();
    let mut start = 0;
    let mut i = 1;
    while i < tokens.len() {
        let Some(next) = boundary(&tokens[start..], i - start) else {
            i += 1;
            continue;
        };
        // "I'm 34, live in Lund": only a plain "I" is safe to repeat.
        let repeats = tokens[start].is("i");
        parts.push(tokens[start..i].to_vec());
        start = (start + next).min(tokens.len());
        if repeats
            && let Some(first) = tokens.get(start)
            && !begins_with_subject(&tokens[start..])
            && !first.within(&SUBORDINATORS)
        {
            let mut right = vec![Token::new("I", false), Token::new(&*first.text, true)];
            right.extend_from_slice(&tokens[start + 1..]);
            parts.extend(clauses(&right));
            return parts;
        }
        i = start + 1;
    }
    parts.push(tokens[start..].to_vec());
    parts.retain(|p| p.iter().any(|t| t.word));
    parts
}

/// If a clause ends before token `i`: where the next one begins.
fn boundary(tokens: &[Token], i: usize) -> Option<usize> {
    let token = &tokens[i];
    let conjunction = |t: &Token| t.among(&["and", "but", "plus", "&"]);
    let spaced = tokens.get(i + 1).is_some_and(|t| t.space_before);
    let next = match token.text.as_str() {
        ";" => i + 1,
        "—" | "–" | "-" if spaced && token.space_before => i + 1,
        "," => i + 1 + usize::from(tokens.get(i + 1).is_some_and(conjunction)),
        _ if conjunction(token) || is_consequence(tokens, i) => i + 1,
        _ if runs_on(tokens, i) => i,
        _ => return None,
    };
    let left = &tokens[..i];
    let right = &tokens[next.min(tokens.len())..];
    if right.iter().filter(|t| t.word).count() < 2 || !is_clause(left) {
        return None;
    }
    if !begins_with_subject(right) && !right[0].within(&SUBORDINATORS) {
        let after_comma = tokens[next - 1].text == ",";
        return may_share_i(left, right, after_comma).then_some(next);
    }
    is_clause(right).then_some(next)
}

/// "I had a bypass, so I take …", not "so I could …".
fn is_consequence(tokens: &[Token], i: usize) -> bool {
    tokens[i].is("so")
        && tokens.among(i + 1, &["i", "we"])
        && !lexicon::MODALS.has(tokens.lower(i + 2))
}

/// "I'm 34, live in Lund and work as a nurse": "I" may be repeated.
fn may_share_i(left: &[Token], right: &[Token], after_comma: bool) -> bool {
    let infinitive = left
        .windows(2)
        .any(|w| w[0].is("to") && !w[0].upper() && lexicon::is_base_verb(&w[1].lower));
    let modal = left
        .iter()
        .any(|t| lexicon::MODALS.has(&t.lower) || t.within(&NOT_BEFORE_A_SHARED_SUBJECT));
    let at = right.after_adverbs(0);
    let verb = right.lower(at);
    left.lower(0) == "i"
        && !infinitive
        && !modal
        && OF_FACTS.has(verb)
        // "stuff, like my bowl"
        && !(verb == "like" && after_comma)
        && (super::person::is_verb_here(right, at) || lexicon::is_past(verb))
}

/// "im 25 i live in paris", "i have a dog hes called rex": a new clause without any mark.
fn runs_on(tokens: &[Token], i: usize) -> bool {
    let begins = match tokens.lower(i) {
        "i" => {
            tokens.among(i + 1, &["am", "live", "work"])
                || tokens.lower(i + 1) == "have"
                    && tokens.among(i + 2, &["a", "an", "two", "three"])
        }
        "he" | "she" | "it" => {
            tokens.lower(i + 1) == "is"
                && (tokens.among(i + 2, &["a", "an", "called", "named"])
                    || lexicon::number(tokens.lower(i + 2)).is_some())
        }
        "my" => tokens.lower(i + 2) == "is",
        _ => false,
    };
    let before = &tokens[i - 1];
    let carried = !before.word
        || before.within(&SUBORDINATORS)
        || before.within(&CARRIES_ON)
        || is_adverb(&before.lower);
    // "the house I live in"
    let relative = i >= 2
        && tokens[i - 2].among(&["the", "this", "that", "these", "those", "every"])
        || tokens
            .iter()
            .rfind(|t| t.word)
            .is_some_and(|t| t.among(&["in", "at", "for", "with", "on", "to", "of"]));
    begins && !carried && !relative && tokens.len() > i + 2
}

fn begins_with_subject(tokens: &[Token]) -> bool {
    let skipped = |t: &&Token| is_adverb(&t.lower) && !t.among(&["all", "both"]) || t.text == ",";
    let j = tokens.iter().take_while(skipped).count();
    let Some(first) = tokens.get(j) else { return false };
    if first.within(&SUBJECTS) {
        return !first.among(&["this", "that", "it", "there", "his", "her", "its", "their"])
            || tokens.iter().skip(j).take(5).any(|t| is_finite(&t.lower));
    }
    // "and the repair guy can only come on Monday"
    let helps = |t: &Token| {
        lexicon::helps(&t.lower) && !t.among(&["do", "does", "did"])
            || lexicon::MODALS.has(&t.lower)
    };
    if first.is("the") && tokens.iter().skip(j + 2).take(3).any(helps) {
        return true;
    }
    let next = tokens.lower(j + 1);
    // "leo is 6 and mia is 3".
    let small_name = tokens.among(j + 1, &STATING)
        && tokens.len() > j + 2
        && !lexicon::STOP.has(&first.lower)
        && !is_finite(&first.lower)
        && !first.lower.ends_with("ing");
    // "Max is", "Emily lives".
    // "…, Mondays closed"
    let is_day = lexicon::is_month_or_weekday(first.lower.trim_end_matches('s'));
    let name =
        first.upper() && lexicon::is_clearly_finite(next) && !(is_day && lexicon::is_past(next));
    first.word && (small_name || name || owes(&tokens[j..]))
}

/// "… and the noodle bar owes me 180"
fn owes(tokens: &[Token]) -> bool {
    (1..5).any(|i| tokens.lower(i) == "owes") && !lexicon::STOP.has(&tokens[0].lower)
}

/// Verbs that may follow a name typed in lowercase.
const STATING: [&str; 6] = ["is", "has", "was", "loves", "likes", "lives"];

/// Whether it has its own subject and verb and depends on nothing.
fn is_clause(tokens: &[Token]) -> bool {
    let skipped = |t: &&Token| !t.word || is_adverb(&t.lower) && !t.is("even");
    let j = tokens.iter().take_while(skipped).count();
    let Some(first) = tokens.get(j) else { return false };
    let subject = first.within(&SUBJECTS)
        || first.upper()
        || first.among(&["the", "a", "one"])
        || tokens.among(j + 1, &STATING)
        || owes(&tokens[j..]);
    subject && !first.within(&SUBORDINATORS) && verb_of(&tokens[j..]).is_some()
}

/// Where the first finite verb after the subject stands.
fn verb_of(tokens: &[Token]) -> Option<usize> {
    (1..tokens.len().min(12)).find(|&i| {
        let t = &tokens[i];
        if t.text == "'s" {
            return true;
        }
        let strong = lexicon::helps(&t.lower)
            || lexicon::is_past(&t.lower)
            || lexicon::is_third_person(&t.lower)
                && (i > 1
                    || tokens[0].upper()
                    || tokens[0].among(&["he", "she", "it", "this", "that"]));
        let after_pronoun = tokens[0].among(&["i", "we", "they"])
            && tokens[1..i].iter().all(|t| is_adverb(&t.lower))
            && t.word;
        let plural = lexicon::is_base_verb(&t.lower)
            && i > 1
            && !lexicon::NOUN_LIKE.has(&t.lower)
            && !tokens[i - 1].is("to");
        strong || after_pronoun || plural
    })
}
