//! A statement as ⟨head; relation; tail⟩: who, the verb group, and what follows.
//!
//! After ReVerb (Fader et al., 2011): the relation is the verb with its auxiliaries and, where one
//! follows at once, a preposition. A statement without a tail ("Max barks") is no triple.

use super::attributes::{main_verb, strip_adverbial};
use super::lexicon;
use super::lists::Words;
use super::words::{Token, join, tokens};

static PREPOSITIONS: Words = Words::new("prepositions of relations");
static SUBORDINATORS: Words = Words::new("openers of clauses");

/// Longer statements are stories.
const BYTES_MAX: usize = 600;

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
    let rest = text.split_once(", ").filter(|_| SUBORDINATORS.has(&first));
    rest.map_or(text, |(_, rest)| rest)
}

/// Where the verb group that begins at `verb` ends.
fn relation_end(words: &[Token], verb: usize) -> usize {
    let helps = |t: &Token| lexicon::AUXILIARIES.has(&t.lower) || lexicon::MODALS.has(&t.lower);
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
                || lexicon::MODALS.has(&words[end - 1].lower)
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
    if words.get(end).is_some_and(|t| t.within(&PREPOSITIONS)) { end + 1 } else { end }
}

#[cfg(test)]
mod tests {
    use super::super::tests::cases;
    use super::*;

    #[test]
    fn statements_have_three_parts() {
        assert_eq!(triple(""), None);
        for (text, expected) in cases(include_str!("tests/cases/triples.txt"), "triples") {
            let parts = triple(&text).map_or(Vec::new(), Vec::from);
            assert_eq!(parts, expected, "of {text:?}");
        }
    }
}
