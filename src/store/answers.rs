//! The evidence record of a reply: JSON that the store keeps, and interprets only to forget.
//!
//! When some of what it cites is forgotten, only the ids of the rest stay, under `quoted`, marked with
//! [`FORGOTTEN`]: that is of use only to a later forgetting, which must find the reply by them.

use std::collections::HashMap;

use super::error::{Result, StoreError};
use super::transaction::{Reader, WANTED, WriteTx, text};
use crate::memory::MessageId;

/// Key of a record of which only ids are left.
pub(super) const FORGOTTEN: &str = "forgotten";

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
