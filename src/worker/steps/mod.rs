//! One file per step. A step reads, asks models or rules, then commits once, together with its job's
//! completion and the jobs that follow. Where a step commits more often, the same job can go on from
//! each commit.

mod consolidate;
mod name_theme;
mod names;
mod organise;
mod prepare;
mod reembed;
mod remember;
mod segment_session;
mod semantics;

pub use remember::remember;
