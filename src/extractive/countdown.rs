//! "How many days until my exam?": the day is what memory knows, the rest is counted.

use jiff::civil::Date;

use super::answer::HEDGE;
use super::dates::{self, DateSpan};
use super::patterns::Patterns;
use super::{ExtractiveAnswer, lexicon};

static COUNTS_DOWN: Patterns = Patterns::new("counts down");

/// The question for the day that it counts to.
pub(super) fn asks_when(question: &str) -> Option<String> {
    const WORDS_MAX: usize = 24;
    let words: Vec<&str> = lexicon::words(question).take(WORDS_MAX).collect();
    let lower: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    if !COUNTS_DOWN.match_any(&lower) {
        return None;
    }
    let at =
        lower.iter().position(|word| matches!(&**word, "until" | "till" | "til" | "before"))?;
    Some(format!("When is {}?", words[at + 1..].join(" ")))
}

/// "In 17 days: …", where the answer names one day that is still to come.
pub(super) fn counted(answer: ExtractiveAnswer, today: Date) -> ExtractiveAnswer {
    if answer.text.starts_with(HEDGE) {
        return answer;
    }
    let told = answer.text.split(" (said on ").next().unwrap_or_default();
    // "3 March" is every year's.
    let day = told.trim_end_matches('.').rsplit_once(" is ").map_or("", |(_, day)| day);
    let next = dates::resolve(&format!("It will be on {day}"), today.at(0, 0, 0, 0));
    let spans: Vec<_> = match &dates::find(told)[..] {
        [] => next.spans,
        found => found.iter().map(|found| found.span).collect(),
    };
    let [DateSpan { first, last }] = spans[..] else { return answer };
    let in_days = match first.duration_since(today).as_hours() / 24 {
        _ if first != last || first < today => return answer,
        0 => "Today".to_owned(),
        1 => "Tomorrow".to_owned(),
        n => format!("In {n} days"),
    };
    ExtractiveAnswer { text: format!("{in_days}: {}", answer.text), ..answer }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::super::answer;
    use super::super::tests::evidence;

    #[test]
    fn days_are_counted_to_what_memory_knows() {
        let said = date(2026, 11, 20).at(10, 0, 0, 0);
        let told = [
            "Ana's anatomy exam is on 16 December 2026",
            "Ana's interview is on 30 November 2026",
            "Ana's sister visited on 3 March 2026",
            "Ana's lease ends in May 2027",
            "Rui's birthday is 3 March",
        ];
        let told: Vec<_> = told.iter().map(|text| evidence(text, said)).collect();
        let now = date(2026, 11, 29).at(9, 0, 0, 0);
        for (question, expected) in [
            (
                "How many days until my exam?",
                "In 17 days: Your anatomy exam is on 16 December 2026.",
            ),
            ("how long until my anatomy exam", "In 17 days: Your anatomy exam is on"),
            ("how many weeks are left until the exam?", "In 17 days: "),
            (
                "How long is it till my interview?",
                "Tomorrow: Your interview is on 30 November 2026.",
            ),
            ("how long until Rui's birthday?", "In 94 days: Rui's birthday is 3 March."),
            ("When is my exam?", "Your anatomy exam is on 16 December 2026."),
        ] {
            let got = answer(question, &told, now, Some("Ana")).map_or(String::new(), |a| a.text);
            assert!(got.starts_with(expected), "{question} {got}");
        }
        for question in ["How many days until Christmas?", "How long before rice is done?"] {
            let got = answer(question, &told, now, Some("Ana"));
            assert!(got.is_none_or(|got| !got.text.contains("days:")), "{question}");
        }
    }
}
