//! The chat screen.
//!
//! One closed [`event::Event`] enum feeds one loop; `update` is pure, `view` borrows the state and
//! draws. Models, memory and replies live on other threads and report through a channel, so the
//! loop never waits for them.

mod bench;
mod chat_updates;
mod chats;
mod code_blocks;
mod dates;
pub mod editor;
pub mod event;
mod files;
mod forgetting;
mod highlight;
pub mod keys;
mod learned;
mod markdown;
mod memory_tree;
mod messages;
mod overlays;
mod page;
pub mod palette;
mod panes;
mod pickers;
mod plain;
mod prompts;
mod pulls;
mod runner;
mod settings;
pub mod slash;
pub mod state;
mod store_replies;
mod store_thread;
mod terminal;
mod tools;
mod transcript;
mod update;
mod view;
mod welcome;
mod why;
mod wrap;

#[cfg(test)]
mod tests;

pub use bench::ScreenBench;
pub use plain::run as run_plain;
pub use runner::{Beginning, Draft, Left, TuiError, run};
pub use update::update;

use crate::chat::export;
use crate::memory::{Message, Role};
use crate::texts::text;

/// Who said a message, as the screen names them.
fn speaker(message: &Message) -> &str {
    match (&message.speaker, message.role) {
        (None, Role::User) => text!("You"),
        _ => export::speaker(message),
    }
}
