//! Stage I: query-aware representative selection on a kNN graph (xMemory §3.3, Eq. 4).
//!
//! Candidates are numbered 0..n; the caller knows what they are (themes, semantics) and how relevant.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Z of Eq. 4.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Normaliser {
    /// The largest gain of any candidate at the start, so that coverage lies in [0, 1] like relevance.
    #[default]
    LargestGain,
    /// The sum of all weights, including 1 for each candidate itself, as in the official code: it makes α
    /// ineffective.
    TotalWeight,
}

/// A selection problem. Deviation from the paper: a node covers itself with weight 1, where the
/// paper leaves w_ii open.
#[derive(Debug, Clone)]
pub struct Selection<'a> {
    /// s̃(q, i) in [0, 1].
    pub relevance: &'a [f64],
    /// For each candidate its neighbours among the candidates, with w > 0.
    pub neighbours: &'a [Vec<(usize, f64)>],
    /// 1 is coverage alone, 0 is relevance alone.
    pub alpha: f64,
    /// Z.
    pub normaliser: Normaliser,
    /// Selection stops when this share of the candidates is covered; above 1 it never does.
    pub coverage_target: f64,
    /// Most candidates to select.
    pub budget: usize,
}

impl Selection<'_> {
    /// Σ w over what `i` would newly cover. Terms are always added in the same order, so a subset never
    /// sums to more, and [`select_representatives`] may use old gains as upper bounds.
    fn gain(&self, i: usize, covered: &[bool]) -> f64 {
        let own = if covered[i] { 0.0 } else { 1.0 };
        self.neighbours[i]
            .iter()
            .filter(|&&(u, w)| !covered[u] && u != i && w > 0.0)
            .fold(own, |sum, &(_, w)| sum + w)
    }

    fn z(&self) -> f64 {
        let nothing = vec![false; self.relevance.len()];
        let z: f64 = match self.normaliser {
            Normaliser::LargestGain => {
                (0..self.relevance.len()).map(|i| self.gain(i, &nothing)).fold(0.0, f64::max)
            }
            Normaliser::TotalWeight => {
                let edges: f64 = self.neighbours.iter().flatten().map(|&(_, w)| w).sum();
                self.relevance.len() as f64 + edges
            }
        };
        if z > 0.0 { z } else { 1.0 }
    }

    fn score(&self, i: usize, covered: &[bool], z: f64) -> f64 {
        self.alpha * self.gain(i, covered) / z + (1.0 - self.alpha) * self.relevance[i]
    }
}

/// What is covered so far.
struct Coverage {
    covered: Vec<bool>,
    n_covered: usize,
    n_target: usize,
}

impl Coverage {
    fn of(selection: &Selection<'_>) -> Self {
        let n = selection.relevance.len();
        let target = (selection.coverage_target * n as f64).ceil();
        let n_target = if target > n as f64 { usize::MAX } else { target.max(0.0) as usize };
        Self { covered: vec![false; n], n_covered: 0, n_target }
    }

    fn add(&mut self, i: usize, selection: &Selection<'_>) {
        for u in std::iter::once(i).chain(selection.neighbours[i].iter().map(|&(u, _)| u)) {
            self.n_covered += usize::from(!std::mem::replace(&mut self.covered[u], true));
        }
    }

    fn is_reached(&self) -> bool {
        self.n_covered >= self.n_target
    }
}

/// Greedy selection by Eq. 4: candidates in the order of selection; ties go to the smaller number. It is
/// lazy: gains only shrink, so an old one is an upper bound, and a candidate is scored again only when
/// it reaches the top of the queue.
#[must_use]
pub fn select_representatives(selection: &Selection<'_>) -> Vec<usize> {
    let z = selection.z();
    let mut coverage = Coverage::of(selection);
    let mut queue: BinaryHeap<Bound> = (0..selection.relevance.len())
        .map(|i| Bound {
            score: selection.score(i, &coverage.covered, z),
            index: Reverse(i),
            at_step: 0,
        })
        .collect();
    let mut selected = Vec::new();
    while selected.len() < selection.budget && !coverage.is_reached() {
        let Some(top) = queue.pop() else { break };
        if top.at_step == selected.len() {
            coverage.add(top.index.0, selection);
            selected.push(top.index.0);
        } else {
            let score = selection.score(top.index.0, &coverage.covered, z);
            queue.push(Bound { score, at_step: selected.len(), ..top });
        }
    }
    selected
}

/// A candidate with an upper bound of its score.
struct Bound {
    score: f64,
    index: Reverse<usize>,
    /// How many were selected when it was scored.
    at_step: usize,
}

impl Ord for Bound {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then(self.index.cmp(&other.index))
    }
}

impl PartialOrd for Bound {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Bound {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Bound {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn problem(
        relevance: &[f64],
        neighbours: &[Vec<(usize, f64)>],
        alpha: f64,
        budget: usize,
    ) -> Vec<usize> {
        select_representatives(&Selection {
            relevance,
            neighbours,
            alpha,
            normaliser: Normaliser::LargestGain,
            coverage_target: 1.0,
            budget,
        })
    }

    #[test]
    fn relevance_alone_is_a_ranking_and_coverage_alone_spreads() {
        // 0–1–2 are a dense knot, 3–4 a pair, 5 stands alone.
        let neighbours = vec![
            vec![(1, 0.9), (2, 0.9)],
            vec![(0, 0.9), (2, 0.8)],
            vec![(0, 0.9), (1, 0.8)],
            vec![(4, 0.7)],
            vec![(3, 0.7)],
            vec![],
        ];
        let relevance = [0.9, 0.8, 0.7, 0.2, 0.1, 0.05];
        assert_eq!(problem(&relevance, &neighbours, 0.0, 2), [0, 1]);
        // 0 covers the knot, 3 the pair, 5 itself: then all is covered.
        assert_eq!(problem(&relevance, &neighbours, 1.0, 6), [0, 3, 5]);
    }

    #[test]
    fn one_step_of_equation_4_by_hand() {
        // Gains: node 0 covers itself and 1 (1 + 0.5), node 1 itself and 0 (1 + 0.5), node 2 itself.
        // Z = 1.5. α = 0.6: 0 → 0.6 + 0.4·0.2 = 0.68; 1 → 0.6 + 0.4·0.1 = 0.64;
        // 2 → 0.6·(1/1.5) + 0.4·0.9 = 0.76.
        let neighbours = vec![vec![(1, 0.5)], vec![(0, 0.5)], vec![]];
        assert_eq!(problem(&[0.2, 0.1, 0.9], &neighbours, 0.6, 1), [2]);
        // α = 0.9: 0 → 0.92, 1 → 0.91, 2 → 0.69.
        assert_eq!(problem(&[0.2, 0.1, 0.9], &neighbours, 0.9, 1), [0]);
    }

    /// [`select_representatives`] with every candidate scored at every step.
    fn select_representatives_naive(selection: &Selection<'_>) -> Vec<usize> {
        let z = selection.z();
        let mut coverage = Coverage::of(selection);
        let mut selected: Vec<usize> = Vec::new();
        while selected.len() < selection.budget && !coverage.is_reached() {
            let next = (0..selection.relevance.len())
                .filter(|i| !selected.contains(i))
                .map(|i| (selection.score(i, &coverage.covered, z), Reverse(i)))
                .max_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let Some((_, Reverse(i))) = next else { break };
            coverage.add(i, selection);
            selected.push(i);
        }
        selected
    }

    proptest! {
        #[test]
        fn lazy_equals_naive(
            relevance in prop::collection::vec(0u8..8, 1..24),
            edges in prop::collection::vec((0usize..24, 0usize..24, 1u8..8), 0..80),
            alpha in 0u8..=4, target in 0u8..=5, budget in 0usize..26,
            total: bool,
        ) {
            // Coarse values, so that ties are common.
            let relevance: Vec<f64> = relevance.iter().map(|&r| f64::from(r) / 7.0).collect();
            let n = relevance.len();
            let mut neighbours = vec![Vec::new(); n];
            for (a, b, w) in edges {
                if a % n != b % n {
                    neighbours[a % n].push((b % n, f64::from(w) / 8.0));
                    neighbours[b % n].push((a % n, f64::from(w) / 8.0));
                }
            }
            for list in &mut neighbours {
                list.sort_by_key(|&(u, _)| u);
                list.dedup_by_key(|&mut (u, _)| u);
            }
            let selection = Selection {
                relevance: &relevance,
                neighbours: &neighbours,
                alpha: f64::from(alpha) / 4.0,
                normaliser: if total { Normaliser::TotalWeight } else { Normaliser::LargestGain },
                coverage_target: f64::from(target) / 4.0,
                budget,
            };
            prop_assert_eq!(
                select_representatives(&selection),
                select_representatives_naive(&selection)
            );
        }
    }
}
