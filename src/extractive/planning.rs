//! What is planned: "Remind me to call Sara on Friday." is kept, "What's on next week?" is answered by all of it.

use std::collections::HashSet;

use jiff::ToSpan as _;
use jiff::civil::{Date, DateTime};

use super::about::{self, Plan};
use super::advice::heeded;
use super::answer::{LIST_MAX, running_dates};
use super::calendar::Tense;
use super::dates::{self, DateSpan, long_date};
use super::evidence::{Evidence, collect, is_about_person, source_mark};
use super::lexicon::{self, capitalise};
use super::lists::Words;
use super::openings::strip_opening;
use super::patterns::Patterns;
use super::question::asking_sentence;
use super::second_person::to_second_person;
use super::words::{Sentence, join, tokens};
use super::{Candidate, ExtractiveAnswer};

static ASKS_IF_POSSIBLE: Patterns = Patterns::new("asks if it is possible");
static ASKS_WHAT_IS_ON: Patterns = Patterns::new("asks what is on");
static OF_AGENDAS: Words = Words::new("of agendas");

/// How a person is said to want to be reminded.
pub(super) const REMINDED: &str = " to be reminded ";

/// What the person says of themself who asks to be reminded: "Remind me to call Sara on Friday." → "I want to be reminded to call
/// Sara on Friday".
pub(super) fn asked_to_remind(sentence: &str) -> Option<String> {
    const OPENINGS: [&[&str]; 7] = [
        &["remind", "me"],
        &["do", "not", "let", "me", "forget"],
        &["don't", "let", "me", "forget"],
        &["dont", "let", "me", "forget"],
        &["set", "a", "reminder"],
        &["set", "me", "a", "reminder"],
        &["make", "sure", "i", "remember"],
    ];
    /// "Remind me on Thursday at noon to …"
    const WORDS_OF_TIME_MAX: usize = 5;
    let words = strip_opening(&tokens(sentence));
    let lower = |i: usize| words.get(i).map_or("", |t| t.lower.as_str());
    let polite = matches!((lower(0), lower(1)), ("can" | "could" | "would" | "will", "you" | "u"));
    let mut at = if polite { 2 } else { 0 };
    at += usize::from(matches!(lower(at), "please" | "pls"));
    let opens = |opening: &&&[&str]| opening.iter().enumerate().all(|(i, w)| lower(at + i) == *w);
    at += OPENINGS.iter().find(opens)?.len();
    let then = (at..words.len().min(at + WORDS_OF_TIME_MAX + 1))
        .find(|&i| matches!(lower(i), "to" | "that"))?;
    let (when, what) = (&words[at..then], &words[then..]);
    let is_time = || {
        matches!(lower(at), "at" | "in" | "on" | "by" | "before" | "after")
            || !dates::resolve(&join(when), DateTime::default()).spans.is_empty()
    };
    if what.iter().filter(|t| t.word).count() < 2 || !when.is_empty() && !is_time() {
        return None;
    }
    let what = join(what);
    let what = what.trim().trim_end_matches(['.', '!', '?', ' ']);
    let what = what.strip_suffix(" please").unwrap_or(what).trim_end_matches(',');
    let when = join(when);
    Some(format!("I want{REMINDED}{what} {}", when.trim()).trim_end().to_owned())
}

/// Whether a message asks to be reminded of something.
pub fn asks_to_be_reminded(text: &str) -> bool {
    super::sentences(lexicon::clip(text, 2_000)).iter().any(|s| asked_to_remind(s).is_some())
}

/// Whether a message asks what is planned, and nothing more: "What's on next week?", "Am I free on Friday?"
pub fn asks_what_is_on(text: &str) -> bool {
    let words = strip_opening(&tokens(lexicon::clip(text, 400)));
    let words = words.lower_words();
    let of_agenda = |word: &&str| {
        OF_AGENDAS.has(word)
            || lexicon::STOP.has(word)
            || lexicon::is_month_or_weekday(word)
            || word.starts_with(|c: char| c.is_ascii_digit())
    };
    ASKS_WHAT_IS_ON.match_any(&words) && words.iter().all(of_agenda)
}

/// Whether a message asks if the person could do something: "Can I meet Eva?"
pub fn asks_if_possible(text: &str) -> bool {
    let asked = asking_clause(lexicon::clip(text, 400));
    asks_if(asked) && heeded(asked).is_none()
}

/// As [`asks_if_possible`], on a day or in a week that it names: "Can I meet Eva on Friday night?"
pub fn asks_if_free(text: &str, now: DateTime) -> bool {
    let asked = asking_clause(lexicon::clip(text, 400));
    let is_near = |span: DateSpan| span.last >= now.date() && n_days(span) <= A_WEEK;
    asks_if_possible(asked) && asked_days(asked, now).is_some_and(is_near)
}

fn asks_if(clause: &str) -> bool {
    let words: Vec<String> = lexicon::words(clause).map(str::to_lowercase).collect();
    ASKS_IF_POSSIBLE.match_any(&words)
}

const A_WEEK: i32 = 7;
const A_MONTH: i32 = 31;

fn n_days(span: DateSpan) -> i32 {
    (span.last - span.first).get_days() + 1
}

/// The days that a question names.
fn asked_days(question: &str, now: DateTime) -> Option<DateSpan> {
    let named = dates::find(question).first().map(|found| found.span);
    named.or_else(|| dates::resolve(question, now).spans.first().copied())
}

/// What is asked of "I work on Fridays, can I meet Eva on Friday night?"
fn asking_clause(text: &str) -> &str {
    let asked = asking_sentence(text);
    asked.split([',', ';', '–']).map(str::trim).find(|clause| asks_if(clause)).unwrap_or(asked)
}

/// Whether it is said of every week, and of one of these days: "Ana works on Fridays."
fn recurs(text: &str, days: DateSpan) -> Option<Date> {
    let words: Vec<String> = lexicon::words(text).map(str::to_lowercase).collect();
    let is_told = |day: Date| {
        let n = day.weekday().to_monday_zero_offset().unsigned_abs();
        let day = lexicon::WEEKDAYS[usize::from(n)].to_lowercase();
        words.iter().enumerate().any(|(i, word)| match word.strip_prefix(&*day) {
            Some("s") => true,
            Some("") => {
                words[..i].last().is_some_and(|w| matches!(w.as_str(), "every" | "each"))
                    || words.get(i + 1).is_some_and(|w| {
                        matches!(w.as_str(), "mornings" | "afternoons" | "evenings" | "nights")
                    })
            }
            _ => false,
        })
    };
    days.first.series(1.day()).take_while(|day| *day <= days.last).find(|day| is_told(*day))
}

/// What is planned for the days that the question names, or from today on, by the day; what recurs, of a few days.
pub fn what_is_on(
    question: &str,
    candidates: &[Candidate],
    now: DateTime,
    person: Option<&str>,
) -> ExtractiveAnswer {
    let today = now.date();
    let asked = asked_days(asking_clause(question), now);
    let longest = asked.map_or(i32::MAX, |span| n_days(span).max(A_WEEK));
    let span = asked.unwrap_or(DateSpan { first: today, last: Date::MAX });
    // What is over is not on any more.
    let span =
        if span.last < today { span } else { DateSpan { first: span.first.max(today), ..span } };
    let evidence = collect(candidates, person);
    // The person's own, or of somebody who is named.
    let is_of = |e: &Evidence| {
        let subject = e.statement.subject.as_deref().unwrap_or_default();
        is_about_person(e, person) || !subject.is_empty() && question.contains(subject)
    };
    let planned = |longest: i32| {
        let mut seen = HashSet::new();
        let mut on: Vec<_> = evidence
            .iter()
            .filter(|e| !e.superseded && e.successor.is_none())
            .filter_map(|e| {
                let text = &e.statement.text;
                let recurring = || {
                    let lasts = Tense::told(text) != Some(Tense::Past);
                    (lasts && n_days(span) <= A_WEEK && is_of(e))
                        .then(|| recurs(text, span))?
                        .map(|first| (first, e))
                };
                match about::plan(text, &e.statement, e.at.date()) {
                    Some(Plan::On(first, last)) => {
                        let planned = DateSpan { first, last };
                        (planned.overlaps(span) && n_days(planned) <= longest).then_some((first, e))
                    }
                    Some(Plan::Undated) | None => recurring(),
                }
            })
            .filter(|(_, e)| seen.insert(&e.statement.text))
            .collect();
        on.sort_by_key(|(first, e)| (*first, e.order));
        on.truncate(LIST_MAX);
        on
    };
    let mut on = planned(longest);
    if on.is_empty() {
        // "We are in Portugal for two weeks in February."
        on = planned(A_MONTH);
    }
    let line = |text: &str| capitalise(&to_second_person(&running_dates(text), person));
    let said = |e: &Evidence| {
        let mark = source_mark(candidates, e.origin);
        format!("{}. (said on {}{mark})", line(&e.statement.text), long_date(e.at.date()))
    };
    let text = match on.as_slice() {
        [] => "I know of nothing that is planned then.".to_owned(),
        [(_, only)] => said(only),
        _ => on.iter().fold("This is what I know of:".to_owned(), |out, (_, e)| {
            format!("{out}\n- {}", said(e).replace(". (said", " (said"))
        }),
    };
    let mut cited: Vec<usize> = Vec::new();
    for (_, e) in on {
        if !cited.contains(&e.candidate) {
            cited.push(e.candidate);
        }
    }
    ExtractiveAnswer { text, cited, sure: true }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;
    use crate::memory::Origin;

    #[test]
    fn who_asks_to_be_reminded_wants_something() {
        for (text, said) in [
            ("remind me to call the dentist", "to call the dentist"),
            ("Can you please remind me to buy milk tomorrow?", "to buy milk tomorrow"),
            ("Remind me on Thursday to order cordial, please.", "to order cordial on Thursday"),
            ("don't let me forget to water the plants!", "to water the plants"),
            ("Remind me that rent is due on Friday", "that rent is due on Friday"),
        ] {
            let expected = format!("I want to be reminded {said}");
            assert_eq!(asked_to_remind(text), Some(expected), "{text}");
        }
        for text in [
            "remind me where I live",
            "remind me about the dentist",
            "You remind me to smile",
            "remind me of the way to Rome",
            "remind me what to buy",
            "remind me to",
            "",
        ] {
            assert_eq!(asked_to_remind(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_on_is_asked_in_many_ways() {
        for text in [
            "what's on next week?",
            "What do I have on Thursday?",
            "what is planned for 4 December",
            "Am I free on Friday evening?",
            "anything on tomorrow?",
            "hey, what am I doing this weekend?",
            "What are my plans for December?",
            "do I have any plans tonight?",
            "whats coming up",
            "what's in my calendar on Monday?",
        ] {
            assert!(asks_what_is_on(text), "{text}");
        }
        for text in [
            "what's on TV tonight?",
            "What do I have on my sandwich?",
            "what is on the table?",
            "What am I doing wrong?",
            "what's up?",
            "What are my plans for Sara's birthday?",
            "Do I have a dog?",
            "am I vegetarian?",
            "Where am I on Friday?",
        ] {
            assert!(!asks_what_is_on(text), "{text}");
        }
    }

    #[test]
    fn whether_there_is_time_is_asked_of_a_day() {
        let now = date(2026, 11, 28).at(9, 0, 0, 0);
        for text in [
            "I work the night shift on Fridays, can I meet Eva on Friday night?",
            "Could we go skiing with Eva tomorrow?",
            "do I have time for a run on Tuesday evening?",
            "Hey, will I be able to visit Bo next weekend?",
        ] {
            assert!(asks_if_free(text, now), "{text}");
        }
        assert!(asks_if_possible("Can I meet Eva?") && !asks_if_free("Can I meet Eva?", now));
        for text in [
            "Can I eat pesto tonight?",
            "What can I do on Friday?",
            "How could we travel to Rome tomorrow?",
            "Can I visit the Louvre in 2027?",
            "I work on Fridays.",
        ] {
            assert!(!asks_if_free(text, now), "{text}");
        }
    }

    #[test]
    fn what_is_planned_is_listed_by_the_day() {
        let told = date(2026, 11, 26).at(9, 0, 0, 0);
        let candidate = |text: &str, speaker: Option<&str>| Candidate {
            text: text.into(),
            relevance: 0.0,
            at: told,
            raw_speaker: speaker.map(Into::into),
            superseded: false,
            origin: Origin::Person,
            answers: None,
        };
        let candidates = [
            candidate("Ana is delivering a cake on Saturday 5 December 2026", None),
            candidate("Ana lives in Lund", None),
            candidate("Ana has a dentist appointment on 1 December 2026", None),
            candidate("Ana flies to Rome on 12 December 2026", None),
            candidate("Ana moved to Lund on 2 November 2026", None),
            candidate("remind me to order cordial on Thursday", Some("Ana")),
            Candidate {
                superseded: true,
                ..candidate("Ana is meeting Bo on 3 December 2026", None)
            },
            candidate("I work the night shift on Fridays", Some("Ana")),
            Candidate {
                superseded: true,
                ..candidate("Ana works the night shift on Fridays", None)
            },
            candidate("Ana works the night shift on Fridays", None),
            candidate("Bo plays chess every Sunday", None),
            candidate("Ana is going to Portugal for two weeks in February 2027", None),
            candidate("Ana worked at a bakery on Fridays", None),
        ];
        let now = date(2026, 11, 28).at(9, 0, 0, 0);
        let on = |question: &str| what_is_on(question, &candidates, now, Some("Ana"));
        let week = on("what's on next week?");
        // Told again, a fact holds.
        assert_eq!(week.cited, [2, 5, 9, 0], "{}", week.text);
        assert!(week.text.contains("You want to be reminded to order cordial"), "{}", week.text);
        let monday = on("Am I free on Monday?");
        assert_eq!(monday.text, "I know of nothing that is planned then.");
        let tuesday = on("what do I have on Tuesday?");
        assert!(tuesday.text.starts_with("You have a dentist appointment on"), "{}", tuesday.text);
        assert_eq!(on("what's coming up?").cited, [2, 5, 0, 3, 11]);
        let february = on("Am I free on 14 February?");
        assert!(february.text.starts_with("You are going to Portugal"), "{}", february.text);
        let friday = on("Can I meet Eva on Friday night?");
        assert!(friday.text.starts_with("You work the night shift on Fridays."), "{}", friday.text);
        assert_eq!(on("Is Bo free on Sunday?").cited, [10]);
    }
}
