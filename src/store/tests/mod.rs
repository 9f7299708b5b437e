//! The store against real SQLite, in temporary directories.

#![expect(clippy::unwrap_used, reason = "tests")]

mod builders;
mod crashing;
mod damage;
mod forgetting;
mod hierarchy;
mod measuring;
mod opening;
mod queue;
mod random;
mod searching;
mod sharing;
mod verifying;
