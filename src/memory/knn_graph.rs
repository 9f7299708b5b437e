//! The kNN graph over themes or over semantics (xMemory §3.2): top-k edges, symmetric, current.
//!
//! Each node keeps its k nearest; an edge is there if either end keeps the other. The official code
//! computes a node's edges once and never looks again; here an insert or a removal updates both
//! ends. The caller decides which nodes a vector is compared with: with all of them
//! ([`KnnGraph::insert`]) the edges are exact; with those that an index finds
//! ([`KnnGraph::insert_near`]) they are approximate, but still symmetric and current.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;

use super::Embedding;

/// Edges a node keeps (paper and official code).
pub const N_NEIGHBOURS: usize = 10;

/// The graph; `Id` is [`super::ThemeId`] or [`super::SemanticId`].
#[derive(Debug, Clone)]
pub struct KnnGraph<Id> {
    k: usize,
    nodes: HashMap<Id, Node<Id>>,
}

#[derive(Debug, Clone)]
struct Node<Id> {
    embedding: Embedding,
    /// Best first, at most k.
    nearest: Vec<(Id, f32)>,
    /// The nodes that have this one among their nearest, by id.
    kept_by: Vec<Id>,
}

impl<Id: Copy + Ord> Node<Id> {
    /// The nodes that it has edges to; some occur twice.
    fn known(&self) -> impl Iterator<Item = Id> {
        self.nearest.iter().map(|&(id, _)| id).chain(self.kept_by.iter().copied())
    }

    /// Returns whether the keeper is new.
    fn add_keeper(&mut self, keeper: Id) -> bool {
        let place = self.kept_by.binary_search(&keeper);
        if let Err(place) = place {
            self.kept_by.insert(place, keeper);
        }
        place.is_err()
    }

    fn drop_keeper(&mut self, keeper: Id) {
        if let Ok(place) = self.kept_by.binary_search(&keeper) {
            self.kept_by.remove(place);
        }
    }
}

/// A node that a vector was compared with.
struct Compared<Id> {
    id: Id,
    similarity: f32,
    /// Whether the vector's node is nearer than the last that this one keeps.
    may_keep: bool,
}

impl<Id: Copy> Compared<Id> {
    fn edge(&self) -> (Id, f32) {
        (self.id, self.similarity)
    }
}

/// The nodes to compare a vector with: ids, some of which may be unknown, or `None` for all nodes.
type Near<'a, Id> = &'a dyn Fn(&Embedding) -> Option<Vec<Id>>;

impl<Id: Copy + Ord + Hash> KnnGraph<Id> {
    /// An empty graph whose nodes keep `k` neighbours.
    pub fn new(k: usize) -> Self {
        Self { k, nodes: HashMap::new() }
    }

    /// The exact graph of these nodes.
    pub fn of(k: usize, nodes: impl IntoIterator<Item = (Id, Embedding)>) -> Self {
        let mut graph = Self::new(k);
        for (id, embedding) in nodes {
            graph.insert(id, embedding);
        }
        graph
    }

    /// The graph with these [`KnnGraph::edges`], each given in one direction or both. No vectors are
    /// compared.
    pub fn from_edges(
        k: usize,
        nodes: impl IntoIterator<Item = (Id, Embedding)>,
        edges: impl IntoIterator<Item = (Id, Id, f32)>,
    ) -> Self {
        let nodes = nodes.into_iter().map(|(id, embedding)| {
            (id, Node { embedding, nearest: Vec::new(), kept_by: Vec::new() })
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
                    node.add_keeper(id);
                }
            }
            if let Some(node) = graph.nodes.get_mut(&id) {
                node.nearest = nearest;
            }
        }
        graph
    }

    /// The nodes' ids, ascending.
    pub fn ids(&self) -> impl Iterator<Item = Id> {
        let mut ids: Vec<Id> = self.nodes.keys().copied().collect();
        ids.sort_unstable();
        ids.into_iter()
    }

    /// A node's vector.
    pub fn embedding(&self, id: Id) -> Option<&Embedding> {
        self.nodes.get(&id).map(|node| &node.embedding)
    }

    /// Adds a node or replaces its vector. Returns every node whose edges changed.
    pub fn insert(&mut self, id: Id, embedding: Embedding) -> BTreeSet<Id> {
        self.insert_near(id, embedding, &|_| None)
    }

    /// Like [`KnnGraph::insert`], but compares only with the nodes that `near` returns.
    pub fn insert_near(
        &mut self,
        id: Id,
        embedding: Embedding,
        near: Near<'_, Id>,
    ) -> BTreeSet<Id> {
        self.update_near([(id, Some(embedding))], near)
    }

    /// Adds, replaces or removes (`None`) several nodes. Returns every node whose edges changed, the
    /// removed ones included. A node that lost several neighbours looks for new ones only once.
    pub fn update_near(
        &mut self,
        nodes: impl IntoIterator<Item = (Id, Option<Embedding>)>,
        near: Near<'_, Id>,
    ) -> BTreeSet<Id> {
        let (mut changed, mut lacking) = (BTreeSet::new(), BTreeSet::new());
        for (id, embedding) in nodes {
            match embedding {
                Some(embedding) => self.place(id, embedding, near, &mut changed, &mut lacking),
                None => self.take(id, &mut changed, &mut lacking),
            }
        }
        for id in lacking {
            self.look_again(id, near, &mut changed);
        }
        changed
    }

    fn place(
        &mut self,
        id: Id,
        embedding: Embedding,
        near: Near<'_, Id>,
        changed: &mut BTreeSet<Id>,
        lacking: &mut BTreeSet<Id>,
    ) {
        changed.insert(id);
        let before = self.nodes.remove(&id);
        let known: Vec<Id> = before.iter().flat_map(|node| node.known()).collect();
        let found = self.compared(id, &embedding, known, near);
        let (nearest, keepers) =
            before.map(|node| (node.nearest, node.kept_by)).unwrap_or_default();
        self.nodes.insert(id, Node { embedding, nearest, kept_by: keepers.clone() });
        self.reconsider(id, keepers, changed, lacking);
        // Nodes that did not keep it before may do so now.
        for found in found.iter().filter(|found| found.may_keep) {
            self.offer(found.id, (id, found.similarity), changed);
        }
        let nearest = best(found.iter().map(Compared::edge).collect(), self.k);
        self.look_to(id, nearest, changed);
    }

    /// Lets `to` keep another node if that is among its nearest.
    fn offer(&mut self, to: Id, offered: (Id, f32), changed: &mut BTreeSet<Id>) {
        let Some(node) = self.nodes.get_mut(&to) else { return };
        if node.nearest.iter().any(|&(kept, _)| kept == offered.0) {
            return;
        }
        let at = node.nearest.partition_point(|&kept| precedes(kept, offered));
        if at >= self.k {
            return;
        }
        node.nearest.insert(at, offered);
        let out = if node.nearest.len() > self.k { node.nearest.pop() } else { None };
        changed.extend([to, offered.0]);
        if let Some(node) = self.nodes.get_mut(&offered.0) {
            node.add_keeper(to);
        }
        if let Some((out, _)) = out {
            changed.insert(out);
            if let Some(node) = self.nodes.get_mut(&out) {
                node.drop_keeper(to);
            }
        }
    }

    /// Updates the keepers of a node whose vector changed. A keeper in whose list it stays lacks
    /// nothing: every node outside the list is farther than its last.
    fn reconsider(
        &mut self,
        id: Id,
        keepers: Vec<Id>,
        changed: &mut BTreeSet<Id>,
        lacking: &mut BTreeSet<Id>,
    ) {
        let Some(vector) = self.nodes.get(&id).map(|node| node.embedding.clone()) else { return };
        for keeper_id in keepers {
            let Some(keeper) = self.nodes.get_mut(&keeper_id) else { continue };
            changed.insert(keeper_id);
            let now = (id, keeper.embedding.cosine(&vector));
            let last = keeper.nearest.last().copied();
            let was_full = keeper.nearest.len() >= self.k;
            keeper.nearest.retain(|&(kept, _)| kept != id);
            let at = keeper.nearest.partition_point(|&kept| precedes(kept, now));
            keeper.nearest.insert(at, now);
            if was_full && last.is_some_and(|last| precedes(last, now)) {
                lacking.insert(keeper_id);
            }
        }
    }

    fn take(&mut self, id: Id, changed: &mut BTreeSet<Id>, lacking: &mut BTreeSet<Id>) {
        let Some(node) = self.nodes.remove(&id) else { return };
        lacking.remove(&id);
        changed.insert(id);
        for (other, _) in node.nearest {
            if let Some(other_node) = self.nodes.get_mut(&other) {
                other_node.drop_keeper(id);
            }
            changed.insert(other);
        }
        for keeper_id in node.kept_by {
            let Some(keeper) = self.nodes.get_mut(&keeper_id) else { continue };
            keeper.nearest.retain(|&(kept, _)| kept != id);
            changed.insert(keeper_id);
            lacking.insert(keeper_id);
        }
    }

    /// Searches for a node's nearest again.
    fn look_again(&mut self, id: Id, near: Near<'_, Id>, changed: &mut BTreeSet<Id>) {
        let Some(node) = self.nodes.get(&id) else { return };
        let found = self.compared(id, &node.embedding, node.known().collect(), near);
        let nearest = best(found.iter().map(Compared::edge).collect(), self.k);
        self.look_to(id, nearest, changed);
    }

    /// Replaces a node's nearest, and updates the keepers of the old and the new ones.
    fn look_to(&mut self, id: Id, nearest: Vec<(Id, f32)>, changed: &mut BTreeSet<Id>) {
        let Some(node) = self.nodes.get_mut(&id) else { return };
        let before = std::mem::replace(&mut node.nearest, nearest.clone());
        for (other, _) in before {
            changed.insert(other);
            if !nearest.iter().any(|&(kept, _)| kept == other)
                && let Some(node) = self.nodes.get_mut(&other)
            {
                node.drop_keeper(id);
            }
        }
        for (other, similarity) in nearest {
            if self.nodes.get_mut(&other).is_some_and(|node| node.add_keeper(id)) {
                changed.insert(other);
                // The store has only edges, so a node's nearest must always be the best of its edges,
                // even if not all nodes were compared.
                self.offer(other, (id, similarity), changed);
            }
        }
    }

    /// Compares a vector with the known nodes and those that `near` returns, except `id` itself.
    fn compared(
        &self,
        id: Id,
        vector: &Embedding,
        known: Vec<Id>,
        near: Near<'_, Id>,
    ) -> Vec<Compared<Id>> {
        let found = |other: Id, node: &Node<Id>| {
            let similarity = vector.cosine(&node.embedding);
            let comes_before = |&last: &(Id, f32)| precedes((id, similarity), last);
            let is_full = node.nearest.len() >= self.k;
            let may_keep = !is_full || node.nearest.last().is_some_and(comes_before);
            Compared { id: other, similarity, may_keep }
        };
        let Some(mut ids) = near(vector) else {
            let others = self.nodes.iter().filter(|&(&other, _)| other != id);
            return others.map(|(&other, node)| found(other, node)).collect();
        };
        ids.extend(known);
        ids.sort_unstable();
        ids.dedup();
        ids.retain(|&other| other != id);
        let mut all = Vec::with_capacity(ids.len());
        let mut ahead = Vec::with_capacity(N_AHEAD);
        for some in ids.chunks(N_AHEAD) {
            ahead.clear();
            ahead.extend(some.iter().filter_map(|&other| Some((other, self.nodes.get(&other)?))));
            let touched = ahead.iter().map(|(_, node)| touch(node)).fold(0.0, f32::max);
            std::hint::black_box(touched);
            all.extend(ahead.iter().map(|&(other, node)| found(other, node)));
        }
        all
    }

    /// A node's edges, nearest first: to its k nearest and to every node that keeps it.
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
        edges.sort_unstable_by(by_similarity);
        edges
    }

    /// Every edge once, with the smaller id first.
    pub fn edges(&self) -> Vec<(Id, Id, f32)> {
        self.ids()
            .flat_map(|a| {
                self.neighbours(a)
                    .into_iter()
                    .filter(move |&(b, _)| a < b)
                    .map(move |(b, s)| (a, b, s))
            })
            .collect()
    }
}

/// How many vectors are prefetched before the first is multiplied: they lie anywhere in memory, and the
/// cache misses overlap.
const N_AHEAD: usize = 16;

/// Prefetches a node: reads every fourth cache line of its vector.
fn touch<Id>(node: &Node<Id>) -> f32 {
    const STEP: usize = 64;
    let largest = node.embedding.as_slice().iter().step_by(STEP).copied().fold(0.0, f32::max);
    node.nearest.last().map_or(largest, |&(_, similarity)| largest.max(similarity))
}

/// Best first; on a tie, the smaller id.
fn by_similarity<Id: Ord>(a: &(Id, f32), b: &(Id, f32)) -> Ordering {
    b.1.total_cmp(&a.1).then(a.0.cmp(&b.0))
}

fn precedes<Id: Ord>(a: (Id, f32), b: (Id, f32)) -> bool {
    by_similarity(&a, &b).is_lt()
}

fn best<Id: Ord>(mut all: Vec<(Id, f32)>, k: usize) -> Vec<(Id, f32)> {
    if all.len() > k {
        all.select_nth_unstable_by(k, by_similarity);
        all.truncate(k);
    }
    all.sort_unstable_by(by_similarity);
    all
}
