//! What must hold of organising, for any sequence of operations.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::guidance::{held_out, objective};
use super::hierarchy::touched;
use super::knn_graph::KnnGraph;
use super::partition::Cluster;
use super::reorganize::{Change, Rules, THEME_SIZE_MAX, attach, attach_by};
use super::{Embedding, Hierarchy, Partition, SemanticId, ThemeId};
use crate::testing::{check_close, cluster, unit};

fn of_whole(values: Vec<i8>) -> Embedding {
    unit(&values.into_iter().map(f32::from).collect::<Vec<_>>())
}

#[test]
fn held_out_by_hand() {
    let half = 0.5f64.sqrt();
    check_close(held_out(&cluster(1, &[[1.0, 0.0]])), 0.0);
    // Two: each against the other.
    check_close(held_out(&cluster(1, &[[1.0, 0.0], [3.0, 4.0]])), 0.6 + 0.6);
    // (1,0) against (0,1) + (0,1); each (0,1) against (1,0) + (0,1).
    check_close(held_out(&cluster(1, &[[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])), 2.0 * half);
    // Where a fact's others cancel out, they have no direction.
    check_close(held_out(&cluster(1, &[[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])), -2.0 * half);
    let themes = [cluster(1, &[[1.0, 0.0], [3.0, 4.0]]), cluster(3, &[[0.0, 1.0]])];
    check_close(objective(&themes), 1.2 / 3.0);
    check_close(objective([]), 0.0);
}

#[derive(Debug, Clone)]
enum Step {
    Attach(SemanticId, Embedding),
    Remove(SemanticId),
}

/// Vectors in a few directions with noise, so that themes fill up and are split.
fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (any::<u8>(), 0usize..4, prop::collection::vec(-40i8..40, 6)).prop_map(|(id, at, mut v)| {
            v[at] = 100;
            Step::Attach(SemanticId(id.into()), of_whole(v))
        }),
        1 => any::<u8>().prop_map(|id| Step::Remove(SemanticId(id.into()))),
    ]
}

/// Applies the changes as the worker does, to plain sets.
fn apply(themes: &mut BTreeMap<ThemeId, BTreeSet<SemanticId>>, changes: &[Change]) {
    for &change in changes {
        match change {
            Change::Created { theme } => {
                assert!(themes.insert(theme, BTreeSet::new()).is_none(), "{theme} made twice");
            }
            Change::Attached { semantic, theme } => {
                assert!(themes.get_mut(&theme).unwrap().insert(semantic));
            }
            Change::Moved { semantic, from, to } => {
                assert!(
                    themes.get_mut(&from).unwrap().remove(&semantic),
                    "{semantic} not in {from}"
                );
                assert!(themes.get_mut(&to).unwrap().insert(semantic));
            }
        }
    }
    themes.retain(|_, members| !members.is_empty());
}

/// The partition as the store would give it back: themes by id, members by id.
fn reopened(partition: &Partition) -> Partition {
    let themes = partition.themes().map(|(id, cluster)| {
        let mut members = cluster.members().to_vec();
        members.sort_by_key(|(id, _)| *id);
        (id, members)
    });
    Partition::new(themes.collect(), partition.next_theme_id())
}

/// Facts batch by batch; after each the partition is reopened.
fn fed<'a>(batches: impl Iterator<Item = &'a [Embedding]>) -> Partition {
    let mut partition = Partition::default();
    let mut next = 0;
    for batch in batches {
        for vector in batch {
            attach(&mut partition, SemanticId(next), vector.clone());
            next += 1;
        }
        partition = reopened(&partition);
    }
    partition
}

fn as_sets(partition: &Partition) -> BTreeMap<ThemeId, BTreeSet<SemanticId>> {
    partition
        .themes()
        .map(|(id, c)| (id, c.members().iter().map(|(id, _)| *id).collect()))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn conservation(
        steps in prop::collection::vec(step(), 1..120), size_max in 2..=THEME_SIZE_MAX,
    ) {
        let mut partition = Partition::default();
        let mut shadow = BTreeMap::new();
        let mut expected = BTreeSet::new();
        for step in steps {
            match step {
                Step::Attach(id, vector) => {
                    for members in shadow.values_mut() {
                        BTreeSet::remove(members, &id);
                    }
                    shadow.retain(|_, m: &mut BTreeSet<_>| !m.is_empty());
                    partition.remove(id);
                    let rules = Rules { size_max, ..Rules::of(&partition) };
                    apply(&mut shadow, &attach_by(&rules, &mut partition, id, vector));
                    expected.insert(id);
                }
                Step::Remove(id) => {
                    partition.remove(id);
                    for members in shadow.values_mut() {
                        members.remove(&id);
                    }
                    shadow.retain(|_, m| !m.is_empty());
                    expected.remove(&id);
                }
            }
            prop_assert_eq!(partition.violations(), Vec::<String>::new());
            prop_assert!(partition.themes().all(|(_, c)| c.n_members() <= size_max));
            prop_assert_eq!(&as_sets(&partition), &shadow);
        }
        let all: BTreeSet<_> = shadow.values().flatten().copied().collect();
        prop_assert_eq!(all, expected);
    }

    #[test]
    fn a_settled_partition_is_the_reopened_one_to_the_last_bit(
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let mut kept = Partition::default();
        for step in steps {
            match step {
                Step::Attach(id, vector) => {
                    attach(&mut kept, id, vector);
                }
                Step::Remove(id) => {
                    kept.remove(id);
                }
            }
            kept.settle_order();
            let reopened = reopened(&kept);
            prop_assert_eq!(kept.n_themes(), reopened.n_themes());
            prop_assert_eq!(kept.mean_similarity(), reopened.mean_similarity());
            for ((a, kept), (b, reopened)) in kept.themes().zip(reopened.themes()) {
                prop_assert_eq!(a, b);
                prop_assert_eq!(kept.members(), reopened.members());
                prop_assert_eq!(kept.sum(), reopened.sum());
            }
        }
    }

    #[test]
    fn both_graphs_follow_the_partition(steps in prop::collection::vec(step(), 1..60)) {
        let mut hierarchy = Hierarchy::default();
        let mut of_semantics: BTreeMap<SemanticId, Vec<(SemanticId, f32)>> = BTreeMap::new();
        let mut of_themes: BTreeMap<ThemeId, Vec<(ThemeId, f32)>> = BTreeMap::new();
        for step in steps {
            let Step::Attach(id, vector) = step else { continue };
            let mut themes: BTreeSet<ThemeId> =
                hierarchy.partition.theme_of(id).into_iter().collect();
            let inserted = hierarchy.insert(id, vector);
            themes.extend(touched(&inserted.changes));
            for id in inserted.semantics {
                of_semantics.insert(id, hierarchy.semantic_graph.neighbours(id));
            }
            for id in hierarchy.link_themes(&themes) {
                of_themes.insert(id, hierarchy.theme_graph.neighbours(id));
            }
            of_themes.retain(|&id, _| hierarchy.partition.theme(id).is_some());
            let afresh = Hierarchy::of(hierarchy.partition.clone());
            prop_assert_eq!(hierarchy.semantic_graph.edges(), afresh.semantic_graph.edges());
            prop_assert_eq!(hierarchy.theme_graph.edges(), afresh.theme_graph.edges());
            // Whoever copies the edges of what changed has them all.
            for (&id, edges) in &of_semantics {
                prop_assert_eq!(edges, &hierarchy.semantic_graph.neighbours(id));
            }
            for (&id, edges) in &of_themes {
                prop_assert_eq!(edges, &hierarchy.theme_graph.neighbours(id));
            }
        }
    }

    #[test]
    fn guidance_kept_by_local_updates_equals_the_full_computation(
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let mut partition = Partition::default();
        // The sum over themes, of which only the terms of those that change are looked at.
        let mut kept = 0.0;
        let term = |partition: &Partition, id: ThemeId| partition.theme(id).map_or(0.0, held_out);
        for step in steps {
            let before = partition.clone();
            let changed: BTreeSet<ThemeId> = match step {
                Step::Attach(id, vector) => {
                    let changes = attach(&mut partition, id, vector);
                    touched(&changes).chain(before.theme_of(id)).collect()
                }
                Step::Remove(id) => partition.remove(id).map(|(t, _)| t).into_iter().collect(),
            };
            for theme in changed {
                kept += term(&partition, theme) - term(&before, theme);
            }
            // Full: clusters made afresh from their members.
            let fresh: Vec<Cluster> =
                partition.themes().map(|(_, c)| Cluster::of(c.members().to_vec()).unwrap()).collect();
            let full = objective(&fresh);
            let n = partition.n_semantics().max(1) as f64;
            prop_assert!((full - kept / n).abs() < 1e-9, "{} {}", full, kept / n);
        }
    }

    #[test]
    fn however_it_is_fed_nothing_is_lost_and_the_objective_is_the_same(
        vectors in prop::collection::vec((0usize..8, prop::collection::vec(-50i8..50, 8)), 1..150),
        per_session in 2usize..30,
    ) {
        let vectors: Vec<Embedding> = vectors
            .into_iter()
            .map(|(at, mut v)| {
                v[at] = 100;
                of_whole(v)
            })
            .collect();
        let found = [vectors.len(), per_session, 1].map(|n| fed(vectors.chunks(n)));
        for partition in &found {
            prop_assert_eq!(partition.violations(), Vec::<String>::new());
            prop_assert_eq!(partition.n_semantics(), vectors.len());
        }
        let [whole, sessions, singly] =
            found.each_ref().map(|p| objective(p.themes().map(|(_, cluster)| cluster)));
        prop_assert!((sessions - whole).abs() <= 0.05 * whole.abs(), "{sessions} {whole}");
        prop_assert!((singly - whole).abs() <= 0.05 * whole.abs(), "{singly} {whole}");
    }

    #[test]
    fn edges_are_symmetric_and_current(
        steps in prop::collection::vec(step(), 1..60), k in 1usize..5,
    ) {
        let mut graph = KnnGraph::new(k);
        let mut nodes: BTreeMap<SemanticId, Embedding> = BTreeMap::new();
        let mut stored: BTreeMap<SemanticId, Vec<(SemanticId, f32)>> = BTreeMap::new();
        for step in steps {
            let changed = match step {
                Step::Attach(id, vector) => {
                    nodes.insert(id, vector.clone());
                    graph.insert(id, vector)
                }
                Step::Remove(id) => {
                    nodes.remove(&id);
                    stored.remove(&id);
                    graph.update_near([(id, None)], &|_| None)
                }
            };
            for id in changed {
                stored.insert(id, graph.neighbours(id));
            }
            // The graph says which nodes' edges changed: whoever copies those has all of them.
            for &id in nodes.keys() {
                prop_assert_eq!(&stored[&id], &graph.neighbours(id));
            }
            let afresh = KnnGraph::of(k, nodes.clone());
            prop_assert_eq!(graph.edges(), afresh.edges());
            for &a in nodes.keys() {
                let edges = graph.neighbours(a);
                prop_assert!(edges.len() >= k.min(nodes.len() - 1));
                for (b, similarity) in edges {
                    prop_assert!(graph.neighbours(b).contains(&(a, similarity)));
                }
            }
        }
    }

    #[test]
    fn edges_that_miss_some_are_symmetric_current_and_all_there_is(
        steps in prop::collection::vec(step(), 1..60), k in 1usize..5, missed in 0i64..4,
    ) {
        let mut graph = KnnGraph::new(k);
        let mut nodes: BTreeMap<SemanticId, Embedding> = BTreeMap::new();
        for step in steps {
            // A search that finds nodes that are not there, and misses some that are.
            let near = |query: &Embedding| -> Option<Vec<SemanticId>> {
                let odd = i64::from(query.as_slice()[0] > query.as_slice()[1]);
                Some((0..256).filter(|id| (id + odd) % 4 != missed).map(SemanticId).collect())
            };
            // Made of its own edges, as when the memory is opened again.
            let mut reopened = KnnGraph::from_edges(k, nodes.clone(), graph.edges());
            let changed = match step {
                Step::Attach(id, vector) => {
                    nodes.insert(id, vector.clone());
                    reopened.insert_near(id, vector.clone(), &near);
                    graph.insert_near(id, vector, &near)
                }
                Step::Remove(id) => {
                    nodes.remove(&id);
                    reopened.update_near([(id, None)], &near);
                    graph.update_near([(id, None)], &near)
                }
            };
            prop_assert!(changed.len() <= nodes.len() + 1);
            prop_assert_eq!(graph.edges(), reopened.edges());
            for (&a, vector) in &nodes {
                for (b, similarity) in graph.neighbours(a) {
                    prop_assert_eq!(similarity, vector.cosine(&nodes[&b]));
                    prop_assert!(graph.neighbours(b).contains(&(a, similarity)));
                }
            }
        }
    }
}
