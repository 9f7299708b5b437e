//! Lists of words, tables and patterns from `assets/words/`, each parsed when it is first used.
//!
//! A file holds sections: a line `[name]`, then the entries; lines that begin with `#` are
//! comments. The type that reads a section decides what its entries are: [`Words`], [`Lines`],
//! [`Rows`], [`Pairs`] or [`Table`] here, `Patterns` in `patterns.rs`.

use std::collections::{HashMap, HashSet};
use std::ops::Deref;
use std::sync::{LazyLock, OnceLock};

const FILES: [&str; 9] = [
    include_str!("../../assets/words/attributes.txt"),
    include_str!("../../assets/words/changes.txt"),
    include_str!("../../assets/words/conversation.txt"),
    include_str!("../../assets/words/grammar.txt"),
    include_str!("../../assets/words/languages.txt"),
    include_str!("../../assets/words/people.txt"),
    include_str!("../../assets/words/questions.txt"),
    include_str!("../../assets/words/things.txt"),
    include_str!("../../assets/words/verbs.txt"),
];

static SECTIONS: LazyLock<HashMap<&'static str, &'static str>> =
    LazyLock::new(|| FILES.iter().flat_map(|file| sections(file)).collect());

/// Name and body of each section of a file.
pub(super) fn sections(file: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    file.split("\n[").skip(1).filter_map(|section| section.split_once("]\n"))
}

/// The lines of a section, without comments.
pub(super) fn entries(body: &'static str) -> impl Iterator<Item = &'static str> {
    body.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// One section as a `T`.
pub(super) struct Section<T> {
    name: &'static str,
    parse: fn(&mut dyn Iterator<Item = &'static str>) -> T,
    parsed: OnceLock<T>,
}

impl<T> Section<T> {
    pub const fn parsed_by(
        name: &'static str,
        parse: fn(&mut dyn Iterator<Item = &'static str>) -> T,
    ) -> Self {
        Self { name, parse, parsed: OnceLock::new() }
    }
}

impl<T> Deref for Section<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.parsed.get_or_init(|| {
            let body = SECTIONS.get(self.name).copied().unwrap_or_default();
            (self.parse)(&mut entries(body))
        })
    }
}

/// A set of words, separated by white space.
pub(super) type Words = Section<HashSet<&'static str>>;

impl Words {
    pub const fn new(section: &'static str) -> Self {
        Self::parsed_by(section, |lines| lines.flat_map(str::split_whitespace).collect())
    }

    pub fn has(&self, word: &str) -> bool {
        self.contains(word)
    }
}

/// Phrases, one a line, in order.
pub(super) type Lines = Section<Vec<&'static str>>;

impl Lines {
    pub const fn new(section: &'static str) -> Self {
        Self::parsed_by(section, |lines| lines.collect())
    }
}

/// Lines of words, in order.
pub(super) type Rows = Section<Vec<Vec<&'static str>>>;

impl Rows {
    pub const fn new(section: &'static str) -> Self {
        Self::parsed_by(section, |lines| {
            lines.map(|line| line.split_whitespace().collect()).collect()
        })
    }
}

/// Lines `key: value`, in order.
pub(super) type Pairs = Section<Vec<(&'static str, &'static str)>>;

impl Pairs {
    pub const fn new(section: &'static str) -> Self {
        Self::parsed_by(section, |lines| lines.filter_map(|l| l.split_once(": ")).collect())
    }
}

/// Lines `key, key: value`, by key.
pub(super) type Table = Section<HashMap<&'static str, &'static str>>;

impl Table {
    pub const fn new(section: &'static str) -> Self {
        Self::parsed_by(section, |lines| {
            lines
                .filter_map(|line| line.split_once(": "))
                .flat_map(|(keys, value)| keys.split(", ").map(move |key| (key, value)))
                .collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of the sections that the sources read as `kind`.
    fn read_as(kind: &str) -> HashSet<String> {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/extractive");
        let mut names = HashSet::new();
        for file in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let source = std::fs::read_to_string(file.path()).unwrap_or_default();
            let call = format!("{kind}::new(\"");
            let calls = source.split(&call).skip(1);
            names.extend(calls.filter_map(|call| Some(call.split_once('"')?.0.to_owned())));
        }
        names
    }

    #[test]
    fn every_section_is_there_once_and_read() {
        let kinds = ["Words", "Lines", "Rows", "Pairs", "Table", "Patterns"];
        let in_patterns = FILES.iter().flat_map(|file| file.split_whitespace());
        let in_patterns = in_patterns.filter_map(|word| word.strip_prefix('@')).map(str::to_owned);
        let read: HashSet<String> =
            kinds.iter().flat_map(|kind| read_as(kind)).chain(in_patterns).collect();
        let mut there: Vec<String> =
            FILES.iter().flat_map(|file| sections(file)).map(|(name, _)| name.into()).collect();
        let n = there.len();
        there.sort();
        there.dedup();
        assert_eq!(there.len(), n, "a section is there twice");
        let unread: Vec<&String> = there.iter().filter(|name| !read.contains(*name)).collect();
        let missing: Vec<&String> = read.iter().filter(|name| !there.contains(name)).collect();
        assert!(unread.is_empty() && missing.is_empty(), "unread {unread:?}, missing {missing:?}");
    }

    #[test]
    fn words_are_sorted_and_lines_are_clean() {
        let words = read_as("Words");
        for (name, body) in FILES.iter().flat_map(|file| sections(file)) {
            let lines: Vec<&str> = entries(body).collect();
            assert!(!lines.is_empty(), "[{name}] is empty");
            assert!(body.lines().all(|line| line == line.trim() && line.len() <= 150), "[{name}]");
            if words.contains(name) {
                let words: Vec<&str> = lines.iter().flat_map(|l| l.split_whitespace()).collect();
                for pair in words.windows(2) {
                    assert!(pair[0] < pair[1], "[{name}] {} stands before {}", pair[0], pair[1]);
                }
            }
            let unique: HashSet<&str> = lines.iter().copied().collect();
            assert_eq!(unique.len(), lines.len(), "[{name}] has a line twice");
        }
    }
}
