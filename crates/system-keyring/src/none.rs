//! A build without a keyring.

use std::time::Duration;

use zeroize::Zeroizing;

use super::{Entry, KeyringError, Result};

pub const PATIENCE: Duration = Duration::from_secs(5);
pub const PATIENCE_FOR_PERSON: Duration = PATIENCE;

pub fn get(_: &Entry) -> Result<Option<Zeroizing<Vec<u8>>>> {
    Err(KeyringError::NotBuilt)
}

pub fn set(_: &Entry, _: &[u8]) -> Result<()> {
    Err(KeyringError::NotBuilt)
}

pub fn remove(_: &Entry) -> Result<bool> {
    Err(KeyringError::NotBuilt)
}
