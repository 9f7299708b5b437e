//! Themes in the official code: [`attach`] for each semantic of a batch, then [`settle`].
//!
//! Deviation: between batches that code loses its caches and so drops semantics from their themes; here none is
//! ever dropped.

use inglenook::memory::partition::Cluster;
use inglenook::memory::reorganize::{Change, THEME_SIZE_MAX, move_all, move_out};
use inglenook::memory::splitting::{Similarities, chopped, components};
use inglenook::memory::{Embedding, Partition, SemanticId, ThemeId};

use crate::guidance::{EPSILON_OFFICIAL, guidance_objective};

/// A semantic joins the nearest theme from this similarity on …
const ATTACH_MIN: f64 = 0.62;
/// … and from this one on, if the theme has room.
const ATTACH_LENIENT_MIN: f64 = 0.52;

/// Members from this similarity on are linked.
const LINK_MIN: f64 = 0.66;
/// Themes up to this size are never split by links.
const UNCUT_MAX: usize = 8;
/// A full theme with a lower mean similarity is split if f improves.
const MEAN_SIMILARITY_MIN: f64 = 0.72;
const MERGE_MIN: f64 = 0.78;
const N_MERGES_MAX: usize = 2;
/// A singleton joins a theme from this similarity on (its nominal floor of 0.99 is lowered to this) …
const SINGLETON_MIN: f64 = 0.50;
/// … but one that has just grown only from this one on.
const GROWN_MIN: f64 = 0.99;
const N_CONTEXT: usize = 10;

/// Puts a new semantic in its theme, and splits the theme that it overfills. A semantic that was there already is
/// attached afresh.
pub fn attach(
    partition: &mut Partition,
    semantic: SemanticId,
    embedding: Embedding,
) -> Vec<Change> {
    partition.remove(semantic);
    let mut changes = Vec::new();
    let has_room = |theme| partition.theme(theme).is_some_and(|c| c.n_members() < THEME_SIZE_MAX);
    let nearest = partition.nearest_themes(&embedding, 1, None).first().copied();
    let home = nearest.filter(|&(theme, similarity)| {
        similarity >= ATTACH_MIN || (similarity >= ATTACH_LENIENT_MIN && has_room(theme))
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
    split_overfull(partition, theme, &mut changes);
    changes
}

/// Connected components in runs of twelve; not scored.
fn local_pieces(cluster: &Cluster) -> Vec<Vec<usize>> {
    if cluster.n_members() <= UNCUT_MAX {
        return vec![(0..cluster.n_members()).collect()];
    }
    chopped(components(&Similarities::of(cluster.members()), LINK_MIN), THEME_SIZE_MAX)
}

/// The immediate split of a theme over the cap. The first piece keeps the id.
fn split_overfull(
    partition: &mut Partition,
    theme: ThemeId,
    changes: &mut Vec<Change>,
) -> Vec<ThemeId> {
    let Some(cluster) = partition.theme(theme) else { return Vec::new() };
    if cluster.n_members() <= THEME_SIZE_MAX {
        return Vec::new();
    }
    let pieces = local_pieces(cluster);
    split_into(partition, theme, &pieces, changes)
}

fn split_into(
    partition: &mut Partition,
    theme: ThemeId,
    pieces: &[Vec<usize>],
    changes: &mut Vec<Change>,
) -> Vec<ThemeId> {
    let Some(cluster) = partition.theme(theme) else { return Vec::new() };
    let ids: Vec<Vec<SemanticId>> = pieces
        .iter()
        .map(|piece| piece.iter().map(|&i| cluster.members()[i].0).collect())
        .collect();
    let new = ids[1..].iter().map(|piece| move_out(partition, theme, piece, changes)).collect();
    // The members' order matters to later splits into runs of twelve. The first piece is reordered after the
    // others have left, because a theme may not be empty in between.
    for &semantic in &ids[0] {
        partition.move_to(semantic, theme);
    }
    new
}

/// The rest of a batch: mixed themes are split, near themes merged, singletons absorbed.
pub fn settle(partition: &mut Partition) -> Vec<Change> {
    let mut changes = Vec::new();
    // The order of that code's dictionary: new pieces follow their theme.
    let order = split_mixed(partition, &mut changes);
    merge_near(partition, &order, &mut changes);
    absorb_singletons(partition, &order, &mut changes);
    changes
}

fn split_mixed(partition: &mut Partition, changes: &mut Vec<Change>) -> Vec<ThemeId> {
    // All decisions are taken before any split is made.
    let mut decided: Vec<(ThemeId, Option<Vec<Vec<usize>>>)> = Vec::new();
    for (theme, cluster) in partition.themes() {
        let mixed = cluster.n_members() >= THEME_SIZE_MAX
            && Similarities::of(cluster.members()).mean() < MEAN_SIMILARITY_MIN;
        let pieces = mixed.then(|| {
            let whole: Vec<Vec<usize>> = vec![(0..cluster.n_members()).collect()];
            let context: Vec<ThemeId> =
                context_of(partition, theme).into_iter().filter(|&id| id != theme).collect();
            let score = |pieces: &[Vec<usize>]| {
                let added: Vec<Cluster> = pieces
                    .iter()
                    .filter_map(|piece| {
                        let members = piece.iter().map(|&i| cluster.members()[i].clone());
                        Cluster::of(members.collect())
                    })
                    .collect();
                objective(partition, &context, &[theme], &added)
            };
            let cut = local_pieces(cluster);
            if score(&whole) > score(&cut) { whole } else { cut }
        });
        decided.push((theme, pieces));
    }
    let mut order = Vec::new();
    for (theme, pieces) in decided {
        order.push(theme);
        if let Some(pieces) = pieces {
            order.extend(split_into(partition, theme, &pieces, changes));
        }
    }
    order
}

/// f of the context themes that are not `removed`, together with `added`.
fn objective(
    partition: &Partition,
    context: &[ThemeId],
    removed: &[ThemeId],
    added: &[Cluster],
) -> f64 {
    let kept = context.iter().filter(|id| !removed.contains(id));
    let themes: Vec<&Cluster> = kept.filter_map(|&id| partition.theme(id)).chain(added).collect();
    guidance_objective(&themes, EPSILON_OFFICIAL).total()
}

/// A theme and its ten nearest.
fn context_of(partition: &Partition, theme: ThemeId) -> Vec<ThemeId> {
    let mut context = vec![theme];
    if let Some(centroid) = partition.theme(theme).and_then(Cluster::centroid) {
        let near = partition.nearest_themes(&centroid, N_CONTEXT, Some(theme));
        context.extend(near.into_iter().map(|(id, _)| id));
    }
    context
}

fn context_of_two(partition: &Partition, a: ThemeId, b: ThemeId) -> Vec<ThemeId> {
    let mut context = context_of(partition, a);
    for id in context_of(partition, b) {
        if !context.contains(&id) {
            context.push(id);
        }
    }
    context
}

/// The gain in f, over both themes and their neighbours, of merging `from` into `to`.
fn gain(partition: &Partition, from: ThemeId, to: ThemeId) -> Option<f64> {
    let context = context_of_two(partition, from, to);
    let before = objective(partition, &context, &[], &[]);
    let merged = [partition.theme(to)?.joined(partition.theme(from)?)];
    let after = objective(partition, &context, &[from, to], &merged);
    Some(after - before)
}

fn fits(partition: &Partition, a: ThemeId, b: ThemeId) -> bool {
    let size = |id| partition.theme(id).map_or(0, Cluster::n_members);
    size(a) + size(b) <= THEME_SIZE_MAX
}

fn similarity(partition: &Partition, a: ThemeId, b: ThemeId) -> f64 {
    let (Some(a), Some(b)) = (partition.theme(a), partition.theme(b)) else { return 0.0 };
    a.centroid().map_or(0.0, |centroid| b.similarity(&centroid))
}

fn merge_near(partition: &mut Partition, order: &[ThemeId], changes: &mut Vec<Change>) {
    for _ in 0..N_MERGES_MAX {
        let present: Vec<ThemeId> =
            order.iter().copied().filter(|&id| partition.theme(id).is_some()).collect();
        let mut pairs = Vec::new();
        for (i, &a) in present.iter().enumerate() {
            for &b in &present[i + 1..] {
                let s = similarity(partition, a, b);
                if s >= MERGE_MIN && fits(partition, a, b) {
                    pairs.push((s, a, b));
                }
            }
        }
        pairs.sort_by(|x, y| y.0.total_cmp(&x.0));
        let mut best: Option<(f64, ThemeId, ThemeId)> = None;
        for (_, a, b) in pairs {
            let Some(gain) = gain(partition, b, a) else { continue };
            if gain > best.map_or(0.0, |(highest, ..)| highest) {
                best = Some((gain, a, b));
            }
        }
        let Some((_, to, from)) = best else { return };
        move_all(partition, from, to, changes);
    }
}

fn absorb_singletons(partition: &mut Partition, order: &[ThemeId], changes: &mut Vec<Change>) {
    loop {
        let mut absorbed = false;
        let single: Vec<ThemeId> = order
            .iter()
            .copied()
            .filter(|&id| partition.theme(id).is_some_and(|c| c.n_members() == 1))
            .collect();
        for theme in single {
            let Some(cluster) = partition.theme(theme) else { continue };
            let floor = if cluster.n_members() == 1 { SINGLETON_MIN } else { GROWN_MIN };
            let mut near: Vec<(f64, ThemeId)> = order
                .iter()
                .filter(|&&id| id != theme && partition.theme(id).is_some())
                .map(|&id| (similarity(partition, theme, id), id))
                .filter(|&(s, id)| s >= floor && fits(partition, theme, id))
                .collect();
            near.sort_by(|x, y| y.0.total_cmp(&x.0));
            let mut best: Option<(f64, ThemeId)> = None;
            for (_, target) in near {
                let Some(gain) = gain(partition, theme, target) else { continue };
                if gain > best.map_or(0.0, |(highest, _)| highest) {
                    best = Some((gain, target));
                }
            }
            if let Some((_, target)) = best {
                move_all(partition, theme, target, changes);
                absorbed = true;
            }
        }
        if !absorbed {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    type Themes = BTreeMap<ThemeId, BTreeSet<SemanticId>>;

    fn as_sets(partition: &Partition) -> Themes {
        let themes = partition.themes();
        themes.map(|(id, c)| (id, c.members().iter().map(|(id, _)| *id).collect())).collect()
    }

    /// Applies the changes as the worker does, to plain sets.
    fn apply(themes: &mut Themes, changes: &[Change]) {
        for &change in changes {
            match change {
                Change::Created { theme } => {
                    assert!(themes.insert(theme, BTreeSet::new()).is_none(), "{theme} made twice");
                }
                Change::Attached { semantic, theme } => {
                    assert!(themes.get_mut(&theme).unwrap().insert(semantic));
                }
                Change::Moved { semantic, from, to } => {
                    assert!(themes.get_mut(&from).unwrap().remove(&semantic));
                    assert!(themes.get_mut(&to).unwrap().insert(semantic));
                }
            }
        }
        themes.retain(|_, members| !members.is_empty());
    }

    fn forget(themes: &mut Themes, id: SemanticId) {
        for members in themes.values_mut() {
            members.remove(&id);
        }
        themes.retain(|_, members| !members.is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// `true` in a step removes the semantic instead of attaching it.
        #[test]
        fn conservation(
            steps in prop::collection::vec(
                (prop::bool::weighted(0.08), any::<u8>(), 0_usize..4,
                 prop::collection::vec(-40_i8..40, 6)),
                1..120,
            ),
        ) {
            let (mut partition, mut themes) = (Partition::default(), Themes::new());
            let mut expected = BTreeSet::new();
            for (remove, id, axis, mut vector) in steps {
                let id = SemanticId(i64::from(id));
                forget(&mut themes, id);
                if remove {
                    partition.remove(id);
                    expected.remove(&id);
                } else {
                    vector[axis] = 100;
                    let vector = vector.into_iter().map(f32::from).collect();
                    let vector = Embedding::normalise(vector).unwrap();
                    apply(&mut themes, &attach(&mut partition, id, vector));
                    expected.insert(id);
                }
                prop_assert_eq!(partition.violations(), Vec::<String>::new());
                prop_assert!(partition.themes().all(|(_, c)| c.n_members() <= THEME_SIZE_MAX));
                prop_assert_eq!(&as_sets(&partition), &themes);
            }
            apply(&mut themes, &settle(&mut partition));
            prop_assert_eq!(partition.violations(), Vec::<String>::new());
            prop_assert!(partition.themes().all(|(_, c)| c.n_members() <= THEME_SIZE_MAX));
            prop_assert_eq!(&as_sets(&partition), &themes);
            prop_assert_eq!(themes.into_values().flatten().collect::<BTreeSet<_>>(), expected);
        }
    }
}
