//! Reactions, wishes, thanks and greetings: what says nothing that lasts.

use super::lexicon::{self, REACTION, STOP};
use super::lists::{Table, Words};
use super::patterns::Patterns;
use super::words::{Sentence, Token, tokens};

static AROUND_MOODS: Words = Words::new("around moods");
static ASKS_FOR_MEMORIES: Words = Words::new("asks for memories");
static BEFORE_THANKS: Words = Words::new("before thanks");
static MOODS: Words = Words::new("moods");
static PASSING_MOODS: Words = Words::new("passing moods");
static PERSONAL: Words = Words::new("personal");
static GREETINGS: Patterns = Patterns::new("greetings");
static QUESTIONS_TO_THE_ASSISTANT: Patterns = Patterns::new("questions to the assistant");
static SAID_FIRST: Patterns = Patterns::new("said first");
static SMALL_TALK: Patterns = Patterns::new("small talk");
static SPELLED_OUT: Table = Table::new("spelled out");
static THANKS: Patterns = Patterns::new("thanks");

pub(super) fn is_thanks(sentence: &str) -> bool {
    let words = lower_words(sentence);
    let n_before = words.iter().take_while(|w| BEFORE_THANKS.has(w)).count();
    THANKS.match_any(&words[n_before..])
}

/// A question to the assistant about itself ("How are you?", "What can you do?"), which no memory
/// answers. Questions about something the person told are not meant.
pub fn asks_assistant(text: &str) -> bool {
    const WORDS_MAX: usize = 9;
    let words = lower_words(text);
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    while let ["and" | "so" | "hey" | "hi" | "hello" | "there" | "oh" | "thanks", ..] =
        words.as_slice()
    {
        words.remove(0);
    }
    words.len() <= WORDS_MAX
        && !words.iter().any(|word| ASKS_FOR_MEMORIES.has(word))
        && QUESTIONS_TO_THE_ASSISTANT.match_any(&words)
}

/// A greeting, a goodbye or thanks as a dictionary has it: "heyyy", "thx" and "cya" puzzle a small model. `None` if it is written so, or
/// says more.
pub fn spelled_out(text: &str) -> Option<String> {
    const WORDS_MAX: usize = 3;
    let words = lower_words(text);
    let spell = |word: &String| {
        let last = word.chars().last().unwrap_or_default();
        let short = format!("{}{last}", word.trim_end_matches(last));
        let is_short = |short: &str| SPELLED_OUT.get(short).copied();
        is_short(word).or_else(|| is_short(&short)).map_or_else(|| word.clone(), str::to_owned)
    };
    let spelled: Vec<String> = words.iter().map(spell).collect();
    (words.len() <= WORDS_MAX && spelled != words).then(|| spelled.join(" "))
}

pub(super) fn is_greeting(sentence: &str) -> bool {
    GREETINGS.match_any(&lower_words(sentence))
}

/// A reply to `text` with what a friend says first to somebody who tells this: "Congratulations! Noted: …".
pub fn with_feeling(text: &str, noted: String) -> String {
    match said_first(text) {
        Some(first) => format!("{first} {noted}"),
        None => noted,
    }
}

fn said_first(text: &str) -> Option<&'static str> {
    const WORDS_MAX: usize = 60;
    let words = tokens(lexicon::clip(text, 400));
    let words = words.lower_words();
    let is_year = |word: &&str| matches!(word.parse(), Ok(1900_u16..2100));
    let is_of_now = words.len() <= WORDS_MAX && !words.iter().any(is_year);
    let said = is_of_now.then(|| SAID_FIRST.label(&words)).flatten();
    said.filter(|said| !said.is_empty())
}

fn lower_words(sentence: &str) -> Vec<String> {
    lexicon::words(lexicon::clip(sentence, 400))
        .take(16)
        .map(|w| w.to_lowercase().replace('\u{2019}', "'"))
        .collect()
}

/// Reactions, wishes, agreement: nothing that lasts.
pub(super) fn is_small_talk(words: &[Token]) -> bool {
    let lower = words.lower_words();
    if lower.iter().all(|w| is_empty(w)) {
        // "I love my job" says something; digits and names are never in the lists.
        let about_self = matches!(lower.first(), Some(&("i" | "my"))) && lower.len() <= 6;
        let of_work = lower.contains(&"work")
            || lower.contains(&"job")
                && lower.iter().any(|w| matches!(*w, "love" | "like" | "hate" | "enjoy" | "have"));
        return !(about_self && of_work);
    }
    match lower.as_slice() {
        ["i", "am", "feeling", rest @ ..]
        | ["i", "have", "been", "feeling", rest @ ..]
        | ["i", "am" | "was" | "feel" | "felt" | "feeling", rest @ ..]
        | ["feeling", rest @ ..]
            if is_mood(rest) || is_feeling(rest) =>
        {
            true
        }
        [
            "that" | "this" | "those" | "these" | "the" | "your" | "her" | "his" | "their",
            middle @ ..,
            last,
        ] if REACTION.has(last) && evaluates(middle) => true,
        [
            "it" | "that" | "this",
            "is" | "sounds" | "looks" | "seems" | "must" | "was" | "would" | "will" | "has"
            | "makes" | "feels",
            rest @ ..,
        ] => is_comment(rest),
        _ if SMALL_TALK.match_any(&lower) => true,
        ["how" | "what" | "so" | "such" | "wow" | "too", rest @ ..] => {
            !rest.iter().any(|w| matches!(*w, "i" | "my" | "we" | "our"))
                && n_substantial(rest) <= 3
                && rest.iter().any(|w| REACTION.has(w))
        }
        // Praise and encouragement.
        ["you", rest @ ..] => {
            rest.len() <= 3
                || rest.iter().any(|w| REACTION.has(w) && !STOP.has(w))
                || matches!(rest[0], "will" | "should" | "can" | "could" | "got" | "must" | "would")
        }
        _ => false,
    }
}

/// A function word or one of a reaction.
fn is_empty(word: &str) -> bool {
    REACTION.has(word) || STOP.has(word)
}

fn n_substantial(words: &[&str]) -> usize {
    words.iter().filter(|w| !is_empty(w)).count()
}

/// "I am …" tired, fine, back; tired of night shifts.
fn is_mood(rest: &[&str]) -> bool {
    let state: Vec<&str> = rest.iter().copied().filter(|w| !lexicon::is_adverb(w)).collect();
    let is_weary = matches!(state[..], ["tired" | "bored" | "exhausted", "of" | "by", ..]);
    state.len() <= if is_weary { 6 } else { 3 }
        && state.first().is_some_and(|w| MOODS.has(w))
        && !state
            .iter()
            .any(|w| matches!(*w, "with" | "about" | "at" | "because" | "from" | "since"))
}

/// "I feel …" a bit sad today: nothing but how, how much, and that it is now.
fn is_feeling(rest: &[&str]) -> bool {
    let is_felt = |w: &str| MOODS.has(w) || PASSING_MOODS.has(w);
    rest.iter().any(|w| is_felt(w))
        && rest.iter().all(|w| is_felt(w) || AROUND_MOODS.has(w) || lexicon::is_adverb(w))
}

/// "That's …" so cool of you: at most one word of substance.
fn is_comment(rest: &[&str]) -> bool {
    let weather = ["raining", "snowing", "sunny", "late", "okay", "monday", "friday"];
    match n_substantial(rest) {
        0 => true,
        1 if rest.len() <= 5
            && rest.iter().any(|w| REACTION.has(w))
            && !rest.iter().any(|w| matches!(*w, "my" | "a" | "an")) =>
        {
            true
        }
        _ => rest.len() <= 4 && rest.iter().any(|w| weather.contains(w)),
    }
}

/// "The design looks so …": praise in the present says nothing that lasts.
fn evaluates(middle: &[&str]) -> bool {
    let Some(verb) = middle
        .iter()
        .position(|w| matches!(*w, "is" | "are" | "looks" | "look" | "sounds" | "sound" | "seems"))
    else {
        return false;
    };
    (1..=4).contains(&verb)
        && !middle.iter().any(|w| PERSONAL.has(w))
        && middle[verb + 1..].iter().all(|w| is_empty(w) || lexicon::is_adverb(w))
}

#[cfg(test)]
mod tests {
    use super::super::tests::cases;
    use super::*;

    #[test]
    fn questions_to_the_assistant_are_not_for_the_memory() {
        for (section, expected) in [("to the assistant", true), ("to the memory", false)] {
            for (text, _) in cases(include_str!("tests/cases/intents.txt"), section) {
                assert_eq!(asks_assistant(&text), expected, "of {text:?}");
            }
        }
    }

    #[test]
    fn a_friend_says_something_first() {
        for (text, said) in [
            ("My grandmother died yesterday.", "I'm so sorry."),
            ("I lost my job today.", "I'm sorry to hear that."),
            ("I'm really homesick.", "I'm sorry to hear that."),
            ("I passed my driving test today!!", "Congratulations!"),
            ("we're having a baby in May!", "Congratulations!"),
            ("The biopsy came back benign.", "That's good news!"),
            ("We adopted a kitten from the shelter.", "How lovely!"),
            ("I'm so nervous about my interview tomorrow at Volvo", "Good luck!"),
            ("I'm having surgery on my knee on Friday.", "I hope it goes well."),
            ("My grandfather died when I was six.", ""),
            ("I'm allergic to walnuts.", ""),
            ("I passed the station on my way.", ""),
            ("The old library burnt down in 1974.", ""),
            ("If I lose my job we move to Lund.", ""),
        ] {
            assert_eq!(said_first(text).unwrap_or_default(), said, "of {text:?}");
        }
    }

    #[test]
    fn greetings_are_spelled_out() {
        for (text, expected) in [
            ("heyyy", Some("hey")),
            ("hiii there", Some("hi there")),
            ("Byee!", Some("bye")),
            ("cya", Some("goodbye")),
            ("thx", Some("thank you")),
            ("hello", None),
            ("see you", None),
            ("thx for the tip about the shed", None),
            ("", None),
        ] {
            assert_eq!(spelled_out(text).as_deref(), expected, "{text}");
        }
    }
}
