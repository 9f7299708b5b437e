//! The part of JSON Schema that tools need: types, fields, ranges, choices. Keywords beyond it are ignored.

use serde_json::{Map, Value};

/// Whether `value` fits: otherwise what is wrong with it, as `place: why`.
///
/// # Errors
/// At the first thing that does not fit.
pub fn validate(schema: &Value, value: &Value) -> Result<(), String> {
    check(schema, value, "")
}

fn check(schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let wrong =
        |why: &str| Err(if at.is_empty() { why.to_owned() } else { format!("{at}: {why}") });
    if let Some(wanted) = schema.get("type") {
        let wanted: Vec<&str> = match wanted {
            Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
            name => name.as_str().into_iter().collect(),
        };
        if !wanted.iter().any(|name| is_a(name, value)) {
            return wrong(&format!("has to be of type {}", wanted.join(" or ")));
        }
    }
    if let Some(Value::Array(choices)) = schema.get("enum")
        && !choices.contains(value)
    {
        let choices: Vec<String> = choices.iter().map(ToString::to_string).collect();
        return wrong(&format!("has to be one of {}", choices.join(", ")));
    }
    match value {
        Value::Number(n) => {
            let bound = |key| schema.get(key).and_then(Value::as_f64);
            let n = n.as_f64().unwrap_or(f64::NAN);
            if let Some(min) = bound("minimum").filter(|min| n < *min) {
                return wrong(&format!("has to be at least {min}"));
            }
            if let Some(max) = bound("maximum").filter(|max| n > *max) {
                return wrong(&format!("has to be at most {max}"));
            }
            Ok(())
        }
        Value::String(text) => {
            let bound = |key| schema.get(key).and_then(Value::as_u64);
            let n = text.chars().count() as u64;
            if bound("minLength").is_some_and(|min| n < min) {
                return wrong("has to be longer");
            }
            match bound("maxLength").filter(|max| n > *max) {
                Some(max) => wrong(&format!("has to be at most {max} characters, and has {n}")),
                None => Ok(()),
            }
        }
        Value::Array(items) => {
            let Some(schema) = schema.get("items") else { return Ok(()) };
            items.iter().enumerate().try_for_each(|(i, v)| check(schema, v, &format!("{at}[{i}]")))
        }
        Value::Object(fields) => check_fields(schema, fields, at),
        Value::Null | Value::Bool(_) => Ok(()),
    }
}

fn check_fields(schema: &Value, fields: &Map<String, Value>, at: &str) -> Result<(), String> {
    let place = |name: &str| if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
    let required = schema.get("required").and_then(Value::as_array);
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        if !fields.contains_key(name) {
            return Err(format!("{}: is missing", place(name)));
        }
    }
    let known = schema.get("properties").and_then(Value::as_object);
    for (name, value) in fields {
        match known.and_then(|known| known.get(name)) {
            Some(schema) => check(schema, value, &place(name))?,
            None if schema.get("additionalProperties") == Some(&Value::Bool(false)) => {
                let known = known.into_iter().flat_map(Map::keys);
                let known: Vec<&str> = known.map(String::as_str).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                return Err(format!("{}: is unknown (there are: {known})", place(name)));
            }
            None => {}
        }
    }
    Ok(())
}

fn is_a(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        // 5.0 is an integer, too.
        "integer" => {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|x| x.fract() == 0.0)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(schema: &Value, value: Value, wrong: Option<&str>) {
        assert_eq!(validate(schema, &value).err().as_deref(), wrong, "{value}");
    }

    #[test]
    fn what_does_not_fit_is_named_with_its_place() {
        let schema = json!({
            "type": "object",
            "properties": {
                "text": {"type": "string", "minLength": 1, "maxLength": 4},
                "n": {"type": "integer", "minimum": 1, "maximum": 9},
                "of": {"enum": ["a", "b"]},
                "list": {"type": "array", "items": {
                    "type": "object", "properties": {"id": {"type": ["string", "null"]}}, "required": ["id"]
                }}
            },
            "required": ["text"],
            "additionalProperties": false
        });
        check(&schema, json!({"text": "mönk", "n": 9, "of": "a"}), None);
        check(&schema, json!({"text": "a", "n": 2.0}), None);
        check(&schema, json!({"text": "a", "list": [{"id": null}, {"id": "x"}]}), None);
        check(&schema, json!([]), Some("has to be of type object"));
        check(&schema, json!({}), Some("text: is missing"));
        check(&schema, json!({"text": 1}), Some("text: has to be of type string"));
        check(&schema, json!({"text": ""}), Some("text: has to be longer"));
        let long = "text: has to be at most 4 characters, and has 5";
        check(&schema, json!({"text": "aaaaa"}), Some(long));
        check(&schema, json!({"text": "a", "n": 0}), Some("n: has to be at least 1"));
        check(&schema, json!({"text": "a", "n": 1.5}), Some("n: has to be of type integer"));
        check(&schema, json!({"text": "a", "n": 10}), Some("n: has to be at most 9"));
        check(&schema, json!({"text": "a", "of": "c"}), Some("of: has to be one of \"a\", \"b\""));
        let unknown = "more: is unknown (there are: text, n, of, list)";
        check(&schema, json!({"text": "a", "more": 1}), Some(unknown));
        let inside = "list[1].id: has to be of type string or null";
        check(&schema, json!({"text": "a", "list": [{"id": "x"}, {"id": 3}]}), Some(inside));
    }
}
