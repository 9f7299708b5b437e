//! The paper, pure: four levels of units and the algorithms that organise and select them.
//!
//! Nothing here does I/O, reads a clock, starts a thread, draws a random number or calls a model:
//! times, seeds, vectors and model judgements arrive as arguments.

mod attached;
mod embedding;
mod plain_text;
mod theme_index;
mod units;

pub mod consolidation;
pub mod direction;
pub mod guidance;
pub mod hierarchy;
pub mod inclusion;
pub mod knn_graph;
pub mod lexical;
pub mod mix;
pub mod partition;
pub mod relevance;
pub mod reorganize;
pub mod splitting;

pub use attached::{attached, own_words, with_attached};
pub use embedding::{Embedding, EmbeddingError, dot64};
pub use hierarchy::Hierarchy;
pub use partition::{EXACT_SEMANTICS, Partition};
pub use plain_text::{plain_text, title_of};
pub use theme_index::EXACT_THEMES;
pub use units::{
    Episode, EpisodeId, Message, MessageId, Moment, NewMessage, Origin, Role, Semantic, SemanticId,
    SessionId, Theme, ThemeId,
};

#[cfg(test)]
mod properties;
