//! What a message wants, and whether it holds anything to remember.

use super::lexicon::{self, is_base_verb};
use super::openings::strip_opening;
use super::small_talk::{is_greeting, is_small_talk, is_thanks};
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
        } else if is_thanks(sentence) && !sentence.trim_end().ends_with('?') {
            thanked = true;
        } else if is_question(&words, sentence) {
            let requests = is_request(&words) && !asks_with_do(&words);
            asked = asked.or(Some(if requests { Intent::Request } else { Intent::Question }));
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

/// "Do I like coffee?" begins as the command "Do the dishes!" does.
fn asks_with_do(words: &[Token]) -> bool {
    words.first().is_some_and(|t| t.is("do"))
        && words.get(1).is_some_and(|t| !t.among(&["you", "u"]))
}

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
        ["can" | "could" | "would" | "will", "you" | "u", ..] | ["can" | "could", "we", ..] => true,
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
            ) || matches!(rest, ["about" | "of", "my" | "me" | "our" | "the", ..])
                || matches!(rest, ["the", ..]) && rest.iter().any(|w| matches!(*w, "my" | "our"))
                || matches!(rest, ["about" | "of", ..])
                    && words.iter().skip(3).any(|t| t.upper() && t.word)
        }
        ["look", "up" | "for", "my" | "our" | "the", ..]
        | ["list" | "name" | "find" | "say" | "spell" | "repeat" | "recall", "my" | "our", ..]
        | ["give" | "show" | "get", "me", "my" | "our" | "the", ..] => true,
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
