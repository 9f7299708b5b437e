//! Strips introductory words without content: "Well,", "by the way", "please remember that".

use super::lists::{Rows, Words};
use super::words::Token;

static AFTER_A_LOOSE_OPENING: Words = Words::new("after a loose opening");
static LIGHT_OPENINGS: Words = Words::new("light openings");
static LOOSE_OPENINGS: Words = Words::new("loose openings");
static OBJECTS_OF_REMEMBER: Words = Words::new("objects of remember");
static OPENING_PHRASES: Rows = Rows::new("opening phrases");
static OPENING_WORDS: Words = Words::new("opening words");

/// The words without any openings.
pub(super) fn strip_opening(words: &[Token]) -> Vec<Token> {
    let mut rest = words;
    loop {
        let before = rest.len();
        while rest.first().is_some_and(|t| {
            !t.word && !matches!(t.text.as_str(), "\"" | "“" | "(" | "$" | "#" | "@" | "£" | "€")
        }) {
            rest = &rest[1..];
        }
        if let Some(n) = OPENING_PHRASES
            .iter()
            .filter(|o| o.len() < rest.len() && o.iter().zip(rest).all(|(w, t)| t.is(w)))
            .filter(|o| !takes_object(o, &rest[o.len()]))
            .map(Vec::len)
            .max()
        {
            rest = &rest[n..];
            continue;
        }
        if let (Some(first), Some(second)) = (rest.first(), rest.get(1))
            && OPENING_WORDS.has(&first.lower)
            && opens(first, second, rest)
        {
            rest = &rest[1..];
        }
        if rest.len() == before {
            return rest.to_vec();
        }
    }
}

/// "Remember when …", "note the …": the verb has an object of its own.
fn takes_object(opening: &[&str], next: &Token) -> bool {
    let last = opening.last().copied().unwrap_or_default();
    matches!(last, "remember" | "forget" | "know" | "note" | "mention")
        && (next.within(&OBJECTS_OF_REMEMBER) && !next.is("the")
            || !next.word && next.text != "," && next.text != ":")
}

/// "And I …", "Actually my …", but not "so tired" or "nice weather".
fn opens(first: &Token, second: &Token, rest: &[Token]) -> bool {
    !second.word
        || first.within(&LIGHT_OPENINGS)
        || first.within(&LOOSE_OPENINGS) && second.within(&AFTER_A_LOOSE_OPENING) && rest.len() > 2
}
