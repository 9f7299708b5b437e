//! Guidance: what makes one partition into themes better than another.
//!
//! The paper's f (xMemory §3.2, Eq. 1–3; in `inglenook-eval`, for comparison) has three problems
//! (figures in `docs/log.md`):
//! - It does not penalise fragments. Eq. 2 is the product of themes per fact and facts per theme, `N / (K·E[n])`:
//!   one theme per fact and one theme for all both score 1. In Eq. 3 a lone fact agrees perfectly with its
//!   centroid, itself, and counts as much as a theme of twelve.
//! - Its scale can vanish: if half of the s_k are equal, as for two themes that are each other's nearest,
//!   σ = ε, and rounding decides whether g is 0 or 1.
//! - It is not a sum over themes. K, N, m and σ couple them all, so that f over a neighbourhood and f over
//!   the whole may disagree about the same step, and only O(K) work decides.
//!
//! The objective here compares each fact with the centroid of the *others* of its theme. A lone fact
//! has no others and scores 0, no scale can vanish, and as a sum over facts it changes only by the terms
//! of the themes that change: a step's local gain is its gain in the whole.

use super::Embedding;
use super::embedding::dot64;
use super::partition::Cluster;

/// The objective of a partition into these themes, in [−1, 1]: the mean of [`held_out`] over facts, or
/// how well a fact would find its theme if it were inserted again. 0 without facts.
pub fn objective<'a>(themes: impl IntoIterator<Item = &'a Cluster>) -> f64 {
    let (mut sum, mut n) = (0.0, 0);
    for theme in themes {
        sum += held_out(theme);
        n += theme.n_members();
    }
    sum / n.max(1) as f64
}

/// One theme's part of the objective: `Σ_{i∈k} cos(x_i, μ_{k∖i})`, each fact against the centroid of
/// its theme's other facts; a lone fact scores 0.
///
/// It is the cohesion of Eq. 3 with three changes: the fact itself is left out, the mean is over facts
/// instead of themes, and neither g nor Eq. 2 is included.
pub fn held_out(theme: &Cluster) -> f64 {
    held_out_of(theme.members().iter().map(|(_, x)| x), theme.sum())
}

/// [`held_out`] of a theme with these members, whose vectors add up to `sum`.
pub(super) fn held_out_of<'a>(members: impl Iterator<Item = &'a Embedding>, sum: &[f64]) -> f64 {
    /// If the others' sum is shorter than this, it has no direction.
    const LENGTH_MIN: f64 = 1e-6;
    let squared = dot64(sum, sum);
    members
        .map(|x| {
            let own: f64 = x.as_slice().iter().map(|&v| f64::from(v) * f64::from(v)).sum();
            let with_all = dot64(x.as_slice(), sum);
            let others = (squared - 2.0 * with_all + own).max(0.0).sqrt();
            if others < LENGTH_MIN { 0.0 } else { (with_all - own) / others }
        })
        .sum()
}
