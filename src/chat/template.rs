//! Prompts of the person's own, in plain files (`prompts/translate.md` beside the settings): what is sent, with places that arguments fill.
//!
//! ```text
//! ---
//! description: into another language
//! ---
//! Translate this into {{language}}, and say nothing else:
//!
//! {{input}}
//! ```
//!
//! The head may be left out. Arguments fill the places in the order in which they first occur, a word (or "several words" in quotes) each.
//! `{{input}}`, or without it the last place, takes all that is left.

use crate::chat::own_files::{self, OwnFile};
use crate::texts::{key, text};

/// The place that takes all that is left, wherever it stands, and what is piped to a command.
pub const INPUT: &str = "input";

/// A prompt as its file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// The file's, without `.md`.
    pub name: String,
    /// What it is for; its first line, where the file does not say.
    pub description: String,
    text: String,
}

/// A prompt with what its places were filled with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filled {
    pub text: String,
    /// The places that are left in the text, in its order.
    pub missing: Vec<String>,
}

impl OwnFile for Template {
    const WHAT: &'static str = key!("prompt");

    fn name(&self) -> &str {
        &self.name
    }

    fn parse(name: &str, text: &str) -> Result<Self, String> {
        let (settings, text) = own_files::divide(text)?;
        let is_typed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
        if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(is_typed) {
            return Err(text!("its name is to be typed after /: a to z, 0 to 9, - and _").into());
        }
        if text.starts_with('/') {
            return Err(text!("a text that begins with / would be a command").into());
        }
        let begins = text.lines().next().unwrap_or_default();
        let mut template = Self { name: name.into(), description: begins.into(), text };
        for (n, key, value) in settings {
            match key.as_str() {
                "description" => template.description = value,
                _ => return Err(text!("line {n}: `{key}` is not description", n, key)),
            }
        }
        Ok(template)
    }
}

impl Template {
    /// The places, in the order in which they first occur.
    fn places(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for (_, place) in split(&self.text) {
            names.extend(place.map(|(name, _)| name).filter(|name| !names.contains(name)));
        }
        names
    }

    /// The places that take one word each, and the one that takes what is left.
    fn order(&self) -> (Vec<&str>, Option<&str>) {
        let mut places = self.places();
        let rest = places.iter().position(|place| *place == INPUT);
        let rest = rest.or_else(|| places.len().checked_sub(1)).map(|at| places.remove(at));
        (places, rest)
    }

    /// What follows its name: "LANGUAGE INPUT…"; empty if nothing has to.
    pub fn usage(&self) -> String {
        let (words, rest) = self.order();
        let rest = rest.map(|rest| format!("{}…", rest.to_uppercase()));
        let words = words.into_iter().map(str::to_uppercase);
        words.chain(rest).collect::<Vec<_>>().join(" ")
    }

    /// Whether something is wanted of this name.
    pub fn has(&self, place: &str) -> bool {
        self.places().contains(&place)
    }

    /// Filled with a line of words.
    pub fn fill(&self, line: &str) -> Filled {
        let n_words = self.order().0.len();
        let (mut words, mut rest) = (Vec::new(), line.trim());
        while words.len() < n_words && !rest.is_empty() {
            let (word, after) = match rest.strip_prefix('"').and_then(|r| r.split_once('"')) {
                Some(quoted) => quoted,
                None => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
            };
            words.push(word.to_owned());
            rest = after.trim_start();
        }
        self.filled(&words, rest, None)
    }

    /// Filled with words that a shell has divided. Where a text goes with it (`has_text`) and no word is left for `{{input}}`, that is
    /// the text, which stays apart from the person's own words: the place says where it is.
    pub fn fill_words(&self, words: &[String], has_text: bool) -> Filled {
        let (words, rest) = words.split_at(self.order().0.len().min(words.len()));
        let is_last = self.text.ends_with("}}");
        let below = if is_last { "" } else { "the text below" };
        self.filled(words, &rest.join(" "), has_text.then_some(below))
    }

    fn filled(&self, words: &[String], rest: &str, below: Option<&str>) -> Filled {
        let (places, taker) = self.order();
        let mut values: Vec<(&str, &str)> =
            places.into_iter().zip(words.iter().map(String::as_str)).collect();
        values.extend(taker.map(|taker| (taker, rest)));
        values.retain(|(_, value)| !value.is_empty());
        // After what the words fill: the first value counts.
        values.extend(below.map(|below| (INPUT, below)));
        let mut text = String::new();
        let mut missing = Vec::new();
        for (before, place) in split(&self.text) {
            text.push_str(before);
            let Some((name, written)) = place else { continue };
            if let Some((_, value)) = values.iter().find(|(place, _)| *place == name) {
                text.push_str(value);
            } else {
                text.push_str(written);
                missing.push(written.to_owned());
            }
        }
        if taker.is_none() && !rest.is_empty() {
            text = format!("{text}\n\n{rest}");
        }
        Filled { text, missing }
    }
}

/// A text as pieces, each with the place behind it: its name, and how it is written.
fn split(text: &str) -> impl Iterator<Item = (&str, Option<(&str, &str)>)> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest.take()?;
        let mut from = 0;
        while let Some(at) = text[from..].find("{{").map(|at| from + at) {
            let Some(end) = text[at..].find("}}").map(|end| at + end) else { break };
            let name = text[at + 2..end].trim();
            let is_name = |c: char| c.is_alphanumeric() || "-_".contains(c);
            if !name.is_empty() && name.chars().all(is_name) {
                rest = Some(&text[end + 2..]);
                return Some((&text[..at], Some((name, &text[at..end + 2]))));
            }
            from = at + 1;
        }
        Some((text, None))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(text: &str) -> Template {
        Template::parse("x", text).unwrap()
    }

    #[track_caller]
    fn check(text: &str, line: &str, expected: &str, missing: &[&str]) {
        let filled = template(text).fill(line);
        assert_eq!((filled.text.as_str(), &filled.missing[..]), (expected, &strings(missing)[..]));
    }

    fn strings(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
    }

    #[test]
    fn words_fill_the_places() {
        let translate = "Into {{language}}: {{input}}";
        check(translate, "French good  evening", "Into French: good  evening", &[]);
        check(translate, "\"Old Norse\" hi", "Into Old Norse: hi", &[]);
        check(translate, "French", "Into French: {{input}}", &["{{input}}"]);
        check(translate, " ", translate, &["{{language}}", "{{input}}"]);
        // The input takes what is left wherever it stands, and the last place without it.
        check(
            "{{input}} in {{ n }} words, {{n}}!",
            "three the sea",
            "the sea in three words, three!",
            &[],
        );
        check("{{a}} and {{b}}", "x \"y z\"", "x and \"y z\"", &[]);
        check("Summary.", "of this", "Summary.\n\nof this", &[]);
        // What fills a place is not filled itself; what is no place stays.
        check("{{a}} {{b}}", "{{b}} x", "{{b}} x", &[]);
        check("{{#if a}} {{}} {{a b}} {{{a}}} {{", "x", "{{#if a}} {{}} {{a b}} {x} {{", &[]);
        let words = strings(&["Old Norse", "good", "evening"]);
        let fill = |text: &str, words: &[String], has_text| {
            let filled = template(text).fill_words(words, has_text);
            (filled.text, filled.missing.len())
        };
        assert_eq!(fill(translate, &words, true), ("Into Old Norse: good evening".into(), 0));
        assert_eq!(fill(translate, &[], false), (translate.into(), 2));
        // A text that goes with it takes the place of words.
        assert_eq!(fill(translate, &words[..1], true), ("Into Old Norse: ".into(), 0));
        let inside = "Is {{input}} in {{language}}?";
        assert_eq!(fill(inside, &words[..1], true), ("Is the text below in Old Norse?".into(), 0));
        assert_eq!(fill("Is it {{x}}?", &[], true), ("Is it {{x}}?".into(), 1));
    }

    #[test]
    fn a_file_is_a_description_and_a_text() {
        let text = "---\ndescription: into another language\n---\nInto {{language}}: {{input}}\n";
        let translate = template(text);
        assert_eq!(translate.description, "into another language");
        assert_eq!(translate.usage(), "LANGUAGE INPUT…");
        assert!(translate.has(INPUT) && !translate.has("tone"));
        let plain = template("Sum up.\nBriefly.");
        assert_eq!((plain.description.as_str(), plain.usage().as_str()), ("Sum up.", ""));
        for (name, text, why) in [
            ("x", "", "says nothing"),
            ("x", "---\nmodel: y\n---\nHi", "line 2: `model` is not description"),
            ("x", "/forget all", "would be a command"),
            ("two words", "Hi", "typed after /"),
            ("Big", "Hi", "typed after /"),
            ("2nd", "Hi", "typed after /"),
        ] {
            let error = Template::parse(name, text).unwrap_err();
            assert!(error.contains(why), "{text:?}: {error}");
        }
    }
}
