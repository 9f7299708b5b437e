//! Published data sets: conversations, and questions about them.
//!
//! The files are not the program's own; whoever has none is told where they are. What is damaged is
//! left out and named; the rest is read.

mod locomo;
mod longmemeval;

use std::collections::BTreeSet;
use std::path::Path;

use jiff::civil::DateTime;
use serde_json::{Map, Value};

use super::Skipped;
use crate::eval::EvalError;
use crate::eval::locomo::read;

/// A data set that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataSet {
    /// Maharana et al., 2024.
    Locomo,
    /// Wu et al., 2025.
    LongMemEval,
}

impl DataSet {
    pub const ALL: [Self; 2] = [Self::Locomo, Self::LongMemEval];

    /// The command that runs it.
    #[must_use]
    pub fn command(self) -> &'static str {
        match self {
            Self::Locomo => "eval locomo",
            Self::LongMemEval => "eval longmemeval",
        }
    }

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Locomo => "LoCoMo",
            Self::LongMemEval => "LongMemEval",
        }
    }

    /// Kinds of questions by their categories, in the order of tables.
    pub(super) fn kinds(self) -> &'static [(u64, &'static str)] {
        match self {
            Self::Locomo => &locomo::KINDS,
            Self::LongMemEval => &longmemeval::KINDS,
        }
    }

    fn found_at(self) -> &'static str {
        match self {
            Self::Locomo => locomo::FOUND_AT,
            Self::LongMemEval => longmemeval::FOUND_AT,
        }
    }

    /// # Errors
    /// If the file can't be read or has another form.
    pub(super) fn load(self, path: &Path) -> Result<(Vec<Told>, Vec<Skipped>), EvalError> {
        let set = self.name();
        if !path.exists() {
            let (path, found_at) = (path.to_owned(), self.found_at());
            return Err(EvalError::NoDataSet { set, path, found_at });
        }
        let not_it = |reason: &dyn ToString| {
            let (path, reason, found_at) = (path.to_owned(), reason.to_string(), self.found_at());
            EvalError::NotDataSet { set, path, reason, found_at }
        };
        let document: Value = serde_json::from_str(&read(path)?).map_err(|e| not_it(&e))?;
        let items = match document {
            Value::Array(items) => items,
            item @ Value::Object(_) => vec![item],
            _ => return Err(not_it(&"it is JSON, but no list")),
        };
        if items.is_empty() {
            return Err(not_it(&"there is nothing in it"));
        }
        let (mut told, mut skipped) = (Vec::<Told>::new(), Vec::new());
        for (i, item) in items.iter().enumerate() {
            let key = if self == Self::Locomo { "sample_id" } else { "question_id" };
            let name = match item.get(key) {
                Some(Value::String(name)) => name.clone(),
                _ => format!("conversation {}", i + 1),
            };
            let read = match self {
                Self::Locomo => locomo::conversation(item, &name, &mut skipped),
                Self::LongMemEval => longmemeval::conversation(item, &name),
            };
            let mut skip = |reason| skipped.push(Skipped { what: name.clone(), reason });
            match read {
                Ok(_) if told.iter().any(|other| other.name == name) => {
                    skip("another conversation has its name".into());
                }
                Ok(conversation) => told.push(conversation),
                Err(reason) => skip(reason),
            }
        }
        Ok((told, skipped))
    }
}

/// One conversation.
#[derive(Debug)]
pub(super) struct Told {
    pub name: String,
    /// Of two people, the first: ready-made memories may be named after them.
    pub speaker: Option<String>,
    pub messages: Vec<Said>,
    pub questions: Vec<Asked>,
}

#[derive(Debug, Clone)]
pub(super) struct Said {
    pub id: String,
    /// `None` in a chat of a person and an assistant.
    pub speaker: Option<String>,
    /// By the second of two people, or by the assistant.
    pub by_second: bool,
    pub text: String,
    /// Of its session's beginning.
    pub at: DateTime,
    pub session: usize,
}

impl Said {
    /// As recall names whoever has no name.
    pub(super) fn name(&self) -> &str {
        match (&self.speaker, self.by_second) {
            (Some(name), _) => name,
            (None, true) => "The assistant",
            (None, false) => "The user",
        }
    }
}

/// A question that has an answer.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    /// In its conversation's list, from 0.
    pub place: usize,
    pub text: String,
    pub answer: String,
    pub category: u64,
    /// Ids of the messages that the answer rests on.
    pub evidence: BTreeSet<String>,
    /// `None`: when the conversation ended.
    pub at: Option<DateTime>,
}

fn text<'v>(object: &'v Map<String, Value>, key: &str) -> Result<&'v str, String> {
    object.get(key).and_then(Value::as_str).ok_or_else(|| format!("it has no text `{key}`"))
}
