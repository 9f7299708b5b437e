//! What memory may have to say to a question: facts, messages and episodes with their relevance.
//!
//! It asks the store for the nearest and the best matching of every level and brings each unit's
//! cues together; the weighing is [`crate::memory::relevance`]'s.

use std::collections::{BTreeMap, BTreeSet};

use super::question::Nature;
use super::stage_one::{characters_of_fact, characters_of_message};
use crate::memory::direction::Direction;
use crate::memory::relevance::{Cues, Relevance};
use crate::memory::{
    Embedding, Episode, EpisodeId, Message, MessageId, Moment, Role, Semantic, SemanticId,
};
use crate::store::{Level, Reader, Store, StoreError};

type Result<T> = std::result::Result<T, StoreError>;

/// A unit and how much speaks for it, in (0, 1).
#[derive(Debug, Clone)]
pub(super) struct Scored<T> {
    pub unit: T,
    pub relevance: f64,
    pub cues: Cues,
    /// The reranker's, if it read the unit.
    pub score: Option<f64>,
    /// How probably it answers, by that score.
    pub answers: Option<f64>,
}

impl<T> Scored<T> {
    fn new(unit: T, cues: Cues, relevance: f64) -> Self {
        Self { unit, relevance, cues, score: None, answers: None }
    }
}

/// See the module. Best first.
#[derive(Debug, Clone, Default)]
pub(super) struct Candidates {
    pub semantics: Vec<Scored<Semantic>>,
    pub messages: Vec<Scored<Message>>,
    /// What speaks for the episodes themselves that the units are from.
    pub worth_of_episodes: BTreeMap<EpisodeId, f64>,
    /// Those episodes, once they are loaded: only Stage II reads them.
    pub episodes: BTreeMap<EpisodeId, Episode>,
}

/// What the candidates are gathered for.
pub(super) struct Search<'a> {
    pub question: &'a str,
    pub nature: &'a Nature,
    /// `None` if the memory's vectors are another model's.
    pub vector: Option<&'a Embedding>,
    pub now: Moment,
    /// Texts that the reader sees anyway.
    pub in_window: &'a BTreeSet<&'a str>,
    pub weights: &'a Relevance,
    pub size: usize,
    pub relevance_min: f64,
}

/// Scores of one level by raw id.
struct Hits {
    level: Level,
    direction: Option<Direction>,
    nearest: Vec<i64>,
    /// Of the nearest and of whatever else was compared.
    dense: BTreeMap<i64, f64>,
    /// Divided by the best.
    lexical: BTreeMap<i64, f64>,
}

impl Hits {
    fn of(reader: &Reader<'_>, level: Level, search: &Search<'_>) -> Result<Self> {
        /// Vectors that show what a level's have in common.
        const N_SAMPLE: usize = 64;
        let direction = match search.vector {
            Some(vector) => Some(Direction::new(vector, &reader.sample(level, N_SAMPLE)?)),
            None => None,
        };
        let compared = match &direction {
            Some(direction) => reader.compared(level, &direction.vector, search.size)?,
            None => Vec::new(),
        };
        let nearest = compared.iter().take(search.size).map(|&(id, _)| id).collect();
        let lexical = Self::lexical_of(reader, level, search)?;
        let mut hits = Self { level, direction, nearest, dense: BTreeMap::new(), lexical };
        hits.add(compared);
        Ok(hits)
    }

    /// Of episodes, which are only looked up: those of the other levels' hits.
    fn of_episodes(reader: &Reader<'_>, search: &Search<'_>) -> Result<Self> {
        let level = Level::Episode;
        Ok(Self {
            level,
            // They are compared with each other only, and tell of many things.
            direction: search.vector.map(|vector| Direction::new(vector, &[])),
            nearest: Vec::new(),
            dense: BTreeMap::new(),
            lexical: Self::lexical_of(reader, level, search)?,
        })
    }

    fn lexical_of(
        reader: &Reader<'_>,
        level: Level,
        search: &Search<'_>,
    ) -> Result<BTreeMap<i64, f64>> {
        let lexical = reader.full_text(level, &search.nature.words, search.size)?;
        let best = lexical.first().map_or(1.0, |&(_, score)| f64::from(score));
        Ok(lexical.into_iter().map(|(id, s)| (id, f64::from(s) / best)).collect())
    }

    fn add(&mut self, cosines: Vec<(i64, f32)>) {
        let Some(direction) = &self.direction else { return };
        self.dense.extend(cosines.into_iter().map(|(id, c)| (id, direction.nearness(c))));
    }

    fn ids(&self) -> impl Iterator<Item = i64> {
        self.nearest.iter().chain(self.lexical.keys()).copied()
    }

    /// Nearness also of units that are not among the nearest themselves.
    fn complete(&mut self, reader: &Reader<'_>, ids: impl IntoIterator<Item = i64>) -> Result<()> {
        let Some(direction) = &self.direction else { return Ok(()) };
        let missing: Vec<i64> = ids.into_iter().filter(|id| !self.dense.contains_key(id)).collect();
        let cosines = reader.cosines(self.level, &direction.vector, missing)?;
        self.add(cosines);
        Ok(())
    }

    /// `None` of a unit without a vector.
    fn dense(&self, id: i64) -> Option<f64> {
        self.dense.get(&id).copied()
    }

    fn lexical(&self, id: i64) -> f64 {
        self.lexical.get(&id).copied().unwrap_or(0.0)
    }
}

/// The messages that speak for themselves, and those beside them.
struct MessageHits {
    hits: Hits,
    messages: BTreeMap<MessageId, Message>,
    /// That name one of them as their source.
    facts: BTreeSet<SemanticId>,
}

impl MessageHits {
    fn of(reader: &Reader<'_>, search: &Search<'_>) -> Result<Self> {
        let mut hits = Hits::of(reader, Level::Message, search)?;
        let mut ids: BTreeSet<MessageId> = hits.ids().map(MessageId).collect();
        // An answer stands under its question, and need not repeat a word of it.
        let matching = hits.lexical.keys().copied().map(MessageId);
        ids.extend(reader.messages_beside(matching)?);
        let facts = reader.semantics_of_messages(ids.iter().copied())?;
        let messages = reader.find_messages(ids)?;
        hits.complete(reader, messages.keys().map(|id| id.0))?;
        Ok(Self { hits, messages, facts })
    }
}

/// The facts that speak for themselves, and what took their place since.
struct FactHits {
    hits: Hits,
    semantics: BTreeMap<SemanticId, Semantic>,
}

impl FactHits {
    fn of(reader: &Reader<'_>, search: &Search<'_>) -> Result<Self> {
        let hits = Hits::of(reader, Level::Semantic, search)?;
        let mut fact_hits = Self { hits, semantics: BTreeMap::new() };
        fact_hits.load(reader, fact_hits.hits.ids().map(SemanticId).collect())?;
        Ok(fact_hits)
    }

    /// These too, and whatever took their place.
    fn load(&mut self, reader: &Reader<'_>, mut wanted: BTreeSet<SemanticId>) -> Result<()> {
        loop {
            wanted.retain(|id| !self.semantics.contains_key(id));
            if wanted.is_empty() {
                break;
            }
            let found = reader.find_semantics_and_messages(std::mem::take(&mut wanted))?;
            wanted.extend(found.values().filter_map(|semantic| semantic.superseded_by));
            self.semantics.extend(found);
        }
        self.hits.complete(reader, self.semantics.keys().map(|id| id.0))
    }
}

impl Candidates {
    pub(super) fn gather(store: &Store, search: &Search<'_>) -> Result<Self> {
        // Two threads have about as much to do.
        store.read_beside(
            |other| MessageHits::of(other, search),
            |reader, message_hits| {
                let fact_hits = FactHits::of(reader, search)?;
                let of_episodes = Hits::of_episodes(reader, search)?;
                Self::of_hits(reader, search, fact_hits, message_hits()?, of_episodes)
            },
        )
    }

    fn of_hits(
        reader: &Reader<'_>,
        search: &Search<'_>,
        mut fact_hits: FactHits,
        message_hits: MessageHits,
        mut of_episodes: Hits,
    ) -> Result<Self> {
        let MessageHits { hits: mut of_messages, mut messages, facts } = message_hits;
        fact_hits.load(reader, facts)?;
        let FactHits { hits: of_semantics, mut semantics } = fact_hits;
        let mut facts_of: BTreeMap<MessageId, Vec<SemanticId>> = BTreeMap::new();
        for (&id, semantic) in &semantics {
            for &message in &semantic.messages {
                facts_of.entry(message).or_default().push(id);
            }
        }
        let sources = facts_of.keys().copied().filter(|id| !messages.contains_key(id));
        let sources = reader.find_messages(sources)?;
        of_messages.complete(reader, sources.keys().map(|id| id.0))?;
        messages.extend(sources);
        for semantic in semantics.values_mut() {
            let of_messages = semantic.messages.iter().filter_map(|id| messages.get(id)?.episode);
            semantic.episodes.extend(of_messages.collect::<BTreeSet<_>>());
        }
        let episodes: BTreeSet<EpisodeId> = messages.values().filter_map(|m| m.episode).collect();
        of_episodes.complete(reader, episodes.iter().map(|id| id.0))?;

        let speakers = Speakers::of(messages.values(), search);
        let best = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
        let nearest =
            |values: &mut dyn Iterator<Item = Option<f64>>| values.flatten().reduce(f64::max);

        let neighbour = |message: &Message, step: i64| {
            let near =
                messages.get(&MessageId(message.id.0.saturating_add(step))).filter(|other| {
                    other.session == message.session && other.episode == message.episode
                });
            near.map_or(0.0, |other| of_messages.lexical(other.id.0))
        };
        let of_fact = |semantic: &Semantic| {
            let own = || semantic.messages.iter().filter_map(|m| messages.get(m));
            Cues {
                dense: of_semantics.dense(semantic.id.0),
                lexical: of_semantics.lexical(semantic.id.0),
                support_dense: nearest(
                    &mut semantic.messages.iter().map(|m| of_messages.dense(m.0)),
                ),
                support_lexical: best(
                    &mut semantic.messages.iter().map(|m| of_messages.lexical(m.0)),
                ),
                episode_lexical: best(
                    &mut semantic.episodes.iter().map(|e| of_episodes.lexical(e.0)),
                ),
                speaker: own().map(|m| speakers.cue(m)).reduce(f64::max).unwrap_or(0.5),
                before_lexical: best(&mut own().map(|m| neighbour(m, -1).max(neighbour(m, 1)))),
                after_lexical: 0.0,
                n_characters: characters_of_fact(semantic),
                recency: recency(search, semantic.created_at),
            }
        };
        let of_message = |message: &Message| {
            let facts = || facts_of.get(&message.id).into_iter().flatten();
            Cues {
                dense: of_messages.dense(message.id.0),
                lexical: of_messages.lexical(message.id.0),
                support_dense: nearest(&mut facts().map(|s| of_semantics.dense(s.0))),
                support_lexical: best(&mut facts().map(|s| of_semantics.lexical(s.0))),
                episode_lexical: message.episode.map_or(0.0, |e| of_episodes.lexical(e.0)),
                speaker: speakers.cue(message),
                before_lexical: neighbour(message, -1),
                after_lexical: neighbour(message, 1),
                n_characters: characters_of_message(message),
                recency: recency(search, message.created_at),
            }
        };
        let of_facts: Vec<Cues> = semantics.values().map(of_fact).collect();
        let of_evidence: Vec<Option<Cues>> = messages
            .values()
            .map(|message| is_evidence(message, search).then(|| of_message(message)))
            .collect();
        let mut candidates = Self {
            semantics: semantics
                .into_values()
                .zip(of_facts)
                .map(|(unit, cues)| Scored::new(unit, cues, search.weights.of_semantic(&cues)))
                .collect(),
            messages: messages
                .into_values()
                .zip(of_evidence)
                .filter_map(|(unit, cues)| Some((unit, cues?)))
                .map(|(unit, cues)| Scored::new(unit, cues, search.weights.of_message(&cues)))
                .collect(),
            ..Self::default()
        };
        if !search.nature.past {
            rank_below_successors(&mut candidates.semantics);
        }
        for id in episodes {
            let dense = of_episodes.dense(id.0).unwrap_or(0.0);
            candidates.worth_of_episodes.insert(id, dense + 0.25 * of_episodes.lexical(id.0));
        }
        candidates.semantics.retain(|s| s.relevance >= search.relevance_min);
        candidates.messages.retain(|m| m.relevance >= search.relevance_min);
        candidates.sort();
        Ok(candidates)
    }

    /// What was forgotten since the search is not there any more.
    pub(super) fn load_episodes(&mut self, store: &Store) -> Result<()> {
        let ids = self.worth_of_episodes.keys().copied();
        self.episodes = store.read(|reader| reader.find_episodes(ids))?;
        Ok(())
    }

    /// Best first; of equals the older.
    pub(super) fn sort(&mut self) {
        self.semantics
            .sort_by(|a, b| b.relevance.total_cmp(&a.relevance).then(a.unit.id.cmp(&b.unit.id)));
        self.messages
            .sort_by(|a, b| b.relevance.total_cmp(&a.relevance).then(a.unit.id.cmp(&b.unit.id)));
    }
}

/// A fact that was superseded is no better than what took its place: it comes right behind.
pub(super) fn rank_below_successors(semantics: &mut [Scored<Semantic>]) {
    /// Chains are short; a cycle in a damaged store ends here.
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
            // The question found the old fact: the new one answers it.
            let found = semantics[i].relevance.max(semantics[last].relevance);
            semantics[last].relevance = found;
            semantics[i].relevance = semantics[i].relevance.min(found * 0.5);
        }
    }
}

/// Halves every thirty days; only for questions about the present.
fn recency(search: &Search<'_>, at: Moment) -> f64 {
    const HALF_LIFE_DAYS: f64 = 30.0;
    if !search.nature.now {
        return 0.0;
    }
    let age = search.now.as_millisecond().saturating_sub(at.as_millisecond()) as f64;
    0.5f64.powf((age / 86_400_000.0).max(0.0) / HALF_LIFE_DAYS)
}

/// Not what the reader sees anyway, not what nobody asserted: the chat's own replies (unless they
/// are asked about) and the person's own questions. Imported conversations of two named people are
/// evidence throughout.
fn is_evidence(message: &Message, search: &Search<'_>) -> bool {
    let text = message.content.trim();
    if text.is_empty() || text == search.question.trim() || search.in_window.contains(text) {
        return false;
    }
    if message.speaker.is_some() {
        return true;
    }
    match message.role {
        Role::Assistant => search.nature.of_assistant,
        Role::User => !is_one_question(text),
    }
}

fn is_one_question(text: &str) -> bool {
    text.ends_with('?') && !text[..text.len() - 1].contains(['.', '!', '?', '\n'])
}

/// Who speaks among the candidates, and whom the question names.
struct Speakers<'a> {
    named: BTreeSet<&'a str>,
    user_named: bool,
}

impl<'a> Speakers<'a> {
    fn of(messages: impl Iterator<Item = &'a Message>, search: &Search<'_>) -> Self {
        let lower = search.question.to_lowercase();
        let words: BTreeSet<&str> =
            lower.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).collect();
        let names: BTreeSet<&str> = messages.filter_map(|m| m.speaker.as_deref()).collect();
        let named = names
            .into_iter()
            .filter(|name| {
                let first = name.split_whitespace().next().unwrap_or(name).to_lowercase();
                words.contains(first.as_str())
            })
            .collect();
        Self { named, user_named: search.nature.of_user }
    }

    fn cue(&self, message: &Message) -> f64 {
        let n_named = self.named.len() + usize::from(self.user_named);
        if n_named != 1 {
            return 0.5;
        }
        let named = match message.speaker.as_deref() {
            Some(name) => self.named.contains(name),
            None => self.user_named && message.role == Role::User,
        };
        f64::from(u8::from(named))
    }
}
