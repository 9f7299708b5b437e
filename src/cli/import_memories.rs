//! `inglenook import memories FILE`: what a chat service says that it remembers, pasted into a file.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::time::SystemTime;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::report::{Failure, Outcome};
use super::{App, args, import};
use crate::imports::{ImportError, Imported, memories};
use crate::memory::Moment;
use crate::store::StoreError;

/// Nobody's list is longer.
const BYTES_MAX: u64 = 4 << 20;
const TITLE: &str = "Memories from another assistant";

pub fn run(app: &App, path: &Path, args: &args::Import) -> Outcome {
    let is_stdin = path.as_os_str() == "-";
    let name = if is_stdin { "stdin".to_owned() } else { path.display().to_string() };
    let unreadable = |source| Failure::Unreadable { path: name.clone(), source };
    let from: Box<dyn Read> = if is_stdin {
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
    let written =
        fs::metadata(path).and_then(|file| file.modified()).unwrap_or_else(|_| SystemTime::now());
    let at = Timestamp::try_from(written).unwrap_or_else(|_| Timestamp::now());
    let at = Moment::new(at, TimeZone::system().to_offset(at));
    let mut session = memories::memories(text.trim_start_matches('\u{feff}'), TITLE, at)
        .ok_or_else(|| ImportError::Empty { path: name.clone() })?;
    let n = session.messages.len();
    if !args.preview {
        // Pasted again, what is new in it counts.
        let known: HashSet<String> = app.open()?.read(|r| {
            let mut known = HashSet::new();
            for session in r.sessions()?.into_iter().filter(|s| s.imported && s.title == TITLE) {
                known.extend(r.messages(session.id)?.into_iter().map(|m| m.content));
            }
            Ok::<_, StoreError>(known)
        })?;
        session.messages.retain(|message| !known.contains(&message.content));
    }
    let known = n - session.messages.len();
    let sessions = if session.messages.is_empty() { Vec::new() } else { vec![session] };
    let source = path.file_name().map_or("stdin".into(), |name| name.to_string_lossy());
    let source = if is_stdin { "stdin" } else { &*source };
    import::take(app, args, &Imported { sessions, notes: Vec::new() }, (&name, source), known)
}
