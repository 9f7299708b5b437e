//! What memory may have to say to a question: facts, messages and episodes with their relevance.
//!
//! [`super::cues`] asks the store and brings each unit's cues together; weighing them is the business
//! of [`crate::memory::relevance`].

use std::collections::{BTreeMap, HashSet};

use super::cues::{Hits, is_evidence};
use super::{Query, RecallConfig};
use crate::memory::relevance::Cues;
use crate::memory::{
    Embedding, Episode, EpisodeId, Message, MessageId, Moment, Semantic, SemanticId,
};
use crate::store::{Store, StoreError};

/// A unit with the probability that it is evidence, in (0, 1).
#[derive(Debug, Clone)]
pub(super) struct Scored<T> {
    pub unit: T,
    pub relevance: f64,
    pub cues: Cues,
    /// The reranker's, if it read the unit.
    pub score: Option<f64>,
    /// The probability that the unit answers the question, by that score.
    pub answers: Option<f64>,
}

impl<T> Scored<T> {
    fn new(unit: T, cues: Cues, relevance: f64) -> Self {
        Self { unit, relevance, cues, score: None, answers: None }
    }
}

/// What evidence is selected from, best first.
#[derive(Debug, Clone)]
pub(super) struct Candidates {
    pub semantics: Vec<Scored<Semantic>>,
    pub messages: Vec<Scored<Message>>,
    /// The episodes that the units come from, with a score of their own texts.
    pub episode_scores: BTreeMap<EpisodeId, f64>,
    /// Those episodes, once loaded: only Stage II reads them.
    pub episodes: BTreeMap<EpisodeId, Episode>,
    /// When it is asked: nothing was said later.
    pub now: Moment,
    /// Messages that are no evidence any more: the person corrected what they say.
    pub refused: HashSet<MessageId>,
}

/// What to search for.
pub(super) struct Search<'a> {
    pub query: &'a Query<'a>,
    /// The question's vector; `None` if the memory's vectors are another embedder's.
    pub vector: Option<&'a Embedding>,
    pub config: &'a RecallConfig,
}

impl Candidates {
    pub(super) fn none(now: Moment) -> Self {
        Self {
            semantics: Vec::new(),
            messages: Vec::new(),
            episode_scores: BTreeMap::new(),
            episodes: BTreeMap::new(),
            now,
            refused: HashSet::new(),
        }
    }

    pub(super) fn gather(store: &Store, search: &Search<'_>) -> Result<Self, StoreError> {
        /// Weight of an episode's BM25 score beside its nearness.
        const LEXICAL_WEIGHT: f64 = 0.25;
        let RecallConfig { relevance, relevance_min, .. } = search.config;
        let hits = Hits::search(store, search)?;
        let of_facts: Vec<Cues> = hits.facts().map(|f| hits.cues_of_fact(f, search)).collect();
        let evidence = |m: &Message| is_evidence(m, search.query);
        let of_messages: Vec<Option<Cues>> =
            hits.messages().map(|m| evidence(m).then(|| hits.cues_of_message(m, search))).collect();
        let of_episodes =
            hits.episodes().map(|(id, dense, lexical)| (id, dense + LEXICAL_WEIGHT * lexical));
        let episode_scores = of_episodes.collect();
        let (facts, messages) = hits.into_units();
        let mut candidates = Self {
            semantics: facts
                .zip(of_facts)
                .map(|(unit, cues)| Scored::new(unit, cues, relevance.of_semantic(&cues)))
                .collect(),
            messages: messages
                .zip(of_messages)
                .filter_map(|(unit, cues)| {
                    let cues = cues?;
                    Some(Scored::new(unit, cues, relevance.of_message(&cues)))
                })
                .collect(),
            episode_scores,
            episodes: BTreeMap::new(),
            now: search.query.now,
            refused: store.read(|r| r.refused_messages())?,
        };
        candidates.messages.retain(|m| !candidates.refused.contains(&m.unit.id));
        if !search.query.traits.past {
            rank_below_successors(&mut candidates.semantics);
        }
        // A date to come is somebody's clock or somebody's trick.
        for fact in &mut candidates.semantics {
            fact.unit.created_at = fact.unit.created_at.min(search.query.now);
        }
        for message in &mut candidates.messages {
            message.unit.created_at = message.unit.created_at.min(search.query.now);
        }
        candidates.semantics.retain(|s| s.relevance >= *relevance_min);
        candidates.messages.retain(|m| m.relevance >= *relevance_min);
        candidates.sort();
        Ok(candidates)
    }

    /// Adds the latest messages that the memory has not read yet: a correction may share no word with the question,
    /// and until it is a fact nothing else shows it.
    pub(super) fn add_unread(
        &mut self,
        store: &Store,
        query: &Query<'_>,
    ) -> Result<(), StoreError> {
        const N_MAX: u32 = 24;
        let unread = store.read(|reader| reader.newest_open_messages(N_MAX))?;
        self.add_messages(unread, 0.4, query);
        Ok(())
    }

    /// Adds the messages of the facts that took the place of those found: they may tell more.
    pub(super) fn add_successors(
        &mut self,
        store: &Store,
        query: &Query<'_>,
    ) -> Result<(), StoreError> {
        let by: Vec<SemanticId> =
            self.semantics.iter().filter_map(|s| s.unit.superseded_by).collect();
        let told = store.read(|reader| {
            let facts = reader.find_semantics_and_messages(by)?;
            reader.find_messages(facts.into_values().flat_map(|fact| fact.messages))
        })?;
        self.add_messages(told.into_values(), 0.1, query);
        Ok(())
    }

    fn add_messages(
        &mut self,
        units: impl IntoIterator<Item = Message>,
        relevance: f64,
        query: &Query<'_>,
    ) {
        for mut unit in units {
            if self.refused.contains(&unit.id) {
                continue;
            }
            unit.created_at = unit.created_at.min(query.now);
            match self.messages.iter_mut().find(|m| m.unit.id == unit.id) {
                Some(known) => known.relevance = known.relevance.max(relevance),
                None if is_evidence(&unit, query) => {
                    self.messages.push(Scored::new(unit, Cues::default(), relevance));
                }
                None => {}
            }
        }
        self.sort();
    }

    /// Loads the episodes, except those forgotten since the search.
    pub(super) fn load_episodes(&mut self, store: &Store) -> Result<(), StoreError> {
        let ids = self.episode_scores.keys().copied();
        self.episodes = store.read(|reader| reader.find_episodes(ids))?;
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.semantics.is_empty() && self.messages.is_empty()
    }

    /// Leaves out what is less relevant than `bar`; everything, if nothing is as relevant as `best_min`. The best of the
    /// messages, if that is so.
    pub(super) fn drop_below(&mut self, bar: f64, best_min: f64) -> Option<Scored<Message>> {
        let facts = self.semantics.iter().map(|s| s.relevance);
        let best = facts.chain(self.messages.iter().map(|m| m.relevance)).fold(0.0, f64::max);
        let bar = if best < best_min { f64::INFINITY } else { bar };
        self.semantics.retain(|s| s.relevance >= bar);
        let most = |a: &&Scored<Message>, b: &&Scored<Message>| a.relevance.total_cmp(&b.relevance);
        let nearest = self.messages.iter().max_by(most).filter(|_| bar.is_infinite()).cloned();
        self.messages.retain(|m| m.relevance >= bar);
        nearest
    }

    /// Best first; on a tie, the older.
    pub(super) fn sort(&mut self) {
        self.semantics
            .sort_by(|a, b| b.relevance.total_cmp(&a.relevance).then(a.unit.id.cmp(&b.unit.id)));
        self.messages
            .sort_by(|a, b| b.relevance.total_cmp(&a.relevance).then(a.unit.id.cmp(&b.unit.id)));
    }
}

/// Gives a superseded fact at most half the relevance of its latest successor, which in turn becomes
/// at least as relevant as the old fact was: the question found the old fact, the new one answers it.
pub(super) fn rank_below_successors(semantics: &mut [Scored<Semantic>]) {
    /// Ends a cycle in a damaged store; real chains are short.
    const N_LINKS_MAX: usize = 64;
    let place: BTreeMap<SemanticId, usize> =
        semantics.iter().enumerate().map(|(i, s)| (s.unit.id, i)).collect();
    for i in 0..semantics.len() {
        let mut last = i;
        for _ in 0..N_LINKS_MAX {
            let next = semantics[last].unit.superseded_by.and_then(|id| place.get(&id));
            let Some(&next) = next else { break };
            last = next;
        }
        if last != i {
            let found = semantics[i].relevance.max(semantics[last].relevance);
            semantics[last].relevance = found;
            semantics[i].relevance = semantics[i].relevance.min(found * 0.5);
        }
    }
}
