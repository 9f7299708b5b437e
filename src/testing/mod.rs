//! For tests: a scripted model, a hashing embedder, a clock that stands still, units of memory, and how
//! a test says that it is skipped.

mod hash_embedder;
mod manual_clock;
mod scripted_model;
mod skipping;
mod units;
mod vectors;

use std::sync::Arc;

use crate::interfaces::{LanguageModel, Models};

pub use hash_embedder::HashEmbedder;
pub use manual_clock::ManualClock;
pub use scripted_model::ScriptedModel;
pub use skipping::{SKIPPED_TESTS_FILE, shared, skip};
pub use units::{episode, fact, message};
pub use vectors::{check_close, cluster, unit};

/// A language model and a hashing embedder, alone.
pub fn models(language: Arc<dyn LanguageModel>) -> Models {
    Models { language, embedder: Arc::new(HashEmbedder), reranker: None, memory: None }
}
