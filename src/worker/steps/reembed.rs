//! Embeds units that have no vector of the current embedder: after a change of embedder, after an
//! edit, and messages that no step has embedded yet.

use crate::interfaces::Cancel;
use crate::memory::{Hierarchy, SemanticId};
use crate::store::{Job, Level};
use crate::worker::step_context::{StepContext, StepError};
use crate::worker::steps::names::cut;

/// Units per commit; the job can go on from each commit.
const BATCH: usize = 64;

impl StepContext {
    /// Embeds everything that has no vector, and rebuilds the kNN graphs.
    pub(in crate::worker) fn reembed(
        &mut self,
        job: &Job,
        cancel: &Cancel,
    ) -> Result<(), StepError> {
        self.embed_facts(cancel)?;
        for level in [Level::Episode, Level::Message] {
            while self.embed_some(level, cancel)? > 0 {}
        }
        self.finish(job)
    }

    /// Embeds the facts that have no vector, then rebuilds the kNN graphs.
    pub(in crate::worker) fn embed_facts(&mut self, cancel: &Cancel) -> Result<(), StepError> {
        while self.embed_some(Level::Semantic, cancel)? > 0 {}
        self.cache = None;
        self.rebuild_edges(cancel)
    }

    /// Embeds the messages that have no vector. Does nothing if the vectors are another embedder's: then
    /// everything has to be embedded again.
    pub(in crate::worker) fn embed_messages(&mut self, cancel: &Cancel) -> Result<(), StepError> {
        let embedder = std::sync::Arc::clone(&self.models.embedder);
        match self.store.read(|r| r.embedder_id())? {
            Some(known) if known != embedder.id() => return Ok(()),
            Some(_) => {}
            None => self.commit(|tx| tx.use_embedder(embedder.id(), embedder.dimensions()))?,
        }
        while self.embed_some(Level::Message, cancel)? > 0 {}
        Ok(())
    }

    fn embed_some(&mut self, level: Level, cancel: &Cancel) -> Result<usize, StepError> {
        let units = self.store.read(|r| r.without_embedding(level, BATCH))?;
        if units.is_empty() {
            return Ok(0);
        }
        let texts: Vec<&str> = units.iter().map(|(_, text)| cut(text)).collect();
        let vectors = self.embed(&texts, cancel)?;
        self.commit(|tx| {
            for ((id, _), vector) in units.iter().zip(&vectors) {
                tx.put_embedding(level, *id, vector)?;
            }
            Ok(())
        })?;
        Ok(units.len())
    }

    fn rebuild_edges(&mut self, cancel: &Cancel) -> Result<(), StepError> {
        // The cached graphs may still have the edges of the old vectors.
        let hierarchy = Hierarchy::of(self.cache()?.hierarchy.partition.clone());
        let ids: Vec<SemanticId> = hierarchy.semantic_graph.ids().collect();
        for batch in ids.chunks(BATCH) {
            cancel.check()?;
            self.commit(|tx| {
                for &id in batch {
                    let edges = hierarchy.semantic_graph.neighbours(id);
                    let edges: Vec<_> = edges.into_iter().map(|(n, s)| (n.0, s)).collect();
                    tx.replace_edges(Level::Semantic, id.0, &edges)?;
                }
                Ok(())
            })?;
        }
        let themes = &hierarchy.theme_graph;
        self.commit(|tx| {
            for theme in themes.ids() {
                if let Some(centroid) = themes.embedding(theme) {
                    tx.put_embedding(Level::Theme, theme.0, centroid)?;
                }
                let edges: Vec<_> =
                    themes.neighbours(theme).into_iter().map(|(n, s)| (n.0, s)).collect();
                tx.replace_edges(Level::Theme, theme.0, &edges)?;
            }
            Ok(())
        })?;
        self.cache = None;
        Ok(())
    }
}
