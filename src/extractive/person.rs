//! First person → third person: "I'm" → "Ana is", "my dog" → "Ana's dog", verbs agree.
//!
//! Names are repeated rather than replaced by a pronoun: nobody's gender is known here, and a
//! name can be turned back into "you" when the person reads it.

use super::lexicon::{self, is_adverb, is_base_verb, is_finite, is_past};
use super::lists::Words;
use super::words::{Sentence, Token};

static AFTER_A_VERB: Words = Words::new("after a verb");
static BEFORE_AN_OBJECT: Words = Words::new("before an object");
static ENDS_A_COORDINATION: Words = Words::new("ends a coordination");
static NO_VERB_TO_AGREE: Words = Words::new("no verb to agree");

/// Speaker and listener.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parties<'a> {
    pub speaker: &'a str,
    /// `None`: the assistant.
    pub addressee: Option<&'a str>,
}

impl Parties<'_> {
    /// "Ana", or "the user" inside a sentence.
    pub fn name(&self) -> String {
        inside(self.speaker)
    }

    pub fn possessive(&self) -> String {
        possessive(&self.name())
    }
}

/// "The user" → "the user"; names stay.
pub(super) fn inside(name: &str) -> String {
    match name.strip_prefix("The ") {
        Some(rest) => format!("the {rest}"),
        None => name.to_owned(),
    }
}

pub(super) fn possessive(name: &str) -> String {
    format!("{name}'s")
}

/// The sentence about the speaker in the third person; `None` if it speaks to the assistant.
pub(super) fn third_person(tokens: &[Token], parties: Parties<'_>) -> Option<Vec<Token>> {
    let mut out = tokens.to_vec();
    let mut i = 0;
    while i < out.len() {
        let mut subject = false;
        let text = match out.lower(i) {
            // Roman numerals and letters: "Henry I", "vitamin I".
            "i" if out[i].text == "I" && is_numeral(&out, i) => None,
            "i" => {
                subject = !is_coordinated(&out, i);
                Some(parties.name())
            }
            "me" => Some(parties.name()),
            "my" | "mine" | "our" | "ours" => Some(parties.possessive()),
            "myself" if i > 0 && out[i - 1].is("by") => {
                out.remove(i);
                i -= 1;
                Some("alone".to_owned())
            }
            "myself" => Some("themself".to_owned()),
            "we" | "us" => Some(group(tokens, parties)),
            "ourselves" => Some("themselves".to_owned()),
            // "you know": addressed to nobody.
            "you" if out.lower(i + 1) == "know" && out.get(i + 2).is_none_or(|t| !t.word) => None,
            "you" | "ya" | "u" => {
                subject = is_subject_you(&out, i);
                Some(parties.addressee?.to_owned())
            }
            "your" | "yours" | "ur" => Some(possessive(parties.addressee?)),
            "yourself" | "yourselves" => parties.addressee.map(|_| Some("themself".to_owned()))?,
            _ => None,
        };
        if let Some(text) = text {
            replace(&mut out, i, &text);
        }
        if subject {
            agree(&mut out, i + 1);
        }
        i += 1;
    }
    // "on my own" is not a possession.
    for i in 2..out.len() {
        if out[i].is("own") && out[i - 2].is("on") && out[i - 1].text == parties.possessive() {
            out[i - 1] = Token::new("their", true);
        }
    }
    Some(out)
}

fn is_numeral(tokens: &[Token], i: usize) -> bool {
    i > 1
        && tokens[i - 1].upper()
        && tokens[i - 1].word
        && !tokens.get(i + 1).is_some_and(|t| is_finite(&t.lower) || is_adverb(&t.lower))
        && !tokens[i - 1].among(&["and", "but", "so", "or"])
}

/// "my wife and I", "I and my wife": a plural subject keeps its verb.
fn is_coordinated(tokens: &[Token], i: usize) -> bool {
    if tokens.among(i + 1, &["and", "&"]) {
        return true;
    }
    if i == 0 || !tokens[i - 1].among(&["and", "&"]) {
        return false;
    }
    // The words before "and", back to the clause's beginning, hold no verb.
    let opens = |t: &Token| {
        matches!(t.text.as_str(), "," | ";" | ":" | "—" | "–")
            || t.among(&["that", "when", "because", "so", "but", "if"])
    };
    let clause = tokens[..i - 1].iter().rposition(opens).map_or(0, |p| p + 1);
    let before = &tokens[clause..i - 1];
    let is_verb =
        |t: &Token| is_finite(&t.lower) && !t.upper() && !lexicon::NOUN_LIKE.has(&t.lower);
    before.len() <= 6
        && before.iter().any(|t| t.word)
        && !before.iter().skip(1).any(is_verb)
        && !before.among(0, &["i", "we", "you", "he", "she", "it", "they"])
}

/// "We talked last week" is speaker and addressee; otherwise it is the speaker "and others".
fn group(tokens: &[Token], parties: Parties<'_>) -> String {
    let talks = tokens.iter().any(|t| t.among(&["chatted", "talked", "spoke", "chat", "met"]));
    match parties.addressee {
        Some(addressee) if talks && tokens.iter().any(|t| t.is("last") || t.is("since")) => {
            format!("{} and {addressee}", parties.name())
        }
        _ => format!("{} and others", parties.name()),
    }
}

fn is_subject_you(tokens: &[Token], i: usize) -> bool {
    let before = i.checked_sub(1).map(|p| tokens.lower(p)).unwrap_or_default();
    // "helping you express yourself"
    let helps = before.ends_with("ing")
        && !matches!(before, "hoping" | "thinking" | "saying" | "knowing" | "wishing");
    !helps && !BEFORE_AN_OBJECT.has(before) && is_finite(tokens.lower(tokens.after_adverbs(i + 1)))
}

/// Makes the verb after a subject that became singular third person agree, and the verbs
/// coordinated with it ("I like tea and hate coffee").
fn agree(tokens: &mut [Token], start: usize) {
    let is_skipped = |t: &&Token| is_adverb(&t.lower) && !t.is("like");
    let mut j = start + tokens.iter().skip(start).take_while(is_skipped).count();
    // "I no longer take it".
    if tokens.lower(j) == "no" || tokens.lower(j) == "longer" {
        j += tokens[j..].iter().take(2).take_while(|t| t.among(&["no", "longer"])).count();
    }
    // "I, too, like it".
    if tokens.get(j).is_some_and(|t| t.text == ",") {
        let close = tokens.iter().skip(j + 2).take(3).position(|t| t.text == ",");
        let Some(close) = close else { return };
        j += close + 3;
    }
    let Some(verb) = tokens.get(j) else { return };
    let lower = verb.lower.clone();
    if !verb.word
        || !verb.text.chars().all(|c| c.is_alphabetic() || matches!(c, '\'' | '-'))
        || verb.among(&["is", "has", "does", "isn't", "hasn't", "doesn't"])
        || lexicon::MODALS.has(&lower)
        || verb.within(&NO_VERB_TO_AGREE)
    {
        return;
    }
    if is_past_here(tokens, &lower) {
        if verb.among(&["were", "weren't"])
            && !tokens[..start].iter().any(|t| t.among(&["if", "wish"]))
        {
            replace(tokens, j, &lexicon::third_person(&lower));
        }
        return;
    }
    if !is_base_verb(&lower) {
        // "I jsut moved": a mistyped adverb.
        let next = tokens.lower(j + 1);
        if !verb.among(&["am", "have", "do", "don't", "haven't", "wanna", "are", "aren't", "ain't"])
            && (is_past(next) || lexicon::MODALS.has(next) || matches!(next, "am" | "have"))
        {
            return agree(tokens, j + 1);
        }
        if verb.upper() && j > start || lower.ends_with("ing") {
            return;
        }
    }
    let negated_do = lower == "don't" || lower == "do" && tokens.lower(j + 1) == "not";
    replace(tokens, j, &lexicon::third_person(&lower));
    if !negated_do {
        coordinate(tokens, j + 1);
    }
}

/// For "read", "put", "quit" only the rest of the sentence shows the tense.
fn is_past_here(tokens: &[Token], verb: &str) -> bool {
    if !lexicon::UNCHANGING.has(verb) {
        return is_past(verb);
    }
    let has = |words: &[&str]| tokens.iter().any(|t| t.among(words));
    verb != "read"
        && !has(&["every", "usually", "always", "often", "never", "sometimes", "daily", "each"])
        || has(&["yesterday", "ago", "last", "recently", "earlier", "once", "was", "were", "did"])
}

/// Verbs that share the subject: after "and", "or", "but", with no infinitive in between.
fn coordinate(tokens: &mut [Token], start: usize) {
    for i in start..tokens.len() {
        let token = &tokens[i];
        let infinitive = token.is("to")
            && tokens.get(i + 1).is_some_and(|t| is_base_verb(&t.lower) || is_adverb(&t.lower));
        if infinitive
            || matches!(token.text.as_str(), ";" | ":" | "—" | "–" | "-" | "(" | "\"")
            || token.within(&ENDS_A_COORDINATION)
            || lexicon::MODALS.has(&token.lower)
        {
            return;
        }
        let verb = tokens.after_adverbs(i + 1);
        if token.among(&["and", "or", "but", "then", "&"])
            && !tokens.is_upper(verb)
            && is_verb_here(tokens, verb)
        {
            let text = lexicon::third_person(tokens.lower(verb));
            replace(tokens, verb, &text);
        }
    }
}

/// A base form after "and" that is a verb, not a noun ("tea and love").
pub(super) fn is_verb_here(tokens: &[Token], j: usize) -> bool {
    let lower = tokens.lower(j);
    matches!(lower, "am" | "have" | "don't" | "do")
        || is_base_verb(lower)
            && (!is_past(lower) || lexicon::UNCHANGING.has(lower))
            && (!lexicon::NOUN_LIKE.has(lower)
                || tokens
                    .get(j + 1)
                    .is_some_and(|t| t.within(&AFTER_A_VERB) || t.lower.ends_with("'s")))
}

fn replace(tokens: &mut [Token], i: usize, text: &str) {
    tokens[i] = Token::new(text, tokens[i].space_before);
}

#[cfg(test)]
mod tests {
    use super::super::tests::cases;
    use super::super::words::{join, tokens};
    use super::*;

    #[track_caller]
    fn check(said: &str, expected: &str) {
        let parties = Parties { speaker: "Ana", addressee: None };
        let got = third_person(&tokens(said), parties).map(|t| join(&t));
        assert_eq!(got.as_deref(), Some(expected), "of {said:?}");
    }

    #[test]
    fn subjects_objects_and_possessives() {
        for (said, expected) in cases(include_str!("tests/cases/statements.txt"), "third person") {
            check(&said, &expected[0]);
        }
    }

    #[test]
    fn you_is_the_addressee_if_there_is_one() {
        let said = tokens("I love your painting and you are kind");
        let to_assistant = Parties { speaker: "Ana", addressee: None };
        assert_eq!(third_person(&said, to_assistant), None);
        let to_mel = Parties { speaker: "Ana", addressee: Some("Melanie") };
        let got = third_person(&said, to_mel).map(|t| join(&t));
        assert_eq!(got.as_deref(), Some("Ana loves Melanie's painting and Melanie is kind"));
    }

    #[test]
    fn the_user_is_small_inside() {
        let parties = Parties { speaker: "The user", addressee: None };
        let got = third_person(&tokens("Max lives with my sister"), parties).map(|t| join(&t));
        assert_eq!(got.as_deref(), Some("Max lives with the user's sister"));
    }
}
