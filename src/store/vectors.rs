//! Vectors, a row each, and sketches of them, 64 to a row.
//!
//! Up to [`EXACT_MAX`] vectors a search compares all. Beyond, it reads the sketches (one bit a
//! component: its sign), which are a thirtieth of the bytes, and compares in full what they put
//! first.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rusqlite::types::ValueRef;

use super::access::{Reader, WANTED, WriteTx};
use super::error::{Result, StoreError};
use super::records::{JobKind, Level};
use super::search_cache::{Rows, Sample};
use super::sketch::{Search, sketch, sketch_len};
use crate::memory::Embedding;

const EMBEDDER: &str = "embedder";
const DIMENSIONS: &str = "dimensions";

/// Where a search stops being exact.
const EXACT_MAX: usize = 2_048;

/// What is compared in full for the `k` nearest: so many each, and at least so many. On the dev
/// conversations' semantics (MiniLM, 1,143) the 256 best sketches hold 0.9995 of the 64 nearest.
const N_COMPARED_EACH: usize = 4;
const N_COMPARED_MIN: usize = 256;

/// Sketches that are weighed for one that is compared in full, at least.
const N_WEIGHED_EACH: usize = 8;

/// Units to a row of sketches: with 384 components they fill a page.
const BLOCK: i64 = 64;

fn bytes(embedding: &Embedding) -> Vec<u8> {
    embedding.as_slice().iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn floats(blob: &[u8]) -> impl Iterator<Item = f32> {
    blob.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
}

/// A stored vector has unit length already (scaling it again changes no bit in practice), but what
/// a damaged file holds need not have.
fn parse(blob: &[u8]) -> Result<Embedding> {
    Embedding::normalise(floats(blob).collect())
        .map_err(|e| StoreError::Sqlite { action: "read", source: Box::new(e) })
}

/// With a stored vector; what a damaged file holds may be anything. `scratch` is room to read it in.
fn cosine(query: &Embedding, blob: &[u8], scratch: &mut Vec<f32>) -> f32 {
    scratch.clear();
    scratch.extend(floats(blob));
    let dot = query.dot(scratch);
    if dot.is_nan() { -1.0 } else { dot.clamp(-1.0, 1.0) }
}

fn blob<'a>(row: &'a rusqlite::Row<'_>, column: usize) -> rusqlite::Result<&'a [u8]> {
    match row.get_ref(column)? {
        ValueRef::Blob(bytes) => Ok(bytes),
        _ => Ok(&[]),
    }
}

/// Of a large level, an id not far from the last that stays as more come.
fn steady(first: i64, last: i64) -> Option<i64> {
    let span = last.abs_diff(first);
    if span < EXACT_MAX as u64 {
        return None;
    }
    let step = 1 << (span.ilog2() - 4);
    Some(first.saturating_add_unsigned(span / step * step))
}

/// Best first; of equals the older.
fn by_score(a: &(i64, f32), b: &(i64, f32)) -> Ordering {
    b.1.total_cmp(&a.1).then(a.0.cmp(&b.0))
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

    /// All vectors of a level (raw ids), by id, for the worker's cache.
    pub fn embeddings(&self, level: Level) -> Result<Vec<(i64, Embedding)>> {
        let sql = format!("SELECT id, embedding FROM {}_vector ORDER BY id", level.name());
        let rows =
            self.all(&sql, [], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?)))?;
        rows.into_iter().map(|(id, blob)| Ok((id, parse(&blob)?))).collect()
    }

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

    /// At most `n` vectors of a level, spread evenly over its ids and so over time; the same ones at
    /// every call, of a large level until it has grown by a sixteenth.
    pub fn sample(&self, level: Level, n: usize) -> Result<Arc<[Embedding]>> {
        let Some((first, last)) = self.ends(level)? else { return Ok(Arc::default()) };
        let steady = steady(first, last);
        let cache = self.cache.filter(|_| steady.is_some());
        let last = steady.unwrap_or(last);
        let of = (first, last, n);
        if let Some(vectors) = cache.and_then(|(cache, _)| cache.sample(level, of)) {
            return Ok(vectors);
        }
        let next = format!(
            "SELECT id, embedding FROM {}_vector WHERE id >= ?1 ORDER BY id LIMIT 1",
            level.name()
        );
        let steps = n.saturating_sub(1).max(1) as i128;
        let (mut vectors, mut blocks) = (BTreeMap::new(), Vec::new());
        for step in 0..n as i128 {
            let from = i128::from(first) + (i128::from(last) - i128::from(first)) * step / steps;
            let from = from as i64;
            let found = self
                .optional(&next, [from], |row| Ok((row.get::<_, i64>(0)?, parse(blob(row, 1)?))))?;
            let block = |id: i64| id.div_euclid(BLOCK);
            blocks.push(block(from)..=found.as_ref().map_or(i64::MAX, |(id, _)| block(*id)));
            if let Some((id, vector)) = found {
                vectors.insert(id, vector?);
            }
        }
        let vectors: Arc<[Embedding]> = vectors.into_values().collect();
        if let Some((cache, generation)) = cache {
            let sample = Sample { of, vectors: vectors.clone(), blocks };
            cache.keep_sample(level, sample, generation);
        }
        Ok(vectors)
    }

    /// The cosines of the query with those of these units (raw ids) that have a vector, by id.
    ///
    /// # Errors
    /// If the query is not of the stored vectors' length.
    pub fn cosines(
        &self,
        level: Level,
        query: &Embedding,
        ids: impl IntoIterator<Item = i64>,
    ) -> Result<Vec<(i64, f32)>> {
        let Some(dimensions) = self.dimensions()? else { return Ok(Vec::new()) };
        check(query, dimensions)?;
        let mut scratch = Vec::with_capacity(dimensions);
        let sql = format!(
            "SELECT id, embedding FROM {}_vector JOIN {WANTED} ON id = wanted",
            level.name()
        );
        self.of_ids(&sql, ids, |row| Ok((row.get(0)?, cosine(query, blob(row, 1)?, &mut scratch))))
    }

    /// The nearest by cosine, best first: `(raw id, cosine)`; equal ones by id. Exact up to 2,048
    /// vectors; beyond, one of them may be missed now and then.
    ///
    /// # Errors
    /// If the query is not of the stored vectors' length.
    pub fn nearest(&self, level: Level, query: &Embedding, k: usize) -> Result<Vec<(i64, f32)>> {
        let mut found = self.compared(level, query, k)?;
        found.truncate(k);
        Ok(found)
    }

    /// [`Reader::nearest`], and behind them all others that were compared on the way.
    ///
    /// # Errors
    /// If the query is not of the stored vectors' length.
    pub fn compared(&self, level: Level, query: &Embedding, k: usize) -> Result<Vec<(i64, f32)>> {
        let Some(dimensions) = self.dimensions()? else { return Ok(Vec::new()) };
        check(query, dimensions)?;
        let Some((first, last)) = self.ends(level)? else { return Ok(Vec::new()) };
        // At least as many as there are.
        let n = usize::try_from(last.saturating_sub(first)).unwrap_or(usize::MAX);
        let n_compared = k.saturating_mul(N_COMPARED_EACH).max(N_COMPARED_MIN);
        let name = level.name();
        let mut scratch = Vec::with_capacity(dimensions);
        let mut found = if n < EXACT_MAX.max(n_compared) {
            let sql = format!("SELECT id, embedding FROM {name}_vector");
            self.all(&sql, [], |row| Ok((row.get(0)?, cosine(query, blob(row, 1)?, &mut scratch))))?
        } else {
            self.cosines(level, query, self.by_sketch(level, query, n_compared)?)?
        };
        found.sort_unstable_by(by_score);
        Ok(found)
    }

    /// The `n` whose sketches say most, in no order.
    fn by_sketch(&self, level: Level, query: &Embedding, n: usize) -> Result<Vec<i64>> {
        let mut search = Search::new(query, n.saturating_mul(N_WEIGHED_EACH));
        let mut weighed = Vec::new();
        // The best so far are set apart now and then; whoever is below all of them is not kept.
        let n_kept_max = n.saturating_mul(4);
        let mut best: Vec<(Reverse<u32>, i64)> = Vec::new();
        let mut score_min = 0;
        self.each_row_of_sketches(level, query.dimensions(), |block, row| {
            search.row(row, &mut weighed);
            for &(place, score) in &weighed {
                if score < score_min {
                    continue;
                }
                best.push((Reverse(score), block.wrapping_mul(BLOCK).wrapping_add(place as i64)));
                if best.len() >= n_kept_max {
                    let (_, last, _) = best.select_nth_unstable(n);
                    score_min = last.0.0;
                    best.truncate(n);
                }
            }
        })?;
        if best.len() > n {
            best.select_nth_unstable(n);
            best.truncate(n);
        }
        Ok(best.into_iter().map(|(_, id)| id).collect())
    }

    /// From memory, where they are kept there: it may have more than this snapshot.
    fn each_row_of_sketches(
        &self,
        level: Level,
        dimensions: usize,
        mut f: impl FnMut(i64, &[u8]),
    ) -> Result<()> {
        if self.cache.is_some_and(|(cache, _)| cache.visit_sketches(level, &mut f)) {
            return Ok(());
        }
        let row_length = BLOCK as usize * sketch_len(dimensions);
        let mut rows = Rows::new(row_length);
        let sql = format!("SELECT block, sketches FROM {}_sketch", level.name());
        self.all(&sql, [], |row| {
            let (block, sketches) = (row.get(0)?, blob(row, 1)?);
            // A damaged file's may be longer, and reach into the next block's.
            let sketches = &sketches[..sketches.len().min(row_length)];
            f(block, sketches);
            if self.cache.is_some() {
                rows.put(block, sketches);
            }
            Ok(())
        })?;
        if let Some((cache, generation)) = self.cache {
            cache.keep_sketches(level, rows, generation);
        }
        Ok(())
    }

    /// Units whose sketch is not that of their vector (these are the level's, of so many
    /// components), or that have but one of them.
    pub(super) fn wrong_sketches(
        &self,
        level: Level,
        vectors: &[(i64, Embedding)],
        dimensions: usize,
    ) -> Result<Vec<i64>> {
        let length = sketch_len(dimensions);
        let mut expected: BTreeMap<i64, Vec<u8>> =
            vectors.iter().map(|(id, e)| (*id, sketch(e))).collect();
        let mut wrong = BTreeSet::new();
        let sql = format!("SELECT block, sketches FROM {}_sketch", level.name());
        self.all(&sql, [], |row| {
            let block: i64 = row.get(0)?;
            for (slot, found) in (0..BLOCK).zip(blob(row, 1)?.chunks_exact(length)) {
                let id = block.wrapping_mul(BLOCK).wrapping_add(slot);
                let wanted = expected.remove(&id);
                if wanted.as_deref() != (found[0] != 0).then_some(found) {
                    wrong.insert(id);
                }
            }
            Ok(())
        })?;
        wrong.extend(expected.into_keys());
        Ok(wrong.into_iter().collect())
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
    /// If the unit does not exist, no embedder was set, or the length is another.
    pub fn put_embedding(&mut self, level: Level, id: i64, embedding: &Embedding) -> Result<()> {
        let Some(dimensions) = self.dimensions()? else {
            return Err(StoreError::invalid("no embedding model was set for the memory"));
        };
        check(embedding, dimensions)?;
        let name = level.name();
        self.optional(&format!("SELECT 1 FROM {name} WHERE id = ?1"), [id], |_| Ok(()))?
            .ok_or_else(|| StoreError::not_found(name, level.display_id(id)))?;
        self.vectors_change(level)?;
        let sql = format!(
            "INSERT INTO {name}_vector (id, embedding) VALUES (?1, ?2)
             ON CONFLICT (id) DO UPDATE SET embedding = excluded.embedding"
        );
        self.run(&sql, rusqlite::params![id, bytes(embedding)])?;
        self.put_sketch(level, id, &sketch(embedding))
    }

    /// Sets the embedder; if it is another one, all vectors go and a `Reembed` job is queued.
    pub fn use_embedder(&mut self, id: &str, dimensions: usize) -> Result<()> {
        if dimensions == 0 {
            return Err(StoreError::invalid("an embedding model needs dimensions"));
        }
        if self.embedder_id()?.as_deref() == Some(id) && self.dimensions()? == Some(dimensions) {
            return Ok(());
        }
        self.touch_hierarchy()?;
        for level in Level::ALL {
            let name = level.name();
            self.run(&format!("DELETE FROM {name}_vector"), [])?;
            self.run(&format!("DELETE FROM {name}_sketch"), [])?;
        }
        self.search_changes.clear();
        self.set_meta(EMBEDDER, Some(id))?;
        self.set_meta(DIMENSIONS, Some(&dimensions.to_string()))?;
        let units = self.counts()?;
        if units.messages + units.episodes + units.semantics > 0 {
            self.enqueue(&JobKind::Reembed)?;
        }
        Ok(())
    }

    pub(super) fn drop_embedding(&mut self, level: Level, id: i64) -> Result<()> {
        let Some(dimensions) = self.dimensions()? else { return Ok(()) };
        self.vectors_change(level)?;
        self.run(&format!("DELETE FROM {}_vector WHERE id = ?1", level.name()), [id])?;
        self.put_sketch(level, id, &vec![0; sketch_len(dimensions)])
    }

    fn vectors_change(&mut self, level: Level) -> Result<()> {
        match level {
            Level::Semantic | Level::Theme => self.touch_hierarchy(),
            Level::Message | Level::Episode => Ok(()),
        }
    }

    /// Of zeros: there is none.
    fn put_sketch(&mut self, level: Level, id: i64, sketch: &[u8]) -> Result<()> {
        let name = level.name();
        let (block, slot) = (id.div_euclid(BLOCK), id.rem_euclid(BLOCK) as usize);
        let read = format!("SELECT sketches FROM {name}_sketch WHERE block = ?1");
        let mut sketches =
            self.optional(&read, [block], |row| row.get::<_, Vec<u8>>(0))?.unwrap_or_default();
        sketches.resize(BLOCK as usize * sketch.len(), 0);
        sketches[slot * sketch.len()..][..sketch.len()].copy_from_slice(sketch);
        if sketches.iter().all(|&byte| byte == 0) {
            self.run(&format!("DELETE FROM {name}_sketch WHERE block = ?1"), [block])?;
            sketches.clear();
        } else {
            let write = format!(
                "INSERT INTO {name}_sketch (block, sketches) VALUES (?1, ?2)
                 ON CONFLICT (block) DO UPDATE SET sketches = excluded.sketches"
            );
            self.run(&write, rusqlite::params![block, sketches])?;
        }
        self.search_changes.put(level, block, sketches);
        Ok(())
    }
}
