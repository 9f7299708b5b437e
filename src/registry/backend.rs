//! What the registry needs from the code that runs models. `cli` passes it in, so that the registry
//! knows nothing of `inference`.

use std::path::Path;
use std::sync::Arc;

use super::ModelPurpose;
use crate::interfaces::{Embedder, LanguageModel, LoadProgress, MemoryModel, ModelError, Reranker};

/// What a model's files are, by their headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelDescription {
    pub purpose: ModelPurpose,
    /// "llama, 28 layers, 1024 wide", for people.
    pub summary: String,
}

/// Checks a GGUF file or a model folder by its headers.
pub type Validate = dyn Fn(&Path) -> Result<ModelDescription, ModelError> + Send + Sync;

/// Called at every stage of loading.
pub type OnProgress<'a> = &'a (dyn Fn(LoadProgress) + Sync);

/// Loads the model at a path.
pub type Load<T> = dyn Fn(&Path, OnProgress<'_>) -> Result<Arc<T>, ModelError> + Send + Sync;

/// Loads a built-in model.
pub type LoadBuiltIn<T> = dyn Fn(OnProgress<'_>) -> Result<Arc<T>, ModelError> + Send + Sync;

/// The code that runs models.
pub struct ModelBackend {
    pub validate: Box<Validate>,
    pub load_language: Box<Load<dyn LanguageModel>>,
    pub load_embedder: Box<Load<dyn Embedder>>,
    /// `None` in a build without the feature `starter`.
    pub built_in: Option<BuiltInModels>,
}

/// The models that are part of the program.
pub struct BuiltInModels {
    pub bytes: u64,
    pub language: Box<LoadBuiltIn<dyn LanguageModel>>,
    /// The same, to be loaded when it is first needed.
    pub memory: Box<dyn Fn() -> Arc<dyn MemoryModel> + Send + Sync>,
    pub embedder: Box<LoadBuiltIn<dyn Embedder>>,
    /// Loaded when it is first needed.
    pub reranker: Box<dyn Fn() -> Arc<dyn Reranker> + Send + Sync>,
}
