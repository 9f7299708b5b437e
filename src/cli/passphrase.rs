//! The passphrase of an encrypted memory: from a file, from the system's keyring, or asked for on the terminal.

use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::{MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use system_keyring::{Entry, KeyringError};
use zeroize::Zeroize as _;

use super::App;
use super::args;
use super::backup::described;
use super::interrupt;
use super::output::counted;
use super::report::{Failure, Outcome, done};
use crate::store::{self, Secret, StoreError};

/// Names a file whose first line is the passphrase.
const FILE: &str = "INGLENOOK_PASSPHRASE_FILE";
/// For `rekey`: the new one.
const NEW_FILE: &str = "INGLENOOK_NEW_PASSPHRASE_FILE";
/// After a wrong one.
const DELAY: Duration = Duration::from_secs(2);
/// How often somebody at the terminal is asked.
const N_TRIES: usize = 3;
/// Bytes; what is longer is no passphrase.
const LENGTH_MAX: u64 = 1024;
/// Characters; a shorter one is remarked on.
const LENGTH_FAIR: usize = 12;
const KEYRING_STORE: &str = "`inglenook memory keyring store` puts the right one there";
const KEYRING_FORGET: &str = "`inglenook memory keyring forget` takes it out";

/// What opened the memory, if it is encrypted.
#[derive(Debug, Default, Clone)]
pub struct Key {
    secret: Option<Secret>,
    is_from_keyring: bool,
    /// Once: neither is a wrong entry tried again, nor does a chat that locked itself open by itself.
    was_keyring_asked: bool,
    /// There is nobody to ask, and nowhere to look.
    is_nobodys: bool,
}

impl Key {
    /// For a memory whose passphrase is not this process's to know.
    #[cfg(feature = "server")]
    pub fn of_nobody() -> Self {
        Self { is_nobodys: true, ..Self::default() }
    }
}

fn named(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// The first line of the file that a variable names; `None` if it is not set.
fn from_file(app: &App, variable: &str) -> Result<Option<Secret>, Failure> {
    let Some(path) = named(variable) else { return Ok(None) };
    let path: &Path = &path;
    let unreadable = |source| Failure::Unreadable { path: path.display().to_string(), source };
    let file = std::fs::File::open(path).map_err(unreadable)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        if file.metadata().map_err(unreadable)?.permissions().mode() & 0o077 != 0 {
            app.console.warn(&format!("others can read {}: `chmod 600` it", path.display()));
        }
    }
    let mut bytes = Vec::with_capacity(LENGTH_MAX as usize);
    file.take(LENGTH_MAX).read_to_end(&mut bytes).map_err(unreadable)?;
    let end = bytes.iter().position(|b| matches!(b, b'\n' | b'\r')).unwrap_or(bytes.len());
    bytes[end..].zeroize();
    bytes.truncate(end);
    let secret = Secret::new(bytes);
    if secret.is_empty() {
        return Err(Failure::Usage {
            what: format!("the first line of {} is empty", path.display()),
            hint: "it should be the passphrase".into(),
        });
    }
    Ok(Some(secret))
}

/// Reads a line of which nothing is shown.
fn prompt(question: &str) -> Result<Secret, Failure> {
    let unreadable =
        |source| Failure::File { action: "read", path: "the passphrase".into(), source };
    let mut typed: Vec<u8> = Vec::with_capacity(LENGTH_MAX as usize);
    let done = ask(question, &mut typed);
    let secret = Secret::new(typed);
    if done.map_err(unreadable)? { Ok(secret) } else { Err(Failure::Interrupted) }
}

/// Returns whether it was ended with Enter.
fn ask(question: &str, typed: &mut Vec<u8>) -> io::Result<bool> {
    write!(io::stderr(), "{question}")?;
    enable_raw_mode()?;
    let watched = interrupt::end_by_signals();
    let read = read_line(typed);
    drop(watched);
    disable_raw_mode()?;
    writeln!(io::stderr())?;
    read
}

fn read_line(typed: &mut Vec<u8>) -> io::Result<bool> {
    loop {
        let Event::Key(key) = event::read()? else { continue };
        if key.kind == KeyEventKind::Release {
            continue;
        }
        match (key.code, key.modifiers.contains(KeyModifiers::CONTROL)) {
            (KeyCode::Enter, _) | (KeyCode::Char('m' | 'j'), true) => return Ok(true),
            (KeyCode::Char('c' | 'd'), true) | (KeyCode::Esc, _) => return Ok(false),
            (KeyCode::Char('u'), true) => typed.clear(),
            (KeyCode::Backspace, _) => {
                let last =
                    std::str::from_utf8(typed).ok().and_then(|t| t.char_indices().next_back());
                typed.truncate(last.map_or(0, |(at, _)| at));
            }
            (KeyCode::Char(c), false) if typed.len() + c.len_utf8() <= LENGTH_MAX as usize => {
                typed.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
            _ => {}
        }
    }
}

fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// A passphrase to encrypt something with, asked for twice.
fn new(app: &App, variable: &str, of: &str) -> Result<Secret, Failure> {
    if let Some(secret) = from_file(app, variable)? {
        return Ok(secret);
    }
    if !can_ask() {
        return Err(Failure::Usage {
            what: "this needs a new passphrase, and there is nobody to ask".into(),
            hint: format!("let {variable} name a file whose first line it is"),
        });
    }
    app.console.note(&format!(
        "Without the passphrase nobody can read {of} any more, you included. Write it down."
    ));
    let secret = prompt("New passphrase: ")?;
    if secret.is_empty() || secret != prompt("Once more: ")? {
        return Err(Failure::Usage {
            what: "that was not twice the same passphrase".into(),
            hint: "nothing was changed: try again".into(),
        });
    }
    if secret.len() < LENGTH_FAIR {
        app.console.warn("a short passphrase can be guessed: a few words are better");
    }
    Ok(secret)
}

/// For a backup that is encrypted on its own.
pub fn for_backup(app: &App) -> Result<Secret, Failure> {
    new(app, FILE, "the backup")
}

impl App {
    pub(super) fn key(&self) -> MutexGuard<'_, Key> {
        self.key.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How long a chat with an encrypted memory stays open while nobody presses a key. Where a file or the keyring gave the
    /// passphrase, locking would keep nobody out.
    pub(super) fn lock_after(&self) -> Option<Duration> {
        let key = self.key();
        let was_typed = key.secret.is_some() && named(FILE).is_none() && !key.is_from_keyring;
        let seconds = 60.0 * self.config.lock_minutes;
        (was_typed && seconds > 0.0).then(|| Duration::from_secs_f64(seconds))
    }

    /// Wipes the passphrase.
    pub(super) fn lock(&self) {
        self.key().secret = None;
    }

    /// What the keyring has for this memory. One that can't be asked is remarked on.
    fn ask_keyring(&self, key: &mut Key) -> Option<Secret> {
        if named(FILE).is_some() || mem::replace(&mut key.was_keyring_asked, true) {
            return None;
        }
        let found = in_keyring(&self.dirs.data).unwrap_or_else(|error| {
            if !matches!(error, KeyringError::NotBuilt) {
                self.console.note(&format!("{error}, so the passphrase is not taken from it"));
            }
            None
        });
        key.is_from_keyring = found.is_some();
        found
    }

    /// Runs `open` with the passphrase, once one is wanted.
    pub(super) fn unlocked<T>(
        &self,
        open: impl Fn(Option<&Secret>) -> Result<T, StoreError>,
    ) -> Result<T, Failure> {
        let mut key = self.key();
        let mut asked = 0;
        loop {
            let error = match open(key.secret.as_ref()) {
                Ok(opened) => return Ok(opened),
                Err(error) => error,
            };
            let is_wrong = matches!(error, StoreError::WrongPassphrase { .. });
            let is_from_keyring = mem::take(&mut key.is_from_keyring);
            if is_wrong {
                key.secret = None;
                thread::sleep(DELAY);
                if is_from_keyring {
                    self.console.warn(&format!(
                        "{error}, though the keyring has it: {KEYRING_STORE}, {KEYRING_FORGET}"
                    ));
                }
            } else if key.is_nobodys || !matches!(error, StoreError::NeedsPassphrase { .. }) {
                return Err(error.into());
            }
            let given = if is_wrong { None } else { from_file(self, FILE)? };
            key.secret = match given.or_else(|| self.ask_keyring(&mut key)) {
                Some(given) => Some(given),
                None if can_ask() && asked < N_TRIES && named(FILE).is_none() => {
                    asked += 1;
                    if is_wrong && !is_from_keyring {
                        self.console.warn(&error.to_string());
                    }
                    Some(prompt("Passphrase: ")?)
                }
                None => return Err(error.into()),
            };
        }
    }
}

/// `memory encrypt | decrypt | rekey`.
pub fn change(app: &App, to: args::Encryption) -> Outcome {
    let data = &app.dirs.data;
    store::end_replacing(data, app.wait)?;
    let mut now_needs = None;
    let says = match (to, store::is_encrypted(data)?) {
        (args::Encryption::Encrypt, true) => {
            return Err(Failure::Usage {
                what: "the memory is encrypted already".into(),
                hint: "`inglenook memory rekey` changes the passphrase".into(),
            });
        }
        (args::Encryption::Decrypt | args::Encryption::Rekey, false) => {
            return Err(not_encrypted());
        }
        (args::Encryption::Encrypt, false) => {
            // One that does not exist yet begins encrypted.
            let new = new(app, FILE, "the memory")?;
            let copied = store::encrypt(data, None, Some(&new), app.wait)?;
            now_needs = Some(new);
            format!("Encrypted: {}.", described(&copied))
        }
        (args::Encryption::Rekey, true) => {
            app.unlocked(|key| {
                store::is_encrypted(data).and_then(|_| store::Store::open_read_only_with(data, key))
            })?;
            let new = new(app, NEW_FILE, "the memory")?;
            let copied = app.unlocked(|key| store::encrypt(data, key, Some(&new), app.wait))?;
            now_needs = Some(new);
            format!("Encrypted anew: {}.", described(&copied))
        }
        (args::Encryption::Decrypt, true) => {
            let copied = app.unlocked(|key| store::encrypt(data, key, None, app.wait))?;
            format!("Decrypted: {}. Whoever can read the disk can read it.", described(&copied))
        }
    };
    app.console.line(&says)?;
    update_keyring(app, now_needs.as_ref());
    if to != args::Encryption::Decrypt {
        let mut n_plain = 0;
        for backup in store::backups(data)? {
            n_plain += usize::from(!store::is_encrypted_file(&backup).unwrap_or(true));
        }
        if n_plain > 0 {
            let backups = counted(n_plain, "backup");
            app.console
                .warn(&format!("{backups} beside the memory can be read without it: delete them"));
        }
    }
    done()
}

/// The keyring's entry for the memory in `data`: by the folder's one name, where it is there.
fn entry(data: &Path) -> Entry {
    let path = data.canonicalize().or_else(|_| std::path::absolute(data));
    let account = path.as_deref().unwrap_or(data).display().to_string();
    Entry { service: "inglenook", account }
}

fn in_keyring(data: &Path) -> Result<Option<Secret>, KeyringError> {
    let found = entry(data).get()?;
    Ok(found.map(|mut bytes| Secret::new(mem::take(&mut *bytes))))
}

fn not_encrypted() -> Failure {
    Failure::Usage {
        what: "the memory is not encrypted".into(),
        hint: "`inglenook memory encrypt` encrypts it".into(),
    }
}

/// An entry that the keyring has for this memory follows its passphrase.
fn update_keyring(app: &App, secret: Option<&Secret>) {
    let data = &app.dirs.data;
    let updated = in_keyring(data).and_then(|had| match (had, secret) {
        (None, _) => Ok(None),
        (Some(_), Some(secret)) => {
            entry(data).set(secret.as_bytes()).map(|()| Some("has the new one"))
        }
        (Some(_), None) => entry(data).remove().map(|_| Some("has no passphrase of it any more")),
    });
    match updated {
        Ok(Some(says)) => app.console.note(&format!("The keyring {says}.")),
        Ok(None) | Err(KeyringError::NotBuilt) => {}
        Err(error) => {
            let remedy = if secret.is_some() { KEYRING_STORE } else { KEYRING_FORGET };
            app.console.note(&format!("{error}. If it has the passphrase from before: {remedy}"));
        }
    }
}

/// `memory keyring store | forget`.
pub fn keep(app: &App, to: args::Keyring) -> Outcome {
    let data = &app.dirs.data;
    if matches!(to, args::Keyring::Forget) {
        app.console.line(if entry(data).remove()? {
            "The keyring has no passphrase of this memory any more."
        } else {
            "The keyring has no passphrase of this memory."
        })?;
        return done();
    }
    if !store::is_encrypted(data)? {
        return Err(not_encrypted());
    }
    // Before anybody types it in vain. A locked one can be unlocked when it is written to.
    match in_keyring(data) {
        Ok(_) | Err(KeyringError::Locked) => {}
        Err(error) => return Err(error.into()),
    }
    app.key().was_keyring_asked = true;
    app.open_read_only()?;
    let secret = app.key().secret.clone().ok_or_else(not_encrypted)?;
    entry(data).set(secret.as_bytes())?;
    app.console.line(
        "The keyring has the passphrase: it is not asked for while the keyring is unlocked.",
    )?;
    app.console.note(
        "Whoever sits at your unlocked session can read the memory: a chat no longer locks itself.",
    );
    done()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_entry_however_it_is_reached() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        assert_eq!(entry(&data).account, data.display().to_string());
        std::fs::create_dir(&data).unwrap();
        let canonical = data.canonicalize().unwrap().display().to_string();
        assert_eq!(entry(&data.join("../data/.")).account, canonical);
    }
}
