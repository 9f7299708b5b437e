//! `models/installed.toml`: what was imported or pulled, with the hash of every file, and which
//! model is in use.
//!
//! ```toml
//! in_use = "qwen3-0.6b"
//! [[model]]
//! name = "qwen3-0.6b"
//! kind = "language"
//! origin = "hub"
//! path = "/home/ana/.cache/huggingface/hub/…/Qwen3-0.6B-Q4_K_M.gguf"
//! source = "unsloth/Qwen3-0.6B-GGUF"
//! licence = "Apache-2.0"
//! files = [{ path = "…", bytes = 396705472, sha256 = "…" }]
//! ```
//!
//! A path that is not absolute is relative to the folder of the file itself.

use std::collections::HashSet;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{ModelPurpose, RegistryError, error::io_error};

/// One file of an installed model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstalledFile {
    pub path: PathBuf,
    pub bytes: u64,
    pub sha256: String,
    /// When it was last written, in nanoseconds since 1970: of a file that belongs to another program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified_ns: Option<i64>,
}

/// Where an installed model came from, which decides what `remove` may delete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// Copied into the data directory.
    Import,
    /// In the Hugging Face cache.
    Hub,
    /// Used where it lies; it belongs to the person or to another program.
    Link,
}

/// An installed model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstalledModel {
    pub name: String,
    #[serde(rename = "kind")]
    pub purpose: ModelPurpose,
    pub origin: Origin,
    /// The GGUF file, or the folder of a safetensors model.
    pub path: PathBuf,
    /// The file or the repository it came from, for people.
    pub source: String,
    #[serde(default)]
    pub licence: Option<String>,
    #[serde(default)]
    pub files: Vec<InstalledFile>,
}

impl InstalledModel {
    /// Whether its files belong to the person or to another program.
    pub fn is_linked(&self) -> bool {
        self.origin == Origin::Link
    }

    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}

/// `installed.toml` as a whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    #[serde(default)]
    pub in_use: Option<String>,
    #[serde(default)]
    pub embedder_in_use: Option<String>,
    #[serde(default, rename = "model")]
    pub models: Vec<InstalledModel>,
}

impl Manifest {
    const FILE: &str = "installed.toml";

    /// Reads it; a folder without one has an empty manifest.
    pub fn read(models_dir: &Path) -> Result<Self, RegistryError> {
        let path = models_dir.join(Self::FILE);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(e) => return Err(io_error("read", &path, e)),
        };
        toml::from_str(&text).map_err(|e| RegistryError::Manifest {
            path: path.display().to_string(),
            reason: e.message().to_owned(),
        })
    }

    /// Reads it, changes it and writes it, while no other process does. If `change` fails, nothing is written.
    pub fn update<T>(
        models_dir: &Path,
        change: impl FnOnce(&mut Self) -> Result<T, RegistryError>,
    ) -> Result<T, RegistryError> {
        super::files::create_private_dir(models_dir)?;
        // The folder itself, so that there is no file of locks. Where a folder can't be locked, none is.
        let folder = File::open(models_dir).ok();
        let _ = folder.as_ref().map(File::lock);
        let mut manifest = Self::read(models_dir)?;
        let made = change(&mut manifest)?;
        manifest.write(models_dir)?;
        Ok(made)
    }

    /// Writes a new file and renames it: a crash leaves the old one.
    fn write(&self, models_dir: &Path) -> Result<(), RegistryError> {
        let path = models_dir.join(Self::FILE);
        let text = toml::to_string_pretty(self).map_err(|e| RegistryError::Manifest {
            path: path.display().to_string(),
            reason: e.to_string(),
        })?;
        super::files::create_private_dir(models_dir)?;
        let mut file =
            tempfile::NamedTempFile::new_in(models_dir).map_err(|e| io_error("write", &path, e))?;
        file.write_all(text.as_bytes())
            .and_then(|()| file.as_file().sync_all())
            .map_err(|e| io_error("write", &path, e))?;
        file.persist(&path).map_err(|e| io_error("write", &path, e.error))?;
        Ok(())
    }

    /// All files of all models, and what they are links to.
    pub fn paths(&self) -> HashSet<PathBuf> {
        let links = self.models.iter().flat_map(|m| &m.files).map(|file| file.path.clone());
        links.flat_map(|path| [path.canonicalize().ok(), Some(path)]).flatten().collect()
    }

    pub fn get(&self, name: &str) -> Option<&InstalledModel> {
        self.models.iter().find(|m| m.name.eq_ignore_ascii_case(name))
    }

    /// Adds the model, or replaces the one with its name.
    pub fn put(&mut self, model: InstalledModel) {
        self.models.retain(|m| !m.name.eq_ignore_ascii_case(&model.name));
        self.models.push(model);
        self.models.sort_by(|a, b| a.name.cmp(&b.name));
    }

    /// Removes the model, which is then not in use either.
    pub fn take(&mut self, name: &str) -> Option<InstalledModel> {
        let at = self.models.iter().position(|m| m.name.eq_ignore_ascii_case(name))?;
        let model = self.models.remove(at);
        for chosen in [&mut self.in_use, &mut self.embedder_in_use] {
            if chosen.as_deref().is_some_and(|c| c.eq_ignore_ascii_case(name)) {
                *chosen = None;
            }
        }
        Some(model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(name: &str) -> InstalledModel {
        InstalledModel {
            name: name.into(),
            purpose: ModelPurpose::Language,
            origin: Origin::Import,
            path: name.into(),
            source: "import x.gguf".into(),
            licence: None,
            files: vec![InstalledFile {
                path: "a".into(),
                bytes: 3,
                sha256: "00".into(),
                modified_ns: Some(1),
            }],
        }
    }

    #[test]
    fn records_made_at_the_same_time_are_all_kept() {
        let dir = tempfile::tempdir().unwrap();
        let put = |name: String| {
            let made = Manifest::update(dir.path(), |manifest| {
                std::thread::sleep(std::time::Duration::from_millis(2));
                manifest.put(model(&name));
                Ok(())
            });
            made.unwrap();
        };
        std::thread::scope(|scope| {
            for n in 0..8 {
                scope.spawn(move || put(format!("m{n}")));
            }
        });
        assert_eq!(Manifest::read(dir.path()).unwrap().models.len(), 8);
    }

    #[test]
    fn what_is_written_is_read_back() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Manifest::read(dir.path()).unwrap(), Manifest::default());
        let mut manifest = Manifest { in_use: Some("b".into()), ..Manifest::default() };
        manifest.put(model("b"));
        manifest.put(model("a"));
        manifest.put(model("B"));
        manifest.write(dir.path()).unwrap();
        let mut read = Manifest::read(dir.path()).unwrap();
        assert_eq!(read, manifest);
        assert_eq!(read.models.len(), 2);
        assert!(read.take("b").is_some());
        assert_eq!(read.in_use, None, "a model that is gone is not in use");
    }

    #[test]
    fn a_damaged_manifest_is_named() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("installed.toml"), "in_use = [").unwrap();
        let error = Manifest::read(dir.path()).unwrap_err().to_string();
        assert!(error.contains("installed.toml"), "{error}");
    }
}
