//! Which models there are: the catalogue, what is installed, how one gets here and which is in use.
//!
//! It knows files, hashes and names. What is inside the files it leaves to the [`ModelBackend`] that it
//! is handed: it never sees a tensor. The one place in the program with network code is `pull`,
//! behind the feature `hub`.

mod archive;
mod catalogue;
mod files;
#[cfg(feature = "hub")]
mod git_blob;
mod hash;
mod hub_cache;
mod import;
mod manifest;
#[cfg(feature = "hub")]
mod pull;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;

pub use catalogue::{Catalogue, CatalogueFile, CatalogueModel, ModelPurpose};
pub use hash::{hex, sha256_file};
pub use hub_cache::cache_dir;
pub use import::CopyProgress;
pub use manifest::{InstalledFile, InstalledModel, Manifest, Origin};
#[cfg(feature = "hub")]
pub use pull::PullProgress;

use crate::interfaces::{
    Embedder, LanguageModel, LoadProgress, ModelError, ModelSource, ModelSummary, Models, Reranker,
};

/// The name of the built-in model.
pub const STARTER: &str = "starter";

/// What can go wrong with models as files.
#[derive(Debug, Error)]
pub enum RegistryError {
    #[error("there is no model named `{name}` in the catalogue")]
    UnknownName { name: String, known: Vec<String> },
    #[error("no model named `{name}` is installed")]
    NotInstalled { name: String, in_catalogue: bool },
    #[error("`{name}` is not a name for a model (letters, digits, dots, dashes, underscores)")]
    BadName { name: String },
    #[error("a model named `{name}` is installed already")]
    NameTaken { name: String },
    #[error("{path} is not a model: {reason}")]
    NotAModel { path: String, reason: String },
    #[error("{path} was refused")]
    Refused {
        path: String,
        #[source]
        source: ModelError,
    },
    #[error("cannot unpack {path}: {reason}")]
    Archive { path: String, reason: String },
    #[error("{file} of `{name}` is not what was published: its hash is {received}, not {expected}")]
    HashMismatch { name: String, file: String, expected: String, received: String },
    #[error("cannot {action} {path}")]
    Io {
        action: &'static str,
        path: String,
        #[source]
        source: std::io::Error,
    },
    #[error("cannot read {path}: {reason}")]
    Manifest { path: String, reason: String },
    #[error("the starter is part of the program and cannot be removed")]
    BuiltIn,
    #[error("`{name}` was put into the Hugging Face cache by another program")]
    NotOurs { name: String, path: String },
    #[error("`{name}` is not in the cache, and HF_HUB_OFFLINE forbids to fetch it")]
    Offline { name: String },
    #[error("this build has no network code (feature `hub`)")]
    NoHub,
    #[error("cannot fetch {file} of `{name}` from {endpoint}")]
    Fetch {
        name: String,
        file: String,
        endpoint: String,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

fn io_error(action: &'static str, path: &Path, source: std::io::Error) -> RegistryError {
    RegistryError::Io { action, path: path.display().to_string(), source }
}

/// What the engine says about a model's files, from their headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelDescription {
    pub kind: ModelPurpose,
    /// "llama, 28 layers, 1024 wide", for people.
    pub description: String,
}

/// Checks a GGUF file or a model folder by its headers.
pub type Validate = dyn Fn(&Path) -> Result<ModelDescription, ModelError> + Send + Sync;

/// Told of every stage of loading.
pub type Progress<'a> = &'a (dyn Fn(LoadProgress) + Sync);

/// Loads what lies at a path.
pub type Load<T> = dyn Fn(&Path, Progress<'_>) -> Result<Arc<T>, ModelError> + Send + Sync;

/// Loads what is built in.
pub type LoadBuiltIn<T> = dyn Fn(Progress<'_>) -> Result<Arc<T>, ModelError> + Send + Sync;

/// Whoever runs models, as the registry needs it: handed in by `cli`, so that this module stays a
/// stranger to `inference`.
pub struct ModelBackend {
    pub validate: Box<Validate>,
    pub load_language: Box<Load<dyn LanguageModel>>,
    pub load_embedder: Box<Load<dyn Embedder>>,
    /// The built-in models; `None` in a build without the feature `starter`.
    pub starter: Option<BuiltInModels>,
}

/// The built-in models and their size.
pub struct BuiltInModels {
    pub bytes: u64,
    pub language: Box<LoadBuiltIn<dyn LanguageModel>>,
    pub embedder: Box<LoadBuiltIn<dyn Embedder>>,
    /// Loaded when it is first needed.
    pub reranker: Box<dyn Fn() -> Arc<dyn Reranker> + Send + Sync>,
}

/// Where the hub is and how it may be used: the `HF_…` variables, read once by `cli`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubSettings {
    /// `HF_ENDPOINT`.
    pub endpoint: String,
    /// See [`cache_dir`].
    pub cache_dir: PathBuf,
    /// `HF_HUB_OFFLINE`.
    pub offline: bool,
    /// `HF_TOKEN`; only `pull` sends it, and only to the endpoint.
    pub token: Option<String>,
}

/// One line of `model list`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedModel {
    pub name: String,
    pub kind: ModelPurpose,
    pub bytes: u64,
    pub licence: Option<String>,
    /// `None`: only in the catalogue. `"built in"`, a path, or the repository.
    pub installed: Option<String>,
    pub in_use: bool,
}

/// What `model verify` found out about one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedFile {
    pub model: String,
    pub file: PathBuf,
    pub state: FileState,
}

/// See [`VerifiedFile`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileState {
    Sound,
    Missing,
    Changed,
}

/// The models of one data directory.
pub struct Registry {
    models_dir: PathBuf,
    hub: HubSettings,
    catalogue: Catalogue,
    engine: ModelBackend,
    /// From `--model` or the configuration: outranks `model use`.
    chosen: Option<String>,
}

impl Registry {
    #[must_use]
    pub fn new(data_dir: &Path, hub: HubSettings, catalogue: Catalogue, engine: ModelBackend) -> Self {
        Self { models_dir: data_dir.join("models"), hub, catalogue, engine, chosen: None }
    }

    /// The model that this run uses, whatever `model use` said.
    #[must_use]
    pub fn choosing(mut self, name: Option<String>) -> Self {
        self.chosen = name;
        self
    }

    #[must_use]
    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    #[must_use]
    pub fn hub(&self) -> &HubSettings {
        &self.hub
    }

    #[must_use]
    pub fn models_dir(&self) -> &Path {
        &self.models_dir
    }

    /// The recorded models, and those of the catalogue that another program has put into the
    /// Hugging Face cache.
    fn all_installed(&self) -> Result<(Manifest, Vec<InstalledModel>), RegistryError> {
        let manifest = Manifest::read(&self.models_dir)?;
        let mut models = manifest.models.clone();
        for model in &self.catalogue.models {
            if manifest.get(&model.name).is_none()
                && let Some(snapshot) = hub_cache::find(&self.hub.cache_dir, model)
            {
                models.push(as_cached(model, &snapshot));
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

    /// The files of the model chosen, or in use; a path stands for itself. None for the starter, which
    /// is part of the program.
    ///
    /// # Errors
    /// If there is no such model, or it is an embedder.
    pub fn files_in_use(&self) -> Result<Option<PathBuf>, ModelError> {
        let name = self.default_name();
        if name.eq_ignore_ascii_case(STARTER) {
            return Ok(None);
        }
        self.language_files(&name).map(Some)
    }

    /// Everything that is installed or could be pulled.
    ///
    /// # Errors
    /// If the list of installed models is damaged.
    pub fn list(&self) -> Result<Vec<ListedModel>, RegistryError> {
        let (manifest, installed) = self.all_installed()?;
        let in_use = self.default_name();
        let embedder = manifest.embedder_in_use.as_deref();
        let mut list = Vec::new();
        if let Some(starter) = &self.engine.starter {
            list.push(ListedModel {
                name: STARTER.into(),
                kind: ModelPurpose::Language,
                bytes: starter.bytes,
                licence: None,
                installed: Some("built in".into()),
                in_use: in_use == STARTER,
            });
        }
        list.extend(installed.iter().map(|m| ListedModel {
            name: m.name.clone(),
            kind: m.kind,
            bytes: m.bytes(),
            licence: m.licence.clone(),
            installed: Some(self.absolute(&m.path).display().to_string()),
            in_use: match m.kind {
                ModelPurpose::Language => m.name.eq_ignore_ascii_case(&in_use),
                ModelPurpose::Embedding => embedder.is_some_and(|e| m.name.eq_ignore_ascii_case(e)),
            },
        }));
        for model in &self.catalogue.models {
            if !installed.iter().any(|m| m.name == model.name) {
                list.push(ListedModel {
                    name: model.name.clone(),
                    kind: model.kind,
                    bytes: model.bytes_approx,
                    licence: Some(model.licence.clone()),
                    installed: None,
                    in_use: false,
                });
            }
        }
        Ok(list)
    }

    /// Takes a model from the disk. Its name, if it was accepted.
    ///
    /// # Errors
    /// If it is no model, is damaged or hostile, or its name is taken.
    pub fn import(
        &self,
        path: &Path,
        name: Option<&str>,
        on_progress: &mut dyn FnMut(CopyProgress),
    ) -> Result<InstalledModel, RegistryError> {
        let mut manifest = Manifest::read(&self.models_dir)?;
        let model =
            import::import(path, name, &self.models_dir, &self.engine.validate, on_progress)?;
        manifest.put(model.clone());
        manifest.write(&self.models_dir)?;
        Ok(model)
    }

    /// What the engine says about the files of an installed model, or of any path.
    ///
    /// # Errors
    /// If there is no such model or the engine refuses it.
    pub fn inspect(&self, name: &str) -> Result<ModelDescription, RegistryError> {
        let path = self.absolute(&self.installed_named(name)?.path);
        (self.engine.validate)(&path)
            .map_err(|e| RegistryError::Refused { path: path.display().to_string(), source: e })
    }

    /// Hashes the files of `name`, or of every installed model, again.
    ///
    /// # Errors
    /// If there is no such model or a file can't be read.
    pub fn verify(
        &self,
        name: Option<&str>,
        on_file: &mut dyn FnMut(&str, &Path),
    ) -> Result<Vec<VerifiedFile>, RegistryError> {
        let models = match name {
            Some(STARTER) if self.engine.starter.is_some() => Vec::new(),
            Some(name) => vec![self.installed_named(name)?],
            None => self.all_installed()?.1,
        };
        let mut results = Vec::new();
        for model in models {
            for file in &model.files {
                let path = self.absolute(&file.path);
                on_file(&model.name, &path);
                let state = match hash::sha256_file(&path) {
                    Ok((sha256, _)) if file.sha256.is_empty() || sha256 == file.sha256 => {
                        FileState::Sound
                    }
                    Ok(_) => FileState::Changed,
                    Err(e) if e.kind() == std::io::ErrorKind::NotFound => FileState::Missing,
                    Err(e) => return Err(io_error("read", &path, e)),
                };
                results.push(VerifiedFile { model: model.name.clone(), file: path, state });
            }
        }
        Ok(results)
    }

    /// Makes `name` the model (or the embedder) that is loaded from now on. Its kind.
    ///
    /// # Errors
    /// If it is not installed.
    pub fn use_model(&self, name: &str) -> Result<ModelPurpose, RegistryError> {
        let mut manifest = Manifest::read(&self.models_dir)?;
        let kind = if name.eq_ignore_ascii_case(STARTER) && self.engine.starter.is_some() {
            manifest.in_use = None;
            manifest.embedder_in_use = None;
            ModelPurpose::Language
        } else {
            let model = self.installed_named(name)?;
            let kind = model.kind;
            match kind {
                ModelPurpose::Language => manifest.in_use = Some(model.name),
                ModelPurpose::Embedding => manifest.embedder_in_use = Some(model.name),
            }
            kind
        };
        manifest.write(&self.models_dir)?;
        Ok(kind)
    }

    /// Whether the model that would be loaded is there: a wrong name is better said before
    /// anything else happens.
    ///
    /// # Errors
    /// [`RegistryError::NotInstalled`].
    pub fn check_default(&self) -> Result<(), RegistryError> {
        let name = self.default_name();
        let built_in = name.eq_ignore_ascii_case(STARTER) && self.engine.starter.is_some();
        if built_in || self.is_path(&name) {
            return Ok(());
        }
        self.installed_named(&name).map(drop)
    }

    /// Deletes an installed model's files and forgets it.
    ///
    /// # Errors
    /// If it is not installed, is built in, or belongs to another program.
    pub fn remove(&self, name: &str) -> Result<InstalledModel, RegistryError> {
        if name.eq_ignore_ascii_case(STARTER) && self.engine.starter.is_some() {
            return Err(RegistryError::BuiltIn);
        }
        let mut manifest = Manifest::read(&self.models_dir)?;
        let Some(model) = manifest.take(name) else {
            let other = self.installed_named(name)?;
            return Err(RegistryError::NotOurs {
                name: other.name,
                path: other.path.display().to_string(),
            });
        };
        // The list first: a model whose files are half gone must not be offered.
        manifest.write(&self.models_dir)?;
        match model.origin {
            Origin::Import => {
                let dir = self.models_dir.join(&model.name);
                match std::fs::remove_dir_all(&dir) {
                    Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                        return Err(io_error("delete", &dir, e));
                    }
                    _ => {}
                }
            }
            Origin::Hub => {
                for file in &model.files {
                    let blob = file.path.canonicalize().ok();
                    for path in [Some(file.path.clone()), blob].into_iter().flatten() {
                        match std::fs::remove_file(&path) {
                            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                                return Err(io_error("delete", &path, e));
                            }
                            _ => {}
                        }
                    }
                }
            }
        }
        Ok(model)
    }

    /// Fetches a model of the catalogue, checks it and records it.
    ///
    /// # Errors
    /// If the name is unknown, the hub is out of reach or forbidden, or a file is not what was
    /// published.
    #[cfg(feature = "hub")]
    pub fn pull(
        &self,
        name: &str,
        on_progress: &(dyn Fn(PullProgress) + Sync),
    ) -> Result<InstalledModel, RegistryError> {
        let model = self.catalogue_model(name)?;
        let mut manifest = Manifest::read(&self.models_dir)?;
        let installed = pull::pull(model, &self.hub, &self.engine.validate, on_progress)?;
        manifest.put(installed.clone());
        manifest.write(&self.models_dir)?;
        Ok(installed)
    }

    #[cfg(feature = "hub")]
    fn catalogue_model(&self, name: &str) -> Result<&CatalogueModel, RegistryError> {
        self.catalogue.get(name).ok_or_else(|| RegistryError::UnknownName {
            name: name.to_owned(),
            known: self.catalogue.names(),
        })
    }

    /// The embedder in use.
    ///
    /// # Errors
    /// If it is not installed or its files are unusable.
    pub fn load_embedder(
        &self,
        progress: &(dyn Fn(LoadProgress) + Sync),
    ) -> Result<Arc<dyn Embedder>, ModelError> {
        let manifest = Manifest::read(&self.models_dir).map_err(as_model_error)?;
        if let Some(name) = manifest.embedder_in_use {
            let path = self.absolute(&self.installed_named(&name).map_err(as_model_error)?.path);
            return (self.engine.load_embedder)(&path, progress);
        }
        match &self.engine.starter {
            Some(starter) => (starter.embedder)(progress),
            None => Err(ModelError::NotInstalled { name: "an embedding model".into() }),
        }
    }

    /// The built-in reranker; `None` in a build without it.
    #[must_use]
    pub fn reranker(&self) -> Option<Arc<dyn Reranker>> {
        self.engine.starter.as_ref().map(|starter| (starter.reranker)())
    }

    fn load_language(
        &self,
        name: &str,
        progress: &(dyn Fn(LoadProgress) + Sync),
    ) -> Result<Arc<dyn LanguageModel>, ModelError> {
        if name.eq_ignore_ascii_case(STARTER)
            && let Some(starter) = &self.engine.starter
        {
            return (starter.language)(progress);
        }
        (self.engine.load_language)(&self.language_files(name)?, progress)
    }

    /// Where an installed language model lies, or a path that was given instead of a name.
    fn language_files(&self, name: &str) -> Result<PathBuf, ModelError> {
        if self.is_path(name) {
            return Ok(name.into());
        }
        let model = self.installed_named(name).map_err(as_model_error)?;
        if model.kind != ModelPurpose::Language {
            return Err(ModelError::BadFile {
                path: model.name,
                reason: "it is an embedding model; it can't chat".into(),
            });
        }
        Ok(self.absolute(&model.path))
    }

    /// `-m some-model.gguf` runs a file that is not installed. An installed model of the same name
    /// comes first; `./` tells them apart.
    fn is_path(&self, name: &str) -> bool {
        let path = Path::new(name);
        path.exists() && (path.components().count() > 1 || self.installed_named(name).is_err())
    }
}

/// A model of the catalogue that lies in the cache without being recorded.
fn as_cached(model: &CatalogueModel, snapshot: &Path) -> InstalledModel {
    let file = |file: &CatalogueFile| {
        let path = snapshot.join(&file.path);
        InstalledFile {
            bytes: path.metadata().map_or(0, |m| m.len()),
            // The blob's name is its hash, if it is a large file: enough to verify by.
            sha256: path
                .canonicalize()
                .ok()
                .and_then(|p| Some(p.file_name()?.to_str()?.to_owned()))
                .filter(|name| name.len() == 64)
                .unwrap_or_default(),
            path,
        }
    };
    InstalledModel {
        name: model.name.clone(),
        kind: model.kind,
        origin: Origin::Hub,
        path: hub_cache::load_path(snapshot, model),
        source: model.repo.clone(),
        licence: Some(model.licence.clone()),
        files: model.files.iter().map(file).collect(),
    }
}

fn as_model_error(error: RegistryError) -> ModelError {
    match error {
        RegistryError::NotInstalled { name, .. } => ModelError::NotInstalled { name },
        other => ModelError::Backend { what: other.to_string(), source: Some(Box::new(other)) },
    }
}

impl ModelSource for Registry {
    fn installed(&self) -> Vec<ModelSummary> {
        self.list()
            .unwrap_or_default()
            .into_iter()
            .filter(|m| m.kind == ModelPurpose::Language && m.installed.is_some())
            .map(|m| ModelSummary {
                starter: m.name == STARTER,
                name: m.name,
                bytes: m.bytes,
                in_use: m.in_use,
            })
            .collect()
    }

    fn default_name(&self) -> String {
        self.chosen
            .clone()
            .or_else(|| Manifest::read(&self.models_dir).ok().and_then(|m| m.in_use))
            .unwrap_or_else(|| STARTER.to_owned())
    }

    fn load(
        &self,
        name: Option<&str>,
        progress: &(dyn Fn(LoadProgress) + Sync),
    ) -> Result<Models, ModelError> {
        let name = name.map_or_else(|| self.default_name(), str::to_owned);
        let language = self.load_language(&name, progress)?;
        let embedder = self.load_embedder(progress)?;
        Ok(Models { language, embedder, reranker: self.reranker() })
    }
}

#[cfg(test)]
mod tests;
