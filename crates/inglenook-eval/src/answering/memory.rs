//! A conversation's memory: ready-made, or built as the product builds it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use inglenook::interfaces::{Cancel, Clock, Embedder, Models};
use inglenook::memory::{Embedding, Moment, NewMessage, Role};
use inglenook::store::{JobKind, Level, Store, StoreError};
use inglenook::worker::{WorkerConfig, WorkerError, run_until_idle};
use jiff::SignedDuration;

use super::data::Conversation;
use super::journal::{BuildCost, MemoryRow};
use super::meter::Metered;
use crate::EvalError;
use crate::locomo::{Folder, RawQuestion};
use crate::retrieval::corpus::Corpus;
use crate::retrieval::growth::{Organiser, grown};
use crate::retrieval::memory::FilledStore;
use crate::retrieval::vectors::{PrecomputedEmbedder, embed};

/// A conversation's memory in a store. Messages carry LoCoMo's ids as external ids.
pub(super) struct ProgramMemory {
    pub store: Store,
    /// Has the questions' vectors in the embedding space of the memory.
    pub embedder: Arc<dyn Embedder>,
    /// When the conversation ended.
    pub now: Moment,
    /// What building it cost; `None` if it was given.
    pub built: Option<BuildCost>,
}

impl ProgramMemory {
    /// Its size, and how its themes grew (by organising the facts once more in order).
    pub(super) fn row(&self, conversation: &str) -> Result<MemoryRow, StoreError> {
        let (stats, vectors) =
            self.store.read(|r| Ok((r.stats()?, r.embeddings(Level::Semantic)?)))?;
        let vectors: Vec<Embedding> = vectors.into_iter().map(|(_, vector)| vector).collect();
        let (_, growth) = grown(&vectors, Organiser::Own);
        Ok(MemoryRow {
            conversation: conversation.to_owned(),
            messages: stats.messages as u64,
            episodes: stats.episodes as u64,
            facts: stats.semantics as u64,
            themes: stats.themes as u64,
            reassigned: growth.reassigned as u64,
            flips: growth.flips.map(|n| n as u64),
            inserts: growth.inserts.map(|n| n as u64),
            built: self.built,
        })
    }
}

/// Time between messages of a session, as in an import.
const BETWEEN_MESSAGES: SignedDuration = SignedDuration::from_secs(30);

/// The folder of a conversation among ready-made memories: named after it, or after its first
/// speaker (`Caroline_0`).
pub(super) fn folder(memories: &Path, conversation: &Conversation) -> Option<PathBuf> {
    let mut folders: Vec<PathBuf> = std::fs::read_dir(memories)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.join("semantics.jsonl").is_file())
        .collect();
    folders.sort();
    let name_of = |path: &PathBuf| path.file_name().map(|n| n.to_string_lossy().into_owned());
    folders.into_iter().find(|path| {
        name_of(path).is_some_and(|name| {
            name == conversation.name || name.split('_').next() == conversation.speaker.as_deref()
        })
    })
}

/// The memory in a folder, with its own vectors if it has any. `grade` is the setting that
/// [`inglenook::worker::check`] keeps for the model.
pub(super) fn given(
    path: PathBuf,
    conversation: &Conversation,
    embedder: &Arc<dyn Embedder>,
    grade: Option<&(String, String)>,
) -> Result<ProgramMemory, EvalError> {
    let questions = conversation
        .questions
        .iter()
        .map(|asked| RawQuestion {
            question: asked.text.clone(),
            answer: asked.answer.clone().into(),
            evidence: asked.evidence.iter().cloned().collect(),
            category: asked.category,
        })
        .collect();
    let mut corpus = Corpus::load(&Folder { path, questions }, embedder.as_ref())?;
    let filled = FilledStore::new(&corpus)?;
    if let Some((key, value)) = grade {
        filled.store.write(|tx| tx.set_setting(key, value))?;
    }
    let known = &mut corpus.vectors.questions;
    if !corpus.vectors.given {
        // Questions without evidence are asked too.
        let texts: Vec<String> =
            conversation.questions.iter().map(|asked| asked.text.clone()).collect();
        let vectors = embed(embedder.as_ref(), &texts)?;
        known.by_text.extend(texts.into_iter().zip(vectors));
    }
    let known = PrecomputedEmbedder {
        dimensions: known.dimensions,
        by_text: std::mem::take(&mut known.by_text),
    };
    Ok(ProgramMemory {
        store: filled.store,
        embedder: Arc::new(known),
        now: filled.now,
        built: None,
    })
}

/// A clock that stands at the end of the conversation.
struct FixedClock(Moment);

impl Clock for FixedClock {
    fn now(&self) -> Moment {
        self.0
    }
}

/// Imports the conversation into a store in memory and lets the worker build the hierarchy.
pub(super) fn built(
    conversation: &Conversation,
    models: &Models,
    writer: &WorkerConfig,
    grade: Option<&(String, String)>,
    on_progress: &dyn Fn(usize, usize),
    cancel: &Cancel,
) -> Result<ProgramMemory, EvalError> {
    let store = Store::in_memory()?;
    let mut now = Moment::from_civil_utc(jiff::civil::DateTime::default());
    store.write(|tx| {
        if let Some((key, value)) = grade {
            tx.set_setting(key, value)?;
        }
        for messages in conversation.messages.chunk_by(|a, b| a.session == b.session) {
            let start = Moment::from_civil_utc(messages[0].at);
            let session = tx.create_session(&conversation.name, start, true)?;
            let mut at = start;
            for said in messages {
                let role = if said.by_second { Role::Assistant } else { Role::User };
                let new = NewMessage {
                    speaker: said.speaker.clone(),
                    external_id: Some(said.id.clone()),
                    ..NewMessage::new(role, said.text.as_str(), at)
                };
                tx.append_message(session, &new)?;
                now = at;
                at = Moment { timestamp: at.timestamp + BETWEEN_MESSAGES, ..at };
            }
            tx.enqueue(&JobKind::Close(session))?;
        }
        Ok(())
    })?;
    let metered = Metered::new(Arc::clone(&models.language));
    let models = Models { language: Arc::new(metered.clone()), ..models.clone() };
    let clock = Arc::new(FixedClock(now));
    let on_status = |status: &inglenook::worker::WorkerStatus| {
        on_progress(status.jobs_done, status.jobs_done + status.jobs_left);
    };
    run_until_idle(&store, &models, clock, writer.clone(), on_status, cancel)?;
    if let Some((_, what)) = store.read(|r| r.failed_jobs())?.into_iter().next() {
        return Err(EvalError::Unbuilt { what });
    }
    let used = metered.take();
    let written_tokens = metered.take_written();
    let built = BuildCost { tokens: used.tokens, written_tokens, model_calls: used.calls };
    Ok(ProgramMemory { store, embedder: models.embedder, now, built: Some(built) })
}

impl From<WorkerError> for EvalError {
    fn from(error: WorkerError) -> Self {
        match error {
            WorkerError::Store(source) => source.into(),
            WorkerError::Model(source) => source.into(),
            WorkerError::Cancelled => Self::Cancelled,
            WorkerError::NothingToRemember => Self::Unbuilt { what: error.to_string() },
        }
    }
}
