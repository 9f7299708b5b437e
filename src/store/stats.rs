//! How much the memory holds.

use super::error::Result;
use super::records::MemoryStats;
use super::transaction::Reader;

impl Reader<'_> {
    /// Whether there is any fact, or there are more than `messages` messages. (Counting all of them
    /// would take longer the more there are.)
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn has_more_than(&self, messages: usize) -> Result<bool> {
        let sql = "SELECT EXISTS (SELECT 1 FROM semantic)
                       OR EXISTS (SELECT 1 FROM message LIMIT 1 OFFSET ?1)";
        let messages = i64::try_from(messages).unwrap_or(i64::MAX);
        Ok(self.optional(sql, [messages], |row| row.get(0))?.unwrap_or(false))
    }

    /// Everything `memory stats` shows.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn stats(&self) -> Result<MemoryStats> {
        let semantics = self.count("SELECT count(*) FROM semantic")?;
        let moved = self.count("SELECT count(*) FROM semantic WHERE moves > 0")?;
        Ok(MemoryStats {
            messages: self.count("SELECT count(*) FROM message")?,
            episodes: self.count("SELECT count(*) FROM episode")?,
            semantics,
            superseded: self
                .count("SELECT count(*) FROM semantic WHERE superseded_by IS NOT NULL")?,
            themes: self.count("SELECT count(*) FROM theme")?,
            largest_theme: self.count(
                "SELECT coalesce(max(n), 0) FROM (SELECT count(*) AS n FROM semantic GROUP BY theme)",
            )?,
            edges: self.count(
                "SELECT (SELECT count(*) FROM semantic_edge WHERE a < b)
                      + (SELECT count(*) FROM theme_edge WHERE a < b)",
            )?,
            jobs_pending: self.count("SELECT count(*) FROM job WHERE state <> 'failed'")?,
            jobs_failed: self.count("SELECT count(*) FROM job WHERE state = 'failed'")?,
            reassignment_ratio: if semantics == 0 {
                0.0
            } else {
                moved as f64 / semantics as f64
            },
        })
    }
}
