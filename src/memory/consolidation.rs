//! Which facts a new fact may update (LightMem §3.3).
//!
//! It proposes pairs; the writer judges them (keep both, supersede, merge).

use super::{Embedding, Moment, SemanticId};

/// A fact as the queue sees it.
#[derive(Debug, Clone, Copy)]
pub struct Dated<'a> {
    /// Its id.
    pub id: SemanticId,
    /// When it was stated.
    pub at: Moment,
    /// Its vector.
    pub embedding: &'a Embedding,
}

/// `Q(e_i) = top-n { e_j : t_j ≥ t_i, by similarity }`: the facts stated no earlier than `of` that are
/// most similar to it, with their cosines, most similar first (ties: the smaller id). Deviation from
/// the paper: only facts with a cosine of at least `similarity_min`, so that unrelated pairs are not judged.
pub fn update_queue(
    of: Dated<'_>,
    others: &[Dated<'_>],
    n: usize,
    similarity_min: f32,
) -> Vec<(SemanticId, f32)> {
    let mut queue: Vec<(SemanticId, f32)> = others
        .iter()
        .filter(|other| other.id != of.id && other.at.timestamp >= of.at.timestamp)
        // Of two facts stated at the same moment, the one with the higher id is the later.
        .filter(|other| other.at.timestamp > of.at.timestamp || other.id > of.id)
        .map(|other| (other.id, of.embedding.cosine(other.embedding)))
        .filter(|&(_, similarity)| similarity >= similarity_min)
        .collect();
    queue.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    queue.truncate(n);
    queue
}
