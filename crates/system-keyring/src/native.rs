//! The Keychain of macOS and the Credential Manager of Windows. They ask the person by themselves where they have to.

use std::sync::Arc;
use std::time::Duration;

#[cfg(all(target_os = "macos", not(test)))]
use apple_native_keyring_store::keychain::Store;
use keyring_core::Error;
use keyring_core::api::CredentialStoreApi as _;
#[cfg(test)]
use keyring_core::mock::Store;
#[cfg(all(windows, not(test)))]
use windows_native_keyring_store::Store;
use zeroize::Zeroizing;

use super::{Entry, KeyringError, Result};

/// The Keychain asks whether this program may read the entry.
pub const PATIENCE: Duration = Duration::from_mins(1);
pub const PATIENCE_FOR_PERSON: Duration = PATIENCE;

pub fn get(entry: &Entry) -> Result<Option<Zeroizing<Vec<u8>>>> {
    match credential(entry)?.get_secret() {
        Ok(bytes) => Ok(Some(Zeroizing::new(bytes))),
        Err(Error::NoEntry) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

pub fn set(entry: &Entry, secret: &[u8]) -> Result<()> {
    Ok(credential(entry)?.set_secret(secret)?)
}

pub fn remove(entry: &Entry) -> Result<bool> {
    match credential(entry)?.delete_credential() {
        Ok(()) => Ok(true),
        Err(Error::NoEntry) => Ok(false),
        Err(e) => Err(e.into()),
    }
}

fn credential(entry: &Entry) -> Result<keyring_core::Entry> {
    Ok(store()?.build(entry.service, &entry.account, None)?)
}

#[cfg(not(test))]
fn store() -> Result<Arc<Store>> {
    Ok(Store::new()?)
}

/// Its entries live as long as it does.
#[cfg(test)]
fn store() -> Result<Arc<Store>> {
    static STORE: std::sync::OnceLock<Arc<Store>> = std::sync::OnceLock::new();
    let store = Store::new()?;
    Ok(Arc::clone(STORE.get_or_init(|| store)))
}

impl From<Error> for KeyringError {
    fn from(error: Error) -> Self {
        match error {
            Error::NoStorageAccess(_) => Self::Locked,
            other => Self::Unusable { why: other.to_string() },
        }
    }
}
