//! Plain JSONL: one message per line.
//!
//! ```json
//! {"role": "user", "content": "Hello", "created_at": "2026-11-21T10:00:00+01:00"}
//! ```
//!
//! `created_at` is RFC 3339, a wall-clock time without a zone (taken as UTC), or seconds since 1970.
//! Optional: `speaker` (a name, if both sides are people), `id` (kept as the external id), `session`
//! (lines with the same one belong together) and `title` (of the session). `export` writes this form.

use std::collections::HashMap;
use std::path::Path;

use jiff::{Timestamp, civil::DateTime, fmt::temporal::Pieces, tz::Offset};
use serde_json::{Map, Value};

use super::fields::Fields;
use super::{ImportError, ImportFile, ImportFormat, Imported, ImportedSession, json};
use crate::memory::{Moment, NewMessage, Role};

/// One message per line.
pub(super) struct Jsonl;

impl ImportFormat for Jsonl {
    fn summary(&self) -> &'static str {
        "JSONL with role, content, created_at"
    }

    fn example(&self) -> &'static str {
        "JSONL with one {\"role\": \"user\", \"content\": \"…\", \"created_at\": \
         \"2026-11-21T10:00:00Z\"} a line"
    }

    /// Any text: a line that is not a message is named in the error of `read`.
    fn sniff(&self, _: &str) -> bool {
        true
    }

    fn read(&self, file: &ImportFile<'_>) -> Result<Imported, ImportError> {
        let imported = read_lines(file)?;
        match file.conversation {
            None => Ok(imported),
            Some(wanted) => Err(ImportError::NoConversation {
                path: file.path.to_owned(),
                wanted: wanted.to_owned(),
                known: vec!["one conversation without a name".into()],
            }),
        }
    }
}

/// Bytes. Parsing takes several times as much memory.
pub(super) const LINE_MAX: usize = 16 << 20;

fn read_lines(file: &ImportFile<'_>) -> Result<Imported, ImportError> {
    // In the order in which they first occur.
    let mut sessions: Vec<ImportedSession> = Vec::new();
    // Where each is, by the field `session`.
    let mut places: HashMap<Option<String>, usize> = HashMap::new();
    let mut n_other_roles = 0;
    for (i, line) in file.text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let place = format!("line {}", i + 1);
        let value = parse_line(line, file.path, &place)?;
        let fields = Fields { object: &value, path: file.path, place: &place };
        let Some(role) = role(&fields)? else {
            n_other_roles += 1;
            continue;
        };
        let speaker = fields.text("speaker", "speaker")?.filter(|name| !name.trim().is_empty());
        let content = fields.required_text("content", "content")?;
        let message = NewMessage {
            speaker: speaker.map(str::to_owned),
            external_id: text_or_number(&fields, "id")?,
            ..NewMessage::new(role, content, time(&fields)?)
        };
        let key = text_or_number(&fields, "session")?;
        let title =
            fields.text("title", "title")?.map_or_else(|| title_from(file.path), str::to_owned);
        let place = *places.entry(key).or_insert(sessions.len());
        match sessions.get_mut(place) {
            Some(session) => session.messages.push(message),
            None => sessions.push(ImportedSession { title, messages: vec![message] }),
        }
    }
    for session in &mut sessions {
        session.messages.sort_by_key(|m| m.created_at.timestamp);
    }
    let mut notes = Vec::new();
    if n_other_roles > 0 {
        notes.push(format!("{n_other_roles} system and tool messages were left out."));
    }
    Ok(Imported { sessions, notes, ..Imported::default() })
}

/// The object that a line is.
pub(super) fn parse_line(
    line: &str,
    path: &str,
    place: &str,
) -> Result<Map<String, Value>, ImportError> {
    let syntax = |reason: &str| ImportError::Syntax {
        path: path.to_owned(),
        place: place.to_owned(),
        reason: reason.to_owned(),
    };
    if line.len() > LINE_MAX {
        return Err(syntax("the line is longer than 16 MB"));
    }
    match json::value(line) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(syntax("a line must be a JSON object")),
        Err(e) => {
            // serde_json's "at line 1 column 5" counts within the line.
            let text = e.to_string();
            Err(syntax(text.split(" at line ").next().unwrap_or(&text)))
        }
    }
}

fn title_from(path: &str) -> String {
    Path::new(path)
        .file_stem()
        .map_or_else(|| path.to_owned(), |s| s.to_string_lossy().into_owned())
}

fn text_or_number(fields: &Fields<'_>, field: &'static str) -> Result<Option<String>, ImportError> {
    match fields.object.get(field) {
        Some(Value::Number(n)) => Ok(Some(n.to_string())),
        _ => Ok(fields.text(field, field)?.map(str::to_owned)),
    }
}

/// `None` for roles that do not take part in the conversation.
fn role(fields: &Fields<'_>) -> Result<Option<Role>, ImportError> {
    match fields.required_text("role", "role")? {
        "user" | "human" => Ok(Some(Role::User)),
        "assistant" => Ok(Some(Role::Assistant)),
        "system" | "developer" | "tool" => Ok(None),
        _ => Err(fields.wrong("role", "must be \"user\" or \"assistant\"")),
    }
}

fn time(fields: &Fields<'_>) -> Result<Moment, ImportError> {
    let time = match fields.object.get("created_at") {
        None | Some(Value::Null) => return Err(fields.missing("created_at")),
        Some(Value::String(text)) => time_from_text(text),
        Some(Value::Number(n)) => n.as_f64().and_then(time_from_seconds),
        Some(_) => None,
    };
    time.ok_or_else(|| {
        fields.wrong("created_at", "is not a time (2026-11-21T10:00:00Z, or seconds since 1970)")
    })
}

pub(super) fn time_from_text(text: &str) -> Option<Moment> {
    let text = text.trim();
    if let Ok(timestamp) = text.parse::<Timestamp>() {
        let offset = Pieces::parse(text).ok()?.to_numeric_offset().unwrap_or(Offset::UTC);
        return Some(Moment::new(timestamp, offset));
    }
    text.parse::<DateTime>().ok().map(Moment::from_civil_utc)
}

pub(super) fn time_from_seconds(seconds: f64) -> Option<Moment> {
    // Larger numbers are milliseconds: as seconds they would be after the year 5138.
    let seconds = if seconds.abs() > 1e11 { seconds / 1e3 } else { seconds };
    let timestamp = Timestamp::from_millisecond((seconds * 1e3).round() as i64).ok()?;
    Some(Moment::new(timestamp, Offset::UTC))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, path: &str) -> Imported {
        Jsonl.read(&ImportFile { text, path, conversation: None }).unwrap()
    }

    #[track_caller]
    fn check_time(created_at: &str, expected: &str) {
        let line = format!("{{\"role\":\"user\",\"content\":\"x\",\"created_at\":{created_at}}}");
        let at = read(&line, "f").sessions[0].messages[0].created_at;
        assert_eq!(at.timestamp.display_with_offset(at.offset).to_string(), expected);
    }

    #[test]
    fn times_keep_their_utc_offset() {
        check_time("\"2026-11-21T10:00:00+01:00\"", "2026-11-21T10:00:00+01:00");
        check_time("\"2026-11-21T10:00:00Z\"", "2026-11-21T10:00:00+00:00");
        check_time("\"2026-11-21 10:00\"", "2026-11-21T10:00:00+00:00");
        check_time("1795255200", "2026-11-21T10:00:00+00:00");
        check_time("1795255200000", "2026-11-21T10:00:00+00:00");
        check_time("1795255200.5", "2026-11-21T10:00:00.5+00:00");
    }

    #[test]
    fn lines_are_grouped_by_session_and_sorted() {
        let text = r#"
{"session": 1, "role": "user", "content": "b", "created_at": 20, "speaker": "Ana", "id": "x1"}
{"session": 2, "role": "assistant", "content": "c", "created_at": 30, "title": "Other"}
{"role": "system", "content": "be nice", "created_at": 1}
{"session": 1, "role": "user", "content": "a", "created_at": 10}
"#;
        let imported = read(text, "/tmp/chat.jsonl");
        let shape: Vec<(&str, Vec<&str>)> = imported
            .sessions
            .iter()
            .map(|c| (c.title.as_str(), c.messages.iter().map(|m| m.content.as_str()).collect()))
            .collect();
        assert_eq!(shape, [("chat", vec!["a", "b"]), ("Other", vec!["c"])]);
        let b = &imported.sessions[0].messages[1];
        assert_eq!((b.speaker.as_deref(), b.external_id.as_deref()), (Some("Ana"), Some("x1")));
        assert_eq!(imported.notes.len(), 1);
    }
}
