#![doc = include_str!("ARCHITECTURE.md")]
#![warn(missing_docs)]

pub mod error_chain;

pub(crate) mod texts;

pub mod memory;

pub mod grammar;

pub mod interfaces;

pub mod prompts;

pub mod model_policy;

pub mod extractive;

pub mod inference;

pub mod registry;

pub mod imports;

pub(crate) mod attachments;
pub mod mcp;
#[cfg(feature = "server")]
pub mod server;

pub mod sync;

pub mod store;

pub mod worker;

pub mod recall;

pub(crate) mod chat;

pub(crate) mod tui;

pub mod cli;

#[doc(hidden)]
pub mod testing;
