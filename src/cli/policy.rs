//! What whoever answers for this machine allows: `/etc/inglenook/policy.toml`, and the file that `INGLENOOK_POLICY` names.
//!
//! Each of them can only forbid. The first must belong to root and be writable by nobody else; one that can't be read or
//! understood stops the program, because it may forbid what would be done.

use std::fs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::App;
use super::args::{Command, Memory, Model, Sync};
use super::backup::remark_on_backups;
use super::output::counted;
use super::report::Failure;
use crate::inference;
use crate::interfaces::ModelError;
use crate::memory::Moment;
use crate::registry::sha256_file;
use crate::store::{self, AnyId, Store};

const SYSTEM: &str = "/etc/inglenook/policy.toml";
const VARIABLE: &str = "INGLENOOK_POLICY";

/// The keys of the file; what is not in it is allowed.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Policy {
    /// Whether models may be downloaded.
    pull: Option<bool>,
    /// Whether what is remembered may be written to other files.
    export: Option<bool>,
    /// Whether other programs may use the memory, through `inglenook mcp` or `serve`; where `export` is forbidden, only if this says so.
    mcp: Option<bool>,
    /// Whether a chat may use the tools of other programs (`mcp.json`); where `export` is forbidden, only if this says so.
    tools: Option<bool>,
    /// Whether the memory may be shared with other devices (`inglenook sync`); where `export` is forbidden, only if this says so.
    sync: Option<bool>,
    /// Every chat and question is incognito.
    incognito: bool,
    /// The memory has to be encrypted.
    encryption: bool,
    /// SHA-256 of the model files that may be loaded, beside the built-in ones.
    models: Option<Vec<String>>,
    /// Messages older than this are forgotten when the memory is opened for writing.
    retention_days: Option<NonZeroU32>,
    /// Imports, exports, backups, agents' notes, calls of tools and forgettings are noted in `audit.jsonl` beside the memory, without their content.
    audit: bool,
}

impl Policy {
    /// The policy of this machine.
    ///
    /// # Errors
    /// If a file is there and can't be trusted, read or understood.
    pub fn of_machine() -> Result<Self, Failure> {
        let system = Path::new(SYSTEM);
        let mut policy = match fs::symlink_metadata(system) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Self::default(),
            _ => {
                of_root(system)?;
                Self::read(system)?
            }
        };
        if let Some(path) = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
            policy = policy.and(Self::read(&PathBuf::from(path))?);
        }
        Ok(policy)
    }

    fn read(path: &Path) -> Result<Self, Failure> {
        let text = fs::read_to_string(path).map_err(|e| refused(path, &e.to_string()))?;
        let mut policy: Self = toml::from_str(&text).map_err(|e| refused(path, e.message()))?;
        for hash in policy.models.iter_mut().flatten() {
            hash.make_ascii_lowercase();
        }
        Ok(policy)
    }

    /// What both allow.
    fn and(self, other: Self) -> Self {
        let both = |a: Option<bool>, b: Option<bool>| match (a, b) {
            (Some(a), Some(b)) => Some(a && b),
            _ => a.or(b),
        };
        let models = match (self.models, other.models) {
            (Some(a), Some(b)) => Some(a.into_iter().filter(|hash| b.contains(hash)).collect()),
            (a, b) => a.or(b),
        };
        Self {
            pull: both(self.pull, other.pull),
            export: both(self.export, other.export),
            mcp: both(self.mcp, other.mcp),
            tools: both(self.tools, other.tools),
            sync: both(self.sync, other.sync),
            incognito: self.incognito || other.incognito,
            encryption: self.encryption || other.encryption,
            models,
            retention_days: [self.retention_days, other.retention_days].into_iter().flatten().min(),
            audit: self.audit || other.audit,
        }
    }

    /// Whether chats are kept nowhere.
    pub fn is_incognito(&self) -> bool {
        self.incognito
    }

    /// Whether memory may be written to other files.
    pub fn exports(&self) -> bool {
        self.export != Some(false)
    }

    /// Whether other programs may use the memory.
    pub fn serves(&self) -> bool {
        self.mcp.unwrap_or_else(|| self.exports())
    }

    /// Whether a chat may use other programs' tools.
    pub fn tools(&self) -> bool {
        self.tools.unwrap_or_else(|| self.exports())
    }

    /// Whether the memory may be shared with other devices.
    pub fn syncs(&self) -> bool {
        self.sync.unwrap_or_else(|| self.exports())
    }

    /// # Errors
    /// If the command is forbidden.
    pub fn check(&self, command: &Command) -> Result<(), Failure> {
        let what = match command {
            Command::Model(Model::Pull { .. }) if self.pull == Some(false) => {
                "models can't be downloaded here"
            }
            Command::Export(_) | Command::Backup(_) if !self.exports() => {
                "what is remembered can't be written to other files here"
            }
            Command::Sync(Sync::Init { .. } | Sync::Now { .. }) => return self.check_sync(),
            Command::Mcp { .. } if !self.serves() => "other programs can't use the memory here",
            Command::Memory(Memory::Decrypt(_)) if self.encryption => {
                "the memory has to stay encrypted here"
            }
            _ => return Ok(()),
        };
        Err(Failure::Forbidden { what: what.into(), hint: String::new() })
    }

    /// # Errors
    /// If the memory can't be shared with other devices.
    pub fn check_sync(&self) -> Result<(), Failure> {
        if self.syncs() {
            return Ok(());
        }
        let what = "the memory can't be shared with other devices here".into();
        Err(Failure::Forbidden { what, hint: String::new() })
    }

    /// # Errors
    /// If the memory in `data` has to be encrypted and is not.
    pub fn check_memory(&self, data: &Path) -> Result<(), Failure> {
        if self.encryption && !store::is_encrypted(data)? {
            return Err(Failure::Forbidden {
                what: "the memory has to be encrypted here".into(),
                hint: "`inglenook memory encrypt` encrypts it, also before anything is remembered"
                    .into(),
            });
        }
        Ok(())
    }

    /// # Errors
    /// If the memory has to be encrypted and this backup is not.
    pub fn check_restored(&self, backup: &Path) -> Result<(), Failure> {
        if self.encryption && !store::is_encrypted_file(backup).unwrap_or(true) {
            return Err(Failure::Forbidden {
                what: "the memory has to be encrypted here, and this backup is not".into(),
                hint: "restore it where that is allowed, encrypt it, and make another backup"
                    .into(),
            });
        }
        Ok(())
    }

    /// Whether models may be downloaded.
    #[cfg(feature = "hub")]
    pub fn pulls(&self) -> bool {
        self.pull != Some(false)
    }

    /// # Errors
    /// If weights with this SHA-256 are none of those allowed.
    pub fn check_hash(&self, path: &str, hash: &str) -> Result<(), ModelError> {
        match &self.models {
            Some(allowed) if !allowed.iter().any(|a| a == hash) => {
                Err(ModelError::Forbidden { path: path.to_owned(), hash: hash.to_owned() })
            }
            _ => Ok(()),
        }
    }

    /// # Errors
    /// If the model at `path` can't be read, or a file of its weights is none of those allowed.
    pub fn check_model(&self, path: &Path) -> Result<(), ModelError> {
        if self.models.is_none() {
            return Ok(());
        }
        for file in inference::validate(path)?.files {
            let shown = file.display().to_string();
            let (hash, _) = sha256_file(&file)
                .map_err(|e| ModelError::BadFile { path: shown.clone(), reason: e.to_string() })?;
            self.check_hash(&shown, &hash)?;
        }
        Ok(())
    }
}

impl App {
    /// Forgets what the policy keeps no longer.
    ///
    /// # Errors
    /// If the memory can't be written.
    pub(super) fn retain(&self, store: &Store, now: Moment) -> Result<(), Failure> {
        let Some(days) = self.policy.retention_days else { return Ok(()) };
        let before = now.as_millisecond() - i64::from(days.get()) * 24 * 60 * 60 * 1000;
        let plan = store.read(|r| {
            let old: Vec<AnyId> =
                r.messages_before(before)?.into_iter().map(AnyId::Message).collect();
            if old.is_empty() { Ok(None) } else { r.plan_forget(&old, None).map(Some) }
        })?;
        let Some(plan) = plan else { return Ok(()) };
        store.write(|tx| tx.forget(&plan))?;
        let n = plan.messages.len();
        self.audit("retention", n);
        // Where somebody reads, it stays due.
        let _ = store.scrub();
        let (messages, backups) = (counted(n, "message"), remark_on_backups(&self.dirs.data)?);
        self.console.note(
            format!("Forgotten: {messages}, older than {days} days, as this machine's policy says. {backups}").trim_end(),
        );
        Ok(())
    }

    /// Notes that something was done with `n` messages, if the policy wants it noted.
    pub(super) fn audit(&self, what: &str, n: usize) {
        if let Some(file) = self.audit_file()
            && let Err(error) = store::audit(&file, what, n)
        {
            self.console.warn(&format!("{} can't be written: {error}", file.display()));
        }
    }

    /// Where that is noted.
    pub(super) fn audit_file(&self) -> Option<PathBuf> {
        self.policy.audit.then(|| self.dirs.data.join("audit.jsonl"))
    }
}

fn refused(path: &Path, why: &str) -> Failure {
    Failure::Forbidden {
        what: format!("the policy {} can't be followed: {why}", path.display()),
        hint: "whoever administers this machine has to mend it; until then nothing is done".into(),
    }
}

/// # Errors
/// If somebody other than root could have written the file.
fn of_root(path: &Path) -> Result<(), Failure> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        for part in [path.parent().unwrap_or(path), path] {
            let found = fs::symlink_metadata(part).map_err(|source| Failure::Unreadable {
                path: part.display().to_string(),
                source,
            })?;
            if found.uid() != 0 || found.mode() & 0o022 != 0 || found.is_symlink() {
                return Err(refused(path, "only root may be able to write it"));
            }
        }
    }
    Ok(())
}

/// The command's name in the audit, if it is noted.
pub fn audited(command: &Command) -> Option<&'static str> {
    Some(match command {
        Command::Backup(_) => "backup",
        Command::Restore(_) => "restore",
        Command::Sync(Sync::Init { .. }) => "sync init",
        Command::Sync(Sync::Now { .. }) => "sync",
        Command::Sync(Sync::Remove { .. }) => "sync remove",
        Command::Memory(Memory::Repair(_)) => "repair",
        Command::Memory(Memory::Encrypt(_)) => "encrypt",
        Command::Memory(Memory::Decrypt(_)) => "decrypt",
        Command::Memory(Memory::Rekey(_)) => "rekey",
        Command::Model(Model::Pull { .. }) => "pull",
        Command::Model(Model::Import { .. } | Model::Scan { link: Some(_), .. }) => "model import",
        Command::Model(Model::Remove { .. }) => "model remove",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_policies_the_stricter_holds() {
        let of = |text: &str| toml::from_str::<Policy>(text).unwrap();
        let both = of("pull = true\nmodels = ['a', 'b']\nretention_days = 90")
            .and(of("pull = false\nmodels = ['b', 'c']\nretention_days = 30\naudit = true"));
        assert_eq!(both, of("pull = false\nmodels = ['b']\nretention_days = 30\naudit = true"));
        assert_eq!(of("").and(of("incognito = true")), of("incognito = true"));
        assert!(toml::from_str::<Policy>("exports = false").is_err(), "a slip forbids nothing");
    }

    #[cfg(unix)]
    #[test]
    fn a_policy_that_others_can_write_is_none() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("policy.toml");
        fs::write(&file, "pull = false").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(of_root(&file).is_err());
        std::os::unix::fs::symlink("/etc/hostname", dir.path().join("link")).unwrap();
        assert!(of_root(&dir.path().join("link")).is_err());
    }
}
