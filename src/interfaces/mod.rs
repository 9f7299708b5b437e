//! What the rest of the program asks of a language model, an embedder, a reranker and a clock.
//!
//! Plain types only, the text that ends a reply, and the names of a split model's files: no candle, no SQLite, no terminal.

mod clock;
mod embedder;
mod language_model;
mod model_source;
mod reranker;
mod split_file;
mod stop_text;
mod uncertainty;

pub use clock::{Clock, SystemClock};
pub use embedder::Embedder;
pub use language_model::{
    Cancel, Context, Finish, Generated, LanguageModel, ModelError, ModelInfo, Priority, Sampling,
    TurnRole,
};
pub use model_source::{
    LoadProgress, MemoryModel, ModelSource, ModelSummary, Models, PullableModel,
};
pub use reranker::{Reranker, Span};
pub use split_file::{Part, part_names, parts_of};
pub use stop_text::StopText;
pub use uncertainty::{Signal, Uncertainty};
