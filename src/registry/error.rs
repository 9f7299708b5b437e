//! What can go wrong with models as files.

use std::path::Path;

use thiserror::Error;

use crate::interfaces::ModelError;

/// Why the registry could not do what it was asked.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the messages say it")]
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
    #[error("{path} is installed already, as `{name}`")]
    InstalledAs { path: String, name: String },
    #[error("the file of `{name}` is no longer at {path}")]
    LinkGone { name: String, path: String },
    #[error("{path} was changed after `{name}` was linked to it")]
    LinkChanged { name: String, path: String },
    #[error("nothing that was found is called `{name}`")]
    NotFound { name: String, found: Vec<String> },
    #[error("the starter is part of the program and cannot be removed")]
    BuiltIn,
    #[error("`{name}` was put into the Hugging Face cache by another program")]
    NotOurs { name: String, path: String },
    #[error("`{name}` is not in the cache, and HF_HUB_OFFLINE forbids to fetch it")]
    Offline { name: String },
    #[error("this build has no network code (feature `hub`)")]
    NoHub,
    #[error("stopped")]
    Stopped,
    #[error("cannot fetch {file} of {repo} from {endpoint}")]
    Fetch {
        repo: String,
        file: String,
        endpoint: String,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("`{text}` is not the name of a repository")]
    BadRepository { text: String },
    #[error("{endpoint} has no repository {repo}, or shows it to its members alone")]
    NoRepository { repo: String, endpoint: String, has_token: bool },
    #[error("{endpoint} gives {repo} only to those who accepted its conditions")]
    Gated { repo: String, endpoint: String, has_token: bool },
    #[error("{file} is not in {repo} at {endpoint}")]
    NoFile { repo: String, file: String, endpoint: String },
    #[error("nothing of {repo} runs here: {why}")]
    NothingToRun { repo: String, why: String, there: Vec<String> },
}

pub(super) fn not_a_model(path: &Path, reason: impl Into<String>) -> RegistryError {
    RegistryError::NotAModel { path: path.display().to_string(), reason: reason.into() }
}

pub(super) fn io_error(action: &'static str, path: &Path, source: std::io::Error) -> RegistryError {
    RegistryError::Io { action, path: path.display().to_string(), source }
}

/// The same error for callers that know models, not files.
pub(crate) fn as_model_error(error: RegistryError) -> ModelError {
    match error {
        RegistryError::NotInstalled { name, .. } => ModelError::NotInstalled { name },
        RegistryError::Stopped => ModelError::Cancelled,
        other => ModelError::Backend { what: other.to_string(), source: Some(Box::new(other)) },
    }
}
