//! What a third-person statement is about: subject, attribute and value, from its wording.
//!
//! The attribute decides conflicts, so it is left empty rather than guessed.

use super::lexicon::{self, KIN, PETS, is_adverb};
use super::predicates::{possession, predicate};
use super::values::{
    after_word, age, clean_value, has_job_words, has_time, having, place, place_after,
};
use super::words::{Token, join, tokens};
use super::{Statement, dates};

/// Attributes of which a subject has one at a time: a later value takes the earlier one's place.
pub(super) const SINGLE: &[&str] = &[
    "name",
    "age",
    "birthday",
    "home",
    "birthplace",
    "job",
    "employer",
    "school",
    "partner",
    "relationship status",
    "breed",
    "phone number",
    "email",
    "address",
    "diet",
    "height",
    "weight",
    "car",
    "time",
    "nationality",
    "colour",
    "pronouns",
    "dose",
    "deadline",
    "field of study",
    "gender",
    "blood type",
    "zodiac sign",
    "major",
    "size",
    "salary",
    "rent",
    "price",
    "date",
    "location",
    "value",
];

/// True if a new value of this attribute replaces the old one.
pub(super) fn is_single_valued(attribute: &str) -> bool {
    SINGLE.contains(&attribute)
        || attribute.starts_with("favourite ")
        || attribute.starts_with("its ")
        || [
            " name",
            " password",
            " code",
            " pin",
            " number",
            " size",
            " time",
            " date",
            " birthday",
            " email",
            " address",
            " phone",
            " job",
            " key",
            " deadline",
            " appointment",
        ]
        .iter()
        .any(|end| attribute.ends_with(end))
        || matches!(attribute, "password" | "pin" | "code" | "wifi" | "username")
}

/// Subject, attribute and value again from a stored third-person text.
pub fn parse_statement(text: &str) -> Statement {
    let text = text.trim();
    let parsed = if text.len() > 600 { None } else { parse(text) };
    let (subject, attribute, value) = parsed.unwrap_or_default();
    Statement { text: text.to_owned(), subject, attribute, value, messages: Vec::new() }
}

pub(super) type Parsed = (Option<String>, Option<String>, Option<String>);

pub(super) fn some(subject: &str, attribute: &str, value: &str) -> Option<Parsed> {
    let mut value = clean_value(value);
    let cuts: &[&str] = match attribute {
        "job" => &[" from ", " at ", " in ", " and ", " for ", " who "],
        "name" => &[" with ", " and i", " but ", " from ", ", ", " who ", " because "],
        "diet" => &[" and ", " but ", " because "],
        "home" => &[" and ", " because "],
        _ => &[],
    };
    for cut in cuts {
        if let Some(at) = value.find(cut) {
            value.truncate(at);
        }
    }
    if attribute == "home"
        && ["a ", "an ", "the "].iter().any(|a| value.starts_with(a))
        && let Some(at) = value.rfind(" in ")
    {
        value.drain(..at + 4);
    }
    if value.is_empty() {
        return Some((Some(subject.to_owned()), None, None));
    }
    Some((Some(subject.to_owned()), Some(attribute.to_owned()), Some(value)))
}

fn parse(text: &str) -> Option<Parsed> {
    let body = strip_adverbial(text);
    let words = tokens(body);
    let words: Vec<Token> = match words.as_slice() {
        // "Caroline said: …" is opaque.
        [_, said, colon, ..] if said.is("said") && colon.text == ":" => {
            return Some((Some(words[0].text.clone()), None, None));
        }
        _ => words,
    };
    // "When Ana was 12, Ana lived in Rome": the main clause counts.
    let words = match words.iter().position(|t| t.text == ",") {
        Some(comma)
            if comma < 10
                && words[0].among(&[
                    "when", "after", "before", "while", "since", "as", "if", "once", "until",
                ])
                && words.len() > comma + 2 =>
        {
            words[comma + 1..].to_vec()
        }
        _ => words,
    };
    let lead = words.iter().take_while(|t| !t.word || is_adverb(&t.lower)).count();
    let words: Vec<Token> = if lead < words.len() { words[lead..].to_vec() } else { words };
    if words.first().is_some_and(|t| {
        t.among(&[
            "since",
            "when",
            "if",
            "because",
            "while",
            "after",
            "before",
            "by",
            "for",
            "as",
            "here",
            "there",
            "what",
            "where",
            "how",
            "who",
            "why",
            "that",
            "according",
            "despite",
            "although",
            "though",
            "until",
            "once",
            "everyone",
            "everybody",
            "nobody",
            "to",
            "with",
            "in",
            "on",
            "at",
        ])
    }) {
        return None;
    }
    let verb = main_verb(&words)?;
    if verb > 8 {
        return None;
    }
    let np = &words[..verb];
    let noun_phrase = join(np);
    let (subject, of) = subject_of(np);
    let mut rest = verb;
    // The verb group: auxiliaries and adverbs that change nothing about the attribute.
    let mut negated = false;
    let mut past_habit = false;
    let lower = |i: usize| words.get(i).map(|t| t.lower.as_str()).unwrap_or_default();
    let mut copula = false;
    let mut future = false;
    loop {
        match lower(rest) {
            "isn't" | "wasn't" | "aren't" | "weren't" => {
                negated = true;
                copula = true;
            }
            "is" | "was" | "are" | "were" | "am" | "'s" => copula = true,
            "doesn't" | "didn't" | "don't" | "hasn't" | "haven't" | "won't" | "can't"
            | "cannot" | "never" | "not" => {
                negated = true;
            }
            "does" | "did" | "do" if lower(rest + 1) == "not" => {}
            "no" if lower(rest + 1) == "longer" => {
                negated = true;
                rest += 1;
            }
            "used" if lower(rest + 1) == "to" && !copula => {
                past_habit = true;
                rest += 1;
            }
            "used" if lower(rest + 1) == "to" => break,
            "can" | "could" => {}
            "will" | "gonna" => future = true,
            "would" => {
                future |= matches!(lower(rest + 1), "like" | "love") && lower(rest + 2) == "to";
            }
            "going"
                if lower(rest + 1) == "to"
                    && copula
                    && (lexicon::is_base_verb(lower(rest + 2))) =>
            {
                future = true;
                rest += 1;
            }
            "has" | "have" | "had"
                if lexicon::is_participle(lower(rest + 1))
                    || is_adverb(lower(rest + 1)) && lexicon::is_participle(lower(rest + 2))
                    || lower(rest + 1) == "been" => {}
            "been" => copula = true,
            adverb
                if rest > verb
                    && is_adverb(adverb)
                    && !(copula && matches!(adverb, "well" | "home" | "far")) => {}
            _ => break,
        }
        rest += 1;
        if rest >= words.len() {
            break;
        }
    }
    let main = lower(rest).to_owned();
    let tail = join(words.get(rest..).unwrap_or_default());
    let after = join(words.get(rest + 1..).unwrap_or_default());
    let low = tail.to_lowercase();
    let low_after = after.to_lowercase();
    // "Ana's favourite colour is blue", "Ana's name is Ana", "Ana's dog's name is Max".
    if copula
        && let Some((owner, noun)) = &of
        && let Some(parsed) = possession(owner, noun, &subject, &tail)
    {
        return if negated { Some((parsed.0, None, None)) } else { Some(parsed) };
    }
    if future {
        return some(&subject, "plan", &tail);
    }
    if past_habit {
        return some(&subject, "past", &tail);
    }
    if copula {
        if let Some(parsed) =
            predicate(&subject, &tail, &low, negated, lower(verb) == "was" || lower(verb) == "were")
        {
            return Some(parsed);
        }
        if np.iter().any(|t| {
            t.among(&[
                "meeting",
                "appointment",
                "interview",
                "call",
                "exam",
                "flight",
                "party",
                "wedding",
                "class",
                "lesson",
                "train",
                "deadline",
                "dinner",
                "lunch",
                "concert",
                "session",
                "event",
            ])
        }) && has_time(&low)
        {
            return some(&noun_phrase, "time", &tail);
        }
        // "The gate code is 4821".
        let head = np.last().map(|t| t.lower.clone()).unwrap_or_default();
        let coded = matches!(
            head.as_str(),
            "code"
                | "password"
                | "pin"
                | "number"
                | "key"
                | "address"
                | "deadline"
                | "price"
                | "rent"
                | "combination"
                | "wifi"
                | "username"
                | "passcode"
                | "budget"
        );
        if np.first().is_some_and(|t| t.is("the"))
            && !subject.starts_with("The user")
            && !negated
            && (coded || low.starts_with(|c: char| c.is_ascii_digit()) && np.len() <= 4)
        {
            return some(&noun_phrase, "value", &tail);
        }
        return Some((Some(subject), None, None));
    }
    let attribute = match main.as_str() {
        "lives" | "live" | "resides" | "living" => {
            place(&after).map(|p| if negated { ("", p) } else { ("home", p) })
        }
        "lived" | "resided" => place(&after).map(|p| ("past home", p)),
        "moved" | "relocated" | "emigrated" | "immigrated" => {
            place_after(&low_after, &after, "to").map(|p| ("home", p))
        }
        "works" | "work" | "working" | "worked" if !negated => {
            let past = main == "worked";
            if let Some(job) = after_word(&low_after, &after, "as") {
                Some((if past { "past" } else { "job" }, job))
            } else {
                ["at", "for"]
                    .iter()
                    .find_map(|p| {
                        low_after.starts_with(&format!("{p} ")).then(|| {
                            (
                                if past { "past" } else { "employer" },
                                after[p.len() + 1..].to_owned(),
                            )
                        })
                    })
                    .or_else(|| {
                        low_after
                            .starts_with("in ")
                            .then(|| (if past { "past" } else { "field" }, after[3..].to_owned()))
                    })
            }
        }
        "comes" | "hails" => after_word(&low_after, &after, "from").map(|v| ("birthplace", v)),
        "grew" => after_word(&low_after, &after, "in").map(|v| ("childhood", v)),
        "likes" | "loves" | "enjoys" | "adores" | "like" | "love" | "enjoy" | "loved" | "liked"
        | "enjoyed" => Some((if negated { "dislikes" } else { "likes" }, after.clone())),
        "hates" | "dislikes" | "detests" | "despises" | "loathes" | "hate" | "dislike" => {
            Some((if negated { "likes" } else { "dislikes" }, after.clone()))
        }
        "stand" | "bear" if negated => Some(("dislikes", after.clone())),
        "prefers" | "prefer" => Some(("preference", after.clone())),
        "speaks" | "speak" => Some(("language", after.clone())),
        "plays" | "play" | "playing" => Some(("hobby", after.clone())),
        "studies" | "studying" | "study" => Some((
            if low_after.starts_with("at ") { "school" } else { "field of study" },
            after.clone(),
        )),
        "studied" | "graduated" | "majored" => Some(("education", after.clone())),
        "drives" | "drive" if !negated => {
            matches!(low_after.split(' ').next(), Some("a" | "an")).then(|| ("car", after.clone()))
        }
        "weighs" => Some(("weight", after.clone())),
        "eats" | "eat" | "drinks" | "drink" if negated => Some(("diet restriction", after.clone())),
        "turned" | "turns" => age(&low_after).map(|n| ("age", n)),
        "has" | "have" | "owns" | "own" | "got" | "had" | "adopted" | "bought" => {
            having(&low_after, &after, negated, &main)
        }
        "married" => low_after
            .starts_with("to ")
            .then(|| ("partner", after[3..].to_owned()))
            .or(Some(("partner", after.clone()))),
        "started" | "joined" if has_job_words(&low_after) => Some(("event", after.clone())),
        "wants" | "plans" | "hopes" | "intends" | "aims" | "want" | "plan" => {
            Some(("plan", after.clone()))
        }
        "takes" | "uses" | "wears" => Some((
            match main.as_str() {
                "takes" => "takes",
                "uses" => "uses",
                _ => "wears",
            },
            after.clone(),
        )),
        "goes" if low_after.starts_with("by ") => Some(("name", after[3..].to_owned())),
        "goes"
            if low_after.starts_with("to ")
                && ["school", "university", "college", "uni"]
                    .iter()
                    .any(|s| low_after.contains(s)) =>
        {
            Some(("school", after[3..].to_owned()))
        }
        "left" | "quit" => Some(("event", after.clone())),
        _ => None,
    };
    match attribute {
        Some((name, value)) if !name.is_empty() => some(&subject, name, &value),
        _ => Some((Some(subject), None, None)),
    }
}

/// "On 20 November 2026, …", "In March 2026 …" at the beginning say when, not who.
pub(super) fn strip_adverbial(text: &str) -> &str {
    let Some(found) = dates::find(text).into_iter().next() else { return text };
    if found.start > 24 || found.end + 2 > text.len() {
        return text;
    }
    let head = text[..found.start].to_lowercase();
    let small = head.split_whitespace().all(|w| {
        matches!(
            w.trim_end_matches(','),
            "on" | "in"
                | "the"
                | "week"
                | "of"
                | "a"
                | "few"
                | "days"
                | "since"
                | "morning"
                | "evening"
                | "night"
                | "afternoon"
                | "around"
                | "until"
                | "at"
                | "monday"
                | "tuesday"
                | "wednesday"
                | "thursday"
                | "friday"
                | "saturday"
                | "sunday"
                | "weekend"
                | "back"
                | "summer"
                | "spring"
                | "winter"
                | "autumn"
                | "fall"
                | "christmas"
        )
    });
    if small { text[found.end..].trim_start_matches([',', ' ', ')']) } else { text }
}

/// Where the subject ends.
pub(super) fn main_verb(words: &[Token]) -> Option<usize> {
    let user = words.first().is_some_and(|t| t.is("the"))
        && words.get(1).is_some_and(|t| t.is("user") || t.is("user's"));
    let first = if user { 2 } else { 1 };
    (first..words.len().min(14)).find(|&i| {
        let t = &words[i];
        if !t.word {
            return false;
        }
        let lower = t.lower.as_str();
        if lexicon::AUXILIARIES.contains(lower) || lexicon::MODALS.contains(lower) {
            return true;
        }
        let possessed = words[i - 1].lower.ends_with("'s")
            || words[i - 1].among(&["the", "a", "an", "of", "with"]);
        if possessed || t.upper() {
            return false;
        }
        lexicon::is_unchanging(lower)
            || (lexicon::is_third_person(lower) && !is_plural_noun_here(words, i))
            || lexicon::is_past(lower) && !words[i - 1].among(&["and"])
            || (lexicon::is_base_verb(lower)
                && !lexicon::is_noun_like(lower)
                && words[..i].iter().any(|t| t.is("and") || t.lower.ends_with('s')))
    })
}

/// "Ana's books are": a plural noun directly before an auxiliary.
fn is_plural_noun_here(words: &[Token], i: usize) -> bool {
    words.get(i + 1).is_some_and(|t| t.among(&["are", "were", "have", "is", "was", "has"]))
        && words[..i].iter().any(|t| t.lower.ends_with("'s") || t.is("the"))
}

/// The subject ("Max" of "Ana's dog Max"), and owner and noun of a possessive phrase.
fn subject_of(np: &[Token]) -> (String, Option<(String, String)>) {
    let mut end = np.len();
    while end > 0 && (!np[end - 1].word || is_adverb(&np[end - 1].lower) && !np[end - 1].upper()) {
        end -= 1;
    }
    // "The user jsut moved": a mistyped adverb is no part of the subject.
    let head = if np.first().is_some_and(|t| t.is("the")) { 2 } else { 1 };
    let stray = end == head + 1
        && !np[head - 1].lower.ends_with("'s")
        && (np[0].upper() && head == 1 || np.get(1).is_some_and(|t| t.is("user")))
        && np[end - 1].text.chars().all(char::is_lowercase);
    if stray {
        end -= 1;
    }
    let np = &np[..end];
    let whole = join(np);
    let Some(owned) = np.iter().rposition(|t| t.lower.ends_with("'s") && t.text.len() > 2) else {
        return (canonical(&whole), None);
    };
    let owner = join(&np[..=owned]);
    let owner = canonical(owner.strip_suffix("'s").unwrap_or(&owner));
    let nouns = &np[owned + 1..];
    if nouns.is_empty() {
        return (canonical(&whole), None);
    }
    // "dog Max", "younger sister Emily": the name is the subject.
    if let Some(kind) = nouns.iter().position(|t| is_creature(&t.lower))
        && nouns.len() > kind + 1
        && nouns[kind + 1..].iter().all(|t| t.upper())
    {
        return (join(&nouns[kind + 1..]), None);
    }
    (canonical(&whole), Some((owner, join(nouns))))
}

pub(super) fn is_creature(lower: &str) -> bool {
    KIN.contains(lower) || PETS.contains(lower)
}

/// "the user's dog" and "The user's dog" are one subject.
fn canonical(subject: &str) -> String {
    let subject = subject.strip_suffix(" and others").unwrap_or(subject);
    match subject.strip_prefix("the user") {
        Some(rest) => format!("The user{rest}"),
        None => subject.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: (&str, &str, &str)) {
        let s = parse_statement(text);
        let got = (
            s.subject.as_deref().unwrap_or_default(),
            s.attribute.as_deref().unwrap_or_default(),
            s.value.as_deref().unwrap_or_default(),
        );
        assert_eq!(got, expected, "of {text:?}");
    }

    #[test]
    fn subject_attribute_value() {
        for (text, expected) in [
            ("Ana moved to Lund (week of 9 November 2026)", ("Ana", "home", "Lund")),
            ("Ana lives in Lund", ("Ana", "home", "Lund")),
            ("Ana lives in Lund with Ana's wife", ("Ana", "home", "Lund")),
            ("Ana lived in Rome", ("Ana", "past home", "Rome")),
            ("Ana doesn't live in Rome anymore", ("Ana", "", "")),
            ("Ana is living in Lund", ("Ana", "home", "Lund")),
            ("Ana now lives in Oslo", ("Ana", "home", "Oslo")),
            ("Max lives with Ana's sister Emily in Portland", ("Max", "home", "Portland")),
            ("Ana's dog Max is a golden retriever", ("Max", "breed", "golden retriever")),
            ("The user's dog Max is a golden retriever", ("Max", "breed", "golden retriever")),
            ("Max is a Labrador mix, not a purebred", ("Max", "breed", "Labrador mix")),
            ("Max loves playing fetch", ("Max", "likes", "playing fetch")),
            ("Max is now 5 years old", ("Max", "age", "5")),
            ("Max is five", ("Max", "age", "5")),
            ("Ana is 34", ("Ana", "age", "34")),
            ("Ana is a nurse", ("Ana", "job", "nurse")),
            ("Ana works as a nurse", ("Ana", "job", "nurse")),
            ("Ana works at Ericsson", ("Ana", "employer", "Ericsson")),
            ("The user works for the city", ("The user", "employer", "the city")),
            ("Ana's name is Ana", ("Ana", "name", "Ana")),
            ("The user's favourite colour is blue", ("The user", "favourite colour", "blue")),
            ("The user's favorite color is green", ("The user", "favourite colour", "green")),
            ("Ana's birthday is 3 May", ("Ana", "birthday", "3 May")),
            ("Ana is allergic to peanuts", ("Ana", "allergy", "peanuts")),
            ("Ana hates mushrooms", ("Ana", "dislikes", "mushrooms")),
            ("Ana doesn't like mushrooms", ("Ana", "dislikes", "mushrooms")),
            ("Ana has a dog named Max", ("Ana", "pet", "a dog named Max")),
            ("Ana's dog's name is Max", ("Ana's dog", "name", "Max")),
            ("Ana's dog is named Max", ("Ana's dog", "name", "Max")),
            ("Ana's dog is called Max", ("Ana's dog", "name", "Max")),
            ("Max is the user's dog", ("Max", "relation", "the user's dog")),
            ("Emily is Ana's sister", ("Emily", "relation", "Ana's sister")),
            ("Ana's sister is a doctor", ("Ana's sister", "job", "doctor")),
            ("Ana's car is a Tesla", ("Ana", "car", "a Tesla")),
            ("Ana's car is red", ("Ana's car", "colour", "red")),
            ("Ana's wifi password is hunter2", ("Ana", "wifi password", "hunter2")),
            ("Ana's phone number is 555-1234", ("Ana", "phone number", "555-1234")),
            ("Ana is married", ("Ana", "relationship status", "married")),
            ("Ana is married to Tom", ("Ana", "partner", "Tom")),
            ("Ana is vegetarian", ("Ana", "diet", "vegetarian")),
            ("Ana is from Portugal", ("Ana", "birthplace", "Portugal")),
            ("Ana was born in Porto", ("Ana", "birthplace", "Porto")),
            ("Ana speaks Swedish", ("Ana", "language", "Swedish")),
            ("Ana is going to run a marathon", ("Ana", "plan", "run a marathon")),
            ("Ana used to live in Rome", ("Ana", "past", "live in Rome")),
            ("Max gets anxious during thunderstorms", ("Max", "", "")),
            ("On 20 November 2026, Ana moved to Lund", ("Ana", "home", "Lund")),
            (
                "The meeting with Bob is at 3pm on Friday 27 November 2026",
                ("The meeting with Bob", "time", "at 3pm on Friday"),
            ),
        ] {
            check(text, expected);
        }
    }
}
