//! A JSON schema as a form of replies.
//!
//! What is written is valid by the schema; not all that the schema allows is written. Objects have their properties in the
//! schema's order and no others, free values are nested a few levels deep at most, and outside of strings there is at most one
//! space, after a colon or a comma. What can't be kept to (`pattern`, `minimum`) is refused, never ignored.

use serde_json::{Map, Value};
use thiserror::Error;

use super::automaton::{Automaton, Builder};

/// Levels of a value that the schema says nothing about.
const FREE_DEPTH: usize = 3;
/// Levels of a schema, references followed.
const DEPTH_MAX: usize = 32;
/// The most items or characters that a schema may count.
const COUNT_MAX: u64 = 256;
const DIGIT: (u8, u8) = (b'0', b'9');

/// Keywords that say nothing about a value, or are read with another one.
const ANNOTATIONS: [&str; 16] = [
    "$comment",
    "$defs",
    "$id",
    "$schema",
    "additionalProperties",
    "default",
    "definitions",
    "deprecated",
    "description",
    "discriminator",
    "examples",
    "format",
    "readOnly",
    "strict",
    "title",
    "writeOnly",
];

/// Why a schema can't be kept to.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the schema{} can't be kept to: {what}", at(pointer))]
pub struct SchemaError {
    /// Where in the schema.
    pub pointer: String,
    /// What is wrong there.
    pub what: String,
}

fn at(pointer: &str) -> String {
    if pointer.is_empty() { String::new() } else { format!(" at {pointer}") }
}

/// The automaton of a schema.
///
/// # Errors
/// If the schema is malformed, too large, or has something that can't be kept to.
pub(super) fn automaton(schema: &Value) -> Result<Automaton, SchemaError> {
    let mut form = Form { builder: Builder::default(), root: schema, path: Vec::new(), depth: 0 };
    let start = form.builder.state();
    let end = form.value(start, schema)?;
    let large = SchemaError { pointer: String::new(), what: "it is too large".into() };
    form.builder.finish(start, end).ok_or(large)
}

struct Form<'a> {
    builder: Builder,
    root: &'a Value,
    path: Vec<String>,
    depth: usize,
}

type Built = Result<u32, SchemaError>;

impl<'a> Form<'a> {
    fn refuse<T>(&self, what: impl Into<String>) -> Result<T, SchemaError> {
        let pointer = self.path.iter().flat_map(|part| ["/", part.as_str()]).collect();
        Err(SchemaError { pointer, what: what.into() })
    }

    fn within(&mut self, part: &str, from: u32, schema: &'a Value) -> Built {
        self.path.push(part.to_owned());
        let end = self.value(from, schema)?;
        self.path.pop();
        Ok(end)
    }

    fn value(&mut self, from: u32, schema: &'a Value) -> Built {
        if self.depth >= DEPTH_MAX {
            return self.refuse("it is nested too deep, or refers to itself");
        }
        if self.builder.is_full() {
            return self.refuse("it is too large");
        }
        self.depth += 1;
        let end = match schema {
            Value::Bool(true) => self.free(from, FREE_DEPTH),
            Value::Object(schema) => self.of(from, schema)?,
            _ => return self.refuse("a schema is an object"),
        };
        self.depth -= 1;
        Ok(end)
    }

    fn of(&mut self, from: u32, schema: &'a Map<String, Value>) -> Built {
        let known: &[&str] = if schema.contains_key("$ref") {
            &["$ref"]
        } else if schema.contains_key("const") {
            &["const", "type"]
        } else if schema.contains_key("enum") {
            &["enum", "type"]
        } else if schema.contains_key("anyOf") {
            &["anyOf"]
        } else if schema.contains_key("oneOf") {
            &["oneOf"]
        } else if schema.contains_key("allOf") {
            &["allOf"]
        } else {
            &[
                "type",
                "properties",
                "required",
                "items",
                "minItems",
                "maxItems",
                "minLength",
                "maxLength",
            ]
        };
        let is_known =
            |key: &&String| known.contains(&key.as_str()) || ANNOTATIONS.contains(&key.as_str());
        if let Some(unknown) = schema.keys().find(|key| !is_known(key)) {
            return self.refuse(format!("`{unknown}` is not supported there"));
        }
        match known[0] {
            "$ref" => {
                let target = schema["$ref"].as_str().and_then(|r| r.strip_prefix('#'));
                match target.and_then(|pointer| self.root.pointer(pointer)) {
                    Some(target) => self.within("$ref", from, target),
                    None => self.refuse("`$ref` leads nowhere (it has to begin with #)"),
                }
            }
            "const" => Ok(self.builder.literal(from, &schema["const"].to_string())),
            "enum" => match schema["enum"].as_array().filter(|values| !values.is_empty()) {
                Some(values) => {
                    let texts: Vec<String> = values.iter().map(Value::to_string).collect();
                    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                    Ok(self.builder.one_of(from, &texts))
                }
                None => self.refuse("`enum` needs values"),
            },
            key @ ("anyOf" | "oneOf" | "allOf") => {
                let schemas = schema[key].as_array().filter(|schemas| !schemas.is_empty());
                let Some(schemas) = schemas else {
                    return self.refuse(format!("`{key}` needs schemas"));
                };
                if key == "allOf" && schemas.len() > 1 {
                    return self.refuse("`allOf` may hold one schema only");
                }
                let to = self.builder.state();
                for (n, schema) in schemas.iter().enumerate() {
                    let end = self.within(&format!("{key}/{n}"), from, schema)?;
                    self.builder.skip(end, to);
                }
                Ok(to)
            }
            _ => self.typed(from, schema),
        }
    }

    fn typed(&mut self, from: u32, schema: &'a Map<String, Value>) -> Built {
        let types: Vec<&str> = match schema.get("type") {
            Some(Value::String(name)) => vec![name],
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            Some(_) => Vec::new(),
            None if schema.contains_key("properties") => vec!["object"],
            None if schema.contains_key("items") => vec!["array"],
            None => return Ok(self.free(from, FREE_DEPTH)),
        };
        if types.is_empty() {
            return self.refuse("`type` has to be a name, or a list of them");
        }
        let to = self.builder.state();
        for name in types {
            let end = match name {
                "object" => self.object(from, schema)?,
                "array" => self.array(from, schema)?,
                "string" => {
                    let (min, max) = self.counts(schema, "minLength", "maxLength")?;
                    self.string(from, min, max)
                }
                "number" => self.number(from),
                "integer" => self.integer(from),
                "boolean" => self.builder.one_of(from, &["true", "false"]),
                "null" => self.builder.literal(from, "null"),
                other => return self.refuse(format!("there is no type {other:?}")),
            };
            self.builder.skip(end, to);
        }
        Ok(to)
    }

    fn counts(
        &self,
        schema: &Map<String, Value>,
        min: &str,
        max: &str,
    ) -> Result<(usize, Option<usize>), SchemaError> {
        let count = |name: &str| match schema.get(name) {
            None => Ok(None),
            Some(value) => match value.as_u64().filter(|&n| n <= COUNT_MAX) {
                Some(n) => Ok(Some(n as usize)),
                None => self.refuse(format!("`{name}` has to be a number up to {COUNT_MAX}")),
            },
        };
        let (min, max) = (count(min)?.unwrap_or(0), count(max)?);
        match max {
            Some(most) if most < min => {
                self.refuse("what is at least is more than what is at most")
            }
            _ => Ok((min, max)),
        }
    }

    fn comma(&mut self, from: u32) -> u32 {
        self.builder.one_of(from, &[",", ", "])
    }

    fn colon(&mut self, from: u32) -> u32 {
        self.builder.one_of(from, &[":", ": "])
    }

    fn object(&mut self, from: u32, schema: &'a Map<String, Value>) -> Built {
        static FREE: Value = Value::Bool(true);
        let mut properties: Vec<(&str, &'a Value)> = Vec::new();
        if let Some(listed) = schema.get("properties") {
            let Some(listed) = listed.as_object() else {
                return self.refuse("`properties` is an object");
            };
            properties.extend(listed.iter().map(|(name, schema)| (name.as_str(), schema)));
        }
        let required = schema.get("required").and_then(Value::as_array);
        let required: Vec<&str> =
            required.into_iter().flatten().filter_map(Value::as_str).collect();
        for name in &required {
            if !properties.iter().any(|(known, _)| known == name) {
                properties.push((name, &FREE));
            }
        }
        let others = schema.get("additionalProperties");
        if properties.is_empty() && others != Some(&Value::Bool(false)) {
            let value = others.unwrap_or(&FREE);
            return self.items(from, ("{", "}"), (0, None), &mut |form, at| {
                let at = form.string(at, 0, None);
                let at = form.colon(at);
                form.within("additionalProperties", at, value)
            });
        }
        // Where nothing was written before this property, and where something was.
        let mut first = self.builder.literal(from, "{");
        let mut later = self.builder.state();
        for (name, schema) in properties {
            let start = self.builder.state();
            self.builder.skip(first, start);
            let comma = self.comma(later);
            self.builder.skip(comma, start);
            let at = self.builder.literal(start, &Value::from(name).to_string());
            let at = self.colon(at);
            let end = self.within(&format!("properties/{name}"), at, schema)?;
            let (next_first, next_later) = (self.builder.state(), self.builder.state());
            self.builder.skip(end, next_later);
            if !required.contains(&name) {
                self.builder.skip(first, next_first);
                self.builder.skip(later, next_later);
            }
            (first, later) = (next_first, next_later);
        }
        let last = self.builder.state();
        self.builder.skip(first, last);
        self.builder.skip(later, last);
        Ok(self.builder.literal(last, "}"))
    }

    fn array(&mut self, from: u32, schema: &'a Map<String, Value>) -> Built {
        static FREE: Value = Value::Bool(true);
        let counts = self.counts(schema, "minItems", "maxItems")?;
        let of = schema.get("items").unwrap_or(&FREE);
        self.items(from, ("[", "]"), counts, &mut |form, at| form.within("items", at, of))
    }

    /// A list in brackets, with commas.
    fn items(
        &mut self,
        from: u32,
        (open, close): (&str, &str),
        (min, max): (usize, Option<usize>),
        item: &mut dyn FnMut(&mut Self, u32) -> Built,
    ) -> Built {
        let opened = self.builder.literal(from, open);
        let last = self.builder.state();
        if min == 0 {
            self.builder.skip(opened, last);
        }
        let mut at = opened;
        // Counted as far as it matters.
        let n_counted = max.unwrap_or(min.max(1));
        for n in 1..=n_counted {
            let start = if n == 1 { at } else { self.comma(at) };
            at = item(self, start)?;
            if n >= min {
                self.builder.skip(at, last);
            }
            if n == n_counted && max.is_none() {
                let comma = self.comma(at);
                let end = item(self, comma)?;
                self.builder.skip(end, at);
            }
        }
        Ok(self.builder.literal(last, close))
    }

    /// Any value, so many levels deep.
    fn free(&mut self, from: u32, depth: usize) -> u32 {
        let to = self.builder.state();
        let literal = self.builder.one_of(from, &["true", "false", "null"]);
        let (number, string) = (self.number(from), self.string(from, 0, None));
        let mut ends = vec![literal, number, string];
        if depth > 0 {
            let array = self
                .items(from, ("[", "]"), (0, None), &mut |form, at| Ok(form.free(at, depth - 1)));
            let object = self.items(from, ("{", "}"), (0, None), &mut |form, at| {
                let at = form.string(at, 0, None);
                let at = form.colon(at);
                Ok(form.free(at, depth - 1))
            });
            ends.extend(array.into_iter().chain(object));
        }
        for end in ends {
            self.builder.skip(end, to);
        }
        to
    }

    fn integer(&mut self, from: u32) -> u32 {
        let signed = self.builder.literal(from, "-");
        let start = self.builder.state();
        self.builder.skip(from, start);
        self.builder.skip(signed, start);
        let first = self.builder.class(start, &[(b'1', b'9')]);
        let end = self.builder.some(first, &[DIGIT], 0, 14);
        let zero = self.builder.literal(from, "0");
        self.builder.skip(zero, end);
        end
    }

    fn number(&mut self, from: u32) -> u32 {
        let whole = self.integer(from);
        // No whole number, but the beginning of -0.5.
        let minus_zero = self.builder.literal(from, "-0");
        self.builder.skip(minus_zero, whole);
        let point = self.builder.literal(whole, ".");
        let fraction = self.builder.some(point, &[DIGIT], 1, 10);
        self.builder.skip(whole, fraction);
        let e = self.builder.class(fraction, &[(b'e', b'e'), (b'E', b'E')]);
        let sign = self.builder.class(e, &[(b'+', b'+'), (b'-', b'-')]);
        self.builder.skip(e, sign);
        let exponent = self.builder.some(sign, &[DIGIT], 1, 2);
        let end = self.builder.state();
        self.builder.skip(fraction, end);
        self.builder.skip(exponent, end);
        end
    }

    /// A string of so many characters.
    fn string(&mut self, from: u32, min: usize, max: Option<usize>) -> u32 {
        let mut at = self.builder.literal(from, "\"");
        let last = self.builder.state();
        for n in 0..=max.unwrap_or(min) {
            if n >= min {
                self.builder.skip(at, last);
            }
            if max.is_none_or(|max| n < max) {
                let next = self.character(at);
                if n == min && max.is_none() {
                    self.builder.skip(next, at);
                } else {
                    at = next;
                }
            }
        }
        self.builder.literal(last, "\"")
    }

    /// One character of a string: UTF-8 (the Unicode Standard, section 3.9, table 3-7), or a short escape.
    fn character(&mut self, from: u32) -> u32 {
        const MORE: (u8, u8) = (0x80, 0xbf);
        let to = self.builder.class(from, &[(b' ', b'!'), (b'#', b'['), (b']', b'~')]);
        let escape = self.builder.literal(from, "\\");
        let escaped = b"\"\\/bfnrt".map(|byte| (byte, byte));
        let mut ends = vec![self.builder.class(escape, &escaped)];
        let sequences: [&[(u8, u8)]; 8] = [
            &[(0xc2, 0xdf), MORE],
            &[(0xe0, 0xe0), (0xa0, 0xbf), MORE],
            &[(0xe1, 0xec), MORE, MORE],
            &[(0xed, 0xed), (0x80, 0x9f), MORE],
            &[(0xee, 0xef), MORE, MORE],
            &[(0xf0, 0xf0), (0x90, 0xbf), MORE, MORE],
            &[(0xf1, 0xf3), MORE, MORE, MORE],
            &[(0xf4, 0xf4), (0x80, 0x8f), MORE, MORE],
        ];
        for sequence in sequences {
            ends.push(sequence.iter().fold(from, |at, &range| self.builder.class(at, &[range])));
        }
        for end in ends {
            self.builder.skip(end, to);
        }
        to
    }
}
