//! Models that are used where they lie: `model import --link` and `model scan --link`.
//!
//! Their files belong to the person or to another program, which may move, change or delete them. So their length and the
//! time of their last change are recorded with their hash, and compared before they are loaded. Removing such a model
//! deletes the record alone.

use std::fs::Metadata;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::backend::Validate;
use super::error::{RegistryError, io_error, not_a_model};
use super::import::{self, CopyProgress};
use super::manifest::{InstalledFile, InstalledModel, Manifest, Origin};
use super::scan::{self, FoundFile, Place, identity};
use super::{Registry, files, hash};
use crate::interfaces::parts_of;

/// A model that another program has put on this machine.
#[derive(Debug)]
pub(crate) struct FoundModel {
    pub file: FoundFile,
    pub state: FoundState,
}

#[derive(Debug)]
pub(crate) enum FoundState {
    /// By this name.
    Installed(String),
    /// What it is, by its header.
    Runs(String),
    /// Why it does not run here.
    Refused(String),
}

impl Registry {
    /// The models of other programs, each with what its header says, and what could not be looked at.
    pub(crate) fn scan(
        &self,
        places: &[Place],
        on_file: &mut dyn FnMut(&Path),
    ) -> Result<(Vec<FoundModel>, Vec<String>), RegistryError> {
        let installed = self.all_installed()?.1;
        let taken = installed.iter().map(|m| m.name.clone()).chain([super::STARTER.into()]);
        let found = scan::scan(places, taken);
        let models = found.files.into_iter().map(|file| {
            on_file(&file.path);
            let state = match self.installed_at(&installed, &file.path) {
                Some(model) => FoundState::Installed(model.name.clone()),
                None => match (self.backend.validate)(&file.path) {
                    Ok(description) => FoundState::Runs(description.summary),
                    Err(e) => FoundState::Refused(crate::error_chain::error_chain(&e)),
                },
            };
            FoundModel { file, state }
        });
        Ok((models.collect(), found.remarks))
    }

    /// Where a linked model lies; `None` for any other.
    pub(crate) fn linked_path(&self, name: &str) -> Option<PathBuf> {
        let model = self.installed_named(name).ok()?;
        model.is_linked().then_some(model.path)
    }

    /// The installed model whose file this is, whatever either path is.
    fn installed_at<'a>(
        &self,
        installed: &'a [InstalledModel],
        path: &Path,
    ) -> Option<&'a InstalledModel> {
        let wanted = identity(path)?;
        installed.iter().find(|m| identity(&self.absolute(&m.path)).as_ref() == Some(&wanted))
    }

    /// Records a model that stays where it is. `sha256` as whoever put it there states it.
    pub(crate) fn link(
        &self,
        path: &Path,
        name: Option<&str>,
        sha256: Option<&str>,
        on_progress: &mut dyn FnMut(CopyProgress),
    ) -> Result<InstalledModel, RegistryError> {
        let (_, installed) = self.all_installed()?;
        let path = &parts_of(path)[0];
        if let Some(model) = self.installed_at(&installed, path) {
            let (path, name) = (path.display().to_string(), model.name.clone());
            return Err(RegistryError::InstalledAs { path, name });
        }
        let model = link(path, name, sha256, &self.backend.validate, on_progress)?;
        Manifest::update(&self.models_dir, |manifest| {
            let is_it = |m: &InstalledModel| m.name.eq_ignore_ascii_case(&model.name);
            if manifest.models.iter().chain(&installed).any(is_it) {
                return Err(RegistryError::NameTaken { name: model.name });
            }
            manifest.put(model.clone());
            Ok(model)
        })
    }
}

/// Nanoseconds since 1970; `None` where the system does not know.
fn modified_ns(metadata: &Metadata) -> Option<i64> {
    let since = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_nanos()).ok()
}

/// The record of the model at `source` (of several parts the first), which stays where it is. `sha256` is its hash, if whoever put it there names it so;
/// otherwise it is read.
pub(super) fn link(
    source: &Path,
    name: Option<&str>,
    sha256: Option<&str>,
    validate: &Validate,
    on_progress: &mut dyn FnMut(CopyProgress),
) -> Result<InstalledModel, RegistryError> {
    let metadata = source.metadata().map_err(|e| io_error("read", source, e))?;
    let name = name.map_or_else(|| import::name_from(source), |n| Ok(n.to_owned()))?;
    import::check_name(&name)?;
    let path = std::path::absolute(source).map_err(|e| io_error("read", source, e))?;
    let paths: Vec<PathBuf> = if metadata.is_dir() {
        let found = import::files_of_folder(&path)?;
        found.into_iter().map(|(file, _)| path.join(file)).collect()
    } else if files::starts_with(&path, *b"PK\x03\x04")? {
        return Err(not_a_model(source, "an archive has to be unpacked: import it without --link"));
    } else {
        parts_of(&path)
    };
    // Before anything is read of them: what changes meanwhile is noticed afterwards.
    let stamp = |path: &PathBuf| path.metadata().map_err(|e| io_error("read", path, e));
    let stamps = paths.iter().map(stamp).collect::<Result<Vec<_>, _>>()?;
    let description = validate(&path)
        .map_err(|e| RegistryError::Refused { path: source.display().to_string(), source: e })?;

    let total_bytes = stamps.iter().map(Metadata::len).sum();
    let is_one = paths.len() == 1;
    let mut files = Vec::with_capacity(paths.len());
    let mut bytes = 0;
    for (path, stamp) in paths.into_iter().zip(stamps) {
        let sha256 = match sha256.filter(|_| is_one) {
            Some(known) => known.to_owned(),
            None => hash::sha256_file_with(&path, |n| {
                on_progress(CopyProgress { bytes: bytes + n, total_bytes });
            })
            .map_err(|e| io_error("read", &path, e))?,
        };
        bytes += stamp.len();
        files.push(InstalledFile {
            path,
            bytes: stamp.len(),
            sha256,
            modified_ns: modified_ns(&stamp),
        });
    }
    Ok(InstalledModel {
        purpose: description.purpose,
        origin: Origin::Link,
        source: path.display().to_string(),
        path,
        licence: None,
        files,
        name,
    })
}

/// # Errors
/// If a file of a linked model is gone, or is not as it was when it was linked.
pub(super) fn check(model: &InstalledModel) -> Result<(), RegistryError> {
    if model.origin != Origin::Link {
        return Ok(());
    }
    for file in &model.files {
        let (name, path) = (model.name.clone(), file.path.display().to_string());
        match file.path.metadata() {
            Err(e) if e.kind() == ErrorKind::NotFound => {
                return Err(RegistryError::LinkGone { name, path });
            }
            Err(e) => return Err(io_error("read", &file.path, e)),
            Ok(now) if now.len() != file.bytes || modified_ns(&now) != file.modified_ns => {
                return Err(RegistryError::LinkChanged { name, path });
            }
            Ok(_) => {}
        }
    }
    Ok(())
}

/// After its content was found to be what it was: a file that was only touched is used again. Whether it was.
pub(super) fn renew(file: &mut InstalledFile) -> bool {
    let now = file.path.metadata().ok().as_ref().and_then(modified_ns);
    std::mem::replace(&mut file.modified_ns, now) != now
}
