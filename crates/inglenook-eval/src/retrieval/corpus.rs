//! One conversation with its ready-made memories, its questions and their vectors.
//!
//! A folder a conversation: `episodes.jsonl` (each with its messages), `semantics.jsonl`, `qa.json`,
//! and where they were made, vectors of their lines in order: `episodes.f32.npy`,
//! `semantics.f32.npy`, `questions.f32.npy` (of `qa.json`), `messages.f32.npy`.

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

/// See the module. Messages, episodes and semantics are numbered in the order of the files.
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
    /// LoCoMo's own, `D3:14`.
    pub id: String,
    pub speaker: String,
    pub content: String,
    pub episode: usize,
}

impl Message {
    /// As evidence is counted and embedded.
    pub(crate) fn line(&self) -> String {
        format!("{}: {}", self.speaker, self.content)
    }
}

pub(crate) struct Semantic {
    pub text: String,
    pub at: Moment,
    /// Those that it names and that exist.
    pub messages: Vec<usize>,
    /// Those that it was made from and that exist.
    pub episodes: Vec<usize>,
}

pub(crate) struct Question {
    pub text: String,
    pub answer: String,
    pub category: u64,
    /// Messages that the answer rests on, as far as they exist …
    pub evidence: BTreeSet<usize>,
    /// … and how many were named.
    pub n_evidence: usize,
}

/// Of one embedding model, but for the last two.
pub(crate) struct Vectors {
    pub semantics: Vec<Embedding>,
    pub episodes: Vec<Embedding>,
    /// `None` where the given vectors leave messages out; memory then knows them by their words.
    pub messages: Option<Vec<Embedding>>,
    /// Of the questions' texts; the memory's embedder.
    pub questions: PrecomputedEmbedder,
    /// The same of one model for plain retrieval from messages: the memory's, or where that has no
    /// vectors of messages, the program's.
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

    /// Without vectors of messages where none are given.
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

    /// The texts alone.
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
        // Questions from another file may be others than those that have vectors.
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

/// The given vectors of the folder's own questions.
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

/// `None` where it is not scored: without an answer, or without ids of messages.
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
