//! `model pull`: the only network code of the program.
//!
//! hf-hub says how addresses are made and how the cache is laid out, so that every other program finds what is pulled here. The
//! transfer is ours (`docs/decisions/018-hf-hub-0-5.md`): names that the server sends are checked before they become paths, a
//! blob with the right hash is reused, an interrupted download goes on where it stopped, and a file is hashed before it is
//! accepted. One that does not match is deleted; if it had been resumed, it is downloaded once more from the start.

mod client;
mod quantisation;
mod remote;
mod repository;

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use hf_hub::{Cache, CacheRepo, Repo, RepoType};

use self::client::{Client, HubError};
use self::remote::{DownloadError, Remote};
pub(crate) use self::repository::{Plan, Wanted};
use super::backend::Validate;
use super::catalogue::{CatalogueFile, CatalogueModel};
use super::error::{RegistryError, io_error};
use super::files::remove_file;
use super::manifest::{InstalledFile, InstalledModel, Manifest};
use super::{HubSettings, Registry, git_blob, hash, hub_cache, import};
use crate::interfaces::Cancel;

/// How often in a row a download may break before anything has come.
const ATTEMPTS: u32 = 5;
/// A server that asks for a longer pause is not waited for.
const PAUSE_MAX: Duration = Duration::from_mins(1);

/// How far a download has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullProgress {
    pub file: String,
    /// Bytes on disk, those of an earlier attempt included.
    pub bytes: u64,
    /// 0 if the hub does not say.
    pub total_bytes: u64,
}

type OnProgress<'a> = &'a (dyn Fn(PullProgress) + Sync);

impl Registry {
    /// Downloads a model of the catalogue, checks it and records it.
    pub(crate) fn pull(
        &self,
        name: &str,
        on_progress: OnProgress<'_>,
    ) -> Result<InstalledModel, RegistryError> {
        self.pull_until(name, &Cancel::default(), on_progress)
    }

    /// The same, until `cancel` is raised.
    pub(crate) fn pull_until(
        &self,
        name: &str,
        cancel: &Cancel,
        on_progress: OnProgress<'_>,
    ) -> Result<InstalledModel, RegistryError> {
        let model = self.catalogue.get(name).ok_or_else(|| RegistryError::UnknownName {
            name: name.to_owned(),
            known: self.catalogue.models.iter().map(|m| m.name.clone()).collect(),
        })?;
        self.fetch(model, cancel, on_progress)
    }

    /// What `wanted` would download, by `name` or one made from it, for a machine with so much memory free.
    pub(crate) fn plan(
        &self,
        wanted: &Wanted,
        name: Option<&str>,
        memory: Option<u64>,
    ) -> Result<Plan, RegistryError> {
        if self.hub.offline {
            return Err(RegistryError::Offline { name: wanted.repo.clone() });
        }
        let mut plan = repository::plan(wanted, &self.hub, memory)?;
        let model = &mut plan.model;
        let paths = |model: &CatalogueModel| -> Vec<String> {
            model.files.iter().map(|file| file.path.clone()).collect()
        };
        let is_it = |m: &&CatalogueModel| m.repo == model.repo && paths(m) == paths(model);
        let known = self.catalogue.models.iter().find(is_it).map(|m| m.name.clone());
        if let Some(name) = name.map(str::to_owned).or(known) {
            model.name = name;
        }
        import::check_name(&model.name)?;
        let installed = Manifest::read(&self.models_dir)?;
        if installed.get(&model.name).is_some_and(|other| other.source != model.repo) {
            return Err(RegistryError::NameTaken { name: model.name.clone() });
        }
        Ok(plan)
    }

    /// Downloads what was planned, checks it and records it.
    pub(crate) fn pull_planned(
        &self,
        plan: &Plan,
        on_progress: OnProgress<'_>,
    ) -> Result<InstalledModel, RegistryError> {
        self.fetch(&plan.model, &Cancel::default(), on_progress)
    }

    fn fetch(
        &self,
        model: &CatalogueModel,
        cancel: &Cancel,
        on_progress: OnProgress<'_>,
    ) -> Result<InstalledModel, RegistryError> {
        let how = (cancel, on_progress);
        let installed = pull(model, &self.hub, &self.backend.validate, how)?;
        Manifest::update(&self.models_dir, |manifest| {
            manifest.put(installed.clone());
            Ok(installed)
        })
    }
}

fn pull(
    model: &CatalogueModel,
    hub: &HubSettings,
    validate: &Validate,
    (cancel, on_progress): (&Cancel, OnProgress<'_>),
) -> Result<InstalledModel, RegistryError> {
    if hub.offline {
        let snapshot = hub_cache::find(&hub.cache_dir, model)
            .ok_or_else(|| RegistryError::Offline { name: model.name.clone() })?;
        let files = model.files.iter().map(|file| {
            let path = snapshot.join(&file.path);
            let (sha256, bytes) =
                hash::sha256_file(&path).map_err(|e| io_error("read", &path, e))?;
            Ok(InstalledFile { path, bytes, sha256, modified_ns: None })
        });
        let files = files.collect::<Result<_, RegistryError>>()?;
        return accept(model, &snapshot, files, validate);
    }
    let mut download = Download::new(model, hub, cancel, on_progress)?;
    let (snapshot, files) = download.fetch()?;
    accept(model, &snapshot, files, validate).inspect_err(|_| download.remove_new())
}

/// The record of files that are all here, if they are a model.
fn accept(
    model: &CatalogueModel,
    snapshot: &Path,
    files: Vec<InstalledFile>,
    validate: &Validate,
) -> Result<InstalledModel, RegistryError> {
    let path = hub_cache::load_path(snapshot, model);
    let description = validate(&path)
        .map_err(|e| RegistryError::Refused { path: path.display().to_string(), source: e })?;
    let installed = hub_cache::installed_model(model, snapshot, files);
    Ok(InstalledModel { purpose: description.purpose, ..installed })
}

/// A download of one model.
struct Download<'a> {
    model: &'a CatalogueModel,
    hub: &'a HubSettings,
    client: Client,
    repo: Repo,
    cache: CacheRepo,
    cancel: &'a Cancel,
    on_progress: OnProgress<'a>,
    /// What was not there before.
    new: Vec<PathBuf>,
}

impl<'a> Download<'a> {
    fn new(
        model: &'a CatalogueModel,
        hub: &'a HubSettings,
        cancel: &'a Cancel,
        on_progress: OnProgress<'a>,
    ) -> Result<Self, RegistryError> {
        let client = Client::new(&hub.endpoint, hub.token.clone(), hub.timeout)
            .map_err(|e| failed(&model.repo, hub, "anything", e))?;
        let (name, revision) = (model.repo.clone(), model.revision.clone());
        let repo = Repo::with_revision(name, RepoType::Model, revision);
        let cache = Cache::new(hub.cache_dir.clone()).repo(repo.clone());
        Ok(Self { model, hub, client, repo, cache, cancel, on_progress, new: Vec::new() })
    }

    fn failed(&self, file: &str, source: HubError) -> RegistryError {
        failed(&self.model.repo, self.hub, file, source)
    }

    /// Downloads all files, all of one commit; the result is the snapshot that holds them, and the files.
    fn fetch(&mut self) -> Result<(PathBuf, Vec<InstalledFile>), RegistryError> {
        let pinned = Some(self.model.revision.clone()).filter(|r| hub_cache::is_commit(r));
        let mut commit = self.model.commit.clone().or(pinned.clone());
        let mut files = Vec::with_capacity(self.model.files.len());
        for file in &self.model.files {
            files.push(self.fetch_file(file, &mut commit)?);
        }
        let Some(commit) = commit else {
            let reason = "the catalogue names no files";
            return Err(self.failed("anything", HubError::Malformed(reason.into())));
        };
        if pinned.is_none() {
            self.cache
                .create_ref(&commit)
                .map_err(|e| io_error("write", &self.hub.cache_dir, e))?;
        }
        Ok((self.cache.pointer_path(&commit), files))
    }

    fn metadata(&self, name: &str, url: &str) -> Result<Remote, RegistryError> {
        let mut attempts = Attempts::new(self.hub);
        loop {
            match remote::metadata(&self.client, url) {
                Ok(remote) => return Ok(remote),
                Err(e) => attempts.wait_or_give_up(e).map_err(|e| self.failed(name, e))?,
            }
        }
    }

    /// Downloads one file, if it is not in the cache. `commit` is that of the files before it.
    fn fetch_file(
        &mut self,
        file: &CatalogueFile,
        commit: &mut Option<String>,
    ) -> Result<InstalledFile, RegistryError> {
        let name = file.path.as_str();
        let url = remote::url_of(&self.hub.endpoint, &self.repo, commit.as_deref(), name);
        let remote = self.metadata(name, &url)?;
        let unnamed = |what: &str| {
            let reason = format!("the server's answer names no {what}");
            self.failed(name, HubError::Malformed(reason))
        };
        let commit: &String = match commit {
            Some(first) => first,
            None => commit.insert(remote.commit.clone().ok_or_else(|| unnamed("commit"))?),
        };
        let etag = remote.etag.clone().or_else(|| file.sha256.clone());
        let etag = etag.ok_or_else(|| unnamed("hash to check against"))?;
        let expected = Expected { etag, sha256: file.sha256.clone() };
        let pointer = self.cache.pointer_path(commit).join(name);
        let blob = self.cache.blob_path(&expected.etag);
        create_parent(&blob)?;
        let locked = lock(&blob, |bytes| {
            let total_bytes = remote.bytes.unwrap_or(0);
            (self.on_progress)(PullProgress { file: name.to_owned(), bytes, total_bytes });
        })?;
        let checked = if blob.is_file() { Some(expected.check(&blob)?) } else { None };
        let sha256 = if let Some(Ok(sha256)) = checked {
            let bytes = blob.metadata().map_or(0, |m| m.len());
            let file = name.to_owned();
            (self.on_progress)(PullProgress { file, bytes, total_bytes: bytes });
            sha256
        } else {
            remove_file(&blob)?;
            let sha256 = self.fetch_blob(name, &url, &remote, &expected, &blob)?;
            self.new.extend([blob.clone(), pointer.clone()]);
            sha256
        };
        drop(locked);
        link(&blob, &pointer, name)?;
        let bytes = blob.metadata().map_err(|e| io_error("read", &blob, e))?.len();
        Ok(InstalledFile { path: pointer, bytes, sha256, modified_ns: None })
    }

    /// Downloads a file's content until its hash is right; the result is its SHA-256.
    fn fetch_blob(
        &self,
        name: &str,
        url: &str,
        remote: &Remote,
        expected: &Expected,
        blob: &Path,
    ) -> Result<String, RegistryError> {
        let part = blob.with_extension("part");
        let part_len = || part.metadata().map_or(0, |m| m.len());
        let mut resumed = part_len() > 0;
        let mut attempts = Attempts::new(self.hub);
        loop {
            let before = part_len();
            let mut on_bytes = |bytes| {
                let total_bytes = remote.bytes.unwrap_or(0);
                (self.on_progress)(PullProgress { file: name.to_owned(), bytes, total_bytes });
            };
            let (client, cancel) = (&self.client, self.cancel);
            let result = remote::download(client, url, remote.bytes, &part, cancel, &mut on_bytes);
            match result {
                Ok(()) => {}
                Err(DownloadError::Stopped) => return Err(RegistryError::Stopped),
                Err(_) if cancel.is_cancelled() => return Err(RegistryError::Stopped),
                Err(DownloadError::Disk(e)) => return Err(io_error("write", &part, e)),
                Err(DownloadError::Hub(e)) => {
                    if part_len() > before {
                        attempts = Attempts::new(self.hub);
                    }
                    attempts.wait_or_give_up(e).map_err(|e| self.failed(name, e))?;
                    resumed |= part_len() > 0;
                    continue;
                }
            }
            match expected.check(&part)? {
                Ok(sha256) => {
                    std::fs::rename(&part, blob).map_err(|e| io_error("write", blob, e))?;
                    return Ok(sha256);
                }
                Err((expected, received)) => {
                    remove_file(&part)?;
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
        }
    }

    /// Takes away what was fetched and is no model that runs here.
    fn remove_new(&self) {
        for path in &self.new {
            // Whatever stays is found again by the next pull.
            let _ = remove_file(path);
        }
    }
}

/// Attempts that brought nothing.
struct Attempts<'a> {
    hub: &'a HubSettings,
    n: u32,
}

impl<'a> Attempts<'a> {
    fn new(hub: &'a HubSettings) -> Self {
        Self { hub, n: 0 }
    }

    /// Waits before the next attempt, or returns the error if another one would not help.
    fn wait_or_give_up(&mut self, error: HubError) -> Result<(), HubError> {
        self.n += 1;
        if self.n >= ATTEMPTS || !error.is_transient() {
            return Err(error);
        }
        let asked = match &error {
            HubError::Status { wait, .. } => wait.unwrap_or_default(),
            _ => Duration::ZERO,
        };
        if asked > PAUSE_MAX {
            return Err(error);
        }
        std::thread::sleep(asked.max(self.hub.pause * (1 << self.n)));
        Ok(())
    }
}

/// What the person reads of an error while `file` was fetched from `repo`.
fn failed(repo: &str, hub: &HubSettings, file: &str, source: HubError) -> RegistryError {
    let (repo, endpoint) = (repo.to_owned(), hub.endpoint.clone());
    if let HubError::Status { status, code, .. } = &source {
        let has_token = hub.token.is_some();
        match (status.as_u16(), code.as_str()) {
            (401 | 404, "RepoNotFound") => {
                return RegistryError::NoRepository { repo, endpoint, has_token };
            }
            (401 | 403, _) => return RegistryError::Gated { repo, endpoint, has_token },
            (404, _) => {
                return RegistryError::NoFile { repo, file: file.to_owned(), endpoint };
            }
            _ => {}
        }
    }
    RegistryError::Fetch { repo, file: file.to_owned(), endpoint, source: Box::new(source) }
}

/// Held while a file is downloaded, as hf-hub holds it: what another program is fetching is waited for, and its progress shown.
fn lock(blob: &Path, on_bytes: impl Fn(u64)) -> Result<File, RegistryError> {
    let path = blob.with_extension("lock");
    let file = File::create(&path).map_err(|e| io_error("write", &path, e))?;
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                on_bytes(blob.with_extension("part").metadata().map_or(0, |m| m.len()));
                std::thread::sleep(Duration::from_millis(200));
            }
            // A file system without locks: two downloads at once may spoil each other's, which the hash tells.
            Ok(()) | Err(TryLockError::Error(_)) => return Ok(file),
        }
    }
}

struct Expected {
    /// SHA-256 of a large file, git's blob hash of a small one.
    etag: String,
    sha256: Option<String>,
}

impl Expected {
    /// The file's SHA-256, or `Err((expected, received))` if it is not what was published.
    fn check(&self, path: &Path) -> Result<Result<String, (String, String)>, RegistryError> {
        let unreadable = |e| io_error("read", path, e);
        let (sha256, _) = hash::sha256_file(path).map_err(unreadable)?;
        let of_etag = match self.etag.len() {
            64 => sha256.clone(),
            _ => git_blob::git_blob_file(path).map_err(unreadable)?,
        };
        let stated = self.sha256.iter().map(|expected| (expected, &sha256));
        let wrong = stated
            .chain([(&self.etag, &of_etag)])
            .find(|(expected, received)| !expected.eq_ignore_ascii_case(received));
        Ok(match wrong {
            Some((expected, received)) => Err((expected.clone(), received.clone())),
            None => Ok(sha256),
        })
    }
}

/// `snapshots/<commit>/<name>` → `../../blobs/<etag>`, relative, as hf-hub has it.
fn link(blob: &Path, pointer: &Path, name: &str) -> Result<(), RegistryError> {
    if cfg!(unix) && pointer.canonicalize().is_ok_and(|p| blob.canonicalize().is_ok_and(|b| p == b))
    {
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

fn create_parent(path: &Path) -> Result<(), RegistryError> {
    let Some(parent) = path.parent() else { return Ok(()) };
    std::fs::create_dir_all(parent).map_err(|e| io_error("create", parent, e))
}
