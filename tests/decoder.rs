//! The decoder against transformers' logits, and cached decoding against one pass.
//!
//! The models are small and random: `tests/fixtures/make_models.py` made them.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

#[path = "support/small_models.rs"]
mod small_models;
#[path = "support/split_gguf.rs"]
mod split_gguf;

use std::ops::Range;

use inglenook::inference::decoder::Decoder;
use inglenook::inference::sequence::Sequence;
use inglenook::inference::weights::Precision;
use inglenook::inference::{ModelKind, load_decoder, validate};
use proptest::prelude::*;
use small_models::{argmax, expected, fixture, largest_difference, log_softmax, model_path};

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
    };
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

/// Every row of the fixture: a cosine of at least `cosine_min`, and the same most likely token.
#[track_caller]
fn check_logits(name: &str, precision: Precision, cosine_min: f64) {
    let expected = expected(name);
    let decoder = load_decoder(&model_path(name), precision).unwrap();
    let got = extend(&decoder, &mut Sequence::default(), &expected.tokens);
    assert_eq!(got.len(), expected.tokens.len());
    let mut worst: f64 = 1.0;
    let mut difference: f32 = 0.0;
    for (&row, reference) in expected.rows.iter().zip(&expected.logits) {
        worst = worst.min(cosine(&got[row], reference));
        difference = difference.max(largest_difference(&got[row], reference));
        assert_eq!(argmax(&got[row]), argmax(reference), "{name}, position {row}");
    }
    println!("{name}, {precision:?}: worst cosine {worst:.8}, largest difference {difference:.2e}");
    assert!(worst > cosine_min, "{name}: cosine {worst}");
}

/// Families with something of their own: kinds of layers, norms, activations, multipliers.
const LATER_SAFETENSORS: [&str; 14] = [
    "qwen2-window",
    "gemma3",
    "gemma4",
    "gemma4-large",
    "gemma4-moe",
    "glm4",
    "phi3-window",
    "smollm3",
    "ministral3",
    "granite",
    "granite4",
    "lfm2",
    "qwen3-moe",
    RECURRENT[0],
];
const LATER_GGUF: [&str; 12] = [
    "gemma3-f16-gguf",
    "gemma4-f16-gguf",
    "gemma4-large-f16-gguf",
    "gemma4-moe-f16-gguf",
    "glm4-f16-gguf",
    "phi3-f16-gguf",
    "smollm3-f16-gguf",
    "mistral3-f16-gguf",
    "granite-f16-gguf",
    "lfm2-f16-gguf",
    "qwen3-moe-f16-gguf",
    RECURRENT[1],
];
/// Their layers keep states, which can't be rolled back, at some lengths.
const RECURRENT: [&str; 2] = ["qwen35", "qwen35-f16-gguf"];
/// Its keys are rotated in another way from the 65th token on, those before it again.
const LONG: &str = "phi3";

#[test]
fn logits_equal_transformers_from_safetensors() {
    let names = ["llama-tied", "llama3-rope", "qwen2", "qwen3", LONG];
    for name in names.iter().chain(&LATER_SAFETENSORS) {
        check_logits(name, Precision::Fast, 0.999_999);
    }
}

#[test]
fn logits_equal_transformers_from_gguf() {
    for name in
        ["llama-f16-gguf", "llama3-rope-f32-gguf", "qwen3-bf16-gguf"].iter().chain(&LATER_GGUF)
    {
        check_logits(name, Precision::Fast, 0.999_999);
    }
}

#[test]
fn logits_equal_transformers_from_quantised_gguf() {
    for name in QUANTISED {
        check_logits(name, Precision::Exact, 0.999_999);
    }
}

/// The fast kernels round the activations to 8 bits as well (llama.cpp's do the same).
#[test]
fn fast_kernels_are_close() {
    for name in QUANTISED {
        check_logits(name, Precision::Fast, 0.9995);
    }
}

const QUANTISED: [&str; 3] = ["qwen2-q8_0-gguf", "llama-q4_0-gguf", "qwen3-q4_k_m-gguf"];

#[test]
fn headers_describe_the_model() {
    let summary = validate(&model_path("qwen3-q4_k_m-gguf")).unwrap();
    assert_eq!(summary.kind, ModelKind::Language);
    assert_eq!(summary.description(), "qwen3, 2 layers, 256 wide, 0.8 million parameters, Q4K");
    let summary = validate(&fixture("llama3-rope")).unwrap();
    assert_eq!((summary.files.len(), summary.context_tokens), (2, Some(512)));
    assert_eq!(summary.architecture, "llama");
}

fn extend(decoder: &Decoder, sequence: &mut Sequence, tokens: &[u32]) -> Vec<Vec<f32>> {
    extend_wanting(decoder, sequence, tokens, 0..tokens.len())
}

fn extend_wanting(
    decoder: &Decoder,
    sequence: &mut Sequence,
    tokens: &[u32],
    wanted: Range<usize>,
) -> Vec<Vec<f32>> {
    let mut rows = Vec::new();
    let mut keep = |_, row: &[f32]| rows.push(row.to_vec());
    sequence.extend(decoder, tokens, wanted, &mut keep, &mut || {}).unwrap();
    rows
}

/// Prefill, decode token by token, prefill again, roll back into the middle, prefill other tokens:
/// the logits of both ways, after each token.
#[track_caller]
fn split_and_whole(name: &str) -> (Vec<Vec<f32>>, Vec<Vec<f32>>) {
    let decoder = load_decoder(&model_path(name), Precision::Fast).unwrap();
    let tokens = expected(name).tokens;
    let whole = extend(&decoder, &mut Sequence::default(), &tokens);
    let mut sequence = Sequence::default();
    let mut rows = extend(&decoder, &mut sequence, &tokens[..16]);
    for token in &tokens[16..24] {
        rows.extend(extend(&decoder, &mut sequence, &[*token]));
    }
    rows.extend(extend(&decoder, &mut sequence, &tokens[24..80]));
    // Another continuation, and back.
    extend(&decoder, &mut sequence, &[1, 2, 3, 4, 5]);
    sequence.truncate(50);
    rows.truncate(50);
    extend(&decoder, &mut sequence, &[9; 20]);
    sequence.truncate(50);
    rows.extend(extend(&decoder, &mut sequence, &tokens[50..]));
    assert_eq!(sequence.tokens(), tokens);
    // The last state before 50 is kept where the third pass began.
    let run_again = if RECURRENT.contains(&name) { 50 - 24 } else { 0 };
    assert_eq!(sequence.n_processed(), tokens.len() as u64 + 5 + 20 + 30 + run_again);
    (rows, whole)
}

#[test]
fn split_prefill_decode_and_rollback_equal_one_pass() {
    let names = ["llama-tied", "llama3-rope", "qwen2", "qwen3", "llama-f16-gguf"];
    for name in names.iter().chain(&LATER_SAFETENSORS).chain(&LATER_GGUF) {
        let (rows, whole) = split_and_whole(name);
        let pairs = rows.iter().zip(&whole);
        let worst = pairs.map(|(a, b)| largest_difference(a, b)).fold(0.0, f32::max);
        println!("{name}: split differs by {worst:.2e}");
        assert!(worst <= 2e-4, "{name}: {worst}");
    }
    // Few rows at a time are rounded to 8 bits, many to bf16 where there is a tile unit: equal
    // within that.
    for name in QUANTISED {
        let (rows, whole) = split_and_whole(name);
        let least = rows.iter().zip(&whole).map(|(a, b)| cosine(a, b)).fold(1.0, f64::min);
        println!("{name}: split has a cosine of {least:.6}");
        assert!(least > 0.999, "{name}: {least}");
    }
}

/// Layers that use keys of layers before them run for the tokens alone whose logits are wanted.
#[test]
fn what_is_not_wanted_changes_nothing_that_is() {
    for name in ["gemma4", "gemma4-f16-gguf", "gemma3", "llama-tied"] {
        let decoder = load_decoder(&model_path(name), Precision::Fast).unwrap();
        let tokens = expected(name).tokens;
        let n = tokens.len();
        let whole = extend(&decoder, &mut Sequence::default(), &tokens);
        // The last row, two in the middle and all behind them, none; then token by token, after a rollback, in a fork.
        for wanted in [n - 1..n, 40..42, 0..0] {
            let mut sequence = Sequence::default();
            let rows = extend_wanting(&decoder, &mut sequence, &tokens, wanted.clone());
            let mut pairs: Vec<_> = rows.into_iter().zip(&whole[wanted]).collect();
            pairs.push((sequence.last_logits(&decoder, &mut || {}).unwrap(), &whole[n - 1]));
            sequence.truncate(30);
            for (token, row) in tokens[30..34].iter().zip(&whole[30..34]) {
                pairs.push((extend(&decoder, &mut sequence, &[*token]).remove(0), row));
            }
            let mut fork = sequence.fork();
            extend_wanting(&decoder, &mut fork, &tokens[34..], 0..0);
            pairs.push((fork.last_logits(&decoder, &mut || {}).unwrap(), &whole[n - 1]));
            let worst = pairs.iter().map(|(a, b)| largest_difference(a, b)).fold(0.0, f32::max);
            assert!(worst <= 2e-4, "{name}: {worst}");
        }
    }
}

/// A context that grows beyond the original one, or shrinks again, is what one pass over its tokens gives.
#[test]
fn keys_are_rotated_again_where_a_context_becomes_long() {
    let decoder = load_decoder(&model_path(LONG), Precision::Fast).unwrap();
    let tokens = expected(LONG).tokens;
    let whole = |n: usize| extend(&decoder, &mut Sequence::default(), &tokens[..n]).pop().unwrap();
    let mut sequence = Sequence::default();
    let last = |sequence: &mut Sequence, held: usize, more: Range<usize>| {
        sequence.truncate(held);
        extend_wanting(&decoder, sequence, &tokens[more], 0..0);
        let n = sequence.tokens().len();
        let got = sequence.last_logits(&decoder, &mut || {}).unwrap();
        assert!(largest_difference(&got, &whole(n)) < 2e-4, "{n} tokens");
    };
    last(&mut sequence, 0, 0..64);
    assert_eq!(sequence.n_processed(), 64);
    let mut fork = sequence.fork();
    last(&mut sequence, 64, 64..70);
    assert_eq!(sequence.n_processed(), 64 + 64 + 6);
    last(&mut sequence, 70, 70..96);
    last(&mut sequence, 20, 20..40);
    last(&mut sequence, 40, 40..66);
    last(&mut fork, 64, 64..65);
    // The same token, one length apart, is read in two ways.
    let two =
        [64, 65].map(|n| extend(&decoder, &mut Sequence::default(), &tokens[..n])[10].clone());
    assert!(largest_difference(&two[0], &two[1]) > 1e-3);
}

/// However far back, however the text came in: what is computed next is what one pass over the tokens left computes.
#[test]
fn states_are_rolled_back_to_any_length() {
    for name in RECURRENT {
        let decoder = load_decoder(&model_path(name), Precision::Fast).unwrap();
        let tokens = expected(name).tokens;
        let whole = extend(&decoder, &mut Sequence::default(), &tokens);
        let (mut at_once, mut in_parts, mut one_by_one) =
            (Sequence::default(), Sequence::default(), Sequence::default());
        extend_wanting(&decoder, &mut at_once, &tokens, 0..0);
        for part in tokens.chunks(7) {
            extend_wanting(&decoder, &mut in_parts, part, 0..0);
        }
        for token in &tokens {
            extend_wanting(&decoder, &mut one_by_one, &[*token], 0..0);
        }
        for (held, most_again) in [(at_once, 64), (in_parts, 56), (one_by_one, 96)] {
            for len in 0..tokens.len() {
                let mut fork = held.fork();
                fork.truncate(len);
                let rows = extend(&decoder, &mut fork, &tokens[len..(len + 3).min(tokens.len())]);
                for (row, whole) in rows.iter().zip(&whole[len..]) {
                    let difference = largest_difference(row, whole);
                    assert!(difference < 2e-4, "{name}, rolled back to {len}: {difference:.2e}");
                }
                let again = fork.n_processed() - rows.len() as u64;
                assert!(again < most_again, "{name}, rolled back to {len}: {again} run again");
            }
        }
    }
}

/// All in one pass, each of them seeing what is held and itself, as far as its window goes.
#[test]
fn choices_see_one_another_in_no_kind_of_layer() {
    for name in LATER_SAFETENSORS.iter().chain(&LATER_GGUF) {
        let decoder = load_decoder(&model_path(name), Precision::Fast).unwrap();
        let held: Vec<u32> = (0..40).map(|i| i * 5 % 250).collect();
        let choices: Vec<Vec<u32>> =
            [1, 12, 30, 2, 40].iter().map(|&n| (0..n).map(|i| i * 7 % 200 + n).collect()).collect();
        for n_held in [3, 40] {
            let mut sequence = Sequence::default();
            extend_wanting(&decoder, &mut sequence, &held[..n_held], 0..0);
            let got = sequence.choose(&decoder, &choices, &mut || {}).unwrap();
            for (choice, got) in choices.iter().zip(got) {
                let all = [&held[..n_held], choice].concat();
                let rows = extend(&decoder, &mut Sequence::default(), &all);
                let log_p = |i: usize| log_softmax(&rows[i - 1])[all[i] as usize];
                let expected: f64 = (n_held..all.len()).map(log_p).sum();
                assert!(
                    (got - expected).abs() < 1e-3,
                    "{name}, {}: {got}, {expected}",
                    choice.len()
                );
            }
        }
    }
}

#[derive(Debug, Clone)]
enum Step {
    Extend(Vec<u32>),
    Truncate(usize),
    Fork(Vec<u32>),
    LastLogits,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let token = 0u32..264;
    let step = prop_oneof![
        4 => prop::collection::vec(token.clone(), 1..40).prop_map(Step::Extend),
        2 => (0usize..120).prop_map(Step::Truncate),
        1 => prop::collection::vec(token, 1..20).prop_map(Step::Fork),
        1 => Just(Step::LastLogits),
    ];
    prop::collection::vec(step, 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..Default::default() })]

    /// After any sequence of steps the logits are those of the current tokens, and a fork does not
    /// change the context that it was made from.
    #[test]
    fn any_history_equals_one_pass(
        steps in steps(),
        name in prop::sample::select([&["qwen3", LONG], &LATER_SAFETENSORS[..], &LATER_GGUF].concat()),
    ) {
        let decoder = load_decoder(&model_path(name), Precision::Fast).unwrap();
        let mut sequence = Sequence::default();
        let mut forks = Vec::new();
        for step in steps {
            match step {
                Step::Extend(tokens) if sequence.tokens().len() + tokens.len() <= 512 => {
                    extend_wanting(&decoder, &mut sequence, &tokens, 0..0);
                }
                Step::Extend(_) => {}
                Step::Truncate(len) => sequence.truncate(len),
                Step::Fork(tokens) => {
                    let mut fork = sequence.fork();
                    extend_wanting(&decoder, &mut fork, &tokens, 0..0);
                    forks.push(fork);
                }
                Step::LastLogits => {
                    if !sequence.tokens().is_empty() {
                        sequence.last_logits(&decoder, &mut || {}).unwrap();
                    }
                }
            }
        }
        for mut held in forks.into_iter().chain([sequence]) {
            if held.tokens().is_empty() {
                continue;
            }
            let got = held.last_logits(&decoder, &mut || {}).unwrap();
            let whole = extend(&decoder, &mut Sequence::default(), held.tokens());
            prop_assert!(largest_difference(&got, whole.last().unwrap()) < 2e-4);
        }
    }
}

#[test]
fn a_model_in_two_files_is_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let name = "qwen3-q4_k_m-gguf";
    split_gguf::split(&model_path(name), folder.path(), "m");
    let at = |number: u32| folder.path().join(format!("m-{number:05}-of-00002.gguf"));
    let tokens = expected(name).tokens;
    let logits = |path: &std::path::Path| {
        let decoder = load_decoder(path, Precision::Fast).unwrap();
        extend(&decoder, &mut Sequence::default(), &tokens)
    };
    let whole = logits(&model_path(name));
    for path in [at(1), at(2), folder.path().to_owned()] {
        assert_eq!(logits(&path), whole, "{}", path.display());
    }

    let refused = |path: &std::path::Path| validate(path).unwrap_err().to_string();
    std::fs::copy(at(1), folder.path().join("alone.gguf")).unwrap();
    let said = refused(&folder.path().join("alone.gguf"));
    assert!(said.contains("part 1 of 2 of a split model"), "{said}");
    let second = std::fs::read(at(2)).unwrap();
    std::fs::copy(at(1), at(2)).unwrap();
    let said = refused(&at(1));
    assert!(said.contains("where part 2 of 2 belongs"), "{said}");
    std::fs::remove_file(at(2)).unwrap();
    let said = refused(&at(1));
    assert!(said.contains("m-00002-of-00002.gguf") && said.contains("no such file"), "{said}");
    // A tensor that another part has too, and one too few.
    let first = std::fs::read(at(1)).unwrap();
    let as_second = |key: &[u8], bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        let place = bytes.windows(key.len()).position(|w| w == key).unwrap() + key.len() + 4;
        bytes[place] = 1;
        bytes
    };
    std::fs::write(at(2), as_second(b"split.no", &first)).unwrap();
    let said = refused(&at(1));
    assert!(said.contains("is also in"), "{said}");
    std::fs::write(at(2), as_second(b"split.tensors.count", &second)).unwrap();
    validate(&at(1)).unwrap();
    std::fs::write(at(1), as_second(b"split.tensors.count", &first)).unwrap();
    let said = refused(&at(1));
    assert!(said.contains("tensors, where it has 1"), "{said}");
}
