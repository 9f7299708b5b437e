//! One key, as it is written in `keys.toml`, shown and pressed.

use std::fmt;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::texts::{self, key, text};

const CTRL: KeyModifiers = KeyModifiers::CONTROL;
const ALT: KeyModifiers = KeyModifiers::ALT;
const SHIFT: KeyModifiers = KeyModifiers::SHIFT;

/// Keys with a name: in the file, and on the screen.
#[rustfmt::skip]
const NAMED: [(KeyCode, &str, &str); 15] = [
    (KeyCode::Enter, "enter", key!("Enter")), (KeyCode::Esc, "esc", key!("Esc")), (KeyCode::Tab, "tab", key!("Tab")),
    (KeyCode::Backspace, "backspace", key!("Backspace")), (KeyCode::Delete, "delete", key!("Del")),
    (KeyCode::Insert, "insert", key!("Ins")), (KeyCode::Up, "up", "↑"), (KeyCode::Down, "down", "↓"),
    (KeyCode::Left, "left", "←"), (KeyCode::Right, "right", "→"), (KeyCode::Home, "home", key!("Home")),
    (KeyCode::End, "end", key!("End")), (KeyCode::PageUp, "pageup", key!("PgUp")),
    (KeyCode::PageDown, "pagedown", key!("PgDn")), (KeyCode::Char(' '), "space", key!("Space")),
];

/// AltGr on some layouts is Ctrl+Alt: a character, not a command.
pub(super) fn is_control(key: KeyEvent) -> bool {
    key.modifiers.contains(CTRL) && !key.modifiers.contains(ALT)
}

/// A key with what is held, as far as terminals can tell it from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    pub held: KeyModifiers,
    pub code: KeyCode,
}

impl Key {
    /// What was pressed.
    pub fn of(event: KeyEvent) -> Self {
        let held = event.modifiers & (CTRL | ALT | SHIFT);
        match event.code {
            // What some terminals send for Enter.
            KeyCode::Char('m' | 'M') if is_control(event) => KeyCode::Enter.into(),
            KeyCode::Char(c) if is_control(event) => {
                Self { held: CTRL, code: KeyCode::Char(c.to_ascii_lowercase()) }
            }
            KeyCode::Char(_) if held.contains(CTRL) => event.code.into(),
            KeyCode::Char(_) => Self { held: held & ALT, code: event.code },
            KeyCode::BackTab => Self { held: SHIFT, code: KeyCode::Tab },
            code => Self { held, code },
        }
    }

    /// The same key with nothing held, where that is what a person means who holds something.
    pub fn bare(self) -> Option<Self> {
        use KeyCode::{
            Backspace, Char, Delete, Down, End, Esc, F, Home, Left, PageDown, PageUp, Right, Tab,
            Up,
        };
        let means_it = match self.code {
            Esc | Tab | PageUp | PageDown | Backspace | Delete | F(_) => {
                self.held != SHIFT || self.code != Tab
            }
            // With Ctrl or Shift, the arrows scroll the chat.
            Up | Down | Left | Right | Home | End | Char(_) => self.held == ALT,
            _ => false,
        };
        (means_it && !self.held.is_empty()).then(|| self.code.into())
    }

    /// Whether pressing it writes something.
    pub fn is_typed(self) -> bool {
        matches!(self.code, KeyCode::Char(_)) && self.held.is_empty()
    }

    /// As it is written: "ctrl+y", "alt+up", "shift+enter", "f5", "x".
    ///
    /// # Errors
    /// Why it can't be one, as half a sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (mut held, mut rest) = (KeyModifiers::NONE, text);
        while let Some((modifier, key)) =
            rest.split_once('+').filter(|(m, key)| !m.is_empty() && !key.is_empty())
        {
            held |= match modifier.to_ascii_lowercase().as_str() {
                "ctrl" => CTRL,
                "alt" => ALT,
                "shift" => SHIFT,
                _ => {
                    return Err(text!(
                        "before a + stands ctrl, alt or shift, not `{word}`",
                        word = modifier
                    ));
                }
            };
            rest = key;
        }
        let mut chars = rest.chars();
        let code = match (chars.next(), chars.next()) {
            (Some(c), None) if !c.is_control() && c != ' ' => KeyCode::Char(c),
            _ => named(&rest.to_ascii_lowercase()).ok_or_else(|| {
                let names = NAMED.map(|(_, name, _)| name).join(", ");
                text!("`{key}` is no key: one character, {names}, or f1 to f12", key = rest, names)
            })?,
        };
        told_apart(held, code)
    }
}

fn named(name: &str) -> Option<KeyCode> {
    let number = || name.strip_prefix('f')?.parse().ok().filter(|n| (1..=12).contains(n));
    let found = NAMED.iter().find(|(_, known, _)| *known == name).map(|(code, ..)| *code);
    found.or_else(|| number().map(KeyCode::F))
}

/// A key that terminals can tell from others, or the reason why not.
fn told_apart(held: KeyModifiers, code: KeyCode) -> Result<Key, String> {
    let same =
        |other: &str| Err(text!("most terminals send the same for it as for {key}", key = other));
    match code {
        KeyCode::Char(c) if held.contains(CTRL) => match c.to_ascii_lowercase() {
            _ if held.contains(ALT) => {
                Err(text!("Ctrl with Alt writes a character on some keyboards").into())
            }
            _ if held.contains(SHIFT) => same(&format!("ctrl+{c}")),
            'i' => same("tab"),
            'm' => same("enter"),
            'h' => same("backspace"),
            '[' => same("esc"),
            c @ ('a'..='z' | ' ') => Ok(Key { held, code: KeyCode::Char(c) }),
            _ => Err(text!("terminals send a key of its own only for Ctrl with a letter or Space")
                .into()),
        },
        KeyCode::Char(' ') if held.contains(SHIFT) => same("space"),
        KeyCode::Char(_) if held.contains(SHIFT) => {
            Err(text!("write the character that it gives: A, not shift+a").into())
        }
        KeyCode::Char('[' | 'O') if held == ALT => {
            Err(text!("other keys begin with what a terminal sends for it").into())
        }
        KeyCode::Tab if held == SHIFT => Ok(Key { held, code }),
        KeyCode::Tab | KeyCode::Esc if !held.is_empty() => {
            same(if code == KeyCode::Tab { "tab" } else { "esc" })
        }
        KeyCode::Backspace if held.intersects(CTRL | SHIFT) => same("backspace"),
        _ => Ok(Key { held, code }),
    }
}

impl From<KeyCode> for Key {
    fn from(code: KeyCode) -> Self {
        Self { held: KeyModifiers::NONE, code }
    }
}

impl From<Key> for KeyEvent {
    fn from(key: Key) -> Self {
        Self::new(key.code, key.held)
    }
}

/// On the screen: "Ctrl+Y", "Alt+↑", "x"; with `{:#}` as it is written in the file.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (modifier, name) in [(CTRL, key!("Ctrl")), (ALT, key!("Alt")), (SHIFT, key!("Shift"))] {
            if self.held.contains(modifier) {
                if f.alternate() {
                    write!(f, "{}+", name.to_ascii_lowercase())?;
                } else {
                    write!(f, "{}+", texts::lookup(name))?;
                }
            }
        }
        let named = NAMED.iter().find(|(code, ..)| *code == self.code);
        match (self.code, named) {
            (_, Some((_, name, _))) if f.alternate() => f.write_str(name),
            (_, Some((.., shown))) => f.write_str(texts::lookup(shown)),
            (KeyCode::Char(c), _) if self.held.contains(CTRL) && !f.alternate() => {
                write!(f, "{}", c.to_ascii_uppercase())
            }
            (KeyCode::Char(c), _) => write!(f, "{c}"),
            (KeyCode::F(n), _) => write!(f, "{}{n}", if f.alternate() { 'f' } else { 'F' }),
            (code, _) => write!(f, "{code:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keys_that_a_terminal_cannot_tell_apart_are_refused() {
        for (text, reason) in [
            ("ctrl+i", "as for tab"),
            ("Ctrl+M", "as for enter"),
            ("ctrl+[", "as for esc"),
            ("ctrl+h", "as for backspace"),
            ("ctrl+backspace", "as for backspace"),
            ("ctrl+shift+c", "as for ctrl+c"),
            ("shift+a", "A, not shift+a"),
            ("ctrl+1", "a letter or Space"),
            ("ctrl+alt+q", "writes a character"),
            ("alt+[", "begin with"),
            ("ctrl+tab", "as for tab"),
            ("hyper+x", "not `hyper`"),
            ("pgup", "`pgup` is no key: one character, enter, esc"),
            ("f13", "f1 to f12"),
            ("", "no key"),
            ("ctrl+", "no key"),
        ] {
            let error = Key::parse(text).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_is_pressed_and_what_is_written(
            text in "((ctrl|alt|shift)\\+){0,2}([a-zA-Z?+/é]|f[0-9]{1,2}|enter|tab|up|end|space|delete|pagedown)",
        ) {
            if let Ok(key) = Key::parse(&text) {
                prop_assert_eq!(Key::of(key.into()), key);
                prop_assert_eq!(Key::parse(&format!("{key:#}")), Ok(key));
            }
        }
    }
}
