//! What can go wrong, and how SQLite's errors are translated.

use std::path::Path;

use thiserror::Error;

/// What can go wrong with the memory on disk.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum StoreError {
    /// Exit code 11. `pid` is "unknown" where neither the system nor the other process tells it.
    #[error("another inglenook (process {pid}) is using the memory in {path}")]
    Locked { path: String, pid: String },
    #[error("cannot write to the data directory {path}")]
    Unwritable {
        path: String,
        #[source]
        source: std::io::Error,
    },
    #[error("the memory file {path} is damaged: {detail}")]
    Corrupt { path: String, detail: String },
    /// Exit code 4.
    #[error("the memory file {path} is encrypted")]
    NeedsPassphrase { path: String },
    /// Exit code 4. Nothing was changed.
    #[error("this is not the passphrase of {path}")]
    WrongPassphrase { path: String },
    #[error(
        "the memory file {path} was written by a newer inglenook (schema {found}, this one knows {known})"
    )]
    Newer { path: String, found: usize, known: usize },
    /// No unit has this id, as it is displayed.
    #[error("there is no {what} with the id {id}")]
    NotFound { what: &'static str, id: String },
    /// A request that makes no sense for this memory: a whole sentence.
    #[error("{what}")]
    Invalid { what: String },
    #[error("the memory was built with the embedding model {found}; this one is {expected}")]
    EmbedderChanged { found: String, expected: String },
    /// Any other failure: of SQLite, a stored value or I/O. `action` is a verb: what was being done.
    #[error("cannot {action} the memory")]
    Sqlite {
        action: &'static str,
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

    /// Whether the disk may be full: SQLite says so, or it could not write or make a file.
    pub fn is_no_space(&self) -> bool {
        use rusqlite::ffi;
        let of_io = |e: &std::io::Error| {
            matches!(e.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded)
        };
        let of_sqlite = |e: &rusqlite::Error| {
            e.sqlite_error().is_some_and(|e| {
                let is_of_files =
                    [ffi::SQLITE_IOERR_WRITE, ffi::SQLITE_IOERR_SHMSIZE].contains(&e.extended_code);
                e.extended_code == ffi::SQLITE_FULL
                    || is_of_files
                    || e.code == rusqlite::ErrorCode::CannotOpen
            })
        };
        let source: &(dyn std::error::Error + 'static) = match self {
            Self::Sqlite { source, .. } => source.as_ref(),
            Self::Unwritable { source, .. } if of_io(source) => return true,
            Self::Unwritable { source, .. } => match source.get_ref() {
                Some(inner) => inner,
                None => return false,
            },
            _ => return false,
        };
        source.downcast_ref::<rusqlite::Error>().is_some_and(of_sqlite)
    }

    /// Whether another process has SQLite's lock.
    pub(super) fn is_busy(&self) -> bool {
        let Self::Sqlite { source, .. } = self else { return false };
        let code = source.downcast_ref::<rusqlite::Error>().and_then(|e| e.sqlite_error_code());
        code == Some(rusqlite::ErrorCode::DatabaseBusy)
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
