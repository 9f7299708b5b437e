//! Questions that the clock answers, which no model can.

use jiff::ToSpan;
use jiff::civil::DateTime;

use super::lists::{Rows, Words};
use super::openings::strip_opening;
use super::patterns::Patterns;
use super::words::{Sentence, tokens};

/// The longest question.
const BYTES_MAX: usize = 100;

static ASKS_THE_CLOCK: Patterns = Patterns::new("asks the clock");
static ENDS_ASKING_THE_CLOCK: Words = Words::new("ends asking the clock");
static OPENS_ASKING_THE_CLOCK: Rows = Rows::new("opens asking the clock");

/// "What time is it?" → "It is 14:05."; the date of today, tomorrow and yesterday, and the week. `None` for anything else.
pub fn by_clock(question: &str, now: DateTime) -> Option<String> {
    if question.len() > BYTES_MAX {
        return None;
    }
    let words = strip_opening(&tokens(question));
    let mut words = words.lower_words();
    if let Some(opening) = OPENS_ASKING_THE_CLOCK.iter().find(|row| words.starts_with(row)) {
        words.drain(..opening.len());
    }
    while words.last().is_some_and(|word| ENDS_ASKING_THE_CLOCK.has(word)) {
        words.pop();
    }
    let day = |days: i64| {
        let day = now.date().saturating_add(days.days());
        day.strftime("%A %-d %B %Y").to_string()
    };
    match ASKS_THE_CLOCK.label(&words)? {
        "time" => Some(format!("It is {}.", now.strftime("%H:%M"))),
        "week" => Some(format!("It is week {}: {}.", now.date().iso_week_date().week(), day(0))),
        "tomorrow" => Some(format!("Tomorrow is {}.", day(1))),
        "yesterday" => Some(format!("Yesterday was {}.", day(-1))),
        _ => Some(format!("It is {}.", day(0))),
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    #[test]
    fn the_clock_answers_what_only_it_knows() {
        let now = date(2026, 11, 30).at(14, 5, 9, 0);
        let said = |question| by_clock(question, now);
        for (answer, questions) in [
            (
                "It is 14:05.",
                &[
                    "What time is it?",
                    "what's the time",
                    "hey, whats the time right now please",
                    "Can you tell me what time it is?",
                    "do you have the time",
                ][..],
            ),
            (
                "It is Monday 30 November 2026.",
                &[
                    "what day is it today?",
                    "What's today's date?",
                    "whats the date",
                    "which day of the week is it",
                    "Tell me the date, please.",
                    "what year is it",
                    "What is today?",
                ],
            ),
            ("It is week 49: Monday 30 November 2026.", &["what week is it?"]),
            ("Tomorrow is Tuesday 1 December 2026.", &["what day is tomorrow"]),
            ("Yesterday was Sunday 29 November 2026.", &["What was yesterday's date?"]),
        ] {
            for question in questions {
                assert_eq!(said(question).as_deref(), Some(answer), "{question}");
            }
        }
        for other in [
            "What time is it in Tokyo?",
            "what time is the dentist",
            "What day is the party?",
            "what's the date of the wedding",
            "when is it",
            "What is tomorrow?",
            "what time is it due",
            "Which week is it that Mia visits?",
        ] {
            assert_eq!(said(other), None, "{other}");
        }
        // Nothing is asked; the end of time.
        assert_eq!(said(""), None);
        assert!(by_clock("what day is tomorrow", DateTime::MAX).is_some());
    }
}
