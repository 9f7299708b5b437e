//! The person's own name, where they say it.

use super::lexicon::{self, capitalise};
use super::words::{Token, tokens};

/// Words after "I'm" that look like names and are none.
const NOT_NAMES: &[&str] = &[
    "swedish",
    "german",
    "french",
    "english",
    "american",
    "british",
    "italian",
    "spanish",
    "portuguese",
    "chinese",
    "japanese",
    "indian",
    "canadian",
    "australian",
    "irish",
    "scottish",
    "dutch",
    "danish",
    "norwegian",
    "finnish",
    "polish",
    "russian",
    "ukrainian",
    "brazilian",
    "mexican",
    "korean",
    "greek",
    "turkish",
    "swiss",
    "austrian",
    "belgian",
    "jewish",
    "muslim",
    "christian",
    "catholic",
    "buddhist",
    "hindu",
    "european",
    "african",
    "asian",
    "latina",
    "latino",
    "vietnamese",
    "thai",
    "filipino",
    "czech",
    "hungarian",
    "romanian",
    "croatian",
    "serbian",
    "egyptian",
    "nigerian",
    "kenyan",
    "argentinian",
    "ok",
    "ceo",
    "cto",
    "it",
    "adhd",
    "lgbtq",
    "monday",
    "sunday",
    "god",
    "santa",
    "i",
    "not",
    "so",
    "the",
    "a",
    "an",
];

/// The name that a person gives for themself: "my name is Ana", "I'm Ana", "call me Ana".
pub fn user_name(text: &str) -> Option<String> {
    let text = crate::memory::plain_text(lexicon::clip(text, 8_000));
    let mut latest = None;
    for sentence in super::sentences(&text) {
        if sentence.len() < 400 {
            latest = in_sentence(&tokens(sentence)).or(latest);
        }
    }
    latest
}

/// True unless every sign says that a capitalised word is no name of a person.
pub(super) fn may_be_a_name(words: &str) -> bool {
    words.split(' ').all(|w| {
        let lower = w.to_lowercase();
        !NOT_NAMES.contains(&lower.as_str())
            && !lexicon::STOP.contains(lower.as_str())
            && (2..=24).contains(&w.chars().count())
            && !(w.len() > 2 && w.chars().all(char::is_uppercase))
    })
}

fn in_sentence(words: &[Token]) -> Option<String> {
    let lower = |i: usize| words.get(i).map(|t| t.lower.as_str()).unwrap_or_default();
    for i in 0..words.len() {
        // "My name is Ana", "my name's Ana", "name: Ana", "my friends call me Ana".
        let stated = match (lower(i), lower(i + 1), lower(i + 2)) {
            ("my", "name", "is" | ":" | "=") => Some(i + 3),
            ("my", "name's" | "names", _) => Some(i + 2),
            ("my", "full" | "first" | "real", "name") if lower(i + 3) == "is" => Some(i + 4),
            ("names" | "name's", ..) if i == 0 => Some(1),
            ("call", "me", _)
                if i == 0
                    || matches!(
                        lower(i - 1),
                        "please"
                            | "can"
                            | "just"
                            | "to"
                            | "friends"
                            | "everyone"
                            | "people"
                            | "you"
                            | ","
                            | "and"
                            | "they"
                            | "all"
                    ) =>
            {
                Some(i + 2)
            }
            ("i", "go", "by") => Some(i + 3),
            ("i", "am", "called") => Some(i + 3),
            _ => None,
        };
        if let Some(at) = stated {
            let mut at = at;
            while matches!(lower(at), "actually" | "just" | "also" | "now" | ":" | "\"" | "'" | "“")
            {
                at += 1;
            }
            // "My name is not Bob, it's Rob".
            if lower(at) == "not" {
                let is = (at..words.len()).find(|&j| lower(j) == "is" && j > at)?;
                at = is + 1;
            }
            let calls = lower(i) == "call";
            if let Some(name) = name_at(words, at, !calls) {
                return Some(name);
            }
            if calls {
                // "call me ana" with nothing after it.
                let alone = words.get(at + 1).is_none_or(|t| !t.word);
                let plain = !matches!(
                    lower(at),
                    "later"
                        | "back"
                        | "tomorrow"
                        | "crazy"
                        | "maybe"
                        | "asap"
                        | "now"
                        | "old-fashioned"
                        | "soon"
                        | "anytime"
                        | "tonight"
                        | "today"
                        | "please"
                        | "when"
                        | "if"
                        | "at"
                        | "on"
                        | "old"
                        | "a"
                        | "an"
                        | "the"
                        | "what"
                        | "whatever"
                        | "names"
                        | "stupid"
                        | "again"
                        | "yesterday"
                );
                if alone && plain {
                    return name_at(words, at, true);
                }
            }
        }
        // "I'm Ana", "I am Ana Silva", "this is Ana", "Ana here".
        let introduces = match (lower(i), lower(i + 1)) {
            ("i", "am") | ("this", "is")
                if i == 0
                    || !words[i - 1].word
                    || matches!(lower(i - 1), "hi" | "hello" | "hey" | "and" | "well" | "so") =>
            {
                Some(i + 2)
            }
            _ => None,
        };
        // "hi im tom"
        if let Some(at) = introduces
            && i >= 1
            && (1..=i).any(|n| {
                matches!(lower(i - n), "hi" | "hello" | "hey" | "hiya" | "morning" | "evening")
            })
            && i <= 3
            && words.get(at + 1).is_none_or(|t| !t.word || t.is("and"))
            && !looks_like_an_adjective(lower(at))
            && let Some(name) = name_at(words, at, true)
        {
            return Some(name);
        }
        // "im sara, 29"
        if let Some(at) = introduces
            && words.get(at + 1).is_some_and(|t| t.text == ",")
            && words.get(at + 2).is_some_and(|t| lexicon::number(&t.text).is_some_and(|n| n > 3))
            && let Some(name) = name_at(words, at, true)
            && !lexicon::REACTION.contains(words[at].lower.as_str())
        {
            return Some(name);
        }
        if let Some(at) = introduces
            && words.get(at).is_some_and(Token::upper)
        {
            let name = name_at(words, at, false);
            let n = name.as_ref().map_or(1, |n| n.split(' ').count());
            let after = words.get(at + n);
            // "I'm Ana's sister", "I'm Swedish", "This is Paris calling".
            let ends = after.is_none_or(|t| {
                !t.word
                    || t.among(&[
                        "and", "from", "but", "by", "btw", "a", "your", "the", "i", "who", "at",
                    ])
            });
            let this = lower(i) == "this" && !(i == 0 && words.len() <= at + n + 1);
            if ends && !this && name.is_some() {
                return name;
            }
        }
    }
    None
}

/// "hi im tired" names nobody.
fn looks_like_an_adjective(lower: &str) -> bool {
    lexicon::REACTION.contains(lower)
        || lexicon::STOP.contains(lower)
        || lexicon::is_finite(lower)
        || lexicon::is_participle(lower)
        || lexicon::is_adverb(lower)
        || [
            "ing", "ed", "ish", "ful", "ous", "ive", "ic", "ent", "ant", "less", "able", "ible",
            "ese", "ner", "ter", "ist", "eer", "ian",
        ]
        .iter()
        .any(|end| lower.len() > 4 && lower.ends_with(end))
        || matches!(
            lower,
            "new"
                | "sick"
                | "ill"
                | "hungry"
                | "thirsty"
                | "single"
                | "vegan"
                | "retired"
                | "old"
                | "young"
                | "busy"
                | "ready"
                | "bored"
                | "sleepy"
                | "hot"
                | "cold"
                | "late"
                | "early"
                | "broke"
                | "drunk"
                | "gay"
                | "trans"
                | "bi"
                | "lonely"
                | "nervous"
                | "angry"
                | "upset"
                | "lazy"
                | "tall"
                | "short"
                | "blind"
                | "deaf"
                | "student"
                | "nurse"
                | "free"
                | "stuck"
                | "afraid"
                | "alone"
                | "awake"
                | "depressed"
                | "grumpy"
                | "horny"
                | "cranky"
                | "dizzy"
                | "home"
                | "human"
                | "male"
                | "female"
                | "autistic"
                | "currently"
                | "high"
                | "low"
                | "vegetarian"
                | "alive"
                | "dead"
                | "crazy"
                | "mad"
                | "weird"
                | "fat"
                | "poor"
                | "rich"
                | "clumsy"
                | "curious"
        )
}

fn name_at(words: &[Token], at: usize, any_case: bool) -> Option<String> {
    let fits = |t: &Token| {
        t.word
            && t.text.chars().all(|c| c.is_alphabetic() || matches!(c, '-' | '\''))
            && (2..=24).contains(&t.text.chars().count())
            && !t.lower.ends_with("'s")
            && !NOT_NAMES.contains(&t.lower.as_str())
            && !lexicon::STOP.contains(t.lower.as_str())
            && !lexicon::MONTHS[..4].iter().any(|m| m.eq_ignore_ascii_case(&t.text) && !t.upper())
    };
    let first = words.get(at).filter(|t| fits(t) && (any_case || t.upper()))?;
    let mut name = if first.upper() { first.text.clone() } else { capitalise(&first.text) };
    // "my name is bob smith"
    if any_case
        && !first.upper()
        && let Some(next) = words.get(at + 1).filter(|t| {
            fits(t) && !t.upper() && !lexicon::is_finite(&t.lower) && !lexicon::is_adverb(&t.lower)
        })
        && words.get(at + 2).is_none_or(|t| !t.word || t.is("and"))
    {
        return Some(format!("{name} {}", capitalise(&next.text)));
    }
    for next in words[at + 1..].iter().take(2) {
        let shouted = next.text.chars().all(char::is_uppercase) && next.text.len() > 1;
        if !(fits(next) && next.upper()) || shouted && !first.text.chars().all(char::is_uppercase) {
            break;
        }
        name.push(' ');
        name.push_str(&next.text);
    }
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_people_give() {
        for (text, expected) in [
            ("My name is Ana.", Some("Ana")),
            ("my name is ana", Some("Ana")),
            ("Hi, I'm Ana!", Some("Ana")),
            ("Hi! I'm Ana and I live in Lund", Some("Ana")),
            ("I am Ana Silva.", Some("Ana Silva")),
            ("I'm Ana, 34, from Porto", Some("Ana")),
            ("call me Ana", Some("Ana")),
            ("you can call me Ana", Some("Ana")),
            ("call me ana", Some("Ana")),
            ("my name's Tom", Some("Tom")),
            ("My name is not Bob, it's Rob", Some("Rob")),
            ("My name is Jean-Luc", Some("Jean-Luc")),
            ("I go by Kit", Some("Kit")),
            ("I'm Swedish", None),
            ("I'm tired", None),
            ("I am Ana's sister", None),
            ("call me later", None),
            ("call me maybe", None),
            ("I'm from Lund", None),
            ("My dog's name is Max", None),
            ("What is my name?", None),
            ("my name is on the list", None),
            ("I'm Happy to help", None),
            ("Call me when you can", None),
            ("hey! im sara, 29, from manchester", Some("Sara")),
            ("hello my name is bob smith and i'm a plumber", Some("Bob Smith")),
            ("im hungry", None),
            ("hi im tom and im 25", Some("Tom")),
            ("hi im tired", None),
            ("hey im hungry", None),
            ("hello im a nurse", None),
            ("hi i'm new here", None),
            ("my names bob", Some("Bob")),
            ("I'm Ana, nice to meet you", Some("Ana")),
            ("", None),
        ] {
            assert_eq!(user_name(text).as_deref(), expected, "of {text:?}");
        }
    }
}
