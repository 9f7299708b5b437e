//! Plain JSONL: one message a line.
//!
//! ```json
//! {"role": "user", "content": "Hello", "created_at": "2026-11-21T10:00:00+01:00"}
//! ```
//!
//! `created_at` is RFC 3339, a wall-clock time without a zone (taken as UTC), or seconds since 1970.
//! Optional: `speaker` (a name: then both sides are people), `id` (kept), `session` (lines with the
//! same one belong together) and `title` (the session's). `export` writes this form.

use std::path::Path;

use jiff::{Timestamp, civil::DateTime, fmt::temporal::Pieces, tz::Offset};
use serde_json::{Map, Value};

use super::{Conversation, ImportError, Incoming, Parsed};
use crate::memory::{Moment, Role};

pub(super) fn parse(text: &str, path: &str) -> Result<Parsed, ImportError> {
    // Sessions in the order in which they first occur.
    let mut sessions: Vec<(Option<String>, Conversation)> = Vec::new();
    let mut n_other_roles = 0;
    for (i, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let place = format!("line {}", i + 1);
        let syntax = |reason: String| ImportError::Syntax {
            path: path.to_owned(),
            place: place.clone(),
            reason,
        };
        let value: Value = serde_json::from_str(line).map_err(|e| {
            // Its own "at line 1 column 5" would contradict the line of the file.
            let text = e.to_string();
            syntax(text.split(" at line ").next().unwrap_or(&text).to_owned())
        })?;
        let Value::Object(object) = value else {
            return Err(syntax("a line must be a JSON object".into()));
        };
        let fields = Fields { object: &object, path, place: &place };
        let Some(role) = fields.role()? else {
            n_other_roles += 1;
            continue;
        };
        let message = Incoming {
            role,
            content: fields.text("content")?.ok_or_else(|| fields.missing("content"))?,
            created_at: fields.time()?,
            speaker: fields.text("speaker")?.filter(|s| !s.trim().is_empty()),
            external_id: fields.text("id")?,
        };
        let session = fields.text("session")?;
        let title = fields.text("title")?.unwrap_or_else(|| title_from(path));
        match sessions.iter_mut().find(|(key, _)| *key == session) {
            Some((_, conversation)) => conversation.messages.push(message),
            None => {
                sessions.push((session, Conversation { title, messages: vec![message] }));
            }
        }
    }
    let mut conversations: Vec<Conversation> = sessions.into_iter().map(|(_, c)| c).collect();
    for conversation in &mut conversations {
        conversation.messages.sort_by_key(|m| m.created_at.timestamp);
    }
    let notes = if n_other_roles > 0 {
        vec![format!("{n_other_roles} system and tool messages were left out.")]
    } else {
        Vec::new()
    };
    Ok(Parsed { conversations, notes })
}

fn title_from(path: &str) -> String {
    Path::new(path)
        .file_stem()
        .map_or_else(|| path.to_owned(), |s| s.to_string_lossy().into_owned())
}

struct Fields<'a> {
    object: &'a Map<String, Value>,
    path: &'a str,
    place: &'a str,
}

impl Fields<'_> {
    fn missing(&self, field: &'static str) -> ImportError {
        ImportError::MissingField { path: self.path.into(), place: self.place.into(), field }
    }

    fn wrong(&self, field: &'static str, reason: &str) -> ImportError {
        ImportError::WrongField {
            path: self.path.into(),
            place: self.place.into(),
            field,
            reason: reason.into(),
        }
    }

    fn text(&self, field: &'static str) -> Result<Option<String>, ImportError> {
        match self.object.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(Value::Number(n)) if field == "id" || field == "session" => {
                Ok(Some(n.to_string()))
            }
            Some(_) => Err(self.wrong(field, "must be text")),
        }
    }

    /// `None` for roles that are no part of a conversation.
    fn role(&self) -> Result<Option<Role>, ImportError> {
        match self.text("role")?.ok_or_else(|| self.missing("role"))?.as_str() {
            "user" | "human" => Ok(Some(Role::User)),
            "assistant" => Ok(Some(Role::Assistant)),
            "system" | "developer" | "tool" => Ok(None),
            _ => Err(self.wrong("role", "must be \"user\" or \"assistant\"")),
        }
    }

    fn time(&self) -> Result<Moment, ImportError> {
        let time = match self.object.get("created_at") {
            None | Some(Value::Null) => return Err(self.missing("created_at")),
            Some(Value::String(text)) => time_from_text(text),
            Some(Value::Number(n)) => n.as_f64().and_then(time_from_seconds),
            Some(_) => None,
        };
        time.ok_or_else(|| {
            self.wrong("created_at", "is not a time (2026-11-21T10:00:00Z, or seconds since 1970)")
        })
    }
}

fn time_from_text(text: &str) -> Option<Moment> {
    let text = text.trim();
    if let Ok(timestamp) = text.parse::<Timestamp>() {
        let offset = Pieces::parse(text).ok()?.to_numeric_offset().unwrap_or(Offset::UTC);
        return Some(Moment::new(timestamp, offset));
    }
    text.parse::<DateTime>().ok().map(Moment::from_civil_utc)
}

fn time_from_seconds(seconds: f64) -> Option<Moment> {
    // Milliseconds are common too; nobody imports conversations of the year 5138.
    let seconds = if seconds.abs() > 1e11 { seconds / 1e3 } else { seconds };
    let timestamp = Timestamp::from_millisecond((seconds * 1e3).round() as i64).ok()?;
    Some(Moment::new(timestamp, Offset::UTC))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[track_caller]
    fn check_time(created_at: &str, expected: &str) {
        let line = format!("{{\"role\":\"user\",\"content\":\"x\",\"created_at\":{created_at}}}");
        let parsed = parse(&line, "f").unwrap();
        let at = parsed.conversations[0].messages[0].created_at;
        assert_eq!(at.timestamp.display_with_offset(at.offset).to_string(), expected);
    }

    #[test]
    fn times_keep_their_wall_clock() {
        check_time("\"2026-11-21T10:00:00+01:00\"", "2026-11-21T10:00:00+01:00");
        check_time("\"2026-11-21T10:00:00Z\"", "2026-11-21T10:00:00+00:00");
        check_time("\"2026-11-21 10:00\"", "2026-11-21T10:00:00+00:00");
        check_time("1795255200", "2026-11-21T10:00:00+00:00");
        check_time("1795255200000", "2026-11-21T10:00:00+00:00");
        check_time("1795255200.5", "2026-11-21T10:00:00.5+00:00");
    }

    #[test]
    fn sessions_are_told_apart_and_sorted() {
        let text = r#"
{"session": 1, "role": "user", "content": "b", "created_at": 20, "speaker": "Ana", "id": "x1"}
{"session": 2, "role": "assistant", "content": "c", "created_at": 30, "title": "Other"}
{"role": "system", "content": "be nice", "created_at": 1}
{"session": 1, "role": "user", "content": "a", "created_at": 10}
"#;
        let parsed = parse(text, "/tmp/chat.jsonl").unwrap();
        let shape: Vec<(&str, Vec<&str>)> = parsed
            .conversations
            .iter()
            .map(|c| (c.title.as_str(), c.messages.iter().map(|m| m.content.as_str()).collect()))
            .collect();
        assert_eq!(shape, [("chat", vec!["a", "b"]), ("Other", vec!["c"])]);
        let b = &parsed.conversations[0].messages[1];
        assert_eq!((b.speaker.as_deref(), b.external_id.as_deref()), (Some("Ana"), Some("x1")));
        assert_eq!(parsed.notes.len(), 1);
    }
}
