//! The paper, pure: four levels of units and the algorithms that organise and select them.
//!
//! Nothing here does I/O, reads a clock, starts a thread, draws a random number or calls a model:
//! times, seeds, vectors and model judgements arrive as arguments.

mod embedding;
mod plain_text;
mod units;

pub use embedding::{Embedding, EmbeddingError};
pub use plain_text::plain_text;
pub use units::{
    Episode, EpisodeId, Message, MessageId, Moment, Role, Semantic, SemanticId, SessionId, Theme,
    ThemeId,
};
