//! What exports of chat services have in common: conversations with titles, messages with times, texts of several parts.

use jiff::Timestamp;
use jiff::tz::Offset;
use serde_json::Value;

use super::jsonl::{time_from_seconds, time_from_text};
use super::{ImportError, ImportFile, Imported, ImportedSession};
use crate::memory::{Moment, NewMessage};

/// How much of a file is looked at to tell whose it is: titles and settings may come first.
pub(super) const SNIFFED_BYTES: usize = 1 << 16;

/// Whether a document begins as JSON and names all of these keys near its beginning.
pub(super) fn has_keys(text: &str, keys: &[&str]) -> bool {
    let head = &text[..text.floor_char_boundary(SNIFFED_BYTES)];
    head.trim_start().starts_with(['[', '{'])
        && keys.iter().all(|key| head.contains(&format!("\"{key}\"")))
}

/// The conversations of a document: its elements, or itself.
pub(super) fn conversations(file: &ImportFile<'_>) -> Result<Vec<Value>, ImportError> {
    match serde_json::from_str(file.text) {
        Ok(Value::Array(all)) => Ok(all),
        Ok(one) => Ok(vec![one]),
        Err(e) => Err(ImportError::Syntax {
            path: file.path.to_owned(),
            place: format!("line {}, column {}", e.line(), e.column()),
            reason: e.to_string().split(" at line ").next().unwrap_or_default().to_owned(),
        }),
    }
}

/// A time as any of them writes it: RFC 3339, or seconds or milliseconds since 1970.
pub(super) fn time(value: Option<&Value>) -> Option<Moment> {
    match value? {
        Value::String(text) => time_from_text(text),
        Value::Number(n) => n.as_f64().and_then(time_from_seconds),
        _ => None,
    }
}

/// Collects the conversations of one file, and counts what is left out.
#[derive(Default)]
pub(super) struct Collected {
    sessions: Vec<ImportedSession>,
    /// Titles that were passed over because another one was wanted.
    known: Vec<String>,
    /// Pictures, tools' messages and the like.
    pub n_left_out: usize,
}

impl Collected {
    /// Adds a conversation in order; a message without a time has that of the one before.
    pub(super) fn add(
        &mut self,
        file: &ImportFile<'_>,
        (title, id): (Option<&str>, Option<&str>),
        begun: Option<Moment>,
        messages: impl IntoIterator<Item = (NewMessage, Option<Moment>)>,
    ) {
        let title =
            title.map(str::trim).filter(|title| !title.is_empty()).unwrap_or("Imported chat");
        if file.conversation.is_some_and(|wanted| wanted != title && Some(wanted) != id) {
            self.known.push(title.to_owned());
            return;
        }
        let mut at = begun.unwrap_or_else(|| Moment::new(Timestamp::UNIX_EPOCH, Offset::UTC));
        let messages: Vec<NewMessage> = messages
            .into_iter()
            .map(|(message, own)| {
                // Never back: a reply that was made anew may be older than what it answers.
                at = own.filter(|own| own.timestamp >= at.timestamp).unwrap_or(at);
                NewMessage { created_at: at, ..message }
            })
            .filter(|message| !message.content.trim().is_empty())
            .collect();
        if !messages.is_empty() {
            self.sessions.push(ImportedSession { title: title.to_owned(), messages });
        }
    }

    pub(super) fn finish(mut self, file: &ImportFile<'_>) -> Result<Imported, ImportError> {
        if let Some(wanted) = file.conversation
            && self.sessions.is_empty()
        {
            self.known.truncate(20);
            return Err(ImportError::NoConversation {
                path: file.path.to_owned(),
                wanted: wanted.to_owned(),
                known: self.known,
            });
        }
        self.sessions.sort_by_key(|session| session.messages[0].created_at.timestamp);
        let mut notes = Vec::new();
        if self.n_left_out > 0 {
            notes.push(format!(
                "{} parts without text were left out (pictures, tools, hidden instructions).",
                self.n_left_out
            ));
        }
        Ok(Imported { sessions: self.sessions, notes })
    }
}

/// Follows the parents of a message, `of` each id: the branch that is shown, oldest first.
pub(super) fn branch<'a>(
    last: Option<&'a str>,
    of: impl Fn(&str) -> Option<(&'a Value, Option<&'a str>)>,
    n_max: usize,
) -> Vec<(&'a str, &'a Value)> {
    let mut found = Vec::new();
    let mut at = last;
    while let Some(id) = at
        && found.len() < n_max
        && let Some((node, parent)) = of(id)
    {
        found.push((id, node));
        at = parent;
    }
    found.reverse();
    found
}

/// A field that is text.
pub(super) fn text<'a>(of: &'a Value, key: &str) -> Option<&'a str> {
    of.get(key).and_then(Value::as_str)
}
