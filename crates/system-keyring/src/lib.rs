//! One secret in the system's keyring: the secret service of Linux desktops, the Keychain of macOS, the Credential Manager
//! of Windows.
//!
//! A keyring that is absent, locked or silent is an error after a moment, never a wait without end. Without the feature
//! `system` there is none at all, and nothing of it is compiled.

#[cfg_attr(
    all(feature = "system", not(any(target_os = "macos", windows))),
    path = "secret_service.rs"
)]
#[cfg_attr(all(feature = "system", any(target_os = "macos", windows)), path = "native.rs")]
#[cfg_attr(not(feature = "system"), path = "none.rs")]
mod system;

/// As macOS and Windows have it, on the library's mock.
#[cfg(all(test, not(any(target_os = "macos", windows))))]
#[expect(dead_code, reason = "the mock keeps nobody waiting")]
mod native;

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use thiserror::Error;
use zeroize::Zeroizing;

/// Why the keyring could not be asked.
#[derive(Debug, Error)]
pub enum KeyringError {
    /// Compiled without the feature `system`.
    #[error("this build cannot use the system's keyring")]
    NotBuilt,
    /// And was not unlocked when the system asked the person for it.
    #[error("the keyring is locked")]
    Locked,
    /// Nothing came in time.
    #[error("the keyring does not answer")]
    Silent,
    /// None is there, or it refuses.
    #[error("no keyring can be used: {why}")]
    Unusable {
        /// As the system says it.
        why: String,
    },
}

/// What a call comes to.
pub type Result<T> = std::result::Result<T, KeyringError>;

/// The name of a secret. It need not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The program.
    pub service: &'static str,
    /// What of the program it belongs to.
    pub account: String,
}

impl Entry {
    /// The secret, if there is one. A locked keyring is not unlocked for it, where that can be had.
    ///
    /// # Errors
    /// If the keyring cannot be asked.
    pub fn get(&self) -> Result<Option<Zeroizing<Vec<u8>>>> {
        let entry = self.clone();
        within(system::PATIENCE, move || system::get(&entry))
    }

    /// Writes the secret. The system may ask the person to unlock the keyring.
    ///
    /// # Errors
    /// If the keyring cannot be written to.
    pub fn set(&self, secret: &[u8]) -> Result<()> {
        let (entry, secret) = (self.clone(), Zeroizing::new(secret.to_vec()));
        within(system::PATIENCE_FOR_PERSON, move || system::set(&entry, &secret))
    }

    /// Removes the secret; the result is whether there was one. The system may ask the person to unlock the keyring.
    ///
    /// # Errors
    /// If the keyring cannot be written to.
    pub fn remove(&self) -> Result<bool> {
        let entry = self.clone();
        within(system::PATIENCE_FOR_PERSON, move || system::remove(&entry))
    }
}

/// The answer, if it comes in time. What hangs is left behind, in a thread that ends with the program.
fn within<T: Send + 'static>(
    patience: Duration,
    ask: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let (sender, answer) = mpsc::channel();
    thread::spawn(move || sender.send(ask()));
    answer.recv_timeout(patience).unwrap_or(Err(KeyringError::Silent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hangs_is_not_waited_for() {
        let (_held, forever) = mpsc::channel::<()>();
        let asked = within(Duration::from_millis(50), move || {
            let _ = forever.recv();
            Ok(())
        });
        assert!(matches!(asked, Err(KeyringError::Silent)));
        assert_eq!(within(Duration::from_secs(10), || Ok(7)).unwrap(), 7);
    }

    #[test]
    #[cfg(not(any(target_os = "macos", windows)))]
    fn what_is_stored_is_found_replaced_and_removed() {
        let entry = Entry { service: "a-test", account: "somebody".into() };
        let found = || native::get(&entry).unwrap().map(|secret| secret.to_vec());
        assert_eq!(found(), None);
        assert!(!native::remove(&entry).unwrap());
        for secret in [&b"first"[..], b"not utf-8: \xff"] {
            native::set(&entry, secret).unwrap();
            assert_eq!(found().as_deref(), Some(secret));
        }
        assert!(native::remove(&entry).unwrap());
        assert_eq!(found(), None);
    }

    #[test]
    #[cfg(not(feature = "system"))]
    fn without_the_feature_every_call_says_so() {
        let entry = Entry { service: "a-test", account: "nobody".into() };
        assert!(matches!(entry.get(), Err(KeyringError::NotBuilt)));
        assert!(matches!(entry.set(b"x"), Err(KeyringError::NotBuilt)));
        assert!(matches!(entry.remove(), Err(KeyringError::NotBuilt)));
    }
}
