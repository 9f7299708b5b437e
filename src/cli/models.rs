//! The one place where concrete models are named: `inference` becomes the registry's backend.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::App;
use super::policy::Policy;
use super::report::Failure;
use crate::inference;
use crate::interfaces::{Embedder, LoadProgress, ModelError, ModelSource as _, Models, Reranker};
use crate::registry::{
    BuiltInModels, Catalogue, HUB, HubSettings, ModelBackend, ModelDescription, ModelPurpose,
    Registry, is_on, token,
};
use crate::worker::WorkerConfig;

fn validate(path: &Path) -> Result<ModelDescription, ModelError> {
    let summary = inference::validate(path)?;
    let purpose = match &summary.kind {
        inference::ModelKind::Language => ModelPurpose::Language,
        inference::ModelKind::Embedder => ModelPurpose::Embedding,
        inference::ModelKind::Unsupported(architecture) => {
            return Err(ModelError::BadFile {
                path: path.display().to_string(),
                reason: format!("its architecture is {architecture}, which inglenook can't run"),
            });
        }
    };
    Ok(ModelDescription { purpose, summary: summary.description() })
}

#[cfg(feature = "starter")]
fn built_in() -> Option<BuiltInModels> {
    use inference::starter;
    Some(BuiltInModels {
        bytes: starter::bytes(),
        language: Box::new(|progress| starter::language(progress)),
        memory: Box::new(starter::memory),
        embedder: Box::new(|progress| starter::embedder(progress)),
        reranker: Box::new(starter::reranker),
    })
}

#[cfg(not(feature = "starter"))]
fn built_in() -> Option<BuiltInModels> {
    None
}

fn backend(policy: &Policy) -> ModelBackend {
    let [of_language, of_embedder] = [policy.clone(), policy.clone()];
    ModelBackend {
        validate: Box::new(validate),
        load_language: Box::new(move |path, progress| {
            of_language.check_model(path)?;
            inference::load_language(path, progress)
        }),
        load_embedder: Box::new(move |path, progress| {
            of_embedder.check_model(path)?;
            inference::load_embedder(path, progress)
        }),
        built_in: built_in(),
    }
}

impl App {
    /// The registry of this data directory, with the model that the flags or the configuration
    /// choose.
    ///
    /// # Errors
    /// If the installed models or the catalogue can't be read.
    pub fn registry(&self) -> Result<Registry, Failure> {
        self.registry_for(None)
    }

    /// The same, with `model` where no flag names one.
    ///
    /// # Errors
    /// As [`Self::registry`].
    pub(super) fn registry_for(&self, model: Option<&str>) -> Result<Registry, Failure> {
        let env = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let endpoint = env("HF_ENDPOINT").unwrap_or_else(|| HUB.into());
        let seconds = env("HF_HUB_DOWNLOAD_TIMEOUT").and_then(|value| value.parse().ok());
        let hub = HubSettings {
            cache_dir: self.dirs.hub_cache.clone(),
            offline: env("HF_HUB_OFFLINE").is_some_and(|value| is_on(&value)),
            token: token(&endpoint, env, &self.dirs.home),
            timeout: Duration::from_secs(seconds.unwrap_or(30).max(1)),
            pause: Duration::from_millis(200),
            endpoint,
        };
        let chosen = self.model.clone().or(model.map(str::to_owned));
        let chosen = chosen.or_else(|| self.config.model.clone());
        Ok(Registry::new(
            &self.dirs.data,
            hub,
            Catalogue::built_in()?,
            backend(&self.policy),
            chosen,
        ))
    }

    /// Loads something, with progress on stderr.
    fn loading<T>(
        &self,
        load: impl FnOnce(&(dyn Fn(LoadProgress) + Sync)) -> Result<T, ModelError>,
    ) -> Result<T, Failure> {
        let progress = self.console.progress();
        let result = load(&|p| {
            let done = (p.fraction.unwrap_or(0.0) * 100.0) as u64;
            progress.set(done, 100, &p.stage);
        });
        progress.finish();
        Ok(result?)
    }

    /// The language model and the embedder in use.
    ///
    /// # Errors
    /// If a model is not installed or can't be loaded.
    pub fn models(&self) -> Result<Models, Failure> {
        self.models_named(None)
    }

    /// The same, with the named language model.
    pub(super) fn models_named(&self, name: Option<&str>) -> Result<Models, Failure> {
        let registry = self.registry()?;
        self.loading(|progress| registry.load(name, progress))
    }

    /// The worker's settings, from the configuration.
    pub fn worker_config(&self) -> WorkerConfig {
        WorkerConfig { writer: self.config.writer, ..WorkerConfig::default() }
    }

    /// The embedder in use.
    ///
    /// # Errors
    /// If it cannot be loaded.
    pub fn embedder(&self) -> Result<Arc<dyn Embedder>, Failure> {
        let registry = self.registry()?;
        self.loading(|progress| registry.load_embedder(progress))
    }

    /// The reranker, if there is one.
    ///
    /// # Errors
    /// As [`App::registry`].
    pub fn reranker(&self) -> Result<Option<Arc<dyn Reranker>>, Failure> {
        Ok(self.registry()?.reranker())
    }
}
