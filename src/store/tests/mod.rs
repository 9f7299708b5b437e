//! The store against real SQLite, in temporary directories.

mod builders;
mod chats;
mod corrections;
mod crashing;
mod damage;
mod deeds;
mod flips;
mod forgetting;
mod forgotten_bytes;
mod hierarchy;
mod learned;
mod migrating;
mod opening;
mod page;
mod processes;
mod queue;
mod random;
mod searching;
mod sharing;
mod syncing;
mod vector_index;
mod vectors;
mod verifying;
