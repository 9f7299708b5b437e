//! One conversation with its ready-made memories, its questions and their vectors.
//!
//! Its folder has `episodes.jsonl` (each with its messages), `semantics.jsonl`, `qa.json`, and optionally vectors
//! of their lines in order: `episodes.f32.npy`, `semantics.f32.npy`, `questions.f32.npy` (of `qa.json`),
//! `messages.f32.npy`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use inglenook::interfaces::Embedder;
use inglenook::memory::{Embedding, Moment};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::vectors::{PrecomputedEmbedder, embed, read as read_vectors};
use crate::EvalError;
use crate::locomo::{
    Folder, RawQuestion, answer_text, bad, ids, is_message_id, is_scored, read, time,
};

/// A conversation's folder. Messages, episodes and semantics are numbered in the order of the files.
pub(crate) struct Corpus {
    pub episodes: Vec<Episode>,
    pub messages: Vec<Message>,
    pub semantics: Vec<Semantic>,
    pub questions: Vec<Question>,
    pub vectors: Vectors,
}

pub(crate) struct Episode {
    pub title: String,
    pub content: String,
    pub at: Moment,
}

pub(crate) struct Message {
    /// LoCoMo's id, such as `D3:14`.
    pub id: String,
    pub speaker: String,
    pub content: String,
    pub episode: usize,
}

impl Message {
    /// The line that is embedded and counted as evidence.
    pub(crate) fn line(&self) -> String {
        format!("{}: {}", self.speaker, self.content)
    }
}

pub(crate) struct Semantic {
    pub text: String,
    pub at: Moment,
    /// The existing messages that it names.
    pub messages: Vec<usize>,
    /// The existing episodes that it was made from.
    pub episodes: Vec<usize>,
}

pub(crate) struct Question {
    pub text: String,
    pub answer: String,
    pub category: u64,
    /// The existing evidence messages …
    pub evidence: BTreeSet<usize>,
    /// … and how many the question names.
    pub n_evidence: usize,
}

/// Vectors of one embedding model, except the last two fields.
pub(crate) struct Vectors {
    pub semantics: Vec<Embedding>,
    pub episodes: Vec<Embedding>,
    /// `None` if the given vectors leave messages out; these are then found by words only.
    pub messages: Option<Vec<Embedding>>,
    /// The questions' vectors, as the memory's embedder.
    pub questions: PrecomputedEmbedder,
    /// Vectors for plain retrieval of messages: the memory's, or the product's if the memory has none.
    pub plain_messages: Vec<Embedding>,
    pub plain_questions: Vec<Embedding>,
    pub given: bool,
}

#[derive(Deserialize)]
struct RawEpisode {
    episode_id: String,
    title: String,
    content: String,
    created_at: String,
    original_messages: Vec<RawMessage>,
}

#[derive(Deserialize)]
struct RawMessage {
    dia_id: String,
    role: String,
    content: String,
}

#[derive(Deserialize)]
struct RawSemantic {
    content: String,
    evidence: Vec<String>,
    #[serde(default)]
    source_episodes: Vec<String>,
    created_at: String,
}

impl Corpus {
    pub(crate) fn load(folder: &Folder, embedder: &dyn Embedder) -> Result<Self, EvalError> {
        Self::with_vectors(folder, embedder, true)
    }

    /// Loads the memories; messages have no vectors unless given.
    pub(crate) fn load_memories(
        folder: &Folder,
        embedder: &dyn Embedder,
    ) -> Result<Self, EvalError> {
        Self::with_vectors(folder, embedder, false)
    }

    fn with_vectors(
        folder: &Folder,
        embedder: &dyn Embedder,
        of_messages: bool,
    ) -> Result<Self, EvalError> {
        let mut corpus = Self::without_vectors(folder)?;
        corpus.vectors = corpus.vectors_in(&folder.path, embedder, of_messages)?;
        Ok(corpus)
    }

    /// Loads the texts only.
    pub(crate) fn without_vectors(folder: &Folder) -> Result<Self, EvalError> {
        let dir = &folder.path;
        let path = dir.join("episodes.jsonl");
        let (mut episodes, mut messages) = (Vec::new(), Vec::new());
        let (mut places, mut places_of_episodes) = (BTreeMap::new(), BTreeMap::new());
        for raw in lines::<RawEpisode>(&path)? {
            for message in raw.original_messages {
                places.insert(message.dia_id.clone(), messages.len());
                messages.push(Message {
                    id: message.dia_id,
                    speaker: message.role,
                    content: message.content,
                    episode: episodes.len(),
                });
            }
            places_of_episodes.insert(raw.episode_id, episodes.len());
            let at = moment(&raw.created_at, &path)?;
            episodes.push(Episode { title: raw.title, content: raw.content, at });
        }
        let path = dir.join("semantics.jsonl");
        let mut semantics = Vec::new();
        for raw in lines::<RawSemantic>(&path)? {
            let messages =
                ids(&raw.evidence).iter().filter_map(|id| places.get(id).copied()).collect();
            let at = moment(&raw.created_at, &path)?;
            let of = raw.source_episodes.iter();
            let episodes = of.filter_map(|id| places_of_episodes.get(id).copied()).collect();
            semantics.push(Semantic { text: raw.content, at, messages, episodes });
        }
        let questions: Vec<Question> =
            folder.questions.iter().filter_map(|raw| question(raw, &places)).collect();
        Ok(Self { episodes, messages, semantics, questions, vectors: Vectors::none() })
    }

    fn vectors_in(
        &self,
        dir: &Path,
        embedder: &dyn Embedder,
        of_messages: bool,
    ) -> Result<Vectors, EvalError> {
        let texts: Vec<String> = self.questions.iter().map(|q| q.text.clone()).collect();
        let lines: Vec<String> = self.messages.iter().map(Message::line).collect();
        let own = |name: &str, n: usize| -> Result<Option<Vec<Embedding>>, EvalError> {
            let path = dir.join(name);
            let rows = read_vectors(&path)?;
            match &rows {
                Some(rows) if rows.len() != n => {
                    Err(bad(&path, format!("it has {} rows for {n} texts", rows.len())))
                }
                _ => Ok(rows),
            }
        };
        let semantics = own("semantics.f32.npy", self.semantics.len())?;
        let episodes = own("episodes.f32.npy", self.episodes.len())?;
        let messages = own("messages.f32.npy", self.messages.len())?;
        // Questions from another file may lack given vectors.
        let known = given_questions(dir)?
            .filter(|known| texts.iter().all(|text| known.by_text.contains_key(text)));
        let given = known.is_some() && semantics.is_some() && episodes.is_some();
        let (questions, semantics, episodes, messages) =
            if let (Some(known), Some(semantics), Some(episodes)) = (known, semantics, episodes) {
                (known, semantics, episodes, messages)
            } else {
                let by_text = texts.iter().cloned().zip(embed(embedder, &texts)?).collect();
                let known = PrecomputedEmbedder { dimensions: embedder.dimensions(), by_text };
                let of: Vec<String> = self.semantics.iter().map(|s| s.text.clone()).collect();
                let told: Vec<String> = self.episodes.iter().map(|e| e.content.clone()).collect();
                let (semantics, episodes) = (embed(embedder, &of)?, embed(embedder, &told)?);
                let said = of_messages.then(|| embed(embedder, &lines)).transpose()?;
                (known, semantics, episodes, said)
            };
        let (plain_messages, plain_questions) = match &messages {
            Some(messages) => {
                let of = texts.iter().filter_map(|text| questions.by_text.get(text).cloned());
                (messages.clone(), of.collect())
            }
            None if of_messages => (embed(embedder, &lines)?, embed(embedder, &texts)?),
            None => (Vec::new(), Vec::new()),
        };
        Ok(Vectors {
            semantics,
            episodes,
            messages,
            questions,
            plain_messages,
            plain_questions,
            given,
        })
    }
}

impl Vectors {
    fn none() -> Self {
        Self {
            semantics: Vec::new(),
            episodes: Vec::new(),
            messages: None,
            questions: PrecomputedEmbedder { dimensions: 0, by_text: HashMap::new() },
            plain_messages: Vec::new(),
            plain_questions: Vec::new(),
            given: false,
        }
    }
}

/// The given vectors of the questions in `qa.json`.
fn given_questions(dir: &Path) -> Result<Option<PrecomputedEmbedder>, EvalError> {
    let (path, qa) = (dir.join("questions.f32.npy"), dir.join("qa.json"));
    let Some(rows) = read_vectors(&path)?.filter(|_| qa.is_file()) else { return Ok(None) };
    let asked: Vec<RawQuestion> = serde_json::from_str(&read(&qa)?).map_err(|e| bad(&qa, e))?;
    if asked.len() != rows.len() {
        return Err(bad(&path, format!("{} rows for {} questions", rows.len(), asked.len())));
    }
    let dimensions = rows.first().map_or(0, Embedding::dimensions);
    let by_text = asked.into_iter().map(|raw| raw.question).zip(rows).collect();
    Ok(Some(PrecomputedEmbedder { dimensions, by_text }))
}

/// `None` for a question that is not scored: without an answer, or without ids of messages.
fn question(raw: &RawQuestion, places: &BTreeMap<String, usize>) -> Option<Question> {
    if !is_scored(raw.category) {
        return None;
    }
    let named: BTreeSet<&String> = raw.evidence.iter().filter(|id| is_message_id(id)).collect();
    if named.is_empty() {
        return None;
    }
    Some(Question {
        evidence: named.iter().filter_map(|&id| places.get(id).copied()).collect(),
        n_evidence: named.len(),
        answer: answer_text(&raw.answer).unwrap_or_default(),
        text: raw.question.clone(),
        category: raw.category,
    })
}

fn moment(text: &str, path: &Path) -> Result<Moment, EvalError> {
    time(text).map(Moment::from_civil_utc).ok_or_else(|| bad(path, format!("`{text}` is no time")))
}

fn lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, EvalError> {
    read(path)?
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| serde_json::from_str(line).map_err(|e| bad(path, e)))
        .collect()
}
