//! The memory on disk: SQLite with FTS5 for words and sqlite-vec for vectors.
//!
//! One file (`memory.db`), processes that write in turn (lock files beside it), every write a
//! `BEGIN IMMEDIATE` transaction. rusqlite types never leave: the interface is in `memory`'s types.
//! It knows nothing of models: vectors and judgements are handed to it.
//!
//! - [`Store`] opens and hands out transactions; [`Reader`] and [`WriteTx`] have one method per
//!   action, in one file per unit.
//! - Conservation (invariant 2) is kept by the schema and by the methods, and checked by
//!   [`Reader::verify`].
//! - [`Reader::plan_forget`] says what forgetting reaches, [`WriteTx::forget`] does it, and
//!   [`Store::scrub`] sees to the bytes.

mod access;
mod answers;
mod audit;
mod backup;
mod by_hand;
mod chats;
mod checksums;
mod connections;
mod dump;
mod edges;
mod episodes;
mod error;
mod extension;
mod forget;
mod forget_plan;
mod forgotten;
mod forks;
mod full_text;
mod full_text_check;
mod jobs;
mod learned;
mod lock;
mod open;
mod origins;
mod own_words;
mod page;
mod quoting;
mod rebuild;
mod records;
mod repair;
mod rows;
mod schema;
mod scrub;
mod semantics;
mod sessions;
mod settings;
mod stats;
mod sync;
mod themes;
mod transaction;
mod undo;
mod vector_index;
mod vectors;
mod verify;
mod wal;

#[cfg(test)]
mod tests;

pub use access::{Store, Wait};
pub use audit::audit;
pub use backup::{
    Copied, backup, backup_to_folder, backups, encrypt, end_replacing, is_encrypted,
    is_encrypted_file, is_replacing, restore,
};
pub use by_hand::BLOT;
pub use chats::{Conversation, FOUND, Found};
pub use encrypted_sqlite::Secret;
pub use error::StoreError;
pub use full_text::KnownName;
pub use learned::Learned;
pub use lock::{LOCK_FILES, WAIT, Work};
pub use open::{FILES, space_left};
pub use origins::NOTES;
pub use page::{FactSource, Visit};
pub use records::{AnyId, ForgetPlan, Job, JobKind, Level, MemoryStats, NewSemantic, Session};
pub use repair::{Repaired, damaged_copies, repair};
pub use rows::Rows;
pub use settings::USER_NAME;
pub use sync::{Applied, Held};
pub use transaction::{Reader, WriteTx};
pub use wal::log_damage;
