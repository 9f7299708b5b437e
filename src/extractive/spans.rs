//! An answer in the words of what was told: those that the encoder finds in it, above the sentence that they stand in.

use std::collections::HashSet;
use std::ops::Range;

use jiff::civil::DateTime;

use super::answer::known_names;
use super::evidence::{collect, is_person, source_mark};
use super::lexicon::{self, capitalise, clip};
use super::newest::Sources;
use super::person::{Parties, third_person};
use super::question::{Kind, Question, analyse, two_questions};
use super::second_person::to_second_person;
use super::words::{join, tokens};
use super::{
    Candidate, Changed, ExtractiveAnswer, Intent, THE_USER, dates, intent, reading, sentences,
};
use crate::memory::relevance;

/// The words of a candidate that answer a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Its index.
    pub candidate: usize,
    /// Bytes of its text.
    pub bytes: Range<usize>,
    /// The probability, in [0, 1], that they answer.
    pub probability: f64,
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

/// Of 521 questions about what strangers told and four notebooks hold, 47 are below, 24 of them with the right text, and 133 of 186
/// about what they do not.
const ANSWER_MIN: f64 = 0.3;
/// From here on 342, 339 of them with the right text and 305 with the right words, and 19.
const SURE_MIN: f64 = 0.75;

impl Words {
    /// Of what was read: a candidate, the words of its text that answer best, and the logarithm of how much likelier they are
    /// than that it has no answer.
    ///
    /// Either one text answers or none does. How likely each is follows from these odds, from those of the reranker, from its
    /// length (a fact, being shorter, scores too well) and from how many were read (of many, one is likely by chance):
    /// multinomial logistic regression on 488 questions of strangers to two to twenty messages, and 219 to four notebooks of
    /// 40 that nothing was trained on, rounded (docs/log.md).
    pub fn of(found: Vec<(usize, Range<usize>, f64)>, candidates: &[Candidate]) -> Self {
        const BIAS: f64 = 0.7;
        const BY_WORDS: f64 = 0.2;
        const BY_RERANKER: f64 = 0.75;
        const LENGTH: f64 = 0.9;
        const N_READ: f64 = -1.5;
        /// Of the longest text that it was fitted on.
        const CHARACTERS_MAX: usize = 600;
        let weight = |(index, _, log_odds): &(usize, Range<usize>, f64)| {
            let Candidate { text, answers, .. } = &candidates[*index];
            let length = text.chars().count().clamp(1, CHARACTERS_MAX) as f64;
            let by_reranker = relevance::log_odds(answers.unwrap_or_default().max(1e-4));
            BY_WORDS * log_odds + BY_RERANKER * by_reranker + LENGTH * length.ln()
        };
        let mut weighed: Vec<_> = found.into_iter().map(|found| (weight(&found), found)).collect();
        weighed.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        // A message and a fact that was made of it are not two answers.
        let mut said = HashSet::new();
        weighed.retain(|(_, (index, ..))| said.insert(candidates[*index].at));
        let bias = BIAS + N_READ * (weighed.len().max(1) as f64).ln();
        let odds = |weight: f64| (bias + weight).exp();
        let total: f64 = 1.0 + weighed.iter().map(|(weight, _)| odds(*weight)).sum::<f64>();
        match weighed.into_iter().next() {
            None => Self::Unread,
            Some((weight, (candidate, bytes, _))) => {
                let probability = odds(weight) / total;
                let found = Found { candidate, bytes, probability };
                if probability >= ANSWER_MIN { Self::Answer(found) } else { Self::None }
            }
        }
    }
}

/// Of a longer text only the beginning is read.
const READ_BYTES: usize = 2_000;

/// The candidates in which words may be found that answer, the likeliest first, each with what is read of it; `None` where nothing
/// is read: for a question that wants a list or advice, and without candidates. Where none of them speaks of whom it
/// asks the name of, none is left.
pub fn readable<'a>(
    question: &str,
    candidates: &'a [Candidate],
    now: DateTime,
    person: Option<&str>,
) -> Option<Vec<(usize, &'a str)>> {
    /// Each takes some 5 ms on two cores.
    const N_MAX: usize = 12;
    let asked = analyse(question, now, person, &HashSet::new());
    let is_command = intent(question) == Intent::Request && !question.trim_end().ends_with('?');
    let wants_more = asked.kind == Kind::List || asked.advice;
    if is_command || wants_more || two_questions(question).is_some() {
        return None;
    }
    // A message says more than the facts that were made of it.
    let is_whole = |c: &&Candidate| c.raw_speaker.is_some() && c.text.len() <= READ_BYTES;
    let told: HashSet<DateTime> = candidates.iter().filter(is_whole).map(|c| c.at).collect();
    let may_answer = |c: &Candidate| {
        (asked.past || !c.superseded)
            && !c.text.trim().is_empty()
            && !reading::is_question(c)
            && (c.raw_speaker.is_some() || !told.contains(&c.at))
    };
    let mut read: Vec<(usize, &Candidate)> =
        candidates.iter().enumerate().filter(|(_, c)| may_answer(c)).collect();
    read.sort_by(|(_, a), (_, b)| b.answers.unwrap_or(-1.0).total_cmp(&a.answers.unwrap_or(-1.0)));
    read.truncate(N_MAX);
    let read: Vec<(usize, &str)> =
        read.into_iter().map(|(i, c)| (i, clip(&c.text, READ_BYTES))).collect();
    (!read.is_empty()).then(|| naming(&asked, read))
}

/// Of the texts read, those that may answer how somebody of the person's is called, where no more is asked: what does not speak of
/// her does not name her.
fn naming<'a>(asked: &Question, read: Vec<(usize, &'a str)>) -> Vec<(usize, &'a str)> {
    let kin = asked.relation.as_ref().map(|(_, noun)| noun).filter(|noun| lexicon::KIN.has(noun));
    match kin {
        Some(noun) if asked.asks_a_name() && asked.stems.is_empty() => {
            let noun = lexicon::stem(noun);
            let speaks = |text: &str| lexicon::words(text).any(|word| lexicon::stem(word) == noun);
            read.into_iter().filter(|(_, text)| speaks(text)).collect()
        }
        _ => read,
    }
}

/// The words that were found, as they are said to the person, and the sentence that they stand in; or what was told since in its
/// place. Where they are not sure to answer, what was told alone, with a hedge.
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
    // What was told decides between yes and no; a small model's own word does not.
    let is_sure = found.probability >= SURE_MIN;
    if !is_sure || asked.kind == Kind::YesNo {
        return (None, reading::quote(source, index, is_sure, person, mark));
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
        answered_with(question, candidate, words, 0.9)
    }

    fn answered_with(
        question: &str,
        candidate: &Candidate,
        words: &str,
        probability: f64,
    ) -> String {
        let at = candidate.text.find(words).unwrap();
        let found = Found { candidate: 0, bytes: at..at + words.len(), probability };
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
        // Not sure to answer: all of it, and none of the words alone.
        let answer = answered_with("Who is in Galway?", &told, "my niece saoirse", 0.5);
        assert!(answer.starts_with(HEDGE) && answer.contains("The dog was sick."), "{answer}");
        assert!(!answer.contains("Your niece"), "{answer}");
    }

    #[test]
    fn what_does_not_speak_of_her_does_not_name_her() {
        let texts =
            [(0, "my sister Ida has a cat called Sotis"), (1, "mum's called Berit, I think")];
        let read = |question| -> Vec<usize> {
            let asked = analyse(question, now(), None, &HashSet::new());
            naming(&asked, texts.to_vec()).into_iter().map(|(i, _)| i).collect()
        };
        for question in
            ["what's my mother's name?", "What is my mum called?", "what's my mom's name"]
        {
            assert_eq!(read(question), [1], "{question}");
        }
        assert!(read("What is my brother called?").is_empty());
        for other in
            ["What's my cat called?", "Who is going to my mother's birthday?", "What's my name?"]
        {
            assert_eq!(read(other), [0, 1], "{other}");
        }
        let other = "What is the name that my daughter gave the goat?";
        assert_eq!(read(other), [0, 1], "{other}");
    }

    #[test]
    fn whether_it_is_so_what_was_told_says() {
        let told = said(TOLD);
        let quoted = format!("“{TOLD}” (you said on 20 November 2026)");
        assert_eq!(answered("Is the dog well?", &told, "sick"), quoted);
        let doubtful = answered_with("Is the dog well?", &told, "sick", 0.5);
        assert_eq!(doubtful, format!("{HEDGE}{quoted}"));
    }

    #[test]
    fn one_text_answers_or_none_does() {
        let at = |day: i8| date(2026, 11, day).at(10, 0, 0, 0);
        let told = |day, answers| Candidate { at: at(day), answers: Some(answers), ..said(TOLD) };
        let of = |log_odds: &[f64], candidates: &[Candidate]| -> (Option<usize>, f64) {
            let found = log_odds.iter().enumerate().map(|(i, odds)| (i, 3..14, *odds)).collect();
            match Words::of(found, candidates) {
                Words::Answer(Found { candidate, probability, .. }) => {
                    (Some(candidate), probability)
                }
                Words::None => (None, 0.0),
                Words::Unread => panic!(),
            }
        };
        let (best, alone) = of(&[4.0, -6.0], &[told(1, 0.5), told(2, 0.01)]);
        assert!(best == Some(0) && alone > 0.9, "{alone}");
        // Two that answer as well: either may be meant.
        let (_, each) = of(&[4.0, 4.0], &[told(1, 0.5), told(2, 0.5)]);
        assert!((each - alone / 2.0).abs() < 0.05, "{each}");
        // … but not a message and what was made of it.
        let (_, both) = of(&[4.0, 4.0], &[told(1, 0.5), told(1, 0.5)]);
        assert!(both >= alone, "{both}");
        // What the reranker finds likelier, words alone do not outweigh; and where nothing is likely, nothing answers.
        assert_eq!(of(&[2.0, 1.0], &[told(1, 0.01), told(2, 0.6)]).0, Some(1));
        assert_eq!(of(&[-4.0, -6.0], &[told(1, 0.01), told(2, 0.02)]).0, None);
        assert_eq!(Words::of(Vec::new(), &[]), Words::Unread);
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
        let part = Candidate { raw_speaker: None, ..likely("The user lives in Lund", 0.9) };
        let all = [likely("I like tea.", 0.1), likely("I live in Lund.", 0.7), gone, own, part];
        let read = |question| -> Vec<usize> {
            let read = readable(question, &all, now(), None).unwrap_or_default();
            read.into_iter().map(|(i, _)| i).collect()
        };
        assert_eq!(read("Where do I live?"), [1, 0]);
        assert_eq!(read("Where did I live before?"), [2, 1, 0]);
        assert_eq!(read("Do I live in Lund?"), [1, 0]);
        for other in ["List where I have lived.", "Write a poem about Lund.", "What should I cook?"]
        {
            assert!(read(other).is_empty(), "{other}");
        }
    }
}
