//! What a message wants, and whether it holds anything to remember.

use super::lexicon::{self, is_base_verb};
use super::words::{Token, tokens};
use super::{Intent, Route, Utterance, sentences};

/// Store or discard: a message is stored if a statement can be made of it, by itself or together
/// with what was said before ("He loves playing fetch").
pub fn route(utterance: &Utterance) -> Route {
    if super::statements::says_something(utterance) { Route::Store } else { Route::Discard }
}

/// What a user's message wants. A message that tells something and asks something is a question.
pub fn intent(text: &str) -> Intent {
    let text = crate::memory::plain_text(text);
    // Long pastes: the beginning and the end say what is wanted.
    let head = lexicon::clip(&text, 4_000);
    let sentences = sentences(head);
    let mut told = false;
    let mut asked = None;
    let mut greeted = false;
    let mut thanked = false;
    for sentence in sentences.iter().take(40) {
        let words = strip_opening(&tokens(sentence));
        if is_recall_request(&words) {
            asked = Some(Intent::Question);
        } else if is_thanks(sentence) {
            thanked = true;
        } else if is_question(&words, sentence) {
            asked =
                asked.or(Some(if is_request(&words) { Intent::Request } else { Intent::Question }));
        } else if is_request(&words) {
            asked = asked.or(Some(Intent::Request));
        } else if is_greeting(sentence) {
            greeted = true;
        } else if !is_small_talk(&words) {
            told = true;
        }
    }
    if let Some(asked) = asked {
        return asked;
    }
    if told {
        let probe = Utterance {
            message: crate::memory::MessageId(0),
            role: crate::memory::Role::User,
            speaker: "The user".into(),
            addressee: None,
            text: head.to_owned(),
            at: jiff::civil::date(2000, 1, 3).at(12, 0, 0, 0),
        };
        if route(&probe) == Route::Store {
            return Intent::Statement;
        }
    }
    match (thanked, greeted) {
        (true, _) => Intent::Thanks,
        (_, true) => Intent::Greeting,
        _ => Intent::Other,
    }
}

const AUXILIARY_START: &[&str] = &[
    "do", "does", "did", "is", "are", "was", "were", "can", "could", "will", "would", "should",
    "have", "has", "had", "am", "may", "shall", "isn't", "aren't", "don't", "doesn't", "didn't",
    "wasn't", "won't", "wouldn't", "can't", "couldn't", "haven't", "hasn't",
];

/// Asks something, with or without a question mark.
pub(super) fn is_question(words: &[Token], sentence: &str) -> bool {
    let marks = sentence.trim_end_matches(|c: char| {
        c.is_whitespace()
            || matches!(c, '"' | '”' | '’' | ')' | '*')
            || super::sentences::is_emoji(c)
    });
    let tail = marks.len() - marks.trim_end_matches(['?', '!', '.', '？']).len();
    if marks[marks.len() - tail..].contains(['?', '？']) {
        return true;
    }
    let Some(first) = words.first() else { return false };
    let second = words.get(1);
    let subject = |t: Option<&Token>| {
        t.is_some_and(|t| {
            t.among(&[
                "i", "you", "we", "he", "she", "it", "they", "my", "your", "our", "the", "this",
                "that", "there", "his", "her", "their", "any", "anyone", "u",
            ]) || t.upper()
        })
    };
    match first.lower.as_str() {
        "what's" | "whats" | "where's" | "wheres" | "who's" | "whos" | "how's" | "hows"
        | "when's" => true,
        "what" | "where" | "who" | "whose" | "which" | "why" | "how" | "when" | "whom" => {
            // "What I love is …", "Where we live …", "When I was young …", "How exciting!".
            if marks[marks.len() - tail..].contains('!') && tail > 0 && first.is("how") {
                return false;
            }
            let Some(second) = second else { return sentence.len() < 12 };
            if second.among(&["a", "an"]) {
                return false;
            }
            let auxiliary = AUXILIARY_START.contains(&second.lower.as_str())
                || lexicon::MODALS.contains(second.lower.as_str());
            match first.lower.as_str() {
                "when" | "where" => auxiliary,
                "what" | "who" | "which" | "how" | "why" | "whose" => {
                    auxiliary
                        || !second.among(&["i", "we", "you", "they", "he", "she", "it", "my"])
                            && words
                                .iter()
                                .skip(2)
                                .take(5)
                                .any(|t| AUXILIARY_START.contains(&t.lower.as_str()))
                        || first.among(&["who", "which"]) && second.word
                }
                _ => auxiliary,
            }
        }
        "have" | "had" | "do"
            if second.is_some_and(|t| t.among(&["the", "this", "my", "that"])) =>
        {
            false
        }
        lower if AUXILIARY_START.contains(&lower) => subject(second),
        "remember" => second.is_some_and(|t| t.among(&["when", "me", "what", "where"])),
        "any" => words.iter().skip(1).take(4).any(|t| {
            t.among(&[
                "ideas",
                "idea",
                "tips",
                "suggestions",
                "plans",
                "news",
                "advice",
                "thoughts",
                "recommendations",
            ])
        }),
        _ => false,
    }
}

const COMMANDS: &[&str] = &[
    "write",
    "tell",
    "give",
    "show",
    "explain",
    "help",
    "make",
    "list",
    "translate",
    "summarize",
    "summarise",
    "describe",
    "compare",
    "suggest",
    "recommend",
    "create",
    "generate",
    "draft",
    "find",
    "search",
    "calculate",
    "compute",
    "convert",
    "define",
    "let",
    "let's",
    "lets",
    "please",
    "stop",
    "continue",
    "repeat",
    "rewrite",
    "fix",
    "correct",
    "check",
    "proofread",
    "sing",
    "answer",
    "say",
    "guess",
    "pretend",
    "imagine",
    "act",
    "play",
    "open",
    "read",
    "look",
    "take",
    "try",
    "forget",
    "delete",
    "remove",
    "clear",
    "reset",
    "remind",
    "set",
    "add",
    "ask",
    "call",
    "keep",
    "come",
    "see",
    "wait",
    "hold",
    "listen",
    "enjoy",
    "stay",
    "go",
    "have",
    "don't",
    "do",
    "be",
    "send",
    "share",
    "feel",
    "hang",
    "think",
    "wish",
    "save",
    "store",
    "note",
    "update",
    "change",
    "solve",
    "implement",
    "refactor",
    "debug",
    "use",
    "put",
    "format",
    "provide",
    "outline",
    "brainstorm",
    "count",
    "name",
    "spell",
    "remember",
];

/// Commands the listener: "tell me a joke", "can you write …", "I need a recipe for …".
pub(super) fn is_request(words: &[Token]) -> bool {
    let lower: Vec<&str> = words.iter().map(|t| t.lower.as_str()).collect();
    match lower.as_slice() {
        ["call", "me" | "it" | "him" | "her", ..] => false,
        // "Have a great day" is a wish; "Have two dogs" leaves out its subject.
        ["have", rest @ ..] => {
            matches!(rest.first(), Some(&("fun" | "a" | "you" | "some" | "safe")))
                && rest.len() < 10
                && !rest.contains(&"i")
                && rest.iter().any(|w| {
                    matches!(
                        *w,
                        "fun"
                            | "day"
                            | "one"
                            | "evening"
                            | "night"
                            | "weekend"
                            | "trip"
                            | "time"
                            | "week"
                            | "safe"
                            | "faith"
                    )
                })
        }
        ["can" | "could" | "would" | "will", "you" | "u" | "we", ..] => true,
        ["i", "want" | "need" | "would" | "have", rest @ ..] => {
            matches!(
                rest,
                ["you", ..]
                    | ["like", "you", ..]
                    | ["like", "to", "ask" | "know" | "hear", ..]
                    | ["to", "ask" | "know", ..]
                    | ["help", ..]
                    | ["your", ..]
                    | ["some", "help" | "advice" | "ideas", ..]
            ) || matches!(rest, ["a" | "an" | "some" | "the", ..])
                && rest.iter().take(4).any(|w| {
                    matches!(
                        *w,
                        "question"
                            | "questions"
                            | "poem"
                            | "recipe"
                            | "joke"
                            | "list"
                            | "summary"
                            | "story"
                            | "script"
                            | "function"
                            | "suggestion"
                            | "recommendation"
                            | "suggestions"
                            | "advice"
                            | "explanation"
                            | "favor"
                            | "favour"
                            | "translation"
                    )
                })
        }
        ["i", "am", "wondering" | "curious", ..]
        | ["i", "was", "wondering", ..]
        | ["i", "wonder", ..]
        | ["i", "wish", "you", ..] => true,
        [
            "do" | "be" | "think" | "go" | "come" | "wait" | "hold" | "see" | "call" | "set"
            | "look" | "name" | "count" | "read" | "play" | "use" | "put" | "feel" | "try" | "hang"
            | "share",
            second,
            ..,
        ] => {
            // "Read a book yesterday" leaves out "I".
            !words.iter().any(|t| t.among(&["yesterday", "ago", "today"]))
                && !(lexicon::AUXILIARIES.contains(*second)
                    || lexicon::is_third_person(second)
                    || lexicon::is_past(second))
        }
        [first, second, ..] => {
            COMMANDS.contains(first)
                && !(lexicon::AUXILIARIES.contains(*second)
                    && !matches!(*first, "don't" | "please" | "let's"))
                && !(lexicon::is_third_person(second) && !is_base_verb(second) && !words[1].upper())
        }
        [one] => COMMANDS.contains(one),
        [] => false,
    }
}

/// "Tell me what you know about Max", "remind me where I live": a question in a command's clothes.
pub(super) fn is_recall_request(words: &[Token]) -> bool {
    let lower: Vec<&str> =
        words.iter().map(|t| t.lower.as_str()).filter(|w| *w != "please").collect();
    match lower.as_slice() {
        ["tell" | "remind", "me", rest @ ..] => {
            matches!(
                rest,
                [
                    "what"
                        | "where"
                        | "who"
                        | "when"
                        | "how"
                        | "which"
                        | "whose"
                        | "my"
                        | "everything"
                        | "all",
                    ..
                ]
            ) || matches!(rest, ["about" | "of", "my" | "me" | "our", ..])
                || matches!(rest, ["about" | "of", ..])
                    && words.iter().skip(3).any(|t| t.upper() && t.word)
        }
        ["list" | "show" | "recall", rest @ ..] => {
            rest.iter().any(|w| matches!(*w, "know" | "remember" | "memories" | "memory"))
                || matches!(rest, ["me", "my", ..])
        }
        [
            "can" | "could" | "do",
            "you",
            "tell" | "remember" | "recall" | "remind" | "know",
            rest @ ..,
        ] => {
            rest.iter().any(|w| {
                matches!(*w, "my" | "i" | "me" | "what" | "where" | "who" | "when" | "about")
            }) && !rest.iter().any(|w| matches!(*w, "joke" | "story" | "poem" | "that"))
        }
        _ => false,
    }
}

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

/// Openings that carry nothing: "Well,", "by the way", "please remember that".
const OPENINGS: &[&[&str]] = &[
    &["by", "the", "way"],
    &["to", "be", "honest"],
    &["in", "fact"],
    &["of", "course"],
    &["just", "so", "you", "know"],
    &["for", "the", "record"],
    &["fun", "fact"],
    &["you", "know"],
    &["you", "know", "what"],
    &["i", "mean"],
    &["as", "you", "know"],
    &["guess", "what"],
    &["no", "wait"],
    &["for", "your", "information"],
    &["speaking", "of", "which"],
    &["please", "remember", "that"],
    &["please", "remember"],
    &["remember", "that"],
    &["remember"],
    &["note", "that"],
    &["please", "note", "that"],
    &["please", "note"],
    &["note"],
    &["keep", "in", "mind", "that"],
    &["keep", "in", "mind"],
    &["don't", "forget", "that"],
    &["don't", "forget"],
    &["please", "don't", "forget", "that"],
    &["please", "don't", "forget"],
    &["you", "should", "know", "that"],
    &["you", "should", "know"],
    &["you", "should", "remember", "that"],
    &["let", "me", "tell", "you", "that"],
    &["i", "want", "you", "to", "know", "that"],
    &["i", "want", "you", "to", "know"],
    &["i", "want", "you", "to", "remember", "that"],
    &["i", "want", "you", "to", "remember"],
    &["i", "would", "like", "you", "to", "remember", "that"],
    &["i", "need", "you", "to", "remember", "that"],
    &["i", "need", "you", "to", "remember"],
    &["i", "should", "mention", "that"],
    &["i", "forgot", "to", "mention", "that"],
    &["i", "forgot", "to", "mention"],
    &["i", "just", "wanted", "to", "say", "that"],
    &["i", "just", "wanted", "to", "tell", "you", "that"],
    &["i", "told", "you", "that"],
    &["i", "told", "you"],
    &["did", "you", "know", "that"],
    &["did", "you", "know"],
    &["did", "i", "tell", "you", "that"],
    &["did", "i", "tell", "you"],
    &["did", "i", "mention", "that"],
    &["did", "i", "mention"],
    &["can", "you", "remember", "that"],
    &["could", "you", "remember", "that"],
    &["can", "you", "please", "remember", "that"],
    &["could", "you", "please", "remember", "that"],
    &["would", "you", "remember", "that"],
    &["can", "you", "note", "that"],
    &["please", "save", "that"],
    &["save", "that"],
    &["please", "store", "that"],
    &["for", "future", "reference"],
    &["let", "me", "introduce", "myself"],
    &["a", "bit", "about", "me"],
    &["about", "me"],
    &["small", "correction"],
    &["quick", "update"],
    &["good", "news"],
    &["bad", "news"],
    &["as", "i", "said"],
    &["like", "i", "said"],
    &["as", "i", "mentioned"],
    &["good", "morning"],
    &["good", "evening"],
    &["good", "afternoon"],
    &["i", "have", "to", "say"],
    &["the", "thing", "is"],
    &["turns", "out"],
    &["it", "turns", "out"],
    &["believe", "it", "or", "not"],
    &["no", "kidding"],
    &["last", "but", "not", "least"],
    &["for", "sure"],
];

const OPENING_WORDS: &[&str] = &[
    "hey",
    "hi",
    "hello",
    "yeah",
    "yes",
    "yep",
    "yup",
    "yea",
    "no",
    "nope",
    "nah",
    "well",
    "oh",
    "ooh",
    "ah",
    "aw",
    "aww",
    "wow",
    "whoa",
    "woah",
    "ok",
    "okay",
    "so",
    "and",
    "but",
    "also",
    "actually",
    "honestly",
    "btw",
    "anyway",
    "anyways",
    "haha",
    "hahaha",
    "lol",
    "hmm",
    "hm",
    "um",
    "uh",
    "uhm",
    "sure",
    "absolutely",
    "definitely",
    "totally",
    "thanks",
    "cool",
    "nice",
    "great",
    "awesome",
    "right",
    "plus",
    "besides",
    "fyi",
    "ps",
    "p.s",
    "sorry",
    "oops",
    "wait",
    "man",
    "dude",
    "omg",
    "gosh",
    "alright",
    "correction",
    "update",
    "seriously",
    "luckily",
    "unfortunately",
    "hence",
    "exactly",
    "true",
    "interesting",
    "basically",
    "hiya",
    "yo",
    "tbh",
    "edit",
    "thx",
    "remember",
    "psst",
    "indeed",
    "additionally",
    "furthermore",
    "moreover",
    "hopefully",
    "thankfully",
    "fortunately",
    "sadly",
    "perfect",
    "amazing",
    "ugh",
    "phew",
    "welp",
    "guys",
    "fantastic",
    "agreed",
    "hah",
    "hehe",
    "ha",
    "thank",
];

/// The words without openings, as often as there are any.
pub(super) fn strip_opening(words: &[Token]) -> Vec<Token> {
    let mut rest = words;
    loop {
        let before = rest.len();
        while rest.first().is_some_and(|t| {
            !t.word && !matches!(t.text.as_str(), "\"" | "“" | "(" | "$" | "#" | "@" | "£" | "€")
        }) {
            rest = &rest[1..];
        }
        if let Some(n) = OPENINGS
            .iter()
            .filter(|o| o.len() < rest.len() && o.iter().zip(rest).all(|(w, t)| t.is(w)))
            .filter(|o| !takes_object(o, &rest[o.len()]))
            .map(|o| o.len())
            .max()
        {
            rest = &rest[n..];
            continue;
        }
        if let (Some(first), Some(second)) = (rest.first(), rest.get(1))
            && OPENING_WORDS.contains(&first.lower.as_str())
            && opens(first, second, rest)
        {
            rest = &rest[1..];
        }
        if rest.len() == before {
            return rest.to_vec();
        }
    }
}

/// "Remember when …", "note the …": the verb has an object of its own.
fn takes_object(opening: &[&str], next: &Token) -> bool {
    let last = opening.last().copied().unwrap_or_default();
    matches!(last, "remember" | "forget" | "know" | "note" | "mention")
        && (next.among(&[
            "when", "what", "where", "who", "how", "me", "to", "about", "it", "if", "of", "him",
            "them", "why", "the",
        ]) && !next.is("the")
            || !next.word && next.text != "," && next.text != ":")
}

fn opens(first: &Token, second: &Token, rest: &[Token]) -> bool {
    if !second.word {
        return true;
    }
    match first.lower.as_str() {
        // "And I", "So we", "But my", "Also I", "Actually I", "No I", "btw my".
        "and" | "but" | "also" | "actually" | "btw" | "plus" | "fyi" | "anyway" | "anyways"
        | "haha" | "lol" | "oh" | "hey" | "hi" | "hello" | "yeah" | "yes" | "yep" | "yea"
        | "wow" | "ok" | "okay" | "um" | "uh" | "hmm" | "omg" | "tbh" | "honestly"
        | "basically" | "hiya" | "well" | "aw" | "aww" | "ah" | "besides" | "luckily"
        | "unfortunately" | "seriously" | "haha," | "hopefully" | "thankfully" | "fortunately"
        | "sadly" => true,
        "so" | "no" | "nope" | "nah" | "sorry" | "wait" | "thanks" | "cool" | "great" | "nice"
        | "right" | "man" | "dude" | "sure" | "awesome" | "gosh" | "oops" | "alright"
        | "definitely" | "totally" | "absolutely" => {
            second.among(&[
                "i",
                "we",
                "my",
                "our",
                "he",
                "she",
                "it",
                "they",
                "the",
                "last",
                "this",
                "yesterday",
                "when",
            ]) && rest.len() > 2
        }
        _ => false,
    }
}
