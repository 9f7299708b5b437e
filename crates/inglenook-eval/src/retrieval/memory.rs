//! A conversation as the product's memory, in a store in memory.

use std::collections::BTreeMap;

use inglenook::interfaces::Embedder;
use inglenook::memory::knn_graph::{KnnGraph, N_NEIGHBOURS};
use inglenook::memory::{Embedding, MessageId, Moment, NewMessage, Role, SemanticId};
use inglenook::store::{Level, NewSemantic, Store, StoreError, WriteTx};

use super::corpus::Corpus;
use super::growth::{Organiser, grown};

/// A corpus in a store.
pub(crate) struct FilledStore {
    pub store: Store,
    /// Each message's index in the corpus.
    pub places: BTreeMap<MessageId, usize>,
    /// When the conversation ended.
    pub now: Moment,
}

impl FilledStore {
    pub(crate) fn new(corpus: &Corpus) -> Result<Self, StoreError> {
        let store = Store::in_memory()?;
        let vectors = &corpus.vectors;
        let at = |episode: usize| corpus.episodes[episode].at;
        let mut ids: Vec<MessageId> = Vec::new();
        store.write(|tx| {
            tx.use_embedder(vectors.questions.id(), vectors.questions.dimensions())?;
            let begin = corpus.episodes.first().map_or(epoch(), |e| e.at);
            let session = tx.create_session("imported", begin, true)?;
            let mut of_episode: Vec<Vec<MessageId>> = vec![Vec::new(); corpus.episodes.len()];
            for (i, message) in corpus.messages.iter().enumerate() {
                let new = NewMessage {
                    speaker: Some(message.speaker.clone()),
                    external_id: Some(message.id.clone()),
                    ..NewMessage::new(Role::User, message.content.as_str(), at(message.episode))
                };
                let id = tx.append_message(session, &new)?;
                if let Some(vectors) = &vectors.messages {
                    tx.put_embedding(Level::Message, id.0, &vectors[i])?;
                }
                of_episode[message.episode].push(id);
                ids.push(id);
            }
            for (i, messages) in of_episode.into_iter().enumerate() {
                if messages.is_empty() {
                    continue;
                }
                let episode = &corpus.episodes[i];
                let (title, content) = (&episode.title, &episode.content);
                let id = tx.insert_episode(session, title, content, &messages)?;
                tx.put_embedding(Level::Episode, id.0, &vectors.episodes[i])?;
            }
            let (partition, _) = grown(&vectors.semantics, Organiser::Own);
            let (mut themes, mut semantics) = (BTreeMap::new(), BTreeMap::new());
            for (i, semantic) in corpus.semantics.iter().enumerate() {
                let Some(theme) = partition.theme_of(SemanticId(i as i64)) else { continue };
                // A fact without an existing message can't be stored: memory must know its sources.
                if semantic.messages.is_empty() {
                    continue;
                }
                let theme = match themes.get(&theme) {
                    Some(&id) => id,
                    None => *themes.entry(theme).or_insert(tx.create_theme("")?),
                };
                let new = NewSemantic {
                    content: semantic.text.clone(),
                    subject: None,
                    attribute: None,
                    created_at: semantic.at,
                    messages: semantic.messages.iter().map(|&m| ids[m]).collect(),
                };
                let id = tx.insert_semantic(new, theme, &vectors.semantics[i])?;
                semantics.insert(id, vectors.semantics[i].clone());
            }
            let centroids = partition
                .themes()
                .filter_map(|(id, cluster)| Some((themes.get(&id)?.0, cluster.centroid()?)));
            link(tx, Level::Theme, centroids.collect())?;
            link(tx, Level::Semantic, semantics.into_iter().map(|(id, x)| (id.0, x)).collect())
        })?;
        let now = corpus.episodes.iter().map(|e| e.at).max().unwrap_or_else(epoch);
        let places = ids.into_iter().enumerate().map(|(place, id)| (id, place)).collect();
        Ok(Self { store, places, now })
    }
}

/// The kNN graph of Eq. 4's coverage term.
fn link(
    tx: &mut WriteTx<'_>,
    level: Level,
    nodes: Vec<(i64, Embedding)>,
) -> Result<(), StoreError> {
    let ids: Vec<i64> = nodes.iter().map(|(id, _)| *id).collect();
    let graph = KnnGraph::of(N_NEIGHBOURS, nodes);
    for id in ids {
        tx.replace_edges(level, id, &graph.neighbours(id))?;
    }
    Ok(())
}

fn epoch() -> Moment {
    Moment::new(jiff::Timestamp::UNIX_EPOCH, jiff::tz::Offset::UTC)
}
