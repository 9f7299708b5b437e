//! Inserts new facts into the hierarchy, then writes the vectors and edges of what changed. Which theme
//! a fact joins is decided in [`crate::memory::reorganize`]. Runs inside the caller's transaction.

use std::collections::{BTreeMap, BTreeSet};

use crate::memory::hierarchy::touched;
use crate::memory::reorganize::Change;
use crate::memory::{Embedding, SemanticId, ThemeId};
use crate::store::{JobKind, Level, NewSemantic, StoreError, WriteTx};
use crate::worker::cache::{Cache, FactMeta};

/// Until a theme is named, its name is its first fact, cut to this length.
const PROVISIONAL_NAME_CHARS: usize = 48;

pub(in crate::worker) struct Inserted {
    pub ids: Vec<SemanticId>,
    /// Whether the store numbered new themes as the cache did; if not, the cache must be dropped.
    pub as_numbered: bool,
}

/// Inserts facts in order and queues what follows: judging each one, naming the themes that changed.
/// The cache is only valid if the transaction commits.
pub(in crate::worker) fn insert_and_queue(
    tx: &mut WriteTx<'_>,
    cache: &mut Cache,
    facts: Vec<NewSemantic>,
    vectors: Vec<Embedding>,
) -> Result<Inserted, StoreError> {
    let mut ids = Vec::with_capacity(facts.len());
    let mut all_touched = BTreeSet::new();
    let mut themes = Renumbered::default();
    let mut semantics_changed = BTreeSet::new();
    for (semantic, embedding) in facts.into_iter().zip(vectors) {
        let id = tx.next_semantic_id()?;
        let meta = FactMeta {
            at: semantic.created_at,
            subject: semantic.subject.clone(),
            attribute: semantic.attribute.clone(),
        };
        let inserted = cache.hierarchy.insert(id, embedding.clone());
        let mut new = Some((semantic, &embedding));
        apply(tx, &inserted.changes, &mut new, &mut themes, &mut all_touched)?;
        cache.facts.insert(id, meta);
        semantics_changed.extend(inserted.semantics);
        ids.push(id);
    }

    for id in semantics_changed {
        let edges = cache.hierarchy.semantic_graph.neighbours(id);
        let edges: Vec<_> = edges.into_iter().map(|(n, s)| (n.0, s)).collect();
        tx.replace_edges(Level::Semantic, id.0, &edges)?;
    }
    for &semantic in &ids {
        tx.enqueue(&JobKind::Consolidate(semantic))?;
    }
    for theme in place_themes(tx, cache, &themes, &all_touched)? {
        tx.enqueue(&JobKind::NameTheme(theme))?;
    }
    Ok(Inserted { ids, as_numbered: themes.0.iter().all(|(a, b)| a == b) })
}

/// New themes' ids in the partition → their ids in the store, should the two differ.
#[derive(Default)]
struct Renumbered(BTreeMap<ThemeId, ThemeId>);

impl Renumbered {
    fn stored(&self, theme: ThemeId) -> ThemeId {
        self.0.get(&theme).copied().unwrap_or(theme)
    }
}

fn apply(
    tx: &mut WriteTx<'_>,
    changes: &[Change],
    new: &mut Option<(NewSemantic, &Embedding)>,
    themes: &mut Renumbered,
    all_touched: &mut BTreeSet<ThemeId>,
) -> Result<(), StoreError> {
    let name: String = new
        .as_ref()
        .map_or("…", |(semantic, _)| semantic.content.as_str())
        .chars()
        .take(PROVISIONAL_NAME_CHARS)
        .collect();
    all_touched.extend(touched(changes));
    for change in changes {
        match *change {
            Change::Created { theme } => {
                let stored = tx.create_theme(&name)?;
                themes.0.insert(theme, stored);
            }
            Change::Attached { theme, .. } => {
                if let Some((semantic, embedding)) = new.take() {
                    tx.insert_semantic(semantic, themes.stored(theme), embedding)?;
                }
            }
            Change::Moved { semantic, to, .. } => {
                tx.move_semantic(semantic, themes.stored(to))?;
            }
        }
    }
    Ok(())
}

/// Writes vectors and edges of the themes that changed; returns those that still exist.
fn place_themes(
    tx: &mut WriteTx<'_>,
    cache: &mut Cache,
    themes: &Renumbered,
    touched: &BTreeSet<ThemeId>,
) -> Result<BTreeSet<ThemeId>, StoreError> {
    let hierarchy = &mut cache.hierarchy;
    let changed = hierarchy.link_themes(touched);
    let mut alive = BTreeSet::new();
    for &theme in touched {
        if hierarchy.partition.theme(theme).is_none() {
            continue;
        }
        alive.insert(themes.stored(theme));
        if let Some(centroid) = hierarchy.theme_graph.embedding(theme) {
            tx.put_embedding(Level::Theme, themes.stored(theme).0, centroid)?;
        }
    }
    for theme in changed {
        let edges: Vec<_> = hierarchy
            .theme_graph
            .neighbours(theme)
            .into_iter()
            .map(|(n, s)| (themes.stored(n).0, s))
            .collect();
        tx.replace_edges(Level::Theme, themes.stored(theme).0, &edges)?;
    }
    Ok(alive)
}
