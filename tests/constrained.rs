//! Constrained replies: whatever a small model is asked, and however few tokens it gets, its reply has the form.

#![cfg(feature = "starter")]
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

use std::sync::Arc;
use std::time::Instant;

use inglenook::grammar::{Constraint, Lines};
use inglenook::inference::{load_language, starter};
use inglenook::interfaces::{
    Cancel, Finish, LanguageModel, ModelError, Priority, Sampling, TurnRole,
};
use inglenook::testing::shared;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

const N_PROMPTS: usize = 300;

/// A form, and what is wrong with a text that should have it.
struct Form {
    name: &'static str,
    constraint: Constraint,
    fault: fn(&str) -> Option<&'static str>,
}

fn lines_form(name: &'static str, lines: &Lines, fault: fn(&str) -> Option<&'static str>) -> Form {
    Form { name, constraint: Constraint::lines(lines.clone()).unwrap(), fault }
}

fn forms() -> Vec<Form> {
    vec![
        lines_form("a list", &Lines { prefix: "- ".into(), max: 4, chars_max: 30 }, |text| {
            let lines: Vec<&str> = text.split('\n').collect();
            let good = lines.iter().all(|line| {
                let said = line.strip_prefix("- ").unwrap_or_default();
                (1..=30).contains(&said.chars().count())
                    && !said.trim().is_empty()
                    && !said.contains(char::is_control)
            });
            (!good || !(1..=4).contains(&lines.len())).then_some("another list")
        }),
        lines_form("a line", &Lines { prefix: String::new(), max: 1, chars_max: 60 }, |text| {
            let n = text.strip_prefix(' ').unwrap_or(text).chars().count();
            (!(1..=60).contains(&n) || text.contains(char::is_control)).then_some("another line")
        }),
        lines_form("a name", &Lines { prefix: "Name:".into(), max: 1, chars_max: 30 }, |text| {
            let said = text.strip_prefix("Name:").unwrap_or_default();
            let n = said.strip_prefix(' ').unwrap_or(said).chars().count();
            (!(1..=30).contains(&n) || text.contains(char::is_control)).then_some("another name")
        }),
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
fn every_reply_of_the_starter_is_well_formed() {
    check(&starter::language(&|_| {}).unwrap());
}

#[test]
fn every_reply_of_stories260k_is_well_formed() {
    let Some(path) = shared("models/stories260K") else { return };
    check(&load_language(&path, &|_| {}).unwrap());
}
