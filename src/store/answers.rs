//! The evidence record of a reply: JSON that the store keeps, and interprets only to forget.
//!
//! When some of what it cites is forgotten, only the ids of the rest stay, under `quoted`, marked with
//! [`FORGOTTEN`]: that is of use only to a later forgetting, which must find the reply by them.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::error::{Result, StoreError};
use super::records::{AnyId, Level};
use super::transaction::{Reader, WANTED, WriteTx, text};
use crate::memory::MessageId;

/// Key of a record of which only ids are left.
pub(super) const FORGOTTEN: &str = "forgotten";

/// All ids in an evidence record: `"s12"` anywhere, bare numbers under a key that says of what.
/// Without `refused`, episodes that did not get into the prompt are left out.
pub(super) fn ids_in_record(record: &Value, refused: bool) -> HashSet<AnyId> {
    let mut found = HashSet::new();
    walk(&mut found, record, None, refused);
    found
}

/// The ids whose words may be in the reply itself: those that it says it quotes (the extractive
/// reader), else all that was in the prompt.
pub(super) fn ids_in_reply(record: &Value) -> HashSet<AnyId> {
    match record.get("quoted") {
        Some(quoted @ Value::Array(_)) => ids_in_record(quoted, false),
        _ => ids_in_record(record, false),
    }
}

fn walk(found: &mut HashSet<AnyId>, value: &Value, of: Option<Level>, refused: bool) {
    match value {
        Value::Object(fields) => {
            if !refused && fields.get("admitted") == Some(&Value::Bool(false)) {
                return;
            }
            for (key, value) in fields {
                let of = match key.as_str() {
                    "message" | "messages" => Some(Level::Message),
                    "episode" | "episodes" => Some(Level::Episode),
                    "semantic" | "semantics" => Some(Level::Semantic),
                    "theme" | "themes" => Some(Level::Theme),
                    "id" | "ids" => of,
                    _ => None,
                };
                walk(found, value, of, refused);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| walk(found, item, of, refused)),
        Value::Number(number) => {
            found.extend(of.zip(number.as_i64()).map(|(level, id)| level.id(id)));
        }
        Value::String(text) => {
            let bare = || of.zip(text.parse().ok()).map(|(level, id)| level.id(id));
            found.extend(text.parse().ok().or_else(bare));
        }
        Value::Null | Value::Bool(_) => {}
    }
}

impl Reader<'_> {
    /// The evidence record (JSON) of an assistant message; `None` if it has none, or some of it was forgotten.
    ///
    /// # Errors
    /// If the memory cannot be read, or the record is not JSON.
    pub fn answer_record(&self, reply: MessageId) -> Result<Option<serde_json::Value>> {
        let text: Option<String> =
            self.optional("SELECT record FROM answer WHERE message = ?1", [reply.0], |row| {
                text(row, 0)
            })?;
        let record: Option<serde_json::Value> =
            text.map(|text| serde_json::from_str(&text)).transpose()?;
        Ok(record.filter(|record| record.get(FORGOTTEN).is_none()))
    }

    /// The evidence records of a chat's replies, also those from the chat that it goes on from; `None`: it has none.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn records_of(
        &self,
        replies: impl IntoIterator<Item = MessageId>,
    ) -> Result<HashMap<MessageId, Option<serde_json::Value>>> {
        let ids: Vec<i64> = replies.into_iter().map(|id| id.0).collect();
        let sql = format!("SELECT message, record FROM answer JOIN {WANTED} ON message = wanted");
        let rows =
            self.of_ids(&sql, ids.iter().copied(), |row| Ok((row.get(0)?, text(row, 1)?)))?;
        let mut records: HashMap<_, _> = ids.into_iter().map(|id| (MessageId(id), None)).collect();
        for (id, record) in rows {
            let record: Option<serde_json::Value> = serde_json::from_str(&record).ok();
            records.insert(MessageId(id), record.filter(|record| record.get(FORGOTTEN).is_none()));
        }
        Ok(records)
    }

    /// All records that can be read, including those of which only ids are left.
    pub(super) fn answer_records(&self) -> Result<Vec<(MessageId, serde_json::Value)>> {
        let sql = "SELECT message, record FROM answer WHERE json_valid(record) ORDER BY message";
        let rows = self.all(sql, [], |row| Ok((MessageId(row.get(0)?), text(row, 1)?)))?;
        rows.into_iter().map(|(id, text)| Ok((id, serde_json::from_str(&text)?))).collect()
    }
}

impl WriteTx<'_> {
    /// Keeps (or replaces) the evidence record of a reply.
    ///
    /// # Errors
    /// If there is no such message, it is not a reply, or the memory cannot be written.
    pub fn record_answer(&mut self, reply: MessageId, record: &serde_json::Value) -> Result<()> {
        let role: Option<String> =
            self.optional("SELECT role FROM message WHERE id = ?1", [reply.0], |row| row.get(0))?;
        match role.as_deref() {
            None => return Err(StoreError::not_found("message", reply)),
            Some("assistant") => {}
            Some(_) => return Err(StoreError::invalid(format!("{reply} is not a reply"))),
        }
        self.run(
            "INSERT OR REPLACE INTO answer VALUES (?1, ?2)",
            rusqlite::params![reply.0, serde_json::to_string(record)?],
        )?;
        Ok(())
    }
}
