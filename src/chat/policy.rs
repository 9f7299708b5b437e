//! How a message is answered (pure): by quoting memory, by acknowledging, or by the model.
//!
//! A tiny model invents; so where the reader is extractive, everything that touches memory is said
//! by the rules of `extractive`, and the model speaks only where there is nothing to remember.

use unicode_segmentation::UnicodeSegmentation;

use crate::chat::machine::{Kind, Line};
use crate::extractive::{self, Candidate, Intent};
use crate::memory::{MessageId, Moment, Role, plain_text};

/// Who reads the evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// Rules quote it.
    Extractive,
    /// The model reads it and answers.
    Generative,
}

/// How a turn is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plan {
    /// Recall, then quote the best evidence.
    Quote,
    /// Say back what will be remembered.
    Acknowledge,
    /// The model says something, without memories.
    SmallTalk,
    /// Recall, then the model answers with the evidence in its prompt.
    Converse,
}

/// Rules look at so much of a message; a pasted book is still kept whole.
const RULES_BYTES_MAX: usize = 16_000;
/// A title is at most this long.
const TITLE_CELLS: usize = 60;

fn head(text: &str) -> &str {
    let mut end = text.len().min(RULES_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// See [`Plan`].
#[must_use]
pub fn plan(reader: Reader, kind: Kind, text: &str) -> Plan {
    match (kind, reader) {
        (Kind::Remember, _) => Plan::Acknowledge,
        (Kind::Chat, Reader::Generative) => Plan::Converse,
        (Kind::Chat, Reader::Extractive) => match extractive::intent(head(text)) {
            Intent::Question if extractive::asks_assistant(head(text)) => Plan::SmallTalk,
            Intent::Question => Plan::Quote,
            Intent::Statement => Plan::Acknowledge,
            Intent::Greeting | Intent::Thanks | Intent::Request | Intent::Other => Plan::SmallTalk,
        },
    }
}

/// Earlier messages that a pronoun may point back to.
const N_EARLIER: usize = 4;

/// What was understood and will be remembered; `None` if the rules find nothing to hold on to.
#[must_use]
pub fn acknowledge(
    text: &str,
    earlier: &[Line],
    at: Option<Moment>,
    user_name: Option<&str>,
) -> Option<String> {
    const THIS: MessageId = MessageId(0);
    let at = at?.civil();
    let mut mine: Vec<(MessageId, &str)> = earlier
        .iter()
        .rev()
        .filter(|line| line.role == Role::User)
        .take(N_EARLIER)
        .enumerate()
        .map(|(n, line)| (MessageId(-1 - n as i64), line.text.as_str()))
        .collect();
    mine.reverse();
    mine.push((THIS, text));
    let utterances: Vec<_> = mine
        .into_iter()
        .map(|(message, text)| extractive::Utterance {
            message,
            role: Role::User,
            speaker: user_name.unwrap_or("The user").to_owned(),
            addressee: None,
            text: head(text).to_owned(),
            at,
        })
        .collect();
    let mut statements = extractive::statements(&utterances);
    statements.retain(|s| s.messages.contains(&THIS));
    if statements.is_empty() {
        return None;
    }
    Some(extractive::acknowledge(&statements, user_name))
}

/// An answer made of evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quote {
    pub text: String,
    pub cited: Cited,
}

/// What a reply quotes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cited {
    /// Messages of the open chat.
    pub from_chat: Vec<MessageId>,
    /// Recalled texts, where the rules answered; `None` where a model did, whose words may come
    /// from anything in its prompt.
    pub recalled: Option<Vec<String>>,
}

/// Messages of the open chat that the rules read, as a model would read its window.
const N_WINDOW: usize = 60;
/// What was just said counts as much as a fair memory: it is about this chat, but not chosen.
const WINDOW_RELEVANCE: f64 = 0.5;

/// The answer made of evidence, or that there is none. `earlier` is the open chat: what was said a
/// minute ago need not have settled into memory yet.
#[must_use]
pub fn quote(
    question: &str,
    mut candidates: Vec<Candidate>,
    earlier: &[Line],
    at: Option<Moment>,
    user_name: Option<&str>,
    starter: bool,
) -> Quote {
    let today = at.map(|at| at.civil()).unwrap_or_default();
    let n_recalled = candidates.len();
    let mut from = Vec::new();
    for line in earlier.iter().rev().filter(|l| l.role == Role::User).take(N_WINDOW) {
        // Recall may have found it already.
        if candidates.iter().any(|c| c.text.trim() == line.text.trim()) {
            continue;
        }
        candidates.push(Candidate {
            text: head(&line.text).to_owned(),
            relevance: WINDOW_RELEVANCE,
            at: line.at.civil(),
            raw_speaker: Some(user_name.unwrap_or("The user").to_owned()),
            superseded: false,
            answers: None,
        });
        from.push(line.id);
    }
    if let Some(answer) = extractive::answer(head(question), &candidates, today, user_name) {
        let mut cited = Cited { from_chat: Vec::new(), recalled: Some(Vec::new()) };
        for index in answer.cited {
            if let Some(index) = index.checked_sub(n_recalled) {
                cited.from_chat.extend(from.get(index).copied());
            } else {
                let text = candidates.get(index).map(|c| c.text.clone());
                cited.recalled.get_or_insert_default().extend(text);
            }
        }
        return Quote { text: answer.text, cited };
    }
    let text = if starter {
        "I have no memory of that. (I am the built-in starter: I can only tell what you told me.)"
    } else {
        "I have no memory of that."
    };
    Quote { text: text.into(), cited: Cited { from_chat: Vec::new(), recalled: Some(Vec::new()) } }
}

/// A session's title: the first line of its first message, cut at a word.
#[must_use]
pub fn title_of(text: &str) -> String {
    let clean = plain_text(head(text));
    let line = clean.lines().map(str::trim).find(|l| !l.is_empty()).unwrap_or("Chat");
    let line = line.trim_start_matches(['#', '>', '-', '*', ' ']).trim();
    let line = if line.is_empty() { "Chat" } else { line };
    let mut out = String::new();
    for word in line.split_whitespace() {
        let more = out.graphemes(true).count() + word.graphemes(true).count() + 1;
        if more > TITLE_CELLS {
            if out.is_empty() {
                out = word.graphemes(true).take(TITLE_CELLS - 1).collect();
            }
            out.push('…');
            return out;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_one_short_clean_line() {
        #[track_caller]
        fn check(text: &str, title: &str) {
            assert_eq!(title_of(text), title);
        }
        check("I moved to Lund", "I moved to Lund");
        check("\n\n## Heading\nmore", "Heading");
        check("a\u{1b}[31mb\tc", "ab c");
        check("   ", "Chat");
        check("---", "Chat");
        check(&"word ".repeat(30), &format!("{}…", "word ".repeat(12).trim_end()));
        assert_eq!(title_of(&"x".repeat(500)).chars().count(), TITLE_CELLS);
    }

    #[test]
    fn what_was_just_said_is_evidence() {
        let at =
            crate::interfaces::Clock::now(&crate::testing::ManualClock::at("2026-11-21T10:00:00Z"));
        let line =
            |id, text: &str| Line { id: MessageId(id), role: Role::User, text: text.into(), at };
        let earlier = [line(1, "I moved to Lund last week."), line(3, "I have a dog named Max.")];
        let quote = quote("Where do I live?", Vec::new(), &earlier, Some(at), None, true);
        assert!(quote.text.contains("Lund"), "{quote:?}");
        assert_eq!(quote.cited.from_chat, [MessageId(1)]);
        let quote = super::quote("What is my job?", Vec::new(), &earlier, Some(at), None, true);
        assert!(quote.text.starts_with("I have no memory of that."), "{quote:?}");
        assert_eq!(quote.cited, Cited { from_chat: Vec::new(), recalled: Some(Vec::new()) });
    }

    #[test]
    fn acknowledging_understands_what_went_before() {
        let at =
            crate::interfaces::Clock::now(&crate::testing::ManualClock::at("2026-11-21T10:00:00Z"));
        let earlier = [Line {
            id: MessageId(1),
            role: Role::User,
            text: "I have a dog named Max.".into(),
            at,
        }];
        let text =
            acknowledge("He is a Labrador mix.", &earlier, Some(at), None).unwrap_or_default();
        assert!(text.contains("Max") && text.contains("Labrador"), "{text}");
        assert!(!text.contains("have a dog"), "only what is new: {text}");
    }

    #[test]
    fn a_generative_reader_always_recalls() {
        for text in ["Hi!", "I like tea.", "What do I like?"] {
            assert_eq!(plan(Reader::Generative, Kind::Chat, text), Plan::Converse);
        }
        assert_eq!(plan(Reader::Generative, Kind::Remember, "Why not?"), Plan::Acknowledge);
    }

    #[test]
    fn an_extractive_reader_goes_by_what_the_message_wants() {
        let check = |text: &str, expected| {
            assert_eq!(plan(Reader::Extractive, Kind::Chat, text), expected, "{text}");
        };
        check("Where do I live?", Plan::Quote);
        check("I moved to Lund last week.", Plan::Acknowledge);
        check("Hello!", Plan::SmallTalk);
        check("Thanks a lot", Plan::SmallTalk);
    }
}
