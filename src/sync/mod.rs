//! One memory on several devices: what a device tells the others (`docs/decisions/034-sync.md`).
//!
//! Only what the person put in travels: chats and their messages, what was struck out, corrected or forgotten, their name.
//! Each device derives its own episodes, facts and themes from it.
//!
//! `entry` says what is shared, `log` makes pieces of it, `seal` closes them, `compact` takes out what counts no longer, and a
//! `Carrier` (`folder`, `postgres`) holds them. Nothing here knows the memory: `worker::exchange` brings both together.

#![expect(missing_docs, reason = "fields and variants are what their names say")]

mod carrier;
mod compact;
mod entry;
mod folder;
mod log;
#[cfg(feature = "postgres")]
mod postgres;
mod seal;
mod state;

pub use carrier::{Carrier, CarrierError};
pub use compact::{Plan, SMALL_PIECES_MAX, is_small};
pub use entry::{
    Correction, DeviceId, Entry, Fork, Refusal, Said, SharedSession, Stamp, State, Uid,
};
pub use folder::Folder;
pub use log::{Author, Found, Log, LogError, Packed, Piece};
#[cfg(feature = "postgres")]
pub use postgres::Postgres;
pub use seal::{Code, CodeError, SealError, SyncId};
pub use state::{Other, Place, SyncState};

/// What makes the table of the carrier `postgres`.
pub const SQL: &str = include_str!("../../assets/sync/postgres.sql");
