//! The held-out items: one JSON object a line, its task in `task`.
//!
//! Values and names occur in no training text; `phrasing` says whether the wording does. The file
//! is `models/starter/evaluation.jsonl`, written by `models/starter/make_evaluation.py`, and
//! is compiled in with the starter. Dates are `2021-08-09`.

use jiff::civil::{Date, DateTime};
use serde::Deserialize;

use super::{EvalError, Task};

#[cfg(feature = "starter")]
const BUILT_IN: &str = include_str!("../../../models/starter/evaluation.jsonl");

/// The items that come with the starter; none in a build without it.
///
/// # Errors
/// [`EvalError::BadItem`].
pub fn built_in() -> Result<Vec<Item>, EvalError> {
    #[cfg(feature = "starter")]
    return parse(BUILT_IN, "the built-in items");
    #[cfg(not(feature = "starter"))]
    Ok(Vec::new())
}

/// One item.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "task", rename_all = "lowercase")]
pub enum Item {
    Answer(QuestionItem),
    /// The same without an answer.
    Absent(QuestionItem),
    /// The same; only the answer's tokens are looked at.
    Copy(QuestionItem),
    Router(RoutingItem),
    Boundary(BoundaryItem),
    Conflict(ConflictItem),
    Extraction(ExtractionItem),
    Episode(EpisodeItem),
    Theme(ThemeItem),
    Merge(MergeItem),
}

/// A dated note.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Note {
    pub date: Date,
    pub text: String,
}

/// Notes and a question.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct QuestionItem {
    #[serde(default)]
    pub phrasing: String,
    pub memories: Vec<Note>,
    pub question: String,
    #[serde(default)]
    pub answer: String,
    /// Also right; the answer itself always is.
    #[serde(default)]
    pub accept: Vec<String>,
    /// The notes that tell it, from 0.
    #[serde(default)]
    pub evidence: Option<Places>,
}

/// One place or several.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Places {
    One(usize),
    Many(Vec<usize>),
}

impl QuestionItem {
    pub(super) fn evidence(&self) -> &[usize] {
        match &self.evidence {
            None => &[],
            Some(Places::One(place)) => std::slice::from_ref(place),
            Some(Places::Many(places)) => places,
        }
    }
}

/// A message to be stored or not.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct RoutingItem {
    #[serde(default)]
    pub phrasing: String,
    pub text: String,
    pub answer: StoreOrDiscard,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StoreOrDiscard {
    Store,
    Discard,
}

/// Turns, each with its speaker (`The user: …`), and the turn that may begin another topic.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct BoundaryItem {
    #[serde(default)]
    pub phrasing: String,
    pub history: Vec<String>,
    pub next: String,
    pub answer: YesOrNo,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum YesOrNo {
    Yes,
    No,
}

/// Two facts.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ConflictItem {
    #[serde(default)]
    pub phrasing: String,
    pub earlier: String,
    pub later: String,
    pub answer: UpdateOrKeep,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UpdateOrKeep {
    Update,
    Keep,
}

/// A message and its facts; none: nothing is to be noted.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ExtractionItem {
    #[serde(default)]
    pub phrasing: String,
    pub date: Date,
    pub speaker: String,
    pub text: String,
    pub answer: Vec<String>,
}

/// Turns, each with its speaker, and what they tell.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct EpisodeItem {
    #[serde(default)]
    pub phrasing: String,
    pub date: Date,
    pub lines: Vec<String>,
    pub title: String,
    #[serde(rename = "story")]
    pub told: String,
}

/// Facts and what they have in common.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ThemeItem {
    #[serde(default)]
    pub phrasing: String,
    pub facts: Vec<String>,
    pub answer: String,
    #[serde(default)]
    pub accept: Vec<String>,
}

/// Two facts and the one that says both.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct MergeItem {
    #[serde(default)]
    pub phrasing: String,
    pub earlier: String,
    pub later: String,
    pub answer: String,
}

impl Item {
    pub(super) fn task(&self) -> Task {
        match self {
            Self::Answer(_) => Task::Answer,
            Self::Absent(_) => Task::Absent,
            Self::Copy(_) => Task::Copy,
            Self::Router(_) => Task::Router,
            Self::Boundary(_) => Task::Boundary,
            Self::Conflict(_) => Task::Conflict,
            Self::Extraction(_) => Task::Extraction,
            Self::Episode(_) => Task::Episode,
            Self::Theme(_) => Task::Theme,
            Self::Merge(_) => Task::Merge,
        }
    }

    pub(super) fn phrasing(&self) -> &str {
        match self {
            Self::Answer(item) | Self::Absent(item) | Self::Copy(item) => &item.phrasing,
            Self::Router(item) => &item.phrasing,
            Self::Boundary(item) => &item.phrasing,
            Self::Conflict(item) => &item.phrasing,
            Self::Extraction(item) => &item.phrasing,
            Self::Episode(item) => &item.phrasing,
            Self::Theme(item) => &item.phrasing,
            Self::Merge(item) => &item.phrasing,
        }
    }

    /// What the form alone can't say.
    fn problem(&self) -> Option<String> {
        let (Self::Answer(item) | Self::Copy(item)) = self else { return None };
        if item.answer.trim().is_empty() {
            return Some("it has no answer".into());
        }
        let n = item.memories.len();
        let beyond = item.evidence().iter().find(|&&place| place >= n)?;
        Some(format!("its evidence is note {beyond}, counted from 0, of {n}"))
    }
}

/// Reads items; empty lines are skipped. `file` is named in errors.
///
/// # Errors
/// [`EvalError::BadItem`].
pub fn parse(text: &str, file: &str) -> Result<Vec<Item>, EvalError> {
    let bad = |line: usize, reason: String| EvalError::BadItem {
        file: file.to_owned(),
        line: line + 1,
        reason,
    };
    let mut items = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let item: Item = serde_json::from_str(line).map_err(|e| bad(number, e.to_string()))?;
        if let Some(reason) = item.problem() {
            return Err(bad(number, reason));
        }
        items.push(item);
    }
    Ok(items)
}

/// An item tells the day; nobody speaks at midnight.
pub(super) fn at_noon(date: Date) -> DateTime {
    date.at(12, 0, 0, 0)
}
