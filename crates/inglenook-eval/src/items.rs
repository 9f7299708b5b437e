//! The held-out items: one JSON object per line, with its task in `task`.
//!
//! Their values and names occur in no training text; `phrasing` says whether their wording does. The file
//! `models/starter/evaluation.jsonl` was written by the generator (at commit 7eda387) and compiled in with the
//! starter. Dates have the form `2021-08-09`.

use jiff::civil::{Date, DateTime};
use serde::Deserialize;

use super::{EvalError, Task};

#[cfg(feature = "starter")]
const BUILT_IN: &str = include_str!("../../../models/starter/evaluation.jsonl");

/// The built-in items; none in a build without the starter.
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
    /// Answer a question from notes.
    Answer(QuestionItem),
    /// As `Answer`, but no note has the answer.
    Absent(QuestionItem),
    /// As `Answer`; only the answer's tokens are scored.
    Copy(QuestionItem),
    /// Store a message or discard it.
    Router(RoutingItem),
    /// Find the end of a topic.
    Boundary(BoundaryItem),
    /// Relate a fact to a later one.
    Conflict(ConflictItem),
    /// Extract facts from a message.
    Extraction(ExtractionItem),
    /// Write an episode.
    Episode(EpisodeItem),
    /// Name a theme.
    Theme(ThemeItem),
    /// Merge two facts.
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
    /// Other accepted answers.
    #[serde(default)]
    pub accept: Vec<String>,
    /// Indices of the notes that hold the answer.
    #[serde(default)]
    pub evidence: Option<Places>,
}

/// One index or several.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Places {
    /// A single index.
    One(usize),
    /// A list of indices.
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

/// A message, and whether it should be stored.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct RoutingItem {
    #[serde(default)]
    pub phrasing: String,
    pub text: String,
    pub answer: StoreOrDiscard,
}

/// The router's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StoreOrDiscard {
    /// It says something worth remembering.
    Store,
    /// It does not.
    Discard,
}

/// Turns, each with its speaker (`The user: …`), and whether the next one begins another topic.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct BoundaryItem {
    #[serde(default)]
    pub phrasing: String,
    pub history: Vec<String>,
    pub next: String,
    pub answer: YesOrNo,
}

/// The answer to a boundary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum YesOrNo {
    /// The next turn begins another topic.
    Yes,
    /// It does not.
    No,
}

/// Two facts, and whether the later replaces the earlier.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ConflictItem {
    #[serde(default)]
    pub phrasing: String,
    pub earlier: String,
    pub later: String,
    pub answer: UpdateOrKeep,
}

/// The relation of two facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UpdateOrKeep {
    /// The later fact replaces the earlier.
    Update,
    /// Both hold.
    Keep,
}

/// A message and the facts in it; possibly none.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ExtractionItem {
    #[serde(default)]
    pub phrasing: String,
    pub date: Date,
    pub speaker: String,
    pub text: String,
    pub answer: Vec<String>,
}

/// Turns, each with its speaker, and their narrative.
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

/// Facts and the name of their theme.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ThemeItem {
    #[serde(default)]
    pub phrasing: String,
    pub facts: Vec<String>,
    pub answer: String,
    #[serde(default)]
    pub accept: Vec<String>,
}

/// Two facts and their merged form.
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

    /// Checks what the JSON form alone does not guarantee.
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

/// Noon of the item's day.
pub(super) fn at_noon(date: Date) -> DateTime {
    date.at(12, 0, 0, 0)
}
