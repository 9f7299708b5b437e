//! The guidance objective f of a partition into themes (xMemory §3.2, Eq. 1–3).
//!
//! It judges partitions; it moves nothing.

use std::collections::BTreeMap;

use super::ThemeId;
use super::embedding::dot64;
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
    /// f.
    #[must_use]
    pub fn total(self) -> f64 {
        self.sparsity + self.semantics
    }
}

/// ε of Eq. 3 in the official code. The paper leaves it open.
pub const EPSILON_OFFICIAL: f64 = 1e-8;

/// ε of Eq. 3 as [`super::reorganize::Policy::Default`] has it. With an ε near zero σ vanishes as soon as most
/// s_k are equal (two themes, or a few), and a difference of 1e-6 between neighbours' similarities
/// then decides f. This floor says which differences of similarity mean anything.
pub const EPSILON_DEFAULT: f64 = 0.05;

/// Eq. 2: `N² / (K Σ n_k²)`; 0 of no themes.
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

/// The mean of the two middle values if there is an even number of them; 0 of none.
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

/// f of the themes given, each compared with each: exact, O(K² d).
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

/// f of a whole partition, kept up to date theme by theme.
///
/// A change of one theme compares it with the others once, and looks again for the nearest
/// neighbour of only those themes whose nearest it was. Members are never visited. Reading the
/// score costs O(K) scalars, because m and σ are medians over all themes.
#[derive(Debug, Clone, Default)]
pub struct GuidanceTracker {
    themes: BTreeMap<ThemeId, Tracked>,
}

#[derive(Debug, Clone)]
struct Tracked {
    n: usize,
    sum: Vec<f64>,
    length: f64,
    nearest: Option<(f64, ThemeId)>,
}

impl Tracked {
    fn similarity(&self, other: &Self) -> f64 {
        centroid_similarity((&self.sum, self.length), (&other.sum, other.length))
    }
}

impl GuidanceTracker {
    #[must_use]
    pub fn new<'a>(themes: impl IntoIterator<Item = (ThemeId, &'a Cluster)>) -> Self {
        let mut tracker = Self::default();
        for (id, cluster) in themes {
            tracker.set(id, cluster);
        }
        tracker
    }

    /// The theme is new or has changed.
    pub fn set(&mut self, id: ThemeId, cluster: &Cluster) {
        self.remove(id);
        let mut new = Tracked {
            n: cluster.n_members(),
            sum: cluster.sum().to_vec(),
            length: cluster.sum_length(),
            nearest: None,
        };
        for (&other_id, other) in &mut self.themes {
            let s = new.similarity(other);
            if other.nearest.is_none_or(|(best, _)| s > best) {
                other.nearest = Some((s, id));
            }
            if new.nearest.is_none_or(|(best, _)| s > best) {
                new.nearest = Some((s, other_id));
            }
        }
        self.themes.insert(id, new);
    }

    /// The theme is gone.
    pub fn remove(&mut self, id: ThemeId) {
        if self.themes.remove(&id).is_none() {
            return;
        }
        let orphans: Vec<ThemeId> = self
            .themes
            .iter()
            .filter(|(_, t)| t.nearest.is_some_and(|(_, nearest)| nearest == id))
            .map(|(&orphan, _)| orphan)
            .collect();
        for orphan in orphans {
            let nearest = self.themes.get(&orphan).and_then(|t| {
                self.themes
                    .iter()
                    .filter(|&(&other, _)| other != orphan)
                    .map(|(&other, o)| (t.similarity(o), other))
                    .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))
            });
            if let Some(t) = self.themes.get_mut(&orphan) {
                t.nearest = nearest;
            }
        }
    }

    /// f of the themes as they are now.
    #[must_use]
    pub fn score(&self, epsilon: f64) -> GuidanceScore {
        let terms: Vec<_> = self
            .themes
            .values()
            .map(|t| (cohesion(t.n, t.length), t.nearest.map(|(s, _)| s)))
            .collect();
        GuidanceScore {
            sparsity: sparsity_score(self.themes.values().map(|t| t.n)),
            semantics: semantic_score(&terms, epsilon),
        }
    }
}
