//! The extractive reader: the best evidence, quoted with its date, or nothing.
//!
//! It answers only from what it is offered; a question that no candidate fits gets `None`.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use jiff::civil::DateTime;

use super::advice::{asks_advice, asks_to_eat, forbidden};
use super::attributes::is_single_valued;
use super::dates::{self, DateSpan};
use super::evidence::{Evidence, aliases, collect, latest_of, source_mark};
use super::judge::same_name;
use super::lexicon::{capitalise, starts_upper};
use super::newest::{self, Sources};
use super::question::{Kind, Question, analyse, two_questions};
use super::reading;
use super::scoring::{Score, score, stands_for, targets};
use super::second_person::{is_shown_by_another, small_you, to_second_person};
use super::{Candidate, Changed, ExtractiveAnswer, Statement, countdown};
use crate::memory::Origin;

/// Begins an answer that may not be one.
pub const HEDGE: &str = "I am not sure, but this may be related: ";

/// Most facts in one answer.
pub(super) const LIST_MAX: usize = 12;

/// Answers from the candidates, or `None` when none of them fits.
pub fn answer(
    question: &str,
    candidates: &[Candidate],
    now: DateTime,
    person: Option<&str>,
) -> Option<ExtractiveAnswer> {
    answer_by(question, candidates, now, person, &|_, _, _| Vec::new())
}

/// As [`answer`]; `changed` is asked where the rules see no change. Of two questions in one, each is answered.
pub fn answer_by(
    question: &str,
    candidates: &[Candidate],
    now: DateTime,
    person: Option<&str>,
    changed: &Changed<'_>,
) -> Option<ExtractiveAnswer> {
    let whole = || answer_one(question, candidates, now, person, changed);
    let Some(parts) = two_questions(question) else { return whole() };
    let answer_part = |part| {
        let answer = answer_one(part, candidates, now, person, changed);
        answer.filter(|answer| !answer.text.starts_with(HEDGE))
    };
    let (answer, unanswered) = match parts.map(answer_part) {
        [Some(first), Some(second)] if first.text == second.text => return Some(first),
        [Some(mut first), Some(second)] => {
            first.text = format!("{} {}", first.text, second.text);
            first.cited.extend(second.cited);
            first.sure &= second.sure;
            return Some(first);
        }
        [Some(first), None] => (first, parts[1]),
        [None, Some(second)] => (second, parts[0]),
        [None, None] => return whole(),
    };
    // With advice a model that reads can do more.
    let sure = answer.sure && !asks_advice(unanswered);
    let unanswered = unanswered.trim_end_matches('?');
    let text = format!("{} I find nothing that you told me about “{unanswered}”.", answer.text);
    Some(ExtractiveAnswer { text, sure, ..answer })
}

fn answer_one(
    question: &str,
    candidates: &[Candidate],
    now: DateTime,
    person: Option<&str>,
    changed: &Changed<'_>,
) -> Option<ExtractiveAnswer> {
    if let Some(when) = countdown::asks_when(question) {
        let found = answer_one(&when, candidates, now, person, changed)?;
        return Some(countdown::counted(found, now.date()));
    }
    let evidence = collect(candidates, person);
    let sources = Sources { candidates, evidence: &evidence, changed, person };
    let asked = analyse(question, now, person, &known_names(&evidence));
    if let Some(own_name) = own_name(&asked, &evidence, person) {
        return Some(own_name);
    }
    let forbidden = forbidden(&asked, &evidence, person);
    if let Some(first) = forbidden.first() {
        let newer = sources.newer(&asked, first.candidate, &first.statement.text);
        return Some(match newer {
            Some(newer) => ExtractiveAnswer { sure: true, ..newer.quote(candidates, true, person) },
            None => compose(&asked, &forbidden, true, person, candidates),
        });
    }
    if !asked.advice {
        return answer_told(&asked, &sources, person);
    }
    // "Can I eat gluten?" may be answered by what was told; if it is not, a model says more.
    let whether = asks_to_eat(&asked) && asked.kind == Kind::YesNo;
    let told = whether.then(|| answer_told(&asked, &sources, person)).flatten();
    let told = told.filter(|answer| !answer.text.starts_with(HEDGE));
    told.map(|answer| ExtractiveAnswer { sure: true, ..answer })
}

/// As [`answer_one`], where what is asked for is what was told.
fn answer_told(
    asked: &Question,
    sources: &Sources<'_>,
    person: Option<&str>,
) -> Option<ExtractiveAnswer> {
    let candidates = sources.candidates;
    let by_rules = by_rules(asked, sources, person);
    if by_rules.as_ref().is_some_and(|answer| answer.sure) {
        return by_rules;
    }
    if let Some((index, stated)) = reading::best(candidates, asked) {
        let best = &candidates[index];
        let newer = sources.newer(asked, index, &best.text);
        return Some(newer.map_or_else(
            || {
                let news = newest::news(asked, &best.text, newest::has_mark(&best.text))
                    .filter(|_| best.raw_speaker.is_some());
                let text = news.unwrap_or_else(|| best.text.clone());
                let mark = source_mark(candidates, best.origin);
                reading::quote(&Candidate { text, ..best.clone() }, index, stated, person, mark)
            },
            |newer| newer.quote(candidates, stated, person),
        ));
    }
    by_rules
        .filter(|answer| !reading::refutes(candidates, &answer.cited))
        .or_else(|| replaced(asked, sources, person))
}

/// First names, in lowercase.
pub(super) fn known_names(evidence: &[Evidence]) -> HashSet<String> {
    evidence
        .iter()
        .filter_map(|e| e.statement.subject.as_deref())
        .filter(|s| !s.contains(' ') && starts_upper(s))
        .map(str::to_lowercase)
        .collect()
}

/// Nothing answers, but something related was said and taken back: what took it back.
fn replaced(
    asked: &Question,
    sources: &Sources<'_>,
    person: Option<&str>,
) -> Option<ExtractiveAnswer> {
    let Sources { candidates, evidence, .. } = *sources;
    if asked.past || !asked.own || asked.relation.is_some() {
        return None;
    }
    let related = |e: &&Evidence| {
        let met = asked.stems.iter().filter(|s| e.stems.contains(*s)).count();
        asked.names.iter().all(|n| e.words.contains(n))
            && (met > 0 && met * 2 >= asked.stems.len()
                || e.statement.attribute.as_ref().is_some_and(|a| asked.attributes.contains(a)))
    };
    let gone = evidence.iter().filter(|e| e.successor.is_some()).filter(related);
    let Some(last) = gone.map(|e| latest_of(evidence, e)).max_by_key(|e| (e.at, e.order)) else {
        let newer = evidence
            .iter()
            .filter(related)
            .filter_map(|e| sources.newer(asked, e.candidate, &e.statement.text));
        let newest = newer.max_by_key(|newer| candidates[newer.candidate].at)?;
        return Some(newest.quote(candidates, false, person));
    };
    let mut chosen = vec![last];
    chosen.extend(said_with(evidence, last, asked));
    without_endings(&mut chosen, asked);
    Some(compose(asked, &chosen, false, person, candidates))
}

/// Drops what only ends something if something else was said too: that is what the question wants.
fn without_endings(chosen: &mut Vec<&Evidence>, asked: &Question) {
    let ends = |e: &&Evidence| newest::is_end(&e.statement.text);
    if asked.kind != Kind::YesNo && !asked.past && !chosen.iter().all(ends) {
        chosen.retain(|e| !ends(e));
    }
}

fn by_rules(
    asked: &Question,
    sources: &Sources<'_>,
    person: Option<&str>,
) -> Option<ExtractiveAnswer> {
    let Sources { candidates, evidence, .. } = *sources;
    let aliases = aliases(evidence, person);
    let person_name = person.unwrap_or("The user");
    let targets = targets(asked, &aliases);
    let carried = asked.span.map(|span| carried_into(evidence, span)).unwrap_or_default();
    let fitting: Vec<(Score, &Evidence)> = evidence
        .iter()
        .filter(|e| asked.past || !e.superseded || e.successor.is_some())
        .filter_map(|e| {
            let carried = carried.contains(&e.order);
            // The question matches what was said first; the correction answers it.
            let keeps =
                asked.past || e.rest.is_some_and(|rest| is_about(asked, &evidence[rest], e));
            let answers = if keeps { e } else { latest_of(evidence, e) };
            score(asked, e, &targets, person_name, carried).map(|s| (s, answers))
        })
        .filter(|(_, e)| asked.past || !e.superseded)
        .collect();
    // Possibly related evidence is offered only if there is nothing better, one piece of it.
    let sure = fitting.iter().any(|(s, _)| s.sure);
    let mut scored: Vec<(f64, &Evidence)> =
        fitting.iter().filter(|(s, _)| s.sure == sure).map(|(s, e)| (s.value, *e)).collect();
    if scored.is_empty() {
        return None;
    }
    let mut seen = HashSet::new();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.retain(|(_, e)| seen.insert(e.order));
    latest_wins(&mut scored, asked);
    scored.sort_by(|a, b| {
        b.0.total_cmp(&a.0).then(b.1.at.cmp(&a.1.at)).then(a.1.order.cmp(&b.1.order))
    });
    let best = scored.first()?.0;
    // The person knows better than an import, of themselves even where its words fit better.
    let share = if asked.own { 0.75 } else { 0.9 };
    let is_own = |&(s, e): &(f64, &Evidence)| e.origin == Origin::Person && s >= best * share;
    if asked.own && asked.kind != Kind::List && scored.iter().any(is_own) {
        scored.retain(is_own);
    }
    scored.sort_by_key(|of| !is_own(of));
    let best = scored.iter().map(|(s, _)| *s).fold(0.0, f64::max);
    let several = match asked.kind {
        _ if !sure => false,
        Kind::List => true,
        Kind::When | Kind::HowOld | Kind::YesNo | Kind::Who | Kind::HowLong => false,
        _ => !scored[0].1.statement.attribute.as_deref().is_some_and(is_single_valued),
    };
    let mut chosen: Vec<&Evidence> = if several {
        let share = if asked.relation.is_some() && asked.asks_a_name() { 0.93 } else { 0.75 };
        scored
            .iter()
            .filter(|(s, _)| *s >= best * share || asked.kind == Kind::List)
            .map(|(_, e)| *e)
            .collect()
    } else {
        // Several facts may state a name; the best one is enough.
        vec![scored[0].1]
    };
    if asked.kind != Kind::List {
        let newer = |e: &Evidence| sources.newer(asked, e.candidate, &e.statement.text);
        if let Some(newer) = chosen.first().and_then(|e| newer(e)) {
            let sure = sure || newer.settles;
            return Some(ExtractiveAnswer { sure, ..newer.quote(candidates, sure, person) });
        }
        // Nothing is newer than the first, as was just checked.
        let mut is_first = true;
        chosen.retain(|e| std::mem::take(&mut is_first) || newer(e).is_none());
    }
    if let [only] = chosen.as_slice() {
        chosen.extend(said_with(evidence, only, asked));
        without_endings(&mut chosen, asked);
    }
    if let Some(own) = own_word(asked, evidence, &chosen) {
        chosen.insert(0, own);
    }
    without_repetition(&mut chosen);
    chosen.truncate(LIST_MAX);
    if asked.kind == Kind::List {
        chosen.sort_by_key(|e| (e.at, e.order));
    }
    Some(compose(asked, &chosen, sure, person, candidates))
}

/// Where all that was found is from elsewhere: what the person said of the same subject in other words, which goes first.
/// "Do I eat meat?" is answered by "I am vegetarian", too.
fn own_word<'a>(
    asked: &Question,
    evidence: &'a [Evidence],
    found: &[&Evidence],
) -> Option<&'a Evidence> {
    if !asked.own || asked.relation.is_some() || !found.iter().all(|e| e.origin.is_elsewhere()) {
        return None;
    }
    let is_subject = |e: &&Evidence| {
        let attribute = e.statement.attribute.as_deref();
        attribute.is_some_and(|of| asked.stems.iter().any(|stem| stands_for(stem, of)))
    };
    let own = evidence.iter().filter(|e| e.origin == Origin::Person && !e.superseded);
    own.filter(is_subject).max_by_key(|e| recency(e))
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
        && asked.asks_a_name()
        && asked.attributes.len() == 1;
    if !wants {
        return None;
    }
    let own = |e: &&Evidence| {
        let subject = e.statement.subject.as_deref().unwrap_or_default();
        !e.superseded
            && e.statement.attribute.as_deref() == Some("name")
            && (same_name(subject, name) || same_name(subject, "the user"))
    };
    // The name that was given last: people marry.
    let last = evidence.iter().filter(own).max_by_key(|e| recency(e));
    let name = last.and_then(|e| e.statement.value.as_deref()).unwrap_or(name);
    Some(ExtractiveAnswer {
        text: format!("Your name is {name}."),
        cited: last.map(|e| e.candidate).into_iter().collect(),
        sure: true,
    })
}

/// By what counts as said last: the person's own word after all others', and an agent's before them.
fn recency(e: &Evidence) -> (bool, bool, DateTime, usize) {
    (e.origin == Origin::Person, e.origin != Origin::Agent, e.at, e.order)
}

/// Its subject in lowercase and its attribute, if that has one value at a time.
fn single(e: &Evidence) -> Option<(String, String)> {
    let subject = e.statement.subject.as_deref()?.to_lowercase();
    let attribute = e.statement.attribute.clone()?;
    is_single_valued(&attribute).then_some((subject, attribute))
}

/// What was said last of each single-valued attribute, by the person if they said anything of it.
fn latest<'a>(of: impl Iterator<Item = &'a Evidence>) -> HashMap<(String, String), &'a Evidence> {
    let mut latest: HashMap<(String, String), &Evidence> = HashMap::new();
    for e in of {
        if let Some(key) = single(e) {
            let entry = latest.entry(key).or_insert(e);
            if recency(e) > recency(entry) {
                *entry = e;
            }
        }
    }
    latest
}

/// The `order` of what was said before the span and still held when it began.
fn carried_into(evidence: &[Evidence], span: DateSpan) -> HashSet<usize> {
    let before = evidence.iter().filter(|e| e.at.date() < span.first);
    latest(before).into_values().map(|e| e.order).collect()
}

/// Of several values of one single-valued attribute only the latest stays (all stay for the past).
fn latest_wins(scored: &mut Vec<(f64, &Evidence)>, asked: &Question) {
    let latest = latest(scored.iter().map(|&(_, e)| e));
    let later = |e: &Evidence| single(e).and_then(|key| latest.get(&key).copied());
    if asked.past {
        // The past is asked: what was replaced goes first, unless the question says when. What was
        // said a minute ago may not have been compared yet.
        for (s, e) in scored.iter_mut() {
            let replaced =
                e.superseded || later(e).is_some_and(|l| l.statement.value != e.statement.value);
            if replaced && asked.span.is_none() {
                *s += 0.5;
            }
        }
        return;
    }
    scored.retain(|(_, e)| later(e).is_none_or(|l| l.order == e.order));
}

/// Whether the question is about what stays of a statement rather than about what changed.
pub(super) fn is_about(asked: &Question, rest: &Evidence, whole: &Evidence) -> bool {
    let attribute =
        |e: &Evidence| e.statement.attribute.as_ref().is_some_and(|a| asked.attributes.contains(a));
    let of = |e: &Evidence| asked.stems.iter().filter(|s| e.stems.contains(*s)).count();
    attribute(rest) && !attribute(whole) || of(rest) > 0 && of(rest) >= of(whole)
}

/// What was said together with a correction that only ends something: "I'm at Bosch now".
fn said_with<'a>(
    evidence: &'a [Evidence],
    correction: &Evidence,
    asked: &Question,
) -> Vec<&'a Evidence> {
    const N_MAX: usize = 2;
    let replaced = |e: &&Evidence| e.successor == Some(correction.order);
    let has_value = correction.statement.attribute.is_some()
        && evidence
            .iter()
            .filter(replaced)
            .any(|e| e.statement.attribute == correction.statement.attribute);
    if asked.past || has_value || !evidence.iter().any(|e| replaced(&e)) {
        return Vec::new();
    }
    let with =
        |e: &&Evidence| e.at == correction.at && !e.superseded && e.order != correction.order;
    evidence.iter().filter(with).take(N_MAX).collect()
}

/// Leaves out facts that others already show.
fn without_repetition(chosen: &mut Vec<&Evidence>) {
    let all: Vec<Statement> = chosen.iter().map(|e| e.statement.clone()).collect();
    let mut keep: Vec<bool> = all.iter().map(|s| !is_shown_by_another(s, &all)).collect();
    for i in 0..chosen.len() {
        let says_less = |&j: &usize| {
            let (a, b) = (&chosen[i].stems, &chosen[j].stems);
            (a.len() < b.len() || a.len() == b.len() && i > j) && a.is_subset(b)
        };
        let repeats = (0..chosen.len()).filter(|&j| j != i && keep[j]).any(|j| says_less(&j));
        keep[i] &= !repeats;
    }
    let mut keep = keep.into_iter();
    chosen.retain(|_| keep.next().unwrap_or_default());
}

fn compose(
    asked: &Question,
    chosen: &[&Evidence],
    sure: bool,
    person: Option<&str>,
    candidates: &[Candidate],
) -> ExtractiveAnswer {
    let mut cited: Vec<usize> = Vec::new();
    for e in chosen {
        if !cited.contains(&e.candidate) {
            cited.push(e.candidate);
        }
    }
    let said = |e: &Evidence| {
        let before = if e.superseded { "; no longer so" } else { "" };
        let mark = source_mark(candidates, e.origin);
        format!("(said on {}{before}{mark})", dates::long_date(e.at.date()))
    };
    let line = |e: &Evidence| {
        // Of "sold the Corsa and got a Yaris", a question about the car wants the Yaris.
        let news = newest::news(asked, &e.statement.text, e.replaces);
        let text = running_dates(news.as_deref().unwrap_or(&e.statement.text));
        let text = if e.superseded { without_now(&text) } else { &text };
        capitalise(&to_second_person(text, person))
    };
    let text = match chosen {
        [only] if sure => format!("{}. {}", line(only), said(only)),
        [only] => format!("{HEDGE}{}. {}", small_you(&line(only)), said(only)),
        _ => {
            let about = match (&asked.relation, asked.names.first(), asked.own) {
                _ if asked.kind != Kind::List => String::new(),
                (_, Some(name), _) => format!(" about {}", capitalise(name)),
                (Some((None, noun)), ..) => format!(" about your {noun}"),
                (_, _, true) => " about you".to_owned(),
                _ => String::new(),
            };
            chosen.iter().fold(format!("This is what I remember{about}:"), |mut out, e| {
                let _ = write!(out, "\n- {} {}", line(e), said(e));
                out
            })
        }
    };
    ExtractiveAnswer { text, cited, sure }
}

/// Without a final "now": it was said on another day.
fn without_now(text: &str) -> &str {
    let endings = [" now", " currently", " these days", " at the moment"];
    endings.iter().find_map(|ending| text.strip_suffix(ending)).unwrap_or(text)
}

/// "(week of 9 November 2026)" → "in the week of 9 November 2026".
pub(super) fn running_dates(text: &str) -> String {
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
