//! `inglenook import memories FILE`: what a chat service says that it remembers, pasted into a file.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::report::{Failure, Outcome};
use super::{App, args, import, import_notes};
use crate::imports::{ImportError, Imported, memories};
use crate::interfaces::{Clock as _, SystemClock};
use crate::store::StoreError;

/// Nobody's list is longer.
const BYTES_MAX: u64 = 4 << 20;
const TITLE: &str = "Memories from another assistant";

pub fn run(app: &App, path: &Path, args: &args::Import) -> Outcome {
    let name = import::name_of(path);
    let unreadable = |source| Failure::Unreadable { path: name.clone(), source };
    let from: Box<dyn Read> = if import::is_stdin(path) {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(path).map_err(unreadable)?)
    };
    let mut bytes = Vec::new();
    from.take(BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(unreadable(io::Error::other(
            "it is larger than 4 MB, so it is no list of memories",
        )));
    }
    let text = String::from_utf8(bytes).map_err(|_| {
        unreadable(io::Error::other("it is not text (save it as UTF-8 and try again)"))
    })?;
    let at = import_notes::written(path).unwrap_or_else(|| SystemClock.now());
    let mut session = memories::memories(text.trim_start_matches('\u{feff}'), TITLE, at)
        .ok_or_else(|| ImportError::Empty { path: name.clone() })?;
    if args.preview {
        let imported = Imported { sessions: vec![session], ..Imported::default() };
        return import::preview(app, &imported, args.json);
    }
    let store = app.open()?;
    // Pasted again, what is new in it counts.
    let known: HashSet<String> = store.read(|r| {
        let mut known = HashSet::new();
        for session in r.sessions()?.into_iter().filter(|s| s.imported && s.title == TITLE) {
            known.extend(r.messages(session.id)?.into_iter().map(|m| m.content));
        }
        Ok::<_, StoreError>(known)
    })?;
    let n = session.messages.len();
    session.messages.retain(|message| !known.contains(&message.content));
    let n_known = n - session.messages.len();
    let sessions = if session.messages.is_empty() { Vec::new() } else { vec![session] };
    let imported = Imported { sessions, ..Imported::default() };
    import::take(app, &store, (path, args.json), &imported, n_known)
}
