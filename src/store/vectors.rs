//! Vectors, in one `vec0` table a level, made when the embedder is known.

use std::collections::BTreeSet;

use super::access::{Reader, WriteTx};
use super::error::{Result, StoreError};
use super::records::{JobKind, Level};
use crate::memory::Embedding;

const EMBEDDER: &str = "embedder";
const DIMENSIONS: &str = "dimensions";

/// sqlite-vec answers no more than this at once.
const K_MAX: usize = 4096;

/// Vectors a chunk: a chunk is allocated whole, and a young memory has four part-filled ones.
const CHUNK: usize = 256;

fn bytes(embedding: &Embedding) -> Vec<u8> {
    embedding.as_slice().iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// A stored vector has unit length already (scaling it again changes no bit in practice), but what
/// a damaged file holds need not have.
fn parse(blob: &[u8]) -> Result<Embedding> {
    let floats =
        blob.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    Embedding::normalise(floats)
        .map_err(|e| StoreError::Sqlite { action: "read", source: Box::new(e) })
}

impl Reader<'_> {
    /// Identity of the embedder whose vectors are stored; `None` before the first.
    pub fn embedder_id(&self) -> Result<Option<String>> {
        self.meta(EMBEDDER)
    }

    /// The length of the stored vectors; `None` before the first embedder.
    pub fn dimensions(&self) -> Result<Option<usize>> {
        Ok(self.meta(DIMENSIONS)?.and_then(|text| text.parse().ok()))
    }

    /// All vectors of a level (raw ids), by id, for the worker's and recall's caches.
    pub fn embeddings(&self, level: Level) -> Result<Vec<(i64, Embedding)>> {
        if self.dimensions()?.is_none() {
            return Ok(Vec::new());
        }
        let sql = format!("SELECT id, embedding FROM {}_vector", level.name());
        let rows =
            self.all(&sql, [], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?)))?;
        let mut found = rows
            .into_iter()
            .map(|(id, blob)| Ok((id, parse(&blob)?)))
            .collect::<Result<Vec<_>>>()?;
        found.sort_unstable_by_key(|(id, _)| *id);
        Ok(found)
    }

    pub fn embedding(&self, level: Level, id: i64) -> Result<Option<Embedding>> {
        if self.dimensions()?.is_none() {
            return Ok(None);
        }
        let sql = format!("SELECT embedding FROM {}_vector WHERE id = ?1", level.name());
        self.optional(&sql, [id], |row| row.get::<_, Vec<u8>>(0))?
            .map(|blob| parse(&blob))
            .transpose()
    }

    /// At most `n` vectors of a level, spread evenly over its ids and so over time; the same ones at
    /// every call.
    pub fn sample(&self, level: Level, n: usize) -> Result<Vec<Embedding>> {
        if self.dimensions()?.is_none() {
            return Ok(Vec::new());
        }
        let name = level.name();
        let sql = format!(
            "SELECT (SELECT min(rowid) FROM {name}_vector_rowids),
                    (SELECT max(rowid) FROM {name}_vector_rowids)"
        );
        let ends = self.optional(&sql, [], |row| {
            Ok(row.get::<_, Option<i64>>(0)?.zip(row.get::<_, Option<i64>>(1)?))
        })?;
        let Some((first, last)) = ends.flatten() else { return Ok(Vec::new()) };
        let next = format!(
            "SELECT rowid FROM {name}_vector_rowids WHERE rowid >= ?1 ORDER BY rowid LIMIT 1"
        );
        let steps = n.saturating_sub(1).max(1) as i128;
        let mut ids = BTreeSet::new();
        for step in 0..n as i128 {
            let from = i128::from(first) + (i128::from(last) - i128::from(first)) * step / steps;
            ids.extend(self.optional(&next, [from as i64], |row| row.get::<_, i64>(0))?);
        }
        let vectors = ids.into_iter().map(|id| self.embedding(level, id));
        Ok(vectors.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    }

    /// Exact nearest by cosine, best first (sqlite-vec). `(raw id, cosine)`; equal ones by id.
    ///
    /// # Errors
    /// If the query is not of the stored vectors' length.
    pub fn nearest(&self, level: Level, query: &Embedding, k: usize) -> Result<Vec<(i64, f32)>> {
        let Some(dimensions) = self.dimensions()? else { return Ok(Vec::new()) };
        check(query, dimensions)?;
        let mut found = if k > K_MAX {
            self.embeddings(level)?.into_iter().map(|(id, e)| (id, e.cosine(query))).collect()
        } else {
            let sql = format!(
                "SELECT id, distance FROM {}_vector WHERE embedding MATCH ?1 AND k = ?2",
                level.name()
            );
            self.all(&sql, rusqlite::params![bytes(query), k as i64], |row| {
                Ok((row.get::<_, i64>(0)?, (1.0 - row.get::<_, f64>(1)?).clamp(-1.0, 1.0) as f32))
            })?
        };
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        found.truncate(k);
        Ok(found)
    }

    /// Units of a level without a vector, oldest first, with the text that is to be embedded (an
    /// episode's title and content). A reply that is still being written is not among them.
    pub fn without_embedding(&self, level: Level, limit: usize) -> Result<Vec<(i64, String)>> {
        let name = level.name();
        let (text, which) = match level {
            Level::Message => ("u.content", "(u.complete OR u.episode IS NOT NULL)"),
            Level::Episode => ("u.title || char(10) || u.content", "TRUE"),
            Level::Semantic => ("u.content", "TRUE"),
            Level::Theme => ("u.name", "TRUE"),
        };
        // The shadow table has a plain index on the ids; the virtual one would be scanned.
        let missing = if self.dimensions()?.is_some() {
            format!("NOT EXISTS (SELECT 1 FROM {name}_vector_rowids v WHERE v.rowid = u.id)")
        } else {
            "TRUE".to_owned()
        };
        let sql = format!(
            "SELECT u.id, {text} FROM {name} u WHERE {which} AND {missing} ORDER BY u.id LIMIT ?1"
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
    /// If the unit does not exist, no embedder was set, or the length is another.
    pub fn put_embedding(&mut self, level: Level, id: i64, embedding: &Embedding) -> Result<()> {
        let Some(dimensions) = self.dimensions()? else {
            return Err(StoreError::invalid("no embedding model was set for the memory"));
        };
        check(embedding, dimensions)?;
        let name = level.name();
        self.optional(&format!("SELECT 1 FROM {name} WHERE id = ?1"), [id], |_| Ok(()))?
            .ok_or_else(|| StoreError::not_found(name, level.display_id(id)))?;
        let blob = bytes(embedding);
        let update = format!("UPDATE {name}_vector SET embedding = ?2 WHERE id = ?1");
        if self.has_embedding(level, id)? {
            self.run(&update, rusqlite::params![id, blob])?;
        } else {
            let insert = format!("INSERT INTO {name}_vector (id, embedding) VALUES (?1, ?2)");
            self.run(&insert, rusqlite::params![id, blob])?;
        }
        Ok(())
    }

    /// Sets the embedder; if it is another one, all vectors go and a `Reembed` job is queued.
    pub fn use_embedder(&mut self, id: &str, dimensions: usize) -> Result<()> {
        if dimensions == 0 {
            return Err(StoreError::invalid("an embedding model needs dimensions"));
        }
        if self.embedder_id()?.as_deref() == Some(id) && self.dimensions()? == Some(dimensions) {
            return Ok(());
        }
        for level in Level::ALL {
            let name = level.name();
            self.conn.execute_batch(&format!(
                "DROP TABLE IF EXISTS {name}_vector;
                 CREATE VIRTUAL TABLE {name}_vector USING vec0 (
                     id INTEGER PRIMARY KEY,
                     embedding float[{dimensions}] distance_metric=cosine,
                     chunk_size={CHUNK}
                 );"
            ))?;
        }
        self.set_meta(EMBEDDER, Some(id))?;
        self.set_meta(DIMENSIONS, Some(&dimensions.to_string()))?;
        let units = self.counts()?;
        if units.messages + units.episodes + units.semantics > 0 {
            self.enqueue(&JobKind::Reembed)?;
        }
        Ok(())
    }

    pub(super) fn drop_embedding(&mut self, level: Level, id: i64) -> Result<()> {
        if self.dimensions()?.is_some() && self.has_embedding(level, id)? {
            self.run(&format!("DELETE FROM {}_vector WHERE id = ?1", level.name()), [id])?;
        }
        Ok(())
    }

    fn has_embedding(&self, level: Level, id: i64) -> Result<bool> {
        let sql = format!("SELECT 1 FROM {}_vector_rowids WHERE rowid = ?1", level.name());
        Ok(self.optional(&sql, [id], |_| Ok(()))?.is_some())
    }
}
