//! What this crate may know: it measures through the product's public modules, and one file draws.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::path::{Path, PathBuf};

/// A crate's name, the places where code may use it, and why nowhere else.
const CONFINED: &[(&str, &[&str], &str)] = &[
    ("plotters", &["plot.rs"], "plots are text to everybody else"),
    ("clap", &["cli/"], "only the command line knows its arguments"),
    ("inglenook::cli", &["cli/"], "what is measured does not depend on how it is asked for"),
    ("candle_core", &[], "models are asked through inglenook::interfaces"),
    ("candle_nn", &[], "models are asked through inglenook::interfaces"),
    ("rusqlite", &[], "memories are read and written through inglenook::store"),
    ("std::net", &[], "nothing leaves the machine"),
    ("unsafe", &[], "there is no reason for it here"),
];

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

#[test]
fn crates_stop_where_they_should() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    rust_files(&src, &mut files);
    assert!(files.len() > 40, "{}", files.len());
    let mut broken = Vec::new();
    for file in files {
        let path = file.strip_prefix(&src).unwrap().to_string_lossy().replace('\\', "/");
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("//!"), "{path} has no header");
        let code: Vec<&str> = text.lines().filter(|line| !is_comment(line)).collect();
        let code = code.join("\n");
        for (word, places, why) in CONFINED {
            let is_word = |c: char| c.is_alphanumeric() || c == '_';
            let used = code.match_indices(word).any(|(at, _)| {
                !code[..at].ends_with(is_word) && !code[at + word.len()..].starts_with(is_word)
            });
            if used && !places.iter().any(|place| path.starts_with(place)) {
                broken.push(format!("{path} uses {word}: {why}"));
            }
        }
    }
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
}
