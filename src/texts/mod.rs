//! The texts of the screen in the person's language. The English text stands where it is shown and is the key; a file of a language
//! (`assets/texts/de.toml`, or the person's own) has the others by it, and what it lacks stays English.
//!
//! It knows neither the screen nor where files are: whoever starts the chat chooses the language, once.

use std::collections::HashMap;
use std::fmt::{Display, Write as _};
use std::sync::OnceLock;

use crate::memory::plain_text;

#[cfg(test)]
mod tests;

/// A text: `text!("Nothing matches.")`; or one with places: `text!("{n} of {of}", n = at + 1, of)`. Its places are those that are
/// filled, or it does not compile.
macro_rules! text {
    (@value $place:ident) => { &$place as &dyn ::std::fmt::Display };
    (@value $place:ident = $value:expr) => { &$value as &dyn ::std::fmt::Display };
    ($english:literal $(,)?) => {{
        const { $crate::texts::check_places($english, &[]) };
        $crate::texts::lookup($english)
    }};
    ($english:literal, $($place:ident $(= $value:expr)?),+ $(,)?) => {{
        const { $crate::texts::check_places($english, &[$(stringify!($place)),+]) };
        $crate::texts::fill(
            $english,
            &[$((stringify!($place), $crate::texts::text!(@value $place $(= $value)?))),+],
        )
    }};
}

/// A number of things: `plural!("{n} fact", "{n} facts", facts.len())`.
macro_rules! plural {
    ($one:literal, $other:literal, $n:expr) => {{
        const { $crate::texts::check_places($one, &["n"]) };
        const { $crate::texts::check_places($other, &["n"]) };
        let n: usize = $n;
        $crate::texts::fill(if n == 1 { $one } else { $other }, &[("n", &n)])
    }};
}

/// A text that [`lookup`] is asked for where it is shown.
macro_rules! key {
    ($english:literal) => {
        $english
    };
}

pub(crate) use {key, plural, text};

/// The languages that need no file of the person's, besides English.
const BUILT_IN: [(&str, &str); 1] = [("de", include_str!("../../assets/texts/de.toml"))];
pub const ENGLISH: &str = "en";
/// Wrong entries of a file that are told one by one.
const PROBLEMS_MAX: usize = 3;

/// The chosen language's; none of English.
static CHOSEN: OnceLock<Texts> = OnceLock::new();

#[cfg(test)]
thread_local! {
    /// Instead of it, in the thread of a test.
    static HERE: std::cell::Cell<Option<&'static Texts>> = const { std::cell::Cell::new(None) };
}

/// Texts by the English ones.
#[derive(Debug, Default)]
struct Texts(HashMap<&'static str, &'static str>);

fn chosen() -> Option<&'static Texts> {
    #[cfg(test)]
    if let Some(texts) = HERE.get() {
        return Some(texts);
    }
    CHOSEN.get()
}

/// A text in the language of the screen; as it is, where that has none.
pub fn lookup(english: &str) -> &str {
    chosen().and_then(|texts| texts.0.get(english)).copied().unwrap_or(english)
}

/// A text with what its places hold.
pub fn fill(english: &str, values: &[(&str, &dyn Display)]) -> String {
    let (mut out, mut rest) = (String::new(), lookup(english));
    while let Some((before, after)) = rest.split_once('{') {
        let (place, after) = after.split_once('}').unwrap_or((after, ""));
        out.push_str(before);
        if let Some((_, value)) = values.iter().find(|(name, _)| *name == place) {
            // Writing to a string can't fail.
            let _ = write!(out, "{value}");
        }
        rest = after;
    }
    out + rest
}

/// A number with so many decimal places: "2.31".
pub fn decimal(number: f64, places: usize) -> String {
    format!("{number:.places$}").replace('.', text!("."))
}

/// Stops the compiler where the places of a text are not those that are filled.
pub const fn check_places(english: &str, places: &[&str]) {
    let text = english.as_bytes();
    let (mut at, mut found) = (0, 0_u32);
    while at < text.len() {
        if text[at] == b'{' {
            let mut n = 0;
            while n < places.len() && !is_place(text, at + 1, places[n].as_bytes()) {
                n += 1;
            }
            assert!(n < places.len(), "nothing fills one of the places of this text");
            found |= 1 << n;
        }
        at += 1;
    }
    assert!(found + 1 == 1 << places.len(), "this text has no such place");
}

const fn is_place(text: &[u8], at: usize, name: &[u8]) -> bool {
    if at + name.len() >= text.len() || text[at + name.len()] != b'}' {
        return false;
    }
    let mut n = 0;
    while n < name.len() && text[at + n] == name[n] {
        n += 1;
    }
    n == name.len()
}

/// The places of a text: "n" and "of" of "{n} of {of}".
fn places(text: &str) -> impl Iterator<Item = &str> {
    text.split('{').skip(1).map(|rest| rest.split_once('}').map_or(rest, |(place, _)| place))
}

/// The languages that are built in.
pub fn built_in() -> impl Iterator<Item = &'static str> {
    [ENGLISH].into_iter().chain(BUILT_IN.map(|(name, _)| name))
}

/// The language that the environment names: "de" of `LANG=de_DE.UTF-8`; English where it names none.
pub fn of_environment(env: &dyn Fn(&str) -> Option<String>) -> String {
    let set = |name| env(name).filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].into_iter().find_map(set).unwrap_or_default();
    let language: String = locale.chars().take_while(char::is_ascii_alphabetic).collect();
    if language.len() < 2 { ENGLISH.into() } else { language.to_ascii_lowercase() }
}

/// Everything that is shown from now on is in this language, with the texts of a file of the person's own before those that are built
/// in. Returns what of that file can't be, in sentences.
pub fn choose(language: &str, own: Option<&str>, path: &str) -> Vec<String> {
    let (texts, problems) = Texts::of(language, own, path);
    if !texts.0.is_empty() {
        let _ = CHOSEN.set(texts);
    }
    problems
}

impl Texts {
    fn of(language: &str, own: Option<&str>, path: &str) -> (Self, Vec<String>) {
        let built_in = BUILT_IN.iter().find(|(name, _)| *name == language);
        let read = |source| toml::from_str::<HashMap<String, String>>(source);
        let mut texts = Self::default();
        if let Some(all) = built_in.and_then(|(_, source)| read(source).ok()) {
            for (english, text) in all {
                texts.put(english, text);
            }
        }
        let Some(own) = own else { return (texts, Vec::new()) };
        match read(own) {
            Ok(own) => {
                // One file has them all: a test sees to it.
                let all = read(BUILT_IN[0].1).unwrap_or_default();
                let problems = texts.put_own(own, &all, path);
                (texts, problems)
            }
            Err(e) => {
                let before = &own[..e.span().map_or(0, |span| span.start.min(own.len()))];
                let (line, why) = (1 + before.matches('\n').count(), e.message());
                (texts, vec![format!("{path}, line {line}: {why}. Nothing of it is used")])
            }
        }
    }

    fn put(&mut self, english: String, text: String) {
        // They are there as long as the program.
        self.0.insert(english.leak(), text.leak());
    }

    /// What a person's file has for these texts; one that is empty is still to be translated.
    fn put_own(
        &mut self,
        own: HashMap<String, String>,
        all: &HashMap<String, String>,
        path: &str,
    ) -> Vec<String> {
        let mut problems = Vec::new();
        for (english, text) in own {
            let text = plain_text(&text).replace(['\n', '\t'], " ");
            let wrong = places(&text).find(|place| !places(&english).any(|known| known == *place));
            if !all.contains_key(&english) {
                problems.push(format!("{path}: there is no text “{}”", plain_text(&english)));
            } else if let Some(place) = wrong {
                problems.push(format!(
                    "{path}: “{english}” has no place {{{place}}}, so what stands there is not used"
                ));
            } else if !text.trim().is_empty() {
                self.put(english, text);
            }
        }
        problems.sort();
        let n_more = problems.len().saturating_sub(PROBLEMS_MAX);
        problems.truncate(PROBLEMS_MAX);
        problems.extend((n_more > 0).then(|| format!("{path}: and {n_more} more like that")));
        problems
    }
}

/// Runs a test's work as it looks in German.
#[cfg(test)]
pub fn in_german<T>(work: impl FnOnce() -> T) -> T {
    static GERMAN: std::sync::LazyLock<Texts> =
        std::sync::LazyLock::new(|| Texts::of("de", None, "").0);
    HERE.set(Some(&*GERMAN));
    let done = work();
    HERE.set(None);
    done
}
