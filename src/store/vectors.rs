//! Vectors, a row each, and the search for the nearest, by sqlite-vec.
//!
//! Up to [`EXACT_MAX`] vectors a search compares all. Beyond, an index of short codes selects those that
//! are compared ([`super::vector_index`]).

use std::collections::BTreeMap;

use rusqlite::types::ValueRef;

use super::error::{Result, StoreError};
use super::records::{JobKind, Level};
use super::transaction::{Reader, WANTED, WriteTx};
use super::vector_index::CANDIDATES_MAX;
use crate::memory::{Embedding, direction};

const EMBEDDER: &str = "embedder";
const DIMENSIONS: &str = "dimensions";

/// Where a search stops being exact.
pub(super) const EXACT_MAX: usize = 1_024;

/// How many are compared in full for the `k` nearest: so many times `k`, and at least so many.
const COMPARED_PER_K: usize = 4;
const COMPARED_MIN: usize = 256;

fn bytes(embedding: &Embedding) -> Vec<u8> {
    embedding.as_slice().iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn floats(blob: &[u8]) -> impl Iterator<Item = f32> {
    blob.as_chunks().0.iter().map(|&float| f32::from_le_bytes(float))
}

/// A stored vector has unit length already (scaling it again changes no bit in practice), but what
/// a damaged file holds need not have.
pub(super) fn parse(blob: &[u8]) -> Result<Embedding> {
    Embedding::normalise(floats(blob).collect())
        .map_err(|e| StoreError::Sqlite { action: "read", source: Box::new(e) })
}

pub(super) fn blob<'a>(row: &'a rusqlite::Row<'_>, column: usize) -> rusqlite::Result<&'a [u8]> {
    match row.get_ref(column)? {
        ValueRef::Blob(bytes) => Ok(bytes),
        _ => Ok(&[]),
    }
}

/// A row of an id and sqlite-vec's cosine distance, which is NULL for a vector of zeros.
fn id_and_cosine(row: &rusqlite::Row<'_>) -> rusqlite::Result<(i64, f32)> {
    let distance: Option<f64> = row.get(1)?;
    Ok((row.get(0)?, distance.map_or(-1.0, |d| (1.0 - d as f32).clamp(-1.0, 1.0))))
}

impl Reader<'_> {
    /// Identity of the embedder whose vectors are stored; `None` before the first.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn embedder_id(&self) -> Result<Option<String>> {
        self.meta(EMBEDDER)
    }

    /// The length of the stored vectors; `None` before the first embedder.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn dimensions(&self) -> Result<Option<usize>> {
        Ok(self.meta(DIMENSIONS)?.and_then(|text| text.parse().ok()))
    }

    /// All vectors of a level (raw ids), by id, for the worker's cache.
    ///
    /// # Errors
    /// If the memory cannot be read, or a vector in it is damaged.
    pub fn embeddings(&self, level: Level) -> Result<Vec<(i64, Embedding)>> {
        let sql = format!("SELECT id, embedding FROM {}_vector ORDER BY id", level.name());
        let rows =
            self.all(&sql, [], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?)))?;
        rows.into_iter().map(|(id, blob)| Ok((id, parse(&blob)?))).collect()
    }

    /// A unit's vector, if it has one.
    ///
    /// # Errors
    /// If the memory cannot be read, or the vector is damaged.
    pub fn embedding(&self, level: Level, id: i64) -> Result<Option<Embedding>> {
        let sql = format!("SELECT embedding FROM {}_vector WHERE id = ?1", level.name());
        self.optional(&sql, [id], |row| row.get::<_, Vec<u8>>(0))?
            .map(|blob| parse(&blob))
            .transpose()
    }

    /// The first and the last id that has a vector.
    fn ends(&self, level: Level) -> Result<Option<(i64, i64)>> {
        let name = level.name();
        // Two look-ups: `min` and `max` in one query would read every row.
        let sql = format!(
            "SELECT (SELECT min(id) FROM {name}_vector), (SELECT max(id) FROM {name}_vector)"
        );
        let ends = self.optional(&sql, [], |row| {
            Ok(row.get::<_, Option<i64>>(0)?.zip(row.get::<_, Option<i64>>(1)?))
        })?;
        Ok(ends.flatten())
    }

    /// From the first to the last id that has a vector: at least as many as there are vectors.
    pub(super) fn span(&self, level: Level) -> Result<usize> {
        let span = self.ends(level)?.map_or(0, |(first, last)| last.abs_diff(first) + 1);
        Ok(usize::try_from(span).unwrap_or(usize::MAX))
    }

    /// The mean of a level's vectors, and how many it was taken over: a sample of at most `n`, or, where the
    /// level has an index, all that there were when that was made, given as `n`. Empty without vectors.
    ///
    /// # Errors
    /// If the memory cannot be read, or a vector in it is damaged.
    pub fn mean(&self, level: Level, n: usize) -> Result<(Vec<f64>, usize)> {
        if let Some(index) = self.vector_index(level)? {
            return Ok((index.mean.into_iter().map(f64::from).collect(), n));
        }
        let sample = self.sample(level, n)?;
        Ok((direction::mean(&sample), sample.len()))
    }

    /// At most `n` vectors of a level, spread evenly over its ids and so over time; the same ones at
    /// every call.
    pub(super) fn sample(&self, level: Level, n: usize) -> Result<Vec<Embedding>> {
        let Some((first, last)) = self.ends(level)? else { return Ok(Vec::new()) };
        let next = format!(
            "SELECT id, embedding FROM {}_vector WHERE id >= ?1 ORDER BY id LIMIT 1",
            level.name()
        );
        let steps = n.saturating_sub(1).max(1) as i128;
        let mut vectors: BTreeMap<i64, Embedding> = BTreeMap::new();
        for step in 0..n as i128 {
            let from = i128::from(first) + (i128::from(last) - i128::from(first)) * step / steps;
            let found =
                self.optional(&next, [from as i64], |row| Ok((row.get(0)?, parse(blob(row, 1)?))))?;
            if let Some((id, vector)) = found {
                vectors.insert(id, vector?);
            }
        }
        Ok(vectors.into_values().collect())
    }

    /// The cosines of the query with those of these units (raw ids) that have a vector, by id; -1 for a damaged one.
    ///
    /// # Errors
    /// If the query is not of the stored vectors' length, or the memory cannot be read.
    pub fn cosines(
        &self,
        level: Level,
        query: &Embedding,
        ids: impl IntoIterator<Item = i64>,
    ) -> Result<Vec<(i64, f32)>> {
        if !self.can_compare(query)? {
            return Ok(Vec::new());
        }
        let sql = format!(
            "SELECT id, embedding FROM {}_vector JOIN {WANTED} ON id = wanted",
            level.name()
        );
        // Not by sqlite-vec: it copies both vectors for each comparison, and the two threads of a search wait
        // for each other to allocate.
        let mut stored = Vec::with_capacity(query.dimensions());
        self.of_ids(&sql, ids, |row| {
            stored.clear();
            stored.extend(floats(blob(row, 1)?));
            let fits = stored.len() == query.dimensions();
            let cosine = Some(query.dot(&stored)).filter(|cosine| fits && !cosine.is_nan());
            Ok((row.get(0)?, cosine.map_or(-1.0, |cosine| cosine.clamp(-1.0, 1.0))))
        })
    }

    /// The nearest by cosine, best first: `(raw id, cosine)`; equal ones by id. Exact up to 1,024
    /// vectors; beyond, one of them may be missed now and then.
    ///
    /// # Errors
    /// If the query is not of the stored vectors' length, or the memory cannot be read.
    pub fn nearest(&self, level: Level, query: &Embedding, k: usize) -> Result<Vec<(i64, f32)>> {
        let mut found = self.compared(level, query, k)?;
        found.truncate(k);
        Ok(found)
    }

    /// [`Reader::nearest`], and behind them all others that were compared on the way.
    ///
    /// # Errors
    /// If the query is not of the stored vectors' length, or the memory cannot be read.
    pub fn compared(&self, level: Level, query: &Embedding, k: usize) -> Result<Vec<(i64, f32)>> {
        if !self.can_compare(query)? {
            return Ok(Vec::new());
        }
        let n_compared = k.saturating_mul(COMPARED_PER_K).max(COMPARED_MIN);
        let mut found = match self.vector_index(level)? {
            Some(index) if n_compared <= CANDIDATES_MAX => {
                self.cosines(level, query, self.candidates(&index, query, n_compared)?)?
            }
            _ => {
                let sql = format!(
                    "SELECT id, vec_distance_cosine(embedding, ?1) FROM {}_vector",
                    level.name()
                );
                self.all(&sql, [bytes(query)], id_and_cosine)?
            }
        };
        found.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        Ok(found)
    }

    /// False before the first embedder.
    fn can_compare(&self, query: &Embedding) -> Result<bool> {
        match self.dimensions()? {
            Some(dimensions) => check(query, dimensions).map(|()| true),
            None => Ok(false),
        }
    }

    /// Units of a level without a vector, oldest first, with the text that is to be embedded (an
    /// episode's title and content). A reply that is still being written is not among them.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn without_embedding(&self, level: Level, limit: usize) -> Result<Vec<(i64, String)>> {
        let name = level.name();
        let (text, which) = match level {
            Level::Message => ("u.content", "(u.complete OR u.episode IS NOT NULL)"),
            Level::Episode => ("u.title || char(10) || u.content", "TRUE"),
            Level::Semantic => ("u.content", "TRUE"),
            Level::Theme => ("u.name", "TRUE"),
        };
        let sql = format!(
            "SELECT u.id, {text} FROM {name} u
             WHERE {which} AND NOT EXISTS (SELECT 1 FROM {name}_vector v WHERE v.id = u.id)
             ORDER BY u.id LIMIT ?1"
        );
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.all(&sql, [limit], |row| Ok((row.get(0)?, row.get(1)?)))
    }
}

fn check(embedding: &Embedding, dimensions: usize) -> Result<()> {
    let received = embedding.dimensions();
    if received == dimensions {
        return Ok(());
    }
    Err(StoreError::invalid(format!(
        "a vector of {received} components does not fit the memory's, which have {dimensions}"
    )))
}

impl WriteTx<'_> {
    /// Sets or replaces the vector of a unit.
    ///
    /// # Errors
    /// If the unit does not exist, no embedder was set, the vector is not of its length, or the memory cannot be
    /// written.
    pub fn put_embedding(&mut self, level: Level, id: i64, embedding: &Embedding) -> Result<()> {
        let Some(dimensions) = self.dimensions()? else {
            return Err(StoreError::invalid("no embedding model was set for the memory"));
        };
        check(embedding, dimensions)?;
        let name = level.name();
        if !self.exists(name, id)? {
            return Err(StoreError::not_found(name, level.id(id)));
        }
        self.vectors_change(level)?;
        let sql = format!(
            "INSERT INTO {name}_vector (id, embedding) VALUES (?1, ?2)
             ON CONFLICT (id) DO UPDATE SET embedding = excluded.embedding"
        );
        self.run(&sql, rusqlite::params![id, bytes(embedding)])?;
        self.index_vector(level, id, embedding)
    }

    /// Sets the embedder; if it is another one, all vectors go and a `Reembed` job is queued.
    ///
    /// # Errors
    /// If `dimensions` is 0, or the memory cannot be written.
    pub fn use_embedder(&mut self, id: &str, dimensions: usize) -> Result<()> {
        if dimensions == 0 {
            return Err(StoreError::invalid("an embedding model needs dimensions"));
        }
        if self.embedder_id()?.as_deref() == Some(id) && self.dimensions()? == Some(dimensions) {
            return Ok(());
        }
        self.drop_vectors()?;
        self.set_meta(EMBEDDER, Some(id))?;
        self.set_meta(DIMENSIONS, Some(&dimensions.to_string()))?;
        if self.has_more_than(0)? {
            self.enqueue(&JobKind::Reembed)?;
        }
        Ok(())
    }

    pub(super) fn drop_vectors(&mut self) -> Result<()> {
        self.touch_hierarchy()?;
        for level in Level::ALL {
            self.run(&format!("DELETE FROM {}_vector", level.name()), [])?;
            self.drop_index(level)?;
        }
        Ok(())
    }

    pub(super) fn drop_embedding(&mut self, level: Level, id: i64) -> Result<()> {
        self.vectors_change(level)?;
        self.run(&format!("DELETE FROM {}_vector WHERE id = ?1", level.name()), [id])?;
        self.unindex_vector(level, id)
    }

    fn vectors_change(&mut self, level: Level) -> Result<()> {
        match level {
            Level::Semantic | Level::Theme => self.touch_hierarchy(),
            Level::Message | Level::Episode => Ok(()),
        }
    }
}
