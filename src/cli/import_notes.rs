//! `inglenook import notes DIR`: the Markdown files of a folder become part of memory, each as a chat of its sections.
//! Read again, what changed is taken anew, and what is gone is forgotten. `memory forget --source` takes all of it out.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::json;

use super::App;
use super::output::{counted, one_line};
use super::report::{Failure, Outcome, done};
use crate::imports::{ImportedSession, notes};
use crate::memory::{Moment, SessionId};
use crate::store::{AnyId, JobKind, NOTES, Store, StoreError};

/// Larger files are not notes.
const BYTES_MAX: u64 = 1 << 20;
const FILES_MAX: usize = 20_000;

/// What became of the files.
#[derive(Debug, Default)]
struct Counts {
    new: usize,
    changed: usize,
    same: usize,
    gone: usize,
    sections: usize,
}

pub fn run(app: &App, folder: &Path, preview: bool, as_json: bool) -> Outcome {
    let unreadable = |source| Failure::Unreadable { path: folder.display().to_string(), source };
    let root = folder.canonicalize().map_err(unreadable)?;
    let (files, passed_over) = files(&root).map_err(unreadable)?;
    let mut read = BTreeMap::new();
    for path in files {
        let Ok(name) = path.strip_prefix(&root) else { continue };
        let name = name.display().to_string();
        match (fs::read_to_string(&path), written(&path)) {
            (Ok(text), Some(at)) => {
                if let Some(note) = notes::note(&name, &text, at) {
                    read.insert(name, note);
                }
            }
            _ => {
                app.console.note(&format!("{} is not text that can be read", one_line(&name, 200)));
            }
        }
    }
    if passed_over > 0 {
        app.console.note(&format!("{passed_over} files are too large for notes, or too many"));
    }
    if read.is_empty() {
        return Err(Failure::Usage {
            what: format!("{} has no notes", folder.display()),
            hint: "notes are files that end in .md or .markdown".into(),
        });
    }
    if preview {
        let n = read.values().map(|note| note.messages.len()).sum();
        let (notes, sections) = (counted(read.len(), "note"), counted(n, "section"));
        app.console.line(&format!("{notes}, {sections}. Nothing was written."))?;
        return done();
    }
    let store = app.open()?;
    let source = format!("{NOTES}{}", root.display());
    let counts = take(&store, &source, &read)?;
    app.audit("import", counts.sections);
    let Counts { new, changed, same, gone, sections } = counts;
    if as_json {
        app.console.json(&json!({
            "source": source, "new": new, "changed": changed, "same": same, "gone": gone,
            "sections": sections,
        }))?;
        return done();
    }
    app.console.line(&format!(
        "Notes: {new} new, {changed} changed, {same} as before, {gone} gone ({}).",
        counted(sections, "new section")
    ))?;
    app.console.note(&format!(
        "`inglenook memory forget --source \"{}\"` takes all of them out again.",
        one_line(&source, 200)
    ));
    done()
}

/// The notes of a folder, and how many files were passed over. Hidden folders (`.obsidian`, `.git`) and links are not
/// followed.
fn files(root: &Path) -> std::io::Result<(Vec<PathBuf>, usize)> {
    let (mut found, mut passed_over) = (Vec::new(), 0);
    let mut folders = vec![root.to_owned()];
    let mut is_first = true;
    while let Some(folder) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Err(error) if is_first => return Err(error),
            Err(_) => continue,
            Ok(entries) => entries,
        };
        is_first = false;
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            let is_note = path.extension().is_some_and(|end| {
                end.eq_ignore_ascii_case("md") || end.eq_ignore_ascii_case("markdown")
            });
            if entry.file_name().to_string_lossy().starts_with('.') {
                continue;
            }
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() && is_note {
                let is_small = entry.metadata().is_ok_and(|data| data.len() <= BYTES_MAX);
                if is_small && found.len() < FILES_MAX {
                    found.push(path);
                } else {
                    passed_over += 1;
                }
            }
        }
    }
    found.sort();
    Ok((found, passed_over))
}

/// When a file was written, on this machine's clock.
pub fn written(path: &Path) -> Option<Moment> {
    let at = Timestamp::try_from(fs::metadata(path).ok()?.modified().ok()?).ok()?;
    let at = Timestamp::from_millisecond(at.as_millisecond()).ok()?;
    Some(Moment::new(at, TimeZone::system().to_offset(at)))
}

/// Brings what memory has of a folder in line with what is there.
fn take(
    store: &Store,
    source: &str,
    read: &BTreeMap<String, ImportedSession>,
) -> Result<Counts, StoreError> {
    let (known, elsewhere) = store.read(|r| {
        let mut known: BTreeMap<String, (SessionId, Vec<String>)> = BTreeMap::new();
        // Another device's notes are that one's to change.
        let mut elsewhere: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for session in r.sessions()?.into_iter().filter(|s| s.source.as_deref() == Some(source)) {
            let messages = r.messages(session.id)?;
            let id = messages.iter().find_map(|m| m.external_id.as_deref());
            let path = id.map_or_else(String::new, |id| notes::path_of(id).to_owned());
            let texts = messages.iter().map(|m| m.content.clone()).collect();
            if r.is_foreign(session.id)? {
                elsewhere.insert(path, texts);
            } else {
                known.insert(path, (session.id, texts));
            }
        }
        Ok((known, elsewhere))
    })?;
    let mut counts = Counts::default();
    let mut is_forgetting = false;
    for (path, note) in read {
        let before = known.get(path);
        let is_same = |texts: &Vec<String>| note.messages.iter().map(|m| &m.content).eq(texts);
        let there = before.map(|(_, texts)| texts).or_else(|| elsewhere.get(path));
        if there.is_some_and(is_same) {
            counts.same += 1;
            continue;
        }
        *if before.is_some() { &mut counts.changed } else { &mut counts.new } += 1;
        counts.sections += note.messages.len();
        is_forgetting |= before.is_some();
        store.write(|tx| {
            if let Some((session, _)) = before {
                let plan = tx.plan_forget(&[AnyId::Session(*session)], None)?;
                tx.forget(&plan)?;
            }
            let session = tx.import_session(&note.title, note.messages[0].created_at, source)?;
            for message in &note.messages {
                tx.append_message(session, message)?;
            }
            tx.enqueue(&JobKind::Close(session))
        })?;
    }
    for (_, (session, _)) in known.iter().filter(|(path, _)| !read.contains_key(*path)) {
        counts.gone += 1;
        is_forgetting = true;
        store.write(|tx| {
            let plan = tx.plan_forget(&[AnyId::Session(*session)], None)?;
            tx.forget(&plan)
        })?;
    }
    if is_forgetting {
        store.scrub()?;
    }
    Ok(counts)
}
