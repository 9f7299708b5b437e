//! `model pull`: the only network code of the program.
//!
//! hf-hub speaks the protocol and lays out the cache; it resumes a partial file but checks no
//! hash, trusts the names that the server sends and never looks at what it already has. So around
//! each file: the names are checked before they become paths, a blob that is there is used if its
//! hash is right, and what arrived is hashed before it counts. A file that does not match is
//! deleted; if it had been resumed, it is fetched once more from the start.

use std::path::{Path, PathBuf};

use hf_hub::api::Progress;
use hf_hub::api::sync::{Api, ApiBuilder, ApiRepo};
use hf_hub::{Cache, Repo, RepoType};

use super::manifest::{InstalledFile, InstalledModel, Origin};
use super::{
    CatalogueFile, CatalogueModel, HubSettings, RegistryError, Validate, git_blob, hash, hub_cache,
    io_error,
};

/// A broken connection is taken up again this many times before it is reported.
const ATTEMPTS: usize = 5;

/// How far a download is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullProgress {
    pub file: String,
    /// Bytes on disk, those of an earlier attempt included.
    pub bytes: u64,
    pub total_bytes: u64,
}

struct Report<'a> {
    file: &'a str,
    bytes: u64,
    total_bytes: u64,
    on_progress: &'a (dyn Fn(PullProgress) + Sync),
}

impl Progress for Report<'_> {
    fn init(&mut self, size: usize, _: &str) {
        self.bytes = 0;
        self.total_bytes = size as u64;
    }

    fn update(&mut self, size: usize) {
        self.bytes += size as u64;
        (self.on_progress)(PullProgress {
            file: self.file.to_owned(),
            bytes: self.bytes,
            total_bytes: self.total_bytes,
        });
    }

    fn finish(&mut self) {}
}

pub(super) fn pull(
    model: &CatalogueModel,
    hub: &HubSettings,
    validate: &Validate,
    on_progress: &(dyn Fn(PullProgress) + Sync),
) -> Result<InstalledModel, RegistryError> {
    let snapshot = if hub.offline {
        hub_cache::find(&hub.cache_dir, model)
            .ok_or_else(|| RegistryError::Offline { name: model.name.clone() })?
    } else {
        fetch(model, hub, on_progress)?
    };
    let path = hub_cache::load_path(&snapshot, model);
    validate(&path)
        .map_err(|e| RegistryError::Refused { path: path.display().to_string(), source: e })?;
    let mut files = Vec::with_capacity(model.files.len());
    for file in &model.files {
        let path = snapshot.join(&file.path);
        let (sha256, bytes) = hash::sha256_file(&path).map_err(|e| io_error("read", &path, e))?;
        files.push(InstalledFile { path, bytes, sha256 });
    }
    Ok(InstalledModel {
        name: model.name.clone(),
        kind: model.kind,
        origin: Origin::Hub,
        path,
        source: model.repo.clone(),
        licence: Some(model.licence.clone()),
        files,
    })
}

fn fetch(
    model: &CatalogueModel,
    hub: &HubSettings,
    on_progress: &(dyn Fn(PullProgress) + Sync),
) -> Result<PathBuf, RegistryError> {
    let cache = Cache::new(hub.cache_dir.clone());
    let mut builder = ApiBuilder::from_cache(cache)
        .with_endpoint(hub.endpoint.trim_end_matches('/').to_owned())
        .with_progress(false)
        .with_retries(0)
        .with_user_agent("inglenook", env!("CARGO_PKG_VERSION"));
    if hub.token.is_some() {
        builder = builder.with_token(hub.token.clone());
    }
    let fail = |file: &str, source| RegistryError::Fetch {
        name: model.name.clone(),
        file: file.to_owned(),
        endpoint: hub.endpoint.clone(),
        source,
    };
    let api = builder.build().map_err(|e| fail("the list of files", Box::new(e)))?;
    let repo =
        api.repo(Repo::with_revision(model.repo.clone(), RepoType::Model, model.revision.clone()));
    let mut snapshot = None;
    for file in &model.files {
        let commit = fetch_file(&api, &repo, model, file, hub, on_progress, &fail)?;
        snapshot = Some(repo_dir(hub, model).join("snapshots").join(commit));
    }
    snapshot.ok_or_else(|| fail("anything", "the catalogue names no files".into()))
}

fn repo_dir(hub: &HubSettings, model: &CatalogueModel) -> PathBuf {
    hub_cache::repo_dir(&hub.cache_dir, &model.repo)
}

type Fail<'a> = &'a dyn Fn(&str, Box<dyn std::error::Error + Send + Sync>) -> RegistryError;

/// The commit whose snapshot holds the file afterwards.
fn fetch_file(
    api: &Api,
    repo: &ApiRepo,
    model: &CatalogueModel,
    file: &CatalogueFile,
    hub: &HubSettings,
    on_progress: &(dyn Fn(PullProgress) + Sync),
    fail: Fail<'_>,
) -> Result<String, RegistryError> {
    let name = file.path.as_str();
    let mut attempt = 1;
    let metadata = loop {
        match api.metadata(&repo.url(name)) {
            Ok(metadata) => break metadata,
            Err(e) if attempt >= ATTEMPTS || !is_transient(&e) => {
                return Err(fail(name, Box::new(e)));
            }
            Err(_) => wait_before(&mut attempt),
        }
    };
    // They become parts of paths: a server could write anywhere otherwise.
    let is_hash = |text: &str, lengths: &[usize]| {
        lengths.contains(&text.len()) && text.bytes().all(|b| b.is_ascii_hexdigit())
    };
    let (etag, commit) = (metadata.etag().to_owned(), metadata.commit_hash().to_owned());
    if !is_hash(&etag, &[40, 64]) || !is_hash(&commit, &[40, 64]) {
        return Err(fail(name, "the server's answer names no hash to check against".into()));
    }
    let expected = Expected { etag: etag.clone(), sha256: file.sha256.clone() };
    let size = metadata.size() as u64;

    let dir = repo_dir(hub, model);
    let blob = dir.join("blobs").join(&etag);
    let pointer = dir.join("snapshots").join(&commit).join(name);
    if blob.is_file() {
        if expected.check(&blob).map_err(|e| io_error("read", &blob, e))?.is_none() {
            link(&blob, &pointer, name)?;
            write_ref(&dir, &model.revision, &commit)?;
            on_progress(PullProgress { file: name.into(), bytes: size, total_bytes: size });
            return Ok(commit);
        }
        delete(&blob)?;
    }

    let part = blob.with_extension("part");
    let part_len = || part.metadata().map_or(0, |m| m.len());
    let mut resumed = false;
    let mut attempt = 1;
    loop {
        // Nothing is left to ask for of a part that is complete, and a longer one is not ours.
        if part_len() >= size {
            delete(&part)?;
        }
        resumed |= part_len() > 0;
        let report = Report { file: name, bytes: 0, total_bytes: size, on_progress };
        match repo.download_with_progress(name, report) {
            Ok(_) => {}
            Err(e) if attempt >= ATTEMPTS || !is_transient(&e) => {
                return Err(fail(name, Box::new(e)));
            }
            Err(_) => {
                wait_before(&mut attempt);
                continue;
            }
        }
        let wrong = expected.check(&blob).map_err(|e| io_error("read", &blob, e))?;
        let Some((expected, received)) = wrong else { return Ok(commit) };
        delete(&pointer)?;
        delete(&blob)?;
        if !resumed {
            return Err(RegistryError::HashMismatch {
                name: model.name.clone(),
                file: name.to_owned(),
                expected,
                received,
            });
        }
        resumed = false;
    }
}

/// Connections break and servers are busy; a refusal stays one.
fn is_transient(error: &hf_hub::api::sync::ApiError) -> bool {
    use hf_hub::api::sync::ApiError;
    match error {
        ApiError::RequestError(e) => match **e {
            ureq::Error::StatusCode(code) => code >= 500 || code == 429 || code == 408,
            ureq::Error::BadUri(_) | ureq::Error::HostNotFound => false,
            _ => true,
        },
        // Reading the body fails as I/O; a full disk does too.
        ApiError::IoError(e) => !matches!(
            e.kind(),
            std::io::ErrorKind::StorageFull
                | std::io::ErrorKind::PermissionDenied
                | std::io::ErrorKind::ReadOnlyFilesystem
                | std::io::ErrorKind::ConnectionRefused
        ),
        ApiError::InvalidResume => true,
        _ => false,
    }
}

fn wait_before(attempt: &mut usize) {
    std::thread::sleep(std::time::Duration::from_millis(200 << *attempt));
    *attempt += 1;
}

struct Expected {
    /// SHA-256 of a large file, git's blob hash of a small one.
    etag: String,
    sha256: Option<String>,
}

impl Expected {
    /// `Some((expected, received))` if the file is not what was published.
    fn check(&self, path: &Path) -> std::io::Result<Option<(String, String)>> {
        if let Some(sha256) = &self.sha256 {
            let (received, _) = hash::sha256_file(path)?;
            if received != *sha256 {
                return Ok(Some((sha256.clone(), received)));
            }
        }
        let received = match self.etag.len() {
            64 => hash::sha256_file(path)?.0,
            _ => git_blob::git_blob_file(path)?,
        };
        Ok((received != self.etag.to_lowercase()).then(|| (self.etag.clone(), received)))
    }
}

fn delete(path: &Path) -> Result<(), RegistryError> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(io_error("delete", path, e)),
        _ => Ok(()),
    }
}

/// `snapshots/<commit>/<name>` → `../../blobs/<etag>`, relative as everywhere in this cache.
fn link(blob: &Path, pointer: &Path, name: &str) -> Result<(), RegistryError> {
    if pointer.is_file() {
        return Ok(());
    }
    if let Some(parent) = pointer.parent() {
        std::fs::create_dir_all(parent).map_err(|e| io_error("create", parent, e))?;
    }
    delete(pointer)?;
    #[cfg(unix)]
    let linked = {
        let up = "../".repeat(1 + name.split('/').count());
        let etag = blob.file_name().unwrap_or_default();
        std::os::unix::fs::symlink(Path::new(&up).join("blobs").join(etag), pointer)
    };
    #[cfg(not(unix))]
    let linked = std::fs::hard_link(blob, pointer);
    linked.map_err(|e| io_error("link", pointer, e))
}

fn write_ref(dir: &Path, revision: &str, commit: &str) -> Result<(), RegistryError> {
    let path = dir.join("refs").join(revision);
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(|e| io_error("create", parent, e))?;
    }
    std::fs::write(&path, commit).map_err(|e| io_error("write", &path, e))
}
