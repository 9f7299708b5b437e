//! The map, enforced: which module may know which, and which crate stops where.
//!
//! It reads the sources as text, without comments and strings, so it also sees code that is
//! compiled only with a feature.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Dependencies point down: a module, and the other modules whose `crate::` paths it may name.
#[rustfmt::skip]
const ALLOWED: &[(&str, &[&str])] = &[
    ("memory", &[]),
    ("grammar", &[]),
    ("interfaces", &["grammar", "memory"]),
    ("extractive", &["memory"]),
    ("prompts", &["interfaces", "memory"]),
    ("inference", &["interfaces", "grammar", "memory"]),
    ("registry", &["interfaces"]),
    ("imports", &["extractive", "memory"]),
    ("mcp", &["interfaces"]),
    ("server", &["grammar", "interfaces", "mcp"]),
    ("attachments.rs", &[]),
    ("sync", &["memory"]),
    ("store", &["memory", "sync"]),
    ("model_policy.rs", &["prompts", "extractive", "interfaces"]),
    ("recall", &["model_policy", "store", "prompts", "extractive", "interfaces", "memory"]),
    ("worker", &["model_policy", "store", "sync", "prompts", "extractive", "interfaces", "grammar", "memory"]),
    ("chat", &[
        "mcp", "worker", "recall", "model_policy", "store", "prompts", "extractive",
        "interfaces", "memory",
    ]),
    ("tui", &[
        "attachments", "chat", "mcp", "worker", "recall", "model_policy", "store", "prompts",
        "extractive", "interfaces", "memory",
    ]),
    ("cli", &[
        "attachments", "tui", "registry", "imports", "inference", "mcp", "server", "chat",
        "worker", "recall", "model_policy", "store", "sync", "prompts", "extractive",
        "interfaces", "memory",
    ]),
    ("testing", &["interfaces", "grammar", "memory"]),
    ("lib.rs", &[]),
    ("main.rs", &[]),
    ("error_chain.rs", &[]),
    ("texts", &["memory"]),
];

/// Small and pure: any module may name it.
const ALLOWED_ANYWHERE: &[&str] = &["error_chain", "texts"];

/// What the tests of a module may name in addition: test doubles, and what a test wires together.
const ALLOWED_IN_TESTS: &[(&str, &[&str])] = &[
    ("registry", &[]),
    ("mcp", &["testing"]),
    ("attachments.rs", &["testing"]),
    ("imports", &["testing", "interfaces"]),
    ("recall", &["testing", "inference"]),
    ("worker", &["testing", "inference", "recall"]),
    ("chat", &["testing", "inference"]),
    ("tui", &["testing", "registry"]),
    ("cli", &["testing"]),
    ("prompts", &["testing"]),
    ("inference", &["testing"]),
    ("store", &["testing", "interfaces"]),
    ("memory", &["testing"]),
    ("extractive", &["testing"]),
    ("interfaces", &["testing"]),
    ("testing", &[]),
];

/// An identifier, the places where it may occur, and why nowhere else.
const CONFINED: &[(&str, &[&str], &str)] = &[
    ("candle_core", &["inference/"], "candle types stop at inference"),
    ("candle_nn", &["inference/"], "candle types stop at inference"),
    ("packed_matmul", &["inference/"], "tensors stop at inference"),
    ("candle_transformers", &["inference/families/"], "other people's models are families"),
    ("tokenizers", &["inference/"], "tokens are numbers outside inference"),
    ("landlock", &["inference/confined.rs"], "rights are given up in one place"),
    ("rusqlite", &["store/"], "SQL types stop at store"),
    ("sqlite_vec", &["store/extension.rs"], "registered in one place"),
    ("rusqlite_migration", &["store/"], "SQL types stop at store"),
    ("hf_hub", &["registry/"], "network code lives in registry/pull/"),
    ("rustls_native_certs", &["registry/pull/"], "network code lives in registry/pull/"),
    ("ureq", &["registry/"], "network code lives in registry/pull/"),
    ("std::net", &["registry/", "server/", "cli/serve/", "cli/args.rs"], "nothing leaves"),
    ("tokio::net", &["server/"], "only the server listens"),
    ("axum", &["server/"], "the server's code lives in server/"),
    ("hyper", &["server/"], "the server's code lives in server/"),
    ("tokio_postgres", &["sync/postgres.rs"], "one carrier of a sync, and nothing else"),
    ("chacha20poly1305", &["sync/seal.rs"], "sealing is in one place"),
    ("hkdf", &["sync/seal.rs"], "sealing is in one place"),
    ("UdpSocket", &[], "nothing leaves the machine"),
    ("system_keyring", &["cli/"], "only the command line asks for passphrases"),
    ("ratatui", &["tui/"], "only the chat screen draws"),
    ("unsafe", &["inference/", "store/extension.rs"], "reasoned exceptions only"),
];

/// What pure modules may not use.
const IMPURE: &[&str] = &[
    "std::fs",
    "std::io",
    "std::net",
    "std::env",
    "std::thread",
    "std::process",
    "std::time",
    "Instant",
    "SystemTime",
    "Timestamp::now",
    "Zoned::now",
    "rand",
    "getrandom",
    "tokio",
    "println!",
    "eprintln!",
];

/// Files that may contain `unsafe`, each for one reason (memory-mapped weights, a setting of the C
/// library, sqlite-vec's registration). The kernels' is in `crates/packed-matmul`.
const UNSAFE_FILES: &[&str] =
    &["inference/weight_files.rs", "inference/allocator.rs", "store/extension.rs"];

struct Source {
    /// Relative to `src`, with `/`.
    path: String,
    /// Without comments and strings; the part before the tests.
    code: String,
    tests: String,
}

impl Source {
    fn module(&self) -> &str {
        self.path.split('/').next().unwrap()
    }
}

fn rust_files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

fn sources() -> Vec<Source> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    rust_files(&src, &mut files);
    files.sort();
    let texts: Vec<(String, String)> = files
        .iter()
        .map(|file| {
            let path = file.strip_prefix(&src).unwrap().to_str().unwrap().replace('\\', "/");
            let text = std::fs::read_to_string(file).unwrap();
            (path, without_comments_and_strings(&text))
        })
        .collect();
    let test_files: Vec<String> =
        texts.iter().flat_map(|(path, text)| declared_test_modules(path, text)).collect();
    texts
        .into_iter()
        .map(|(path, text)| {
            // `#[path = "x_tests.rs"]` hides a name from the declaration.
            let is_test_file = path.ends_with("_tests.rs")
                || test_files.iter().any(|stem| {
                    path == format!("{stem}.rs") || path.starts_with(&format!("{stem}/"))
                });
            let (code, tests) = if is_test_file {
                (String::new(), text)
            } else {
                match start_of_tests(&text) {
                    // By convention the tests are at the end of a file.
                    Some(at) => (text[..at].to_owned(), text[at..].to_owned()),
                    None => (text, String::new()),
                }
            };
            Source { path, code, tests }
        })
        .collect()
}

/// What follows each `#[cfg(test)]`, further attributes skipped.
fn test_items(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.match_indices("#[cfg(test)]").map(|(at, attribute)| {
        let mut rest = text[at + attribute.len()..].trim_start();
        while rest.starts_with("#[") {
            rest = rest.split_once(']').map_or("", |(_, rest)| rest).trim_start();
        }
        (at, rest)
    })
}

/// `#[cfg(test)] mod NAME;` → the path of the module's file, without `.rs`.
fn declared_test_modules(path: &str, text: &str) -> Vec<String> {
    let dir = match path.strip_suffix("/mod.rs") {
        Some(dir) => format!("{dir}/"),
        None if path == "lib.rs" => String::new(),
        None => format!("{}/", path.trim_end_matches(".rs")),
    };
    test_items(text)
        .filter_map(|(_, rest)| {
            let name = rest.strip_prefix("pub ").unwrap_or(rest).strip_prefix("mod ")?;
            let end = name.find([';', '{', ' '])?;
            name[end..].starts_with(';').then(|| format!("{dir}{}", &name[..end]))
        })
        .collect()
}

/// Where `#[cfg(test)] mod NAME {` begins.
fn start_of_tests(text: &str) -> Option<usize> {
    test_items(text)
        .find(|(_, rest)| {
            rest.strip_prefix("mod ")
                .and_then(|rest| rest.split_once('{'))
                .is_some_and(|(name, _)| !name.contains(';'))
        })
        .map(|(at, _)| at)
}

/// Removes comments, strings and character literals, and keeps the line breaks.
fn without_comments_and_strings(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let mut i = 0;
    let starts = |i: usize, what: &str| bytes[i..].starts_with(what.as_bytes());
    while i < bytes.len() {
        if starts(i, "//") {
            while i < bytes.len() && bytes[i] != b'\n' {
                i += 1;
            }
        } else if starts(i, "/*") {
            while i < bytes.len() && !starts(i, "*/") {
                i += 1;
            }
            i += 2;
        } else if bytes[i] == b'r' && (starts(i, "r\"") || starts(i, "r#")) && !ends_in_word(&out) {
            let hashes = bytes[i + 1..].iter().take_while(|&&b| b == b'#').count();
            if bytes.get(i + 1 + hashes) == Some(&b'"') {
                let end = format!("\"{}", "#".repeat(hashes));
                i += 2 + hashes;
                while i < bytes.len() && !starts(i, &end) {
                    i += 1;
                }
                i += end.len();
            } else {
                out.push('r');
                i += 1;
            }
        } else if bytes[i] == b'"' {
            i += 1;
            while i < bytes.len() && bytes[i] != b'"' {
                i += if bytes[i] == b'\\' { 2 } else { 1 };
            }
            i += 1;
            out.push_str("\"\"");
        } else if bytes[i] == b'\'' {
            // A character, not a lifetime: 'x' or '\…'.
            let rest = &text[i + 1..];
            let mut chars = rest.char_indices();
            let first = chars.next().map(|(_, c)| c);
            if first == Some('\\') {
                let close = rest[2..].find('\'').map_or(rest.len(), |at| at + 3);
                i += 1 + close;
            } else if let Some((at, '\'')) = chars.next() {
                i += 1 + at + 1;
            } else {
                out.push('\'');
                i += 1;
            }
        } else {
            let c = text[i..].chars().next().unwrap();
            out.push(c);
            i += c.len_utf8();
        }
    }
    out
}

fn ends_in_word(text: &str) -> bool {
    text.chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_')
}

/// The modules that `code` names by `crate::…`, in groups too.
fn named_modules(code: &str) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        if ends_in_word(&code[..at]) || code[..at].ends_with('$') {
            continue;
        }
        let rest = &code[at + "crate::".len()..];
        if let Some(group) = rest.strip_prefix('{') {
            let mut depth = 0;
            let mut word = String::new();
            for c in group.chars() {
                match c {
                    '}' if depth == 0 => {
                        named.insert(std::mem::take(&mut word));
                        break;
                    }
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    ',' if depth == 0 => {
                        named.insert(std::mem::take(&mut word));
                    }
                    c => word.push(c),
                }
            }
        } else {
            let word: String =
                rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            named.insert(word);
        }
    }
    named
        .into_iter()
        .map(|path| path.trim().split([':', ' ']).next().unwrap().to_owned())
        .filter(|word| !word.is_empty())
        .collect()
}

fn has_word(code: &str, word: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        let after = code[at + word.len()..].chars().next();
        !before.is_some_and(is_word) && (word.ends_with('!') || !after.is_some_and(is_word))
    })
}

fn allowed<'a>(table: &'a [(&str, &[&str])], module: &str) -> Option<&'a [&'a str]> {
    table.iter().find(|(name, _)| *name == module).map(|(_, modules)| *modules)
}

#[test]
fn modules_know_only_what_is_below_them() {
    let mut broken = Vec::new();
    for source in sources() {
        let module = source.module().to_owned();
        let Some(below) = allowed(ALLOWED, &module) else {
            broken.push(format!("{}: module `{module}` is not in the table", source.path));
            continue;
        };
        for named in named_modules(&source.code) {
            if named != module
                && !below.contains(&named.as_str())
                && !ALLOWED_ANYWHERE.contains(&named.as_str())
            {
                broken.push(format!("{} names crate::{named}", source.path));
            }
        }
        let besides = allowed(ALLOWED_IN_TESTS, &module).unwrap_or_default();
        for named in named_modules(&source.tests) {
            let known = |list: &[&str]| list.contains(&named.as_str());
            if named != module && !known(below) && !known(besides) && !known(ALLOWED_ANYWHERE) {
                broken.push(format!("the tests of {} name crate::{named}", source.path));
            }
        }
    }
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
}

#[test]
fn crates_stop_where_they_should() {
    let mut broken = Vec::new();
    for source in sources() {
        for (word, places, why) in CONFINED {
            let here = places.iter().any(|place| source.path.starts_with(place));
            if !here && has_word(&source.code, word) {
                broken.push(format!("{} uses {word}: {why}", source.path));
            }
        }
        let may_be_unsafe = UNSAFE_FILES.iter().any(|file| source.path.starts_with(file));
        if has_word(&source.code, "unsafe") && !may_be_unsafe {
            broken.push(format!("{} contains `unsafe` and is not on the list", source.path));
        }
    }
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
}

#[test]
fn the_network_is_behind_its_features_and_in_its_folders() {
    for source in sources() {
        let is_in = |folder: &&str| source.path.starts_with(folder);
        for word in ["hf_hub", "ureq", "std::net::TcpStream", "TcpListener"] {
            let listens = word == "TcpListener" && ["server/", "cli/serve/"].iter().any(is_in);
            let may = listens || is_in(&"registry/pull/");
            assert!(may || !has_word(&source.code, word), "{} uses {word}", source.path);
        }
    }
    for (file, module) in [
        ("registry/mod.rs", "#[cfg(feature = \"hub\")]\nmod pull;"),
        ("lib.rs", "#[cfg(feature = \"server\")]\npub mod server;"),
        ("sync/mod.rs", "#[cfg(feature = \"postgres\")]\nmod postgres;"),
        ("cli/mod.rs", "#[cfg(feature = \"server\")]\nmod serve;"),
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(file);
        assert!(std::fs::read_to_string(path).unwrap().contains(module), "{file}");
    }
}

#[test]
fn the_pure_modules_are_pure() {
    let mut broken = Vec::new();
    for source in sources() {
        let pure = ["memory", "extractive", "grammar", "imports", "error_chain.rs", "texts"];
        if !pure.contains(&source.module()) {
            continue;
        }
        for word in IMPURE {
            if has_word(&source.code, word) {
                broken.push(format!("{} uses {word}", source.path));
            }
        }
    }
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
}

#[test]
fn every_module_says_what_it_is() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    rust_files(&src, &mut files);
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let name = file.to_string_lossy();
        if name.ends_with("_tests.rs") || name.contains("/tests/") {
            continue;
        }
        let documented = text.trim_start().starts_with("//!") || text.starts_with("#![doc");
        assert!(documented, "{} has no header", file.display());
    }
}

#[test]
fn the_checker_sees_what_it_should() {
    let code = without_comments_and_strings(
        "use crate::{memory::{A, B}, store, tui as t};\n// crate::chat\nlet s = \"crate::cli\";\n\
         let c = 'x'; let q = '\\''; fn f<'a>(x: &'a str) { crate::worker::go(); }\n\
         let r = r#\"crate::recall\"#;",
    );
    let named: Vec<String> = named_modules(&code).into_iter().collect();
    assert_eq!(named, ["memory", "store", "tui", "worker"]);
    assert!(has_word("unsafe { }", "unsafe") && !has_word("unsafe_code", "unsafe"));
    assert!(has_word("candle_core::Tensor", "candle_core"));
}

/// Files over this length are hard to find one's way in.
const LINES_MAX: usize = 500;

#[test]
fn no_file_is_long() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in ["src", "crates", "tests"] {
        rust_files(&root.join(folder), &mut files);
    }
    let long: Vec<_> = files
        .iter()
        .map(|file| (file, std::fs::read_to_string(file).unwrap().lines().count()))
        .filter(|(_, lines)| *lines > LINES_MAX)
        .collect();
    assert!(long.is_empty(), "over {LINES_MAX} lines: {long:?}");
}
