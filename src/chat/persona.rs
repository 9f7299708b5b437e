//! Roles: what a model is told that it is, in plain files (`roles/translator.md` beside the settings).
//!
//! ```text
//! ---
//! model: qwen3-4b
//! temperature: 0.2
//! memory: no
//! ---
//! You translate what I write into French, and say nothing else.
//! ```
//!
//! What stands between the dashes may be left out. With `memory: no` nothing is recalled for an answer; what the person says is kept all
//! the same.

use crate::chat::own_files::{self, OwnFile};
use crate::chat::sampling::{Setting, Settings};
use crate::texts::{key, text};

/// A role as its file says.
#[derive(Debug, Clone, PartialEq)]
pub struct Persona {
    /// The file's, without `.md`.
    pub name: String,
    /// What the model is told.
    pub system: String,
    /// The model that plays it; whichever is in use, without one.
    pub model: Option<String>,
    /// Whether memory is asked.
    pub memory: bool,
    /// How its replies are drawn.
    pub(super) sampling: Settings,
}

impl OwnFile for Persona {
    const WHAT: &'static str = key!("role");

    fn name(&self) -> &str {
        &self.name
    }

    fn parse(name: &str, text: &str) -> Result<Self, String> {
        let (settings, system) = own_files::divide(text)?;
        let (name, sampling) = (name.to_owned(), Settings::new());
        let mut role = Self { name, system, model: None, memory: true, sampling };
        for (n, key, value) in settings {
            role.set(&key, &value).map_err(|why| text!("line {n}: {why}", n, why))?;
        }
        Ok(role)
    }
}

impl Persona {
    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "model" if !value.is_empty() => self.model = Some(value.to_owned()),
            "memory" => match value {
                "yes" | "true" => self.memory = true,
                "no" | "false" => self.memory = false,
                _ => return Err(text!("`memory` is yes or no").into()),
            },
            _ => {
                let Some(setting) = Setting::named(key) else {
                    let settings = Setting::ALL.map(Setting::name).join(", ");
                    return Err(text!(
                        "`{key}` is none of model, memory, {settings}",
                        key,
                        settings
                    ));
                };
                let value = setting.parse(value);
                let range = || text!("`{key}` is {range}", key, range = setting.range_text());
                let value = value.ok_or_else(range)?;
                self.sampling.insert(setting, value);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::chat::sampling::SettingValue;

    #[test]
    fn a_file_is_settings_and_a_text() {
        let role = Persona::parse(
            "fr",
            "---\nmodel: qwen3-4b\ntemperature: 0.2\nmemory: no\n---\n\nTranslate.\n",
        );
        let role = role.unwrap();
        assert_eq!((role.model.as_deref(), role.memory), (Some("qwen3-4b"), false));
        let temperature = role.sampling.get(&Setting::Temperature).copied();
        assert_eq!(
            (role.system.as_str(), temperature),
            ("Translate.", Some(SettingValue::Number(0.2)))
        );
        let plain = Persona::parse("x", "Be brief.\n---\nAlways.").unwrap();
        assert_eq!((plain.system.as_str(), plain.memory), ("Be brief.\n---\nAlways.", true));
        assert_eq!(Persona::parse("x", "---\r\n---\r\nHi\r\n").unwrap().system, "Hi");
        for (text, why) in [
            ("", "says nothing"),
            ("---\nmodel: x\n", "no line ---"),
            ("---\nmodel: x\n---\n  \n", "says nothing"),
            ("---\ntemperature: hot\n---\nHi", "line 2: `temperature`"),
            ("---\n\ntop_p: 2\n---\nHi", "line 3: `top_p`"),
            ("---\nvoice: deep\n---\nHi", "`voice` is none of"),
            ("---\nmodel\n---\nHi", "`key: value`"),
            ("---\nreply_tokens_max: 0\n---\nHi", "from 1 up"),
        ] {
            let error = Persona::parse("x", text).unwrap_err();
            assert!(error.contains(why), "{text:?}: {error}");
        }
        assert!(Persona::parse("x", &"a".repeat(20_000)).unwrap_err().contains("20000 bytes"));
    }

    #[test]
    fn a_folder_holds_those_that_can_be_used_and_why_others_can_not() {
        let dir = tempfile::tempdir().unwrap();
        assert!(Persona::read(dir.path(), "fr").unwrap_err().contains("fr.md would be this one"));
        for (name, text) in [("fr.md", "Translate."), ("bad.md", "---\nx"), ("notes.txt", "no")] {
            fs::write(dir.path().join(name), text).unwrap();
        }
        assert_eq!(Persona::read(dir.path(), "fr").unwrap().system, "Translate.");
        assert!(Persona::read(dir.path(), "bad").unwrap_err().contains("no line ---"));
        assert!(Persona::read(dir.path(), "de").unwrap_err().contains("but fr"));
        assert_eq!(Persona::read_all(&dir.path().join("none")).0, []);
    }
}
