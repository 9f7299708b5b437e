//! Other ways to organise than the product's, for comparison: the paper's rules, and the product's
//! with one part changed.

use inglenook::memory::guidance::objective;
use inglenook::memory::partition::Cluster;
use inglenook::memory::reorganize::{Rules, THEME_SIZE_MAX};
use inglenook::memory::{Partition, ThemeId, dot64};

/// The rules as printed (§3.2), every candidate scored by f(P) of the whole partition (Eq. 1–3). It
/// costs O(K²) a decision. Where the paper leaves a choice open, and what is chosen here:
/// - "the most similar theme … otherwise a new one" names no threshold, nor does Eq. 3 its ε: the
///   official code's;
/// - candidate splits "by clustering": average linkage in two to four, two centres, and connected
///   components, each in pieces within the cap;
/// - a "tiny" theme has one or two members; its "small set of nearest-neighbour themes" are the
///   ten nearest that it fits into and that the official code's singletons might join;
/// - a merge must raise f, not only be the best of the merges;
/// - tiny themes are looked for after each insert, where it changed something: the themes that
///   changed, and at most two near each;
/// - Eq. 3 of one theme alone, which has no s_k: g = 1.
pub(crate) fn paper() -> Rules {
    // It merges tiny themes alone and moves nothing.
    let (merge_min, move_gain_min) = (f64::INFINITY, f64::INFINITY);
    Rules { merge_min, move_gain_min, gain: Guide::Equation1.gain(), ..Rules::MINILM }
}

/// The parts of the product's rules that an ablation may change (the shapes of the paper's Tables
/// 6–8); [`Variant::default`] changes none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Variant {
    /// Full themes split; otherwise they take no more facts.
    pub splits: bool,
    /// Themes merge.
    pub merges: bool,
    /// Facts move after a split; only under [`Guide::HeldOut`].
    pub moves: bool,
    /// The objective.
    pub guide: Guide,
    /// Most members of a theme.
    pub size_max: usize,
}

impl Default for Variant {
    fn default() -> Self {
        let guide = Guide::HeldOut;
        Self { splits: true, merges: true, moves: true, guide, size_max: THEME_SIZE_MAX }
    }
}

impl Variant {
    /// For the vectors of this partition. What never happens has a threshold that is never reached.
    pub(crate) fn rules(self, partition: &Partition) -> Rules {
        let of = |happens: bool, threshold: f64| if happens { threshold } else { f64::INFINITY };
        let own = Rules::of(partition);
        Rules {
            attach_min: of(self.splits, own.attach_min),
            merge_tiny_min: of(self.merges, own.merge_tiny_min),
            merge_min: of(self.merges, own.merge_min),
            move_gain_min: of(self.moves && self.guide == Guide::HeldOut, own.move_gain_min),
            size_max: self.size_max,
            gain: self.guide.gain(),
            ..own
        }
    }
}

/// The objective that scores a step of organising.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guide {
    /// The product's.
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
    pub(crate) fn score(self, themes: &[&Cluster]) -> f64 {
        match self {
            Self::HeldOut => objective(themes.iter().copied()),
            Self::Equation1 => guidance_objective(themes, EPSILON_OFFICIAL).total(),
            Self::Equation2 => sparsity_score(themes.iter().map(|theme| theme.n_members())),
            Self::Equation3 => guidance_objective(themes, EPSILON_OFFICIAL).semantics,
            Self::Unguided => 0.0,
        }
    }

    /// What the score gains by a step. But for the product's, it takes the whole partition to tell.
    fn gain(self) -> fn(&Partition, &[ThemeId], &[Cluster]) -> f64 {
        match self {
            Self::HeldOut => Rules::MINILM.gain,
            Self::Equation1 => |all, removed, added| Self::Equation1.gain_of(all, removed, added),
            Self::Equation2 => |all, removed, added| Self::Equation2.gain_of(all, removed, added),
            Self::Equation3 => |all, removed, added| Self::Equation3.gain_of(all, removed, added),
            // The first of several that are worth the same is taken.
            Self::Unguided => |_, _, _| 1.0,
        }
    }

    fn gain_of(self, partition: &Partition, removed: &[ThemeId], added: &[Cluster]) -> f64 {
        let all: Vec<&Cluster> = partition.themes().map(|(_, cluster)| cluster).collect();
        let kept = partition.themes().filter(|(id, _)| !removed.contains(id));
        let after: Vec<&Cluster> = kept.map(|(_, cluster)| cluster).chain(added).collect();
        self.score(&after) - self.score(&all)
    }
}

/// Eq. 1: f = sparsity + semantics.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct GuidanceScore {
    /// Eq. 2, in (0, 1]: 1 when all themes have the same size.
    pub sparsity: f64,
    /// Eq. 3, in [−1, 1].
    pub semantics: f64,
}

impl GuidanceScore {
    /// f, in (−1, 2].
    pub(crate) fn total(self) -> f64 {
        self.sparsity + self.semantics
    }
}

/// ε of Eq. 3: the official code's; the paper leaves it open.
pub(crate) const EPSILON_OFFICIAL: f64 = 1e-8;

/// Eq. 2 of themes of these sizes: `N² / (K Σ n_k²)`; 0 if there are none.
fn sparsity_score(sizes: impl IntoIterator<Item = usize>) -> f64 {
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
fn semantic_score(cohesion_and_nearest: &[(f64, Option<f64>)], epsilon: f64) -> f64 {
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
pub(crate) fn guidance_objective(themes: &[&Cluster], epsilon: f64) -> GuidanceScore {
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

#[cfg(test)]
mod tests {
    use inglenook::memory::{Embedding, SemanticId};
    use inglenook::testing::{check_close, cluster, unit};
    use proptest::prelude::*;

    use super::*;
    use crate::retrieval::growth::Organiser;

    /// Large enough that rounding decides nothing.
    const EPSILON: f64 = 0.05;

    #[test]
    fn equation_2_by_hand() {
        check_close(sparsity_score([3, 3, 3]), 1.0);
        // N = 6, K = 2, Σ n² = 26: 36 / 52.
        check_close(sparsity_score([5, 1]), 36.0 / 52.0);
        check_close(sparsity_score([]), 0.0);
    }

    #[test]
    fn equation_3_by_hand() {
        // Three themes: {(1,0), (0,1)} with centroid at 45° and cohesion cos 45°, and two singletons
        // at 0° and 90°. s = cos 45° for all three, so g = 1.
        let half = 0.5f64.sqrt();
        let themes = [
            cluster(1, &[[1.0, 0.0], [0.0, 1.0]]),
            cluster(3, &[[1.0, 0.0]]),
            cluster(4, &[[0.0, 1.0]]),
        ];
        let score = guidance_objective(&themes.each_ref(), EPSILON);
        check_close(score.sparsity, 16.0 / (3.0 * 6.0));
        check_close(score.semantics, (half + 1.0 + 1.0) / 3.0);
        check_close(score.total(), score.sparsity + score.semantics);
        // By the scalars: s = 0.2, 0.5, 0.6, 0.9; m = 0.55; deviations 0.35, 0.05, 0.05, 0.35, MAD 0.2.
        let g = |d: f64| (-d * d / (2.0 * 0.3f64 * 0.3)).exp();
        check_close(
            semantic_score(
                &[(0.8, Some(0.2)), (0.6, Some(0.5)), (1.0, Some(0.6)), (0.4, Some(0.9))],
                0.1,
            ),
            (0.8 * g(0.35) + 0.6 * g(0.05) + g(0.05) + 0.4 * g(0.35)) / 4.0,
        );
        // One theme has no neighbour.
        check_close(guidance_objective(&[&themes[0]], EPSILON).semantics, half);
        check_close(guidance_objective(&[], EPSILON).total(), 0.0);
    }

    fn organiser() -> impl Strategy<Value = Organiser> {
        let guide = prop_oneof![
            Just(Guide::HeldOut),
            Just(Guide::Equation2),
            Just(Guide::Equation3),
            Just(Guide::Unguided)
        ];
        let variant = (any::<[bool; 3]>(), guide, 2..=THEME_SIZE_MAX).prop_map(
            |([splits, merges, moves], guide, size_max)| {
                Organiser::Variant(Variant { splits, merges, moves, guide, size_max })
            },
        );
        prop_oneof![1 => Just(Organiser::Paper), 2 => variant]
    }

    /// Vectors in a few directions with noise, so that themes fill up and are split.
    fn vectors() -> impl Strategy<Value = Vec<Embedding>> {
        let vector = (0usize..4, prop::collection::vec(-40i8..40, 6)).prop_map(|(at, mut v)| {
            v[at] = 100;
            unit(&v.into_iter().map(f32::from).collect::<Vec<_>>())
        });
        prop::collection::vec(vector, 1..100)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn every_way_keeps_every_fact_in_one_theme_within_the_cap(
            vectors in vectors(), organiser in organiser(),
        ) {
            let cap = match organiser {
                Organiser::Variant(variant) => variant.size_max,
                _ => THEME_SIZE_MAX,
            };
            let mut partition = Partition::default();
            for (i, vector) in vectors.iter().enumerate() {
                organiser.attach(&mut partition, SemanticId(i as i64), vector.clone());
                prop_assert_eq!(partition.violations(), Vec::<String>::new());
                prop_assert_eq!(partition.n_semantics(), i + 1);
                prop_assert!(partition.themes().all(|(_, c)| c.n_members() <= cap));
            }
        }

        #[test]
        fn the_variant_that_changes_nothing_is_the_product(vectors in vectors()) {
            let (mut own, mut variant) = (Partition::default(), Partition::default());
            for (i, vector) in vectors.iter().enumerate() {
                let [a, b] = [
                    (Organiser::Own, &mut own),
                    (Organiser::Variant(Variant::default()), &mut variant),
                ]
                .map(|(way, into)| way.attach(into, SemanticId(i as i64), vector.clone()));
                prop_assert_eq!(a, b);
            }
        }
    }
}
