//! First person → third person: "I'm" → "Ana is", "my dog" → "Ana's dog", verbs agree.
//!
//! Names are repeated rather than replaced by a pronoun: nobody's gender is known here, and a
//! name can be turned back into "you" when the person reads it.

use super::lexicon::{self, is_adverb, is_base_verb, is_finite, is_past};
use super::words::Token;

/// Who says it to whom.
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
        let space = out[i].space_before;
        match out[i].lower.as_str() {
            // Roman numerals and letters: "Henry I", "vitamin I".
            "i" if out[i].text == "I" && is_numeral(&out, i) => {}
            "i" => {
                let plural = is_coordinated(&out, i);
                out[i] = Token::new(parties.name(), space);
                if !plural {
                    agree(&mut out, i + 1);
                }
            }
            "me" => out[i] = Token::new(parties.name(), space),
            "my" | "mine" => out[i] = Token::new(parties.possessive(), space),
            "myself" => {
                let alone = i > 0 && out[i - 1].is("by");
                if alone {
                    out[i - 1] = Token::new("alone", out[i - 1].space_before);
                    out.remove(i);
                    continue;
                }
                out[i] = Token::new("themself", space);
            }
            "we" => {
                out[i] = Token::new(group(tokens, parties), space);
            }
            "us" => {
                out[i] = Token::new(group(tokens, parties), space);
            }
            "our" | "ours" => out[i] = Token::new(parties.possessive(), space),
            "ourselves" => out[i] = Token::new("themselves", space),
            "you" | "ya" | "u" => {
                if out[i].is("you") && is_generic(&out, i) {
                    i += 1;
                    continue;
                }
                let addressee = parties.addressee?;
                let subject = is_subject_you(&out, i);
                out[i] = Token::new(addressee, space);
                if subject {
                    agree(&mut out, i + 1);
                }
            }
            "your" | "yours" | "ur" => {
                let addressee = parties.addressee?;
                out[i] = Token::new(possessive(addressee), space);
            }
            "yourself" | "yourselves" => {
                parties.addressee?;
                out[i] = Token::new("themself", space);
            }
            _ => {}
        }
        i += 1;
    }
    // "on my own" is no possession.
    for i in 2..out.len() {
        if out[i].is("own") && out[i - 2].is("on") && out[i - 1].text == parties.possessive() {
            out[i - 1] = Token::new("their", true);
        }
    }
    Some(out)
}

fn is_numeral(tokens: &[Token], i: usize) -> bool {
    i > 0
        && tokens[i - 1].upper()
        && tokens[i - 1].word
        && i > 1
        && !tokens.get(i + 1).is_some_and(|t| is_finite(&t.lower) || is_adverb(&t.lower))
        && !tokens[i - 1].among(&["and", "but", "so", "or"])
}

/// "my wife and I", "I and my wife": a plural subject keeps its verb.
fn is_coordinated(tokens: &[Token], i: usize) -> bool {
    if tokens.get(i + 1).is_some_and(|t| t.among(&["and", "&"])) {
        return true;
    }
    if i == 0 || !tokens[i - 1].among(&["and", "&"]) {
        return false;
    }
    // The words before "and", back to the clause's beginning, hold no verb.
    let clause = tokens[..i - 1]
        .iter()
        .rposition(|t| {
            matches!(t.text.as_str(), "," | ";" | ":" | "—" | "–")
                || t.among(&["that", "when", "because", "so", "but", "if"])
        })
        .map_or(0, |p| p + 1);
    let before = &tokens[clause..i - 1];
    !before.is_empty()
        && before.len() <= 6
        && !before.iter().enumerate().any(|(n, t)| {
            n > 0 && is_finite(&t.lower) && !t.upper() && !lexicon::is_noun_like(&t.lower)
        })
        && before.iter().any(|t| t.word)
        && !before.first().is_some_and(|t| t.among(&["i", "we", "you", "he", "she", "it", "they"]))
}

/// "My husband and I went. We …" names the group; otherwise it is the speaker "and others".
fn group(tokens: &[Token], parties: Parties<'_>) -> String {
    let talks = tokens.iter().any(|t| t.among(&["chatted", "talked", "spoke", "chat", "met"]));
    match parties.addressee {
        Some(addressee) if talks && tokens.iter().any(|t| t.is("last") || t.is("since")) => {
            format!("{} and {addressee}", parties.name())
        }
        _ => format!("{} and others", parties.name()),
    }
}

/// "you know", "as you can see": said of nobody.
fn is_generic(tokens: &[Token], i: usize) -> bool {
    tokens.get(i + 1).is_some_and(|t| t.is("know")) && tokens.get(i + 2).is_none_or(|t| !t.word)
}

fn is_subject_you(tokens: &[Token], i: usize) -> bool {
    let mut j = i + 1;
    while tokens.get(j).is_some_and(|t| is_adverb(&t.lower)) {
        j += 1;
    }
    let Some(next) = tokens.get(j) else { return false };
    let before = i.checked_sub(1).map(|p| tokens[p].lower.as_str()).unwrap_or_default();
    if matches!(
        before,
        "for"
            | "to"
            | "with"
            | "of"
            | "about"
            | "at"
            | "from"
            | "on"
            | "by"
            | "like"
            | "thank"
            | "thanks"
            | "tell"
            | "told"
            | "show"
            | "give"
            | "gave"
            | "ask"
            | "see"
            | "meet"
            | "love"
            | "miss"
            | "bless"
            | "let"
            | "help"
            | "make"
            | "makes"
            | "made"
            | "keep"
            | "keeps"
            | "keeping"
            | "wish"
            | "join"
    ) {
        return false;
    }
    // "helping you express yourself"
    if before.ends_with("ing")
        && !matches!(before, "hoping" | "thinking" | "saying" | "knowing" | "wishing")
    {
        return false;
    }
    is_finite(&next.lower)
}

/// Makes the verb after a subject that became singular third person agree, and the verbs
/// coordinated with it ("I like tea and hate coffee").
fn agree(tokens: &mut [Token], start: usize) {
    let mut j = start;
    while tokens.get(j).is_some_and(|t| is_adverb(&t.lower) && !t.is("like")) {
        j += 1;
    }
    // "I, too, like it".
    if tokens.get(j).is_some_and(|t| t.text == ",") {
        let close = tokens.iter().enumerate().skip(j + 1).take(4).find(|(_, t)| t.text == ",");
        match close {
            Some((c, _)) if c > j + 1 => j = c + 1,
            _ => return,
        }
    }
    let Some(verb) = tokens.get(j) else { return };
    let lower = verb.lower.clone();
    let after = tokens.get(j + 1).map(|t| t.lower.clone()).unwrap_or_default();
    // No verb of ours, or one that does not change.
    if !verb.word
        || matches!(lower.as_str(), "is" | "has" | "does" | "isn't" | "hasn't" | "doesn't")
        || !verb.text.chars().all(|c| c.is_alphabetic() || matches!(c, '\'' | '-'))
        || lexicon::MODALS.contains(lower.as_str())
        || matches!(
            lower.as_str(),
            "and"
                | "or"
                | "in"
                | "on"
                | "at"
                | "to"
                | "the"
                | "of"
                | "with"
                | "who"
                | "that"
                | "been"
                | "gone"
                | "done"
                | "seen"
                | "didn't"
                | "hadn't"
                | "couldn't"
                | "for"
                | "from"
        )
    {
        return;
    }
    let past = if lexicon::is_unchanging(&lower) {
        // "read", "put", "quit": the sentence has to tell.
        let habit = tokens.iter().any(|t| {
            t.among(&["every", "usually", "always", "often", "never", "sometimes", "daily", "each"])
        });
        lower != "read" && !habit
            || tokens.iter().any(|t| {
                t.among(&["yesterday", "ago", "last", "recently", "earlier", "once"])
                    || matches!(t.lower.as_str(), "was" | "were" | "did")
            })
    } else {
        is_past(&lower) && !matches!(lower.as_str(), "lay" | "found" | "felt")
            || matches!(lower.as_str(), "found" | "felt" | "lay")
    };
    if past {
        if matches!(lower.as_str(), "were" | "weren't")
            && !tokens[..start].iter().any(|t| t.among(&["if", "wish"]))
        {
            replace(tokens, j, &lexicon::third_person(&lower));
        }
        // "grew up in Rome and live in Lund": the mixed tense is left to clause splitting.
        return;
    }
    // "I jsut moved": a mistyped adverb.
    let next = tokens.get(j + 1).map(|t| t.lower.clone()).unwrap_or_default();
    if !is_base_verb(&lower)
        && !matches!(
            lower.as_str(),
            "am" | "have" | "do" | "don't" | "haven't" | "wanna" | "are" | "aren't" | "ain't"
        )
        && (is_past(&next)
            || lexicon::MODALS.contains(next.as_str())
            || matches!(next.as_str(), "am" | "have"))
    {
        agree(tokens, j + 1);
        return;
    }
    // A noun after the name: "I, nurse" never happens; unknown words are verbs here.
    if verb.upper() && j > start && !is_base_verb(&lower) {
        return;
    }
    if lower.ends_with("ing") && !is_base_verb(&lower) {
        return;
    }
    let negated_do = matches!(lower.as_str(), "don't") || (lower == "do" && after == "not");
    replace(tokens, j, &lexicon::third_person(&lower));
    if !negated_do {
        coordinate(tokens, j + 1);
    }
}

/// Verbs that share the subject: after "and", "or", "but", with no infinitive in between.
fn coordinate(tokens: &mut [Token], start: usize) {
    let mut i = start;
    while i < tokens.len() {
        let lower = tokens[i].lower.clone();
        if matches!(tokens[i].text.as_str(), ";" | ":" | "—" | "–" | "-" | "(" | "\"")
            || matches!(
                lower.as_str(),
                "i" | "we"
                    | "you"
                    | "they"
                    | "he"
                    | "she"
                    | "it"
                    | "who"
                    | "which"
                    | "that"
                    | "when"
                    | "because"
                    | "if"
                    | "where"
                    | "what"
                    | "how"
                    | "so"
                    | "help"
                    | "let"
                    | "make"
                    | "makes"
                    | "watch"
                    | "see"
                    | "hear"
                    | "while"
                    | "since"
                    | "as"
            ) && lower != "as"
            || lexicon::MODALS.contains(lower.as_str())
        {
            return;
        }
        let infinitive = lower == "to"
            && tokens.get(i + 1).is_some_and(|t| is_base_verb(&t.lower) || is_adverb(&t.lower));
        if infinitive {
            return;
        }
        if matches!(lower.as_str(), "and" | "or" | "but" | "then" | "&") {
            let mut j = i + 1;
            while tokens.get(j).is_some_and(|t| is_adverb(&t.lower)) {
                j += 1;
            }
            if tokens.get(j).is_some_and(|t| !t.upper()) && is_verb_here(tokens, j) {
                let lower = tokens[j].lower.clone();
                replace(tokens, j, &lexicon::third_person(&lower));
            }
        }
        i += 1;
    }
}

/// A base form after "and" that is a verb, not a noun ("tea and love").
pub(super) fn is_verb_here(tokens: &[Token], j: usize) -> bool {
    let Some(verb) = tokens.get(j) else { return false };
    if verb.among(&["am", "have", "don't", "do"]) {
        return true;
    }
    if !is_base_verb(&verb.lower)
        || lexicon::is_past(&verb.lower) && !lexicon::is_unchanging(&verb.lower)
    {
        return false;
    }
    if !lexicon::is_noun_like(&verb.lower) {
        return true;
    }
    tokens.get(j + 1).is_some_and(|t| {
        t.among(&[
            "as",
            "in",
            "at",
            "for",
            "on",
            "to",
            "a",
            "an",
            "the",
            "my",
            "his",
            "her",
            "their",
            "it",
            "from",
            "every",
            "part-time",
            "full-time",
            "remotely",
            "them",
            "him",
            "with",
            "out",
            "up",
            "mostly",
            "this",
            "that",
            "some",
            "lots",
            "guitar",
            "piano",
            "violin",
            "tennis",
            "football",
            "chess",
            "basketball",
            "soccer",
            "video",
            "golf",
            "badminton",
            "drums",
            "bass",
        ]) || t.lower.ends_with("'s")
    })
}

fn replace(tokens: &mut [Token], i: usize, text: &str) {
    let space = tokens[i].space_before;
    tokens[i] = Token::new(text, space);
}

#[cfg(test)]
mod tests {
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
        for (said, expected) in [
            ("I'm a nurse", "Ana is a nurse"),
            ("i am a nurse", "Ana is a nurse"),
            ("im a nurse", "Ana is a nurse"),
            ("I’m a nurse", "Ana is a nurse"),
            ("I've been to Rome", "Ana has been to Rome"),
            ("ive been to Rome", "Ana has been to Rome"),
            ("I'll go to Rome", "Ana will go to Rome"),
            ("I'd love to go", "Ana would love to go"),
            ("I'd been there", "Ana had been there"),
            ("I'd never gone there", "Ana had never gone there"),
            ("I don't eat meat", "Ana doesn't eat meat"),
            ("I dont eat meat", "Ana doesn't eat meat"),
            ("I do not eat meat", "Ana does not eat meat"),
            ("I haven't slept", "Ana hasn't slept"),
            ("I didn't sleep", "Ana didn't sleep"),
            ("I can't swim", "Ana can't swim"),
            ("I live in Lund", "Ana lives in Lund"),
            ("I watch films", "Ana watches films"),
            ("I study physics", "Ana studies physics"),
            ("I play chess", "Ana plays chess"),
            ("I have a dog", "Ana has a dog"),
            ("I do yoga", "Ana does yoga"),
            ("I go to Rome", "Ana goes to Rome"),
            ("I was born in Rome", "Ana was born in Rome"),
            ("I moved to Lund", "Ana moved to Lund"),
            ("I went to Lund", "Ana went to Lund"),
            ("I need coffee", "Ana needs coffee"),
            ("I vape", "Ana vapes"),
            ("I really like tea", "Ana really likes tea"),
            ("I usually run", "Ana usually runs"),
            ("I still live here", "Ana still lives here"),
            ("I like tea and hate coffee", "Ana likes tea and hates coffee"),
            ("I like tea and coffee", "Ana likes tea and coffee"),
            ("I am 34 and live in Lund", "Ana is 34 and lives in Lund"),
            ("I have two kids and work as a nurse", "Ana has two kids and works as a nurse"),
            ("I want to travel and write", "Ana wants to travel and write"),
            ("I can swim and dive", "Ana can swim and dive"),
            ("I don't drink and smoke", "Ana doesn't drink and smoke"),
            ("my dog Max is big", "Ana's dog Max is big"),
            ("Max lives with me", "Max lives with Ana"),
            ("my wife and I live in Lund", "Ana's wife and Ana live in Lund"),
            ("Tom and I are friends", "Tom and Ana are friends"),
            ("me and my wife live in Lund", "Ana and Ana's wife live in Lund"),
            ("I and my wife live in Lund", "Ana and Ana's wife live in Lund"),
            ("I like tea and I hate coffee", "Ana likes tea and Ana hates coffee"),
            ("we went camping", "Ana and others went camping"),
            ("our house is red", "Ana's house is red"),
            ("I taught myself guitar", "Ana taught themself guitar"),
            ("I live by myself", "Ana lives alone"),
            ("I live on my own", "Ana lives on their own"),
            ("the red car is mine", "the red car is Ana's"),
            ("I wanna move", "Ana wants to move"),
            ("I'm gonna move", "Ana is gonna move"),
            ("I used to smoke", "Ana used to smoke"),
            ("I quit smoking", "Ana quit smoking"),
            ("I read a book yesterday", "Ana read a book yesterday"),
            ("I read every night", "Ana reads every night"),
            ("I grew up in Rome", "Ana grew up in Rome"),
            ("when I was young I lived in Rome", "when Ana was young Ana lived in Rome"),
            ("it makes me happy", "it makes Ana happy"),
        ] {
            check(said, expected);
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
