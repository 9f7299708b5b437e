//! The language of the chat's texts: the configured one, or the environment's; with the person's own file of it, if there is one.

use std::env;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::report::Failure;
use crate::texts;

/// Chooses it for this process. Returns what of the person's file can't be.
///
/// # Errors
/// If the configured one is neither built in nor in the folder.
pub fn choose(configured: Option<&str>, folder: &Path) -> Result<Vec<String>, Failure> {
    let name = named(configured, folder, &|name| env::var(name).ok())?;
    let path = folder.join(format!("{name}.toml"));
    let shown = path.display().to_string();
    Ok(match fs::read_to_string(&path) {
        Ok(own) => texts::choose(&name, Some(&own), &shown),
        Err(e) if e.kind() == ErrorKind::NotFound => texts::choose(&name, None, &shown),
        Err(e) => {
            texts::choose(&name, None, &shown);
            vec![format!("{shown} can't be read ({e}), so nothing of it is used")]
        }
    })
}

fn named(
    configured: Option<&str>,
    folder: &Path,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<String, Failure> {
    let Some(name) = configured else { return Ok(texts::of_environment(env)) };
    let own = fs::read_dir(folder).into_iter().flatten().flatten();
    let own =
        own.filter_map(|file| Some(file.file_name().to_str()?.strip_suffix(".toml")?.to_owned()));
    let mut known: Vec<String> = texts::built_in().map(str::to_owned).chain(own).collect();
    if known.iter().any(|known| known == name) {
        return Ok(name.to_owned());
    }
    known.sort();
    known.dedup();
    Err(Failure::Usage {
        what: format!(
            "there is no language `{name}` (`screen.language`), but {}",
            known.join(", ")
        ),
        hint: format!(
            "{}/{name}.toml would be it: docs/adding-a-language.md says how",
            folder.display()
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_go_before_the_environment_and_name_a_language_that_there_is() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("fr.toml"), "").unwrap();
        let named = |configured, lang: &str| {
            named(configured, dir.path(), &|name| (name == "LANG").then(|| lang.to_owned()))
        };
        assert_eq!(named(None, "de_AT.UTF-8").unwrap(), "de");
        assert_eq!(named(Some("en"), "de_AT.UTF-8").unwrap(), "en");
        assert_eq!(named(Some("fr"), "C").unwrap(), "fr");
        let error = named(Some("../fr"), "de").unwrap_err();
        let expected = "there is no language `../fr` (`screen.language`), but de, en, fr";
        assert_eq!(error.to_string(), expected);
        // Of what the environment names, there may be nothing.
        assert_eq!(named(None, "ja_JP").unwrap(), "ja");
    }
}
