//! The fields of a JSON object in a file, with errors that say where they stand.

use serde_json::{Map, Value};

use super::ImportError;

/// An object and its place in the file.
pub(super) struct Fields<'a> {
    pub object: &'a Map<String, Value>,
    pub path: &'a str,
    /// "line 3", or "conv-1, session_2".
    pub place: &'a str,
}

impl<'a> Fields<'a> {
    /// The object of a value that must be one; `field` names it in the error.
    pub fn of(
        value: Option<&'a Value>,
        path: &'a str,
        place: &'a str,
        field: &'static str,
    ) -> Result<Self, ImportError> {
        match value {
            Some(Value::Object(object)) => Ok(Self { object, path, place }),
            _ => Err(wrong(path, place, field, "must be an object")),
        }
    }

    pub fn missing(&self, field: &'static str) -> ImportError {
        ImportError::MissingField { path: self.path.into(), place: self.place.into(), field }
    }

    pub fn wrong(&self, field: &'static str, reason: &str) -> ImportError {
        wrong(self.path, self.place, field, reason)
    }

    /// The text under `key`, which errors call `field`.
    pub fn text(&self, key: &str, field: &'static str) -> Result<Option<&'a str>, ImportError> {
        match self.object.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.wrong(field, "must be text")),
        }
    }

    /// As [`Self::text`], but an error if there is none.
    pub fn required_text(&self, key: &str, field: &'static str) -> Result<&'a str, ImportError> {
        self.text(key, field)?.ok_or_else(|| self.missing(field))
    }
}

fn wrong(path: &str, place: &str, field: &'static str, reason: &str) -> ImportError {
    ImportError::WrongField { path: path.into(), place: place.into(), field, reason: reason.into() }
}
