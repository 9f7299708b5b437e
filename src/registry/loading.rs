//! From a model's name to the loaded model.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::backend::{BuiltInModels, OnProgress};
use super::error::as_model_error;
use super::manifest::Manifest;
use super::{ModelPurpose, Registry, RegistryError, STARTER, link};
use crate::interfaces::{
    Embedder, LanguageModel, ModelError, ModelSource, ModelSummary, Models, Reranker,
};

impl Registry {
    /// The built-in models, if `name` means them and this build has them.
    pub(super) fn built_in(&self, name: &str) -> Option<&BuiltInModels> {
        self.backend.built_in.as_ref().filter(|_| name.eq_ignore_ascii_case(STARTER))
    }

    /// The files of the language model in use; `None` for the starter, which has none.
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

    /// An error unless the model that would be loaded is there: a wrong name is best reported before
    /// anything else happens.
    pub(crate) fn check_default(&self) -> Result<(), RegistryError> {
        let name = self.default_name();
        if self.built_in(&name).is_some() || self.is_path(&name) {
            return Ok(());
        }
        self.installed_named(&name).map(drop)
    }

    /// The embedder in use.
    ///
    /// # Errors
    /// If it is not installed or its files are unusable.
    pub fn load_embedder(&self, progress: OnProgress<'_>) -> Result<Arc<dyn Embedder>, ModelError> {
        let manifest = Manifest::read(&self.models_dir).map_err(as_model_error)?;
        if let Some(name) = manifest.embedder_in_use {
            let model = self.installed_named(&name).map_err(as_model_error)?;
            link::check(&model).map_err(as_model_error)?;
            let path = self.absolute(&model.path);
            return (self.backend.load_embedder)(&path, progress);
        }
        match &self.backend.built_in {
            Some(models) => (models.embedder)(progress),
            None => Err(ModelError::NotInstalled { name: "an embedding model".into() }),
        }
    }

    /// The built-in reranker; `None` in a build without it.
    pub fn reranker(&self) -> Option<Arc<dyn Reranker>> {
        self.backend.built_in.as_ref().map(|models| (models.reranker)())
    }

    fn load_language(
        &self,
        name: &str,
        progress: OnProgress<'_>,
    ) -> Result<Arc<dyn LanguageModel>, ModelError> {
        match self.built_in(name) {
            Some(models) => (models.language)(progress),
            None => (self.backend.load_language)(&self.language_files(name)?, progress),
        }
    }

    /// Where an installed language model lies, or a path that was given instead of a name.
    fn language_files(&self, name: &str) -> Result<PathBuf, ModelError> {
        if self.is_path(name) {
            return Ok(name.into());
        }
        let model = self.installed_named(name).map_err(as_model_error)?;
        if model.purpose != ModelPurpose::Language {
            return Err(ModelError::BadFile {
                path: model.name,
                reason: "it is an embedding model; it can't chat".into(),
            });
        }
        link::check(&model).map_err(as_model_error)?;
        Ok(self.absolute(&model.path))
    }

    /// `-m some-model.gguf` runs a file that is not installed. An installed model of the same name
    /// comes first; `./` tells them apart.
    fn is_path(&self, name: &str) -> bool {
        let path = Path::new(name);
        path.exists() && (path.components().count() > 1 || self.installed_named(name).is_err())
    }
}

impl ModelSource for Registry {
    fn installed(&self) -> Vec<ModelSummary> {
        self.list()
            .unwrap_or_default()
            .into_iter()
            .filter(|m| m.purpose == ModelPurpose::Language && m.installed.is_some())
            .map(|m| ModelSummary {
                starter: m.built_in,
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

    fn load(&self, name: Option<&str>, progress: OnProgress<'_>) -> Result<Models, ModelError> {
        let name = name.map_or_else(|| self.default_name(), str::to_owned);
        let language = self.load_language(&name, progress)?;
        let embedder = self.load_embedder(progress)?;
        let built_in = self.backend.built_in.as_ref().filter(|_| !language.info().starter);
        let memory = built_in.map(|models| (models.memory)());
        Ok(Models { language, embedder, reranker: self.reranker(), memory })
    }
}
