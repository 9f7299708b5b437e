//! Every key: what it does where, by the table of [`BINDINGS`] or the person's `keys.toml`. What hints, the `?` page and the
//! palette say of keys is made from the same.

mod file;
mod key;
mod table;

use crossterm::event::{KeyCode, KeyEvent};

use crate::texts;

pub use key::Key;
pub use table::{Action, BINDINGS, Binding, Context};

/// The character that a key types, if it types one.
pub fn typed(key: KeyEvent) -> Option<char> {
    match key.code {
        KeyCode::Char(c) if !key::is_control(key) => Some(c),
        _ => None,
    }
}

/// The keys of each row of [`BINDINGS`], at least one of each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keymap(Vec<Vec<Key>>);

impl Default for Keymap {
    fn default() -> Self {
        Self(BINDINGS.iter().map(Binding::default_keys).collect())
    }
}

impl Keymap {
    fn rows(&self) -> impl Iterator<Item = (&'static Binding, &Vec<Key>)> {
        BINDINGS.iter().zip(&self.0)
    }

    /// The action of a key in this context alone.
    pub fn lookup(&self, context: Context, key: KeyEvent) -> Option<Action> {
        let pressed = Key::of(key);
        let of = |key: Key| {
            let mut rows = self.rows().filter(|(binding, _)| binding.context == context);
            rows.find(|(_, keys)| keys.contains(&key)).map(|(binding, _)| binding.action)
        };
        of(pressed).or_else(|| of(pressed.bare()?))
    }

    /// The first key of each row that stands in the line of this one: "↑ ↓"; or all keys, where it is alone.
    fn line(&self, first: usize, all: bool) -> String {
        let place = BINDINGS[first].context.place();
        let rest =
            self.rows().skip(first + 1).take_while(|(b, _)| b.also && b.context.place() == place);
        let keys: Vec<&Vec<Key>> =
            [&self.0[first]].into_iter().chain(rest.map(|(_, keys)| keys)).collect();
        let of = |keys: &[Key], gap| keys.iter().map(Key::to_string).collect::<Vec<_>>().join(gap);
        match keys[..] {
            [keys] if all => of(keys, ", "),
            _ => of(&keys.iter().filter_map(|keys| keys.first().copied()).collect::<Vec<_>>(), " "),
        }
    }

    /// The lines of the `?` page: the chat's, or those of a pane.
    pub fn help(&self, context: Context) -> impl Iterator<Item = (String, &'static str)> {
        let place = context.place();
        let listed = move |b: &Binding| b.context.place() == place && !b.help.is_empty();
        let lines = BINDINGS.iter().enumerate().filter(move |(_, b)| listed(b));
        lines.map(|(n, b)| match b.action {
            Action::Elsewhere => (texts::lookup(b.keys).to_owned(), texts::lookup(b.help)),
            _ => (self.line(n, true), texts::lookup(b.help)),
        })
    }

    /// The rows of a context with a hint, and what they say: "Esc close".
    fn hints_with(&self, context: Context) -> impl Iterator<Item = (Action, String)> {
        let rows = BINDINGS.iter().enumerate();
        let hinted = rows.filter(move |(_, b)| b.context == context && !b.hint.is_empty());
        hinted
            .map(|(n, b)| (b.action, format!("{} {}", self.line(n, false), texts::lookup(b.hint))))
    }

    /// All hints of a context: "Enter open · / search · Esc close".
    pub fn hints(&self, context: Context) -> String {
        self.hints_of(context, &|_| true)
    }

    /// The hints of a context whose action is possible now.
    pub fn hints_of(&self, context: Context, is_possible: &dyn Fn(Action) -> bool) -> String {
        let possible = self.hints_with(context).filter(|(action, _)| is_possible(*action));
        possible.map(|(_, text)| text).collect::<Vec<_>>().join(" · ")
    }

    /// "Esc close".
    pub fn hint(&self, context: Context, action: Action) -> String {
        self.hints_of(context, &|possible| possible == action)
    }

    /// The key of an action: "Ctrl+S".
    pub fn of(&self, context: Context, action: Action) -> String {
        let mut rows = self.rows().filter(|(b, _)| b.context == context && b.action == action);
        rows.find_map(|(_, keys)| keys.first()).map_or_else(String::new, Key::to_string)
    }
}
