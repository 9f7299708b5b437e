//! Replies of a form: whatever a small model is asked, and however few tokens it gets, what it says parses.

#![cfg(feature = "starter")]
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

use std::sync::Arc;
use std::time::Instant;

use inglenook::grammar::{Constraint, DateForm, Lines, Schema};
use inglenook::inference::{load_language, starter};
use inglenook::interfaces::{
    Cancel, Finish, LanguageModel, ModelError, Priority, Sampling, TurnRole,
};
use inglenook::testing::shared;
use jiff::civil::Date;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};

const N_PROMPTS: usize = 1_000;

/// A form, and what is wrong with a text that should have it.
struct Form {
    name: &'static str,
    constraint: Constraint,
    fault: fn(&str) -> Option<&'static str>,
}

fn json_form(name: &'static str, schema: &Value, fault: fn(&str) -> Option<&'static str>) -> Form {
    let constraint = Constraint::json(&Schema::from_json(schema).unwrap()).unwrap();
    Form { name, constraint, fault }
}

fn lines_form(name: &'static str, lines: &Lines, fault: fn(&str) -> Option<&'static str>) -> Form {
    Form { name, constraint: Constraint::lines(lines).unwrap(), fault }
}

fn parsed(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}

fn chars(value: &Value) -> Option<usize> {
    value.as_str().map(|s| s.chars().count())
}

fn is_day(text: &str) -> bool {
    text.parse::<Date>().is_ok_and(|day| (1900..2100).contains(&day.year()))
}

fn forms() -> Vec<Form> {
    let person = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 1, "maxLength": 24},
            "age": {"type": "integer"},
            "kind": {"type": "string", "enum": ["friend", "family", "colleague"]},
            "alive": {"type": "boolean"},
            "born": {"type": "string", "format": "date"},
        },
        "required": ["name", "kind"],
    });
    let nested = json!({
        "type": "array", "minItems": 1, "maxItems": 3,
        "items": {
            "type": "object",
            "properties": {
                "what": {"type": "string", "maxLength": 12},
                "where": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2},
                "none": {"type": "null"},
            },
            "required": ["what", "where"],
        },
    });
    vec![
        json_form("a person", &person, |text| {
            let Some(Value::Object(person)) = parsed(text) else { return Some("no object") };
            let known = ["name", "age", "kind", "alive", "born"];
            if person.keys().any(|key| !known.contains(&key.as_str())) {
                return Some("another property");
            }
            let name = person.get("name").and_then(chars).is_some_and(|n| (1..=24).contains(&n));
            let kinds = ["friend", "family", "colleague"];
            let kind =
                person.get("kind").and_then(Value::as_str).is_some_and(|k| kinds.contains(&k));
            let good = name
                && kind
                && person.get("age").is_none_or(Value::is_i64)
                && person.get("alive").is_none_or(Value::is_boolean)
                && person.get("born").is_none_or(|day| day.as_str().is_some_and(is_day));
            (!good).then_some("a property of another kind")
        }),
        json_form("nested lists", &nested, |text| {
            let Some(Value::Array(items)) = parsed(text) else { return Some("no list") };
            let good = items.iter().all(|item| {
                let place = item["where"].as_array().is_some_and(|place| {
                    place.len() == 2 && place.iter().all(|n| n.as_f64().is_some_and(f64::is_finite))
                });
                chars(&item["what"]).is_some_and(|n| n <= 12) && place && item["none"].is_null()
            });
            (!good || !(1..=3).contains(&items.len())).then_some("an item of another kind")
        }),
        lines_form(
            "a list",
            &Lines { prefix: "- ".into(), min: 2, max: 4, chars_max: 30 },
            |text| {
                let lines: Vec<&str> = text.split('\n').collect();
                let good = lines.iter().all(|line| {
                    let said = line.strip_prefix("- ").unwrap_or_default();
                    (1..=30).contains(&said.chars().count())
                        && !said.trim().is_empty()
                        && !said.contains(char::is_control)
                });
                (!good || !(2..=4).contains(&lines.len())).then_some("another list")
            },
        ),
        lines_form(
            "a line",
            &Lines { prefix: String::new(), min: 1, max: 1, chars_max: 60 },
            |text| {
                let n = text.strip_prefix(' ').unwrap_or(text).chars().count();
                (!(1..=60).contains(&n) || text.contains(char::is_control))
                    .then_some("another line")
            },
        ),
        Form {
            name: "a day",
            constraint: Constraint::date(DateForm::Iso),
            fault: |text| (!is_day(text)).then_some("no day"),
        },
        Form {
            name: "a written day",
            constraint: Constraint::date(DateForm::Written),
            fault: |text| {
                let day = Date::strptime("%d %B %Y", text);
                (!day.is_ok_and(|d| is_day(&d.to_string()))).then_some("no day")
            },
        },
    ]
}

/// Words, names, marks, other scripts and control characters.
fn prompt(rng: &mut StdRng) -> String {
    const WORDS: [&str; 24] = [
        "Ana",
        "Max",
        "the dog",
        "moved to",
        "Lund",
        "last week",
        "who is",
        "allergic",
        "to peanuts?",
        "{\"a\": 1}",
        "- one\n- two",
        "2026-11-22",
        "\n\n",
        "\"",
        "\\",
        "東京",
        "🙂",
        "Zürich",
        "\u{1f}",
        "List them.",
        "When?",
        "once upon a time",
        "User:",
        "</s>",
    ];
    let words = (0..rng.random_range(1..8)).map(|_| *WORDS.choose(rng).unwrap());
    words.collect::<Vec<_>>().join(" ")
}

fn check(model: &Arc<dyn LanguageModel>) {
    let forms = forms();
    let mut rng = StdRng::seed_from_u64(17);
    let since = Instant::now();
    let (mut n_tokens, mut n_squeezed) = (0, 0);
    for n in 0..N_PROMPTS {
        let form = &forms[n % forms.len()];
        let mut tokens = model.begin();
        tokens.extend(model.turn(TurnRole::User, &prompt(&mut rng)));
        tokens.extend(model.open_reply());
        let mut context = model.context(Priority::Chat).unwrap();
        context.extend(&tokens).unwrap();
        let mut sampling = Sampling {
            temperature: *[0.0, 0.7, 1.0, 2.0].choose(&mut rng).unwrap(),
            seed: rng.random(),
            constraint: Some(form.constraint.clone()),
            ..Sampling::greedy(0)
        };
        let refused = context.generate(&sampling, &Cancel::default(), &mut |_| {});
        let Err(ModelError::ConstraintTooLong { needed_tokens: Some(needed), .. }) = refused else {
            panic!("no reply is empty");
        };
        // From just enough to as many as it likes.
        sampling.tokens_max = needed + rng.random_range(0..16);
        let mut streamed = String::new();
        let reply = context
            .generate(&sampling, &Cancel::default(), &mut |piece| streamed.push_str(piece))
            .unwrap();
        let fault = (form.fault)(&reply.text);
        assert_eq!(fault, None, "{} after {n} prompts: {:?}", form.name, reply.text);
        assert_eq!(streamed, reply.text);
        assert!(reply.n_tokens <= sampling.tokens_max);
        n_tokens += reply.n_tokens;
        n_squeezed += usize::from(reply.finish == Finish::Length);
    }
    println!(
        "{}: {N_PROMPTS} of {N_PROMPTS} replies well-formed, {n_tokens} tokens, {n_squeezed} ended by their \
         number, {:.1} s",
        model.info().name,
        since.elapsed().as_secs_f64()
    );
}

#[test]
fn a_thousand_replies_of_the_starter_are_well_formed() {
    check(&starter::language(&|_| {}).unwrap());
}

#[test]
fn a_thousand_replies_of_stories260k_are_well_formed() {
    let Some(path) = shared("models/stories260K") else { return };
    check(&load_language(&path, &|_| {}).unwrap());
}
