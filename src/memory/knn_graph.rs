//! The kNN graph over themes or over semantics (xMemory §3.2): top-k edges, symmetric, current.
//!
//! Each node keeps its k nearest; an edge is there if either end keeps the other. The official code
//! computes a node's edges once and never looks again; here an insert or a removal updates both
//! ends.

use std::collections::{BTreeMap, BTreeSet};

use super::Embedding;

/// Edges a node keeps (paper and official code).
pub const N_NEIGHBOURS: usize = 10;

/// See the module. `Id` is [`super::ThemeId`] or [`super::SemanticId`].
#[derive(Debug, Clone)]
pub struct KnnGraph<Id> {
    k: usize,
    nodes: BTreeMap<Id, Node<Id>>,
}

#[derive(Debug, Clone)]
struct Node<Id> {
    embedding: Embedding,
    /// Best first, at most k.
    nearest: Vec<(Id, f32)>,
    /// Who keeps this node among their nearest.
    kept_by: BTreeSet<Id>,
}

impl<Id: Copy + Ord> KnnGraph<Id> {
    #[must_use]
    pub fn new(k: usize) -> Self {
        Self { k, nodes: BTreeMap::new() }
    }

    #[must_use]
    pub fn of(k: usize, nodes: impl IntoIterator<Item = (Id, Embedding)>) -> Self {
        let mut graph = Self::new(k);
        for (id, embedding) in nodes {
            graph.insert(id, embedding);
        }
        graph
    }

    /// The graph whose [`KnnGraph::edges`] (in one direction or both) are known already: a node's
    /// nearest are the best of its edges. Nothing is compared again.
    #[must_use]
    pub fn from_edges(
        k: usize,
        nodes: impl IntoIterator<Item = (Id, Embedding)>,
        edges: impl IntoIterator<Item = (Id, Id, f32)>,
    ) -> Self {
        let nodes = nodes.into_iter().map(|(id, embedding)| {
            (id, Node { embedding, nearest: Vec::new(), kept_by: BTreeSet::new() })
        });
        let mut graph = Self { k, nodes: nodes.collect() };
        let mut all: BTreeMap<Id, BTreeMap<Id, f32>> = BTreeMap::new();
        for (a, b, similarity) in edges {
            if graph.nodes.contains_key(&a) && graph.nodes.contains_key(&b) {
                all.entry(a).or_default().insert(b, similarity);
                all.entry(b).or_default().insert(a, similarity);
            }
        }
        for (id, edges) in all {
            let nearest = best(edges.into_iter().collect(), k);
            for (other, _) in &nearest {
                if let Some(node) = graph.nodes.get_mut(other) {
                    node.kept_by.insert(id);
                }
            }
            if let Some(node) = graph.nodes.get_mut(&id) {
                node.nearest = nearest;
            }
        }
        graph
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Adds a node, or gives it another vector. Returns every node whose edges changed.
    pub fn insert(&mut self, id: Id, embedding: Embedding) -> BTreeSet<Id> {
        let mut changed = self.remove(id);
        let mut all: Vec<(Id, f32)> = Vec::with_capacity(self.nodes.len());
        let mut keepers = BTreeSet::new();
        let mut dropped = Vec::new();
        for (&other_id, other) in &mut self.nodes {
            let similarity = embedding.cosine(&other.embedding);
            all.push((other_id, similarity));
            let at =
                other.nearest.partition_point(|&(kept, s)| precedes((kept, s), (id, similarity)));
            if at < self.k {
                other.nearest.insert(at, (id, similarity));
                keepers.insert(other_id);
                if other.nearest.len() > self.k
                    && let Some((out, _)) = other.nearest.pop()
                {
                    dropped.push((other_id, out));
                }
            }
        }
        for (keeper, out) in dropped {
            if let Some(node) = self.nodes.get_mut(&out) {
                node.kept_by.remove(&keeper);
            }
            changed.insert(out);
        }
        let nearest = best(all, self.k);
        for &(other, _) in &nearest {
            if let Some(node) = self.nodes.get_mut(&other) {
                node.kept_by.insert(id);
            }
            changed.insert(other);
        }
        changed.extend(&keepers);
        changed.insert(id);
        self.nodes.insert(id, Node { embedding, nearest, kept_by: keepers });
        changed
    }

    /// Takes a node out; those that kept it look for another. Returns every node whose edges
    /// changed, without `id`.
    pub fn remove(&mut self, id: Id) -> BTreeSet<Id> {
        let Some(node) = self.nodes.remove(&id) else { return BTreeSet::new() };
        let mut changed = node.kept_by.clone();
        for (other, _) in node.nearest {
            if let Some(other_node) = self.nodes.get_mut(&other) {
                other_node.kept_by.remove(&id);
            }
            changed.insert(other);
        }
        for keeper in node.kept_by {
            let Some(embedding) = self.nodes.get(&keeper).map(|n| n.embedding.clone()) else {
                continue;
            };
            let all = self
                .nodes
                .iter()
                .filter(|&(&other, _)| other != keeper)
                .map(|(&other, n)| (other, embedding.cosine(&n.embedding)))
                .collect();
            let nearest = best(all, self.k);
            for &(other, _) in &nearest {
                if self.nodes.get_mut(&other).is_some_and(|n| n.kept_by.insert(keeper)) {
                    changed.insert(other);
                }
            }
            if let Some(n) = self.nodes.get_mut(&keeper) {
                n.nearest = nearest;
            }
        }
        changed
    }

    /// Its edges, best first: at least its k nearest, and whoever keeps it.
    #[must_use]
    pub fn neighbours(&self, id: Id) -> Vec<(Id, f32)> {
        let Some(node) = self.nodes.get(&id) else { return Vec::new() };
        let mut edges = node.nearest.clone();
        for &keeper in &node.kept_by {
            if !node.nearest.iter().any(|&(other, _)| other == keeper)
                && let Some(&(_, similarity)) = self
                    .nodes
                    .get(&keeper)
                    .and_then(|k| k.nearest.iter().find(|&&(other, _)| other == id))
            {
                edges.push((keeper, similarity));
            }
        }
        sort(&mut edges);
        edges
    }

    /// Every edge once, with the smaller id first.
    #[must_use]
    pub fn edges(&self) -> Vec<(Id, Id, f32)> {
        self.nodes
            .keys()
            .flat_map(|&a| {
                self.neighbours(a)
                    .into_iter()
                    .filter(move |&(b, _)| a < b)
                    .map(move |(b, s)| (a, b, s))
            })
            .collect()
    }
}

/// Best first; of equals the smaller id.
fn precedes<Id: Ord>(a: (Id, f32), b: (Id, f32)) -> bool {
    b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)).is_lt()
}

fn sort<Id: Ord>(edges: &mut [(Id, f32)]) {
    edges.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
}

fn best<Id: Ord>(mut all: Vec<(Id, f32)>, k: usize) -> Vec<(Id, f32)> {
    if all.len() > k {
        all.select_nth_unstable_by(k, |a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        all.truncate(k);
    }
    sort(&mut all);
    all
}
