//! `inglenook import FILE`: a conversation from elsewhere becomes messages, all of it or nothing.
//!
//! The readers of the formats (`locomo`, `jsonl`) are pure: bytes in, conversations out. What is
//! already there is recognised by its time, speaker and text, so the same file twice changes
//! nothing, a file that has grown adds what is new, and what was forgotten since does not come
//! back behind the person's back.

mod jsonl;
mod locomo;

use std::collections::HashMap;
use std::io::Read as _;
use std::path::Path;

use serde_json::json;
use thiserror::Error;

use super::App;
use super::args;
use super::output::{counted, one_line};
use super::report::{Failure, Outcome, done};
use crate::memory::{Message, Moment, Role, SessionId};
use crate::store::{JobKind, NewMessage, Reader, StoreError, WriteTx};

/// One sitting as a file tells it: one session in the store.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    pub title: String,
    /// Oldest first, never empty.
    pub messages: Vec<Incoming>,
}

/// One message as a file tells it.
#[derive(Debug, Clone, PartialEq)]
pub struct Incoming {
    pub role: Role,
    pub speaker: Option<String>,
    pub content: String,
    pub created_at: Moment,
    pub external_id: Option<String>,
}

/// What a file held.
#[derive(Debug, Default)]
pub struct Parsed {
    pub conversations: Vec<Conversation>,
    /// Things left out that the person should know of.
    pub notes: Vec<String>,
}

/// Why a file can't be imported. Nothing was, then.
#[derive(Debug, Error)]
pub enum ImportError {
    #[error("cannot read {path}")]
    Unreadable {
        path: String,
        #[source]
        source: std::io::Error,
    },
    #[error("{path}, line {line}: this is not UTF-8 text")]
    NotText { path: String, line: usize },
    #[error("{path}, {place}: {reason}")]
    Syntax { path: String, place: String, reason: String },
    #[error("{path}, {place}: `{field}` is missing")]
    MissingField { path: String, place: String, field: &'static str },
    #[error("{path}, {place}: `{field}` {reason}")]
    WrongField { path: String, place: String, field: &'static str, reason: String },
    #[error("{path} holds no conversation named `{wanted}`")]
    NoConversation { path: String, wanted: String, known: Vec<String> },
    #[error("{path} holds no messages")]
    Empty { path: String },
    #[error("{path} is of a kind that can't be imported: {reason}")]
    UnknownFormat { path: String, reason: String },
}

impl ImportError {
    pub(super) fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Unreadable { .. } => "check the path and its permissions",
            Self::NotText { .. } => "save the file as UTF-8 and try again; nothing was imported",
            Self::NoConversation { known, .. } => {
                return Some(format!("it holds {}", known.join(", ")));
            }
            Self::Empty { .. } => return None,
            _ => {
                "inglenook reads LoCoMo files, and JSONL with one {\"role\": \"user\", \"content\": \
                 \"…\", \"created_at\": \"2026-11-21T10:00:00Z\"} a line; nothing was imported"
            }
        };
        Some(hint.to_owned())
    }
}

/// Tells the formats apart and reads the file.
///
/// # Errors
/// As [`ImportError`] says.
pub fn parse(bytes: &[u8], path: &str, conversation: Option<&str>) -> Result<Parsed, ImportError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|e| ImportError::NotText {
        path: path.to_owned(),
        line: bytes[..e.valid_up_to()].split(|&b| b == b'\n').count(),
    })?;
    let start = text.trim_start();
    // JSONL has a whole object on its first line; a LoCoMo file is one document.
    let first_line_is_whole = start.starts_with('{')
        && start.lines().next().is_some_and(|line| {
            serde_json::from_str::<serde_json::Value>(line)
                .is_ok_and(|v| v.get("conversation").is_none())
        });
    let is_document = start.starts_with('[') || (start.starts_with('{') && !first_line_is_whole);
    let several_lines = text.lines().filter(|l| !l.trim().is_empty()).count() > 1;
    let parsed = if is_document {
        match locomo::parse(text, path, conversation) {
            // A first line that is not JSON by itself, of a file of lines: the line is to blame.
            Err(ImportError::Syntax { .. })
                if start.starts_with('{') && several_lines && looks_like_lines(start) =>
            {
                jsonl::parse(text, path)
            }
            other => other,
        }
    } else {
        jsonl::parse(text, path)
    }?;
    if let Some(wanted) = conversation
        && !is_document
    {
        return Err(ImportError::NoConversation {
            path: path.to_owned(),
            wanted: wanted.to_owned(),
            known: vec!["one conversation without a name".into()],
        });
    }
    if parsed.conversations.is_empty() {
        return Err(ImportError::Empty { path: path.to_owned() });
    }
    Ok(parsed)
}

fn looks_like_lines(text: &str) -> bool {
    text.lines().skip(1).any(|line| {
        serde_json::from_str::<serde_json::Value>(line).is_ok_and(|v| v.get("role").is_some())
    })
}

/// Where a conversation goes and which of its messages are new.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Plan {
    session: Option<SessionId>,
    /// Indices.
    new: Vec<usize>,
    known: usize,
    /// Older than what is there, but not there: forgotten since. They stay forgotten.
    passed_over: usize,
}

type Key<'a> = (i64, Role, Option<&'a str>, &'a str);

fn key_of(message: &Message) -> Key<'_> {
    (
        message.created_at.as_millisecond(),
        message.role,
        message.speaker.as_deref(),
        message.content.as_str(),
    )
}

/// Messages that are there, by what tells them apart.
struct Known<'a>(HashMap<Key<'a>, Vec<SessionId>>);

impl<'a> Known<'a> {
    fn new(messages: &'a [Message]) -> Self {
        let mut map: HashMap<Key<'a>, Vec<SessionId>> = HashMap::new();
        for message in messages {
            map.entry(key_of(message)).or_default().push(message.session);
        }
        Self(map)
    }

    fn find<'s>(&'s self, message: &'s Incoming) -> Option<&'s Vec<SessionId>> {
        self.0.get(&(
            message.created_at.as_millisecond(),
            message.role,
            message.speaker.as_deref(),
            message.content.as_str(),
        ))
    }

    fn plan(&self, conversation: &Conversation) -> Plan {
        let found = |message| self.find(message);
        let mut votes: HashMap<SessionId, usize> = HashMap::new();
        for session in conversation.messages.iter().filter_map(found).flatten() {
            *votes.entry(*session).or_default() += 1;
        }
        let session = votes
            .into_iter()
            .max_by_key(|&(session, n)| (n, std::cmp::Reverse(session)))
            .map(|(session, _)| session);
        let Some(home) = session else {
            let new = (0..conversation.messages.len()).collect();
            return Plan { session: None, new, known: 0, passed_over: 0 };
        };
        let is_known: Vec<bool> = conversation
            .messages
            .iter()
            .map(|m| found(m).is_some_and(|sessions| sessions.contains(&home)))
            .collect();
        let last = is_known.iter().rposition(|&k| k).unwrap_or(0);
        Plan {
            session,
            new: (last + 1..is_known.len()).collect(),
            known: is_known.iter().filter(|&&k| k).count(),
            passed_over: is_known[..last].iter().filter(|&&k| !k).count(),
        }
    }
}

/// What happened, for the summary.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Summary {
    sessions: usize,
    messages: usize,
    known: usize,
    passed_over: usize,
}

fn existing(reader: &Reader<'_>) -> Result<Vec<Message>, StoreError> {
    let mut messages = Vec::new();
    for session in reader.sessions()? {
        messages.extend(reader.messages(session.id)?);
    }
    Ok(messages)
}

fn write(
    tx: &mut WriteTx<'_>,
    conversations: &[Conversation],
    mut on_message: impl FnMut(usize),
) -> Result<Summary, StoreError> {
    let there = existing(tx)?;
    let known = Known::new(&there);
    let mut summary = Summary::default();
    let mut seen = 0;
    for conversation in conversations {
        let plan = known.plan(conversation);
        summary.known += plan.known;
        summary.passed_over += plan.passed_over;
        seen += conversation.messages.len();
        if plan.new.is_empty() {
            on_message(seen);
            continue;
        }
        let session = if let Some(session) = plan.session {
            session
        } else {
            let at = conversation.messages[0].created_at;
            tx.create_session(&conversation.title, at, true)?
        };
        summary.sessions += 1;
        for &i in &plan.new {
            let message = &conversation.messages[i];
            tx.append_message(NewMessage {
                session,
                role: message.role,
                speaker: message.speaker.clone(),
                content: message.content.clone(),
                created_at: message.created_at,
                external_id: message.external_id.clone(),
                complete: true,
            })?;
            summary.messages += 1;
        }
        tx.enqueue(&JobKind::Close { session })?;
        on_message(seen);
    }
    Ok(summary)
}

fn read(path: &Path) -> Result<(Vec<u8>, String), ImportError> {
    let name = path.display().to_string();
    if name == "-" {
        let mut bytes = Vec::new();
        std::io::stdin()
            .lock()
            .read_to_end(&mut bytes)
            .map_err(|source| ImportError::Unreadable { path: "stdin".into(), source })?;
        return Ok((bytes, "stdin".into()));
    }
    let bytes = std::fs::read(path)
        .map_err(|source| ImportError::Unreadable { path: name.clone(), source })?;
    Ok((bytes, name))
}

/// The command.
pub fn run(app: &App, args: &args::Import) -> Outcome {
    let (bytes, name) = read(&args.file)?;
    let parsed = parse(&bytes, &name, args.conversation.as_deref())?;
    let total: usize = parsed.conversations.iter().map(|c| c.messages.len()).sum();
    let store = app.open()?;
    let progress = app.console.progress();
    let summary = store.write(|tx| {
        write(tx, &parsed.conversations, |n| {
            progress.set(n as u64, total as u64, &format!("{n} of {}", counted(total, "message")));
        })
    });
    progress.finish();
    let summary = summary.map_err(Failure::from)?;
    if args.json {
        app.console.json(&json!({
            "sessions": summary.sessions,
            "messages": summary.messages,
            "already_there": summary.known,
            "passed_over": summary.passed_over,
        }))?;
        return done();
    }
    for note in &parsed.notes {
        app.console.note(note);
    }
    let file = one_line(&name, 200);
    if summary.messages == 0 {
        app.console.line(&format!(
            "{file}: nothing new ({} there already).",
            counted(summary.known, "message")
        ))?;
    } else {
        app.console.line(&format!(
            "Imported {} in {} from {file}{}.",
            counted(summary.messages, "message"),
            counted(summary.sessions, "session"),
            if summary.known > 0 {
                format!(" ({} there already)", summary.known)
            } else {
                String::new()
            }
        ))?;
    }
    if summary.passed_over > 0 {
        app.console.note(&format!(
            "{} of the file were left out: they are older than what is there, so they were \
             forgotten.",
            counted(summary.passed_over, "message")
        ));
    }
    if summary.messages > 0 {
        app.console.note(
            "Next: `inglenook memory consolidate --wait` builds the memory now; the chat builds it \
             in the background.",
        );
    }
    done()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::memory::MessageId;

    fn conversation(texts: &[&str]) -> Conversation {
        let lines: Vec<String> = (1_000_000_000..)
            .zip(texts)
            .map(|(at, text)| {
                format!("{{\"role\":\"user\",\"content\":\"{text}\",\"created_at\":{at}}}\n")
            })
            .collect();
        let lines = lines.concat();
        parse(lines.as_bytes(), "f", None).unwrap().conversations.remove(0)
    }

    fn stored(conversation: &Conversation, keep: &[usize]) -> Vec<Message> {
        keep.iter()
            .map(|&i| {
                let m = &conversation.messages[i];
                Message {
                    id: MessageId(i as i64),
                    session: SessionId(7),
                    role: m.role,
                    speaker: m.speaker.clone(),
                    content: m.content.clone(),
                    created_at: m.created_at,
                    external_id: None,
                    episode: None,
                    complete: true,
                }
            })
            .collect()
    }

    #[test]
    fn what_is_there_is_recognised() {
        let c = conversation(&["a", "b", "c", "d"]);
        let plan = |keep: &[usize]| Known::new(&stored(&c, keep)).plan(&c);
        let home = Some(SessionId(7));
        assert_eq!(
            plan(&[]),
            Plan { session: None, new: vec![0, 1, 2, 3], known: 0, passed_over: 0 }
        );
        assert_eq!(
            plan(&[0, 1, 2, 3]),
            Plan { session: home, new: vec![], known: 4, passed_over: 0 }
        );
        assert_eq!(
            plan(&[0, 1]),
            Plan { session: home, new: vec![2, 3], known: 2, passed_over: 0 }
        );
        assert_eq!(plan(&[0, 2]), Plan { session: home, new: vec![3], known: 2, passed_over: 1 });
    }

    #[track_caller]
    fn check_error(text: &[u8], expected: &str) {
        let error = parse(text, "f", None).unwrap_err().to_string();
        assert_eq!(error, expected);
    }

    #[test]
    fn a_bad_file_is_named_with_its_line_and_field() {
        check_error(b"", "f holds no messages");
        check_error(b"{\"role\":\"user\"}\n\xff", "f, line 2: this is not UTF-8 text");
        check_error(b"hello", "f, line 1: expected value");
        check_error(
            b"{\"role\":\"user\",\"content\":\"a\",\"created_at\":1}\n\n{\"role\":\"user\",\"created_at\":2}",
            "f, line 3: `content` is missing",
        );
        check_error(b"{\"content\":\"a\",\"created_at\":1}", "f, line 1: `role` is missing");
        check_error(b"{\"role\":\"user\",\"content\":\"a\"}", "f, line 1: `created_at` is missing");
        check_error(
            b"{\"role\":\"user\",\"content\":\"a\",\"created_at\":\"soon\"}",
            "f, line 1: `created_at` is not a time (2026-11-21T10:00:00Z, or seconds since 1970)",
        );
        check_error(
            b"{\"role\":\"boss\",\"content\":\"a\",\"created_at\":1}",
            "f, line 1: `role` must be \"user\" or \"assistant\"",
        );
        check_error(
            b"[1, 2]",
            "f is of a kind that can't be imported: it is JSON, but not a LoCoMo file",
        );
    }
}
