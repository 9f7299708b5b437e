//! LoCoMo (snap-research/LoCoMo, `locomo10.json`): long conversations of two named people.
//!
//! ```json
//! [{"sample_id": "conv-26",
//!   "conversation": {
//!     "speaker_a": "Caroline", "speaker_b": "Melanie",
//!     "session_1_date_time": "1:56 pm on 8 May, 2023",
//!     "session_1": [{"speaker": "Caroline", "dia_id": "D1:1", "text": "Hey Mel!",
//!                    "blip_caption": "a photo of …"}]}}]
//! ```
//!
//! A session has one time and no zone: it is the wall clock of its first message, and each further
//! message is 30 seconds later. Both speakers are people; `speaker_a` takes the user's side.

use std::fmt::Write as _;

use jiff::{SignedDuration, civil::DateTime};
use serde_json::{Map, Value};

use super::{Conversation, ImportError, Incoming, Parsed};
use crate::memory::{Moment, Role};

const BETWEEN_MESSAGES: SignedDuration = SignedDuration::from_secs(30);

pub(super) fn parse(text: &str, path: &str, wanted: Option<&str>) -> Result<Parsed, ImportError> {
    let document: Value = serde_json::from_str(text).map_err(|e| ImportError::Syntax {
        path: path.to_owned(),
        place: format!("line {}", e.line()),
        reason: e.to_string().split(" at line ").next().unwrap_or_default().to_owned(),
    })?;
    let samples = match document {
        Value::Array(samples) => samples,
        sample @ Value::Object(_) => vec![sample],
        _ => return Err(unknown(path, "it is JSON, but not a LoCoMo file")),
    };
    if samples.iter().any(|s| s.get("mapping").is_some() || s.get("chat_messages").is_some()) {
        return Err(unknown(path, "exports of ChatGPT and Claude are not read yet"));
    }
    if samples.iter().any(|s| s.get("conversation").is_none()) {
        return Err(unknown(path, "it is JSON, but not a LoCoMo file"));
    }
    let names: Vec<String> = samples.iter().enumerate().map(|(i, s)| name_of(s, i)).collect();
    if let Some(wanted) = wanted
        && !names.iter().any(|name| name == wanted)
    {
        return Err(ImportError::NoConversation {
            path: path.to_owned(),
            wanted: wanted.to_owned(),
            known: names,
        });
    }
    let mut parsed = Parsed::default();
    for (sample, name) in samples.iter().zip(&names) {
        if wanted.is_none_or(|wanted| wanted == name) {
            conversation(sample, name, path, &mut parsed)?;
        }
    }
    Ok(parsed)
}

fn unknown(path: &str, reason: &str) -> ImportError {
    ImportError::UnknownFormat { path: path.to_owned(), reason: reason.to_owned() }
}

fn name_of(sample: &Value, index: usize) -> String {
    match sample.get("sample_id") {
        Some(Value::String(name)) => name.clone(),
        Some(other) => other.to_string(),
        None => format!("conversation {}", index + 1),
    }
}

struct At<'a> {
    path: &'a str,
    place: String,
}

impl At<'_> {
    fn text<'v>(
        &self,
        object: &'v Map<String, Value>,
        key: &str,
        field: &'static str,
    ) -> Result<&'v str, ImportError> {
        match object.get(key) {
            None | Some(Value::Null) => Err(ImportError::MissingField {
                path: self.path.into(),
                place: self.place.clone(),
                field,
            }),
            Some(Value::String(text)) => Ok(text),
            Some(_) => Err(self.wrong(field, "must be text")),
        }
    }

    fn wrong(&self, field: &'static str, reason: &str) -> ImportError {
        ImportError::WrongField {
            path: self.path.into(),
            place: self.place.clone(),
            field,
            reason: reason.into(),
        }
    }
}

fn conversation(
    sample: &Value,
    name: &str,
    path: &str,
    parsed: &mut Parsed,
) -> Result<(), ImportError> {
    let at = At { path, place: name.to_owned() };
    let Some(Value::Object(conversation)) = sample.get("conversation") else {
        return Err(at.wrong("conversation", "must be an object"));
    };
    let speaker_a = at.text(conversation, "speaker_a", "speaker_a")?;
    let speaker_b = at.text(conversation, "speaker_b", "speaker_b")?;
    let mut numbers: Vec<u32> =
        conversation.keys().filter_map(|key| key.strip_prefix("session_")?.parse().ok()).collect();
    numbers.sort_unstable();
    let mut n_empty = 0;
    for number in numbers {
        let session = format!("session_{number}");
        let at = At { path, place: format!("{name}, {session}") };
        let time = at.text(conversation, &format!("{session}_date_time"), "session_N_date_time")?;
        let start = time_of(time).ok_or_else(|| {
            at.wrong("session_N_date_time", "must look like \"1:56 pm on 8 May, 2023\"")
        })?;
        let Some(Value::Array(turns)) = conversation.get(&session) else {
            return Err(at.wrong("session_N", "must be a list of messages"));
        };
        let mut messages = Vec::with_capacity(turns.len());
        for (i, turn) in turns.iter().enumerate() {
            let at = At { path, place: format!("{name}, {session}, message {}", i + 1) };
            let Value::Object(turn) = turn else {
                return Err(at.wrong("message", "must be an object"));
            };
            let speaker = at.text(turn, "speaker", "speaker")?;
            let role = if speaker == speaker_b { Role::Assistant } else { Role::User };
            let mut content = at.text(turn, "text", "text")?.trim().to_owned();
            if let Some(caption) = turn.get("blip_caption").and_then(Value::as_str) {
                let space = if content.is_empty() { "" } else { " " };
                let _ = write!(content, "{space}[shares a photo: {}]", caption.trim());
            }
            if content.is_empty() {
                n_empty += 1;
                continue;
            }
            let later = BETWEEN_MESSAGES.checked_mul(i32::try_from(i).unwrap_or(i32::MAX));
            let timestamp = later.and_then(|later| start.timestamp.checked_add(later).ok());
            messages.push(Incoming {
                role,
                speaker: Some(speaker.to_owned()),
                content,
                created_at: Moment { timestamp: timestamp.unwrap_or(start.timestamp), ..start },
                external_id: turn.get("dia_id").and_then(Value::as_str).map(str::to_owned),
            });
        }
        if !messages.is_empty() {
            let title = format!("{speaker_a} and {speaker_b}, session {number} ({name})");
            parsed.conversations.push(Conversation { title, messages });
        }
    }
    if n_empty > 0 {
        parsed.notes.push(format!("{name}: {n_empty} empty messages were left out."));
    }
    Ok(())
}

/// "1:56 pm on 8 May, 2023".
fn time_of(text: &str) -> Option<Moment> {
    DateTime::strptime("%I:%M %p on %d %B, %Y", text.trim()).ok().map(Moment::from_civil_utc)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        for (text, expected) in [
            ("1:56 pm on 8 May, 2023", "2023-05-08T13:56:00"),
            ("12:09 am on 13 September, 2023", "2023-09-13T00:09:00"),
            ("12:30 pm on 1 January, 2024", "2024-01-01T12:30:00"),
        ] {
            assert_eq!(time_of(text).unwrap().civil().to_string(), expected);
        }
        assert_eq!(time_of("yesterday"), None);
    }

    const SAMPLE: &str = r#"[{"sample_id": "conv-1", "conversation": {
        "speaker_a": "Ana", "speaker_b": "Bo",
        "session_2_date_time": "9:00 am on 2 May, 2023",
        "session_2": [{"speaker": "Bo", "dia_id": "D2:1", "text": "Look!", "blip_caption": "a dog"}],
        "session_1_date_time": "1:00 pm on 1 May, 2023",
        "session_1": [{"speaker": "Ana", "dia_id": "D1:1", "text": "Hi"},
                      {"speaker": "Bo", "dia_id": "D1:2", "text": "Hi Ana"}],
        "session_3_date_time": "9:00 am on 3 May, 2023"}}]"#;

    #[test]
    fn a_conversation_keeps_its_names_ids_times_and_photos() {
        let parsed = parse(SAMPLE, "f", Some("conv-1")).unwrap();
        assert_eq!(parsed.conversations.len(), 2);
        assert_eq!(parsed.conversations[0].title, "Ana and Bo, session 1 (conv-1)");
        let bo = &parsed.conversations[0].messages[1];
        assert_eq!(bo.speaker.as_deref(), Some("Bo"));
        assert_eq!(bo.role, Role::Assistant);
        assert_eq!(bo.external_id.as_deref(), Some("D1:2"));
        assert_eq!(bo.created_at.civil().to_string(), "2023-05-01T13:00:30");
        assert_eq!(parsed.conversations[1].messages[0].content, "Look! [shares a photo: a dog]");
    }

    #[test]
    fn what_is_wrong_is_named() {
        let error = parse(SAMPLE, "f", Some("conv-9")).unwrap_err();
        assert_eq!(error.to_string(), "f holds no conversation named `conv-9`");
        let without = SAMPLE.replace("\"text\": \"Hi Ana\"", "\"txt\": \"Hi Ana\"");
        let error = parse(&without, "f", None).unwrap_err();
        assert_eq!(error.to_string(), "f, conv-1, session_1, message 2: `text` is missing");
        let error = parse(&SAMPLE[..200], "f", None).unwrap_err().to_string();
        assert!(error.starts_with("f, line 4: EOF while parsing"), "{error}");
    }

    #[test]
    fn the_real_file_is_read_whole() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data/locomo-dev.json");
        let Ok(text) = std::fs::read_to_string(path) else {
            eprintln!("skipped: {path} is not there");
            return;
        };
        let parsed = parse(&text, path, Some("conv-26")).unwrap();
        assert_eq!(parsed.conversations.len(), 19);
        assert_eq!(parsed.conversations.iter().map(|c| c.messages.len()).sum::<usize>(), 419);
        let all = parse(&text, path, None).unwrap();
        assert_eq!(all.conversations.iter().map(|c| c.messages.len()).sum::<usize>(), 2725);
    }
}
