//! The steps that write memory: decisions, and texts as the model drafts them, before the product's checks.

use std::sync::LazyLock;

use inglenook::extractive::Utterance;
use inglenook::interfaces::Cancel;
use inglenook::memory::{MessageId, Role};
use inglenook::prompts::{Line, Relation};
use inglenook::worker::writer::Generative;
use regex::Regex;

use super::EvalError;
use super::items::{
    BoundaryItem, ConflictItem, EpisodeItem, ExtractionItem, MergeItem, RoutingItem,
    StoreOrDiscard, ThemeItem, UpdateOrKeep, YesOrNo, at_noon,
};
use crate::metrics::{exact, token_f1};

/// Expected class and the model's.
pub(super) type Decision = (usize, Option<usize>);

pub(super) fn route(
    writer: &Generative,
    item: &RoutingItem,
    cancel: &Cancel,
) -> Result<Decision, EvalError> {
    let line = Utterance {
        message: MessageId(1),
        role: Role::User,
        speaker: "The user".into(),
        addressee: None,
        text: item.text.clone(),
        at: jiff::civil::DateTime::default(),
    };
    let stores = writer.route(&line, cancel)?;
    Ok((usize::from(item.answer == StoreOrDiscard::Store), Some(usize::from(stores))))
}

pub(super) fn starts_topic(
    writer: &Generative,
    item: &BoundaryItem,
    cancel: &Cancel,
) -> Result<Decision, EvalError> {
    let history: Vec<Line> = item.history.iter().map(|line| spoken(line)).collect();
    let found = writer.starts_topic(&history, &spoken(&item.next), cancel)?;
    Ok((usize::from(item.answer == YesOrNo::Yes), found.map(usize::from)))
}

pub(super) fn relation(
    writer: &Generative,
    item: &ConflictItem,
    cancel: &Cancel,
) -> Result<Decision, EvalError> {
    let found = writer.relation(&item.earlier, &item.later, cancel)?.and_then(|r| match r {
        Relation::Update => Some(1),
        Relation::Both => Some(0),
        Relation::Same => None,
    });
    Ok((usize::from(item.answer == UpdateOrKeep::Update), found))
}

/// Splits "The user: Hello" into speaker and text. Without a speaker the text is the user's.
pub(super) fn spoken(line: &str) -> Line {
    const SPEAKER_CHARS_MAX: usize = 30;
    let parts = line.split_once(": ").filter(|(who, _)| {
        let names = who.chars().all(|c| c.is_alphanumeric() || " '-.".contains(c));
        names && !who.is_empty() && who.chars().count() <= SPEAKER_CHARS_MAX
    });
    let (speaker, text) = parts.unwrap_or(("The user", line));
    let at = jiff::civil::DateTime::default();
    Line { speaker: speaker.into(), at, text: text.into() }
}

/// How a text compares with the expected one.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Compared {
    pub exact: bool,
    pub f1: f64,
}

impl Compared {
    /// F1 with the best of the accepted texts.
    pub fn with<'a>(found: &str, expected: impl Iterator<Item = &'a String>) -> Self {
        expected.fold(Self::default(), |best, text| Self {
            exact: best.exact || exact(found, text),
            f1: best.f1.max(token_f1(found, text)),
        })
    }
}

/// Compares all facts at once, in any order.
pub(super) fn extract(
    writer: &Generative,
    item: &ExtractionItem,
    cancel: &Cancel,
) -> Result<Compared, EvalError> {
    let at = at_noon(item.date);
    let line = Line { speaker: item.speaker.clone(), at, text: item.text.clone() };
    let facts = writer.draft_facts(&[line], at, &item.speaker, cancel)?;
    let Some((facts, _)) = facts else { return Ok(Compared::default()) };
    Ok(Compared::with(&joined(&facts), [joined(&item.answer)].iter()))
}

pub(super) fn joined(facts: &[String]) -> String {
    let mut facts = facts.to_vec();
    facts.sort_unstable();
    facts.join("\n")
}

/// An episode's narrative and title, scored; `None` for the days if the reference names none.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Telling {
    pub story: Compared,
    pub title: Compared,
    pub dates_right: Option<bool>,
}

pub(super) fn tell(
    writer: &Generative,
    item: &EpisodeItem,
    cancel: &Cancel,
) -> Result<Telling, EvalError> {
    let at = at_noon(item.date);
    let lines: Vec<Line> = item.lines.iter().map(|line| Line { at, ..spoken(line) }).collect();
    let draft = writer.draft_episode(&lines, at, cancel)?.unwrap_or_default();
    let expected = dates(&item.told);
    Ok(Telling {
        story: Compared::with(&draft.content, [&item.told].into_iter()),
        title: Compared::with(&draft.title, [&item.title].into_iter()),
        dates_right: (!expected.is_empty()).then(|| dates(&draft.content) == expected),
    })
}

/// The days that a text names ("9 August 2021"), sorted, each once.
fn dates(text: &str) -> Vec<String> {
    static DAY: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let months = "January|February|March|April|May|June|July|August|September|October|\
                      November|December";
        Regex::new(&format!(r"\b\d{{1,2}} (?:{months}) \d{{4}}\b")).ok()
    });
    let mut found: Vec<String> = DAY
        .iter()
        .flat_map(|day| day.find_iter(text))
        .map(|found| found.as_str().to_owned())
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

pub(super) fn name(
    writer: &Generative,
    item: &ThemeItem,
    cancel: &Cancel,
) -> Result<Compared, EvalError> {
    let facts: Vec<&str> = item.facts.iter().map(String::as_str).collect();
    let name = writer.draft_theme_name(&facts, cancel)?.unwrap_or_default();
    Ok(Compared::with(&name, item.accept.iter().chain([&item.answer])))
}

pub(super) fn merge(
    writer: &Generative,
    item: &MergeItem,
    cancel: &Cancel,
) -> Result<Compared, EvalError> {
    let merged = writer.draft_merged(&item.earlier, &item.later, cancel)?.unwrap_or_default();
    Ok(Compared::with(&merged, [&item.answer].into_iter()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_names_its_speaker() {
        let check = |line: &str, speaker: &str, text: &str| {
            let found = spoken(line);
            assert_eq!((found.speaker.as_str(), found.text.as_str()), (speaker, text));
        };
        check("The user: I have a dog.", "The user", "I have a dog.");
        check("Mary-Ann: ok: fine", "Mary-Ann", "ok: fine");
        check("I said, well, this: a dog", "The user", "I said, well, this: a dog");
        check("no speaker", "The user", "no speaker");
    }

    #[test]
    fn days_are_found_in_running_text() {
        let text = "On 9 August 2021, Ana flew. She came back on 12 August 2021 (9 August 2021).";
        assert_eq!(dates(text), ["12 August 2021", "9 August 2021"]);
        assert_eq!(dates("in August 2021, on 9 Aug 2021"), Vec::<String>::new());
    }
}
