//! The model in the box: a small language model, a small embedder and a small reranker, compiled into the program.
//!
//! What they are, what they were trained on and what they cannot do: `models/starter/card.md`.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use super::embedder::EncoderEmbedder;
use super::load::load_starter;
use super::reranker::BertReranker;
use super::weights::Bytes;
use crate::interfaces::{Embedder, LanguageModel, LoadProgress, ModelError, Reranker};

const LANGUAGE: &[u8] = include_bytes!("../../models/starter/language.gguf");
const TOKENIZER: &[u8] = include_bytes!("../../models/starter/tokenizer.json");
const EMBEDDER: &[u8] = include_bytes!("../../models/starter/embedder.gguf");
const RERANKER: &[u8] = include_bytes!("../../models/starter/reranker.gguf");

/// Size of all together.
pub fn bytes() -> u64 {
    (LANGUAGE.len() + TOKENIZER.len() + EMBEDDER.len() + RERANKER.len()) as u64
}

/// Starts the built-in language model.
///
/// # Errors
/// If no engine thread can be started.
pub fn language(
    progress: &(dyn Fn(LoadProgress) + Sync),
) -> Result<Arc<dyn LanguageModel>, ModelError> {
    load_starter(LANGUAGE, TOKENIZER, progress)
}

/// Loads the built-in embedder.
///
/// # Errors
/// None in practice: the file was checked when the program was built.
pub fn embedder(progress: &(dyn Fn(LoadProgress) + Sync)) -> Result<Arc<dyn Embedder>, ModelError> {
    progress(LoadProgress { stage: "reading the embedding model".into(), fraction: None });
    let path = Path::new("(built in) starter embedder");
    Ok(Arc::new(EncoderEmbedder::from_gguf(path, Bytes::Static(EMBEDDER))?))
}

/// The built-in reranker, whose word table is the embedder's. It is loaded at the first question that has something
/// to rank.
#[must_use]
pub fn reranker() -> Arc<dyn Reranker> {
    Arc::new(BuiltInReranker::default())
}

#[derive(Default)]
struct BuiltInReranker(OnceLock<BertReranker>);

impl Reranker for BuiltInReranker {
    fn scores(&self, question: &str, texts: &[&str]) -> Result<Option<Vec<f32>>, ModelError> {
        if let Some(loaded) = self.0.get() {
            return loaded.scores(question, texts);
        }
        let path = Path::new("(built in) starter reranker");
        let (own, words) = (Bytes::Static(RERANKER), Bytes::Static(EMBEDDER));
        let loaded = BertReranker::from_gguf(path, own, words)?;
        self.0.get_or_init(|| loaded).scores(question, texts)
    }
}
