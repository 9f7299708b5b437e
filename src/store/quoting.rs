//! Does one text quote another? Pure; for forgetting, where a miss leaves a text behind and a false
//! alarm costs a reply or a name that can be written again.

use std::collections::HashSet;

use unicode_normalization::UnicodeNormalization as _;

use crate::memory::lexical::words;

/// A run of this many words is no coincidence.
const RUN: usize = 5;
/// A text shorter than that, of at least this many words, counts if all of it is there.
const WHOLE_MIN: usize = 3;

/// Texts whose quotations are looked for.
#[derive(Debug, Default)]
pub(super) struct Quoted {
    runs: HashSet<Vec<String>>,
}

impl Quoted {
    pub(super) fn add(&mut self, text: &str) {
        let words: Vec<String> = words(text).collect();
        if words.len() >= RUN {
            self.runs.extend(words.windows(RUN).map(<[String]>::to_vec));
        } else if words.len() >= WHOLE_MIN {
            self.runs.insert(words);
        }
    }

    /// Whether `text` contains a run of words from any of them.
    pub(super) fn is_in(&self, text: &str) -> bool {
        if self.runs.is_empty() {
            return false;
        }
        let words: Vec<String> = words(text).collect();
        (WHOLE_MIN..=RUN).any(|n| words.windows(n).any(|run| self.runs.contains(run)))
    }
}

/// Whether `needle`'s words occur in `text`, one after the other.
pub(super) fn has_words(text: &str, needle: &[String]) -> bool {
    let words: Vec<String> = words(text).collect();
    !needle.is_empty() && words.windows(needle.len()).any(|run| run == needle)
}

/// Whether `text` contains `part` as people read it: see [`folded`]. A word that a line's end divides is also read as one, and
/// so where a title has a space in its place.
pub(super) fn contains(text: &str, part: &str) -> bool {
    let part = folded(part, false);
    let plain = folded(text, false);
    let is_divided = text.contains('\n') || plain.contains("- ");
    plain.contains(&part) || is_divided && folded(text, true).contains(&part)
}

/// Whether any text in a JSON value [`contains`] `part`.
pub(super) fn contains_in(value: &serde_json::Value, part: &str) -> bool {
    any_text(value, &|text| contains(text, part))
}

/// Whether `holds` of any text in a JSON value.
pub(super) fn any_text(value: &serde_json::Value, holds: &dyn Fn(&str) -> bool) -> bool {
    use serde_json::Value;
    match value {
        Value::String(text) => holds(text),
        Value::Array(values) => values.iter().any(|value| any_text(value, holds)),
        Value::Object(fields) => fields.values().any(|value| any_text(value, holds)),
        _ => false,
    }
}

/// Compatibility forms composed (NFKC), case folded, all quotes and all hyphens the same, each stretch of white space one
/// space and none after a hyphen at a line's end; with `joins`, what a hyphen and white space divide is one word; nothing of what is not seen (soft hyphens,
/// joiners).
fn folded(text: &str, joins: bool) -> String {
    let upper: String = text.nfkc().collect::<String>().to_uppercase();
    let mut out = String::with_capacity(text.len());
    // What stands between `out` and the next character.
    let mut space = String::new();
    for c in upper.to_lowercase().nfkc() {
        let c = match c {
            '\u{ad}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2060}'
            | '\u{feff}'
            | '\u{fe0e}'
            | '\u{fe0f}' => continue,
            // Of "İ", the dot.
            '\u{307}' if out.ends_with('i') => continue,
            'ς' => 'σ',
            '‘' | '’' | '‚' | '‛' | '′' | 'ʼ' | '`' | '´' => '\'',
            '“' | '”' | '„' | '‟' | '″' | '«' | '»' => '"',
            '‐'..='―' | '−' | '﹣' => '-',
            c if c.is_whitespace() => {
                space.push(c);
                continue;
            }
            c => c,
        };
        let may_divide = joins && !space.is_empty() && !out.ends_with(" -");
        let is_wrapped = out.ends_with('-') && (space.contains('\n') || may_divide);
        if !space.is_empty() && !is_wrapped {
            out.push(' ');
        }
        if is_wrapped && joins {
            out.pop();
        }
        space.clear();
        // In capitals, "ẞ" stays one letter.
        if c == 'ß' { out.push_str("ss") } else { out.push(c) }
    }
    out + if space.is_empty() { "" } else { " " }
}

/// Words that may carry meaning (not "the" or "and"): of four letters or more, not ASCII, or with a digit.
pub(super) fn telling_words(text: &str) -> impl Iterator<Item = String> {
    words(text).filter(|w| {
        w.chars().count() >= 4 || !w.is_ascii() || w.bytes().any(|b| b.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, text: &str, expected: bool) {
        let mut quoted = Quoted::default();
        quoted.add(source);
        assert_eq!(quoted.is_in(text), expected, "{source:?} in {text:?}");
    }

    #[test]
    fn what_reads_the_same_is_the_same() {
        for (text, part) in [
            ("Caf\u{e9}", "cafe\u{301}"),
            ("cafe\u{301}s", "CAF\u{c9}S"),
            ("It\u{2019}s Ana\u{2018}s", "it's ana's"),
            ("Stra\u{df}e", "STRASSE"),
            ("\u{ff33}\u{ff25}\u{ff23}ret", "secret"),
            ("a well- \n  known man", "well-known"),
            ("a Zorb-\r\n  equill", "zorbequill"),
            ("a zorb\u{2010}\nequill", "Zorb-equill"),
            ("My boss Zorb- equill gave me a raise", "ZORBEQUILL"),
            ("Stra\u{1e9e}e", "strasse"),
            ("strasse", "STRA\u{1e9e}E"),
            ("\u{130}rem", "irem"),
            ("\u{2764}\u{fe0f} Fena", "\u{2764} fena"),
            ("a sec\u{ad}ret \u{2013} kept", "SECRET - kept"),
            ("two\n  words", "two words"),
            ("\u{fb01}le", "file"),
            ("\u{39f}\u{394}\u{39f}\u{3a3}", "\u{3bf}\u{3b4}\u{3bf}\u{3c2}"),
            ("\u{201c}so\u{201d}", "\"so\""),
        ] {
            assert!(contains(text, part), "{text:?}, {part:?}: {:?}", folded(text, false));
            assert!(contains(part, part.trim()) && !contains(text, "other"));
        }
        assert!(!contains("a b", "ab") && !contains("resume", "r\u{e9}sum\u{e9}"));
        assert!(contains_in(&serde_json::json!({"a": ["x", {"b": "say \"Hi\""}]}), "\"hi\""));
    }

    #[test]
    fn five_words_in_a_row_are_a_quotation() {
        check("I moved to Lund last week", "You said: \"I moved to LUND, last week\".", true);
        check("I moved to Lund last week", "You moved to Lund last week.", true);
        check("I moved to Lund last week", "Last week you moved", false);
        check("I am Ana", "So: I am Ana!", true);
        check("thank you", "thank you", false);
        check("", "", false);
    }

    #[test]
    fn names_are_found_as_words() {
        assert!(has_words("Ana's dog", &["ana".into()]));
        assert!(!has_words("Anastasia", &["ana".into()]));
        assert!(!has_words("Ana", &[]));
    }
}
