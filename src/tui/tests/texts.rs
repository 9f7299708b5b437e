//! Every text of the screen has its German, and none is written past the texts.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use super::screens::assert_fits;
use super::*;
use crate::texts::in_german;
use crate::tui::keys::{BINDINGS, Context, Keymap};
use crate::tui::slash::COMMANDS;
use crate::tui::wrap;

/// Where the screen's words are.
const OF_SCREEN: [&str; 4] = ["tui/", "chat/machine/", "chat/executor/", "chat/driver.rs"];

/// Words that are no texts of the screen: where, and how they begin.
const NO_TEXTS: [(&str, &[&str]); 11] = [
    // What a model or a log reads.
    (
        "chat/executor/",
        &[
            "tool call",
            "Nothing was called",
            "The server failed",
            "{kept}",
            "The assistant",
            "the user",
            "system turn",
        ],
    ),
    // What the assistant says is as English as the rules.
    ("chat/machine/turn.rs", &["I have read it.", "Kept, in your own words."]),
    ("tui/welcome.rs", &["I moved to Lund last week", "where do I live?"]),
    // Names in what is stored.
    ("tui/page/known.rs", &["relationship status", "the user", "The user"]),
    ("tui/store_replies.rs", &["edit of ", "rename of "]),
    ("tui/view/why.rs", &["You", "The user"]),
    ("tui/view/mod.rs", &["inglenook"]),
    // What is printed, not shown.
    ("tui/keys/file.rs", &["# The keys of the chat."]),
    ("tui/plain/mod.rs", &["the chat"]),
    ("tui/store_thread.rs", &["edit of "]),
    ("tui/runner.rs", &["provoked by a test", "the chat"]),
];

/// A string literal, and whether `text!`, `plural!` or `key!` has it.
struct Literal {
    text: String,
    is_text: bool,
}

/// Those of a source, without its tests.
fn literals(source: &str) -> Vec<Literal> {
    static TOKENS: LazyLock<Regex> = LazyLock::new(|| {
        let comment = r"//[^\n]*";
        let raw = r##"\br"[^"]*"|\br#"(?:[^"]|"[^#])*"#"##;
        let char = r"'(?:\\[^']+|\\'|[^\\'])'";
        let attribute = r"#\[[^\]]*\]";
        let string = r#""((?:[^"\\]|\\.)*)""#;
        Regex::new(&format!("(?s:{comment}|{raw}|{char}|{attribute}|{string})")).unwrap()
    });
    let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let (mut found, mut one_ends) = (Vec::new(), None);
    for token in TOKENS.captures_iter(source) {
        let Some(inner) = token.get(1) else { continue };
        let (begin, end) = (token.get(0).unwrap().start(), token.get(0).unwrap().end());
        let before = source[..begin].trim_end();
        let is_one = before.ends_with("plural!(");
        let is_other = one_ends.is_some_and(|at: usize| source[at..begin].trim() == ",");
        let is_text = is_one || is_other || ["text!(", "key!("].iter().any(|m| before.ends_with(m));
        one_ends = is_one.then_some(end);
        found.push(Literal { text: unescaped(inner.as_str()), is_text });
    }
    found
}

fn unescaped(literal: &str) -> String {
    static GOES_ON: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\\\n\s*").unwrap());
    GOES_ON.replace_all(literal, "").replace("\\\"", "\"").replace("\\n", "\n")
}

/// Every source by its path, without those of tests.
fn sources() -> BTreeMap<String, Vec<Literal>> {
    fn add(folder: &Path, root: &Path, found: &mut BTreeMap<String, Vec<Literal>>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            if path.is_dir() && !name.ends_with("tests") {
                add(&path, root, found);
            } else if path.extension().is_some_and(|end| end == "rs") && !name.ends_with("tests.rs")
            {
                found.insert(name, literals(&fs::read_to_string(path).unwrap()));
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = BTreeMap::new();
    add(&root, &root, &mut found);
    found
}

/// The texts of tables, which are looked up where they are shown.
fn of_tables() -> BTreeSet<String> {
    let keys = BINDINGS.iter().flat_map(|b| {
        let label = if b.name.is_empty() { b.keys } else { "" };
        [b.help, b.hint, label]
    });
    let commands = COMMANDS.iter().flat_map(|c| {
        [c.help, c.arguments, c.missing.unwrap_or_default(), c.palette.unwrap_or_default()]
    });
    let catalogue = include_str!("../../../models/catalogue.toml");
    let good_at = Regex::new("(?m)^good_at = \"(.*)\"$").unwrap();
    let models = good_at.captures_iter(catalogue).map(|found| found.get(1).unwrap().as_str());
    let all = keys.chain(commands).chain(models).filter(|text| !text.is_empty());
    all.map(str::to_owned).collect()
}

fn german() -> BTreeMap<String, String> {
    toml::from_str(include_str!("../../../assets/texts/de.toml")).unwrap()
}

fn places(text: &str) -> BTreeSet<&str> {
    text.split('{').skip(1).map(|rest| rest.split_once('}').unwrap().0).collect()
}

#[test]
fn german_has_every_text_and_no_other() {
    let sources = sources();
    let marked = sources.values().flatten().filter(|literal| literal.is_text);
    let texts: BTreeSet<String> =
        marked.map(|literal| literal.text.clone()).chain(of_tables()).collect();
    assert!(texts.len() > 500, "{}", texts.len());
    let german = german();
    let missing: Vec<_> = texts.iter().filter(|text| !german.contains_key(*text)).collect();
    let dead: Vec<_> = german.keys().filter(|text| !texts.contains(*text)).collect();
    assert!(missing.is_empty() && dead.is_empty(), "missing: {missing:#?}\ndead: {dead:#?}");
    for (english, german) in &german {
        assert_eq!(places(english), places(german), "{english}");
        assert_eq!(german.trim(), german, "{english}");
        assert!(!german.is_empty(), "{english}");
    }
}

#[test]
fn no_words_are_written_past_the_texts() {
    let place = Regex::new(r"\{[^}]*\}").unwrap();
    let word = Regex::new(r"[A-Za-z]{2}").unwrap();
    let words = Regex::new(r"[A-Za-z]{2,}[,.:;]? [A-Za-z]").unwrap();
    let tables = of_tables();
    let mut past = Vec::new();
    for (path, literals) in sources() {
        if !OF_SCREEN.iter().any(|part| path.starts_with(part)) {
            continue;
        }
        let pattern = if path.starts_with("tui/view/") { &word } else { &words };
        for Literal { text, is_text } in literals {
            let is_key = BINDINGS.iter().any(|b| b.keys == text);
            let is_known = is_text || is_key || tables.contains(&text);
            let is_none = NO_TEXTS.iter().any(|(part, begins)| {
                path.contains(part) && begins.iter().any(|begin| text.starts_with(begin))
            });
            if !is_known && !is_none && pattern.is_match(&place.replace_all(&text, "")) {
                past.push(format!("{path}: {text:?}"));
            }
        }
    }
    assert!(past.is_empty(), "text!(…) has none of these:\n{}", past.join("\n"));
}

#[test]
fn the_scan_sees_what_it_should() {
    let source = "// \"no\"\nlet c = '\"'; text!(\"a {n}\", n = \"b\"); plural!(\n  \"c\",\n  \"d \\\n   e\", x);\n\
                  r#\"f \"g\" \"#; #[expect(x, reason = \"h\")] f::<'a>(key!(\"i\"), \"j\\\"\")";
    let seen: Vec<(String, bool)> =
        literals(source).into_iter().map(|literal| (literal.text, literal.is_text)).collect();
    let seen: Vec<(&str, bool)> = seen.iter().map(|(text, is)| (text.as_str(), *is)).collect();
    let expected =
        [("a {n}", true), ("b", false), ("c", true), ("d e", true), ("i", true), ("j\"", false)];
    assert_eq!(seen, expected);
}

#[test]
fn german_commands_and_hints_have_room() {
    /// Of what stands below a pane, where the screen has 80.
    const CELLS: usize = 76;
    let popups = || -> Vec<String> {
        let mut h = Harness::ready(80, 24);
        h.type_str("/");
        let mut popup = |_| {
            h.press("down");
            h.screen()
        };
        (0..COMMANDS.len()).map(&mut popup).collect()
    };
    for (english, german) in popups().iter().zip(in_german(popups)) {
        assert_fits(english, &german);
    }
    let contexts: Vec<Context> = BINDINGS.iter().map(|b| b.context).collect();
    for context in contexts {
        let width = || wrap::width(&Keymap::default().hints(context));
        let (english, german) = (width(), in_german(width));
        assert!(german <= CELLS || english > CELLS, "{context:?}: {german} cells");
    }
}

#[test]
fn a_turn_in_german() {
    in_german(|| {
        let mut h = Harness::ready(80, 24);
        h.exchange(1, "I moved to Lund.", "Noted: you moved to Lund.", json!({}));
        h.press("ctrl-c");
        assert!(h.screen().contains("Noch einmal Strg+C beendet."), "{}", h.screen());
        h.chat(Update::LoadFailed { error: "no such file".into(), still: None });
        assert!(h.screen().contains("Das Modell ließ sich nicht laden: no such file."));
        h.press("ctrl-p");
        assert!(h.screen().contains("Neues Gespräch"), "{}", h.screen());
    });
}
