//! Where other programs keep their models, on each system.
//!
//! | program | place | source |
//! |---|---|---|
//! | Ollama | `OLLAMA_MODELS`, else `~/.ollama/models`; as a service `/usr/share/ollama/.ollama/models` | its FAQ |
//! | LM Studio | `downloadsFolder` of `settings.json` in its home, else `models` there; its home is what `~/.lmstudio-home-pointer` names, else `~/.lmstudio` or the older `~/.cache/lm-studio` | what it writes |
//! | Jan | `llamacpp/models` in `data_folder` of its `settings.json`, else in `Jan/data` under the person's data folder | its source |
//! | GPT4All | `nomic.ai/GPT4All` under the person's local data folder | its source |
//! | llama.cpp | `LLAMA_CACHE`, else `llama.cpp` under the person's cache folder; since 2026 the Hugging Face cache | its source |

use std::path::{Path, PathBuf};

use super::read_small;

/// How files lie in a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Manifests that name blobs.
    Ollama,
    /// GGUF files in folders.
    Tree,
    /// `models--OWNER--NAME/snapshots/COMMIT/…`.
    HubCache,
}

/// A folder in which a program keeps models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub program: &'static str,
    pub dir: PathBuf,
    pub layout: Layout,
}

/// An operating system, by where its programs put their files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    Linux,
    MacOs,
    Windows,
}

impl System {
    pub fn this() -> Self {
        if cfg!(target_os = "windows") {
            Self::Windows
        } else if cfg!(target_os = "macos") {
            Self::MacOs
        } else {
            Self::Linux
        }
    }
}

/// All places of `system` in the home directory `home`, whether they exist or not.
pub fn places(
    system: System,
    env: &dyn Fn(&str) -> Option<String>,
    home: &Path,
    hub_cache: &Path,
) -> Vec<Place> {
    let set = |name: &str| env(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let under = |variable: &str, fallback: &str| set(variable).unwrap_or(home.join(fallback));
    let [cache, data, local_data, config] = match system {
        System::Linux => {
            let data = under("XDG_DATA_HOME", ".local/share");
            [
                under("XDG_CACHE_HOME", ".cache"),
                data.clone(),
                data,
                under("XDG_CONFIG_HOME", ".config"),
            ]
        }
        System::MacOs => {
            let support = home.join("Library/Application Support");
            [home.join("Library/Caches"), support.clone(), support.clone(), support]
        }
        System::Windows => {
            let roaming = under("APPDATA", "AppData/Roaming");
            let local = under("LOCALAPPDATA", "AppData/Local");
            [local.clone(), roaming.clone(), local, roaming]
        }
    };

    let mut places = Vec::new();
    let mut add = |program, dir, layout| {
        let place = Place { program, dir, layout };
        if !places.contains(&place) {
            places.push(place);
        }
    };
    match set("OLLAMA_MODELS") {
        Some(dir) => add("Ollama", dir, Layout::Ollama),
        None => add("Ollama", home.join(".ollama/models"), Layout::Ollama),
    }
    if system == System::Linux {
        add("Ollama", "/usr/share/ollama/.ollama/models".into(), Layout::Ollama);
    }
    for dir in lm_studio(home) {
        add("LM Studio", dir, Layout::Tree);
    }
    for dir in jan(&data, &config) {
        add("Jan", dir.join("llamacpp/models"), Layout::Tree);
    }
    add("GPT4All", local_data.join("nomic.ai/GPT4All"), Layout::Tree);
    add("llama.cpp", set("LLAMA_CACHE").unwrap_or(cache.join("llama.cpp")), Layout::Tree);
    add("Hugging Face", hub_cache.to_path_buf(), Layout::HubCache);
    places
}

fn lm_studio(home: &Path) -> Vec<PathBuf> {
    let pointed = read_small(&home.join(".lmstudio-home-pointer"))
        .and_then(|text| Some(PathBuf::from(text.lines().next()?.trim())))
        .filter(|path| path.is_absolute());
    let homes = pointed.into_iter().chain([".lmstudio", ".cache/lm-studio"].map(|d| home.join(d)));
    homes
        .flat_map(|dir| {
            let chosen = setting(&dir.join("settings.json"), "downloadsFolder");
            chosen.into_iter().chain([dir.join("models")])
        })
        .collect()
}

fn jan(data: &Path, config: &Path) -> Vec<PathBuf> {
    let chosen = [data, config].map(|dir| setting(&dir.join("Jan/settings.json"), "data_folder"));
    chosen.into_iter().flatten().chain([data.join("Jan/data")]).collect()
}

/// An absolute path in a program's settings.
fn setting(file: &Path, key: &str) -> Option<PathBuf> {
    let settings: serde_json::Value = serde_json::from_str(&read_small(file)?).ok()?;
    Some(PathBuf::from(settings.get(key)?.as_str()?)).filter(|path| path.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(system: System, env: &[(&str, &str)], home: &Path, expected: &[(&str, &str)]) {
        let get = |name: &str| {
            env.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        };
        let found = places(system, &get, home, Path::new("/hub"));
        let found: Vec<(&str, String)> =
            found.iter().map(|p| (p.program, p.dir.display().to_string())).collect();
        let expected: Vec<(&str, String)> = expected
            .iter()
            .map(|(program, dir)| (*program, dir.replace('~', &home.display().to_string())))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn each_system_has_its_places() {
        let home = Path::new("/home/ana");
        check(
            System::Linux,
            &[],
            home,
            &[
                ("Ollama", "~/.ollama/models"),
                ("Ollama", "/usr/share/ollama/.ollama/models"),
                ("LM Studio", "~/.lmstudio/models"),
                ("LM Studio", "~/.cache/lm-studio/models"),
                ("Jan", "~/.local/share/Jan/data/llamacpp/models"),
                ("GPT4All", "~/.local/share/nomic.ai/GPT4All"),
                ("llama.cpp", "~/.cache/llama.cpp"),
                ("Hugging Face", "/hub"),
            ],
        );
        check(
            System::MacOs,
            &[("XDG_CACHE_HOME", "/ignored")],
            home,
            &[
                ("Ollama", "~/.ollama/models"),
                ("LM Studio", "~/.lmstudio/models"),
                ("LM Studio", "~/.cache/lm-studio/models"),
                ("Jan", "~/Library/Application Support/Jan/data/llamacpp/models"),
                ("GPT4All", "~/Library/Application Support/nomic.ai/GPT4All"),
                ("llama.cpp", "~/Library/Caches/llama.cpp"),
                ("Hugging Face", "/hub"),
            ],
        );
        check(
            System::Windows,
            &[("APPDATA", "R"), ("LOCALAPPDATA", "L"), ("OLLAMA_MODELS", "/o")],
            home,
            &[
                ("Ollama", "/o"),
                ("LM Studio", "~/.lmstudio/models"),
                ("LM Studio", "~/.cache/lm-studio/models"),
                ("Jan", "R/Jan/data/llamacpp/models"),
                ("GPT4All", "L/nomic.ai/GPT4All"),
                ("llama.cpp", "L/llama.cpp"),
                ("Hugging Face", "/hub"),
            ],
        );
    }

    #[test]
    fn variables_and_the_programs_own_settings_are_honoured() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path();
        let write = |path: &str, text: &str| {
            let path = home.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(".lmstudio-home-pointer", "/big/lm\n");
        write(".lmstudio/settings.json", r#"{"downloadsFolder": "/big/downloads"}"#);
        write("data/Jan/settings.json", r#"{"data_folder": "/big/jan"}"#);
        write(".config/Jan/settings.json", "not JSON");
        check(
            System::Linux,
            &[
                ("OLLAMA_MODELS", "/o"),
                ("LLAMA_CACHE", "/l"),
                ("XDG_DATA_HOME", &format!("{}/data", home.display())),
            ],
            home,
            &[
                ("Ollama", "/o"),
                ("Ollama", "/usr/share/ollama/.ollama/models"),
                ("LM Studio", "/big/lm/models"),
                ("LM Studio", "/big/downloads"),
                ("LM Studio", "~/.lmstudio/models"),
                ("LM Studio", "~/.cache/lm-studio/models"),
                ("Jan", "/big/jan/llamacpp/models"),
                ("Jan", "~/data/Jan/data/llamacpp/models"),
                ("GPT4All", "~/data/nomic.ai/GPT4All"),
                ("llama.cpp", "/l"),
                ("Hugging Face", "/hub"),
            ],
        );
    }
}
