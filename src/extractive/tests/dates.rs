use super::*;
use crate::extractive::dates::{DateSpan, find, resolve};

const DATES: &str = include_str!("cases/dates.txt");

#[track_caller]
fn check(sentence: &str, expected: &str) {
    assert_eq!(resolve(sentence, NOW).text, expected, "of {sentence:?}");
}

#[test]
fn relative_dates_become_absolute() {
    for (sentence, expected) in cases(DATES, "relative") {
        check(&sentence, &expected[0]);
    }
}

#[test]
fn what_is_no_date_stays() {
    check("", "");
    for (sentence, _) in cases(DATES, "no date") {
        check(&sentence, &sentence);
    }
}

#[test]
fn absolute_dates_are_read_back() {
    let span = |text: &str| find(text).first().map(|f| (f.span.first, f.span.last));
    let days = |a, b| Some((a, b));
    for (text, expected) in [
        ("Ana ran on 20 November 2026", days(date(2026, 11, 20), date(2026, 11, 20))),
        ("Ana moved (week of 9 November 2026)", days(date(2026, 11, 9), date(2026, 11, 15))),
        ("Ana hiked (weekend of 14 November 2026)", days(date(2026, 11, 14), date(2026, 11, 15))),
        ("Ana moved in March 2024", days(date(2024, 3, 1), date(2024, 3, 31))),
        ("Ana moved in 2022", days(date(2022, 1, 1), date(2022, 12, 31))),
        ("Ana moved on May 3rd, 2024", days(date(2024, 5, 3), date(2024, 5, 3))),
        ("Ana moved 2024-05-03", days(date(2024, 5, 3), date(2024, 5, 3))),
        ("Ana hiked in the summer of 2026", days(date(2026, 6, 1), date(2026, 8, 31))),
        ("Ana paid 2026 euros", None),
        ("31 February 2026", None),
    ] {
        assert_eq!(span(text), expected, "of {text:?}");
    }
    let a = DateSpan { first: date(2026, 1, 1), last: date(2026, 1, 31), approximate: false };
    let b = DateSpan { first: date(2026, 1, 31), last: date(2026, 2, 3), approximate: false };
    assert!(a.overlaps(&b));
}

#[test]
fn far_years_do_not_overflow() {
    for at in [DateTime::MIN, DateTime::MAX] {
        for sentence in [
            "Ana ran yesterday",
            "Ana ran 999 years ago",
            "Ana leaves in 999 years tomorrow",
            "next week",
            "last decade",
            "last winter",
            "next summer",
            "a few months ago",
            "this weekend",
        ] {
            let _ = resolve(sentence, at);
        }
    }
}
