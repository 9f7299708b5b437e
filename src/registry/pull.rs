//! `model pull`: the only network code of the program.
//!
//! hf-hub implements the protocol and the cache's layout. It resumes partial files, but checks no
//! hash, trusts the names that the server sends and ignores what is already in the cache. So, for each
//! file, names are checked before they become paths, a blob with the right hash is reused, and a
//! download is hashed before it is accepted. A file that does not match is deleted; if it had been
//! resumed, it is downloaded once more from the start.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hf_hub::api::Progress;
use hf_hub::api::sync::{Api, ApiBuilder, ApiError, ApiRepo, Metadata};
use hf_hub::{Cache, Repo, RepoType};

use super::backend::Validate;
use super::catalogue::{CatalogueFile, CatalogueModel};
use super::error::{RegistryError, io_error};
use super::files::remove_file;
use super::manifest::{InstalledFile, InstalledModel};
use super::{HubSettings, git_blob, hash, hub_cache};

/// How often a download is tried before a broken connection is reported.
const ATTEMPTS: u32 = 5;

/// How far a download has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullProgress {
    pub file: String,
    /// Bytes on disk, those of an earlier attempt included.
    pub bytes: u64,
    pub total_bytes: u64,
}

/// Counts the bytes of one file.
struct FileProgress<'a> {
    now: PullProgress,
    on_progress: &'a (dyn Fn(PullProgress) + Sync),
}

impl Progress for FileProgress<'_> {
    fn init(&mut self, size: usize, _: &str) {
        self.now.bytes = 0;
        self.now.total_bytes = size as u64;
    }

    fn update(&mut self, size: usize) {
        self.now.bytes += size as u64;
        (self.on_progress)(self.now.clone());
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
        Download::new(model, hub, on_progress)?.fetch()?
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
    Ok(hub_cache::installed_model(model, &snapshot, files))
}

/// A download of one model.
struct Download<'a> {
    model: &'a CatalogueModel,
    hub: &'a HubSettings,
    api: Api,
    repo: ApiRepo,
    /// The repository's folder in the cache.
    dir: PathBuf,
    on_progress: &'a (dyn Fn(PullProgress) + Sync),
}

impl<'a> Download<'a> {
    fn new(
        model: &'a CatalogueModel,
        hub: &'a HubSettings,
        on_progress: &'a (dyn Fn(PullProgress) + Sync),
    ) -> Result<Self, RegistryError> {
        let mut builder = ApiBuilder::from_cache(Cache::new(hub.cache_dir.clone()))
            .with_endpoint(hub.endpoint.trim_end_matches('/').to_owned())
            .with_progress(false)
            .with_retries(0)
            .with_user_agent("inglenook", env!("CARGO_PKG_VERSION"));
        if hub.token.is_some() {
            builder = builder.with_token(hub.token.clone());
        }
        let api =
            builder.build().map_err(|e| failed(model, hub, "the list of files", Box::new(e)))?;
        let (name, revision) = (model.repo.clone(), model.revision.clone());
        let repo = api.repo(Repo::with_revision(name, RepoType::Model, revision));
        let dir = hub_cache::repo_dir(&hub.cache_dir, &model.repo);
        Ok(Self { model, hub, api, repo, dir, on_progress })
    }

    fn failed(&self, file: &str, source: Source) -> RegistryError {
        failed(self.model, self.hub, file, source)
    }

    /// Downloads all files and returns the snapshot that holds them.
    fn fetch(&self) -> Result<PathBuf, RegistryError> {
        let mut commit = None;
        for file in &self.model.files {
            commit = Some(self.fetch_file(file)?);
        }
        let commit =
            commit.ok_or_else(|| self.failed("anything", "the catalogue names no files".into()))?;
        Ok(self.dir.join("snapshots").join(commit))
    }

    fn metadata(&self, name: &str) -> Result<Metadata, RegistryError> {
        let mut attempt = 1;
        let metadata = loop {
            match self.api.metadata(&self.repo.url(name)) {
                Ok(metadata) => break metadata,
                Err(e) => self.wait_or_give_up(name, e, &mut attempt)?,
            }
        };
        // They become parts of paths, so a hostile server could otherwise write anywhere.
        let is_hash = |text: &str| {
            matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_hexdigit())
        };
        if !is_hash(metadata.etag()) || !is_hash(metadata.commit_hash()) {
            let reason = "the server's answer names no hash to check against";
            return Err(self.failed(name, reason.into()));
        }
        Ok(metadata)
    }

    /// Downloads one file, if it is not in the cache, and returns the commit whose snapshot holds it.
    fn fetch_file(&self, file: &CatalogueFile) -> Result<String, RegistryError> {
        let name = file.path.as_str();
        let metadata = self.metadata(name)?;
        let (etag, commit) = (metadata.etag().to_owned(), metadata.commit_hash().to_owned());
        let size = metadata.size() as u64;
        let blob = self.dir.join("blobs").join(&etag);
        let pointer = self.dir.join("snapshots").join(&commit).join(name);
        let expected = Expected { etag, sha256: file.sha256.clone() };
        let start = PullProgress { file: name.to_owned(), bytes: 0, total_bytes: size };
        if blob.is_file() {
            if expected.check(&blob)?.is_none() {
                link(&blob, &pointer, name)?;
                write_ref(&self.dir, &self.model.revision, &commit)?;
                (self.on_progress)(PullProgress { bytes: size, ..start });
                return Ok(commit);
            }
            remove_file(&blob)?;
        }

        let part = blob.with_extension("part");
        let part_len = || part.metadata().map_or(0, |m| m.len());
        let mut resumed = false;
        let mut attempt = 1;
        loop {
            // A complete part cannot be resumed, and a longer one belongs to another file.
            if part_len() >= size {
                remove_file(&part)?;
            }
            resumed |= part_len() > 0;
            let progress = FileProgress { now: start.clone(), on_progress: self.on_progress };
            if let Err(e) = self.repo.download_with_progress(name, progress) {
                self.wait_or_give_up(name, e, &mut attempt)?;
                continue;
            }
            let Some((expected, received)) = expected.check(&blob)? else { return Ok(commit) };
            remove_file(&pointer)?;
            remove_file(&blob)?;
            if !resumed {
                return Err(RegistryError::HashMismatch {
                    name: self.model.name.clone(),
                    file: name.to_owned(),
                    expected,
                    received,
                });
            }
            resumed = false;
        }
    }

    /// Waits before the next attempt, or returns the error if another one would not help.
    fn wait_or_give_up(
        &self,
        file: &str,
        error: ApiError,
        attempt: &mut u32,
    ) -> Result<(), RegistryError> {
        if *attempt >= ATTEMPTS || !is_transient(&error) {
            return Err(self.failed(file, Box::new(error)));
        }
        std::thread::sleep(Duration::from_millis(200 << *attempt));
        *attempt += 1;
        Ok(())
    }
}

type Source = Box<dyn std::error::Error + Send + Sync>;

fn failed(model: &CatalogueModel, hub: &HubSettings, file: &str, source: Source) -> RegistryError {
    RegistryError::Fetch {
        name: model.name.clone(),
        file: file.to_owned(),
        endpoint: hub.endpoint.clone(),
        source,
    }
}

/// Whether another attempt may help: connections break and servers are busy.
fn is_transient(error: &ApiError) -> bool {
    match error {
        ApiError::RequestError(e) => match **e {
            ureq::Error::StatusCode(code) => code >= 500 || code == 429 || code == 408,
            ureq::Error::BadUri(_) | ureq::Error::HostNotFound => false,
            _ => true,
        },
        // Errors while reading the body are I/O errors, and so are those of the disk.
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

struct Expected {
    /// SHA-256 of a large file, git's blob hash of a small one.
    etag: String,
    sha256: Option<String>,
}

impl Expected {
    /// `Some((expected, received))` if the file is not what was published.
    fn check(&self, path: &Path) -> Result<Option<(String, String)>, RegistryError> {
        let sha256 = || hash::sha256_file(path).map(|(sha256, _)| sha256);
        let unreadable = |e| io_error("read", path, e);
        if let Some(expected) = &self.sha256 {
            let received = sha256().map_err(unreadable)?;
            if received != *expected {
                return Ok(Some((expected.clone(), received)));
            }
        }
        let received = match self.etag.len() {
            64 => sha256(),
            _ => git_blob::git_blob_file(path),
        };
        let received = received.map_err(unreadable)?;
        Ok((received != self.etag.to_lowercase()).then(|| (self.etag.clone(), received)))
    }
}

/// `snapshots/<commit>/<name>` → `../../blobs/<etag>`, relative, as hf-hub has it.
fn link(blob: &Path, pointer: &Path, name: &str) -> Result<(), RegistryError> {
    if pointer.is_file() {
        return Ok(());
    }
    create_parent(pointer)?;
    remove_file(pointer)?;
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
    create_parent(&path)?;
    std::fs::write(&path, commit).map_err(|e| io_error("write", &path, e))
}

fn create_parent(path: &Path) -> Result<(), RegistryError> {
    let Some(parent) = path.parent() else { return Ok(()) };
    std::fs::create_dir_all(parent).map_err(|e| io_error("create", parent, e))
}
