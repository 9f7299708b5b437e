//! The model in the box: a small language model, embedder, reranker and classifying encoder, compiled into the program.
//!
//! What they are, what they were trained on and what they cannot do: `models/starter/card.md`.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use starter_weights::{EMBEDDER, ENCODER, LANGUAGE, RERANKER};

use super::confined;
use super::embedder::EncoderEmbedder;
use super::heads::BertHeads;
use super::load::load_starter;
use super::reranker::BertReranker;
use super::weights::{Bytes, Weights};
use crate::interfaces::{
    Embedder, LanguageModel, LoadProgress, MemoryModel, ModelError, Reranker, Span,
};
use crate::texts::key;

/// The encoder's heads: what a message wants, whether it changes an earlier line, whether it changes that line's answer to a question,
/// and where a text answers one.
const HEADS: [&str; 4] = ["wants", "line", "answer", "span"];

/// The size of all of them.
pub fn bytes() -> u64 {
    (LANGUAGE.len() + EMBEDDER.len() + RERANKER.len() + ENCODER.len()) as u64
}

/// Starts the built-in language model.
///
/// # Errors
/// If no engine thread can be started.
pub fn language(
    progress: &(dyn Fn(LoadProgress) + Sync),
) -> Result<Arc<dyn LanguageModel>, ModelError> {
    load_starter(LANGUAGE, progress)
}

/// The built-in language model, beside another one that chats.
pub fn memory() -> Arc<dyn MemoryModel> {
    Arc::new(BuiltInMemoryModel::default())
}

#[derive(Default)]
struct BuiltInMemoryModel(OnceLock<Arc<dyn LanguageModel>>);

impl MemoryModel for BuiltInMemoryModel {
    fn loaded(&self) -> Result<Arc<dyn LanguageModel>, ModelError> {
        loaded(&self.0, || language(&|_| {})).cloned()
    }
}

/// Loads the built-in embedder.
///
/// # Errors
/// None in practice: the file was checked when the program was built.
pub fn embedder(progress: &(dyn Fn(LoadProgress) + Sync)) -> Result<Arc<dyn Embedder>, ModelError> {
    progress(LoadProgress { stage: key!("reading the embedding model").into(), fraction: None });
    let path = Path::new("(built in) starter embedder");
    let embedder = confined::reading(None, || {
        EncoderEmbedder::from_gguf(&Weights::from_bytes(path, Bytes::Static(EMBEDDER))?)
    })?;
    Ok(Arc::new(embedder))
}

/// The built-in reranker and the built-in encoder with its heads, whose word table is the embedder's. Each is loaded
/// when it is first asked.
pub fn reranker() -> Arc<dyn Reranker> {
    Arc::new(BuiltInReranker::default())
}

#[derive(Default)]
struct BuiltInReranker {
    reranker: OnceLock<BertReranker>,
    heads: OnceLock<BertHeads>,
}

impl Reranker for BuiltInReranker {
    fn scores(&self, question: &str, texts: &[&str]) -> Result<Option<Vec<f32>>, ModelError> {
        let reranker = loaded_confined(&self.reranker, || {
            let path = Path::new("(built in) starter reranker");
            BertReranker::from_gguf(path, Bytes::Static(RERANKER), Bytes::Static(EMBEDDER))
        })?;
        reranker.scores(question, texts)
    }

    fn probabilities(
        &self,
        head: &str,
        inputs: &[&[&str]],
    ) -> Result<Option<Vec<Vec<f32>>>, ModelError> {
        self.heads()?.probabilities(head, inputs)
    }

    fn spans(
        &self,
        question: &str,
        texts: &[&str],
    ) -> Result<Option<Vec<Option<Span>>>, ModelError> {
        self.heads()?.spans(question, texts)
    }
}

impl BuiltInReranker {
    fn heads(&self) -> Result<&BertHeads, ModelError> {
        loaded_confined(&self.heads, || {
            let path = Path::new("(built in) starter encoder");
            BertHeads::from_gguf(path, Bytes::Static(ENCODER), Bytes::Static(EMBEDDER), &HEADS)
        })
    }
}

fn loaded_confined<T: Send>(
    kept: &OnceLock<T>,
    load: impl FnOnce() -> Result<T, ModelError> + Send,
) -> Result<&T, ModelError> {
    loaded(kept, || confined::reading(None, load))
}

fn loaded<T>(
    kept: &OnceLock<T>,
    load: impl FnOnce() -> Result<T, ModelError>,
) -> Result<&T, ModelError> {
    match kept.get() {
        Some(loaded) => Ok(loaded),
        None => load().map(|loaded| kept.get_or_init(|| loaded)),
    }
}
