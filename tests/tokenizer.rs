//! Tokenizers built from GGUF metadata against transformers, tiktoken and SentencePiece: the ids of 1,000 or 10,000
//! mixed lines.
//!
//! `tests/fixtures/make_tokenizers.py` made the vocabularies and the expected ids.

#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "support/mixed_lines.rs"]
mod mixed_lines;

use inglenook::inference::gguf;
use inglenook::inference::tokenizer::Tokenizer;
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

#[test]
fn a_thousand_lines_as_gemma_4_tokenizes_them() {
    check("gemma4");
}

/// Long texts are encoded in parts: no blank is lost or added between them.
#[test]
fn a_long_text_comes_back_as_it_was() {
    let text = "It was cold, and the river froze in the night. ".repeat(2_000);
    for kind in ["qwen2", "sentencepiece", "gemma4"] {
        let file = read(&format!("{kind}.gguf"));
        let metadata = gguf::parse(&file).unwrap().metadata;
        let tokenizer = Tokenizer::from_gguf(&metadata).unwrap();
        assert!(tokenizer.decode(&tokenizer.encode(&text)) == text, "{kind}");
    }
}
