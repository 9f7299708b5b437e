//! Clusters of plain vectors, for tests whose results are worked out by hand.

use crate::memory::partition::Cluster;
use crate::memory::{Embedding, SemanticId};

/// A vector (not zero) scaled to unit length.
pub fn unit(values: &[f32]) -> Embedding {
    Embedding::normalise(values.to_vec()).expect("a direction")
}

/// A cluster of these vectors, which have ids from `first_id` on.
pub fn cluster(first_id: i64, vectors: &[[f32; 2]]) -> Cluster {
    let members = (first_id..).zip(vectors).map(|(id, v)| (SemanticId(id), unit(v))).collect();
    Cluster::of(members).expect("a member")
}

/// Asserts that two numbers are equal but for rounding.
#[track_caller]
pub fn check_close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-7, "{found} is not {expected}");
}
