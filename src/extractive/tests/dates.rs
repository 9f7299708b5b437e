use super::*;
use crate::extractive::dates::{DateSpan, dated, find, resolve};

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
fn a_message_is_dated_sentence_by_sentence() {
    let said = "I moved to Lund. I saw her yesterday!";
    assert_eq!(dated(said, NOW), "I moved to Lund. I saw her on 20 November 2026!");
    assert_eq!(dated("", NOW), "");
    // While a winter lasts, it is not the last one.
    let january = date(2026, 1, 15).at(9, 0, 0, 0);
    assert_eq!(dated("We met last winter", january), "We met in the winter of 2024–2025");
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
    for (text, expected) in cases(DATES, "absolute") {
        let found = find(&text);
        let days = found.first().map(|f| [f.span.first, f.span.last].map(|day| day.to_string()));
        assert_eq!(days.map_or(Vec::new(), Vec::from), expected, "of {text:?}");
    }
    let a = DateSpan { first: date(2026, 1, 1), last: date(2026, 1, 31) };
    let b = DateSpan { first: date(2026, 1, 31), last: date(2026, 2, 3) };
    assert!(a.overlaps(b));
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
