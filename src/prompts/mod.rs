//! What is said to a language model, and how its reply is read.
//!
//! One file in `assets/prompts` and one type here for each prompt: `fill()` gives the text,
//! `parse()` reads a reply tolerantly and gives `(value, problems)`, never an error: a small
//! model's odd output is data. Texts from people and from memory go through [`data()`], so that they
//! stay inside their block (invariant 6). Nothing here knows tokens or special tokens.

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
pub use chat::ChatSystem;
pub use conflict::{Conflict, Relation};
pub use data::{Line, data, date, date_time};
pub use episode::{Episode, EpisodeDraft};
pub use merge::MergedFact;
pub use reply::Problem;
pub use router::Router;
pub use semantics::{Semantics, facts};
pub use theme::ThemeName;

/// How much a prompt has to explain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    /// The starter was trained on the bare sentences (models/starter): nothing is added to them.
    Trained,
    /// Any other model also gets the section `more` of the asset.
    #[default]
    Instructed,
}

/// A filled prompt: two turns, after which the assistant's begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    pub system: String,
    pub user: String,
}
