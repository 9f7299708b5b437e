//! What a read and a write are given: a snapshot, and a transaction on top of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::ops::Deref;

use rusqlite::Connection;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ValueRef};

use super::error::{Result, StoreError};

const HIERARCHY: &str = "hierarchy";

/// The ids given to [`Reader::of_ids`], each once, as a table to join: for `IN (SELECT …)` SQLite would
/// build a temporary table with a page cache of its own.
pub(super) const WANTED: &str = "(SELECT value AS wanted FROM json_each(?1))";

/// Reads, in one consistent snapshot.
pub struct Reader<'a> {
    pub(super) conn: &'a Connection,
}

/// A write transaction: commits when the closure returns `Ok`, leaves no trace otherwise. Reads see
/// its own writes (it derefs to [`Reader`]).
pub struct WriteTx<'a> {
    reader: Reader<'a>,
    /// A theme was created or lost members: empty ones have to be looked for.
    themes_touched: bool,
    hierarchy_touched: bool,
    /// A job was finished: this is the worker's transaction, not the person's.
    pub(super) is_workers: bool,
    /// Operations with greater ids were recorded by this transaction.
    pub(super) operations_before: i64,
}

impl<'a> Deref for WriteTx<'a> {
    type Target = Reader<'a>;
    fn deref(&self) -> &Reader<'a> {
        &self.reader
    }
}

impl<'a> WriteTx<'a> {
    pub(super) fn new(conn: &'a Connection) -> Result<Self> {
        let reader = Reader { conn };
        let operations_before = reader.last_id("operation")?;
        Ok(Self {
            reader,
            themes_touched: false,
            hierarchy_touched: false,
            is_workers: false,
            operations_before,
        })
    }

    /// To be called before the hierarchy changes: sets a new [`Reader::hierarchy_version`].
    pub(super) fn touch_hierarchy(&mut self) -> Result<()> {
        if !self.hierarchy_touched {
            let version = self.hierarchy_version()?.wrapping_add(1);
            self.set_meta(HIERARCHY, Some(&version.to_string()))?;
            self.hierarchy_touched = true;
        }
        Ok(())
    }

    /// To be called before a theme is created or loses members.
    pub(super) fn touch_themes(&mut self) -> Result<()> {
        self.themes_touched = true;
        self.touch_hierarchy()
    }

    pub(super) fn before_commit(&mut self) -> Result<()> {
        if self.themes_touched {
            self.remove_empty_themes()?;
        }
        Ok(())
    }
}

/// Text of a row. Bytes of a damaged file that are no UTF-8 are read as U+FFFD: whatever happened to them, the rest can be
/// read, exported and forgotten. `verify` names the row.
struct Text(String);

impl FromSql for Text {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        match value {
            ValueRef::Text(bytes) => Ok(Self(String::from_utf8_lossy(bytes).into_owned())),
            _ => Err(FromSqlError::InvalidType),
        }
    }
}

/// The text in a column of a row, as [`Text`].
pub(super) fn text(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<String> {
    row.get(column).map(|Text(text)| text)
}

/// As [`text`], of a column that may be NULL.
pub(super) fn optional_text(
    row: &rusqlite::Row<'_>,
    column: usize,
) -> rusqlite::Result<Option<String>> {
    Ok(row.get::<_, Option<Text>>(column)?.map(|Text(text)| text))
}

/// The units of these ids, in the order asked for.
///
/// # Errors
/// If one of them was not found.
pub(super) fn in_order<Id: Ord + Display, T: Clone>(
    unit: &'static str,
    ids: &[Id],
    found: &BTreeMap<Id, T>,
) -> Result<Vec<T>> {
    let of = |id| found.get(id).cloned().ok_or_else(|| StoreError::not_found(unit, id));
    ids.iter().map(of).collect()
}

impl Reader<'_> {
    /// Changes whenever facts or themes come, go or move, or get other vectors or edges: whoever keeps a
    /// copy of them compares it.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn hierarchy_version(&self) -> Result<u64> {
        Ok(self.meta(HIERARCHY)?.and_then(|text| text.parse().ok()).unwrap_or(0))
    }

    /// The greatest id that a table has ever given; 0 before the first.
    pub(super) fn last_id(&self, table: &str) -> Result<i64> {
        let found =
            self.optional("SELECT seq FROM sqlite_sequence WHERE name = ?1", [table], |row| {
                row.get(0)
            })?;
        Ok(found.unwrap_or(0))
    }

    /// All rows of a query, by a cached statement.
    pub(super) fn all<T>(
        &self,
        sql: &str,
        params: impl rusqlite::Params,
        row: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let mut statement = self.conn.prepare_cached(sql)?;
        let rows = statement.query_map(params, row)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// The first row, if there is one.
    pub(super) fn optional<T>(
        &self,
        sql: &str,
        params: impl rusqlite::Params,
        row: impl FnOnce(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>> {
        use rusqlite::OptionalExtension;
        let mut statement = self.conn.prepare_cached(sql)?;
        Ok(statement.query_row(params, row).optional()?)
    }

    /// The rows of many ids in one query, which joins them as [`WANTED`]. Rows of a smaller id come first.
    pub(super) fn of_ids<T>(
        &self,
        sql: &str,
        ids: impl IntoIterator<Item = i64>,
        row: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let ids: BTreeSet<i64> = ids.into_iter().collect();
        self.all(sql, [serde_json::Value::from_iter(ids).to_string()], row)
    }

    /// Those of these units that exist; `select` reads them, without a condition.
    pub(super) fn units<Id: Ord, T>(
        &self,
        select: &str,
        ids: impl IntoIterator<Item = i64>,
        unit: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
        id: impl Fn(&T) -> Id,
    ) -> Result<BTreeMap<Id, T>> {
        let rows = self.of_ids(&format!("{select} JOIN {WANTED} ON id = wanted"), ids, unit)?;
        Ok(rows.into_iter().map(|unit| (id(&unit), unit)).collect())
    }

    /// Whether a table has a row with this id.
    pub(super) fn exists(&self, table: &str, id: i64) -> Result<bool> {
        let sql = format!("SELECT 1 FROM {table} WHERE id = ?1");
        Ok(self.optional(&sql, [id], |_| Ok(()))?.is_some())
    }

    pub(super) fn count(&self, sql: &str) -> Result<usize> {
        let n = self.optional(sql, [], |row| row.get::<_, i64>(0))?.unwrap_or(0);
        Ok(usize::try_from(n).unwrap_or(0))
    }

    /// One value from `meta`.
    pub(super) fn meta(&self, key: &str) -> Result<Option<String>> {
        self.optional("SELECT value FROM meta WHERE key = ?1", [key], |row| text(row, 0))
    }
}

impl WriteTx<'_> {
    pub(super) fn run(&self, sql: &str, params: impl rusqlite::Params) -> Result<usize> {
        Ok(self.conn.prepare_cached(sql)?.execute(params)?)
    }

    /// Inserts a row and returns its id.
    pub(super) fn insert(&self, sql: &str, params: impl rusqlite::Params) -> Result<i64> {
        Ok(self.conn.prepare_cached(sql)?.insert(params)?)
    }

    pub(super) fn set_meta(&self, key: &str, value: Option<&str>) -> Result<()> {
        match value {
            Some(value) => self.run("INSERT OR REPLACE INTO meta VALUES (?1, ?2)", [key, value])?,
            None => self.run("DELETE FROM meta WHERE key = ?1", [key])?,
        };
        Ok(())
    }
}
