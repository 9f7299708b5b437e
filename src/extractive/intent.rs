//! What a message wants, and whether it holds anything to remember.

use super::lexicon;
use super::lists::Words;
use super::openings::strip_opening;
use super::patterns::Patterns;
use super::planning::asked_to_remind;
use super::small_talk::{is_greeting, is_small_talk, is_thanks};
use super::words::{Sentence, Token, tokens};
use super::{Intent, Utterance, says_something, sentences};

static AUXILIARY_START: Words = Words::new("auxiliaries that ask");
static COMMANDS: Words = Words::new("commands");
static RECALL_REQUESTS: Patterns = Patterns::new("recall requests");
static REQUESTS: Patterns = Patterns::new("requests");
static RHETORICAL: Patterns = Patterns::new("rhetorical questions");
static WRITING: Words = Words::new("writing");
static WISHES: Patterns = Patterns::new("wishes");
static SUBJECTS_OF_QUESTIONS: Words = Words::new("subjects of questions");

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
        if asked_to_remind(sentence).is_some() {
            told = true;
        } else if is_rhetorical(&words) {
            // Asks nobody.
        } else if is_recall_request(&words) {
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
    if told && tells_something(head) {
        return Intent::Statement;
    }
    match (thanked, greeted) {
        (true, _) => Intent::Thanks,
        (_, true) => Intent::Greeting,
        _ => Intent::Other,
    }
}

fn tells_something(text: &str) -> bool {
    says_something(&Utterance {
        message: crate::memory::MessageId(0),
        role: crate::memory::Role::User,
        speaker: "The user".into(),
        addressee: None,
        text: text.to_owned(),
        at: jiff::civil::date(2000, 1, 3).at(12, 0, 0, 0),
    })
}

/// Whether a message is a request and nothing more: "Write a note to my landlord." tells nothing of anybody; "Forget Lantern,
/// I'm calling it Firefly." does.
pub fn only_requests(text: &str) -> bool {
    const PAUSES: [char; 8] = [',', ';', ':', '.', '!', '?', '–', '\n'];
    let text = lexicon::clip(text, 4_000);
    let tells_of_self = || {
        text.split(PAUSES).skip(1).any(|clause| {
            let first = clause.split_whitespace().next().unwrap_or_default().to_lowercase();
            matches!(
                first.replace('\u{2019}', "'").as_str(),
                "i" | "i'm" | "i've" | "i'd" | "im" | "we" | "we're" | "my" | "our"
            )
        })
    };
    intent(text) == Intent::Request && !tells_of_self() && !tells_something(text)
}

/// "Where did the time go": asks nobody.
fn is_rhetorical(words: &[Token]) -> bool {
    RHETORICAL.match_any(&words.lower_words())
}

/// Asks something, with or without a question mark.
pub(super) fn is_question(words: &[Token], sentence: &str) -> bool {
    let marks = sentence.trim_end_matches(|c: char| {
        c.is_whitespace()
            || matches!(c, '"' | '”' | '’' | ')' | '*')
            || super::sentences::is_emoji(c)
    });
    let end = &marks[marks.trim_end_matches(['?', '!', '.', '？']).len()..];
    if end.contains(['?', '？']) {
        return true;
    }
    let Some(first) = words.first() else { return false };
    let second = words.get(1);
    let next = |lowers: &[&str]| second.is_some_and(|t| t.among(lowers));
    match first.lower.as_str() {
        "what's" | "whats" | "where's" | "wheres" | "who's" | "whos" | "how's" | "hows"
        | "when's" => true,
        "what" | "where" | "who" | "whose" | "which" | "why" | "how" | "when" | "whom" => {
            second.map_or(sentence.len() < 12, |second| asks_for(first, second, words))
        }
        "have" | "had" | "do" if next(&["the", "this", "my", "that"]) => false,
        lower if AUXILIARY_START.has(lower) => {
            second.is_some_and(|t| t.within(&SUBJECTS_OF_QUESTIONS) || t.upper())
        }
        _ => false,
    }
}

/// "What is …", but not "What I love is …", "Where we live …", "When I was young …".
fn asks_for(first: &Token, second: &Token, words: &[Token]) -> bool {
    if second.among(&["a", "an"]) {
        return false;
    }
    if second.within(&AUXILIARY_START) || lexicon::MODALS.has(&second.lower) {
        return true;
    }
    // "How many tiers", but not "How much I love it"
    let measures = first.is("how") && second.among(&["many", "much", "often", "old", "far"]);
    let of_somebody =
        || words.iter().any(|t| t.among(&["i", "you", "he", "she", "it", "we", "they"]));
    if measures && words.len() <= 4 && !of_somebody() {
        return true;
    }
    !first.among(&["when", "where", "whom"])
        && (first.among(&["who", "which"]) && second.word
            || !second.among(&["i", "we", "you", "they", "he", "she", "it", "my"])
                && words.iter().skip(2).take(5).any(|t| t.within(&AUXILIARY_START)))
}

/// Whether it asks for a text: "Write a get-well message for my mother."
pub fn asks_to_write(text: &str) -> bool {
    super::sentences(lexicon::clip(text, 2_000)).iter().any(|sentence| {
        let words = strip_opening(&tokens(sentence));
        let polite = words.first().is_some_and(|t| t.among(&["can", "could", "would", "will"]));
        let verb = words
            .iter()
            .skip(if polite { 2 } else { 0 })
            .find(|t| !t.among(&["please", "you", "me"]));
        verb.is_some_and(|t| t.within(&WRITING))
    })
}

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
        ["have", ..] => WISHES.match_any(&lower),
        // "Plan to see Rome in May."
        ["plan", "to", ..] | ["pick", "up", ..] => false,
        _ if REQUESTS.match_any(&lower) => true,
        // "Run some code please"
        [first, .., "please"] if lexicon::is_base_verb(first) => true,
        [first, second, ..] => {
            COMMANDS.has(first)
                && !(lexicon::AUXILIARIES.has(second)
                    && !matches!(*first, "don't" | "please" | "let's"))
        }
        [one] => COMMANDS.has(one),
        [] => false,
    }
}

/// "Tell me what you know about Max", "remind me where I live": a question in the form of a command.
pub(super) fn is_recall_request(words: &[Token]) -> bool {
    let lower: Vec<&str> = words
        .iter()
        .map(|t| t.lower.as_str())
        .filter(|w| !matches!(*w, "again" | "now" | "please"))
        .collect();
    RECALL_REQUESTS.match_any(&lower)
        || matches!(lower.as_slice(), ["tell" | "remind", "me", "about" | "of", ..])
            && words.iter().skip(3).any(|t| t.upper() && t.word)
}
