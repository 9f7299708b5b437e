//! Code in colours: which words are keywords, strings, comments, numbers and names (`assets/code.toml`).
//!
//! A scanner that knows comments, strings and words, not grammars: code here is a model's, grammars are regular expressions
//! that hostile text can keep busy, and nothing has to be loaded before the first block is shown. See
//! `docs/decisions/031-code-in-colours.md`.

use std::collections::HashMap;
use std::sync::LazyLock;

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use serde::Deserialize;

use crate::tui::palette::Palette;

const SOURCE: &str = include_str!("../../assets/code.toml");

/// Longer code stays plain.
const BYTES_MAX: usize = 200_000;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Language {
    names: Vec<String>,
    comments: Vec<String>,
    block: Option<(String, String)>,
    strings: Vec<String>,
    multiline: Vec<String>,
    ignores_case: bool,
    keywords: Vec<String>,
}

static LANGUAGES: LazyLock<HashMap<String, Language>> =
    LazyLock::new(|| toml::from_str(SOURCE).unwrap_or_default());

fn language(name: &str) -> Option<&'static Language> {
    let name = name.to_lowercase();
    LANGUAGES.values().find(|language| language.names.contains(&name))
}

/// What a word of code is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    Comment,
    Keyword,
    Name,
    Number,
    String,
}

impl Kind {
    fn style(self, palette: &Palette) -> Style {
        match self {
            Self::Plain => palette.text,
            Self::Comment => palette.comment,
            Self::Keyword => palette.keyword,
            Self::Name => palette.name,
            Self::Number => palette.number,
            Self::String => palette.string,
        }
    }
}

/// What a line begins within: the text that ends it, and what it is.
type Open<'a> = Option<(&'a str, Kind)>;

impl Language {
    /// The words of one line, and what the next one begins within.
    fn line<'t>(&'t self, line: &'t str, mut open: Open<'t>) -> (Vec<(Kind, &'t str)>, Open<'t>) {
        let mut words = Vec::new();
        let mut rest = line;
        while !rest.is_empty() {
            let (kind, end) = match open.take() {
                Some((close, kind)) => {
                    if let Some(at) = rest.find(close) {
                        (kind, at + close.len())
                    } else {
                        open = Some((close, kind));
                        (kind, rest.len())
                    }
                }
                None => self.word(rest, &mut open),
            };
            let (word, after) = rest.split_at(end);
            words.push((kind, word));
            rest = after;
        }
        (words, open)
    }

    /// What the text begins with, and where that ends; where it goes on over this end, `open` says what ends it.
    fn word<'t>(&'t self, text: &'t str, open: &mut Open<'t>) -> (Kind, usize) {
        if self.comments.iter().any(|mark| text.starts_with(mark.as_str())) {
            return (Kind::Comment, text.len());
        }
        let block = self.block.as_ref().map(|(begin, end)| (begin, end, Kind::Comment));
        let multiline = self.multiline.iter().map(|mark| (mark, mark, Kind::String));
        for (begin, end, kind) in block.into_iter().chain(multiline) {
            if text.starts_with(begin.as_str()) {
                *open = Some((end, kind));
                return (kind, begin.len());
            }
        }
        let first = text.chars().next().unwrap_or_default();
        if let Some(mark) = self.strings.iter().find(|mark| text.starts_with(mark.as_str())) {
            return (Kind::String, string(text, mark));
        }
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        if !is_word(first) {
            let end = text.find(|c: char| is_word(c) || !c.is_whitespace()).filter(|&end| end > 0);
            return (Kind::Plain, end.unwrap_or(first.len_utf8()));
        }
        let end = text.find(|c| !is_word(c)).unwrap_or(text.len());
        let word = &text[..end];
        let kind = match () {
            () if first.is_ascii_digit() => Kind::Number,
            () if self.is_keyword(word) => Kind::Keyword,
            () if text[end..].starts_with('(') => Kind::Name,
            () if first.is_uppercase() => Kind::Name,
            () => Kind::Plain,
        };
        (kind, end)
    }

    fn is_keyword(&self, word: &str) -> bool {
        let has = |word: &str| self.keywords.iter().any(|keyword| keyword == word);
        if self.ignores_case { has(&word.to_lowercase()) } else { has(word) }
    }
}

/// Where a string that begins here ends, at the latest with the line.
fn string(text: &str, mark: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if text[at..].starts_with(mark) => return at + mark.len(),
            _ => {}
        }
    }
    text.len()
}

/// A block's lines; in one style where its language is not known.
pub fn lines(name: &str, code: &str, palette: &Palette) -> Vec<Line<'static>> {
    let Some(language) = language(name).filter(|_| code.len() <= BYTES_MAX) else {
        return code.lines().map(|line| Line::styled(line.to_owned(), palette.code)).collect();
    };
    let mut open = None;
    let line = |line| {
        let (words, then) = language.line(line, open.take());
        open = then;
        let span = |(kind, text): (Kind, &str)| Span::styled(text.to_owned(), kind.style(palette));
        words.into_iter().map(span).collect()
    };
    code.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(name: &str, code: &str, word: &str, expected: Kind) {
        let mut open = None;
        let mut found = Vec::new();
        for line in code.lines() {
            let (words, then) = language(name).unwrap().line(line, open);
            open = then;
            found.extend(words);
        }
        let kind = found.iter().find(|(_, text)| text.contains(word)).map(|(kind, _)| *kind);
        assert_eq!(kind, Some(expected), "{word} in {found:?}");
    }

    #[test]
    fn words_have_kinds() {
        let rust = "// why\nfn main() { let x: Foo = \"te\\\"xt\"; print(12); } /* a\nb */ static";
        check("rust", rust, "why", Kind::Comment);
        check("rust", rust, "let", Kind::Keyword);
        check("rs", rust, "main", Kind::Name);
        check("rust", rust, "Foo", Kind::Name);
        check("rust", rust, "xt", Kind::String);
        check("rust", rust, "12", Kind::Number);
        check("rust", rust, "b */", Kind::Comment);
        check("rust", rust, "static", Kind::Keyword);
        check("rust", "fn f<'a>(x: &'a str)", "str", Kind::Keyword);
        check("Python", "x = \"\"\"one\ntwo\"\"\" if y else 'z'", "two", Kind::String);
        check("python", "x = \"\"\"one\ntwo\"\"\" if y else 'z'", "if", Kind::Keyword);
        check("toml", "a = \"b # c\" # d", "# c", Kind::String);
        check("toml", "a = \"b # c\" # d", "# d", Kind::Comment);
        check("sql", "SELECT name FROM t -- all", "FROM", Kind::Keyword);
        check("ts", "const a: string = `b\n${c}`", "${c}", Kind::String);
        check("json", "{\"a\": true}", "true", Kind::Keyword);
    }

    #[test]
    fn every_language_is_read_and_no_name_is_taken_twice() {
        assert!(LANGUAGES.len() > 12, "{}", LANGUAGES.len());
        let mut names: Vec<&String> = LANGUAGES.values().flat_map(|l| &l.names).collect();
        let n = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), n);
        for (name, language) in LANGUAGES.iter() {
            assert!(language.keywords.is_sorted(), "{name}: keywords are in order");
            assert!(language.names.is_sorted(), "{name}: names are in order");
        }
        assert_eq!(lines("no such language", "a\n\nb", &Palette::named("ansi")).len(), 3);
    }

    proptest! {
        #[test]
        fn nothing_is_lost(code in "([\"'`/*#\\\\<>!-]|a|日|fn |\n| ){0,60}", n in 0usize..14) {
            let names: Vec<&String> = LANGUAGES.values().filter_map(|l| l.names.first()).collect();
            let lines = lines(names[n % names.len()], &code, &Palette::named("mono"));
            let text = |line: &Line<'_>| line.spans.iter().map(|s| s.content.to_string()).collect::<String>();
            let all: Vec<String> = lines.iter().map(text).collect();
            prop_assert_eq!(all, code.lines().map(str::to_owned).collect::<Vec<_>>());
        }
    }
}
