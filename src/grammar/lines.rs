//! Lists of lines.

use super::ConstraintError;
use super::automaton::{Automaton, END};
use super::build::{Builder, Ending, TextClass};

/// `min` to `max` lines with line feeds between them, each `prefix` and then 1 to `chars_max` characters, the
/// first of them no space. Where the prefix does not end in a space, one space may follow it: many models begin
/// every line so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lines {
    pub min: u16,
    pub max: u16,
    pub prefix: String,
    pub chars_max: u16,
}

impl Lines {
    pub(super) fn compile(&self) -> Result<Automaton, ConstraintError> {
        let sound = self.min >= 1 && self.max >= self.min && self.chars_max >= 1;
        if !sound || self.prefix.contains(char::is_control) {
            return Err(ConstraintError::Lines { lines: self.clone() });
        }
        let mut builder = Builder::new();
        let list =
            builder.repeat((self.min, self.max), b'\n', Ending::Skip(END), |builder, after| {
                let text = builder.text((0, self.chars_max), TextClass::Line, after)?;
                let first = builder.first_character(&text, !self.prefix.ends_with(' '));
                let line = builder.literal(self.prefix.as_bytes(), first);
                Ok((line, line))
            })?;
        Ok(builder.finish(list.first))
    }
}
