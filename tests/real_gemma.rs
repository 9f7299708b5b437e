//! Gemma 3's real 270 million parameters: its tokens, and what it thinks of real text, beside SentencePiece and
//! transformers. The file is fetched into a cache (`tests/fixtures/fetch-real-models.sh`).

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

#[path = "support/mixed_lines.rs"]
mod mixed_lines;

use std::path::{Path, PathBuf};
use std::process::Command;

use inglenook::inference::gguf;
use inglenook::inference::tokenizer::Tokenizer;
use inglenook::inference::weights::Precision;
use inglenook::inference::{load_decoder, sequence::Sequence};
use inglenook::testing::skip;
use mixed_lines::check_file;

/// The model's file, or `None` with the reason on stderr.
fn gemma() -> Option<PathBuf> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/fetch-real-models.sh");
    let output = Command::new(script).arg("gemma").output().unwrap();
    if output.status.success() {
        return Some(String::from_utf8(output.stdout).unwrap().trim().into());
    }
    skip(&format!("gemma is not to be had: {}", String::from_utf8_lossy(&output.stderr)));
    None
}

/// As SentencePiece makes them of the same vocabulary. Lines with HTML tags are left out: they are tokens of Gemma,
/// and this program makes no token that looks like markup from text.
#[test]
fn a_thousand_lines_as_gemma_tokenizes_them() {
    let Some(path) = gemma() else { return };
    let file = std::fs::read(path).unwrap();
    let header = gguf::parse(&file).unwrap();
    let is_tag = |token: &&String| {
        let within = |open, close| token.starts_with(open) && token.ends_with(close);
        within('<', '>') || within('[', ']')
    };
    let types = header.metadata.integers("tokenizer.ggml.token_type").unwrap();
    let tokens = header.metadata.strings("tokenizer.ggml.tokens").unwrap();
    let special = tokens.iter().zip(types).filter(|(_, kind)| matches!(kind, 3 | 4));
    let tags: Vec<String> = special.map(|(token, _)| token).filter(is_tag).cloned().collect();
    assert!(tags.len() > 6_000 && tags.contains(&"</div>".to_owned()));
    check_file("gemma3", &file, &tags);
}

/// The mean of what each token surprises: of sixty messages in f32 and by transformers in f32 (5.24.0's Gemma3ForCausalLM,
/// given the same dequantised weights); of these and more, by the fast kernels and in f32. Rounded activations make a token more
/// or less likely by chance, and how depends on the processor: over the sixty messages alone by 0.003 and more.
#[test]
fn real_text_is_as_likely_as_in_f32() {
    const BY_TRANSFORMERS: f64 = 3.644_92;
    let Some(path) = gemma() else { return };
    let turns = include_str!("fixtures/speaking.jsonl").lines();
    let text = |line: &str| -> String {
        let turn: serde_json::Value = serde_json::from_str(line).unwrap();
        turn["text"].as_str().unwrap().to_owned()
    };
    let text = turns.map(text).collect::<Vec<_>>().join("\n");
    let more = include_str!("fixtures/turns/dev.tsv");
    let header = gguf::parse(&std::fs::read(&path).unwrap()).unwrap();
    let tokenizer = Tokenizer::from_gguf(&header.metadata).unwrap();
    let mut tokens = [tokenizer.begin().to_vec(), tokenizer.encode(&text)].concat();
    let n = tokens.len();
    tokens.extend(tokenizer.encode(more));
    let nlls = |precision| {
        let decoder = load_decoder(&path, precision).unwrap();
        Sequence::default().extend_with_nlls(&decoder, &tokens, &mut || {}).unwrap()
    };
    let mean = |nlls: &[f64]| nlls.iter().sum::<f64>() / nlls.len() as f64;
    let (fast, exact) = (nlls(Precision::Fast), nlls(Precision::Exact));
    let (fast, exact, exact_of_first) = (mean(&fast[1..]), mean(&exact[1..]), mean(&exact[1..n]));
    println!(
        "{} tokens: {fast:.5} fast, {exact:.5} in f32; {n}: {exact_of_first:.5} in f32, {BY_TRANSFORMERS} transformers",
        tokens.len()
    );
    assert!((fast - exact).abs() < 0.003, "{fast} {exact}");
    assert!((exact_of_first - BY_TRANSFORMERS).abs() < 1e-4, "{exact_of_first}");
}
