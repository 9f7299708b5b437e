//! Of what was said about one subject, the newest counts: a later message that takes back what would be quoted, or
//! says it anew, is quoted instead.
//!
//! It reads messages as they were written, clause by clause; what the rules make of single statements is the
//! business of `changes.rs`.

use std::cmp::Reverse;
use std::collections::HashSet;

use jiff::civil::DateTime;

use super::answer::is_about;
use super::attributes::main_verb;
use super::evidence::{Evidence, aliases, is_about_person, source_mark};
use super::judge::negates;
use super::lexicon::{self, starts_upper};
use super::lists::{Lines, Table, Words};
use super::question::{Kind, Question};
use super::untrue::{DEATHS, DEPARTURES, ENDINGS, LOSSES, SEPARATIONS, around, settles};
use super::values::has_time;
use super::words::{join, tokens};
use super::{CHANGE_MIN, Candidate, Changed, ExtractiveAnswer, Intent, dates, intent, reading};
use crate::memory::Origin;

static MARKS: Lines = Lines::new("marks of change");
static OFFS: Lines = Lines::new("taken back");
static PRONOUNS: Words = Words::new("going on");
static UNITS: Words = Words::new("units");
static PLACES: Words = Words::new("place prepositions");
static OF_ATTRIBUTES: Table = Table::new("words of new values");

/// Longer messages hold more than a correction and are not considered.
const BYTES_MAX: usize = 300;

/// A message or a statement, with what it is compared by.
pub(super) struct Said<'a> {
    candidate: usize,
    raw: bool,
    text: &'a str,
    stems: HashSet<String>,
}

impl<'a> Said<'a> {
    pub fn new(candidate: usize, raw: bool, text: &'a str) -> Self {
        Self { candidate, raw, text, stems: stems(text) }
    }
}

/// What is quoted instead of evidence: the candidate, its words and whether they are the speaker's own.
pub(super) struct Newer {
    pub candidate: usize,
    pub text: String,
    pub raw: bool,
    /// It tells that what was owed or lent is given back.
    pub settles: bool,
}

impl Newer {
    fn new(asked: &Question, candidate: usize, text: &str, raw: bool) -> Self {
        let text = news(asked, text, true).unwrap_or_else(|| text.to_owned());
        Self { candidate, text, raw, settles: false }
    }

    pub fn quote(
        self,
        candidates: &[Candidate],
        stated: bool,
        person: Option<&str>,
    ) -> ExtractiveAnswer {
        let of = &candidates[self.candidate];
        let raw_speaker = of.raw_speaker.clone().filter(|_| self.raw);
        let said = Candidate { text: self.text, raw_speaker, ..of.clone() };
        let mark = source_mark(candidates, said.origin);
        let stated = stated || self.settles;
        let quoted = reading::quote(&said, self.candidate, stated, person, mark);
        ExtractiveAnswer { sure: self.settles, ..quoted }
    }
}

/// All that an answer is made of, and the function that judges whether any of it changed.
#[derive(Clone, Copy)]
pub(super) struct Sources<'a> {
    pub candidates: &'a [Candidate],
    pub evidence: &'a [Evidence],
    pub changed: &'a Changed<'a>,
    pub person: Option<&'a str>,
}

/// Whether a candidate, or a statement made of it, may change what was said before.
type Usable<'a> = dyn Fn(&Candidate, &str) -> bool + 'a;

impl Sources<'_> {
    /// What takes the place of `text`, found in candidate `of`: by the rules, or else by `changed`. `None` if nothing
    /// does, or the question is about the past.
    pub fn newer(&self, asked: &Question, of: usize, text: &str) -> Option<Newer> {
        if asked.past {
            return None;
        }
        let evidence = self.evidence;
        // Times of corrections that leave what the question is about as it was: they do not count.
        let kept: HashSet<DateTime> = evidence
            .iter()
            .filter(|e| e.candidate == of || e.also.contains(&of))
            .filter(|e| e.rest.is_some_and(|r| is_about(asked, &evidence[r], e)))
            .filter_map(|e| e.successor.map(|s| evidence[s].at))
            .collect();
        let Candidate { at: since, origin, .. } = self.candidates[of];
        let usable = |candidate: &Candidate, text: &str| {
            // The person's word counts before one from elsewhere, whenever it was said.
            (candidate.at > since
                && (candidate.origin == Origin::Person || origin < Origin::Person)
                && !origin.prevails(candidate.origin)
                || candidate.origin.prevails(origin))
                && !kept.contains(&candidate.at)
                && !candidate.superseded
                && text.len() <= BYTES_MAX
                && intent(text) != Intent::Question
        };
        let earlier = Said::new(of, false, text);
        self.by_rules(asked, &earlier, &usable).or_else(|| self.by_asking(asked, &earlier, &usable))
    }

    /// The last of the later candidates that take its place.
    fn by_rules(&self, asked: &Question, of: &Said<'_>, usable: &Usable<'_>) -> Option<Newer> {
        let Self { candidates, evidence, .. } = *self;
        let raw = candidates.iter().enumerate().filter(|(_, c)| c.raw_speaker.is_some());
        let raw = raw.map(|(i, c)| Said::new(i, true, &c.text));
        let read = evidence.iter().filter(|e| !e.superseded);
        let read = read.map(|e| Said::new(e.candidate, false, &e.statement.text));
        let taking = raw
            .chain(read)
            .filter(|said| usable(&candidates[said.candidate], said.text))
            .filter(|said| {
                settles(said.text, of.text)
                    || is_marked(said.text) && takes_the_place(asked, of, said, self.person)
            });
        // The person's own words, if they were said last.
        let last = taking.max_by_key(|said| (candidates[said.candidate].at, said.raw));
        last.map(|said| Newer {
            settles: settles(said.text, of.text),
            ..Newer::new(asked, said.candidate, said.text, said.raw)
        })
    }

    /// Whether all that a candidate says is about somebody with a name, of whom neither the question nor what was said
    /// before (`known`, in lower case) speaks.
    fn is_of_another(&self, candidate: usize, known: &str) -> bool {
        let speaks_of =
            |phrase: &str| lexicon::words(phrase).any(|word| known.contains(&*word.to_lowercase()));
        let aliases = aliases(self.evidence, self.person);
        let is_another = |e: &Evidence| {
            let subject = e.statement.subject.as_deref().unwrap_or_default();
            let mut kin = aliases.iter().filter(|(.., name)| *name == subject.to_lowercase());
            !is_about_person(e, self.person)
                && starts_upper(subject)
                && !subject.contains('\'')
                && !speaks_of(subject)
                && !kin.any(|(_, noun, _)| speaks_of(noun))
        };
        let mut said = self
            .evidence
            .iter()
            .filter(|e| e.candidate == candidate || e.also.contains(&candidate))
            .peekable();
        said.peek().is_some() && said.all(is_another)
    }

    /// The last of the later texts that `changed` finds to change it.
    fn by_asking(&self, asked: &Question, of: &Said<'_>, usable: &Usable<'_>) -> Option<Newer> {
        /// Least probability where the text itself marks a change: if the rules see none there, there mostly is none.
        const MARKED_MIN: f64 = 0.8;
        /// At most this many of the newest are shown to it.
        const N_MAX: usize = 12;
        let is_other = |c: &Candidate| !c.text.trim().eq_ignore_ascii_case(of.text.trim());
        let known = format!("{} {}", asked.text, of.text).to_lowercase();
        let mut newest: Vec<(usize, &Candidate)> = self
            .candidates
            .iter()
            .enumerate()
            .filter(|(_, c)| usable(c, &c.text) && is_other(c))
            .filter(|(i, _)| !self.is_of_another(*i, &known))
            .collect();
        newest.sort_by_key(|(_, c)| Reverse(c.at));
        newest.truncate(N_MAX);
        if newest.is_empty() {
            return None;
        }
        let clause = clause_of(asked, of);
        let clause = if clause.is_empty() { of.text } else { &clause };
        let texts: Vec<&str> = newest.iter().map(|(_, c)| c.text.as_str()).collect();
        let probabilities = (self.changed)(&asked.text, clause, &texts);
        let min = |text: &str| if is_marked(text) { MARKED_MIN } else { CHANGE_MIN };
        let found = newest.iter().zip(probabilities).find(|((_, c), p)| *p >= min(&c.text));
        found.map(|(&(i, said), _)| Newer::new(asked, i, &said.text, said.raw_speaker.is_some()))
    }
}

/// Whether a later message says something else about what the question asks and `earlier` answers.
fn takes_the_place(
    asked: &Question,
    earlier: &Said<'_>,
    later: &Said<'_>,
    person: Option<&str>,
) -> bool {
    let names: HashSet<String> = asked.names.iter().map(|n| lexicon::stem(n)).collect();
    let has =
        |said: &Said<'_>, n: &String| lexicon::words(said.text).any(|w| lexicon::stem(w) == *n);
    let lost = |n: &String| has(earlier, n) && !has(later, n);
    if names.iter().any(lost) {
        return false;
    }
    let clause = clause_of(asked, earlier);
    let mut told = stems(&clause);
    // "The cornbread …, I charge 3.20 for it"
    if lexicon::words(&clause).skip(1).any(|w| matches!(w, "it" | "them")) {
        told.extend(stems(earlier.text));
    }
    let Some(typed) = fits(asked, &clause, later.text) else { return false };
    // What somebody stops doing says nothing of what else they do.
    let subject: HashSet<String> = segments(&clause).into_iter().flat_map(subject_of).collect();
    let plain =
        |s: &&String| !names.contains(*s) && !asked.stems.contains(s) && !subject.contains(*s);
    let parted = around(&spaced(later.text), &SEPARATIONS).is_some();
    let all = if parted { vec![later.text] } else { segments(later.text) };
    let taken = all.into_iter().filter(|s| is_end(s)).any(|segment| {
        let gone = stems(segment);
        told.iter().filter(plain).any(|s| gone.contains(s) && !UNITS.has(s))
    });
    if taken {
        return true;
    }
    // "My brother": the later message says nothing about him.
    if let Some((_, noun)) = &asked.relation {
        let noun = lexicon::stem(noun);
        let of_another = !has(earlier, &noun) && subject.is_disjoint(&later.stems);
        if !has(later, &noun) && (has(earlier, &noun) || of_another) {
            return false;
        }
    }
    let of_attribute = |s: &String| {
        let words = asked.attributes.iter().filter_map(|a| OF_ATTRIBUTES.get(a.as_str()));
        words.flat_map(|words| words.split(' ')).any(|word| word == s)
    };
    let named = !names.is_empty();
    let person = stems(person.unwrap_or_default());
    let is_topic = |s: &&String| {
        !names.contains(*s)
            && !person.contains(*s)
            && !lexicon::is_value(s)
            && (named || !UNITS.has(s))
            && (told.contains(*s) || of_attribute(s))
    };
    let met = |said: &Said<'_>| asked.stems.iter().filter(|s| said.stems.contains(*s)).count();
    // "What Postgres version is prod on?"
    let by_names = typed && names.len() > 1 && met(earlier) == 0;
    let first = asked.stems.first().is_some_and(|s| later.stems.contains(s));
    by_names
        || later.stems.iter().any(|s| is_topic(&s))
            && (typed || first && met(later) >= met(earlier))
}

/// Stems of whom a clause is about.
fn subject_of(clause: &str) -> HashSet<String> {
    const WORDS_MAX: usize = 5;
    let words = tokens(clause);
    let own = words
        .first()
        .is_some_and(|t| lexicon::STOP.has(&t.lower) && !t.among(&["the", "my", "our"]));
    let verb = main_verb(&words).filter(|verb| !own && *verb <= WORDS_MAX);
    verb.map_or(HashSet::new(), |verb| stems(&join(&words[..verb])))
}

/// The part of it that the question asks for.
pub(super) fn clause_of(asked: &Question, said: &Said<'_>) -> String {
    let met = |segment: &str| -> usize {
        let have = stems(segment);
        // The first word says most: "the treasurer of the garden club".
        let weight = |s: &String| match asked.stems.iter().position(|x| x == s) {
            Some(0) => 7,
            Some(_) => 3,
            None if asked.names.iter().any(|n| lexicon::stem(n) == *s) => 0,
            None => 1,
        };
        asked.words.iter().filter(|s| have.contains(*s)).map(weight).sum()
    };
    let all = segments(said.text);
    let mut scores: Vec<usize> = Vec::new();
    let mut subject = 0;
    for segment in &all {
        // "It's written in Elixir", "and runs in the attic": of what was named before.
        let mut words = lexicon::words(segment).map(str::to_lowercase);
        let first = words.next().unwrap_or_default();
        let goes_on =
            PRONOUNS.has(first.as_str()) || !starts_upper(segment) && lexicon::is_finite(&first);
        let own = met(segment);
        scores.push(if goes_on && own > 0 { own + subject } else { own });
        subject = if goes_on { subject } else { own };
    }
    let most = scores.iter().copied().max().unwrap_or_default();
    let kept = all.iter().zip(scores).filter(|(_, score)| *score == most);
    kept.map(|(segment, _)| *segment).collect::<Vec<_>>().join(", ")
}

/// `None` if the later message lacks the kind of thing asked for; `Some(false)` if any kind may answer.
pub(super) fn fits(asked: &Question, earlier: &str, later: &str) -> Option<bool> {
    let told = stems(earlier);
    let has = match asked.kind {
        Kind::YesNo => return Some(false),
        Kind::When if asked.date => names_a_day(later),
        Kind::When => names_an_hour(later),
        Kind::HowOld | Kind::HowMany | Kind::HowLong => names_a_number(later),
        Kind::Who => names_somebody(asked, &told, later),
        Kind::Where => names_a_place(later),
        _ if asked.asks_a_name() => names_somebody(asked, &told, later),
        _ if names_a_number(earlier) => names_a_number(later),
        _ => return Some(false),
    };
    has.then_some(true)
}

fn names_a_day(text: &str) -> bool {
    let day = |w: &str| lexicon::is_month_or_weekday(w.to_lowercase().trim_end_matches('s'));
    let year = |w: &str| w.len() == 4 && w.bytes().all(|b| b.is_ascii_digit());
    !dates::find(text).is_empty() || lexicon::words(text).any(|w| day(w) || year(w))
}

fn names_an_hour(text: &str) -> bool {
    names_a_day(text)
        || has_time(&text.to_lowercase())
        || lexicon::words(text).any(|w| w.starts_with(|c: char| c.is_ascii_digit()))
}

/// A number that is not a date or a time.
fn names_a_number(text: &str) -> bool {
    let time = |w: &str| w.ends_with("am") || w.ends_with("pm");
    let mut rest = text.to_owned();
    for found in dates::find(text).iter().rev() {
        rest.replace_range(found.start..found.end, " ");
    }
    lexicon::words(&rest).any(|w| lexicon::is_value(&w.to_lowercase()) && !time(w))
}

/// Somebody who was not named before. In text without capitals any noun may be a name.
fn names_somebody(asked: &Question, told: &HashSet<String>, text: &str) -> bool {
    let small = !text.chars().any(char::is_uppercase);
    let new = |w: &str| {
        let low = w.to_lowercase();
        let stem = lexicon::stem(&low);
        let known = asked.names.iter().any(|n| lexicon::stem(n) == stem) || told.contains(&stem);
        !known
            && !lexicon::is_value(&low)
            && !lexicon::STOP.has(&low)
            && !lexicon::is_month_or_weekday(&low)
            && (small && !lexicon::is_finite(&low) || !small && starts_upper(w))
    };
    segments(text).iter().any(|s| {
        let first = usize::from(!small);
        lexicon::words(s).skip(first).any(new)
    })
}

fn names_a_place(text: &str) -> bool {
    let words: Vec<&str> = lexicon::words(text).collect();
    let day = |w: &str| lexicon::is_month_or_weekday(&w.to_lowercase());
    words.windows(2).any(|w| PLACES.has(w[0]) && !day(w[1]) && !lexicon::is_value(w[1]))
}

/// What a message says besides that something ended or was otherwise: "got a grey Yaris instead" of "sold the Corsa,
/// got a grey Yaris instead".
/// `corrects`: it is known to take something back. Otherwise only ", not 2019" is dropped.
pub(super) fn news(asked: &Question, text: &str, corrects: bool) -> Option<String> {
    if asked.kind == Kind::YesNo {
        return None;
    }
    let corrects = corrects && !asked.past;
    let text = text.strip_prefix("The user said: ").unwrap_or(text);
    let ends = |s: &&str| s.starts_with("not ") || corrects && is_end(s);
    let (ended, kept): (Vec<&str>, Vec<&str>) = segments(text).into_iter().partition(ends);
    let kept = kept.join(", ");
    let met = |text: &str| {
        let have = stems(text);
        asked.stems.iter().filter(|s| have.contains(*s)).count()
    };
    let fits = !kept.is_empty() && !ended.is_empty() && fits(asked, "", &kept).is_some();
    (fits && met(&kept) >= met(&ended.join(", "))).then_some(kept)
}

/// Clauses and what is set off by commas.
fn segments(text: &str) -> Vec<&str> {
    let mut out: Vec<&str> = super::sentences(text);
    for mark in [", and ", "; ", ", ", ": ", " — ", " – ", " and ", " but ", " n "] {
        out = out.into_iter().flat_map(|segment| pieces(segment, mark)).collect();
    }
    out.into_iter()
        .map(|s| s.trim().trim_end_matches(['.', '!']))
        .filter(|s| !s.is_empty())
        .collect()
}

/// "The user and others" is one subject.
fn pieces<'t>(text: &'t str, mark: &str) -> Vec<&'t str> {
    let mut out = Vec::new();
    let mut from = 0;
    for (at, _) in text.match_indices(mark) {
        let next = at + mark.len();
        if !text[next..].starts_with("others ") {
            out.push(&text[from..at]);
            from = next;
        }
    }
    out.push(&text[from..]);
    out
}

pub(super) fn spaced(text: &str) -> String {
    let words: Vec<&str> = lexicon::words(text).collect();
    format!(" {} ", words.join(" ").to_lowercase().replace('\u{2019}', "'"))
}

pub(super) fn is_end(segment: &str) -> bool {
    let low = spaced(segment);
    negates(segment)
        || [&OFFS, &DEATHS, &LOSSES, &ENDINGS, &DEPARTURES, &SEPARATIONS]
            .iter()
            .any(|phrases| around(&low, phrases).is_some())
}

fn is_marked(text: &str) -> bool {
    has_mark(text) || segments(text).into_iter().any(is_end)
}

/// Whether it says in so many words that something changed: "actually", "we moved it".
pub(super) fn has_mark(text: &str) -> bool {
    around(&spaced(text), &MARKS).is_some()
}

/// Stems of its words, without names of days and months: two lines may share those by chance.
pub(super) fn stems(text: &str) -> HashSet<String> {
    let telling = |w: &&str| {
        let low = w.to_lowercase();
        !low.starts_with("user")
            && (low.len() > 1 || lexicon::is_value(&low))
            && !lexicon::STOP.has(&low)
            && !lexicon::is_month_or_weekday(low.trim_end_matches('s'))
    };
    lexicon::words(text).filter(telling).map(lexicon::stem).collect()
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::super::answer;
    use super::super::tests::{cases, evidence};
    use super::*;

    #[test]
    fn a_subject_of_several_is_one() {
        let fact = "The user and others are moving in May, not March";
        assert_eq!(segments(fact), ["The user and others are moving in May", "not March"]);
        assert_eq!(segments("Ana left and Bo stayed."), ["Ana left", "Bo stayed"]);
    }

    /// Asked at once: the rules know the messages only, and a reranker likes the first best.
    #[test]
    fn the_newest_statement_answers() {
        let mut wrong = Vec::new();
        for (said, expected) in cases(include_str!("tests/cases/changes.txt"), "newest") {
            let mut turns = said.split(" / ");
            let question = turns.next().unwrap_or_default();
            let said = |(n, text): (usize, &str)| Candidate {
                raw_speaker: Some("The user".into()),
                answers: Some(if n == 0 { 0.9 } else { 0.1 }),
                ..evidence(text, date(2026, 11, 22).at(10, n as i8, 0, 0))
            };
            let candidates: Vec<Candidate> = turns.enumerate().map(said).collect();
            let now = date(2026, 11, 23).at(10, 0, 0, 0);
            let got = answer(question, &candidates, now, None).map_or(String::new(), |a| a.text);
            if !expected.iter().all(|part| match part.strip_prefix("not ") {
                Some(part) => !got.contains(part),
                None => got.contains(part.as_str()),
            }) {
                wrong.push(format!("{question} {got} ({expected:?})"));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
