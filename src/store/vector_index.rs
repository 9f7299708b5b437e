//! The index of a large level's vectors: short codes in a table of sqlite-vec (`vec0`), which compares
//! all of them with a query's code.
//!
//! A code has two bits for each component of a vector: whether it lies above the lower and above the
//! upper third of where components lie, relative to the level's mean. The Hamming distance of two codes
//! is then how many thirds apart the vectors are, summed over the components. The codes that are nearest
//! say which vectors are compared in full ([`super::vectors`]).
//!
//! `vec0` selects the `k` nearest of a chunk one by one, so that a large `k` costs more than all distances
//! together. One code in [`SAMPLED_EVERY`] is therefore in a partition of its own: the distance of the
//! `k / 16`-th nearest there bounds the search of all, and few codes are left to select from.
//! docs/decisions/016-vector-search-by-sqlite-vec.md has the figures.

use rusqlite::params;

use super::error::{Result, StoreError};
use super::records::Level;
use super::transaction::{Reader, WriteTx};
use super::vectors::{EXACT_MAX, blob, parse};
use crate::memory::Embedding;

/// Where the upper third of normally distributed values begins, in standard deviations.
const UPPER_THIRD: f32 = 0.43;

/// One id in so many is in the partition that is searched first.
const SAMPLED_EVERY: i64 = 16;

/// Codes to a chunk: a chunk is read and searched as a whole.
const CHUNK_SIZE: usize = 1_024;

/// The mean is stored in multiples of this, so coarsely that no single vector shows in it.
const MEAN_UNIT: f32 = 1.0 / 1_024.0;

/// The most that `vec0` returns, and the longest bit vector that it takes.
const K_MAX: i64 = 4_096;
const BITS_MAX: usize = 8_192;

/// The most candidates that can be asked for.
pub(super) const CANDIDATES_MAX: usize = K_MAX as usize / 4;

/// Bits of a code: whole 64-bit words, which sqlite-vec compares by population counts.
fn code_bits(dimensions: usize) -> usize {
    (2 * dimensions).next_multiple_of(64)
}

fn code(values: impl Iterator<Item = f32> + Clone, threshold: f32) -> Vec<u8> {
    let mut code = vec![0; code_bits(values.clone().count()) / 8];
    let bits = values.clone().map(|x| x > -threshold).chain(values.map(|x| x > threshold));
    for (i, bit) in bits.enumerate() {
        code[i / 8] |= u8::from(bit) << (i % 8);
    }
    code
}

/// The index of one level.
pub(super) struct VectorIndex {
    table: String,
    /// Components of the level's mean when the index was made.
    pub(super) mean: Vec<f32>,
}

impl VectorIndex {
    fn code_of_stored(&self, vector: &Embedding) -> Vec<u8> {
        let length_of_mean: f32 = self.mean.iter().map(|m| m * m).sum();
        let variance = (1.0 - length_of_mean).max(0.0) / self.mean.len() as f32;
        let centred = vector.as_slice().iter().zip(&self.mean).map(|(x, m)| x - m);
        code(centred, UPPER_THIRD * variance.sqrt())
    }

    /// Without the component along the mean, whose product is about the same with all vectors.
    fn code_of_query(&self, query: &Embedding) -> Vec<u8> {
        let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>();
        let length_of_mean = product(&self.mean, &self.mean).max(f32::MIN_POSITIVE);
        let share = product(query.as_slice(), &self.mean) / length_of_mean;
        let rest: Vec<f32> =
            query.as_slice().iter().zip(&self.mean).map(|(x, m)| x - share * m).collect();
        let variance = product(&rest, &rest) / rest.len() as f32;
        code(rest.iter().copied(), UPPER_THIRD * variance.sqrt())
    }
}

impl Reader<'_> {
    /// The index of a level; `None` if the level is searched exactly.
    pub(super) fn vector_index(&self, level: Level) -> Result<Option<VectorIndex>> {
        let sql = "SELECT mean FROM vector_index WHERE level = ?1";
        self.optional(sql, [level.name()], |row| {
            let units = blob(row, 0)?.as_chunks().0;
            let mean = units.iter().map(|&unit| f32::from(i16::from_le_bytes(unit)) * MEAN_UNIT);
            Ok(VectorIndex {
                table: format!("{}_vector_index", level.name()),
                mean: mean.collect(),
            })
        })
    }

    /// The ids of about `n` of the nearest codes, in no particular order; `n` is at most [`CANDIDATES_MAX`].
    pub(super) fn candidates(
        &self,
        index: &VectorIndex,
        query: &Embedding,
        n: usize,
    ) -> Result<Vec<i64>> {
        let table = &index.table;
        let code = index.code_of_query(query);
        let bits = 8.0 * code.len() as f64;
        let n_of_sample = n.div_ceil(SAMPLED_EVERY as usize) as i64;
        let k = K_MAX.min(4 * n as i64);
        let of_sample = format!(
            "SELECT rowid, distance FROM {table}
             WHERE code MATCH vec_bit(?1) AND k = ?2 AND sampled = 1"
        );
        let of_sample: Vec<(i64, f64)> =
            self.all(&of_sample, params![code, n_of_sample], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let mut within = of_sample.iter().map(|&(_, d)| d).reduce(f64::max).unwrap_or(bits);
        let rest_within = format!(
            "SELECT rowid FROM {table}
             WHERE code MATCH vec_bit(?1) AND k = ?2 AND distance <= ?3 AND sampled = 0"
        );
        loop {
            let mut found: Vec<i64> =
                self.all(&rest_within, params![code, k, within], |row| row.get(0))?;
            found.extend(of_sample.iter().map(|&(id, _)| id));
            // A small sample may have missed where most of the nearest are.
            if found.len() * 2 >= n || within >= bits {
                return Ok(found);
            }
            within += bits / 32.0;
        }
    }

    /// Ids whose code is not that of their vector, or that have only one of the two.
    pub(super) fn wrong_codes(
        &self,
        level: Level,
        vectors: &[(i64, Embedding)],
    ) -> Result<Vec<i64>> {
        let Some(index) = self.vector_index(level)? else { return Ok(Vec::new()) };
        let sql = format!("SELECT rowid, code FROM {} ORDER BY rowid", index.table);
        let mut codes: std::collections::BTreeMap<i64, Vec<u8>> = self
            .all(&sql, [], |row| Ok((row.get(0)?, blob(row, 1)?.to_vec())))?
            .into_iter()
            .collect();
        let mut wrong: Vec<i64> = vectors
            .iter()
            .filter(|(id, vector)| codes.remove(id) != Some(index.code_of_stored(vector)))
            .map(|(id, _)| *id)
            .collect();
        wrong.extend(codes.into_keys());
        Ok(wrong)
    }
}

impl WriteTx<'_> {
    /// To be called after a vector is stored; the one that makes a level large makes its index.
    pub(super) fn index_vector(&mut self, level: Level, id: i64, vector: &Embedding) -> Result<()> {
        if let Some(index) = self.vector_index(level)? {
            self.unindex(&index, id)?;
            return self.put_code(&index, id, vector);
        }
        if self.span(level)? >= EXACT_MAX {
            self.make_index(level, vector.dimensions())
        } else {
            Ok(())
        }
    }

    /// To be called after a vector is removed. A level that has become small is searched exactly again.
    pub(super) fn unindex_vector(&mut self, level: Level, id: i64) -> Result<()> {
        let Some(index) = self.vector_index(level)? else { return Ok(()) };
        self.unindex(&index, id)?;
        if self.span(level)? < EXACT_MAX / 2 { self.drop_index(level) } else { Ok(()) }
    }

    /// Makes the index of every level that is large enough: the migration of an older memory.
    pub(super) fn make_indexes(&mut self) -> Result<()> {
        let Some(dimensions) = self.dimensions()? else { return Ok(()) };
        for level in Level::ALL {
            if self.span(level)? >= EXACT_MAX {
                self.make_index(level, dimensions)?;
            }
        }
        Ok(())
    }

    fn make_index(&mut self, level: Level, dimensions: usize) -> Result<()> {
        if code_bits(dimensions) > BITS_MAX {
            return Ok(());
        }
        let (mut sums, mut n) = (vec![0.0_f64; dimensions], 0.0);
        self.each_vector(level, dimensions, |_, vector| {
            n += 1.0;
            sums.iter_mut().zip(vector.as_slice()).for_each(|(sum, x)| *sum += f64::from(*x));
            Ok(())
        })?;
        let in_units = |sum: f64| (sum / n / f64::from(MEAN_UNIT)).round() as i16;
        let mean: Vec<u8> = sums.into_iter().flat_map(|sum| in_units(sum).to_le_bytes()).collect();
        let name = level.name();
        self.conn.execute_batch(&format!(
            "CREATE VIRTUAL TABLE {name}_vector_index USING vec0 (
                sampled INTEGER PARTITION KEY, code bit[{}], chunk_size={CHUNK_SIZE}
             )",
            code_bits(dimensions),
        ))?;
        self.run("INSERT INTO vector_index (level, mean) VALUES (?1, ?2)", params![name, mean])?;
        let Some(index) = self.vector_index(level)? else {
            return Err(StoreError::not_found("vector index", name));
        };
        self.each_vector(level, dimensions, |id, vector| self.put_code(&index, id, &vector))
    }

    /// Calls `f` with each vector of a level, by id. Damaged ones are left out: `verify` reports them, and the rest can be searched.
    fn each_vector(
        &self,
        level: Level,
        dimensions: usize,
        mut f: impl FnMut(i64, Embedding) -> Result<()>,
    ) -> Result<()> {
        let sql = format!("SELECT id, embedding FROM {}_vector ORDER BY id", level.name());
        let mut statement = self.conn.prepare(&sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            match parse(blob(row, 1)?) {
                Ok(vector) if vector.dimensions() == dimensions => f(row.get(0)?, vector)?,
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn drop_index(&mut self, level: Level) -> Result<()> {
        let name = level.name();
        self.conn.execute_batch(&format!("DROP TABLE IF EXISTS {name}_vector_index"))?;
        self.run("DELETE FROM vector_index WHERE level = ?1", [name])?;
        Ok(())
    }

    fn put_code(&self, index: &VectorIndex, id: i64, vector: &Embedding) -> Result<()> {
        let sql = format!(
            "INSERT INTO {} (rowid, sampled, code) VALUES (?1, ?2, vec_bit(?3))",
            index.table
        );
        let sampled = i64::from(id % SAMPLED_EVERY == 0);
        self.run(&sql, params![id, sampled, index.code_of_stored(vector)])?;
        Ok(())
    }

    fn unindex(&self, index: &VectorIndex, id: i64) -> Result<()> {
        self.run(&format!("DELETE FROM {} WHERE rowid = ?1", index.table), [id])?;
        Ok(())
    }
}
