//! The constraint against a regular expression, which shares nothing with it.

use proptest::prelude::*;

use super::*;

/// For a vocabulary of single bytes.
fn in_bytes(constraint: &Constraint) -> MinCompletion {
    MinCompletion::new(constraint, &|bytes| bytes.len() == 1)
}

/// A reply that goes where the bytes of `will` lead and then ends by the shortest way; no position on it is a dead
/// end, and from each some byte leads closer to the end, as the bound says.
fn reply(constraint: &Constraint, will: &[u8]) -> Vec<u8> {
    let min_completion = in_bytes(constraint);
    let mut position = constraint.start();
    let (mut bytes, mut will) = (Vec::new(), will.iter());
    loop {
        let steps = (0..=255).filter_map(|byte| Some((byte, constraint.step(position, byte)?)));
        let allowed: Vec<(u8, Position)> = steps.collect();
        assert_eq!(allowed.is_empty(), !constraint.may_continue(position));
        let needed = |position| min_completion.tokens(position).expect("no dead end");
        let nearest = allowed.iter().min_by_key(|&&(_, after)| needed(after));
        assert_eq!(constraint.accepts(position), needed(position) == 0);
        assert!(needed(position) == 0 || nearest.is_some_and(|n| needed(n.1) < needed(position)));
        let next = match will.next() {
            Some(byte) if !allowed.is_empty() => {
                let wanted = allowed.iter().find(|(allowed, _)| allowed == byte);
                wanted.or(Some(&allowed[usize::from(*byte) % allowed.len()]))
            }
            _ => nearest.filter(|_| !constraint.accepts(position)),
        };
        let Some(&(byte, after)) = next else { return bytes };
        bytes.push(byte);
        position = after;
    }
}

fn accepts(constraint: &Constraint, bytes: &[u8]) -> bool {
    constraint.walk(constraint.start(), bytes).is_some_and(|end| constraint.accepts(end))
}

/// One byte put in, taken out or changed.
fn changed(bytes: &[u8], at: usize, by: u8) -> Vec<u8> {
    let mut out = bytes.to_vec();
    let at = at % (bytes.len() + 1);
    match by % 3 {
        0 => out.insert(at, b"\"\\,:{}[]- 0aeE.\n\xc3\xa9"[usize::from(by) % 18]),
        1 if at < out.len() => drop(out.remove(at)),
        _ if at < out.len() => out[at] = by,
        _ => {}
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() })]

    #[test]
    fn lines_are_what_the_expression_says(
        max in 1_u16..6, chars_max in 1_u16..6, prefix in "(|- |\\*)",
        will in prop::collection::vec(any::<u8>(), 0..60),
        changes in prop::collection::vec((any::<usize>(), any::<u8>()), 12),
    ) {
        let lines = Lines { max, prefix, chars_max };
        let constraint = Constraint::lines(lines.clone()).unwrap();
        let indent = if lines.prefix.ends_with(' ') { "" } else { " ?" };
        let line = format!(
            r"{}{indent}[^\x00-\x20\x7f][^\x00-\x1f\x7f]{{0,{}}}",
            regex::escape(&lines.prefix), chars_max - 1,
        );
        let pattern = format!(r"^{line}(?:\n{line}){{0,{}}}$", lines.max - 1);
        let reference = regex::bytes::Regex::new(&pattern).unwrap();
        let said = reply(&constraint, &will);
        prop_assert!(reference.is_match(&said), "{}", String::from_utf8_lossy(&said));
        prop_assert!(str::from_utf8(&said).is_ok());
        for (at, by) in changes {
            let other = changed(&said, at, by);
            prop_assert_eq!(accepts(&constraint, &other), reference.is_match(&other), "{:?}", other);
        }
    }
}

#[test]
fn impossible_lists_are_refused() {
    let lines = Lines { max: 2, prefix: "- ".into(), chars_max: 9 };
    assert!(Constraint::lines(lines.clone()).is_some());
    for impossible in [
        Lines { max: 0, ..lines.clone() },
        Lines { chars_max: 0, ..lines.clone() },
        Lines { prefix: "-\n".into(), ..lines.clone() },
    ] {
        assert_eq!(Constraint::lines(impossible), None);
    }
}

#[test]
fn longer_tokens_shorten_a_prefix() {
    let lines = Lines { max: 2, prefix: "Name: ".into(), chars_max: 9 };
    let constraint = Constraint::lines(lines).unwrap();
    assert_eq!(in_bytes(&constraint).tokens(constraint.start()), Some(7)); // "Name: !"
    let needed = |tokens: &[&str]| {
        let is_token = |bytes: &[u8]| tokens.iter().any(|token| token.as_bytes() == bytes);
        MinCompletion::new(&constraint, &is_token).tokens(constraint.start())
    };
    assert_eq!(needed(&["Name", ": ", "a"]), Some(3));
    assert_eq!(needed(&["Name", "Na", "m", "e", ": ", ":", " ", "a", "\n"]), Some(3));
    assert_eq!(needed(&["Name", ":", "a", "\n"]), None, "nothing spells the prefix");
    assert_eq!(needed(&["Name", ": ", "\n"]), None, "nothing spells a line");
}

/// Whether `value` is valid by the parts of JSON Schema that the forms below use.
fn is_valid(value: &Value, schema: &Value, root: &Value) -> bool {
    let resolved = schema["$ref"].as_str().map(|r| root.pointer(&r[1..]).unwrap());
    let schema = resolved.unwrap_or(schema);
    if let Some(schemas) = schema["anyOf"].as_array() {
        return schemas.iter().any(|schema| is_valid(value, schema, root));
    }
    if let Some(values) = schema["enum"].as_array() {
        return values.contains(value);
    }
    let count = |name: &str, or: u64| schema[name].as_u64().unwrap_or(or);
    match (schema["type"].as_str().unwrap(), value) {
        ("object", Value::Object(fields)) => {
            let required = schema["required"].as_array().into_iter().flatten();
            required.filter_map(Value::as_str).all(|name| fields.contains_key(name))
                && fields.iter().all(|(name, value)| {
                    let of =
                        schema["properties"].get(name).unwrap_or(&schema["additionalProperties"]);
                    is_valid(value, of, root)
                })
        }
        ("array", Value::Array(items)) => {
            (count("minItems", 0)..=count("maxItems", u64::MAX)).contains(&(items.len() as u64))
                && items.iter().all(|item| is_valid(item, &schema["items"], root))
        }
        ("string", Value::String(text)) => {
            let n = text.chars().count() as u64;
            (count("minLength", 0)..=count("maxLength", u64::MAX)).contains(&n)
        }
        ("integer", value) => value.is_i64(),
        ("number", value) => value.is_number(),
        ("boolean", value) => value.is_boolean(),
        ("null", value) => value.is_null(),
        _ => false,
    }
}

fn schemas() -> Vec<Value> {
    use serde_json::json;
    let place = json!({"type": "object", "properties": {"at": {"type": "number"}}});
    vec![
        json!({
            "type": "object",
            "$defs": {"place": place},
            "properties": {
                "a": {"$ref": "#/$defs/place"},
                "ab": {"type": "string", "minLength": 1, "maxLength": 3},
                "abc": {"enum": ["x", "xy", 3, null, "é\"\\\n"]},
                "b": {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 3},
                "c": {"anyOf": [{"type": "boolean"}, {"type": "array", "items": {"type": "string"}}]}
            },
            "required": ["ab", "c"]
        }),
        json!({"type": "object", "additionalProperties": {"type": "null"}}),
        json!({"type": "array", "items": {"type": "number"}, "minItems": 1}),
        json!({"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"]}),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() })]

    #[test]
    fn json_is_valid_by_its_schema(
        which in 0..schemas().len(), will in prop::collection::vec(any::<u8>(), 0..120),
        changes in prop::collection::vec((any::<usize>(), any::<u8>()), 12),
    ) {
        let schema = &schemas()[which];
        let constraint = Constraint::json(schema).unwrap();
        let said = reply(&constraint, &will);
        for (at, by) in changes.into_iter().chain([(0, 2)]) {
            let text = if by == 2 { said.clone() } else { changed(&said, at, by) };
            if accepts(&constraint, &text) {
                let value = serde_json::from_slice(&text);
                prop_assert!(value.is_ok_and(|value| is_valid(&value, schema, schema)), "{}", String::from_utf8_lossy(&text));
            } else {
                prop_assert!(text != said);
            }
        }
    }
}

#[test]
fn json_is_written_in_one_way_and_in_no_other() {
    use serde_json::json;
    let [object, map, numbers, one] = schemas().try_into().unwrap();
    let check = |schema: &Value, text: &str, good: bool| {
        let constraint = Constraint::json(schema).unwrap();
        assert_eq!(accepts(&constraint, text.as_bytes()), good, "{text}");
    };
    check(&object, r#"{"ab": "é", "c":true}"#, true);
    check(&object, r#"{"a":{},"ab":"abc","abc":"xy","b":[1, 2],"c":["\n"]}"#, true);
    check(&object, r#"{"ab":"","c":true}"#, false);
    check(&object, r#"{"c":true,"ab":"a"}"#, false);
    check(&object, r#"{"ab":"a","c":true,}"#, false);
    check(&object, r#"{"ab":"a"}"#, false);
    check(&map, r#"{"x":null, "y": null}"#, true);
    check(&map, "{}", true);
    for number in ["0", "-0.5", "12e-3", "1.25E+10"] {
        check(&numbers, &format!("[{number}]"), true);
    }
    for number in ["", "01", ".5", "1.", "+1", "1e", "NaN"] {
        check(&numbers, &format!("[{number}]"), false);
    }
    // Tokens of several bytes shorten what is left to write.
    let needed = |tokens: &[&str]| {
        let is_token =
            |bytes: &[u8]| bytes.len() == 1 || tokens.iter().any(|t| t.as_bytes() == bytes);
        let constraint = Constraint::json(&one).unwrap();
        MinCompletion::new(&constraint, &is_token).tokens(constraint.start())
    };
    assert_eq!(needed(&[]), Some(10)); // {"a":null}
    assert_eq!(needed(&["{\"", "null", "\":", "null}"]), Some(4));
    let free = Constraint::json(&json!({})).unwrap();
    assert!(accepts(&free, br#"{"a": [1, {"b": "c"}], "d": false}"#));
    for (schema, pointer) in [
        (
            json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "x"}}}),
            "/properties/a",
        ),
        (json!({"items": {"minimum": 3}}), "/items"),
        (json!({"$ref": "#/nowhere"}), ""),
        (json!({"enum": []}), ""),
        (json!({"type": "string", "minLength": 3, "maxLength": 2}), ""),
        (json!({"type": "string", "maxLength": 100_000}), ""),
        (json!(3), ""),
    ] {
        assert_eq!(Constraint::json(&schema).unwrap_err().pointer, pointer, "{schema}");
    }
    // Each level doubles the last.
    let mut large = json!({"$ref": "#/$defs/10", "$defs": {"0": {"type": "string"}}});
    for n in 1..=10 {
        let last = json!({"$ref": format!("#/$defs/{}", n - 1)});
        let either = json!({"anyOf": [last, {"type": "array", "items": last}]});
        large["$defs"][n.to_string()] = either;
    }
    assert!(Constraint::json(&large).is_err());
}
