//! The secret service of a desktop (GNOME Keyring, KWallet, KeePassXC), by D-Bus.
//!
//! D-Bus is a socket on this machine. Its library would also speak TCP, or start a bus, if a variable said so; before it
//! is called, [`check_bus`] refuses both, so nothing here uses a network.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use dbus_secret_service::{EncryptionType, Error, Item, SecretService};
use zeroize::Zeroizing;

use super::{Entry, KeyringError, Result};

/// For a few calls; the library gives each two seconds.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// Somebody types the keyring's password.
const PROMPT_SECONDS: u64 = 60;
pub const PATIENCE_FOR_PERSON: Duration = Duration::from_secs(PROMPT_SECONDS + 10);

pub fn get(entry: &Entry) -> Result<Option<Zeroizing<Vec<u8>>>> {
    let service = connect(0)?;
    let found = service.search_items(attributes(entry))?;
    match found.unlocked.first() {
        Some(item) => Ok(Some(Zeroizing::new(item.get_secret()?))),
        None if found.locked.is_empty() => Ok(None),
        None => Err(KeyringError::Locked),
    }
}

pub fn set(entry: &Entry, secret: &[u8]) -> Result<()> {
    const TYPE: &str = "text/plain";
    let service = connect(PROMPT_SECONDS)?;
    // Where somebody moved it to another collection, it stays there.
    if let Some(item) = items(&service, entry)?.first() {
        item.ensure_unlocked()?;
        return Ok(item.set_secret(secret, TYPE)?);
    }
    let collection = service.get_default_collection()?;
    collection.ensure_unlocked()?;
    let label = format!("{}: {}", entry.service, entry.account);
    collection.create_item(&label, attributes(entry), secret, true, TYPE)?;
    Ok(())
}

pub fn remove(entry: &Entry) -> Result<bool> {
    let service = connect(PROMPT_SECONDS)?;
    let items = items(&service, entry)?;
    for item in &items {
        item.ensure_unlocked()?;
        item.delete()?;
    }
    Ok(!items.is_empty())
}

/// `prompt_seconds`: how long the service may ask the person to unlock something; 0: it must not.
fn connect(prompt_seconds: u64) -> Result<SecretService> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let has_socket =
        variable("XDG_RUNTIME_DIR").is_some_and(|dir| Path::new(&dir).join("bus").exists());
    check_bus(variable("DBUS_SESSION_BUS_ADDRESS").as_deref(), has_socket)
        .map_err(|why| KeyringError::Unusable { why: why.into() })?;
    // Encrypted: what the bus passes on may be swapped out.
    Ok(SecretService::connect_with_max_prompt_timeout(EncryptionType::Dh, prompt_seconds)?)
}

/// Whether the session has a bus, and it is a socket: the one that the variable names, or that of the systemd session.
fn check_bus(address: Option<&OsStr>, has_socket: bool) -> std::result::Result<(), &'static str> {
    let Some(address) = address else {
        return has_socket.then_some(()).ok_or("this session has no D-Bus");
    };
    let is_socket =
        address.to_str().is_some_and(|all| all.split(';').all(|one| one.starts_with("unix:")));
    is_socket.then_some(()).ok_or("DBUS_SESSION_BUS_ADDRESS names something else than unix sockets")
}

/// As the `keyring` crates write them, so that other programs find the entry.
fn attributes(entry: &Entry) -> HashMap<&str, &str> {
    HashMap::from([("service", entry.service), ("username", &entry.account)])
}

fn items<'a>(service: &'a SecretService, entry: &Entry) -> Result<Vec<Item<'a>>> {
    let found = service.search_items(attributes(entry))?;
    Ok(found.unlocked.into_iter().chain(found.locked).collect())
}

impl From<Error> for KeyringError {
    fn from(error: Error) -> Self {
        let why = match error {
            Error::Locked | Error::Prompt => return Self::Locked,
            Error::NoResult => "it is not set up yet".into(),
            Error::Unavailable => "no keyring runs in this session".into(),
            Error::Dbus(e) => match e.name() {
                Some(
                    "org.freedesktop.DBus.Error.ServiceUnknown"
                    | "org.freedesktop.DBus.Error.NameHasNoOwner",
                ) => "no keyring runs in this session".into(),
                Some(
                    "org.freedesktop.DBus.Error.NoReply" | "org.freedesktop.DBus.Error.Timeout",
                ) => return Self::Silent,
                _ => e.message().unwrap_or("D-Bus gives no reason").into(),
            },
            other => other.to_string(),
        };
        Self::Unusable { why }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_socket_on_this_machine_is_a_bus() {
        let check = |address: &str| check_bus(Some(OsStr::new(address)), true).is_ok();
        assert!(check("unix:path=/run/user/1000/bus"));
        assert!(check("unix:abstract=/tmp/a,guid=1;unix:path=/b"));
        for other in [
            "tcp:host=example.org,port=1",
            "unix:path=/a;tcp:host=example.org,port=1",
            "unixexec:path=/bin/sh",
            "autolaunch:",
            "nonce-tcp:host=example.org",
        ] {
            assert!(!check(other), "{other}");
        }
        assert!(check_bus(None, true).is_ok() && check_bus(None, false).is_err());
    }
}
