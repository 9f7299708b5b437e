//! The store against real SQLite, in temporary directories.

#![expect(clippy::unwrap_used, reason = "tests")]

mod builders;
mod hierarchy;
mod opening;
