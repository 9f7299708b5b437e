//! The Hugging Face cache on disk, as every program that uses the hub lays it out:
//!
//! ```text
//! <cache>/models--org--name/refs/<revision>          the commit's hash, as text
//! <cache>/models--org--name/snapshots/<commit>/<file>  a link to …
//! <cache>/models--org--name/blobs/<etag>             … the content, named by its hash
//! ```
//!
//! It only looks. Nothing here talks to a network.

use std::path::{Path, PathBuf};

use super::CatalogueModel;

/// `HF_HUB_CACHE`, else `HF_HOME/hub`, else `$XDG_CACHE_HOME/huggingface/hub`, else
/// `~/.cache/huggingface/hub`: the order of the reference client.
#[must_use]
pub fn cache_dir(env: impl Fn(&str) -> Option<String>, home: &Path) -> PathBuf {
    let set = |name| env(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("HF_HUB_CACHE")
        .or_else(|| set("HF_HOME").map(|home| home.join("hub")))
        .or_else(|| set("XDG_CACHE_HOME").map(|cache| cache.join("huggingface/hub")))
        .unwrap_or_else(|| home.join(".cache/huggingface/hub"))
}

/// The folder of a repository in the cache.
#[must_use]
pub fn repo_dir(cache: &Path, repo: &str) -> PathBuf {
    cache.join(format!("models--{}", repo.replace('/', "--")))
}

/// The snapshot that holds all of the model's files, if it is there.
#[must_use]
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

/// What the loader is given: the GGUF file itself, or the folder around the safetensors.
#[must_use]
pub fn load_path(snapshot: &Path, model: &CatalogueModel) -> PathBuf {
    match model.files.iter().find(|file| is_gguf(&file.path)) {
        Some(file) => snapshot.join(&file.path),
        None => snapshot.to_path_buf(),
    }
}

pub(super) fn is_gguf(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|e| e.eq_ignore_ascii_case("gguf"))
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
