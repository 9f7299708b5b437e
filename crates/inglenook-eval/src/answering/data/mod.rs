//! Published data sets: conversations, and questions about them.
//!
//! The files are not part of the project; the error for a missing one says where to get it. Damaged items are
//! reported and left out.

mod locomo;
mod longmemeval;
mod msc;
mod perltqa;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use jiff::civil::DateTime;
use serde_json::{Map, Value};

pub(super) use self::locomo::without_caption;
use super::Skipped;
use crate::EvalError;
use crate::locomo::read;

/// A data set that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataSet {
    /// Maharana et al., 2024.
    Locomo,
    /// Wu et al., 2025.
    LongMemEval,
    /// Du et al., 2024.
    PerLtqa,
    /// Xu et al., 2022, with the questions of Packer et al., 2023.
    Msc,
}

/// Largest file that is read, in bytes; the published ones have at most 0.3 GB.
const BYTES_MAX: u64 = 1 << 30;

impl DataSet {
    /// All sets, in the order of their commands.
    pub const ALL: [Self; 4] = [Self::Locomo, Self::LongMemEval, Self::PerLtqa, Self::Msc];

    /// The command as it stands in manifests (they are compared with those of earlier runs).
    #[must_use]
    pub fn command(self) -> &'static str {
        match self {
            Self::Locomo => "eval locomo",
            Self::LongMemEval => "eval longmemeval",
            Self::PerLtqa => "eval perltqa",
            Self::Msc => "eval msc",
        }
    }

    /// The set's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Locomo => "LoCoMo",
            Self::LongMemEval => "LongMemEval",
            Self::PerLtqa => "PerLTQA",
            Self::Msc => "MSC",
        }
    }

    /// Categories of questions and their names, in table order.
    pub(super) fn kinds(self) -> &'static [(u64, &'static str)] {
        match self {
            Self::Locomo => &locomo::KINDS,
            Self::LongMemEval => &longmemeval::KINDS,
            Self::PerLtqa => &perltqa::KINDS,
            Self::Msc => &msc::KINDS,
        }
    }

    fn found_at(self) -> &'static str {
        match self {
            Self::Locomo => locomo::FOUND_AT,
            Self::LongMemEval => longmemeval::FOUND_AT,
            Self::PerLtqa => perltqa::FOUND_AT,
            Self::Msc => msc::FOUND_AT,
        }
    }

    /// The other file that is read with this one.
    #[must_use]
    pub fn beside(self, file: &Path) -> Option<PathBuf> {
        if self == Self::PerLtqa { perltqa::memories(file) } else { None }
    }

    /// Reads the file: its conversations, and what was left out.
    ///
    /// # Errors
    /// If the file can't be read or has another form.
    pub(super) fn load(self, path: &Path) -> Result<(Vec<Conversation>, Vec<Skipped>), EvalError> {
        let not_it = |reason: String| {
            let (path, found_at) = (path.to_owned(), self.found_at());
            EvalError::NotDataSet { set: self.name(), path, reason, found_at }
        };
        let items = self.items(path, &not_it)?;
        if items.is_empty() {
            return Err(not_it("there is nothing in it".into()));
        }
        let (mut conversations, mut skipped, mut names) = (Vec::new(), Vec::new(), BTreeSet::new());
        for Item { name, item } in items {
            let read = item.and_then(|item| match self {
                Self::Locomo => locomo::conversation(&item, &name, &mut skipped),
                Self::LongMemEval => longmemeval::conversation(&item, &name),
                Self::PerLtqa => perltqa::conversation(&item, &name, &mut skipped),
                Self::Msc => msc::conversation(&item, &name),
            });
            let mut skip = |reason| skipped.push(Skipped { what: name.clone(), reason });
            match read {
                Ok(_) if !names.insert(name.clone()) => {
                    skip("another conversation has its name".into());
                }
                Ok(conversation) => conversations.push(conversation),
                Err(reason) => skip(reason),
            }
        }
        match (&conversations[..], skipped.first()) {
            ([], Some(Skipped { what, reason })) => {
                Err(not_it(format!("nothing in it can be read ({what}: {reason})")))
            }
            _ => Ok((conversations, skipped)),
        }
    }

    /// The file's items, not yet interpreted.
    fn items(
        self,
        path: &Path,
        not_it: &dyn Fn(String) -> EvalError,
    ) -> Result<Vec<Item>, EvalError> {
        let text = self.text(path)?;
        if self == Self::Msc {
            return Ok(msc::items(&text));
        }
        let document = parsed(&text).map_err(not_it)?;
        if self == Self::PerLtqa {
            let memories = perltqa::memories(path)
                .ok_or_else(|| not_it("its name does not say where the memories are".into()))?;
            let memories = parsed(&self.text(&memories)?)
                .map_err(|reason| not_it(format!("of the memories beside it: {reason}")))?;
            return perltqa::items(document, memories).map_err(not_it);
        }
        let items = match document {
            Value::Array(items) => items,
            item @ Value::Object(_) => vec![item],
            _ => return Err(not_it("it is JSON, but no list".into())),
        };
        let key = if self == Self::Locomo { "sample_id" } else { "question_id" };
        let named = items.into_iter().enumerate().map(|(i, item)| {
            let name = item.get(key).and_then(Value::as_str).map(str::to_owned);
            let name = name.unwrap_or_else(|| format!("conversation {}", i + 1));
            Item { name, item: Ok(item) }
        });
        Ok(named.collect())
    }

    fn text(self, path: &Path) -> Result<String, EvalError> {
        let (set, path_of, found_at) = (self.name(), path.to_owned(), self.found_at());
        if !path.exists() {
            return Err(EvalError::NoDataSet { set, path: path_of, found_at });
        }
        if path.metadata().is_ok_and(|file| file.len() > BYTES_MAX) {
            let reason = format!("it has more than {BYTES_MAX} bytes");
            return Err(EvalError::NotDataSet { set, path: path_of, reason, found_at });
        }
        read(path)
    }
}

fn parsed(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|e| e.to_string())
}

/// A conversation's raw JSON, or why it can't be read.
struct Item {
    name: String,
    item: Result<Value, String>,
}

/// A conversation with its questions.
#[derive(Debug)]
pub(super) struct Conversation {
    pub name: String,
    /// The first of two people; ready-made memories may be named after them.
    pub speaker: Option<String>,
    pub messages: Vec<Message>,
    pub questions: Vec<Question>,
}

#[derive(Debug, Clone)]
pub(super) struct Message {
    pub id: String,
    /// `None` in a chat of a person and an assistant.
    pub speaker: Option<String>,
    /// Said by the second of two people, or by the assistant.
    pub by_second: bool,
    pub text: String,
    /// Start of its session.
    pub at: DateTime,
    pub session: usize,
}

impl Message {
    /// The speaker, named as recall names people without a name.
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
pub(super) struct Question {
    /// Index in its conversation's list.
    pub place: usize,
    pub text: String,
    pub answer: String,
    pub category: u64,
    /// Ids of the messages that the answer rests on.
    pub evidence: BTreeSet<String>,
    /// When it is asked; `None` for the end of the conversation.
    pub at: Option<DateTime>,
}

fn text<'v>(object: &'v Map<String, Value>, key: &str) -> Result<&'v str, String> {
    object.get(key).and_then(Value::as_str).ok_or_else(|| format!("it has no text `{key}`"))
}
