//! Vectors for what has none of the present embedder: after a change of embedder, an edit, or
//! messages that no step has embedded yet.

use crate::interfaces::Cancel;
use crate::memory::knn_graph::{KnnGraph, N_NEIGHBOURS};
use crate::memory::{Embedding, SemanticId};
use crate::store::{Job, Level};
use crate::worker::bench::{Bench, StepError, as_stored};
use crate::worker::steps::names::cut;

/// Units a commit. Each commit is a state from which the job goes on.
const BATCH: usize = 64;

impl Bench {
    /// Embeds everything that has no vector, then brings the kNN graphs in line.
    pub(in crate::worker) fn reembed(
        &mut self,
        job: Option<&Job>,
        cancel: &Cancel,
    ) -> Result<(), StepError> {
        for level in [Level::Semantic, Level::Episode, Level::Message] {
            while self.embed_some(level, cancel)? > 0 {}
        }
        self.cache = None;
        self.rebuild_edges(cancel)?;
        self.commit(|tx| match job {
            Some(job) => tx.finish_job(job.id),
            None => Ok(()),
        })
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
        let semantics: Vec<(SemanticId, Embedding)> = self
            .store
            .read(|r| r.embeddings(Level::Semantic))?
            .into_iter()
            .map(|(id, vector)| (SemanticId(id), vector))
            .collect();
        let ids: Vec<SemanticId> = semantics.iter().map(|(id, _)| *id).collect();
        let graph = KnnGraph::of(N_NEIGHBOURS, semantics);
        for batch in ids.chunks(BATCH) {
            if cancel.is_cancelled() {
                return Err(StepError::Interrupted);
            }
            self.commit(|tx| {
                for &id in batch {
                    let edges: Vec<_> =
                        graph.neighbours(id).into_iter().map(|(n, s)| (n.0, s)).collect();
                    tx.replace_edges(Level::Semantic, id.0, &edges)?;
                }
                Ok(())
            })?;
        }
        let themes: Vec<_> = self
            .cache()?
            .partition
            .themes()
            .filter_map(|(id, cluster)| Some((id, as_stored(cluster.centroid()?))))
            .collect();
        let graph = KnnGraph::of(N_NEIGHBOURS, themes.iter().cloned());
        self.commit(|tx| {
            for (theme, centroid) in &themes {
                tx.put_embedding(Level::Theme, theme.0, centroid)?;
                let edges: Vec<_> =
                    graph.neighbours(*theme).into_iter().map(|(n, s)| (n.0, s)).collect();
                tx.replace_edges(Level::Theme, theme.0, &edges)?;
            }
            Ok(())
        })?;
        self.cache = None; // its theme graph is of before
        Ok(())
    }
}
