//! Tests that need what this machine lacks: they pass without checking anything, and say so.

use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Names the file that collects the skipped tests, so that CI can count them.
pub const SKIPPED_TESTS_FILE: &str = "INGLENOOK_SKIPPED_TESTS";

/// Says on stderr, and in the file that `INGLENOOK_SKIPPED_TESTS` names, that the calling test is
/// skipped: `skipped: NAME: REASON`. Unlike `eprintln!`, this also shows for a passing test.
pub fn skip(reason: &str) {
    let thread = std::thread::current();
    // The test harness names each test's thread after the test.
    let name = thread.name().unwrap_or("a test");
    let line = format!("skipped: {name}: {}\n", reason.trim().replace('\n', " "));
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(file) = std::env::var_os(SKIPPED_TESTS_FILE) {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(file);
        let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
        assert!(written.is_ok(), "{SKIPPED_TESTS_FILE} cannot be written: {written:?}");
    }
}

/// `../shared/NAME`, beside the checkout. If it is not there, the calling test is skipped.
pub fn shared(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared").join(name);
    if path.exists() {
        return Some(path);
    }
    skip(&format!("{} is not there", path.display()));
    None
}
