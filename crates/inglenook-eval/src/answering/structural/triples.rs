//! A statement as ⟨head; relation; tail⟩: who, the verb group, and what follows.
//!
//! After ReVerb (Fader et al., 2011): the relation is the verb with its auxiliaries and, where one
//! follows at once, a preposition. A statement without a tail ("Max barks") is no triple.

use inglenook::extractive::syntax::{
    Token, helps, is_adverb, is_base_verb, is_participle, join, main_verb, strip_adverbial, tokens,
};

/// Belong to the relation: "lives in".
const PREPOSITIONS: &str =
    "about as at by for from in into of on over through to towards under with";

/// A triple is made of the clause after one of these.
const OPENERS: &str = "after although as because before if once since though until when while";

const MODALS: &str =
    "can can't could couldn't may might must shall should shouldn't will won't would wouldn't";

/// Longer statements are stories.
const BYTES_MAX: usize = 600;

/// Head, relation and tail of a statement, none of them empty. What stands before the main clause ("In May 2023",
/// "When Max barks") goes behind the tail.
pub fn triple(text: &str) -> Option<[String; 3]> {
    if text.len() > BYTES_MAX {
        return None;
    }
    let text = text.trim().trim_end_matches(['.', '!']);
    let clause = main_clause(strip_adverbial(text));
    let before = text[..text.len() - clause.len()].trim_end_matches([',', ' ']);
    let words = tokens(clause);
    let verb = main_verb(&words)?;
    let mut head = verb;
    while head > 1 && is_adverb(&words[head - 1].lower) && !words[head - 1].upper() {
        head -= 1;
    }
    let end = relation_end(&words, verb);
    let part = |range: &[Token]| {
        let text = join(range);
        // "Ana said: …" is opaque: what was said is the tail.
        let text = text.trim_matches([':', ' ']);
        text.chars().any(char::is_alphanumeric).then(|| apart(text))
    };
    let tail = part(&words[end..])?;
    let tail = if before.is_empty() { tail } else { format!("{tail} ({})", apart(before)) };
    Some([part(&words[..head])?, part(&words[head..end])?, tail])
}

fn among(words: &str, word: &str) -> bool {
    words.split(' ').any(|w| w == word)
}

/// A separator inside a part would make four of three.
fn apart(text: &str) -> String {
    text.replace(';', ",")
}

/// The text after a leading subordinate clause.
fn main_clause(text: &str) -> &str {
    let first = text.split(' ').next().unwrap_or_default().to_lowercase();
    let rest = text.split_once(", ").filter(|_| among(OPENERS, &first));
    rest.map_or(text, |(_, rest)| rest)
}

/// Where the verb group that begins at `verb` ends.
fn relation_end(words: &[Token], verb: usize) -> usize {
    let mut end = verb + 1;
    let mut helped = helps(&words[verb].lower);
    while let Some(next) = words.get(end) {
        let infinitive =
            next.is("to") && words.get(end + 1).is_some_and(|t| is_base_verb(&t.lower));
        if infinitive {
            end += 2;
            helped = false;
            continue;
        }
        let main = helped
            && !next.upper()
            && (is_participle(&next.lower)
                || next.lower.len() > 4 && next.lower.ends_with("ing")
                || among(MODALS, &words[end - 1].lower) && is_base_verb(&next.lower));
        if helped && (helps(&next.lower) || next.is("not") || is_adverb(&next.lower)) {
            end += 1;
        } else if main {
            end += 1;
            helped = false;
        } else {
            break;
        }
    }
    if words.get(end).is_some_and(|t| among(PREPOSITIONS, &t.lower)) { end + 1 } else { end }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_have_three_parts() {
        let check = |text: &str, expected: Option<[&str; 3]>| {
            assert_eq!(triple(text), expected.map(|parts| parts.map(str::to_owned)), "of {text:?}");
        };
        check("", None);
        check("Ana lives in Lund", Some(["Ana", "lives in", "Lund"]));
        check(
            "Ana moved to Lund (week of 9 November 2026).",
            Some(["Ana", "moved to", "Lund (week of 9 November 2026)"]),
        );
        check("Max is a beagle", Some(["Max", "is", "a beagle"]));
        check(
            "Ana's dog Max loves cheese and carrots.",
            Some(["Ana's dog Max", "loves", "cheese and carrots"]),
        );
        check(
            "Ana is planning to continue her education.",
            Some(["Ana", "is planning to continue", "her education"]),
        );
        check(
            "Ana has been learning Spanish for two years",
            Some(["Ana", "has been learning", "Spanish for two years"]),
        );
        check("Ana recently attended a group", Some(["Ana", "recently attended", "a group"]));
        check("Ana will visit Rome in May", Some(["Ana", "will visit", "Rome in May"]));
        check("The gate code is 4821", Some(["The gate code", "is", "4821"]));
        check("Ana bought bread; and milk", Some(["Ana", "bought", "bread, and milk"]));
        check("In May 2023 Ana visited Rome", Some(["Ana", "visited", "Rome (In May 2023)"]));
        check(
            "When Max barks, Ana plays the violin",
            Some(["Ana", "plays", "the violin (When Max barks)"]),
        );
        check("Ana said: Being a mom is great", Some(["Ana", "said", "Being a mom is great"]));
        check("Max barks", None);
        check("Congratulations, Ben.", None);
    }
}
