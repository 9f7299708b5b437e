//! Expressions of time and the days that they mean: "last week", "two months ago", "next Friday".

use std::sync::LazyLock;

use jiff::civil::{Date, Weekday};
use jiff::{Span, ToSpan};
use regex::{Captures, Regex};

use super::dates::{DateSpan, long_date};
use super::lexicon::{MONTHS, WEEKDAYS, number};
use super::lists::Words;
use super::pattern as regex;

static PASTS_OF_NO_PAST: Words = Words::new("pasts of no past");

/// Whether the sentence looks back or ahead: which Tuesday "on Tuesday" is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tense {
    Past,
    Future,
    /// "My birthday is on 3 May": no year is meant.
    Timeless,
}

impl Tense {
    /// The tense of the clause around the time expression at `start..end` (bytes), if it shows one.
    pub fn of_clause(sentence: &str, start: usize, end: usize) -> Option<Self> {
        static BREAK: LazyLock<Regex> = LazyLock::new(|| {
            regex(
                r"(?i)[,;:–—]| (?:and|but|so|because|since|when|while|although|though|then|that|who|which)\b",
            )
        });
        // Clauses are taken to be no longer, so that a text without breaks takes linear time.
        let back = sentence.ceil_char_boundary(start.saturating_sub(160));
        let ahead = sentence.floor_char_boundary((end + 160).min(sentence.len()));
        let from = BREAK.find_iter(&sentence[back..start]).last().map_or(back, |m| back + m.end());
        // "In October, she quit": the clause is behind the comma.
        let leads = sentence[end..].starts_with(',') && sentence[from..start].trim().is_empty();
        let end = end + usize::from(leads);
        let to = BREAK.find(&sentence[end..ahead.max(end)]).map_or(ahead, |m| end + m.start());
        Self::told(&sentence[from..to])
    }

    /// The tense that the words show, if any.
    pub fn told(words: &str) -> Option<Self> {
        // "We married on 3 May" is past; "we are married", "the married couple", "two days left" show no tense.
        static SIGNS: LazyLock<[Regex; 4]> = LazyLock::new(|| {
            [
                r"(?i)\b(?:was|were) (?:due|supposed|meant)\b",
                r"(?i)\b(birthdays?|bday|b-day|born|anniversary|every|each|always|usually|often|sometimes|never|holiday is|celebrated? every)\b",
                r"(?i)\b(will|won't|'ll|gonna|going to|can(?:not|'t)?|shall|must|(?:have|has|needs?) to|(?:signed up|registered) for|(?:have|has|'ve|'s) got|(?:is|are|am|'s|'re|'m) (?:meant|supposed|expected|set) to|(?:told|asked) \w+ to|planning|plans?|upcoming|next|(?:is|are|am|he's|she's|\w+(?:'re|'m)) (?:not )?[a-z]+ing|'s (?:meeting|visiting|flying|leaving|starting|moving|coming|getting|having|taking|seeing|travell?ing|giving|doing|running|playing|going)|starts|begins|opens|due|deadline|appointment|scheduled|hopes?|wants?|got (?:a|an|another|my|two|three) (?:\w+ ){0,3}(?:appointment|audition|call|check-?up|class|concert|date|deadline|dinner|event|exam|flight|gig|interview|lesson|lunch|match|meeting|party|rehearsal|scan|session|shift|show|test|train|trip|viewing|wedding)s?)\b",
                r"(?i)\b(?:I|we|they|he|she|you|who) (?:(?:got )?married|left)\b",
            ]
            .map(regex)
        });
        // "is mended", "gets paid"
        let mut before = String::new();
        let mut is_past = |word: &str| {
            let lower = word.to_lowercase();
            let is_passive =
                matches!(before.as_str(), "is" | "are" | "am" | "be" | "get" | "gets" | "getting");
            let is_past = super::lexicon::is_past(&lower)
                && !PASTS_OF_NO_PAST.has(lower.as_str())
                && !is_passive;
            before = lower;
            is_past
        };
        let [was, timeless, future, past] = &*SIGNS;
        if was.is_match(words) {
            Some(Self::Past)
        } else if timeless.is_match(words) {
            Some(Self::Timeless)
        } else if future.is_match(words) {
            Some(Self::Future)
        } else {
            (past.is_match(words) || super::lexicon::words(words).any(&mut is_past))
                .then_some(Self::Past)
        }
    }
}

const DAY: &str = r"mon(?:day)?|tues?(?:day)?|wed(?:nesday)?|thu(?:rs?(?:day)?)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?";

pub(super) const FULL_DAY: &str = r"monday|tuesday|wednesday|thursday|friday|saturday|sunday";

pub(super) const MONTH: &str =
    r"january|february|march|april|may|june|july|august|september|october|november|december";

pub(super) const ANY_MONTH: &str = r"jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?";

const COUNT: &str = r"\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|twenty|thirty|forty|fifty";

pub(super) static RELATIVE: LazyLock<Regex> = LazyLock::new(|| {
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
        | (?:on\ )?(?P<weekafter>{FULL_DAY})\ week\b
        | (?:(?P<lead>on|to|until|till|by|from)\ )?(?P<dated>{FULL_DAY}),?\ (?:(?:the\ )?(?P<nth>\d{{1,2}})(?:st|nd|rd|th)?(?:\ of)?\ (?P<nthmonth>{ANY_MONTH})|the\ (?P<barenth>\d{{1,2}})(?:st|nd|rd|th))\b
        | on\ (?P<onday>{FULL_DAY}|sun|mon|tues?|wed|thurs?|fri)\b
        | (?P<bareday>{FULL_DAY})\ (?P<barepart>morning|afternoon|evening|night)\b
        | (?P<mrel>last|this|next|this\ past|this\ coming)\ (?P<mmonth>{ANY_MONTH})\b
        | (?:in|since|until|by|during|back\ in|early\ in|late\ in|from)\ (?P<early>early\ |late\ |mid-?\ ?)?(?P<inmonth>{MONTH})\b
        | on\ (?:the\ )?(?P<d1>\d{{1,2}})(?:st|nd|rd|th)?(?:\ of)?\ (?P<m1>{ANY_MONTH})\b
        | on\ (?P<m2>{ANY_MONTH})\.?\ (?:the\ )?(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\b
        )"
    ))
});

/// What a time expression means and how it is written out.
pub(super) struct Expression {
    pub span: DateSpan,
    /// Goes after "on" / "in": "20 November 2026", "March 2026", "the week of 9 November 2026".
    pub noun: String,
    /// The preposition before the noun in running text; `None`: in brackets instead.
    pub preposition: Option<&'static str>,
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

pub(super) fn plus(day: Date, span: Span) -> Date {
    day.checked_add(span).unwrap_or(day)
}

pub(super) fn monday(day: Date) -> Date {
    plus(day, (-i64::from(day.weekday().to_monday_zero_offset())).days())
}

fn weekday(name: &str) -> Option<Weekday> {
    let name = name.to_lowercase();
    let key = name.get(..3)?;
    let n = WEEKDAYS.iter().position(|w| w.to_lowercase().starts_with(key))?;
    Weekday::from_monday_zero_offset(n as i8).ok()
}

pub(super) fn month_number(name: &str) -> Option<i8> {
    let name = name.to_lowercase();
    let key = name.get(..3)?;
    MONTHS.iter().position(|m| m.to_lowercase().starts_with(key)).map(|n| n as i8 + 1)
}

/// A span of one week, as a noun.
fn week_of(span: DateSpan) -> Expression {
    bracketed(span, format!("week of {}", long_date(span.first)))
}

fn weekend_of(span: DateSpan) -> Expression {
    bracketed(span, format!("weekend of {}", long_date(span.first)))
}

fn month_of(span: DateSpan) -> Expression {
    within(span, span.first.strftime("%B %Y").to_string())
}

fn year_of(span: DateSpan) -> Expression {
    within(span, span.first.year().to_string())
}

/// A named group of the match, in lowercase.
fn group(found: &Captures<'_>, name: &str) -> Option<String> {
    found.name(name).map(|m| m.as_str().to_lowercase())
}

fn named_day(day: Date) -> Expression {
    on(DateSpan::day(day), long_date(day))
}

fn part_of(day: Date, part: &str) -> Expression {
    on(DateSpan::day(day), format!("the {part} of {}", long_date(day)))
}

/// What a match of [`RELATIVE`] means.
///
/// `stated` is the year that stands beside it: "in 2015, on 14 March".
pub(super) fn expression(
    found: &Captures<'_>,
    today: Date,
    tense: Tense,
    stated: Option<i16>,
) -> Option<Expression> {
    let get = |name: &str| group(found, name);
    if let Some(near) = near_day(found, today) {
        return Some(near);
    }
    if let (Some(rel), Some(unit)) = (get("rel"), get("unit")) {
        return relative_unit(&rel, &unit, today, tense);
    }
    if let (Some(few), Some(unit)) = (get("few"), get("fewunit")) {
        return a_few_ago(&few, &unit, today);
    }
    if let (Some(n), Some(unit)) = (get("ago"), get("agounit")) {
        return ago(number(&n)?, &unit, today);
    }
    if let (Some(n), Some(unit)) = (get("about"), get("aboutunit")) {
        let exact = ago(number(&n)?, &unit, today)?;
        let noun = format!("around {}", exact.noun.trim_start_matches("the "));
        return Some(bracketed(exact.span, noun));
    }
    if let (Some(n), Some(unit)) = (get("in"), get("inunit")) {
        return if tense == Tense::Future { ahead(&n, &unit, today) } else { None };
    }
    if let (Some(rel), Some(day)) = (get("drel"), get("dday")) {
        return relative_weekday(&rel, weekday(&day)?, today, tense);
    }
    if let Some(day) = get("weekafter") {
        return Some(weekday_expression(plus(following(today, weekday(&day)?), 7.days())));
    }
    if let (Some(rel), Some(name)) = (get("mrel"), get("mmonth")) {
        return relative_month(&rel, month_number(&name)?, today, tense);
    }
    if tense == Tense::Timeless {
        return None;
    }
    if let Some(name) = get("dated") {
        let wanted = weekday(&name)?;
        let month = get("nthmonth").and_then(|month| month_number(&month));
        let nth = get("nth").or_else(|| get("barenth"))?.parse().ok()?;
        let lead = get("lead").filter(|lead| lead != "on");
        // "They moved it to Tuesday the 8th"
        let past = tense == Tense::Past && lead.is_none();
        let fits = |date: Date| {
            date.weekday() == wanted && month.is_none_or(|month| month == date.month())
        };
        let meant = weekday_expression(nearest_nth(nth, today, past, fits)?);
        return Some(match lead {
            Some(lead) => Expression {
                noun: format!("{lead} {}", meant.noun),
                preposition: Some(""),
                ..meant
            },
            None => meant,
        });
    }
    if let Some(day) = get("onday").or_else(|| get("bareday")) {
        let wanted = weekday(&day)?;
        let date =
            if tense == Tense::Past { previous(today, wanted) } else { following(today, wanted) };
        return Some(match get("barepart") {
            Some(part) => part_of(date, &part),
            None => weekday_expression(date),
        });
    }
    if let Some(name) = get("inmonth") {
        if let Some(year) = stated {
            return Some(month_of(DateSpan::month(Date::new(year, month_number(&name)?, 1).ok()?)));
        }
        return in_month(found.get(0)?.as_str(), &name, today, tense);
    }
    let day: i8 = get("d1").or_else(|| get("d2"))?.parse().ok()?;
    let month = month_number(&get("m1").or_else(|| get("m2"))?)?;
    if let Some(year) = stated {
        return Some(named_day(Date::new(year, month, day).ok()?));
    }
    let this_year = Date::new(today.year(), month, day).ok()?;
    let year = match tense {
        Tense::Past if this_year > today => today.year() - 1,
        Tense::Future if this_year < today => today.year() + 1,
        _ => today.year(),
    };
    Some(named_day(Date::new(year, month, day).ok()?))
}

/// "yesterday", "tonight", "this morning", "the day after tomorrow".
fn near_day(found: &Captures<'_>, today: Date) -> Option<Expression> {
    let get = |name: &str| group(found, name);
    if get("dby").is_some() {
        return Some(named_day(plus(today, (-2).days())));
    }
    if get("dat").is_some() {
        return Some(named_day(plus(today, 2.days())));
    }
    if let Some(part) = get("thispart") {
        return Some(part_of(today, &part));
    }
    if get("lastnight").is_some() {
        return Some(part_of(plus(today, (-1).days()), "night"));
    }
    let day = get("day")?;
    let date = match day.as_str() {
        "yesterday" => plus(today, (-1).days()),
        "today" | "tonight" => today,
        _ => plus(today, 1.day()),
    };
    Some(match get("part") {
        Some(part) => part_of(date, &part),
        None if day == "tonight" => part_of(date, "evening"),
        None => named_day(date),
    })
}

fn plural(unit: &str) -> String {
    unit.trim_end_matches('s').to_owned() + "s"
}

/// "a few days ago", "a couple of weeks ago".
fn a_few_ago(few: &str, unit: &str, today: Date) -> Option<Expression> {
    let (few, n) = if few.contains("couple") { ("a couple of", 2) } else { ("a few", 3) };
    let last = plus(back(today, n, unit)?, 1.day()).min(today);
    Some(bracketed(
        DateSpan { first: back(today, 2 * n, unit)?, last },
        format!("{few} {} before {}", plural(unit), long_date(today)),
    ))
}

/// "in three days", "in a few weeks".
fn ahead(n: &str, unit: &str, today: Date) -> Option<Expression> {
    let count = match n {
        "a few" => 3,
        "a couple of" => 2,
        _ => return ago(-number(n)?, unit, today),
    };
    let span = ago(-count, unit, today)?.span;
    Some(bracketed(span, format!("{n} {} after {}", plural(unit), long_date(today))))
}

/// "last Friday", "next Tuesday".
fn relative_weekday(rel: &str, wanted: Weekday, today: Date, tense: Tense) -> Option<Expression> {
    let this_week = plus(monday(today), i64::from(wanted.to_monday_zero_offset()).days());
    let next_week = plus(this_week, 7.days());
    Some(weekday_expression(match rel {
        "last" | "past" | "this past" => previous(today, wanted),
        // From Saturday on, nobody means the Friday in thirteen days.
        "next" if next_week <= today => plus(next_week, 7.days()),
        "next" => next_week,
        "this" if tense == Tense::Past && this_week <= today => this_week,
        "this" if tense == Tense::Past => previous(today, wanted),
        _ => following(today, wanted),
    }))
}

/// The nearest day, ahead or in the past, that is the nth of its month and fits; `None` where none is near: of "Friday 18 March" one
/// of the two may be wrong.
pub(super) fn nearest_nth(
    nth: i8,
    today: Date,
    past: bool,
    fits: impl Fn(Date) -> bool,
) -> Option<Date> {
    (0..24).find_map(|n| {
        let month = plus(today.first_of_month(), (if past { -n } else { n }).months());
        let date = Date::new(month.year(), month.month(), nth).ok()?;
        let lies = if past { date <= today } else { date >= today };
        (lies && fits(date)).then_some(date)
    })
}

/// "last March"
fn relative_month(rel: &str, month: i8, today: Date, tense: Tense) -> Option<Expression> {
    let year = match rel {
        "last" | "this past" if month < today.month() => today.year(),
        "last" | "this past" => today.year() - 1,
        "next" if month <= today.month() => today.year() + 1,
        "this" | "this coming" if month < today.month() && tense == Tense::Future => {
            today.year() + 1
        }
        _ => today.year(),
    };
    Some(month_of(DateSpan::month(Date::new(year, month, 1).ok()?)))
}

/// "in March", "since March": what stands before the month stays.
fn in_month(whole: &str, name: &str, today: Date, tense: Tense) -> Option<Expression> {
    let month = month_number(name)?;
    let since = whole.to_lowercase().starts_with("since");
    let year = match tense {
        _ if month > today.month() && (tense == Tense::Past || since) => today.year() - 1,
        Tense::Future if month < today.month() && !since => today.year() + 1,
        _ => today.year(),
    };
    let e = month_of(DateSpan::month(Date::new(year, month, 1).ok()?));
    let noun = format!("{}{}", &whole[..whole.len() - name.len()], e.noun);
    Some(Expression { span: e.span, noun, preposition: Some("") })
}

fn weekday_expression(date: Date) -> Expression {
    on(DateSpan::day(date), date.strftime("%A %-d %B %Y").to_string())
}

fn previous(today: Date, wanted: Weekday) -> Date {
    let back = i64::from(today.weekday().since(wanted));
    plus(today, (-(if back == 0 { 7 } else { back })).days())
}

fn following(today: Date, wanted: Weekday) -> Date {
    let ahead = i64::from(wanted.since(today.weekday()));
    plus(today, (if ahead == 0 { 7 } else { ahead }).days())
}

pub(super) fn back(today: Date, n: i64, unit: &str) -> Option<Date> {
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

pub(super) fn ago(n: i64, unit: &str, today: Date) -> Option<Expression> {
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

/// Seasons of the northern hemisphere, and holidays whose date everybody knows.
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
        Some(DateSpan { first, last })
    };
    // The last one that is over, the first that lies ahead, or this year's (last year's winter while it lasts).
    let fits = |year: &i16| match rel {
        "last" | "past" | "this past" => span_in(year + 1).is_some_and(|span| span.last >= today),
        "next" | "coming" | "this coming" => span_in(*year).is_some_and(|span| span.first > today),
        _ => *year >= today.year() || span_in(*year).is_some_and(|span| span.last >= today),
    };
    let year = (today.year() - 2..=today.year() + 1).find(fits).unwrap_or(today.year() + 2);
    let span = span_in(year)?;
    let feast = |name: &str| format!("{name} {year}");
    Some(match unit {
        "christmas" => Expression { span, noun: feast("Christmas"), preposition: Some("at") },
        "halloween" => Expression { span, noun: feast("Halloween"), preposition: Some("at") },
        "thanksgiving" => Expression { span, noun: feast("Thanksgiving"), preposition: Some("at") },
        "winter" => within(span, format!("the winter of {year}–{}", year + 1)),
        _ => within(span, format!("the {unit} of {year}")),
    })
}
