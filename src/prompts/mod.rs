//! What is said to a language model, and how its reply is read.
//!
//! Each prompt has a file in `assets/prompts` and a type here: `fill()` gives the text, and `parse()`
//! reads the reply tolerantly. It never fails, because a small model's odd output is data. Text from
//! people and from memory goes through [`data()`], so that it stays inside its block (invariant 6).
//! Nothing here knows about tokens, special or not.

mod answer;
mod asset;
mod boundary;
mod chat;
mod conflict;
mod data;
mod episode;
mod merge;
pub mod reply;
mod router;
mod semantics;
mod theme;

pub use answer::{Answer, MemoryLine};
pub use asset::Templates;
pub use boundary::Boundary;
pub use chat::{chat_system, role_system};
pub use conflict::{Conflict, Relation};
use data::started;
pub use data::{Line, data, date, day};
pub use episode::{Episode, EpisodeDraft};
pub use merge::MergedFact;
pub use reply::Problem;
pub use router::Router;
pub use semantics::{Semantics, facts};
pub use theme::ThemeName;

/// How much a prompt has to explain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    /// For the model that was trained on the bare prompts (`models/starter`): nothing is added to them, and it is asked for
    /// the facts of a line at a time.
    Trained,
    /// For any other model: with the asset's section `more`.
    #[default]
    Instructed,
}

/// A filled prompt: two turns, after which the assistant's turn begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// Text of the system turn.
    pub system: String,
    /// Text of the user turn.
    pub user: String,
}
