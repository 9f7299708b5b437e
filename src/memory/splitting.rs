//! Candidate splits of an overfull theme: ways to cut a dozen vectors into pieces.
//!
//! [`super::reorganize`] decides which candidate wins, by the objective.

use super::{Embedding, SemanticId};

/// Pieces as indices into the members; every candidate is a partition of them into at least two
/// pieces of at most `size_max`.
pub(super) fn split_candidates(
    members: &[(SemanticId, Embedding)],
    size_max: usize,
    link_min: f64,
) -> Vec<Vec<Vec<usize>>> {
    let similarities = Similarities::of(members);
    let levels = average_linkage(&similarities);
    let cut = |n| levels.iter().find(|pieces| pieces.len() <= n).cloned().unwrap_or_default();
    let mut candidates: Vec<Vec<Vec<usize>>> = (2..=4).map(cut).collect();
    candidates.push(two_centres(&similarities));
    let components = components(&similarities, link_min);
    candidates.push(adopt_singletons(components, &similarities));
    let mut kept: Vec<Vec<Vec<usize>>> = Vec::new();
    for candidate in candidates {
        let mut candidate = chopped(candidate, size_max);
        for piece in &mut candidate {
            piece.sort_unstable();
        }
        candidate.sort_unstable();
        if candidate.len() > 1 && !kept.contains(&candidate) {
            kept.push(candidate);
        }
    }
    if kept.is_empty() {
        // No candidate cuts them: halves, in the order in which they came.
        let middle = members.len().div_ceil(2);
        kept.push(vec![(0..middle).collect(), (middle..members.len()).collect()]);
    }
    kept
}

/// All pairwise cosines.
pub struct Similarities {
    n: usize,
    values: Vec<f64>,
}

impl Similarities {
    /// Of every pair of members, in O(n²).
    pub fn of(members: &[(SemanticId, Embedding)]) -> Self {
        let n = members.len();
        let mut values = vec![1.0; n * n];
        for i in 0..n {
            for j in i + 1..n {
                let s = f64::from(members[i].1.cosine(&members[j].1));
                values[i * n + j] = s;
                values[j * n + i] = s;
            }
        }
        Self { n, values }
    }

    fn at(&self, i: usize, j: usize) -> f64 {
        self.values[i * self.n + j]
    }

    /// Mean over the pairs of different members.
    pub fn mean(&self) -> f64 {
        let n = self.n as f64;
        (self.values.iter().sum::<f64>() - n) / (n * (n - 1.0) + 1e-6)
    }

    fn between(&self, a: &[usize], b: &[usize]) -> f64 {
        let sum: f64 = a.iter().flat_map(|&i| b.iter().map(move |&j| self.at(i, j))).sum();
        sum / (a.len() * b.len()) as f64
    }
}

/// Connected components of the graph that links members of at least `link_min` similarity, in the order of a
/// depth-first walk that takes the last neighbour first (the official code's, on which its runs of
/// twelve depend).
pub fn components(similarities: &Similarities, link_min: f64) -> Vec<Vec<usize>> {
    let n = similarities.n;
    let mut visited = vec![false; n];
    let mut found = Vec::new();
    for start in 0..n {
        if visited[start] {
            continue;
        }
        let (mut stack, mut component) = (vec![start], Vec::new());
        while let Some(i) = stack.pop() {
            if visited[i] {
                continue;
            }
            visited[i] = true;
            component.push(i);
            stack.extend((0..n).filter(|&j| !visited[j] && similarities.at(i, j) >= link_min));
        }
        found.push(component);
    }
    found
}

/// Cuts pieces longer than `size_max` into runs of that length.
pub fn chopped(pieces: Vec<Vec<usize>>, size_max: usize) -> Vec<Vec<usize>> {
    pieces
        .into_iter()
        .flat_map(|piece| piece.chunks(size_max).map(<[usize]>::to_vec).collect::<Vec<_>>())
        .collect()
}

/// Lone members go to the piece that they are nearest to: a cut may not crumble a theme.
fn adopt_singletons(pieces: Vec<Vec<usize>>, similarities: &Similarities) -> Vec<Vec<usize>> {
    let (mut larger, single): (Vec<_>, Vec<_>) = pieces.into_iter().partition(|p| p.len() > 1);
    if larger.is_empty() {
        return Vec::new();
    }
    let original = larger.clone();
    for piece in single {
        let home = (0..original.len())
            .max_by(|&a, &b| {
                let to = |k: usize| similarities.between(&piece, &original[k]);
                to(a).total_cmp(&to(b)).then(b.cmp(&a))
            })
            .unwrap_or(0);
        larger[home].extend(piece);
    }
    larger
}

/// The levels of average linkage: at index `n - k` there are k pieces.
fn average_linkage(similarities: &Similarities) -> Vec<Vec<Vec<usize>>> {
    let mut pieces: Vec<Vec<usize>> = (0..similarities.n).map(|i| vec![i]).collect();
    let mut levels = vec![pieces.clone()];
    while pieces.len() > 1 {
        let mut best = (f64::NEG_INFINITY, 0, 1);
        for i in 0..pieces.len() {
            for j in i + 1..pieces.len() {
                let s = similarities.between(&pieces[i], &pieces[j]);
                if s > best.0 {
                    best = (s, i, j);
                }
            }
        }
        let joined = pieces.remove(best.2);
        pieces[best.1].extend(joined);
        levels.push(pieces.clone());
    }
    levels
}

/// Two pieces around the two least similar members, refined by average similarity.
fn two_centres(similarities: &Similarities) -> Vec<Vec<usize>> {
    const ROUNDS: usize = 8;
    let n = similarities.n;
    let mut seeds = (0, 0);
    for i in 0..n {
        for j in i + 1..n {
            if similarities.at(i, j) < similarities.at(seeds.0, seeds.1) {
                seeds = (i, j);
            }
        }
    }
    let mut pieces = [vec![seeds.0], vec![seeds.1]];
    for _ in 0..ROUNDS {
        let mut next = [Vec::new(), Vec::new()];
        for i in 0..n {
            let side = usize::from(
                similarities.between(&[i], &pieces[1]) > similarities.between(&[i], &pieces[0]),
            );
            next[side].push(i);
        }
        if next.iter().any(Vec::is_empty) || next == pieces {
            break;
        }
        pieces = next;
    }
    // The seeds alone are not a partition (nothing was moved, or all to one side).
    if pieces.iter().map(Vec::len).sum::<usize>() < n { Vec::new() } else { pieces.into() }
}
