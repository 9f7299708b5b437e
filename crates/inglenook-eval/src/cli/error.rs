//! Why a command failed, its remedy and its exit code.

use std::process::ExitCode;

use inglenook::cli::{
    EXIT_FAILED, EXIT_INTERRUPTED, EXIT_USAGE, Failure, io_hint, model_hint, print_error,
    store_hint,
};
use inglenook::interfaces::ModelError;
use thiserror::Error;

use crate::EvalError;

/// The exit code of a command, or why it could not do its work.
pub(crate) type Outcome = Result<ExitCode, CommandError>;

/// Every way in which a command can fail.
#[derive(Debug, Error)]
pub(crate) enum CommandError {
    #[error(transparent)]
    Program(#[from] Failure),
    #[error(transparent)]
    Eval(#[from] EvalError),
    #[error("the measurement of {0} ended early")]
    Part(String),
}

impl From<ModelError> for CommandError {
    fn from(error: ModelError) -> Self {
        Self::Program(error.into())
    }
}

impl CommandError {
    /// A file that could not be read, written or run.
    pub(crate) fn file(
        action: &'static str,
        path: &std::path::Path,
        source: std::io::Error,
    ) -> Self {
        let path = path.display().to_string();
        Failure::File { action, path, source }.into()
    }

    fn exit_code(&self) -> u8 {
        match self {
            Self::Program(failure) => failure.exit_code(),
            Self::Eval(EvalError::Cancelled) => EXIT_INTERRUPTED,
            Self::Eval(EvalError::RunThere { .. } | EvalError::OtherRun { .. }) => EXIT_USAGE,
            Self::Eval(_) | Self::Part(_) => EXIT_FAILED,
        }
    }

    fn hint(&self) -> Option<String> {
        let error = match self {
            Self::Program(failure) => return failure.hint(),
            Self::Part(_) => return Some("what it ended with stands above".into()),
            Self::Eval(error) => error,
        };
        let hint = match error {
            EvalError::Store(e) => return store_hint(e),
            EvalError::Model(e) => return model_hint(e),
            EvalError::Unreadable { source, .. } | EvalError::Unwritable { source, .. } => {
                return io_hint(source);
            }
            EvalError::Cancelled => return None,
            EvalError::BadItem { .. } => {
                "the form of every item is in crates/inglenook-eval/src/items.rs and models/starter/generator"
            }
            EvalError::BadData { .. } => {
                "--memories takes a folder of folders with semantics.jsonl and qa.json"
            }
            EvalError::NoDataSet { found_at, .. } | EvalError::NotDataSet { found_at, .. } => {
                found_at
            }
            EvalError::NoMemory => {
                "--memories takes a folder of folders, each named after its conversation or its \
                 first speaker"
            }
            EvalError::Unbuilt { .. } => {
                "`inglenook model check` tells what the model is good at; `writer = \"extractive\"` \
                 in the configuration lets rules write"
            }
            EvalError::RunThere { .. } => {
                "--resume goes on with it; --out keeps this one elsewhere"
            }
            EvalError::OtherRun { .. } => {
                "resume it with the same arguments, model and program, or choose another --out"
            }
        };
        Some(hint.to_owned())
    }

    /// Prints it on stderr; the result is the program's exit code.
    pub(crate) fn report(&self) -> ExitCode {
        if !matches!(self, Self::Program(Failure::BrokenPipe)) {
            print_error(self, self.hint().as_deref());
        }
        ExitCode::from(self.exit_code())
    }
}
