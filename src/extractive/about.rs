//! What a fact is about, for the memory's page: the person, others, what lies ahead, places. Several of these, or none.
//!
//! Which capitalised word names somebody and which a place, the other facts of the same memory help to tell.

use std::collections::{HashMap, HashSet};

use jiff::civil::Date;

use super::attributes::{is_creature, parse_statement};
use super::calendar::Tense;
use super::facts::{is_name, relations};
use super::lexicon::{
    STOP, capitalise, is_adverb, is_base_verb, is_month_or_weekday, starts_upper,
};
use super::lists::Words;
use super::second_person::mention;
use super::words::{Sentence, Token, join, tokens};
use super::{Statement, dates, names};

static ATTRIBUTES_OF_BEINGS: Words = Words::new("attributes of beings");
static INSIDE_NAMES: Words = Words::new("inside names of places");
static NAMED_PLACES: Words = Words::new("named places");
static OUT_OF_A_PLACE: Words = Words::new("out of a place");
static TOWARDS_A_PLACE: Words = Words::new("towards a place");
static VISITING: Words = Words::new("visiting");

/// What one fact is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct About {
    /// The person, or a thing of theirs; not where it is a plan.
    pub you: bool,
    /// Other people and animals, by name, or as the facts call them: "Emily", "Ana's cousin".
    pub people: Vec<String>,
    /// It lay ahead.
    pub plan: Option<Plan>,
    /// As the fact writes them: "Lund", "Central Station".
    pub places: Vec<String>,
}

/// Something that lay ahead when it was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plan {
    /// On no day.
    Undated,
    /// Its first and its last day.
    On(Date, Date),
}

/// The names that occur in a memory.
#[derive(Debug, Default)]
pub struct Names {
    person: Vec<String>,
    /// "ana's sister" → "Emily", unless there are two of them.
    called: HashMap<String, Option<String>>,
    /// "Emily" → "Ana's sister".
    relations: HashMap<String, String>,
    beings: HashSet<String>,
    places: HashSet<String>,
}

enum Who {
    You,
    Being(String),
    Else,
}

impl Names {
    /// Of all facts of a memory, and the person's own name, if it is known.
    pub fn of<'a>(facts: impl IntoIterator<Item = &'a str>, person: Option<&str>) -> Self {
        let person = person.unwrap_or_default().split_whitespace().map(str::to_lowercase).collect();
        let mut names = Self { person, ..Self::default() };
        let facts: Vec<&str> = facts.into_iter().collect();
        for fact in &facts {
            let relations = relations(fact);
            for text in relations.iter().map(String::as_str).chain([*fact]) {
                names.read(&parse_statement(text));
            }
        }
        let named = |fact: &&str| {
            names.places(&tokens(fact)).into_iter().chain(home(&parse_statement(fact)))
        };
        names.places = facts.iter().flat_map(named).collect::<HashSet<_>>();
        names
    }

    fn read(&mut self, statement: &Statement) {
        let (Some(subject), Some(attribute), Some(value)) =
            (&statement.subject, &statement.attribute, &statement.value)
        else {
            return;
        };
        let is_person = matches!(self.who(subject), Who::You);
        let (being, name) = match attribute.as_str() {
            "relation" => (value, subject),
            "name" if !is_person && starts_upper(value) => (subject, value),
            _ if !is_person && ATTRIBUTES_OF_BEINGS.has(attribute) => {
                self.beings.insert(subject.clone());
                return;
            }
            _ => return,
        };
        self.beings.insert(name.clone());
        self.relations.entry(name.clone()).or_insert_with(|| being.clone());
        let called = self.called.entry(being.to_lowercase()).or_insert_with(|| Some(name.clone()));
        if called.as_ref() != Some(name) {
            *called = None;
        }
    }

    /// Who somebody is: "Ana's sister" of "Emily".
    pub fn relation(&self, name: &str) -> Option<&str> {
        self.relations.get(name).map(String::as_str)
    }

    /// What a fact is about that was told on this day.
    pub fn about(&self, fact: &str, told: Date) -> About {
        let statement = parse_statement(fact);
        let words = tokens(fact);
        if words.is_empty() {
            return About::default();
        }
        let mut about = About {
            plan: plan(fact, &statement, told),
            places: self.places(&words),
            ..About::default()
        };
        if let Some(home) = home(&statement)
            && about.places.is_empty()
        {
            about.places.push(home);
        }
        match &statement.subject {
            Some(subject) => {
                for part in subject.split(" and ") {
                    put(self.who(part), &mut about);
                }
            }
            None => put(self.who_begins(&words), &mut about),
        }
        about.you &= about.plan.is_none();
        about
    }

    /// Whom a sentence is about of which the rules find no subject: whoever it begins with, or the person.
    fn who_begins(&self, words: &[Token]) -> Who {
        let from = match mention(words, 0, &self.person) {
            (n @ 1.., true) => n,
            _ if is_owner(&words[0]) => 1,
            _ => words.len(),
        };
        if let Some(end) = being(words, from) {
            return self.who(&trimmed(&words[..end]));
        }
        let is_you = |i| matches!(mention(words, i, &self.person), (1.., false));
        if (0..words.len()).any(is_you) { Who::You } else { Who::Else }
    }

    /// Whom a noun phrase names.
    fn who(&self, phrase: &str) -> Who {
        let words = tokens(phrase);
        let Some(first) = words.first() else { return Who::Else };
        let (n, possessive) = mention(&words, 0, &self.person);
        if n > 0 && !possessive {
            return if n == words.len() { Who::You } else { Who::Else };
        }
        let others = n == 0 && is_owner(first);
        if n > 0 || others {
            let from = n.max(1);
            return match (being(&words, from), others) {
                (Some(end), _) if words.get(end).is_some_and(is_name) => {
                    Who::Being(trimmed(&words[end..]))
                }
                (Some(end), _) => Who::Being(self.called(&without_s(&trimmed(&words[..end])))),
                (None, true) => Who::Being(without_s(&first.text)),
                (None, false) => Who::You,
            };
        }
        let named = words.iter().all(|t| is_name(t) || t.text == ".") && !STOP.has(&first.lower);
        let name = trimmed(&words);
        let is_place = self.places.contains(&name) && !self.beings.contains(&name);
        if named && words.len() <= 4 && !is_place { Who::Being(name) } else { Who::Else }
    }

    /// The name of somebody, if it is known.
    fn called(&self, being: &str) -> String {
        let name = self.called.get(&being.to_lowercase()).cloned().flatten();
        name.unwrap_or_else(|| match being.strip_prefix("The ") {
            Some(rest) => format!("the {rest}"),
            None => being.to_owned(),
        })
    }

    /// The words at the beginning that are a place of another fact, but for their capitals.
    fn without_capitals<'w>(&self, words: &'w [Token]) -> &'w [Token] {
        let known = |n: &usize| words.len() >= *n && self.places.contains(&capitals(&words[..*n]));
        &words[..(1..=3).rev().find(known).unwrap_or(0)]
    }

    /// The places that a sentence names, each once.
    fn places(&self, words: &[Token]) -> Vec<String> {
        let mut places: Vec<String> = Vec::new();
        for (i, token) in words.iter().enumerate() {
            let is_place = |name: &[Token]| match token.lower.as_str() {
                "in" | "near" | "around" | "across" | "through" | "outside" => true,
                "at" | "by" => name.last().is_some_and(|t| t.within(&NAMED_PLACES)),
                "to" => words[..i].iter().any(|t| t.within(&TOWARDS_A_PLACE)),
                "from" => i > 0 && words[i - 1].within(&OUT_OF_A_PLACE),
                _ => token.within(&VISITING),
            };
            let the = words.lower(i + 1) == "the";
            let from = i + 1 + usize::from(the);
            let after = &words[from.min(words.len())..];
            let name = match named(after) {
                [] => self.without_capitals(after),
                name => name,
            };
            // "in the Arsenal game": a name that says which.
            let says_which = words.get(from + name.len()).is_some_and(|next| {
                next.word && !next.upper() && !STOP.has(&next.lower) && !next.lower.ends_with('s')
            });
            let text =
                if name.first().is_some_and(Token::upper) { trimmed(name) } else { capitals(name) };
            let is_somebody =
                || self.beings.contains(&text) || mention(words, from, &self.person).0 > 0;
            if !name.is_empty()
                && is_place(name)
                && !is_somebody()
                && !(the && says_which)
                && !places.contains(&text)
            {
                places.push(text);
            }
        }
        places
    }
}

/// "new york" → "New York"
fn capitals(words: &[Token]) -> String {
    words.iter().map(|word| capitalise(&word.text)).collect::<Vec<_>>().join(" ")
}

/// Where somebody lives or is from, also if it was typed without a capital.
fn home(statement: &Statement) -> Option<String> {
    let is_home = ["home", "past home", "birthplace", "childhood"];
    statement.attribute.as_deref().filter(|attribute| is_home.contains(attribute))?;
    let words = tokens(statement.value.as_deref()?);
    let first = words.first().filter(|t| t.word && !STOP.has(&t.lower) && !is_adverb(&t.lower))?;
    let is_name = first.text.chars().all(|c| c.is_alphabetic() || c == '-');
    (is_name && words.len() <= 2).then(|| capitalise(&first.text))
}

fn put(who: Who, about: &mut About) {
    match who {
        Who::You => about.you = true,
        Who::Being(name) if !about.people.contains(&name) => about.people.push(name),
        Who::Being(_) | Who::Else => {}
    }
}

/// The capitalised words at the beginning that may name a place.
fn named(words: &[Token]) -> &[Token] {
    let fits = |t: &Token| {
        is_name(t)
            && !t.lower.ends_with("'s")
            && !is_month_or_weekday(&t.lower)
            && names::may_be_a_name(&t.text)
    };
    let mut n = 0;
    loop {
        let links = n > 0 && words.get(n).is_some_and(|t| t.within(&INSIDE_NAMES));
        let at = n + usize::from(links);
        match words.get(at) {
            Some(t) if fits(t) => n = at + 1,
            // "in Tom's flat"
            Some(t) if !links && is_owner(t) => return &[],
            _ => return &words[..n],
        }
    }
}

/// "Caroline's"
fn is_owner(token: &Token) -> bool {
    token.upper() && token.lower.ends_with("'s") && token.text.len() > 2
}

/// Where the words end that name a being: of "'s son's school" after "son's", of "'s boss Karen" after "boss".
fn being(words: &[Token], from: usize) -> Option<usize> {
    let is_being = |t: &Token| is_creature(t.lower.trim_end_matches("'s"));
    let mut at = (from..words.len().min(from + 4)).find(|&i| is_being(&words[i]))?;
    while words[at].lower.ends_with("'s")
        && let Some(next) = (at + 1..words.len().min(at + 3)).find(|&i| is_being(&words[i]))
    {
        at = next;
    }
    // "the dog food" is none.
    let ends = words[at].lower.ends_with("'s")
        || words.get(at + 1).is_none_or(|next| {
            !next.word || is_name(next) || STOP.has(&next.lower) || is_base_verb(&next.lower)
        });
    ends.then_some(at + 1)
}

fn trimmed(words: &[Token]) -> String {
    join(words).trim().to_owned()
}

fn without_s(phrase: &str) -> String {
    phrase.strip_suffix("'s").unwrap_or(phrase).to_owned()
}

/// Whether it lay ahead when it was told.
pub(super) fn plan(fact: &str, statement: &Statement, told: Date) -> Option<Plan> {
    let spans: Vec<_> = dates::find(fact).into_iter().map(|found| found.span).collect();
    let words = tokens(fact);
    // "is to be held"
    let is_to = (2..words.len()).any(|i| {
        words.among(i - 2, &["is", "are"]) && words[i - 1].is("to") && is_base_verb(&words[i].lower)
    });
    let tense = if is_to { Some(Tense::Future) } else { Tense::told(fact) };
    let lies_ahead = |span: &&dates::DateSpan| match (span.first, span.last) {
        (first, _) if first > told => true,
        (first, last) if first == told && last == told => {
            tense != Some(Tense::Past) && statement.subject.is_some()
        }
        (_, last) => last >= told && tense == Some(Tense::Future),
    };
    if let Some(span) = spans.iter().find(lies_ahead) {
        return Some(Plan::On(span.first, span.last));
    }
    let is_wish = (is_to || statement.attribute.as_deref() == Some("plan")) && spans.is_empty();
    let denied = |t: &Token| t.lower.ends_with("n't") || t.among(&["not", "never", "longer"]);
    (is_wish && !words.iter().any(denied)).then_some(Plan::Undated)
}

#[cfg(test)]
#[expect(clippy::print_stderr, reason = "a test says what it measures")]
mod tests {
    use jiff::civil::date;

    use super::super::tests::cases;
    use super::*;

    /// As the table writes it.
    fn written(about: About) -> Vec<String> {
        let mut out: Vec<String> = Vec::new();
        out.extend(about.you.then(|| "you".into()));
        out.extend(about.people.into_iter().map(|name| format!("person {name}")));
        out.extend(about.plan.map(|plan| match plan {
            Plan::Undated => "plan none".into(),
            Plan::On(first, _) => format!("plan {first}"),
        }));
        out.extend(about.places.into_iter().map(|name| format!("place {name}")));
        if out.is_empty() {
            out.push("other".into());
        }
        out
    }

    /// The share of facts that are put where the table puts them, and nowhere else.
    fn accuracy(section: &str, person: Option<&str>, told: Date) -> f64 {
        let facts = cases(include_str!("tests/cases/about.txt"), section);
        let names = Names::of(facts.iter().map(|(fact, _)| fact.as_str()), person);
        let mut n_right = 0;
        for (fact, expected) in &facts {
            let got = written(names.about(fact, told));
            if got == *expected {
                n_right += 1;
            } else {
                eprintln!("{section}: {fact:?} is {got:?}, not {expected:?}");
            }
        }
        let accuracy = f64::from(n_right) / facts.len() as f64;
        eprintln!("{section}: {n_right} of {}", facts.len());
        accuracy
    }

    #[test]
    fn facts_stand_where_people_look_for_them() {
        let told = date(2026, 11, 21);
        assert!(accuracy("about, tried", Some("Ana"), told) >= 0.95);
        assert!(accuracy("about, held back", None, told) >= 0.9);
        assert!(accuracy("about, as written", None, date(2026, 11, 1)) >= 0.8);
    }

    #[test]
    fn a_place_is_known_without_its_capital_too() {
        let facts = [
            "The user lives in lund",
            "Emily moved to New York",
            "The user was in lund and moved to new york by train",
            "The user was in bed and moved to work by train",
        ];
        let names = Names::of(facts, None);
        let places = |fact: &str| names.about(fact, date(2026, 11, 21)).places;
        assert_eq!(
            facts.map(places),
            [vec!["Lund"], vec!["New York"], vec!["Lund", "New York"], vec![]]
        );
    }

    #[test]
    fn two_of_a_kind_are_not_taken_for_one() {
        let facts = ["Tom is Ana's brother", "Ana's brother lives in Ghent"];
        let names = |facts: &[&str]| Names::of(facts.iter().copied(), Some("Ana"));
        let who = |names: &Names| names.about(facts[1], date(2026, 11, 21)).people;
        assert_eq!(who(&names(&facts)), ["Tom"]);
        assert_eq!(names(&facts).relation("Tom"), Some("Ana's brother"));
        let two = names(&["Tom is Ana's brother", "Bob is Ana's brother", facts[1]]);
        assert_eq!(who(&two), ["Ana's brother"]);
    }
}
