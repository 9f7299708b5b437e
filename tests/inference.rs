//! A loaded model and its contexts: what the rest of the program asks of them.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

#[path = "support/small_models.rs"]
mod small_models;

use std::sync::Arc;

use inglenook::inference::{load_language, probe};
use inglenook::interfaces::{
    Cancel, Context, Finish, LanguageModel, ModelError, Priority, Sampling, TurnRole,
};
use inglenook::testing::shared;
use small_models::{argmax, expected, largest_difference, log_softmax, model_path};

fn byte_model() -> Arc<dyn LanguageModel> {
    load_language(&model_path("llama-f16-gguf"), &|_| {}).unwrap()
}

fn context(model: &Arc<dyn LanguageModel>) -> Box<dyn Context> {
    model.context(Priority::Chat).unwrap()
}

#[test]
fn a_loaded_model_reports_its_properties() {
    let model = byte_model();
    let info = model.info();
    assert_eq!((info.name.as_str(), info.vocabulary, info.context_tokens), ("model", 264, 512));
    assert_eq!(info.fingerprint.len(), 64);
    assert_eq!(model.weights_sha256().len(), 64);
    assert!(!info.starter);
    assert_eq!(model.decode(&model.encode("Ünïcode 🦀 <|im_end|>")), "Ünïcode 🦀 <|im_end|>");
    assert!(model.encode("<|im_end|>").iter().all(|&t| t < 256));
    assert_eq!(model.open_turn(TurnRole::User)[0], 256);
}

#[test]
fn logits_of_a_context_are_those_of_probe() {
    let model = byte_model();
    let tokens = expected("llama-f16-gguf").tokens;
    let whole = probe(&model_path("llama-f16-gguf"), &tokens).unwrap();
    let mut context = context(&model);
    context.extend(&tokens[..40]).unwrap();
    let rows = context.extend_with_logits(&tokens[40..], 7).unwrap();
    assert_eq!(rows.len(), 7);
    for (got, expected) in rows.iter().zip(&whole[whole.len() - 7..]) {
        assert!(largest_difference(got, expected) < 2e-4);
    }
    assert_eq!((context.len(), context.n_processed()), (tokens.len(), tokens.len() as u64));
}

#[test]
fn too_many_tokens_are_refused_before_anything_is_appended() {
    let model = byte_model();
    let mut context = context(&model);
    context.extend(&[1; 500]).unwrap();
    let refused = context.extend(&[1; 13]);
    assert!(matches!(
        refused,
        Err(ModelError::ContextOverflow { needed_tokens: 513, context_tokens: 512 })
    ));
    assert_eq!((context.len(), context.n_processed()), (500, 500));
    let sampling = Sampling::greedy(100);
    let generated = context.generate(&sampling, &Cancel::default(), &mut |_| {}).unwrap();
    assert!(context.len() <= 512 && generated.n_tokens <= 12);
}

#[test]
fn a_token_outside_the_vocabulary_is_refused() {
    let model = byte_model();
    let mut context = context(&model);
    assert!(matches!(context.extend(&[1, 264]), Err(ModelError::Backend { .. })));
    assert!(context.is_empty());
    context.extend(&[1, 2]).unwrap();
}

/// Recomputed by definition from the logits of one pass.
#[test]
fn uncertainty_follows_its_definition() {
    let model = byte_model();
    let path = model_path("llama-f16-gguf");
    let tokens = expected("llama-f16-gguf").tokens;
    let (held, question, tail) = (&tokens[..30], &tokens[30..45], &tokens[45..50]);
    let mut context = context(&model);
    context.extend(held).unwrap();
    let before = context.n_processed();
    let got = context.uncertainty(question, tail, 4).unwrap();
    assert_eq!(context.tokens(), held);
    assert_eq!(context.n_processed() - before, 20 + 3);

    let rows = probe(&path, &tokens[..50]).unwrap();
    let nll: f64 = (30..45).map(|i| -log_softmax(&rows[i - 1])[tokens[i] as usize]).sum();
    assert!((got.question_nll_nats - nll / 15.0).abs() < 1e-4);
    let mut sequence = tokens[..50].to_vec();
    let (mut entropy, mut nll) = (0.0, 0.0);
    for _ in 0..4 {
        let row = probe(&path, &sequence).unwrap().pop().unwrap();
        let log_p = log_softmax(&row);
        entropy -= log_p.iter().map(|l| l * l.exp()).sum::<f64>();
        let token = argmax(&row);
        nll -= log_p[token];
        sequence.push(token as u32);
    }
    assert!((got.entropy_nats - entropy / 4.0).abs() < 1e-4);
    assert!((got.nll_nats - nll / 4.0).abs() < 1e-4);
}

/// Recomputed from the logits of one pass: the same in parts, after a rollback and in an empty context.
#[test]
fn token_likelihoods_follow_from_the_logits() {
    let model = byte_model();
    let tokens = expected("llama-f16-gguf").tokens;
    let rows = probe(&model_path("llama-f16-gguf"), &tokens[..50]).unwrap();
    let nll = |i: usize| -log_softmax(&rows[i - 1])[tokens[i] as usize];
    let mut context = context(&model);
    let first = context.extend_with_nlls(&tokens[..30]).unwrap();
    assert_eq!((first.len(), first[0]), (30, f64::INFINITY));
    let then = context.extend_with_nlls(&tokens[30..50]).unwrap();
    let all = [first, then].concat();
    for (i, got) in all.iter().enumerate().skip(1) {
        assert!((got - nll(i)).abs() < 1e-4, "{i}: {got} is not {}", nll(i));
    }
    assert_eq!((context.tokens(), context.n_processed()), (&tokens[..50], 50));
    // After a rollback into the middle of a part the last token is run again.
    context.truncate(40);
    let again = context.extend_with_nlls(&tokens[40..41]).unwrap();
    assert!((again[0] - nll(40)).abs() < 1e-4);
    assert_eq!(context.n_processed(), 50 + 2);
    assert_eq!(context.extend_with_nlls(&[]).unwrap(), Vec::<f64>::new());
    assert!(matches!(
        context.extend_with_nlls(&vec![1; model.info().context_tokens]),
        Err(ModelError::ContextOverflow { .. })
    ));
    assert_eq!(context.len(), 41);
}

/// At the end of an extension a probe runs only its own tokens; after a rollback into the middle of
/// one, the last token is run again.
#[test]
fn a_probe_costs_its_own_tokens() {
    let model = byte_model();
    let mut context = context(&model);
    context.extend(&[1; 50]).unwrap();
    let checkpoint = context.len();
    context.extend(&[2; 30]).unwrap();
    context.truncate(checkpoint);
    context.uncertainty(&[3; 10], &[4; 2], 1).unwrap();
    context.uncertainty(&[3; 10], &[4; 2], 1).unwrap();
    assert_eq!(context.n_processed(), 50 + 30 + 12 + 12);
    context.truncate(20);
    context.uncertainty(&[3; 10], &[4; 2], 1).unwrap();
    assert_eq!(context.n_processed(), 50 + 30 + 12 + 12 + 1 + 12);
}

#[test]
fn choices_are_scored_by_their_tokens() {
    let model = byte_model();
    let path = model_path("llama-f16-gguf");
    let mut context = context(&model);
    context.extend(&[10, 20, 30]).unwrap();
    let choices = [vec![5], vec![6, 7, 8], vec![], vec![6, 9], vec![1, 2, 3, 4, 5, 6]];
    let got = context.choose(&choices).unwrap();
    assert_eq!(context.tokens(), [10, 20, 30]);
    assert_eq!(context.n_processed(), 3 + 2 + 1 + 5);
    for (choice, got) in choices.iter().zip(got) {
        let all = [&[10, 20, 30], choice.as_slice()].concat();
        let rows = probe(&path, &all).unwrap();
        let expected: f64 =
            (3..all.len()).map(|i| log_softmax(&rows[i - 1])[all[i] as usize]).sum();
        assert!((got - expected).abs() < 1e-4, "{choice:?}: {got}, {expected}");
    }
}

#[test]
fn an_empty_context_has_nothing_to_continue() {
    let model = byte_model();
    let refused = context(&model).choose(&[vec![1]]);
    assert!(matches!(refused, Err(ModelError::Backend { .. })));
}

#[test]
fn generation_is_seeded_streams_its_text_and_stays_in_the_context() {
    let model = byte_model();
    let tell = |seed| {
        let mut context = context(&model);
        context.extend(&model.encode("Once upon a time")).unwrap();
        let sampling = Sampling { temperature: 1.0, seed, ..Sampling::greedy(40) };
        let mut streamed = String::new();
        let generated =
            context.generate(&sampling, &Cancel::default(), &mut |t| streamed.push_str(t)).unwrap();
        assert_eq!(streamed, generated.text);
        assert_eq!(context.len(), 16 + generated.n_tokens);
        assert_eq!(model.decode(&context.tokens()[16..]), generated.text);
        generated
    };
    assert_eq!(tell(1), tell(1));
    assert_ne!(tell(1).text, tell(2).text);
}

#[test]
fn cancelling_stops_at_the_next_token() {
    let model = byte_model();
    let mut context = context(&model);
    context.extend(&[1, 2, 3]).unwrap();
    let cancel = Cancel::default();
    cancel.cancel();
    let generated = context.generate(&Sampling::greedy(50), &cancel, &mut |_| {}).unwrap();
    assert_eq!((generated.n_tokens, generated.finish), (0, Finish::Cancelled));
}

#[test]
fn a_fork_is_independent() {
    let model = byte_model();
    let tokens = expected("llama-f16-gguf").tokens;
    let whole = probe(&model_path("llama-f16-gguf"), &tokens).unwrap();
    let mut one = context(&model);
    one.extend(&tokens[..50]).unwrap();
    let mut other = one.fork().unwrap();
    other.extend(&[7; 30]).unwrap();
    let row = one.extend_with_logits(&tokens[50..60], 1).unwrap().pop().unwrap();
    assert!(largest_difference(&row, &whole[59]) < 2e-4);
    other.truncate(50);
    let row = other.extend_with_logits(&tokens[50..70], 1).unwrap().pop().unwrap();
    assert!(largest_difference(&row, &whole[69]) < 2e-4);
    assert_eq!((one.len(), other.len()), (60, 70));
}

/// A trained model: its greedy story is the one that llama2.c prints.
#[test]
fn stories260k_tells_its_story() {
    let Some(path) = shared("models/stories260K") else { return };
    let model = load_language(&path, &|_| {}).unwrap();
    let mut context = context(&model);
    let mut prompt = model.begin();
    prompt.extend(model.encode("Once upon a time"));
    context.extend(&prompt).unwrap();
    let sampling = Sampling::greedy(120);
    let story = context.generate(&sampling, &Cancel::default(), &mut |_| {}).unwrap().text;
    println!("{story}");
    let beginning = ", there was a little girl named Lily. She loved to play outside in the park. \
                     One day, she saw a big, red ball. She wanted to play with it, but it was too \
                     high.\nLily's mom said, \"Lily, let's go to the park.\" Lily was sad and \
                     didn't know what to do.";
    assert!(story.starts_with(beginning), "{story}");
}
