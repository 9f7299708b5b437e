//! What a GGUF file says about itself: a bag of typed values.
//!
//! Knows no file format ([`super::gguf`] reads it) and no meaning of a key (the decoder's
//! configuration, the tokenizer and the chat template look up their own).

use std::collections::BTreeMap;

/// One value. Integers of every width are widened, so that a writer's choice of width never
/// matters to a reader.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Integer(i128),
    Float(f64),
    Boolean(bool),
    String(String),
    Integers(Vec<i64>),
    Floats(Vec<f32>),
    Booleans(Vec<bool>),
    Strings(Vec<String>),
    /// An array of arrays: no model uses one; kept so that a file with one still loads.
    Nested,
}

/// Values by key.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Metadata(BTreeMap<String, Value>);

impl Metadata {
    /// Adds a value; false if the key was there already (nothing is changed then).
    pub fn insert(&mut self, key: String, value: Value) -> bool {
        match self.0.entry(key) {
            std::collections::btree_map::Entry::Occupied(_) => false,
            std::collections::btree_map::Entry::Vacant(entry) => {
                entry.insert(value);
                true
            }
        }
    }

    /// A value of any type.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// Every key.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// A string.
    pub fn string(&self, key: &str) -> Option<&str> {
        match self.get(key)? {
            Value::String(s) => Some(s),
            _ => None,
        }
    }

    /// An integer that fits.
    pub fn integer(&self, key: &str) -> Option<i64> {
        match self.get(key)? {
            Value::Integer(i) => i64::try_from(*i).ok(),
            _ => None,
        }
    }

    /// A number; integers count.
    pub fn float(&self, key: &str) -> Option<f64> {
        match self.get(key)? {
            Value::Float(f) => Some(*f),
            Value::Integer(i) => Some(*i as f64),
            _ => None,
        }
    }

    /// A boolean.
    pub fn boolean(&self, key: &str) -> Option<bool> {
        match self.get(key)? {
            Value::Boolean(b) => Some(*b),
            _ => None,
        }
    }

    /// An array of strings.
    pub fn strings(&self, key: &str) -> Option<&[String]> {
        match self.get(key)? {
            Value::Strings(v) => Some(v),
            _ => None,
        }
    }

    /// An array of integers.
    pub fn integers(&self, key: &str) -> Option<&[i64]> {
        match self.get(key)? {
            Value::Integers(v) => Some(v),
            _ => None,
        }
    }

    /// An array of floats.
    pub fn floats(&self, key: &str) -> Option<&[f32]> {
        match self.get(key)? {
            Value::Floats(v) => Some(v),
            _ => None,
        }
    }
}
