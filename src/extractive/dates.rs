//! Relative dates made absolute ("last week" → "(week of 9 November 2026)"), and absolute dates
//! read back from text, for questions about time. Weeks start on Monday.
//!
//! Only what the calendar fixes is replaced; "recently", "soon" and durations ("for two years")
//! stay as they are.

use std::borrow::Cow;
use std::cell::LazyCell;
use std::sync::LazyLock;

use jiff::ToSpan;
use jiff::civil::{Date, DateTime};
use regex::{Captures, Regex};

use super::calendar::{
    ANY_MONTH, Expression, FULL_DAY, MONTH, RELATIVE, Tense, back, expression, monday,
    month_number, nearest_nth, plus,
};
use super::lexicon::capitalise;
use super::lists::Words;
use super::pattern as regex;
use super::sentences::sentences;

static AFTER_A_DAY: Words = Words::new("after a day");
static BEFORE_A_DURATION: Words = Words::new("before a duration");
static BEFORE_A_TIME: Words = Words::new("before a time");

/// The days that an expression of time means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DateSpan {
    pub first: Date,
    pub last: Date,
}

impl DateSpan {
    pub(super) fn day(day: Date) -> Self {
        Self { first: day, last: day }
    }

    pub(super) fn week(day: Date) -> Self {
        let first = monday(day);
        Self { first, last: plus(first, 6.days()) }
    }

    pub(super) fn weekend(day: Date) -> Self {
        let first = plus(monday(day), 5.days());
        Self { first, last: plus(first, 1.day()) }
    }

    pub(super) fn month(day: Date) -> Self {
        Self { first: day.first_of_month(), last: day.last_of_month() }
    }

    pub(super) fn year(day: Date) -> Self {
        Self { first: day.first_of_year(), last: day.last_of_year() }
    }

    /// True if the two have a day in common.
    pub fn overlaps(self, other: Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

/// A sentence with its dates resolved.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Resolved {
    pub text: String,
    /// What was resolved, in order.
    pub spans: Vec<DateSpan>,
}

/// Replaces the relative dates of one sentence, said at `at`.
pub(super) fn resolve(sentence: &str, at: DateTime) -> Resolved {
    let today = at.date();
    let sentence = &*months_years_ago(sentence, today);
    let told = LazyCell::new(|| Tense::told(sentence));
    let mut out = String::with_capacity(sentence.len() + 32);
    let mut spans = Vec::new();
    let mut done = 0;
    while let Some(found) = RELATIVE.captures_at(sentence, done) {
        let Some(whole) = found.get(0) else { break };
        let (start, end) = (whole.start(), whole.end());
        let before = &sentence[..start];
        let after = &sentence[end..];
        let tense =
            Tense::of_clause(sentence, start, end).or_else(|| *told).unwrap_or(Tense::Future);
        let stated = stated_year(before, after);
        let meant = expression(&found, today, tense, stated)
            .filter(|_| !is_quoted(before, after))
            .and_then(|e| Some((phrase(&e, before, after, whole.as_str())?, e.span)));
        let takes_year = meant.as_ref().is_some_and(|(_, s)| Some(s.first.year()) == stated);
        if let Some(((text, mut keep_before), span)) = meant {
            // "in 2015, on 14 March"
            if takes_year && let Some(year) = YEAR_BEFORE.find(before) {
                keep_before = keep_before.min(year.start());
            }
            out.push_str(&sentence[done..keep_before.max(done)]);
            // A sentence begins with a capital.
            let starts = out.trim().is_empty();
            out.push_str(&if starts { capitalise(&text) } else { text });
            spans.push(span);
        } else {
            out.push_str(&sentence[done..end]);
        }
        done = end;
        // "on 14 March in 2015": the year has moved.
        if takes_year && let Some(year) = YEAR_AFTER.find(after) {
            done += year.end();
        }
        // "yesterday's talk": the ending was put before the bracket.
        if after.starts_with("'s") && out.ends_with(')') {
            done += 2;
        }
        if done >= sentence.len() {
            break;
        }
    }
    out.push_str(&sentence[done..]);
    let text = with_days_of_months(&out, today, *told == Some(Tense::Past), &mut spans);
    Resolved { text, spans }
}

/// "four years ago this March" → "in March 2022".
fn months_years_ago(sentence: &str, today: Date) -> Cow<'_, str> {
    static AGO: LazyLock<Regex> = LazyLock::new(|| {
        regex(&format!(r"(?i)\b([\w-]+) years? ago (?:this|last|in|next) ({MONTH})\b"))
    });
    AGO.replace_all(sentence, |found: &Captures<'_>| {
        let n = super::lexicon::number(&found[1]).and_then(|n| i16::try_from(n).ok());
        let year = n.and_then(|n| today.year().checked_sub(n));
        year.map_or_else(|| found[0].to_owned(), |year| format!("in {} {year}", &found[2]))
    })
}

/// "on the 16th": the next one, or the last one in the past.
fn with_days_of_months(text: &str, today: Date, past: bool, spans: &mut Vec<DateSpan>) -> String {
    static NTH: LazyLock<Regex> =
        LazyLock::new(|| regex(r"(?i)\b(on|to|until|till|by|from) the (\d{1,2})(?:st|nd|rd|th)\b"));
    let written = |found: &Captures<'_>| {
        let whole = found.get(0)?;
        let after = &text[whole.end()..];
        let is_day = match super::lexicon::words(after).next() {
            // "on the 16th of May", "on the 5th floor"
            Some(word) if after.starts_with(' ') && after[1..].starts_with(word) => {
                AFTER_A_DAY.has(&word.to_lowercase())
            }
            _ => !after.starts_with('-'),
        };
        let day: i8 = found[2].parse().ok().filter(|_| is_day)?;
        // "It got moved to the 16th"
        let past = past && matches!(&*found[1].to_lowercase(), "on" | "from");
        let date = nearest_nth(day, today, past, |_| true)?;
        Some((date, format!("{} {}", &found[1], long_date(date))))
    };
    let replaced = |found: &Captures<'_>| {
        let Some((date, text)) = written(found) else { return found[0].to_owned() };
        spans.push(DateSpan::day(date));
        text
    };
    NTH.replace_all(text, replaced).into_owned()
}

/// "in 2015, ", and after an expression " in 2015".
static YEAR_BEFORE: LazyLock<Regex> = LazyLock::new(|| regex(r"(?i)\bin ((?:19|20)\d\d),? $"));
static YEAR_AFTER: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?i)^,? (?:in|of) ((?:19|20)\d\d)\b"));

/// The year beside an expression: "in 2015, on 14 March", "on 14 March in 2015".
fn stated_year(before: &str, after: &str) -> Option<i16> {
    let found = YEAR_BEFORE.captures(before).or_else(|| YEAR_AFTER.captures(after))?;
    found.get(1)?.as_str().parse().ok()
}

/// A text said at `at` with its relative dates resolved: "I saw her yesterday" → "I saw her on 7 May 2023".
pub fn dated(text: &str, at: DateTime) -> String {
    sentences(text).iter().map(|s| resolve(s, at).text).collect::<Vec<_>>().join(" ")
}

/// "20 November 2026".
pub(super) fn long_date(day: Date) -> String {
    day.strftime("%-d %B %Y").to_string()
}

/// Inside a quotation are names and titles, not times.
fn is_quoted(before: &str, after: &str) -> bool {
    let open = before.chars().filter(|&c| matches!(c, '"' | '“' | '”')).count();
    open % 2 == 1 && after.contains(['"', '”'])
}

/// What makes a habit of a weekday, behind it.
static HABIT: LazyLock<Regex> = LazyLock::new(|| {
    regex(&format!(
        r"(?i)^(?:(?:,| and| or|, and) (?:{FULL_DAY}))*(?:s\b| (?:morning|afternoon|evening|night)s\b)"
    ))
});

/// "The last Saturday of September", but "March of 2015".
fn of_another(after: &str) -> bool {
    after.strip_prefix(" of ").is_some_and(|of| !of.starts_with(|c: char| c.is_ascii_digit()))
}

/// How the expression reads between what comes before and after: the text, and how many bytes of
/// `before` stay. `None` to leave it as it was said.
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
    // "on Tuesdays", "on Tuesday and Friday mornings" are habits, "the last Saturday of September" another day.
    if HABIT.is_match(after) || after.starts_with('-') || of_another(after) {
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
    if BEFORE_A_DURATION.has(word_before.as_str()) && e.preposition != Some("on") {
        return None;
    }
    if BEFORE_A_TIME.has(&word_before) {
        return Some((with_article(&e.noun), before.len()));
    }
    // "The bid goes in on Friday": that one belongs to the verb.
    let has_own = said.get(..3).is_some_and(|s| matches!(&*s.to_lowercase(), "on " | "in "));
    if !has_own && matches!(word_before.as_str(), "in" | "on" | "at" | "during") {
        // "on the day before yesterday": the preposition is ours.
        let keep = before.trim_end().len() - word_before.len();
        let preposition =
            e.preposition.unwrap_or(if e.noun.starts_with("weekend") { "on" } else { "in" });
        return Some((format!("{preposition} {}", with_article(&e.noun)), keep));
    }
    let starts = before.trim().is_empty();
    let noun = &e.noun;
    let text = match e.preposition {
        // "Last night was amazing": the time itself is the subject.
        _ if starts
            && [" was ", " is ", " were ", " will ", " has ", " had "]
                .iter()
                .any(|v| after.starts_with(v)) =>
        {
            with_article(noun)
        }
        Some(preposition) => format!("{preposition} {noun}"),
        None if starts && noun.starts_with("weekend") => format!("on the {noun}"),
        None if starts && noun.starts_with("week") => format!("in the {noun}"),
        None if starts && (noun.starts_with("a ") || noun.starts_with("around ")) => noun.clone(),
        None => format!("({noun})"),
    };
    Some((text, before.len()))
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
pub(super) struct Found {
    pub span: DateSpan,
    /// Byte range.
    pub start: usize,
    pub end: usize,
}

/// The absolute dates of a text, in order.
pub(super) fn find(text: &str) -> Vec<Found> {
    let found = |found: Captures<'_>| {
        let whole = found.get(0)?;
        Some(Found { span: absolute(&found)?, start: whole.start(), end: whole.end() })
    };
    ABSOLUTE.captures_iter(text).filter_map(found).collect()
}

fn absolute(found: &Captures<'_>) -> Option<DateSpan> {
    let get = |name: &str| found.name(name).map(|m| m.as_str());
    let year = |name: &str| get(name)?.parse::<i16>().ok();
    let month = |name: &str| get(name).and_then(|m| month_number(m).or_else(|| m.parse().ok()));
    let day =
        |y: &str, m: &str, d: &str| Date::new(year(y)?, month(m)?, get(d)?.parse().ok()?).ok();
    if let Some(kind) = get("kind") {
        let first = day("ky", "km", "kd")?;
        let last = if kind.eq_ignore_ascii_case("week") { 6 } else { 1 };
        return Some(DateSpan { first, last: plus(first, last.days()) });
    }
    if let Some(unit) = get("relunit") {
        let said = day("ry", "rm", "rd")?;
        return Some(DateSpan { first: back(said, 6, unit)?, last: said });
    }
    for [y, m, d] in [["y", "m", "d"], ["y2", "m2", "d2"], ["iy", "im", "id"]] {
        if get(d).is_some() {
            return day(y, m, d).map(DateSpan::day);
        }
    }
    if let Some(season) = get("season") {
        let month = match season.to_lowercase().as_str() {
            "spring" => 3,
            "summer" => 6,
            "winter" => 12,
            _ => 9,
        };
        let first = Date::new(year("sy")?, month, 1).ok()?;
        return Some(DateSpan { first, last: plus(first, 2.months()).last_of_month() });
    }
    if get("m3").is_some() {
        return Some(DateSpan::month(Date::new(year("y3")?, month("m3")?, 1).ok()?));
    }
    Some(DateSpan::year(Date::new(year("y4")?, 1, 1).ok()?))
}

/// The span that a question asks about: "in March", "last week", "on 3 May 2026".
pub(super) fn asked_span(question: &str, now: DateTime) -> Option<DateSpan> {
    find(question).first().map(|f| f.span).or_else(|| {
        let resolved = resolve(&format!("was {question}"), now);
        resolved.spans.first().copied()
    })
}
