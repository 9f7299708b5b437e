#![doc = include_str!("../README.md")]

mod locked;

use std::ffi::{c_int, c_void};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, ffi};
use zeroize::{Zeroize, Zeroizing};

use locked::keying;
pub use locked::lock_keys;

/// A passphrase: kept out of swap where the system allows it, wiped when the last clone is dropped, never shown.
#[derive(Clone)]
pub struct Secret(Arc<Bytes>);

struct Bytes(Box<[u8]>);

impl Secret {
    /// Takes the bytes over.
    pub fn new(mut bytes: Vec<u8>) -> Self {
        // Copied before it is wiped: shrinking would leave a copy behind.
        let own: Box<[u8]> = bytes.as_slice().into();
        bytes.zeroize();
        lock(&own);
        Self(Arc::new(Bytes(own)))
    }

    /// Whether it has no bytes: an empty passphrase is none.
    pub fn is_empty(&self) -> bool {
        self.0.0.is_empty()
    }

    /// For another keeper of secrets: what is copied from here is no longer wiped.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0.0
    }

    /// Bytes, not characters.
    pub fn len(&self) -> usize {
        self.0.0.len()
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.0.0 == other.0.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl Drop for Bytes {
    fn drop(&mut self) {
        // Its page stays locked: another secret may lie on it.
        self.0.zeroize();
    }
}

/// Where the system refuses (a limit on locked memory), the program works as well.
#[expect(unsafe_code, reason = "the system takes an address and a length")]
fn lock(bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    let address = bytes.as_ptr().cast_mut().cast::<c_void>();
    // SAFETY: the range is that of a living slice, and whether its pages may be swapped changes nothing that Rust knows of.
    let _ = unsafe { rustix::mm::mlock(address, bytes.len()) };
}

#[expect(unsafe_code, reason = "the library behind rusqlite has it, rusqlite does not know it")]
unsafe extern "C" {
    fn sqlite3_key(db: *mut ffi::sqlite3, key: *const c_void, length: c_int) -> c_int;
}

/// Gives a new connection the passphrase of its file, before anything is read. Whether it is the right one shows at the
/// first reading: `NotADatabase`.
///
/// # Errors
/// If the library cannot take it.
#[expect(unsafe_code, reason = "the library's C function")]
pub fn set_key(conn: &Connection, key: &Secret) -> rusqlite::Result<()> {
    let length = c_int::try_from(key.len()).unwrap_or(c_int::MAX);
    // SAFETY: the handle is that of an open connection, which the library guards by its own mutex, and it copies at most
    // `length` bytes of the living slice.
    let set = || unsafe { sqlite3_key(conn.handle(), key.0.0.as_ptr().cast(), length) };
    let code = keying(set);
    if code == ffi::SQLITE_OK {
        return Ok(());
    }
    Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None))
}

/// What a copy is encrypted with.
#[derive(Debug, Clone, Copy)]
pub enum Target<'a> {
    /// As the original, or not at all.
    Same,
    /// Another passphrase.
    Key(&'a Secret),
    /// None.
    Plain,
}

fn push_hex(to: &mut String, prefix: &str, bytes: &[u8]) {
    for byte in bytes {
        to.push_str(prefix);
        to.extend(
            [byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16).unwrap_or('0')),
        );
    }
}

/// Writes a compact copy of the database to a file that is new or empty.
///
/// # Errors
/// If the database cannot be read or the file not be written.
pub fn copy_into(conn: &Connection, to: &Path, target: Target<'_>) -> rusqlite::Result<()> {
    let absolute = std::path::absolute(to).unwrap_or_else(|_| to.to_path_buf());
    let mut uri = Zeroizing::new(String::from("file:"));
    // No buffer is left behind by growing.
    let n_key = if let Target::Key(key) = target { key.len() } else { 0 };
    uri.reserve(3 * absolute.as_os_str().len() + 2 * n_key + 16);
    push_hex(&mut uri, "%", absolute.as_os_str().as_encoded_bytes());
    match target {
        Target::Same => {}
        Target::Plain => uri.push_str("?key="),
        Target::Key(key) => {
            uri.push_str("?hexkey=");
            push_hex(&mut uri, "", &key.0.0);
        }
    }
    let written = keying(|| conn.execute("VACUUM INTO ?1", [uri.as_str()]));
    // The message may quote the URI, and with it the key.
    written.map(|_| ()).map_err(|e| match e {
        rusqlite::Error::SqliteFailure(code, _) => rusqlite::Error::SqliteFailure(code, None),
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use super::*;

    const SAID: &str = "the secret garden";

    /// One test at a time, each after keys are locked.
    pub(crate) fn alone() -> MutexGuard<'static, ()> {
        static ALONE: Mutex<()> = Mutex::new(());
        let guard = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(lock_keys(), "this system locks no pages");
        guard
    }

    fn secret(text: &str) -> Secret {
        Secret::new(text.as_bytes().to_vec())
    }

    fn open(path: &Path, key: Option<&Secret>) -> rusqlite::Result<String> {
        let conn = Connection::open(path)?;
        if let Some(key) = key {
            set_key(&conn, key)?;
        }
        conn.query_row("SELECT text FROM note", [], |row| row.get(0))
    }

    fn holds(path: &Path) -> bool {
        let bytes = std::fs::read(path).unwrap();
        bytes.windows(SAID.len()).any(|window| window == SAID.as_bytes())
    }

    #[test]
    fn copies_are_encrypted_as_asked() {
        let _alone = alone();
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let (a, b) = (secret("a b'c\u{1f511}"), secret("other"));
        let plain = Connection::open(path("plain")).unwrap();
        plain.execute_batch("CREATE TABLE note (text); PRAGMA user_version = 7;").unwrap();
        plain.execute("INSERT INTO note VALUES (?1)", [SAID]).unwrap();
        copy_into(&plain, &path("a"), Target::Key(&a)).unwrap();
        assert_eq!(open(&path("a"), Some(&a)).unwrap(), SAID);
        assert!(open(&path("a"), Some(&b)).is_err() && open(&path("a"), None).is_err());
        assert!(holds(&path("plain")) && !holds(&path("a")));

        let conn = Connection::open(path("a")).unwrap();
        set_key(&conn, &a).unwrap();
        let version: i64 = conn.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
        assert_eq!(version, 7);
        copy_into(&conn, &path("same"), Target::Same).unwrap();
        copy_into(&conn, &path("b"), Target::Key(&b)).unwrap();
        copy_into(&conn, &path("out"), Target::Plain).unwrap();
        assert_eq!(open(&path("same"), Some(&a)).unwrap(), SAID);
        assert_eq!(open(&path("b"), Some(&b)).unwrap(), SAID);
        assert_eq!(open(&path("out"), None).unwrap(), SAID);
        assert!(!holds(&path("same")) && !holds(&path("b")) && holds(&path("out")));
    }

    #[test]
    fn it_is_not_shown() {
        let _alone = alone();
        let conn = Connection::open_in_memory().unwrap();
        let key = secret("unmistakable");
        let long = format!("/tmp/{}", "x/".repeat(300));
        let error = copy_into(&conn, Path::new(&long), Target::Key(&key)).unwrap_err();
        let mut hex = String::new();
        push_hex(&mut hex, "", b"unmistakable");
        let told = format!("{error} {error:?}");
        assert!(!told.contains("unmistakable") && !told.contains(&hex), "{told}");
        assert_eq!(format!("{:?}", secret("pass")), "Secret(…)");
    }
}
