//! sqlite-vec, the C extension that compares vectors, made known to SQLite.

use std::sync::LazyLock;

use rusqlite::auto_extension::{RawAutoExtension, register_auto_extension};

use super::error::{Result, StoreError};

static IS_REGISTERED: LazyLock<bool> = LazyLock::new(register);

/// To be called before a connection is opened: SQLite runs the extension's entry point for every
/// connection from then on. Cheap after the first call, and safe from any thread.
///
/// # Errors
/// If SQLite has no memory for it.
pub(super) fn load() -> Result<()> {
    if *IS_REGISTERED {
        return Ok(());
    }
    Err(StoreError::Sqlite {
        action: "search",
        source: "sqlite-vec could not be registered with SQLite".into(),
    })
}

#[expect(unsafe_code, reason = "SQLite takes an extension's entry point as a C function pointer")]
fn register() -> bool {
    // Before anything else is asked of SQLite. Where the system refuses, the program works as well.
    let _ = encrypted_sqlite::lock_keys();
    // SAFETY: the crate declares `sqlite3_vec_init` without parameters, but sqlite-vec.c defines it with
    // the signature of `RawAutoExtension`, and both are pointers to a function. It opens and closes no
    // connection and leaves the list of extensions alone.
    unsafe {
        let init = sqlite_vec::sqlite3_vec_init as *const ();
        register_auto_extension(std::mem::transmute::<*const (), RawAutoExtension>(init)).is_ok()
    }
}
