//! Scores how well a fact answers a question, by subject, attribute, words and kind of answer.

use std::collections::HashSet;

use super::attributes::is_single_valued;
use super::dates::{self, DateSpan};
use super::evidence::Evidence;
use super::judge::same_name;
use super::lexicon::{self, starts_upper};
use super::lists::{Rows, Table, Words};
use super::question::{Kind, Question};

static KINDS_OF_KIN: Table = Table::new("kinds of kin");
static SYNONYMS: Rows = Rows::new("synonyms");
static WORDS_THAT_ATTRIBUTES_ANSWER: Table = Table::new("words that attributes answer");
static PLACE_PREPOSITIONS: Words = Words::new("place prepositions");

/// The share of a question's words that have to match if no attribute does.
const COVERAGE_MIN: f64 = 0.74;

/// With at least this share, evidence is offered as possibly related.
const NEAR_MIN: f64 = 0.6;

/// How well a piece of evidence fits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Score {
    pub value: f64,
    /// It answers the question; otherwise it only shares most of its words.
    pub sure: bool,
}

pub(super) fn sure(value: f64) -> Option<Score> {
    Some(Score { value, sure: true })
}

/// Names and phrases, in lowercase, for what the question is about.
pub(super) struct Targets {
    /// Every group has to match, each by one of its alternatives.
    groups: Vec<Vec<String>>,
    own: bool,
}

pub(super) fn targets(asked: &Question, aliases: &[(String, String, String)]) -> Targets {
    let mut groups: Vec<Vec<String>> = asked.names.iter().map(|n| vec![n.clone()]).collect();
    let mut own = asked.own;
    if let Some((owner, noun)) = &asked.relation {
        let owner_small = owner.clone().unwrap_or_default();
        let mut group = vec![noun.clone()];
        // "my kids": the twins.
        group.extend(kinds_of_kin(noun).map(str::to_owned));
        for (o, n, name) in aliases {
            if *o == owner_small && (lexicon::stem(n) == lexicon::stem(noun) || is_a(n, noun)) {
                group.push(name.clone());
            }
        }
        groups.retain(|g| Some(&g[0]) != owner.as_ref());
        groups.push(group);
        // "my dog": about the dog, not about me.
        own = false;
    }
    Targets { groups, own }
}

/// A dog is a pet, a sister is a sibling.
fn is_a(noun: &str, kind: &str) -> bool {
    kind.trim_end_matches('s') == "pet" && lexicon::PETS.has(noun)
        || kinds_of_kin(kind).any(|n| lexicon::stem(n) == lexicon::stem(noun))
}

/// What is one of "kids": "son", "daughter", …
fn kinds_of_kin(kind: &str) -> impl Iterator<Item = &'static str> {
    let nouns = KINDS_OF_KIN.get(kind.trim_end_matches('s'));
    nouns.into_iter().flat_map(|nouns| nouns.split(' '))
}

fn is_person(subject: &str, person: &str) -> bool {
    same_name(subject, person) || same_name(subject, "the user")
}

/// `carried`: said before the time that the question names, and still true when it began.
pub(super) fn score(
    asked: &Question,
    e: &Evidence,
    targets: &Targets,
    person: &str,
    carried: bool,
) -> Option<Score> {
    let attribute = e.statement.attribute.as_deref().unwrap_or_default();
    let mut about = about_targets(e, targets)?;
    if targets.own && targets.groups.is_empty() {
        about += about_person(asked, e, person)?;
    }
    let mut timely = true;
    if let Some(span) = asked.span {
        let bonus = timeliness(e, span, carried);
        timely = bonus.is_some();
        if !timely && asked.stems.is_empty() {
            return None;
        }
        about += bonus.unwrap_or_default();
    }
    let extra = 0.3 * e.relevance + if e.raw { 0.0 } else { 0.05 };
    if asked.kind == Kind::List {
        return for_list(asked, e, targets, attribute).map(|v| v + about + extra).and_then(sure);
    }
    if asked.relation.is_some() && asked.attributes.iter().any(|a| a == "name") {
        return for_name(asked, e, targets, attribute).map(|v| v + about + extra).and_then(sure);
    }
    let fit = type_fit(asked, e, attribute);
    if let Some(value) = for_attribute(asked, e, targets, attribute, about) {
        return sure(value + about + fit + extra);
    }
    if asked.stems.is_empty() && asked.names.is_empty() && asked.span.is_none() {
        return None;
    }
    if asked.stems.is_empty() {
        // "When did I go to Rome?" names its topic by a name.
        let named = !asked.names.is_empty()
            && (targets.own || asked.names.len() >= 2 || asked.span.is_some())
            && fit >= 0.0;
        let spanned = asked.span.is_some()
            && about > 0.8
            && !asked.hypothetical
            && !dates::find(&e.statement.text).is_empty();
        let fits = asked.attributes.is_empty() && (named || spanned);
        return fits.then_some(0.8 + about + fit + extra).and_then(sure);
    }
    if fit < 0.0 {
        return None;
    }
    // An opaque quotation, or one from another time than the question's, is never sure.
    let doubtful = e.statement.text.contains(" said: ") || !timely;
    let coverage = coverage(&asked.stems, &e.stems, attribute);
    let (minimum, near) = match (asked.kind, asked.stems.len()) {
        (Kind::YesNo, _) => (0.75, 0.75),
        (_, 1) => (0.99, 0.99),
        (_, 2) if targets.groups.is_empty() && e.relevance < 0.5 => (0.84, 0.99),
        (_, 2) => (0.84, 0.5),
        _ => (COVERAGE_MIN, NEAR_MIN),
    };
    let is_sure = coverage >= minimum && !doubtful;
    (is_sure || coverage >= near)
        .then_some(Score { value: 1.0 + about + coverage + fit + extra, sure: is_sure })
}

/// How well the evidence is about each name or relation of the question; `None` if it leaves one
/// out.
fn about_targets(e: &Evidence, targets: &Targets) -> Option<f64> {
    let subject = e.statement.subject.as_deref().unwrap_or_default().to_lowercase();
    let mut about = 0.0;
    for group in &targets.groups {
        let is_subject = group.iter().any(|g| {
            subject == *g
                || subject.ends_with(&format!("'s {g}"))
                || subject.split(' ').any(|w| w == g)
        });
        let mentioned = group.iter().any(|g| {
            g.split(' ').all(|w| e.words.contains(w) || e.stems.contains(&lexicon::stem(w)))
        });
        about += match (is_subject, mentioned) {
            (true, _) => 1.0,
            (_, true) => 0.6,
            _ => return None,
        };
    }
    Some(about)
}

/// How well the evidence is about the person who asks.
fn about_person(asked: &Question, e: &Evidence, person: &str) -> Option<f64> {
    let subject = e.statement.subject.as_deref().unwrap_or_default();
    let attribute = &e.statement.attribute;
    let (small, text) = (subject.to_lowercase(), e.statement.text.to_lowercase());
    let person_small = person.to_lowercase();
    let own = is_person(subject, person);
    let owned = small.starts_with(&format!("{person_small}'s")) || small.starts_with("the user's");
    let company = small.contains(&format!("{person_small} and "))
        || small.contains(&format!(" and {person_small}"));
    let named = starts_upper_name(subject);
    if own || company {
        return Some(1.0);
    }
    let somebody_else = !subject.is_empty() && (named || attribute.is_some());
    if asked.own_subject && asked.kind != Kind::Who && somebody_else {
        return None;
    }
    if owned {
        return Some(0.7);
    }
    if text.contains(&person_small) || text.contains("the user") {
        return Some(0.5);
    }
    let loose = !text.is_empty() && asked.kind != Kind::List && !asked.stems.is_empty() && !named;
    loose.then_some(0.3)
}

/// Evidence from the time that the question names scores higher than what already held then.
fn timeliness(e: &Evidence, span: DateSpan, carried: bool) -> Option<f64> {
    let found = dates::find(&e.statement.text);
    let day = e.at.date();
    let inside = if found.is_empty() {
        span.first <= day && day <= span.last
    } else {
        found.iter().any(|f| f.span.overlaps(span))
    };
    if inside { Some(0.3) } else { (carried && found.is_empty()).then_some(0.2) }
}

/// "What do you know about Max?"
fn for_list(asked: &Question, e: &Evidence, targets: &Targets, attribute: &str) -> Option<f64> {
    let coverage = coverage(&asked.stems, &e.stems, attribute);
    let aimed = !targets.groups.is_empty() || targets.own;
    let misses = if asked.stems.is_empty() { !aimed } else { coverage < 0.5 };
    if misses {
        return None;
    }
    // What defines somebody goes before what happened.
    let defining = match attribute {
        "" => 0.0,
        a if is_single_valued(a) => 0.3,
        _ => 0.15,
    };
    Some(1.0 + coverage + defining)
}

/// "What is my dog's name?": a fact that shows the name answers.
fn for_name(asked: &Question, e: &Evidence, targets: &Targets, attribute: &str) -> Option<f64> {
    let text = e.statement.text.to_lowercase();
    let told = targets.groups.iter().flatten().any(|word| text.contains(word.as_str()));
    match attribute {
        "name" if told => Some(3.2),
        "relation" if told => Some(3.0),
        _ => shows_name(&e.statement.text, asked).then_some(2.5),
    }
}

/// The question asks for the attribute; the words that it does not stand for have to match as well.
fn for_attribute(
    asked: &Question,
    e: &Evidence,
    targets: &Targets,
    attribute: &str,
    about: f64,
) -> Option<f64> {
    let wanted = asked.attributes.iter().any(|a| {
        a == attribute || a == "name" && attribute == "relation" && !targets.groups.is_empty()
    });
    if !wanted || about < 0.6 && (targets.own || !targets.groups.is_empty()) {
        return None;
    }
    let rest: Vec<String> =
        asked.stems.iter().filter(|s| !stands_for(s, attribute)).cloned().collect();
    let coverage = coverage(&rest, &e.stems, attribute);
    let first = if asked.attributes[0] == attribute { 0.15 } else { 0.0 };
    (rest.is_empty() || coverage >= 0.5).then_some(2.0 + coverage + first)
}

fn starts_upper_name(subject: &str) -> bool {
    starts_upper(subject) && !subject.starts_with("The ")
}

/// "Ana's dog Max", "a dog named Max".
fn shows_name(text: &str, asked: &Question) -> bool {
    let Some((_, noun)) = &asked.relation else { return false };
    let words: Vec<&str> = text.split_whitespace().collect();
    words.windows(3).any(|w| {
        w[0].trim_matches(',').eq_ignore_ascii_case(noun)
            && (starts_upper(w[1]) || matches!(w[1], "named" | "called" | "is") && starts_upper(w[2]))
    }) || words.windows(2).any(|w| w[0].eq_ignore_ascii_case(noun) && starts_upper(w[1]))
        // "2 kids, Leo and Mia"
        || words.windows(2).any(|w| {
            w[0].strip_suffix([',', ':']).is_some_and(|w| lexicon::stem(w) == lexicon::stem(noun))
        })
}

/// Whether an attribute answers a word of a question.
pub(super) fn stands_for(stem: &str, attribute: &str) -> bool {
    let words = WORDS_THAT_ATTRIBUTES_ANSWER.get(attribute);
    words.is_some_and(|words| words.split(' ').any(|word| word == stem))
        || lexicon::words(attribute).any(|w| lexicon::stem(w) == stem)
}

fn coverage(wanted: &[String], have: &HashSet<String>, attribute: &str) -> f64 {
    if wanted.is_empty() {
        return 0.0;
    }
    let met: f64 = wanted
        .iter()
        .map(|w| {
            if have.contains(w) {
                1.0
            } else if SYNONYMS
                .iter()
                .any(|g| g.contains(&w.as_str()) && g.iter().any(|s| have.contains(*s)))
                || !attribute.is_empty() && stands_for(w, attribute)
            {
                0.8
            } else if w.len() >= 5
                && have.iter().any(|h| {
                    h.len() >= 5 && (h.starts_with(w.as_str()) || w.starts_with(h.as_str()))
                })
            {
                0.7
            } else {
                0.0
            }
        })
        .sum();
    met / wanted.len() as f64
}

/// Positive where the evidence has what the question word asks for; negative where it can't answer.
fn type_fit(asked: &Question, e: &Evidence, attribute: &str) -> f64 {
    let text = &e.statement.text;
    let number = || {
        lexicon::words(text).any(|w| {
            lexicon::number(w)
                .is_some_and(|_| !w.eq_ignore_ascii_case("a") && !w.eq_ignore_ascii_case("an"))
        })
    };
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    match asked.kind {
        Kind::When if matches!(attribute, "birthday" | "time" | "date" | "deadline") => 0.6,
        Kind::When if !dates::find(text).is_empty() => 0.6,
        Kind::When if asked.date && !names_a_day(text) => -1.0,
        Kind::Where if PLACES.contains(&attribute) => 0.5,
        Kind::Where if text.split_whitespace().any(|w| PLACE_PREPOSITIONS.has(w)) => 0.2,
        Kind::HowOld if attribute == "age" => 0.6,
        Kind::HowOld if attribute == "birthday" => 0.0,
        Kind::HowMany if number() => 0.4,
        Kind::HowLong if number() || has(&["since", "for "]) => 0.3,
        Kind::Where | Kind::HowOld | Kind::HowMany | Kind::HowLong => -1.0,
        _ => 0.0,
    }
}

/// Attributes whose values are places.
const PLACES: [&str; 7] =
    ["home", "past home", "birthplace", "employer", "school", "location", "childhood"];

/// "Every Thursday"; a full date is found elsewhere.
fn names_a_day(text: &str) -> bool {
    let is_weekday = |word: &str| {
        let lower = word.to_lowercase();
        let day = lower.strip_suffix("'s").unwrap_or(&lower).trim_end_matches('s');
        lexicon::WEEKDAYS.iter().any(|weekday| weekday.eq_ignore_ascii_case(day))
    };
    lexicon::words(text).any(is_weekday)
}
