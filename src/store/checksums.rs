//! A checksum of each message, so that a letter, a name or a day that changes on the disk is found: the first eight bytes of
//! a SHA-256, big-endian.

use rusqlite::Row;
use rusqlite::types::ValueRef;
use sha2::{Digest, Sha256};

use super::error::Result;
use super::transaction::{Reader, WriteTx};
use crate::memory::MessageId;

/// What is summed: who said what, when, and in which chat.
const SUMMED: &str = "session, role, speaker, content, created_ms, created_offset";

/// Of columns of that order.
fn digest(row: &Row<'_>) -> rusqlite::Result<i64> {
    let mut sum = Sha256::new();
    for column in 0..6 {
        // Each value with its kind and length: no two rows are written alike.
        match row.get_ref(column)? {
            ValueRef::Null => sum.update([0]),
            ValueRef::Integer(n) => {
                sum.update([1]);
                sum.update(n.to_be_bytes());
            }
            ValueRef::Real(x) => {
                sum.update([2]);
                sum.update(x.to_be_bytes());
            }
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                sum.update([3]);
                sum.update((bytes.len() as u64).to_be_bytes());
                sum.update(bytes);
            }
        }
    }
    Ok(first(sum))
}

fn first(sum: Sha256) -> i64 {
    i64::from_be_bytes(sum.finalize()[..8].try_into().unwrap_or_default())
}

/// As versions 4 to 6 of the schema had it.
fn of_text(row: &Row<'_>, column: usize) -> rusqlite::Result<i64> {
    Ok(first(Sha256::new_with_prefix(row.get_ref(column)?.as_bytes()?)))
}

impl Reader<'_> {
    /// The messages that are not as they were written.
    pub(super) fn changed_messages(&self) -> Result<Vec<MessageId>> {
        let sql = format!("SELECT {SUMMED}, id, checksum FROM message ORDER BY id");
        let all = self.all(&sql, [], |row| {
            let is_changed = row.get::<_, Option<i64>>(7)? != Some(digest(row)?);
            Ok((MessageId(row.get(6)?), is_changed))
        })?;
        Ok(all.into_iter().filter(|(_, is_changed)| *is_changed).map(|(id, _)| id).collect())
    }
}

impl WriteTx<'_> {
    /// To be called when a message was written.
    pub(super) fn seal(&self, id: MessageId) -> Result<()> {
        let sql = format!("SELECT {SUMMED} FROM message WHERE id = ?1");
        if let Some(sum) = self.optional(&sql, [id.0], digest)? {
            self.run("UPDATE message SET checksum = ?2 WHERE id = ?1", [id.0, sum])?;
        }
        Ok(())
    }

    /// For the messages of a file that was made before there were checksums.
    pub(super) fn make_checksums(&self) -> Result<()> {
        for (id, sum) in self.all("SELECT id, content FROM message", [], |row| {
            Ok((row.get::<_, i64>(0)?, of_text(row, 1)?))
        })? {
            self.run("UPDATE message SET checksum = ?2 WHERE id = ?1", [id, sum])?;
        }
        Ok(())
    }

    /// For those whose checksums are of the text alone, and fit it.
    pub(super) fn widen_checksums(&self) -> Result<()> {
        let fits = |row: &Row<'_>| {
            let is_whole = row.get::<_, Option<i64>>(2)? == Some(of_text(row, 1)?);
            Ok((MessageId(row.get(0)?), is_whole))
        };
        for (id, is_whole) in self.all("SELECT id, content, checksum FROM message", [], fits)? {
            if is_whole {
                self.seal(id)?;
            }
        }
        Ok(())
    }
}

/// Seals a message that was taken over from a damaged file; returns whether it is as it was written there, by the checksum
/// that it had.
pub(super) fn seal_again(
    conn: &rusqlite::Connection,
    id: i64,
    before: Option<i64>,
) -> Result<bool> {
    let sql = format!("SELECT {SUMMED} FROM message WHERE id = ?1");
    let (now, text) = conn.query_row(&sql, [id], |row| Ok((digest(row)?, of_text(row, 3)?)))?;
    conn.execute("UPDATE message SET checksum = ?2 WHERE id = ?1", [id, now])?;
    Ok(before.is_none_or(|before| before == now || before == text))
}
