//! A subset of JSON Schema, and the automaton of what it accepts.

use serde_json::{Map, Value};

use super::ConstraintError;
use super::automaton::{Action, Automaton, END, Edge, StateId};
use super::build::{Builder, Ending, TextClass, edge};
use super::dates::DateForm;

/// Digits of an integer that fits 64 bits with its sign, and of a number's parts.
const DIGITS_MAX: usize = 18;
const FRACTION_DIGITS_MAX: usize = 15;

/// The values that a reply may be.
#[derive(Debug, Clone, PartialEq)]
pub enum Schema {
    Null,
    Boolean,
    /// At most 18 digits.
    Integer,
    /// At most 18 digits before the point and 15 after it; no exponent.
    Number,
    /// Lengths in characters, an escaped one counts once.
    String {
        min: u16,
        max: u16,
    },
    Enumeration(Vec<String>),
    /// A string that is a day of the calendar.
    Date,
    Array {
        items: Box<Schema>,
        min: u16,
        max: u16,
    },
    /// In this order; the optional ones may be left out.
    Object(Vec<Property>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Property {
    pub name: String,
    pub required: bool,
    pub schema: Schema,
}

/// Words that say nothing about what a value may be.
const ANNOTATIONS: [&str; 6] =
    ["title", "description", "examples", "default", "$schema", "additionalProperties"];

impl Schema {
    /// From a JSON Schema. Whatever is not understood is refused rather than ignored: its replies would not be
    /// what was asked for.
    ///
    /// # Errors
    /// [`ConstraintError::Schema`] with the place and the reason.
    pub fn from_json(schema: &Value) -> Result<Self, ConstraintError> {
        Reader { at: "$".into() }.read(schema)
    }

    pub(super) fn compile(&self) -> Result<Automaton, ConstraintError> {
        let mut builder = Builder::new();
        let start = self.build(&mut builder, END)?;
        Ok(builder.finish(start))
    }

    fn build(&self, builder: &mut Builder, next: StateId) -> Result<StateId, ConstraintError> {
        Ok(match self {
            Self::Null => builder.literal(b"null", next),
            Self::Boolean => builder.choice(&[(b"false", next), (b"true", next)]),
            Self::Integer => number(builder, next, false),
            Self::Number => number(builder, next, true),
            Self::String { min, max } => {
                let close = builder.literal(b"\"", next);
                let text = builder.text((*min, *max), TextClass::Json, close)?;
                let action = Action::Set { counter: text.counter, to: 0 };
                builder.branch(vec![Edge { action, ..edge(b'"', b'"', text.state) }])
            }
            Self::Enumeration(values) => {
                let mut values: Vec<String> = values.iter().map(|v| quoted(v)).collect();
                values.sort_unstable();
                values.dedup();
                let options: Vec<(&[u8], StateId)> =
                    values.iter().map(|v| (v.as_bytes(), next)).collect();
                builder.choice(&options)
            }
            Self::Date => {
                let close = builder.literal(b"\"", next);
                let date = DateForm::Iso.build(builder, close);
                builder.literal(b"\"", date)
            }
            Self::Array { max: 0, .. } => builder.literal(b"[]", next),
            Self::Array { items, min, max } => {
                let list = builder.repeat(
                    ((*min).max(1), *max),
                    b',',
                    Ending::Byte(b']', next),
                    |builder, after| {
                        let item = items.build(builder, after)?;
                        Ok((item, builder.optional_space(item)))
                    },
                )?;
                let mut edges = builder.edges_of(list.first);
                if *min == 0 {
                    edges.push(edge(b']', b']', next));
                }
                let opened = builder.branch(edges);
                let action = Action::Set { counter: list.counter, to: 0 };
                builder.branch(vec![Edge { action, ..edge(b'[', b'[', opened) }])
            }
            Self::Object(properties) => object(builder, properties, next)?,
        })
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// `-?` digits without a leading zero (and no `-0`, which is no integer to most readers), perhaps a fraction.
/// A number has no end of its own: what follows it tells.
fn number(builder: &mut Builder, next: StateId, fraction: bool) -> StateId {
    let end = if fraction {
        let more = digits(builder, FRACTION_DIGITS_MAX - 1, next);
        let first = builder.branch(vec![edge(b'0', b'9', more)]);
        builder.branch_or(vec![edge(b'.', b'.', first)], next)
    } else {
        next
    };
    let more = digits(builder, DIGITS_MAX - 1, end);
    let mut negative = vec![edge(b'1', b'9', more)];
    if fraction {
        negative.push(edge(b'0', b'0', end));
    }
    let negative = builder.branch(negative);
    builder.branch(vec![edge(b'-', b'-', negative), edge(b'0', b'0', end), edge(b'1', b'9', more)])
}

/// At most `n` digits.
fn digits(builder: &mut Builder, n: usize, next: StateId) -> StateId {
    (0..n).fold(next, |more, _| builder.branch_or(vec![edge(b'0', b'9', more)], next))
}

fn object(
    builder: &mut Builder,
    properties: &[Property],
    next: StateId,
) -> Result<StateId, ConstraintError> {
    // From the last property to the first: what may follow each, and how its value begins.
    let mut values: Vec<StateId> = vec![END; properties.len()];
    let mut following = builder.literal(b"}", next);
    for (i, property) in properties.iter().enumerate().rev() {
        let value = property.schema.build(builder, following)?;
        values[i] = builder.optional_space(value);
        let key = keys(builder, &properties[i..], &values[i..]);
        let key = builder.optional_space(key);
        let mut edges = vec![edge(b',', b',', key)];
        if properties[i..].iter().all(|p| !p.required) {
            edges.push(edge(b'}', b'}', next));
        }
        following = builder.branch(edges);
    }
    let mut edges = Vec::new();
    if !properties.is_empty() {
        let key = keys(builder, properties, &values);
        edges.extend(builder.edges_of(key));
    }
    if properties.iter().all(|p| !p.required) {
        edges.push(edge(b'}', b'}', next));
    }
    let opened = builder.branch(edges);
    Ok(builder.literal(b"{", opened))
}

/// The next property: any of the optional ones up to the first that is required.
fn keys(builder: &mut Builder, properties: &[Property], values: &[StateId]) -> StateId {
    let n = properties.iter().position(|p| p.required).map_or(properties.len(), |i| i + 1);
    let names: Vec<String> = properties[..n].iter().map(|p| quoted(&p.name) + ":").collect();
    let options: Vec<(&[u8], StateId)> =
        names.iter().zip(values).map(|(name, &value)| (name.as_bytes(), value)).collect();
    builder.choice(&options)
}

/// Reads a schema and knows where it is.
struct Reader {
    at: String,
}

impl Reader {
    fn refuse<T>(&self, reason: impl Into<String>) -> Result<T, ConstraintError> {
        Err(ConstraintError::Schema { at: self.at.clone(), reason: reason.into() })
    }

    fn inside(&self, step: &str) -> Self {
        Self { at: format!("{}.{step}", self.at) }
    }

    fn read(&self, schema: &Value) -> Result<Schema, ConstraintError> {
        let Some(map) = schema.as_object() else { return self.refuse("it is no object") };
        let Some(kind) = map.get("type").and_then(Value::as_str) else {
            return self.refuse("it names no single `type`");
        };
        let known: &[&str] = match kind {
            "object" => &["properties", "required"],
            "array" => &["items", "minItems", "maxItems"],
            "string" => &["minLength", "maxLength", "enum", "format"],
            _ => &[],
        };
        let unknown = map.keys().find(|key| {
            let key = key.as_str();
            key != "type" && !known.contains(&key) && !ANNOTATIONS.contains(&key)
        });
        if let Some(key) = unknown {
            return self.refuse(format!("`{key}` is not supported for `{kind}`"));
        }
        match kind {
            "null" => Ok(Schema::Null),
            "boolean" => Ok(Schema::Boolean),
            "integer" => Ok(Schema::Integer),
            "number" => Ok(Schema::Number),
            "string" => self.string(map),
            "array" => {
                let (min, max) = self.bounds(map, "minItems", "maxItems")?;
                let Some(items) = map.get("items") else { return self.refuse("it has no `items`") };
                let items = Box::new(self.inside("items").read(items)?);
                Ok(Schema::Array { items, min, max })
            }
            "object" => self.object(map),
            other => self.refuse(format!("type `{other}` is not supported")),
        }
    }

    fn string(&self, map: &Map<String, Value>) -> Result<Schema, ConstraintError> {
        let bounded = map.contains_key("minLength") || map.contains_key("maxLength");
        match (map.get("enum"), map.get("format")) {
            (None, None) => {
                let (min, max) = self.bounds(map, "minLength", "maxLength")?;
                Ok(Schema::String { min, max })
            }
            (Some(Value::Array(values)), None) if !bounded && !values.is_empty() => {
                let texts = values.iter().map(|v| v.as_str().map(str::to_owned));
                match texts.collect::<Option<Vec<String>>>() {
                    Some(texts) => Ok(Schema::Enumeration(texts)),
                    None => self.refuse("not every value of `enum` is a string"),
                }
            }
            (None, Some(Value::String(format))) if !bounded && format == "date" => Ok(Schema::Date),
            _ => self.refuse("only one of lengths, `enum` and `format: date` is supported"),
        }
    }

    fn object(&self, map: &Map<String, Value>) -> Result<Schema, ConstraintError> {
        let none = Map::new();
        let properties = match map.get("properties") {
            None => &none,
            Some(Value::Object(properties)) => properties,
            Some(_) => return self.refuse("`properties` is no object"),
        };
        let required: Vec<&str> = match map.get("required") {
            None => Vec::new(),
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            Some(_) => return self.refuse("`required` is no list"),
        };
        if let Some(name) = required.iter().find(|name| !properties.contains_key(**name)) {
            return self.refuse(format!("`{name}` is required and not described"));
        }
        let properties = properties.iter().map(|(name, schema)| {
            let schema = self.inside(name).read(schema)?;
            Ok(Property { name: name.clone(), required: required.contains(&name.as_str()), schema })
        });
        Ok(Schema::Object(properties.collect::<Result<_, _>>()?))
    }

    /// Two limits, the lower one 0 and the upper one as large as can be counted where there is none.
    fn bounds(
        &self,
        map: &Map<String, Value>,
        min: &str,
        max: &str,
    ) -> Result<(u16, u16), ConstraintError> {
        let limit = |name: &str, otherwise: u16| match map.get(name) {
            None => Ok(otherwise),
            Some(value) => match value.as_u64().map(u16::try_from) {
                Some(Ok(limit)) => Ok(limit),
                _ => self.refuse(format!("`{name}` is no number up to {}", u16::MAX)),
            },
        };
        let (low, high) = (limit(min, 0)?, limit(max, u16::MAX)?);
        if low > high {
            return self.refuse(format!("`{min}` is larger than `{max}`"));
        }
        Ok((low, high))
    }
}
