//! What the targets share: an allocator with a limit, threads that end, and what an error may say.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Bytes that may be in use. libFuzzer's own limit sees only pages that were touched, and only now and then.
const IN_USE_MAX: usize = 512 << 20;

static IN_USE: AtomicUsize = AtomicUsize::new(0);

struct Bounded;

#[global_allocator]
static ALLOCATOR: Bounded = Bounded;

impl Bounded {
    fn take(n: usize) {
        if IN_USE.fetch_add(n, Relaxed).saturating_add(n) > IN_USE_MAX {
            // Not a panic, which the product might catch.
            eprintln!("an allocation of {n} bytes goes over the limit of {IN_USE_MAX}");
            std::process::abort();
        }
    }
}

// SAFETY: it is the system's allocator, with a count beside it.
unsafe impl GlobalAlloc for Bounded {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::take(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        Self::take(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        Self::take(size);
        IN_USE.fetch_sub(layout.size(), Relaxed);
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(at, layout) }
    }
}

/// A reason that reaches a terminal is one line of text.
///
/// # Panics
/// If it holds a control character.
pub fn assert_printable(reason: &str) {
    assert!(!reason.chars().any(char::is_control), "{reason:?}");
}

/// Runs it in a thread of its own. The crate `tokenizers` keeps the words that it has seen, also those of tokenizers that
/// are gone, for as long as the thread lives: thousands of them would fill the memory.
pub fn in_a_thread(run: impl FnOnce() + Send) {
    if let Err(panic) = std::thread::scope(|scope| scope.spawn(run).join()) {
        std::panic::resume_unwind(panic);
    }
}
