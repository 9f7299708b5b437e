//! The papers' tables.
fn main() {}
