//! What a model's files say of its shape, from either of the two places where it is said.

use serde_json::Value;

use super::printable;
use crate::inference::metadata::{Metadata, Value as Meta};

/// A value's name in `config.json`, and in GGUF metadata after the architecture's; empty where the one does not have it.
pub type Key = (&'static str, &'static str);

/// A `config.json` or GGUF metadata. A value of another type than asked for is an error, never a default.
pub struct Fields<'a> {
    source: Source<'a>,
    /// What a `config.json` of the family leaves out.
    defaults: &'static [(&'static str, f64)],
}

enum Source<'a> {
    Json(&'a Value),
    Gguf { metadata: &'a Metadata, architecture: &'a str },
}

impl<'a> Fields<'a> {
    /// Of an object.
    pub fn json(object: &'a Value, defaults: &'static [(&'static str, f64)]) -> Self {
        Self { source: Source::Json(object), defaults }
    }

    /// Of GGUF metadata.
    pub fn gguf(metadata: &'a Metadata, architecture: &'a str) -> Self {
        Self { source: Source::Gguf { metadata, architecture }, defaults: &[] }
    }

    /// True for GGUF metadata.
    pub fn is_gguf(&self) -> bool {
        matches!(self.source, Source::Gguf { .. })
    }

    /// For a message.
    fn name(&self, (json, gguf): Key) -> String {
        match &self.source {
            Source::Json(_) => format!("`{json}` of config.json"),
            Source::Gguf { architecture, .. } => {
                format!("the metadata value `{}.{gguf}`", printable(architecture))
            }
        }
    }

    fn default(&self, (json, _): Key) -> Option<f64> {
        self.defaults.iter().find(|(name, _)| *name == json).map(|&(_, value)| value)
    }

    fn in_json(&self, (json, _): Key) -> Option<&'a Value> {
        match self.source {
            Source::Json(object) => object.get(json).filter(|value| !value.is_null()),
            Source::Gguf { .. } => None,
        }
    }

    fn in_gguf(&self, (_, gguf): Key) -> Option<&'a Meta> {
        match self.source {
            Source::Gguf { metadata, architecture } if !gguf.is_empty() => {
                metadata.get(&format!("{architecture}.{gguf}"))
            }
            _ => None,
        }
    }

    /// Whether there is such a value.
    pub fn has(&self, key: Key) -> bool {
        self.in_json(key).is_some() || self.in_gguf(key).is_some()
    }

    fn value<T>(
        &self,
        key: Key,
        of_json: impl FnOnce(&'a Value) -> Option<T>,
        of_gguf: impl FnOnce(&'a Meta) -> Option<T>,
    ) -> Result<Option<T>, String> {
        let value = match (self.in_json(key), self.in_gguf(key)) {
            (Some(value), _) => of_json(value),
            (_, Some(value)) => of_gguf(value),
            (None, None) => return Ok(None),
        };
        value.map(Some).ok_or_else(|| format!("{} is not usable", self.name(key)))
    }

    /// A size or a count.
    ///
    /// # Errors
    /// If the value is of another kind.
    pub fn number(&self, key: Key) -> Result<Option<usize>, String> {
        let stated = self.value(
            key,
            |value| usize::try_from(value.as_u64()?).ok(),
            |value| if let Meta::Integer(n) = value { usize::try_from(*n).ok() } else { None },
        )?;
        Ok(stated.or_else(|| self.default(key).map(|value| value as usize)))
    }

    /// As [`Self::number`]; an error where it is missing.
    ///
    /// # Errors
    /// If it is missing or of another kind.
    pub fn needed(&self, key: Key) -> Result<usize, String> {
        self.number(key)?.ok_or_else(|| match self.source {
            Source::Json(_) => format!("config.json lacks `{}`", key.0),
            Source::Gguf { architecture, .. } => {
                format!("its metadata lacks `{}.{}`", printable(architecture), key.1)
            }
        })
    }

    /// A real number; a whole one counts.
    ///
    /// # Errors
    /// If the value is of another kind.
    pub fn float(&self, key: Key) -> Result<Option<f64>, String> {
        let stated = self.value(key, Value::as_f64, |value| match value {
            Meta::Float(x) => Some(*x),
            Meta::Integer(n) => Some(*n as f64),
            _ => None,
        })?;
        Ok(stated.or_else(|| self.default(key)))
    }

    /// True or false.
    ///
    /// # Errors
    /// If the value is of another kind.
    pub fn boolean(&self, key: Key) -> Result<Option<bool>, String> {
        self.value(key, Value::as_bool, |value| match value {
            Meta::Boolean(b) => Some(*b),
            _ => None,
        })
    }

    /// A text.
    ///
    /// # Errors
    /// If the value is of another kind.
    pub fn text(&self, key: Key) -> Result<Option<&'a str>, String> {
        self.value(key, Value::as_str, |value| match value {
            Meta::String(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// Several counts.
    ///
    /// # Errors
    /// If the value is of another kind.
    pub fn numbers(&self, key: Key) -> Result<Option<Vec<usize>>, String> {
        self.value(
            key,
            |value| {
                let one = |value: &Value| usize::try_from(value.as_u64()?).ok();
                value.as_array()?.iter().map(one).collect()
            },
            |value| match value {
                Meta::Integers(all) => all.iter().map(|&n| usize::try_from(n).ok()).collect(),
                _ => None,
            },
        )
    }

    /// Yes or no for each of several, of GGUF metadata.
    ///
    /// # Errors
    /// If the value is of another kind.
    pub fn booleans(&self, name: &'static str) -> Result<Option<Vec<bool>>, String> {
        self.value(
            ("", name),
            |_| None,
            |value| match value {
                Meta::Booleans(all) => Some(all.clone()),
                _ => None,
            },
        )
    }

    /// The largest of several counts, if there are several.
    pub fn largest(&self, key: Key) -> Option<usize> {
        self.numbers(key).ok().flatten()?.into_iter().max()
    }

    /// Several real numbers.
    ///
    /// # Errors
    /// If the value is of another kind.
    pub fn floats(&self, key: Key) -> Result<Option<Vec<f64>>, String> {
        self.value(
            key,
            |value| value.as_array()?.iter().map(Value::as_f64).collect(),
            |value| match value {
                Meta::Floats(all) => Some(all.iter().map(|&x| x.into()).collect()),
                _ => None,
            },
        )
    }

    /// Several texts; only a `config.json` has them.
    ///
    /// # Errors
    /// If the value is of another kind.
    pub fn texts(&self, key: Key) -> Result<Option<Vec<&'a str>>, String> {
        let texts = |value: &'a Value| value.as_array()?.iter().map(Value::as_str).collect();
        self.value(key, texts, |_| None)
    }

    /// A part of a `config.json` that leaves out what the whole may leave out.
    ///
    /// # Errors
    /// If the value is of another kind.
    pub fn part(&self, name: &'static str) -> Result<Option<Fields<'a>>, String> {
        let part = self.object((name, ""))?;
        Ok(part.map(|part| Fields { defaults: self.defaults, ..part }))
    }

    /// An object within a `config.json`.
    ///
    /// # Errors
    /// If the value is of another kind.
    pub fn object(&self, key: Key) -> Result<Option<Fields<'a>>, String> {
        let object = self.value(key, |value| value.is_object().then_some(value), |_| None)?;
        Ok(object.map(|value| Fields::json(value, &[])))
    }
}
