//! The chat screen.
//!
//! One closed [`event::Event`] enum feeds one loop; `update` is pure, `view` borrows the state and
//! draws. Models, memory and replies live on other threads and are heard of through a channel, so
//! the loop never waits for them.

mod dates;
mod desk;
pub mod editor;
pub mod event;
pub mod keys;
mod markdown;
mod memory_tree;
mod overlays;
pub mod palette;
mod panes;
mod runner;
pub mod slash;
pub mod state;
mod terminal;
mod update;
mod view;
mod why;
mod wiring;
mod wrap;

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests;

pub use runner::{App, Left, TuiError, run};
pub use update::update;
pub use wiring::reader_of;
