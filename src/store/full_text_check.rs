//! Whether the full-text indexes have the words of the texts: a letter that changed on the disk, in either, is found.

use std::collections::BTreeSet;

use super::error::Result;
use super::records::Level;
use super::transaction::Reader;

/// Of more characters the index is made anew for no check: that takes seconds, and memory.
const CHARACTERS_MAX: usize = 10_000_000;

impl Reader<'_> {
    /// Units whose words are not those of the index.
    pub(super) fn other_words(&self, level: Level) -> Result<BTreeSet<i64>> {
        let name = level.name();
        let columns = match level {
            Level::Message | Level::Semantic => "content",
            Level::Episode => "title, content",
            Level::Theme => "name",
        };
        let lengths =
            columns.split(", ").map(|c| format!("length({c})")).collect::<Vec<_>>().join(" + ");
        let sql = format!("SELECT coalesce(sum({lengths}), 0) FROM {name}");
        if self.count(&sql)? > CHARACTERS_MAX {
            return Ok(BTreeSet::new());
        }
        // The tables are in memory, and this connection's alone.
        let only_reads: bool =
            self.conn.pragma_query_value(None, "query_only", |row| row.get(0))?;
        self.conn.pragma_update(None, "query_only", false)?;
        let found = self.compare(name, columns);
        let gone = self.conn.execute_batch(
            "DROP TABLE IF EXISTS temp.words_there; DROP TABLE IF EXISTS temp.words_made;
             DROP TABLE IF EXISTS temp.made;",
        );
        self.conn.pragma_update(None, "query_only", only_reads)?;
        gone?;
        found
    }

    fn compare(&self, name: &str, columns: &str) -> Result<BTreeSet<i64>> {
        self.conn.execute_batch(&format!(
            "CREATE VIRTUAL TABLE temp.made USING fts5 (
                 {columns}, content = '', tokenize = 'porter unicode61 remove_diacritics 2');
             INSERT INTO temp.made (rowid, {columns}) SELECT id, {columns} FROM main.{name};
             CREATE VIRTUAL TABLE temp.words_made USING fts5vocab (temp, made, instance);
             CREATE VIRTUAL TABLE temp.words_there USING fts5vocab (main, {name}_text, instance);"
        ))?;
        let sides = [
            "words_there EXCEPT SELECT * FROM temp.words_made",
            "words_made EXCEPT SELECT * FROM temp.words_there",
        ];
        let mut found = BTreeSet::new();
        for side in sides {
            let sql = format!("SELECT DISTINCT doc FROM (SELECT * FROM temp.{side})");
            found.extend(self.all(&sql, [], |row| row.get::<_, i64>(0))?);
        }
        Ok(found)
    }
}
