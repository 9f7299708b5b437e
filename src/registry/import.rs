//! `model import PATH`: a GGUF file, a folder of safetensors, or a wheel or zip that contains one.
//!
//! The source is untrusted. Its files are copied to a staging folder inside the data directory, the
//! backend validates their headers there, and one rename moves them to their place: an installed
//! model is complete and valid.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::archive::{self, Contents, Entry};
use super::backend::Validate;
use super::error::{RegistryError, io_error, not_a_model};
use super::files::{copy_hashed, create_private_dir, starts_with};
use super::manifest::{InstalledFile, InstalledModel, Origin};
use crate::interfaces::{Part, part_names, parts_of};

/// More than any model that this program runs; an archive that unpacks to more is a zip bomb.
const BYTES_MAX: u64 = 64 << 30;

/// Whether a file of a model folder is copied.
pub(super) fn belongs_to_a_model(path: &str) -> bool {
    const NAMES: &[&str] = &[
        "config.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "generation_config.json",
        "special_tokens_map.json",
        "modules.json",
        "sentence_bert_config.json",
        "config_sentence_transformers.json",
        "chat_template.jinja",
        "model.safetensors.index.json",
        "1_Pooling/config.json",
        "2_Normalize/config.json",
    ];
    NAMES.contains(&path) || (!path.contains('/') && path.ends_with(".safetensors"))
}

/// How far a copy has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyProgress {
    pub bytes: u64,
    pub total_bytes: u64,
}

/// The folder that a model is copied into before it is accepted.
struct Staging<'a> {
    dir: TempDir,
    files: Vec<InstalledFile>,
    total_bytes: u64,
    on_progress: &'a mut dyn FnMut(CopyProgress),
}

impl Staging<'_> {
    /// Copies a file to `path` within the folder.
    fn copy(
        &mut self,
        from: &mut dyn Read,
        path: PathBuf,
        bytes_max: u64,
    ) -> Result<(), RegistryError> {
        let to = self.dir.path().join(&path);
        if let Some(parent) = to.parent() {
            create_private_dir(parent)?;
        }
        let before: u64 = self.files.iter().map(|file| file.bytes).sum();
        let (sha256, bytes) = copy_hashed(from, &to, bytes_max, &mut |n| {
            (self.on_progress)(CopyProgress { bytes: before + n, total_bytes: self.total_bytes });
        })?;
        self.files.push(InstalledFile { path, bytes, sha256, modified_ns: None });
        Ok(())
    }

    fn copy_file(&mut self, from: &Path, path: PathBuf) -> Result<(), RegistryError> {
        let mut file = File::open(from).map_err(|e| io_error("read", from, e))?;
        self.copy(&mut file, path, BYTES_MAX)
    }
}

const STAGING: &str = ".import-";

/// Removes the staging folders of imports that were killed: nobody holds their locks any more.
pub(super) fn remove_abandoned(models_dir: &Path) {
    let Ok(entries) = std::fs::read_dir(models_dir) else { return };
    for entry in entries.flatten() {
        let is_staging = entry.file_name().to_string_lossy().starts_with(STAGING)
            && entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_staging && File::open(entry.path()).is_ok_and(|dir| dir.try_lock().is_ok()) {
            // What can't be removed is tried again at the next start.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Copies the model at `source` into `models_dir`.
pub(super) fn import(
    source: &Path,
    name: Option<&str>,
    models_dir: &Path,
    validate: &Validate,
    on_progress: &mut dyn FnMut(CopyProgress),
) -> Result<InstalledModel, RegistryError> {
    let metadata = source.metadata().map_err(|e| io_error("read", source, e))?;
    let name = name.map_or_else(|| name_from(source), |n| Ok(n.to_owned()))?;
    check_name(&name)?;
    create_private_dir(models_dir)?;
    let dir = tempfile::Builder::new()
        .prefix(STAGING)
        .tempdir_in(models_dir)
        .map_err(|e| io_error("create a folder in", models_dir, e))?;
    // Held until the end: another import knows by it that this one is alive.
    let held = File::open(dir.path()).map_err(|e| io_error("open", dir.path(), e))?;
    let _ = held.try_lock();
    let mut staging = Staging { dir, files: Vec::new(), total_bytes: metadata.len(), on_progress };

    // The backend names a model after its file.
    let parts = parts_of(source);
    let ggufs: Vec<PathBuf> = part_names(&name, parts.len()).map(PathBuf::from).collect();
    let gguf = ggufs.first().cloned().unwrap_or_default();
    // Relative to the staging folder: the GGUF file, or empty for the folder itself.
    let load_from = if metadata.is_dir() {
        copy_dir(source, &mut staging)?;
        PathBuf::new()
    } else if starts_with(source, *b"GGUF")? {
        let bytes = |part: &PathBuf| part.metadata().map(|m| m.len());
        let bytes = |part| bytes(part).map_err(|e| io_error("read", part, e));
        staging.total_bytes = parts.iter().map(bytes).sum::<Result<_, _>>()?;
        for (part, to) in parts.iter().zip(ggufs) {
            staging.copy_file(part, to)?;
        }
        gguf
    } else if starts_with(source, *b"PK\x03\x04")? {
        unpack(source, gguf, &mut staging)?
    } else {
        let reason = "it is neither a GGUF file nor a wheel or zip, by its first bytes";
        return Err(not_a_model(source, reason));
    };

    let description = validate(&staging.dir.path().join(&load_from))
        .map_err(|e| RegistryError::Refused { path: source.display().to_string(), source: e })?;

    let place = models_dir.join(&name);
    if place.exists() {
        return Err(RegistryError::NameTaken { name });
    }
    let Staging { dir, mut files, .. } = staging;
    let dir = dir.keep();
    std::fs::rename(&dir, &place).map_err(|e| {
        let _ = std::fs::remove_dir_all(&dir);
        io_error("write", &place, e)
    })?;
    let base = PathBuf::from(&name);
    for file in &mut files {
        file.path = base.join(&file.path);
    }
    Ok(InstalledModel {
        purpose: description.purpose,
        origin: Origin::Import,
        path: if load_from.as_os_str().is_empty() { base } else { base.join(load_from) },
        source: source.display().to_string(),
        licence: None,
        files,
        name,
    })
}

fn copy_dir(source: &Path, staging: &mut Staging<'_>) -> Result<(), RegistryError> {
    let found = files_of_folder(source)?;
    staging.total_bytes = found.iter().map(|(_, bytes)| bytes).sum();
    for (path, _) in found {
        staging.copy_file(&source.join(&path), path)?;
    }
    Ok(())
}

/// The files of a safetensors model, relative to its folder, with their lengths.
pub(super) fn files_of_folder(source: &Path) -> Result<Vec<(PathBuf, u64)>, RegistryError> {
    let mut found = Vec::new();
    for folder in ["", "1_Pooling", "2_Normalize"] {
        let dir = source.join(folder);
        if !dir.is_dir() {
            continue;
        }
        for entry in std::fs::read_dir(&dir).map_err(|e| io_error("read", &dir, e))? {
            let entry = entry.map_err(|e| io_error("read", &dir, e))?;
            let path = Path::new(folder).join(entry.file_name());
            // `metadata` follows links on purpose: a snapshot in the hub's cache is made of them.
            if let Some(text) = path.to_str()
                && belongs_to_a_model(text)
                && let Ok(metadata) = source.join(&path).metadata()
                && metadata.is_file()
            {
                found.push((path, metadata.len()));
            }
        }
    }
    found.sort();
    let has = |wanted: fn(&Path) -> bool| found.iter().any(|(path, _)| wanted(path));
    let missing = if !has(|p| p.extension().is_some_and(|e| e == "safetensors")) {
        "no .safetensors file"
    } else if !has(|p| p == Path::new("config.json")) {
        "no config.json"
    } else {
        return Ok(found);
    };
    Err(not_a_model(source, format!("the folder has {missing}")))
}

/// Unpacks the model in an archive; the result is where to load it from, as in `import`.
fn unpack(
    source: &Path,
    gguf: PathBuf,
    staging: &mut Staging<'_>,
) -> Result<PathBuf, RegistryError> {
    let (mut archive, contents) = archive::open(source, BYTES_MAX)?;
    let (entries, load_from) = match contents {
        Contents::Gguf(entry) => (vec![Entry { path: gguf.clone(), ..entry }], gguf),
        Contents::Folder(entries) => (entries, PathBuf::new()),
    };
    staging.total_bytes = entries.iter().map(|entry| entry.bytes).sum();
    for Entry { index, path, bytes } in entries {
        let mut file =
            archive.by_index(index).map_err(|e| archive::error(source, &e.to_string()))?;
        staging.copy(&mut file, path, bytes)?;
    }
    Ok(load_from)
}

/// A model name made from the file name: `Qwen3-0.6B-Q4_K_M.gguf` → `qwen3-0.6b-q4_k_m`.
pub(super) fn name_from(source: &Path) -> Result<String, RegistryError> {
    let name = source.file_name().map(|n| n.to_string_lossy().to_lowercase()).unwrap_or_default();
    let name = Part::of(&name).map_or(name.as_str(), |part| part.stem);
    let name = [".gguf", ".whl", ".zip"]
        .iter()
        .find_map(|suffix| name.strip_suffix(suffix))
        .unwrap_or(name);
    plain_name(name).ok_or_else(|| RegistryError::BadName { name: source.display().to_string() })
}

/// A text made into a name for a model; none if nothing of it can be in one.
pub(super) fn plain_name(text: &str) -> Option<String> {
    let name: String = text
        .to_lowercase()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' })
        .take(80)
        .collect();
    let name = name.trim_matches(|c| c == '.' || c == '-');
    (!name.is_empty()).then(|| name.to_owned())
}

/// Names become folder names: letters, digits, `.`, `_`, `-`, and never `starter`.
pub(super) fn check_name(name: &str) -> Result<(), RegistryError> {
    let plain = !name.is_empty()
        && name.len() <= 80
        && !name.starts_with('.')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    if !plain {
        return Err(RegistryError::BadName { name: name.to_owned() });
    }
    if name.eq_ignore_ascii_case(super::STARTER) {
        return Err(RegistryError::NameTaken { name: name.to_owned() });
    }
    Ok(())
}
