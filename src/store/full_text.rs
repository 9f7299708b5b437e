//! Full text: FTS5 with BM25, over the words of any text.

use std::collections::HashSet;

use super::access::Reader;
use super::error::Result;
use super::records::Level;

/// Distinct words of a query that are looked up: a pasted page would otherwise match everything,
/// slowly.
const TERMS_MAX: usize = 128;

/// An OR of quoted words: whatever the text holds, none of it is FTS5 syntax.
pub(super) fn match_expression(query: &str) -> Option<String> {
    let mut seen = HashSet::new();
    let mut expression = String::new();
    for word in query.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()) {
        if seen.len() == TERMS_MAX {
            break;
        }
        let word = word.to_lowercase();
        if seen.contains(&word) {
            continue;
        }
        if !expression.is_empty() {
            expression.push_str(" OR ");
        }
        expression.push('"');
        // `to_lowercase` can bring in combining marks; quotes never.
        expression.push_str(&word);
        expression.push('"');
        seen.insert(word);
    }
    (!expression.is_empty()).then_some(expression)
}

impl Reader<'_> {
    /// FTS5 BM25, best first; score > 0, greater is better. `query` is any text: it is tokenised
    /// and quoted, never parsed as FTS5 syntax. Superseded facts are found too.
    pub fn full_text(&self, level: Level, query: &str, k: usize) -> Result<Vec<(i64, f32)>> {
        let Some(expression) = match_expression(query) else { return Ok(Vec::new()) };
        let name = level.name();
        let sql = format!(
            "SELECT rowid, -bm25({name}_text) AS score FROM {name}_text
             WHERE {name}_text MATCH ?1 ORDER BY score DESC, rowid LIMIT ?2"
        );
        let k = i64::try_from(k).unwrap_or(i64::MAX);
        self.all(&sql, rusqlite::params![expression, k], |row| {
            // A word that every row has weighs next to nothing, and an f32 could lose it.
            Ok((row.get(0)?, (row.get::<_, f64>(1)? as f32).max(f32::MIN_POSITIVE)))
        })
    }

    /// The best `k` of every level, themes first, for `memory search`. Scores compare within a
    /// level only.
    pub fn search_all(&self, query: &str, k: usize) -> Result<Vec<(Level, i64, f32)>> {
        let mut found = Vec::new();
        for level in Level::ALL.into_iter().rev() {
            let hits = self.full_text(level, query, k)?;
            found.extend(hits.into_iter().map(|(id, score)| (level, id, score)));
        }
        Ok(found)
    }
}
