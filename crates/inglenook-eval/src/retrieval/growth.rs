//! How a partition grows: which facts change their theme, and when (xMemory §5.3).

use std::collections::BTreeSet;

use inglenook::memory::reorganize::{self, Change};
use inglenook::memory::{Embedding, Partition, SemanticId};

use crate::guidance::{Variant, paper};
use crate::official::themes as official;

/// Whose rules put facts in themes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Organiser {
    /// The product's; they, and those made of them, have nothing left to do at the end of a batch.
    Own,
    /// The product's with one part changed.
    Variant(Variant),
    /// The paper's.
    Paper,
    /// HU-xiaobai/xMemory's code.
    Official,
}

impl Organiser {
    /// Puts a semantic that is in none in its theme and mends what that overfills.
    pub(crate) fn attach(
        self,
        partition: &mut Partition,
        semantic: SemanticId,
        embedding: Embedding,
    ) -> Vec<Change> {
        let rules = match self {
            Self::Own => return reorganize::attach(partition, semantic, embedding),
            Self::Official => return official::attach(partition, semantic, embedding),
            Self::Variant(variant) => variant.rules(partition),
            Self::Paper => paper(),
        };
        reorganize::attach_by(&rules, partition, semantic, embedding)
    }

    /// What is left to do at the end of a batch.
    pub(crate) fn settle(self, partition: &mut Partition) -> Vec<Change> {
        match self {
            Self::Official => official::settle(partition),
            Self::Own | Self::Variant(_) | Self::Paper => Vec::new(),
        }
    }
}

/// The growth of a memory is counted in tenths.
pub const AGES: usize = 10;

/// How facts moved while they arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Growth {
    /// Facts that changed their theme at least once.
    pub reassigned: usize,
    /// Changes of theme, and arrivals, in each tenth of the facts.
    pub flips: [usize; AGES],
    pub inserts: [usize; AGES],
}

impl Growth {
    /// Adds another memory's counts.
    pub(crate) fn add(&mut self, other: &Self) {
        self.reassigned += other.reassigned;
        for age in 0..AGES {
            self.flips[age] += other.flips[age];
            self.inserts[age] += other.inserts[age];
        }
    }

    /// Changes of theme per arriving fact, by tenth; 0 if none arrived.
    pub(crate) fn flips_per_insert(&self) -> [f64; AGES] {
        std::array::from_fn(|age| self.flips[age] as f64 / self.inserts[age].max(1) as f64)
    }
}

/// Organises the facts in order, in one batch; their indices are their ids.
pub(crate) fn grown(vectors: &[Embedding], organiser: Organiser) -> (Partition, Growth) {
    let mut partition = Partition::default();
    let (mut growth, mut moved) = (Growth::default(), BTreeSet::new());
    let mut note = |age: usize, changes: Vec<Change>| {
        for change in changes {
            if let Change::Moved { semantic, .. } = change {
                moved.insert(semantic);
                growth.flips[age] += 1;
            }
        }
    };
    for (i, vector) in vectors.iter().enumerate() {
        let age = i * AGES / vectors.len();
        note(age, organiser.attach(&mut partition, SemanticId(i as i64), vector.clone()));
    }
    note(AGES - 1, organiser.settle(&mut partition));
    for i in 0..vectors.len() {
        growth.inserts[i * AGES / vectors.len()] += 1;
    }
    growth.reassigned = moved.len();
    (partition, growth)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_theme_over_its_cap_moves_facts_late_in_life() {
        // Two loose bundles that begin as one theme: the thirteenth fact splits it.
        let vectors: Vec<Embedding> = (0..20u8)
            .map(|i| {
                let (side, spread) = (f32::from(i % 2), f32::from(i) * 0.01);
                Embedding::normalise(vec![1.0, 0.55 * side, 0.55 * (1.0 - side), spread]).unwrap()
            })
            .collect();
        let (partition, growth) = grown(&vectors, Organiser::Own);
        assert_eq!(partition.n_semantics(), 20);
        assert_eq!(growth.inserts, [2; AGES]);
        assert!(growth.reassigned > 0 && growth.flips[..5] == [0; 5], "{growth:?}");
        assert!(growth.flips.iter().sum::<usize>() >= growth.reassigned, "{growth:?}");
        let mut twice = growth;
        twice.add(&growth);
        assert_eq!(twice.flips_per_insert(), growth.flips_per_insert());
    }

    #[test]
    fn nothing_comes_of_nothing() {
        let (partition, growth) = grown(&[], Organiser::Own);
        assert_eq!((partition.n_themes(), growth), (0, Growth::default()));
        assert_eq!(growth.flips_per_insert(), [0.0; AGES]);
    }
}
