//! What every search reads of large levels, kept in memory: all sketches, and the sample of the vectors.
//!
//! SQLite's page caches would do, but a commit empties those of all other connections, and there is
//! one before nearly every question: what was said is saved.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::{Arc, PoisonError, RwLock};

use super::records::Level;
use crate::memory::Embedding;

/// Rows of sketches by block, one right behind the other: read from end to end, memory is always ahead.
/// (A vector for each row takes four times as long; tests/bench/LOG.md.)
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rows {
    row_length: usize,
    /// Rising.
    blocks: Vec<i64>,
    bytes: Vec<u8>,
}

impl Rows {
    /// Of so many bytes each.
    pub(super) fn new(row_length: usize) -> Self {
        Self { row_length: row_length.max(1), blocks: Vec::new(), bytes: Vec::new() }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (i64, &[u8])> {
        self.blocks.iter().copied().zip(self.bytes.chunks_exact(self.row_length))
    }

    /// A row of another length (a damaged file's) is cut, or filled up with what is no sketch.
    pub(super) fn put(&mut self, block: i64, row: &[u8]) {
        let row = row.iter().copied().chain(std::iter::repeat(0)).take(self.row_length);
        let (place, is_here) = match self.blocks.binary_search(&block) {
            Ok(place) => (place, true),
            Err(place) => (place, false),
        };
        let at = place * self.row_length;
        if is_here {
            self.bytes.splice(at..at + self.row_length, row);
            return;
        }
        if self.bytes.capacity() - self.bytes.len() < self.row_length {
            // Twice as much, as vectors grow by themselves, would be empty for years.
            self.bytes.reserve_exact(self.row_length.max(self.bytes.len() / 8));
        }
        self.blocks.insert(place, block);
        self.bytes.splice(at..at, row);
    }

    fn remove(&mut self, block: i64) {
        if let Ok(place) = self.blocks.binary_search(&block) {
            self.blocks.remove(place);
            self.bytes.drain(place * self.row_length..(place + 1) * self.row_length);
        }
    }
}

/// Some vectors of a level.
pub(super) struct Sample {
    /// From this id to that, so many.
    pub of: (i64, i64, usize),
    pub vectors: Arc<[Embedding]>,
    /// Where another vector would change it.
    pub blocks: Vec<RangeInclusive<i64>>,
}

/// See the module. A reader may find here what was committed after its snapshot; what was committed
/// when it began is never missing.
#[derive(Default)]
pub(super) struct SearchCache(RwLock<Cached>);

#[derive(Default)]
struct Cached {
    /// Commits that changed vectors.
    generation: u64,
    sketches: BTreeMap<Level, Rows>,
    samples: BTreeMap<Level, Sample>,
}

/// What a transaction changed.
#[derive(Default)]
pub(super) struct SearchChanges {
    /// All vectors went, before anything else.
    cleared: bool,
    /// The rows of sketches as they are now; empty: gone.
    rows: BTreeMap<(Level, i64), Vec<u8>>,
}

impl SearchChanges {
    pub(super) fn clear(&mut self) {
        *self = Self { cleared: true, rows: BTreeMap::new() };
    }

    pub(super) fn put(&mut self, level: Level, block: i64, row: Vec<u8>) {
        self.rows.insert((level, block), row);
    }
}

impl SearchCache {
    /// To be asked before a snapshot is taken: see [`SearchCache::keep_sketches`].
    pub(super) fn generation(&self) -> u64 {
        self.0.read().unwrap_or_else(PoisonError::into_inner).generation
    }

    /// Shows all rows of a level's sketches; false if they are not here.
    pub(super) fn visit_sketches(&self, level: Level, mut f: impl FnMut(i64, &[u8])) -> bool {
        let cached = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let Some(rows) = cached.sketches.get(&level) else { return false };
        rows.iter().for_each(|(block, row)| f(block, row));
        true
    }

    /// Keeps a level's rows as a snapshot had them, unless vectors were changed since that generation:
    /// the snapshot may not have it.
    pub(super) fn keep_sketches(&self, level: Level, rows: Rows, generation: u64) {
        let mut cached = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if cached.generation == generation {
            cached.sketches.insert(level, rows);
        }
    }

    pub(super) fn sample(&self, level: Level, of: (i64, i64, usize)) -> Option<Arc<[Embedding]>> {
        let cached = self.0.read().unwrap_or_else(PoisonError::into_inner);
        cached.samples.get(&level).filter(|s| s.of == of).map(|s| s.vectors.clone())
    }

    /// As [`SearchCache::keep_sketches`].
    pub(super) fn keep_sample(&self, level: Level, sample: Sample, generation: u64) {
        let mut cached = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if cached.generation == generation {
            cached.samples.insert(level, sample);
        }
    }

    /// After the commit.
    pub(super) fn apply(&self, changes: SearchChanges) {
        if !changes.cleared && changes.rows.is_empty() {
            return;
        }
        let mut cached = self.0.write().unwrap_or_else(PoisonError::into_inner);
        cached.generation += 1;
        if changes.cleared {
            cached.sketches.clear();
            cached.samples.clear();
        }
        for ((level, block), row) in changes.rows {
            let touches = |s: &Sample| s.blocks.iter().any(|blocks| blocks.contains(&block));
            if cached.samples.get(&level).is_some_and(touches) {
                cached.samples.remove(&level);
            }
            let Some(rows) = cached.sketches.get_mut(&level) else { continue };
            if row.is_empty() {
                rows.remove(block);
            } else {
                rows.put(block, &row);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rows(rows: &[(i64, u8)]) -> Rows {
        let mut all = Rows::new(1);
        for &(block, row) in rows {
            all.put(block, &[row]);
        }
        all
    }

    fn kept(cache: &SearchCache, level: Level) -> Option<Vec<(i64, Vec<u8>)>> {
        let mut rows = Vec::new();
        cache.visit_sketches(level, |block, row| rows.push((block, row.to_vec()))).then_some(rows)
    }

    fn change(level: Level, block: i64, row: &[u8]) -> SearchChanges {
        let mut changes = SearchChanges::default();
        changes.put(level, block, row.to_vec());
        changes
    }

    #[test]
    fn what_is_committed_is_seen_and_an_older_snapshot_is_not_kept() {
        let cache = SearchCache::default();
        let before = cache.generation();
        // Nothing is kept yet: a change is only counted.
        cache.apply(change(Level::Message, 0, &[1]));
        cache.keep_sketches(Level::Message, rows(&[(0, 0)]), before);
        assert_eq!(kept(&cache, Level::Message), None);
        cache.keep_sketches(Level::Message, rows(&[(4, 4), (0, 1)]), cache.generation());
        cache.apply(change(Level::Message, 4, &[]));
        cache.apply(change(Level::Message, 2, &[2]));
        cache.apply(change(Level::Semantic, 0, &[9]));
        let expected = vec![(0, vec![1]), (2, vec![2])];
        assert_eq!(kept(&cache, Level::Message), Some(expected));
        assert_eq!(kept(&cache, Level::Semantic), None);
        // A transaction that changed nothing here makes no snapshot old.
        let before = cache.generation();
        cache.apply(SearchChanges::default());
        cache.keep_sketches(Level::Semantic, rows(&[(0, 9)]), before);
        assert!(kept(&cache, Level::Semantic).is_some());
        let mut changes = change(Level::Message, 7, &[7]);
        changes.clear();
        changes.put(Level::Message, 8, vec![8]);
        cache.apply(changes);
        assert_eq!(kept(&cache, Level::Message), None);
    }

    proptest! {
        #[test]
        fn rows_are_a_map(
            changes in prop::collection::vec((-9i64..9, prop::option::of(1u8..)), 0..60),
        ) {
            let (mut rows, mut map) = (Rows::new(3), BTreeMap::new());
            for (block, row) in changes {
                if let Some(x) = row {
                    // Any length becomes three.
                    rows.put(block, &vec![x; usize::from(x) % 6]);
                    map.insert(block, [0, 1, 2].map(|i| if i < x % 6 { x } else { 0 }));
                } else {
                    rows.remove(block);
                    map.remove(&block);
                }
            }
            let found: Vec<_> = rows.iter().map(|(block, row)| (block, row.to_vec())).collect();
            let expected: Vec<_> = map.into_iter().map(|(block, row)| (block, row.to_vec())).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
