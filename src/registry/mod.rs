//! Which models there are: the catalogue, what is installed, how models get here and which is in use.
//!
//! It knows files, hashes and names. What is inside the files it leaves to the [`ModelBackend`] that
//! it is given: it never sees a tensor. The one place in the program with network code is `pull`,
//! behind the feature `hub`.

mod archive;
mod backend;
mod catalogue;
mod error;
mod files;
#[cfg(feature = "hub")]
mod git_blob;
mod hash;
mod hub_cache;
mod import;
mod link;
mod loading;
mod manifest;
#[cfg(feature = "hub")]
mod pull;
mod scan;

use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) use backend::{BuiltInModels, ModelBackend, ModelDescription};
pub(crate) use catalogue::{Catalogue, CatalogueModel, ModelPurpose};
pub use error::RegistryError;
#[cfg(feature = "hub")]
pub(crate) use error::as_model_error;
pub use hash::{hex, sha256_file};
pub(crate) use hub_cache::{HUB, cache_dir, is_on, token};
pub(crate) use import::CopyProgress;
pub(crate) use link::{FoundModel, FoundState};
pub(crate) use manifest::InstalledModel;
#[cfg(feature = "hub")]
pub(crate) use pull::{Plan, PullProgress, Wanted};
pub(crate) use scan::{System, places};

use self::error::io_error;
use self::manifest::{Manifest, Origin};
use crate::interfaces::ModelSource as _;

/// The name of the built-in model.
const STARTER: &str = "starter";

/// Where the hub is and how it may be used: the `HF_…` variables, read once by `cli`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HubSettings {
    /// `HF_ENDPOINT`.
    pub endpoint: String,
    /// As [`cache_dir`] finds it.
    pub cache_dir: PathBuf,
    /// `HF_HUB_OFFLINE`.
    pub offline: bool,
    /// As [`token`] finds it; only `pull` sends it, and only to the endpoint.
    pub token: Option<String>,
    /// How long a server may be silent: `HF_HUB_DOWNLOAD_TIMEOUT`.
    pub timeout: Duration,
    /// Before a second attempt; twice as long before each further one.
    pub pause: Duration,
}

/// One line of `model list`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListedModel {
    pub name: String,
    pub purpose: ModelPurpose,
    pub bytes: u64,
    pub licence: Option<String>,
    /// `"built in"`, or a path; `None` for a model that is only in the catalogue.
    pub installed: Option<String>,
    /// Part of the program, without files.
    pub built_in: bool,
    pub in_use: bool,
}

/// What `model verify` found out about one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VerifiedFile {
    pub model: String,
    pub path: PathBuf,
    pub state: FileState,
}

/// How a file compares with its recorded hash, if there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileState {
    Sound,
    Missing,
    Changed,
}

/// The models of one data directory.
pub struct Registry {
    models_dir: PathBuf,
    pub(crate) hub: HubSettings,
    pub(crate) catalogue: Catalogue,
    backend: ModelBackend,
    /// From `--model` or the configuration: outranks `model use`.
    chosen: Option<String>,
}

impl Registry {
    pub(crate) fn new(
        data_dir: &Path,
        hub: HubSettings,
        catalogue: Catalogue,
        backend: ModelBackend,
        chosen: Option<String>,
    ) -> Self {
        let models_dir = data_dir.join("models");
        import::remove_abandoned(&models_dir);
        Self { models_dir, hub, catalogue, backend, chosen }
    }

    /// The recorded models, and those of the catalogue that another program has put into the
    /// Hugging Face cache.
    fn all_installed(&self) -> Result<(Manifest, Vec<InstalledModel>), RegistryError> {
        let manifest = Manifest::read(&self.models_dir)?;
        let mut models = manifest.models.clone();
        for model in &self.catalogue.models {
            if manifest.get(&model.name).is_none() {
                models.extend(hub_cache::installed(&self.hub.cache_dir, model));
            }
        }
        models.sort_by(|a, b| a.name.cmp(&b.name));
        Ok((manifest, models))
    }

    fn installed_named(&self, name: &str) -> Result<InstalledModel, RegistryError> {
        let (_, models) = self.all_installed()?;
        models.into_iter().find(|m| m.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
            RegistryError::NotInstalled {
                name: name.to_owned(),
                in_catalogue: self.catalogue.get(name).is_some(),
            }
        })
    }

    fn absolute(&self, path: &Path) -> PathBuf {
        self.models_dir.join(path)
    }

    /// Everything that is installed or could be pulled.
    pub(crate) fn list(&self) -> Result<Vec<ListedModel>, RegistryError> {
        let (manifest, installed) = self.all_installed()?;
        let language = self.default_name();
        let embedder = manifest.embedder_in_use.unwrap_or_default();
        let mut list = Vec::new();
        if let Some(models) = &self.backend.built_in {
            list.push(ListedModel {
                name: STARTER.into(),
                purpose: ModelPurpose::Language,
                bytes: models.bytes,
                licence: None,
                installed: Some("built in".into()),
                built_in: true,
                in_use: language == STARTER,
            });
        }
        list.extend(installed.iter().map(|m| ListedModel {
            name: m.name.clone(),
            purpose: m.purpose,
            bytes: m.bytes(),
            licence: m.licence.clone(),
            installed: Some(self.absolute(&m.path).display().to_string()),
            built_in: false,
            in_use: m.name.eq_ignore_ascii_case(match m.purpose {
                ModelPurpose::Language => &language,
                ModelPurpose::Embedding => &embedder,
            }),
        }));
        let pullable = self.catalogue.models.iter();
        let pullable = pullable.filter(|model| !installed.iter().any(|m| m.name == model.name));
        list.extend(pullable.map(|model| ListedModel {
            name: model.name.clone(),
            purpose: model.purpose,
            bytes: model.bytes_approx,
            licence: Some(model.licence.clone()),
            installed: None,
            built_in: false,
            in_use: false,
        }));
        Ok(list)
    }

    /// Copies a model from the disk into the data directory.
    pub(crate) fn import(
        &self,
        path: &Path,
        name: Option<&str>,
        on_progress: &mut dyn FnMut(CopyProgress),
    ) -> Result<InstalledModel, RegistryError> {
        // Before the copy is made.
        Manifest::read(&self.models_dir)?;
        let model =
            import::import(path, name, &self.models_dir, &self.backend.validate, on_progress)?;
        Manifest::update(&self.models_dir, |manifest| {
            manifest.put(model.clone());
            Ok(model)
        })
    }

    /// What the files of an installed model are, by their headers.
    pub(crate) fn inspect(&self, name: &str) -> Result<ModelDescription, RegistryError> {
        let model = self.installed_named(name)?;
        link::check(&model)?;
        let path = self.absolute(&model.path);
        (self.backend.validate)(&path)
            .map_err(|e| RegistryError::Refused { path: path.display().to_string(), source: e })
    }

    /// Hashes the files of `name`, or of every installed model, again.
    pub(crate) fn verify(
        &self,
        name: Option<&str>,
        on_file: &mut dyn FnMut(&str, &Path),
    ) -> Result<Vec<VerifiedFile>, RegistryError> {
        let models = match name {
            Some(name) if self.built_in(name).is_some() => Vec::new(),
            Some(name) => vec![self.installed_named(name)?],
            None => self.all_installed()?.1,
        };
        let mut results = Vec::new();
        for mut model in models {
            let mut renewed = false;
            for file in &mut model.files {
                let path = self.absolute(&file.path);
                on_file(&model.name, &path);
                let state = match hash::sha256_file(&path) {
                    Ok((sha256, _)) if file.sha256.is_empty() || sha256 == file.sha256 => {
                        renewed |= model.origin == Origin::Link && link::renew(file);
                        FileState::Sound
                    }
                    Ok(_) => FileState::Changed,
                    Err(e) if e.kind() == std::io::ErrorKind::NotFound => FileState::Missing,
                    Err(e) => return Err(io_error("read", &path, e)),
                };
                results.push(VerifiedFile { model: model.name.clone(), path, state });
            }
            if renewed {
                Manifest::update(&self.models_dir, |manifest| {
                    // Unless it was removed meanwhile.
                    if manifest.get(&model.name).is_some() {
                        manifest.put(model);
                    }
                    Ok(())
                })?;
            }
        }
        Ok(results)
    }

    /// Makes `name` the language model, or the embedder, that is loaded from now on.
    pub(crate) fn use_model(&self, name: &str) -> Result<ModelPurpose, RegistryError> {
        Manifest::update(&self.models_dir, |manifest| {
            if self.built_in(name).is_some() {
                manifest.in_use = None;
                manifest.embedder_in_use = None;
                return Ok(ModelPurpose::Language);
            }
            let model = self.installed_named(name)?;
            match model.purpose {
                ModelPurpose::Language => manifest.in_use = Some(model.name),
                ModelPurpose::Embedding => manifest.embedder_in_use = Some(model.name),
            }
            Ok(model.purpose)
        })
    }

    /// Deletes an installed model's files and its record.
    pub(crate) fn remove(&self, name: &str) -> Result<InstalledModel, RegistryError> {
        if self.built_in(name).is_some() {
            return Err(RegistryError::BuiltIn);
        }
        // The record first: a model whose files are half gone must not be offered.
        let (model, others) = Manifest::update(&self.models_dir, |manifest| {
            let Some(model) = manifest.take(name) else {
                let other = self.installed_named(name)?;
                return Err(RegistryError::NotOurs {
                    name: other.name,
                    path: other.path.display().to_string(),
                });
            };
            Ok((model, manifest.paths()))
        })?;
        match model.origin {
            Origin::Link => {}
            Origin::Import => files::remove_dir(&self.models_dir.join(&model.name))?,
            Origin::Hub => {
                // A repository's files may belong to two models.
                for file in &model.files {
                    let blob = file.path.canonicalize().ok();
                    let paths = [Some(file.path.clone()), blob].into_iter().flatten();
                    for path in paths.filter(|path| !others.contains(path)) {
                        files::remove_file(&path)?;
                    }
                }
            }
        }
        Ok(model)
    }
}

#[cfg(test)]
mod tests;
