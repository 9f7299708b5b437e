//! What a third-person statement is about: subject, attribute and value, from its wording.
//!
//! The attribute decides conflicts, so it is left empty rather than guessed.

use super::lexicon::{self, KIN, PETS, is_adverb};
use super::lists::{Lines, Table, Words};
use super::predicates::{possession, predicate};
use super::values::{
    after_word, age, clean_value, has_job_words, has_time, having, place, place_after,
};
use super::words::{Token, join, tokens};
use super::{Statement, dates};

pub(super) static APPOINTMENTS: Words = Words::new("appointments");
static CODED_THINGS: Words = Words::new("coded things");
static NOT_A_SUBJECT: Words = Words::new("not a subject");
static OPENERS_OF_TIME_CLAUSES: Words = Words::new("openers of time clauses");
static WORDS_OF_TIME_ADVERBIALS: Words = Words::new("words of time adverbials");
static SINGLE: Lines = Lines::new("single-valued");
static SINGLE_HEADS: Words = Words::new("single-valued heads");
static VERBS: Table = Table::new("verbs and their attributes");

/// True if a new value of this attribute replaces the old one.
pub(super) fn is_single_valued(attribute: &str) -> bool {
    SINGLE.contains(&attribute)
        || attribute.starts_with("favourite ")
        || attribute.starts_with("its ")
        || attribute.rsplit_once(' ').is_some_and(|(_, head)| SINGLE_HEADS.has(head))
}

/// Parses subject, attribute and value back out of a stored third-person text.
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
    let words = tokens(strip_adverbial(text));
    // "Caroline said: …" is opaque.
    if let [who, said, colon, ..] = words.as_slice()
        && said.is("said")
        && colon.text == ":"
    {
        return Some((Some(who.text.clone()), None, None));
    }
    let words = main_clause(&words);
    if words.first().is_some_and(|t| t.within(&NOT_A_SUBJECT)) {
        return None;
    }
    let verb = main_verb(words).filter(|&verb| verb <= 8)?;
    // "The user no longer takes it"
    let longer = verb > 2 && words[verb - 1].is("longer") && words[verb - 2].is("no");
    let noun_phrase = &words[..if longer { verb - 2 } else { verb }];
    let (subject, of) = subject_of(noun_phrase);
    let mut group = VerbGroup::read(words, verb);
    group.negated |= longer;
    let tail = join(words.get(group.end..).unwrap_or_default());
    // "Ana's favourite colour is blue", "Ana's name is Ana", "Ana's dog's name is Max".
    if group.copula
        && let Some((owner, noun)) = &of
        && let Some(parsed) = possession(owner, noun, &subject, &tail)
    {
        return if group.negated { Some((parsed.0, None, None)) } else { Some(parsed) };
    }
    if group.future {
        return some(&subject, "plan", &tail);
    }
    if group.past_habit {
        return some(&subject, "past", &tail);
    }
    if group.copula {
        let past = words[verb].among(&["was", "were"]);
        let negated = group.negated;
        return predicate(&subject, &tail, negated, past)
            .or_else(|| of_a_thing(noun_phrase, &subject, &tail, negated))
            .or(Some((Some(subject), None, None)));
    }
    let main = words.get(group.end).map(|t| t.lower.as_str()).unwrap_or_default();
    let after = join(words.get(group.end + 1..).unwrap_or_default());
    match of_verb(main, &after, group.negated) {
        Some((attribute, value)) => some(&subject, attribute, &value),
        None => Some((Some(subject), None, None)),
    }
}

/// "When Ana was 12, Ana lived in Rome", "Usually Ana …": where the main clause begins.
fn main_clause(words: &[Token]) -> &[Token] {
    let words = match words.iter().position(|t| t.text == ",") {
        Some(comma)
            if comma < 10
                && words[0].within(&OPENERS_OF_TIME_CLAUSES)
                && words.len() > comma + 2 =>
        {
            &words[comma + 1..]
        }
        _ => words,
    };
    let lead = words.iter().take_while(|t| !t.word || is_adverb(&t.lower)).count();
    words.get(lead..).filter(|rest| !rest.is_empty()).unwrap_or(words)
}

/// Auxiliaries and adverbs before the main verb or the predicate.
#[derive(Default)]
struct VerbGroup {
    /// Where the main verb or the predicate stands.
    end: usize,
    copula: bool,
    negated: bool,
    future: bool,
    /// "used to"
    past_habit: bool,
}

impl VerbGroup {
    fn read(words: &[Token], verb: usize) -> Self {
        let mut group = Self { end: verb, ..Self::default() };
        while group.end < words.len() {
            let lower = |n: usize| words.get(group.end + n).map_or("", |t| t.lower.as_str());
            let (this, next, third) = (lower(0), lower(1), lower(2));
            let mut length = 1;
            match this {
                "isn't" | "wasn't" | "aren't" | "weren't" => {
                    group.negated = true;
                    group.copula = true;
                }
                "is" | "was" | "are" | "were" | "am" | "'s" | "been" => group.copula = true,
                "doesn't" | "didn't" | "don't" | "hasn't" | "haven't" | "won't" | "can't"
                | "cannot" | "never" | "not" => group.negated = true,
                "does" | "did" | "do" if next == "not" => {}
                "no" if next == "longer" => {
                    group.negated = true;
                    length = 2;
                }
                "used" if next == "to" && !group.copula => {
                    group.past_habit = true;
                    length = 2;
                }
                "used" if next == "to" => break,
                "can" | "could" => {}
                "will" | "gonna" => group.future = true,
                "would" => group.future |= matches!(next, "like" | "love") && third == "to",
                "going" if next == "to" && group.copula && lexicon::is_base_verb(third) => {
                    group.future = true;
                    length = 2;
                }
                "has" | "have" | "had"
                    if next == "been"
                        || lexicon::is_participle(next)
                        || is_adverb(next) && lexicon::is_participle(third) => {}
                adverb
                    if group.end > verb
                        && is_adverb(adverb)
                        && !(group.copula && matches!(adverb, "well" | "home" | "far")) => {}
                _ => break,
            }
            group.end += length;
        }
        group
    }
}

/// "The meeting is at 3pm", "The gate code is 4821".
fn of_a_thing(noun_phrase: &[Token], subject: &str, tail: &str, negated: bool) -> Option<Parsed> {
    let low = tail.to_lowercase();
    if noun_phrase.iter().any(|t| t.within(&APPOINTMENTS)) && has_time(&low) {
        return some(&join(noun_phrase), "time", tail);
    }
    let coded = noun_phrase.last().is_some_and(|t| t.within(&CODED_THINGS))
        || noun_phrase.len() <= 4 && low.starts_with(|c: char| c.is_ascii_digit());
    let the = noun_phrase.first().is_some_and(|t| t.is("the"));
    (the && coded && !negated && !subject.starts_with("The user"))
        .then(|| some(&join(noun_phrase), "value", tail))?
}

/// What the verb tells of its subject: attribute and value.
fn of_verb(main: &str, after: &str, negated: bool) -> Option<(&'static str, String)> {
    let low = after.to_lowercase();
    let rest = |prefix: &str| low.starts_with(prefix).then(|| after[prefix.len()..].to_owned());
    match main {
        "lives" | "live" | "resides" | "living" => {
            place(after).filter(|_| !negated).map(|p| ("home", p))
        }
        "lived" | "resided" => place(after).map(|p| ("past home", p)),
        "moved" | "relocated" | "emigrated" | "immigrated" => {
            place_after(&low, after, "to").map(|p| ("home", p))
        }
        "works" | "work" | "working" | "worked" if !negated => {
            let (attribute, value) = after_word(&low, after, "as")
                .map(|job| ("job", job))
                .or_else(|| Some(("employer", rest("at ").or_else(|| rest("for "))?)))
                .or_else(|| Some(("field", rest("in ")?)))?;
            Some((if main == "worked" { "past" } else { attribute }, value))
        }
        "comes" | "hails" => after_word(&low, after, "from").map(|v| ("birthplace", v)),
        "grew" => after_word(&low, after, "in").map(|v| ("childhood", v)),
        "studies" | "studying" | "study" if low.starts_with("at ") => {
            Some(("school", after.to_owned()))
        }
        "drives" | "drive" if !negated => {
            matches!(low.split(' ').next(), Some("a" | "an")).then(|| ("car", after.to_owned()))
        }
        "turned" | "turns" => age(&low).map(|n| ("age", n)),
        "has" | "have" | "owns" | "own" | "got" | "had" | "adopted" | "bought" => {
            having(&low, after, negated, main)
        }
        "married" if low.starts_with("to ") => Some(("partner", after[3..].to_owned())),
        "started" | "joined" if has_job_words(&low) => Some(("event", after.to_owned())),
        "goes" => {
            let schools = ["school", "university", "college", "uni"];
            let school = || rest("to ").filter(|_| schools.iter().any(|s| low.contains(s)));
            rest("by ").map(|name| ("name", name)).or_else(|| Some(("school", school()?)))
        }
        _ => {
            let verb = *VERBS.get(main)?;
            let (plain, opposite) = verb.split_once(" / ").unwrap_or((verb, verb));
            let attribute = if negated { opposite } else { plain };
            (attribute != "-").then(|| (attribute, after.to_owned()))
        }
    }
}

/// "On 20 November 2026, …", "In March 2026 …" at the beginning say when, not who.
pub fn strip_adverbial(text: &str) -> &str {
    let Some(found) = dates::find(text).into_iter().next() else { return text };
    if found.start > 24 || found.end + 2 > text.len() {
        return text;
    }
    let head = text[..found.start].to_lowercase();
    let small =
        head.split_whitespace().all(|w| WORDS_OF_TIME_ADVERBIALS.has(w.trim_end_matches(',')));
    if small { text[found.end..].trim_start_matches([',', ' ', ')']) } else { text }
}

/// Index of the main verb or its first auxiliary, where the subject ends; `None` if no verb is found.
pub fn main_verb(words: &[Token]) -> Option<usize> {
    let user = words.first().is_some_and(|t| t.is("the"))
        && words.get(1).is_some_and(|t| t.is("user") || t.is("user's"));
    let first = if user { 2 } else { 1 };
    (first..words.len().min(14)).find(|&i| {
        let t = &words[i];
        if !t.word {
            return false;
        }
        let lower = t.lower.as_str();
        if lexicon::helps(lower) {
            return true;
        }
        let possessed = words[i - 1].lower.ends_with("'s")
            || words[i - 1].among(&["the", "a", "an", "of", "with"]);
        if possessed || t.upper() {
            return false;
        }
        lexicon::UNCHANGING.has(lower)
            || (lexicon::is_third_person(lower) && !is_plural_noun_here(words, i))
            || lexicon::is_past(lower) && !words[i - 1].among(&["and"])
            || (lexicon::is_base_verb(lower)
                && !lexicon::NOUN_LIKE.has(lower)
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
    // "The user jsut moved": a mistyped adverb is not part of the subject.
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
    KIN.has(lower) || PETS.has(lower)
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
    use super::super::tests::cases;
    use super::*;

    #[test]
    fn subject_attribute_value() {
        for (text, expected) in
            cases(include_str!("tests/cases/attributes.txt"), "subject, attribute, value")
        {
            let statement = parse_statement(&text);
            let got = [statement.subject, statement.attribute, statement.value];
            assert_eq!(got.map(Option::unwrap_or_default), expected[..], "of {text:?}");
        }
    }
}
