//! The whole memory as rows of JSON, and a memory from them: `export --format json` and its import.
//!
//! All that was said, made and done by hand, with the ids; no vectors, which any embedder makes again.

use std::collections::BTreeMap;

use rusqlite::types::{Value as SqlValue, ValueRef};
use rusqlite::{Row, params_from_iter};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::{Result, StoreError};
use super::records::JobKind;
use super::transaction::{Reader, WriteTx};
use crate::error_chain::error_chain;
use crate::memory::MessageId;

/// Tables in the order in which they can be filled, with their columns.
const TABLES: [(&str, &str); 15] = [
    ("setting", "key, value"),
    (
        "session",
        "id, title, created_ms, created_offset, imported, source, agent, pinned, parent, parent_end",
    ),
    ("episode", "id, session, title, content"),
    (
        "message",
        "id, session, role, speaker, content, created_ms, created_offset, external_id, complete, episode, aside",
    ),
    ("theme", "id, name"),
    (
        "semantic",
        "id, content, subject, attribute, theme, created_ms, created_offset, superseded_by, superseded_ms, \
         superseded_offset, moves, corrected",
    ),
    ("theme_history", "semantic, theme"),
    ("semantic_episode", "semantic, episode"),
    ("semantic_message", "semantic, message"),
    ("semantic_edge", "a, b, weight"),
    ("theme_edge", "a, b, weight"),
    ("job", "id, kind, subject, state, attempts, error"),
    ("answer", "message, record"),
    ("operation", "id, what, inverse"),
    ("refused", "message, content"),
];

/// The largest id that each table has given: none is given twice.
const COUNTERS: &str = "sqlite_sequence";

/// As a machine would count them: no table gives more.
const ID_MAX: i64 = 1 << 53;

/// The tables that number their rows.
fn with_ids() -> impl Iterator<Item = &'static str> {
    TABLES.into_iter().filter(|(_, columns)| columns.starts_with("id,")).map(|(name, _)| name)
}

/// The rows of every table, and the length of the vectors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rows {
    dimensions: Option<usize>,
    tables: BTreeMap<String, Vec<Vec<Value>>>,
}

impl Rows {
    /// How many rows a table has: `message`, `episode`, `semantic`, `theme`.
    pub fn n(&self, table: &str) -> usize {
        self.tables.get(table).map_or(0, Vec::len)
    }
}

fn to_json(row: &Row<'_>) -> rusqlite::Result<Vec<Value>> {
    (0..row.as_ref().column_count())
        .map(|column| {
            Ok(match row.get_ref(column)? {
                ValueRef::Integer(n) => n.into(),
                ValueRef::Real(x) => x.into(),
                ValueRef::Text(bytes) => String::from_utf8_lossy(bytes).into(),
                ValueRef::Null | ValueRef::Blob(_) => Value::Null,
            })
        })
        .collect()
}

fn to_sql(value: &Value) -> Option<SqlValue> {
    Some(match value {
        Value::Null => SqlValue::Null,
        Value::String(text) => SqlValue::Text(text.clone()),
        Value::Number(n) => match n.as_i64() {
            Some(n) => SqlValue::Integer(n),
            None => SqlValue::Real(n.as_f64()?),
        },
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    })
}

impl Reader<'_> {
    /// The whole memory.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn rows(&self) -> Result<Rows> {
        let mut tables = BTreeMap::new();
        for (name, columns) in TABLES.into_iter().chain([(COUNTERS, "name, seq")]) {
            let sql = format!("SELECT {columns} FROM {name} ORDER BY 1, 2");
            tables.insert(name.to_owned(), self.all(&sql, [], to_json)?);
        }
        Ok(Rows { dimensions: self.dimensions()?, tables })
    }
}

impl WriteTx<'_> {
    /// Fills a memory in which nothing was said yet with the rows of another one. Its vectors are still to be made.
    ///
    /// # Errors
    /// If anything was said here, or the rows are no sound memory.
    pub fn insert_rows(&mut self, rows: &Rows) -> Result<()> {
        if self.has_more_than(0)? {
            return Err(StoreError::invalid("there are messages here already"));
        }
        // Facts may be superseded by later ones.
        self.run("PRAGMA defer_foreign_keys = ON", [])?;
        self.touch_hierarchy()?;
        for name in rows.tables.keys() {
            if name != COUNTERS && !TABLES.iter().any(|(known, _)| known == name) {
                return Err(StoreError::invalid(format!("a memory has no table `{name}`")));
            }
        }
        for (name, columns) in TABLES {
            let n = columns.split(", ").count();
            // Empty chats, settings and counters may be here.
            self.run(&format!("DELETE FROM {name}"), [])?;
            let sql =
                format!("INSERT INTO {name} ({columns}) VALUES ({})", vec!["?"; n].join(", "));
            for (i, row) in rows.tables.get(name).into_iter().flatten().enumerate() {
                let values: Option<Vec<SqlValue>> = row.iter().map(to_sql).collect();
                // Columns that came later.
                let values = values.filter(|values| !values.is_empty() && values.len() <= n);
                let values = values.map(|mut values| {
                    values.resize(n, SqlValue::Null);
                    values
                });
                let inserted = values.map(|values| self.run(&sql, params_from_iter(values)));
                let why = match inserted {
                    Some(Ok(_)) => continue,
                    Some(Err(error)) => error_chain(&error),
                    None => format!("it has to be {n} texts or numbers"),
                };
                let what = format!("row {} of `{name}` can't be taken: {why}", i + 1);
                return Err(StoreError::invalid(what));
            }
        }
        self.raise_counters(rows)?;
        for id in self.all("SELECT id FROM message", [], |row| row.get(0).map(MessageId))? {
            self.seal(id)?;
        }
        if let Some(dimensions) = rows.dimensions {
            self.use_embedder("none", dimensions)?;
        }
        self.enqueue(&JobKind::Reembed)?;
        // What can't be read could never be forgotten.
        self.read_all().map_err(|e| StoreError::invalid(error_chain(&e)))?;
        let wrong = self.verify()?;
        if wrong.is_empty() { Ok(()) } else { Err(StoreError::invalid(wrong.join("; "))) }
    }

    /// Ids go on where the rows' memory would have gone on.
    fn raise_counters(&self, rows: &Rows) -> Result<()> {
        for row in rows.tables.get(COUNTERS).into_iter().flatten() {
            let (Some(table), Some(n)) = (row.first().and_then(Value::as_str), row.get(1)) else {
                return Err(StoreError::invalid("a counter has no name or no number"));
            };
            let n = n.as_i64().filter(|n| (0..=ID_MAX).contains(n));
            let Some(n) = n.filter(|_| with_ids().any(|known| known == table)) else {
                return Err(StoreError::invalid(format!(
                    "the counter of `{table}` can't be right"
                )));
            };
            let raised = self.run(
                "UPDATE sqlite_sequence SET seq = max(seq, ?2) WHERE name = ?1",
                rusqlite::params![table, n],
            )?;
            if raised == 0 {
                let sql = "INSERT INTO sqlite_sequence VALUES (?1, ?2)";
                self.run(sql, rusqlite::params![table, n])?;
            }
        }
        for name in with_ids() {
            let outside =
                format!("SELECT count(*) FROM {name} WHERE id NOT BETWEEN 1 AND {ID_MAX}");
            if self.count(&outside)? > 0 {
                return Err(StoreError::invalid(format!("an id in `{name}` can't be right")));
            }
        }
        Ok(())
    }

    fn read_all(&self) -> Result<()> {
        self.sessions()?;
        self.all_messages()?;
        self.episodes()?;
        self.semantics()?;
        self.themes()?;
        self.operations()?;
        self.answer_records()?;
        self.pending_jobs()?;
        self.failed_jobs()?;
        Ok(())
    }
}
