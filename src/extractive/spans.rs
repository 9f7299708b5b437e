//! An answer in the words of what was told: those that the encoder finds in it, above the sentence that they stand in.

use std::collections::HashSet;
use std::ops::Range;

use jiff::civil::DateTime;

use super::answer::known_names;
use super::evidence::{collect, is_person, source_mark};
use super::lexicon::{capitalise, clip};
use super::newest::Sources;
use super::person::{Parties, third_person};
use super::question::{Kind, analyse, two_questions};
use super::second_person::to_second_person;
use super::words::{join, tokens};
use super::{
    Candidate, Changed, ExtractiveAnswer, Intent, THE_USER, dates, intent, reading, sentences,
};

/// The words of a candidate that answer a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Its index.
    pub candidate: usize,
    /// Bytes of its text.
    pub bytes: Range<usize>,
    /// The logarithm of how much likelier they are than that the text has no answer.
    pub log_odds: f64,
}

/// What reading for words came to.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Words {
    /// Nothing was read.
    #[default]
    Unread,
    /// They answer.
    Answer(Found),
    /// No text has an answer.
    None,
}

impl Words {
    /// Of the words of each text that was read.
    pub fn of(found: Vec<Found>) -> Self {
        /// Of 293 questions of strangers about what they told, 280 are from here on, 229 of them with the right words and 254 in
        /// the right text, and 16 of 46 about what was never told.
        const ANSWER_MIN: f64 = -2.0;
        match found.into_iter().max_by(|a, b| a.log_odds.total_cmp(&b.log_odds)) {
            Some(best) if best.log_odds >= ANSWER_MIN => Self::Answer(best),
            Some(_) => Self::None,
            None => Self::Unread,
        }
    }
}

/// Of a longer text only the beginning is read.
const READ_BYTES: usize = 2_000;

/// The candidates in which words may be found that answer, the likeliest first, each with what is read of it; none for a
/// question that wants yes or no, a list or advice.
pub fn readable<'a>(
    question: &str,
    candidates: &'a [Candidate],
    now: DateTime,
    person: Option<&str>,
) -> Vec<(usize, &'a str)> {
    /// Each takes some 5 ms on two cores.
    const N_MAX: usize = 12;
    let asked = analyse(question, now, person, &HashSet::new());
    let is_command = intent(question) == Intent::Request && !question.trim_end().ends_with('?');
    let wants_more = matches!(asked.kind, Kind::YesNo | Kind::List) || asked.advice;
    if is_command || wants_more || two_questions(question).is_some() {
        return Vec::new();
    }
    let may_answer = |c: &Candidate| {
        (asked.past || !c.superseded) && !c.text.trim().is_empty() && !reading::is_question(c)
    };
    let mut read: Vec<(usize, &Candidate)> =
        candidates.iter().enumerate().filter(|(_, c)| may_answer(c)).collect();
    read.sort_by(|(_, a), (_, b)| b.answers.unwrap_or(-1.0).total_cmp(&a.answers.unwrap_or(-1.0)));
    read.truncate(N_MAX);
    read.into_iter().map(|(i, c)| (i, clip(&c.text, READ_BYTES))).collect()
}

/// The words that were found, as they are said to the person, and the sentence that they stand in; or what was told since in its
/// place. Where they are hardly likelier than that nothing answers, what was told alone, with a hedge.
pub fn in_words(
    question: &str,
    candidates: &[Candidate],
    found: &Found,
    now: DateTime,
    person: Option<&str>,
    changed: &Changed<'_>,
) -> (Option<String>, ExtractiveAnswer) {
    /// Words that make up more of a sentence say no more than it does.
    const SHARE_MAX: f64 = 0.6;
    /// Of the 61 of those questions below, 39 have the right words and 50 the right text; beside 9 that were never told.
    const SURE_MIN: f64 = 2.0;
    let index = found.candidate;
    let source = &candidates[index];
    let evidence = collect(candidates, person);
    let sources = Sources { candidates, evidence: &evidence, changed, person };
    let asked = analyse(question, now, person, &known_names(&evidence));
    let sentence = around(&source.text, &found.bytes);
    if let Some(newer) = sources.newer(&asked, index, sentence) {
        return (None, newer.quote(candidates, true, person));
    }
    let mark = source_mark(candidates, source.origin);
    if found.log_odds < SURE_MIN {
        return (None, reading::quote(source, index, false, person, mark));
    }
    let told = Candidate { text: sentence.to_owned(), ..source.clone() };
    let quoted = reading::quote(&told, index, true, person, mark);
    let words = source.text[found.bytes.clone()].trim_matches(|c: char| !c.is_alphanumeric());
    if words.is_empty() || words.len() as f64 > SHARE_MAX * sentence.len() as f64 {
        return (None, quoted);
    }
    let mut words = said_back(words, source, person);
    if asked.kind == Kind::When {
        words = dates::dated(&words, source.at);
    }
    (Some(capitalise(&words)), quoted)
}

/// The sentence, or sentences, of a text that these bytes stand in.
fn around<'a>(text: &'a str, bytes: &Range<usize>) -> &'a str {
    let mut at = 0;
    let (mut start, mut end) = (None, text.len());
    for sentence in sentences(text) {
        let Some(found) = text[at..].find(sentence) else { continue };
        let from = at + found;
        at = from + sentence.len();
        if at > bytes.start && start.is_none() {
            start = Some(from);
        }
        if at >= bytes.end {
            end = at;
            break;
        }
    }
    &text[start.unwrap_or(0)..end]
}

/// Words of a text as they are said to the person: "my niece Saoirse" → "your niece Saoirse".
fn said_back(words: &str, source: &Candidate, person: Option<&str>) -> String {
    match source.raw_speaker.as_deref() {
        None => to_second_person(words, person),
        Some(speaker) if is_person(speaker, person) => {
            let parties = Parties { speaker: THE_USER, addressee: Some("the assistant") };
            let told = third_person(&tokens(words), parties);
            told.map_or_else(|| words.to_owned(), |told| to_second_person(&join(&told), None))
        }
        Some(_) => words.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::super::HEDGE;
    use super::super::tests::evidence;
    use super::*;

    const TOLD: &str = "my niece saoirse starts college in galway on monday. The dog was sick.";

    fn now() -> DateTime {
        date(2026, 11, 29).at(10, 0, 0, 0)
    }

    fn said(text: &str) -> Candidate {
        let at = date(2026, 11, 20).at(10, 0, 0, 0);
        Candidate { raw_speaker: Some(THE_USER.into()), ..evidence(text, at) }
    }

    fn answered(question: &str, candidate: &Candidate, words: &str) -> String {
        answered_with(question, candidate, words, 5.0)
    }

    fn answered_with(question: &str, candidate: &Candidate, words: &str, log_odds: f64) -> String {
        let at = candidate.text.find(words).unwrap();
        let found = Found { candidate: 0, bytes: at..at + words.len(), log_odds };
        let all = [candidate.clone()];
        let (words, told) = in_words(question, &all, &found, now(), None, &|_, _, _| Vec::new());
        told.below(words.as_deref()).text
    }

    #[test]
    fn words_are_said_to_the_person_above_their_sentence() {
        let told = said(TOLD);
        let quoted =
            "“my niece saoirse starts college in galway on monday.” (you said on 20 November 2026)";
        let answer = answered("Who is going to Galway?", &told, "my niece saoirse");
        assert_eq!(answer, format!("Your niece saoirse.\n\n{quoted}"));
        let answer = answered("When does she start?", &told, "on monday");
        assert_eq!(answer, format!("On Monday 23 November 2026.\n\n{quoted}"));
        // A fact, and words that are nearly all of it.
        let fact = evidence("The user's niece Saoirse lives in Galway", told.at);
        let answer = answered("Where does Saoirse live?", &fact, "in Galway");
        assert_eq!(
            answer,
            "In Galway.\n\nYour niece Saoirse lives in Galway. (said on 20 November 2026)"
        );
        let answer = answered("Who was ill?", &said("The dog was sick."), "The dog was sick");
        assert_eq!(answer, "“The dog was sick.” (you said on 20 November 2026)");
        // Hardly likelier than nothing: all of it, and none of the words alone.
        let answer = answered_with("Who is in Galway?", &told, "my niece saoirse", 0.5);
        assert!(answer.starts_with(HEDGE) && answer.contains("The dog was sick."), "{answer}");
        assert!(!answer.contains("Your niece"), "{answer}");
    }

    #[test]
    fn words_over_the_end_of_a_sentence_are_quoted_with_both() {
        let both = around(TOLD, &(45..60));
        assert_eq!(both, TOLD);
        assert_eq!(around(TOLD, &(60..64)), "The dog was sick.");
    }

    #[test]
    fn what_may_answer_is_read_the_likeliest_first() {
        let likely = |text, answers| Candidate { answers: Some(answers), ..said(text) };
        let gone = Candidate { superseded: true, ..likely("I live in Bern", 0.9) };
        let own = likely("Where do I live?", 0.8);
        let all = [likely("I like tea.", 0.1), likely("I live in Lund.", 0.7), gone, own];
        let read = |question| -> Vec<usize> {
            readable(question, &all, now(), None).into_iter().map(|(i, _)| i).collect()
        };
        assert_eq!(read("Where do I live?"), [1, 0]);
        assert_eq!(read("Where did I live before?"), [2, 1, 0]);
        for other in ["Do I live in Lund?", "Write a poem about Lund.", "What should I cook?"] {
            assert!(read(other).is_empty(), "{other}");
        }
    }
}
