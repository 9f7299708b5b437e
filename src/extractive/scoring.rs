//! How well one fact answers one question: whom it is about, which attribute, which words, which
//! kind of answer.

use std::collections::HashSet;

use super::attributes::is_single_valued;
use super::dates;
use super::evidence::Evidence;
use super::judge::same_name;
use super::lexicon::{self, starts_upper};
use super::question::{Kind, Question};

/// Of a question's words, this share has to be met where no attribute matches.
const COVERAGE_MIN: f64 = 0.74;

/// With this share the evidence is offered as something that may be related, no more.
const NEAR_MIN: f64 = 0.6;

/// How well a piece of evidence fits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Score {
    pub value: f64,
    /// Meets the question as asked; otherwise only most of its words.
    pub sure: bool,
}

pub(super) fn sure(value: f64) -> Option<Score> {
    Some(Score { value, sure: true })
}

/// Names and phrases by which the one asked about goes, small.
pub(super) struct Targets {
    /// All must be met, each by one of its alternatives.
    groups: Vec<Vec<String>>,
    own: bool,
}

pub(super) fn targets(
    asked: &Question,
    aliases: &[(String, String, String)],
    person: &str,
) -> Targets {
    let mut groups: Vec<Vec<String>> = asked.names.iter().map(|n| vec![n.clone()]).collect();
    let mut own = asked.own;
    if let Some((owner, noun)) = &asked.relation {
        let owner_small = owner.clone().unwrap_or_default();
        let mut group = vec![noun.clone()];
        for (o, n, name) in aliases {
            if *o == owner_small && (lexicon::stem(n) == lexicon::stem(noun) || is_a(n, noun)) {
                group.push(name.clone());
                if is_a(n, noun) {
                    group.push(n.clone());
                }
            }
        }
        groups.retain(|g| Some(&g[0]) != owner.as_ref());
        groups.push(group);
        // "my dog": about the dog, not about me.
        own = false;
    }
    let _ = person;
    Targets { groups, own }
}

/// "Ana's wife": somebody else, whom the question does not mention.
fn of_a_creature(subject: &str, asked: &Question) -> bool {
    let head = subject.rsplit(' ').next().unwrap_or_default().to_lowercase();
    super::attributes::is_creature(&head) && !asked.stems.contains(&lexicon::stem(&head))
}

/// A dog is a pet, a sister is a sibling.
fn is_a(noun: &str, kind: &str) -> bool {
    match kind.trim_end_matches('s') {
        "pet" => lexicon::PETS.contains(noun),
        "kid" | "child" | "children" => matches!(noun, "son" | "daughter" | "baby" | "toddler"),
        "sibling" => matches!(noun, "sister" | "brother"),
        "parent" => matches!(noun, "mother" | "father" | "mum" | "mom" | "dad"),
        "partner" | "spouse" => matches!(
            noun,
            "wife"
                | "husband"
                | "girlfriend"
                | "boyfriend"
                | "gf"
                | "bf"
                | "fiancé"
                | "fiancée"
                | "fiance"
        ),
        "girlfriend" => noun == "gf",
        "boyfriend" => noun == "bf",
        "friend" => matches!(noun, "bestie" | "buddy"),
        _ => false,
    }
}

fn is_person(subject: &str, person: &str) -> bool {
    same_name(subject, person) || same_name(subject, "the user")
}

/// `carried`: said before the time that is asked about, and still so when it began.
pub(super) fn score(
    asked: &Question,
    e: &Evidence,
    targets: &Targets,
    person: &str,
    carried: bool,
) -> Option<Score> {
    let statement = &e.statement;
    let subject = statement.subject.as_deref().unwrap_or_default();
    let attribute = statement.attribute.as_deref().unwrap_or_default();
    // Whom it is about.
    let mut about: f64 = 0.0;
    for group in &targets.groups {
        let small_subject = subject.to_lowercase();
        let is_subject = group.iter().any(|g| {
            small_subject == *g
                || small_subject.ends_with(&format!("'s {g}"))
                || small_subject.split(' ').any(|w| w == g)
        });
        let mentioned = group.iter().any(|g| {
            g.split(' ').all(|w| e.words.contains(w) || e.stems.contains(&lexicon::stem(w)))
        });
        if is_subject {
            about += 1.0;
        } else if mentioned {
            about += 0.6;
        } else {
            return None;
        }
    }
    if targets.own && targets.groups.is_empty() {
        let own = is_person(subject, person);
        let owned = subject.to_lowercase().starts_with(&format!("{}'s", person.to_lowercase()))
            || subject.to_lowercase().starts_with("the user's");
        let opaque = attribute.is_empty() && !starts_upper_name(subject);
        // "What do you know about me?" is not about my sister's dog.
        if asked.kind == Kind::List
            && !own
            && !owned
            && attribute != "relation"
            && !subject.is_empty()
            && starts_upper_name(subject)
        {
            return None;
        }
        let mentioned = statement.text.to_lowercase().contains(&person.to_lowercase())
            || statement.text.to_lowercase().contains("the user");
        let company = subject.to_lowercase().contains(&format!("{} and ", person.to_lowercase()))
            || subject.to_lowercase().contains(&format!(" and {}", person.to_lowercase()));
        if !own
            && !company
            && asked.own_subject
            && asked.kind != Kind::Who
            && !subject.is_empty()
            && !opaque
        {
            return None;
        }
        if own || company {
            about += 1.0;
        } else if owned && of_a_creature(subject, asked) {
            // "When is my birthday?" is not about my wife's.
            return None;
        } else if owned {
            about += 0.7;
        } else if mentioned {
            about += 0.5;
        } else if !statement.text.is_empty()
            && asked.kind != Kind::List
            && !asked.stems.is_empty()
            && !starts_upper_name(subject)
        {
            about += 0.3;
        } else {
            return None;
        }
    }
    let mut inside_span = true;
    if let Some(span) = asked.span {
        let found = dates::find(&statement.text);
        let day = e.at.date();
        let inside = if found.is_empty() {
            span.first <= day && day <= span.last
        } else {
            found.iter().any(|f| f.span.overlaps(&span))
        };
        let carried = carried && found.is_empty();
        inside_span = inside || carried;
        if !inside_span && asked.stems.is_empty() {
            return None;
        }
        // What was said at that time says more than what held already.
        if inside {
            about += 0.3;
        } else if carried {
            about += 0.2;
        }
    }
    let wanted = !asked.attributes.is_empty()
        && asked.attributes.iter().any(|a| {
            a == attribute
                || attribute.starts_with("favourite")
                    && a.starts_with("favourite")
                    && same_stems(a, attribute)
                || a == "name" && attribute == "relation" && !targets.groups.is_empty()
        });
    let coverage = coverage(&asked.stems, &e.stems, attribute);
    let fit = type_fit(asked, e, attribute);
    let relevance = 0.3 * e.relevance;
    let curated = if e.raw { 0.0 } else { 0.05 };
    if asked.kind == Kind::List {
        let aimed = !targets.groups.is_empty() || targets.own;
        if !aimed && asked.stems.is_empty() {
            return None;
        }
        if !asked.stems.is_empty() && coverage < 0.5 {
            return None;
        }
        // What defines somebody goes before what happened.
        let defining = match attribute {
            "" => 0.0,
            a if is_single_valued(a) => 0.3,
            _ => 0.15,
        };
        return sure(1.0 + about + coverage + relevance + curated + defining);
    }
    // "What is my dog's name?": a fact that shows the name answers.
    if asked.attributes.iter().any(|a| a == "name") && asked.relation.is_some() {
        if matches!(attribute, "name" | "relation")
            && targets
                .groups
                .iter()
                .any(|g| g.iter().any(|w| statement.text.to_lowercase().contains(w.as_str())))
        {
            return sure(
                3.0 + about + relevance + curated + if attribute == "name" { 0.2 } else { 0.0 },
            );
        }
        if shows_name(&statement.text, asked) {
            return sure(2.5 + about + relevance + curated);
        }
        return None;
    }
    // Only words that the attribute does not stand for have to be met besides.
    if wanted && (about >= 0.6 || targets.groups.is_empty() && !targets.own) {
        let category = |s: &str| {
            e.relevance >= 0.4
                && matches!(s, "food" | "drink" | "activ" | "sport" | "anim" | "music" | "peopl")
        };
        let rest: Vec<String> = asked
            .stems
            .iter()
            .filter(|s| !stands_for(s, attribute) && !category(s))
            .cloned()
            .collect();
        let rest_coverage = self::coverage(&rest, &e.stems, attribute);
        if rest.is_empty() || rest_coverage >= 0.5 {
            let first =
                if asked.attributes.first().is_some_and(|a| a == attribute) { 0.15 } else { 0.0 };
            return sure(2.0 + about + rest_coverage + fit + first + relevance + curated);
        }
    }
    // "What's 2+2?" names no topic.
    if !asked.stems.iter().any(|s| s.chars().filter(|c| c.is_alphabetic()).count() > 1)
        && asked.names.is_empty()
        && asked.span.is_none()
    {
        return None;
    }
    if asked.stems.is_empty() {
        // "When did I go to Rome?" names its topic by a name.
        let named = !asked.names.is_empty()
            && (targets.own || asked.names.len() >= 2 || asked.span.is_some());
        let spanned = asked.span.is_some()
            && about > 0.8
            && asked.attributes.is_empty()
            && !asked.hypothetical
            && !dates::find(&statement.text).is_empty();
        return ((named && fit >= 0.0 && asked.attributes.is_empty()) || spanned)
            .then_some(0.8 + about + fit + relevance + curated)
            .and_then(sure);
    }
    let minimum = match (asked.kind, asked.stems.len()) {
        (Kind::YesNo, _) => 0.75,
        (_, 1) => 0.99,
        (_, 2) => 0.84,
        _ => COVERAGE_MIN,
    };
    if fit < 0.0 {
        return None;
    }
    let value = 1.0 + about + coverage + fit + relevance + curated;
    // An opaque quotation, or one from another time than the question's, is never sure.
    let doubtful = statement.text.contains(" said: ") || asked.span.is_some() && !inside_span;
    if coverage >= minimum && !doubtful {
        return sure(value);
    }
    let near = match (asked.kind, asked.stems.len()) {
        (Kind::YesNo, _) => 0.75,
        (_, 1) => 0.99,
        (_, 2) if targets.groups.is_empty() && e.relevance < 0.5 => 0.99,
        (_, 2) => 0.5,
        _ => NEAR_MIN,
    };
    (coverage >= near).then_some(Score { value, sure: false })
}

fn starts_upper_name(subject: &str) -> bool {
    starts_upper(subject) && !subject.starts_with("The ")
}

fn same_stems(a: &str, b: &str) -> bool {
    let stems = |t: &str| lexicon::words(t).map(lexicon::stem).collect::<HashSet<_>>();
    stems(a) == stems(b)
}

/// "Ana's dog Max", "a dog named Max".
fn shows_name(text: &str, asked: &Question) -> bool {
    let Some((_, noun)) = &asked.relation else { return false };
    let words: Vec<&str> = text.split_whitespace().collect();
    words.windows(3).any(|w| {
        w[0].trim_matches(',').eq_ignore_ascii_case(noun)
            && (starts_upper(w[1]) || matches!(w[1], "named" | "called") && starts_upper(w[2]))
    }) || words.windows(2).any(|w| w[0].eq_ignore_ascii_case(noun) && starts_upper(w[1]))
        // "2 kids, Leo and Mia"
        || words.windows(2).any(|w| {
            w[0].strip_suffix([',', ':']).is_some_and(|w| lexicon::stem(w) == lexicon::stem(noun))
        })
}

/// Words of a question that an attribute answers.
fn stands_for(stem: &str, attribute: &str) -> bool {
    let words: &[&str] = match attribute {
        "home" | "past home" => &[
            "live", "home", "resid", "base", "citi", "town", "move", "countri", "place", "hometown",
        ],
        "job" | "employer" | "field" => {
            &["work", "job", "profess", "occup", "live", "career", "employ", "compani", "employe"]
        }
        "birthday" => &["birthday", "bear", "born"],
        "birthplace" | "childhood" => {
            &["bear", "born", "birthplac", "origin", "hometown", "come", "grow"]
        }
        "breed" => &["breed", "dog", "cat"],
        "likes" => &["like", "love", "enjoy", "hobbi", "fun", "free"],
        "dislikes" => &["hate", "dislik", "like"],
        "hobby" => &["hobbi", "play", "fun", "free", "instrument", "sport"],
        "allergy" | "no allergy" => &["allerg", "allergi", "eat"],
        "partner" | "relationship status" => {
            &["marri", "wife", "husband", "spous", "partner", "relationship", "status"]
        }
        "pet" | "relation" => &["pet"],
        "language" => &["languag", "speak"],
        "car" => &["car", "drive"],
        "diet" | "diet restriction" => &["eat", "diet", "food"],
        "field of study" | "school" | "education" => {
            &["studi", "major", "degre", "school", "univers", "colleg", "subject"]
        }
        "age" => &["age", "old"],
        "colour" => &["colour"],
        other => {
            return lexicon::words(other).any(|w| lexicon::stem(w) == stem);
        }
    };
    words.contains(&stem) || lexicon::words(attribute).any(|w| lexicon::stem(w) == stem)
}

/// Groups of words that stand for each other in questions.
const SYNONYMS: &[&[&str]] = &[
    &["live", "home", "resid", "move", "base"],
    &["work", "job", "profess", "occup", "career", "employ"],
    &["like", "love", "enjoy", "ador", "prefer", "fan"],
    &["hate", "dislik"],
    &["wife", "spous", "partner", "husband", "marri"],
    &["child", "son", "daughter", "babi"],
    &["sibl", "sister", "brother"],
    &["parent", "mother", "father"],
    &[
        "famili", "mother", "father", "sister", "brother", "wife", "husband", "son", "daughter",
        "child", "parent", "partner",
    ],
    &["pet", "dog", "cat", "puppi", "kitten", "rabbit", "hamster", "parrot"],
    &["car", "drive", "vehicl"],
    &["studi", "school", "univers", "colleg", "major", "degre"],
    &["buy", "purchas", "get", "bought"],
    &["start", "begin", "join"],
    &["visit", "go", "travel", "trip"],
    &["film", "movi"],
    &["allerg", "allergi"],
    &["doctor", "physician"],
    &["ill", "sick"],
    &["adopt", "get"],
    &["read", "book"],
    &["meet", "met"],
    &["paint", "draw"],
    &["race", "run", "marathon"],
    &["afraid", "scare", "fear", "anxious"],
    &["storm", "thunderstorm"],
    &["sign", "join", "regist"],
];

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
    let name_inside = || {
        text.split_whitespace().skip(1).any(|w| {
            starts_upper(w)
                && !lexicon::MONTHS.contains(&w.trim_matches(|c: char| !c.is_alphanumeric()))
        })
    };
    match asked.kind {
        Kind::When => {
            if !dates::find(text).is_empty()
                || matches!(attribute, "birthday" | "time" | "date" | "deadline")
            {
                0.6
            } else if has_time_words(text) {
                0.3
            } else {
                0.0
            }
        }
        Kind::Where => {
            let place = matches!(
                attribute,
                "home"
                    | "past home"
                    | "birthplace"
                    | "employer"
                    | "school"
                    | "location"
                    | "childhood"
            );
            let preposition = text.split_whitespace().any(|w| {
                matches!(
                    w,
                    "in" | "at" | "to" | "from" | "near" | "on" | "under" | "behind" | "inside"
                )
            });
            if place {
                0.5
            } else if preposition {
                0.2
            } else {
                -1.0
            }
        }
        Kind::HowOld => {
            if attribute == "age" {
                0.6
            } else if attribute == "birthday" || text.contains("birthday") && number() {
                0.0
            } else {
                -1.0
            }
        }
        Kind::HowMany => {
            if number() {
                0.4
            } else {
                -1.0
            }
        }
        Kind::HowLong => {
            if number() || text.contains("since") || text.contains("for ") {
                0.3
            } else {
                -1.0
            }
        }
        Kind::Who
            if (name_inside()
                || starts_upper_name(e.statement.subject.as_deref().unwrap_or_default())) =>
        {
            0.2
        }
        Kind::Why
            if (text.contains("because")
                || text.contains(" so ")
                || text.contains(" since ")
                || text.contains(" to ")) =>
        {
            0.3
        }
        _ => 0.0,
    }
}

fn has_time_words(text: &str) -> bool {
    let low = text.to_lowercase();
    [
        "every ",
        " at ",
        "morning",
        "evening",
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
        "pm",
        "am ",
    ]
    .iter()
    .any(|w| low.contains(w))
}
