//! Splits, merges and moves on random partitions: conservation, caps, and the objective.

use proptest::prelude::*;

use super::super::guidance::objective;
use super::*;
use crate::testing::unit;

/// Clusters around a few directions.
fn members() -> impl Strategy<Value = Vec<(usize, Embedding)>> {
    let member = (0usize..6, prop::array::uniform6(-60i8..60)).prop_map(|(theme, mut v)| {
        v[theme] = v[theme].saturating_add(80);
        v[5] = v[5].saturating_add(20);
        (theme, unit(&v.map(f32::from)))
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

fn score(partition: &Partition) -> f64 {
    objective(partition.themes().map(|(_, cluster)| cluster))
}

proptest! {
    #[test]
    fn an_accepted_merge_raises_the_objective(members in members()) {
        let mut partition = partition(members);
        let ids: Vec<ThemeId> = partition.themes().map(|(id, _)| id).collect();
        for id in ids {
            let rules = Rules { merge_min: 0.3, ..Rules::of(&partition) };
            let before = score(&partition);
            if merge(&mut partition, id, &rules, &mut Vec::new()).is_some() {
                prop_assert!(score(&partition) > before - 1e-12);
            }
        }
    }

    #[test]
    fn an_accepted_move_raises_the_objective(members in members()) {
        let mut partition = partition(members);
        let ids: Vec<ThemeId> = partition.themes().map(|(id, _)| id).collect();
        for id in ids {
            let rules = Rules::of(&partition);
            let before = score(&partition);
            let mut changes = Vec::new();
            move_to_better(&mut partition, id, &rules, &mut changes);
            let after = score(&partition);
            let n = partition.n_semantics() as f64;
            let least = changes.len() as f64 * rules.move_gain_min / n;
            prop_assert!(after - before > least - 1e-9, "{} {} {}", before, after, least);
            prop_assert_eq!(partition.violations(), Vec::<String>::new());
        }
    }

    #[test]
    fn a_split_is_the_best_of_its_candidates(members in members()) {
        let mut partition = partition(members);
        let overfull: Vec<ThemeId> = partition
            .themes()
            .filter(|(_, c)| c.n_members() > THEME_SIZE_MAX)
            .map(|(id, _)| id)
            .collect();
        for theme in overfull {
            let rules = Rules::of(&partition);
            let members = partition.theme(theme).unwrap().members().to_vec();
            let others: Vec<&Cluster> =
                partition.themes().filter(|&(id, _)| id != theme).map(|(_, c)| c).collect();
            let candidates = split_candidates(&members, THEME_SIZE_MAX, rules.link_min);
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
                    objective(others.iter().copied().chain(&added))
                })
                .collect();
            split(&mut partition, theme, &rules, &mut Vec::new());
            let f = score(&partition);
            prop_assert!(scores.iter().all(|&s| f > s - 1e-9), "{} of {:?}", f, scores);
        }
    }
}

/// Lone facts and one theme for everything score lower than the right grouping.
#[test]
fn fragments_and_one_heap_lose() {
    let near = |axis: usize, i: usize| {
        let mut v = [0.3; 8];
        v[axis] += 1.0;
        v[4 + i] += 0.4;
        unit(&v)
    };
    let facts: Vec<Embedding> = (0..12).map(|i| near(i % 3, i / 3)).collect();
    let grouped = |theme_of: &dyn Fn(usize) -> usize| {
        partition(facts.iter().enumerate().map(|(i, x)| (theme_of(i), x.clone())).collect())
    };
    let (right, alone, heap) = (grouped(&|i| i % 3), grouped(&|i| i), grouped(&|_| 0));
    let of = |p: &Partition| score(p);
    assert!(of(&right) > of(&heap) + 0.05, "{} {}", of(&right), of(&heap));
    assert_eq!(of(&alone), 0.0);
}

#[test]
fn thresholds_follow_the_embedder() {
    // Nothing changes at MiniLM's own level; a model whose unrelated texts lie at 0.6 needs more.
    assert!((rescaled(0.62, UNRELATED_MINILM) - 0.62).abs() < 1e-12);
    assert!((rescaled(0.62, 0.6) - 0.7625).abs() < 1e-12);
}
