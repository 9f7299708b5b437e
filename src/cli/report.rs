//! Any error → what the person reads (the failure, its causes, a hint) and the exit code.

use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

use system_keyring::KeyringError;
use thiserror::Error;

use super::config::ConfigError;
use crate::attachments::AttachError;
use crate::chat::ChatError;
use crate::error_chain::error_messages;
use crate::imports::ImportError;
use crate::interfaces::ModelError;
use crate::memory::plain_text;
use crate::registry::RegistryError;
use crate::store::StoreError;
use crate::sync::{CarrierError, LogError};
use crate::tui::TuiError;
use crate::worker::WorkerError;
use crate::worker::exchange::ExchangeError;

/// The exit code of a command that failed, or found something wrong.
pub const EXIT_FAILED: u8 = 1;
/// The exit code of a command line or setting that cannot be used.
pub const EXIT_USAGE: u8 = 2;
/// The exit code if a model is not installed.
pub const EXIT_NO_MODEL: u8 = 3;
/// The exit code if an encrypted memory's passphrase is missing or wrong.
pub const EXIT_PASSPHRASE: u8 = 4;
/// The exit code if this machine's policy forbids it.
pub const EXIT_FORBIDDEN: u8 = 5;
/// The exit code if another process writes to the memory.
pub const EXIT_LOCKED: u8 = 11;
/// The exit code after Ctrl+C.
pub const EXIT_INTERRUPTED: u8 = 130;

/// The result of a command: its exit code, or why it failed.
pub type Outcome = Result<ExitCode, Failure>;

/// The command succeeded.
pub fn done() -> Outcome {
    Ok(ExitCode::SUCCESS)
}

/// The command worked, but found something wrong (`verify`, `doctor`).
pub fn found_problems() -> Outcome {
    Ok(ExitCode::from(EXIT_FAILED))
}

/// Why a command failed.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Failure {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error(transparent)]
    Registry(#[from] RegistryError),
    #[error(transparent)]
    Worker(#[from] WorkerError),
    #[error(transparent)]
    Chat(#[from] ChatError),
    #[error(transparent)]
    Tui(#[from] TuiError),
    #[error(transparent)]
    Import(#[from] ImportError),
    #[error(transparent)]
    Attach(#[from] AttachError),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Keyring(#[from] KeyringError),
    #[error(transparent)]
    Exchange(ExchangeError),
    #[error("{what}")]
    Usage { what: String, hint: String },
    /// By the policy of whoever administers this machine.
    #[error("{what}")]
    Forbidden { what: String, hint: String },
    #[error("this needs a yes, and there is nobody to ask")]
    NeedsYes,
    #[error("there is no home directory")]
    NoHome,
    #[error("cannot {action} {path}")]
    File {
        action: &'static str,
        path: String,
        #[source]
        source: std::io::Error,
    },
    #[error("cannot read {path}")]
    Unreadable {
        path: String,
        #[source]
        source: std::io::Error,
    },
    #[error("cannot write the result")]
    Output(#[source] std::io::Error),
    #[error("interrupted")]
    Interrupted,
    /// Nobody reads the output any more (`| head`): not reported.
    #[error("the reader of the output has gone")]
    BrokenPipe,
}

impl From<ExchangeError> for Failure {
    fn from(error: ExchangeError) -> Self {
        match error {
            ExchangeError::Store(error) => Self::Store(error),
            error => Self::Exchange(error),
        }
    }
}

impl From<LogError> for Failure {
    fn from(error: LogError) -> Self {
        Self::Exchange(error.into())
    }
}

impl From<CarrierError> for Failure {
    fn from(error: CarrierError) -> Self {
        LogError::from(error).into()
    }
}

impl Failure {
    /// The exit code of the program.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::BrokenPipe => 0,
            Self::Interrupted
            | Self::Model(ModelError::Cancelled)
            | Self::Worker(WorkerError::Cancelled)
            | Self::Chat(ChatError::Cancelled) => EXIT_INTERRUPTED,
            Self::Attach(AttachError::Unreadable { .. } | AttachError::Pdf { .. }) => EXIT_FAILED,
            Self::Tui(TuiError::NotATerminal)
            | Self::Attach(_)
            | Self::Usage { .. }
            | Self::NeedsYes
            | Self::Config(_) => EXIT_USAGE,
            Self::Forbidden { .. } | Self::Model(ModelError::Forbidden { .. }) => EXIT_FORBIDDEN,
            Self::Store(StoreError::Locked { .. }) | Self::Exchange(ExchangeError::Busy) => {
                EXIT_LOCKED
            }
            Self::Store(
                StoreError::NeedsPassphrase { .. } | StoreError::WrongPassphrase { .. },
            ) => EXIT_PASSPHRASE,
            Self::Model(ModelError::NotInstalled { .. })
            | Self::Registry(
                RegistryError::NotInstalled { .. }
                | RegistryError::UnknownName { .. }
                | RegistryError::NotFound { .. },
            ) => EXIT_NO_MODEL,
            _ => EXIT_FAILED,
        }
    }

    /// What the person can do about it, if that is known.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Store(e) | Self::Worker(WorkerError::Store(e)) => return store_hint(e),
            Self::Model(e) | Self::Worker(WorkerError::Model(e)) => return model_hint(e),
            Self::Registry(e) => return registry_hint(e),
            Self::Attach(_) => return None,
            Self::Worker(WorkerError::NothingToRemember) => "give it a sentence",
            Self::Chat(ChatError::Model { .. }) => {
                "`inglenook model list` shows what there is, `inglenook model verify` checks it"
            }
            Self::Chat(ChatError::Failed { .. } | ChatError::Start(_)) => {
                "`inglenook doctor` looks at everything that can be wrong"
            }
            Self::Tui(TuiError::NotATerminal) => {
                "`inglenook --plain` chats by lines, also through a pipe; for scripts there is `inglenook ask`"
            }
            Self::Tui(TuiError::Terminal(_)) => {
                "`inglenook doctor` looks at the terminal; `inglenook ask` needs none"
            }
            Self::Tui(TuiError::Bug { .. }) => {
                "please report it; `inglenook` opens the chat where it was"
            }
            Self::Import(e) => return e.hint(),
            Self::Unreadable { .. } => "check the path and its permissions",
            Self::Config(ConfigError::Unreadable { .. }) => {
                "check the path and its permissions, or leave --config out"
            }
            Self::Config(ConfigError::Invalid { .. }) => {
                "correct that line, or take it out: every setting is optional"
            }
            Self::Keyring(KeyringError::NotBuilt) => {
                "build it with `--features keyring`, or let INGLENOOK_PASSPHRASE_FILE name a file whose first line is the passphrase"
            }
            Self::Keyring(KeyringError::Locked) => "nothing was changed. Unlock it, and try again",
            Self::Keyring(KeyringError::Silent | KeyringError::Unusable { .. }) => {
                "it belongs to a desktop session: try there, or let INGLENOOK_PASSPHRASE_FILE name a file whose first line is the passphrase"
            }
            Self::Exchange(e) => return exchange_hint(e),
            Self::Forbidden { hint, .. } if hint.is_empty() => {
                "whoever administers this machine decided so (`/etc/inglenook/policy.toml`)"
            }
            Self::Usage { hint, .. } | Self::Forbidden { hint, .. } => {
                return (!hint.is_empty()).then(|| hint.clone());
            }
            Self::NeedsYes => "add --yes if you are sure",
            Self::NoHome => "set INGLENOOK_HOME to a folder, or use --data-dir",
            Self::File { source, .. } | Self::Output(source) => return io_hint(source),
            Self::Worker(WorkerError::Cancelled)
            | Self::Chat(ChatError::Cancelled)
            | Self::Interrupted
            | Self::BrokenPipe => {
                return None;
            }
        };
        Some(hint.to_owned())
    }
}

/// The remedy for a failed read or write, if one is known.
pub fn io_hint(error: &std::io::Error) -> Option<String> {
    use std::io::ErrorKind as K;
    let hint = match error.kind() {
        K::PermissionDenied => "you have no permission to do that there: check who owns it",
        K::NotFound => "check the path",
        K::StorageFull => "the disk is full: make room and try again",
        K::ReadOnlyFilesystem => "that disk is read-only: choose another place",
        K::AddrInUse => "another program listens there: choose another port with --port",
        K::AddrNotAvailable => "this machine has no such address",
        K::AlreadyExists => "nothing is overwritten: choose another name",
        _ => return None,
    };
    Some(hint.to_owned())
}

/// The remedy for a failure of the store, if one is known.
pub fn store_hint(error: &StoreError) -> Option<String> {
    let hint = match error {
        StoreError::Locked { .. } => {
            "what puts another file in the memory's place (restore, repair, encrypt, decrypt, rekey) needs every other inglenook \
             closed; everything else works beside them, but while one is writing much (an import): `--wait SECONDS`"
        }
        StoreError::Unwritable { .. } => {
            "check who owns the folder and whether the disk is full, or choose another with --data-dir"
        }
        StoreError::Corrupt { .. } => {
            "nothing was changed. `inglenook restore FILE --replace` puts a backup in its place; \
             `inglenook doctor` says more"
        }
        StoreError::NeedsPassphrase { .. } => {
            if cfg!(feature = "keyring") {
                "type it on a terminal, let the keyring hold it (`inglenook memory keyring store`), or let INGLENOOK_PASSPHRASE_FILE name a file whose first line it is"
            } else {
                "type it on a terminal, or let INGLENOOK_PASSPHRASE_FILE name a file whose first line it is"
            }
        }
        StoreError::WrongPassphrase { .. } => {
            "nothing was changed. Try again; if you are sure of it, the file's first page is damaged"
        }
        StoreError::Newer { .. } => "update inglenook, or choose another --data-dir",
        StoreError::NotFound { .. } => {
            "ids are shown by `inglenook memory tree`, `memory search` and `session list`"
        }
        StoreError::EmbedderChanged { .. } => {
            "`inglenook memory consolidate --wait` embeds everything again"
        }
        StoreError::Invalid { .. } => return None,
        StoreError::Sqlite { .. } => {
            "check that the disk is not full; `inglenook memory verify` checks the memory"
        }
    };
    Some(hint.to_owned())
}

fn exchange_hint(error: &ExchangeError) -> Option<String> {
    let hint = match error {
        ExchangeError::NotShared => {
            "`inglenook sync init FOLDER` begins to share it; `docs/sync.md` says how"
        }
        ExchangeError::Busy => "wait until it has ended, longer with `--wait SECONDS`",
        ExchangeError::Store(e) => return store_hint(e),
        ExchangeError::State(_) | ExchangeError::Log(LogError::Newer) => "update inglenook",
        ExchangeError::Log(LogError::Carrier(e)) => {
            let source = e.source.as_deref().and_then(|e| e.downcast_ref::<std::io::Error>());
            return e.hint.clone().or_else(|| source.and_then(io_hint));
        }
        ExchangeError::Log(LogError::NotASync) => {
            "choose another folder, or let this one arrive as a whole"
        }
        ExchangeError::Log(LogError::WrongCode) => {
            "`inglenook sync status --show-code` shows it on a device that shares already"
        }
        ExchangeError::Log(LogError::AnotherSync) => {
            "leave this one (`inglenook sync remove` and this device's name), and join that (`inglenook sync init`)"
        }
        ExchangeError::Log(LogError::TooLong { .. }) => {
            "a message of hundreds of megabytes is none that a person wrote: forget it, or its import"
        }
        ExchangeError::Log(LogError::Seal(_) | LogError::Json(_)) => return None,
    };
    Some(hint.to_owned())
}

/// The remedy for a failure of a model, if one is known.
pub fn model_hint(error: &ModelError) -> Option<String> {
    let hint = match error {
        ModelError::NotInstalled { .. } => "`inglenook model list` shows what there is",
        ModelError::BadFile { .. } => {
            "the file is damaged or of a kind that inglenook can't run. `inglenook model verify` \
             checks installed models; pull or import it again"
        }
        ModelError::Forbidden { .. } => {
            "whoever administers this machine says which may run (`/etc/inglenook/policy.toml`)"
        }
        ModelError::ContextOverflow { .. } => {
            "ask something shorter, or use a model with a longer context"
        }
        ModelError::ConstraintTooLong { .. } => "allow a longer reply",
        ModelError::NotANumber => {
            "the weights are probably damaged: `inglenook model verify` checks them"
        }
        ModelError::EngineStopped => "start again; if it repeats, `inglenook doctor` may know why",
        ModelError::Backend { source, .. } => {
            return source
                .as_deref()
                .and_then(|e| e.downcast_ref::<RegistryError>())
                .and_then(registry_hint);
        }
        ModelError::Cancelled => return None,
    };
    Some(hint.to_owned())
}

fn registry_hint(error: &RegistryError) -> Option<String> {
    let hint = match error {
        RegistryError::UnknownName { known, .. } => {
            return Some(format!("there are {}", known.join(", ")));
        }
        RegistryError::NotInstalled { name, in_catalogue: true } => {
            return Some(format!("`inglenook model pull {name}` downloads it"));
        }
        RegistryError::NotInstalled { .. } => "`inglenook model list` shows what there is",
        RegistryError::BadName { .. } => "choose another with --name",
        RegistryError::NameTaken { name } => {
            return Some(format!(
                "choose another with --name, or first `inglenook model remove {name}`"
            ));
        }
        RegistryError::NotAModel { .. } => {
            "give a GGUF file, a folder with config.json, tokenizer.json and *.safetensors, or a \
             wheel or zip that contains one"
        }
        RegistryError::Refused { source, .. } => return model_hint(source),
        RegistryError::Archive { .. } => "get the archive again, from a place that you trust",
        RegistryError::HashMismatch { .. } => {
            "nothing of it was kept. Try again later; if it repeats, don't trust that source"
        }
        RegistryError::Io { source, .. } => return io_hint(source),
        RegistryError::Manifest { path, .. } => {
            return Some(format!(
                "move {path} away: models in the Hugging Face cache are found again, others are \
                 imported again"
            ));
        }
        RegistryError::InstalledAs { name, .. } => {
            return Some(format!("`inglenook model use {name}` uses it from now on"));
        }
        RegistryError::LinkGone { name, .. } => {
            return Some(format!(
                "if it was moved: `inglenook model remove {name}`, then `inglenook model scan`, or \
                 `inglenook model import --link PATH`"
            ));
        }
        RegistryError::LinkChanged { name, .. } => {
            return Some(format!(
                "`inglenook model verify {name}` reads it: if its content is what it was, it is used again. If it is \
                 another model: `inglenook model remove {name}`, then link it again"
            ));
        }
        RegistryError::NotFound { found, .. } if found.is_empty() => {
            "no model that runs here was found"
        }
        RegistryError::NotFound { found, .. } => {
            return Some(format!("there are {}", found.join(", ")));
        }
        RegistryError::BuiltIn => "`inglenook model use NAME` chooses another",
        RegistryError::NotOurs { path, .. } => {
            return Some(format!("delete it there, if nothing else needs it: {path}"));
        }
        RegistryError::Offline { .. } => "unset HF_HUB_OFFLINE to allow this download",
        RegistryError::NoHub => {
            "fetch the file elsewhere and use `inglenook model import PATH`, or build with the \
             feature `hub`"
        }
        RegistryError::Stopped => "what has come is kept: the next try goes on there",
        RegistryError::BadRepository { .. } => {
            "write it as OWNER/REPO, OWNER/REPO:Q4_K_M or OWNER/REPO:FILE.gguf"
        }
        RegistryError::NoRepository { has_token: true, .. } => {
            "check its name, and whether your token may see it"
        }
        RegistryError::NoRepository { .. } => {
            "check its name; if it is private, let HF_TOKEN hold a token that may read it"
        }
        RegistryError::Gated { repo, endpoint, has_token } => {
            let then = if *has_token { "the token's owner" } else { "you, with HF_TOKEN set," };
            return Some(format!(
                "accept them at {}/{repo}; after that {then} can pull it",
                endpoint.trim_end_matches('/')
            ));
        }
        RegistryError::NoFile { .. } => {
            "it may have been renamed there: `inglenook model pull OWNER/REPO` looks what there is"
        }
        RegistryError::NothingToRun { there, .. } if there.is_empty() => {
            "look for a GGUF of it: others often publish one"
        }
        RegistryError::NothingToRun { repo, there, .. } => {
            return Some(format!("name one of {} as `{repo}:NAME`", there.join(", ")));
        }
        RegistryError::Fetch { .. } => {
            "check the connection and run the same command again: it goes on where it stopped"
        }
    };
    Some(hint.to_owned())
}

/// The text, without colours.
pub(super) fn text_of(failure: &Failure) -> String {
    described(failure, failure.hint().as_deref())
}

/// What failed, its causes and the remedy, on lines of their own.
fn described(failure: &dyn std::error::Error, hint: Option<&str>) -> String {
    let mut text = error_messages(failure).join("\n  caused by: ");
    if let Some(hint) = hint {
        let _ = write!(text, "\nhint: {hint}");
    }
    text
}

/// Prints the failure on stderr; the result is the program's exit code.
pub fn report(failure: &Failure) -> ExitCode {
    if !matches!(failure, Failure::BrokenPipe) {
        print_error(failure, failure.hint().as_deref());
    }
    ExitCode::from(failure.exit_code())
}

/// Prints what failed, its causes and the remedy on stderr.
pub fn print_error(failure: &dyn std::error::Error, hint: Option<&str>) {
    let colours = std::io::stderr().is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    let label = if colours { "\u{1b}[1;31merror:\u{1b}[0m" } else { "error:" };
    let text = described(failure, hint);
    let _ = writeln!(std::io::stderr().lock(), "{label} {}", plain_text(&text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_names_the_failure_its_causes_and_the_remedy() {
        let failure = Failure::Registry(RegistryError::Refused {
            path: "/m/x.gguf".into(),
            source: ModelError::BadFile {
                path: "/m/x.gguf".into(),
                reason: "it is cut off".into(),
            },
        });
        let text = text_of(&failure);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "/m/x.gguf was refused");
        assert_eq!(lines[1], "  caused by: cannot use the model file /m/x.gguf: it is cut off");
        assert!(lines[2].starts_with("hint: the file is damaged"), "{text}");
    }
}
