//! What the store finds for a question, and the cues that it gives for each unit.
//!
//! Facts and messages are searched by two threads, each in a snapshot of its own.

use std::collections::{BTreeMap, BTreeSet};

use super::Query;
use super::candidates::Search;
use super::stage_one::{characters_of_fact, characters_of_message};
use crate::extractive::only_requests;
use crate::memory::direction::Direction;
use crate::memory::relevance::Cues;
use crate::memory::{EpisodeId, Message, MessageId, Moment, Role, Semantic, SemanticId};
use crate::store::{Level, Reader, Store, StoreError};

type Result<T> = std::result::Result<T, StoreError>;

/// Scores of one level, by raw id.
struct LevelHits {
    level: Level,
    direction: Option<Direction>,
    nearest: Vec<i64>,
    /// Nearness ([`Direction::nearness`]) of the nearest and of whatever else was compared.
    dense: BTreeMap<i64, f64>,
    /// BM25 scores divided by the best one.
    lexical: BTreeMap<i64, f64>,
}

impl LevelHits {
    fn of(reader: &Reader<'_>, level: Level, search: &Search<'_>) -> Result<Self> {
        /// How many vectors are sampled for what those of a level have in common.
        const N_SAMPLE: usize = 64;
        let direction = match search.vector {
            Some(vector) => {
                let (mean, n) = reader.mean(level, N_SAMPLE)?;
                Some(Direction::new(vector, &mean, n))
            }
            None => None,
        };
        let compared = match &direction {
            Some(direction) => {
                reader.compared(level, &direction.vector, search.config.n_candidates)?
            }
            None => Vec::new(),
        };
        let nearest = compared.iter().take(search.config.n_candidates).map(|&(id, _)| id).collect();
        let lexical = Self::lexical_of(reader, level, search)?;
        let mut hits = Self { level, direction, nearest, dense: BTreeMap::new(), lexical };
        hits.add(compared);
        Ok(hits)
    }

    /// For episodes, which are only looked up: candidates are those of the other levels' hits.
    fn of_episodes(reader: &Reader<'_>, search: &Search<'_>) -> Result<Self> {
        let level = Level::Episode;
        Ok(Self {
            level,
            // They tell of many things and are compared with each other only: nothing is subtracted.
            direction: search.vector.map(|vector| Direction::new(vector, &[], 0)),
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
        let lexical =
            reader.full_text(level, &search.query.traits.words, search.config.n_candidates)?;
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

    /// Adds the nearness of units that are not among the nearest.
    fn complete(&mut self, reader: &Reader<'_>, ids: impl IntoIterator<Item = i64>) -> Result<()> {
        let Some(direction) = &self.direction else { return Ok(()) };
        let missing: Vec<i64> = ids.into_iter().filter(|id| !self.dense.contains_key(id)).collect();
        let cosines = reader.cosines(self.level, &direction.vector, missing)?;
        self.add(cosines);
        Ok(())
    }

    /// `None` for a unit without a vector.
    fn dense(&self, id: i64) -> Option<f64> {
        self.dense.get(&id).copied()
    }

    fn lexical(&self, id: i64) -> f64 {
        self.lexical.get(&id).copied().unwrap_or(0.0)
    }
}

/// The messages that were found, and those beside them.
struct MessageHits {
    hits: LevelHits,
    messages: BTreeMap<MessageId, Message>,
    /// Facts whose source is one of them.
    facts: BTreeSet<SemanticId>,
}

impl MessageHits {
    fn of(reader: &Reader<'_>, search: &Search<'_>) -> Result<Self> {
        let mut hits = LevelHits::of(reader, Level::Message, search)?;
        let mut ids: BTreeSet<MessageId> = hits.ids().map(MessageId).collect();
        // An answer follows its question and need not repeat a word of it.
        let matching = hits.lexical.keys().copied().map(MessageId);
        ids.extend(reader.messages_beside(matching)?);
        let facts = reader.semantics_of_messages(ids.iter().copied())?;
        let messages = reader.find_messages(ids)?;
        hits.complete(reader, messages.keys().map(|id| id.0))?;
        Ok(Self { hits, messages, facts })
    }
}

/// The facts that were found, and what has taken their place since.
struct FactHits {
    hits: LevelHits,
    semantics: BTreeMap<SemanticId, Semantic>,
}

impl FactHits {
    fn of(reader: &Reader<'_>, search: &Search<'_>) -> Result<Self> {
        let hits = LevelHits::of(reader, Level::Semantic, search)?;
        let mut fact_hits = Self { hits, semantics: BTreeMap::new() };
        fact_hits.load(reader, fact_hits.hits.ids().map(SemanticId).collect())?;
        Ok(fact_hits)
    }

    /// Adds these facts and whatever took their place.
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

/// What was found at every level.
pub(super) struct Hits {
    facts: FactHits,
    messages: MessageHits,
    episodes: LevelHits,
    episode_ids: BTreeSet<EpisodeId>,
    facts_of: BTreeMap<MessageId, Vec<SemanticId>>,
    /// Speakers of the found messages whom the question names.
    named_speakers: BTreeSet<String>,
}

impl Hits {
    pub(super) fn search(store: &Store, search: &Search<'_>) -> Result<Self> {
        // Both threads have about as much to do.
        store.read_beside(
            |other| MessageHits::of(other, search),
            |reader, messages| {
                let facts = FactHits::of(reader, search)?;
                let episodes = LevelHits::of_episodes(reader, search)?;
                Self::joined(reader, search, facts, messages()?, episodes)
            },
        )
    }

    /// Brings the levels together: facts of the messages, messages of the facts, episodes of both.
    fn joined(
        reader: &Reader<'_>,
        search: &Search<'_>,
        mut facts: FactHits,
        mut messages: MessageHits,
        mut episodes: LevelHits,
    ) -> Result<Self> {
        facts.load(reader, std::mem::take(&mut messages.facts))?;
        let mut facts_of: BTreeMap<MessageId, Vec<SemanticId>> = BTreeMap::new();
        for (&id, semantic) in &facts.semantics {
            for &message in &semantic.messages {
                facts_of.entry(message).or_default().push(id);
            }
        }
        let sources = facts_of.keys().copied().filter(|id| !messages.messages.contains_key(id));
        let sources = reader.find_messages(sources)?;
        messages.hits.complete(reader, sources.keys().map(|id| id.0))?;
        messages.messages.extend(sources);
        let messages_by_id = &messages.messages;
        for semantic in facts.semantics.values_mut() {
            let of_messages =
                semantic.messages.iter().filter_map(|id| messages_by_id.get(id)?.episode);
            semantic.episodes.extend(of_messages.collect::<BTreeSet<_>>());
        }
        let episode_ids: BTreeSet<EpisodeId> =
            messages_by_id.values().filter_map(|m| m.episode).collect();
        episodes.complete(reader, episode_ids.iter().map(|id| id.0))?;
        let named_speakers = named_speakers(messages_by_id.values(), search.query.question);
        Ok(Self { facts, messages, episodes, episode_ids, facts_of, named_speakers })
    }

    /// By id.
    pub(super) fn facts(&self) -> impl Iterator<Item = &Semantic> {
        self.facts.semantics.values()
    }

    /// By id.
    pub(super) fn messages(&self) -> impl Iterator<Item = &Message> {
        self.messages.messages.values()
    }

    /// The facts and the messages, by id.
    pub(super) fn into_units(
        self,
    ) -> (impl Iterator<Item = Semantic>, impl Iterator<Item = Message>) {
        (self.facts.semantics.into_values(), self.messages.messages.into_values())
    }

    /// The episodes of the messages, with their nearness and BM25 score.
    pub(super) fn episodes(&self) -> impl Iterator<Item = (EpisodeId, f64, f64)> {
        let scores = |&id: &EpisodeId| {
            (id, self.episodes.dense(id.0).unwrap_or(0.0), self.episodes.lexical(id.0))
        };
        self.episode_ids.iter().map(scores)
    }

    pub(super) fn cues_of_fact(&self, semantic: &Semantic, search: &Search<'_>) -> Cues {
        let (facts, messages) = (&self.facts.hits, &self.messages.hits);
        let sources = || semantic.messages.iter().filter_map(|m| self.messages.messages.get(m));
        let beside = |m: &Message| self.lexical_beside(m, -1).max(self.lexical_beside(m, 1));
        Cues {
            dense: facts.dense(semantic.id.0),
            lexical: facts.lexical(semantic.id.0),
            support_dense: nearest(semantic.messages.iter().map(|m| messages.dense(m.0))),
            support_lexical: best(semantic.messages.iter().map(|m| messages.lexical(m.0))),
            episode_lexical: best(semantic.episodes.iter().map(|e| self.episodes.lexical(e.0))),
            speaker: nearest(sources().map(|m| Some(self.speaker(m, search.query)))).unwrap_or(0.5),
            before_lexical: best(sources().map(beside)),
            after_lexical: 0.0,
            n_characters: characters_of_fact(semantic),
            recency: recency(search.query, semantic.created_at),
        }
    }

    pub(super) fn cues_of_message(&self, message: &Message, search: &Search<'_>) -> Cues {
        let (facts, messages) = (&self.facts.hits, &self.messages.hits);
        let of_it = || self.facts_of.get(&message.id).into_iter().flatten();
        Cues {
            dense: messages.dense(message.id.0),
            lexical: messages.lexical(message.id.0),
            support_dense: nearest(of_it().map(|s| facts.dense(s.0))),
            support_lexical: best(of_it().map(|s| facts.lexical(s.0))),
            episode_lexical: message.episode.map_or(0.0, |e| self.episodes.lexical(e.0)),
            speaker: self.speaker(message, search.query),
            before_lexical: self.lexical_beside(message, -1),
            after_lexical: self.lexical_beside(message, 1),
            n_characters: characters_of_message(message),
            recency: recency(search.query, message.created_at),
        }
    }

    /// BM25 of the message `step` away in the same episode; 0 if there is none.
    fn lexical_beside(&self, message: &Message, step: i64) -> f64 {
        let id = MessageId(message.id.0.saturating_add(step));
        let is_beside =
            |other: &&Message| other.session == message.session && other.episode == message.episode;
        let beside = self.messages.messages.get(&id).filter(is_beside);
        beside.map_or(0.0, |other| self.messages.hits.lexical(other.id.0))
    }

    /// 1 if the question names the speaker, 0 if it names somebody else, 0.5 if it names nobody or
    /// several.
    fn speaker(&self, message: &Message, query: &Query<'_>) -> f64 {
        let of_user = query.traits.of_user;
        if self.named_speakers.len() + usize::from(of_user) != 1 {
            return 0.5;
        }
        let is_named = match message.speaker.as_deref() {
            Some(name) => self.named_speakers.contains(name),
            None => of_user && message.role == Role::User,
        };
        f64::from(u8::from(is_named))
    }
}

/// The largest of cues that are never negative; 0 if there is none.
fn best(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, f64::max)
}

/// The largest; `None` if there is none.
fn nearest(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    values.flatten().reduce(f64::max)
}

/// The speakers whose first name the question contains.
fn named_speakers<'a>(
    messages: impl Iterator<Item = &'a Message>,
    question: &str,
) -> BTreeSet<String> {
    let lower = question.to_lowercase();
    let words: BTreeSet<&str> = lower.split(|c: char| !c.is_alphanumeric()).collect();
    let names: BTreeSet<&str> = messages.filter_map(|m| m.speaker.as_deref()).collect();
    let is_named = |name: &&str| {
        let first = name.split_whitespace().next().unwrap_or(name).to_lowercase();
        !first.is_empty() && words.contains(first.as_str())
    };
    names.into_iter().filter(is_named).map(str::to_owned).collect()
}

/// Halves every thirty days; only for questions about the present.
fn recency(query: &Query<'_>, at: Moment) -> f64 {
    const HALF_LIFE_DAYS: f64 = 30.0;
    if !query.traits.now {
        return 0.0;
    }
    let age = query.now.as_millisecond().saturating_sub(at.as_millisecond()) as f64;
    0.5f64.powf((age / 86_400_000.0).max(0.0) / HALF_LIFE_DAYS)
}

/// Whether a message can be evidence. Not if it is the question, nor if nobody asserted it:
/// the assistant's replies (unless the question is about them) and the person's own questions and requests. In an
/// imported conversation of two named people, every message is evidence.
pub(super) fn is_evidence(message: &Message, query: &Query<'_>) -> bool {
    let text = message.content.trim();
    if text.is_empty() || text == query.question.trim() {
        return false;
    }
    if message.speaker.is_some() {
        return true;
    }
    match message.role {
        Role::Assistant => query.traits.of_assistant,
        Role::User => !is_one_question(text) && !only_requests(text),
    }
}

fn is_one_question(text: &str) -> bool {
    text.ends_with('?') && !text[..text.len() - 1].contains(['.', '!', '?', '\n'])
}
