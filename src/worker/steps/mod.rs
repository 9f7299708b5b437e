//! One file a step. Each reads, thinks (models, rules), then commits once, together with its job's
//! completion and the jobs that follow; where a step commits more often, each commit is a state
//! from which the same job goes on.

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
