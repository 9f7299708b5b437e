//! The Hugging Face cache on disk, which all programs that use the hub share:
//!
//! ```text
//! <cache>/models--org--name/refs/<revision>          the commit's hash, as text
//! <cache>/models--org--name/snapshots/<commit>/<file>  a link to …
//! <cache>/models--org--name/blobs/<etag>             … the content, named by its hash
//! ```
//!
//! This module only reads the cache; `pull` writes it.

use std::path::{Path, PathBuf};

use super::CatalogueModel;
use super::catalogue::CatalogueFile;
use super::manifest::{InstalledFile, InstalledModel, Origin};

/// `HF_HUB_CACHE`, else `HF_HOME/hub`, else `$XDG_CACHE_HOME/huggingface/hub`, else
/// `~/.cache/huggingface/hub`: the order of the reference client.
pub fn cache_dir(env: impl Fn(&str) -> Option<String>, home: &Path) -> PathBuf {
    let set = |name| env(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("HF_HUB_CACHE")
        .or_else(|| set("HF_HOME").map(|home| home.join("hub")))
        .or_else(|| set("XDG_CACHE_HOME").map(|cache| cache.join("huggingface/hub")))
        .unwrap_or_else(|| home.join(".cache/huggingface/hub"))
}

/// The folder of a repository in the cache.
pub fn repo_dir(cache: &Path, repo: &str) -> PathBuf {
    cache.join(format!("models--{}", repo.replace('/', "--")))
}

/// The snapshot that holds all of the model's files, if it is there.
pub fn find(cache: &Path, model: &CatalogueModel) -> Option<PathBuf> {
    let repo = repo_dir(cache, &model.repo);
    let commit = std::fs::read_to_string(repo.join("refs").join(&model.revision)).ok()?;
    let commit = commit.trim();
    if commit.is_empty() || !commit.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let snapshot = repo.join("snapshots").join(commit);
    model.files.iter().all(|file| snapshot.join(&file.path).is_file()).then_some(snapshot)
}

/// The model of the catalogue, if another program has put it into the cache.
pub fn installed(cache: &Path, model: &CatalogueModel) -> Option<InstalledModel> {
    let snapshot = find(cache, model)?;
    let file = |file: &CatalogueFile| {
        let path = snapshot.join(&file.path);
        InstalledFile {
            bytes: path.metadata().map_or(0, |m| m.len()),
            // A large file's blob is named by its SHA-256: enough to verify by.
            sha256: path
                .canonicalize()
                .ok()
                .and_then(|p| Some(p.file_name()?.to_str()?.to_owned()))
                .filter(|name| name.len() == 64)
                .unwrap_or_default(),
            path,
        }
    };
    Some(installed_model(model, &snapshot, model.files.iter().map(file).collect()))
}

/// The record of a model whose files are in a snapshot.
pub fn installed_model(
    model: &CatalogueModel,
    snapshot: &Path,
    files: Vec<InstalledFile>,
) -> InstalledModel {
    InstalledModel {
        name: model.name.clone(),
        purpose: model.purpose,
        origin: Origin::Hub,
        path: load_path(snapshot, model),
        source: model.repo.clone(),
        licence: Some(model.licence.clone()),
        files,
    }
}

/// What the loader is given: the GGUF file, or the folder of a safetensors model.
pub fn load_path(snapshot: &Path, model: &CatalogueModel) -> PathBuf {
    let is_gguf = |path: &PathBuf| path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gguf"));
    let mut paths = model.files.iter().map(|file| snapshot.join(&file.path));
    paths.find(is_gguf).unwrap_or_else(|| snapshot.to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(env: &[(&str, &str)], expected: &str) {
        let get = |name: &str| {
            env.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        };
        assert_eq!(cache_dir(get, Path::new("/home/ana")), Path::new(expected));
    }

    #[test]
    fn the_cache_is_where_other_programs_look() {
        check(&[], "/home/ana/.cache/huggingface/hub");
        check(&[("XDG_CACHE_HOME", "/c")], "/c/huggingface/hub");
        check(&[("XDG_CACHE_HOME", "/c"), ("HF_HOME", "/h")], "/h/hub");
        check(&[("HF_HOME", "/h"), ("HF_HUB_CACHE", "/x")], "/x");
        check(&[("HF_HUB_CACHE", "")], "/home/ana/.cache/huggingface/hub");
    }
}
