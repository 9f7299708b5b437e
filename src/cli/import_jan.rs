//! Jan's data folder: every thread in it as a file of one chat.

use std::fs;
use std::path::{Path, PathBuf};

use super::report::Failure;

/// Bytes that all threads together may have.
const BYTES_MAX: u64 = 1 << 30;

/// The threads below a folder, which is Jan's own, its `threads`, or one of those.
pub fn threads(folder: &Path) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let of = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut threads: Vec<PathBuf> =
            entries.map(|entry| entry.path()).filter(|path| is_thread(path)).collect();
        threads.sort();
        threads
    };
    let own = is_thread(folder).then(|| folder.to_owned()).into_iter().collect();
    let all =
        [own, of(&folder.join("threads")), of(folder)].into_iter().find(|all| !all.is_empty());
    let Some(all) = all else {
        return Err(Failure::Usage {
            what: format!("{} is a folder, and holds no chats of Jan's", folder.display()),
            hint: "a folder of notes: inglenook import notes DIR".into(),
        });
    };
    let (mut parts, mut left) = (Vec::new(), BYTES_MAX);
    for thread in all {
        let messages = thread.join("messages.jsonl");
        let unreadable =
            |source| Failure::Unreadable { path: messages.display().to_string(), source };
        let said = fs::metadata(&messages).and_then(|found| {
            left = left
                .checked_sub(found.len())
                .ok_or_else(|| std::io::Error::other("all chats together are larger than 1 GB"))?;
            fs::read(&messages)
        });
        let said = said.map_err(unreadable)?;
        // On one line; without it the chat has no title.
        let about = fs::read(thread.join("thread.json")).ok();
        let about: Option<serde_json::Value> =
            about.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let about = about.map_or_else(String::new, |about| format!("{about}\n"));
        parts.push((messages.display().to_string(), [about.into_bytes(), said].concat()));
    }
    Ok(parts)
}

fn is_thread(path: &Path) -> bool {
    path.join("messages.jsonl").is_file()
}
