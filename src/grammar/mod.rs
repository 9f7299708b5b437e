//! What a constrained reply may look like, byte by byte.
//!
//! A [`Constraint`] is compiled once, from a subset of JSON Schema ([`Schema`]), a list of lines
//! ([`Lines`]) or a date ([`DateForm`]), into an [`Automaton`] over bytes; [`Needs`] tells how few tokens
//! still close a reply. Every position that can be reached can be completed: there is no dead end.
//!
//! **Invariant:** pure. It knows bytes, no tokenizer, model or sampler (`inference/mask.rs` joins them).

mod automaton;
mod build;
mod dates;
mod lines;
mod needs;
mod schema;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use thiserror::Error;

pub use automaton::{Automaton, Position, Run, RunStart};
pub use dates::DateForm;
pub use lines::Lines;
pub use needs::Needs;
pub use schema::Schema;

/// Why a constraint can't be compiled.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ConstraintError {
    #[error("the schema at {at} is not usable: {reason}")]
    Schema {
        /// `$.items.name`
        at: String,
        reason: String,
    },
    #[error("{lines:?} describes no list")]
    Lines { lines: Lines },
    #[error("lists are nested more than {max} deep")]
    TooDeep { max: usize },
}

/// What a reply has to be, compiled. Clones share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Constraint(Arc<Automaton>);

impl Constraint {
    /// One JSON value that `schema` accepts: properties in the schema's order, no line breaks, at most one
    /// space after `:` and `,`.
    ///
    /// # Errors
    /// If lists are nested too deep.
    pub fn json(schema: &Schema) -> Result<Self, ConstraintError> {
        Ok(Self(Arc::new(schema.compile()?)))
    }

    /// A list of lines.
    ///
    /// # Errors
    /// If no list can be of that form.
    pub fn lines(lines: &Lines) -> Result<Self, ConstraintError> {
        Ok(Self(Arc::new(lines.compile()?)))
    }

    /// One day of the calendar.
    #[must_use]
    pub fn date(form: DateForm) -> Self {
        Self(Arc::new(form.compile()))
    }

    pub fn automaton(&self) -> &Automaton {
        &self.0
    }
}
