//! Beginnings that carry nothing: "Well,", "by the way", "please remember that".

use super::words::Token;

/// Openings that carry nothing: "Well,", "by the way", "please remember that".
const OPENINGS: &[&[&str]] = &[
    &["by", "the", "way"],
    &["to", "be", "honest"],
    &["in", "fact"],
    &["of", "course"],
    &["just", "so", "you", "know"],
    &["for", "the", "record"],
    &["fun", "fact"],
    &["you", "know"],
    &["you", "know", "what"],
    &["i", "mean"],
    &["as", "you", "know"],
    &["guess", "what"],
    &["no", "wait"],
    &["for", "your", "information"],
    &["speaking", "of", "which"],
    &["please", "remember", "that"],
    &["please", "remember"],
    &["remember", "that"],
    &["remember"],
    &["note", "that"],
    &["please", "note", "that"],
    &["please", "note"],
    &["note"],
    &["keep", "in", "mind", "that"],
    &["keep", "in", "mind"],
    &["don't", "forget", "that"],
    &["don't", "forget"],
    &["please", "don't", "forget", "that"],
    &["please", "don't", "forget"],
    &["you", "should", "know", "that"],
    &["you", "should", "know"],
    &["you", "should", "remember", "that"],
    &["let", "me", "tell", "you", "that"],
    &["i", "want", "you", "to", "know", "that"],
    &["i", "want", "you", "to", "know"],
    &["i", "want", "you", "to", "remember", "that"],
    &["i", "want", "you", "to", "remember"],
    &["i", "would", "like", "you", "to", "remember", "that"],
    &["i", "need", "you", "to", "remember", "that"],
    &["i", "need", "you", "to", "remember"],
    &["i", "should", "mention", "that"],
    &["i", "forgot", "to", "mention", "that"],
    &["i", "forgot", "to", "mention"],
    &["i", "just", "wanted", "to", "say", "that"],
    &["i", "just", "wanted", "to", "tell", "you", "that"],
    &["i", "told", "you", "that"],
    &["i", "told", "you"],
    &["did", "you", "know", "that"],
    &["did", "you", "know"],
    &["did", "i", "tell", "you", "that"],
    &["did", "i", "tell", "you"],
    &["did", "i", "mention", "that"],
    &["did", "i", "mention"],
    &["can", "you", "remember", "that"],
    &["could", "you", "remember", "that"],
    &["can", "you", "please", "remember", "that"],
    &["could", "you", "please", "remember", "that"],
    &["would", "you", "remember", "that"],
    &["can", "you", "note", "that"],
    &["please", "save", "that"],
    &["save", "that"],
    &["please", "store", "that"],
    &["for", "future", "reference"],
    &["let", "me", "introduce", "myself"],
    &["a", "bit", "about", "me"],
    &["about", "me"],
    &["small", "correction"],
    &["quick", "update"],
    &["good", "news"],
    &["bad", "news"],
    &["as", "i", "said"],
    &["like", "i", "said"],
    &["as", "i", "mentioned"],
    &["good", "morning"],
    &["good", "evening"],
    &["good", "afternoon"],
    &["i", "have", "to", "say"],
    &["the", "thing", "is"],
    &["turns", "out"],
    &["it", "turns", "out"],
    &["believe", "it", "or", "not"],
    &["no", "kidding"],
    &["last", "but", "not", "least"],
    &["for", "sure"],
];

const OPENING_WORDS: &[&str] = &[
    "hey",
    "hi",
    "hello",
    "yeah",
    "yes",
    "yep",
    "yup",
    "yea",
    "no",
    "nope",
    "nah",
    "well",
    "oh",
    "ooh",
    "ah",
    "aw",
    "aww",
    "wow",
    "whoa",
    "woah",
    "ok",
    "okay",
    "so",
    "and",
    "but",
    "also",
    "actually",
    "honestly",
    "btw",
    "anyway",
    "anyways",
    "haha",
    "hahaha",
    "lol",
    "hmm",
    "hm",
    "um",
    "uh",
    "uhm",
    "sure",
    "absolutely",
    "definitely",
    "totally",
    "thanks",
    "cool",
    "nice",
    "great",
    "awesome",
    "right",
    "plus",
    "besides",
    "fyi",
    "ps",
    "p.s",
    "sorry",
    "oops",
    "wait",
    "man",
    "dude",
    "omg",
    "gosh",
    "alright",
    "correction",
    "update",
    "seriously",
    "luckily",
    "unfortunately",
    "hence",
    "exactly",
    "true",
    "interesting",
    "basically",
    "hiya",
    "yo",
    "tbh",
    "edit",
    "thx",
    "remember",
    "psst",
    "indeed",
    "additionally",
    "furthermore",
    "moreover",
    "hopefully",
    "thankfully",
    "fortunately",
    "sadly",
    "perfect",
    "amazing",
    "ugh",
    "phew",
    "welp",
    "guys",
    "fantastic",
    "agreed",
    "hah",
    "hehe",
    "ha",
    "thank",
];

/// The words without openings, as often as there are any.
pub(super) fn strip_opening(words: &[Token]) -> Vec<Token> {
    let mut rest = words;
    loop {
        let before = rest.len();
        while rest.first().is_some_and(|t| {
            !t.word && !matches!(t.text.as_str(), "\"" | "“" | "(" | "$" | "#" | "@" | "£" | "€")
        }) {
            rest = &rest[1..];
        }
        if let Some(n) = OPENINGS
            .iter()
            .filter(|o| o.len() < rest.len() && o.iter().zip(rest).all(|(w, t)| t.is(w)))
            .filter(|o| !takes_object(o, &rest[o.len()]))
            .map(|o| o.len())
            .max()
        {
            rest = &rest[n..];
            continue;
        }
        if let (Some(first), Some(second)) = (rest.first(), rest.get(1))
            && OPENING_WORDS.contains(&first.lower.as_str())
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
        && (next.among(&[
            "when", "what", "where", "who", "how", "me", "to", "about", "it", "if", "of", "him",
            "them", "why", "the",
        ]) && !next.is("the")
            || !next.word && next.text != "," && next.text != ":")
}

fn opens(first: &Token, second: &Token, rest: &[Token]) -> bool {
    if !second.word {
        return true;
    }
    match first.lower.as_str() {
        // "And I", "So we", "But my", "Also I", "Actually I", "No I", "btw my".
        "and" | "but" | "also" | "actually" | "btw" | "plus" | "fyi" | "anyway" | "anyways"
        | "haha" | "lol" | "oh" | "hey" | "hi" | "hello" | "yeah" | "yes" | "yep" | "yea"
        | "wow" | "ok" | "okay" | "um" | "uh" | "hmm" | "omg" | "tbh" | "honestly"
        | "basically" | "hiya" | "well" | "aw" | "aww" | "ah" | "besides" | "luckily"
        | "unfortunately" | "seriously" | "haha," | "hopefully" | "thankfully" | "fortunately"
        | "sadly" => true,
        "so" | "no" | "nope" | "nah" | "sorry" | "wait" | "thanks" | "cool" | "great" | "nice"
        | "right" | "man" | "dude" | "sure" | "awesome" | "gosh" | "oops" | "alright"
        | "definitely" | "totally" | "absolutely" => {
            second.among(&[
                "i",
                "we",
                "my",
                "our",
                "he",
                "she",
                "it",
                "they",
                "the",
                "last",
                "this",
                "yesterday",
                "when",
            ]) && rest.len() > 2
        }
        _ => false,
    }
}
