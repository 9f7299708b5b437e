//! Moments as the screen writes them.

use crate::memory::Moment;

/// "10:02".
pub fn time(at: Moment) -> String {
    at.civil().strftime("%H:%M").to_string()
}

/// "today", "yesterday", "Mon 16 Nov", "16 Nov 2025".
pub fn day(at: Moment, now: Moment) -> String {
    let (day, today) = (at.civil().date(), now.civil().date());
    if day == today {
        return "today".into();
    }
    if today.yesterday().is_ok_and(|y| y == day) {
        return "yesterday".into();
    }
    if day.year() == today.year() {
        return day.strftime("%a %-d %b").to_string();
    }
    date(at)
}

/// "today 10:02", "Mon 16 Nov"; the time only of the last two days.
pub fn day_and_time(at: Moment, now: Moment) -> String {
    let day = day(at, now);
    if matches!(day.as_str(), "today" | "yesterday") { format!("{day} {}", time(at)) } else { day }
}

/// "20 November", "20 November 2025".
pub fn day_of(at: Moment, now: Moment) -> String {
    let this_year = at.civil().year() == now.civil().year();
    at.civil().strftime(if this_year { "%-d %B" } else { "%-d %B %Y" }).to_string()
}

/// "today", "yesterday", "on 20 November".
pub fn on_day(at: Moment, now: Moment) -> String {
    match day(at, now) {
        near if matches!(near.as_str(), "today" | "yesterday") => near,
        _ => format!("on {}", day_of(at, now)),
    }
}

/// "16 Nov 2026".
pub fn date(at: Moment) -> String {
    at.civil().date().strftime("%-d %b %Y").to_string()
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
