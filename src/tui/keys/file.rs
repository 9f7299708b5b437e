//! `keys.toml`: `[chat]`, then `copy = "ctrl+y"` or `copy = ["ctrl+y", "f5"]`, by the names that stand in
//! [`BINDINGS`]. What a line asks for that can't be is told, and what it is about stays as it was.

use std::fmt::Write as _;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{BINDINGS, Binding, Key, Keymap};
use crate::texts::text;

/// What a file asks for: a row of the table, the line, and the keys.
struct Wish {
    row: usize,
    line: usize,
    keys: Vec<Key>,
}

impl Keymap {
    /// The keys after a file, and what of it can't be; `path` is what the file is called.
    pub fn parse(text: &str, path: &str) -> (Self, Vec<String>) {
        let line_of = |at: usize| 1 + text.bytes().take(at).filter(|&b| b == b'\n').count();
        let said =
            |line: usize, why: &str| (line, text!("{path}, line {line}: {why}", path, line, why));
        let table = match DeTable::parse(text) {
            Ok(table) => table,
            Err(e) => {
                let line = e.span().map_or(1, |span| line_of(span.start));
                let why = text!("{why}. All keys are the usual ones", why = e.message());
                return (Self::default(), vec![said(line, &why).1]);
            }
        };
        let (mut wishes, mut problems) = (Vec::new(), Vec::new());
        for (place, value) in table.get_ref() {
            let (name, line) = (place.get_ref().as_ref(), line_of(place.span().start));
            let DeValue::Table(lines) = value.get_ref() else {
                let places = places();
                let why = text!("`{name}` must stand below a place: {places}", name, places);
                problems.push(said(line, &why));
                continue;
            };
            if !BINDINGS.iter().any(|b| b.context.place() == name) {
                let why = text!("there is no [{name}], but {places}", name, places = places());
                problems.push(said(line, &why));
                continue;
            }
            for (action, value) in lines {
                let line = line_of(action.span().start);
                match wish(name, action.get_ref(), value) {
                    Ok((row, keys)) => wishes.push(Wish { row, line, keys }),
                    Err(why) => problems.push(said(line, &why)),
                }
            }
        }
        wishes.sort_by_key(|wish| wish.line);
        let (keymap, refused) = Self::with(wishes);
        problems.extend(refused.into_iter().map(|(line, why)| said(line, &why)));
        problems.sort();
        (keymap, problems.into_iter().map(|(_, text)| text).collect())
    }

    /// What can be had of this: of two actions with one key in one place the later yields, and whatever wants the key
    /// of an action that has its usual one.
    fn with(mut wishes: Vec<Wish>) -> (Self, Vec<(usize, String)>) {
        let mut refused = Vec::new();
        loop {
            let mut keymap = Self::default();
            for wish in &wishes {
                keymap.0[wish.row].clone_from(&wish.keys);
            }
            let met = wishes
                .iter()
                .enumerate()
                .rev()
                .find_map(|(n, wish)| Some((n, keymap.met(wish.row)?)));
            let Some((n, (key, other))) = met else { return (keymap, refused) };
            let wish = wishes.remove(n);
            let (b, other) = (&BINDINGS[wish.row], &BINDINGS[other]);
            let why = text!(
                "`{key}` is `{other}` in [{place}] already, so `{name}` keeps its usual key",
                key = format_args!("{key:#}"),
                other = other.name,
                place = other.context.place(),
                name = b.name,
            );
            refused.push((wish.line, why));
        }
    }

    /// A key of this row that is another's, too, where both are looked at. What the table itself has twice is meant.
    fn met(&self, row: usize) -> Option<(Key, usize)> {
        let b = &BINDINGS[row];
        let usual = |b: &Binding, key: &Key| b.default_keys().contains(key);
        let mut others =
            (0..BINDINGS.len()).filter(|&n| n != row && BINDINGS[n].context.meets(b.context));
        others.find_map(|n| {
            let meant = |key: &Key| usual(b, key) && usual(&BINDINGS[n], key);
            let shared = |key: &&Key| self.0[row].contains(key) && !meant(key);
            Some((*self.0[n].iter().find(shared)?, n))
        })
    }

    /// The table as a file.
    pub fn usual() -> String {
        let mut text = "# The keys of the chat. Lines that you leave out keep their usual keys.\n\
                        # A key is written as \"ctrl+y\", \"alt+up\", \"f5\" or \"x\"; several as [\"x\", \"delete\"].\n"
            .to_owned();
        let mut place = "";
        for b in BINDINGS.iter().filter(|b| !b.name.is_empty()) {
            if b.context.place() != place {
                place = b.context.place();
                let _ = write!(text, "\n[{place}]\n");
            }
            let keys: Vec<String> =
                b.default_keys().iter().map(|key| format!("\"{key:#}\"")).collect();
            let keys =
                if keys.len() == 1 { keys.concat() } else { format!("[{}]", keys.join(", ")) };
            let line = format!("{} = {keys}", b.name);
            let _ = match b.help {
                "" => writeln!(text, "{line}"),
                help => writeln!(text, "{line:<44} # {help}"),
            };
        }
        text
    }
}

fn places() -> String {
    let mut places: Vec<&str> = BINDINGS.iter().map(|b| b.context.place()).collect();
    places.dedup();
    places.iter().map(|place| format!("[{place}]")).collect::<Vec<_>>().join(", ")
}

/// The row and the keys of a line, or why they can't be had.
fn wish(
    place: &str,
    name: &str,
    value: &Spanned<DeValue<'_>>,
) -> Result<(usize, Vec<Key>), String> {
    let here = || {
        BINDINGS
            .iter()
            .enumerate()
            .filter(|(_, b)| b.context.place() == place && !b.name.is_empty())
    };
    let Some((row, b)) = here().find(|(_, b)| b.name == name) else {
        let names: Vec<&str> = here().map(|(_, b)| b.name).collect();
        return Err(text!(
            "[{place}] has no `{name}`, but {names}",
            place,
            name,
            names = names.join(", ")
        ));
    };
    let text = |value: &DeValue<'_>| match value {
        DeValue::String(text) => Some(text.to_string()),
        _ => None,
    };
    let texts = match value.get_ref() {
        DeValue::Array(all) => all.iter().map(|one| text(one.get_ref())).collect(),
        one => text(one).map(|text| vec![text]),
    };
    let texts = texts.filter(|texts: &Vec<String>| !texts.is_empty());
    let Some(texts) = texts else {
        return Err(text!(
            "`{name}` must be a key such as \"ctrl+y\", or some as [\"x\", \"delete\"]",
            name
        ));
    };
    let mut keys = Vec::new();
    for text in texts {
        let key = Key::parse(&text)
            .map_err(|why| text!("`{key}` can't be `{name}`: {why}", key = text, name, why))?;
        if key.is_typed() && b.is_where_one_writes() {
            return Err(text!(
                "`{key}` can't be `{name}`: it is written there. With Ctrl or Alt it can",
                key = text,
                name
            ));
        }
        keys.push(key);
    }
    Ok((row, keys))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::keys::Context;
    use proptest::prelude::*;

    #[test]
    fn the_table_is_sound_and_as_a_file_changes_nothing() {
        assert_eq!(Keymap::parse(&Keymap::usual(), "k"), (Keymap::default(), Vec::new()));
        let mut seen = Vec::new();
        for b in BINDINGS.iter().filter(|b| !b.name.is_empty()) {
            let keys = b.default_keys();
            assert_eq!(keys.len(), b.keys.split(' ').count(), "{}", b.keys);
            assert!(!keys.iter().any(|key| key.is_typed() && b.is_where_one_writes()), "{b:?}");
            seen.extend(keys.iter().map(|key| format!("{:?} {key:#}", b.context)));
            seen.push(format!("{} {}", b.context.place(), b.name));
        }
        let n = seen.len();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), n, "a key or a name stands twice in a place");
    }

    #[test]
    fn what_cannot_be_is_told_with_its_line_and_the_rest_counts() {
        #[track_caller]
        fn check(text: &str, expected: &[&str]) {
            let (_, problems) = Keymap::parse(text, "k");
            assert_eq!(problems.len(), expected.len(), "{problems:?}");
            for (problem, expected) in problems.iter().zip(expected) {
                assert!(problem.starts_with(expected), "{problem}");
            }
        }
        check("[chat]\ncopy = \"f5\"\n", &[]);
        check("[chat]\ncopy = ", &["k, line 2: "]);
        check(
            "copy = \"f5\"",
            &["k, line 1: `copy` must stand below a place: [chat], [completion]"],
        );
        check("\n[caht]\ncopy = \"f5\"", &["k, line 2: there is no [caht], but [chat], "]);
        check("[chat]\ncpoy = \"f5\"", &["k, line 2: [chat] has no `cpoy`, but send, newline, "]);
        check("[chat]\ncopy = 5", &["k, line 2: `copy` must be a key such as \"ctrl+y\""]);
        check("[chat]\ncopy = []", &["k, line 2: `copy` must be a key"]);
        check(
            "[chat]\ncopy = \"ctrl+i\"\nwhy = \"w\"",
            &[
                "k, line 2: `ctrl+i` can't be `copy`: most terminals send the same",
                "k, line 3: `w` can't be `why`: it is written there",
            ],
        );
        // Two that change places, then one that takes what another has.
        check("[chat]\ncopy = \"ctrl+l\"\nmodels = \"ctrl+y\"", &[]);
        check("[chat]\ncopy = \"ctrl+l\"", &["k, line 2: `ctrl+l` is `models` in [chat] already"]);
        check(
            "[chats]\nrename = \"f7\"\npin = \"enter\"\ndelete = \"f7\"",
            &["k, line 3: `enter` is `take` in [list]", "k, line 4: `f7` is `rename` in [chats]"],
        );
        // Of a chain of wishes none is left with another's key.
        check(
            "[chat]\ncopy = \"ctrl+l\"\nmodels = \"ctrl+g\"\nwhy = \"ctrl+i\"",
            &["k, line 2: `ctrl+l`", "k, line 3: `ctrl+g`", "k, line 4: `ctrl+i`"],
        );
    }

    proptest! {
        #[test]
        fn every_wish_is_met_or_told_and_no_key_is_two_actions(
            lines in prop::collection::vec(
                "(copy|why|models|send|history|chats) = \"(ctrl\\+[a-z]|f[0-9]|alt\\+[a-z]|[a-z]|enter)\"", 0..6,
            ),
        ) {
            let text = format!("[chat]\n{}", lines.join("\n"));
            let (keymap, problems) = Keymap::parse(&text, "k");
            let names: std::collections::HashSet<&str> =
                lines.iter().filter_map(|line| line.split(' ').next()).collect();
            if names.len() < lines.len() {
                // TOML takes no name twice.
                prop_assert_eq!((problems.len(), keymap), (1, Keymap::default()));
                return Ok(());
            }
            for (n, line) in lines.iter().enumerate() {
                let (name, key) = line.split_once(" = ").unwrap();
                let is_row = |b: &&Binding| b.context == Context::Chat && b.name == name;
                let row = BINDINGS.iter().position(|b| is_row(&b)).unwrap();
                let is_met = keymap.0[row].iter().any(|k| format!("\"{k:#}\"") == key);
                let is_told = problems.iter().any(|p| p.starts_with(&format!("k, line {}: ", n + 2)));
                prop_assert!(is_met || is_told, "{line}: {problems:?}");
            }
            for (row, b) in BINDINGS.iter().enumerate() {
                prop_assert_eq!(keymap.met(row), None);
                prop_assert!(b.name.is_empty() || !keymap.0[row].is_empty());
            }
        }

        #[test]
        fn no_text_is_too_wrong(text in "[\\[\\]a-z=\"\n+. ]{0,60}") {
            Keymap::parse(&text, "k");
        }
    }
}
