//! The store's side of sync (`docs/decisions/034-sync.md`).
//!
//! Nothing notes what is written: at each exchange the tables are compared with what is recorded as shared (`scan`), and the
//! states of other devices are joined with it (`join`). What came of texts that another device forgot or changed goes as the
//! store forgets itself (`elsewhere`). It knows no carrier and no piece.

mod chats;
mod corrections;
mod elsewhere;
mod join;
mod names;
mod scan;
mod states;

pub use join::Applied;
pub use names::Held;
pub(super) use states::digest;
