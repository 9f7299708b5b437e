//! Parses a question: its kind, whom it is about, which attributes answer it, which words have to
//! match.

use std::collections::HashSet;

use jiff::civil::DateTime;

use super::advice::is_advice;
use super::attributes::is_creature;
use super::dates::{self, DateSpan};
use super::lexicon;
use super::lists::Words;
use super::patterns::Patterns;
use super::words::{Sentence, Token, tokens};
use super::{intent, openings};

static ATTRIBUTES: Patterns = Patterns::new("attributes");
static AUXILIARIES_THAT_ASK: Words = Words::new("auxiliaries that ask for yes or no");
static COMPOUNDS: Patterns = Patterns::new("compounds");
static KINDS: Patterns = Patterns::new("kinds");
static NO_TOPIC: Words = Words::new("no topic");
static OF_THE_PAST: Patterns = Patterns::new("of the past");
pub(super) static QUESTION_WORDS: Words = Words::new("question words");
static SAYS_WHEN: Words = Words::new("says when");
static WORDS_OF_TIME: Words = Words::new("words of time");

const AUXILIARIES: [&str; 7] = ["am", "are", "can", "did", "do", "does", "is"];

const POINTING_BACK: [&str; 14] = [
    "he", "she", "it", "they", "him", "her", "them", "his", "its", "their", "that", "this",
    "there", "one",
];

/// Whether a question asks when, and a reply to it says nothing of when.
pub fn misses_when(question: &str, reply: &str) -> bool {
    let asked = asking_sentence(lexicon::clip(question, 2_000));
    let words = openings::strip_opening(&tokens(asked));
    let lower = words.lower_words();
    let says_when = |word: &str| {
        let lower = word.to_lowercase();
        SAYS_WHEN.has(&lower)
            || lexicon::is_month_or_weekday(lower.trim_end_matches('s'))
            || lexicon::is_month_or_weekday(&lower)
            || lower.contains(|c: char| c.is_ascii_digit())
    };
    kind(&lower) == Kind::When && !lexicon::words(reply).any(says_when)
}

/// Whether it is two questions in one.
pub fn asks_twice(question: &str) -> bool {
    two_questions(question).is_some()
}

/// "When does Clara visit, and what can't she eat?" is one question more than it seems, unless the second one needs the first.
pub(super) fn two_questions(question: &str) -> Option<[&str; 2]> {
    const WORDS_MIN: usize = 3;
    let is_question = |part: &str| {
        let first = part.split_whitespace().next().unwrap_or_default().to_lowercase();
        QUESTION_WORDS.has(&first) || AUXILIARIES.contains(&first.as_str())
    };
    let needs_the_first = |part: &str| {
        let lower = part.to_lowercase();
        lower.split(|c: char| !c.is_alphanumeric()).any(|word| POINTING_BACK.contains(&word))
    };
    let has_words = |part: &str| part.split_whitespace().count() >= WORDS_MIN;
    question.match_indices(" and ").find_map(|(at, and)| {
        let (first, second) = (question[..at].trim_end_matches(','), &question[at + and.len()..]);
        let are_two = [first, second].iter().all(|part| is_question(part) && has_words(part));
        (are_two && !needs_the_first(second)).then_some([first, second])
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    When,
    Where,
    Who,
    HowOld,
    HowMany,
    HowLong,
    Why,
    YesNo,
    What,
    /// "What do you know about X?"
    List,
}

impl Kind {
    #[rustfmt::skip]
    const ALL: [Self; 10] = [
        Self::When, Self::Where, Self::Who, Self::HowOld, Self::HowMany, Self::HowLong, Self::Why,
        Self::YesNo, Self::What, Self::List,
    ];

    /// By the name that `assets/words/questions.txt` uses.
    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| format!("{kind:?}") == name)
    }
}

#[derive(Debug, Clone)]
pub(super) struct Question {
    /// The sentence that asks.
    pub text: String,
    pub kind: Kind,
    /// The person asks about themself.
    pub own: bool,
    /// "Where do I live?": the person is the subject.
    pub own_subject: bool,
    pub hypothetical: bool,
    /// "What should I do?" asks for advice, not for memories.
    pub advice: bool,
    /// Proper names in lowercase; evidence has to mention them.
    pub names: Vec<String>,
    /// "my dog", "Emily's sister": (owner, noun); the owner is `None` for the person.
    pub relation: Option<(Option<String>, String)>,
    /// Attributes, any of which answers.
    pub attributes: Vec<String>,
    /// Stems that say what it is about, in order, without names.
    pub stems: Vec<String>,
    /// Stems of all its words that carry meaning.
    pub words: Vec<String>,
    /// Of the past: superseded facts may answer.
    pub past: bool,
    pub span: Option<DateSpan>,
    /// "On what date", "which month": what only a date answers.
    pub date: bool,
}

impl Question {
    pub fn asks_a_name(&self) -> bool {
        self.attributes.iter().any(|attribute| attribute == "name")
    }
}

/// How many words of "find my …", "give me the …" belong to the command.
fn n_of_command(words: &[Token]) -> usize {
    let lower: Vec<&str> = words.iter().take(3).map(|t| t.lower.as_str()).collect();
    match lower.as_slice() {
        ["give" | "get", "me", ..] | ["look", "up" | "for", _] => 2,
        ["find" | "spell" | "repeat", "my" | "our", ..] => 1,
        _ => 0,
    }
}

/// The last sentence that asks.
pub(super) fn asking_sentence(text: &str) -> &str {
    let asks = |s: &&&str| {
        let words = openings::strip_opening(&tokens(s));
        intent::is_question(&words, s) || intent::is_recall_request(&words)
    };
    super::sentences(text).iter().rev().find(asks).copied().unwrap_or(text)
}

/// What a message tells before it asks.
pub fn told_with(text: &str) -> Option<String> {
    let text = lexicon::clip(text, 2_000);
    let asked = asking_sentence(text);
    let told: Vec<&str> = super::sentences(text).into_iter().filter(|s| *s != asked).collect();
    let told = told.join(". ");
    (!told.is_empty() && intent::intent(&told) == super::Intent::Statement).then_some(told)
}

pub(super) fn analyse(
    question: &str,
    now: DateTime,
    person: Option<&str>,
    known: &HashSet<String>,
) -> Question {
    let asked = asking_sentence(lexicon::clip(question, 2_000));
    let mut words: Vec<Token> =
        openings::strip_opening(&tokens(asked)).into_iter().filter(|t| t.word).collect();
    words.drain(..n_of_command(&words));
    let lower: Vec<&str> = words.iter().map(|t| t.lower.as_str()).collect();
    let person: Vec<String> =
        person.unwrap_or_default().split_whitespace().map(str::to_lowercase).collect();
    let kind = kind(&lower);
    let relation = relation(&words, &person);
    let span = dates::asked_span(asked, now);
    let names = names(&words, &person, known);
    let own = words.iter().any(|t| {
        t.among(&["i", "me", "my", "mine", "myself", "we", "our", "us"])
            || person.iter().any(|p| p == bare(t))
    });
    let past = OF_THE_PAST.match_any(&lower) && !lower.contains(&"born");
    // "Where are we going in July?"
    let plans = lower.contains(&"will")
        || lower.windows(3).any(|w| matches!(w[0], "am" | "are" | "is") && w[2] == "going");
    let stems =
        stems(&lower, asked, span.is_some(), relation.as_ref().map(|(_, noun)| noun), |w| {
            names.iter().chain(&person).any(|name| name == w)
        });
    Question {
        text: asked.to_owned(),
        kind,
        own,
        own_subject: is_subject(&words, &person),
        hypothetical: words.iter().any(|t| t.among(&["should", "could", "would", "can", "shall"])),
        advice: is_advice(&lower),
        attributes: attributes(&lower, kind, relation.is_some()),
        past: past || span.is_some_and(|span| span.first <= now.date()) && !plans,
        names,
        relation,
        stems,
        words: lexicon::content_stems(asked),
        span,
        date: lower.windows(2).any(|w| {
            matches!(w[0], "what" | "which") && matches!(w[1], "day" | "date" | "month" | "year")
        }),
    }
}

fn bare(token: &Token) -> &str {
    token.lower.trim_end_matches("'s")
}

/// Proper names: capitalised words other than dates, and what the memory knows as names.
fn names(words: &[Token], person: &[String], known: &HashSet<String>) -> Vec<String> {
    let shouted = words.len() > 2
        && words
            .iter()
            .filter(|t| t.text.chars().count() > 1)
            .all(|t| t.text.chars().all(|c| !c.is_lowercase()));
    let mut names: Vec<String> = Vec::new();
    for (i, token) in words.iter().enumerate() {
        let name = bare(token);
        if person.iter().any(|p| p == name)
            || lexicon::STOP.has(name)
            || names.iter().any(|n| n == name)
        {
            continue;
        }
        let capital = token.upper()
            && (i > 0 || token.lower.ends_with("'s"))
            && !matches!(name, "ok" | "tv" | "i'm")
            && !shouted
            && !lexicon::is_month_or_weekday(name);
        if capital || known.contains(name) && !lexicon::is_finite(name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// "Where do I live?", "where I live": the person is the subject.
fn is_subject(words: &[Token], person: &[String]) -> bool {
    words
        .windows(2)
        .any(|w| (w[1].is("i") || person.contains(&w[1].lower)) && lexicon::helps(&w[0].lower))
        || words.windows(2).any(|w| {
            w[0].is("i")
                && lexicon::is_finite(&w[1].lower)
                && !words.first().is_some_and(|f| f.is("i"))
        })
}

/// Stems that say what it is about, in order, without the words for which `is_name` is true, the
/// noun of the relation and what says when.
fn stems(
    lower: &[&str],
    asked: &str,
    timed: bool,
    relation: Option<&String>,
    is_name: impl Fn(&str) -> bool,
) -> Vec<String> {
    let dated: HashSet<String> = dates::find(asked)
        .iter()
        .flat_map(|f| lexicon::words(&asked[f.start..f.end]).map(str::to_lowercase))
        .collect();
    let noun = relation.map(|noun| lexicon::stem(noun));
    let mut stems: Vec<String> = Vec::new();
    for word in lower {
        let plain = word.trim_end_matches("'s");
        let when = timed && (WORDS_OF_TIME.has(plain) || lexicon::is_month_or_weekday(plain));
        if when
            || lexicon::STOP.has(plain)
            || NO_TOPIC.has(plain)
            || QUESTION_WORDS.has(plain)
            || dated.contains(plain)
            || is_name(plain)
        {
            continue;
        }
        let stem = lexicon::stem(plain);
        if !stem.is_empty() && noun.as_ref() != Some(&stem) && !stems.contains(&stem) {
            stems.push(stem);
        }
    }
    stems
}

fn kind(lower: &[&str]) -> Kind {
    let asks = |w: &&str| {
        matches!(*w, "where" | "when" | "who" | "what" | "which" | "how" | "whose" | "why")
    };
    if let Some(label) = KINDS.label(lower) {
        return Kind::named(label).unwrap_or(Kind::What);
    }
    match lower {
        [first, rest @ ..] if AUXILIARIES_THAT_ASK.has(first) => {
            // "Do you know where I live?", "Can you tell me my name?"
            match rest.iter().position(asks) {
                Some(at) if at >= 1 => kind(&rest[at..]),
                _ if rest.first() == Some(&"you") => Kind::What,
                _ => Kind::YesNo,
            }
        }
        ["remind" | "tell", "me", rest @ ..] if rest.first().is_some_and(asks) => kind(rest),
        ["remind" | "tell", "me", _, ..] => Kind::What,
        _ if lower.windows(2).any(|w| w == ["how", "old"]) => Kind::HowOld,
        _ => Kind::What,
    }
}

/// "my dog", "my younger sister", "Emily's husband".
fn relation(words: &[Token], person: &[String]) -> Option<(Option<String>, String)> {
    for (i, token) in words.iter().enumerate() {
        let lower = token.lower.trim_end_matches("'s");
        if !is_creature(lower) || i == 0 {
            continue;
        }
        // "What kind of dog do I have?"
        let has = words[i + 1..].windows(2).any(|w| w[0].is("i") && w[1].among(&["have", "own"]));
        if has && words[..i].iter().any(|t| t.among(&["kind", "type", "sort", "breed"])) {
            return Some((None, lower.to_owned()));
        }
        for owner in words[..i].iter().rev().take(3) {
            if owner.among(&["my", "our"]) {
                return Some((None, lower.to_owned()));
            }
            if let Some(name) = owner.lower.strip_suffix("'s").filter(|n| !is_creature(n)) {
                let own = person.iter().any(|p| p == name);
                return Some(((!own).then(|| name.to_owned()), lower.to_owned()));
            }
        }
    }
    None
}

/// The attributes that would answer. `related`: it asks about somebody's dog or sister.
fn attributes(lower: &[&str], kind: Kind, related: bool) -> Vec<String> {
    if let Some(at) =
        lower.iter().position(|w| matches!(*w, "favourite" | "favorite" | "fav" | "fave"))
    {
        let noun: Vec<String> = lower[at + 1..]
            .iter()
            .take_while(|w| !matches!(**w, "is" | "of" | "in" | "was" | "again" | "are"))
            .take(3)
            .map(|w| w.replace("color", "colour"))
            .collect();
        return vec![format!("favourite {}", noun.join(" "))];
    }
    if let Some(compound) = COMPOUNDS.label(lower) {
        return vec![compound.to_owned()];
    }
    let plain: Vec<&str> = lower.iter().map(|w| w.trim_end_matches("'s")).collect();
    let mut out: Vec<String> = Vec::new();
    for label in ATTRIBUTES.labels(&plain, &format!("{kind:?}")) {
        let label = match label {
            "name" if related => "name, relation",
            "relationship status, partner" if related => continue,
            _ => label,
        };
        out.extend(label.split(", ").map(str::to_owned));
    }
    if related && kind == Kind::Who {
        out.extend(["name".to_owned(), "relation".to_owned()]);
    }
    out
}
