//! Where models come from, as the chat sees it: a list of names and a way to load one.

use std::sync::Arc;

use crate::interfaces::{Cancel, Embedder, LanguageModel, ModelError, Reranker};

/// The loaded models that chat and memory work with.
#[derive(Clone)]
pub struct Models {
    /// Chats, writes memory, answers.
    pub language: Arc<dyn LanguageModel>,
    /// Turns text into vectors.
    pub embedder: Arc<dyn Embedder>,
    /// `None`: evidence is ranked by its cues alone.
    pub reranker: Option<Arc<dyn Reranker>>,
    /// Trained to read memories; `None` where [`Self::language`] is it, or the program has none.
    pub memory: Option<Arc<dyn MemoryModel>>,
}

/// A language model that is loaded when it is first needed.
pub trait MemoryModel: Send + Sync {
    /// The model.
    ///
    /// # Errors
    /// If it can't be loaded.
    fn loaded(&self) -> Result<Arc<dyn LanguageModel>, ModelError>;
}

/// An installed model, as lists show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelSummary {
    /// What `model use` takes.
    pub name: String,
    /// Size of its files.
    pub bytes: u64,
    /// The built-in one.
    pub starter: bool,
    /// The one that is loaded from now on.
    pub in_use: bool,
}

/// A model that can be downloaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullableModel {
    /// What [`ModelSource::pull`] takes.
    pub name: String,
    /// About how large its files are.
    pub bytes: u64,
    /// Of its weights.
    pub licence: String,
    /// The host and the repository.
    pub from: String,
    /// A few words.
    pub good_at: String,
    /// Whether this machine has the memory for it.
    pub fits: bool,
    /// The best one for this machine.
    pub recommended: bool,
}

/// What is being loaded, and how far it has come.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadProgress {
    /// "reading weights", "building the tokenizer", …
    pub stage: String,
    /// In [0, 1], where it is known.
    pub fraction: Option<f32>,
}

/// Loads models; called on a background thread.
pub trait ModelSource: Send + Sync {
    /// Every model that can be loaded.
    fn installed(&self) -> Vec<ModelSummary>;

    /// The name that `load(None)` would load.
    fn default_name(&self) -> String;

    /// Loads `name`, or the model in use.
    ///
    /// # Errors
    /// If there is no such model or its files are unusable.
    fn load(
        &self,
        name: Option<&str>,
        progress: &(dyn Fn(LoadProgress) + Sync),
    ) -> Result<Models, ModelError>;

    /// What can be downloaded: nothing where that is forbidden, or not built in.
    fn pullable(&self) -> Vec<PullableModel> {
        Vec::new()
    }

    /// Downloads a model, checks it, and makes it the one that is loaded from now on. `progress` gets the bytes that are here and
    /// those of the whole file (0 if that is not known).
    ///
    /// # Errors
    /// If it can't be had; [`ModelError::Cancelled`] once `cancel` is raised. What has come is kept, and the next try goes on there.
    fn pull(
        &self,
        name: &str,
        cancel: &Cancel,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<(), ModelError> {
        let _ = (cancel, progress);
        Err(ModelError::NotInstalled { name: name.to_owned() })
    }
}
