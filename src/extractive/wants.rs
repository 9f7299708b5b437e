//! What a turn wants: small talk, the world, memory, or to tell something.
//!
//! By rules, for what the built-in encoder can't read and for a program without it (`model_policy` asks the encoder first).

use super::intent::intent;
use super::language::is_foreign;
use super::lists::Words;
use super::patterns::Patterns;
use super::question::QUESTION_WORDS;
use super::small_talk::asks_assistant;
use super::{Intent, lexicon};

static KNOWN: Patterns = Patterns::new("asks what is known");
static ONES_OWN: Words = Words::new("one's own");

/// What a person's message wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wants {
    /// A greeting, thanks, a reaction, a question about the assistant itself.
    SmallTalk,
    /// A question or a task that needs nothing that was told: "Write a haiku about the sea."
    World,
    /// Something that only a listener can know: "What is my sister's name?", "Suggest a dish I'd like."
    Memory,
    /// To tell something.
    Statement,
}

/// What a message wants most probably, by rules.
pub fn wants(text: &str) -> Wants {
    match intent(text) {
        Intent::Greeting | Intent::Thanks | Intent::Other => Wants::SmallTalk,
        Intent::Statement => Wants::Statement,
        Intent::Question if asks_assistant(text) => Wants::SmallTalk,
        Intent::Question | Intent::Request if is_personal(text) => Wants::Memory,
        Intent::Question | Intent::Request => Wants::World,
    }
}

/// Whether it asks what is known of the person: "Summarise what you know about me."
pub fn asks_what_is_known(text: &str) -> bool {
    let words: Vec<String> = lexicon::words(text).take(40).map(str::to_lowercase).collect();
    KNOWN.match_any(&words)
}

/// Whether it is a question in another language about what is the person's own: "Wo wohnt mein Bruder?"
pub fn asks_of_own_elsewhere(text: &str) -> bool {
    let is_own = |word: &str| ONES_OWN.has(&word.to_lowercase());
    text.trim_end().ends_with('?') && is_foreign(text) && lexicon::words(text).any(is_own)
}

/// Pronouns of other people.
pub const OF_SOMEBODY: [&str; 8] = ["he", "her", "him", "his", "she", "their", "them", "they"];

/// Whether a question is about somebody or something named before: "When does it mature?", not "What time is it?"
pub fn points_back(question: &str) -> bool {
    const SAY_NOTHING: [&str; 6] = ["did", "does", "is", "isn't", "was", "will"];
    const WEATHER: [&str; 6] = ["cold", "hot", "rain", "raining", "snow", "snowing"];
    const TIME: [&str; 7] = ["date", "day", "late", "month", "time", "weather", "year"];
    let words: Vec<String> = lexicon::words(question).map(str::to_lowercase).collect();
    let is_thing = |at: usize| {
        let before = at.checked_sub(1).map_or("", |before| &*words[before]);
        let next = words.get(at + 1).map_or("", String::as_str);
        let is_of_time = || words.iter().any(|word| TIME.contains(&word.as_str()));
        let says_nothing = SAY_NOTHING.contains(&before)
            && match next {
                "" => words.len() < 4 || is_of_time(),
                next => WEATHER.contains(&next) || before.starts_with("is") && at == 1,
            };
        words[at] == "it" && !says_nothing
    };
    intent(question) == Intent::Question
        && (words.iter().any(|word| OF_SOMEBODY.contains(&word.as_str()))
            || (0..words.len()).any(is_thing))
}

/// Whether it asks who, of people who are not named, in the present: "who works with wood?", "Who's allergic to nuts?" Perhaps
/// somebody whom memory knows; of the world the past is asked ("Who won the cup?"), or whoever has a name or an article.
pub fn asks_who(text: &str) -> bool {
    let words: Vec<String> = lexicon::words(text).take(3).map(|w| w.to_lowercase()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["who", "is", next] | ["who's" | "who\u{2019}s", next, ..] => {
            let is_name = lexicon::words(text).any(|w| w.to_lowercase() == *next && w != *next);
            !is_name && !["the", "a", "an", "this", "that", "he", "she", "it"].contains(next)
        }
        ["who", verb, ..] => {
            let verb = verb.replace('\u{2019}', "'");
            lexicon::is_third_person(&verb)
                || ["can", "can't", "cannot", "doesn't", "won't"].contains(&verb.as_str())
        }
        _ => false,
    }
}

/// Whether it speaks of kin as of somebody known: "When do the twins turn six?"
pub fn asks_of_kin(text: &str) -> bool {
    let words: Vec<String> = lexicon::words(text).map(str::to_lowercase).collect();
    words
        .windows(2)
        .any(|pair| ["the", "my", "our"].contains(&pair[0].as_str()) && lexicon::KIN.has(&pair[1]))
}

/// What a message wants that was taken for small talk and asks about the person ("Who is staying with us?"), about what
/// was named before ("who's it for"), or what is known about something.
pub fn no_small_talk(text: &str) -> Option<Wants> {
    let words: Vec<String> = lexicon::words(text).map(str::to_lowercase).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if words.windows(3).any(|at| matches!(at, ["you", "know" | "remember", "about" | "of"])) {
        return Some(Wants::World);
    }
    let to_assistant = words.iter().any(|w| matches!(*w, "you" | "your" | "u" | "ur"));
    let first = words.first().and_then(|first| first.split(['\'', '\u{2019}']).next());
    let is_asked = first.is_some_and(|first| QUESTION_WORDS.has(first));
    if !is_asked || to_assistant || asks_assistant(text) {
        None
    } else if is_personal(text) {
        Some(Wants::Memory)
    } else {
        points_back(text).then_some(Wants::World)
    }
}

/// Whether people ask about themselves or what is theirs: "Where do I live?"
fn is_personal(text: &str) -> bool {
    let own = ["i", "me", "my", "mine", "we", "our", "us"];
    lexicon::words(text).any(|word| own.contains(&word.to_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_may_go_on_from_what_was_named() {
        for (text, expected) in [
            ("When does it mature?", true),
            ("What's the interest rate on it?", true),
            ("How many people are coming to it?", true),
            ("how old is he?", true),
            ("Is it far?", false),
            ("What make is it?", true),
            ("Who is it for?", true),
            ("What time is it?", false),
            ("what day is it", false),
            ("Does it rain much in Bergen?", false),
            ("What is the capital of France?", false),
            ("It matures in October.", false),
        ] {
            assert_eq!(points_back(text), expected, "{text}");
        }
    }

    #[test]
    fn questions_about_the_person_are_no_small_talk() {
        for (text, expected) in [
            ("Who is staying with us?", Some(Wants::Memory)),
            ("what do you know about Per?", Some(Wants::World)),
            ("who's it for", Some(Wants::World)),
            ("how are you?", None),
            ("Who are you, and what can you do for me?", None),
            ("how's it going", None),
            ("I'm fine", None),
        ] {
            assert_eq!(no_small_talk(text), expected, "of {text:?}");
        }
    }

    #[test]
    fn of_people_the_present_is_asked() {
        for text in [
            "who can't eat peanuts?",
            "Who can\u{2019}t come?",
            "who works with wood?",
            "Who's allergic to nuts?",
        ] {
            assert!(asks_who(text), "{text}");
        }
        for text in [
            "Who won the cup?",
            "Who is Angela Merkel?",
            "who is the king of Spain",
            "who wrote Dune?",
        ] {
            assert!(!asks_who(text), "{text}");
        }
    }

    #[test]
    fn what_is_ones_own_is_asked_for_in_other_languages() {
        for text in
            ["Wo wohnt mein Bruder?", "Comment s'appelle ma soeur ?", "¿Dónde vive mi hermano?"]
        {
            assert!(asks_of_own_elsewhere(text), "{text}");
        }
        for text in ["Wo liegt Kiel?", "Mein Bruder wohnt in Kiel.", "Where does my brother live?"]
        {
            assert!(!asks_of_own_elsewhere(text), "{text}");
        }
    }

    #[test]
    fn what_is_known_is_asked_for() {
        for (text, expected) in [
            ("Summarise what you know about me", true),
            ("list everything you have stored about my family", true),
            ("what do you remember of us?", true),
            ("tell me something about me", true),
            ("am I seeing anyone?", true),
            ("tell me something about whales", false),
            ("What do you know about whales?", false),
            ("Do you have a joke about my job?", false),
        ] {
            assert_eq!(asks_what_is_known(text), expected, "{text}");
        }
    }
}
