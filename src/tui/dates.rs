//! Moments as the screen writes them.

use crate::memory::Moment;
use crate::texts::{self, key, text};

#[rustfmt::skip]
const MONTHS: [&str; 12] = [
    key!("January"), key!("February"), key!("March"), key!("April"), key!("May"), key!("June"), key!("July"), key!("August"),
    key!("September"), key!("October"), key!("November"), key!("December"),
];
#[rustfmt::skip]
const MONTHS_SHORT: [&str; 12] = [
    key!("Jan"), key!("Feb"), key!("Mar"), key!("Apr"), key!("May"), key!("Jun"), key!("Jul"), key!("Aug"), key!("Sep"), key!("Oct"),
    key!("Nov"), key!("Dec"),
];
const WEEKDAYS: [&str; 7] =
    [key!("Mon"), key!("Tue"), key!("Wed"), key!("Thu"), key!("Fri"), key!("Sat"), key!("Sun")];

fn month(at: Moment, names: &[&'static str; 12]) -> &'static str {
    texts::lookup(names[usize::from(at.civil().month().unsigned_abs()) - 1])
}

/// "10:02".
pub fn time(at: Moment) -> String {
    at.civil().strftime("%H:%M").to_string()
}

fn is_today(at: Moment, now: Moment) -> bool {
    at.civil().date() == now.civil().date()
}

/// "today", "yesterday".
fn near(at: Moment, now: Moment) -> Option<&'static str> {
    if is_today(at, now) {
        return Some(text!("today"));
    }
    let is_yesterday = now.civil().date().yesterday().is_ok_and(|day| day == at.civil().date());
    is_yesterday.then(|| text!("yesterday"))
}

/// "today", "yesterday", "Mon 16 Nov", "16 Nov 2025".
pub fn day(at: Moment, now: Moment) -> String {
    let day = at.civil().date();
    match near(at, now) {
        Some(near) => near.into(),
        None if day.year() == now.civil().year() => {
            let weekday = day.weekday().to_monday_zero_offset().unsigned_abs();
            let weekday = texts::lookup(WEEKDAYS[usize::from(weekday)]);
            let month = month(at, &MONTHS_SHORT);
            text!("{weekday} {day} {month}", weekday, day = day.day(), month)
        }
        None => date(at),
    }
}

/// "today 10:02", "Mon 16 Nov"; the time only of the last two days.
pub fn day_and_time(at: Moment, now: Moment) -> String {
    match near(at, now) {
        Some(near) => format!("{near} {}", time(at)),
        None => day(at, now),
    }
}

/// "20 November", "20 November 2025".
pub fn day_of(at: Moment, now: Moment) -> String {
    let (day, month, year) = (at.civil().day(), month(at, &MONTHS), at.civil().year());
    if year == now.civil().year() {
        text!("{day} {month}", day, month)
    } else {
        text!("{day} {month} {year}", day, month, year)
    }
}

/// "today", "yesterday", "on 20 November".
pub fn on_day(at: Moment, now: Moment) -> String {
    let on_date = || text!("on {date}", date = day_of(at, now));
    near(at, now).map_or_else(on_date, str::to_owned)
}

/// "Since 10:02", "Since yesterday", "Since 20 November".
pub fn since(at: Moment, now: Moment) -> String {
    match near(at, now) {
        Some(_) if is_today(at, now) => text!("Since {time}", time = time(at)),
        Some(day) => text!("Since {day}", day),
        None => text!("Since {date}", date = day_of(at, now)),
    }
}

/// "16 Nov 2026".
pub fn date(at: Moment) -> String {
    let (day, month, year) = (at.civil().day(), month(at, &MONTHS_SHORT), at.civil().year());
    text!("{day} {month} {year}", day, month, year)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::tz::Offset;

    #[track_caller]
    fn check(at: &str, expected: &str) {
        let moment = |s: &str| Moment::new(s.parse().unwrap(), Offset::UTC);
        assert_eq!(day(moment(at), moment("2026-11-21T10:00:00Z")), expected);
    }

    #[test]
    fn days_are_short() {
        check("2026-11-21T00:00:00Z", "today");
        check("2026-11-20T23:59:59Z", "yesterday");
        check("2026-11-16T12:00:00Z", "Mon 16 Nov");
        check("2025-11-21T12:00:00Z", "21 Nov 2025");
    }
}
