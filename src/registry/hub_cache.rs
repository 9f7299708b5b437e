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
    let chosen = env("HF_HUB_CACHE").filter(|value| !value.is_empty()).map(PathBuf::from);
    chosen.unwrap_or_else(|| hub_home(env, home).join("hub"))
}

/// `HF_HOME`, else `huggingface` in the person's cache folder.
fn hub_home(env: impl Fn(&str) -> Option<String>, home: &Path) -> PathBuf {
    let set = |name| env(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("HF_HOME")
        .or_else(|| set("XDG_CACHE_HOME").map(|cache| cache.join("huggingface")))
        .unwrap_or_else(|| home.join(".cache/huggingface"))
}

/// The token for `endpoint`: `HF_TOKEN`, which the person set beside it, or for huggingface.co itself what `hf auth login`
/// stored there (`HF_TOKEN_PATH`, else `token` in [`hub_home`]), unless `HF_HUB_DISABLE_IMPLICIT_TOKEN` is on. A stored token
/// belongs to that host: no other is sent it.
pub fn token(endpoint: &str, env: impl Fn(&str) -> Option<String>, home: &Path) -> Option<String> {
    let plain = |text: String| {
        let text = text.trim();
        let is_token = !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic());
        is_token.then(|| text.to_owned())
    };
    let set = |name| env(name).and_then(plain);
    let named = set("HF_TOKEN").or_else(|| set("HUGGING_FACE_HUB_TOKEN"));
    let is_own = endpoint.trim_end_matches('/').eq_ignore_ascii_case(HUB);
    let is_disabled = set("HF_HUB_DISABLE_IMPLICIT_TOKEN").is_some_and(|value| is_on(&value));
    if named.is_some() || !is_own || is_disabled {
        return named;
    }
    let path = set("HF_TOKEN_PATH").map(PathBuf::from);
    let path = path.unwrap_or_else(|| hub_home(env, home).join("token"));
    std::fs::read_to_string(path).ok().and_then(plain)
}

/// The hub itself.
pub const HUB: &str = "https://huggingface.co";

/// Whether a switch in the environment is on, as the reference client understands it.
pub fn is_on(value: &str) -> bool {
    matches!(value.to_lowercase().as_str(), "1" | "true" | "yes" | "on")
}

/// The folder of a repository in the cache.
pub fn repo_dir(cache: &Path, repo: &str) -> PathBuf {
    cache.join(format!("models--{}", repo.replace('/', "--")))
}

/// Whether a revision is a commit, which can't change.
pub fn is_commit(revision: &str) -> bool {
    revision.len() == 40 && revision.bytes().all(|b| b.is_ascii_hexdigit())
}

/// The snapshot that holds all of the model's files, if it is there.
pub fn find(cache: &Path, model: &CatalogueModel) -> Option<PathBuf> {
    let repo = repo_dir(cache, &model.repo);
    let commit = if is_commit(&model.revision) {
        model.revision.clone()
    } else {
        std::fs::read_to_string(repo.join("refs").join(&model.revision)).ok()?
    };
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
            sha256: sha256_of_blob(&path).unwrap_or_default(),
            modified_ns: None,
            path,
        }
    };
    Some(installed_model(model, &snapshot, model.files.iter().map(file).collect()))
}

/// A large file's blob is named by its SHA-256: enough to verify by.
pub fn sha256_of_blob(path: &Path) -> Option<String> {
    let blob = path.canonicalize().ok()?;
    let name = blob.file_name()?.to_str()?;
    let is_hash = name.len() == 64 && name.bytes().all(|b| b.is_ascii_hexdigit());
    is_hash.then(|| name.to_ascii_lowercase())
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

    #[test]
    fn switches_mean_what_they_mean_to_the_hub_client() {
        for (value, on) in [("1", true), ("TRUE", true), ("yes", true), ("0", false), ("no", false)]
        {
            assert_eq!(is_on(value), on, "{value}");
        }
    }

    #[test]
    fn a_stored_token_goes_to_its_own_host_alone() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        write(".cache/huggingface/token", "stored\n");
        let elsewhere = write("elsewhere", "other");
        let garbage = write("garbage", "two words");
        let check = |endpoint: &str, set: &[(&str, &str)], expected: Option<&str>| {
            let env = |name: &str| {
                set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(token(endpoint, env, dir.path()).as_deref(), expected, "{endpoint} {set:?}");
        };
        check(HUB, &[], Some("stored"));
        check("https://huggingface.co/", &[], Some("stored"));
        check("https://hf-mirror.com", &[], None);
        check("http://huggingface.co", &[], None);
        check("https://huggingface.co.evil.com", &[], None);
        check(HUB, &[("HF_TOKEN_PATH", &elsewhere)], Some("other"));
        check("https://hf-mirror.com", &[("HF_TOKEN_PATH", &elsewhere)], None);
        check(HUB, &[("HF_TOKEN_PATH", &garbage)], None);
        check(HUB, &[("HF_TOKEN", "named")], Some("named"));
        check("https://hf-mirror.com", &[("HF_TOKEN", " named\n")], Some("named"));
        check(HUB, &[("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1")], None);
        check(HUB, &[("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1"), ("HF_TOKEN", "named")], Some("named"));
    }

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
