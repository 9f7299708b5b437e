//! Guidance: what makes one partition into themes better than another.
//!
//! There are two objectives: the paper's f (xMemory §3.2, Eq. 1–3), for
//! [`super::reorganize::Policy::Paper`] and comparison with the official code, and the default
//! [`held_out`]. They score partitions and move nothing.
//!
//! The paper's f has three problems (figures in `docs/log.md`):
//! - It does not penalise fragments. Eq. 2 is the product of themes a fact and facts a theme, `N / (K·E[n])`:
//!   one theme per fact and one theme for all both score 1. In Eq. 3 a lone fact agrees perfectly with its
//!   centroid, itself, and counts as much as a theme of twelve.
//! - Its scale can vanish: if half of the s_k are equal, as for two themes that are each other's nearest,
//!   σ = ε, and rounding decides whether g is 0 or 1.
//! - It is not a sum over themes. K, N, m and σ couple them all, so that f over a neighbourhood and f over
//!   the whole may disagree about the same step, and only O(K) work decides.
//!
//! The default objective compares each fact with the centroid of the *others* of its theme. A lone fact
//! has no others and scores 0, no scale can vanish, and as a sum over facts it changes only by the terms
//! of the themes that change: a step's local gain is its gain in the whole.

use super::Embedding;
use super::embedding::{dot_mixed, dot64};
use super::partition::Cluster;

/// Eq. 1: f = sparsity + semantics.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct GuidanceScore {
    /// Eq. 2, in (0, 1]: 1 when all themes have the same size.
    pub sparsity: f64,
    /// Eq. 3, in [−1, 1].
    pub semantics: f64,
}

impl GuidanceScore {
    /// f, in (−1, 2].
    #[must_use]
    pub fn total(self) -> f64 {
        self.sparsity + self.semantics
    }
}

/// ε of Eq. 3: the official code's; the paper leaves it open.
pub const EPSILON_OFFICIAL: f64 = 1e-8;

/// The objective that scores a step of organising.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Guide {
    /// [`held_out`], the default's.
    #[default]
    HeldOut,
    /// The paper's f.
    Equation1,
    /// The first term of f alone.
    Equation2,
    /// The second term of f alone.
    Equation3,
    /// None: splits take the first candidate, merges the nearest theme, and nothing moves.
    Unguided,
}

impl Guide {
    /// The score of these themes; 0 under [`Guide::Unguided`].
    #[must_use]
    pub fn score(self, themes: &[&Cluster]) -> f64 {
        match self {
            Self::HeldOut => {
                let n: usize = themes.iter().map(|theme| theme.n_members()).sum();
                themes.iter().map(|theme| held_out(theme)).sum::<f64>() / n.max(1) as f64
            }
            Self::Equation1 => guidance_objective(themes, EPSILON_OFFICIAL).total(),
            Self::Equation2 => sparsity_score(themes.iter().map(|theme| theme.n_members())),
            Self::Equation3 => guidance_objective(themes, EPSILON_OFFICIAL).semantics,
            Self::Unguided => 0.0,
        }
    }
}

/// The default objective of one theme: `Σ_{i∈k} cos(x_i, μ_{k∖i})`, each fact against the centroid of
/// its theme's other facts; a lone fact scores 0. A partition's score is the sum over themes divided by
/// N, in [−1, 1]: how well a fact would find its theme if it were inserted again.
///
/// It is the cohesion of Eq. 3 with three changes: the fact itself is left out, the mean is over facts
/// instead of themes, and neither g nor Eq. 2 is included.
#[must_use]
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
            let with_all = dot_mixed(x.as_slice(), sum);
            let others = (squared - 2.0 * with_all + own).max(0.0).sqrt();
            if others < LENGTH_MIN { 0.0 } else { (with_all - own) / others }
        })
        .sum()
}

/// Eq. 2 of themes of these sizes: `N² / (K Σ n_k²)`; 0 if there are none.
#[must_use]
pub fn sparsity_score(sizes: impl IntoIterator<Item = usize>) -> f64 {
    let (mut n_themes, mut n, mut squares) = (0.0, 0.0, 0.0);
    for size in sizes {
        let size = size as f64;
        n_themes += 1.0;
        n += size;
        squares += size * size;
    }
    if squares == 0.0 { 0.0 } else { n * n / (n_themes * squares) }
}

/// Eq. 3 from each theme's cohesion `(1/n_k) Σ cos(x_i, μ_k)` and its nearest neighbour's
/// similarity `s_k`. A theme without neighbours has no `s_k`, and g = 1.
#[must_use]
pub fn semantic_score(cohesion_and_nearest: &[(f64, Option<f64>)], epsilon: f64) -> f64 {
    if cohesion_and_nearest.is_empty() {
        return 0.0;
    }
    let mut nearest: Vec<f64> = cohesion_and_nearest.iter().filter_map(|&(_, s)| s).collect();
    let m = median(&mut nearest);
    let mut deviations: Vec<f64> = nearest.iter().map(|s| (s - m).abs()).collect();
    let sigma = median(&mut deviations) + epsilon;
    let g = |s: f64| (-(s - m) * (s - m) / (2.0 * sigma * sigma)).exp();
    cohesion_and_nearest.iter().map(|&(cohesion, s)| cohesion * s.map_or(1.0, g)).sum::<f64>()
        / cohesion_and_nearest.len() as f64
}

/// The median; 0 of no values.
fn median(values: &mut [f64]) -> f64 {
    let n = values.len();
    if n == 0 {
        return 0.0;
    }
    let (below, &mut upper, _) = values.select_nth_unstable_by(n / 2, f64::total_cmp);
    if n % 2 == 1 {
        upper
    } else {
        f64::midpoint(below.iter().copied().fold(f64::NEG_INFINITY, f64::max), upper)
    }
}

/// Cohesion of Eq. 3. The vectors have unit length, so `Σ cos(x_i, μ) = Σ x_i · S/|S| = |S|` with
/// S their sum: one length instead of n_k dot products.
fn cohesion(n: usize, sum_length: f64) -> f64 {
    sum_length / n as f64
}

/// f (Eq. 1) of these themes, exact, in O(K² d).
#[must_use]
pub fn guidance_objective(themes: &[&Cluster], epsilon: f64) -> GuidanceScore {
    let mut nearest: Vec<Option<f64>> = vec![None; themes.len()];
    for i in 0..themes.len() {
        for j in i + 1..themes.len() {
            let s = centroid_similarity(
                (themes[i].sum(), themes[i].sum_length()),
                (themes[j].sum(), themes[j].sum_length()),
            );
            for k in [i, j] {
                nearest[k] = Some(nearest[k].map_or(s, |t| t.max(s)));
            }
        }
    }
    let terms: Vec<_> = themes
        .iter()
        .zip(nearest)
        .map(|(t, s)| (cohesion(t.n_members(), t.sum_length()), s))
        .collect();
    GuidanceScore {
        sparsity: sparsity_score(themes.iter().map(|t| t.n_members())),
        semantics: semantic_score(&terms, epsilon),
    }
}

fn centroid_similarity((a, length_a): (&[f64], f64), (b, length_b): (&[f64], f64)) -> f64 {
    let lengths = length_a * length_b;
    if lengths > 1e-24 { dot64(a, b) / lengths } else { 0.0 }
}
