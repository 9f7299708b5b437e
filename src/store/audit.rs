//! What was done with memory, without what it was about: a line of JSON each.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::Path;

use serde_json::json;

/// Adds a line to `file` (mode 0600): when, who, `what` was done, with how many messages.
///
/// # Errors
/// If the file can't be written.
pub fn audit(file: &Path, what: &str, n_messages: usize) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    let at = jiff::Timestamp::now();
    #[cfg(unix)]
    let user = rustix::process::getuid().as_raw();
    #[cfg(not(unix))]
    let user = 0;
    let line = json!({"at": at.to_string(), "user": user, "what": what, "messages": n_messages});
    // One write: lines of two processes don't mix.
    options.open(file)?.write_all(format!("{line}\n").as_bytes())
}
