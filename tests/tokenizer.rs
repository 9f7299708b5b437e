//! Tokenizers built from GGUF metadata against transformers, tiktoken and SentencePiece: the ids of 1,000 or 10,000
//! mixed lines.
//!
//! `tests/fixtures/make_tokenizers.py` made the vocabularies and the expected ids.

#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "support/mixed_lines.rs"]
mod mixed_lines;

use mixed_lines::{check_file, read};

#[track_caller]
fn check(kind: &str) {
    check_file(kind, &read(&format!("{kind}.gguf")), &[]);
}

/// `tags`: lines with one of these are left out.
#[test]
fn ten_thousand_lines_as_qwen_tokenizes_them() {
    check("qwen2");
}

#[test]
fn ten_thousand_lines_as_llama_3_tokenizes_them() {
    check("llama3");
}

#[test]
fn a_thousand_lines_as_phi_4_tokenizes_them() {
    check("gpt-4o");
}

#[test]
fn a_thousand_lines_as_mistral_tokenizes_them() {
    check("tekken");
}

#[test]
fn a_thousand_lines_as_granite_tokenizes_them() {
    check("refact");
}

#[test]
fn a_thousand_lines_as_qwen_3_5_tokenizes_them() {
    check("qwen35");
}

#[test]
fn a_thousand_lines_as_sentence_piece_tokenizes_them() {
    check("sentencepiece");
}
