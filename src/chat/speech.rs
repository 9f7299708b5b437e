//! What a model says, as the person may read it: sentence by sentence, in the right grammatical person, and
//! with nothing from memory that the evidence does not support.
//!
//! Small models speak as the person whose notes they read. An answer from memory is therefore asked for in
//! the third person ([`crate::extractive::asked_by`]) and said to the person in the second.

use std::collections::VecDeque;

use jiff::civil::DateTime;

use crate::chat::stream::{end_of_sentence, goes_in_circles};
use crate::extractive::{
    THE_USER, Ungrounded, asked_by, capitalise, grounded, is_of_speaker, misses_when,
    to_second_person,
};
use crate::memory::{lexical, plain_text};
use crate::prompts::Answer;

/// What a reply is checked against.
#[derive(Debug, Clone, PartialEq)]
pub enum Listener {
    /// Nothing: a text or an answer about the world may be in the first person.
    World,
    /// The reply to something told or to small talk: it must not echo the person's own "I".
    Told {
        /// What the person said.
        message: String,
    },
    /// Somebody who asked for what memory does not have: one sentence that says so.
    Unanswered {
        /// What was asked, with all names that may be said.
        question: String,
        /// The current date and time.
        at: DateTime,
    },
    /// An answer from memories.
    Memory {
        /// What was asked.
        question: String,
        /// The texts that it may rest on.
        sources: Vec<String>,
        /// The current date and time.
        at: DateTime,
        /// Whether the message is a task, which may bring in what no memory says.
        is_task: bool,
    },
}

/// A reply on its way to the person.
#[derive(Debug)]
pub struct Speech {
    listener: Listener,
    /// The person's name, if it is known.
    name: Option<String>,
    held: String,
    /// How many bytes of `held` are said already.
    n_said: usize,
    /// The last sentences of an answer about the world, to notice when a small model goes in circles.
    last: VecDeque<String>,
    is_code: bool,
    n_sentences: usize,
    /// An answer about the world is past what it may begin with.
    has_begun: bool,
    is_over: bool,
    is_refused: bool,
}

/// The most sentences of a reply to something told or of an answer from memory: a small model that goes on
/// makes things up, or reads all its notes aloud. A task has no such limit.
const SENTENCES_MAX: usize = 2;

/// How far back a repeated sentence is noticed, if it has at least so many words.
const N_LAST: usize = 12;
const LONG_WORDS: usize = 8;

impl Speech {
    pub fn new(listener: Listener, name: Option<String>) -> Self {
        Self {
            listener,
            name,
            held: String::new(),
            n_said: 0,
            last: VecDeque::new(),
            is_code: false,
            n_sentences: 0,
            has_begun: false,
            is_over: false,
            is_refused: false,
        }
    }

    /// Nothing more is to be said: the model can stop.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// The memories do not support even the first sentence: nothing was said.
    pub fn is_refused(&self) -> bool {
        self.is_refused
    }

    /// The text that can be said now.
    pub fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        let mut said = String::new();
        if self.listener == Listener::World {
            if !self.has_begun && self.is_preface() {
                return said;
            }
            while let Some(end) = end_of_sentence(&self.held) {
                said += &self.without_repetition(end);
            }
            self.is_over |= !self.is_code && goes_in_circles(&self.held);
            let rest = self.held.trim_start();
            let may_repeat =
                !rest.is_empty() && self.last.iter().any(|last| last.starts_with(unnumbered(rest)));
            if !may_repeat && !self.is_over {
                said += &self.held[self.n_said..];
                self.n_said = self.held.len();
            }
            return said;
        }
        while let Some(end) = end_of_sentence(&self.held) {
            let sentence: String = self.held.drain(..end).collect();
            said += &self.sentence(&sentence);
        }
        said
    }

    /// Whether the reply begins with where it is from ("Based on the notes, ") or with what it is; what is over of that is dropped.
    fn is_preface(&mut self) -> bool {
        const BYTES_MAX: usize = 120;
        const ITSELF_BYTES_MAX: usize = 400;
        let begins = |opening: &&str| {
            let n = opening.len().min(self.held.len());
            self.held.as_bytes()[..n].eq_ignore_ascii_case(&opening.as_bytes()[..n])
        };
        if ["As an AI ", "I'm sorry, but as an AI "].iter().any(begins) {
            // "…, I have no preferences. However, I can suggest some books": a refusal stays as it is.
            let offer = self.held.find(" However, I can ");
            self.held.drain(..offer.map_or(0, |at| at + " However, ".len()));
            self.has_begun = offer.is_some() || self.held.len() > ITSELF_BYTES_MAX;
            return !self.has_begun;
        }
        if !["Based on the ", "According to the "].iter().any(begins) {
            self.has_begun = true;
            return false;
        }
        let Some((source, rest)) = self.held.split_once(", ").filter(|(_, rest)| !rest.is_empty())
        else {
            return self.held.len() < BYTES_MAX;
        };
        if ["notes", "memories", "information provided"].iter().any(|own| source.contains(own)) {
            self.held = capitalise(rest);
        }
        self.has_begun = true;
        false
    }

    /// What is left at the end of the reply.
    pub fn finish(&mut self) -> String {
        if self.listener == Listener::World {
            return self.without_repetition(self.held.len());
        }
        let rest = std::mem::take(&mut self.held);
        let said = self.sentence(&rest);
        // A model that says nothing at all did not answer either.
        self.is_refused |= !self.is_over && matches!(self.listener, Listener::Unanswered { .. });
        said
    }

    /// What is still to be said of the sentence that ends at this byte; nothing, from the point where a sentence of three words or
    /// more comes again at once, or a long one soon: the chorus of a song may. Lines of code may repeat.
    fn without_repetition(&mut self, end: usize) -> String {
        let sentence: String = self.held.drain(..end).collect();
        let n_said = std::mem::take(&mut self.n_said);
        let bare = sentence.trim();
        self.is_code ^= bare.starts_with("```");
        let n_words = bare.split_whitespace().count();
        let n_back = match n_words {
            ..3 => 0,
            3..LONG_WORDS => 2,
            _ => N_LAST,
        };
        let told = unnumbered(bare);
        let comes_again = self.last.iter().rev().take(n_back).any(|last| last == told);
        self.is_over |= comes_again && !self.is_code;
        if self.is_over {
            return String::new();
        }
        if !bare.is_empty() {
            self.last.push_back(told.to_owned());
            if self.last.len() > N_LAST {
                self.last.pop_front();
            }
        }
        sentence[n_said..].to_owned()
    }

    fn sentence(&mut self, sentence: &str) -> String {
        if self.is_over {
            return String::new();
        }
        if sentence.trim().is_empty() {
            return sentence.to_owned();
        }
        let sentence = &*plain_text(sentence);
        let person = self.name.as_deref().unwrap_or(THE_USER);
        let to_person = |text: &str| {
            let blanks = text.len() - text.trim_start().len();
            let text = to_second_person(text.trim_start(), self.name.as_deref());
            format!("{}{text}", &sentence[..blanks.min(sentence.len())])
        };
        let (text, is_short) = match &self.listener {
            Listener::World => (sentence.to_owned(), false),
            Listener::Told { message }
                if is_of_speaker(sentence)
                    && repeats(sentence, message)
                    // "I'm sorry you feel sad" is the model's own.
                    && (addresses(message) || !addresses(sentence)) =>
            {
                (to_person(&asked_by(person, sentence)), true)
            }
            Listener::Told { .. } => (sentence.to_owned(), true),
            Listener::Unanswered { question, at } => {
                self.is_over = true;
                self.is_refused = !is_refusal(sentence)
                    || !matches!(
                        grounded(sentence, &[question, person], *at),
                        Ok(()) | Err(Ungrounded::Words | Ungrounded::Empty)
                    );
                let said = if self.is_refused { "" } else { sentence.trim_end() };
                (said.to_owned(), true)
            }
            Listener::Memory { question, sources, at, is_task } => {
                let mut told = without_preface(sentence).to_owned();
                // Retold, "I don't know" would be the person's.
                let refuses = Answer.refuses(&told) || goes_in_circles(&told);
                if is_of_speaker(&told) {
                    told = asked_by(person, &told);
                }
                // "The cake is lemon and raspberry now" does not answer "When is the cake due?"
                let misses = || self.n_sentences == 0 && misses_when(question, &told);
                if refuses || !is_task && (misses() || !is_told(&told, sources, person, *at)) {
                    self.is_over = true;
                    self.is_refused = self.n_sentences == 0;
                    return String::new();
                }
                (to_person(&told), !is_task)
            }
        };
        self.n_sentences += 1;
        self.is_over |= is_short && self.n_sentences == SENTENCES_MAX;
        text
    }
}

/// "4. Peel it." without its number.
fn unnumbered(sentence: &str) -> &str {
    sentence.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ')' | ' '))
}

/// "You haven't told me your name yet.", "I can't look up the weather."
pub(super) fn is_refusal(sentence: &str) -> bool {
    let lower = sentence.trim_start().to_lowercase().replace('\u{2019}', "'");
    !lower.contains(" but ")
        && ["you haven't told me", "you have not told me", "i can't ", "i cannot ", "i don't know"]
            .iter()
            .any(|opening| lower.starts_with(opening))
}

/// Whether the sources support a sentence, and for each part of it one alone has all names, numbers and dates:
/// a note about Elise and one about a school in Ystad do not support "Elise's school is Ystad".
fn is_told(sentence: &str, sources: &[String], person: &str, at: DateTime) -> bool {
    let all: Vec<&str> = sources.iter().map(String::as_str).chain([person]).collect();
    let is_of_one = |part: &str| {
        sources.iter().any(|source| {
            matches!(
                grounded(part, &[source, person], at),
                Ok(()) | Err(Ungrounded::Words | Ungrounded::Empty)
            )
        })
    };
    let parts = || sentence.split(", ").flat_map(|part| part.split(" and "));
    // "On 26 April 2025." says nothing but a date, which a note has to have; that it is today proves nothing.
    let is_date = || {
        sentence.contains(|c: char| c.is_ascii_digit())
            && grounded(sentence, &all, DateTime::default()) == Err(Ungrounded::Empty)
    };
    (grounded(sentence, &all, at).is_ok() || is_date())
        && !gives_a_name_to_another(sentence, &all)
        && (is_of_one(sentence) || parts().all(is_of_one))
}

/// "The street you are moving to is Uppsala", where no source speaks of a street.
fn gives_a_name_to_another(sentence: &str, sources: &[&str]) -> bool {
    let words: Vec<&str> = sentence.split_whitespace().collect();
    let ["The", noun, rest @ ..] = words.as_slice() else { return false };
    let is_copula = |word: &&str| matches!(*word, "is" | "was" | "are" | "were");
    let value = rest.iter().rposition(is_copula).and_then(|at| rest.get(at + 1));
    if !value.is_some_and(|value| value.starts_with(char::is_uppercase)) {
        return false;
    }
    let noun = lexical::terms(noun);
    let is_known = sources.iter().any(|source| {
        let known = lexical::terms(source);
        noun.iter().all(|term| known.contains(term))
    });
    !is_known && !matches!(noun.as_slice(), [n] if ["name", "user"].contains(&n.as_str()))
}

/// Without "Based on the notes, " or "The assistant said: ".
fn without_preface(sentence: &str) -> &str {
    let mut trimmed = sentence.trim_start();
    for preface in ["The assistant said: ", "Noted: "] {
        trimmed = trimmed.strip_prefix(preface).unwrap_or(trimmed);
    }
    let prefaced =
        ["Based on ", "According to ", "From the notes"].iter().any(|p| trimmed.starts_with(p));
    match trimmed.split_once(", ") {
        Some((_, rest)) if prefaced => rest,
        _ if trimmed.len() < sentence.trim_start().len() => trimmed,
        _ => sentence,
    }
}

/// Whether it speaks to somebody: "you", "your".
fn addresses(text: &str) -> bool {
    let lower = text.to_lowercase();
    lower.split(|c: char| !c.is_alphanumeric()).any(|word| matches!(word, "you" | "your"))
}

/// Whether most words of the sentence are also in the message.
fn repeats(sentence: &str, message: &str) -> bool {
    let words = |text: &str| -> std::collections::BTreeSet<String> {
        lexical::terms(text).into_iter().collect()
    };
    let (said, told) = (words(sentence), words(message));
    !said.is_empty() && said.intersection(&told).count() * 2 > said.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn say(listener: Listener, reply: &str) -> (String, Speech) {
        let mut speech = Speech::new(listener, Some("Ana".into()));
        let mut said = String::new();
        for c in reply.chars() {
            said += &speech.push(&c.to_string());
        }
        said += &speech.finish();
        (said, speech)
    }

    fn memory(is_task: bool) -> Listener {
        Listener::Memory {
            question: String::new(),
            sources: vec!["Ana's sister Lena moved to Lund on 3 May 2026.".into()],
            at: jiff::civil::date(2026, 11, 23).at(9, 0, 0, 0),
            is_task,
        }
    }

    #[test]
    fn an_answer_is_said_to_the_person() {
        assert_eq!(say(memory(false), &format!("To {}", "his sister's ".repeat(40))).0, "");
        let (said, _) = say(memory(false), "Ana's sister is Lena. Lena moved to Lund.");
        assert_eq!(said, "Your sister is Lena. Lena moved to Lund.");
        assert_eq!(say(memory(false), "On 3 May 2026.").0, "On 3 May 2026.");
        for unsaid in ["On 4 May 2026.", "On 23 November 2026.", "No.", "You don't have any."] {
            assert!(say(memory(false), unsaid).1.is_refused(), "{unsaid}");
        }
        let (said, _) = say(memory(false), "My sister is Lena.");
        assert_eq!(said, "Your sister is Lena.");
    }

    #[test]
    fn what_no_memory_says_is_not_said() {
        // Retold, the last one would be "You don't know."
        for reply in
            ["Ana's sister is Britta. She is 42.", "The notes do not say.", "I don't know."]
        {
            let (said, speech) = say(memory(false), reply);
            assert!(said.is_empty() && speech.is_refused() && speech.is_over(), "{said}");
        }
        let (said, speech) = say(memory(false), "Ana's sister is Lena. She lives in Oslo.");
        assert_eq!(said.trim_end(), "Your sister is Lena.");
        assert!(speech.is_over() && !speech.is_refused());
        assert!(say(memory(true), "Ana could cook a Thai curry.").0.contains("Thai curry"));
    }

    #[test]
    fn what_two_memories_tell_is_not_put_together() {
        let notes = ["Ana's niece Elise plays the cello.", "Ana taught at the school in Ystad."];
        let heard = || Listener::Memory {
            question: String::new(),
            sources: notes.map(str::to_owned).to_vec(),
            at: jiff::civil::date(2026, 11, 23).at(9, 0, 0, 0),
            is_task: false,
        };
        assert_eq!(say(heard(), "Elise's school is Ystad.").0, "");
        let both = "Elise plays the cello and Ana taught in Ystad.";
        assert_eq!(say(heard(), both).0, "Elise plays the cello and you taught in Ystad.");
        assert_eq!(say(heard(), "The street you are going to is Ystad.").0, "");
        assert_eq!(say(heard(), "The niece is Elise.").0, "The niece is Elise.");
    }

    #[test]
    fn when_is_answered_by_when() {
        let heard = |question: &str| match memory(false) {
            Listener::Memory { sources, at, is_task, .. } => {
                Listener::Memory { question: question.into(), sources, at, is_task }
            }
            other => other,
        };
        let refused = |question, reply| say(heard(question), reply).1.is_refused();
        let when = "When did my sister move?";
        assert!(refused(when, "Ana's sister Lena moved to Lund."));
        assert!(!refused(when, "Lena moved in May."));
        assert!(!refused("Where did my sister move?", "Lena moved to Lund."));
    }

    #[test]
    fn nobody_speaks_as_the_person() {
        let told = || Listener::Told { message: "I moved to Lund last week.".into() };
        assert_eq!(say(told(), "I moved to Lund last week.").0, "You moved to Lund last week.");
        assert_eq!(say(told(), "I hope you like it!").0, "I hope you like it!");
        let sorry = "I'm sorry you moved to Lund last week.";
        assert_eq!(say(told(), sorry).0, sorry);
        assert_eq!(
            say(Listener::World, "I wandered lonely as a cloud.\n").0,
            "I wandered lonely as a cloud.\n"
        );
    }

    #[test]
    fn a_model_that_goes_in_circles_is_stopped() {
        let check = |reply: &str, expected: &str| {
            let (said, _) = say(Listener::World, reply);
            assert_eq!(said, expected);
        };
        check(
            "Good night. I'm glad to have you. I'm glad to have you. I'm glad",
            "Good night. I'm glad to have you. ",
        );
        check(
            "A sea of wonder,\nA sea of light,\nA sea of wonder,\n",
            "A sea of wonder,\nA sea of light,\n",
        );
        check("It is red. It is round.", "It is red. It is round.");
        let again = "Some of them are glazed, so you may need a crisper. Stir it. It is hot. ";
        check(&format!("{again}4. {again}"), again);
        let chorus = "Row your boat.\nGently down the stream.\nMerrily, merrily.\n";
        check(&chorus.repeat(2), &chorus.repeat(2));
        check("Ha ha! Ha ha! Well.", "Ha ha! Ha ha! Well.");
        check(
            "Based on the information in <memories>, you should cook fish.",
            "You should cook fish.",
        );
        check("According to the notes, yes.", "Yes.");
        check("Based on a book, and short.", "Based on a book, and short.");
        check(
            "According to the Bible, light was first.",
            "According to the Bible, light was first.",
        );
        check("Based on the", "Based on the");
        let itself = "As an AI model, I have no preferences.";
        let books = "I can suggest some: 1. \"Emma\"";
        check(&format!("{itself} However, {books}"), books);
        check(&format!("I'm sorry, but as an AI model, I can't. However, {books}"), books);
        for refusal in [itself, &format!("{itself} However, I can't."), "I'm sorry, but I can't."] {
            check(refusal, refusal);
        }
        let code = "```\nx = x + 1\nx = x + 1\n```\n";
        check(code, code);
    }

    #[test]
    fn where_memory_has_nothing_only_that_is_said() {
        let says = |reply: &str| {
            let question = "who is my dentist".into();
            let at = jiff::civil::date(2026, 11, 23).at(9, 0, 0, 0);
            let (said, speech) = say(Listener::Unanswered { question, at }, reply);
            (said.trim().to_owned(), speech.is_refused())
        };
        let no = "You haven't told me who your dentist is yet.";
        assert_eq!(says(no), (no.to_owned(), false));
        assert_eq!(says(&format!("{no} It is Lena Lind.")), (no.to_owned(), false));
        for yes in [
            "Your dentist is Lena Lind.",
            "I can't be sure, but it is Lena Lind.",
            "I don't know for sure, your dentist is Lena Lind.",
            "You haven't told me; it is Lena.",
            "",
        ] {
            assert_eq!(says(yes), (String::new(), true));
        }
    }
}
