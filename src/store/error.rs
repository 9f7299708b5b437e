//! What can go wrong, and how SQLite's errors are translated.

use std::path::Path;

use thiserror::Error;

/// What can go wrong with the memory on disk.
#[derive(Debug, Error)]
pub enum StoreError {
    /// Another process writes to it; exit code 11.
    #[error("another inglenook (process {pid}) is using the memory in {path}")]
    Locked {
        /// The data directory.
        path: String,
        /// The other process, or "unknown".
        pid: String,
    },
    /// The directory or a file in it cannot be made or changed.
    #[error("cannot write to the data directory {path}")]
    Unwritable {
        /// The data directory.
        path: String,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
    /// The file is not a memory, or no longer a valid database.
    #[error("the memory file {path} is damaged: {detail}")]
    Corrupt {
        /// The file.
        path: String,
        /// What is wrong with it.
        detail: String,
    },
    /// Its schema is of a later version of this program.
    #[error(
        "the memory file {path} was written by a newer inglenook (schema {found}, this one knows {known})"
    )]
    Newer {
        /// The file.
        path: String,
        /// Its schema's version.
        found: usize,
        /// This program's.
        known: usize,
    },
    /// No unit has this id.
    #[error("there is no {what} with the id {id}")]
    NotFound {
        /// The kind of unit.
        what: &'static str,
        /// As it is displayed.
        id: String,
    },
    /// A request that makes no sense for this memory.
    #[error("{what}")]
    Invalid {
        /// A whole sentence.
        what: String,
    },
    /// The vectors are of another model than the one at hand.
    #[error("the memory was built with the embedding model {found}; this one is {expected}")]
    EmbedderChanged {
        /// The memory's.
        found: String,
        /// The one at hand.
        expected: String,
    },
    /// SQLite fails otherwise.
    #[error("cannot {action} the memory")]
    Sqlite {
        /// A verb: what was being done.
        action: &'static str,
        /// What SQLite says.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

pub(super) type Result<T> = std::result::Result<T, StoreError>;

/// Inside the store every SQL call ends in `?`; [`StoreError::within`] adds what was being done, and to
/// which file, where the error leaves the store.
impl From<rusqlite::Error> for StoreError {
    fn from(source: rusqlite::Error) -> Self {
        Self::Sqlite { action: "use", source: Box::new(source) }
    }
}

impl From<serde_json::Error> for StoreError {
    fn from(source: serde_json::Error) -> Self {
        Self::Sqlite { action: "use", source: Box::new(source) }
    }
}

impl StoreError {
    pub(super) fn invalid(what: impl Into<String>) -> Self {
        Self::Invalid { what: what.into() }
    }

    pub(super) fn not_found(what: &'static str, id: impl std::fmt::Display) -> Self {
        Self::NotFound { what, id: id.to_string() }
    }

    pub(super) fn unwritable(path: &Path, source: std::io::Error) -> Self {
        Self::Unwritable { path: path.display().to_string(), source }
    }

    pub(super) fn corrupt(path: &Path, detail: impl Into<String>) -> Self {
        Self::Corrupt { path: path.display().to_string(), detail: detail.into() }
    }

    /// An SQLite failure of `action` on `path`, told apart by what the person can do about it.
    pub(super) fn within(self, action: &'static str, path: &Path) -> Self {
        let Self::Sqlite { source, .. } = self else { return self };
        match source.downcast_ref::<rusqlite::Error>().and_then(rusqlite::Error::sqlite_error_code)
        {
            Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase) => {
                Self::corrupt(path, source.to_string())
            }
            Some(
                rusqlite::ErrorCode::ReadOnly
                | rusqlite::ErrorCode::CannotOpen
                | rusqlite::ErrorCode::PermissionDenied,
            ) if action != "read" => {
                Self::unwritable(path.parent().unwrap_or(path), std::io::Error::other(source))
            }
            _ => Self::Sqlite { action, source },
        }
    }
}
