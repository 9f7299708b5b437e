//! Doubles for tests: a scripted model, a hashing embedder, a clock that stands still.

mod hash_embedder;
mod manual_clock;
mod scripted_model;

pub use hash_embedder::HashEmbedder;
pub use manual_clock::ManualClock;
pub use scripted_model::ScriptedModel;
