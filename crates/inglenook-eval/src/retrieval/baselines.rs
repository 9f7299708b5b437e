//! What recall is compared with: plain similarity, and the official code's Stage I.

use std::collections::BTreeMap;

use inglenook::memory::mix::{Unit, UnitKind, select_mixed};
use inglenook::memory::{Embedding, MessageId, SemanticId, ThemeId};

use super::corpus::Corpus;
use super::growth::{Organiser, grown};
use crate::official::recall::{OfficialMemory, SourcedSemantic};

/// The units with the highest scores that fit; each is a score, a length and the messages it covers.
pub(super) fn by_score(
    units: &[(f64, usize, Vec<MessageId>)],
    budget_characters: usize,
) -> Vec<usize> {
    let units: Vec<Unit<'_>> = units
        .iter()
        .map(|(score, n_characters, messages)| Unit {
            worth: *score,
            n_characters: *n_characters,
            kind: UnitKind::Fact(messages),
        })
        .collect();
    select_mixed(&units, budget_characters)
}

pub(crate) fn similarities(vectors: &[Embedding], question: &Embedding) -> Vec<f64> {
    vectors.iter().map(|vector| f64::from(vector.cosine(question))).collect()
}

/// Indices of the largest scores, best first.
pub(crate) fn largest(scores: &[f64], n: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
    order.truncate(n);
    order
}

/// The hierarchy and the recall of HU-xiaobai/xMemory.
pub(super) fn official(corpus: &Corpus) -> OfficialMemory {
    let (partition, _) = grown(&corpus.vectors.semantics, Organiser::Official);
    let places = partition.themes().enumerate().map(|(place, (id, _))| (id, place));
    let place_of: BTreeMap<ThemeId, usize> = places.collect();
    let mut batch = 0;
    let vectors = corpus.vectors.semantics.iter().zip(&corpus.semantics).enumerate();
    let semantics: Vec<SourcedSemantic> = vectors
        .filter_map(|(i, (embedding, semantic))| {
            let theme = place_of[&partition.theme_of(SemanticId(i as i64))?];
            // A session's semantics arrive in one batch.
            batch = semantic.episodes.iter().copied().fold(batch, usize::max);
            let (embedding, episodes) = (embedding.clone(), semantic.episodes.clone());
            Some(SourcedSemantic { embedding, theme, episodes, batch })
        })
        .collect();
    OfficialMemory::new(&semantics, &corpus.vectors.episodes)
}
