//! Reactions, wishes, thanks and greetings: what says nothing that lasts.

use super::lexicon;
use super::words::Token;

pub(super) fn is_thanks(sentence: &str) -> bool {
    let words = lower_words(sentence);
    let first: Vec<&str> = words
        .iter()
        .map(String::as_str)
        .skip_while(|w| {
            matches!(
                *w,
                "ok" | "okay"
                    | "oh"
                    | "wow"
                    | "great"
                    | "cool"
                    | "awesome"
                    | "perfect"
                    | "nice"
                    | "ah"
                    | "yeah"
                    | "yes"
                    | "aw"
                    | "aww"
                    | "many"
                    | "hey"
                    | "no"
                    | "well"
                    | "haha"
                    | "good"
            )
        })
        .take(2)
        .collect();
    matches!(
        first.as_slice(),
        [
            "thanks"
                | "thank"
                | "thx"
                | "ty"
                | "tysm"
                | "cheers"
                | "appreciated"
                | "thankyou"
                | "tnx",
            ..
        ] | ["much", "appreciated"]
    ) || matches!(first.as_slice(), ["i", "appreciate"])
        && words.iter().any(|w| w == "it" || w.starts_with("you"))
}

/// A question to the assistant about itself ("How are you?", "What can you do?"), which no memory
/// answers. What asks for something told or known is not meant.
pub fn asks_assistant(text: &str) -> bool {
    const WORDS_MAX: usize = 9;
    const TOLD: &[&str] = &[
        "i",
        "i'm",
        "im",
        "i've",
        "me",
        "my",
        "mine",
        "we",
        "us",
        "our",
        "remember",
        "recall",
        "know",
        "told",
        "tell",
        "said",
        "say",
        "mention",
        "mentioned",
        "noted",
        "think",
        "about",
    ];
    let words = lower_words(text);
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    while let ["and" | "so" | "hey" | "hi" | "hello" | "oh" | "thanks", ..] = words.as_slice() {
        words.remove(0);
    }
    if words.len() > WORDS_MAX || words.iter().any(|word| TOLD.contains(word)) {
        return false;
    }
    matches!(
        words.as_slice(),
        ["how" | "who" | "what" | "where" | "why", "are", "you", ..]
            | ["how", "old" | "do", "are" | "you", ..]
            | ["how's", "it" | "life" | "everything", ..]
            | ["what's" | "whats" | "who's", "your" | "up", ..]
            | ["what" | "who", "is", "your", ..]
            | ["what", "can" | "do", "you", ..]
            | ["are" | "do", "you", ..]
    )
}

pub(super) fn is_greeting(sentence: &str) -> bool {
    let words = lower_words(sentence);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [
            "hi" | "hello" | "hey" | "hiya" | "yo" | "howdy" | "greetings" | "hallo" | "hej"
            | "sup" | "heya" | "hei",
            rest @ ..,
        ] => {
            rest.len() <= 3
                && !rest.iter().any(|w| matches!(*w, "i" | "my" | "is" | "am" | "im" | "i'm"))
        }
        ["good", "morning" | "evening" | "afternoon" | "day" | "night", rest @ ..] => {
            rest.len() <= 3
        }
        [
            "bye" | "goodbye" | "goodnight" | "cya" | "farewell" | "morning" | "evening",
            rest @ ..,
        ] => rest.len() <= 3,
        ["see" | "talk" | "catch" | "speak", rest @ ..] => {
            rest.len() <= 5
                && rest
                    .iter()
                    .any(|w| matches!(*w, "you" | "ya" | "later" | "soon" | "tomorrow" | "u"))
        }
        [
            "nice" | "good" | "great" | "lovely" | "pleased",
            "to",
            "meet" | "see" | "hear",
            rest @ ..,
        ] => rest.len() <= 6,
        ["what's" | "whats", "up", ..] | ["how", "are" | "is" | "have", ..] | ["how's", ..] => {
            words.len() <= 6
        }
        ["take", "care", ..] => true,
        _ => false,
    }
}

fn lower_words(sentence: &str) -> Vec<String> {
    lexicon::words(lexicon::clip(sentence, 400))
        .take(16)
        .map(|w| w.to_lowercase().replace('\u{2019}', "'"))
        .collect()
}

/// Reactions, wishes, agreement: nothing that lasts.
pub(super) fn is_small_talk(words: &[Token]) -> bool {
    let said: Vec<&Token> = words.iter().filter(|t| t.word).collect();
    if said.is_empty() {
        return true;
    }
    let lower: Vec<&str> = said.iter().map(|t| t.lower.as_str()).collect();
    if lower.iter().all(|w| lexicon::REACTION.contains(*w) || lexicon::STOP.contains(*w)) {
        // "I love her" and "I am 34" say something; digits and names are never in the lists.
        let about_self = matches!(lower.first(), Some(&("i" | "my"))) && lower.len() <= 6;
        let lasting = about_self
            && lower
                .iter()
                .any(|w| matches!(*w, "love" | "like" | "hate" | "enjoy" | "work" | "have"))
            && lower.iter().any(|w| matches!(*w, "work" | "job"));
        return !lasting;
    }
    match lower.as_slice() {
        ["i", "am" | "was" | "feel" | "feeling", rest @ ..] => {
            let state: Vec<&&str> = rest.iter().filter(|w| !lexicon::is_adverb(w)).collect();
            state.len() <= 3
                && state.first().is_some_and(|w| {
                    matches!(
                        **w,
                        "fine"
                            | "good"
                            | "ok"
                            | "okay"
                            | "great"
                            | "well"
                            | "tired"
                            | "bored"
                            | "back"
                            | "here"
                            | "sorry"
                            | "sure"
                            | "done"
                            | "ready"
                            | "happy"
                            | "sad"
                            | "hungry"
                            | "confused"
                            | "serious"
                            | "kidding"
                            | "joking"
                            | "alright"
                            | "sleepy"
                            | "busy"
                            | "home"
                            | "late"
                            | "lost"
                            | "listening"
                            | "glad"
                            | "excited"
                            | "impressed"
                            | "curious"
                            | "off"
                            | "stuck"
                            | "exhausted"
                            | "jealous"
                            | "swamped"
                            | "rooting"
                            | "proud"
                            | "all"
                            | "thirsty"
                            | "cold"
                            | "hot"
                    )
                })
                && !state
                    .iter()
                    .any(|w| matches!(**w, "with" | "about" | "at" | "because" | "from" | "since"))
            // "I'm proud of you": not about the speaker.
        }
        ["i", "do", "not", "know", ..]
        | ["i", "don't", "know", ..]
        | ["i", "know", ..]
        | ["i", "see", ..]
        | ["i", "agree", ..]
        | ["i", "understand", ..]
        | ["i", "guess", ..]
        | ["i", "hope", "so" | "not" | "you" | "your" | "it" | "that", ..]
        | ["i", "think", "so" | "you" | "that"]
        | ["i", "bet", ..]
        | ["i", "hear", "you" | "ya", ..]
        | ["i", "mean"]
        | [
            "i",
            "can't",
            "wait",
            "to",
            "hear" | "see",
            "about" | "it" | "what" | "how" | "your" | "you",
            ..,
        ]
        | ["i", "can't", "wait"]
        | ["i", "promise", ..]
        | ["i", "can", "imagine" | "tell" | "relate", ..] => lower.len() <= 9,
        [
            "that" | "this" | "those" | "these" | "the" | "your" | "her" | "his" | "their",
            middle @ ..,
            last,
        ] if lexicon::REACTION.contains(*last) && evaluates(middle) => true,
        [
            "it" | "that" | "this",
            "is" | "sounds" | "looks" | "seems" | "must" | "was" | "would" | "will" | "has"
            | "makes" | "feels",
            rest @ ..,
        ] => {
            // "That's so cool of you": at most one word of substance.
            let substance = rest
                .iter()
                .filter(|w| !lexicon::REACTION.contains(**w) && !lexicon::STOP.contains(**w))
                .count();
            substance == 0
                || substance == 1
                    && rest.len() <= 5
                    && rest.iter().any(|w| lexicon::REACTION.contains(*w))
                    && !rest.iter().any(|w| matches!(*w, "my" | "a" | "an"))
                || rest.iter().any(|w| {
                    matches!(
                        *w,
                        "raining" | "snowing" | "sunny" | "late" | "okay" | "monday" | "friday"
                    )
                }) && rest.len() <= 4
        }
        ["so" | "neither", "am" | "do" | "is" | "did", ..]
        | ["missed" | "appreciate", "you" | "your" | "it" | "that", ..] => true,
        [
            "so" | "really" | "very" | "super",
            "glad" | "happy" | "proud" | "great" | "good" | "sorry",
            rest @ ..,
        ]
        | [
            "great" | "good" | "awesome" | "nice" | "cool" | "amazing" | "wonderful" | "lovely"
            | "excited",
            rest @ ..,
        ] if matches!(
            rest.first(),
            Some(
                &("that"
                    | "to"
                    | "you"
                    | "on"
                    | "for"
                    | "job"
                    | "one"
                    | "idea"
                    | "point"
                    | "work"
                    | "going"
                    | "question")
            )
        ) =>
        {
            rest.iter().any(|w| matches!(*w, "you" | "your")) || rest.len() <= 4
        }
        [
            "i" | "totally" | "completely" | "couldn't" | "100",
            "agree" | "100" | "totally" | "completely" | "couldn't",
            ..,
        ] => lower.len() <= 6,
        ["how" | "what" | "so" | "such" | "wow" | "too", rest @ ..] => {
            let substance = rest
                .iter()
                .filter(|w| !lexicon::REACTION.contains(**w) && !lexicon::STOP.contains(**w))
                .count();
            !rest.iter().any(|w| matches!(*w, "i" | "my" | "we" | "our"))
                && substance <= 3
                && rest.iter().any(|w| lexicon::REACTION.contains(*w))
        }
        ["good" | "best", "luck", ..]
        | ["keep", ..]
        | ["me", "too", ..]
        | ["same", ..]
        | ["no", "problem" | "worries", ..]
        | ["never", "mind", ..]
        | ["nevermind", ..]
        | ["happy", "birthday", ..]
        | ["merry", "christmas", ..]
        | ["sounds", ..]
        | ["looks", ..]
        | ["glad" | "happy" | "proud" | "sorry", "to" | "you" | "that" | "of" | "for", ..]
        | ["loving" | "love", "the" | "that" | "this" | "your" | "it" | "how", ..]
        | ["can't", "wait"]
        | ["can't", "wait", "to", "hear" | "see", ..]
        | ["your", ..]
        | ["neither", ..]
        | ["congrats" | "congratulations", ..]
        | ["way", "to", "go", ..]
        | ["well", "done", ..]
        | ["hope", "you" | "it" | "that" | "your" | "to", ..]
        | ["wishing", "you", ..]
        | ["rooting", ..]
        | ["let", "me", "know", ..] => true,
        ["you", rest @ ..] => {
            // Praise and encouragement.
            rest.iter().any(|w| lexicon::REACTION.contains(*w) && !lexicon::STOP.contains(*w))
                || rest.len() <= 3
                || rest.first().is_some_and(|w| {
                    matches!(*w, "will" | "should" | "can" | "could" | "got" | "must" | "would")
                })
        }
        _ => false,
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
        && !middle.iter().any(|w| {
            matches!(
                *w,
                "i" | "my" | "me" | "we" | "our" | "not" | "name" | "favourite" | "favorite"
            )
        })
        && middle[verb + 1..].iter().all(|w| {
            lexicon::STOP.contains(*w) || lexicon::REACTION.contains(*w) || lexicon::is_adverb(w)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_to_the_assistant_are_not_for_the_memory() {
        for text in [
            "How are you today?",
            "who are you?",
            "Hey, what's your name?",
            "What can you do?",
            "Are you a robot?",
            "How old are you?",
            "Do you like music?",
            "Thanks, how are you?",
        ] {
            assert!(asks_assistant(text), "{text}");
        }
        for text in [
            "Do you remember my dog?",
            "What do you know about Max?",
            "What is my name?",
            "Who is Max?",
            "Are you sure I moved to Lund?",
            "What did I tell you?",
            "Do you know where Tom lives?",
            "How old is Emily?",
        ] {
            assert!(!asks_assistant(text), "{text}");
        }
    }
}
