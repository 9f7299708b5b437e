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

use std::path::Path;
use std::{fs, io};

use crate::chat::sampling::{Setting, Settings};

/// Longer ones leave no room for a conversation.
const BYTES_MAX: usize = 16_000;

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

impl Persona {
    /// Reads a role's text.
    ///
    /// # Errors
    /// Which line is wrong, and how, for people.
    pub fn parse(name: &str, text: &str) -> Result<Self, String> {
        let mut role = Self {
            name: name.to_owned(),
            system: String::new(),
            model: None,
            memory: true,
            sampling: Settings::new(),
        };
        let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
        let (head, body) = match text.strip_prefix("---\n") {
            Some(rest) => {
                let end = rest.strip_prefix("---\n").map(|body| ("", body));
                end.or_else(|| rest.split_once("\n---\n")).ok_or("no line --- ends its settings")?
            }
            None => ("", text.as_str()),
        };
        for (n, line) in head.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let wrong = |why: &str| format!("line {}: {why}", n + 2);
            let (key, value) =
                line.split_once(':').ok_or_else(|| wrong("`key: value` is wanted"))?;
            role.set(key.trim(), value.trim().trim_matches('"')).map_err(|why| wrong(&why))?;
        }
        body.trim().clone_into(&mut role.system);
        match role.system.len() {
            0 => Err("it says nothing to the model".into()),
            n if n > BYTES_MAX => Err(format!("it is {n} bytes long (at most {BYTES_MAX})")),
            _ => Ok(role),
        }
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "model" if !value.is_empty() => self.model = Some(value.to_owned()),
            "memory" => match value {
                "yes" | "true" => self.memory = true,
                "no" | "false" => self.memory = false,
                _ => return Err("`memory` is yes or no".into()),
            },
            _ => {
                let Some(setting) = Setting::named(key) else {
                    let settings = Setting::ALL.map(Setting::name).join(", ");
                    return Err(format!("`{key}` is none of model, memory, {settings}"));
                };
                let value = setting.parse(value);
                let value = value.ok_or_else(|| format!("`{key}` is {}", setting.range_text()))?;
                self.sampling.insert(setting, value);
            }
        }
        Ok(())
    }

    /// The role called `name` in a folder.
    ///
    /// # Errors
    /// If there is none, or it can't be used; for people, with those that there are.
    pub fn read(folder: &Path, name: &str) -> Result<Self, String> {
        let (roles, unusable) = Self::read_all(folder);
        if let Some(why) = unusable.iter().find(|(other, _)| other == name).map(|(_, why)| why) {
            return Err(format!("the role {name} can't be used: {why}"));
        }
        let names: Vec<String> = roles.iter().map(|role| role.name.clone()).collect();
        roles.into_iter().find(|role| role.name == name).ok_or_else(|| {
            let folder = folder.display();
            match names.as_slice() {
                [] => format!("there are no roles yet; {folder}/{name}.md would be this one"),
                names => format!("there is no role {name} in {folder}, but {}", names.join(", ")),
            }
        })
    }

    /// All roles in a folder by name, and those that can't be used with the reason. Nothing, if there is no such folder.
    pub fn read_all(folder: &Path) -> (Vec<Self>, Vec<(String, String)>) {
        let Ok(entries) = fs::read_dir(folder) else { return Default::default() };
        let files = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let mut files: Vec<_> =
            files.filter(|p| p.extension().is_some_and(|e| e == "md")).collect();
        files.sort();
        let (mut roles, mut unusable) = (Vec::new(), Vec::new());
        for path in files {
            let Some(name) = path.file_stem().and_then(|name| name.to_str()) else { continue };
            let text = read_text(&path).map_err(|error| error.to_string());
            match text.and_then(|text| Self::parse(name, &text)) {
                Ok(role) => roles.push(role),
                Err(why) => unusable.push((name.to_owned(), why)),
            }
        }
        (roles, unusable)
    }
}

/// A file of no more than a role may have, and a little.
fn read_text(path: &Path) -> io::Result<String> {
    use io::Read as _;
    let mut text = String::new();
    fs::File::open(path)?.take(2 * BYTES_MAX as u64).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
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
