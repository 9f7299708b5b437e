//! The models of the chat screen, which also downloads them, where that is allowed.

use super::App;
use super::machine::{memory, supposed_decode_rate};
use super::model_pull::check_space;
use crate::interfaces::{
    Cancel, LoadProgress, ModelError, ModelSource, ModelSummary, Models, PullableModel,
};
use crate::registry::{CatalogueModel, ModelPurpose, Registry, as_model_error};

/// The installed models, and those of the catalogue that this machine's policy allows.
pub struct ChatModels {
    registry: Registry,
    /// Their names.
    allowed: Vec<String>,
    window_tokens: u64,
}

impl ChatModels {
    pub fn new(app: &App, registry: Registry) -> Self {
        let is_allowed = |model: &&CatalogueModel| {
            let mut hashes = model.files.iter().map(|file| file.sha256.as_deref());
            let is_known = |hash: Option<&str>| {
                app.policy.check_hash(&model.name, hash.unwrap_or_default()).is_ok()
            };
            app.policy.pulls() && hashes.all(is_known)
        };
        let models = registry.catalogue.models.iter();
        let language = models.filter(|model| model.purpose == ModelPurpose::Language);
        let allowed = language.filter(is_allowed).map(|model| model.name.clone()).collect();
        Self { registry, allowed, window_tokens: app.config.chat.window_tokens as u64 }
    }
}

impl ModelSource for ChatModels {
    fn installed(&self) -> Vec<ModelSummary> {
        self.registry.installed()
    }

    fn default_name(&self) -> String {
        self.registry.default_name()
    }

    fn load(
        &self,
        name: Option<&str>,
        progress: &(dyn Fn(LoadProgress) + Sync),
    ) -> Result<Models, ModelError> {
        self.registry.load(name, progress)
    }

    fn pullable(&self) -> Vec<PullableModel> {
        let Registry { catalogue, hub, .. } = &self.registry;
        if hub.offline {
            return Vec::new();
        }
        let (memory, window) = (memory(), self.window_tokens);
        let best =
            memory.and_then(|m| catalogue.recommended(m.total, window, supposed_decode_rate()));
        let installed = self.registry.installed();
        let is_missing = |name: &&String| !installed.iter().any(|m| m.name == **name);
        let host = hub.endpoint.trim_end_matches('/');
        let pullable = |model: &CatalogueModel| PullableModel {
            name: model.name.clone(),
            bytes: model.bytes_approx,
            licence: model.licence.clone(),
            from: format!("{host}/{}", model.repo),
            good_at: model.good_at.clone().unwrap_or_default(),
            fits: memory.is_none_or(|memory| model.fits(memory.total, window)),
            recommended: best.is_some_and(|best| best.name == model.name),
        };
        let missing = self.allowed.iter().filter(is_missing);
        missing.filter_map(|name| catalogue.get(name)).map(pullable).collect()
    }

    fn pull(
        &self,
        name: &str,
        cancel: &Cancel,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<(), ModelError> {
        let registry = &self.registry;
        let in_words = |what: String| ModelError::Backend { what, source: None };
        if let Some(model) = registry.catalogue.get(name) {
            check_space(&registry.hub.cache_dir, model.bytes_approx)
                .map_err(|failure| in_words(failure.to_string()))?;
        }
        registry
            .pull_until(name, cancel, &|p| progress(p.bytes, p.total_bytes))
            .and_then(|model| registry.use_model(&model.name))
            .map(drop)
            .map_err(as_model_error)
    }
}
