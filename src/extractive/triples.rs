//! A statement as ⟨head; relation; tail⟩: who, the verb group, and what follows.
//!
//! After ReVerb (Fader et al., 2011): the relation is the verb with its auxiliaries and, where one
//! follows at once, a preposition. A statement without a tail ("Max barks") is no triple.

use super::attributes::{main_verb, strip_adverbial};
use super::lexicon;
use super::words::{Token, join, tokens};

/// Longer statements are stories.
const BYTES_MAX: usize = 600;

const PREPOSITIONS: [&str; 16] = [
    "about", "as", "at", "by", "for", "from", "in", "into", "of", "on", "over", "through", "to",
    "towards", "under", "with",
];

/// What opens a clause that is not the main one.
const SUBORDINATORS: [&str; 12] = [
    "after", "although", "as", "because", "before", "if", "once", "since", "though", "until",
    "when", "while",
];

/// Head, relation and tail, none of them empty. What stands before the main clause ("In May 2023",
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
    while head > 1 && lexicon::is_adverb(&words[head - 1].lower) && !words[head - 1].upper() {
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

/// A separator inside a part would make four of three.
fn apart(text: &str) -> String {
    text.replace(';', ",")
}

/// The text after a leading subordinate clause.
fn main_clause(text: &str) -> &str {
    let first = text.split(' ').next().unwrap_or_default().to_lowercase();
    let rest = text.split_once(", ").filter(|_| SUBORDINATORS.contains(&first.as_str()));
    rest.map_or(text, |(_, rest)| rest)
}

/// Where the verb group that begins at `verb` ends.
fn relation_end(words: &[Token], verb: usize) -> usize {
    let helps = |t: &Token| {
        lexicon::AUXILIARIES.contains(t.lower.as_str())
            || lexicon::MODALS.contains(t.lower.as_str())
    };
    let mut end = verb + 1;
    let mut helped = helps(&words[verb]);
    while let Some(next) = words.get(end) {
        let infinitive =
            next.is("to") && words.get(end + 1).is_some_and(|t| lexicon::is_base_verb(&t.lower));
        if infinitive {
            end += 2;
            helped = false;
            continue;
        }
        let main = helped
            && !next.upper()
            && (lexicon::is_participle(&next.lower)
                || next.lower.len() > 4 && next.lower.ends_with("ing")
                || lexicon::MODALS.contains(words[end - 1].lower.as_str())
                    && lexicon::is_base_verb(&next.lower));
        if helped && (helps(next) || next.is("not") || lexicon::is_adverb(&next.lower)) {
            end += 1;
        } else if main {
            end += 1;
            helped = false;
        } else {
            break;
        }
    }
    if words.get(end).is_some_and(|t| t.among(&PREPOSITIONS)) { end + 1 } else { end }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_have_three_parts() {
        for (text, expected) in [
            ("Ana lives in Lund", Some("Ana; lives in; Lund")),
            (
                "Ana moved to Lund (week of 9 November 2026).",
                Some("Ana; moved to; Lund (week of 9 November 2026)"),
            ),
            ("Max is a beagle", Some("Max; is; a beagle")),
            (
                "Ana's dog Max loves cheese and carrots.",
                Some("Ana's dog Max; loves; cheese and carrots"),
            ),
            (
                "Ana is planning to continue her education.",
                Some("Ana; is planning to continue; her education"),
            ),
            (
                "Ana has been learning Spanish for two years",
                Some("Ana; has been learning; Spanish for two years"),
            ),
            ("Ana recently attended a group", Some("Ana; recently attended; a group")),
            ("Ana will visit Rome in May", Some("Ana; will visit; Rome in May")),
            ("The gate code is 4821", Some("The gate code; is; 4821")),
            ("Ana bought bread; and milk", Some("Ana; bought; bread, and milk")),
            ("In May 2023 Ana visited Rome", Some("Ana; visited; Rome (In May 2023)")),
            (
                "When Max barks, Ana plays the violin",
                Some("Ana; plays; the violin (When Max barks)"),
            ),
            ("Ana said: Being a mom is great", Some("Ana; said; Being a mom is great")),
            ("Max barks", None),
            ("Congratulations, Ben.", None),
            ("", None),
        ] {
            let found = triple(text).map(|parts| parts.join("; "));
            assert_eq!(found.as_deref(), expected, "of {text:?}");
        }
    }
}
