//! The two upper levels as geometry: the partition into themes, and the kNN graphs over semantics
//! and over themes (xMemory §3.2), kept together as semantics come in.
//!
//! The worker and the evaluation insert through it. It knows neither texts nor storage.

use std::collections::BTreeSet;

use super::knn_graph::{KnnGraph, N_NEIGHBOURS};
use super::partition::{Cluster, Partition};
use super::reorganize::{Change, attach};
use super::{Embedding, SemanticId, ThemeId};

/// The partition and the graphs over it.
#[derive(Debug, Clone)]
pub struct Hierarchy {
    /// Semantics in themes.
    pub partition: Partition,
    /// Edges between semantics.
    pub semantic_graph: KnnGraph<SemanticId>,
    /// Edges between themes, by their centroids.
    pub theme_graph: KnnGraph<ThemeId>,
}

impl Default for Hierarchy {
    fn default() -> Self {
        Self {
            partition: Partition::default(),
            semantic_graph: KnnGraph::new(N_NEIGHBOURS),
            theme_graph: KnnGraph::new(N_NEIGHBOURS),
        }
    }
}

/// What an insert changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inserted {
    /// Changes of the partition, in order.
    pub changes: Vec<Change>,
    /// Semantics whose edges changed.
    pub semantics: BTreeSet<SemanticId>,
}

/// The themes that changes create, add to or remove from; some occur twice.
pub fn touched(changes: &[Change]) -> impl Iterator<Item = ThemeId> {
    changes.iter().flat_map(|&change| match change {
        Change::Created { theme } | Change::Attached { theme, .. } => [theme, theme],
        Change::Moved { from, to, .. } => [from, to],
    })
}

impl Hierarchy {
    /// Builds both graphs from scratch.
    pub fn of(partition: Partition) -> Self {
        let mut hierarchy = Self { partition, ..Self::default() };
        let mut nodes: Vec<(SemanticId, Embedding)> = hierarchy
            .partition
            .themes()
            .flat_map(|(_, cluster)| cluster.members().iter().cloned())
            .collect();
        nodes.sort_unstable_by_key(|(id, _)| *id);
        for (id, embedding) in nodes {
            hierarchy.link_semantic(id, embedding);
        }
        let themes: BTreeSet<ThemeId> = hierarchy.partition.themes().map(|(id, _)| id).collect();
        hierarchy.link_themes(&themes);
        hierarchy
    }

    /// Attaches a semantic ([`attach`]) and links it. Themes are linked by [`Hierarchy::link_themes`],
    /// once per batch.
    pub fn insert(&mut self, semantic: SemanticId, embedding: Embedding) -> Inserted {
        let changes = attach(&mut self.partition, semantic, embedding.clone());
        Inserted { changes, semantics: self.link_semantic(semantic, embedding) }
    }

    fn link_semantic(&mut self, id: SemanticId, embedding: Embedding) -> BTreeSet<SemanticId> {
        let partition = &self.partition;
        self.semantic_graph.insert_near(id, embedding, &|e| partition.near_semantics(e))
    }

    /// Brings the edges of these themes up to date. Returns all existing themes whose edges changed.
    pub fn link_themes(&mut self, themes: &BTreeSet<ThemeId>) -> BTreeSet<ThemeId> {
        let Self { partition, theme_graph, .. } = self;
        let partition: &Partition = partition;
        // A theme whose members cancel out keeps its edges.
        let updates = themes.iter().filter_map(|&theme| match partition.theme(theme) {
            Some(_) => Some((theme, Some(partition.centroid(theme)?.clone()))),
            None => Some((theme, None)),
        });
        let mut changed = theme_graph.update_near(updates, &|e| partition.near_themes(e));
        changed.retain(|&theme| partition.theme(theme).is_some());
        changed
    }

    /// A semantic's vector.
    pub fn embedding(&self, id: SemanticId) -> Option<&Embedding> {
        let members = self.partition.theme(self.partition.theme_of(id)?).map(Cluster::members)?;
        members.iter().find(|(member, _)| *member == id).map(|(_, embedding)| embedding)
    }
}
