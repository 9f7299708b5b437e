//! The sketches of large levels, kept in memory.
//!
//! A search reads every sketch of a level. SQLite's page caches would do, but a commit empties those
//! of all other connections, and there is one before nearly every question: what was said is saved.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use super::records::Level;

/// Rows of sketches by block.
pub(super) type Rows = BTreeMap<i64, Vec<u8>>;

/// See the module. A reader may find here what was committed after its snapshot; what was committed
/// when it began is never missing.
#[derive(Default)]
pub(super) struct SketchCache(RwLock<Cached>);

#[derive(Default)]
struct Cached {
    /// Commits that changed sketches.
    generation: u64,
    levels: BTreeMap<Level, Rows>,
}

/// What a transaction changed.
#[derive(Default)]
pub(super) struct SketchChanges {
    /// All sketches went, before anything else.
    cleared: bool,
    /// The rows as they are now; empty: gone.
    rows: BTreeMap<(Level, i64), Vec<u8>>,
}

impl SketchChanges {
    pub(super) fn clear(&mut self) {
        *self = Self { cleared: true, rows: BTreeMap::new() };
    }

    pub(super) fn put(&mut self, level: Level, block: i64, row: Vec<u8>) {
        self.rows.insert((level, block), row);
    }
}

impl SketchCache {
    /// To be asked before a snapshot is taken: see [`SketchCache::keep`].
    pub(super) fn generation(&self) -> u64 {
        self.0.read().unwrap_or_else(PoisonError::into_inner).generation
    }

    /// Shows all rows of a level; false if it is not here.
    pub(super) fn visit(&self, level: Level, mut f: impl FnMut(i64, &[u8])) -> bool {
        let cached = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let Some(rows) = cached.levels.get(&level) else { return false };
        for (&block, row) in rows {
            f(block, row);
        }
        true
    }

    /// Keeps a level's rows as a snapshot had them, unless sketches were changed since that generation:
    /// the snapshot may not have it.
    pub(super) fn keep(&self, level: Level, rows: Rows, generation: u64) {
        let mut cached = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if cached.generation == generation {
            cached.levels.insert(level, rows);
        }
    }

    /// After the commit.
    pub(super) fn apply(&self, changes: SketchChanges) {
        if !changes.cleared && changes.rows.is_empty() {
            return;
        }
        let mut cached = self.0.write().unwrap_or_else(PoisonError::into_inner);
        cached.generation += 1;
        if changes.cleared {
            cached.levels.clear();
        }
        for ((level, block), row) in changes.rows {
            let Some(rows) = cached.levels.get_mut(&level) else { continue };
            if row.is_empty() {
                rows.remove(&block);
            } else {
                rows.insert(block, row);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(cache: &SketchCache, level: Level) -> Option<Rows> {
        let mut rows = Rows::new();
        cache
            .visit(level, |block, row| {
                rows.insert(block, row.to_vec());
            })
            .then_some(rows)
    }

    fn change(level: Level, block: i64, row: &[u8]) -> SketchChanges {
        let mut changes = SketchChanges::default();
        changes.put(level, block, row.to_vec());
        changes
    }

    #[test]
    fn what_is_committed_is_seen_and_an_older_snapshot_is_not_kept() {
        let cache = SketchCache::default();
        let before = cache.generation();
        // Nothing is kept yet: a change is only counted.
        cache.apply(change(Level::Message, 0, &[1]));
        cache.keep(Level::Message, Rows::from([(0, vec![0])]), before);
        assert_eq!(rows(&cache, Level::Message), None);
        cache.keep(Level::Message, Rows::from([(0, vec![1]), (4, vec![4])]), cache.generation());
        cache.apply(change(Level::Message, 4, &[]));
        cache.apply(change(Level::Message, 2, &[2]));
        cache.apply(change(Level::Semantic, 0, &[9]));
        let expected = Rows::from([(0, vec![1]), (2, vec![2])]);
        assert_eq!(rows(&cache, Level::Message), Some(expected));
        assert_eq!(rows(&cache, Level::Semantic), None);
        // A transaction that changed nothing here makes no snapshot old.
        let before = cache.generation();
        cache.apply(SketchChanges::default());
        cache.keep(Level::Semantic, Rows::from([(0, vec![9])]), before);
        assert!(rows(&cache, Level::Semantic).is_some());
        let mut changes = change(Level::Message, 7, &[7]);
        changes.clear();
        changes.put(Level::Message, 8, vec![8]);
        cache.apply(changes);
        assert_eq!(rows(&cache, Level::Message), None);
    }
}
