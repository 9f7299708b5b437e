//! The extractive reader: the best evidence, quoted with its date, or nothing.
//!
//! It answers only from what it is offered; a question that no candidate fits gets `None`.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use jiff::civil::DateTime;

use super::attributes::{is_single_valued, parse_statement};
use super::judge::same_name;
use super::lexicon::{self, capitalise, starts_upper};
use super::question::{Kind, Question, analyse};
use super::second_person::{is_shown_by_another, small_you, to_second_person};
use super::{Candidate, ExtractiveAnswer, Statement, Utterance, dates};
use crate::memory::{MessageId, Role};

/// Facts in one answer.
const LIST_MAX: usize = 12;
/// Of a question's words, this share has to be met where no attribute matches.
const COVERAGE_MIN: f64 = 0.74;
/// With this share the evidence is offered as something that may be related, no more.
const NEAR_MIN: f64 = 0.6;

struct Evidence {
    candidate: usize,
    statement: Statement,
    stems: HashSet<String>,
    /// Every word, small: names are looked up here.
    words: HashSet<String>,
    at: DateTime,
    relevance: f64,
    superseded: bool,
    /// Somebody's raw words or an episode's sentence, not a curated fact.
    raw: bool,
    order: usize,
}

/// How well a piece of evidence fits.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Score {
    value: f64,
    /// Meets the question as asked; otherwise only most of its words.
    sure: bool,
}

fn sure(value: f64) -> Option<Score> {
    Some(Score { value, sure: true })
}

/// Answers from the candidates, or `None` when none of them fits.
pub fn answer(
    question: &str,
    candidates: &[Candidate],
    now: DateTime,
    person: Option<&str>,
) -> Option<ExtractiveAnswer> {
    let evidence = collect(candidates, person);
    let known: HashSet<String> = evidence
        .iter()
        .filter_map(|e| e.statement.subject.as_deref())
        .filter(|s| !s.contains(' ') && starts_upper(s))
        .map(str::to_lowercase)
        .collect();
    let asked = analyse(question, now, person, &known);
    if let Some(own_name) = own_name(&asked, &evidence, person) {
        return Some(own_name);
    }
    if asked.advice {
        return None;
    }
    let aliases = aliases(&evidence, person);
    let person_name = person.unwrap_or("The user");
    let targets = targets(&asked, &aliases, person_name);
    let fitting: Vec<(Score, &Evidence)> = evidence
        .iter()
        .filter(|e| asked.past || !e.superseded)
        .filter_map(|e| score(&asked, e, &targets, person_name).map(|s| (s, e)))
        .collect();
    // What only may be related is offered when nothing better is there, one piece of it.
    let sure = fitting.iter().any(|(s, _)| s.sure);
    let mut scored: Vec<(f64, &Evidence)> =
        fitting.iter().filter(|(s, _)| s.sure == sure).map(|(s, e)| (s.value, *e)).collect();
    if scored.is_empty() {
        return None;
    }
    latest_wins(&mut scored, &asked);
    scored.sort_by(|a, b| {
        b.0.total_cmp(&a.0).then(b.1.at.cmp(&a.1.at)).then(a.1.order.cmp(&b.1.order))
    });
    let best = scored.first()?.0;
    let several = match asked.kind {
        _ if !sure => false,
        Kind::List => true,
        Kind::YesNo if question.to_lowercase().contains(" any") => true,
        Kind::When | Kind::HowOld | Kind::YesNo | Kind::Who | Kind::HowLong => false,
        _ => !scored[0].1.statement.attribute.as_deref().is_some_and(is_single_valued),
    };
    let mut chosen: Vec<&Evidence> = if several {
        let share = if asked.relation.is_some() && asked.attributes.iter().any(|a| a == "name") {
            0.93
        } else {
            0.75
        };
        scored
            .iter()
            .filter(|(s, _)| *s >= best * share || asked.kind == Kind::List)
            .map(|(_, e)| *e)
            .collect()
    } else {
        // A name may be told by several facts; the best suffices.
        vec![scored[0].1]
    };
    without_repetition(&mut chosen);
    chosen.truncate(LIST_MAX);
    if asked.kind == Kind::List {
        chosen.sort_by_key(|e| (e.at, e.order));
    }
    Some(compose(&asked, &chosen, sure, person))
}

/// Facts one by one, from third-person texts, episodes and raw messages.
fn collect(candidates: &[Candidate], person: Option<&str>) -> Vec<Evidence> {
    let mut out: Vec<Evidence> = Vec::new();
    let mut seen: HashMap<String, usize> = HashMap::new();
    for (index, candidate) in candidates.iter().enumerate().take(400) {
        let raw;
        let statements: Vec<Statement> = if let Some(speaker) = &candidate.raw_speaker {
            raw = true;
            let speaker = match speaker.to_lowercase().as_str() {
                "" | "user" | "you" | "the user" | "me" => person.unwrap_or("The user").to_owned(),
                _ => speaker.clone(),
            };
            super::statements(&[Utterance {
                message: MessageId(0),
                role: Role::User,
                addressee: None,
                speaker,
                text: candidate.text.clone(),
                at: candidate.at,
            }])
        } else {
            let text = lexicon::clip(&candidate.text, 20_000);
            let text = text
                .strip_prefix("On ")
                .and_then(|rest| rest.split_once(": "))
                .filter(|(date, _)| date.len() < 24)
                .map_or(text, |(_, rest)| rest);
            let sentences = super::sentences(text);
            raw = sentences.len() > 1;
            sentences.into_iter().map(|s| parse_statement(s.trim_end_matches('.'))).collect()
        };
        for statement in statements {
            let key = statement.text.to_lowercase();
            // The same fact from several levels: the curated one stands for it.
            if let Some(&at) = seen.get(&key) {
                let known = &mut out[at];
                known.relevance = known.relevance.max(candidate.relevance);
                if known.raw && !raw {
                    known.candidate = index;
                    known.superseded = candidate.superseded;
                    known.raw = false;
                    known.at = candidate.at;
                }
                continue;
            }
            seen.insert(key, out.len());
            let words: HashSet<String> = lexicon::words(&statement.text)
                .map(|w| {
                    let lower = w.to_lowercase().replace('\u{2019}', "'");
                    lower.strip_suffix("'s").map(str::to_owned).unwrap_or(lower)
                })
                .collect();
            out.push(Evidence {
                candidate: index,
                stems: words.iter().map(|w| lexicon::stem(w)).collect(),
                words,
                statement,
                at: candidate.at,
                relevance: candidate.relevance.clamp(0.0, 1.0),
                superseded: candidate.superseded,
                raw,
                order: out.len(),
            });
        }
    }
    // What raw messages say and a superseded fact said is superseded as well.
    let gone: Vec<(String, DateTime)> = out
        .iter()
        .filter(|e| e.superseded)
        .map(|e| (e.statement.text.to_lowercase(), e.at))
        .collect();
    for e in &mut out {
        if e.raw && gone.iter().any(|(text, _)| *text == e.statement.text.to_lowercase()) {
            e.superseded = true;
        }
    }
    out
}

/// "What is my name?"
fn own_name(
    asked: &Question,
    evidence: &[Evidence],
    person: Option<&str>,
) -> Option<ExtractiveAnswer> {
    let name = person?;
    let wants = asked.own
        && asked.relation.is_none()
        && asked.names.is_empty()
        && asked.stems.is_empty()
        && asked.attributes.iter().any(|a| a == "name")
        && asked.attributes.len() == 1;
    if !wants {
        return None;
    }
    let cited = evidence
        .iter()
        .find(|e| {
            !e.superseded
                && e.statement.attribute.as_deref() == Some("name")
                && e.statement.value.as_deref() == Some(name)
        })
        .map(|e| e.candidate);
    Some(ExtractiveAnswer {
        text: format!("Your name is {name}."),
        cited: cited.into_iter().collect(),
    })
}

/// "Ana's dog" → Max, from what the evidence says of names and relations.
fn aliases(evidence: &[Evidence], person: Option<&str>) -> Vec<(String, String, String)> {
    let mut out = Vec::new();
    let person_small = person.map(str::to_lowercase);
    let small_owner = |owner: &str| -> String {
        let owner = owner.to_lowercase();
        let owner = owner.strip_prefix("the ").unwrap_or(&owner).to_owned();
        if owner == "user" || Some(&owner) == person_small.as_ref() { String::new() } else { owner }
    };
    for e in evidence.iter().filter(|e| !e.superseded) {
        let (Some(subject), Some(attribute), Some(value)) =
            (&e.statement.subject, &e.statement.attribute, &e.statement.value)
        else {
            continue;
        };
        match attribute.as_str() {
            "relation" => {
                if let Some((owner, noun)) = value.rsplit_once("'s ") {
                    let noun = noun.rsplit(' ').next().unwrap_or(noun);
                    out.push((small_owner(owner), noun.to_lowercase(), subject.to_lowercase()));
                }
            }
            "name" => {
                if let Some((owner, noun)) = subject.rsplit_once("'s ") {
                    let noun = noun.rsplit(' ').next().unwrap_or(noun);
                    out.push((small_owner(owner), noun.to_lowercase(), value.to_lowercase()));
                }
            }
            "partner" => {
                for noun in ["wife", "husband", "partner", "spouse"] {
                    out.push((small_owner(subject), noun.into(), value.to_lowercase()));
                }
            }
            "pet" | "family" => {
                let words: Vec<&str> = value.split(' ').collect();
                for w in words.windows(3) {
                    if matches!(w[1], "named" | "called") && starts_upper(w[2]) {
                        out.push((
                            small_owner(subject),
                            w[0].to_lowercase(),
                            w[2].trim_matches(',').to_lowercase(),
                        ));
                    }
                }
            }
            _ => {}
        }
    }
    out
}

/// Names and phrases by which the one asked about goes, small.
struct Targets {
    /// All must be met, each by one of its alternatives.
    groups: Vec<Vec<String>>,
    own: bool,
}

fn targets(asked: &Question, aliases: &[(String, String, String)], person: &str) -> Targets {
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

fn score(asked: &Question, e: &Evidence, targets: &Targets, person: &str) -> Option<Score> {
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
        let inside = if found.is_empty() {
            let day = e.at.date();
            span.first <= day && day <= span.last
        } else {
            found.iter().any(|f| f.span.overlaps(&span))
        };
        inside_span = inside;
        if !inside && asked.stems.is_empty() {
            return None;
        }
        if inside {
            about += 0.3;
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

/// Of several values of one single-valued attribute only the latest stays (all stay for the past).
fn latest_wins(scored: &mut Vec<(f64, &Evidence)>, asked: &Question) {
    if asked.past {
        // The past is asked: what was replaced goes first.
        for (s, e) in scored.iter_mut() {
            if e.superseded {
                *s += 0.5;
            }
        }
        return;
    }
    let mut latest: HashMap<(String, String), (DateTime, usize)> = HashMap::new();
    let key = |e: &Evidence| -> Option<(String, String)> {
        let subject = e.statement.subject.as_deref()?.to_lowercase();
        let attribute = e.statement.attribute.clone()?;
        is_single_valued(&attribute).then_some((subject, attribute))
    };
    for (_, e) in scored.iter() {
        if let Some(key) = key(e) {
            let entry = latest.entry(key).or_insert((e.at, e.order));
            if (e.at, e.order) > *entry {
                *entry = (e.at, e.order);
            }
        }
    }
    scored.retain(|(_, e)| {
        key(e).is_none_or(|k| {
            latest.get(&k).is_none_or(|&(at, order)| (e.at, e.order) == (at, order))
        })
    });
}

/// Facts that others show already are left out.
fn without_repetition(chosen: &mut Vec<&Evidence>) {
    let all: Vec<Statement> = chosen.iter().map(|e| e.statement.clone()).collect();
    let mut keep = vec![true; chosen.len()];
    for i in 0..chosen.len() {
        if is_shown_by_another(&all[i], &all) {
            keep[i] = false;
            continue;
        }
        for j in 0..chosen.len() {
            if i == j || !keep[j] || !keep[i] {
                continue;
            }
            let smaller = chosen[i].stems.len() < chosen[j].stems.len()
                || chosen[i].stems.len() == chosen[j].stems.len() && i > j;
            if smaller && chosen[i].stems.is_subset(&chosen[j].stems) {
                keep[i] = false;
            }
        }
    }
    let mut n = 0;
    chosen.retain(|_| {
        n += 1;
        keep[n - 1]
    });
}

fn compose(
    asked: &Question,
    chosen: &[&Evidence],
    sure: bool,
    person: Option<&str>,
) -> ExtractiveAnswer {
    let mut cited: Vec<usize> = Vec::new();
    for e in chosen {
        if !cited.contains(&e.candidate) {
            cited.push(e.candidate);
        }
    }
    let said = |e: &Evidence| format!("said on {}", dates::long_date(e.at.date()));
    let line =
        |e: &Evidence| capitalise(&to_second_person(&running_dates(&e.statement.text), person));
    let text = if let [only] = chosen {
        let before = if only.superseded { "; no longer so" } else { "" };
        let hedge = if sure { "" } else { "I am not sure, but this may be related: " };
        let text = if sure { line(only) } else { small_you(&line(only)) };
        format!("{hedge}{text}. ({}{before})", said(only))
    } else {
        let head = match (&asked.relation, asked.names.first(), asked.own) {
            _ if asked.kind != Kind::List => "This is what I remember:".to_owned(),
            (_, Some(name), _) => {
                format!("This is what I remember about {}:", capitalise(name))
            }
            (Some((None, noun)), ..) => format!("This is what I remember about your {noun}:"),
            (_, _, true) => "This is what I remember about you:".to_owned(),
            _ => "This is what I remember:".to_owned(),
        };
        let mut out = head;
        for e in chosen {
            let before = if e.superseded { "; no longer so" } else { "" };
            let _ = write!(out, "\n- {} ({}{before})", line(e), said(e));
        }
        out
    };
    ExtractiveAnswer { text, cited }
}

/// "(week of 9 November 2026)" → "in the week of 9 November 2026".
fn running_dates(text: &str) -> String {
    let mut out = text.to_owned();
    for (open, running) in [
        ("(week of ", "in the week of "),
        ("(weekend of ", "on the weekend of "),
        ("(a few ", "a few "),
        ("(a couple ", "a couple "),
        ("(around ", "around "),
    ] {
        while let Some(at) = out.find(open) {
            let Some(close) = out[at..].find(')') else { break };
            out.replace_range(at + close..=at + close, "");
            out.replace_range(at..at + open.len(), running);
        }
    }
    out
}
