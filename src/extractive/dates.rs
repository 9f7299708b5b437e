//! Relative dates made absolute ("last week" → "(week of 9 November 2026)"), and absolute dates
//! read back from text, for questions about time. Weeks start on Monday.
//!
//! Only what the calendar fixes is replaced; "recently", "soon" and durations ("for two years")
//! stay as they are.

use std::sync::LazyLock;

use jiff::civil::{Date, DateTime, Weekday, date};
use jiff::{Span, ToSpan};
use regex::{Captures, Regex};

use super::lexicon::{MONTHS, WEEKDAYS, number};

/// The days that an expression of time means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DateSpan {
    pub first: Date,
    pub last: Date,
    /// "A few days ago": near, not exactly.
    pub approximate: bool,
}

impl DateSpan {
    fn day(day: Date) -> Self {
        Self { first: day, last: day, approximate: false }
    }

    fn about(mut self) -> Self {
        self.approximate = true;
        self
    }

    fn week(day: Date) -> Self {
        let first = monday(day);
        Self { first, last: plus(first, 6.days()), approximate: false }
    }

    fn weekend(day: Date) -> Self {
        let first = plus(monday(day), 5.days());
        Self { first, last: plus(first, 1.day()), approximate: false }
    }

    fn month(day: Date) -> Self {
        Self { first: day.first_of_month(), last: day.last_of_month(), approximate: false }
    }

    fn year(day: Date) -> Self {
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

fn month_name(day: Date) -> &'static str {
    MONTHS[(day.month() as usize).clamp(1, 12) - 1]
}

/// Whether the sentence looks back or ahead: which Tuesday "on Tuesday" is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tense {
    Past,
    Future,
    /// "My birthday is on 3 May": no year is meant.
    Timeless,
}

impl Tense {
    fn of(sentence: &str) -> Self {
        static TIMELESS: LazyLock<Regex> = LazyLock::new(|| {
            regex(
                r"(?i)\b(birthdays?|bday|b-day|born|anniversary|every|each|always|usually|often|sometimes|never|holiday is|celebrated? every)\b",
            )
        });
        static FUTURE: LazyLock<Regex> = LazyLock::new(|| {
            regex(
                r"(?i)\b(will|won't|'ll|gonna|going to|planning|plans?|upcoming|next|is (?:meeting|visiting|flying|leaving|starting|moving|coming|getting|having|taking|seeing|travell?ing|giving|doing|running|playing|going)|are (?:meeting|visiting|flying|leaving|starting|moving|coming|getting|having|taking|seeing|travell?ing|giving|doing|running|playing|going)|am (?:meeting|visiting|flying|leaving|starting|moving|coming|getting|having|taking|seeing|travell?ing|giving|doing|running|playing|going)|starts|begins|opens|due|deadline|appointment|scheduled|hopes?|wants?)\b",
            )
        });
        if TIMELESS.is_match(sentence) {
            return Self::Timeless;
        }
        let past = super::lexicon::words(sentence).any(|w| {
            let lower = w.to_lowercase();
            super::lexicon::is_past(&lower)
                && !matches!(
                    lower.as_str(),
                    "scheduled"
                        | "supposed"
                        | "planned"
                        | "excited"
                        | "married"
                        | "thrilled"
                        | "stoked"
                        | "read"
                        | "put"
                        | "cut"
                        | "set"
                        | "let"
                        | "booked"
                        | "invited"
                        | "saw"
                        | "need"
                        | "interested"
                        | "left"
                        | "lay"
                )
        });
        if past && !FUTURE.is_match(sentence) { Self::Past } else { Self::Future }
    }
}

use super::pattern as regex;

const DAY: &str = r"mon(?:day)?|tues?(?:day)?|wed(?:nesday)?|thu(?:rs?(?:day)?)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?";
const FULL_DAY: &str = r"monday|tuesday|wednesday|thursday|friday|saturday|sunday";
const MONTH: &str =
    r"january|february|march|april|may|june|july|august|september|october|november|december";
const ANY_MONTH: &str = r"jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?";
const COUNT: &str = r"\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|twenty|thirty|forty|fifty";

static RELATIVE: LazyLock<Regex> = LazyLock::new(|| {
    regex(&format!(
        r"(?xi)\b(?:
          (?P<dby>the\ day\ before\ yesterday)
        | (?P<dat>the\ day\ after\ tomorrow)
        | (?P<day>yesterday|today|tomorrow|tonight|tmrw|tmr)(?:\ (?P<part>morning|afternoon|evening|night))?
        | this\ (?P<thispart>morning|afternoon|evening)
        | (?P<lastnight>last\ night)
        | (?:earlier\ )?(?P<rel>last|this|next|this\ past|this\ coming|past|coming)\ (?P<unit>week(?:end)?|month|year|spring|summer|autumn|fall|winter|christmas|easter|thanksgiving|halloween)\b
        | (?P<few>(?:a\ )?few|(?:a\ )?couple(?:\ of)?|several|some)\ (?P<fewunit>days?|weeks?|weekends?|months?|years?)\ (?:ago|back)
        | (?P<ago>{COUNT})\ (?P<agounit>minutes?|hours?|days?|nights?|weeks?|weekends?|months?|years?|yrs?|decades?)\ (?:ago|back)\b
        | (?:about|around|over|almost|nearly)\ (?P<about>{COUNT})\ (?P<aboutunit>days?|weeks?|months?|years?)\ ago
        | in\ (?P<in>{COUNT}|a\ few|a\ couple\ of)\ (?P<inunit>days?|weeks?|months?|years?)\b
        | (?P<drel>last|this|next|this\ past|this\ coming|coming|past)\ (?P<dday>{DAY})\b
        | on\ (?P<onday>{FULL_DAY}|sun|mon|tues?|wed|thurs?|fri)\b
        | (?P<bareday>{FULL_DAY})\ (?P<barepart>morning|afternoon|evening|night)\b
        | (?P<mrel>last|this|next|this\ past|this\ coming)\ (?P<mmonth>{ANY_MONTH})\b
        | (?:in|since|until|by|during|back\ in|early\ in|late\ in|from)\ (?P<early>early\ |late\ |mid-?\ ?)?(?P<inmonth>{MONTH})\b
        | on\ (?:the\ )?(?P<d1>\d{{1,2}})(?:st|nd|rd|th)?(?:\ of)?\ (?P<m1>{ANY_MONTH})\b
        | on\ (?P<m2>{ANY_MONTH})\.?\ (?:the\ )?(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\b
        )"
    ))
});

/// What an expression means and how it is put.
struct Expression {
    span: DateSpan,
    /// Goes after "on" / "in": "20 November 2026", "March 2026", "the week of 9 November 2026".
    noun: String,
    /// The preposition before the noun in running text; `None`: in brackets instead.
    preposition: Option<&'static str>,
}

fn on(span: DateSpan, noun: String) -> Expression {
    Expression { span, noun, preposition: Some("on") }
}

fn within(span: DateSpan, noun: String) -> Expression {
    Expression { span, noun, preposition: Some("in") }
}

fn bracketed(span: DateSpan, noun: String) -> Expression {
    Expression { span, noun, preposition: None }
}

fn plus(day: Date, span: Span) -> Date {
    day.checked_add(span).unwrap_or(day)
}

fn monday(day: Date) -> Date {
    plus(day, (-i64::from(day.weekday().to_monday_zero_offset())).days())
}

fn weekday(name: &str) -> Option<Weekday> {
    let name = name.to_lowercase();
    let key = name.get(..3)?;
    let n = WEEKDAYS.iter().position(|w| w.to_lowercase().starts_with(key))?;
    Weekday::from_monday_zero_offset(n as i8).ok()
}

fn month_number(name: &str) -> Option<i8> {
    let name = name.to_lowercase();
    let key = name.get(..3)?;
    MONTHS.iter().position(|m| m.to_lowercase().starts_with(key)).map(|n| n as i8 + 1)
}

/// The week in which a span of days lies, as a noun.
fn week_of(span: DateSpan) -> Expression {
    bracketed(span, format!("week of {}", long_date(span.first)))
}

fn weekend_of(span: DateSpan) -> Expression {
    bracketed(span, format!("weekend of {}", long_date(span.first)))
}

fn month_of(span: DateSpan) -> Expression {
    within(span, format!("{} {}", month_name(span.first), span.first.year()))
}

fn year_of(span: DateSpan) -> Expression {
    within(span, span.first.year().to_string())
}

fn expression(found: &Captures<'_>, today: Date, tense: Tense) -> Option<Expression> {
    let get = |name: &str| found.name(name).map(|m| m.as_str().to_lowercase());
    let named_day = |day: Date| on(DateSpan::day(day), long_date(day));
    if get("dby").is_some() {
        return Some(named_day(plus(today, (-2).days())));
    }
    if get("dat").is_some() {
        return Some(named_day(plus(today, 2.days())));
    }
    let part_of =
        |day: Date, part: &str| on(DateSpan::day(day), format!("the {part} of {}", long_date(day)));
    if let Some(day) = get("day") {
        let date = match day.as_str() {
            "yesterday" => plus(today, (-1).days()),
            "today" | "tonight" => today,
            _ => plus(today, 1.day()),
        };
        return Some(match get("part") {
            Some(part) => part_of(date, &part),
            None if day == "tonight" => part_of(date, "evening"),
            None => named_day(date),
        });
    }
    if let Some(part) = get("thispart") {
        return Some(part_of(today, &part));
    }
    if get("lastnight").is_some() {
        return Some(part_of(plus(today, (-1).days()), "night"));
    }
    if let (Some(rel), Some(unit)) = (get("rel"), get("unit")) {
        return relative_unit(&rel, &unit, today, tense);
    }
    if let (Some(_), Some(unit)) = (get("few"), get("fewunit")) {
        let couple = get("few")?.contains("couple");
        let plural = unit.trim_end_matches('s').to_owned() + "s";
        let few = if couple { "a couple of" } else { "a few" };
        let n = if couple { 2 } else { 3 };
        let day = back(today, n, &unit)?;
        return Some(bracketed(
            DateSpan {
                first: back(today, 2 * n, &unit)?,
                last: plus(day, 1.day()).min(today),
                approximate: true,
            },
            format!("{few} {plural} before {}", long_date(today)),
        ));
    }
    if let (Some(n), Some(unit)) = (get("ago"), get("agounit")) {
        return ago(number(&n)?, &unit, today);
    }
    if let (Some(n), Some(unit)) = (get("about"), get("aboutunit")) {
        let exact = ago(number(&n)?, &unit, today)?;
        let noun = format!("around {}", exact.noun.trim_start_matches("the "));
        return Some(bracketed(exact.span.about(), noun));
    }
    if let (Some(n), Some(unit)) = (get("in"), get("inunit")) {
        if tense != Tense::Future {
            return None;
        }
        let some = n.starts_with("a ");
        let count = if n.contains("few") {
            3
        } else if n.contains("couple") {
            2
        } else {
            number(&n)?
        };
        let ahead = ago(-count, &unit, today)?;
        if some {
            let plural = unit.trim_end_matches('s').to_owned() + "s";
            return Some(bracketed(
                ahead.span.about(),
                format!("{n} {plural} after {}", long_date(today)),
            ));
        }
        return Some(ahead);
    }
    if let (Some(rel), Some(day)) = (get("drel"), get("dday")) {
        let wanted = weekday(&day)?;
        let this_week = plus(monday(today), i64::from(wanted.to_monday_zero_offset()).days());
        let date = match rel.as_str() {
            "last" | "past" | "this past" => previous(today, wanted),
            "next" => {
                let next = plus(this_week, 7.days());
                // From Saturday on, nobody means the Friday in thirteen days.
                if next <= today { plus(next, 7.days()) } else { next }
            }
            "this" if tense == Tense::Past => {
                if this_week <= today {
                    this_week
                } else {
                    previous(today, wanted)
                }
            }
            _ => following(today, wanted),
        };
        return Some(weekday_expression(date));
    }
    if let Some(day) = get("onday").or_else(|| get("bareday")) {
        if tense == Tense::Timeless {
            return None;
        }
        let wanted = weekday(&day)?;
        let date =
            if tense == Tense::Past { previous(today, wanted) } else { following(today, wanted) };
        return Some(match get("barepart") {
            Some(part) => part_of(date, &part),
            None => weekday_expression(date),
        });
    }
    if let (Some(rel), Some(name)) = (get("mrel"), get("mmonth")) {
        let month = month_number(&name)?;
        let year = match rel.as_str() {
            "last" | "this past" if month < today.month() => today.year(),
            "last" | "this past" => today.year() - 1,
            "next" if month <= today.month() => today.year() + 1,
            "this" | "this coming" if month < today.month() && tense == Tense::Future => {
                today.year() + 1
            }
            _ => today.year(),
        };
        return Some(month_of(DateSpan::month(Date::new(year, month, 1).ok()?)));
    }
    if let Some(name) = get("inmonth") {
        if tense == Tense::Timeless {
            return None;
        }
        let month = month_number(&name)?;
        let since = found.get(0)?.as_str().to_lowercase().starts_with("since");
        let year = match tense {
            _ if month > today.month() && (tense == Tense::Past || since) => today.year() - 1,
            Tense::Future if month < today.month() && !since => today.year() + 1,
            _ => today.year(),
        };
        let e = month_of(DateSpan::month(Date::new(year, month, 1).ok()?));
        let whole = found.get(0)?.as_str();
        // "in", "since" … stay as said.
        let prefix = &whole[..whole.len() - name.len()];
        let noun = format!("{prefix}{}", e.noun);
        return Some(Expression { span: e.span, noun, preposition: Some("") });
    }
    let d = get("d1").or_else(|| get("d2"))?;
    let m = get("m1").or_else(|| get("m2"))?;
    if tense == Tense::Timeless {
        return None;
    }
    let month = month_number(&m)?;
    let day: i8 = d.parse().ok()?;
    let this_year = Date::new(today.year(), month, day).ok()?;
    let date = match tense {
        Tense::Past if this_year > today => Date::new(today.year() - 1, month, day).ok()?,
        Tense::Future if this_year < today => Date::new(today.year() + 1, month, day).ok()?,
        _ => this_year,
    };
    Some(named_day(date))
}

fn weekday_expression(date: Date) -> Expression {
    let name = WEEKDAYS[date.weekday().to_monday_zero_offset() as usize];
    on(DateSpan::day(date), format!("{name} {}", long_date(date)))
}

fn previous(today: Date, wanted: Weekday) -> Date {
    let back = i64::from(today.weekday().since(wanted));
    plus(today, (-(if back == 0 { 7 } else { back })).days())
}

fn following(today: Date, wanted: Weekday) -> Date {
    let ahead = i64::from(wanted.since(today.weekday()));
    plus(today, (if ahead == 0 { 7 } else { ahead }).days())
}

fn back(today: Date, n: i64, unit: &str) -> Option<Date> {
    let span = match unit.trim_end_matches('s') {
        "day" | "night" => n.days(),
        "week" | "weekend" => n.weeks(),
        "month" => n.months(),
        "year" | "yr" => n.years(),
        "decade" => (10 * n).years(),
        _ => return Some(today),
    };
    today.checked_sub(span).ok()
}

fn ago(n: i64, unit: &str, today: Date) -> Option<Expression> {
    let day = back(today, n, unit)?;
    Some(match unit.trim_end_matches('s') {
        "week" => week_of(DateSpan::week(day)),
        "weekend" => weekend_of(DateSpan::weekend(day)),
        "month" => month_of(DateSpan::month(day)),
        "year" | "yr" | "decade" => year_of(DateSpan::year(day)),
        _ => on(DateSpan::day(day), long_date(day)),
    })
}

fn relative_unit(rel: &str, unit: &str, today: Date, tense: Tense) -> Option<Expression> {
    let step: i64 = match rel {
        "last" | "past" | "this past" => -1,
        "this" => 0,
        _ => 1,
    };
    match unit {
        // "the past week" is a duration.
        "week" | "month" | "year" if matches!(rel, "past" | "coming") => None,
        "week" => Some(week_of(DateSpan::week(plus(today, step.weeks())))),
        "weekend" => {
            // On a Sunday "last weekend" is not today; on a Monday it is the day before.
            let step = match rel {
                "past" | "this past" => -1,
                "this" if tense == Tense::Past && today.weekday().to_monday_zero_offset() < 4 => -1,
                "this coming" | "coming" => 0,
                _ => step,
            };
            Some(weekend_of(DateSpan::weekend(plus(today, step.weeks()))))
        }
        "month" => Some(month_of(DateSpan::month(plus(today.first_of_month(), step.months())))),
        "year" => Some(year_of(DateSpan::year(plus(today.first_of_year(), step.years())))),
        _ => season(rel, unit, today),
    }
}

/// Northern seasons, and feasts with a date that everybody knows.
fn season(rel: &str, unit: &str, today: Date) -> Option<Expression> {
    let (first_month, months) = match unit {
        "spring" => (3, 3),
        "summer" => (6, 3),
        "autumn" | "fall" => (9, 3),
        "winter" => (12, 3),
        "christmas" => (12, 1),
        "halloween" => (10, 1),
        "thanksgiving" => (11, 1),
        _ => return None,
    };
    let span_in = |year: i16| -> Option<DateSpan> {
        let first = Date::new(year, first_month, 1).ok()?;
        let last = first.checked_add(i64::from(months - 1).months()).ok()?.last_of_month();
        Some(DateSpan { first, last, approximate: false })
    };
    let past = matches!(rel, "last" | "past" | "this past");
    let next = rel == "next" || rel == "coming" || rel == "this coming";
    let mut year = today.year() - 1;
    let span = loop {
        let span = span_in(year)?;
        let fits = if past {
            // The latest that is over.
            span_in(year + 1)?.last >= today
        } else if next {
            span.first > today
        } else {
            span.last >= today || year >= today.year()
        };
        if fits || year > today.year() + 1 {
            break span;
        }
        year += 1;
    };
    let year = span.first.year();
    Some(match unit {
        "christmas" => {
            Expression { span, noun: format!("Christmas {year}"), preposition: Some("at") }
        }
        "halloween" => {
            Expression { span, noun: format!("Halloween {year}"), preposition: Some("at") }
        }
        "thanksgiving" => {
            Expression { span, noun: format!("Thanksgiving {year}"), preposition: Some("at") }
        }
        "winter" => within(span, format!("the winter of {year}–{}", year + 1)),
        _ => within(span, format!("the {unit} of {year}")),
    })
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
