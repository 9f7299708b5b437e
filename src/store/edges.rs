//! The kNN graphs over semantics and over themes: symmetric, the weight is the cosine.

use super::error::{Result, StoreError};
use super::records::Level;
use super::transaction::{Reader, WriteTx};

fn table(level: Level) -> Result<&'static str> {
    match level {
        Level::Semantic => Ok("semantic_edge"),
        Level::Theme => Ok("theme_edge"),
        Level::Message | Level::Episode => {
            Err(StoreError::invalid("only facts and themes have a neighbour graph"))
        }
    }
}

impl Reader<'_> {
    /// All edges, in both directions: `(a, b, weight)` and `(b, a, weight)`.
    ///
    /// # Errors
    /// If the level has no neighbour graph, or the memory cannot be read.
    pub fn edges(&self, level: Level) -> Result<Vec<(i64, i64, f32)>> {
        let sql = format!("SELECT a, b, weight FROM {} ORDER BY a, b", table(level)?);
        self.all(&sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
    }
}

impl WriteTx<'_> {
    /// Replaces all edges that touch `id` at this level by these (both directions are stored).
    ///
    /// # Errors
    /// If the level has no graph, a unit does not exist, an edge is a loop, a weight is not finite, or the memory cannot be written.
    pub fn replace_edges(
        &mut self,
        level: Level,
        id: i64,
        neighbours: &[(i64, f32)],
    ) -> Result<()> {
        let table = table(level)?;
        let unit = if level == Level::Theme { "theme" } else { "fact" };
        for end in std::iter::once(id).chain(neighbours.iter().map(|n| n.0)) {
            if !self.exists(level.name(), end)? {
                return Err(StoreError::not_found(unit, level.id(end)));
            }
        }
        self.touch_hierarchy()?;
        self.run(&format!("DELETE FROM {table} WHERE a = ?1 OR b = ?1"), [id])?;
        let insert = format!("INSERT OR REPLACE INTO {table} VALUES (?1, ?2, ?3)");
        for &(other, weight) in neighbours {
            if other == id || !weight.is_finite() {
                return Err(StoreError::invalid(format!(
                    "no edge from {} to {} of weight {weight}",
                    level.id(id),
                    level.id(other)
                )));
            }
            self.run(&insert, rusqlite::params![id, other, weight])?;
            self.run(&insert, rusqlite::params![other, id, weight])?;
        }
        Ok(())
    }
}
