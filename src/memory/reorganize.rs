//! Attach, split, merge: how a partition of semantics into themes grows (xMemory §3.2).
//!
//! Every operation moves semantics and loses none. Names of themes, storage and the time at which
//! this runs are others' business: the outcome is a list of [`Change`]s.

use super::guidance::{EPSILON_DEFAULT, EPSILON_OFFICIAL, guidance_objective};
use super::partition::{Cluster, Partition};
use super::splitting::{SplitRules, split_candidates};
use super::{Embedding, SemanticId, ThemeId, official};

/// Whose rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Policy {
    /// HU-xiaobai/xMemory's code, for comparison. Attaching is online; the rest of a batch is done
    /// by [`settle`]. Unlike that code it never loses a semantic between batches.
    Official,
    /// The paper as printed, with the official code's thresholds where the paper names none:
    /// candidates of a split by clustering, of a merge among the nearest themes, both by f.
    Paper,
    /// The paper's operations with thresholds that scale with the embedder, and an ε that keeps f
    /// from turning on noise ([`EPSILON_DEFAULT`]).
    #[default]
    Default,
}

/// One step of an outcome; apply them in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The new semantic went here.
    Attached { semantic: SemanticId, theme: ThemeId },
    /// A theme without members yet; they follow.
    Created { theme: ThemeId },
    /// A theme that this leaves empty is gone.
    Moved { semantic: SemanticId, from: ThemeId, to: ThemeId },
}

/// Most members of a theme (paper, appendix B.3 and Table 8).
pub const THEME_SIZE_MAX: usize = 12;

/// How many nearest themes f is compared over, besides those that change.
const N_CONTEXT: usize = 10;

/// How many tiny themes beside the one that changed are looked at after each insert.
const N_TINY_NEIGHBOURS: usize = 2;

/// A policy's numbers, for one partition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rules {
    pub size_max: usize,
    /// Joins the nearest theme from this similarity on …
    pub attach_min: f64,
    /// … and from this one on, if the theme has room.
    pub attach_lenient_min: f64,
    /// A theme of at most so many is tiny, and looks for a theme to join.
    pub tiny_max: usize,
    /// It joins no theme further than this.
    pub merge_tiny_min: f64,
    /// Any two themes this close may merge.
    pub merge_min: f64,
    /// Two semantics this close are linked, when a theme is split by connected components.
    pub link_min: f64,
    pub epsilon: f64,
}

impl Policy {
    pub(super) fn rules(self, partition: &Partition) -> Rules {
        let fixed = Rules {
            size_max: THEME_SIZE_MAX,
            attach_min: 0.62,
            attach_lenient_min: 0.52,
            tiny_max: 1,
            merge_tiny_min: 0.50,
            merge_min: 0.78,
            link_min: 0.66,
            epsilon: EPSILON_OFFICIAL,
        };
        match self {
            Self::Official => fixed,
            Self::Paper => Rules { tiny_max: 2, ..fixed },
            Self::Default => {
                let scale = |x: f64| rescaled(x, unrelated_similarity(partition));
                Rules {
                    attach_min: scale(fixed.attach_min),
                    attach_lenient_min: scale(fixed.attach_lenient_min),
                    tiny_max: 2,
                    merge_tiny_min: scale(fixed.merge_tiny_min),
                    merge_min: scale(fixed.merge_min),
                    link_min: scale(fixed.link_min),
                    epsilon: EPSILON_DEFAULT,
                    ..fixed
                }
            }
        }
    }
}

/// Mean cosine of two facts of one person's memory under MiniLM, for which the official thresholds
/// were chosen (measured on the five dev conversations: 0.340 to 0.385).
const UNRELATED_MINILM: f64 = 0.36;

/// The same for the partition at hand. Models differ: BGE's unrelated texts lie at 0.6. Few facts
/// say little, so the first ones count with a weight of so many pairs' worth of MiniLM.
fn unrelated_similarity(partition: &Partition) -> f64 {
    const PRIOR_WEIGHT: f64 = 24.0;
    let n = partition.n_semantics() as f64;
    let measured = partition.mean_similarity().unwrap_or(UNRELATED_MINILM).clamp(-0.2, 0.9);
    (PRIOR_WEIGHT * UNRELATED_MINILM + n * measured) / (PRIOR_WEIGHT + n)
}

/// A MiniLM threshold on the scale that has "unrelated" at `unrelated` and "identical" at 1.
fn rescaled(threshold: f64, unrelated: f64) -> f64 {
    let share = (threshold - UNRELATED_MINILM) / (1.0 - UNRELATED_MINILM);
    unrelated + share * (1.0 - unrelated)
}

/// Puts a new semantic in its theme and mends what that overfills: the most similar theme if it is
/// similar enough, else a new one; a theme over the cap is split; a tiny theme nearby is merged
/// where that raises f. A semantic that was there already is attached afresh.
pub fn attach(
    partition: &mut Partition,
    semantic: SemanticId,
    embedding: Embedding,
    policy: &Policy,
) -> Vec<Change> {
    partition.remove(semantic);
    let rules = policy.rules(partition);
    let mut changes = Vec::new();
    let best = partition.nearest_themes(&embedding, 1, None).first().copied();
    let home = best.filter(|&(theme, similarity)| {
        let has_room =
            partition.theme(theme).is_some_and(|cluster| cluster.n_members() < rules.size_max);
        similarity >= rules.attach_min || (similarity >= rules.attach_lenient_min && has_room)
    });
    let theme = home.map_or_else(
        || {
            let theme = partition.next_theme_id();
            changes.push(Change::Created { theme });
            theme
        },
        |(theme, _)| theme,
    );
    partition.put(semantic, embedding, theme);
    changes.push(Change::Attached { semantic, theme });

    if *policy == Policy::Official {
        official::split_overfull(partition, theme, &mut changes);
        return changes;
    }
    let mut touched = vec![theme];
    if partition.theme(theme).is_some_and(|cluster| cluster.n_members() > rules.size_max) {
        touched.extend(split(partition, theme, &rules, &mut changes));
    }
    let mut tiny = touched.clone();
    for &theme in &touched {
        let Some(centroid) = partition.theme(theme).and_then(Cluster::centroid) else { continue };
        let near = partition.nearest_themes(&centroid, N_CONTEXT, Some(theme));
        tiny.extend(
            near.iter()
                .filter(|&&(other, similarity)| {
                    similarity >= rules.merge_tiny_min && is_tiny(partition, other, &rules)
                })
                .take(N_TINY_NEIGHBOURS)
                .map(|&(other, _)| other),
        );
    }
    tiny.dedup();
    for theme in tiny {
        merge(partition, theme, &rules, &mut changes);
    }
    changes
}

/// What is left to do at the end of a batch: nothing, except under [`Policy::Official`], whose
/// code splits mixed themes, merges and absorbs singletons once a batch.
pub fn settle(partition: &mut Partition, policy: &Policy) -> Vec<Change> {
    match policy {
        Policy::Official => official::settle(partition),
        Policy::Paper | Policy::Default => Vec::new(),
    }
}

fn is_tiny(partition: &Partition, theme: ThemeId, rules: &Rules) -> bool {
    partition.theme(theme).is_some_and(|cluster| cluster.n_members() <= rules.tiny_max)
}

/// f of the context themes that are not `removed`, together with `added`.
///
/// f is compared only between outcomes of one operation, over the themes that it changes and
/// their ten nearest: over a whole partition, f alone rewards one theme a semantic and one theme
/// for all nearly alike (DESIGN §5), and would cost O(K²).
pub(super) fn local_objective(
    partition: &Partition,
    context: &[ThemeId],
    removed: &[ThemeId],
    added: &[Cluster],
    epsilon: f64,
) -> f64 {
    let kept = context.iter().filter(|id| !removed.contains(id));
    let themes: Vec<&Cluster> = kept.filter_map(|&id| partition.theme(id)).chain(added).collect();
    guidance_objective(&themes, epsilon).total()
}

/// Splits an overfull theme into the candidate with the highest f; returns the new themes. The
/// largest piece keeps the id, so that as little as possible moves.
fn split(
    partition: &mut Partition,
    theme: ThemeId,
    rules: &Rules,
    changes: &mut Vec<Change>,
) -> Vec<ThemeId> {
    let Some(cluster) = partition.theme(theme) else { return Vec::new() };
    let context: Vec<ThemeId> = cluster
        .centroid()
        .map(|centroid| partition.nearest_themes(&centroid, N_CONTEXT, Some(theme)))
        .unwrap_or_default()
        .into_iter()
        .map(|(id, _)| id)
        .collect();
    let members = cluster.members();
    let split_rules = SplitRules { size_max: rules.size_max, link_min: rules.link_min };
    let candidates = split_candidates(members, &split_rules);
    let score = |pieces: &[Vec<usize>]| {
        let added: Vec<Cluster> = pieces
            .iter()
            .filter_map(|piece| Cluster::of(piece.iter().map(|&i| members[i].clone()).collect()))
            .collect();
        local_objective(partition, &context, &[theme], &added, rules.epsilon)
    };
    let Some(best) = best_by(candidates, |pieces| score(pieces)) else { return Vec::new() };
    let mut pieces: Vec<Vec<SemanticId>> =
        best.into_iter().map(|piece| piece.into_iter().map(|i| members[i].0).collect()).collect();
    pieces.sort_by_key(|piece| std::cmp::Reverse(piece.len()));
    pieces[1..].iter().map(|piece| move_out(partition, theme, piece, changes)).collect()
}

/// The first with the highest score.
pub(super) fn best_by<T>(candidates: Vec<T>, score: impl Fn(&T) -> f64) -> Option<T> {
    let mut best: Option<(f64, T)> = None;
    for candidate in candidates {
        let f = score(&candidate);
        if best.as_ref().is_none_or(|(highest, _)| f > *highest) {
            best = Some((f, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Moves `semantics` from a theme to a new one.
pub(super) fn move_out(
    partition: &mut Partition,
    from: ThemeId,
    semantics: &[SemanticId],
    changes: &mut Vec<Change>,
) -> ThemeId {
    let to = partition.next_theme_id();
    changes.push(Change::Created { theme: to });
    for &semantic in semantics {
        partition.move_to(semantic, to);
        changes.push(Change::Moved { semantic, from, to });
    }
    to
}

/// Moves all members of `from` to `to`.
pub(super) fn move_all(
    partition: &mut Partition,
    from: ThemeId,
    to: ThemeId,
    changes: &mut Vec<Change>,
) {
    let semantics: Vec<SemanticId> = partition
        .theme(from)
        .map(|cluster| cluster.members().iter().map(|(id, _)| *id).collect())
        .unwrap_or_default();
    for semantic in semantics {
        partition.move_to(semantic, to);
        changes.push(Change::Moved { semantic, from, to });
    }
}

/// Merges `theme` into the one of its nearest themes that raises f most, if any does: a tiny theme
/// into any near enough, another only into one that is nearly the same.
fn merge(
    partition: &mut Partition,
    theme: ThemeId,
    rules: &Rules,
    changes: &mut Vec<Change>,
) -> Option<ThemeId> {
    let cluster = partition.theme(theme)?;
    let similarity_min =
        if is_tiny(partition, theme, rules) { rules.merge_tiny_min } else { rules.merge_min };
    let near = partition.nearest_themes(&cluster.centroid()?, N_CONTEXT, Some(theme));
    let mut context: Vec<ThemeId> = near.iter().map(|&(id, _)| id).collect();
    context.push(theme);
    let before = local_objective(partition, &context, &[], &[], rules.epsilon);
    let mut best: Option<(f64, ThemeId)> = None;
    for &(other, similarity) in &near {
        let Some(target) = partition.theme(other) else { continue };
        if similarity < similarity_min || target.n_members() + cluster.n_members() > rules.size_max
        {
            continue;
        }
        let merged = [target.joined(cluster)];
        let after = local_objective(partition, &context, &[theme, other], &merged, rules.epsilon);
        if after > best.map_or(before, |(highest, _)| highest) {
            best = Some((after, other));
        }
    }
    let (_, other) = best?;
    // The larger (of equals the older) keeps its id.
    let other_is_larger = partition.theme(other)?.n_members() > partition.theme(theme)?.n_members();
    let same_size = partition.theme(other)?.n_members() == partition.theme(theme)?.n_members();
    let (from, to) = if other_is_larger || (same_size && other < theme) {
        (theme, other)
    } else {
        (other, theme)
    };
    move_all(partition, from, to, changes);
    Some(to)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Clusters around a few directions.
    fn members() -> impl Strategy<Value = Vec<(usize, Embedding)>> {
        let member = (0usize..6, prop::collection::vec(-60i8..60, 6)).prop_map(|(theme, mut v)| {
            v[theme] = v[theme].saturating_add(80);
            v[5] = v[5].saturating_add(20);
            let values = v.into_iter().map(f32::from).collect();
            (
                theme,
                Embedding::normalise(values)
                    .unwrap_or_else(|_| Embedding::normalise(vec![1.0; 6]).unwrap()),
            )
        });
        prop::collection::vec(member, 14..60)
    }

    fn partition(members: Vec<(usize, Embedding)>) -> Partition {
        let mut partition = Partition::default();
        for (i, (theme, embedding)) in members.into_iter().enumerate() {
            partition.put(SemanticId(i as i64), embedding, ThemeId(theme as i64));
        }
        partition
    }

    fn f_over(partition: &Partition, themes: &[ThemeId], epsilon: f64) -> f64 {
        let clusters: Vec<&Cluster> = themes.iter().filter_map(|&id| partition.theme(id)).collect();
        guidance_objective(&clusters, epsilon).total()
    }

    proptest! {
        #[test]
        fn an_accepted_merge_never_lowers_f(members in members(), paper: bool) {
            let policy = if paper { Policy::Paper } else { Policy::Default };
            let mut partition = partition(members);
            let ids: Vec<ThemeId> = partition.themes().map(|(id, _)| id).collect();
            for id in ids {
                let rules = Rules { merge_min: 0.3, ..policy.rules(&partition) };
                // Fewer than ten others: the context is everything.
                let all: Vec<ThemeId> = partition.themes().map(|(id, _)| id).collect();
                let before = f_over(&partition, &all, rules.epsilon);
                if merge(&mut partition, id, &rules, &mut Vec::new()).is_some() {
                    prop_assert!(f_over(&partition, &all, rules.epsilon) > before - 1e-12);
                }
            }
        }

        #[test]
        fn a_split_is_the_best_of_its_candidates(members in members(), paper: bool) {
            let policy = if paper { Policy::Paper } else { Policy::Default };
            let mut partition = partition(members);
            let overfull: Vec<ThemeId> = partition
                .themes()
                .filter(|(_, c)| c.n_members() > THEME_SIZE_MAX)
                .map(|(id, _)| id)
                .collect();
            for theme in overfull {
                let rules = policy.rules(&partition);
                let members = partition.theme(theme).unwrap().members().to_vec();
                let others: Vec<&Cluster> =
                    partition.themes().filter(|&(id, _)| id != theme).map(|(_, c)| c).collect();
                let split_rules = SplitRules { size_max: rules.size_max, link_min: rules.link_min };
                let candidates = split_candidates(&members, &split_rules);
                let scores: Vec<f64> = candidates
                    .iter()
                    .map(|pieces| {
                        let mut seen: Vec<usize> = pieces.concat();
                        seen.sort_unstable();
                        assert_eq!(seen, (0..members.len()).collect::<Vec<_>>(), "nothing lost");
                        assert!(pieces.iter().all(|p| (1..=THEME_SIZE_MAX).contains(&p.len())));
                        let added: Vec<Cluster> = pieces
                            .iter()
                            .map(|p| {
                                Cluster::of(p.iter().map(|&i| members[i].clone()).collect())
                                    .unwrap()
                            })
                            .collect();
                        let themes: Vec<&Cluster> =
                            others.iter().copied().chain(&added).collect();
                        guidance_objective(&themes, rules.epsilon).total()
                    })
                    .collect();
                split(&mut partition, theme, &rules, &mut Vec::new());
                let all: Vec<ThemeId> = partition.themes().map(|(id, _)| id).collect();
                let f = f_over(&partition, &all, rules.epsilon);
                prop_assert!(scores.iter().all(|&s| f > s - 1e-9), "{} of {:?}", f, scores);
            }
        }
    }

    #[test]
    fn thresholds_follow_the_embedder() {
        // At MiniLM's own level nothing changes; a model whose unrelated texts lie at 0.6 needs more.
        assert!((rescaled(0.62, UNRELATED_MINILM) - 0.62).abs() < 1e-12);
        assert!((rescaled(0.62, 0.6) - 0.7625).abs() < 1e-12);
    }
}
