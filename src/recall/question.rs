//! What recall has to know about a question (pure, English).
//!
//! It only affects the ranking: a question that it misreads still finds its evidence.

use std::collections::BTreeSet;

use crate::memory::lexical;

/// What a question asks about.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct QuestionTraits {
    /// Stems, without stop words.
    pub terms: BTreeSet<String>,
    /// The same words unstemmed, for full-text search.
    pub words: String,
    /// It asks how things were, so superseded facts are as good as their successors.
    pub past: bool,
    /// It asks how things are now, so newer units count more.
    pub now: bool,
    /// It asks what the assistant said.
    pub of_assistant: bool,
    /// It speaks of "me" or "my".
    pub of_user: bool,
}

/// Phrases, separated by commas; likewise the next three.
const PAST: &str = "used to,before,previous,previously,former,formerly,earlier,in the past,\
    originally,at first,back then,no longer,any more,anymore,history,back in";
const NOW: &str = "now,currently,current,these days,nowadays,today,still,latest,newest,\
    at the moment,most recent";
const OF_ASSISTANT: &str = "you say,you said,did you tell,you told,you recommend,you suggest,\
    you advise,you propose,you explain,your advice,your suggestion,your recommendation";
const MONTHS: &str = "january,february,march,april,may,june,july,august,september,october,\
    november,december";

impl QuestionTraits {
    pub(super) fn of(question: &str) -> Self {
        let lower = question.to_lowercase();
        let words: Vec<&str> =
            lower.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).collect();
        let text = format!(" {} ", words.join(" "));
        let has = |phrases: &str| phrases.split(',').any(|p| text.contains(&format!(" {p} ")));
        // "in March", "in 2023": then, not now. A bare "may" is not a month.
        let dated = words.windows(2).any(|pair| {
            matches!(pair[0], "in" | "since" | "until" | "during")
                && (MONTHS.split(',').any(|month| month == pair[1]) || is_year(pair[1]))
        });
        let was = words.iter().any(|w| matches!(*w, "was" | "were" | "did" | "had"));
        Self {
            terms: lexical::terms(question).into_iter().collect(),
            words: lexical::content_words(question).join(" "),
            past: has(PAST) || (dated && was),
            now: has(NOW),
            of_assistant: OF_ASSISTANT.split(',').any(|p| text.contains(&format!(" {p}"))),
            of_user: words.iter().any(|w| matches!(*w, "i" | "me" | "my" | "mine" | "myself")),
        }
    }
}

/// Whether a question asks what the assistant said: "What did you recommend?"
pub fn is_of_assistant(question: &str) -> bool {
    QuestionTraits::of(question).of_assistant
}

fn is_year(word: &str) -> bool {
    word.len() == 4
        && (word.starts_with("19") || word.starts_with("20"))
        && word.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn past_and_present_are_told_apart() {
        let check = |question: &str, past: bool, now: bool| {
            let traits = QuestionTraits::of(question);
            assert_eq!((traits.past, traits.now), (past, now), "{question}");
        };
        check("Where do I live now?", false, true);
        check("Where did I live before?", true, false);
        check("Where did I use to live? I used to have a garden.", true, false);
        check("What was my weight in March?", true, false);
        check("What did Ana buy?", false, false);
        check("What may I eat in the morning?", false, false);
        check("Is Max still ill?", false, true);
        check("", false, false);
    }

    #[test]
    fn who_is_asked_about() {
        assert!(QuestionTraits::of("What did you recommend?").of_assistant);
        assert!(!QuestionTraits::of("Do you know my name?").of_assistant);
        assert!(!is_of_assistant("Could you tell me my name?"));
        assert!(QuestionTraits::of("Do you know my name?").of_user);
        assert_eq!(QuestionTraits::of("Where did Ana's dogs run?").words, "ana dogs run");
    }
}
