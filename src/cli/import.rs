//! `inglenook import FILE`: a conversation from elsewhere becomes messages, all of it or nothing.
//!
//! A message that is there already is recognised by its time, speaker and text. So the same file
//! twice changes nothing, a file that has grown adds what is new, and what the person has had
//! forgotten does not come back. The formats are in [`crate::imports`].

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek};
use std::path::Path;

use serde_json::json;

use super::App;
use super::args;
use super::import_whole::{take_memory, whole_memory};
use super::output::{counted, one_line};
use super::report::{Failure, Outcome, done};
use super::{import_jan, import_memories, import_notes, import_zip};
use crate::imports::{self, ImportError, Imported, ImportedSession};
use crate::memory::{Message, Moment, NewMessage, Role, SessionId};
use crate::store::{BLOT, JobKind, Reader, Rows, Store, StoreError, WriteTx};

/// Where an imported session goes, and which of its messages are new.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SessionPlan {
    /// The session that holds some of it already.
    stored_in: Option<SessionId>,
    /// Indices of the messages to add.
    new: Vec<usize>,
    n_known: usize,
    /// Older than the newest known message, but not in the store: forgotten, and left out.
    n_forgotten: usize,
}

/// What tells messages apart.
type Key<'a> = (i64, Role, Option<&'a str>, &'a str);

fn key<'a>(at: Moment, role: Role, speaker: Option<&'a str>, content: &'a str) -> Key<'a> {
    (at.as_millisecond(), role, speaker, content)
}

/// Where words of a message were taken out, its time and role have to do.
fn key_of_stored(message: &Message) -> Key<'_> {
    let (speaker, content) = (message.speaker.as_deref(), message.content.as_str());
    if [Some(content), speaker].into_iter().flatten().any(|text| text.contains(BLOT)) {
        return key(message.created_at, message.role, None, BLOT);
    }
    key(message.created_at, message.role, speaker, content)
}

/// The sessions that hold each stored message.
fn by_key(messages: &[Message]) -> HashMap<Key<'_>, Vec<SessionId>> {
    let mut map: HashMap<Key<'_>, Vec<SessionId>> = HashMap::new();
    for m in messages {
        map.entry(key_of_stored(m)).or_default().push(m.session);
    }
    map
}

fn found<'s>(stored: &'s HashMap<Key<'s>, Vec<SessionId>>, m: &'s NewMessage) -> &'s [SessionId] {
    let whole = key(m.created_at, m.role, m.speaker.as_deref(), &m.content);
    let blotted = || stored.get(&key(m.created_at, m.role, None, BLOT));
    stored.get(&whole).or_else(blotted).map_or(&[], Vec::as_slice)
}

/// `own` are the chats held here: what is in them is known, but nothing is added to them.
fn plan(
    stored: &HashMap<Key<'_>, Vec<SessionId>>,
    own: &HashSet<SessionId>,
    imported: &ImportedSession,
) -> SessionPlan {
    let found = |m| found(stored, m);
    let mut votes: HashMap<SessionId, usize> = HashMap::new();
    for session in imported.messages.iter().flat_map(found).filter(|id| !own.contains(id)) {
        *votes.entry(*session).or_default() += 1;
    }
    let most = votes.into_iter().max_by_key(|&(id, n)| (n, std::cmp::Reverse(id)));
    let stored_in = most.map(|(id, _)| id);
    let is_there = |id: &SessionId| Some(*id) == stored_in || own.contains(id);
    let is_known: Vec<bool> =
        imported.messages.iter().map(|m| found(m).iter().any(is_there)).collect();
    let n_old = is_known.iter().rposition(|&known| known).map_or(0, |last| last + 1);
    let n_known = is_known.iter().filter(|&&known| known).count();
    SessionPlan {
        stored_in,
        new: (n_old..is_known.len()).collect(),
        n_known,
        n_forgotten: n_old - n_known,
    }
}

/// Figures for the summary.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Counts {
    sessions: usize,
    messages: usize,
    known: usize,
    forgotten: usize,
}

/// All messages, and the chats held here.
fn stored_messages(reader: &Reader<'_>) -> Result<(Vec<Message>, HashSet<SessionId>), StoreError> {
    let (mut messages, mut own) = (Vec::new(), HashSet::new());
    for session in reader.sessions()? {
        messages.extend(reader.messages(session.id)?);
        own.extend((!session.imported).then_some(session.id));
    }
    Ok((messages, own))
}

fn write(
    tx: &mut WriteTx<'_>,
    sessions: &[ImportedSession],
    source: &str,
    mut on_message: impl FnMut(usize),
) -> Result<Counts, StoreError> {
    let (messages, own) = stored_messages(tx)?;
    let stored = by_key(&messages);
    let mut counts = Counts::default();
    let mut n_seen = 0;
    for imported in sessions {
        let plan = plan(&stored, &own, imported);
        counts.known += plan.n_known;
        counts.forgotten += plan.n_forgotten;
        n_seen += imported.messages.len();
        if plan.new.is_empty() {
            on_message(n_seen);
            continue;
        }
        let session = match plan.stored_in {
            // Another device's chat stays as it is there.
            Some(session) if !tx.is_foreign(session)? => session,
            _ => tx.import_session(&imported.title, imported.messages[0].created_at, source)?,
        };
        counts.sessions += 1;
        for &i in &plan.new {
            tx.append_message(session, &imported.messages[i])?;
            counts.messages += 1;
        }
        tx.enqueue(&JobKind::Close(session))?;
        on_message(n_seen);
    }
    Ok(counts)
}

/// A file or stream is read into memory, but for a zip.
const BYTES_MAX: u64 = 1 << 30;

/// Bytes that tell whether a file is text.
const HEAD: u64 = 1 << 16;

/// What a file holds.
enum Content {
    Chats(Imported),
    /// `export --format json`.
    Memory(Rows),
}

/// What the file or stdin holds.
fn read(path: &Path, name: &str, wanted: Option<&str>) -> Result<Content, Failure> {
    let unreadable = |source| Failure::Unreadable { path: name.to_owned(), source };
    let mut bytes = Vec::new();
    let rest: Box<dyn Read> = if is_stdin(path) {
        Box::new(io::stdin().lock())
    } else {
        let mut file = File::open(path).map_err(unreadable)?;
        file.by_ref().take(4).read_to_end(&mut bytes).map_err(unreadable)?;
        // With pictures a zip may be larger than memory. A pipe does not go back.
        if import_zip::is_zip(&bytes) && file.rewind().is_ok() {
            let parts = import_zip::conversations(BufReader::new(file), name)?;
            return Ok(Content::Chats(imports::parse_parts(&parts, wanted)?));
        }
        Box::new(file)
    };
    let mut rest = rest.take(BYTES_MAX + 1);
    // What never ends is mostly no text: nobody waits for a gigabyte of it.
    rest.by_ref().take(HEAD).read_to_end(&mut bytes).map_err(unreadable)?;
    let no_text = std::str::from_utf8(&bytes).is_err_and(|e| e.error_len().is_some());
    if import_zip::is_zip(&bytes) || !no_text && !bytes.contains(&0) {
        rest.read_to_end(&mut bytes).map_err(unreadable)?;
    } else if !no_text {
        let line =
            bytes.split(|&b| b == 0).next().map_or(1, |text| text.split(|&b| b == b'\n').count());
        let reason = "it holds NUL bytes, so it is no text".to_owned();
        return Err(ImportError::Syntax {
            path: name.to_owned(),
            place: format!("line {line}"),
            reason,
        }
        .into());
    }
    if bytes.len() as u64 > BYTES_MAX {
        return Err(unreadable(io::Error::other("it is larger than 1 GB: split it")));
    }
    if let Some(rows) = whole_memory(&bytes, name)? {
        return Ok(Content::Memory(rows));
    }
    Ok(Content::Chats(if import_zip::is_zip(&bytes) {
        let parts = import_zip::conversations(Cursor::new(&bytes), name)?;
        let owner = import_zip::owner(Cursor::new(&bytes));
        Imported { owner, ..imports::parse_parts(&parts, wanted)? }
    } else {
        imports::parse(&bytes, name, wanted)?
    }))
}

pub fn run(app: &App, args: &args::Import) -> Outcome {
    match &args.folder {
        Some(folder) if args.file.as_os_str() == "notes" => {
            return import_notes::run(app, folder, args.preview, args.json);
        }
        Some(file) if args.file.as_os_str() == "memories" => {
            return import_memories::run(app, file, args);
        }
        None if ["memories", "notes"].iter().any(|what| args.file.as_os_str() == *what)
            && !args.file.exists() =>
        {
            return Err(Failure::Usage {
                what: "what is to be imported is missing".into(),
                hint: "inglenook import memories FILE (or -), inglenook import notes DIR".into(),
            });
        }
        Some(_) => {
            return Err(Failure::Usage {
                what: "import takes one file".into(),
                hint: "a folder of notes: inglenook import notes DIR; a list of memories: inglenook import memories FILE".into(),
            });
        }
        None => {}
    }
    let name = name_of(&args.file);
    let wanted = args.conversation.as_deref();
    let imported = if args.file.is_dir() {
        imports::parse_parts(&import_jan::threads(&args.file)?, wanted)?
    } else {
        match read(&args.file, &name, wanted)? {
            Content::Chats(imported) => imported,
            Content::Memory(rows) => return take_memory(app, &name, &rows, args),
        }
    };
    if args.preview {
        return preview(app, &imported, args.json);
    }
    take(app, &app.open()?, (&args.file, args.json), &imported, 0)
}

/// A file's name for errors and the summary; stdin's too.
pub fn name_of(path: &Path) -> String {
    if is_stdin(path) { "stdin".to_owned() } else { path.display().to_string() }
}

pub fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Writes what was read from a file, and says so, or gives the figures as JSON. `known` messages of it were there already.
pub fn take(
    app: &App,
    store: &Store,
    (path, as_json): (&Path, bool),
    imported: &Imported,
    known: usize,
) -> Outcome {
    let source = match path.file_name() {
        Some(name) if !is_stdin(path) => name.to_string_lossy(),
        _ => "stdin".into(),
    };
    let mut counts = write_all(app, store, imported, &source)?;
    counts.known += known;
    app.audit("import", counts.messages);
    if as_json {
        app.console.json(&json!({
            "sessions": counts.sessions,
            "messages": counts.messages,
            "already_there": counts.known,
            "passed_over": counts.forgotten,
        }))?;
        return done();
    }
    for note in &imported.notes {
        app.console.note(note);
    }
    print(app, &counts, &one_line(&name_of(path), 200))?;
    done()
}

/// Conversations that are listed; the rest is counted.
const LISTED_MAX: usize = 20;

pub fn preview(app: &App, imported: &Imported, as_json: bool) -> Outcome {
    let all = || imported.sessions.iter().flat_map(|session| &session.messages);
    let speakers: BTreeSet<&str> = all().filter_map(|m| m.speaker.as_deref()).collect();
    let days = || all().map(|m| m.created_at.civil().date());
    let span = days().min().zip(days().max());
    if as_json {
        app.console.json(&json!({
            "sessions": imported.sessions.len(),
            "messages": all().count(),
            "from": span.map(|(first, _)| first.to_string()),
            "to": span.map(|(_, last)| last.to_string()),
            "speakers": speakers,
        }))?;
        return done();
    }
    for session in imported.sessions.iter().take(LISTED_MAX) {
        let day = session.messages[0].created_at.civil().date();
        let n = counted(session.messages.len(), "message");
        app.console.line(&format!("{day}  {}  ({n})", one_line(&session.title, 80)))?;
    }
    if let Some(more @ 1..) = imported.sessions.len().checked_sub(LISTED_MAX) {
        app.console.line(&format!("… and {more} more"))?;
    }
    let who = if speakers.is_empty() {
        let owner = imported.owner.as_deref().map_or("the user".into(), |name| one_line(name, 40));
        format!("what {owner} said is yours")
    } else {
        format!(
            "between {}",
            speakers.into_iter().map(|name| one_line(name, 40)).collect::<Vec<_>>().join(", ")
        )
    };
    let span = span.map_or_else(String::new, |(first, last)| format!(", {first} to {last}"));
    let format = imported.format;
    let what = if format.is_empty() { String::new() } else { format!("{format}: ") };
    app.console.line(&format!(
        "{what}{} with {}{span}; {who}. Nothing was written.",
        counted(imported.sessions.len(), "conversation"),
        counted(all().count(), "message"),
    ))?;
    for note in &imported.notes {
        app.console.note(note);
    }
    done()
}

/// Writes all sessions in one transaction.
fn write_all(
    app: &App,
    store: &Store,
    imported: &Imported,
    source: &str,
) -> Result<Counts, StoreError> {
    let total: usize = imported.sessions.iter().map(|session| session.messages.len()).sum();
    let progress = app.console.progress();
    let counts = store.write(|tx| {
        write(tx, &imported.sessions, source, |n| {
            progress.set(n as u64, total as u64, &format!("{n} of {}", counted(total, "message")));
        })
    });
    progress.finish();
    counts
}

fn print(app: &App, counts: &Counts, file: &str) -> Result<(), Failure> {
    if counts.messages == 0 {
        app.console.line(&format!(
            "{file}: nothing new ({} there already).",
            counted(counts.known, "message")
        ))?;
    } else {
        let known = match counts.known {
            0 => String::new(),
            n => format!(" ({n} there already)"),
        };
        app.console.line(&format!(
            "Imported {} in {} from {file}{known}.",
            counted(counts.messages, "message"),
            counted(counts.sessions, "session"),
        ))?;
    }
    if counts.forgotten > 0 {
        app.console.note(&format!(
            "{} of the file were left out: they are older than what is there, so they were \
             forgotten.",
            counted(counts.forgotten, "message")
        ));
    }
    if counts.messages > 0 {
        app.console.note(
            "Next: `inglenook memory consolidate --wait` builds the memory now; the chat builds it \
             in the background. `inglenook memory learned`, or /learned in the chat, lists what came of it.",
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::message;

    fn session(texts: &[&str]) -> ImportedSession {
        let lines: Vec<String> = (1_000_000_000..)
            .zip(texts)
            .map(|(at, text)| {
                format!("{{\"role\":\"user\",\"content\":\"{text}\",\"created_at\":{at}}}\n")
            })
            .collect();
        imports::parse(lines.concat().as_bytes(), "f", None).unwrap().sessions.remove(0)
    }

    fn stored(imported: &ImportedSession, keep: &[usize]) -> Vec<Message> {
        keep.iter()
            .map(|&i| {
                let m = &imported.messages[i];
                Message {
                    session: SessionId(7),
                    created_at: m.created_at,
                    ..message(i as i64, m.role, &m.content)
                }
            })
            .collect()
    }

    #[test]
    fn stored_messages_are_recognised() {
        let imported = session(&["a", "b", "c", "d"]);
        let of = |own: &[SessionId], keep: &[usize]| {
            let own = own.iter().copied().collect();
            super::plan(&by_key(&stored(&imported, keep)), &own, &imported)
        };
        let plan = |keep: &[usize]| of(&[], keep);
        let expected = |stored_in, new, n_known, n_forgotten| SessionPlan {
            stored_in,
            new,
            n_known,
            n_forgotten,
        };
        let seven = Some(SessionId(7));
        assert_eq!(plan(&[]), expected(None, vec![0, 1, 2, 3], 0, 0));
        assert_eq!(plan(&[0, 1, 2, 3]), expected(seven, vec![], 4, 0));
        assert_eq!(plan(&[0, 1]), expected(seven, vec![2, 3], 2, 0));
        assert_eq!(plan(&[0, 2]), expected(seven, vec![3], 2, 1));
        // A chat held here: known, but nobody's file adds to it.
        assert_eq!(of(&[SessionId(7)], &[0, 2]), expected(None, vec![3], 2, 1));
        assert_eq!(of(&[SessionId(7)], &[0, 1, 2, 3]), expected(None, vec![], 4, 0));
    }

    #[test]
    fn a_zip_may_be_larger_than_what_is_read_into_memory() {
        use std::io::{SeekFrom, Write as _};
        let chat = r#"[{"chat_messages": [{"sender": "human", "text": "hi", "created_at": 1}]}]"#;
        let mut file = tempfile::NamedTempFile::new().unwrap();
        // In place of pictures, a hole.
        file.write_all(b"PK\x03\x04").unwrap();
        file.seek(SeekFrom::Start(BYTES_MAX)).unwrap();
        let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
        zip.start_file("conversations.json", zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(chat.as_bytes()).unwrap();
        file.write_all(zip.finish().unwrap().get_ref()).unwrap();
        let Content::Chats(imported) = read(file.path(), "export.zip", None).unwrap() else {
            panic!("chats");
        };
        assert_eq!(imported.sessions[0].messages[0].content, "hi");
        file.as_file().set_len(BYTES_MAX + 1).unwrap();
        assert!(read(file.path(), "export.zip", None).is_err());
    }
}
