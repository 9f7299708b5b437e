//! The automata against readers that share nothing with them: regular expressions, serde_json, jiff.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;

use jiff::civil::Date;
use proptest::prelude::*;
use regex::Regex;
use serde_json::{Value, json};

use super::schema::Property;
use super::*;

/// The same language as a regular expression (dates of the right shape only).
fn pattern(schema: &Schema) -> String {
    match schema {
        Schema::Null => "null".into(),
        Schema::Boolean => "(?:true|false)".into(),
        Schema::Integer => "(?:0|-?[1-9][0-9]{0,17})".into(),
        Schema::Number => r"-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,15})?".into(),
        Schema::String { min, max } => {
            format!(r#""(?:[^"\\\x00-\x1f\x7f]|\\["/\\bfnrt]){{{min},{max}}}""#)
        }
        Schema::Enumeration(values) => {
            let values = values.iter().map(|v| regex::escape(&json!(v).to_string()));
            format!("(?:{})", values.collect::<Vec<_>>().join("|"))
        }
        Schema::Date => r#""(?:19|20)[0-9]{2}-[0-9]{2}-[0-9]{2}""#.into(),
        Schema::Array { items, min, max } => {
            let item = pattern(items);
            let list = |min: u16| format!("{item}(?:, ?{item}){{{},{}}}", min - 1, max - 1);
            match (min, max) {
                (_, 0) => r"\[\]".into(),
                (0, _) => format!(r"\[(?:{})?\]", list(1)),
                _ => format!(r"\[{}\]", list(*min)),
            }
        }
        Schema::Object(properties) => {
            // Every set of the optional properties in turn.
            let optional: Vec<usize> =
                (0..properties.len()).filter(|&i| !properties[i].required).collect();
            let sets = (0..1_u32 << optional.len()).map(|set| {
                let left_out = |i: &usize| {
                    optional.iter().position(|o| o == i).is_some_and(|bit| set >> bit & 1 == 0)
                };
                let kept = (0..properties.len()).filter(|i| !left_out(i)).map(|i| {
                    let Property { name, schema, .. } = &properties[i];
                    format!("{}: ?{}", regex::escape(&json!(name).to_string()), pattern(schema))
                });
                format!(r"\{{{}\}}", kept.collect::<Vec<_>>().join(", ?"))
            });
            format!("(?:{})", sets.collect::<Vec<_>>().join("|"))
        }
    }
}

/// Whether a value is what the schema says, by its meaning.
fn fits(schema: &Schema, value: &Value) -> bool {
    match (schema, value) {
        (Schema::Null, Value::Null) | (Schema::Boolean, Value::Bool(_)) => true,
        (Schema::Integer, Value::Number(n)) => n.is_i64(),
        (Schema::Number, Value::Number(n)) => n.as_f64().is_some_and(f64::is_finite),
        (Schema::String { min, max }, Value::String(s)) => {
            (usize::from(*min)..=usize::from(*max)).contains(&s.chars().count())
        }
        (Schema::Enumeration(values), Value::String(s)) => values.contains(s),
        (Schema::Date, Value::String(s)) => s.parse::<Date>().is_ok(),
        (Schema::Array { items, min, max }, Value::Array(list)) => {
            (usize::from(*min)..=usize::from(*max)).contains(&list.len())
                && list.iter().all(|value| fits(items, value))
        }
        (Schema::Object(properties), Value::Object(map)) => {
            properties
                .iter()
                .all(|p| map.get(&p.name).map_or(!p.required, |value| fits(&p.schema, value)))
                && map.keys().all(|key| properties.iter().any(|p| p.name == *key))
        }
        _ => false,
    }
}

fn schema() -> impl Strategy<Value = Schema> {
    let leaf = prop_oneof![
        Just(Schema::Null),
        Just(Schema::Boolean),
        Just(Schema::Integer),
        Just(Schema::Number),
        Just(Schema::Date),
        (0_u16..4, 0_u16..5).prop_map(|(min, more)| Schema::String { min, max: min + more }),
        prop::collection::btree_set("[ab\"é]{0,3}", 1..4)
            .prop_map(|set| Schema::Enumeration(set.into_iter().collect())),
    ];
    leaf.prop_recursive(3, 8, 3, |inner| {
        let names = prop::collection::btree_set("[ab ]{1,3}", 0..4);
        let property = (any::<bool>(), inner.clone());
        prop_oneof![
            (inner, 0_u16..3, 0_u16..3).prop_map(|(items, min, more)| Schema::Array {
                items: Box::new(items),
                min,
                max: min + more,
            }),
            (names, prop::collection::vec(property, 4)).prop_map(|(names, properties)| {
                let named = names.into_iter().zip(properties);
                let property = |(name, (required, schema))| Property { name, required, schema };
                Schema::Object(named.map(property).collect())
            }),
        ]
    })
}

/// A reply that goes where the bytes of `will` lead and ends on the shortest way; on its way every position can
/// be completed, within the number of bytes that was told.
fn reply(constraint: &Constraint, will: &[u8]) -> Vec<u8> {
    let automaton = constraint.automaton();
    let needs = Needs::in_bytes(automaton);
    let mut position = automaton.start();
    let mut bytes = Vec::new();
    for &byte in will {
        let allowed: Vec<(u8, Position)> = automaton.steps(position).collect();
        let wanted = automaton.step(position, byte).map(|after| (byte, after));
        let firsts: BTreeSet<u8> = allowed.iter().map(|(byte, _)| *byte).collect();
        assert_eq!(firsts.len(), allowed.len(), "two ways on with one byte");
        let other = || allowed.get(usize::from(byte) % allowed.len().max(1)).copied();
        let Some((byte, after)) = wanted.or_else(other) else { break };
        assert_eq!(automaton.step(position, byte), Some(after));
        bytes.push(byte);
        position = after;
        let needed = needs.tokens(automaton, position).expect("no dead end");
        let end = needs.completion(automaton, position);
        assert!(end.len() <= needed as usize, "{} bytes instead of {needed}", end.len());
        assert!(automaton.accepts(automaton.walk(position, &end).expect("it goes on so")));
    }
    bytes.extend(needs.completion(automaton, position));
    bytes
}

fn accepts(constraint: &Constraint, bytes: &[u8]) -> bool {
    let automaton = constraint.automaton();
    automaton.walk(automaton.start(), bytes).is_some_and(|end| automaton.accepts(end))
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
    fn json_is_what_its_readers_say(
        schema in schema(), will in prop::collection::vec(any::<u8>(), 0..60),
        changes in prop::collection::vec((any::<usize>(), any::<u8>()), 12),
    ) {
        let constraint = Constraint::json(&schema).unwrap();
        let reference = regex::bytes::Regex::new(&format!("^{}$", pattern(&schema))).unwrap();
        let said = reply(&constraint, &will);
        let value: Value = serde_json::from_slice(&said).unwrap();
        prop_assert!(fits(&schema, &value), "{value}");
        prop_assert!(reference.is_match(&said), "{}", String::from_utf8_lossy(&said));
        let days = Regex::new("[0-9]{4}-[0-9]{2}-[0-9]{2}").unwrap();
        for (at, by) in changes {
            let other = changed(&said, at, by);
            // The expression knows a date's shape only.
            let text = String::from_utf8_lossy(&other);
            let real = days.find_iter(&text).all(|day| day.as_str().parse::<Date>().is_ok());
            if real || accepts(&constraint, &other) {
                prop_assert_eq!(accepts(&constraint, &other), reference.is_match(&other), "{}", text);
            }
        }
    }

    #[test]
    fn whatever_the_expression_makes_is_accepted(
        (schema, text) in schema()
            .prop_filter("a date's shape is not yet a date", |s| !format!("{s:?}").contains("Date"))
            .prop_flat_map(|s| {
                let texts = proptest::string::string_regex(&pattern(&s)).unwrap();
                (Just(s), texts)
            }),
    ) {
        prop_assert!(accepts(&Constraint::json(&schema).unwrap(), text.as_bytes()), "{}", text);
    }

    #[test]
    fn lines_are_what_the_expression_says(
        min in 1_u16..4, more in 0_u16..3, chars_max in 1_u16..6, prefix in "(|- |\\*)",
        will in prop::collection::vec(any::<u8>(), 0..60),
        changes in prop::collection::vec((any::<usize>(), any::<u8>()), 12),
    ) {
        let lines = Lines { min, max: min + more, prefix, chars_max };
        let constraint = Constraint::lines(&lines).unwrap();
        let indent = if lines.prefix.ends_with(' ') { "" } else { " ?" };
        let line = format!(
            r"{}{indent}[^\x00-\x20\x7f][^\x00-\x1f\x7f]{{0,{}}}",
            regex::escape(&lines.prefix), chars_max - 1,
        );
        let pattern = format!(r"^{line}(?:\n{line}){{{},{}}}$", min - 1, lines.max - 1);
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

const MONTHS: [&str; 14] = [
    "Smarch",
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
    "Undecimber",
];

#[test]
fn every_day_of_the_calendar_and_no_other() {
    let (iso, written) = (Constraint::date(DateForm::Iso), Constraint::date(DateForm::Written));
    for year in 1890..2110_i16 {
        for (month, name) in (0..).zip(MONTHS) {
            for day in 0..33_i8 {
                let real = Date::new(year, month, day).is_ok() && (1900..2100).contains(&year);
                let text = format!("{year}-{month:02}-{day:02}");
                assert_eq!(accepts(&iso, text.as_bytes()), real, "{text}");
                let text = format!("{day} {name} {year}");
                assert_eq!(accepts(&written, text.as_bytes()), real, "{text}");
            }
        }
    }
    for text in
        ["", "2026-11-2", "2026-11-222", "2026-1-02", "02 May 2026", "2 May  2026", "2 May 26"]
    {
        assert!(!accepts(&iso, text.as_bytes()) && !accepts(&written, text.as_bytes()), "{text}");
    }
}

#[track_caller]
fn refuses(schema: Value, at: &str, because: &str) {
    let refused = Schema::from_json(&schema).unwrap_err().to_string();
    assert!(refused.contains(at) && refused.contains(because), "{refused}");
}

#[test]
fn what_is_not_understood_is_refused() {
    refuses(json!([]), "$ ", "no object");
    refuses(json!({"anyOf": []}), "$ ", "no single `type`");
    refuses(json!({"type": ["null", "string"]}), "$ ", "no single `type`");
    refuses(json!({"type": "integer", "minimum": 3}), "$ ", "`minimum`");
    refuses(json!({"type": "string", "pattern": "a"}), "$ ", "`pattern`");
    refuses(json!({"type": "string", "enum": [1]}), "$ ", "not every value");
    refuses(json!({"type": "string", "enum": []}), "$ ", "only one of");
    refuses(json!({"type": "string", "maxLength": 70_000}), "$ ", "65535");
    refuses(json!({"type": "string", "minLength": 3, "maxLength": 2}), "$ ", "larger");
    refuses(json!({"type": "array"}), "$ ", "`items`");
    refuses(
        json!({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "x"}}}}),
        "$.a.items ",
        "`x`",
    );
    refuses(json!({"type": "object", "required": ["a"]}), "$ ", "`a` is required");
    let deep = (0..7).fold(json!({"type": "null"}), |s, _| json!({"type": "array", "items": s}));
    let deep = Schema::from_json(&deep).unwrap();
    assert_eq!(Constraint::json(&deep), Err(ConstraintError::TooDeep { max: 5 }));
    let none = Lines { min: 2, max: 1, prefix: String::new(), chars_max: 9 };
    assert!(matches!(Constraint::lines(&none), Err(ConstraintError::Lines { .. })));
}

#[test]
fn a_schema_is_read_as_it_is_written() {
    let schema = Schema::from_json(&json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object", "title": "Event", "additionalProperties": false,
        "properties": {
            "name": {"type": "string", "maxLength": 80},
            "day": {"type": "string", "format": "date"},
            "tags": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "maxItems": 3},
        },
        "required": ["name", "day"],
    }))
    .unwrap();
    let constraint = Constraint::json(&schema).unwrap();
    for (text, good) in [
        (r#"{"name": "x", "day": "2024-02-29"}"#, true),
        (r#"{"name":"","day":"2024-02-29","tags":["a", "b","a"]}"#, true),
        (r#"{"name": "x", "day": "2023-02-29"}"#, false),
        (r#"{"day": "2024-02-29", "name": "x"}"#, false),
        (r#"{"name": "x", "day": "2024-02-29", "tags": ["c"]}"#, false),
        (r#"{"name": "x"}"#, false),
    ] {
        assert_eq!(accepts(&constraint, text.as_bytes()), good, "{text}");
    }
}

#[test]
fn longer_tokens_shorten_what_is_forced() {
    let schema =
        json!({"type": "object", "properties": {"name": {"type": "null"}}, "required": ["name"]});
    let constraint = Constraint::json(&Schema::from_json(&schema).unwrap()).unwrap();
    let automaton = constraint.automaton();
    let bytes = Needs::in_bytes(automaton);
    assert_eq!(bytes.tokens(automaton, automaton.start()), Some(13)); // {"name":null}
    let tokens = ["{\"", "name", "\":", "null", "}"];
    let needs = |tokens: &[&str]| {
        let needs = Needs::new(automaton, &|b| tokens.iter().any(|t| t.as_bytes() == b));
        needs.tokens(automaton, automaton.start())
    };
    assert_eq!(needs(&tokens), Some(5));
    assert_eq!(needs(&tokens[..4]), None, "nothing spells the end");
    assert_eq!(needs(&["{\"", "na", "m", "e", "\":", "null", "}"]), Some(7));
}
