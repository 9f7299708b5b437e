//! The model in the box: a small language model and a small embedder, compiled into the program.
//!
//! What they are, what they were trained on and what they cannot do: `models/starter/card.md`.

use std::path::Path;
use std::sync::Arc;

use super::embedder::BertEmbedder;
use super::load::{BuiltIn, load_built_in_language};
use super::weights::Bytes;
use crate::interfaces::{Embedder, LanguageModel, LoadProgress, ModelError};

const LANGUAGE: &[u8] = include_bytes!("../../models/starter/language.gguf");
const TOKENIZER: &[u8] = include_bytes!("../../models/starter/tokenizer.json");
const EMBEDDER: &[u8] = include_bytes!("../../models/starter/embedder.gguf");

/// Size of both together.
pub fn bytes() -> u64 {
    (LANGUAGE.len() + TOKENIZER.len() + EMBEDDER.len()) as u64
}

/// Starts the built-in language model.
///
/// # Errors
/// If no engine thread can be started.
pub fn language(
    progress: &(dyn Fn(LoadProgress) + Sync),
) -> Result<Arc<dyn LanguageModel>, ModelError> {
    let built_in = BuiltIn {
        name: "starter",
        weights: LANGUAGE,
        config_json: None,
        tokenizer_json: Some(TOKENIZER),
    };
    load_built_in_language(built_in, progress)
}

/// Loads the built-in embedder.
///
/// # Errors
/// None in practice: the file was checked when the program was built.
pub fn embedder(progress: &(dyn Fn(LoadProgress) + Sync)) -> Result<Arc<dyn Embedder>, ModelError> {
    progress(LoadProgress { stage: "reading the embedding model".into(), fraction: None });
    let path = Path::new("(built in) starter embedder");
    Ok(Arc::new(BertEmbedder::from_gguf(path, Bytes::Static(EMBEDDER))?))
}
