//! The hierarchy's geometry, and what consolidation needs to know of each fact. It is read from the
//! store when first needed, kept up to date by the steps, and dropped when anything else has changed
//! the store.

use std::collections::BTreeMap;

use crate::memory::knn_graph::{KnnGraph, N_NEIGHBOURS};
use crate::memory::{Embedding, Hierarchy, Moment, Partition, SemanticId, ThemeId};
use crate::store::{Level, Reader, StoreError};

/// When a fact was stated, and about what.
#[derive(Debug, Clone)]
pub(super) struct FactMeta {
    pub at: Moment,
    pub subject: Option<String>,
    pub attribute: Option<String>,
}

/// The hierarchy and facts of one version of the store.
pub(super) struct Cache {
    pub hierarchy: Hierarchy,
    pub facts: BTreeMap<SemanticId, FactMeta>,
    /// The store's hierarchy version that this agrees with.
    pub version: u64,
}

impl Cache {
    /// Reads everything.
    pub fn load(reader: &Reader<'_>) -> Result<Self, StoreError> {
        let mut vectors = embeddings(reader, Level::Semantic)?;
        let mut themes: BTreeMap<ThemeId, Vec<(SemanticId, Embedding)>> = BTreeMap::new();
        let mut facts = BTreeMap::new();
        let mut nodes = Vec::new();
        for semantic in reader.semantics()? {
            // A fact without a vector of this embedder waits for the Reembed job.
            if let Some(vector) = vectors.remove(&semantic.id.0) {
                nodes.push((semantic.id, vector.clone()));
                themes.entry(semantic.theme).or_default().push((semantic.id, vector));
            }
            let meta = FactMeta {
                at: semantic.created_at,
                subject: semantic.subject,
                attribute: semantic.attribute,
            };
            facts.insert(semantic.id, meta);
        }
        let partition = Partition::new(themes.into_iter().collect(), reader.next_theme_id()?);
        let edges = reader.edges(Level::Semantic)?;
        let semantic_graph = KnnGraph::from_edges(
            N_NEIGHBOURS,
            nodes,
            edges.into_iter().map(|(a, b, s)| (SemanticId(a), SemanticId(b), s)),
        );
        let nodes = embeddings(reader, Level::Theme)?.into_iter().map(|(id, e)| (ThemeId(id), e));
        let edges = reader.edges(Level::Theme)?;
        let theme_graph = KnnGraph::from_edges(
            N_NEIGHBOURS,
            nodes,
            edges.into_iter().map(|(a, b, s)| (ThemeId(a), ThemeId(b), s)),
        );
        let hierarchy = Hierarchy { partition, semantic_graph, theme_graph };
        Ok(Self { hierarchy, facts, version: reader.hierarchy_version()? })
    }

    /// Whether nothing else has changed the store's hierarchy, and the next theme gets the same id in
    /// both (a theme that was made and emptied within one step never reached the store).
    pub fn agrees(&self, reader: &Reader<'_>) -> Result<bool, StoreError> {
        Ok(reader.hierarchy_version()? == self.version
            && reader.next_theme_id()? == self.hierarchy.partition.next_theme_id())
    }
}

fn embeddings(reader: &Reader<'_>, level: Level) -> Result<BTreeMap<i64, Embedding>, StoreError> {
    Ok(reader.embeddings(level)?.into_iter().collect())
}
