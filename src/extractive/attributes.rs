//! What a third-person statement is about: subject, attribute and value, from its wording.
//!
//! The attribute decides conflicts, so it is left empty rather than guessed.

use std::sync::LazyLock;

use regex::Regex;

use super::lexicon::{self, BREEDS, KIN, PETS, is_adverb};
use super::words::{Token, join, tokens};
use super::{Statement, dates};

/// Attributes of which a subject has one at a time: a later value takes the earlier one's place.
const SINGLE: &[&str] = &[
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

type Parsed = (Option<String>, Option<String>, Option<String>);

fn some(subject: &str, attribute: &str, value: &str) -> Option<Parsed> {
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
            "since", "when", "if", "because", "while", "after", "before", "by", "for", "as",
            "here", "there", "what", "where", "how", "who", "why", "that", "to", "with", "in",
            "on", "at",
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
fn strip_adverbial(text: &str) -> &str {
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
fn main_verb(words: &[Token]) -> Option<usize> {
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

/// "Ana's NOUN is VALUE".
fn possession(owner: &str, noun: &str, subject: &str, value: &str) -> Option<Parsed> {
    let low = noun.to_lowercase();
    let head = low.rsplit(' ').next().unwrap_or(&low).to_owned();
    let bare = value.trim_start_matches("now ").trim_start_matches("actually ");
    let first = bare.split(' ').next().unwrap_or_default();
    let name_like = !first.is_empty()
        && lexicon::starts_upper(first)
        && bare.split([' ', ',']).take_while(|w| !w.is_empty()).take(3).all(lexicon::starts_upper)
        && bare.split(' ').count() <= 3;
    if is_creature(&head) || is_creature(&low) {
        // "Ana's dog is Max" names it; all else is about the dog.
        return name_like.then(|| some(subject, "name", bare)).flatten();
    }
    let attribute = match low.as_str() {
        "name" | "first name" | "full name" | "nickname" | "last name" | "middle name"
        | "surname" => {
            if low == "name" {
                "name".to_owned()
            } else {
                low.clone()
            }
        }
        "bday" | "birthday" | "date of birth" => "birthday".into(),
        "phone" | "phone number" | "number" | "mobile" | "cell" | "telephone number"
        | "mobile number" => "phone number".into(),
        "email" | "email address" | "e-mail" | "mail" => "email".into(),
        "job" | "profession" | "occupation" | "work" | "job title" => "job".into(),
        "employer" | "company" => "employer".into(),
        "hometown" | "home town" | "birthplace" => "birthplace".into(),
        "favorite" | "favourite" => "favourite".into(),
        "age" => "age".into(),
        "dream" | "goal" | "plan" | "hobby" | "hobbies" | "plans" | "goals" => "plan".into(),
        _ => low
            .replace("favorite", "favourite")
            .replace("color", "colour")
            .replace("fav ", "favourite ")
            .replace("fave ", "favourite "),
    };
    let attribute =
        if attribute == "plan" && low.starts_with("hobb") { "hobby".into() } else { attribute };
    let about_value = first.chars().any(char::is_numeric)
        || matches!(first, "a" | "an" | "the")
        || lexicon::starts_upper(first)
        || SINGLE.contains(&attribute.as_str())
        || is_single_valued(&attribute)
        || matches!(attribute.as_str(), "plan" | "hobby");
    let thing = low.split(' ').count() == 1 && !is_single_valued(&attribute) || attribute == "car";
    if thing && predicate_colour(bare) {
        return None;
    }
    if !about_value || low.split(' ').count() > 4 {
        return None;
    }
    // "Ana's meeting is at 3pm" has a time; "Ana's car is a Tesla" is one.
    some(owner, &attribute, bare)
}

static TALL: LazyLock<Regex> = LazyLock::new(|| {
    super::pattern(r"^\d'\d+|^[\d.,']+ ?(?:cm|m|metres|meters|feet|ft|foot)[\w ]* tall")
});

fn predicate_colour(text: &str) -> bool {
    static COLOUR: LazyLock<Regex> = LazyLock::new(|| {
        super::pattern(
            r"^(?i)(?:dark |light |bright |pale )?(?:black|white|brown|grey|gray|orange|red|blue|green|yellow|purple|pink|golden|beige|cream|silver)(?: and \w+)?$",
        )
    });
    COLOUR.is_match(text)
}

fn predicate(subject: &str, tail: &str, low: &str, negated: bool, past: bool) -> Option<Parsed> {
    let starts = |prefix: &str| low.starts_with(prefix).then(|| tail[prefix.len()..].to_owned());
    if negated {
        if let Some(v) = starts("allergic to ") {
            return some(subject, "no allergy", &v);
        }
        return None;
    }
    if let Some(n) = age(low) {
        return some(subject, if past { "past" } else { "age" }, &n);
    }
    for (prefix, attribute) in [
        ("named ", "name"),
        ("called ", "name"),
        ("from ", "birthplace"),
        ("originally from ", "birthplace"),
        ("born in ", "birthplace"),
        ("born on ", "birthday"),
        ("based in ", "home"),
        ("living in ", "home"),
        ("moving to ", "plan"),
        ("allergic to ", "allergy"),
        ("married to ", "partner"),
        ("engaged to ", "partner"),
        ("dating ", "partner"),
        ("into ", "likes"),
        ("a fan of ", "likes"),
        ("a big fan of ", "likes"),
        ("a huge fan of ", "likes"),
        ("fond of ", "likes"),
        ("obsessed with ", "likes"),
        ("afraid of ", "fear"),
        ("scared of ", "fear"),
        ("terrified of ", "fear"),
        ("working as ", "job"),
        ("working at ", "employer"),
        ("working for ", "employer"),
        ("employed at ", "employer"),
        ("employed by ", "employer"),
        ("studying at ", "school"),
        ("studying ", "field of study"),
        ("learning ", "learning"),
        ("fluent in ", "language"),
        ("planning ", "plan"),
        ("diagnosed with ", "health"),
        ("interested in ", "likes"),
        ("training for ", "plan"),
    ] {
        if let Some(v) = starts(prefix) {
            let v = match prefix {
                "living in " | "based in " => place_after(
                    &format!("in {low_v}", low_v = v.to_lowercase()),
                    &format!("in {v}"),
                    "in",
                )
                .unwrap_or(v),
                _ => v,
            };
            let attribute = match attribute {
                "birthplace"
                    if prefix == "born in " && v.starts_with(|c: char| c.is_ascii_digit()) =>
                {
                    "birthday"
                }
                "home" if past => "past home",
                other => other,
            };
            return some(subject, attribute, &v);
        }
    }
    let words: Vec<&str> = low.split(' ').collect();
    // "The user is Ana".
    if words.len() <= 2
        && !subject.contains("'s")
        && tail
            .split(' ')
            .all(|w| lexicon::starts_upper(w) && w.chars().all(|c| c.is_alphabetic() || c == '-'))
        && super::names::may_be_a_name(tail)
    {
        return some(subject, "name", tail);
    }
    if matches!(
        words.first(),
        Some(&("vegetarian" | "vegan" | "pescatarian" | "gluten-free" | "gluten" | "omnivore"))
    ) || matches!(words.as_slice(), ["a" | "an", "vegetarian" | "vegan" | "pescatarian", ..])
    {
        return some(subject, "diet", tail);
    }
    if matches!(
        words.first(),
        Some(&("single" | "married" | "divorced" | "engaged" | "widowed" | "separated"))
    ) && words.len() <= 5
    {
        return some(subject, "relationship status", tail);
    }
    if predicate_colour(low) {
        return some(subject, "colour", tail);
    }
    if TALL.is_match(low) {
        return some(subject, "height", tail);
    }
    // "a golden retriever", "a nurse at the hospital".
    let article = matches!(words.first(), Some(&("a" | "an")));
    let phrase: Vec<&str> = words
        .iter()
        .skip(usize::from(article))
        .take_while(|w| {
            !matches!(
                w.trim_end_matches(','),
                "and"
                    | "not"
                    | "who"
                    | "that"
                    | "which"
                    | "at"
                    | "in"
                    | "for"
                    | "with"
                    | "on"
                    | "from"
                    | "of"
                    | "by"
                    | "but"
            )
        })
        .copied()
        .collect();
    let phrase_end = phrase.iter().position(|w| w.ends_with(',')).map_or(phrase.len(), |p| p + 1);
    let phrase = &phrase[..phrase_end];
    let head = phrase.last()?.trim_matches(|c: char| !c.is_alphanumeric());
    let breed = BREEDS.contains(head)
        || phrase
            .iter()
            .any(|w| BREEDS.contains(w.trim_matches(',')) && *w != "lab" || *w == "mix");
    if breed && !matches!(head, "owner" | "breeder" | "lover") {
        let words_in = phrase.len() + usize::from(article);
        let value: Vec<&str> = tail.split(' ').take(words_in).skip(usize::from(article)).collect();
        return some(subject, "breed", &value.join(" "));
    }
    if words.iter().any(|w| w.ends_with("'s")) || matches!(words.first(), Some(&"the")) {
        // "Max is Ana's dog".
        static RELATION: LazyLock<Regex> =
            LazyLock::new(|| super::pattern(r"^(?:the user's|[\w-]+'s) [\w -]{2,40}$"));
        if RELATION.is_match(low) && is_creature(words.last()?) {
            return some(subject, "relation", tail);
        }
        return None;
    }
    if article && is_job(head) {
        return some(subject, if past { "past" } else { "job" }, tail.get(words[0].len() + 1..)?);
    }
    None
}

const JOBS: &[&str] = &[
    "nurse",
    "doctor",
    "surgeon",
    "chef",
    "cook",
    "pilot",
    "judge",
    "clerk",
    "mechanic",
    "electrician",
    "librarian",
    "musician",
    "technician",
    "physician",
    "politician",
    "student",
    "consultant",
    "accountant",
    "assistant",
    "architect",
    "analyst",
    "intern",
    "developer",
    "freelancer",
    "therapist",
    "scientist",
    "journalist",
    "dentist",
    "pharmacist",
    "vet",
    "veterinarian",
    "ceo",
    "cto",
    "founder",
    "coach",
    "model",
    "actor",
    "actress",
    "waiter",
    "waitress",
    "carpenter",
    "plumber",
    "farmer",
    "lawyer",
    "solicitor",
    "paramedic",
    "guard",
    "firefighter",
    "policeman",
    "soldier",
    "translator",
    "tutor",
    "barista",
    "bartender",
    "baker",
    "florist",
    "psychologist",
    "sociologist",
    "counselor",
    "counsellor",
    "researcher",
    "professor",
    "lecturer",
    "astronaut",
    "principal",
    "secretary",
    "entrepreneur",
    "salesman",
    "stylist",
    "hairdresser",
    "postman",
    "gardener",
    "historian",
    "mathematician",
    "sailor",
    "diver",
    "economist",
    "statistician",
    "biologist",
    "chemist",
    "physicist",
];

fn is_job(head: &str) -> bool {
    JOBS.contains(&head)
        || (head.len() > 4
            && (head.ends_with("eer")
                || head.ends_with("ist")
                || head.ends_with("er")
                || head.ends_with("or"))
            && !matches!(
                head,
                "mother"
                    | "father"
                    | "sister"
                    | "brother"
                    | "daughter"
                    | "lover"
                    | "member"
                    | "owner"
                    | "number"
                    | "survivor"
                    | "dreamer"
                    | "smoker"
                    | "user"
                    | "swimmer"
                    | "runner"
                    | "reader"
                    | "gamer"
                    | "learner"
                    | "beginner"
                    | "believer"
                    | "stepmother"
                    | "stepfather"
                    | "grandmother"
                    | "grandfather"
                    | "partner"
                    | "bookworm"
                    | "minor"
                    | "loner"
                    | "foodie"
                    | "traveler"
                    | "traveller"
                    | "winner"
                    | "supporter"
                    | "fighter"
                    | "drinker"
                    | "eater"
                    | "neighbor"
                    | "monster"
                    | "disaster"
                    | "helper"
                    | "killer"
                    | "matter"
                    | "winter"
                    | "summer"
                    | "flower"
                    | "color"
                    | "honor"
                    | "perfectionist"
                    | "optimist"
                    | "pessimist"
                    | "feminist"
                    | "activist"
                    | "minimalist"
                    | "breeder"
                    | "retriever"
                    | "pointer"
                    | "setter"
                    | "boxer"
                    | "computer"
                    | "chapter"
                    | "letter"
                    | "mentor"
                    | "leader"
                    | "hamster"
                    | "keeper"
                    | "answer"
                    | "order"
                    | "paper"
                    | "laser"
                    | "starter"
                    | "favor"
                    | "error"
                    | "mirror"
                    | "factor"
                    | "motor"
                    | "tumor"
                    | "cancer"
                    | "fever"
                    | "river"
                    | "center"
                    | "theater"
                    | "game-changer"
                    | "newcomer"
                    | "newbie"
                    | "cluster"
                    | "better"
                    | "cover"
                    | "tiger"
                    | "sweater"
                    | "weather"
                    | "character"
                    | "register"
                    | "offer"
                    | "lecturer"
            ))
}

fn has_job_words(low: &str) -> bool {
    ["job", "work", "position", "company", "team", "club", "gym"].iter().any(|w| low.contains(w))
}

fn has_time(low: &str) -> bool {
    static TIME: LazyLock<Regex> = LazyLock::new(|| {
        super::pattern(
            r"\b(?:\d{1,2}(?::\d\d)? ?(?:am|pm|a\.m|p\.m)|\d{1,2}:\d\d|at \d{1,2}|noon|midnight|on (?:mon|tues|wednes|thurs|fri|satur|sun)day|on \d{1,2} \w+|\d{4})\b",
        )
    });
    TIME.is_match(low)
}

/// "5 years old", "34", "a 5-year-old", "turning 40".
fn age(low: &str) -> Option<String> {
    static AGE: LazyLock<Regex> = LazyLock::new(|| {
        super::pattern(
            r"^(?:now |currently |already |only |almost |about |just |turning |an? )*(\d{1,3}|[a-z]+(?:-[a-z]+)?)[- ]?(?:(years?|yrs?|months?|weeks?)(?:[- ]old| of age)?\b|yo\b|y/o\b|$|,|\.| now\b| and\b| today\b| on\b| in \w+ \d{4})",
        )
    });
    let found = AGE.captures(low)?;
    let number = found.get(1)?.as_str();
    let n = lexicon::number(number).filter(|n| (0..=130).contains(n))?;
    if matches!(number, "a" | "an" | "one") && found.get(2).is_none() {
        return None;
    }
    let unit = found.get(2).map_or("", |m| m.as_str());
    Some(if unit.starts_with('m') || unit.starts_with('w') {
        format!("{n} {unit}")
    } else {
        n.to_string()
    })
}

/// The place of "in Lund", "with Tom in Lund", "at home".
fn place(after: &str) -> Option<String> {
    let low = after.to_lowercase();
    place_after(&low, after, "in")
        .or_else(|| place_after(&low, after, "on"))
        .or_else(|| place_after(&low, after, "at"))
        .or_else(|| place_after(&low, after, "near"))
        .or_else(|| {
            (!after.is_empty() && !low.starts_with("with") && !low.starts_with("alone"))
                .then(|| after.to_owned())
        })
}

fn place_after(low: &str, text: &str, preposition: &str) -> Option<String> {
    let at = if low.starts_with(&format!("{preposition} ")) {
        preposition.len() + 1
    } else {
        low.find(&format!(" {preposition} "))? + preposition.len() + 2
    };
    let value = text.get(at..)?;
    let end = value
        .split(' ')
        .scan(0, |pos, word| {
            let here = *pos;
            *pos += word.len() + 1;
            Some((here, word))
        })
        .find(|&(here, word)| {
            here > 0
                && matches!(
                    word,
                    "with"
                        | "and"
                        | "for"
                        | "since"
                        | "because"
                        | "from"
                        | "when"
                        | "but"
                        | "to"
                        | "on"
                        | "where"
                        | "now"
                        | "until"
                        | "by"
                )
                || word.starts_with('(')
                || here > 0
                    && word == "in"
                    && value[here + 2..].trim_start().starts_with(|c: char| c.is_ascii_digit())
        })
        .map_or(value.len(), |(here, _)| here);
    let value = value[..end].trim_end();
    (!value.is_empty()).then(|| value.to_owned())
}

fn after_word(low: &str, text: &str, word: &str) -> Option<String> {
    let at = if low.starts_with(&format!("{word} ")) {
        word.len() + 1
    } else {
        low.find(&format!(" {word} "))? + word.len() + 2
    };
    text.get(at..)
        .map(|v| v.strip_prefix("a ").or_else(|| v.strip_prefix("an ")).unwrap_or(v).to_owned())
}

fn having(low: &str, after: &str, negated: bool, main: &str) -> Option<(&'static str, String)> {
    let value = after.to_owned();
    if low.contains("allerg") {
        return Some((if negated { "no allergy" } else { "allergy" }, value));
    }
    if main == "got" && low.starts_with("a job as ") {
        return Some(("job", value[9..].to_owned()));
    }
    if main == "got" && low.starts_with("married") {
        return Some(("event", value));
    }
    if ["a birthday", "a meeting", "an appointment", "an interview", "an exam"]
        .iter()
        .any(|p| low.starts_with(p))
    {
        return Some(("event", value));
    }
    let words: Vec<&str> = low.split(' ').take(6).map(|w| w.trim_end_matches(',')).collect();
    if words.iter().any(|w| PETS.contains(*w)) {
        return Some((if negated { "no pet" } else { "pet" }, value));
    }
    if words.iter().any(|w| KIN.contains(*w)) {
        return Some(("family", value));
    }
    if [
        "diabetes",
        "asthma",
        "migraine",
        "adhd",
        "arthritis",
        "anxiety",
        "depression",
        "celiac",
        "coeliac",
        "epilepsy",
        "autism",
        "cancer",
        "eczema",
        "insomnia",
    ]
    .iter()
    .any(|d| low.contains(d))
    {
        return Some(("health", value));
    }
    (main == "has" || main == "owns").then_some((if negated { "lacks" } else { "has" }, value))
}

/// The value without its date, contrast and end marks.
fn clean_value(value: &str) -> String {
    let mut value = value.trim();
    if let Some(found) = dates::find(value).first() {
        let head = value[..found.start].trim_end();
        let head = head.strip_suffix('(').unwrap_or(head).trim_end();
        let head = ["on", "in", "in the", "on the", "at", "since", "around"]
            .iter()
            .find_map(|p| head.strip_suffix(p).filter(|h| h.is_empty() || h.ends_with(' ')))
            .unwrap_or(head)
            .trim_end();
        if !head.is_empty() {
            value = head;
        }
    }
    for contrast in [
        ", not ",
        " instead of ",
        " anymore",
        " any more",
        ", but ",
        " now",
        " rather than ",
        " these days",
        " — ",
        " and not ",
    ] {
        if let Some(at) = value.find(contrast).filter(|&at| at > 0) {
            value = &value[..at];
        }
    }
    value.trim_end_matches(['.', '!', ',', ';', ' ']).to_owned()
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
