//! Relative dates made absolute ("last week" → "(week of 9 November 2026)"), and absolute dates
//! read back from text, for questions about time. Weeks start on Monday.
//!
//! Only what the calendar fixes is replaced; "recently", "soon" and durations ("for two years")
//! stay as they are.

use std::sync::LazyLock;

use jiff::ToSpan;
use jiff::civil::{Date, DateTime, date};
use regex::Regex;

use super::calendar::{
    ANY_MONTH, Expression, MONTH, RELATIVE, Tense, back, expression, monday, month_name,
    month_number, plus,
};
use super::pattern as regex;

/// The days that an expression of time means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DateSpan {
    pub first: Date,
    pub last: Date,
    /// "A few days ago": near, not exactly.
    pub approximate: bool,
}

impl DateSpan {
    pub(super) fn day(day: Date) -> Self {
        Self { first: day, last: day, approximate: false }
    }

    pub(super) fn about(mut self) -> Self {
        self.approximate = true;
        self
    }

    pub(super) fn week(day: Date) -> Self {
        let first = monday(day);
        Self { first, last: plus(first, 6.days()), approximate: false }
    }

    pub(super) fn weekend(day: Date) -> Self {
        let first = plus(monday(day), 5.days());
        Self { first, last: plus(first, 1.day()), approximate: false }
    }

    pub(super) fn month(day: Date) -> Self {
        Self { first: day.first_of_month(), last: day.last_of_month(), approximate: false }
    }

    pub(super) fn year(day: Date) -> Self {
        Self { first: day.first_of_year(), last: day.last_of_year(), approximate: false }
    }

    /// True if the two have a day in common.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

/// A sentence with its dates resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved {
    pub text: String,
    /// What was resolved, in order.
    pub spans: Vec<DateSpan>,
}

/// Replaces the relative dates of one sentence, said at `at`.
///
/// ```
/// use inglenook::extractive::dates::resolve;
/// let at = jiff::civil::date(2026, 11, 21).at(10, 0, 0, 0);
/// assert_eq!(resolve("Ana moved to Lund last week", at).text,
///     "Ana moved to Lund (week of 9 November 2026)");
/// assert_eq!(resolve("Ana ran yesterday", at).text, "Ana ran on 20 November 2026");
/// ```
pub fn resolve(sentence: &str, at: DateTime) -> Resolved {
    let today = at.date();
    let tense = Tense::of(sentence);
    let mut out = String::with_capacity(sentence.len() + 32);
    let mut spans = Vec::new();
    let mut done = 0;
    while let Some(found) = RELATIVE.captures_at(sentence, done) {
        let Some(whole) = found.get(0) else { break };
        let (start, end) = (whole.start(), whole.end());
        let before = &sentence[..start];
        let after = &sentence[end..];
        let replacement = expression(&found, today, tense)
            .filter(|_| !is_quoted_or_name(before, after))
            .and_then(|e| phrase(&e, before, after, whole.as_str()));
        match replacement {
            Some((text, keep_before)) => {
                out.push_str(&sentence[done..keep_before.max(done)]);
                // A sentence begins with a capital.
                if out.trim().is_empty() {
                    out.push_str(&super::lexicon::capitalise(&text));
                } else {
                    out.push_str(&text);
                }
                if let Some(e) = expression(&found, today, tense) {
                    spans.push(e.span);
                }
            }
            None => out.push_str(&sentence[done..end]),
        }
        done = end;
        // "yesterday's talk": the ending was put before the bracket.
        let whose = sentence[..end].len() < sentence.len() && after.starts_with("'s");
        if whose && out.ends_with(')') {
            done += 2;
        }
        if done >= sentence.len() {
            break;
        }
    }
    out.push_str(&sentence[done..]);
    Resolved { text: out, spans }
}

/// "20 November 2026".
#[must_use]
pub fn long_date(day: Date) -> String {
    format!("{} {} {}", day.day(), month_name(day), day.year())
}

/// "the Daily Today show", "Good Friday" and titles in capitals are names, not times.
fn is_quoted_or_name(before: &str, after: &str) -> bool {
    let open = before.chars().filter(|&c| matches!(c, '"' | '“' | '”')).count();
    open % 2 == 1 && after.contains(['"', '”'])
}

/// How the expression stands between what comes before and after: the text, and where the part of
/// `before` that stays ends.
fn phrase(e: &Expression, before: &str, after: &str, said: &str) -> Option<(String, usize)> {
    // Already absolute: "in March 2026", "on 5 March, 2026".
    let trimmed = after.trim_start_matches([',', ' ']);
    let digits = trimmed.len() - trimmed.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if digits == 4 && after.starts_with([' ', ',']) {
        return None;
    }
    if matches!(e.preposition, Some(p) if p.is_empty()) {
        return Some((e.noun.clone(), before.len()));
    }
    // "on Tuesdays" is a habit.
    if after.starts_with('s') || after.starts_with('-') {
        return None;
    }
    let with_article = |noun: &str| {
        if noun.starts_with("week") { format!("the {noun}") } else { noun.to_owned() }
    };
    // "yesterday's meeting": the words stay.
    if after.starts_with("'s") || after.starts_with('’') {
        return after.starts_with("'s").then(|| (format!("{said}'s ({})", e.noun), before.len()));
    }
    let word_before =
        before.trim_end().rsplit([' ', '(']).next().unwrap_or_default().to_lowercase();
    // "the last week of May", "for the last year", "every other week": durations and ranges.
    if matches!(
        word_before.as_str(),
        "the"
            | "over"
            | "per"
            | "every"
            | "each"
            | "my"
            | "whole"
            | "entire"
            | "all"
            | "these"
            | "those"
    ) && e.preposition != Some("on")
    {
        return None;
    }
    let after_preposition = matches!(
        word_before.as_str(),
        "since"
            | "until"
            | "till"
            | "by"
            | "from"
            | "before"
            | "after"
            | "for"
            | "of"
            | "to"
            | "than"
            | "like"
            | "about"
    );
    if after_preposition {
        return Some((with_article(&e.noun), before.len()));
    }
    if matches!(word_before.as_str(), "in" | "on" | "at" | "during") {
        // "on the day before yesterday": the preposition is ours.
        let keep = before.trim_end().len() - word_before.len();
        let preposition =
            e.preposition.unwrap_or(if e.noun.starts_with("weekend") { "on" } else { "in" });
        return Some((format!("{preposition} {}", with_article(&e.noun)), keep));
    }
    let sentence_start = before.trim().is_empty();
    Some(match e.preposition {
        // "Last night was amazing": the time itself is the subject.
        _ if sentence_start
            && [" was ", " is ", " were ", " will "].iter().any(|v| after.starts_with(v)) =>
        {
            (with_article(&e.noun), before.len())
        }
        Some(p) => {
            let text = format!("{p} {}", e.noun);
            (text, before.len())
        }
        None if e.noun.starts_with("weekend") && sentence_start => {
            (format!("on the {}", e.noun), before.len())
        }
        None if e.noun.starts_with("week") && sentence_start => {
            (format!("in the {}", e.noun), before.len())
        }
        None if e.noun.starts_with("a ") && sentence_start => (e.noun.clone(), before.len()),
        None if e.noun.starts_with("around ") && sentence_start => (e.noun.clone(), before.len()),
        None => (format!("({})", e.noun), before.len()),
    })
}

static ABSOLUTE: LazyLock<Regex> = LazyLock::new(|| {
    regex(&format!(
        r"(?xi)\b(?:
          (?P<kind>week|weekend)\ of\ (?P<kd>\d{{1,2}})\ (?P<km>{MONTH})\ (?P<ky>\d{{4}})
        | (?P<rel>a\ few|a\ couple\ of)\ (?P<relunit>days|weeks|months|years)\ before\ (?P<rd>\d{{1,2}})\ (?P<rm>{MONTH})\ (?P<ry>\d{{4}})
        | (?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?:\ of)?\ (?P<m>{ANY_MONTH})\.?,?\ (?P<y>\d{{4}})
        | (?P<m2>{ANY_MONTH})\.?\ (?P<d2>\d{{1,2}})(?:st|nd|rd|th)?,?\ (?P<y2>\d{{4}})
        | (?P<iy>\d{{4}})-(?P<im>\d{{2}})-(?P<id>\d{{2}})
        | (?P<season>spring|summer|autumn|fall|winter)\ of\ (?P<sy>\d{{4}})
        | (?P<m3>{ANY_MONTH})\ (?P<y3>\d{{4}})
        | (?:in|since|of|until|from|by|around|at\ christmas|christmas)\ (?P<y4>(?:19|20)\d{{2}})
        )\b"
    ))
});

/// An absolute date found in a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    pub span: DateSpan,
    /// Byte range.
    pub start: usize,
    pub end: usize,
    /// How to say it after a verb: "on 20 November 2026", "in the week of 9 November 2026".
    pub phrase: String,
}

/// The absolute dates of a text, in order.
pub fn find(text: &str) -> Vec<Found> {
    ABSOLUTE
        .captures_iter(text)
        .filter_map(|found| {
            let whole = found.get(0)?;
            let get = |name: &str| found.name(name).map(|m| m.as_str());
            let day = |y: &str, m: &str, d: &str| -> Option<Date> {
                let month = month_number(m).or_else(|| m.parse().ok())?;
                Date::new(y.parse().ok()?, month, d.parse().ok()?).ok()
            };
            let (span, phrase) = if let Some(kind) = get("kind") {
                let first = day(get("ky")?, get("km")?, get("kd")?)?;
                let last = if kind.eq_ignore_ascii_case("week") { 6 } else { 1 };
                let span = DateSpan { first, last: plus(first, last.days()), approximate: false };
                let preposition = if last == 6 { "in" } else { "on" };
                (span, format!("{preposition} the {} of {}", kind.to_lowercase(), long_date(first)))
            } else if let Some(unit) = get("relunit") {
                let said = day(get("ry")?, get("rm")?, get("rd")?)?;
                let first = back(said, 6, unit)?;
                (
                    DateSpan { first, last: said, approximate: true },
                    whole.as_str().to_lowercase().replace(&get("rm")?.to_lowercase(), get("rm")?),
                )
            } else if let (Some(y), Some(m), Some(d)) = (get("y"), get("m"), get("d")) {
                let date = day(y, m, d)?;
                (DateSpan::day(date), format!("on {}", long_date(date)))
            } else if let (Some(y), Some(m), Some(d)) = (get("y2"), get("m2"), get("d2")) {
                let date = day(y, m, d)?;
                (DateSpan::day(date), format!("on {}", long_date(date)))
            } else if let (Some(y), Some(m), Some(d)) = (get("iy"), get("im"), get("id")) {
                let date = day(y, m, d)?;
                (DateSpan::day(date), format!("on {}", long_date(date)))
            } else if let (Some(season), Some(y)) = (get("season"), get("sy")) {
                let month = match season.to_lowercase().as_str() {
                    "spring" => 3,
                    "summer" => 6,
                    "winter" => 12,
                    _ => 9,
                };
                let first = Date::new(y.parse().ok()?, month, 1).ok()?;
                let last = plus(first, 2.months()).last_of_month();
                (
                    DateSpan { first, last, approximate: false },
                    format!("in the {} of {y}", season.to_lowercase()),
                )
            } else if let (Some(m), Some(y)) = (get("m3"), get("y3")) {
                let date = Date::new(y.parse().ok()?, month_number(m)?, 1).ok()?;
                (DateSpan::month(date), format!("in {} {y}", month_name(date)))
            } else {
                let y = get("y4")?;
                (DateSpan::year(date(y.parse().ok()?, 1, 1)), format!("in {y}"))
            };
            Some(Found { span, start: whole.start(), end: whole.end(), phrase })
        })
        .collect()
}

/// The span that a question asks about: "in March", "last week", "on 3 May 2026".
pub fn asked_span(question: &str, now: DateTime) -> Option<DateSpan> {
    find(question).first().map(|f| f.span).or_else(|| {
        let resolved = resolve(&format!("was {question}"), now);
        resolved.spans.first().copied()
    })
}
