//! Removing the bytes of what was forgotten from the files.
//!
//! `secure_delete` zeroes pages as they are freed, but the write-ahead log still holds earlier
//! versions of them, and FTS5's interior nodes keep prefixes of words that are gone. So the full-text
//! indexes are rebuilt, the file is vacuumed, and the log is checkpointed and truncated.

use rusqlite::Connection;

use super::error::{Result, StoreError};
use super::records::Level;
use super::transaction::{Reader, WriteTx};

const DUE: &str = "scrub_due";

impl Reader<'_> {
    /// Whether something was forgotten whose bytes may still be in the files.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn scrub_is_due(&self) -> Result<bool> {
        Ok(self.meta(DUE)?.is_some())
    }
}

impl WriteTx<'_> {
    /// After something was forgotten.
    pub(super) fn scrub_later(&mut self) -> Result<()> {
        self.set_meta(DUE, Some("1"))
    }
}

pub(super) fn scrub(conn: &Connection) -> Result<()> {
    for level in Level::ALL {
        let table = format!("{}_text", level.name());
        conn.execute(&format!("INSERT INTO {table} ({table}) VALUES ('rebuild')"), [])?;
    }
    conn.flush_prepared_statement_cache();
    conn.execute_batch("VACUUM")?;
    truncate_log(conn)?;
    conn.execute("DELETE FROM meta WHERE key = ?1", [DUE])?;
    truncate_log(conn)
}

fn truncate_log(conn: &Connection) -> Result<()> {
    let busy: i64 = conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    if busy == 0 {
        return Ok(());
    }
    Err(StoreError::invalid(
        "another program is reading the memory: what was forgotten stays in its write-ahead log \
         until that ends",
    ))
}
