//! What "X is …" and "X's Y is …" say: breed, job, age, diet, whose name.

use std::sync::LazyLock;

use regex::Regex;

use super::attributes::{Parsed, is_creature, is_single_valued, some};
use super::lexicon::{self, BREEDS};
use super::lists::{Pairs, Table, Words};
use super::patterns::Patterns;
use super::values::{age, place_after};

static AFTER_A_PREDICATE_NOUN: Words = Words::new("after a predicate noun");
static JOBS: Words = Words::new("jobs");
static WHEREABOUTS: Patterns = Patterns::new("whereabouts");
static POSSESSIONS: Table = Table::new("possessions");
static PREDICATES: Pairs = Pairs::new("predicates");
static NOT_A_JOB: Words = Words::new("not a job");

/// "Ana's NOUN is VALUE".
pub(super) fn possession(owner: &str, noun: &str, subject: &str, value: &str) -> Option<Parsed> {
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
    let attribute = match POSSESSIONS.get(low.as_str()) {
        Some(attribute) => (*attribute).to_owned(),
        None => low
            .replace("favorite", "favourite")
            .replace("color", "colour")
            .replace("fav ", "favourite ")
            .replace("fave ", "favourite "),
    };
    let about_value = first.chars().any(char::is_numeric)
        || matches!(first, "a" | "an" | "the")
        || lexicon::starts_upper(first)
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

pub(super) fn predicate(subject: &str, tail: &str, negated: bool, past: bool) -> Option<Parsed> {
    let tail = tail.strip_suffix(" now").unwrap_or(tail);
    let low = &*tail.to_lowercase();
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
    for (prefix, attribute) in PREDICATES.iter() {
        let Some(value) = starts(prefix).and_then(|v| v.strip_prefix(' ').map(str::to_owned))
        else {
            continue;
        };
        let value = match *prefix {
            "living in" | "based in" => {
                let place = format!("in {value}");
                place_after(&place.to_lowercase(), &place, "in").unwrap_or(value)
            }
            _ => value,
        };
        let born_when = *prefix == "born in" && value.starts_with(|c: char| c.is_ascii_digit());
        let attribute = match *attribute {
            _ if born_when => "birthday",
            "home" if past => "past home",
            other => other,
        };
        return some(subject, attribute, &value);
    }
    let words: Vec<&str> = low.split(' ').collect();
    if !past && WHEREABOUTS.match_any(&words) {
        return some(subject, "location", tail);
    }
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
        .take_while(|w| !AFTER_A_PREDICATE_NOUN.has(w.trim_end_matches(',')))
        .copied()
        .collect();
    let phrase_end = phrase.iter().position(|w| w.ends_with(',')).map_or(phrase.len(), |p| p + 1);
    let phrase = &phrase[..phrase_end];
    let head = phrase.last()?.trim_matches(|c: char| !c.is_alphanumeric());
    let breed = BREEDS.has(head)
        || phrase.iter().any(|w| BREEDS.has(w.trim_matches(',')) && *w != "lab" || *w == "mix");
    if breed && !matches!(head, "owner" | "breeder" | "lover") {
        let words_in = phrase.len() + usize::from(article);
        let value: Vec<&str> = tail.split(' ').take(words_in).skip(usize::from(article)).collect();
        return some(subject, "breed", &value.join(" "));
    }
    if words.iter().any(|w| w.ends_with("'s")) || matches!(words.first(), Some(&"the")) {
        // "Max is Ana's dog".
        static RELATION: LazyLock<Regex> =
            LazyLock::new(|| super::pattern(r"^(?:the user's|[\w-]+'s) [\w' -]{2,40}$"));
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

fn is_job(head: &str) -> bool {
    JOBS.has(head)
        || (head.len() > 4
            && (head.ends_with("eer")
                || head.ends_with("ist")
                || head.ends_with("er")
                || head.ends_with("or"))
            && !NOT_A_JOB.has(head))
}
