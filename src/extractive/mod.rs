//! Writing and reading memory without generation: rules over text, pure.
//!
//! A small model makes things up; memory must not. Everything here returns the person's own words, in
//! the third person and with absolute dates, or nothing. The rules are for English; text in other
//! languages is quoted verbatim. The word lists, tables and patterns are in `assets/words/`. The
//! module knows nothing of models, vectors or SQLite.

#![expect(
    clippy::match_same_arms,
    clippy::nonminimal_bool,
    reason = "tables of phrases and conditions, one a line, as a reader would say them"
)]

mod about;
mod advice;
mod answer;
mod antecedents;
mod attributes;
mod boundary;
mod calendar;
mod changes;
mod clauses;
mod clock;
mod countdown;
mod dates;
mod evidence;
mod facts;
mod forgetting;
mod fragments;
mod grounded;
mod instructing;
mod intent;
mod judge;
mod language;
mod lexicon;
mod lists;
mod memorable;
mod names;
mod newest;
mod openings;
mod patterns;
mod person;
mod planning;
mod predicates;
mod question;
mod reading;
mod repairs;
mod retelling;
mod scoring;
mod second_person;
mod sentences;
mod since;
mod small_talk;
mod spans;
mod statements;
mod titles;
mod untrue;
mod values;
mod wants;
mod words;

use jiff::civil::DateTime;

use crate::memory::{MessageId, Origin, Role};

pub use about::{About, Names, Plan};
pub use advice::{Heeded, asks_advice, asks_to_take_medicine, heeded};
pub use answer::{HEDGE, answer, answer_by};
pub use attributes::parse_statement;
pub use boundary::changes_topic;
pub use changes::{as_user, remainder, takes_back};
pub use clock::by_clock;
pub use dates::dated;
pub use evidence::refuted;
pub use forgetting::{asked_to_forget, meant};
pub use grounded::{Ungrounded, grounded};
pub use instructing::instructs;
pub use intent::{asks_to_write, intent, only_requests};
pub use judge::judge;
pub use language::is_foreign;
pub use lexicon::{capitalise, content_stems};
pub use memorable::memorable;
pub use names::user_name;
pub use planning::{
    asks_if_free, asks_if_possible, asks_to_be_reminded, asks_what_is_on, what_is_on,
};
pub use question::{asks_twice, misses_when, told_with};
pub use reading::{REMINDER, is_from_rules, reminder, without_reminder};
pub use retelling::{as_fact, asked_by, in_own_words, is_of_speaker, retold};
pub use second_person::{acknowledge, is_acknowledgement, said_to, to_second_person};
pub use sentences::sentences;
pub use since::{NEAREST, Odds, SINCE, nearest, told_since};
pub use small_talk::{asks_assistant, spelled_out, with_feeling};
pub use spans::{Found, Words, in_words, readable};
pub use statements::{says_something, statements, statements_after, tells_something};
pub use titles::{narrative, theme_name, title};
pub use wants::{
    OF_SOMEBODY, Wants, asks_of_kin, asks_of_own_elsewhere, asks_what_is_known, asks_who,
    no_small_talk, points_back, wants,
};

/// The person, while their name is unknown; in the third person, so that facts read well.
pub const THE_USER: &str = "The user";

/// A statement's words and their kinds, for callers that parse it in another way.
pub mod syntax {
    pub use super::attributes::{main_verb, strip_adverbial};
    pub use super::lexicon::{helps, is_adverb, is_base_verb, is_participle};
    pub use super::words::{Token, join, tokens};
}

/// One message as the rules see it.
#[derive(Debug, Clone)]
pub struct Utterance {
    /// Its id; a [`Statement`] names the messages that it comes from.
    pub message: MessageId,
    /// Who speaks: no statements are made of the assistant's words.
    pub role: Role,
    /// The name that third-person text uses: "Caroline", "Ana", or "The user" while unknown.
    pub speaker: String,
    /// The other party's name ("Melanie"; `None` for the assistant): resolves "you".
    pub addressee: Option<String>,
    /// What was said.
    pub text: String,
    /// Wall clock.
    pub at: DateTime,
}

/// A fact in the third person, with the messages that it comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// "Ana moved to Lund (week of 9 November 2026)".
    pub text: String,
    /// "Ana", "Max".
    pub subject: Option<String>,
    /// Normalised attribute for conflicts: "home", "breed", "age", "job", …
    pub attribute: Option<String>,
    /// The attribute's value as said: "Lund", "Labrador mix".
    pub value: Option<String>,
    /// The messages that say it.
    pub messages: Vec<MessageId>,
}

/// What a user's message wants: decides how an extractive reader replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intent {
    /// Asks for something that may be remembered.
    Question,
    /// Tells something.
    Statement,
    /// "Hello"
    Greeting,
    /// "Thank you"
    Thanks,
    /// "Write me a poem"
    Request,
    /// Small talk, noise.
    Other,
}

/// Two facts, the earlier and the later, judged.
#[derive(Debug, Clone, PartialEq)]
pub enum Judgement {
    /// Both can be true.
    KeepBoth,
    /// The later takes the earlier's place.
    Supersedes,
    /// Both say the same thing: one text keeps what either says.
    Merge(String),
}

/// Evidence offered to the extractive reader.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// A message, a fact or an episode.
    pub text: String,
    /// Relevance in [0, 1] from recall.
    pub relevance: f64,
    /// When it was said.
    pub at: DateTime,
    /// Who said it, if it is a raw message (first person); `None` for third-person text.
    pub raw_speaker: Option<String>,
    /// A later fact took its place.
    pub superseded: bool,
    /// Whose word it is: nothing that is lower takes it back.
    pub origin: Origin,
    /// The probability in [0, 1] that it answers, from a reranker that read it with the question;
    /// `None` if no reranker read it.
    pub answers: Option<f64>,
}

/// A question, an earlier text and later ones → for each later one, the probability in [0, 1] that it changes the
/// answer. Below [`CHANGE_MIN`] it need not be exact. An empty list says nothing about any of them.
pub type Changed<'a> = dyn Fn(&str, &str, &[&str]) -> Vec<f64> + 'a;

/// A change less probable than this does not count.
pub const CHANGE_MIN: f64 = 0.5;

/// An answer made of evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct ExtractiveAnswer {
    /// "You moved to Lund in the week of 9 November 2026. (said on 16 November 2026)"
    pub text: String,
    /// Indices of the candidates quoted.
    pub cited: Vec<usize>,
    /// Whether the rules find that it meets the question; if not, it is offered as possibly related.
    pub sure: bool,
}

impl ExtractiveAnswer {
    /// The words that answer above what was told.
    #[must_use]
    pub fn below(mut self, words: Option<&str>) -> Self {
        if let Some(words) = words {
            self.text = format!("{words}.\n\n{}", self.text);
        }
        self
    }
}

/// Compiles a constant pattern.
fn pattern(pattern: &str) -> regex::Regex {
    #[expect(clippy::expect_used, reason = "constant patterns, compiled in the tests")]
    regex::Regex::new(pattern).expect("a constant pattern")
}

#[cfg(test)]
#[expect(clippy::print_stderr, reason = "tests say what they skip and measure")]
mod tests;
