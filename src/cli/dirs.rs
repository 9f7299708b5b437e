//! Where everything lives: XDG, or one folder under `INGLENOOK_HOME`.

use std::path::PathBuf;

use etcetera::{BaseStrategy as _, base_strategy::Xdg};
use serde_json::json;

use super::args;
use super::output::Console;
use super::report::{Failure, Outcome, done};

/// The folders and files of this run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directories {
    /// The person's; the data folder where there is none.
    pub home: PathBuf,
    /// The memory, imported models and the record of installed ones.
    pub data: PathBuf,
    pub config_file: PathBuf,
    /// Downloaded models, shared with other programs.
    pub hub_cache: PathBuf,
}

impl Directories {
    /// Where roles are: beside the settings.
    pub fn roles(&self) -> PathBuf {
        self.config_file.with_file_name("roles")
    }

    /// Where the person's own prompts are.
    pub fn prompts(&self) -> PathBuf {
        self.config_file.with_file_name("prompts")
    }

    /// Where the person's keys are: beside the settings.
    pub fn keys(&self) -> PathBuf {
        self.config_file.with_file_name("keys.toml")
    }

    /// Where the person's own texts of the screen are, a file for each language.
    pub fn texts(&self) -> PathBuf {
        self.config_file.with_file_name("texts")
    }

    /// Where the servers are named whose tools a chat may use: beside the settings.
    pub fn servers(&self) -> PathBuf {
        self.config_file.with_file_name("mcp.json")
    }

    /// `--data-dir` and `--config` first, then `INGLENOOK_HOME`, then the XDG variables.
    ///
    /// # Errors
    /// If there is no home directory and neither flags nor variables name a folder instead.
    pub fn resolve(
        env: &dyn Fn(&str) -> Option<String>,
        home: Option<PathBuf>,
        data_dir: Option<PathBuf>,
        config: Option<PathBuf>,
    ) -> Result<Self, Failure> {
        let set = |name: &str| env(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        let own = set("INGLENOOK_HOME");
        let under = |variable: &str, fallback: &str| {
            set(variable)
                .filter(|path| path.is_absolute())
                .or_else(|| home.as_ref().map(|home| home.join(fallback)))
                .map(|base| base.join("inglenook"))
        };
        let data = data_dir
            .or_else(|| own.clone())
            .or_else(|| under("XDG_DATA_HOME", ".local/share"))
            .ok_or(Failure::NoHome)?;
        let config_file = config
            .or_else(|| own.as_ref().map(|own| own.join("config.toml")))
            .or_else(|| under("XDG_CONFIG_HOME", ".config").map(|dir| dir.join("config.toml")))
            .unwrap_or_else(|| data.join("config.toml"));
        let home = home.unwrap_or_else(|| data.clone());
        let hub_cache = crate::registry::cache_dir(env, &home);
        Ok(Self { home, data, config_file, hub_cache })
    }

    /// From the environment of this process.
    ///
    /// # Errors
    /// As [`Directories::resolve`].
    pub fn from_env(global: &args::Global) -> Result<Self, Failure> {
        let home = Xdg::new().ok().map(|xdg| xdg.home_dir().to_path_buf());
        Self::resolve(
            &|name| std::env::var(name).ok(),
            home,
            global.data_dir.clone(),
            global.config.clone(),
        )
    }
}

pub fn run(dirs: &Directories, console: Console, json: bool) -> Outcome {
    let memory = dirs.data.join("memory.db");
    let models = dirs.data.join("models");
    let rows = [
        ("data", &dirs.data),
        ("memory", &memory),
        ("models", &models),
        ("config", &dirs.config_file),
        ("downloads", &dirs.hub_cache),
    ];
    if json {
        let map: serde_json::Map<String, serde_json::Value> = rows
            .iter()
            .map(|(name, path)| ((*name).to_owned(), json!(path.display().to_string())))
            .collect();
        console.json(&map)?;
    } else {
        for (name, path) in rows {
            console.line(&format!("{name:<10} {}", path.display()))?;
        }
        console.note(&format!(
            "\nTo erase everything inglenook knows: rm -r {}",
            shell_quoted(&dirs.data.display().to_string())
        ));
    }
    done()
}

fn shell_quoted(path: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    if path.chars().all(plain) {
        path.to_owned()
    } else {
        format!("'{}'", path.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(env: &[(&str, &str)], data_dir: Option<&str>, data: &str, config: &str) {
        let get = |name: &str| {
            env.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        };
        let dirs =
            Directories::resolve(&get, Some("/home/ana".into()), data_dir.map(PathBuf::from), None)
                .unwrap();
        assert_eq!(dirs.data, PathBuf::from(data));
        assert_eq!(dirs.config_file, PathBuf::from(config));
    }

    #[test]
    fn flags_outrank_the_variable_and_the_variable_outranks_xdg() {
        let (data, config) =
            ("/home/ana/.local/share/inglenook", "/home/ana/.config/inglenook/config.toml");
        check(&[], None, data, config);
        check(&[("XDG_DATA_HOME", "relative")], None, data, config);
        check(&[("XDG_DATA_HOME", "/d")], None, "/d/inglenook", config);
        check(&[("INGLENOOK_HOME", "/i"), ("XDG_DATA_HOME", "/d")], None, "/i", "/i/config.toml");
        check(&[("INGLENOOK_HOME", "/i")], Some("/flag"), "/flag", "/i/config.toml");
    }

    #[test]
    fn paths_are_quoted_for_the_shell() {
        assert_eq!(shell_quoted("/a/b-c"), "/a/b-c");
        assert_eq!(shell_quoted("/it's here"), "'/it'\\''s here'");
    }
}
