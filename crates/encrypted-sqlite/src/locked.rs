//! Where SQLite keeps keys: small pieces of locked pages, wiped when SQLite gives them back. All else comes from SQLite's
//! own allocator.

use std::cell::{Cell, UnsafeCell};
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::ffi;

/// Bytes of a piece. A cipher's state (key and salt) takes 76.
const SIZE: usize = 512;
/// A connection takes two, while it is open.
const N: usize = 64;

/// Less than the 64 KiB that an old system lets a program lock.
#[repr(align(4096))]
struct Pages(UnsafeCell<[[u8; SIZE]; N]>);

#[expect(unsafe_code, reason = "pieces are handed out")]
// SAFETY: a piece belongs to whoever set its bit in `USED`; nothing refers to the pages as a whole.
unsafe impl Sync for Pages {}

static PAGES: Pages = Pages(UnsafeCell::new([[0; SIZE]; N]));
/// A bit for each piece.
static USED: AtomicU64 = AtomicU64::new(0);
static SQLITE: OnceLock<Allocator> = OnceLock::new();

thread_local! {
    /// Whether SQLite is handling a key for this thread.
    static KEYING: Cell<bool> = const { Cell::new(false) };
}

/// SQLite's own.
struct Allocator {
    malloc: unsafe extern "C" fn(c_int) -> *mut c_void,
    free: unsafe extern "C" fn(*mut c_void),
    realloc: unsafe extern "C" fn(*mut c_void, c_int) -> *mut c_void,
    size: unsafe extern "C" fn(*mut c_void) -> c_int,
}

/// Has SQLite keep keys in locked pages. To be called before anything else is asked of SQLite; `false`, and nothing
/// changes, if that has happened or the system locks no pages.
pub fn lock_keys() -> bool {
    static IS_DONE: OnceLock<bool> = OnceLock::new();
    *IS_DONE.get_or_init(install)
}

#[expect(
    unsafe_code,
    reason = "SQLite takes an allocator as C functions, the system pages as an address"
)]
fn install() -> bool {
    let start = PAGES.0.get().cast::<c_void>();
    // SAFETY: the range is that of a static; locking it changes nothing that Rust knows of.
    if unsafe { rustix::mm::mlock(start, size_of::<Pages>()) }.is_err() {
        return false;
    }
    // SAFETY: for C, a structure of optional function pointers and a pointer may be all zeros.
    let mut methods: ffi::sqlite3_mem_methods = unsafe { std::mem::zeroed() };
    // SAFETY: the option takes a pointer to such a structure, and fills it.
    let got = unsafe { ffi::sqlite3_config(ffi::SQLITE_CONFIG_GETMALLOC, &raw mut methods) };
    let (Some(malloc), Some(free), Some(realloc), Some(size)) =
        (methods.xMalloc, methods.xFree, methods.xRealloc, methods.xSize)
    else {
        return false;
    };
    if got != ffi::SQLITE_OK || SQLITE.set(Allocator { malloc, free, realloc, size }).is_err() {
        return false;
    }
    methods.xMalloc = Some(allocate);
    methods.xFree = Some(give_back);
    methods.xRealloc = Some(resize);
    methods.xSize = Some(size_of_piece);
    // SAFETY: the option takes a pointer to such a structure and copies it. It refuses once SQLite is in use.
    unsafe { ffi::sqlite3_config(ffi::SQLITE_CONFIG_MALLOC, &raw const methods) == ffi::SQLITE_OK }
}

/// Runs `f`; what SQLite allocates meanwhile, if it is small, lies in locked pages.
pub(crate) fn keying<T>(f: impl FnOnce() -> T) -> T {
    struct Reset(bool);
    impl Drop for Reset {
        fn drop(&mut self) {
            KEYING.set(self.0);
        }
    }
    let _reset = Reset(KEYING.replace(true));
    f()
}

/// The index of the piece that an address begins.
fn piece(of: *const c_void) -> Option<usize> {
    let offset = of.addr().checked_sub(PAGES.0.get().addr())?;
    (offset < SIZE * N).then_some(offset / SIZE)
}

fn address(piece: usize) -> *mut c_void {
    PAGES.0.get().cast::<[u8; SIZE]>().wrapping_add(piece).cast()
}

/// A free piece, taken.
fn take() -> Option<usize> {
    let taken = USED.fetch_update(Ordering::Acquire, Ordering::Relaxed, |used| {
        (used != u64::MAX).then(|| used | (used + 1))
    });
    taken.ok().map(|before| before.trailing_ones() as usize)
}

#[expect(unsafe_code, reason = "an allocator for C")]
unsafe extern "C" fn allocate(n_bytes: c_int) -> *mut c_void {
    if KEYING.get()
        && usize::try_from(n_bytes).is_ok_and(|n| n <= SIZE)
        && let Some(piece) = take()
    {
        return address(piece);
    }
    // SAFETY: SQLite's call, passed on.
    SQLITE.get().map_or(ptr::null_mut(), |sqlite| unsafe { (sqlite.malloc)(n_bytes) })
}

#[expect(unsafe_code, reason = "an allocator for C")]
unsafe extern "C" fn give_back(at: *mut c_void) {
    let piece = piece(at);
    // What is too long for a piece may be a statement that names the key.
    if !at.is_null() && (piece.is_some() || KEYING.get()) {
        // SAFETY: SQLite's call; the pointer came from here.
        let n_bytes = unsafe { size_of_piece(at) };
        for i in 0..usize::try_from(n_bytes).unwrap_or(0) {
            // SAFETY: these bytes were the caller's until now. Volatile, because they are not read again.
            unsafe { at.cast::<u8>().add(i).write_volatile(0) };
        }
    }
    match (piece, SQLITE.get()) {
        (Some(piece), _) => {
            USED.fetch_and(!(1 << piece), Ordering::Release);
        }
        // SAFETY: SQLite's call, passed on.
        (None, Some(sqlite)) => unsafe { (sqlite.free)(at) },
        (None, None) => {}
    }
}

#[expect(unsafe_code, reason = "an allocator for C")]
unsafe extern "C" fn resize(at: *mut c_void, n_bytes: c_int) -> *mut c_void {
    let Some(_) = piece(at) else {
        // SAFETY: SQLite's call, passed on.
        return SQLITE
            .get()
            .map_or(ptr::null_mut(), |sqlite| unsafe { (sqlite.realloc)(at, n_bytes) });
    };
    if usize::try_from(n_bytes).is_ok_and(|n| n <= SIZE) {
        return at;
    }
    // SAFETY: the new piece is larger than the old one, which is whole and given back once.
    unsafe {
        let new = SQLITE.get().map_or(ptr::null_mut(), |sqlite| (sqlite.malloc)(n_bytes));
        if !new.is_null() {
            at.cast::<u8>().copy_to_nonoverlapping(new.cast(), SIZE);
            give_back(at);
        }
        new
    }
}

#[expect(unsafe_code, reason = "an allocator for C")]
unsafe extern "C" fn size_of_piece(at: *mut c_void) -> c_int {
    match (piece(at), SQLITE.get()) {
        (Some(_), _) => SIZE as c_int,
        // SAFETY: SQLite's call, passed on.
        (None, Some(sqlite)) => unsafe { (sqlite.size)(at) },
        (None, None) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Secret, Target, copy_into, set_key};
    use rusqlite::Connection;

    /// Whether the pages hold something, apart from pieces that other tests use.
    #[expect(unsafe_code, reason = "the pages themselves are looked at")]
    fn is_wiped() -> bool {
        let used = USED.load(Ordering::Acquire);
        // SAFETY: no piece is read that anybody may write.
        let bytes = |i: usize| unsafe { std::slice::from_raw_parts(address(i).cast::<u8>(), SIZE) };
        (0..N).filter(|i| used >> i & 1 == 0).all(|i| bytes(i).iter().all(|byte| *byte == 0))
    }

    #[test]
    fn keys_lie_in_locked_pages_and_are_wiped() {
        let _alone = crate::tests::alone();
        let locked = || -> u64 {
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let line = status.lines().find(|line| line.starts_with("VmLck:")).unwrap();
            line.split_whitespace().nth(1).unwrap().parse().unwrap()
        };
        assert!(cfg!(not(target_os = "linux")) || locked() >= (SIZE * N / 1024) as u64);
        let dir = tempfile::tempdir().unwrap();
        let key = Secret::new(b"a passphrase".to_vec());
        let plain = Connection::open_in_memory().unwrap();
        plain.execute_batch("CREATE TABLE note (text)").unwrap();
        assert_eq!(USED.load(Ordering::Acquire), 0, "no key, no piece");
        let path = dir.path().join("a");
        copy_into(&plain, &path, Target::Key(&key)).unwrap();
        assert!(is_wiped());
        let conn = Connection::open(&path).unwrap();
        set_key(&conn, &key).unwrap();
        conn.execute("INSERT INTO note VALUES ('x')", []).unwrap();
        assert!(USED.load(Ordering::Acquire).count_ones() >= 2, "one to read, one to write");
        drop(conn);
        assert_eq!(USED.load(Ordering::Acquire), 0);
        assert!(is_wiped());
        // More connections than there are pieces.
        let many: Vec<Connection> = (0..33)
            .map(|_| {
                let conn = Connection::open(&path).unwrap();
                set_key(&conn, &key).unwrap();
                conn
            })
            .collect();
        let read = |conn: &Connection| conn.query_row("SELECT text FROM note", [], |r| r.get(0));
        assert!(many.iter().all(|conn| read(conn) == Ok("x".to_owned())));
        assert_eq!(USED.load(Ordering::Acquire), u64::MAX);
        drop(many);
        assert!(USED.load(Ordering::Acquire) == 0 && is_wiped());
    }
}
